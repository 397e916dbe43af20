//! The MySQL grammar the parser is given: the parser crate's own, plus what it misses of expressions that
//! engineers write (`a MOD b`, `!a`, parentheses round a table).

use std::any::TypeId;

use sqlparser::ast::{BinaryOperator, Expr, Statement};
use sqlparser::dialect::{BindPlaceholderStyle, Dialect, MySqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

#[derive(Debug)]
pub(super) struct MySqlGrammar(pub(super) MySqlDialect);

/// Answers as the parser crate's MySQL dialect does.
macro_rules! as_mysql {
    ($($question:ident)*) => { $(fn $question(&self) -> bool { self.0.$question() })* };
}

impl Dialect for MySqlGrammar {
    fn dialect(&self) -> TypeId {
        TypeId::of::<MySqlDialect>()
    }

    as_mysql! {
        supports_string_literal_backslash_escape
        supports_string_literal_concatenation ignores_wildcard_escapes
        supports_numeric_prefix supports_literal_prefix_in_qualified_name supports_bitwise_shift_operators
        supports_singular_value_keyword supports_multiline_comment_hints require_interval_qualifier
        supports_limit_comma supports_create_table_select supports_insert_set supports_user_host_grantee
        supports_table_hints requires_single_line_comment_whitespace supports_hash_comment
        supports_match_against supports_select_modifiers supports_set_names
        supports_comma_separated_set_assignments supports_alter_column_position supports_update_order_by
        supports_data_type_signed_suffix supports_data_type_zerofill_suffix supports_cross_join_constraint
        supports_double_ampersand_operator supports_binary_kw_as_cast supports_table_partitions
        supports_comment_optimizer_hint supports_constraint_keyword_without_name supports_key_column_option
        supports_group_by_with_modifier supports_left_associative_joins_without_parens
    }

    fn supports_bang_not_operator(&self) -> bool {
        true
    }

    fn supports_parens_around_table_factor(&self) -> bool {
        true
    }

    fn supports_string_literal_table_alias(&self, explicit: bool) -> bool {
        self.0.supports_string_literal_table_alias(explicit)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        self.0.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        self.0.is_identifier_part(ch)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        self.0.is_delimited_identifier_start(ch)
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.0.identifier_quote_style(identifier)
    }

    fn ordered_bind_placeholder_style(&self) -> Option<BindPlaceholderStyle> {
        self.0.ordered_bind_placeholder_style()
    }

    fn parse_statement(&self, parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
        self.0.parse_statement(parser)
    }

    fn is_table_factor_alias(&self, explicit: bool, kw: &Keyword, parser: &mut Parser) -> bool {
        self.0.is_table_factor_alias(explicit, kw, parser)
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        if is_mod(parser) {
            return Some(Ok(self.prec_value(Precedence::MulDivModOp)));
        }
        self.0.get_next_precedence(parser)
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if !is_mod(parser) {
            return self.0.parse_infix(parser, expr, precedence);
        }
        parser.advance_token();
        Some(parser.parse_subexpr(precedence).map(|right| Expr::BinaryOp {
            left: Box::new(expr.clone()),
            op: BinaryOperator::Modulo,
            right: Box::new(right),
        }))
    }
}

/// Whether the word MOD stands where an operator is expected. It is reserved, so it can't be an alias.
fn is_mod(parser: &Parser) -> bool {
    matches!(&parser.peek_token_ref().token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("MOD"))
}
