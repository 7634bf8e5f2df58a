//! `windlass show`: everything about one run, in words.

use serde_json::{Value, json};
use windlass_core::event::{Event, Record};
use windlass_core::id::{EffectId, SessionId};
use windlass_core::launch::files;
use windlass_core::run::{Phase, State, Waiting};
use windlass_runtime::handle::{Handle, View};

use super::feed::{describe_ask, envelope, rfc3339, words};
use super::here::{Here, print};
use super::plain::{plain, plain_line, plain_short};
use super::report::Report;
use super::screen::{Screen, Tone};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass show k3f9
  windlass show k3f9 --json";

/// Show everything about a run
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run, or the beginning of its id
    #[arg(value_name = "RUN")]
    run: String,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// A turn's process, as the log tells it.
struct Turn {
    effect: EffectId,
    session: SessionId,
}

/// Shows it.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let here = Here::look()?;
    let handle = here.open_to_ask()?;
    let view = handle.view(&handle.find(&args.run)?)?;
    let records = handle.records(&view.run, 1)?;
    let turns = turns(records.iter().map(|(_, record)| record));
    if args.json {
        return print(&[object(&view, &turns)]);
    }
    print(&describe(here.screen, &handle, &view, &turns))
}

fn turns<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<Turn> {
    let started = records.filter_map(|record| match &record.event {
        Event::SessionStarted { effect, session } => {
            Some(Turn { effect: effect.clone(), session: session.clone() })
        }
        _ => None,
    });
    let mut turns: Vec<Turn> = started.collect();
    // A turn that was adopted after a crash is told twice.
    turns.dedup_by(|next, former| next.effect == former.effect);
    turns
}

fn object(view: &View, turns: &[Turn]) -> String {
    let state = &view.state;
    let outcome = match &state.phase {
        Phase::Done { outcome } => serde_json::to_value(outcome).unwrap_or_default(),
        _ => Value::Null,
    };
    let turn = |turn: &Turn| {
        let stdout = view.dir.join(turn.effect.to_string()).join(files::STDOUT);
        json!({"session": turn.session, "iteration": turn.effect.iteration, "attempt": turn.effect.attempt,
            "transcript": stdout})
    };
    let data = json!({
        "status": view.status,
        "resumable": view.status == "crashed",
        "outcome": outcome,
        "workflow": state.spec.workflow,
        "driver": state.spec.driver,
        "workspace": state.spec.workspace,
        "input": state.spec.input,
        "isolation": state.spec.isolation.word(),
        "mode": state.spec.node.rules().map(|rules| rules.mode.word()),
        "max_iterations": state.spec.node.rules().map_or(1, |rules| rules.max_iterations),
        "tracker": tracker(state),
        "iterations": state.turns,
        "started": rfc3339(state.started),
        "usage": state.usage,
        "cost_usd": state.usage.cost_usd,
        "asks": state.asks,
        "sessions": turns.iter().map(turn).collect::<Vec<_>>(),
        "last_message": state.last_message,
        "dir": view.dir,
    });
    envelope("run", words::now(), Some(&view.run), data)
}

fn tracker(state: &State) -> Option<&str> {
    let rules = state.spec.node.rules()?;
    rules.tracker_path.as_deref().filter(|path| !path.is_empty())
}

fn describe(screen: Screen, handle: &Handle, view: &View, turns: &[Turn]) -> Vec<String> {
    let state = &view.state;
    let spec = &state.spec;
    let mut lines = vec![screen.paint(Tone::Strong, &format!("run {}", view.run))];
    let mut fact = |name: &str, text: &str| lines.push(format!("  {name:11} {text}"));
    fact("status", &status(view));
    fact("workflow", &plain_line(&spec.workflow));
    fact("input", &plain_short(&spec.input, 400));
    fact("driver", &format!("{} ({})", plain_line(&spec.driver.name), plain_line(&spec.driver.program)));
    fact("workspace", &plain_line(&spec.workspace));
    fact("isolation", spec.isolation.word());
    if let Some(rules) = spec.node.rules() {
        let most =
            if rules.max_iterations == 0 { "no limit".to_owned() } else { rules.max_iterations.to_string() };
        fact("mode", rules.mode.word());
        fact("iterations", &format!("{} finished of {most}", state.turns));
    }
    if let Some(path) = tracker(state) {
        fact("tracker", &plain_line(path));
    }
    fact("started", &words::date(state.started));
    fact(
        "spent",
        &format!("{}{}{}", words::tokens(&state.usage), screen.dot(), words::cost(state.usage.cost_usd)),
    );
    fact("kept in", &plain_line(&view.dir.display().to_string()));
    lines.extend(sessions(view, turns));
    lines.extend(changes(handle, view));
    lines.extend(last_words(state));
    lines.extend(what_now(screen, view));
    lines
}

/// How it stands and why.
fn status(view: &View) -> String {
    match (&view.state.phase, view.status.as_str()) {
        (Phase::Done { outcome }, _) => words::outcome(outcome),
        (_, "crashed") => "crashed (resumable): its process is gone".to_owned(),
        (Phase::Pausing { waiting: Waiting::RateLimit { until }, .. }, _) => {
            format!("waiting for the usage limit to end at {}", words::clock(*until))
        }
        (Phase::Pausing { waiting: Waiting::Retry { until, what }, .. }, _) => {
            format!("waiting until {} to try again: {}", words::clock(*until), plain_line(what))
        }
        (_, status) => status.to_owned(),
    }
}

fn sessions(view: &View, turns: &[Turn]) -> Vec<String> {
    if turns.is_empty() {
        return Vec::new();
    }
    let line = |turn: &Turn| {
        let stdout = view.dir.join(turn.effect.to_string()).join(files::STDOUT);
        let (iteration, attempt) = (turn.effect.iteration, turn.effect.attempt);
        let again = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
        let file = plain_line(&stdout.display().to_string());
        [format!("    iteration {iteration}{again}: {}", turn.session), format!("      {file}")]
    };
    let mut lines = vec!["  sessions".to_owned()];
    lines.extend(turns.iter().flat_map(line));
    lines
}

fn changes(handle: &Handle, view: &View) -> Vec<String> {
    let changes = handle.changes(&view.run).ok().flatten().unwrap_or_default();
    if changes.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["  changed".to_owned()];
    lines.extend(changes.iter().map(|line| format!("    {}", plain(line.trim()))));
    lines
}

fn last_words(state: &State) -> Vec<String> {
    let Some(text) = state.last_message.as_deref().filter(|text| !text.trim().is_empty()) else {
        return Vec::new();
    };
    let mut lines = vec!["  last message".to_owned()];
    lines.extend(plain(text.trim()).lines().take(20).map(|line| format!("    {line}")));
    lines
}

/// What a person can or must do next.
fn what_now(screen: Screen, view: &View) -> Vec<String> {
    if view.state.is_done() {
        return Vec::new();
    }
    let mut lines: Vec<String> = Vec::new();
    for ask in &view.state.asks {
        let asked = describe_ask(&view.run, ask);
        lines.extend(asked.iter().map(|line| screen.paint(Tone::Careful, &format!("  {line}"))));
    }
    if view.status == "crashed" {
        lines.push(format!("  go on with it: windlass resume {}", view.run));
    }
    lines
}
