//! `windlass loop`: runs the built-in loop on a prompt.

use windlass_runtime::plan::WantedWorkflow;

use super::own_worktree;
use super::report::Report;
use super::run_flags::{LIMITS, RunFlags, WORK};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass loop \"make the tests pass\" --check \"cargo test\"
  windlass loop \"port the parser\" --max-iterations 30 --mode in_session
  windlass loop - < prompt.md
  windlass loop \"fix what you find\" --until-signal COMPLETE
  WINDLASS_SIM_SCRIPT=demo.json windlass loop \"try it\" --driver sim";

/// Loop an agent on PROMPT until the work is done
///
/// The agent records its progress in a tracker file. The loop is done when the agent marks the tracker
/// complete and all checks pass.
///
/// The defaults below are the built-in settings; `windlass config show` shows yours.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Prompt for the agent, used as it is; `-` reads standard input
    #[arg(value_name = "PROMPT", allow_hyphen_values = true)]
    pub(crate) prompt: String,

    /// Use no tracker: the loop is done when the agent ends a turn with TEXT alone on a line and the checks
    /// pass
    #[arg(long, value_name = "TEXT", value_parser = signal, help_heading = LIMITS)]
    until_signal: Option<String>,

    /// Work in a new git worktree, on a new branch or on BRANCH, and leave this folder as it is
    #[arg(long, value_name = "BRANCH", num_args = 0..=1, require_equals = true, default_missing_value = "",
        help_heading = WORK)]
    worktree: Option<String>,

    #[command(flatten)]
    pub(super) flags: RunFlags,
}

/// Parses a signal: one line that is not empty.
fn signal(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it is empty".to_owned()),
        line if line.contains(['\n', '\r']) => Err("it must be one line".to_owned()),
        line => Ok(line.to_owned()),
    }
}

/// Runs `windlass loop`.
pub(crate) fn perform(mut args: Args) -> Result<Exit, Report> {
    args.flags.until_signal = args.until_signal;
    args.flags.worktree = args.worktree.map(own_worktree::wanted);
    args.flags.carry_out(WantedWorkflow::Loop, &args.prompt)
}
