//! Records the progress of a landing, so that a repeated landing has the same result.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_peers::files::{self, FileError, FileMode};

const VERSION: u32 = 1;
const MAX: u64 = 1 << 20;

/// The progress of a landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LandingRecord {
    v: u32,
    /// The target: the branch of the workspace when the landing started.
    pub(super) target: String,
    /// The commits on which checks were started, in order.
    #[serde(default)]
    pub(super) checked: Vec<String>,
    /// The commit that passed and was about to land.
    #[serde(default)]
    pub(super) green: Option<String>,
    /// The message of a finished landing. Only the worktree is left to remove.
    #[serde(default)]
    pub(super) landed: Option<String>,
    /// The finished landing had nothing to land.
    #[serde(default)]
    pub(super) is_empty: bool,
}

impl LandingRecord {
    pub(super) fn new(target: String) -> LandingRecord {
        LandingRecord { v: VERSION, target, checked: Vec::new(), green: None, landed: None, is_empty: false }
    }

    /// Reads the record of a landing that started before.
    pub(super) fn read(notes: &Path) -> Option<LandingRecord> {
        let bytes = files::read_bounded(&path(notes), MAX).ok()?;
        serde_json::from_slice(&bytes).ok().filter(|record: &LandingRecord| record.v == VERSION)
    }

    pub(super) fn write(&self, notes: &Path) -> Result<(), FileError> {
        files::make_private_dir(notes)?;
        files::write_atomic(&path(notes), &serde_json::to_vec(self).unwrap_or_default(), FileMode::Private)
    }

    /// Returns the position of a commit among the checked ones, from 0. A new commit is added.
    pub(super) fn round_of(&mut self, commit: &str) -> u32 {
        let known = self.checked.iter().position(|checked| checked == commit);
        let round = known.unwrap_or_else(|| {
            self.checked.push(commit.to_owned());
            self.checked.len() - 1
        });
        u32::try_from(round).unwrap_or(u32::MAX)
    }
}

fn path(notes: &Path) -> PathBuf {
    notes.join("landing.json")
}
