//! The snapshots of a run: the states of its folders, by name.

use windlass_core::event::{Event, Record, SaveEnd};
use windlass_core::id::RunId;
use windlass_core::snapshot::{FolderSnapshot, SnapshotName, SnapshotQuery};
use windlass_core::time::Moment;

/// A snapshot of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSnapshot {
    pub name: SnapshotName,
    /// The absolute path of the folder.
    pub folder: String,
    pub at: Moment,
    pub snapshot: FolderSnapshot,
}

/// The snapshots of a run, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSnapshots {
    pub run: RunId,
    /// The folder in which the run works.
    pub workspace: String,
    /// The folder in which the person started the run, if the run has its own worktree.
    pub checkout: Option<String>,
    pub all: Vec<KeptSnapshot>,
    /// The reason why the last snapshot that failed did so.
    pub failed: Option<String>,
    /// The snapshots before the turns that were cut off and continued later.
    before_cut: Vec<(SnapshotName, KeptSnapshot)>,
}

/// An error: a query matches no snapshot, or several.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchSnapshot {
    #[error("run {run} has no turn `{asked}`")]
    Unknown { run: RunId, asked: String },
    #[error("several nodes of run {run} have a turn {turn}")]
    Ambiguous { run: RunId, turn: u32 },
    #[error("no snapshot of run {run} is older than `{name}`")]
    NothingBefore { run: RunId, name: SnapshotName },
}

impl RunSnapshots {
    /// Reads the snapshots in a log. A name that is recorded twice, after a crash or in a fork, means the
    /// later one.
    pub(crate) fn of<'a>(
        run: &RunId,
        workspace: &str,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> RunSnapshots {
        let (run, workspace) = (run.clone(), workspace.to_owned());
        let mut snapshots = RunSnapshots::empty(run, workspace);
        for record in records {
            let Event::FolderSaved { name, folder, end } = &record.event else { continue };
            match end {
                SaveEnd::Saved(snapshot) => {
                    let (name, folder, snapshot) = (name.clone(), folder.clone(), snapshot.clone());
                    snapshots.add(KeptSnapshot { name, folder, at: record.at, snapshot });
                }
                SaveEnd::Failed { why } => snapshots.failed = Some(why.clone()),
            }
        }
        snapshots
    }

    fn empty(run: RunId, workspace: String) -> RunSnapshots {
        let (all, before_cut) = (Vec::new(), Vec::new());
        RunSnapshots { run, workspace, checkout: None, all, failed: None, before_cut }
    }

    pub(crate) fn add(&mut self, kept: KeptSnapshot) {
        if let Some(at) = self.all.iter().position(|other| other.name == kept.name) {
            let is_continued =
                self.all.iter().skip(at).any(|other| matches!(other.name, SnapshotName::Resumed { .. }));
            let before = self.before(&kept.name).ok().cloned();
            self.all.remove(at);
            if let (SnapshotName::Turn { .. }, true, Some(before)) = (&kept.name, is_continued, before) {
                self.before_cut.retain(|(name, _)| *name != kept.name);
                self.before_cut.push((kept.name.clone(), before));
            }
        }
        self.all.push(kept);
    }

    /// Returns the state before the run did anything.
    pub fn first(&self) -> Option<&KeptSnapshot> {
        let start = self.all.iter().find(|kept| kept.name == SnapshotName::Start);
        start.or_else(|| self.of_run().next())
    }

    /// Returns the last state of the folder that the run itself saved.
    pub fn last(&self) -> Option<&KeptSnapshot> {
        self.of_run().last()
    }

    /// Returns the snapshots of the run's own folder, without those that an undo saved.
    fn of_run(&self) -> impl DoubleEndedIterator<Item = &KeptSnapshot> {
        let is_undo = |kept: &KeptSnapshot| matches!(kept.name, SnapshotName::Undo { .. });
        self.all.iter().filter(move |kept| kept.folder == self.workspace && !is_undo(kept))
    }

    /// Finds the snapshot that a person names.
    pub fn find(&self, query: &SnapshotQuery) -> Result<&KeptSnapshot, NoSuchSnapshot> {
        let unknown = |asked: String| NoSuchSnapshot::Unknown { run: self.run.clone(), asked };
        match query {
            SnapshotQuery::Name(name) => {
                let found = self.all.iter().find(|kept| kept.name == *name);
                found.ok_or_else(|| unknown(name.to_string()))
            }
            SnapshotQuery::Turn(0) => self.first().ok_or_else(|| unknown("0".to_owned())),
            SnapshotQuery::Turn(number) => {
                let is_it = |kept: &&KeptSnapshot| matches!(&kept.name, SnapshotName::Turn { turn, .. } if turn == number);
                let mut found = self.all.iter().filter(is_it);
                match (found.next(), found.next()) {
                    (Some(one), None) => Ok(one),
                    (None, _) => Err(unknown(number.to_string())),
                    (Some(_), Some(_)) => {
                        Err(NoSuchSnapshot::Ambiguous { run: self.run.clone(), turn: *number })
                    }
                }
            }
        }
    }

