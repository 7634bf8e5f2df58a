//! `windlass show`: everything about one run, in words or as a picture, and why its nodes ran.

mod explain;
mod facts;
mod graph;
mod nodes;

use windlass_core::effect::Effect;
use windlass_core::event::{Event, Record};
use windlass_core::id::{EffectId, NodeId, RunId, SessionId};
use windlass_runtime::view::RunView;

use super::draw::DrawFormat;
use super::invocation::{Invocation, print};
use super::report::Report;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass show k3f9
  windlass show k3f9 --json
  windlass show k3f9 --graph --format svg > k3f9.svg    how far each node is
  windlass show k3f9 --explain fix                      why that node ran, or did not
  windlass show k3f9 --explain fix@2                    the same of its second round";

/// Show everything about a run
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run, or the beginning of its id
    #[arg(value_name = "RUN")]
    run: String,

    /// Draw its workflow with how far each node is
    #[arg(long, conflicts_with = "explain")]
    graph: bool,

    /// How it is drawn
    #[arg(long, value_enum, default_value = "mermaid", requires = "graph")]
    format: DrawFormat,

    /// Say why a node ran or did not, and how it went
    #[arg(long, value_name = "NODE")]
    explain: Option<String>,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Shows it.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let handle = invocation.open_to_ask()?;
    let mut view = handle.view(&handle.find(&args.run)?)?;
    view.status = handle.family(&view).status(view.status);
    if args.graph {
        return print(&graph::lines(&view, args.format, args.json));
    }
    let records: Vec<Record> = handle.records(&view.run, 1)?.into_iter().map(|(_, record)| record).collect();
    let story = RunDetails::of(view, records.iter());
    if let Some(node) = &args.explain {
        return print(&explain::lines(invocation.screen, &story, &records, node, args.json)?);
    }
    print(&match args.json {
        true => vec![facts::object(&story)],
        false => facts::lines(invocation.screen, &handle, &story),
    })
}

/// A run, and what only its log tells.
struct RunDetails {
    view: RunView,
    turns: Vec<ShownTurn>,
    children: Vec<ChildRun>,
}

/// A turn's process.
struct ShownTurn {
    effect: EffectId,
    session: SessionId,
}

/// A run that was started from it.
struct ChildRun {
    run: RunId,
    node: NodeId,
    workflow: String,
}

impl RunDetails {
    fn of<'a>(view: RunView, records: impl Iterator<Item = &'a Record>) -> RunDetails {
        let mut story = RunDetails { view, turns: Vec::new(), children: Vec::new() };
        for record in records {
            story.add(record);
        }
        story
    }

    fn add(&mut self, record: &Record) {
        if let Event::SessionStarted { effect, session } = &record.event {
            // A turn that was adopted after a crash is told twice.
            if self.turns.iter().all(|turn| turn.effect != *effect) {
                self.turns.push(ShownTurn { effect: effect.clone(), session: session.clone() });
            }
        }
        for planned in &record.effects {
            if let Effect::StartRun { run, spec } = &planned.effect {
                let (run, node) = (run.clone(), planned.id.node.clone());
                self.children.push(ChildRun { run, node, workflow: spec.workflow.clone() });
            }
        }
    }

    /// Whether it is more than one session.
    fn is_many(&self) -> bool {
        self.view.state.spec.only_session().is_none()
    }
}
