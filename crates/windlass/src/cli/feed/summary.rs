//! The end of a run in a few lines: how and why, what it took, what changed.

use windlass_core::run::{FinalStatus, Outcome};
use windlass_core::usage::Usage;

use super::words::{self, cost, count, span, tokens};
use crate::cli::sanitize::plain;
use crate::cli::terminal::{Terminal, TextTone};

/// How many changed files are listed.
const FILES: usize = 20;

/// What is told at the end.
pub(crate) struct RunEnding<'a> {
    /// How and why it ended.
    pub(crate) outcome: &'a Outcome,
    /// How many turns agents had.
    pub(crate) turns: TurnCount,
    /// From start to end.
    pub(crate) elapsed_ms: u64,
    /// What it spent.
    pub(crate) usage: &'a Usage,
    /// What changed.
    pub(crate) changes: Changes<'a>,
}

/// How many turns agents had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnCount {
    /// Those of one session, which are its iterations.
    Iterations(u32),
    /// Those of all nodes.
    OfNodes(u32),
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changes<'a> {
    /// These files, as git shows them.
    These(&'a [String]),
    /// Nobody can tell outside of a repository.
    NoRepository,
    /// Nobody looked where it stood when the run began.
    NotLookedAt,
}

/// The lines.
pub(crate) fn summary(screen: Terminal, ending: &RunEnding<'_>) -> Vec<String> {
    let tone = match ending.outcome.status {
        FinalStatus::Completed => TextTone::Good,
        FinalStatus::Blocked | FinalStatus::Exhausted | FinalStatus::Cancelled => TextTone::Careful,
        FinalStatus::Failed => TextTone::Bad,
    };
    let turns = match ending.turns {
        TurnCount::Iterations(turns) => Some(count(u64::from(turns), "iteration")),
        TurnCount::OfNodes(0) => None,
        TurnCount::OfNodes(turns) => Some(count(u64::from(turns), "turn")),
    };
    let mut facts: Vec<String> = turns.iter().cloned().collect();
    facts.push(span(ending.elapsed_ms));
    // Without an agent there is nothing to spend.
    if turns.is_some() {
        facts.extend([tokens(ending.usage), cost(ending.usage.cost_usd)]);
    }
    let (how, why) = words::outcome_lines(ending.outcome);
    let mut lines = vec![String::new(), screen.paint(tone, &how)];
    lines.extend(why.iter().map(|line| format!("  {line}")));
    lines.push(format!("  {}", facts.join(screen.dot())));
    lines.extend(changes(ending.changes));
    lines
}

fn changes(changes: Changes<'_>) -> Vec<String> {
    let changes = match changes {
        Changes::These(changes) => changes,
        Changes::NoRepository => {
            return vec!["  not a git repository: what changed is not listed".to_owned()];
        }
        Changes::NotLookedAt => return Vec::new(),
    };
    if changes.is_empty() {
        return vec!["  no files changed".to_owned()];
    }
    let mut lines = vec!["  changed since it began, as the folder is now:".to_owned()];
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
completed: the agent marked it done and all checks pass
  2 iterations, 14 s, 11,300 tokens in, 950 out, $0.08
  changed since it began, as the folder is now:
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
        assert_eq!(summary(Terminal::plain(), &ending), ["", "completed: everything is done", "  3 s"]);
    }
}
