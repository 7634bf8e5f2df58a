//! What waits for a person in a run, and in the runs that were started from it.

use windlass_core::id::RunId;
use windlass_core::run::{Ask, Doing, State};
use windlass_core::spec::{MAX_DEPTH, Spec};
use windlass_runtime::handle::Handle;

use super::feed::Whose;

/// Whether it must be said which agent asks.
pub(super) fn whose(spec: &Spec) -> Whose {
    match (spec.only_session(), &spec.parent) {
        (Some(_), None) => Whose::Only,
        _ => Whose::OneOfSeveral,
    }
}

/// The runs that a run has started and waits for, and those that they have.
pub(super) fn below(handle: &Handle, state: &State) -> Vec<State> {
    let mut found = Vec::new();
    let mut next = children(state);
    // A log is data: one that names itself must not be followed for ever.
    for _ in 0..=MAX_DEPTH {
        // One that cannot be read, or is not there yet, asks nothing.
        let states: Vec<State> = next.iter().filter_map(|run| Some(handle.view(run).ok()?.state)).collect();
        next = states.iter().flat_map(children).collect();
        found.extend(states);
    }
    found
}

fn children(state: &State) -> Vec<RunId> {
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    let run = |doing: &Doing| match doing {
        Doing::Run { run, .. } => Some(run.clone()),
        _ => None,
    };
    actives.iter().filter_map(|active| run(&active.doing)).collect()
}

/// Everything that waits for a person, with the run that asks.
pub(super) fn open_asks(handle: &Handle, state: &State) -> Vec<(RunId, Ask)> {
    let below = below(handle, state);
    let states = std::iter::once(state).chain(&below).filter(|state| !state.is_done());
    let asks = states.flat_map(|state| state.book.asks.iter().map(|ask| (state.run.clone(), ask.clone())));
    asks.collect()
}

/// Those of the things that wait which a word may be about. Where none is, all are kept: it is said of them
/// why not.
pub(super) fn narrowed(asks: Vec<(RunId, Ask)>, is_meant: impl Fn(&Ask) -> bool) -> Vec<(RunId, Ask)> {
    let (meant, others): (Vec<_>, Vec<_>) = asks.into_iter().partition(|(_, ask)| is_meant(ask));
    if meant.is_empty() { others } else { meant }
}
