//! Formats facts for people: outcomes, times, numbers and costs.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use windlass_core::graph::walk::{find, ids_in, steps_in};
use windlass_core::id::NodeId;
use windlass_core::run::{EndReason, FinalStatus, Outcome, RunState};
use windlass_core::spec::ForkOrigin;
use windlass_core::time::Moment;
use windlass_core::usage::{Cost, Usage, dollars};
use windlass_runtime::workspace::Absence;

use crate::cli::sanitize::{fitting, plain, plain_line, shorten};

/// The longest reason that is shown in full on one line, in characters, and the length of the end that is
/// kept of a longer one.
const DETAIL: usize = 1000;
const DETAIL_END: usize = 250;

/// The most lines of a reason that are shown below its first.
const BELOW: usize = 60;

/// Returns the reason as a sentence without a full stop.
pub(crate) fn reason(reason: EndReason) -> &'static str {
    reason.sentence()
}

/// Adds what was done to the outcome of a run whose nodes all ended well.
pub(crate) fn with_done(state: &RunState, outcome: &Outcome) -> Outcome {
    if outcome.reason != EndReason::AllDone || outcome.detail.is_some() {
        return outcome.clone();
    }
    let steps = steps_in(&state.spec.body);
    let nodes = &state.bookkeeping.nodes;
    let ran = steps.iter().filter(|id| nodes.get(id).is_some_and(|seen| seen.times > 0)).count();
    let count = |value: usize, one| count(u64::try_from(value).unwrap_or(u64::MAX), one);
    let mut done = match steps.len() {
        all if all == ran && all > 1 => format!("all {} ran", count(all, "step")),
        all if all == ran => format!("{} ran", count(all, "step")),
        all => format!("{ran} of {} ran", count(all, "step")),
    };
    let tasks: u64 = ids_in(&state.spec.body).iter().filter_map(|id| passed(state, id)).sum();
    if tasks > 0 {
        done = format!("{} passed", self::count(tasks, "task"));
    }
    outcome.clone().because(done)
}

/// Returns the number of tasks that passed in a task loop.
fn passed(state: &RunState, node: &NodeId) -> Option<u64> {
    let value = state.bookkeeping.outputs.get(node)?.value.as_ref()?;
    let is_task_loop = find(&state.spec.body, node).is_some_and(|node| node.kind.word() == "task_loop");
    value.get("passed").filter(|_| is_task_loop)?.as_u64()
}

/// Describes how and why a run or a node ended.
pub(crate) fn outcome(outcome: &Outcome) -> String {
    // That everything is done says no more than that it completed.
    if outcome.reason == EndReason::AllDone && outcome.detail.as_deref().is_none_or(str::is_empty) {
        return outcome.status.word().to_owned();
    }
    let why = reason(outcome.reason);
    match outcome.detail.as_deref().map(detail_line).filter(|detail| !detail.is_empty() && detail != why) {
        Some(detail) if says_it_all(outcome.reason) => format!("{}: {detail}", outcome.status.word()),
        // What completes a run belongs together; what ends it otherwise is explained by its detail.
        Some(detail) if outcome.status == FinalStatus::Completed => {
            format!("{}: {why}, {detail}", outcome.status.word())
        }
        Some(detail) => format!("{}: {why}: {detail}", outcome.status.word()),
        None => format!("{}: {why}", outcome.status.word()),
    }
}

/// Puts a reason on one line. Of a very long one it keeps the beginning and the end, because the end says
/// what to do.
fn detail_line(detail: &str) -> String {
    let line = plain_line(detail);
    let whole = line.chars().count();
    if whole <= DETAIL {
        return line;
    }
    let end: String = line.chars().skip(whole - DETAIL_END).collect();
    format!("{} {}", shorten(&line, DETAIL - DETAIL_END), end.trim_start())
}

/// Describes how and why a run ended, and keeps the lines of the reason.
pub(crate) fn outcome_lines(outcome: &Outcome) -> (String, Vec<String>) {
    let detail = outcome.detail.as_deref().unwrap_or_default();
    let (first, rest) = paragraph(detail, usize::MAX);
    let rest = rest.iter().map(|line| shorten(line, DETAIL)).collect();
    (self::outcome(&Outcome { detail: Some(first), ..outcome.clone() }), rest)
}

