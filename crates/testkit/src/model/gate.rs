//! A gate in the script: a turn that waits until the test opens it.
//!
//! For tests that do something in the middle of a turn (kill, answer, cancel) without sleeping.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const GLANCE: Duration = Duration::from_millis(50);

/// Closed until [`Gate::open`]; whoever comes before that waits in front of it.
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
    /// A closed gate.
    pub fn closed() -> Gate {
        Gate::default()
    }

    /// Lets through who waits and who comes later.
    pub fn open(&self) {
        let (state, changed) = &*self.shared;
        state.lock().expect("a gate is never poisoned").open = true;
        changed.notify_all();
    }

    /// How many turns have come to the gate so far.
    pub fn reached(&self) -> usize {
        self.shared.0.lock().expect("a gate is never poisoned").reached
    }

    /// Waits until a turn stands in front of the gate, or panics.
    #[track_caller]
    pub fn wait_reached(&self, deadline: Duration) {
        crate::wait::until(deadline, || self.reached() > 0);
    }

    /// Stands in front of the gate until it opens or `given_up` says that nobody will open it.
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
