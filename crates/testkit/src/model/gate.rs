//! A gate in the script: a turn that waits until the test opens it.
//!
//! For tests that act in the middle of a turn (kill, answer, cancel) without sleeping.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const GLANCE: Duration = Duration::from_millis(50);

/// A gate that blocks turns until [`Gate::open`].
#[derive(Clone, Default)]
pub struct Gate {
    shared: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    open: bool,
    reached: usize,
}

impl Gate {
    /// Makes a closed gate.
    pub fn closed() -> Gate {
        Gate::default()
    }

    /// Opens the gate for waiting and later turns.
    pub fn open(&self) {
        let (state, changed) = &*self.shared;
        state.lock().expect("a gate is never poisoned").open = true;
        changed.notify_all();
    }

    /// Returns the number of turns that have reached the gate.
    pub fn reached(&self) -> usize {
        self.shared.0.lock().expect("a gate is never poisoned").reached
    }

    /// Waits until a turn has reached the gate, or panics.
    #[track_caller]
    pub fn wait_reached(&self, deadline: Duration) {
        let (state, changed) = &*self.shared;
        let state = state.lock().expect("a gate is never poisoned");
        let waited = changed.wait_timeout_while(state, deadline, |state| state.reached == 0);
        let reached = waited.expect("a gate is never poisoned").0.reached;
        assert!(reached > 0, "no turn reached the gate within {deadline:?}");
    }

    /// Waits until the gate opens, or until `given_up` returns true.
    pub(crate) fn pass(&self, given_up: impl Fn() -> bool) {
        let (state, changed) = &*self.shared;
        let mut state = state.lock().expect("a gate is never poisoned");
        state.reached += 1;
        changed.notify_all();
        let start = Instant::now();
        while !state.open && !given_up() && start.elapsed() < Duration::from_secs(600) {
            state = changed.wait_timeout(state, GLANCE).expect("a gate is never poisoned").0;
        }
    }
}
