//! Brings a worktree's branch up to date with its target although both changed the same lines.
//!
//! A merge commit does it: files in conflict get the target's version, and everything else of the branch
//! stays. The branch only moves forward, so its own version of these files stays in its history. A record
//! is written before the branch moves, so that a repeated renewal has the same result.

use std::convert::Infallible;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::artifacts::{put_aside, work};
use super::busy::{clear_locks, clear_shared_lock};
use super::command::{GitCall, GitError, again, git, line};
use super::interrupted_move;
use super::land::{LandError, commit_to_land};
use super::lock::drafts;
use super::rebase::recover;
use super::repository::{branch_commit, is_ancestor, is_branch_name};
use super::target::{MoveResult, forward};
use super::worktree::{Worktree, WorktreeError};
use crate::files::{FileMode, read_bounded, write_atomic_by};

const VERSION: u32 = 1;
const MAX: u64 = 16 << 20;
/// The time limit for git to move the files of the worktree.
const LIMIT: Duration = Duration::from_secs(600);
/// The maximum number of files that one call of git gets.
const AT_ONCE: usize = 100;
/// The maximum number of files that the message of the commit lists.
const LISTED: usize = 10;

/// The outcome of a renewal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Renewal {
    /// The branch contains its target.
    Renewed {
        /// The commit of the branch.
        commit: String,
        /// The files that are now as on the target because both sides changed them.
        files: Vec<String>,
    },
    /// These uncommitted or ignored files of the worktree would be lost. Nothing was touched.
    InTheWay { files: Vec<String> },
}

/// A renewal before its branch moves.
#[derive(Debug, Serialize, Deserialize)]
struct RenewalRecord {
    v: u32,
    name: String,
    commit: String,
    files: Vec<String>,
}

fn record_path(worktree: &Worktree) -> PathBuf {
    worktree.git_dir.join("windlass-renew.json")
}

fn record(worktree: &Worktree, name: &str) -> Option<RenewalRecord> {
    let bytes = read_bounded(&record_path(worktree), MAX).ok()?;
    let record: RenewalRecord = serde_json::from_slice(&bytes).ok()?;
    (record.v == VERSION && record.name == name).then_some(record)
}

/// Merges `target` into a worktree's branch, with the target's version of the files in conflict. `name`
/// identifies the renewal: the same one again returns the same result.
///
/// It takes no turn among the landings: it only reads the target.
pub fn renew(worktree: &Worktree, target: &str, name: &str) -> Result<Renewal, LandError<Infallible>> {
    // Each attempt first repairs what the previous one left.
    again(LandError::git, || renew_once(worktree, target, name))
}

fn renew_once(worktree: &Worktree, target: &str, name: &str) -> Result<Renewal, LandError<Infallible>> {
    let path = &worktree.path;
    let missing = || LandError::NoSuchTarget { target: target.to_owned() };
    if !is_branch_name(&worktree.common, target)? {
        return Err(missing());
    }
    interrupted_move::put_back(&worktree.common, &worktree.branch)?;
    recover(worktree)?;
    clear_locks(worktree)?;
    clear_shared_lock(worktree, path)?;
    let before = commit_to_land(worktree)?;
    if let Some(done) = record(worktree, name)
        && is_ancestor(path, &done.commit, &before)?
    {
        return Ok(Renewal::Renewed { commit: done.commit, files: done.files });
    }
    let onto = branch_commit(path, target)?.ok_or_else(missing)?;
    if is_ancestor(path, &onto, &before)? {
        return Ok(Renewal::Renewed { commit: before, files: Vec::new() });
    }
    let files = work(path)?;
    if !files.is_empty() {
        return Ok(Renewal::InTheWay { files });
    }
    put_aside(path)?;
    let (commit, files) = merge(worktree, &before, &onto, target)?;
    let note = RenewalRecord { v: VERSION, name: name.to_owned(), commit: commit.clone(), files };
    let text = serde_json::to_vec(&note).unwrap_or_default();
    write_atomic_by(&drafts(&worktree.common), &record_path(worktree), &text, FileMode::Private)
        .map_err(WorktreeError::from)?;
    match forward(worktree, &before, &commit, LIMIT)? {
        MoveResult::Done => Ok(Renewal::Renewed { commit, files: note.files }),
        MoveResult::Dirty { files, .. } => Ok(Renewal::InTheWay { files }),
        MoveResult::Elsewhere | MoveResult::Busy { .. } => {
            Err(LandError::ChangedMeanwhile { branch: worktree.branch.clone() })
        }
    }
}

/// A file in conflict: its name, and its mode and content on the target, if it is there.
#[derive(Debug, PartialEq, Eq)]
struct ConflictedFile {
    name: String,
    theirs: Option<(String, String)>,
}

/// Makes the merge commit without touching the worktree. Returns it with the files in conflict.
fn merge(
    worktree: &Worktree,
    before: &str,
    onto: &str,
    target: &str,
) -> Result<(String, Vec<String>), LandError<Infallible>> {
    let call = GitCall::at(&worktree.path).without_hooks();
    let (tree, conflicts) = conflicts(call.within(LIMIT), before, onto)?;
    for file in &conflicts {
        // git invents such a name where one side has a file and the other has a folder.
        if file.name.contains('~')
            && !is_in(worktree, before, &file.name)?
            && !is_in(worktree, onto, &file.name)?
        {
            return Err(refused("merge-tree", "one side has a file where the other has a folder").into());
        }
    }
    let tree = if conflicts.is_empty() { tree } else { with_theirs(worktree, &tree, &conflicts)? };
    let files: Vec<String> = conflicts.into_iter().map(|file| file.name).collect();
    let message = message(target, &files);
    let args = ["commit-tree", &tree, "-p", before, "-p", onto, "-m", &message];
    Ok((line(&call.run(&args)?), files))
}

