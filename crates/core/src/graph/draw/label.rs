//! What is written on a node: its name, what it does, and how it fared. A few short lines.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{NodeState, States};
use crate::graph::workflow::{Act, Join, OnFailure, Source, Step, Until, Workflow};

/// The widest line, in columns.
const WIDEST: usize = 44;

/// The lines of a node, its name first.
pub(super) fn lines(step: &Step, states: &States) -> Vec<String> {
    let mut lines = vec![clean(step.id.as_str())];
    lines.extend(what(&step.act));
    if let Some(when) = &step.when {
        lines.push(clean(&format!("when {}", when.0)));
    }
    let mut rest = Vec::new();
    if step.retry.times > 0 {
        rest.push(format!("retry {}", step.retry.times));
    }
    if step.on_failure == OnFailure::Continue {
        rest.push("goes on when it fails".to_owned());
    }
    if !rest.is_empty() {
        lines.push(clean(&rest.join(", ")));
    }
    lines.extend(states.get(&step.id).map(fared));
    lines
}

fn fared(state: &NodeState) -> String {
    let parts = [Some(&state.word), state.time.as_ref(), state.cost.as_ref()];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    clean(&parts.join(" · "))
}

/// The name of a workflow.
pub(super) fn title(workflow: &Workflow) -> String {
    clean(&workflow.name)
}

fn what(act: &Act) -> Option<String> {
    let word = act.word();
    let text = match act {
        Act::Session(session) => {
            let told = match &session.source {
                Source::Prompt { prompt } => format!("prompt: {}", prompt.0),
                Source::Skill { name, .. } => format!("skill {name}"),
                Source::Command { name, .. } => format!("command {name}"),
                Source::Agent { name, .. } => format!("agent {name}"),
            };
            match session.turns.as_ref().map(|turns| turns.max) {
                None => told,
                Some(None) => format!("turns · {told}"),
                Some(Some(0)) => format!("turns without end · {told}"),
                Some(Some(max)) => format!("up to {max} turns · {told}"),
            }
        }
        Act::Shell { command, .. } => format!("$ {}", command.0),
        Act::Check { names } if names.is_empty() => "check all".to_owned(),
        Act::Check { names } => format!("check {}", names.join(", ")),
        Act::If { condition, .. } => format!("if {}", condition.0),
        Act::Loop { until, max, .. } => {
            let until: Vec<&str> = until.iter().map(|until| until.0.as_str()).collect();
            let until =
                if until.is_empty() { String::new() } else { format!(" until {}", until.join(" or ")) };
            format!("loop{}{until}", times(*max))
        }
        Act::TaskLoop { path, max, jobs, .. } => {
            let path = path.as_ref().map(|path| format!(" of {}", path.0)).unwrap_or_default();
            let jobs = if *jobs > 1 { format!(", {jobs} at once") } else { String::new() };
            format!("each task{path}{}{jobs}", times(*max))
        }
        Act::CriteriaLoop { signal, max, .. } => format!("loop{} until {signal}", times(*max)),
        Act::Parallel { limit, join, .. } => {
            let join = match join {
                Join::All => "all",
                Join::Any => "any",
                Join::FirstSuccess => "first success",
            };
            let limit = if *limit == 0 { String::new() } else { format!(", {limit} at once") };
            format!("parallel, {join}{limit}")
        }
        Act::Workflow { name, .. } => format!("workflow {name}"),
        Act::Ask { question, .. } => format!("ask: {}", question.0),
        Act::Wait(Until::Elapsed { ms }) => format!("wait {} s", ms / 1000),
        Act::Wait(Until::Event { name, .. }) => format!("wait for {name}"),
        Act::Review { agent: Some(agent), .. } => format!("review by {agent}"),
        Act::Land { target: Some(target) } => format!("land on {}", target.0),
        Act::PullRequest { title, .. } => format!("pull request: {}", title.0),
        Act::Review { agent: None, .. } | Act::Land { target: None } | Act::ClearContext => {
            word.replace('_', " ")
        }
    };
    Some(clean(&text))
}

fn times(max: u32) -> String {
    if max == 0 { String::new() } else { format!(" ≤ {max}×") }
}

/// A stranger's text on one line: short, and only what can be seen.
pub(super) fn clean(text: &str) -> String {
    let mut line = String::new();
    let mut columns = 0;
    let mut is_spaced = true;
    for letter in text.chars().take(WIDEST * 20) {
        let letter = if letter.is_whitespace() { ' ' } else { letter };
        if is_unseen(letter) || (letter == ' ' && is_spaced) {
            continue;
        }
        columns += letter.width().unwrap_or(0);
        if columns > WIDEST {
            line.truncate(line.trim_end().len());
            line.push('…');
            return line;
        }
        is_spaced = letter == ' ';
        line.push(letter);
    }
    line.truncate(line.trim_end().len());
    line
}

/// Controls, marks without a width, and what turns the direction of a text.
fn is_unseen(letter: char) -> bool {
    letter.is_control() || letter.width().unwrap_or(0) == 0 || matches!(letter, '\u{fff9}'..='\u{ffff}')
}

/// The columns of the widest line.
pub(super) fn columns(lines: &[String]) -> usize {
    lines.iter().map(|line| line.width()).max().unwrap_or(0)
}
