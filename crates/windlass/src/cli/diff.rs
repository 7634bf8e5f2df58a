//! `windlass diff`: shows what a turn or a whole run changed, from the snapshots of the run.

use std::io::{IsTerminal, Write};

use serde_json::{Value, json};
use windlass_core::snapshot::{FolderSnapshot, SnapshotQuery};
use windlass_runtime::handle::{ChangedFile, DiffForm, Handle, SnapshotRange, SnapshotUseError};
use windlass_runtime::view::{KeptSnapshot, NoSuchSnapshot, RunSnapshots};

use super::complete::{self, OfferedRuns};
use super::default_run::{self, DefaultRun};
use super::feed::{envelope, words};
use super::invocation::{Invocation, print};
use super::report::{Report, note};
use super::sanitize::plain;
use super::terminal::{Terminal, TextTone};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass diff                         everything that the newest run changed
  windlass diff 2                       what its second turn changed
  windlass diff k3f9                    everything that the run k3f9 changed
  windlass diff k3f9 2                  what its second turn changed
  windlass diff k3f9 fix:2              the same, of the node `fix`
  windlass diff k3f9 1..3 --stat        from turn 1 to turn 3
  windlass diff k3f9 --patch | git apply -R";

/// The shortest number that may be taken for the id of a run.
const RUN_LIKE: usize = 4;

/// Show what a turn or a run changed
///
/// Compares the snapshots that Windlass keeps of the folder: before the run (`start`), after every turn, and
/// when the run ended (`end`). Later changes in the folder do not matter.
///
/// A single argument that reads as a turn is a turn of the newest run of this folder.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Holds the turn if it is the only argument and reads as one.
    #[arg(value_name = "RUN", help = default_run::NEWEST, add = complete::runs(OfferedRuns::All))]
    run: Option<String>,

    /// A turn (`2`, `fix:2`), or two states to compare (`1..3`, `start..2`) [default: the whole run]
    #[arg(value_name = "TURN[..TURN]", value_parser = wanted)]
    turn: Option<WantedDiff>,

    /// List the changed files instead of their content
    #[arg(long)]
    stat: bool,

    /// Print the exact patch, also of binary files, for `git apply`
    #[arg(long, conflicts_with_all = ["stat", "json"])]
    patch: bool,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// The comparison that a person asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum WantedDiff {
    /// A turn, compared with the state before it.
    Turn(SnapshotQuery),
    Between(Option<SnapshotQuery>, Option<SnapshotQuery>),
}

fn wanted(text: &str) -> Result<WantedDiff, String> {
    let read = |text: &str| text.parse::<SnapshotQuery>().map_err(|error| error.to_string());
    let side = |text: &str| if text.is_empty() { Ok(None) } else { read(text).map(Some) };
    match text.split_once("..") {
        Some((from, to)) => Ok(WantedDiff::Between(side(from)?, side(to)?)),
        None => Ok(WantedDiff::Turn(read(text)?)),
    }
}

impl Args {
    /// Returns the run and the turn. A single argument is a turn if it reads as one, unless it is long enough
    /// for the id of a run and names one.
    fn words(&self, handle: &Handle) -> (Option<&str>, Option<WantedDiff>) {
        let is_run = |word: &str| word.len() >= RUN_LIKE && handle.find(word).is_ok();
        match (self.run.as_deref(), &self.turn) {
            (Some(word), None) if !is_run(word) => match wanted(word) {
                Ok(turn) => (None, Some(turn)),
                Err(_) => (Some(word), None),
            },
            (run, turn) => (run, turn.clone()),
        }
    }
}

/// Runs `windlass diff`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let handle = invocation.open_to_ask()?;
    let (named, turn) = args.words(&handle);
    let run = default_run::choose(&invocation, &handle, named, DefaultRun::Newest)?;
    let snapshots = handle.snapshots(&run)?;
    let told = |error| explain(error, &snapshots);
    let range = range(&handle, &snapshots, turn.as_ref()).map_err(told)?;
    if args.json {
        return print(&[object(&handle, &snapshots, &range, args.stat).map_err(told)?]);
    }
    let screen = invocation.screen;
    let form = match (args.stat, args.patch) {
        (true, _) => DiffForm::Stat { columns: screen.width },
        (false, true) => DiffForm::Exact,
        (false, false) => DiffForm::Patch,
    };
    let text = handle.diff(&snapshots, &range, form).map_err(told)?;
    if args.patch && !std::io::stdout().is_terminal() {
        return write_exactly(&text);
    }
    if text.is_empty() {
        note(&format!("nothing changed between {} and {}", range.from.name, range.to.name));
    }
    for file in &range.to.snapshot.left_out {
        note(&format!("not in the snapshot: {} ({})", file.path, file.why.describe()));
    }
    print(&painted(screen, &String::from_utf8_lossy(&text), args.stat))
}

/// Chooses the snapshots to compare.
fn range(
    handle: &Handle,
    snapshots: &RunSnapshots,
    wanted: Option<&WantedDiff>,
) -> Result<SnapshotRange, SnapshotUseError> {
    let Some(wanted) = wanted else { return handle.whole_range(snapshots) };
    let find = |query: &SnapshotQuery| handle.snapshot(snapshots, query).cloned();
    match wanted {
        WantedDiff::Turn(query) => {
            let to = find(query)?;
            let from = snapshots.before(&to.name).map_err(SnapshotUseError::NotFound)?.clone();
            Ok(SnapshotRange { from, to })
        }
        WantedDiff::Between(from, to) => {
            let whole = handle.whole_range(snapshots)?;
            let from = from.as_ref().map(find).transpose()?.unwrap_or(whole.from);
            let to = to.as_ref().map(find).transpose()?.unwrap_or(whole.to);
            Ok(SnapshotRange { from, to })
        }
    }
}

