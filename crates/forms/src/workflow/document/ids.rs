//! The ids that the author chose, each used once.
//!
//! Templates write a dash as an underscore, so ids that differ in nothing else are the same.
//! `core::graph::ids` validates ids and names the nodes without one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use windlass_core::graph::ids::folded;

/// The ids that the author of a document chose.
#[derive(Default)]
pub(super) struct ChosenIds(HashMap<String, TakenId>);

/// An id in use, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TakenId {
    pub(super) id: String,
    pub(super) at: usize,
}

impl ChosenIds {
    /// Reserves an id, or returns the earlier use of it.
    pub(super) fn take(&mut self, id: &str, at: usize) -> Result<(), TakenId> {
        match self.0.entry(folded(id)) {
            Entry::Occupied(taken) => Err(taken.get().clone()),
            Entry::Vacant(free) => {
                free.insert(TakenId { id: id.to_owned(), at });
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_taken_once_however_its_dashes_are_written() {
        let mut chosen = ChosenIds::default();
        assert_eq!(chosen.take("skill-commit", 3), Ok(()));
        assert_eq!(chosen.take("commit", 5), Ok(()));
        assert_eq!(chosen.take("skill_commit", 9), Err(TakenId { id: "skill-commit".into(), at: 3 }));
    }
}
