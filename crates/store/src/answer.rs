//! Waiting for the writer's answer, as a future or in place.
//!
//! Also knows when it is quicker to look than to sleep. What is asked is left to the callers.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::writer::Durability;

/// A commit that does not wait for the disk takes about a third of this.
const WATCH: Duration = Duration::from_micros(50);

/// Looks for a moment before sleeping: a commit that does not wait for the disk is over sooner
/// than a sleeper is woken. One that does is not worth watching for.
pub(crate) fn watch<T>(for_commit: Durability, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    if for_commit == Durability::Full {
        return None;
    }
    let start = Instant::now();
    while start.elapsed() < WATCH {
        if let Some(seen) = look() {
            return Some(seen);
        }
        thread::yield_now();
    }
    None
}

/// Waits in place. Unlike an async runtime's own way it may be called from within one: what is
/// waited for here is the writer's thread, never another task.
pub(crate) fn wait_for<F: Future>(answer: F) -> F::Output {
    // A task that asks often has spent its turn: a future that yields to the others then would
    // wait for ever, because nobody else wakes this thread.
    let mut answer = pin!(tokio::task::unconstrained(answer));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match answer.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
