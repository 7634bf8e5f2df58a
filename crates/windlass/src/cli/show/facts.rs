//! Describes a run as a whole, for people or as JSON.

use serde_json::{Value, json};
use windlass_core::engine::explain::GivenAnswer;
use windlass_core::launch::files;
use windlass_core::looping::LoopRules;
use windlass_core::run::{Activity, ListenState, Progress, RunState, Waiting};
use windlass_runtime::artifacts::{ARTIFACTS, Artifact, list as list_artifacts};
use windlass_runtime::handle::Handle;
use windlass_runtime::own_worktree::kept_tracker;
use windlass_runtime::view::RunView;
use windlass_runtime::workspace::FolderCheck;

use super::super::asks::asker;
use super::super::diff::state as state_of;
use super::super::feed::{
    OtherRequests, answer_object, answered, default_of, describe_ask, envelope, gist, rfc3339, words,
};
use super::super::fit;
use super::super::own_worktree;
use super::super::sanitize::{plain, plain_line, plain_short, shorten};
use super::super::terminal::{Terminal, TextTone};
use super::{RunDetails, ShownTurn, nodes};

/// The start of a line that continues a fact.
const FACT: &str = "              ";

/// The longest line of an agent's last message that is shown.
const LINE: usize = 400;

/// The most files that are listed.
const FILES: usize = 20;

/// The most answers that are listed.
const ANSWERS: usize = 20;

/// Returns the run as JSON.
pub(super) fn object(handle: &Handle, details: &RunDetails) -> String {
    let RunDetails { view, turns, children, answers, .. } = details;
    let (state, spec) = (&view.state, &view.state.spec);
    let (session_settings, rules) = (spec.first_session(), rules(state));
    let usage = &state.own_spent().usage;
    let is_many = details.is_many();
    let mut data = json!({
        "status": view.status.word(),
        "resumable": view.status.is_crashed() || state.outcome().is_some_and(|end| end.resume_flags().is_some()),
        "outcome": state.outcome(),
        "workflow": spec.workflow,
        "description": spec.description,
        "driver": session_settings.map(|session_settings| &session_settings.driver),
        "workspace": spec.workspace,
        "input": spec.input,
        "isolation": session_settings.map(|session_settings| session_settings.isolation.word()),
        "mode": rules.map(|rules| rules.mode.word()),
        "max_iterations": if is_many { None } else { Some(rules.map_or(1, |rules| rules.max_iterations)) },
        "tracker": tracker(view),
        "iterations": state.turns(),
        "started": rfc3339(state.begun()),
        "turns": state.own_spent().turns,
        "usage": usage,
        "cost_usd": usage.cost_usd,
        "asks": state.bookkeeping.asks,
        "answers": answers.iter().map(answer_object).collect::<Vec<_>>(),
        "sessions": turns.iter().map(|turn| session(turn, is_many)).collect::<Vec<_>>(),
        "last_message": state.bookkeeping.last_message,
        "snapshots": snapshots(handle, view),
        "dir": view.dir,
    });
    let Value::Object(map) = &mut data else { return String::new() };
    if is_many {
        let child = |child: &super::ChildRun| json!({"run": child.run, "node": child.node, "workflow": child.workflow});
        map.insert("nodes".to_owned(), nodes::objects(details, words::now()).into());
        map.insert("children".to_owned(), children.iter().map(child).collect::<Vec<_>>().into());
        map.insert("paused".to_owned(), state.bookkeeping.paused.into());
    }
    // Windlass removes the worktree of a finished run that changed nothing.
    let absence = view.absence(FolderCheck::Close).filter(|_| spec.worktree.is_none() || !state.is_done());
    let missing = absence.map(|why| words::missing_folder(&spec.workspace, why));
    let report = handle.worktree_of(spec);
    map.extend(report.map(|report| ("worktree".to_owned(), own_worktree::object(&report))));
    let file =
        |file: &Artifact| json!({"path": view.dir.join(ARTIFACTS).join(&file.path), "bytes": file.bytes});
    let kept: Vec<Value> = list_artifacts(&view.dir).iter().map(file).collect();
    map.extend((!kept.is_empty()).then(|| ("artifacts".to_owned(), kept.into())));
    map.extend(missing.map(|text| ("missing_folder".to_owned(), text.into())));
    map.extend(spec.fork_of.as_ref().map(|fork| ("fork_of".to_owned(), words::fork_object(fork))));
    map.extend(spec.parent.as_ref().map(|parent| ("parent".to_owned(), json!(parent))));
    envelope("run", words::now(), Some(&view.run), data)
}

