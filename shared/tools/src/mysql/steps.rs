//! What moves a column of a recursive WITH expression, and what stops it: the arithmetic of the proof in
//! `recursion`.

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Interval, ObjectName, ObjectNamePart, SetExpr, UnaryOperator, Value, ValueWithSpan,
};

use super::guard::Bindings;
use super::words;

/// Most steps that a number may ask for.
pub(super) const MAX_STEPS: f64 = 10_000.0;
/// Functions of one date that leave its direction alone.
const DATE_FUNCTIONS: &[&str] = &[
    "CURDATE",
    "CURRENT_DATE",
    "CURRENT_TIMESTAMP",
    "DATE",
    "DATETIME",
    "DATE_ADD",
    "DATE_FORMAT",
    "DATE_SUB",
    "LAST_DAY",
    "NOW",
    "STRFTIME",
    "STR_TO_DATE",
    "SYSDATE",
    "TIMESTAMP",
    "UTC_DATE",
    "UTC_TIMESTAMP",
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// What a column is moved by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Time,
}

/// A proof about the expression of this name.
pub(super) struct Proof<'p> {
    pub(super) name: &'p str,
    pub(super) bindings: &'p Bindings<'p>,
}

impl Proof<'_> {
    /// Whether a condition ends a walk of the column in this direction.
    pub(super) fn stops(
        &self,
        condition: &Expr,
        column: &Column<'_>,
        direction: Direction,
        kind: Kind,
    ) -> bool {
        use BinaryOperator as B;
        let (moving, bound) = match (condition, direction) {
            (Expr::BinaryOp { left, op: B::Lt | B::LtEq, right }, Direction::Up) => (left, right),
            (Expr::BinaryOp { left, op: B::Gt | B::GtEq, right }, Direction::Up) => (right, left),
            (Expr::BinaryOp { left, op: B::Gt | B::GtEq, right }, Direction::Down) => (left, right),
            (Expr::BinaryOp { left, op: B::Lt | B::LtEq, right }, Direction::Down) => (right, left),
            (Expr::Between { expr, negated: false, low: _, high }, Direction::Up) => (expr, high),
            (Expr::Between { expr, negated: false, low, high: _ }, Direction::Down) => (expr, low),
            _ => return false,
        };
        let moves = column.is(moving) || self.step(moving, column).is_some_and(|(way, _)| way == direction);
        moves && self.is_constant(bound, kind)
    }

    /// Which way an expression moves the column, if it does nothing else to it.
    pub(super) fn step(&self, expr: &Expr, column: &Column<'_>) -> Option<(Direction, Kind)> {
        match expr {
            Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => self.step(inner, column),
            Expr::BinaryOp { left, op: BinaryOperator::Plus, right } if column.is(left) => {
                self.amount(right).map(|kind| (Direction::Up, kind))
            }
            Expr::BinaryOp { left, op: BinaryOperator::Plus, right } if column.is(right) => {
                self.amount(left).map(|kind| (Direction::Up, kind))
            }
            Expr::BinaryOp { left, op: BinaryOperator::Minus, right } if column.is(left) => {
                self.amount(right).map(|kind| (Direction::Down, kind))
            }
            Expr::Function(function) => self.function_step(function, column),
            _ => None,
        }
    }

    fn function_step(&self, function: &Function, column: &Column<'_>) -> Option<(Direction, Kind)> {
        let (name, args) = plain_call(function)?;
        match (name.as_str(), args.as_slice()) {
            ("DATE_ADD" | "ADDDATE", [moved, by]) if column.is(moved) => {
                self.amount(by).map(|_| (Direction::Up, Kind::Time))
            }
            ("DATE_SUB" | "SUBDATE", [moved, by]) if column.is(moved) => {
                self.amount(by).map(|_| (Direction::Down, Kind::Time))
            }
            ("TIMESTAMPADD", [_, by, moved]) if column.is(moved) => {
                self.amount(by).map(|_| (Direction::Up, Kind::Time))
            }
            // SQLite: datetime(t, '+1 hour'), strftime('%Y-%m-%d', t, '+1 day').
            ("DATE" | "DATETIME", [moved, by]) if column.is(moved) => modifier(by),
            ("STRFTIME", [_, moved, by]) if column.is(moved) => modifier(by),
            ("DATE" | "TIMESTAMP", [inner]) => self.step(inner, column),
            _ => None,
        }
    }

    /// A step of at least one: a whole number, or an interval of a positive whole number.
    fn amount(&self, expr: &Expr) -> Option<Kind> {
        let (value, kind) = match expr {
            Expr::Interval(Interval { value, .. }) => (value.as_ref(), Kind::Time),
            other => (other, Kind::Number),
        };
        number(value, self.bindings).filter(|n| *n >= 1.0).map(|_| kind)
    }

    fn is_constant(&self, expr: &Expr, kind: Kind) -> bool {
        if let Some(n) = number(expr, self.bindings) {
            return n.abs() <= MAX_STEPS;
        }
        if kind == Kind::Number {
            return false;
        }
        match expr {
            Expr::Value(literal) => match self.bindings.value(literal) {
                Some(param) => param.as_str().is_some_and(is_date),
                None => text(&literal.value).is_some_and(is_date),
            },
            Expr::TypedString(_) => true,
            Expr::Identifier(ident) => ident.quote_style.is_none() && words::is_clock(&ident.value, false),
            Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => self.is_constant(inner, kind),
            Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right } => {
                matches!(right.as_ref(), Expr::Interval(_)) && self.is_constant(left, kind)
            }
            // A value that is looked up once, such as the newest row's time.
            Expr::Subquery(query) => {
                matches!(query.body.as_ref(), SetExpr::Select(select) if !select.from.is_empty())
            }
            Expr::Function(function) => self.is_constant_call(function, kind),
            _ => false,
        }
    }

    fn is_constant_call(&self, function: &Function, kind: Kind) -> bool {
        if matches!(function.args, FunctionArguments::None) {
            return true;
        }
        plain_call(function).is_some_and(|(name, args)| {
            words::is_in(DATE_FUNCTIONS, &name)
                && args.iter().all(|arg| {
                    matches!(arg, Expr::Interval(_))
                        || matches!(arg, Expr::Value(literal) if text(&literal.value).is_some())
                        || self.is_constant(arg, kind)
                })
        })
    }
}

