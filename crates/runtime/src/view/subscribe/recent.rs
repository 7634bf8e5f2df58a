//! The newest records of the runs that this process owns, so that subscribers in it need not read them again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::event::Record;
use windlass_core::id::RunId;

/// The number of records to keep of each run. A subscriber that is further behind reads the log.
const MOST: usize = 32;

/// The records of one run, with their numbers.
type NumberedRecords = VecDeque<(u64, Record)>;

/// The newest records of each run. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecentRecords(Arc<Mutex<HashMap<RunId, NumberedRecords>>>);

impl RecentRecords {
    /// Adds a committed record.
    pub(crate) fn add(&self, run: &RunId, seq: u64, record: &Record) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let records = runs.entry(run.clone()).or_default();
        if records.back().is_some_and(|(last, _)| last + 1 != seq) {
            records.clear();
        }
        records.push_back((seq, record.clone()));
        if records.len() > MOST {
            records.pop_front();
        }
    }

    /// Forgets a run that this process no longer owns.
    pub(crate) fn forget(&self, run: &RunId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(run);
    }

    /// Returns the records of a run from a number on, or `None` if only the log has them.
    pub(crate) fn since(&self, run: &RunId, from: u64) -> Option<Vec<(u64, Record)>> {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let records = runs.get(run)?;
        let ((first, _), (last, _)) = (records.front()?, records.back()?);
        if from < *first || from > last + 1 {
            return None;
        }
        Some(records.iter().filter(|(seq, _)| *seq >= from).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_core::event::{Event, RECORD_VERSION};
    use windlass_core::time::Moment;

    #[test]
    fn a_subscriber_gets_the_newest_records_and_reads_older_ones_from_the_log() {
        let (recent, run) = (RecentRecords::default(), RunId::new("r"));
        let (event, effects, news) = (Event::OwnerChanged, Vec::new(), Vec::new());
        let record = Record { v: RECORD_VERSION, at: Moment(0), event, effects, news };
        let since =
            |from| Some(recent.since(&run, from)?.into_iter().map(|(seq, _)| seq).collect::<Vec<_>>());
        assert_eq!(since(3), None);
        (3..=40).for_each(|seq| recent.add(&run, seq, &record));
        assert_eq!(since(39), Some(vec![39, 40]));
        assert_eq!((since(41), since(42), since(8)), (Some(Vec::new()), None, None));
        recent.add(&run, 50, &record);
        assert_eq!((since(49), since(50)), (None, Some(vec![50])));
        recent.forget(&run);
        assert_eq!(since(50), None);
    }
}
