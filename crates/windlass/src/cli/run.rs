//! `windlass run`: a workflow on an input.

use windlass_runtime::plan::Want;

use super::orders::Orders;
use super::report::Report;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass run \"login flow on xyz.com\" --plugin ./e2e
  windlass run \"login flow\" --plugin ./e2e --workflow e2e --json
  windlass run - < task.md                        the input from a file
  windlass run \"fix #12\" --check \"test=cargo test\" --timeout 2h
  windlass run \"login flow\" --plugin ./e2e -- --add-dir ../shared";

/// Run a workflow on INPUT until it is done
///
/// Without --workflow, the one workflow that the loaded plugins bring is run; without any, the
/// built-in loop.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to work on, taken as it is; `-` reads standard input
    #[arg(value_name = "INPUT", allow_hyphen_values = true)]
    pub(crate) input: String,

    /// The workflow to run
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,

    #[command(flatten)]
    pub(crate) orders: Orders,
}

/// Runs it.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    args.orders.carry_out(Want::Workflow(args.workflow), &args.input)
}
