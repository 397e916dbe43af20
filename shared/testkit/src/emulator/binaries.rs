//! Finds the function binaries that cargo built next to the running test.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The binary `name` of the profile that the running executable was built with, `target/<profile>/<name>`.
///
/// # Errors
/// When it isn't there; the message names the command that builds it. Cargo builds the binaries of other
/// packages only when asked, so it can also be older than its source: build first, then test.
pub fn function_binary(name: &str) -> anyhow::Result<PathBuf> {
    let running = std::env::current_exe().context("the path of the running executable is unknown")?;
    let profile = profile_dir(&running)
        .with_context(|| format!("{} is not in a cargo target directory", running.display()))?;
    let binary = profile.join(name);
    if binary.is_file() {
        return Ok(binary);
    }
    let flag = match profile.file_name().and_then(|name| name.to_str()) {
        Some("release") => " --release".to_owned(),
        Some("debug") | None => String::new(),
        Some(other) => format!(" --profile {other}"),
    };
    bail!("{} is missing: run `cargo build{flag} -p {name}` first", binary.display())
}

/// `…/target/debug/deps/test-0123` and `…/target/debug/examples/x` and `…/target/debug/x` → `…/target/debug`.
fn profile_dir(executable: &Path) -> Option<&Path> {
    let parent = executable.parent()?;
    match parent.file_name()?.to_str()? {
        "deps" | "examples" => parent.parent(),
        _ => Some(parent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_binary_names_the_command_that_builds_it() {
        let fault = function_binary("no_such_function").unwrap_err().to_string();
        assert!(fault.contains("no_such_function is missing: run `cargo build"), "{fault}");
        assert!(fault.ends_with("-p no_such_function` first"), "{fault}");
    }

    #[test]
    fn the_profile_folder_is_found_from_tests_examples_and_binaries() {
        for path in ["/t/target/debug/deps/a-1", "/t/target/debug/examples/a", "/t/target/debug/a"] {
            assert_eq!(profile_dir(Path::new(path)), Some(Path::new("/t/target/debug")));
        }
    }
}
