//! Starts a sub-run once, follows it to its end and reports it.

use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use windlass_core::engine::given_by;
use windlass_core::event::{Event, RunEnd};
use windlass_core::id::{EffectId, InboxId, RunId};
use windlass_core::run::{Continuation, EndReason, FinalStatus, Outcome, RunState};
use windlass_core::spec::Spec;

use super::RunContext;
use crate::error::{RunError, chain};
use crate::feed::FeedItem;
use crate::handle::{ChildContinuation, ChildStart, OwnedRun};

/// The interval at which a sub-run of another process is checked.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A sub-run to start, or to continue after it had ended.
pub(super) struct ChildPlan {
    pub(super) run: RunId,
    /// `None` if the sub-run must not start any more.
    pub(super) spec: Option<Spec>,
    /// The additions with which a sub-run that had ended continues.
    pub(super) more: Option<Box<Continuation>>,
}

/// Starts the sub-run or takes it over at once, and returns a future that follows it to its end. The type is
/// explicit because a run may start a run.
pub(super) fn perform(
    context: Arc<RunContext>,
    effect: EffectId,
    start: ChildPlan,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let ChildPlan { run, spec, more } = start;
    let more = more.map(|more| ChildContinuation { inbox: InboxId::new(format!("outer/{effect}")), more });
    let mut adopted = adopt(&context, &effect, &run, spec, more.as_ref());
    Box::pin(async move {
        let end = loop {
            match adopted {
                Ok(ChildStart::Never) => return,
                Ok(ChildStart::Running(running)) => match follow(&context, &effect, &run, *running).await {
                    Ok(end) => break end,
                    // The sub-run is not over: resuming this run resumes it, too.
                    Err(error) => return context.give_up(error).await,
                },
                Ok(ChildStart::Over(state)) => break end_of(&state),
                // Another process owns the sub-run. Wait until it is over, or until that process is gone.
                Ok(ChildStart::Elsewhere) => tokio::time::sleep(LOOK_EVERY).await,
                // The outcome is unknown: only the version of Windlass that started both runs can continue.
                Err(error @ RunError::Diverged { .. }) => return context.give_up(error).await,
                Err(error) => break failed(chain(&error)),
            }
            adopted = adopt(&context, &effect, &run, None, more.as_ref());
        };
        context.children.lock().unwrap_or_else(PoisonError::into_inner).remove(&effect.node);
        context.report(Event::RunEnded { effect, end: Box::new(end) }).await;
    })
}

/// Makes this process the owner of the sub-run if it has none, and keeps a channel to it.
fn adopt(
    context: &RunContext,
    effect: &EffectId,
    run: &RunId,
    spec: Option<Spec>,
    more: Option<&ChildContinuation>,
) -> Result<ChildStart, RunError> {
    let adopted = context.handle.adopt(run, spec, more)?;
    if let ChildStart::Running(running) = &adopted {
        let mut children = context.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.insert(effect.node.clone(), running.inlet());
    }
    Ok(adopted)
}

/// Shows the sub-run's feed and reports its spending as it grows.
async fn follow(
    context: &RunContext,
    effect: &EffectId,
    run: &RunId,
    mut running: OwnedRun,
) -> Result<RunEnd, RunError> {
    while let Some(item) = running.next().await {
        let has_spent = matches!(&item, FeedItem::Record { record, .. } if record.spends());
        context.feed.offer(FeedItem::Child { run: run.clone(), item: Box::new(item) }).await;
        if has_spent && let Ok(view) = context.handle.view(run) {
            let (effect, spent) = (effect.clone(), view.state.known_spent());
            context.report(Event::RunSpent { effect, spent }).await;
        }
    }
    Ok(end_of(&running.finish().await?))
}

fn end_of(state: &RunState) -> RunEnd {
    let unknown =
        || Outcome::new(FinalStatus::Failed, EndReason::ChildFailed).because("it stopped before it was over");
    let (text, value) = given_by(state);
    RunEnd { outcome: state.outcome().cloned().unwrap_or_else(unknown), spent: state.spent, text, value }
}

fn failed(why: String) -> RunEnd {
    let outcome = Outcome::new(FinalStatus::Failed, EndReason::ChildFailed).because(why);
    RunEnd { outcome, spent: Default::default(), text: String::new(), value: None }
}
