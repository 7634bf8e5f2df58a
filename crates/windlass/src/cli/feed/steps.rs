//! Lines about the nodes of a workflow.

use serde::de::IgnoredAny;
use windlass_core::event::{Event, ShellEnd};
use windlass_core::run::{ConflictStep, EndReason, FinalStatus, ListItem, Outcome, Spent};
use windlass_core::tasks::TaskStatus;

use super::tasks::task_name;
use super::words::{self, span};
use super::wrap::{fold, wrap};
use crate::cli::sanitize::{columns, plain, plain_line, plain_short};
use crate::cli::terminal::{Terminal, TextTone};

/// The longest reason that is shown.
const WHY: usize = 300;
/// The maximum number of files that a line lists.
const FILES: usize = 3;

/// Returns the line for a node that starts.
pub(super) fn started(screen: Terminal, name: &str, kind: &str, about: Option<&str>) -> String {
    let about = plain_short(about.unwrap_or(kind), 60);
    screen.paint(TextTone::Strong, &format!("{} {name} ({about})", screen.arrow()))
}

/// Returns the lines for a node that has ended, with the reason to show.
pub(super) fn finished(
    screen: Terminal,
    name: &str,
    (outcome, why): (&Outcome, Option<&str>),
    spent: &Spent,
    took_ms: u64,
) -> Vec<String> {
    let is_well = outcome.status == FinalStatus::Completed;
    let mut facts = vec![format!("{name} {}", outcome.status.word()), span(took_ms)];
    facts.extend(words::known_cost(spent.usage.cost()));
    let mut line = facts.join(screen.dot());
    let (first, below) = words::paragraph(why.unwrap_or_default(), WHY);
    if why.is_some() {
        line.push_str(&format!(": {first}"));
    }
    let sign = Terminal { colours: false, ..screen }.check(is_well);
    let mut lines = fitted(screen, &line, columns(&sign) + 1);
    lines.iter_mut().take(1).for_each(|line| line.insert_str(0, &format!("{} ", screen.check(is_well))));
    lines.extend(below.into_iter().map(|line| format!("  {line}")));
    lines
}

/// Returns the reason of an outcome. A node that completed has one only if it is not obvious.
pub(super) fn why(outcome: &Outcome) -> Option<&str> {
    let is_well = outcome.status == FinalStatus::Completed;
    let unsaid = (!is_well).then(|| words::reason(outcome.reason));
    outcome.detail.as_deref().filter(|_| !is_well || says_more(outcome.reason)).or(unsaid)
}

/// Breaks a line that is too wide for the terminal when something of `before` columns is put before it.
fn fitted(screen: Terminal, line: &str, before: usize) -> Vec<String> {
    let width = screen.limit().map_or(usize::MAX, |width| width.saturating_sub(before));
    fold(line, width)
}

/// Decides whether the detail of a completed node tells more than that it completed.
fn says_more(reason: EndReason) -> bool {
    matches!(reason, EndReason::AllDone | EndReason::NoneSelected | EndReason::Until)
}

/// Returns the line for the branch that an `if` took: `if: x == 1 → then`.
pub(super) fn branch(screen: Terminal, condition: &str, held: bool, is_empty: bool) -> String {
    let to = if screen.unicode { "→" } else { "->" };
    let way = match (held, is_empty) {
        (true, _) => "then",
        (false, false) => "else",
        (false, true) => "else, which is empty",
    };
    let room = screen.width.saturating_sub(40).max(20);
    screen.paint(TextTone::Faint, &format!("  if: {} {to} {way}", plain_short(condition, room)))
}

/// Returns the lines for a skipped node.
pub(super) fn skipped(screen: Terminal, name: &str, why: &str) -> Vec<String> {
    let lines = fitted(screen, &format!("- {name} skipped: {}", plain_short(why, WHY)), 0);
    lines.iter().map(|line| screen.paint(TextTone::Faint, line)).collect()
}

/// Returns the line for a round that starts, with the name of its task.
pub(super) fn round(screen: Terminal, round: u32, task: Option<&str>, event: &Event) -> String {
    let text = match (task, task_name(event)) {
        (None, _) => format!("iteration {round}"),
        (Some(task), None) => format!("task {}", plain_line(task)),
        (Some(task), Some(name)) => format!("task {}: {}", plain_line(task), plain_short(name, 80)),
    };
    screen.paint(TextTone::Strong, &text)
}