/// Returns the snapshots of the run as JSON. They are no reason to show nothing else.
fn snapshots(handle: &Handle, view: &RunView) -> Vec<Value> {
    let snapshots = handle.snapshots(&view.run);
    snapshots.map_or_else(|_| Vec::new(), |all| all.all.iter().map(|kept| state_of(&all, kept)).collect())
}

/// Returns a turn as JSON.
pub(super) fn session(turn: &ShownTurn, is_many: bool) -> Value {
    let stdout = turn.folder.join(files::STDOUT);
    let mut data = json!({"session": turn.session, "iteration": turn.effect.iteration,
        "attempt": turn.effect.attempt, "transcript": stdout});
    if let (Value::Object(map), true) = (&mut data, is_many) {
        map.insert("node".to_owned(), turn.effect.node.as_str().into());
    }
    data
}

/// Returns the loop rules of a run that is one looping session.
fn rules(state: &RunState) -> Option<&LoopRules> {
    state.spec.only_session().and_then(|(_, session_settings)| session_settings.rules.as_ref())
}

/// Returns the path of the loop's tracker. Without a path of its own it uses the engine's.
fn tracker(view: &RunView) -> Option<String> {
    const NAME: &str = "loop-tracker.md";
    let state = &view.state;
    let path = rules(state)?.tracker_path.as_deref()?;
    Some(match path {
        "" => {
            let kept = kept_tracker(&view.dir).join(NAME);
            let own = format!("{}/.windlass/runs/{}/{NAME}", state.spec.workspace, state.run);
            if kept.exists() { kept.display().to_string() } else { own }
        }
        path => path.to_owned(),
    })
}

/// All of it, for people.
pub(super) fn lines(screen: Terminal, handle: &Handle, details: &RunDetails) -> Vec<String> {
    let view = &details.view;
    let (state, spec) = (&view.state, &view.state.spec);
    let mut lines = vec![screen.paint(TextTone::Strong, &format!("run {}", view.run))];
    let limit = screen.limit();
    let mut fact =
        |name: &str, text: &str| lines.extend(fit::wrap(&format!("  {name:11} {text}"), FACT, limit));
    fact("status", &status(view));
    fact("workflow", &plain_line(&spec.workflow));
    if let Some(description) = &spec.description {
        fact("about", &plain_short(description, 400));
    }
    if let Some(fork) = &spec.fork_of {
        fact("origin", &words::fork(fork));
    }
    if let Some(parent) = &spec.parent {
        fact("part of", &format!("run {}, node {}", parent.run, plain_line(parent.node.as_str())));
    }
    fact("input", &plain_short(&spec.input, 400));
    if let Some((_, session_settings)) = spec.only_session() {
        let driver = &session_settings.driver;
        fact(
            "driver",
            &format!("{} ({})", plain_line(&driver.name), plain_line(&driver.command().join(" "))),
        );
    }
    fact("workspace", &plain_line(&spec.workspace));
    if let Some(own) = &spec.worktree {
        fact("branch", &plain_line(&own.branch));
        fact("started in", &plain_line(&own.checkout));
    }
    if let Some((_, session_settings)) = spec.only_session() {
        fact("isolation", session_settings.isolation.word());
    }
    if let Some(rules) = rules(state) {
        let most =
            if rules.max_iterations == 0 { "no limit".to_owned() } else { rules.max_iterations.to_string() };
        fact("mode", rules.mode.word());
        fact("iterations", &format!("{} finished of {most}", state.turns()));
    }
    if let Some(path) = tracker(view) {
        fact("tracker", &plain_line(&path));
    }
    fact("started", &words::date(state.begun()));
    let usage = &state.own_spent().usage;
    fact("spent", &format!("{}{}{}", words::tokens(usage), screen.dot(), words::cost(usage.cost())));
    fact("kept in", &plain_line(&view.dir.display().to_string()));
    if details.is_many() {
        lines.push("  nodes".to_owned());
        lines.extend(nodes::table(screen, state, words::now()));
    }
    let mut more = children(details);
    more.extend(artifacts(view));
    more.extend(answers("  answers", details, |_| true));
    more.extend(sessions("  sessions", &details.turns.iter().collect::<Vec<_>>(), details.is_many()));
    more.extend(changes(handle, view));
    let worktree = handle.worktree_of(spec).filter(|_| state.is_done());
    let worktree = worktree.map(|report| own_worktree::lines(&report)).unwrap_or_default();
    more.extend(worktree.iter().map(|line| format!("  {line}")));
    more.extend(last_words(state));
    more.extend(what_now(screen, handle, view));
    lines.extend(fit::wrap_all(&more, 2, limit));
    lines
}