/// Decides whether the detail of an outcome makes its reason redundant.
fn says_it_all(reason: EndReason) -> bool {
    matches!(
        reason,
        EndReason::AllDone
            | EndReason::NoneSelected
            | EndReason::Budget
            | EndReason::NoBranch
            | EndReason::Schema
            | EndReason::ShellFailed
            | EndReason::Until
            | EndReason::ShellUnknown
            | EndReason::Deadlock
            | EndReason::MaxIterations
            | EndReason::Stuck
            | EndReason::MissingTracker
            | EndReason::ChecksFailed
            | EndReason::Timeout
            | EndReason::TasksFailed
            | EndReason::TooDeep
            | EndReason::HookTransport
            | EndReason::NotYet
            | EndReason::FailNode
            | EndReason::TooManyItems
            | EndReason::FinallyFailed
    )
}

/// Puts a reason on one line of at most `most` columns. Of a longer one it keeps whole sentences if it can,
/// so that no command in it is cut.
pub(crate) fn sentences(text: &str, most: usize) -> String {
    let line = plain_line(text);
    let fitting = line.get(..fitting(&line, most)).unwrap_or_default();
    match fitting.rfind(". ").and_then(|end| line.get(..=end)) {
        Some(whole) if fitting.len() < line.len() => format!("{whole} ..."),
        _ => shorten(&line, most),
    }
}

/// Splits a reason into its first line and the lines below, each at most `most` columns wide.
pub(crate) fn paragraph(text: &str, most: usize) -> (String, Vec<String>) {
    let shown = plain(text.trim());
    let mut lines = shown.lines();
    let first = sentences(lines.next().unwrap_or_default(), most);
    let mut rest: Vec<String> =
        lines.by_ref().take(BELOW).map(|line| shorten(line.trim_end(), most)).collect();
    rest.extend(lines.next().map(|_| "...".to_owned()));
    (first, rest)
}