    /// Returns the snapshot before another one, in the same folder. For a turn that was cut off and continued,
    /// this is the one before its first part.
    pub fn before(&self, name: &SnapshotName) -> Result<&KeptSnapshot, NoSuchSnapshot> {
        if let Some((_, before)) = self.before_cut.iter().find(|(cut, _)| cut == name) {
            return Ok(before);
        }
        let nothing = || NoSuchSnapshot::NothingBefore { run: self.run.clone(), name: name.clone() };
        let at = self.all.iter().position(|kept| kept.name == *name).ok_or_else(nothing)?;
        let (earlier, rest) = self.all.split_at(at);
        let folder = rest.first().map(|kept| &kept.folder);
        earlier.iter().rev().find(|kept| Some(&kept.folder) == folder).ok_or_else(nothing)
    }

    /// Returns the names of all snapshots. In a run of one session, a number is enough for a turn.
    pub fn names(&self) -> Vec<String> {
        let short = |kept: &KeptSnapshot| match &kept.name {
            SnapshotName::Turn { turn, .. } if *turn > 0 => {
                let query = SnapshotQuery::Turn(*turn);
                let is_enough = self.find(&query).is_ok_and(|found| found.name == kept.name);
                if is_enough { turn.to_string() } else { kept.name.to_string() }
            }
            name => name.to_string(),
        };
        self.all.iter().map(short).collect()
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::id::NodeId;

    use super::*;

    fn kept(name: SnapshotName, folder: &str) -> KeptSnapshot {
        let commit = format!("{name} in {folder}");
        let snapshot = FolderSnapshot { tree: commit.clone(), commit, head: None, left_out: Vec::new() };
        KeptSnapshot { name, folder: folder.to_owned(), at: Moment(0), snapshot }
    }

    fn turn(node: &str, turn: u32) -> SnapshotName {
        SnapshotName::Turn { node: NodeId::new(node), turn }
    }

    fn of(names: &[(SnapshotName, &str)]) -> RunSnapshots {
        let (run, workspace) = (RunId::new("r"), "/w".to_owned());
        let mut all = RunSnapshots::empty(run, workspace);
        names.iter().for_each(|(name, folder)| all.add(kept(name.clone(), folder)));
        all
    }

    #[test]
    fn a_number_names_the_turn_of_the_only_node() {
        let one = of(&[
            (SnapshotName::Start, "/w"),
            (turn("loop", 0), "/w"),
            (turn("loop", 1), "/w"),
            (turn("loop", 2), "/w"),
            (SnapshotName::End, "/w"),
            (SnapshotName::Undo { number: 1 }, "/w"),
        ]);
        let named = |text: &str| one.find(&text.parse().unwrap()).map(|kept| kept.name.to_string());
        assert_eq!(named("2"), Ok("loop:2".to_owned()));
        assert_eq!(named("0"), Ok("start".to_owned()));
        assert_eq!(named("undo-1"), Ok("undo-1".to_owned()));
        assert!(named("3").is_err() && named("undo-2").is_err() && named("other:1").is_err());
        assert_eq!(one.names(), ["start", "loop:0", "1", "2", "end", "undo-1"]);
        assert_eq!(one.last().unwrap().name, SnapshotName::End);
        assert_eq!(one.before(&turn("loop", 1)).unwrap().name, turn("loop", 0));
        assert!(one.before(&SnapshotName::Start).is_err());
    }

    #[test]
    fn a_turn_that_was_cut_off_and_continued_starts_where_it_first_started() {
        let resumed = |number| SnapshotName::Resumed { number };
        let names = [turn("a", 1), turn("a", 2), resumed(1), turn("a", 2), resumed(2), turn("a", 3)];
        let cut = of(&names.map(|name| (name, "/w")));
        assert_eq!(cut.before(&turn("a", 2)).unwrap().name, turn("a", 1));
        assert_eq!(cut.before(&turn("a", 3)).unwrap().name, resumed(2));
    }

    #[test]
    fn turns_of_several_nodes_and_folders_are_told_apart() {
        let many = of(&[
            (SnapshotName::Start, "/w"),
            (turn("a", 0), "/tree"),
            (turn("b", 1), "/w"),
            (turn("a", 1), "/tree"),
        ]);
        let error = many.find(&SnapshotQuery::Turn(1)).unwrap_err();
        assert!(matches!(error, NoSuchSnapshot::Ambiguous { turn: 1, .. }), "{error}");
        assert_eq!(many.before(&turn("a", 1)).unwrap().name, turn("a", 0));
        assert_eq!(many.last().unwrap().name, turn("b", 1));
        assert_eq!(many.names(), ["start", "a:0", "b:1", "a:1"]);
    }
}
