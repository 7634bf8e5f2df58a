//! What kept a node from being reached.

use super::around::taken;
use super::{Because, Far, Spot, Unreached, far, is_under_way};
use crate::graph::workflow::{Act, IfNode, OnFailure, Step};
use crate::run::{Cause, Course, Seen, State, Status};

/// Why the first on the way to a node that was not reached was not.
pub(super) fn unreached(state: &State, way: &[Spot<'_>]) -> Unreached {
    let mut around: Option<&Step> = None;
    for (place, spot) in way.iter().enumerate() {
        let Some(step) = spot.step() else { continue };
        match state.book.nodes.get(&step.id) {
            Some(Seen { cause: Cause::WhenFalse { condition }, .. }) => {
                let because = Because::LeftOut { node: step.id.clone(), condition: condition.clone() };
                return Unreached { block: None, because };
            }
            Some(_) => around = Some(step),
            None => {
                let block = (place + 1 < way.len()).then(|| step.id.clone());
                if far(state, &step.id) == Far::Held {
                    return Unreached { block, because: Because::Paused };
                }
                return Unreached { block, because: because(state, around, spot) };
            }
        }
    }
    Unreached { block: None, because: Because::NotYet }
}

fn because(state: &State, around: Option<&Step>, spot: &Spot<'_>) -> Because {
    let before = spot.steps.get(..spot.at).unwrap_or_default();
    let last = before.iter().rev().find_map(|step| Some((step, state.book.nodes.get(&step.id)?)));
    if let Some((step, seen)) = last {
        return after(state, around, step, seen);
    }
    let Some(around) = around else { return ended(state, None) };
    match (&around.act, spot.inside) {
        (Act::If(IfNode { condition, .. }), Some(inside)) => match taken(state, around) {
            Some(held) if held != (inside.field == "then") => {
                let condition = condition.0.trim().to_owned();
                Because::OtherWay { node: around.id.clone(), condition, held }
            }
            _ => ended(state, Some(around)),
        },
        (Act::Parallel(_), Some(inside)) if is_under_way(state, around) => {
            let branch = inside.name.unwrap_or_default().to_owned();
            Because::NoRoom { node: around.id.clone(), branch }
        }
        (Act::TaskLoop(_), _) if is_under_way(state, around) => Because::NoRound { node: around.id.clone() },
        _ => ended(state, Some(around)),
    }
}

/// Nothing came after this one.
fn after(state: &State, around: Option<&Step>, step: &Step, seen: &Seen) -> Because {
    if is_under_way(state, step) {
        return Because::Later { node: step.id.clone() };
    }
    match &seen.outcome {
        Some(outcome) if outcome.status != Status::Completed && step.on_failure == OnFailure::Fail => {
            Because::Failed { node: step.id.clone(), outcome: outcome.clone() }
        }
        _ => ended(state, around),
    }
}

/// What is around it was over before it came.
fn ended(state: &State, around: Option<&Step>) -> Because {
    let block = around.and_then(|step| {
        let outcome = state.book.nodes.get(&step.id)?.outcome.clone()?;
        Some(Because::Over { node: step.id.clone(), outcome })
    });
    match (block, &state.course) {
        (Some(over), _) => over,
        (None, Course::Ending { outcome } | Course::Done { outcome }) => {
            Because::Ended { outcome: outcome.clone() }
        }
        (None, Course::Running) => Because::NotYet,
    }
}
