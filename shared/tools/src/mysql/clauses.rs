//! Walks the smaller clauses of a query: GROUP BY, ORDER BY, LIMIT, modifiers and `*`.

use sqlparser::ast::{
    Expr, GroupByExpr, GroupByWithModifier, LimitClause, Offset, OffsetRows, OrderByExpr, OrderByOptions,
    OrderBySort, SelectModifiers, Value, WildcardAdditionalOptions,
};

use super::query::{Checked, Walk};
use super::refusal::{Refusal, Rule};
use super::shapes::unsupported;

impl Walk<'_> {
    pub(super) fn group_by(&mut self, group_by: &GroupByExpr) -> Checked {
        let GroupByExpr::Expressions(items, modifiers) = group_by else {
            return Err(unsupported("GROUP BY ALL; name the columns"));
        };
        for item in items {
            self.expr(item)?;
        }
        match modifiers.as_slice() {
            [] | [GroupByWithModifier::Rollup] => Ok(()),
            _ => Err(unsupported("this GROUP BY modifier; only WITH ROLLUP is")),
        }
    }

    pub(super) fn order_by(&mut self, items: &[OrderByExpr]) -> Checked {
        for OrderByExpr { expr, options: OrderByOptions { sort, nulls_first: _ }, with_fill } in items {
            match (sort, with_fill) {
                (None | Some(OrderBySort::Asc | OrderBySort::Desc), None) => self.expr(expr)?,
                _ => return Err(unsupported("this ORDER BY")),
            }
        }
        Ok(())
    }

    pub(super) fn limit(&mut self, limit: &LimitClause) -> Checked {
        match limit {
            LimitClause::LimitOffset { limit, offset, limit_by } => {
                if !limit_by.is_empty() {
                    return Err(unsupported("LIMIT BY"));
                }
                if let Some(limit) = limit {
                    self.limit_value(limit)?;
                }
                match offset {
                    None => Ok(()),
                    Some(Offset { value, rows: OffsetRows::None }) => self.limit_value(value),
                    Some(_) => Err(unsupported("OFFSET … ROWS; write OFFSET n")),
                }
            }
            LimitClause::OffsetCommaLimit { offset, limit } => {
                self.limit_value(offset)?;
                self.limit_value(limit)
            }
        }
    }

    fn limit_value(&mut self, value: &Expr) -> Checked {
        match value {
            Expr::Value(literal) if matches!(literal.value, Value::Number(_, _) | Value::Placeholder(_)) => {
                self.literal(literal)
            }
            _ => Err(unsupported("LIMIT and OFFSET by anything but a number or ?")),
        }
    }
}

pub(super) fn plain_wildcard(options: &WildcardAdditionalOptions) -> Checked {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude,
        opt_except,
        opt_replace,
        opt_rename,
        opt_alias,
    } = options;
    let plain = opt_ilike.is_none()
        && opt_exclude.is_none()
        && opt_except.is_none()
        && opt_replace.is_none()
        && opt_rename.is_none()
        && opt_alias.is_none();
    if plain { Ok(()) } else { Err(unsupported("options of *")) }
}

/// STRAIGHT_JOIN only fixes the join order; the others change what the server does beyond this statement.
pub(super) fn modifiers(modifiers: Option<&SelectModifiers>) -> Checked {
    let Some(SelectModifiers {
        high_priority,
        straight_join: _,
        sql_small_result,
        sql_big_result,
        sql_buffer_result,
        sql_no_cache,
        sql_calc_found_rows,
    }) = modifiers
    else {
        return Ok(());
    };
    if *high_priority
        || *sql_small_result
        || *sql_big_result
        || *sql_buffer_result
        || *sql_no_cache
        || *sql_calc_found_rows
    {
        return Err(Refusal::new(
            Rule::Modifier,
            "SQL_CALC_FOUND_ROWS, SQL_NO_CACHE, HIGH_PRIORITY and the like are not allowed; \
             count with a second SELECT COUNT(*)",
        ));
    }
    Ok(())
}
