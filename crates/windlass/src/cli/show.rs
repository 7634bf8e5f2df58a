//! `windlass show`: shows one run, draws its workflow, or explains why a node ran.

mod explain;
mod facts;
mod graph;
mod nodes;

use std::collections::BTreeMap;
use std::path::PathBuf;

use windlass_core::effect::Effect;
use windlass_core::engine::explain::{GivenAnswer, answers};
use windlass_core::event::{Event, Record};
use windlass_core::id::{EffectId, NodeId, RunId, SessionId};
use windlass_runtime::handle::Handle;
use windlass_runtime::view::RunView;

use super::complete::{self, OfferedRuns};
use super::default_run::{self, DefaultRun};
use super::draw::DrawFormat;
use super::fit;
use super::invocation::{Invocation, print};
use super::report::Report;
use super::terminal::Terminal;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass show                       the newest run of this folder
  windlass show k3f9 --json
  windlass show k3f9 --graph --format svg > k3f9.svg
  windlass show k3f9 --explain fix    why a node ran, or did not
  windlass show k3f9 --explain fix@2  its second iteration";

/// Show a run: its state, nodes, sessions and open questions
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[arg(value_name = "RUN", help = default_run::NEWEST, add = complete::runs(OfferedRuns::All))]
    run: Option<String>,

    /// Draw the workflow with the progress of each node
    #[arg(long, conflicts_with = "explain")]
    graph: bool,

    /// Language of the drawing [default: tree on a terminal, else mermaid]
    #[arg(long, value_enum, requires = "graph")]
    format: Option<DrawFormat>,

    /// Explain why a node ran or did not, and how it ended
    #[arg(long, value_name = "NODE", add = complete::nodes())]
    explain: Option<String>,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// Runs `windlass show`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let handle = invocation.open_to_ask()?;
    let run = default_run::choose(&invocation, &handle, args.run.as_deref(), DefaultRun::Newest)?;
    let mut view = handle.view(&run)?;
    view.status = handle.family(&view).status(view.status);
    if args.graph {
        return print(&graph::lines(&view, args.format, Terminal::of(&invocation.home), args.json));
    }
    let records: Vec<Record> = handle.records(&view.run, 1)?.into_iter().map(|(_, record)| record).collect();
    let details = RunDetails::of(&handle, view, &records);
    if let Some(node) = &args.explain {
        let lines = explain::lines(invocation.screen, &details, &records, node, args.json)?;
        return print(&fit::wrap_all(&lines, 2, invocation.screen.limit().filter(|_| !args.json)));
    }
    print(&match args.json {
        true => vec![facts::object(&handle, &details)],
        false => facts::lines(invocation.screen, &handle, &details),
    })
}

/// A run, with facts that are only in its log.
struct RunDetails {
    view: RunView,
    turns: Vec<ShownTurn>,
    children: Vec<ChildRun>,
    /// The answers to its requests, in order.
    answers: Vec<GivenAnswer>,
    /// The last exit code of each command, by node.
    exit_codes: BTreeMap<NodeId, i32>,
}

/// A turn and its session.
struct ShownTurn {
    effect: EffectId,
    session: SessionId,
    /// The folder of the turn. A fork has the turns before its fork point from another run.
    folder: PathBuf,
}

/// A run that the shown run started.
struct ChildRun {
    run: RunId,
    node: NodeId,
    workflow: String,
}

impl RunDetails {
    fn of(handle: &Handle, view: RunView, records: &[Record]) -> RunDetails {
        let (turns, children, answers) = (Vec::new(), Vec::new(), answers(records));
        let mut details = RunDetails { view, turns, children, answers, exit_codes: BTreeMap::new() };
        for record in records {
            details.add(handle, record);
        }
        details
    }

    fn add(&mut self, handle: &Handle, record: &Record) {
        if let Event::SessionStarted { effect, session } = &record.event {
            // A turn that was adopted after a crash is recorded twice.
            if self.turns.iter().all(|turn| turn.effect != *effect) {
                let folder = handle.turn_folder(&self.view.run, effect);
                self.turns.push(ShownTurn { effect: effect.clone(), session: session.clone(), folder });
            }
        }
        if let Event::ShellEnded { effect, end } = &record.event {
            self.exit_codes.extend(end.exit_code().map(|code| (effect.node.in_workflow(), code)));
        }
        for planned in &record.effects {
            if let Effect::StartRun { run, spec, .. } = &planned.effect {
                let (run, node) = (run.clone(), planned.id.node.clone());
                self.children.push(ChildRun { run, node, workflow: spec.workflow.clone() });
            }
        }
    }

    /// Returns whether the run is more than one session.
    fn is_many(&self) -> bool {
        self.view.state.spec.only_session().is_none()
    }
}