/// Describes the status of the run and its reason.
fn status(view: &RunView) -> String {
    let state = &view.state;
    let standing = state.progress();
    if let Progress::Finished(outcome) = &standing {
        return words::outcome(&words::with_done(state, outcome));
    }
    let missing =
        view.absence(FolderCheck::Close).map(|why| words::missing_folder(&state.spec.workspace, why));
    if view.status.is_crashed() {
        let why = missing.unwrap_or_else(|| "its process is gone".to_owned());
        return format!("crashed (resumable): {why}");
    }
    let text = match standing {
        Progress::Waiting(Waiting::RateLimit { until }) => {
            format!("waiting for the usage limit to end at {}", words::clock(until))
        }
        Progress::Waiting(Waiting::Retry { until, what }) => {
            format!("waiting until {} to try again: {}", words::clock(until), plain_line(&what))
        }
        Progress::Waiting(Waiting::Time { until }) => format!("waiting until {}", words::clock(until)),
        Progress::Waiting(Waiting::Event { name }) => format!("waiting for the event {}", plain_line(&name)),
        Progress::Waiting(Waiting::Paused) => return "paused".to_owned(),
        Progress::Waiting(Waiting::Person(_)) | Progress::Running | Progress::Finished(_) => {
            view.status.word().to_owned()
        }
    };
    if state.bookkeeping.paused { format!("{text}; paused: no new nodes start") } else { text }
}

/// Lists the files that the run keeps.
fn artifacts(view: &RunView) -> Vec<String> {
    let kept = list_artifacts(&view.dir);
    if kept.is_empty() {
        return Vec::new();
    }
    let line = |file: &Artifact| {
        format!("    {}: {} bytes", plain_line(&file.path.display().to_string()), file.bytes)
    };
    let hidden = kept.len().saturating_sub(FILES);
    let folder = view.dir.join(ARTIFACTS);
    let mut lines = vec![format!("  artifacts in {}", plain_line(&folder.display().to_string()))];
    lines.extend(kept.iter().take(FILES).map(line));
    if hidden > 0 {
        lines.push(format!("    and {hidden} more"));
    }
    lines
}

fn children(details: &RunDetails) -> Vec<String> {
    if details.children.is_empty() {
        return Vec::new();
    }
    let line = |child: &super::ChildRun| {
        let (workflow, node) = (plain_line(&child.workflow), plain_line(child.node.as_str()));
        format!("    {}: {workflow}, started by {node}", child.run)
    };
    let mut lines = vec!["  runs it started".to_owned()];
    lines.extend(details.children.iter().map(line));
    lines
}