/// Makes a patch harmless and paints its lines.
fn painted(screen: Terminal, text: &str, is_stat: bool) -> Vec<String> {
    let paint = |line: &str| {
        let tone = match line.as_bytes() {
            _ if is_stat => None,
            [b'd', b'i', b'f', b'f', b' ', ..] => Some(TextTone::Strong),
            [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => Some(TextTone::Strong),
            [b'@', b'@', ..] => Some(TextTone::Faint),
            [b'+', ..] => Some(TextTone::Good),
            [b'-', ..] => Some(TextTone::Bad),
            _ => None,
        };
        let line = plain(line);
        tone.map_or_else(|| line.clone(), |tone| screen.paint(tone, &line))
    };
    text.lines().map(paint).collect()
}

/// Writes the bytes of a patch, which need not be text.
fn write_exactly(bytes: &[u8]) -> Result<Exit, Report> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        // A reader that went away is no error.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Report::new(Exit::Output, "cannot write the output").caused_by(&error))
        }
        _ => Ok(Exit::Completed),
    }
}

fn object(
    handle: &Handle,
    snapshots: &RunSnapshots,
    range: &SnapshotRange,
    is_stat: bool,
) -> Result<String, SnapshotUseError> {
    let files = handle.changed_files(snapshots, range)?;
    let file = |ChangedFile { path, lines }: &ChangedFile| {
        let (added, removed) = lines.unzip();
        json!({"path": path, "added": added, "removed": removed, "binary": lines.is_none()})
    };
    let mut data = json!({
        "from": state(snapshots, &range.from),
        "to": state(snapshots, &range.to),
        "files": files.iter().map(file).collect::<Vec<_>>(),
        "left_out": range.to.snapshot.left_out,
    });
    if let (Value::Object(map), false) = (&mut data, is_stat) {
        let patch = handle.diff(snapshots, range, DiffForm::Patch)?;
        map.insert("patch".to_owned(), String::from_utf8_lossy(&patch).into());
    }
    Ok(envelope("diff", words::now(), Some(&snapshots.run), data))
}

/// Returns a snapshot as JSON.
pub(super) fn state(snapshots: &RunSnapshots, kept: &KeptSnapshot) -> Value {
    let FolderSnapshot { commit, .. } = &kept.snapshot;
    json!({"name": kept.name.to_string(), "commit": commit, "ref": kept.name.reference(&snapshots.run),
        "folder": kept.folder})
}

/// The most snapshots that an error lists.
const LISTED: usize = 30;

/// Converts an error and lists the snapshots that there are.
pub(super) fn explain(error: SnapshotUseError, snapshots: &RunSnapshots) -> Report {
    let text = error.to_string();
    match error {
        SnapshotUseError::Run(error) => error.into(),
        SnapshotUseError::NotFound(NoSuchSnapshot::NothingBefore { .. }) => Report::usage(text)
            .hint(format!("`windlass diff {}` shows everything that the run changed", snapshots.run)),
        SnapshotUseError::NotFound(_) => Report::usage(text).hint(format!("it has {}", listed(snapshots))),
        SnapshotUseError::None { hint, .. } => Report::usage(text).hint(hint),
        SnapshotUseError::Working { run, .. } => Report::usage(text).hint(format!(
            "first let it end, or stop it: `windlass pause {run}` waits for its turn, `windlass cancel {run}` does not"
        )),
        SnapshotUseError::Deleted { .. } => {
            Report::new(Exit::Configuration, text).hint(format!("it has {}", listed(snapshots)))
        }
        SnapshotUseError::NoFolder { .. } => Report::new(Exit::Configuration, text).hint(format!(
            "put it back; `git show REF:PATH` in the repository shows a file of a snapshot: {}",
            snapshots.last().map(|kept| kept.name.reference(&snapshots.run)).unwrap_or_default()
        )),
        SnapshotUseError::Git { source, .. } => Report::new(Exit::Configuration, text).caused_by(&source),
        SnapshotUseError::Record(source) => Report::new(Exit::Configuration, text).caused_by(&source),
    }
}

fn listed(snapshots: &RunSnapshots) -> String {
    let names = snapshots.names();
    let mut text = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let hidden = names.len().saturating_sub(LISTED);
    if hidden > 0 {
        text.push_str(&format!(" and {hidden} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_two_sides_and_each_may_be_open() {
        let query = |text: &str| text.parse::<SnapshotQuery>().unwrap();
        assert_eq!(wanted("2"), Ok(WantedDiff::Turn(query("2"))));
        assert_eq!(wanted("fix:2"), Ok(WantedDiff::Turn(query("fix:2"))));
        let between =
            |from: Option<&str>, to: Option<&str>| Ok(WantedDiff::Between(from.map(query), to.map(query)));
        assert_eq!(wanted("1..a:3"), between(Some("1"), Some("a:3")));
        assert_eq!(wanted("..3"), between(None, Some("3")));
        assert_eq!(wanted("start.."), between(Some("start"), None));
        for wrong in ["x", "1...2", "1..2..3", "-1"] {
            assert!(wanted(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_patch_cannot_move_the_cursor_and_is_painted_only_on_a_terminal() {
        let patch = "diff --git a/a b/a\n@@ -1 +1 @@\n-old\n+new\u{1b}[2J\n";
        let plain = painted(Terminal::plain(), patch, false);
        assert!(plain.iter().all(|line| !line.contains('\u{1b}')), "{plain:?}");
        let coloured = Terminal { colours: true, ..Terminal::plain() };
        let lines = painted(coloured, patch, false);
        assert!(lines[3].starts_with("\u{1b}[32m+new") && !lines[3].contains("\u{1b}[2J"), "{lines:?}");
    }
}
