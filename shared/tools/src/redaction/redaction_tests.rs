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

#[test]
fn a_long_hostile_text_takes_linear_work() {
    for unit in
        ["a@", "password=", "://a:", "eyJ.", "4111 ", "-----BEGIN PRIVATE KEY-----", "a.", "\\\"", "密码："]
    {
        let text = unit.repeat(20_000 / unit.len());
        let _ = redact(&text);
    }
}

proptest! {
    #[test]
    fn any_text_is_survived_and_twice_is_once(text in "\\PC{0,200}") {
        let once = redact(&text);
        let _ = redact(&once);
    }

    #[test]
    fn a_planted_password_never_survives(before in "[a-z ]{0,20}", secret in "[A-Za-z0-9!#%]{8,30}", after in "[ ,;]?[a-z ]{0,20}") {
        let masked = redact(&format!("{before} password={secret}{after}"));
        prop_assert!(!masked.contains(&secret), "{masked}");
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
