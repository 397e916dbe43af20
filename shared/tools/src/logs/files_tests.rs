//! Which files are read, whose their lines are, and what of them makes one record.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use time::macros::datetime;

use super::*;
use crate::logs::Window;

fn source(folder: &Path, services: &[&str]) -> FolderSource {
    let services = services.iter().map(|s| (*s).to_owned()).collect();
    FolderSource::new("files".into(), String::new(), folder.to_owned(), services)
}

fn search(services: &[&str]) -> LogSearch {
    let (start, end) = (datetime!(2026-11-30 06:00 UTC), datetime!(2026-11-30 07:00 UTC));
    let services = services.iter().map(|s| (*s).to_owned()).collect();
    LogSearch {
        services,
        terms: None,
        min_level: None,
        window: Window { start, end, notes: vec![] },
        limit: 200,
    }
}

async fn collected(source: &FolderSource, search: &LogSearch) -> Collector {
    source.search(search, Collector::new(search.clone()), &Stop::never()).await.unwrap()
}

fn messages(collector: &Collector) -> Vec<String> {
    collector.first.iter().map(|kept| format!("{}: {}", kept.service, kept.message)).collect()
}

fn zipped(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_missing_folder_is_unavailable() {
    assert!(matches!(
        files(Path::new("/nonexistent/logs")),
        Err(LogSourceError::Unavailable { what: "its folder", .. })
    ));
}

#[test]
fn log_files_are_known_by_their_names() {
    for name in [
        "app.log",
        "app.log.1",
        "app.log.12.gz",
        "app-2026-11-30.jsonl.gz",
        "app.ndjson",
        "app.log.2026-11-30",
        "a.txt",
        "out.out",
    ] {
        assert!(is_log(name), "{name}");
    }
    for name in ["notes.md", "app", "app.log.bak", ".app.log.swp", ".log", "app.log.gz.tmp", "core.1", "a.gz"]
    {
        assert!(!is_log(name), "{name}");
    }
    for (name, service) in [
        ("pay.jsonl", "pay"),
        ("pay.log.3.gz", "pay"),
        ("pay-2026-11-30.log", "pay"),
        ("pay-20261130.log", "pay"),
        ("node-7.log", "node-7"),
    ] {
        assert_eq!(stem(name), service);
    }
}

#[tokio::test]
async fn rotated_compressed_and_nested_files_are_read_and_named_after_file_or_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    file("pay.log", b"2026-11-30T06:05:00Z ERROR one\n");
    file("pay.log.1", b"2026-11-30T06:04:00Z ERROR two\r\n");
    file("pay.log.2.gz", &zipped("2026-11-30T06:03:00Z ERROR three\n"));
    let mut members = zipped("2026-11-30T06:02:00Z ERROR four\n");
    members.extend(zipped("2026-11-30T06:01:00Z ERROR five\n"));
    file("order/2026/app.log.gz", &members);
    file("README.md", b"2026-11-30T06:05:00Z ERROR not a log\n");
    let services = ["pay", "order"];
    let found = collected(&source(folder.path(), &services), &search(&services)).await;
    let texts: Vec<String> =
        messages(&found).iter().map(|m| m.replace("2026-11-30T06:0", "").replace(":00Z ERROR", "")).collect();
    assert_eq!(texts, ["order: 2 four", "order: 1 five", "pay: 5 one", "pay: 4 two", "pay: 3 three"]);
}

#[tokio::test]
async fn a_torn_archive_gives_what_it_holds_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let text: String =
        (0..5000).map(|n| format!("2026-11-30T06:05:00Z ERROR event {n} {:x}\n", n * 7919)).collect();
    let bytes = zipped(&text);
    std::fs::write(folder.path().join("pay.log.gz"), &bytes[..bytes.len() / 2]).unwrap();
    let found = collected(&source(folder.path(), &["pay"]), &search(&["pay"])).await;
    assert!(found.matched > 100 && found.matched < 5000, "{}", found.matched);
    assert_eq!(found.torn_files, 1);
}