/// Lists the answers to requests of the run, each with its question.
pub(super) fn answers(
    title: &str,
    details: &RunDetails,
    is_meant: impl Fn(&GivenAnswer) -> bool,
) -> Vec<String> {
    let line = |given: &GivenAnswer| {
        let (asked, at) = (gist(&given.ask), words::date(given.at));
        [format!("    {asked}"), format!("      {at} {}", answered(given))]
    };
    let found: Vec<&GivenAnswer> = details.answers.iter().filter(|given| is_meant(given)).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let hidden = found.len().saturating_sub(ANSWERS);
    let mut lines = vec![title.to_owned()];
    lines.extend((hidden > 0).then(|| format!("    ... ({hidden} earlier ones: --json has them all)")));
    lines.extend(found.into_iter().skip(hidden).flat_map(line));
    lines
}

/// Lists the sessions and their transcripts.
pub(super) fn sessions(title: &str, turns: &[&ShownTurn], is_many: bool) -> Vec<String> {
    if turns.is_empty() {
        return Vec::new();
    }
    let line = |turn: &&ShownTurn| {
        let stdout = turn.folder.join(files::STDOUT);
        let (iteration, attempt) = (turn.effect.iteration, turn.effect.attempt);
        let node =
            if is_many { format!("{}, ", plain_line(turn.effect.node.as_str())) } else { String::new() };
        let again = if attempt > 1 { format!(", try {attempt}") } else { String::new() };
        let file = plain_line(&stdout.display().to_string());
        [format!("    {node}iteration {iteration}{again}: {}", turn.session), format!("      {file}")]
    };
    let mut lines = vec![title.to_owned()];
    lines.extend(turns.iter().flat_map(line));
    lines
}

fn changes(handle: &Handle, view: &RunView) -> Vec<String> {
    let changes = handle.changes(&view.run).ok().flatten().unwrap_or_default();
    if changes.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["  changed".to_owned()];
    lines.extend(changes.iter().map(|line| format!("    {}", plain(line.trim()))));
    lines
}

fn last_words(state: &RunState) -> Vec<String> {
    let Some(text) = state.bookkeeping.last_message.as_deref().filter(|text| !text.trim().is_empty()) else {
        return Vec::new();
    };
    let mut lines = vec!["  last message".to_owned()];
    let text = plain(text.trim());
    lines.extend(text.lines().take(20).map(|line| format!("    {}", shorten(line, LINE))));
    lines.extend(text.lines().nth(20).map(|_| "    ...".to_owned()));
    lines
}

/// Lists the commands that a person can or must use next.
fn what_now(screen: Terminal, handle: &Handle, view: &RunView) -> Vec<String> {
    let (state, run) = (&view.state, &view.run);
    if state.is_done() {
        return Vec::new();
    }
    let mut lines: Vec<String> = Vec::new();
    let family = handle.family(view);
    let asks = family.asks();
    for (run, ask) in &asks {
        let mut states = std::iter::once(family.root()).chain(family.below());
        let asking = states.find(|state| state.run == *run);
        let default = asking.and_then(|state| default_of(&state.spec, ask));
        let beside = OtherRequests::of(asks.len());
        let asked = describe_ask(run, ask, asker(&state.spec), beside, default);
        lines.extend(asked.iter().map(|line| screen.paint(TextTone::Careful, &format!("  {line}"))));
    }
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    for active in actives {
        if let Activity::Listen(ListenState { name }) = &active.activity {
            lines.push(format!("  send the event: windlass send {run} --event {}", plain_line(name)));
        }
    }
    if view.status.is_crashed() && view.absence(FolderCheck::Close).is_some() {
        lines.push(format!("  put the folder back, then continue the run: windlass resume {run}"));
    } else if view.status.is_crashed() || state.bookkeeping.paused {
        lines.push(format!("  continue the run: windlass resume {run}"));
    }
    lines
}
