//! `windlass send`: sends an event to a run that waits for it.

use serde_json::json;
use windlass_core::graph::workflow::{ListenNode, Node, NodeKind, WaitUntil};
use windlass_core::id::RunId;
use windlass_core::spec::Spec;
use windlass_runtime::view::Family;

use super::complete::{self, OfferedRuns};
use super::default_run::{self, DefaultRun};
use super::feed::{envelope, words};
use super::invocation::{Invocation, print, wait_for};
use super::report::{Report, note};
use super::sanitize::plain_line;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass send --event deployed            the newest run that is not over
  windlass send k3f9 --event deployed
  windlass send k3f9 --event review \"fine\"  the text becomes the node's output";

/// Send an event to a run that waits for it
///
/// If no node waits for the event yet, the run keeps it until one does. You can send an event to a
/// sub-run once that sub-run has started.
///
/// A single argument is the run; if it has blanks, it is the text for the newest run of this folder that is
/// not over.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[arg(value_name = "RUN", help = default_run::NEWEST_OPEN, add = complete::runs(OfferedRuns::Open))]
    run: Option<String>,

    /// Event to send, as the workflow names it: `wait: { event: NAME }`
    #[arg(long, value_name = "NAME")]
    event: String,

    /// Text of the event, which becomes the output of the node
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Returns the run and the text. No run has blanks in its id, so such a word is the text.
    fn words(&self) -> (Option<&str>, &str) {
        match (self.run.as_deref(), self.text.as_deref()) {
            (Some(word), None) if word.contains(char::is_whitespace) => (None, word),
            (run, text) => (run, text.unwrap_or_default()),
        }
    }
}

/// Runs `windlass send`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let handle = invocation.open_to_ask()?;
    let (named, text) = args.words();
    let run = default_run::choose(&invocation, &handle, named, DefaultRun::NewestOpen)?;
    let run = listener(&handle.family(&handle.view(&run)?), &args.event)?;
    wait_for(handle.tell(&run, &args.event, text))?;
    let is_owned = !handle.view(&run)?.status.is_crashed();
    if args.json {
        let data = json!({"event": args.event, "delivered": is_owned});
        return print(&[envelope("run.told", words::now(), Some(&run), data)]);
    }
    match is_owned {
        true => note(&format!("sent {} to run {run}", args.event)),
        false => note(&format!(
            "saved for run {run}, which has no live process: `windlass resume {run}` continues it"
        )),
    }
    Ok(Exit::Completed)
}

/// Finds the run with a node for the event: the named run, or a run that it started.
fn listener(family: &Family, event: &str) -> Result<RunId, Report> {
    let states = || std::iter::once(family.root()).chain(family.below());
    let mut known: Vec<String> = Vec::new();
    for state in states() {
        let events = events(&state.spec.body);
        if events.iter().any(|name| name == event) {
            return Ok(state.run.clone());
        }
        known.extend(events);
    }
    known.sort();
    known.dedup();
    let report = Report::usage(format!("no node of run {} waits for the event `{event}`", family.root().run));
    if let Some(name) = states().flat_map(|state| &state.spec.others).find_map(|other| later(other, event)) {
        return Err(report.hint(format!(
            "a run of `{}` will: send the event once that run has started",
            plain_line(name)
        )));
    }
    Err(match known.is_empty() {
        true => report.hint("its workflow waits for no events"),
        false => {
            let names: Vec<String> = known.iter().map(|name| plain_line(name)).collect();
            report.hint(format!("it waits for: {}", names.join(", ")))
        }
    })
}

/// Returns the name of the workflow if it has a node that waits for the event.
fn later<'a>((name, spec): (&'a String, &Spec), event: &str) -> Option<&'a String> {
    events(&spec.body).iter().any(|known| known == event).then_some(name)
}

/// Lists the events that nodes wait for.
fn events(body: &[Node]) -> Vec<String> {
    let mut names = Vec::new();
    for node in body {
        if let NodeKind::Wait(WaitUntil::Event(ListenNode { name, .. })) = &node.kind {
            names.push(name.clone());
        }
        names.extend(node.kind.blocks().iter().flat_map(|block| events(block.body)));
    }
    names
}
