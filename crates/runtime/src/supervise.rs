//! Supervises the tasks that perform effects.
//!
//! A panic in a task, or in blocking work it waits for, becomes an event: it tells the owner that the effect
//! broke. So every effect ends with an event, or with its owner.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Poll;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use windlass_core::event::Event;
use windlass_core::id::EffectId;

use crate::effect::Fact;

/// Starts the task that performs an effect.
pub(crate) fn start(
    effect: EffectId,
    outbox: mpsc::Sender<Fact>,
    task: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        if let Err(what) = caught(task).await {
            // If the owner is gone, the next one finds the effect unfinished.
            let _ = outbox.send(Ok(Event::EffectBroken { effect, what })).await;
        }
    })
}

/// Runs blocking work on another thread. A panic there continues in the calling task.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // Cancelled: the process is ending, and the caller with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Runs a task and returns its result, or the message of its panic.
async fn caught<T>(task: impl Future<Output = T> + Send) -> Result<T, String> {
    let mut task = Box::pin(task);
    poll_fn(move |context| match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(context))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(words(&*panic))),
    })
    .await
}

/// Returns the message of a panic.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_core::id::{NodeId, Verb};

    fn effect() -> EffectId {
        EffectId { node: NodeId::new("n"), iteration: 1, attempt: 1, verb: Verb::Shell }
    }

    /// Returns the event that the owner gets from a task.
    async fn failure_of(task: impl Future<Output = ()> + Send + 'static) -> Option<Event> {
        let (outbox, mut inlet) = mpsc::channel(1);
        start(effect(), outbox, task).await.unwrap();
        inlet.recv().await.map(Result::unwrap)
    }

    fn broken(what: &str) -> Option<Event> {
        Some(Event::EffectBroken { effect: effect(), what: what.to_owned() })
    }

    #[tokio::test]
    async fn a_task_that_panics_is_told_of_by_the_name_of_its_effect() {
        assert_eq!(failure_of(async { panic!("no {}", "luck") }).await, broken("no luck"));
        let later = async {
            tokio::task::yield_now().await;
            panic!("at last");
        };
        assert_eq!(failure_of(later).await, broken("at last"));
    }

    #[tokio::test]
    async fn so_is_one_whose_work_beside_the_event_loop_panics() {
        let task = async { blocking(|| panic!("beside")).await };
        assert_eq!(failure_of(task).await, broken("beside"));
    }

    #[tokio::test]
    async fn of_a_task_that_is_done_or_ended_nothing_is_told() {
        assert_eq!(failure_of(async { assert_eq!(blocking(|| 7).await, 7) }).await, None);
        let (outbox, mut inlet) = mpsc::channel(1);
        let task = start(effect(), outbox, std::future::pending());
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(inlet.recv().await.is_none());
    }
}
