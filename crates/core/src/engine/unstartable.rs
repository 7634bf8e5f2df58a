//! Ends a run whose check cannot start, because no turn of an agent repairs a mistyped command. A command that
//! starts and then misses a program is a check that failed like any other.
//!
//! Only the first execution of a check counts. If a command that could start cannot start later, an agent
//! broke it, and the check failed like any other.

use std::collections::BTreeMap;

use crate::event::{Event, LandingEnd};
use crate::hook::first_program;
use crate::run::{EndReason, FinalStatus, Lifecycle, Outcome, RunState};
use crate::spec::Check;

/// The longest part of a check's output that the outcome quotes, in characters.
const QUOTED: usize = 200;

/// Remembers which checks could start. Returns the outcome of the run if one of them could not.
pub(super) fn note(state: &mut RunState, event: &Event) -> Option<Outcome> {
    let outcome = match event {
        Event::ChecksFinished { results, .. } => {
            let unstarted =
                results.iter().find(|result| result.cannot_start && !has_started(state, &result.name));
            let said =
                unstarted.map(|result| (result.name.clone(), result.how.clone(), result.output.clone()));
            remember(state, results.iter().map(|result| (&result.name, !result.cannot_start)));
            said.map(|(name, how, output)| outcome(state, &name, &how, &output))
        }
        Event::Landed { end: LandingEnd::Refused { checks, .. }, .. } => {
            let unstarted = checks.iter().find(|(name, started)| !**started && !has_started(state, name));
            let name = unstarted.map(|(name, _)| name.clone());
            remember(state, checks.iter().map(|(name, started)| (name, *started)));
            name.map(|name| outcome(state, &name, "exit code 126 or 127", ""))
        }
        Event::Landed { end: LandingEnd::Landed { .. }, .. } => {
            let names: Vec<String> = state.spec.checks.iter().map(|check| check.name.clone()).collect();
            remember(state, names.iter().map(|name| (name, true)));
            None
        }
        Event::RunEnded { end, .. } if end.outcome.fixed() == Some(EndReason::CheckCannotStart) => {
            let detail = end.outcome.detail.clone().unwrap_or_default();
            Some(Outcome::new(FinalStatus::Failed, EndReason::CheckCannotStart).because(detail))
        }
        _ => None,
    };
    outcome.filter(|_| state.lifecycle == Lifecycle::Running)
}

/// Replaces and adds checks of a person who continues the run. A check with a new name replaces one that could
/// not start, because its name may be the mistyped command itself.
pub(super) fn replace(checks: &mut Vec<Check>, known: &mut BTreeMap<String, bool>, more: &[Check]) {
    for check in more {
        let named = checks.iter().position(|other| other.name == check.name);
        let is_unstarted = |other: &Check| known.get(&other.name) == Some(&false);
        match named.or_else(|| checks.iter().position(is_unstarted)) {
            Some(place) => {
                if let Some(other) = checks.get_mut(place) {
                    known.remove(&other.name);
                    *other = check.clone();
                }
            }
            None => checks.push(check.clone()),
        }
    }
}

fn has_started(state: &RunState, name: &str) -> bool {
    state.bookkeeping.checks.get(name) == Some(&true)
}

fn remember<'n>(state: &mut RunState, checks: impl Iterator<Item = (&'n String, bool)>) {
    for (name, started) in checks {
        let known = state.bookkeeping.checks.entry(name.clone()).or_default();
        *known |= started;
    }
}

/// Returns the way to check a program of the workspace that does not exist before the agent's first turn.
fn built_by_the_agent(command: &str) -> Option<String> {
    let program =
        first_program(command).filter(|program| program.contains('/') && !program.starts_with('/'))?;
    let quoted = if command.contains('\'') { &program } else { command };
    Some(format!("; if the agent itself has to build the program, check it with `sh -c '{quoted}'`"))
}

fn outcome(state: &RunState, name: &str, how: &str, output: &str) -> Outcome {
    let command =
        state.spec.checks.iter().find(|check| check.name == name).map(|check| check.command.as_str());
    let check = match command.filter(|command| *command != name) {
        Some(command) => format!("check `{name}` (`{command}`)"),
        None => format!("check `{name}`"),
    };
    let said = output.trim().lines().last().unwrap_or_default().trim();
    let said: String = said.chars().take(QUOTED).collect();
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    let built = command.and_then(built_by_the_agent).unwrap_or_default();
    let why = format!(
        "{check} cannot start ({how}){said}\n  hint: correct it with `windlass resume {} --check COMMAND`{built}",
        state.run
    );
    Outcome::new(FinalStatus::Failed, EndReason::CheckCannotStart).because(why)
}
