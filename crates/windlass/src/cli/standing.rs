//! How a run stands together with the runs that it waits for: one whose parts all wait does not run.

use windlass_core::id::{RunId, Verb};
use windlass_core::run::{Standing, State};
use windlass_runtime::handle::View;

/// `waiting` for one that only waits, in itself or in the runs below it; else its own status.
pub(super) fn status(view: &View, below: &[State]) -> String {
    match view.status.as_str() {
        "running" if is_waiting(&view.state, below) => "waiting".to_owned(),
        status => status.to_owned(),
    }
}

/// A question holds up its own run and those around it, whatever else goes on in them.
fn is_waiting(state: &State, below: &[State]) -> bool {
    let asks = |state: &State| !state.is_done() && !state.book.asks.is_empty();
    if !matches!(state.standing(), Standing::Running) || std::iter::once(state).chain(below).any(asks) {
        return true;
    }
    let started = started(&state.run, below);
    !started.is_empty() && !is_busy_itself(state) && started.iter().all(|state| is_settled(state, below))
}

/// Whether nothing works in a run that another one started.
fn is_settled(state: &State, below: &[State]) -> bool {
    state.is_done() || is_waiting(state, below)
}

fn started<'a>(run: &RunId, below: &'a [State]) -> Vec<&'a State> {
    below.iter().filter(|state| state.spec.parent.as_ref().is_some_and(|parent| parent.run == *run)).collect()
}

/// Whether something works beside the runs it started: a paused run without these says so.
fn is_busy_itself(state: &State) -> bool {
    let mut alone = state.clone();
    alone.book.open.retain(|planned| planned.id.verb != Verb::Run);
    alone.book.paused = true;
    matches!(alone.standing(), Standing::Running)
}
