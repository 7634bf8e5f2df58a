//! `windlass gc`: shows what nobody needs any more, asks, and removes it.

use std::io::BufRead;

use serde_json::{Value, json};
use windlass_core::time::{Moment, written};
use windlass_runtime::gc::{
    GcBranch, GcEnd, GcError, GcFile, GcItem, GcKept, GcPlan, GcRequest, GcRun, GcThing,
};
use windlass_runtime::view::FolderFilter;

use super::feed::{envelope, rfc3339, words};
use super::fit;
use super::invocation::{Invocation, print};
use super::keyboard::{Echo, Keyboard};
use super::report::{Report, ask, note, warn};
use super::run_flags::milliseconds;
use super::sanitize::{plain_line, plain_short};
use super::terminal::{Terminal, TextTone};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass gc                     show what can go, then ask
  windlass gc --dry-run           only show it
  windlass gc --yes               remove it without a question, in a script
  windlass gc --older-than 7d     also runs that ended more than a week ago
  windlass gc --here              only for runs of this folder";

/// Remove old runs, and worktrees and branches that have landed
///
/// Removes only what Windlass made: the worktrees and branches of runs and tasks, if another branch has all
/// of their work; runs that are over for good and old, with their logs, transcripts and snapshots; and files
/// that killed processes left. A run that can be continued stays, and so does all work that is nowhere else.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Remove runs that ended longer ago than this
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = age)]
    older_than: u64,

    /// Clean up only after runs of this folder and the folders below it
    #[arg(long)]
    here: bool,

    /// Only show what would be removed
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,

    /// Remove it without asking
    #[arg(long)]
    yes: bool,

    /// Print JSON, one object per line; never asks
    #[arg(long)]
    json: bool,
}

/// Parses an age. A bare number could be meant as days.
fn age(text: &str) -> Result<u64, String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("write the unit: 12h, 7d or 30d".to_owned());
    }
    milliseconds(text)
}

/// Runs `windlass gc`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let handle = invocation.open_to_ask()?;
    let cwd = invocation.cwd.canonicalize().unwrap_or_else(|_| invocation.cwd.clone());
    let folder = if args.here { FolderFilter::Below(cwd) } else { FolderFilter::Anywhere };
    let request = GcRequest { older_than_ms: args.older_than, folder };
    let plan = handle.plan_gc(&request)?;
    let may_ask = !args.json && !args.dry_run && !args.yes && invocation.has_terminal();
    let mut done = Vec::new();
    if !args.json {
        print(&shown(invocation.screen, &plan, args))?;
    }
    if args.yes || (may_ask && !plan.items.is_empty() && is_confirmed()) {
        handle.perform_gc(&plan, &request, |item, end| {
            tell(item, end, args.json);
            done.push((item.clone(), end.clone()));
        })?;
        return finish(&plan, &done, args.json);
    }
    if args.json {
        return print(&objects(&plan, &[], Removing::No));
    }
    if !plan.items.is_empty() && !args.dry_run {
        note(match may_ask {
            true => "removed nothing",
            false => "removed nothing: `windlass gc --yes` removes this",
        });
    }
    Ok(Exit::Completed)
}

/// Says what stayed although the plan wanted to remove it.
fn tell(item: &GcItem, end: &GcEnd, json: bool) {
    match end {
        GcEnd::Removed => {}
        GcEnd::Kept(_) | GcEnd::Failed(_) if json => {}
        GcEnd::Kept(why) => note(&format!("kept {}: {}", plain_line(&name(item)), plain_line(why))),
        GcEnd::Failed(why) => {
            warn(&format!("cannot remove {}: {}", plain_line(&name(item)), plain_line(why)));
        }
    }
}

fn finish(plan: &GcPlan, done: &[(GcItem, GcEnd)], json: bool) -> Result<Exit, Report> {
    let has_failed = done.iter().any(|(_, end)| matches!(end, GcEnd::Failed(_)));
    if json {
        print(&objects(plan, done, Removing::Yes))?;
    } else if !plan.items.is_empty() {
        let removed = done.iter().filter(|(_, end)| *end == GcEnd::Removed).map(|(item, _)| item);
        let (count, bytes) =
            removed.fold((0, 0_u64), |(count, all), item| (count + 1, all.saturating_add(bytes_of(item))));
        note(&format!("removed {} of {}, {}", count, plan.items.len(), size(bytes)));
    }
    Ok(if has_failed { Exit::Unexpected } else { Exit::Completed })
}