/// Formats a duration: `3 s`, `2 min 5 s`, `1 h 4 min`.
pub(crate) fn span(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 if ms > 0 => format!("{ms} ms"),
        0..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..=172_799 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Formats an age in one unit.
pub(crate) fn ago(ms: u64) -> String {
    let minutes = ms / 60_000;
    match minutes {
        0 => format!("{} s", ms / 1000),
        1..=59 => format!("{minutes} min"),
        60..=2879 => format!("{} h", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    }
}

/// Formats a number with separators: `12,345`.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a count: `1 iteration`, `2 iterations`.
pub(crate) fn count(value: u64, one: &str) -> String {
    if value == 1 { format!("1 {one}") } else { format!("{} {one}s", number(value)) }
}

/// Formats a cost, and says how much of it is known: `$0.08`, `at least $0.08 by your prices`.
pub(crate) fn cost(cost: Cost) -> String {
    let Some(known) = known_cost(cost) else {
        let word = if cost.is_partial { "unknown" } else { "not reported" };
        return format!("cost {word}");
    };
    known
}

/// Formats a cost of which at least a part is known.
pub(crate) fn known_cost(cost: Cost) -> Option<String> {
    let least = if cost.is_partial { "at least " } else { "" };
    let source = if cost.is_computed { " by your prices" } else { "" };
    Some(format!("{least}{}{source}", dollars(cost.usd?)))
}

/// Formats a cost for a narrow column: `~` for one by prices, `+` for one of which a part is unknown.
pub(crate) fn cost_cell(cost: Cost) -> String {
    let Some(usd) = cost.usd else {
        return if cost.is_partial { "unknown" } else { "-" }.to_owned();
    };
    let (about, more) = (if cost.is_computed { "~" } else { "" }, if cost.is_partial { "+" } else { "" });
    format!("{about}{}{more}", dollars(usd))
}

/// Formats the tokens read and written.
pub(crate) fn tokens(usage: &Usage) -> String {
    let read =
        usage.input_tokens.saturating_add(usage.cache_read_tokens).saturating_add(usage.cache_write_tokens);
    let least = if usage.is_partial { "at least " } else { "" };
    format!("{least}{} tokens in, {} out", number(read), number(usage.output_tokens))
}

/// Formats a local time: `14:05`.
pub(crate) fn clock(moment: Moment) -> String {
    local(moment, "%H:%M")
}

/// Formats a local time with seconds: `14:05:12`.
pub(crate) fn time(moment: Moment) -> String {
    local(moment, "%H:%M:%S")
}

/// Formats a local date: `2025-11-18`.
pub(crate) fn day(moment: Moment) -> String {
    local(moment, "%Y-%m-%d")
}

/// Formats a local date and time.
pub(crate) fn date(moment: Moment) -> String {
    local(moment, "%Y-%m-%d %H:%M:%S")
}

fn local(moment: Moment, format: &str) -> String {
    let stamp = Timestamp::from_millisecond(moment.0).unwrap_or(Timestamp::UNIX_EPOCH);
    stamp.to_zoned(TimeZone::system()).strftime(format).to_string()
}

/// Returns the current time.
pub(crate) fn now() -> Moment {
    Moment(Timestamp::now().as_millisecond())
}

/// Says why the folder of a run cannot be used.
pub(crate) fn missing_folder(folder: &str, why: Absence) -> String {
    format!("the folder {} {why}", plain_line(folder))
}

/// Describes the run and node from which a run was forked.
pub(crate) fn fork(origin: &ForkOrigin) -> String {
    let node = plain_line(origin.node.as_str());
    let again = if origin.iteration > 1 { format!(":{}", origin.iteration) } else { String::new() };
    format!("fork of {} at {node}{again}", origin.run)
}

/// Returns the run and node from which a run was forked as JSON.
pub(crate) fn fork_object(origin: &ForkOrigin) -> serde_json::Value {
    serde_json::json!({"run": origin.run, "node": origin.node, "iteration": origin.iteration})
}

#[cfg(test)]
mod tests {
    use windlass_core::run::FinalStatus;

    use super::*;

    #[test]
    fn a_reason_that_quotes_something_huge_keeps_its_beginning_and_its_end() {
        let huge = "x".repeat(1_000_000);
        let detail = format!("`q` asks: {huge}; nobody may be asked; give it a `default`");
        let blocked = |detail| Outcome::new(FinalStatus::Blocked, EndReason::Question).because(detail);
        let text = outcome(&blocked(detail));
        assert!(text.len() < 1200, "{}", text.len());
        assert!(text.contains("`q` asks: xxx") && text.ends_with("give it a `default`"), "{text}");
        let (_, rest) = outcome_lines(&blocked(format!("it says:\n{huge}")));
        assert!(rest[0].len() <= DETAIL, "{}", rest[0].len());
    }

    #[test]
    fn a_long_reason_ends_after_a_sentence_and_not_in_a_command() {
        let reason = "commit or stash them. Branch `b` is kept. Then land it with `git merge b`";
        assert_eq!(sentences(reason, 60), "commit or stash them. Branch `b` is kept. ...");
        assert_eq!(sentences(reason, 30), "commit or stash them. ...");
        assert_eq!(sentences(reason, 200), reason);
        assert_eq!(sentences("one long sentence without an end", 12), "one long...");
    }

    #[test]
    fn time_reads_as_people_say_it() {
        assert_eq!(
            [span(40), span(3_000), span(125_000), span(3_840_000)],
            ["40 ms", "3 s", "2 min 5 s", "1 h 4 min"]
        );
        assert_eq!(
            [ago(5_000), ago(125_000), ago(7_200_000), ago(400_000_000)],
            ["5 s", "2 min", "2 h", "4 days"]
        );
    }

    #[test]
    fn numbers_have_separators() {
        assert_eq!([number(7), number(1234), number(1_234_567)], ["7", "1,234", "1,234,567"]);
        let known = |is_computed, is_partial| Cost { usd: Some(0.079), is_computed, is_partial };
        let unknown = Cost { is_partial: true, ..Cost::default() };
        for (cost_of, shown, cell) in [
            (known(false, false), "$0.08", "$0.08"),
            (known(true, false), "$0.08 by your prices", "~$0.08"),
            (known(false, true), "at least $0.08", "$0.08+"),
            (known(true, true), "at least $0.08 by your prices", "~$0.08+"),
            (unknown, "cost unknown", "unknown"),
            (Cost::default(), "cost not reported", "-"),
        ] {
            assert_eq!((cost(cost_of), cost_cell(cost_of)), (shown.to_owned(), cell.to_owned()));
        }
    }

    #[test]
    fn an_outcome_says_how_why_and_the_rest() {
        let ended =
            Outcome::new(FinalStatus::Failed, EndReason::AgentFailed).because("API error\u{1b}[1m 400");
        assert_eq!(outcome(&ended), "failed: the agent failed: API error^[[1m 400");
        assert_eq!(
            outcome(&Outcome::new(FinalStatus::Completed, EndReason::Marker)),
            "completed: the agent marked it done"
        );
        let none = Outcome::new(FinalStatus::Failed, EndReason::NoBranch).because("no branch succeeded: x");
        assert_eq!(outcome(&none), "failed: no branch succeeded: x", "nothing is said twice");
    }
}
