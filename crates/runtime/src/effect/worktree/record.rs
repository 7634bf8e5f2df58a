//! What is written down of a landing as it goes: a second performance must come to the same.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_peers::files::{self, FileError, FileMode};

const VERSION: u32 = 1;
const MAX: u64 = 1 << 20;

/// How far a landing is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LandingRecord {
    v: u32,
    /// The branch it goes to: that of the workspace when it began.
    pub(super) target: String,
    /// The commits that checks were begun on, in this order.
    #[serde(default)]
    pub(super) checked: Vec<String>,
    /// The one that was green, and was to be landed.
    #[serde(default)]
    pub(super) green: Option<String>,
    /// It is over, and came to this. What is left is to put the worktree away.
    #[serde(default)]
    pub(super) landed: Option<String>,
}

impl LandingRecord {
    /// That of a landing that begins.
    pub(super) fn new(target: String) -> LandingRecord {
        LandingRecord { v: VERSION, target, checked: Vec::new(), green: None, landed: None }
    }

    /// That of a landing that was begun before.
    pub(super) fn read(notes: &Path) -> Option<LandingRecord> {
        let bytes = files::read_bounded(&path(notes), MAX).ok()?;
        serde_json::from_slice(&bytes).ok().filter(|record: &LandingRecord| record.v == VERSION)
    }

    /// Keeps it.
    pub(super) fn write(&self, notes: &Path) -> Result<(), FileError> {
        files::make_private_dir(notes)?;
        files::write_atomic(&path(notes), &serde_json::to_vec(self).unwrap_or_default(), FileMode::Private)
    }

    /// Which of the checked commits this is, from 0; a new one is the next.
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
