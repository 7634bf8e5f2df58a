//! Groups runs into families that only go together: a run, and the runs that it started.
//!
//! A run that continues asks the log for the runs below it. So they stay as long as it can continue. A fork
//! uses the snapshots of the run that it comes from, so that run stays as well.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::id::RunId;
use windlass_core::run::FinalStatus;
use windlass_store::RunRow;

use crate::error::RunError;
use crate::handle::Handle;
use crate::view::RunStatus;
use crate::without_log::children_of;

/// The number of records in one read.
const BATCH: usize = 256;
/// The beginning of the event that says from which run a fork comes.
const FORKED: &[u8] = br#""type":"forked""#;

/// A run with the runs that it started, directly or not. The first one is the root.
pub(super) struct RunFamily {
    pub(super) members: Vec<RunRow>,
    pub(super) standing: FamilyStanding,
}

/// The most that can still happen in a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FamilyStanding {
    /// A process works in it, or can continue it from where it is.
    Open,
    /// It is over, but a person can continue it with more.
    Continuable,
    /// It is over for good.
    Final(FinalStatus),
}

impl RunFamily {
    pub(super) fn root(&self) -> Option<&RunRow> {
        self.members.first()
    }

    /// Returns the time of the last change, in milliseconds since 1970.
    pub(super) fn updated_ms(&self) -> i64 {
        self.members.iter().map(|row| row.projection.updated_ms).max().unwrap_or(i64::MAX)
    }
}

/// Returns the runs with the runs below each, the root first.
pub(super) fn group(rows: Vec<RunRow>) -> Vec<Vec<RunRow>> {
    let known: BTreeSet<RunId> = rows.iter().map(|row| row.id.clone()).collect();
    let mut below: BTreeMap<RunId, Vec<RunRow>> = BTreeMap::new();
    let mut roots = Vec::new();
    for row in rows {
        match row.projection.parent.clone().filter(|parent| known.contains(parent) && *parent != row.id) {
            Some(parent) => below.entry(parent).or_default().push(row),
            None => roots.push(row),
        }
    }
    let with_all = |root: RunRow| {
        let mut members = vec![root];
        let mut next = 0;
        while let Some(id) = members.get(next).map(|row| row.id.clone()) {
            members.extend(below.remove(&id).unwrap_or_default());
            next += 1;
        }
        members
    };
    roots.into_iter().map(with_all).collect()
}

impl Handle {
    /// Returns all families, the newest first.
    pub(super) fn run_families(&self) -> Result<Vec<RunFamily>, RunError> {
        let families = group(self.store.runs()?).into_iter();
        let stand = |mut members: Vec<RunRow>| {
            self.move_to_checkout(&mut members);
            RunFamily { standing: self.standing(&members), members }
        };
        Ok(families.map(stand).collect())
    }

    /// Replaces the worktree of a run, which may be gone, by the folder in which a person started the run.
    fn move_to_checkout(&self, members: &mut [RunRow]) {
        let Some(root) = members.first() else { return };
        let worktree = root.projection.workspace.clone();
        let Some(checkout) = self.checkout_of(&root.id, &worktree) else { return };
        for row in members.iter_mut().filter(|row| row.projection.workspace == worktree) {
            row.projection.workspace.clone_from(&checkout);
        }
    }

    /// Decides what can still happen to the runs of a family. The first one is the root.
    pub(super) fn standing(&self, members: &[RunRow]) -> FamilyStanding {
        let ended = |row: &RunRow| match RunStatus::of_word(&row.projection.status) {
            RunStatus::Ended(status) if !self.is_alive(&row.id) => Some(status),
            _ => None,
        };
        let statuses: Option<Vec<FinalStatus>> = members.iter().map(ended).collect();
        // The runs below a root that is over for good cannot continue without it.
        match statuses.as_ref().and_then(|statuses| statuses.first()) {
            None => FamilyStanding::Open,
            Some(status) if status.is_final() => FamilyStanding::Final(*status),
            Some(_) => FamilyStanding::Continuable,
        }
    }

    /// Decides whether a process of a run lives: its owner, an agent or a command.
    fn is_alive(&self, run: &RunId) -> bool {
        self.store.is_owned(run) || !children_of(&self.store.run_dir(run)).is_empty()
    }

    /// Finds the forks of some runs among others: pairs of a run and its fork.
    pub(super) fn forks_of(
        &self,
        runs: &BTreeSet<RunId>,
        among: &[RunId],
    ) -> Result<Vec<(RunId, RunId)>, RunError> {
        let mut found = Vec::new();
        if runs.is_empty() {
            return Ok(found);
        }
        for run in among {
            let mut next = 1;
            loop {
                let batch = self.store.read_from(run, next, BATCH)?;
                let Some(last) = batch.last() else { break };
                next = last.seq + 1;
                // Read as text, so that this also works for the log of another version.
                for record in batch.iter().filter(|record| contains(&record.body, FORKED)) {
                    let is_from = |from: &&RunId| contains(&record.body, format!("\"{from}\"").as_bytes());
                    found.extend(runs.iter().filter(is_from).map(|from| (from.clone(), run.clone())));
                }
            }
        }
        Ok(found)
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use windlass_store::Projection;

    use super::*;

    fn row(id: &str, parent: Option<&str>) -> RunRow {
        let projection = Projection { parent: parent.map(RunId::new), ..Projection::default() };
        RunRow { id: RunId::new(id), number: 1, projection }
    }

    #[test]
    fn a_run_is_with_all_that_it_started_and_a_lost_parent_is_none() {
        let rows = vec![
            row("a", None),
            row("b", Some("a")),
            row("c", Some("b")),
            row("d", Some("gone")),
            row("e", Some("e")),
        ];
        let names: Vec<Vec<String>> = group(rows)
            .iter()
            .map(|members| members.iter().map(|row| row.id.to_string()).collect())
            .collect();
        assert_eq!(names, [vec!["a", "b", "c"], vec!["d"], vec!["e"]]);
    }
}
