//! Secrets that must go and ids that must stay.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn secrets_are_masked() {
    let table = [
        ("mail to tom.becker@example.net bounced", "mail to [email:1] bounced"),
        ("发给tom@example.org的邮件", "发给[email:1]的邮件"),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer [auth:1]"),
        ("token eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln seen", "token [jwt:1] seen"),
        ("login password=hunter2, user=tom", "login password=[credential:1], user=tom"),
        (r#"{"password":"hun ter2","user":"tom"}"#, r#"{"password":"[credential:1]","user":"tom"}"#),
        (r#"{\"db_password\":\"hunter2\"}"#, r#"{\"db_password\":\"[credential:1]\"}"#),
        ("spring.datasource.password: hunter2", "spring.datasource.password: [credential:1]"),
        ("密码：hunter2，用户 tom", "密码：[credential:1]，用户 tom"),
        ("body: password=x&api_key=y", "body: password=[credential:1]&api_key=[credential:2]"),
        ("mysql://shop:p@ss@db.internal:3306/orders", "mysql://[credential:1]@db.internal:3306/orders"),
        (
            "http://a:b@x.example/p?u=http://c:d@y.example/",
            "http://[credential:1]@x.example/p?u=http://[credential:2]@y.example/",
        ),
        ("redis://:secretpw@cache:6379", "redis://[credential:1]@cache:6379"),
        ("key AKIAIOSFODNN7EXAMPLE used", "key [aws-key:1] used"),
        ("aws_secret_access_key = wJalrXUtnFEMIEXAMPLEKEY", "aws_secret_access_key = [credential:1]"),
        ("card 4111 1111 1111 1111 declined", "card [card:1] declined"),
        ("card 4111111111111111.", "card [card:1]."),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nnext", "[pem-key:1]\nnext"),
        ("cut off -----BEGIN PRIVATE KEY-----\nMIIE", "cut off [pem-key:1]"),
    ];
    for (text, masked) in table {
        assert_eq!(redact(text), masked, "{text}");
        assert_eq!(redact(masked), masked, "twice is once: {text}");
    }
}

#[test]
fn what_an_engineer_searches_by_survives() {
    for text in [
        "Charge order=88041305 channel=acquirer-b failed: GATEWAY_TIMEOUT after 6029 ms",
        "trace_id=5add253187a012d0 span 20e9f5626f57b106",
        "run 0190b3c4-0000-7000-8000-411111111111 done",
        "order_id=4111111111111111",
        "订单号4111111111111111已取消",
        "at 1764482730123 and 1764482730123456789",
        "GET http://feature-flags.internal/v1/flags: connect timed out",
        "http: TLS handshake error from 10.42.6.101:52144",
        "cache miss key=sku:80630 ttl=30s",
        "max_tokens=16000 prompt_tokens: 512 token_count=7",
        "password=<*> token: null secret=***",
        "password=${DB_PASSWORD} secret: ${S:} token=${T:-}",
        "npm install left-pad@1.3.0",
        "token expired, password wrong",
        "authorization: denied".split(':').next().unwrap(),
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn the_same_secret_has_the_same_number_within_one_call() {
    let mut redactor = Redactor::new();
    assert_eq!(redactor.text("a@example.org b@example.org"), "[email:1] [email:2]");
    assert_eq!(redactor.text("b@example.org password=b@example.org"), "[email:2] password=[credential:1]");
    assert_eq!(redactor.masked(), 3);
}

#[test]
fn cells_and_json_are_masked_by_name_and_by_content() {
    let mut redactor = Redactor::new();
    let mut row = [json!("abc"), json!(12345), json!("see tom@example.org"), json!(7), json!(null)];
    for (column, cell) in
        ["login_name", "user_secret", "note", "token_count", "api_key"].iter().zip(row.iter_mut())
    {
        redactor.cell(column, cell);
    }
    assert_eq!(row, [json!("abc"), json!("[credential:1]"), json!("see [email:1]"), json!(7), json!(null)]);
    let mut nested = json!({"a": [{"password": "x", "b": "c@example.org"}], "n": 1});
    redactor.json(&mut nested);
    assert_eq!(nested, json!({"a": [{"password": "[credential:2]", "b": "[email:2]"}], "n": 1}));
}

/// Quadratic work on any of these texts would take minutes, and linear work takes moments: the limit only tells them apart.
#[test]
fn a_long_hostile_text_is_done_at_once() {
    let units = [
        "a@",
        "a@b",
        "password=",
        "password=\"",
        "://a:",
        "://",
        "eyJ.",
        "eyJhbGciOi",
        "4111 ",
        "4111",
        "a.",
        "\\\"",
        "\\",
        "密码：",
        "-----BEGIN PRIVATE KEY-----",
        "+1 ",
        "138",
        "Bearer ",
        "Cookie: a=",
        "[email:",
        "[",
        "AKIA",
        "x=1;",
        "'",
        "\u{1b}[",
    ];
    for unit in units {
        let (tell, told) = std::sync::mpsc::channel();
        let text = unit.repeat(400_000 / unit.len());
        std::thread::spawn(move || tell.send(redact(&text).len()));
        assert!(told.recv_timeout(std::time::Duration::from_secs(60)).is_ok(), "{unit:?} never ends");
    }
}

/// Texts of the signs that rules look for, so that they meet and overlap.
fn bait() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "password",
        "=",
        ":",
        " ",
        "\"",
        "'",
        "\\",
        "\n",
        "@",
        ".",
        "a",
        "example.org",
        "tom",
        "://",
        "/",
        "Bearer",
        "eyJhbGciOi",
        "4111111111111111",
        "13800138000",
        "[email:1]",
        "[",
        "]",
        "[credential:2]",
        "Cookie",
        ";",
        "&",
        "-a",
        "token",
        "AKIAFAKEFAKEFAKEFAKE",
        "密码",
        "是",
        "：",
        "x1Y2z3",
        "%3D",
        "{",
        "}",
        ",",
        "<",
        ">",
        "?",
        "key",
        "secret",
        "Authorization",
        "Basic",
        "+49 ",
        "30",
        "-",
    ]);
    prop::collection::vec(pieces, 0..14).prop_map(|pieces| pieces.concat())
}

