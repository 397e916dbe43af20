//! Walks expressions. What is not listed here is refused.

use sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Ident, InTarget, Interval, MemberOf, UnaryOperator, Value, ValueWithSpan,
};

use super::query::{Checked, Walk};
use super::refusal::{Refusal, Rule};
use super::shapes::{self, unsupported};
use super::words;

/// Depth of the walk; the scanner's limits keep trees below it.
const MAX_DEPTH: usize = 600;

impl Walk<'_> {
    /// Chains such as `a OR b OR c` lean to the left; the loop follows that side without recursion.
    pub(super) fn expr(&mut self, mut expr: &Expr) -> Checked {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Refusal::new(Rule::Nesting, "the statement is nested too deeply; flatten it"));
        }
        while let Expr::BinaryOp { left, op, right } = expr {
            self.binary_operator(op)?;
            self.expr(right)?;
            expr = left;
        }
        self.operand(expr)?;
        self.depth -= 1;
        Ok(())
    }

    pub(super) fn all<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> Checked {
        exprs.into_iter().try_for_each(|expr| self.expr(expr))
    }

    fn operand(&mut self, expr: &Expr) -> Checked {
        match expr {
            Expr::Identifier(ident) => self.column(ident),
            Expr::CompoundIdentifier(parts) => self.qualified_column(parts),
            Expr::Value(literal) => self.literal(literal),
            Expr::Nested(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner)
            | Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsNull(inner)
            | Expr::IsNotNull(inner)
            | Expr::IsUnknown(inner)
            | Expr::IsNotUnknown(inner) => self.expr(inner),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.all([left.as_ref(), right])
            }
            Expr::UnaryOp { op, expr } => {
                unary_operator(*op)?;
                self.expr(expr)
            }
            Expr::Between { expr, negated: _, low, high } => self.all([expr.as_ref(), low, high]),
            Expr::In { .. }
            | Expr::Exists { .. }
            | Expr::Subquery(_)
            | Expr::AnyOp { .. }
            | Expr::AllOp { .. } => self.sub_query(expr),
            Expr::Like { .. } | Expr::RLike { .. } | Expr::MatchAgainst { .. } => self.text_match(expr),
            Expr::Tuple(items) => self.all(items),
            Expr::Function(function) => self.function(function),
            Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                self.all(operand.as_deref())?;
                for CaseWhen { condition, result } in conditions {
                    self.all([condition, result])?;
                }
                self.all(else_result.as_deref())
            }
            Expr::Interval(interval) => self.interval(interval),
            Expr::Prefixed { prefix, value } => self.introduced(prefix, value),
            Expr::Collate { expr, collation } => {
                shapes::charset(collation)?;
                self.expr(expr)
            }
            Expr::MemberOf(MemberOf { value, array }) if !self.scope.is_sqlite() => {
                self.all([value.as_ref(), array])
            }
            _ => self.keyword_call(expr),
        }
    }

    fn sub_query(&mut self, expr: &Expr) -> Checked {
        match expr {
            Expr::Subquery(query) | Expr::Exists { subquery: query, negated: _ } => self.query(query),
            Expr::In { expr, target, negated: _, global: false } => {
                self.expr(expr)?;
                match target {
                    InTarget::List(items) => self.all(items),
                    InTarget::Subquery(query) => self.query(query),
                    _ => Err(Refusal::new(
                        Rule::TableSource,
                        "IN takes a list or a sub-query: write IN (SELECT column FROM table)",
                    )),
                }
            }
            Expr::AnyOp { left, compare_op, right, is_some: _ } | Expr::AllOp { left, compare_op, right } => {
                self.binary_operator(compare_op)?;
                self.all([left.as_ref(), right])
            }
            _ => Err(unsupported("this sub-query")),
        }
    }

    fn text_match(&mut self, expr: &Expr) -> Checked {
        match expr {
            Expr::Like { negated: _, any: false, expr, pattern, escape_char } => {
                self.all([expr.as_ref(), pattern])?;
                self.all(escape_char.as_deref())
            }
            Expr::RLike { negated: _, expr, pattern, regexp: _ } if !self.scope.is_sqlite() => {
                self.all([expr.as_ref(), pattern])
            }
            Expr::MatchAgainst { columns, match_value, opt_search_modifier: _ }
                if !self.scope.is_sqlite() =>
            {
                columns.iter().try_for_each(|column| shapes::names(column, false))?;
                self.literal(match_value)
            }
            _ => Err(unsupported("this way to match text")),
        }
    }

    fn column(&mut self, ident: &Ident) -> Checked {
        let sqlite = self.scope.is_sqlite();
        if ident.quote_style.is_none() && words::is_clock(&ident.value, sqlite) {
            return Ok(());
        }
        shapes::name(ident, sqlite)
    }

    /// Qualified columns only name what FROM has read already.
    fn qualified_column(&mut self, parts: &[Ident]) -> Checked {
        if parts.len() > 3 {
            return Err(unsupported("a name of more than three parts"));
        }
        for (index, part) in parts.iter().enumerate() {
            // After a dot the servers take any word for a name.
            if index == 0 || part.quote_style.is_some() {
                shapes::name(part, self.scope.is_sqlite())?;
            }
        }
        Ok(())
    }

    pub(super) fn literal(&mut self, literal: &ValueWithSpan) -> Checked {
        let ValueWithSpan { value, span: _ } = literal;
        let mysql = !self.scope.is_sqlite();
        match value {
            Value::Number(_, _) | Value::SingleQuotedString(_) | Value::HexStringLiteral(_) => Ok(()),
            Value::Boolean(_) | Value::Null => Ok(()),
            Value::DoubleQuotedString(_)
            | Value::NationalStringLiteral(_)
            | Value::SingleQuotedByteStringLiteral(_)
                if mysql =>
            {
                Ok(())
            }
            Value::Placeholder(mark) if mark == "?" => {
                self.placeholders += 1;
                Ok(())
            }
            _ => Err(unsupported("a literal of another database")),
        }
    }

    /// `_utf8mb4'…'`: only character sets in which an ASCII quote is a quote.
    fn introduced(&mut self, prefix: &Ident, value: &Expr) -> Checked {
        if self.scope.is_sqlite() || prefix.quote_style.is_some() || !words::is_introducer(&prefix.value) {
            return Err(unsupported("a literal with this character set"));
        }
        match value {
            Expr::Value(literal) => self.literal(literal),
            Expr::Collate { expr, collation } => {
                shapes::charset(collation)?;
                self.expr(expr)
            }
            _ => Err(unsupported("a character set before anything but a literal")),
        }
    }

    fn interval(&mut self, interval: &Interval) -> Checked {
        let Interval { value, leading_field, leading_precision, last_field, fractional_seconds_precision } =
            interval;
        match (leading_field, leading_precision, last_field, fractional_seconds_precision) {
            (Some(field), None, None, None) if !self.scope.is_sqlite() => {
                shapes::unit(field)?;
                self.expr(value)
            }
            _ => Err(unsupported("this INTERVAL; write INTERVAL 5 MINUTE")),
        }
    }

    fn binary_operator(&self, operator: &BinaryOperator) -> Checked {
        use BinaryOperator as B;
        let sqlite = self.scope.is_sqlite();
        match operator {
            B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo | B::StringConcat => Ok(()),
            B::Gt | B::Lt | B::GtEq | B::LtEq | B::Eq | B::NotEq | B::And | B::Or => Ok(()),
            B::BitwiseOr | B::BitwiseAnd | B::PGBitwiseShiftLeft | B::PGBitwiseShiftRight => Ok(()),
            B::Arrow | B::LongArrow => Ok(()),
            B::Spaceship | B::Xor | B::BitwiseXor | B::MyIntegerDivide | B::Regexp if !sqlite => Ok(()),
            B::Is | B::IsNot | B::Glob if sqlite => Ok(()),
            _ => Err(unsupported("an operator of another database")),
        }
    }
}

fn unary_operator(operator: UnaryOperator) -> Checked {
    use UnaryOperator as U;
    match operator {
        U::Plus | U::Minus | U::Not | U::BangNot | U::BitwiseNot => Ok(()),
        _ => Err(unsupported("an operator of another database")),
    }
}
