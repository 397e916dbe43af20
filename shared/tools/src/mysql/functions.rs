//! The functions a statement may call, by dialect. Everything else is refused: functions that write, wait,
//! lock, read files, name the host or carry data out through an error message are simply not here.

use super::policy::Dialect;
use super::words;

/// Read-only functions of MySQL and MariaDB, sorted.
#[rustfmt::skip]
const MYSQL: &[&str] = &[
    "ABS", "ACOS", "ADDDATE", "ADDTIME", "ANY_VALUE", "ASCII", "ASIN", "ATAN", "ATAN2", "AVG", "BIN",
    "BIN_TO_UUID", "BIT_AND", "BIT_COUNT", "BIT_LENGTH", "BIT_OR", "BIT_XOR", "CEIL", "CEILING", "CHAR",
    "CHARACTER_LENGTH", "CHARSET", "CHAR_LENGTH", "COALESCE", "COLLATION", "CONCAT", "CONCAT_WS",
    "CONV", "CONVERT_TZ", "COS", "COT", "COUNT", "CRC32", "CUME_DIST", "CURDATE", "CURRENT_DATE",
    "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURTIME", "DATE", "DATEDIFF", "DATE_ADD", "DATE_FORMAT",
    "DATE_SUB", "DAY", "DAYNAME", "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR", "DEGREES", "DENSE_RANK",
    "ELT", "EXP", "FIELD", "FIND_IN_SET", "FIRST_VALUE", "FLOOR", "FORMAT", "FORMAT_BYTES",
    "FORMAT_PICO_TIME", "FROM_BASE64", "FROM_DAYS", "FROM_UNIXTIME", "GET_FORMAT", "GREATEST",
    "GROUPING", "GROUP_CONCAT", "HEX", "HOUR", "IF", "IFNULL", "INET6_ATON", "INET6_NTOA", "INET_ATON",
    "INET_NTOA", "INSERT", "INSTR", "ISNULL", "IS_IPV4", "IS_IPV4_COMPAT", "IS_IPV4_MAPPED", "IS_IPV6",
    "IS_UUID", "JSON_ARRAY", "JSON_ARRAYAGG", "JSON_ARRAY_APPEND", "JSON_ARRAY_INSERT", "JSON_COMPACT",
    "JSON_CONTAINS", "JSON_CONTAINS_PATH", "JSON_DEPTH", "JSON_DETAILED", "JSON_EQUALS", "JSON_EXISTS",
    "JSON_EXTRACT", "JSON_INSERT", "JSON_KEYS", "JSON_LENGTH", "JSON_LOOSE", "JSON_MERGE_PATCH",
    "JSON_MERGE_PRESERVE", "JSON_NORMALIZE", "JSON_OBJECT", "JSON_OBJECTAGG", "JSON_OVERLAPS",
    "JSON_PRETTY", "JSON_QUERY", "JSON_QUOTE", "JSON_REMOVE", "JSON_REPLACE", "JSON_SCHEMA_VALID",
    "JSON_SEARCH", "JSON_SET", "JSON_STORAGE_SIZE", "JSON_TYPE", "JSON_UNQUOTE", "JSON_VALID",
    "JSON_VALUE", "LAG", "LAST_DAY", "LAST_VALUE", "LCASE", "LEAD", "LEAST", "LEFT", "LENGTH", "LN",
    "LOCALTIME", "LOCALTIMESTAMP", "LOCATE", "LOG", "LOG10", "LOG2", "LOWER", "LPAD", "LTRIM",
    "MAKEDATE", "MAKETIME", "MAKE_SET", "MAX", "MD5", "MEDIAN", "MICROSECOND", "MID", "MIN", "MINUTE",
    "MOD", "MONTH", "MONTHNAME", "NOW", "NTH_VALUE", "NTILE", "NULLIF", "NVL", "NVL2", "OCT",
    "OCTET_LENGTH", "ORD", "PERCENTILE_CONT", "PERCENTILE_DISC", "PERCENT_RANK", "PERIOD_ADD",
    "PERIOD_DIFF", "PI", "POSITION", "POW", "POWER", "QUARTER", "QUOTE", "RADIANS", "RAND", "RANK",
    "REGEXP_INSTR", "REGEXP_LIKE", "REGEXP_REPLACE", "REGEXP_SUBSTR", "REPEAT", "REPLACE", "REVERSE",
    "RIGHT", "ROUND", "ROW", "ROW_NUMBER", "RPAD", "RTRIM", "SECOND", "SEC_TO_TIME", "SHA", "SHA1",
    "SHA2", "SIGN", "SIN", "SOUNDEX", "SPACE", "SQRT", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP",
    "STRCMP", "STR_TO_DATE", "SUBDATE", "SUBSTR", "SUBSTRING", "SUBSTRING_INDEX", "SUBTIME", "SUM",
    "SYSDATE", "TAN", "TIME", "TIMEDIFF", "TIMESTAMP", "TIMESTAMPADD", "TIMESTAMPDIFF", "TIME_FORMAT",
    "TIME_TO_SEC", "TO_BASE64", "TO_DAYS", "TO_SECONDS", "TRIM", "TRUNCATE", "UCASE", "UNHEX",
    "UNIX_TIMESTAMP", "UPPER", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "UUID_TO_BIN", "VARIANCE",
    "VAR_POP", "VAR_SAMP", "WEEK", "WEEKDAY", "WEEKOFYEAR", "YEAR", "YEARWEEK",
];