/// A column of the expression, and the names it may be qualified with.
pub(super) struct Column<'q> {
    pub(super) name: &'q str,
    pub(super) aliases: &'q [&'q str],
}

impl Column<'_> {
    fn is(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Nested(inner) => self.is(inner),
            Expr::Identifier(ident) => ident.value.eq_ignore_ascii_case(self.name),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, column] => {
                    self.aliases.contains(&table.value.as_str())
                        && column.value.eq_ignore_ascii_case(self.name)
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// A number that stands in the statement or in its parameters.
pub(super) fn number(expr: &Expr, bindings: &Bindings<'_>) -> Option<f64> {
    match expr {
        Expr::Nested(inner) => number(inner, bindings),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => number(expr, bindings).map(|n| -n),
        Expr::Value(literal) => match (&literal.value, bindings.value(literal)) {
            (Value::Number(digits, _), _) => digits.parse().ok(),
            (_, Some(serde_json::Value::Number(n))) => n.as_f64(),
            (_, Some(serde_json::Value::String(digits))) => digits.trim().parse().ok(),
            (value, None) => text(value).and_then(|digits| digits.trim().parse().ok()),
            _ => None,
        },
        _ => None,
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Some(text),
        _ => None,
    }
}

fn is_date(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && (text.contains('-') || text.contains(':'))
}

/// A SQLite date modifier such as `+1 hour`.
fn modifier(expr: &Expr) -> Option<(Direction, Kind)> {
    let Expr::Value(ValueWithSpan { value, span: _ }) = expr else { return None };
    let written = text(value)?;
    let (sign, rest) = written.split_at_checked(1)?;
    let direction = match sign {
        "+" => Direction::Up,
        "-" => Direction::Down,
        _ => return None,
    };
    let amount: f64 = rest.split_whitespace().next()?.parse().ok()?;
    (amount >= 1.0).then_some((direction, Kind::Time))
}

/// The upper-case name and plain arguments of a call.
fn plain_call(function: &Function) -> Option<(String, Vec<&Expr>)> {
    let ObjectName(parts) = &function.name;
    let [ObjectNamePart::Identifier(name)] = parts.as_slice() else { return None };
    let FunctionArguments::List(FunctionArgumentList { args, .. }) = &function.args else { return None };
    let args = args
        .iter()
        .map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()?;
    Some((name.value.to_ascii_uppercase(), args))
}