/// Asks on the terminal. Only `y` and `yes` mean yes.
fn is_confirmed() -> bool {
    // Text that somebody typed or pasted before the question is no answer to it.
    Keyboard::of_stdin(Echo::Terminal).forget();
    ask("Remove this? [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The most lines of each list.
const LISTED: usize = 20;
/// The longest reason.
const WHY: usize = 200;

fn shown(screen: Terminal, plan: &GcPlan, args: &Args) -> Vec<String> {
    let now = words::now();
    let mut lines = Vec::new();
    let (mut branches, mut runs, mut files) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0_u64;
    for item in &plan.items {
        bytes = bytes.saturating_add(bytes_of(item));
        match item {
            GcItem::Branch(branch) => branches.push(branch_row(branch)),
            GcItem::Run(run) => runs.push(run_row(run, now)),
            GcItem::File(file) => {
                files.push([plain_line(&file.path.display().to_string()), size(file.bytes)]);
            }
        }
    }
    let strong = |text: &str| screen.paint(TextTone::Strong, text);
    let has_runs = !runs.is_empty();
    if plan.items.is_empty() {
        lines.push("nothing to remove".to_owned());
    } else {
        lines.push(strong(&format!("to remove, {} in all:", size(bytes))));
    }
    let age = written(args.older_than);
    lines.extend(list(screen, "branches of runs and tasks, with their worktrees", &branches, 3));
    lines.extend(list(screen, &format!("runs that ended more than {age} ago"), &runs, 4));
    lines.extend(list(screen, "files that killed processes left", &files, 0));
    if has_runs {
        lines.push("  after that you cannot show, diff, undo, replay or fork these runs".to_owned());
    }
    let kept = kept_lines(plan, &age);
    if !kept.is_empty() {
        lines.push(strong("kept:"));
        lines.extend(kept);
    }
    fit::wrap_all(&lines, 2, screen.limit())
}

fn list<const N: usize>(screen: Terminal, title: &str, rows: &[[String; N]], flexible: usize) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let width = screen.limit().map(|limit| limit.saturating_sub(4));
    let shown = rows.get(..LISTED.min(rows.len())).unwrap_or_default();
    let mut lines = vec![format!("  {title}")];
    lines.extend(fit::table(shown, flexible, width).into_iter().map(|line| format!("    {line}")));
    let hidden = rows.len().saturating_sub(LISTED);
    lines.extend((hidden > 0).then(|| format!("    ... ({hidden} more: --json lists all)")));
    lines
}

fn branch_row(branch: &GcBranch) -> [String; 4] {
    let at = if branch.worktree.is_some() { size(branch.bytes) } else { "no worktree".to_owned() };
    let repository = plain_line(&branch.repo.display().to_string());
    let target = format!("{} has its work", plain_line(&branch.target));
    [plain_line(&branch.branch), at, target, format!("in {repository}")]
}

fn run_row(run: &GcRun, now: Moment) -> [String; 5] {
    let ended = format!("{} ago", words::ago(now.since(run.ended)));
    let status = run.status.word().to_owned();
    [run.run.to_string(), status, ended, size(run.bytes), plain_line(&run.input)]
}

fn kept_lines(plan: &GcPlan, age: &str) -> Vec<String> {
    let line = |kept: &GcKept| {
        let what = match kept.thing {
            GcThing::Branch | GcThing::Folder => "",
            GcThing::Run => "run ",
        };
        format!("  {what}{}: {}", plain_line(&kept.name), plain_short(&kept.why, WHY))
    };
    let mut lines: Vec<String> = plan.kept.iter().take(LISTED).map(line).collect();
    let hidden = plan.kept.len().saturating_sub(LISTED);
    lines.extend((hidden > 0).then(|| format!("  ... ({hidden} more: --json lists all)")));
    let counted = |runs: usize| words::count(runs as u64, "run");
    if !plan.open.is_empty() {
        let runs = counted(plan.open.len());
        lines.push(format!("  {runs} that can be continued: `windlass cancel RUN` ends one for good"));
    }
    if !plan.young.is_empty() {
        lines.push(format!("  {} that ended less than {age} ago", counted(plan.young.len())));
    }
    lines
}

fn bytes_of(item: &GcItem) -> u64 {
    match item {
        GcItem::Branch(GcBranch { bytes, .. })
        | GcItem::Run(GcRun { bytes, .. })
        | GcItem::File(GcFile { bytes, .. }) => *bytes,
    }
}

fn name(item: &GcItem) -> String {
    match item {
        GcItem::Branch(branch) => branch.branch.clone(),
        GcItem::Run(run) => format!("run {}", run.run),
        GcItem::File(file) => file.path.display().to_string(),
    }
}

/// Formats a size: `999 B`, `1.2 MB`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    // Precise enough for people.
    let mut value = bytes as f64 / 1000.0;
    let mut units = UNITS.into_iter().peekable();
    let mut unit = units.next().unwrap_or_default();
    while value >= 999.5
        && let Some(next) = units.next()
    {
        value /= 1000.0;
        unit = next;
    }
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// Says whether things were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Removing {
    Yes,
    No,
}

