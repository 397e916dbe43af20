//! Which names of fields, variables and columns hold secrets.

/// Last words of names that hold secrets.
const SECRET_WORDS: [&str; 34] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "creds",
    "signature",
    "sig",
    "jsessionid",
    "phpsessid",
    "sessionid",
    "sessid",
    "csrftoken",
    "xsrftoken",
    "bearer",
    "jwt",
    "accountkey",
    "sharedaccesskey",
    "sharedaccesssignature",
    "privatekey",
    "passwordhash",
    "userpwd",
    "otp",
    "pin",
    "xapikey",
];
/// One-word names may end with these.
const SECRET_ENDS: [&str; 18] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "accesstoken",
    "sessiontoken",
    "authtoken",
    "refreshtoken",
    "idtoken",
    "clientsecret",
    "privatekey",
    "accountkey",
    "sharedaccesskey",
    "passwordhash",
];
/// A `key` is a secret after one of these.
const KEY_OWNERS: [&str; 26] = [
    "api",
    "access",
    "secret",
    "private",
    "encryption",
    "encrypt",
    "signing",
    "auth",
    "shared",
    "account",
    "master",
    "storage",
    "aes",
    "hmac",
    "rsa",
    "crypto",
    "session",
    "license",
    "client",
    "consumer",
    "deploy",
    "webhook",
    "app",
    "service",
    "ssh",
    "pgp",
];
/// Words after a secret's name that don't change what it holds.
const AFTER_WORDS: [&str; 14] = [
    "value",
    "text",
    "plain",
    "plaintext",
    "old",
    "new",
    "confirm",
    "confirmation",
    "input",
    "raw",
    "base64",
    "b64",
    "string",
    "hash",
];
/// Names that are secrets only if their value looks like one.
const WEAK_WORDS: [&str; 8] = ["pass", "pw", "pin", "otp", "sid", "sessionid", "sig", "token"];
/// How surely a name holds a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    Sure,
    IfRandom,
}

/// Whether a column or field of this name holds secrets, judged by its last words: `db_password` does,
/// `token_count` doesn't.
pub fn names_a_secret(name: &str) -> bool {
    strength(name)
        .is_some_and(|strength| strength == Strength::Sure || name.to_ascii_lowercase().ends_with("token"))
}

pub(super) fn strength(name: &str) -> Option<Strength> {
    if !name.is_ascii() {
        return Some(Strength::Sure);
    }
    let words = words(name);
    let mut words: Vec<&str> =
        words.iter().map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit())).collect();
    words.retain(|word| !word.is_empty());
    if let [.., before, last] = words[..]
        && AFTER_WORDS.contains(&last)
        && ["password", "passwd", "pwd", "secret", "token", "passphrase"].contains(&before)
    {
        words.pop();
    }
    let last = *words.last()?;
    let joined = words.concat();
    let before = words.len().checked_sub(2).and_then(|i| words.get(i)).copied().unwrap_or_default();
    let secret_key = last == "key" && KEY_OWNERS.contains(&before);
    let cookie_id = last == "id" && before == "session" && words.contains(&"net") || joined == "connectsid";
    let known = SECRET_WORDS.contains(&last) || (last != "id" && SECRET_WORDS.contains(&joined.as_str()));
    let ends = SECRET_ENDS.iter().any(|end| last.ends_with(end));
    if WEAK_WORDS.contains(&last) && (words.len() == 1 || matches!(last, "sid" | "sig" | "pin" | "pass")) {
        return Some(Strength::IfRandom);
    }
    (known || ends || secret_key || cookie_id).then_some(Strength::Sure)
}

/// The words of a name in small letters, by separators and by humps: `dbPassword`, `X-Api-Key`, `DB_PASSWORD`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = '_';
    for c in name.chars() {
        let hump = c.is_ascii_uppercase() && previous.is_ascii_lowercase();
        if !c.is_ascii_alphanumeric() {
            previous = '_';
            continue;
        }
        if hump || previous == '_' {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
        previous = c;
    }
    words
}

pub(super) fn is_cookie(name: &str) -> bool {
    words(name).last().is_some_and(|word| word == "cookie")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_by_their_last_words() {
        for name in [
            "password",
            "db_password",
            "dbPassword",
            "DB_PASSWORD",
            "spring.datasource.password",
            "password2",
            "X-Api-Key",
            "apiKey",
            "api_key",
            "aws_secret_access_key",
            "client_secret",
            "AccountKey",
            "accountkey",
            "private_key",
            "access_token",
            "accessToken",
            "Authorization",
            "Set-Cookie",
            "password_hash",
            "passwordHash",
            "secret_value",
            "userpassword",
            "SharedAccessKey",
            "signing_key",
            "JSESSIONID",
            "connect.sid",
            "ASP.NET_SessionId",
            "密码",
        ] {
            assert!(strength(name).is_some(), "{name}");
        }
        for name in [
            "token_count",
            "max_tokens",
            "tokens",
            "token_type",
            "primary_key",
            "cache_key",
            "key",
            "partition_key",
            "secretary",
            "password_reset_at",
            "passenger",
            "compass",
            "author",
            "authority",
            "design",
            "session",
            "session_id",
            "trace_id",
            "order_id",
            "keyboard",
            "monkey",
            "idempotency_key",
            "private_key_id",
            "bypass_rule",
        ] {
            assert!(strength(name).is_none(), "{name}: {:?}", strength(name));
        }
    }
}
