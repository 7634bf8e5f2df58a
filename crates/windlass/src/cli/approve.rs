//! `windlass approve`: allows or refuses a tool that an agent wants to use, or answers yes or no to an `ask`
//! node.

use windlass_core::event::PersonReply;
use windlass_core::id::RunId;
use windlass_core::run::Ask;
use windlass_runtime::person::AnswerWay;

use super::answer::{OpenRequest, open, tell};
use super::complete::{self, OfferedRuns};
use super::default_run;
use super::feed::{choice, choices, is_of_workflow};
use super::invocation::wait_for;
use super::report::Report;
use super::sanitize::plain_line;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass approve                 the run of this folder that waits for you
  windlass approve k3f9
  windlass approve k3f9 --deny \"not on this machine\"";

/// Allow or refuse the tool that a run asks for
///
/// Also answers an `ask` node that accepts yes or no: yes, or no with --deny. If the node accepts any text,
/// use `windlass answer` to give a reason.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[arg(value_name = "RUN", help = default_run::WAITING, add = complete::runs(OfferedRuns::Open))]
    run: Option<String>,

    /// Refuse the tool, and tell the agent why [default: allow it]
    #[arg(long, value_name = "REASON")]
    deny: Option<String>,

    /// Answer this request; needed if several are open
    #[arg(long, value_name = "HOOK")]
    to: Option<String>,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// Hands the decision to the run.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let is_meant = |ask: &Ask| ask.tool.is_some() || is_of_workflow(ask);
    let OpenRequest { handle, run, ask } =
        open(args.run.as_deref(), args.to, is_meant)?.narrowed(is_meant).only()?;
    may_be_said(&run, &ask, args.deny.as_deref())?;
    let reply = match args.deny {
        Some(reason) => PersonReply::Reject { reason },
        None => PersonReply::Approve,
    };
    wait_for(handle.answer(&run, Some(ask.hook.clone()), reply, AnswerWay::ApproveCommand))?;
    tell(&handle, &run, &ask, args.json)
}

/// Checks that the request is about a tool, or comes from an `ask` node that accepts yes or no.
fn may_be_said(run: &RunId, ask: &Ask, deny: Option<&str>) -> Result<(), Report> {
    if ask.tool.is_some() {
        return Ok(());
    }
    if !is_of_workflow(ask) {
        let report = Report::usage(format!("run {run} waits for an answer, not for a permission"));
        return Err(report.hint(format!("windlass answer {run} \"TEXT\"")));
    }
    let (word, choices) = (if deny.is_some() { "no" } else { "yes" }, choices(ask));
    if let Some(reason) = deny.filter(|reason| choices.is_empty() && !reason.trim().is_empty()) {
        // The node would receive only `no`.
        let text =
            format!("run {run} asks for text: the answer would be `no`, and your reason would be lost");
        return Err(Report::usage(text).hint(format!("windlass answer {run} \"{}\"", plain_line(reason))));
    }
    if choices.is_empty() || choice(&choices, word).is_some() {
        return Ok(());
    }
    let names: Vec<String> = choices.iter().map(|choice| plain_line(choice)).collect();
    let first = names.first().cloned().unwrap_or_default();
    let text = format!("`{word}` is not one of the choices of run {run}: {}", names.join(", "));
    Err(Report::usage(text).hint(format!("windlass answer {run} \"{first}\"")))
}
