//! A gate in the script: a turn that waits until somebody opens it.
//!
//! For scenes that act in the middle of a turn (kill, answer, cancel) without sleeping.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const GLANCE: Duration = Duration::from_millis(50);

/// A gate that blocks turns until [`ModelGate::open`].
#[derive(Clone, Default)]
pub struct ModelGate {
    shared: Arc<(Mutex<GateState>, Condvar)>,
}

#[derive(Default)]
struct GateState {
    open: bool,
    reached: usize,
}

impl ModelGate {
    /// Makes a closed gate.
    pub fn closed() -> ModelGate {
        ModelGate::default()
    }

    /// Opens the gate for waiting and later turns.
    pub fn open(&self) {
        self.lock().open = true;
        self.shared.1.notify_all();
    }

    /// Returns the number of turns that have reached the gate.
    pub fn reached(&self) -> usize {
        self.lock().reached
    }

    /// Waits until a turn has reached the gate. Returns false after the deadline.
    pub fn is_reached_within(&self, deadline: Duration) -> bool {
        let changed = &self.shared.1;
        let waited = changed.wait_timeout_while(self.lock(), deadline, |state| state.reached == 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.reached > 0
    }

    /// Waits until the gate opens, or until `given_up` returns true.
    pub(super) fn pass(&self, given_up: impl Fn() -> bool) {
        let changed = &self.shared.1;
        let mut state = self.lock();
        state.reached += 1;
        changed.notify_all();
        let start = Instant::now();
        while !state.open && !given_up() && start.elapsed() < Duration::from_secs(600) {
            state = changed.wait_timeout(state, GLANCE).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
