//! The position of a subscriber: small, and stored between two runs of the subscriber.

use std::path::Path;

use serde::{Deserialize, Serialize};
use windlass_core::id::{EffectId, RunId, Verb};
use windlass_core::launch::files;
use windlass_core::run::RunState;

use crate::transcript::TranscriptPlace;

/// The position of a subscriber. A subscription that starts after it misses no update and repeats none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FeedCursor {
    /// The number of the newest reported run, if all runs are followed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) newest: u64,
    /// The followed runs. If all runs are followed, those that are over are left out.
    pub(super) runs: Vec<RunPlace>,
}

/// The position in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunPlace {
    pub(super) run: RunId,
    /// The ancestors of the run, from the followed run down to itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) path: Vec<RunId>,
    /// The last reported record.
    pub(super) seq: u64,
    /// The end of the run was reported.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) is_over: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) turns: Vec<TurnPlace>,
}

/// The position in the transcript of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TurnPlace {
    pub(super) effect: EffectId,
    #[serde(flatten)]
    pub(super) place: TranscriptPlace,
}

impl FeedCursor {
    /// Adds a run, positioned after every record in its state.
    pub(crate) fn add(&mut self, state: &RunState, seq: u64, path: Vec<RunId>, run_dir: &Path) {
        self.runs.push(RunPlace::after(state, seq, path, run_dir));
    }

    /// Adds a run that does not exist yet.
    pub(crate) fn add_unmade(&mut self, run: RunId, path: Vec<RunId>) {
        self.runs.push(RunPlace { run, path, seq: 0, is_over: false, turns: Vec::new() });
    }

    pub(crate) fn has(&self, run: &RunId) -> bool {
        self.runs.iter().any(|place| place.run == *run)
    }
}

impl RunPlace {
    /// Returns the position after every record in a state, and after the current output of its agents.
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
