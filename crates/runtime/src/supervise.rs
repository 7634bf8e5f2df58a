//! Supervises the tasks that perform effects.
//!
//! Each has the name of its effect. A panic in one, or in what it lets run beside the event loop, is a fact like
//! any other: the owner is told that the effect broke. So every effect ends in a fact, or with its owner.

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
            // An owner that is gone finds the effect open when it comes back.
            let _ = outbox.send(Ok(Event::EffectBroken { effect, what })).await;
        }
    })
}

/// Runs something that blocks beside the event loop. A panic in it is one of the task that waits for it.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The process ends, and with it whoever waits.
            Err(_) => std::future::pending().await,
        },
    }
}

/// What a task gives, or what it said when it panicked.
async fn caught<T>(task: impl Future<Output = T> + Send) -> Result<T, String> {
    let mut task = Box::pin(task);
    poll_fn(move |context| match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(context))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(words(&*panic))),
    })
    .await
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it says nothing".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_core::id::{NodeId, Verb};

    fn effect() -> EffectId {
        EffectId { node: NodeId::new("n"), iteration: 1, attempt: 1, verb: Verb::Shell }
    }

    /// What the owner is told of a task.
    async fn told(task: impl Future<Output = ()> + Send + 'static) -> Option<Event> {
        let (outbox, mut inlet) = mpsc::channel(1);
        start(effect(), outbox, task).await.unwrap();
        inlet.recv().await.map(Result::unwrap)
    }

    fn broken(what: &str) -> Option<Event> {
        Some(Event::EffectBroken { effect: effect(), what: what.to_owned() })
    }

    #[tokio::test]
    async fn a_task_that_panics_is_told_of_by_the_name_of_its_effect() {
        assert_eq!(told(async { panic!("no {}", "luck") }).await, broken("no luck"));
        let later = async {
            tokio::task::yield_now().await;
            panic!("at last");
        };
        assert_eq!(told(later).await, broken("at last"));
    }

    #[tokio::test]
    async fn so_is_one_whose_work_beside_the_event_loop_panics() {
        let task = async { blocking(|| panic!("beside")).await };
        assert_eq!(told(task).await, broken("beside"));
    }

    #[tokio::test]
    async fn of_a_task_that_is_done_or_ended_nothing_is_told() {
        assert_eq!(told(async { assert_eq!(blocking(|| 7).await, 7) }).await, None);
        let (outbox, mut inlet) = mpsc::channel(1);
        let task = start(effect(), outbox, std::future::pending());
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(inlet.recv().await.is_none());
    }
}
