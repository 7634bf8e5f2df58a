//! Takes a run over: folds its log, then settles each effect begun and not finished.
//!
//! Settling is performing it again: each effect looks at the world first and adopts what is
//! there (`effect/`).

use serde::Deserialize;
use windlass_core::engine;
use windlass_core::event::{RECORD_VERSION, Record};
use windlass_core::id::RunId;
use windlass_core::run::State;
use windlass_store::{Loaded, Record as Stored, Store};

use crate::error::RunError;

/// What is needed to go on with a run, and the state it was left in.
pub(crate) fn load(store: &Store, run: &RunId) -> Result<(Loaded, State), RunError> {
    let loaded = store.load(run)?;
    if let Some(snapshot) = &loaded.snapshot {
        // A state says no version; the record after which it was kept does.
        for entry in store.read_from(run, snapshot.seq, 1)? {
            read(run, &entry)?;
        }
    }
    let state = fold(run, &loaded)?;
    Ok((loaded, state))
}

/// The state a log leaves behind.
pub(crate) fn fold(run: &RunId, loaded: &Loaded) -> Result<State, RunError> {
    let bad = |why: String| RunError::BadLog { run: run.clone(), why };
    let records: Result<Vec<Record>, _> = loaded.tail.iter().map(|entry| read(run, entry)).collect();
    let records = records?;
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

/// A record as it was stored, where it is of the version that is read here.
pub(crate) fn read(run: &RunId, entry: &Stored) -> Result<Record, RunError> {
    let other = |found: u32| RunError::OtherVersion { run: run.clone(), found, binary: None };
    match serde_json::from_slice::<Record>(&entry.body) {
        Ok(record) if record.v == RECORD_VERSION => Ok(record),
        Ok(record) => Err(other(record.v)),
        Err(error) => Err(match serde_json::from_slice::<Version>(&entry.body) {
            Ok(Version { v }) if v != RECORD_VERSION => other(v),
            _ => RunError::BadLog { run: run.clone(), why: format!("record {}: {error}", entry.seq) },
        }),
    }
}

/// What a record of every version says.
#[derive(Deserialize)]
struct Version {
    v: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(body: &str) -> String {
        read(&RunId::new("r"), &Stored { seq: 3, body: body.into() }).unwrap_err().to_string()
    }

    #[test]
    fn a_record_of_another_version_is_named_as_such_whether_it_can_be_read_or_not() {
        let reads = format!("and this windlass reads version {RECORD_VERSION} alone");
        for (v, event) in [(1, r#""owner_changed""#), (1, r#"{"type":"owner_changed"}"#), (99, "7")] {
            let body = format!(r#"{{"v":{v},"at":5,"event":{event}}}"#);
            assert_eq!(said(&body), format!("the log of run r is of version {v}, {reads}"));
        }
    }

    #[test]
    fn damage_is_not_taken_for_another_version() {
        let broken = format!(r#"{{"v":{RECORD_VERSION},"at":5,"event":7}}"#);
        for body in [broken.as_str(), "{}", "not JSON"] {
            assert!(said(body).starts_with("the log of run r cannot be understood: record 3: "), "{body}");
        }
    }
}
