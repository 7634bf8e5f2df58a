//! Records the rounds of a dead run that another run may have settled: it worked on the same task file before
//! the dead run was resumed.
//!
//! The record is in the run's folder, because the next owner needs it, too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::id::NodeId;
use windlass_peers::files::{self, FileMode};

use super::error::TasksError;

const VERSION: u32 = 1;
const MAX: u64 = 1 << 20;

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    v: u32,
    /// The node ids of the rounds.
    rounds: BTreeSet<String>,
}

/// Records that another run may have settled these rounds.
pub(crate) fn note(dir: &Path, rounds: impl IntoIterator<Item = String>) -> Result<(), TasksError> {
    let mut all = noted(dir);
    let known = all.len();
    all.extend(rounds);
    if all.len() == known {
        return Ok(());
    }
    let text = serde_json::to_vec(&Note { v: VERSION, rounds: all }).unwrap_or_default();
    let failed = |source| TasksError::File { file: path(dir).display().to_string(), source };
    files::make_private_dir(dir).map_err(failed)?;
    files::write_atomic(&path(dir), &text, FileMode::Private).map_err(failed)
}

/// Decides whether another run may have settled a round.
pub(crate) fn is_superseded(dir: &Path, round: &NodeId) -> bool {
    noted(dir).contains(round.as_str())
}

fn noted(dir: &Path) -> BTreeSet<String> {
    let bytes = files::read_bounded(&path(dir), MAX).unwrap_or_default();
    let note = serde_json::from_slice(&bytes).ok().filter(|note: &Note| note.v == VERSION);
    note.map(|note| note.rounds).unwrap_or_default()
}

fn path(dir: &Path) -> PathBuf {
    dir.join("overtaken.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_added_to_those_that_are_known() {
        let dir = tempfile::tempdir().unwrap();
        note(dir.path(), ["tasks@1".to_owned()]).unwrap();
        note(dir.path(), ["tasks@3".to_owned()]).unwrap();
        let is = |name| is_superseded(dir.path(), &NodeId::new(name));
        assert_eq!((is("tasks@1"), is("tasks@2"), is("tasks@3")), (true, false, true));
    }
}
