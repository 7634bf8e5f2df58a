//! `windlass approve`: a person's word on a tool the agent wants to use.

use windlass_core::event::PersonReply;

use super::answer::{Waits, tell, waiting};
use super::report::Report;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass approve k3f9
  windlass approve k3f9 --deny \"not on this machine\"";

/// Let the agent of a run use the tool it asks for, or refuse it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run, or the beginning of its id
    #[arg(value_name = "RUN")]
    run: String,

    /// Refuse it, and tell the agent why
    #[arg(long, value_name = "REASON")]
    deny: Option<String>,

    /// The hook call that is answered; without it, the oldest that waits
    #[arg(long, value_name = "HOOK")]
    to: Option<String>,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Leaves the word for the run.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let Waits { handle, run, ask } = waiting(&args.run, args.to)?;
    if ask.tool.is_none() {
        let report = Report::usage(format!("run {run} asks a question, not for a permission"));
        return Err(report.hint(format!("windlass answer {run} \"TEXT\"")));
    }
    let reply = match args.deny {
        Some(reason) => PersonReply::Reject { reason },
        None => PersonReply::Approve,
    };
    handle.answer(&run, Some(ask.hook), reply)?;
    tell(&handle, &run, args.json)
}
