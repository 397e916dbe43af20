//! Walks FROM: tables, derived tables, JSON_TABLE and joins.

use sqlparser::ast::{
    FunctionArg, FunctionArgExpr, Ident, Join, JoinConstraint, JoinOperator, JsonTableColumn,
    JsonTableColumnErrorHandling, JsonTableNamedColumn, JsonTableNestedColumn, ObjectName, ObjectNamePart,
    TableFactor, TableFunctionArgs, TableIndexDirective, TableIndexHints, TableWithJoins, Value,
    ValueWithSpan,
};

use super::query::{Checked, Walk};
use super::refusal::{Refusal, Rule};
use super::shapes::{self, unsupported};
use super::words;

impl Walk<'_> {
    pub(super) fn table_with_joins(&mut self, table: &TableWithJoins) -> Checked {
        let TableWithJoins { relation, joins } = table;
        self.table_factor(relation)?;
        for Join { relation, global, join_operator } in joins {
            if *global {
                return Err(unsupported("GLOBAL JOIN"));
            }
            self.table_factor(relation)?;
            self.join_operator(join_operator)?;
        }
        Ok(())
    }

    fn table_factor(&mut self, factor: &TableFactor) -> Checked {
        let sqlite = self.scope.is_sqlite();
        match factor {
            TableFactor::Table { .. } => self.table(factor),
            TableFactor::Derived { lateral, subquery, alias, sample } => {
                if sample.is_some() || (*lateral && sqlite) {
                    return Err(unsupported("this derived table"));
                }
                shapes::table_alias(alias.as_ref(), sqlite)?;
                self.query(subquery)
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                if alias.is_some() {
                    return Err(unsupported("an alias for a join in parentheses"));
                }
                self.table_with_joins(table_with_joins)
            }
            TableFactor::JsonTable { json_expr, json_path, columns, alias } if !sqlite => {
                shapes::table_alias(alias.as_ref(), sqlite)?;
                self.expr(json_expr)?;
                path(json_path)?;
                columns.iter().try_for_each(|column| self.json_column(column))
            }
            _ => Err(not_a_table()),
        }
    }

    fn table(&mut self, factor: &TableFactor) -> Checked {
        let TableFactor::Table {
            name,
            alias,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_directives,
            inheritance,
        } = factor
        else {
            return Err(not_a_table());
        };
        let sqlite = self.scope.is_sqlite();
        if !with_hints.is_empty()
            || version.is_some()
            || *with_ordinality
            || json_path.is_some()
            || sample.is_some()
            || inheritance.is_some()
        {
            return Err(unsupported("this form of a table in FROM"));
        }
        shapes::table_alias(alias.as_ref(), sqlite)?;
        for partition in partitions {
            shapes::name(partition, sqlite)?;
        }
        index_directives.iter().try_for_each(|directive| index_hint(directive, sqlite))?;
        match args {
            None => self.scope.resolve(name),
            Some(args) if sqlite => self.json_function(name, args),
            Some(_) => Err(not_a_table()),
        }
    }

    /// SQLite's two table-valued functions that read nothing but their arguments.
    fn json_function(&mut self, name: &ObjectName, args: &TableFunctionArgs) -> Checked {
        let TableFunctionArgs { args, settings } = args;
        let ObjectName(parts) = name;
        match (parts.as_slice(), settings) {
            ([ObjectNamePart::Identifier(Ident { value, quote_style: None, span: _ })], None)
                if words::is_in(&["JSON_EACH", "JSON_TREE"], value) => {}
            _ => return Err(not_a_table()),
        }
        for arg in args {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => self.expr(expr)?,
                _ => return Err(not_a_table()),
            }
        }
        Ok(())
    }

    fn join_operator(&mut self, operator: &JoinOperator) -> Checked {
        let sqlite = self.scope.is_sqlite();
        match operator {
            JoinOperator::Join(on)
            | JoinOperator::Inner(on)
            | JoinOperator::Left(on)
            | JoinOperator::LeftOuter(on)
            | JoinOperator::Right(on)
            | JoinOperator::RightOuter(on)
            | JoinOperator::CrossJoin(on) => self.join_constraint(on),
            JoinOperator::StraightJoin(on) if !sqlite => self.join_constraint(on),
            JoinOperator::FullOuter(on) if sqlite => self.join_constraint(on),
            _ => Err(unsupported("this kind of JOIN; use INNER, LEFT, RIGHT or CROSS JOIN")),
        }
    }

    fn join_constraint(&mut self, constraint: &JoinConstraint) -> Checked {
        match constraint {
            JoinConstraint::On(condition) => self.expr(condition),
            JoinConstraint::Using(columns) => {
                columns.iter().try_for_each(|column| shapes::names(column, self.scope.is_sqlite()))
            }
            JoinConstraint::Natural | JoinConstraint::None => Ok(()),
            JoinConstraint::UsingAlias(_, _) => Err(unsupported("an alias for USING")),
        }
    }

    fn json_column(&mut self, column: &JsonTableColumn) -> Checked {
        match column {
            JsonTableColumn::Named(JsonTableNamedColumn {
                name,
                r#type,
                path: at,
                exists: _,
                on_empty,
                on_error,
            }) => {
                shapes::name(name, false)?;
                shapes::data_type(r#type)?;
                path(at)?;
                for handling in [on_empty, on_error].into_iter().flatten() {
                    match handling {
                        JsonTableColumnErrorHandling::Null | JsonTableColumnErrorHandling::Error => {}
                        JsonTableColumnErrorHandling::Default(value) => self.literal(value)?,
                    }
                }
                Ok(())
            }
            JsonTableColumn::ForOrdinality(name) => shapes::name(name, false),
            JsonTableColumn::Nested(JsonTableNestedColumn { path: at, columns }) => {
                path(at)?;
                columns.iter().try_for_each(|column| self.json_column(column))
            }
        }
    }
}

/// A JSON path of JSON_TABLE: the servers only take a literal.
fn path(value: &ValueWithSpan) -> Checked {
    match value.value {
        Value::SingleQuotedString(_) | Value::DoubleQuotedString(_) => Ok(()),
        _ => Err(unsupported("a JSON path that is not a literal")),
    }
}

/// Index hints only choose among access paths of a table that may be read anyway.
fn index_hint(directive: &TableIndexDirective, sqlite: bool) -> Checked {
    match directive {
        TableIndexDirective::MySql(TableIndexHints {
            hint_type: _,
            index_type: _,
            for_clause: _,
            index_names,
        }) if !sqlite => {
            // PRIMARY is reserved but is the name of an index.
            index_names
                .iter()
                .filter(|index| !index.value.eq_ignore_ascii_case("PRIMARY"))
                .try_for_each(|index| shapes::name(index, sqlite))
        }
        TableIndexDirective::MySql(_)
        | TableIndexDirective::IndexedBy(_)
        | TableIndexDirective::NotIndexed => Err(unsupported("this index hint")),
    }
}

fn not_a_table() -> Refusal {
    Refusal::new(
        Rule::TableSource,
        "FROM may hold tables, sub-queries and JSON_TABLE only, not other functions",
    )
}
