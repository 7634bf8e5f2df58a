//! The first lines of a run: the workflow, the drivers, the folder and the limits.

use windlass_core::graph::walk::{ids_in, steps_in};
use windlass_core::id::RunId;
use windlass_core::spec::{SessionSettings, Spec};

use super::words;
use super::wrap::{first, wrap};
use crate::cli::sanitize::{plain, plain_line};
use crate::cli::terminal::{Terminal, TextTone};

/// The most lines of a description that are shown.
const DESCRIPTION: usize = 4;

/// Returns the header of a run.
pub(super) fn lines(screen: Terminal, run: &RunId, spec: &Spec) -> Vec<String> {
    let dot = screen.dot();
    let drivers = each(spec, |session_settings| plain_line(&session_settings.driver.name));
    let on = if drivers.is_empty() { String::new() } else { format!(" on {}", drivers.join(", ")) };
    let title = format!("{}{on}{dot}run {run}", plain_line(&spec.workflow));
    let mut facts = match spec.only_session() {
        Some((_, session_settings)) => bounds(session_settings),
        None => vec![words::count(steps_in(&spec.body).len() as u64, "step")],
    };
    let isolations = each(spec, |session_settings| session_settings.isolation.word().to_owned());
    facts.extend((!isolations.is_empty()).then(|| format!("isolation {}", isolations.join(", "))));
    if !spec.checks.is_empty() {
        let names: Vec<String> = spec.checks.iter().map(|check| plain_line(&check.name)).collect();
        facts.push(format!("checks: {}", names.join(", ")));
    }
    let mut lines = vec![screen.paint(TextTone::Strong, &title)];
    let description = spec.description.as_deref().map(str::trim).filter(|text| !text.is_empty());
    lines.extend(description.into_iter().flat_map(|text| about(screen, text)));
    lines.push(format!("  in {}", plain_line(&spec.workspace)));
    lines.extend(spec.fork_of.as_ref().map(|fork| format!("  {}", words::fork(fork))));
    lines.extend(spec.worktree.as_ref().map(|own| format!("  on branch {}", plain_line(&own.branch))));
    lines.push(format!("  {}", facts.join(dot)));
    lines
}

/// Wraps the description of the workflow.
fn about(screen: Terminal, description: &str) -> Vec<String> {
    let (mut lines, hidden) = first(wrap(&plain(description), "  ", screen.width), DESCRIPTION);
    lines.extend((hidden > 0).then(|| "  ...".to_owned()));
    lines
}

/// Collects a word from each session, in the order of the nodes and without duplicates. `ids_in` begins with the last.
fn each(spec: &Spec, of: impl Fn(&SessionSettings) -> String) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let in_order = ids_in(&spec.body).into_iter().rev().filter_map(|node| spec.sessions.get(&node));
    // Sessions of `finally` are not in the body.
    for word in in_order.chain(spec.sessions.values()).map(of) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

fn bounds(session_settings: &SessionSettings) -> Vec<String> {
    let Some(rules) = &session_settings.rules else { return Vec::new() };
    let bound = match rules.max_iterations {
        0 => "no limit on iterations".to_owned(),
        most => format!("at most {}", words::count(u64::from(most), "iteration")),
    };
    vec![format!("{} mode", rules.mode.word()), bound]
}
