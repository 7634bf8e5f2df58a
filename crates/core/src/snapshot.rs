//! Snapshots: the states of a folder that Windlass keeps, as commits in the folder's repository.
//!
//! Pure: names and facts. `peers::git` takes and restores snapshots, and the log lists them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{NodeId, RunId};
use crate::words;

/// The state of a folder at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderSnapshot {
    /// The commit that keeps the state.
    pub commit: String,
    /// The tree of that commit: the files of the folder that git does not ignore.
    pub tree: String,
    /// The commit that was checked out. `None` in a repository without commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Files that the snapshot does not contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutFile>,
}

/// A file that a snapshot does not contain, although git does not ignore it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutFile {
    /// The path below the folder.
    pub path: String,
    pub why: LeftOutReason,
}

words! {
    /// The reason why a snapshot does not contain a file.
    pub enum LeftOutReason {
        /// The file is larger than the limit.
        TooLarge = "too_large",
        /// The path is a repository of its own.
        Repository = "repository",
        /// Windlass may not read the file.
        Unreadable = "unreadable",
        /// A pipe, a socket or a device.
        Special = "special",
    }
}

impl LeftOutReason {
    /// Returns a description for people.
    pub fn describe(self) -> &'static str {
        match self {
            LeftOutReason::TooLarge => "larger than 50 MB",
            LeftOutReason::Repository => "a repository of its own",
            LeftOutReason::Unreadable => "not readable",
            LeftOutReason::Special => "not a plain file",
        }
    }
}

/// The name of a snapshot within its run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotName {
    /// Before the first action of the run.
    Start,
    /// After a turn of a node. Turn 0 is the state before its first turn.
    Turn { node: NodeId, turn: u32 },
    /// At the end of the run.
    End,
    /// Before the run continued after an end, for the n-th time.
    Resumed { number: u32 },
    /// Before the files went back to an earlier state.
    Undo { number: u32 },
}

impl SnapshotName {
    /// Returns the ref that keeps the snapshot.
    pub fn reference(&self, run: &RunId) -> String {
        let run = component(run.as_str());
        match self {
            SnapshotName::Start => format!("refs/windlass/{run}/run/start"),
            SnapshotName::End => format!("refs/windlass/{run}/run/end"),
            SnapshotName::Resumed { number } => format!("refs/windlass/{run}/run/resumed-{number}"),
            SnapshotName::Undo { number } => format!("refs/windlass/{run}/undo/{number}"),
            SnapshotName::Turn { node, turn } => {
                let mut node = component(node.as_str());
                if ["run", "undo"].contains(&node.as_str()) {
                    node.push('+');
                }
                format!("refs/windlass/{run}/{node}/{turn}")
            }
        }
    }
}

/// Writes a text as one part of a ref name. git forbids `~` and others there, and no id contains `+`.
fn component(text: &str) -> String {
    let mut name = String::new();
    for byte in text.bytes() {
        match byte {
            b'~' => name.push('+'),
            b'-' | b'_' | b'@' => name.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => name.push(char::from(byte)),
            byte => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

/// Writes the name as people type it: `start`, `fix:2`, `end`, `resumed-1`, `undo-1`.
impl fmt::Display for SnapshotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotName::Start => f.write_str("start"),
            SnapshotName::Turn { node, turn } => write!(f, "{node}:{turn}"),
            SnapshotName::End => f.write_str("end"),
            SnapshotName::Resumed { number } => write!(f, "resumed-{number}"),
            SnapshotName::Undo { number } => write!(f, "undo-{number}"),
        }
    }
}

/// A snapshot as a person names it. A number alone leaves open which node it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotQuery {
    Name(SnapshotName),
    Turn(u32),
}

/// An error: the text names no snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a turn (`2`), the turn of a node (`fix:2`), `start`, `end`, `resumed-1` or `undo-1`")]
pub struct NotASnapshot;

impl FromStr for SnapshotQuery {
    type Err = NotASnapshot;

    fn from_str(text: &str) -> Result<SnapshotQuery, NotASnapshot> {
        let name = match text {
            "start" => SnapshotName::Start,
            "end" => SnapshotName::End,
            text => match text.rsplit_once(':').or(text.split_once('-').filter(|(word, _)| !word.is_empty()))
            {
                Some(("", _)) => return Err(NotASnapshot),
                Some((node, turn)) if text.contains(':') => {
                    SnapshotName::Turn { node: NodeId::new(node), turn: number(turn)? }
                }
                Some(("undo", text)) => SnapshotName::Undo { number: number(text)? },
                Some(("resumed", text)) => SnapshotName::Resumed { number: number(text)? },
                Some(_) => return Err(NotASnapshot),
                None => return Ok(SnapshotQuery::Turn(number(text)?)),
            },
        };
        Ok(SnapshotQuery::Name(name))
    }
}

fn number(text: &str) -> Result<u32, NotASnapshot> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain).ok_or(NotASnapshot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(node: &str, turn: u32) -> SnapshotName {
        SnapshotName::Turn { node: NodeId::new(node), turn }
    }

    #[test]
    fn every_snapshot_has_a_ref_of_its_own_that_git_accepts() {
        let run = RunId::new("k3f9");
        let names = [
            (SnapshotName::Start, "refs/windlass/k3f9/run/start"),
            (SnapshotName::End, "refs/windlass/k3f9/run/end"),
            (SnapshotName::Undo { number: 1 }, "refs/windlass/k3f9/undo/1"),
            (SnapshotName::Resumed { number: 2 }, "refs/windlass/k3f9/run/resumed-2"),
            (turn("loop", 2), "refs/windlass/k3f9/loop/2"),
            (turn("fix@2~3", 1), "refs/windlass/k3f9/fix@2+3/1"),
            (turn("undo", 1), "refs/windlass/k3f9/undo+/1"),
            (turn("run", 0), "refs/windlass/k3f9/run+/0"),
            (turn("ä.lock", 1), "refs/windlass/k3f9/%C3%A4%2Elock/1"),
        ];
        for (name, expected) in names {
            assert_eq!(name.reference(&run), expected);
        }
    }

    #[test]
    fn a_name_is_read_as_it_is_written() {
        let numbered = [SnapshotName::Undo { number: 7 }, SnapshotName::Resumed { number: 2 }];
        let names = [SnapshotName::Start, SnapshotName::End, turn("a@2", 0), turn("undo-1", 2)];
        for name in names.into_iter().chain(numbered) {
            assert_eq!(name.to_string().parse(), Ok(SnapshotQuery::Name(name)));
        }
        assert_eq!("3".parse(), Ok(SnapshotQuery::Turn(3)));
        for wrong in ["", "x", "-1", "+1", ":1", "a:", "a:x", "undo-", "undo-x", "redo-1", "1.5", "start "] {
            assert_eq!(wrong.parse::<SnapshotQuery>(), Err(NotASnapshot), "{wrong}");
        }
    }
}
