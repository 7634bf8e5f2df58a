//! `windlass fork`: starts a new run from a node of another run.

use std::num::NonZeroU32;

use serde_json::json;
use windlass_core::engine::ForkError;
use windlass_core::id::{NodeId, RunId};
use windlass_core::spec::{OnPermission, OnQuestion};
use windlass_runtime::handle::{Beside, Handle};
use windlass_runtime::time_travel::{Fork, ForkDocument, ForkRequest, TravelError, WaitPolicy};

use super::complete::{self, OfferedRuns};
use super::default_run::{self, DefaultRun};
use super::feed::{Face, envelope, words};
use super::invocation::{Invocation, block_on, print, wait_for};
use super::report::{Report, note, warn};
use super::run_flags::{wait_for_owner, words_of};
use super::sanitize::plain_line;
use super::sim_script;
use super::watch::WatchFlags;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass fork k3f9 --at fix         start where `fix` first started
  windlass fork k3f9 --at fix:3       where it started for the third time
  windlass fork --at loop:2 --detach  a run of one session: its second turn
  windlass fork --at fix --with-document  use the document as it is now
  windlass fork k3f9 --at ok --on-question wait";

/// Start a new run from a node of another run
///
/// The new run takes over everything that the other run did before that node, and repeats none of it. The
/// other run does not change. The new run uses the folder as it is now: Windlass undoes nothing there.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[arg(value_name = "RUN", help = default_run::NEWEST, add = complete::runs(OfferedRuns::All))]
    run: Option<String>,

    /// Node to start from; `:3` means its third start (in a run of one session, its third turn) [default: 1]
    #[arg(long, value_name = "NODE[:ITERATION]", value_parser = point, add = complete::nodes())]
    at: ForkPoint,

    /// Use the workflow document as it is now [default: as the other run recorded it]
    #[arg(long)]
    with_document: bool,

    /// Start even if another run writes in the folder
    #[arg(long)]
    beside: bool,

    /// Answer to permission requests that no rule decides [default: ask you if you watch, else as in the
    /// other run]
    #[arg(long, value_name = "ANSWER", value_parser = words_of(OnPermission::WORDS))]
    on_permission: Option<OnPermission>,

    /// Answer to questions [default: ask you if you watch, else as in the other run]
    #[arg(long, value_name = "ANSWER", value_parser = words_of(OnQuestion::WORDS))]
    on_question: Option<OnQuestion>,

    /// Run in the background and print the new run's id
    #[arg(long, conflicts_with = "output_last_message")]
    detach: bool,

    #[command(flatten)]
    watch: WatchFlags,
}

/// A node and one of its starts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ForkPoint {
    node: NodeId,
    iteration: Option<u32>,
}

fn point(text: &str) -> Result<ForkPoint, String> {
    let (node, iteration) = match text.split_once(':') {
        None => (text, None),
        Some((node, iteration)) => {
            let iteration = iteration.parse::<NonZeroU32>();
            let iteration = iteration.map_err(|_| "write it like NODE:2, counted from 1".to_owned())?;
            (node, Some(iteration.get()))
        }
    };
    if node.contains('@') {
        return Err("write it like NODE:2, for the second time that NODE started".to_owned());
    }
    if node.is_empty() {
        return Err("write it like NODE or NODE:2".to_owned());
    }
    Ok(ForkPoint { node: NodeId::new(node), iteration })
}

/// Runs `windlass fork`.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    args.watch.check()?;
    let handle = invocation.open(invocation.durability())?;
    let from = default_run::choose(&invocation, &handle, args.run.as_deref(), DefaultRun::Newest)?;
    sim_script::check(&invocation, &handle.view(&from)?.state.spec)?;
    let request = args.request(&invocation, &from);
    if args.detach {
        let fork = wait_for(handle.fork_detached(request))?;
        wait_for_owner(&handle, &fork.run)?;
        return args.left(&handle, &from, &fork);
    }
    block_on(async {
        let (fork, running) = handle.fork(request).await?;
        let mut face = args.watch.face(&invocation, &fork.run);
        if let Face::Json(lines) = &mut face {
            print(&[args.object(&from, &fork)])?;
            // The feed repeats old decisions now, so their lines must not be older than this one.
            lines.not_before(words::now());
        } else {
            tell(&handle, &from, &fork);
        }
        args.watch.follow_as(&mut face, &invocation, &handle, running).await
    })
}

impl Args {
    fn request(&self, invocation: &Invocation, from: &RunId) -> ForkRequest {
        ForkRequest {
            from: from.clone(),
            node: self.at.node.clone(),
            iteration: self.at.iteration,
            asks: self.asks(invocation),
            beside: if self.beside { Beside::Allowed } else { Beside::Refused },
            with_document: self.with_document,
        }
    }

