//! The ids that somebody chose, none of them twice.
//!
//! In templates a dash is written as an underscore, so ids that differ in nothing else are one.
//! What is an id, and what a node without one is called, is `core::graph::ids`'.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use windlass_core::graph::ids::folded;

/// The ids of a document that somebody chose.
#[derive(Default)]
pub(super) struct ChosenIds(HashMap<String, TakenId>);

/// An id that a node has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TakenId {
    pub(super) id: String,
    pub(super) at: usize,
}

impl ChosenIds {
    /// Takes an id, or says which node has it already.
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
