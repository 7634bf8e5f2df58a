//! `windlass fork`: a new run from a point of another.

use std::num::NonZeroU32;

use serde_json::json;
use windlass_core::engine::ForkError;
use windlass_core::id::{NodeId, RunId};
use windlass_core::spec::{OnPermission, OnQuestion};
use windlass_runtime::handle::Handle;
use windlass_runtime::time_travel::{Fork, TravelError, WaitPolicy};

use super::feed::{Face, envelope, words};
use super::invocation::{Invocation, block_on, print, wait_for};
use super::report::{Report, note};
use super::run_flags::{wait_for_owner, words_of};
use super::sanitize::plain_line;
use super::watch::WatchFlags;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass fork k3f9 --at fix             a new run, from where `fix` first began
  windlass fork k3f9 --at fix:3           from the third time that it began
  windlass fork k3f9 --at loop:2 --detach     in a run of one session: from its second turn
  windlass fork k3f9 --at ok --on-question wait   where nobody could be asked before";

/// Begin a new run where a node of another run began
///
/// The new run has what the other did before as its past: no session of that is started again.
/// The other run stays as it is. The folder is taken as it is now: nothing that was done there
/// is undone.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run, or the beginning of its id
    #[arg(value_name = "RUN")]
    run: String,

    /// The node, and which of its times is meant, from 1; in a run of one session that is the turn
    #[arg(long, value_name = "NODE[:ITERATION]", value_parser = point)]
    at: ForkPoint,

    /// What a tool is told that the rules say to ask about; without it as in the other run, but a person
    /// who watches is asked
    #[arg(long, value_name = "ANSWER", value_parser = words_of(OnPermission::WORDS))]
    on_permission: Option<OnPermission>,

    /// What happens when something asks a question; without it as in the other run, but a person who
    /// watches is asked
    #[arg(long, value_name = "ANSWER", value_parser = words_of(OnQuestion::WORDS))]
    on_question: Option<OnQuestion>,

    /// Run in the background and print the new run's id
    #[arg(long, conflicts_with = "output_last_message")]
    detach: bool,

    #[command(flatten)]
    watch: WatchFlags,
}

/// A node, in one of its times.
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
        return Err("write it like NODE:2, for the second time that NODE began".to_owned());
    }
    if node.is_empty() {
        return Err("write it like NODE or NODE:2".to_owned());
    }
    Ok(ForkPoint { node: NodeId::new(node), iteration })
}

/// Forks it.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    args.watch.check()?;
    let handle = invocation.open(invocation.durability())?;
    let from = handle.find(&args.run)?;
    let ForkPoint { node, iteration } = &args.at;
    let asks = args.asks(&invocation);
    if args.detach {
        let fork = wait_for(handle.fork_detached(&from, node, *iteration, asks))?;
        wait_for_owner(&handle, &fork.run)?;
        return args.left(&handle, &from, &fork);
    }
    block_on(async {
        let (fork, running) = handle.fork(&from, node, *iteration, asks).await?;
        let mut face = args.watch.face(&invocation, &fork.run);
        if let Face::Json(lines) = &mut face {
            print(&[args.object(&from, &fork)])?;
            // What was decided then is told now.
            lines.not_before(words::now());
        } else {
            tell(&handle, &from, &fork);
        }
        args.watch.follow_as(&mut face, &invocation, &handle, running).await
    })
}

impl Args {
    /// Who can be asked.
    fn asks(&self, invocation: &Invocation) -> WaitPolicy {
        WaitPolicy {
            on_permission: self.on_permission,
            on_question: self.on_question,
            interactive: !self.detach && !self.watch.json && invocation.has_person(),
        }
    }

    /// Says what was left to the background.
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
            "taken": fork.taken, "of": fork.of});
        envelope("run.forked", words::now(), Some(&fork.run), data)
    }
}

/// What a fork is, said plainly.
fn tell(handle: &Handle, from: &RunId, fork: &Fork) {
    let Fork { run, taken, of } = fork;
    note(&match taken {
        0 => format!("run {run} begins anew with the orders of run {from}"),
        _ => format!(
            "run {run} goes on from record {taken} of the {of} of run {from}; that run stays as it is"
        ),
    });
    note("the folder is as it is now: nothing that was done there is undone");
    if handle.view(from).is_ok_and(|view| view.status.is_owned()) {
        note(&format!("run {from} goes on in the same folder"));
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
                    format!("`windlass show {run} --explain {node}` says why it never ran")
                }
                ForkError::InSession { node } => {
                    format!("fork it at its first turn: `windlass fork {run} --at {node}:1`")
                }
                ForkError::NotSoOften { .. } => format!("`windlass show {run}` says what ran"),
                ForkError::Busy { .. } => {
                    "the end of what was under way is not known there, and it would be done twice".to_owned()
                }
                ForkError::NoRun => "it was left as it is, and `windlass ps` still lists it".to_owned(),
            }),
            TravelError::NoFolder { .. } => {
                Report::usage(text).hint("put it back, or begin a new run with `windlass run`")
            }
            TravelError::NoTracker { .. } => {
                Report::usage(text).hint("put it back, or fork at an earlier point: it is made anew there")
            }
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
