//! Which of the things that wait for a person a command means, and who asks them.

use windlass_core::id::RunId;
use windlass_core::run::Ask;
use windlass_core::spec::Spec;

use super::feed::Asker;

/// Whether it must be said which agent asks.
pub(super) fn asker(spec: &Spec) -> Asker {
    match (spec.only_session(), &spec.parent) {
        (Some(_), None) => Asker::Only,
        _ => Asker::OneOfSeveral,
    }
}

/// Those of the things that wait which a word may be about. Where none is, all are kept: it is said of them
/// why not.
pub(super) fn narrowed(asks: Vec<(RunId, Ask)>, is_meant: impl Fn(&Ask) -> bool) -> Vec<(RunId, Ask)> {
    let (meant, others): (Vec<_>, Vec<_>) = asks.into_iter().partition(|(_, ask)| is_meant(ask));
    if meant.is_empty() { others } else { meant }
}
