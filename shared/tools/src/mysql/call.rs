//! Walks function calls and their windows.

use sqlparser::ast::{
    CastKind, CeilFloorKind, DataType, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArgumentList, FunctionArguments, Ident, JsonReturningClause,
    NullTreatment, ObjectName, ObjectNamePart, TypedString, Value, ValueWithSpan, WindowFrame,
    WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::functions;
use super::policy::Dialect;
use super::query::{Checked, Walk};
use super::refusal::{Refusal, Rule, echo};
use super::shapes::{self, unsupported};

/// Longest value that REPEAT, SPACE, LPAD and RPAD may build, in characters.
const MAX_BUILT: f64 = 1024.0;

impl Walk<'_> {
    pub(super) fn function(&mut self, function: &Function) -> Checked {
        let Function { name, uses_odbc_syntax, parameters, args, within_group, filter, null_treatment, over } =
            function;
        let name = self.function_name(name)?;
        if *uses_odbc_syntax || !matches!(parameters, FunctionArguments::None) {
            return Err(unsupported("this form of a function call"));
        }
        match args {
            FunctionArguments::List(list) => self.arguments(name, list)?,
            FunctionArguments::None if super::words::is_clock(name, self.scope.is_sqlite()) => {}
            FunctionArguments::None | FunctionArguments::Subquery(_) => {
                return Err(unsupported("a call without an argument list"));
            }
        }
        self.order_by(within_group)?;
        if let Some(condition) = filter {
            self.expr(condition)?;
        }
        match null_treatment {
            None | Some(NullTreatment::IgnoreNulls | NullTreatment::RespectNulls) => {}
        }
        match over {
            None => Ok(()),
            Some(WindowType::NamedWindow(window)) => shapes::name(window, self.scope.is_sqlite()),
            Some(WindowType::WindowSpec(spec)) => self.window(spec),
        }
    }

    /// A bare name that is on the list. A quoted or qualified one would call a stored routine.
    fn function_name<'f>(&self, name: &'f ObjectName) -> Result<&'f str, Refusal> {
        let dialect = if self.scope.is_sqlite() { Dialect::Sqlite } else { Dialect::MySql };
        let ObjectName(parts) = name;
        match parts.as_slice() {
            [ObjectNamePart::Identifier(Ident { value, quote_style: None, span: _ })] => {
                if functions::is_allowed(value, dialect) {
                    return Ok(value);
                }
                Err(Refusal::new(
                    Rule::Function,
                    format!("function {} is not allowed; {}", echo(value), functions::advice(value, dialect)),
                ))
            }
            _ => Err(Refusal::new(
                Rule::Function,
                "functions are called by their bare name, not quoted or qualified",
            )),
        }
    }

    fn arguments(&mut self, name: &str, list: &FunctionArgumentList) -> Checked {
        let FunctionArgumentList { duplicate_treatment: _, args, clauses } = list;
        let built = functions::length_argument(name);
        for (index, arg) in args.iter().enumerate() {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                    if built == Some(index) {
                        self.small_constant(name, expr)?;
                    }
                    self.expr(expr)?;
                }
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) if name.eq_ignore_ascii_case("COUNT") => {}
                _ => return Err(unsupported("this form of a function's argument")),
            }
        }
        clauses.iter().try_for_each(|clause| self.argument_clause(clause))
    }

    fn argument_clause(&mut self, clause: &FunctionArgumentClause) -> Checked {
        match clause {
            FunctionArgumentClause::OrderBy(items) => self.order_by(items),
            FunctionArgumentClause::Limit(Expr::Value(literal)) => self.literal(literal),
            FunctionArgumentClause::Separator(literal) => self.literal(literal),
            FunctionArgumentClause::IgnoreOrRespectNulls(_) => Ok(()),
            FunctionArgumentClause::JsonReturningClause(JsonReturningClause { data_type }) => {
                shapes::data_type(data_type)
            }
            _ => Err(unsupported("this clause in a function call")),
        }
    }

    /// `REPEAT('a', 1000000000)` costs the server a gigabyte and the statement nothing.
    fn small_constant(&self, name: &str, expr: &Expr) -> Checked {
        let length = match expr {
            Expr::Value(ValueWithSpan { value: Value::Number(digits, _), span: _ }) => digits.parse().ok(),
            Expr::Value(literal) => self.bindings.value(literal).and_then(serde_json::Value::as_f64),
            _ => None,
        };
        if length.is_some_and(|length: f64| length <= MAX_BUILT) {
            return Ok(());
        }
        Err(Refusal::new(
            Rule::Resource,
            format!("the length given to {} must be a number up to {MAX_BUILT}", echo(name)),
        ))
    }

    pub(super) fn window(&mut self, spec: &WindowSpec) -> Checked {
        let WindowSpec { window_name, partition_by, order_by, window_frame } = spec;
        if let Some(name) = window_name {
            shapes::name(name, self.scope.is_sqlite())?;
        }
        for expr in partition_by {
            self.expr(expr)?;
        }
        self.order_by(order_by)?;
        let Some(WindowFrame { units, start_bound, end_bound }) = window_frame else { return Ok(()) };
        match units {
            WindowFrameUnits::Rows | WindowFrameUnits::Range | WindowFrameUnits::Groups => {}
        }
        for bound in [Some(start_bound), end_bound.as_ref()].into_iter().flatten() {
            match bound {
                WindowFrameBound::CurrentRow => {}
                WindowFrameBound::Preceding(distance) | WindowFrameBound::Following(distance) => {
                    if let Some(distance) = distance {
                        self.expr(distance)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Functions whose arguments are separated by keywords.
    pub(super) fn keyword_call(&mut self, expr: &Expr) -> Checked {
        match expr {
            Expr::Cast { kind: CastKind::Cast, expr, data_type, format: None } => {
                shapes::data_type(data_type)?;
                self.expr(expr)
            }
            Expr::Convert { is_try: false, expr, data_type, charset, target_before_value: false, styles }
                if styles.is_empty() =>
            {
                data_type.iter().try_for_each(shapes::data_type)?;
                charset.iter().try_for_each(shapes::charset)?;
                self.expr(expr)
            }
            Expr::Extract { field, syntax: _, expr } => {
                shapes::unit(field)?;
                self.expr(expr)
            }
            Expr::Ceil { expr, field } | Expr::Floor { expr, field } => match field {
                CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => self.expr(expr),
                CeilFloorKind::DateTimeField(_) | CeilFloorKind::Scale(_) => {
                    Err(unsupported("CEIL and FLOOR with a second argument"))
                }
            },
            Expr::Position { expr, r#in } => self.all([expr.as_ref(), r#in]),
            Expr::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
                self.expr(expr)?;
                self.all(substring_from.as_deref())?;
                self.all(substring_for.as_deref())
            }
            Expr::Trim { trim_where: _, trim_what, expr, trim_characters } => {
                self.expr(expr)?;
                self.all(trim_what.as_deref())?;
                self.all(trim_characters.iter().flatten())
            }
            Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: false }) => match data_type {
                DataType::Date | DataType::Time(..) | DataType::Timestamp(..) | DataType::Datetime(_) => {
                    self.literal(value)
                }
                _ => Err(unsupported("a typed literal other than DATE, TIME or TIMESTAMP")),
            },
            _ => Err(unsupported("an expression of another database")),
        }
    }
}
