//! The guard itself: text and parameters in, a statement that may be executed out.

use std::collections::BTreeSet;
use std::thread;

use serde_json::Value;
use sqlparser::ast::{Query, ValueWithSpan};
use sqlparser::dialect::{MySqlDialect, SQLiteDialect};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::grammar::MySqlGrammar;
use super::hints;
use super::lexical;
use super::mask::{Place, Scanned};
use super::policy::{Dialect, Policy};
use super::query::Walk;
use super::refusal::{Refusal, Rule};
use super::scope::Scope;

/// How deep the parser may recurse. The scanner's limits are reached first; this is the second fence.
const PARSER_DEPTH: usize = 160;
/// Stack of the thread that parses, in bytes: unoptimised parser frames take up to 100 KiB a level, and the
/// caller's own stack is of unknown size. Only touched pages cost memory.
const STACK_BYTES: usize = 32 * 1024 * 1024;
/// Longest parameter, in bytes.
const MAX_PARAMETER_BYTES: usize = 16 * 1024;

/// A statement that passed the guard: one SELECT that reads allow-listed tables only.
///
/// There is no other way to make one, so an executor that takes this type can't be handed unchecked SQL.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadOnlySelect {
    sql: String,
    params: Vec<Value>,
    tables: BTreeSet<String>,
}

impl ReadOnlySelect {
    /// Checks a statement and its parameters, and keeps the text as it was given.
    ///
    /// Takes time linear in the text, and never panics or overflows the caller's stack.
    ///
    /// # Errors
    /// The rule that was broken, with a message for the model that wrote the statement.
    pub fn check(sql: &str, params: &[Value], policy: &Policy) -> Result<Self, Refusal> {
        let scanned = lexical::scan(sql, policy.dialect)?;
        check_parameters(params, scanned.placeholders.len())?;
        let bindings = Bindings { places: &scanned.placeholders, params };
        let tables = with_stack(|| parse_and_walk(&scanned, &bindings, policy))?;
        Ok(Self { sql: sql.to_owned(), params: params.to_vec(), tables })
    }

    /// The statement exactly as it was given, a closing semicolon included.
    #[must_use]
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// One scalar per placeholder, in order.
    #[must_use]
    pub fn params(&self) -> &[Value] {
        &self.params
    }

    /// The allow-listed tables the statement reads.
    #[must_use]
    pub fn tables(&self) -> &BTreeSet<String> {
        &self.tables
    }
}

/// Which parameter stands where.
pub(super) struct Bindings<'p> {
    places: &'p [Place],
    params: &'p [Value],
}

impl Bindings<'_> {
    /// The parameter bound to this placeholder.
    pub(super) fn value(&self, literal: &ValueWithSpan) -> Option<&Value> {
        if !matches!(literal.value, sqlparser::ast::Value::Placeholder(_)) {
            return None;
        }
        let start = literal.span.start;
        let index = self.places.binary_search(&(start.line, start.column)).ok()?;
        self.params.get(index)
    }
}

fn check_parameters(params: &[Value], placeholders: usize) -> Result<(), Refusal> {
    if params.len() != placeholders {
        return Err(Refusal::new(
            Rule::Parameters,
            format!(
                "the statement has {placeholders} placeholders (?) but {} params were given",
                params.len()
            ),
        ));
    }
    for (index, param) in params.iter().enumerate() {
        let fault = match param {
            Value::Array(_) => "is an array; write one ? per value and give each as its own parameter",
            Value::Object(_) => "is an object; parameters are strings, numbers, booleans or null",
            Value::String(text) if text.len() > MAX_PARAMETER_BYTES => "is longer than 16 KiB",
            Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => continue,
        };
        return Err(Refusal::new(Rule::Parameters, format!("parameter {} {fault}", index + 1)));
    }
    Ok(())
}

/// Runs the parser and the walk where there is room for the deepest tree the scanner lets through. The tree
/// is dropped there too.
fn with_stack<T: Send>(work: impl FnOnce() -> Result<T, Refusal> + Send) -> Result<T, Refusal> {
    let failed =
        || Refusal::new(Rule::Unsupported, "the statement could not be checked; write it more simply");
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .name("sql-guard".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)
            .map_err(|_| failed())?;
        worker.join().unwrap_or_else(|_| Err(failed()))
    })
}

fn parse_and_walk(
    scanned: &Scanned,
    bindings: &Bindings<'_>,
    policy: &Policy,
) -> Result<BTreeSet<String>, Refusal> {
    let query = parse(&scanned.masked, policy.dialect)
        .map_err(|error| hints::parse_failure(&error.to_string(), &scanned.words, policy.dialect))?;
    let mut walk = Walk { scope: Scope::new(policy), bindings, selects: 0, placeholders: 0, depth: 0 };
    walk.query(&query)?;
    // The walk must have seen all that the text has: a part that it missed is a part that nobody checked.
    let selects = scanned.words.iter().filter(|word| *word == "SELECT").count();
    if walk.selects != selects || walk.placeholders != scanned.placeholders.len() {
        return Err(Refusal::new(
            Rule::Syntax,
            "the statement can be read in two ways; write it more simply",
        ));
    }
    Ok(walk.scope.into_tables())
}

/// Parses one query that reaches to the end of the text. The parser's own reading of whole scripts is of no
/// use here: it stops at the word END, as if the rest belonged to an enclosing block.
fn parse(masked: &str, dialect: Dialect) -> Result<Box<Query>, ParserError> {
    let (mysql, sqlite) = (MySqlGrammar(MySqlDialect {}), SQLiteDialect {});
    let dialect: &dyn sqlparser::dialect::Dialect = match dialect {
        Dialect::MySql => &mysql,
        Dialect::Sqlite => &sqlite,
    };
    let mut parser = Parser::new(dialect).with_recursion_limit(PARSER_DEPTH).try_with_sql(masked)?;
    let query = parser.parse_query()?;
    let _ = parser.consume_token(&Token::SemiColon);
    if parser.peek_token_ref().token != Token::EOF {
        return parser.expected_ref("end of statement", parser.peek_token_ref());
    }
    Ok(query)
}