/// Merges two commits. Returns the tree and the files in conflict.
pub(super) fn merge_tree(
    call: GitCall<'_>,
    before: &str,
    onto: &str,
) -> Result<(String, Vec<String>), GitError> {
    let (tree, conflicts) = conflicts(call, before, onto)?;
    Ok((tree, conflicts.into_iter().map(|file| file.name).collect()))
}

fn conflicts(call: GitCall<'_>, before: &str, onto: &str) -> Result<(String, Vec<ConflictedFile>), GitError> {
    let said = call.run_or_no(&["merge-tree", "--write-tree", "-z", "--no-messages", before, onto]);
    parse(&said?).ok_or_else(|| refused("merge-tree", "it named files that are not UTF-8"))
}

fn refused(verb: &str, said: &str) -> GitError {
    GitError::Failed { verb: verb.to_owned(), code: Some(1), said: said.to_owned() }
}

fn is_in(worktree: &Worktree, commit: &str, name: &str) -> Result<bool, GitError> {
    match git(&worktree.path, &["rev-parse", "--verify", "--quiet", &format!("{commit}:{name}")]) {
        Ok(_) => Ok(true),
        Err(GitError::Failed { code: Some(1 | 128), .. }) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Reads git's answer: a tree, then mode, object, stage and name of each version of a file in conflict.
fn parse(said: &[u8]) -> Option<(String, Vec<ConflictedFile>)> {
    let mut parts = said.split(|byte| *byte == 0);
    let tree = String::from_utf8(parts.next()?.to_owned()).ok()?;
    let mut files: Vec<ConflictedFile> = Vec::new();
    for part in parts.filter(|part| !part.is_empty()) {
        let (about, name) = std::str::from_utf8(part).ok()?.split_once('\t')?;
        let mut about = about.split(' ');
        let (mode, object, stage) = (about.next()?, about.next()?, about.next()?);
        let theirs = (stage == "3").then(|| (mode.to_owned(), object.to_owned()));
        match files.iter_mut().find(|file| file.name == name) {
            Some(file) => file.theirs = theirs.or(file.theirs.take()),
            None => files.push(ConflictedFile { name: name.to_owned(), theirs }),
        }
    }
    Some((tree, files))
}

/// Returns a tree in which the files in conflict are as on the target.
fn with_theirs(worktree: &Worktree, tree: &str, files: &[ConflictedFile]) -> Result<String, GitError> {
    let index = worktree.git_dir.join("windlass-renew.index");
    let text = index.to_string_lossy();
    let env = [("GIT_INDEX_FILE", &*text)];
    let call = GitCall::at(&worktree.path).with(&env).without_hooks();
    let _ = fs::remove_file(&index);
    let written = call.run(&["read-tree", tree]).and_then(|_| {
        for files in files.chunks(AT_ONCE) {
            let gone = files.iter().map(|file| file.name.as_str());
            let args: Vec<&str> = ["update-index", "--force-remove", "--"].into_iter().chain(gone).collect();
            call.run(&args)?;
        }
        let there: Vec<String> = files
            .iter()
            .filter_map(|file| file.theirs.as_ref().map(|(mode, object)| (mode, object, &file.name)))
            .map(|(mode, object, name)| format!("{mode},{object},{name}"))
            .collect();
        for there in there.chunks(AT_ONCE) {
            let entries = there.iter().flat_map(|entry| ["--cacheinfo", entry]);
            let args: Vec<&str> = ["update-index", "--add"].into_iter().chain(entries).collect();
            call.run(&args)?;
        }
        call.run(&["write-tree"])
    });
    let _ = fs::remove_file(&index);
    written.map(|said| line(&said))
}

fn message(target: &str, files: &[String]) -> String {
    if files.is_empty() {
        return format!("Merge {target}");
    }
    let plain = |name: &String| -> String { name.chars().filter(|c| !c.is_control()).collect() };
    let names: Vec<String> = files.iter().take(LISTED).map(plain).collect();
    let more = files.len().saturating_sub(LISTED);
    let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
    format!(
        "Merge {target}\n\nThese files are as on {target}, because both sides changed them:\n{}{more}\n",
        names.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_git_is_read_version_by_version() {
        let said = b"abc\x00100644 1 1\ta b\x00100644 2 2\ta b\x00100755 3 3\ta b\x00100644 4 1\tgone\x00100644 5 2\tgone\x00";
        let file = |name: &str, theirs: Option<(&str, &str)>| ConflictedFile {
            name: name.to_owned(),
            theirs: theirs.map(|(mode, object)| (mode.to_owned(), object.to_owned())),
        };
        assert_eq!(
            parse(said).unwrap(),
            ("abc".to_owned(), vec![file("a b", Some(("100755", "3"))), file("gone", None)])
        );
        assert_eq!(parse(b"abc\x00").unwrap(), ("abc".to_owned(), Vec::new()));
        assert_eq!(parse(b"abc\x00100644 1 1\t\xff\x00"), None);
    }
}
