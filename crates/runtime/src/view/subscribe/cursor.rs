//! Where a listener is: small, and written down between two lives of a listener.

use std::path::Path;

use serde::{Deserialize, Serialize};
use windlass_core::id::{EffectId, RunId, Verb};
use windlass_core::launch::files;
use windlass_core::run::RunState;

use crate::transcript::TranscriptPlace;

/// Where a listener is. Whoever begins after it gets the next update: none is missing, none comes twice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FeedCursor {
    /// The number of the newest run that was told of, where all are followed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) newest: u64,
    /// The runs that are followed. Where all are, those that are over are left out.
    pub(super) runs: Vec<RunPlace>,
}

/// How far a run was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunPlace {
    pub(super) run: RunId,
    /// The way to it from the run that is followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) path: Vec<RunId>,
    /// The last record that was told.
    pub(super) seq: u64,
    /// Its end was told.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) is_over: bool,
    /// The turns in progress.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) turns: Vec<TurnPlace>,
}

/// How far the transcript of a turn was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TurnPlace {
    pub(super) effect: EffectId,
    #[serde(flatten)]
    pub(super) place: TranscriptPlace,
}

impl FeedCursor {
    /// Adds a run, after everything that is in its state.
    pub(crate) fn add(&mut self, state: &RunState, seq: u64, path: Vec<RunId>, run_dir: &Path) {
        self.runs.push(RunPlace::after(state, seq, path, run_dir));
    }

    /// Adds a run that was not made yet.
    pub(crate) fn add_unmade(&mut self, run: RunId, path: Vec<RunId>) {
        self.runs.push(RunPlace { run, path, seq: 0, is_over: false, turns: Vec::new() });
    }

    pub(crate) fn has(&self, run: &RunId) -> bool {
        self.runs.iter().any(|place| place.run == *run)
    }
}

impl RunPlace {
    /// Returns the place after everything that is in a state, and after what its agents have said by now.
    pub(super) fn after(state: &RunState, seq: u64, path: Vec<RunId>, run_dir: &Path) -> RunPlace {
        let sessions = state.bookkeeping.open.iter().filter(|planned| planned.id.verb == Verb::Session);
        let turn = |effect: &EffectId| {
            let stdout = run_dir.join(effect.to_string()).join(files::STDOUT);
            let offset = std::fs::metadata(stdout).map_or(0, |meta| meta.len());
            TurnPlace { effect: effect.clone(), place: TranscriptPlace { offset, taken: 0 } }
        };
        let turns = sessions.map(|planned| turn(&planned.id)).collect();
        RunPlace { run: state.run.clone(), path, seq, is_over: state.is_done(), turns }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(is: &bool) -> bool {
    !is
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_small_and_read_back() {
        let turn = TurnPlace {
            effect: "loop.1.1.session".parse().unwrap(),
            place: TranscriptPlace { offset: 40, taken: 1 },
        };
        let place = |run: &str, turns| RunPlace {
            run: RunId::new(run),
            path: Vec::new(),
            seq: 7,
            is_over: false,
            turns,
        };
        let cursor = FeedCursor { newest: 0, runs: vec![place("k3f9", vec![turn]), place("m2", Vec::new())] };
        let text = serde_json::to_string(&cursor).unwrap();
        assert!(text.len() < 200, "{text}");
        assert_eq!(serde_json::from_str::<FeedCursor>(&text).unwrap(), cursor);
    }
}
