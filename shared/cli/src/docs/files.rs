//! Runbook files of a push: found below folders, each with the id that its name gives.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::exit::Fault;

/// Characters of an id at most, as the service has it.
const MAX_ID: usize = 64;
/// Files of one push at most: more is a folder that was not meant.
const MAX_FILES: usize = 5000;

/// Files by id. Two files with one id are refused: the later would replace the earlier.
pub fn collect(paths: &[PathBuf], prefix: &str) -> Result<BTreeMap<String, PathBuf>, Fault> {
    if !prefix.bytes().all(is_id_byte) || prefix.len() > MAX_ID / 2 {
        return Err(Fault::usage("a prefix has at most 32 characters of A-Z a-z 0-9 _ -"));
    }
    let mut files = Vec::new();
    for path in paths {
        let kind = std::fs::metadata(path);
        let kind =
            kind.map_err(|error| Fault::usage(format!("{} can't be read: {error}", path.display())))?;
        if kind.is_dir() {
            below(path, &mut files)?;
        } else if is_runbook(path) {
            files.push(path.clone());
        } else {
            return Err(Fault::usage(format!("{} is no .md or .txt file", path.display())));
        }
    }
    let mut by_id: BTreeMap<String, PathBuf> = BTreeMap::new();
    for file in files {
        let id = id_of(&file, prefix);
        if let Some(other) = by_id.get(&id).filter(|other| **other != file) {
            let (one, two) = (other.display(), file.display());
            return Err(Fault::usage(format!("{one} and {two} would both be the runbook {id}; rename one")));
        }
        by_id.insert(id, file);
    }
    if by_id.is_empty() {
        return Err(Fault::usage("there is no .md or .txt file; nothing was changed"));
    }
    Ok(by_id)
}

/// All runbooks below a folder, hidden entries and links to folders left out.
fn below(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Fault> {
    let unreadable = |error| Fault::usage(format!("{} can't be read: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type().map_err(unreadable)?.is_dir() {
            below(&path, files)?;
        } else if is_runbook(&path) && path.is_file() {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            return Err(Fault::usage(format!("there are more than {MAX_FILES} files; push smaller folders")));
        }
    }
    Ok(())
}

fn is_runbook(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| extension == "md" || extension == "txt")
}

fn is_id_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-'
}

/// The name without its ending, other characters as hyphens. A name that loses letters by that, or is too long, gets a hash of
/// the whole name at its end, so that two names never become one id by it.
fn id_of(file: &Path, prefix: &str) -> String {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut id = String::from(prefix);
    let mut parted = false;
    for c in name.chars() {
        if c.is_ascii() && is_id_byte(c as u8) {
            if parted && id.len() > prefix.len() {
                id.push('-');
            }
            id.push(c);
            parted = false;
        } else {
            parted = true;
        }
    }
    if !name.is_ascii() || id.len() > MAX_ID || id.len() == prefix.len() {
        id.truncate(MAX_ID - 9);
        if id.len() == prefix.len() {
            id.push_str("doc");
        }
        id.push_str(&format!("-{:08x}", hash(&name)));
    }
    id
}

/// FNV-1a: the same everywhere and in every version.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_ids() {
        let long = format!("{}.md", "x".repeat(70));
        for (file, prefix, id) in [
            ("a/payment-timeout.md", "", "payment-timeout"),
            ("payment timeout (v2).md", "", "payment-timeout-v2"),
            ("_x.y.txt", "ops-", "ops-_x-y"),
            ("支付超时.md", "", "doc-8e3db64f"),
            ("支付 pay.md", "z-", "z-pay-8cd43521"),
            (long.as_str(), "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-77f3c97d"),
        ] {
            let made = id_of(Path::new(file), prefix);
            assert!(made.len() <= MAX_ID && made.bytes().all(is_id_byte), "{made}");
            assert_eq!(made, id, "{file}");
        }
    }

    #[test]
    fn folders_are_searched_and_clashes_refused() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "# x").unwrap();
            path
        };
        for name in ["a.md", "sub/b.TXT", ".hidden/c.md", "sub/d.rs", ".e.md"] {
            write(name);
        }
        let root = folder.path().to_owned();
        let found = collect(&[root.clone(), root.join("a.md")], "p-").unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["p-a", "p-b"]);
        let refused = |paths: &[PathBuf], prefix: &str| collect(paths, prefix).unwrap_err().to_string();
        assert!(refused(&[root.join("sub/d.rs")], "").contains("no .md or .txt"));
        assert!(refused(&[root.join("nothing")], "").contains("can't be read"));
        assert!(refused(&[root.join(".hidden/nothing")], "").contains("can't be read"));
        assert!(refused(std::slice::from_ref(&root), "a/b").contains("prefix"));
        write("sub/a.txt");
        assert!(refused(&[root], "").contains("both be the runbook a"));
    }
}