    /// Decides who answers the questions of the new run.
    fn asks(&self, invocation: &Invocation) -> WaitPolicy {
        WaitPolicy {
            on_permission: self.on_permission,
            on_question: self.on_question,
            interactive: !self.detach && !self.watch.json && invocation.has_person(),
            detached: self.detach,
        }
    }

    /// Reports the run that was started in the background.
    fn left(&self, handle: &Handle, from: &RunId, fork: &Fork) -> Result<Exit, Report> {
        if self.watch.json {
            return print(&[self.object(from, fork)]);
        }
        tell(handle, from, fork);
        note(&format!("running in the background; `windlass logs -f {}` follows it", fork.run));
        print(&[fork.run.to_string()])
    }

    fn object(&self, from: &RunId, fork: &Fork) -> String {
        let data = json!({"from": from, "node": self.at.node, "iteration": self.at.iteration.unwrap_or(1),
            "taken": fork.taken, "of": fork.of, "document": fork.document.word()});
        envelope("run.forked", words::now(), Some(&fork.run), data)
    }
}

/// Tells a person what the fork has from the other run, and what it does not undo.
fn tell(handle: &Handle, from: &RunId, fork: &Fork) {
    let Fork { run, taken, of, document } = fork;
    note(&match taken {
        0 => format!("run {run} starts over with the settings of run {from}"),
        _ => format!(
            "run {run} continues from record {taken} of {of} of run {from}; run {from} does not change"
        ),
    });
    note("the run uses the folder as it is now: Windlass undoes nothing there");
    match document {
        ForkDocument::Recorded => note(&format!("the run uses the workflow as run {from} recorded it")),
        ForkDocument::RecordedOther => {
            note(&format!("the run uses the workflow as run {from} recorded it"));
            warn("the workflow document has changed since; --with-document uses it as it is now");
        }
        ForkDocument::Current => note("the run uses the workflow document as it is now"),
    }
    if handle.view(from).is_ok_and(|view| view.status.is_owned()) {
        note(&format!("run {from} is still running in the same folder"));
    }
}

impl From<TravelError> for Report {
    fn from(error: TravelError) -> Report {
        let text = error.to_string();
        match error {
            TravelError::Run(error) => error.into(),
            TravelError::NoSuchNode { near, mut nodes, .. } => {
                nodes.sort();
                let nodes: Vec<String> = nodes.iter().map(|node| plain_line(node.as_str())).collect();
                let there = format!("there are: {}", nodes.join(", "));
                Report::usage(text).hint(match near {
                    Some(near) => format!("did you mean `{near}`? {there}"),
                    None => there,
                })
            }
            TravelError::Fork { run, why } => Report::usage(text).hint(match why {
                ForkError::NeverRan { node } => {
                    format!("`windlass show {run} --explain {node}` explains why it never ran")
                }
                ForkError::InSession { node } => {
                    format!("fork it at its first turn: `windlass fork {run} --at {node}:1`")
                }
                ForkError::NotSoOften { .. } => format!("`windlass show {run}` shows what ran"),
                ForkError::Busy { .. } => {
                    "at that point other nodes were in progress, and the fork would do them twice".to_owned()
                }
                ForkError::NoRun => "the run is unchanged, and `windlass ps` still lists it".to_owned(),
            }),
            TravelError::NoFolder { .. } => {
                Report::usage(text).hint("put it back, or start a new run with `windlass run`")
            }
            TravelError::NoRequest(run) => Report::usage(text).hint(format!(
                "leave --with-document out: `windlass fork {run}` then uses the recorded workflow"
            )),
            TravelError::Plan { error, .. } => (*error).into(),
            TravelError::OtherDocument { .. } => Report::usage(text)
                .hint("fork at an earlier node, or leave --with-document out to use the recorded workflow"),
            TravelError::NoTracker { .. } => Report::usage(text)
                .hint("put it back, or fork at an earlier point, where Windlass creates it"),
            TravelError::NoArtifacts { run, .. } => Report::usage(text).hint(format!(
                "`windlass show {run}` lists them; make them readable, and make sure that the disk has room"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_a_node_and_a_time() {
        let at = |node: &str, iteration| Ok(ForkPoint { node: NodeId::new(node), iteration });
        assert_eq!(point("fix"), at("fix", None));
        assert_eq!(point("fix:2"), at("fix", Some(2)));
        for wrong in ["", ":2", "fix:", "fix:0", "fix:x", "fix:-1", "fix:2:3"] {
            assert!(point(wrong).is_err(), "{wrong}");
        }
    }
}
