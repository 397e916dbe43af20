//! The house rules that a compiler can't know: directions between crates, file sizes, opening lines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Who may use whom among our own crates, in production code.
const MAY_USE: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("agent", &["domain"]),
    ("llm", &["agent", "domain"]),
    ("tools", &["agent", "domain"]),
    ("stores", &["agent", "domain"]),
    ("edge", &["agent", "domain"]),
    ("app", &["agent", "domain", "edge", "llm", "stores", "tools"]),
    ("chat", &["agent", "app", "domain", "edge"]),
    ("api", &["agent", "app", "domain", "edge"]),
    ("maintenance", &["agent", "app", "domain", "edge"]),
    ("cli", &[]),
    ("testkit", &["agent", "app", "domain", "edge", "llm", "stores", "tools"]),
    ("acceptance", &[]),
];

/// Foreign crates that only some of ours may use directly.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("anyhow", &["app", "chat", "api", "maintenance", "testkit", "acceptance"]),
    ("aws-sdk-cloudwatchlogs", &["tools"]),
    ("aws-sdk-dynamodb", &["stores"]),
    ("aws-sdk-secretsmanager", &["app"]),
    ("lambda_http", &["chat", "api", "maintenance", "testkit"]),
    ("reqwest", &["llm", "edge", "cli", "testkit", "acceptance"]),
    ("sqlx", &["stores", "tools", "testkit", "acceptance"]),
    ("sqlparser", &["tools"]),
    ("tantivy", &["tools"]),
    (
        "tokio",
        &[
            "agent",
            "llm",
            "tools",
            "stores",
            "edge",
            "app",
            "cli",
            "testkit",
            "chat",
            "api",
            "maintenance",
            "acceptance",
        ],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn dependencies() -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let mut command = MetadataCommand::new();
    let metadata = command.manifest_path(root().join("Cargo.toml")).no_deps().exec()?;
    let direct = |package: &cargo_metadata::Package| {
        let normal = package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development);
        normal.map(|d| d.name.to_string()).collect()
    };
    Ok(metadata.workspace_packages().iter().map(|p| (p.name.to_string(), direct(p))).collect())
}

#[test]
fn dependencies_point_down() -> anyhow::Result<()> {
    let all = dependencies()?;
    let rules: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let ours: BTreeSet<&str> = rules.keys().copied().collect();
    assert_eq!(all.keys().map(String::as_str).collect::<BTreeSet<_>>(), ours, "every crate has a rule");
    for (name, used) in &all {
        for other in used.iter().filter(|d| ours.contains(d.as_str())) {
            assert!(rules[name.as_str()].contains(&other.as_str()), "{name} must not use {other}");
        }
        for (foreign, allowed) in ONLY_IN {
            assert!(
                !used.contains(*foreign) || allowed.contains(&name.as_str()),
                "{name} must not use {foreign}"
            );
        }
    }
    Ok(())
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !matches!(name.as_str(), "target" | "node_modules") && !name.starts_with('.') {
            rust_files(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

#[test]
fn files_are_short_and_say_what_they_own() -> std::io::Result<()> {
    let mut files = Vec::new();
    rust_files(&root(), &mut files)?;
    assert!(files.len() > 50, "found the sources");
    for file in files {
        let text = std::fs::read_to_string(&file)?;
        let shown = file.display();
        assert!(text.starts_with("//!"), "{shown} must open with a //! line that says what it owns");
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        assert!(code.lines().count() <= 500, "{shown} has over 500 lines: split it");
    }
    Ok(())
}

#[test]
fn rooms_have_names() -> std::io::Result<()> {
    let mut files = Vec::new();
    rust_files(&root(), &mut files)?;
    for file in files {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let banned = ["common", "utils", "util", "types", "helpers", "misc"];
        assert!(!banned.contains(&stem.as_str()), "{} names nothing", file.display());
    }
    Ok(())
}
