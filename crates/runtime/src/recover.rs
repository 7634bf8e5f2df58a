//! Rebuilds a run from its log, so that a process can show it or take it over.
//!
//! A run can continue only if the engine plans the effects that are in its log. A run that diverges can still
//! be shown, as far as its events go.
//!
//! Unfinished effects are performed again: each effect first checks what exists and adopts it (`effect/`).

use serde_json::Value;
use windlass_core::engine::{self, Divergence};
use windlass_core::event::upcast::{UpcastError, upcast};
use windlass_core::event::{RECORD_VERSION, Record};
use windlass_core::id::RunId;
use windlass_core::run::RunState;
use windlass_store::{LoadedRun, Store, StoredRecord as Stored};

use crate::error::RunError;

/// A run rebuilt from its log. A run that diverges must not continue.
pub(crate) struct Recovered {
    pub(crate) loaded: LoadedRun,
    pub(crate) state: RunState,
    /// The first record for which the engine plans other effects.
    pub(crate) divergence: Option<Divergence>,
}

/// Loads and folds the log of a run.
pub(crate) fn look(store: &Store, run: &RunId) -> Result<Recovered, RunError> {
    let loaded = stored(store, run)?;
    let (state, divergence) = follow(run, &loaded)?;
    Ok(Recovered { loaded, state, divergence })
}

fn stored(store: &Store, run: &RunId) -> Result<LoadedRun, RunError> {
    let mut loaded = store.load(run)?;
    if let Some(snapshot) = &loaded.snapshot {
        // A snapshot has no version; the record before it has one. Only records can be upgraded, so the state
        // of an older version is rebuilt from all of them.
        let after = store.read_from(run, snapshot.seq, 1)?;
        if after.iter().any(|entry| stamp(&entry.body) != Some(RECORD_VERSION)) {
            loaded.tail = store.read_from(run, 1, usize::MAX)?;
            loaded.snapshot = None;
        }
    }
    Ok(loaded)
}

/// Returns the state after the last record, and the first record for which the engine plans other effects.
pub(crate) fn follow(run: &RunId, loaded: &LoadedRun) -> Result<(RunState, Option<Divergence>), RunError> {
    let bad = |why: String| RunError::BadLog { run: run.clone(), why };
    let records: Result<Vec<(u64, Record)>, RunError> =
        loaded.tail.iter().map(|entry| Ok((entry.seq, read(run, entry)?))).collect();
    let records = records?;
    let kept = loaded.snapshot.as_ref().map(|snapshot| {
        let state = serde_json::from_slice(&snapshot.body);
        state.map_err(|error| bad(format!("snapshot {}: {error}", snapshot.seq)))
    });
    let records = records.iter().map(|(seq, record)| (*seq, record));
    let followed = engine::follow(run, kept.transpose()?, records);
    let state = followed.state.ok_or_else(|| bad("its first record does not start a run".to_owned()))?;
    Ok((state, followed.divergence))
}

/// Reads a stored record of this version or an older one. No other code parses records.
pub(crate) fn read(run: &RunId, entry: &Stored) -> Result<Record, RunError> {
    let bad =
        |why: String| RunError::BadLog { run: run.clone(), why: format!("record {}: {why}", entry.seq) };
    // The version comes first in each record, so that a current record is parsed only once.
    if stamp(&entry.body) == Some(RECORD_VERSION) {
        return serde_json::from_slice(&entry.body).map_err(|error| bad(error.to_string()));
    }
    let stored: Value = serde_json::from_slice(&entry.body).map_err(|error| bad(error.to_string()))?;
    let record = upcast(stored).map_err(|error| match error {
        UpcastError::OtherVersion { found } => {
            RunError::OtherVersion { run: run.clone(), found, binary: None }
        }
        UpcastError::NoVersion | UpcastError::Malformed { .. } => bad(error.to_string()),
    })?;
    serde_json::from_value(record).map_err(|error| bad(error.to_string()))
}

/// Returns the version at the start of a record.
fn stamp(body: &[u8]) -> Option<u32> {
    let rest = body.strip_prefix(br#"{"v":"#)?;
    let digits = rest.split(|byte| *byte == b',').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_core::event::Event;
    use windlass_core::event::upcast::OLDEST_VERSION;

    fn said(body: &str) -> String {
        read(&RunId::new("r"), &Stored { seq: 3, body: body.into() }).unwrap_err().to_string()
    }

    #[test]
    fn a_record_of_another_version_is_named_as_such_whether_it_can_be_read_or_not() {
        let reads = format!("this windlass reads versions {OLDEST_VERSION} to {RECORD_VERSION}");
        for (v, event) in [(1, r#""owner_changed""#), (1, r#"{"type":"owner_changed"}"#), (99, "7")] {
            let body = format!(r#"{{"v":{v},"at":5,"event":{event}}}"#);
            assert_eq!(said(&body), format!("the log of run r has version {v}; {reads}"));
        }
    }

    #[test]
    fn a_record_of_an_older_version_is_read_as_one_of_this_version_wherever_its_number_stands() {
        for body in [
            format!(r#"{{"v":{OLDEST_VERSION},"at":5,"event":{{"type":"owner_changed"}}}}"#),
            format!(r#"{{"at":5,"event":{{"type":"owner_changed"}},"v":{OLDEST_VERSION}}}"#),
        ] {
            let record = read(&RunId::new("r"), &Stored { seq: 3, body: body.into() }).unwrap();
            assert_eq!((record.v, record.event), (RECORD_VERSION, Event::OwnerChanged));
        }
    }

    #[test]
    fn damage_is_not_taken_for_another_version() {
        let broken = format!(r#"{{"v":{RECORD_VERSION},"at":5,"event":7}}"#);
        for body in [broken.as_str(), "{}", "not JSON"] {
            assert!(said(body).starts_with("the log of run r cannot be understood: record 3: "), "{body}");
        }
    }

    /// A log of version 3: its run and its records.
    const RECORDED: &str = include_str!("../tests/records/v3/ask.jsonl");

    #[test]
    fn a_state_that_an_older_version_kept_is_made_again_from_all_records() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let run = RunId::new("r");
        let records = RECORDED.lines().filter(|line| line.starts_with(r#"{"v":3,"#));
        let bodies: Vec<Vec<u8>> = records.map(|line| line.as_bytes().to_vec()).collect();
        let projection = windlass_store::Projection::default();
        let new =
            windlass_store::NewRun { id: run.clone(), projection, bodies: bodies.clone(), spending: None };
        let lease = store.create_run(new).unwrap();
        let append = windlass_store::Append {
            run: run.clone(),
            expected_seq: bodies.len() as u64,
            epoch: lease.epoch(),
            bodies: vec![br#"{"v":3,"at":5,"event":{"type":"owner_changed"}}"#.to_vec()],
            durability: windlass_store::Durability::Normal,
            taken: Vec::new(),
            projection: None,
            snapshot: Some(b"a state in a form of its time".to_vec()),
            spending: None,
        };
        store.append_blocking(append).unwrap();
        assert!(store.load(&run).unwrap().snapshot.is_some());
        let Recovered { loaded, state, divergence } = look(&store, &run).unwrap();
        assert_eq!(divergence, None);
        assert_eq!((loaded.snapshot, loaded.tail.len()), (None, bodies.len() + 1));
        assert_eq!(state.bookkeeping.asks.len(), 1);
    }
}
