//! The places in which the agent of a `strict` session may write. The host lets the kernel refuse all others.
//!
//! Only for an agent that keeps its own files in the folders of the run: one that also writes into the user's
//! folders would fail, or a shell command could change the user's settings.

use std::path::{Path, PathBuf};

use windlass_core::hook::permission::Isolation;
use windlass_core::launch::Launch;

use super::turn::{TurnPaths, TurnRequest};
use crate::files::read_bounded;
use crate::os;

/// Folders for temporary files, and devices that programs write to.
const ALWAYS: [&str; 10] = [
    "/tmp",
    "/var/tmp",
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];
/// The parts of a repository that a commit in a worktree changes. Not among them: its hooks and its settings, with
/// which a program could run outside the session.
const COMMITTED_TO: [&str; 3] = ["objects", "refs", "logs"];
/// The largest size of the files that lead from a worktree to its repository.
const LONGEST: u64 = 4096;

/// Limits where the agent of a `strict` session writes, if the kernel can. `own` are more files and folders of the CLI.
pub(super) fn limit_writes(
    launch: &mut Launch,
    turn: &TurnRequest<'_>,
    paths: &TurnPaths<'_>,
    own: impl IntoIterator<Item = PathBuf>,
) {
    if turn.settings.isolation != Isolation::Strict || !os::can_limit_writes() {
        return;
    }
    let workspace = PathBuf::from(turn.workspace);
    let tracker = turn.settings.rules.as_ref().and_then(|rules| rules.tracker_path.as_deref());
    let tracker = tracker.and_then(|path| Path::new(path).parent()).map(Path::to_owned);
    let temporary = launch.env.iter().find(|(name, _)| name == "TMPDIR").map(|(_, folder)| folder.into());
    let mut places: Vec<PathBuf> = ALWAYS.iter().map(PathBuf::from).chain(temporary).collect();
    places.extend(repository(&workspace));
    places.push(workspace);
    places.extend([paths.dir.to_owned(), paths.home.to_owned()]);
    places.extend(turn.spec.artifacts(turn.run).map(PathBuf::from));
    places.extend(tracker);
    places.extend(own);
    // A place that is not UTF-8 stays closed.
    launch.writes_in = Some(places.iter().filter_map(|place| place.to_str()).map(str::to_owned).collect());
}

/// Returns the folders outside of a worktree that a commit in it changes.
fn repository(workspace: &Path) -> Vec<PathBuf> {
    let own = read_line(&workspace.join(".git"));
    let Some(own) = own.as_deref().and_then(|text| text.strip_prefix("gitdir: ")) else { return Vec::new() };
    let own = workspace.join(own);
    let Some(common) = read_line(&own.join("commondir")) else { return Vec::new() };
    let common = own.join(common);
    COMMITTED_TO.iter().map(|part| common.join(part)).chain([own]).collect()
}

fn read_line(file: &Path) -> Option<String> {
    Some(read_bounded(file, LONGEST).ok()?)
        .and_then(|bytes| Some(String::from_utf8(bytes).ok()?.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_brings_the_parts_of_its_repository_that_a_commit_changes() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join("repo/.git/worktrees/task");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("commondir"), "../..\n").unwrap();
        let tree = place.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        std::fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        let common = own.join("../..");
        let expected = ["objects", "refs", "logs"].map(|part| common.join(part));
        assert_eq!(repository(&tree), [expected.as_slice(), &[own]].concat());
        assert!(repository(&place.path().join("repo")).is_empty());
    }
}
