//! Decides when to write a snapshot of a run's state.
//!
//! Pure: it only counts bytes. The engine creates the snapshot and `log.rs` stores it.

use crate::log::LoadedRun;

/// Below this length, reading the tail costs less than a snapshot saves.
const SHORT_TAIL: u64 = 64 * 1024;

/// Growth of the log, as a multiple of the snapshot's size, before the next snapshot. Snapshots then add
/// at most an eighth to the bytes written, and loading reads at most nine times the state. A state that
/// grows as fast as its log is never copied: replaying the log reads no more bytes than that copy would
/// have.
const GROWTH: u64 = 8;

/// A count of the bytes that a run wrote since its last snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cadence {
    since: u64,
    due_at: u64,
}

impl Cadence {
    /// Starts the count of a run that has written nothing yet.
    pub fn new() -> Cadence {
        Cadence { since: 0, due_at: SHORT_TAIL }
    }

    /// Continues the count where the last owner of a run left it.
    pub fn of(loaded: &LoadedRun) -> Cadence {
        let snapshot = loaded.snapshot.as_ref().map_or(0, |record| record.body.len() as u64);
        let since = loaded.tail.iter().map(|record| record.body.len() as u64).sum();
        Cadence { since, due_at: due_after(snapshot) }
    }

    /// Counts appended bodies.
    pub fn wrote(&mut self, bytes: usize) {
        self.since = self.since.saturating_add(bytes as u64);
    }

    /// Decides whether it is time to create a snapshot and [offer](Self::offer) it.
    pub fn is_due(&self) -> bool {
        self.since >= self.due_at
    }

    /// Decides whether to store a snapshot of this size. If not, the next one is due when the log has
    /// grown enough for that size.
    pub fn offer(&mut self, size: usize) -> bool {
        self.due_at = due_after(size as u64);
        if !self.is_due() {
            return false;
        }
        self.since = 0;
        true
    }
}

impl Default for Cadence {
    fn default() -> Cadence {
        Cadence::new()
    }
}

fn due_after(snapshot: u64) -> u64 {
    snapshot.saturating_mul(GROWTH).max(SHORT_TAIL)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KB: usize = 1024;

    #[test]
    fn a_small_state_is_kept_each_time_64_kb_were_written() {
        let mut cadence = Cadence::new();
        cadence.wrote(63 * KB);
        assert!(!cadence.is_due());
        cadence.wrote(KB);
        assert!(cadence.is_due());
        assert!(cadence.offer(2 * KB));
        assert_eq!(cadence, Cadence::new());
    }

    #[test]
    fn a_large_state_waits_until_the_log_has_grown_by_eight_times_its_size() {
        let mut cadence = Cadence::new();
        cadence.wrote(64 * KB);
        assert!(!cadence.offer(20 * KB));
        assert!(!cadence.is_due());
        cadence.wrote(96 * KB);
        assert!(cadence.is_due());
        assert!(cadence.offer(20 * KB));
    }

    #[test]
    fn a_state_that_grows_with_its_log_is_asked_for_rarely_and_never_copied() {
        let mut cadence = Cadence::new();
        let mut asked = 0;
        for step in 1..=10_000 {
            cadence.wrote(KB);
            if cadence.is_due() {
                asked += 1;
                assert!(!cadence.offer(step * KB));
            }
        }
        assert!(asked <= 4, "asked {asked} times");
    }
}
