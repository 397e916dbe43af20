//! Walks queries: WITH, set operations and the clauses of SELECT. Structures are taken apart field by
//! field, so that a parser upgrade that adds a clause doesn't compile until somebody has judged it.

use sqlparser::ast::{
    Cte, Distinct, NamedWindowDefinition, NamedWindowExpr, OrderBy, OrderByKind, Query, Select, SelectFlavor,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier, With,
};

use super::clauses::{modifiers, plain_wildcard};
use super::guard::Bindings;
use super::recursion;
use super::refusal::{Refusal, Rule};
use super::scope::Scope;
use super::shapes::{self, unsupported};

pub(super) type Checked = Result<(), Refusal>;

/// The state of one walk over one statement.
pub(super) struct Walk<'p> {
    pub(super) scope: Scope<'p>,
    pub(super) bindings: &'p Bindings<'p>,
    /// SELECT keywords met, to be compared with those in the text.
    pub(super) selects: usize,
    /// Placeholders met, to be compared with those in the text.
    pub(super) placeholders: usize,
    pub(super) depth: usize,
}

impl Walk<'_> {
    pub(super) fn query(&mut self, query: &Query) -> Checked {
        let Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        if !locks.is_empty() {
            return Err(Refusal::new(
                Rule::Locking,
                "FOR UPDATE and FOR SHARE are not allowed; leave the clause out",
            ));
        }
        if fetch.is_some() {
            return Err(unsupported("FETCH; write LIMIT n"));
        }
        if for_clause.is_some() || settings.is_some() || format_clause.is_some() || !pipe_operators.is_empty()
        {
            return Err(unsupported("a clause after the SELECT"));
        }
        if let Some(with) = with {
            self.with(with)?;
        }
        self.set_expr(body)?;
        if let Some(OrderBy { kind, interpolate }) = order_by {
            match (kind, interpolate) {
                (OrderByKind::Expressions(items), None) => self.order_by(items)?,
                _ => return Err(unsupported("this ORDER BY")),
            }
        }
        if let Some(limit) = limit_clause {
            self.limit(limit)?;
        }
        if with.is_some() {
            self.scope.leave();
        }
        Ok(())
    }

    fn with(&mut self, with: &With) -> Checked {
        let With { with_token: _, recursive, cte_tables } = with;
        self.scope.enter(cte_tables.iter().map(|cte| cte.alias.name.value.clone()).collect())?;
        for cte in cte_tables {
            let Cte { alias, query, from, materialized, closing_paren_token: _ } = cte;
            if from.is_some() || materialized.is_some() {
                return Err(unsupported("this form of WITH"));
            }
            shapes::table_alias(Some(alias), self.scope.is_sqlite())?;
            self.scope.start_next(*recursive || self.scope.is_sqlite());
            self.query(query)?;
            let self_reads = self.scope.finish_current();
            if self_reads > 0 {
                recursion::check_bounded(cte, self_reads, self.bindings)?;
            }
        }
        Ok(())
    }

    /// Set operations lean to the left; the loop follows that side without recursion.
    fn set_expr(&mut self, mut body: &SetExpr) -> Checked {
        loop {
            match body {
                SetExpr::Select(select) => return self.select(select),
                SetExpr::Query(query) => return self.query(query),
                SetExpr::SetOperation { left, op, set_quantifier, right } => {
                    match (op, set_quantifier) {
                        (
                            SetOperator::Union | SetOperator::Except | SetOperator::Intersect,
                            SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None,
                        ) => {}
                        _ => return Err(unsupported("this set operation; use UNION, EXCEPT or INTERSECT")),
                    }
                    self.set_expr(right)?;
                    body = left;
                }
                SetExpr::Values(_)
                | SetExpr::Insert(_)
                | SetExpr::Update(_)
                | SetExpr::Delete(_)
                | SetExpr::Merge(_)
                | SetExpr::Table(_) => {
                    return Err(Refusal::new(
                        Rule::NotSelect,
                        "every part of the statement must be a SELECT; TABLE, VALUES and changes of data are \
                         not allowed",
                    ));
                }
            }
        }
    }

    fn select(&mut self, select: &Select) -> Checked {
        let Select {
            select_token: _,
            optimizer_hints,
            distinct,
            select_modifiers,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor,
        } = select;
        self.selects += 1;
        let foreign = top.is_some()
            || exclude.is_some()
            || !lateral_views.is_empty()
            || prewhere.is_some()
            || !connect_by.is_empty()
            || !cluster_by.is_empty()
            || !distribute_by.is_empty()
            || !sort_by.is_empty()
            || qualify.is_some()
            || value_table_mode.is_some()
            || !matches!(flavor, SelectFlavor::Standard)
            || !matches!(distinct, None | Some(Distinct::All | Distinct::Distinct));
        forbidden_clause(!optimizer_hints.is_empty(), into.is_some(), foreign)?;
        modifiers(select_modifiers.as_ref())?;
        for table in from {
            self.table_with_joins(table)?;
        }
        for item in projection {
            self.projected(item)?;
        }
        for condition in [selection, having].into_iter().flatten() {
            self.expr(condition)?;
        }
        self.group_by(group_by)?;
        named_window.iter().try_for_each(|window| self.named_window(window))
    }

    fn named_window(&mut self, definition: &NamedWindowDefinition) -> Checked {
        let NamedWindowDefinition(name, window) = definition;
        shapes::name(name, self.scope.is_sqlite())?;
        match window {
            NamedWindowExpr::NamedWindow(other) => shapes::name(other, self.scope.is_sqlite()),
            NamedWindowExpr::WindowSpec(spec) => self.window(spec),
        }
    }

    fn projected(&mut self, item: &SelectItem) -> Checked {
        let sqlite = self.scope.is_sqlite();
        match item {
            SelectItem::UnnamedExpr(expr) => self.expr(expr),
            SelectItem::ExprWithAlias { expr, alias } => {
                shapes::column_alias(alias, sqlite)?;
                self.expr(expr)
            }
            SelectItem::Wildcard(options) => plain_wildcard(options),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                shapes::names(name, sqlite)?;
                plain_wildcard(options)
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(_), _)
            | SelectItem::ExprWithAliases { .. } => Err(unsupported("this column of the SELECT list")),
        }
    }
}

fn forbidden_clause(hints: bool, into: bool, foreign: bool) -> Checked {
    if hints {
        return Err(Refusal::new(Rule::OptimizerHint, "optimizer hints are not allowed; leave the hint out"));
    }
    if into {
        let message = "INTO is not allowed; the rows of the SELECT are returned to you";
        return Err(Refusal::new(Rule::Into, message));
    }
    if foreign { Err(unsupported("a clause of another database's SELECT")) } else { Ok(()) }
}