/// Returns a line for each thing, and a last one with the sums.
fn objects(plan: &GcPlan, done: &[(GcItem, GcEnd)], removing: Removing) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut count, mut bytes, mut kept) = (0, 0_u64, plan.kept.len());
    for (place, item) in plan.items.iter().enumerate() {
        let end = done.get(place).map(|(_, end)| end);
        let mut data = facts(item);
        let (removed, why) = match end {
            Some(GcEnd::Kept(why) | GcEnd::Failed(why)) => (false, Some(why)),
            Some(GcEnd::Removed) => (true, None),
            None => (false, None),
        };
        if removed || end.is_none() {
            count += 1;
            bytes = bytes.saturating_add(bytes_of(item));
        } else {
            kept += 1;
        }
        if let Value::Object(map) = &mut data {
            map.insert("removed".to_owned(), removed.into());
            map.extend(why.map(|why| ("why".to_owned(), why.as_str().into())));
        }
        lines.push(envelope("gc.item", words::now(), run_of(item), data));
    }
    for kept in &plan.kept {
        let what = match kept.thing {
            GcThing::Branch => "branch",
            GcThing::Run => "run",
            GcThing::Folder => "folder",
        };
        let data = json!({"what": what, "name": kept.name, "why": kept.why});
        lines.push(envelope("gc.kept", words::now(), Some(&kept.run), data));
    }
    let data = json!({
        "dry_run": removing == Removing::No,
        "items": count,
        "bytes": bytes,
        "kept": kept,
        "open": plan.open,
        "young": plan.young,
    });
    lines.push(envelope("gc", words::now(), None, data));
    lines
}

fn run_of(item: &GcItem) -> Option<&windlass_core::id::RunId> {
    match item {
        GcItem::Branch(branch) => Some(&branch.run),
        GcItem::Run(run) => Some(&run.run),
        GcItem::File(_) => None,
    }
}

fn facts(item: &GcItem) -> Value {
    match item {
        GcItem::Branch(branch) => json!({
            "what": "branch",
            "branch": branch.branch,
            "worktree": branch.worktree,
            "contained_in": branch.target,
            "bytes": branch.bytes,
        }),
        GcItem::Run(run) => json!({
            "what": "run",
            "status": run.status.word(),
            "ended": rfc3339(run.ended),
            "input": run.input,
            "workspace": run.workspace,
            "snapshots": run.snapshots,
            "trackers": run.trackers,
            "bytes": run.bytes,
        }),
        GcItem::File(file) => json!({"what": "file", "path": file.path, "bytes": file.bytes}),
    }
}

impl From<GcError> for Report {
    fn from(error: GcError) -> Report {
        match error {
            GcError::Run(error) => error.into(),
            GcError::Busy => Report::new(Exit::Unexpected, error.to_string()).hint("wait until it has ended"),
            GcError::Io { ref source, .. } => {
                Report::new(Exit::Configuration, error.to_string()).caused_by(source)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_digits() {
        let said = [0, 999, 1_000, 1_234, 12_345, 999_400, 999_600, 88_000_000, 2_500_000_000].map(size);
        let expected = ["0 B", "999 B", "1.0 KB", "1.2 KB", "12 KB", "999 KB", "1.0 MB", "88 MB", "2.5 GB"];
        assert_eq!(said, expected);
    }

    #[test]
    fn an_age_has_a_unit() {
        assert_eq!(age("30d"), Ok(30 * 86_400_000));
        assert!(age("30").is_err() && age("").is_err() && age("x").is_err());
    }
}
