//! Remembers the commit on which a run started, which identifies its folder later.

use std::path::Path;

use serde::{Deserialize, Serialize};
use windlass_peers::files::{self, FileMode};
use windlass_peers::git;

/// The file in the run's folder.
const FILE: &str = "base.json";
const FILE_MAX: u64 = 64 * 1024;

#[derive(Default, Serialize, Deserialize)]
struct Before {
    v: u32,
    /// The commit on which the run started.
    #[serde(default)]
    base: Option<String>,
}

/// Records the current commit. Only the first call counts: at a later one the run may have started.
pub(crate) fn remember(run_dir: &Path, workspace: &Path) {
    if run_dir.join(FILE).exists() {
        return;
    }
    let Ok(head) = git::head(workspace) else { return };
    let base = Some(head.unwrap_or_else(|| git::EMPTY_TREE.to_owned()));
    if let Ok(text) = serde_json::to_vec(&Before { v: 1, base }) {
        let _ = files::create_new(&run_dir.join(FILE), &text, FileMode::Private);
    }
}

/// Returns the commit on which a run started, in a repository.
pub(crate) fn base(run_dir: &Path) -> Option<String> {
    let text = files::read_bounded(&run_dir.join(FILE), FILE_MAX).unwrap_or_default();
    serde_json::from_slice::<Before>(&text).unwrap_or_default().base
}