#[tokio::test]
async fn stack_traces_of_every_language_are_one_record() {
    let traces = [
        "2026-11-30T06:05:00Z ERROR boom\njava.lang.IllegalStateException: x\n\tat a.B.c(B.java:1)\nCaused by: java.io.IOException: y\n\t... 12 more",
        "2026-11-30 06:05:01,000 ERROR failed\nTraceback (most recent call last):\n  File \"a.py\", line 1, in b\n    c()\nValueError: z",
        "2026/11/30 06:05:02 http: panic serving 10.0.0.1:1: boom\ngoroutine 42 [running]:\nmain.f(0x1)\n\t/src/main.go:7 +0x1d",
        "2026-11-30T06:05:03Z ERROR thread 'main' panicked\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/lib.rs:1",
        "2026-11-30 06:05:04 [ERROR] Unhandled exception. System.Exception: no\n   at Shop.Pay() in Pay.cs:line 3\n--- End of stack trace ---",
        "{\"timestamp\":\"2026-11-30T06:05:05Z\",\"level\":\"ERROR\",\"message\":\"json\"}\njava.lang.Error: printed below\n\tat x.Y.z(Y.java:2)",
    ];
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pay.log"), traces.join("\n")).unwrap();
    let found = collected(&source(folder.path(), &["pay"]), &search(&["pay"])).await;
    assert_eq!(found.matched, traces.len() as u64);
    let seen = messages(&found);
    for (trace, message) in traces.iter().zip(&seen).take(5) {
        assert_eq!(message, &format!("pay: {trace}"));
    }
    assert_eq!(seen[5], "pay: json\njava.lang.Error: printed below\n\tat x.Y.z(Y.java:2)");
}

#[tokio::test]
async fn a_line_inside_a_message_is_never_a_record_of_its_own() {
    let forged = r#"{"timestamp":"2026-11-30T06:05:00Z","level":"ERROR","message":"upstream timeout\n2026-11-30T06:05:01Z INFO all healthy"}"#;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pay.jsonl"), forged).unwrap();
    let found = collected(&source(folder.path(), &["pay"]), &search(&["pay"])).await;
    assert_eq!((found.matched, found.ranked().len()), (1, 1));
}

#[tokio::test]
async fn awkward_bytes_are_survived_and_later_lines_are_seen() {
    let mut text = b"\xef\xbb\xbf2026-11-30T06:05:00Z ERROR first \xff\xfe\0 bytes\n".to_vec();
    text.extend(b"2026-11-30T06:05:01Z ERROR ");
    text.extend(vec![b'A'; 1_200_000]);
    text.extend(b"\n2026-11-30T06:05:02Z ERROR last\n");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pay.log"), text).unwrap();
    let found = collected(&source(folder.path(), &["pay"]), &search(&["pay"])).await;
    assert_eq!(found.matched, 3);
    assert!(messages(&found)[2].ends_with("last"));
}

#[tokio::test]
async fn lines_without_any_front_are_messages_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pay.log"), "hello\nworld\n").unwrap();
    let found = collected(&source(folder.path(), &["pay"]), &search(&["pay"])).await;
    assert_eq!((found.scanned, found.without_time), (2, 2));
}

#[tokio::test]
async fn a_file_that_lies_outside_is_not_read_again_until_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pay.log");
    std::fs::write(&path, "2026-11-29T06:05:00Z ERROR old\n").unwrap();
    let source = source(folder.path(), &["pay"]);
    assert_eq!(collected(&source, &search(&["pay"])).await.scanned, 1);
    let again = collected(&source, &search(&["pay"])).await;
    assert_eq!((again.scanned, again.matched), (0, 0), "its times are known");
    assert!(again.services().next().unwrap().1.last_before.is_some(), "and still told");
    std::fs::write(&path, "2026-11-29T06:05:00Z ERROR old\n2026-11-30T06:05:00Z ERROR new\n").unwrap();
    assert_eq!(collected(&source, &search(&["pay"])).await.matched, 1);
}