/// A secret of each kind as its issuer makes them, and whether it is told by its form alone.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{3,8}\\.[a-z]{3,8}@[a-z]{3,8}\\.example",
        "AKIA[A-Z2-7]{16}",
        "ghp_[A-Za-z0-9]{36}",
        "xoxb-[0-9]{12}-[A-Za-z0-9]{16}",
        "sk-[A-Za-z0-9]{40}",
        "eyJ[A-Za-z0-9]{20}\\.eyJ[A-Za-z0-9]{20}\\.[A-Za-z0-9_-]{27}",
        "(4[0-9]{14})".prop_map(|digits| format!("{digits}{}", luhn(&digits))),
        "1[3-9]9[0-9]{8}",
    ]
}

fn luhn(digits: &str) -> u32 {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(i, b)| {
            let digit = u32::from(b - b'0') * if i % 2 == 0 { 2 } else { 1 };
            digit / 10 + digit % 10
        })
        .sum();
    (10 - sum % 10) % 10
}

/// What an engineer looks up by.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9a-f]{32}",
        "[0-9a-f]{16}",
        "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}",
        "ord-[0-9]{4,9}",
        "8[0-9]{7}",
        "10\\.[1-9]{1,2}\\.[1-9]{1,2}\\.[1-9]{1,2}",
        "2026-11-30T[01][0-9]:[0-5][0-9]:[0-5][0-9]Z",
    ]
}

/// What a secret that is told by its form alone stands between.
fn between() -> impl Strategy<Value = (&'static str, &'static str)> {
    prop::sample::select(vec![
        ("", ""),
        ("user ", " failed"),
        ("user=", ", retry"),
        ("\"", "\""),
        ("{\"to\":\"", "\",\"n\":1}"),
        ("{\\\"to\\\":\\\"", "\\\"}"),
        ("(", ")"),
        ("<", ">"),
        ("用户", "失败"),
        ("[", "]"),
        ("at=1\n", "\nnext"),
        ("a,", ",b"),
    ])
}

/// What a value is a secret after, whatever it is.
fn naming() -> impl Strategy<Value = (&'static str, &'static str)> {
    prop::sample::select(vec![
        ("password=", " next"),
        ("DB_PASSWORD=", "\n"),
        ("api_key: ", ", n=1"),
        ("{\"clientSecret\":\"", "\"}"),
        ("{\\\"secret\\\":\\\"", "\\\"}"),
        ("Authorization: Bearer ", ""),
        ("https://app:", "@db.example/x"),
        ("?access_token=", "&n=1"),
        ("密码：", "，失败"),
        ("IDENTIFIED BY '", "'"),
        ("--password ", " --host db"),
    ])
}

proptest! {
    #[test]
    fn any_text_is_survived_and_twice_is_once(text in prop_oneof!["\\PC{0,200}", bait()]) {
        let once = redact(&text);
        prop_assert_eq!(redact(&once), once);
    }

    #[test]
    fn a_planted_secret_never_survives(secret in secret(), (before, after) in between(), prose in "([a-z]{1,7} ){0,4}") {
        let masked = redact(&format!("{prose}{before}{secret}{after}"));
        prop_assert!(!masked.contains(&secret), "{masked}");
        prop_assert!(masked.starts_with(&format!("{prose}{before}[")) && masked.ends_with(after), "{masked}");
    }

    #[test]
    fn what_a_name_calls_a_secret_never_survives(secret in "[A-Za-z][A-Za-z0-9!#*+]{6,28}[0-9]", (before, after) in naming(), prose in "([a-z]{1,7} ){0,4}") {
        let masked = redact(&format!("{prose}{before}{secret}{after}"));
        prop_assert!(!masked.contains(&secret), "{masked}");
    }

    #[test]
    fn a_planted_id_always_survives(id in id(), (before, after) in between(), secret in secret()) {
        let masked = redact(&format!("{before}{id}{after} by {secret}"));
        prop_assert!(masked.starts_with(&format!("{before}{id}{after} by [")), "{masked}");
    }
}

#[derive(serde::Deserialize)]
struct Case {
    id: String,
    text: String,
    #[serde(default)]
    secrets: Vec<String>,
}

fn cases(file: &str) -> Vec<Case> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/redaction");
    let text = std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn no_secret_of_the_corpus_survives_and_twice_is_once() {
    let mut faults = Vec::new();
    for case in cases("secrets.jsonl") {
        let masked = redact(&case.text);
        for secret in &case.secrets {
            if masked.contains(secret.as_str()) {
                faults.push(format!("{} leaks {secret}: {masked}", case.id));
            }
        }
        if redact(&masked) != masked {
            faults.push(format!("{} is masked again: {masked} -> {}", case.id, redact(&masked)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn nothing_of_the_corpus_that_is_no_secret_is_masked() {
    let damaged = cases("survivors.jsonl").into_iter().filter(|case| redact(&case.text) != case.text);
    let damaged: Vec<String> = damaged.map(|case| format!("{} {}", case.id, redact(&case.text))).collect();
    assert!(damaged.is_empty(), "{}", damaged.join("\n"));
}
