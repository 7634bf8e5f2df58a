//! `windlass approve`: a person's word on a tool the agent wants to use, or yes or no to an `ask` node.

use windlass_core::event::PersonReply;
use windlass_core::id::RunId;
use windlass_core::run::Ask;

use super::answer::{OpenRequest, open, tell};
use super::feed::{choice, choices, is_of_workflow};
use super::invocation::wait_for;
use super::report::Report;
use super::sanitize::plain_line;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass approve k3f9
  windlass approve k3f9 --deny \"not on this machine\"";

/// Let the agent of a run use the tool it asks for, or refuse it
///
/// An `ask` node takes it as yes or, with --deny, as no, where these are answers to it. One that takes any words is
/// told a reason with `windlass answer`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run, or the beginning of its id
    #[arg(value_name = "RUN")]
    run: String,

    /// Refuse it, and tell the agent why
    #[arg(long, value_name = "REASON")]
    deny: Option<String>,

    /// The hook call that is answered; needed where several wait
    #[arg(long, value_name = "HOOK")]
    to: Option<String>,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Leaves the word for the run.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let is_meant = |ask: &Ask| ask.tool.is_some() || is_of_workflow(ask);
    let OpenRequest { handle, run, ask } = open(&args.run, args.to)?.narrowed(is_meant).only()?;
    may_be_said(&run, &ask, args.deny.as_deref())?;
    let reply = match args.deny {
        Some(reason) => PersonReply::Reject { reason },
        None => PersonReply::Approve,
    };
    wait_for(handle.answer(&run, Some(ask.hook.clone()), reply))?;
    tell(&handle, &run, &ask, args.json)
}

/// A tool is allowed or refused; a node that asks takes that as yes or no, where it takes these.
fn may_be_said(run: &RunId, ask: &Ask, deny: Option<&str>) -> Result<(), Report> {
    if ask.tool.is_some() {
        return Ok(());
    }
    if !is_of_workflow(ask) {
        let report = Report::usage(format!("run {run} asks a question, not for a permission"));
        return Err(report.hint(format!("windlass answer {run} \"TEXT\"")));
    }
    let (word, choices) = (if deny.is_some() { "no" } else { "yes" }, choices(ask));
    if let Some(reason) = deny.filter(|reason| choices.is_empty() && !reason.trim().is_empty()) {
        // It would be told no, and nobody would hear why.
        let text = format!("run {run} asks for words: `no` would be the answer, and the reason lost");
        return Err(Report::usage(text).hint(format!("windlass answer {run} \"{}\"", plain_line(reason))));
    }
    if choices.is_empty() || choice(&choices, word).is_some() {
        return Ok(());
    }
    let names: Vec<String> = choices.iter().map(|choice| plain_line(choice)).collect();
    let first = names.first().cloned().unwrap_or_default();
    let text = format!("run {run} asks, and `{word}` is none of the choices: {}", names.join(", "));
    Err(Report::usage(text).hint(format!("windlass answer {run} \"{first}\"")))
}
