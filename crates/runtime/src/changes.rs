//! Lists the changes of a run in its repository: the differences from its first commit, without those that
//! existed before it started.
//!
//! The run's folder keeps the list of files that were uncommitted at the start. Only people read the result:
//! a run without that list shows the whole difference.

use std::path::Path;

use serde::{Deserialize, Serialize};
use windlass_peers::files::{self, FileMode};
use windlass_peers::git;

/// The file in the run's folder.
const FILE: &str = "uncommitted.json";
const FILE_MAX: u64 = 1024 * 1024;
/// The maximum number of uncommitted files to record. Beyond it, none is recorded.
const FILES: usize = 500;

#[derive(Default, Serialize, Deserialize)]
struct Before {
    v: u32,
    /// Names and digests.
    files: Vec<(String, String)>,
    /// The commit on which the run started.
    #[serde(default)]
    base: Option<String>,
}

/// Records the files that are uncommitted now. Only the first call counts: at a later one the run may have
/// started.
pub(crate) fn remember(run_dir: &Path, workspace: &Path) {
    if run_dir.join(FILE).exists() {
        return;
    }
    let Ok(files) = git::uncommitted(workspace, FILES) else { return };
    let head = git::head(workspace).ok();
    let base = head.map(|head| head.unwrap_or_else(|| git::EMPTY_TREE.to_owned()));
    if let Ok(text) = serde_json::to_vec(&Before { v: 1, files, base }) {
        let _ = files::create_new(&run_dir.join(FILE), &text, FileMode::Private);
    }
}

/// Returns the commit on which a run started, in a repository.
pub(crate) fn base(run_dir: &Path) -> Option<String> {
    recall(run_dir).base
}

/// Lists the changes since then, one line per file.
pub(crate) fn since(run_dir: &Path, workspace: &Path, base: &str) -> Vec<String> {
    let before = recall(run_dir);
    let again = git::changed_again(workspace, &before.files).unwrap_or_default();
    let all: Vec<&str> = before.files.iter().map(|(name, _)| name.as_str()).collect();
    let same: Vec<&str> = all.iter().copied().filter(|name| !again.contains(name)).collect();
    let stat = git::diff_stat(workspace, base, &same).unwrap_or_default();
    let new = git::untracked(workspace, &all).unwrap_or_default();
    let new = new.into_iter().map(|name| format!(" {name} (new, not committed)"));
    let again =
        again.iter().map(|name| format!(" {name} (uncommitted when the run started, and changed again)"));
    stat.lines().map(str::to_owned).chain(new).chain(again).collect()
}

fn recall(run_dir: &Path) -> Before {
    let text = files::read_bounded(&run_dir.join(FILE), FILE_MAX).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
