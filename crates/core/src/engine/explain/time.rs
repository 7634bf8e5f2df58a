//! Explains one instance of a node: one iteration and attempt.
//!
//! The state keeps only the last instance, so this reads the log.

use super::{
    ExplainedCause, Explanation, NodeProgress, SequencePosition, around, branch_taken, conditions, far, way,
};
use crate::engine::fold;
use crate::event::Record;
use crate::id::NodeId;
use crate::run::{FinalStatus, News, NodeCause, NodeHistory, Outcome, RunState, Spent};
use crate::time::Moment;

/// The start of an instance.
enum HowItStarted {
    Started,
    Skipped,
}

/// The end of an instance.
struct Finish {
    at: Moment,
    outcome: Outcome,
    spent: Spent,
    took_ms: u64,
}

/// Explains one instance of a node. Returns `None` if there was no such instance.
pub fn explain_time(state: &RunState, records: &[Record], instance: &NodeId) -> Option<Explanation> {
    let (place, begun) = records.iter().enumerate().find_map(|(place, record)| {
        let begun = record.news.iter().find_map(|news| begins(news, instance))?;
        Some((place, begun))
    })?;
    let node = instance.in_workflow();
    let way = way(&state.spec.body, None, &node)?;
    let spot = way.last()?;
    let finish = records.iter().skip(place).find_map(|record| finish(record, instance));
    let (cause, far) = match begun {
        HowItStarted::Skipped => {
            let condition = spot.step()?.when.as_ref().map(|when| when.0.clone()).unwrap_or_default();
            (NodeCause::WhenFalse { condition }, NodeProgress::Skipped)
        }
        HowItStarted::Started => {
            let far = finish
                .as_ref()
                .map_or_else(|| far(state, &node), |end| NodeProgress::Over(end.outcome.status));
            (cause(state, records, place, instance, spot), far)
        }
    };
    let began = records.get(place)?.at;
    let seen = NodeHistory {
        instance: instance.clone(),
        times: 1,
        failed: finish.as_ref().map_or(0, |end| u32::from(end.outcome.status == FinalStatus::Failed)),
        began,
        ended: finish.as_ref().map(|end| end.at),
        outcome: finish.as_ref().map(|end| end.outcome.clone()),
        earlier: None,
        took_ms: finish.as_ref().map_or(0, |end| end.took_ms),
        spent: finish.as_ref().map(|end| end.spent).unwrap_or_default(),
        cause: cause.clone(),
    };
    let around = around(state, &way, Some(instance));
    let step = spot.step()?;
    let kind = step.kind.word();
    let news = records.iter().skip(place).flat_map(|record| &record.news);
    let branch = branch_taken(step, instance, news.skip_while(|news| begins(news, instance).is_none()));
    let conditions = conditions(state, step, Some(&seen), branch);
    let why = ExplainedCause::Reached(cause);
    Some(Explanation { node, kind, far, why, around, conditions, seen: Some(seen) })
}

/// Returns all instances of a node, in the order in which they started.
pub fn times_of(records: &[Record], node: &NodeId) -> Vec<NodeId> {
    let started = records.iter().flat_map(|record| &record.news).filter_map(|news| match news {
        News::NodeStarted { node: name, .. } if name.in_workflow() == *node => Some(name.clone()),
        _ => None,
    });
    started.collect()
}

fn begins(news: &News, instance: &NodeId) -> Option<HowItStarted> {
    match news {
        News::NodeStarted { node, .. } if node == instance => Some(HowItStarted::Started),
        News::NodeSkipped { node, .. } if node == instance => Some(HowItStarted::Skipped),
        _ => None,
    }
}

fn finish(record: &Record, instance: &NodeId) -> Option<Finish> {
    record.news.iter().find_map(|news| match news {
        News::NodeFinished { node, outcome, spent, took_ms } if node == instance => {
            Some(Finish { at: record.at, outcome: outcome.clone(), spent: *spent, took_ms: *took_ms })
        }
        _ => None,
    })
}

/// Returns the cause of the start, as the run knew it then. If the node ended and started again
/// within one record, the cause follows from its position.
fn cause(
    state: &RunState,
    records: &[Record],
    place: usize,
    instance: &NodeId,
    spot: &SequencePosition<'_>,
) -> NodeCause {
    let then = fold(state.run.clone(), records.iter().take(place + 1));
    let seen = then.and_then(|then| then.bookkeeping.nodes.get(&instance.in_workflow()).cloned());
    if let Some(seen) = seen.filter(|seen| seen.instance == *instance) {
        return seen.cause;
    }
    let before = spot.at.checked_sub(1).and_then(|at| spot.steps.get(at));
    let Some(before) = before else { return NodeCause::First };
    let news = records.iter().take(place + 1).flat_map(|record| &record.news);
    let before_it = news.take_while(|news| begins(news, instance).is_none());
    let status = before_it.filter_map(|news| match news {
        News::NodeFinished { node, outcome, .. } if node.in_workflow() == before.id => {
            Some(outcome.status.word())
        }
        News::NodeSkipped { node, .. } if node.in_workflow() == before.id => Some("skipped"),
        _ => None,
    });
    let status = status.last().unwrap_or("over").to_owned();
    NodeCause::After { node: before.id.clone(), status }
}