/// Read-only functions of SQLite, sorted. `printf`, `zeroblob` and the like, which build huge values from a
/// few characters, are left out.
#[rustfmt::skip]
const SQLITE: &[&str] = &[
    "ABS", "AVG", "CEIL", "CEILING", "CHAR", "COALESCE", "CONCAT", "CONCAT_WS", "COUNT", "CUME_DIST",
    "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "DATE", "DATETIME", "DENSE_RANK", "EXP",
    "FIRST_VALUE", "FLOOR", "GROUP_CONCAT", "HEX", "IFNULL", "IIF", "INSTR", "JSON", "JSON_ARRAY",
    "JSON_ARRAY_LENGTH", "JSON_EXTRACT", "JSON_GROUP_ARRAY", "JSON_GROUP_OBJECT", "JSON_OBJECT",
    "JSON_QUOTE", "JSON_TYPE", "JSON_VALID", "JULIANDAY", "LAG", "LAST_VALUE", "LEAD", "LENGTH",
    "LIKELY", "LN", "LOG", "LOG10", "LOG2", "LOWER", "LTRIM", "MAX", "MIN", "MOD", "NTH_VALUE", "NTILE",
    "NULLIF", "OCTET_LENGTH", "PERCENT_RANK", "POW", "POWER", "RANDOM", "RANK", "REPLACE", "ROUND",
    "ROW_NUMBER", "RTRIM", "SIGN", "SQRT", "STRFTIME", "STRING_AGG", "SUBSTR", "SUBSTRING", "SUM",
    "TIME", "TIMEDIFF", "TOTAL", "TRIM", "TRUNC", "TYPEOF", "UNHEX", "UNICODE", "UNIXEPOCH", "UNLIKELY",
    "UPPER",
];

/// Functions whose argument of this index is the length of what they build.
const BUILDERS: &[(&str, usize)] = &[("LPAD", 1), ("REPEAT", 1), ("RPAD", 1), ("SPACE", 0)];

/// What the model should do instead of calling a refused function.
const ADVICE: &[(&[&str], &str)] = &[
    (&["SLEEP", "BENCHMARK"], "functions that wait or waste time are not allowed"),
    (
        &[
            "VERSION",
            "USER",
            "CURRENT_USER",
            "SESSION_USER",
            "SYSTEM_USER",
            "DATABASE",
            "SCHEMA",
            "CONNECTION_ID",
        ],
        "the server, its users and sessions can't be inspected",
    ),
    (&["LOAD_FILE", "READFILE", "LOAD_EXTENSION"], "files can't be read"),
    (
        &["PRINTF", "NVL", "TO_CHAR", "TO_DATE", "DATE_TRUNC", "GETDATE"],
        "use DATE_FORMAT, CONCAT or COALESCE",
    ),
];

pub(super) fn is_allowed(name: &str, dialect: Dialect) -> bool {
    words::is_in(if dialect == Dialect::Sqlite { SQLITE } else { MYSQL }, name)
}

/// The index of the argument that must be a small constant.
pub(super) fn length_argument(name: &str) -> Option<usize> {
    BUILDERS.iter().find(|(builder, _)| builder.eq_ignore_ascii_case(name)).map(|(_, index)| *index)
}

pub(super) fn advice(name: &str, dialect: Dialect) -> &'static str {
    let known = ADVICE.iter().find(|(names, _)| names.iter().any(|n| n.eq_ignore_ascii_case(name)));
    match (known, dialect) {
        (Some((_, advice)), Dialect::MySql) => advice,
        (_, Dialect::Sqlite) => {
            "use SQLite's functions, such as strftime, datetime, coalesce, round or json_extract"
        }
        (None, Dialect::MySql) => "use the ordinary aggregate, window, date, string and JSON functions",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_or_lookups_would_miss() {
        assert!(MYSQL.is_sorted());
        assert!(SQLITE.is_sorted());
    }
}
