//! Proves that a recursive WITH expression ends soon. Either its body has a small LIMIT, or each arm that
//! reads the expression again moves one column by a step and stops at a constant:
//! `SELECT n + 1 FROM r WHERE n < 100`, `SELECT t + INTERVAL 1 HOUR FROM r WHERE t < NOW()`.
//! The executor also pins the server's own recursion limit, for bounds that are only far away.

use sqlparser::ast::{
    BinaryOperator, Cte, Expr, Ident, JoinConstraint, JoinOperator, LimitClause, ObjectName, ObjectNamePart,
    Query, Select, SelectItem, SetExpr, SetOperator, TableAlias, TableFactor, TableWithJoins,
};

use super::guard::Bindings;
use super::query::Checked;
use super::refusal::{Refusal, Rule, echo};
use super::steps::{Column, MAX_STEPS, Proof, number};

/// Checks an expression whose body read itself `self_reads` times.
pub(super) fn check_bounded(cte: &Cte, self_reads: usize, bindings: &Bindings<'_>) -> Checked {
    let name = &cte.alias.name.value;
    let proof = Proof { name, bindings };
    // Reading itself twice doubles the rows with every step.
    if self_reads > 1 {
        return Err(Refusal::new(
            Rule::Recursion,
            format!("{} may read itself in one place only", echo(name)),
        ));
    }
    if has_limit(&cte.query, bindings) {
        return Ok(());
    }
    let mut arms = Vec::new();
    flatten(&cte.query.body, &mut arms);
    let columns = column_names(cte, &arms);
    let mut direct = 0;
    for arm in &arms {
        let aliases = proof.self_aliases(arm);
        direct += aliases.len();
        if !aliases.is_empty() && !proof.arm_is_bounded(arm, &columns, &aliases) {
            return Err(unbounded(name));
        }
    }
    if direct == self_reads { Ok(()) } else { Err(unbounded(name)) }
}

fn unbounded(name: &str) -> Refusal {
    Refusal::new(
        Rule::Recursion,
        format!(
            "the recursion of {} is not provably bounded: name its columns, let the recursive SELECT move \
             one of them by a step and stop at a constant of at most {MAX_STEPS}, as in WITH RECURSIVE r(n) \
             AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 100); for a tree add a depth column",
            echo(name)
        ),
    )
}

fn has_limit(query: &Query, bindings: &Bindings<'_>) -> bool {
    let limit = match &query.limit_clause {
        Some(
            LimitClause::LimitOffset { limit: Some(limit), .. } | LimitClause::OffsetCommaLimit { limit, .. },
        ) => limit,
        _ => return false,
    };
    number(limit, bindings).is_some_and(|n| n <= MAX_STEPS)
}

/// The SELECTs of a UNION, first one first. Anything else counts as no SELECT and so proves nothing.
fn flatten<'q>(body: &'q SetExpr, arms: &mut Vec<&'q Select>) {
    match body {
        SetExpr::Select(select) => arms.push(select),
        SetExpr::Query(query) if query.with.is_none() => flatten(&query.body, arms),
        SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier: _, right } => {
            flatten(left, arms);
            flatten(right, arms);
        }
        _ => {}
    }
}

/// The columns in order: as listed behind the name, else as the first SELECT calls them.
fn column_names<'q>(cte: &'q Cte, arms: &[&'q Select]) -> Vec<&'q str> {
    if !cte.alias.columns.is_empty() {
        return cte.alias.columns.iter().map(|column| column.name.value.as_str()).collect();
    }
    let first = arms.first().map_or(&[][..], |select| select.projection.as_slice());
    first
        .iter()
        .map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => alias.value.as_str(),
            SelectItem::UnnamedExpr(Expr::Identifier(ident)) => ident.value.as_str(),
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                parts.last().map_or("", |ident| ident.value.as_str())
            }
            _ => "",
        })
        .collect()
}

impl Proof<'_> {
    /// The names under which an arm's own FROM reads the expression.
    fn self_aliases<'q>(&self, select: &'q Select) -> Vec<&'q str> {
        let mut aliases = Vec::new();
        for table in &select.from {
            self.collect_aliases(table, &mut aliases);
        }
        aliases
    }

    fn collect_aliases<'q>(&self, table: &'q TableWithJoins, aliases: &mut Vec<&'q str>) {
        let factors = std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation));
        for factor in factors {
            match factor {
                TableFactor::Table { name: ObjectName(parts), alias, .. } => {
                    if let [ObjectNamePart::Identifier(Ident { value, .. })] = parts.as_slice()
                        && value == self.name
                    {
                        aliases.push(alias.as_ref().map_or(value, |TableAlias { name, .. }| &name.value));
                    }
                }
                TableFactor::NestedJoin { table_with_joins, .. } => {
                    self.collect_aliases(table_with_joins, aliases)
                }
                _ => {}
            }
        }
    }

    fn arm_is_bounded(&self, arm: &Select, columns: &[&str], aliases: &[&str]) -> bool {
        let has_wildcard = arm
            .projection
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
        if has_wildcard {
            return false;
        }
        let mut conditions = Vec::new();
        arm.selection.iter().for_each(|condition| conjuncts(condition, &mut conditions));
        for join in arm.from.iter().flat_map(|table| &table.joins) {
            if let JoinOperator::Join(JoinConstraint::On(on)) | JoinOperator::Inner(JoinConstraint::On(on)) =
                &join.join_operator
            {
                conjuncts(on, &mut conditions);
            }
        }
        arm.projection.iter().zip(columns).any(|(item, column)| {
            let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
                return false;
            };
            let column = Column { name: column, aliases };
            self.step(expr, &column).is_some_and(|(direction, kind)| {
                conditions.iter().any(|condition| self.stops(condition, &column, direction, kind))
            })
        })
    }
}

fn conjuncts<'q>(condition: &'q Expr, found: &mut Vec<&'q Expr>) {
    let mut rest = condition;
    loop {
        match rest {
            Expr::Nested(inner) => rest = inner,
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                conjuncts(right, found);
                rest = left;
            }
            other => {
                found.push(other);
                return;
            }
        }
    }
}
