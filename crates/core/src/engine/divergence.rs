//! Folds a log and compares the effects that the engine plans with the recorded ones.
//!
//! Pure. Recovery continues a run only if the effect ids are the same in every record. The rest of
//! a record (the details of an effect, the news) may differ between releases; `replay` compares
//! that too.

use std::fmt;

use super::Decision;
use super::replay::again;
use crate::event::Record;
use crate::id::{EffectId, RunId};
use crate::run::RunState;

/// A folded log.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// The state after the last record. `None` if the log does not start a run.
    pub state: Option<RunState>,
    /// The first record for which the engine plans other effects today.
    pub divergence: Option<Divergence>,
}

/// A record for which the engine plans other effects today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The number of the record, counted from 1.
    pub seq: u64,
    pub recorded: Vec<EffectId>,
    pub planned: Vec<EffectId>,
}

impl Divergence {
    /// Compares the recorded effects with those that the engine planned for the same event.
    pub fn of(seq: u64, record: &Record, step: &Decision) -> Option<Divergence> {
        let recorded = record.effects.iter().map(|planned| &planned.id);
        let planned = step.effects.iter().map(|planned| &planned.id);
        if recorded.clone().eq(planned.clone()) {
            return None;
        }
        Some(Divergence { seq, recorded: recorded.cloned().collect(), planned: planned.cloned().collect() })
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (recorded, planned) = (names(&self.recorded), names(&self.planned));
        write!(f, "record {} planned {recorded}, but this windlass plans {planned}", self.seq)
    }
}

fn names(effects: &[EffectId]) -> String {
    match effects {
        [] => "nothing".to_owned(),
        some => some.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", "),
    }
}

/// Folds records onto a state, or from the beginning if there is none, and compares them.
pub fn follow<'a>(
    run: &RunId,
    state: Option<RunState>,
    records: impl IntoIterator<Item = (u64, &'a Record)>,
) -> Followed {
    let mut followed = Followed { state, divergence: None };
    for (seq, record) in records {
        let Some(step) = again(&mut followed.state, run, record) else { break };
        if followed.divergence.is_none() {
            followed.divergence = Divergence::of(seq, record, &step);
        }
    }
    followed
}
