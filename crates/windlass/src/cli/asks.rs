//! Chooses the open requests that a command is about, and tells who asks.

use windlass_core::id::RunId;
use windlass_core::run::Ask;
use windlass_core::spec::Spec;

use super::feed::Asker;

/// Decides whether messages must say which agent asks.
pub(super) fn asker(spec: &Spec) -> Asker {
    match (spec.only_session(), &spec.parent) {
        (Some(_), None) => Asker::Only,
        _ => Asker::OneOfSeveral,
    }
}

/// Returns the matching requests. If none matches, returns all, so that the caller can say why each does not.
pub(super) fn narrowed(asks: Vec<(RunId, Ask)>, is_meant: impl Fn(&Ask) -> bool) -> Vec<(RunId, Ask)> {
    let (meant, others): (Vec<_>, Vec<_>) = asks.into_iter().partition(|(_, ask)| is_meant(ask));
    if meant.is_empty() { others } else { meant }
}
