//! The summary at the end of a run: the result, the cost and the changed files.

use windlass_core::run::{FinalStatus, Outcome};
use windlass_core::usage::Usage;

use super::words::{self, cost, count, span, tokens};
use super::wrap::fold;
use crate::cli::sanitize::plain;
use crate::cli::terminal::{Terminal, TextTone};

/// The most changed files that are listed.
const FILES: usize = 20;

/// The facts of the summary.
pub(crate) struct RunEnding<'a> {
    pub(crate) outcome: &'a Outcome,
    pub(crate) turns: TurnCount,
    /// The milliseconds from start to end.
    pub(crate) elapsed_ms: u64,
    pub(crate) usage: &'a Usage,
    pub(crate) changes: Changes<'a>,
}

/// The number of turns of the agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnCount {
    /// The turns of one session, which are its iterations.
    Iterations(u32),
    /// The turns of all nodes.
    OfNodes(u32),
}

/// The changed files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changes<'a> {
    /// These files, as git shows them.
    These(&'a [String]),
    /// Unknown: the folder is not a repository.
    NoRepository,
    /// Unknown: the run did not record the state of the repository when it started.
    NotLookedAt,
}

/// Returns the summary of a run.
pub(crate) fn summary(screen: Terminal, ending: &RunEnding<'_>) -> Vec<String> {
    let tone = match ending.outcome.status {
        FinalStatus::Completed => TextTone::Good,
        FinalStatus::Blocked | FinalStatus::Exhausted | FinalStatus::Interrupted | FinalStatus::Cancelled => {
            TextTone::Careful
        }
        FinalStatus::Failed => TextTone::Bad,
    };
    let turns = match ending.turns {
        TurnCount::Iterations(turns) => Some(count(u64::from(turns), "iteration")),
        TurnCount::OfNodes(0) => None,
        TurnCount::OfNodes(turns) => Some(count(u64::from(turns), "turn")),
    };
    let mut facts: Vec<String> = turns.iter().cloned().collect();
    facts.push(span(ending.elapsed_ms));
    // A run without turns has no cost.
    if turns.is_some() {
        facts.extend([tokens(ending.usage), cost(ending.usage.cost())]);
    }
    let (how, why) = words::outcome_lines(ending.outcome);
    let mut lines = vec![String::new()];
    let how = fold(&how, screen.limit().unwrap_or(usize::MAX));
    lines.extend(how.iter().map(|line| screen.paint(tone, line)));
    lines.extend(why.iter().map(|line| format!("  {line}")));
    lines.push(format!("  {}", facts.join(screen.dot())));
    lines.extend(changes(ending.changes));
    lines
}

fn changes(changes: Changes<'_>) -> Vec<String> {
    let changes = match changes {
        Changes::These(changes) => changes,
        Changes::NoRepository => {
            return vec!["  not a git repository: changed files are not listed".to_owned()];
        }
        Changes::NotLookedAt => return Vec::new(),
    };
    if changes.is_empty() {
        return vec!["  no files changed".to_owned()];
    }
    let mut lines = vec!["  files changed since the run started:".to_owned()];
    lines.extend(changes.iter().take(FILES).map(|line| format!("    {}", plain(line.trim()))));
    let hidden = changes.len().saturating_sub(FILES);
    if hidden > 0 {
        lines.push(format!("    ... ({hidden} more)"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use windlass_core::run::EndReason;

    use super::*;

    #[test]
    fn says_how_why_how_much_and_what_changed() {
        let outcome = Outcome::new(FinalStatus::Completed, EndReason::Marker);
        let usage =
            Usage { input_tokens: 11_300, output_tokens: 950, cost_usd: Some(0.079), ..Usage::default() };
        let changes = [" greet.sh | 4 ++++".to_owned(), " 1 file changed, 4 insertions(+)".to_owned()];
        let ending = RunEnding {
            outcome: &outcome,
            turns: TurnCount::Iterations(2),
            elapsed_ms: 14_000,
            usage: &usage,
            changes: Changes::These(&changes),
        };
        let expected = "
completed: the agent marked it done
  2 iterations, 14 s, 11,300 tokens in, 950 out, $0.08
  files changed since the run started:
    greet.sh | 4 ++++
    1 file changed, 4 insertions(+)";
        assert_eq!(summary(Terminal::plain(), &ending).join("\n"), expected);
    }

    #[test]
    fn outside_a_repository_it_does_not_claim_to_know_what_changed() {
        let outcome = Outcome::new(FinalStatus::Completed, EndReason::Marker);
        let usage = Usage::default();
        let (turns, changes) = (TurnCount::Iterations(1), Changes::NoRepository);
        let ending = RunEnding { outcome: &outcome, turns, elapsed_ms: 1, usage: &usage, changes };
        let shown = summary(Terminal::plain(), &ending).join("\n");
        assert!(shown.contains("not a git repository") && !shown.contains("no files changed"), "{shown}");
    }

    #[test]
    fn a_run_without_agents_has_spent_nothing() {
        let outcome = Outcome::new(FinalStatus::Completed, EndReason::AllDone);
        let (turns, changes) = (TurnCount::OfNodes(0), Changes::NotLookedAt);
        let ending =
            RunEnding { outcome: &outcome, turns, elapsed_ms: 3_000, usage: &Usage::default(), changes };
        assert_eq!(summary(Terminal::plain(), &ending), ["", "completed", "  3 s"]);
    }
}
