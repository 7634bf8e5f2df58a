//! The files of a working tree that differ from its commit, each with a digest, to detect later which of
//! them changed again.

use std::path::{Path, PathBuf};

use super::fingerprint::file_digest;
use super::{GitError, OURS, git};

/// Returns at most `most` changed and untracked files with their digests, named from the top of the
/// working tree.
pub fn uncommitted(dir: &Path, most: usize) -> Result<Vec<(String, String)>, GitError> {
    let status = git(
        dir,
        &["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--", ".", OURS],
    )?;
    let top = top(dir)?;
    // Each entry is two letters and a blank, then the name.
    let names = status.split(|byte| *byte == 0).filter_map(|entry| entry.get(3..));
    let named = names.take(most).map(|name| String::from_utf8_lossy(name).into_owned());
    Ok(named.map(|name| (name.clone(), file_digest(&top.join(name)))).collect())
}

/// Returns the files of an earlier [`uncommitted`] result that have changed since.
pub fn changed_again<'a>(dir: &Path, files: &'a [(String, String)]) -> Result<Vec<&'a str>, GitError> {
    let top = top(dir)?;
    let changed = files.iter().filter(|(name, digest)| file_digest(&top.join(name)) != *digest);
    Ok(changed.map(|(name, _)| name.as_str()).collect())
}

fn top(dir: &Path) -> Result<PathBuf, GitError> {
    let up = git(dir, &["rev-parse", "--show-cdup"])?;
    Ok(dir.join(String::from_utf8_lossy(&up).trim()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::repository;
    use super::*;
    use std::fs;

    #[test]
    fn what_was_uncommitted_is_told_from_what_was_changed_again() {
        let dir = repository();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("sub")).unwrap();
        fs::write(path("a"), "two\n").unwrap();
        fs::write(path("sub/new one"), "x").unwrap();
        fs::write(path("other"), "x").unwrap();
        let before = uncommitted(dir.path(), 100).unwrap();
        let names: Vec<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "other", "sub/new one"]);
        assert!(changed_again(dir.path(), &before).unwrap().is_empty());
        git(dir.path(), &["add", "a"]).unwrap();
        git(dir.path(), &["commit", "--quiet", "-m", "second"]).unwrap();
        assert!(changed_again(dir.path(), &before).unwrap().is_empty());
        fs::write(path("a"), "one\n").unwrap();
        fs::remove_file(path("other")).unwrap();
        assert_eq!(changed_again(&path("sub"), &before).unwrap(), ["a", "other"]);
    }
}
