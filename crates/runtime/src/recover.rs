//! Takes a run over: folds its log, then settles each effect begun and not finished.
//!
//! Settling is performing it again: each effect looks at the world first and adopts what is
//! there (`effect/`).

use windlass_core::engine;
use windlass_core::event::Record;
use windlass_core::id::RunId;
use windlass_core::run::State;
use windlass_store::Loaded;

use crate::error::RunError;

/// The state a log leaves behind.
pub(crate) fn fold(run: &RunId, loaded: &Loaded) -> Result<State, RunError> {
    let bad = |why: String| RunError::BadLog { run: run.clone(), why };
    let mut records = Vec::with_capacity(loaded.tail.len());
    for entry in &loaded.tail {
        let record: Record = serde_json::from_slice(&entry.body)
            .map_err(|error| bad(format!("record {}: {error}", entry.seq)))?;
        records.push(record);
    }
    let Some(snapshot) = &loaded.snapshot else {
        return engine::fold(run.clone(), &records)
            .ok_or_else(|| bad("it does not begin with a start".to_owned()));
    };
    let mut state: State = serde_json::from_slice(&snapshot.body)
        .map_err(|error| bad(format!("snapshot {}: {error}", snapshot.seq)))?;
    for record in &records {
        engine::apply(&mut state, record.at, &record.event);
    }
    Ok(state)
}
