//! `windlass undo`: brings the files of a folder back to an earlier snapshot of a run.

use serde_json::json;
use windlass_core::snapshot::{SnapshotName, SnapshotQuery};
use windlass_runtime::handle::{LeftAlone, UndoMode, UndoResult};

use super::complete::{self, OfferedRuns};
use super::default_run::{self, DefaultRun};
use super::diff::explain;
use super::feed::{envelope, words};
use super::invocation::{Invocation, print};
use super::report::Report;
use super::sanitize::{plain_line, plain_short};
use super::terminal::Terminal;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass undo                         as before the newest run of this folder
  windlass undo k3f9                    the files as they were before the run
  windlass undo k3f9 --to 2             the files as they were after turn 2
  windlass undo k3f9 --dry-run          list what would change
  windlass undo k3f9 --to undo-1        take the first undo back";

/// Bring the files back to how they were before a run
///
/// With `--to`, after one of its turns. Saves the folder as it is first, so that an undo can be undone.
/// Restores files, and leaves commits, the index and ignored files alone.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[arg(value_name = "RUN", help = default_run::NEWEST, add = complete::runs(OfferedRuns::All))]
    run: Option<String>,

    /// The state to restore: after a turn (`2`, `fix:2`), or before an undo (`undo-1`) [default: start]
    #[arg(long, value_name = "TURN", value_parser = query)]
    to: Option<SnapshotQuery>,

    /// Only list what would change
    #[arg(long)]
    dry_run: bool,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

fn query(text: &str) -> Result<SnapshotQuery, String> {
    text.parse::<SnapshotQuery>().map_err(|error| error.to_string())
}

/// Runs `windlass undo`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let handle = invocation.open_to_ask()?;
    let run = default_run::choose(&invocation, &handle, args.run.as_deref(), DefaultRun::NewestWithFolder)?;
    let mode = if args.dry_run { UndoMode::Plan } else { UndoMode::Perform };
    let result = match handle.undo(&run, args.to.as_ref(), mode) {
        Ok(result) => result,
        Err(error) => return Err(explain(error, &handle.snapshots(&run)?)),
    };
    print(&match args.json {
        true => vec![object(&result, mode)],
        false => lines(invocation.screen, &result, mode),
    })
}

fn object(result: &UndoResult, mode: UndoMode) -> String {
    let saved = result.saved.as_ref();
    let saved = saved
        .map(|saved| json!({"name": saved.name.to_string(), "ref": saved.reference, "commit": saved.commit}));
    let left = |file: &LeftAlone| json!({"path": file.path, "why": file.why});
    let data = json!({
        "folder": result.folder,
        "to": result.to.to_string(),
        "dry_run": mode == UndoMode::Plan,
        "saved": saved,
        "restored": result.written,
        "removed": result.removed,
        "left_alone": result.left.iter().map(left).collect::<Vec<_>>(),
        "changed_since": result.since,
        "commits": result.commits,
        "branch": result.branch,
        "unfinished": result.unfinished.as_ref().map(SnapshotName::to_string),
    });
    envelope("undo", words::now(), Some(&result.run), data)
}

/// The most files that each list names.
const FILES: usize = 20;

fn lines(screen: Terminal, result: &UndoResult, mode: UndoMode) -> Vec<String> {
    let run = &result.run;
    let state = described(&result.to);
    let folder = plain_line(&result.folder);
    let mut lines = Vec::new();
    let is_same = result.written.is_empty() && result.removed.is_empty();
    match (is_same, mode) {
        (true, _) => lines.push(format!("nothing to undo: the files are {state}")),
        (false, UndoMode::Plan) => lines.push(format!("this would bring the files back {state}:")),
        (false, UndoMode::Perform) => lines.push(format!("brought the files back {state}:")),
    }
    if !is_same {
        lines.push(format!("  {folder}"));
    }
    let width = screen.width;
    lines.extend(list(width, "restored", &result.written));
    lines.extend(list(width, "removed", &result.removed));
    let left: Vec<String> = result.left.iter().map(|file| format!("{} ({})", file.path, file.why)).collect();
    lines.extend(list(width, "left alone", &left));
    if let Some(saved) = &result.saved {
        lines.extend(list(
            width,
            &format!("changed since the run, and saved in {}", saved.name),
            &result.since,
        ));
        let hint = format!("windlass undo {run} --to {}", saved.name);
        lines.push(format!("the files before this undo: {} ({})", saved.name, saved.reference));
        lines.push(format!("take this back: {hint}"));
    }
    if mode == UndoMode::Plan && !is_same {
        lines.extend(list(width, "changed since the run; the undo saves these first", &result.since));
    }
    if result.commits > 0 && !is_same {
        let branch = result.branch.as_deref().map_or("HEAD".to_owned(), plain_line);
        let commits = words::count(result.commits, "commit");
        let verb = if result.commits == 1 { "stays" } else { "stay" };
        lines.push(format!("{commits} since then {verb} on {branch}"));
        lines.push("to take that back too, commit the files as they are now: git commit -a".to_owned());
    }
    if let Some(earlier) = &result.unfinished {
        lines.push(format!("an earlier undo was cut off; the files before it are in {earlier}"));
    }
    lines
}

/// Describes a snapshot as a state of the files.
fn described(name: &SnapshotName) -> String {
    match name {
        SnapshotName::Start => "as they were before the run".to_owned(),
        SnapshotName::End => "as they were when the run ended".to_owned(),
        SnapshotName::Resumed { number: 1 } => "as they were before the run continued".to_owned(),
        SnapshotName::Resumed { number } => format!("as they were before the run continued, time {number}"),
        SnapshotName::Turn { node, turn: 0 } => {
            format!("as they were before the first turn of {}", plain_line(node.as_str()))
        }
        SnapshotName::Turn { node, turn } => {
            format!("as they were after turn {turn} of {}", plain_line(node.as_str()))
        }
        SnapshotName::Undo { number } => format!("as they were before undo {number}"),
    }
}

fn list(width: usize, title: &str, files: &[String]) -> Vec<String> {
    if files.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("  {title}")];
    lines.extend(
        files.iter().take(FILES).map(|file| format!("    {}", plain_short(file, width.saturating_sub(4)))),
    );
    let hidden = files.len().saturating_sub(FILES);
    if hidden > 0 {
        lines.push(format!("    ... ({hidden} more)"));
    }
    lines
}