/// Returns the line for an item that starts: `item 2 of 7: parser`. Without a name it shows the beginning of
/// the item, and the label of its lines.
pub(super) fn item(screen: Terminal, item: &ListItem, content: &str) -> String {
    let ListItem { place, of, label, is_named } = item;
    let label = plain_line(label);
    let about = if *is_named { format!(": {label}") } else { format!(" ({label}): {}", plain_line(content)) };
    screen.paint(TextTone::Strong, &format!("item {place} of {of}{about}"))
}

/// Returns the line for the new status of a task.
pub(super) fn task(screen: Terminal, task: &str, status: TaskStatus, why: Option<&str>) -> String {
    let why = why.map(|why| format!(": {}", words::sentences(why, WHY))).unwrap_or_default();
    let text = format!("task {} is {}{why}", plain_line(task), status.word());
    let tone = match status {
        TaskStatus::Passing => TextTone::Good,
        TaskStatus::Failing => TextTone::Bad,
        TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Skipped => TextTone::Careful,
    };
    screen.paint(tone, &text)
}

/// Returns the line for a task whose work conflicts with its target branch.
pub(super) fn conflict(
    screen: Terminal,
    task: &str,
    target: Option<&str>,
    files: &[String],
    next: ConflictStep,
) -> String {
    let target = target.map_or_else(|| "its branch".to_owned(), |target| plain_short(target, 80));
    let more = files.len().saturating_sub(FILES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names: Vec<String> = files.iter().take(FILES).map(|name| plain_short(name, 80)).collect();
    let next = match next {
        ConflictStep::Agent { time, of } => format!("its agent resolves it ({time} of {of})"),
        ConflictStep::Alone => "it is done again while no other task lands".to_owned(),
    };
    let text =
        format!("task {} conflicts with {target} in {}{more}: {next}", plain_line(task), names.join(", "));
    screen.paint(TextTone::Careful, &text)
}

/// Returns the JSON that a command printed, on one line.
pub(super) fn printed_value(screen: Terminal, end: &ShellEnd) -> Option<String> {
    let ShellEnd::Exited { passed: true, output, stdout, .. } = end else { return None };
    let text = stdout.as_ref().unwrap_or(output);
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    Some(format!("  {}", plain_short(text, screen.width.saturating_sub(2))))
}

/// Returns the end of a command's output.
pub(super) fn shell(screen: Terminal, end: &ShellEnd, most: usize) -> Vec<String> {
    let ShellEnd::Exited { output, .. } = end else { return Vec::new() };
    let mut lines = wrap(&plain(output), "  ", screen.width);
    lines.retain(|line| !line.trim().is_empty());
    lines.drain(..lines.len().saturating_sub(most));
    lines.extend(is_cut(end).then(|| "  (a long output: Windlass keeps only its last 64 KB)".to_owned()));
    lines
}

/// The most bytes of a command's output that a run keeps.
const KEPT: usize = 64 << 10;
/// The most bytes by which a cut output may be shorter: a newline at its end, or a part of a character at its
/// start.
const SHORTER: usize = 4;

/// Returns whether a run keeps only the end of the output of a command that passed.
fn is_cut(end: &ShellEnd) -> bool {
    match end {
        ShellEnd::Exited { passed: true, output, stdout: None, .. } => output.len() >= KEPT - SHORTER,
        ShellEnd::Exited { .. } | ShellEnd::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::run::EndReason;
    use windlass_core::usage::Usage;

    use super::*;

    #[test]
    fn an_output_that_is_not_kept_as_a_whole_says_so() {
        let lines = |bytes: usize, passed| {
            let output = format!("{}end", "line\n".repeat(bytes / 5 + 1));
            let output = output[output.len() - bytes..].to_owned();
            shell(Terminal::plain(), &ShellEnd::exited(passed, "exit code 0", output), 2)
        };
        let cut = ["  line", "  end", "  (a long output: Windlass keeps only its last 64 KB)"];
        assert_eq!(lines((64 << 10) - 1, true), cut);
        assert_eq!(lines(60_000, true), cut[..2]);
        assert_eq!(lines(32 << 10, false), cut[..2]);
    }

    #[test]
    fn a_node_that_is_over_says_how_how_long_and_how_much() {
        let usage = Usage { cost_usd: Some(0.5), ..Usage::default() };
        let spent = Spent { turns: 1, usage, ..Spent::default() };
        let well = Outcome::new(FinalStatus::Completed, EndReason::AllDone);
        assert_eq!(
            finished(Terminal::plain(), "fix", (&well, why(&well)), &spent, 12_000),
            ["ok fix completed, 12 s, $0.50"]
        );
        let badly = Outcome::new(FinalStatus::Failed, EndReason::ShellFailed).because("exit\u{1b}[2J code 1");
        let lines = finished(Terminal::plain(), "build", (&badly, why(&badly)), &Spent::default(), 40);
        assert_eq!(lines, ["FAILED build failed, 40 ms: exit^[[2J code 1"]);
    }

    #[test]
    fn a_reason_of_several_lines_keeps_them() {
        let said = "tasks.json is broken\n  at 2:1\n\u{1b}[2J   | ^\n";
        let badly = Outcome::new(FinalStatus::Failed, EndReason::ShellFailed).because(said);
        let lines = finished(Terminal::plain(), "do", (&badly, why(&badly)), &Spent::default(), 40);
        assert_eq!(lines, ["FAILED do failed, 40 ms: tasks.json is broken", "    at 2:1", "  ^[[2J   | ^"]);
    }

    #[test]
    fn a_long_reason_is_wrapped_at_the_width_of_the_terminal_and_only_there() {
        let until = "`outputs.review.value.approved and outputs.check.passed` is true";
        let well = Outcome::new(FinalStatus::Completed, EndReason::Until).because(until);
        let shown = |screen| finished(screen, "rework", (&well, why(&well)), &Spent::default(), 40);
        assert_eq!(shown(Terminal::plain()), [format!("ok rework completed, 40 ms: {until}")]);
        let narrow = Terminal { is_terminal: true, unicode: true, width: 50, ..Terminal::plain() };
        let expected = [
            "✓ rework completed · 40 ms:",
            "    `outputs.review.value.approved and",
            "    outputs.check.passed` is true",
        ];
        assert_eq!(shown(narrow), expected);
        assert!(skipped(narrow, "x", until).iter().all(|line| columns(line) <= 50));
    }

    #[test]
    fn a_heading_has_an_arrow_where_the_terminal_knows_one() {
        let screen = Terminal { unicode: true, ..Terminal::plain() };
        assert_eq!(started(screen, "fix", "skill", Some("skill tidy")), "▸ fix (skill tidy)");
        assert_eq!(started(Terminal::plain(), "build", "shell", None), "> build (shell)");
    }

    #[test]
    fn the_value_of_a_command_takes_one_line() {
        let printed =
            |text: &str| printed_value(Terminal::plain(), &ShellEnd::exited(true, "exit code 0", text));
        assert_eq!(printed("[\n  {\"n\": 7}\n]\n").as_deref(), Some("  [ {\"n\": 7} ]"));
        let long = printed(&format!("\"{}\"", "x".repeat(200))).unwrap();
        assert!(long.len() == 80 && long.ends_with("..."), "{long}");
        assert_eq!(printed("no JSON"), None);
        let failed = ShellEnd::exited(false, "exit code 1", "{}");
        assert_eq!(printed_value(Terminal::plain(), &failed), None);
    }

    #[test]
    fn an_item_says_which_of_how_many_it_is() {
        let named = ListItem { place: 2, of: 7, label: "parser".to_owned(), is_named: true };
        assert_eq!(item(Terminal::plain(), &named, "{\"id\":\"parser\"}"), "item 2 of 7: parser");
        let other = ListItem { place: 1, of: 7, label: "probes 3".to_owned(), is_named: false };
        assert_eq!(item(Terminal::plain(), &other, "{\"a\":1}"), "item 1 of 7 (probes 3): {\"a\":1}");
    }

    #[test]
    fn what_a_command_printed_is_shown_from_its_end() {
        let output = "one\n\ntwo\nthree\u{1b}[1m\n".to_owned();
        let end = ShellEnd::exited(true, "exit code 0", output);
        assert_eq!(shell(Terminal::plain(), &end, 2), ["  two", "  three^[[1m"]);
        assert_eq!(shell(Terminal::plain(), &ShellEnd::Unknown, 2), Vec::<String>::new());
    }
}
