//! Follows a log: folds it, and compares the effects that the engine plans with those that were recorded.
//!
//! Pure. Recovery goes on with a run only where the ids are the same in every record. The rest of a record (how
//! an effect is done, what people are told) may differ between releases; `replay` compares that too.

use std::fmt;

use super::Decision;
use super::replay::again;
use crate::event::Record;
use crate::id::{EffectId, RunId};
use crate::run::RunState;

/// A log, folded.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// Where the run stands by its facts; nothing where the log has no beginning.
    pub state: Option<RunState>,
    /// The first record for which the engine plans other effects today.
    pub divergence: Option<Divergence>,
}

/// A record for which the engine plans other effects today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Which record, from 1.
    pub seq: u64,
    /// The effects in the record.
    pub recorded: Vec<EffectId>,
    /// The effects that the engine plans.
    pub planned: Vec<EffectId>,
}

impl Divergence {
    /// Compares the effects of a record with those that follow from its fact today.
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
        write!(f, "record {} planned {recorded}, and this windlass would plan {planned}", self.seq)
    }
}

fn names(effects: &[EffectId]) -> String {
    match effects {
        [] => "nothing".to_owned(),
        some => some.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", "),
    }
}

/// Folds records onto a state, or from the beginning where there is none, and compares.
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
