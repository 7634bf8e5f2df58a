//! `windlass run`: runs a workflow on an input, or one session with a command, a skill or an agent.

use windlass_core::entity::EntityKind;
use windlass_runtime::plan::WantedWorkflow;

use super::complete;
use super::own_worktree;
use super::report::Report;
use super::run_flags::{RunFlags, WORK, jobs};
use super::sanitize::plain_line;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass run \"login flow on xyz.com\" --plugin ./e2e
  windlass run \"login flow\" --plugin ./e2e --workflow e2e --json
  windlass run \"login flow\" --workflow ./e2e.yaml
  windlass run \"login flow\" --workflow e2e --dry-run --all-ways
  windlass run - < task.md                  read the input from a file
  windlass run \"fix #12\" --check \"test=cargo test\" --timeout 2h
  windlass run \"login flow\" --plugin ./e2e -- --add-dir ../shared
  windlass run \"fix #12\" --worktree            leave this folder as it is
  windlass run --skill commit \"the parser\"  run one session with a skill
  windlass run --agent reviewer \"the last three commits\"";

/// Run a workflow on INPUT until it is done
///
/// Without --workflow, Windlass runs the workflow of the loaded plugins. If they have none, it runs the
/// built-in loop. With --skill, --command or --agent, it runs one session with that entity, and INPUT is the
/// arguments; `windlass entities` lists the entities.
///
/// The defaults below are the built-in settings; `windlass config show` shows yours.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Text to work on, used as it is; `-` reads standard input
    #[arg(value_name = "INPUT", allow_hyphen_values = true)]
    pub(crate) input: Option<String>,

    /// More arguments, for --skill, --command and --agent
    #[arg(value_name = "MORE")]
    more: Vec<String>,

    /// Run this workflow, or the workflow of a file [default: the workflow of the plugins, else the built-in
    /// loop]
    #[arg(long, value_name = "NAME|FILE", help_heading = WORK, add = complete::workflows())]
    workflow: Option<String>,

    /// Run one session with this skill
    #[arg(long, value_name = "NAME", group = "entity", conflicts_with = "workflow", help_heading = WORK,
        add = complete::entities(Some(EntityKind::Skill)))]
    skill: Option<String>,

    /// Run one session with this command
    #[arg(long, value_name = "NAME", group = "entity", conflicts_with = "workflow", help_heading = WORK,
        add = complete::entities(Some(EntityKind::Command)))]
    command: Option<String>,

    /// Run one session with this agent
    #[arg(long, value_name = "NAME", group = "entity", conflicts_with = "workflow", help_heading = WORK,
        add = complete::entities(Some(EntityKind::Agent)))]
    agent: Option<String>,

    /// Run up to N tasks of a task loop at once, each in its own worktree [default: as the workflow says]
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true, conflicts_with = "entity", help_heading = WORK)]
    jobs: Option<u32>,

    /// Work in a new git worktree, on a new branch or on BRANCH, and leave this folder as it is
    #[arg(long, value_name = "BRANCH", num_args = 0..=1, require_equals = true, default_missing_value = "",
        help_heading = WORK)]
    worktree: Option<String>,

    #[command(flatten)]
    pub(crate) flags: RunFlags,
}

impl Args {
    /// Returns the named entity, without a leading slash.
    fn entity(&self) -> Option<(EntityKind, &str)> {
        let named = [
            (EntityKind::Skill, &self.skill),
            (EntityKind::Command, &self.command),
            (EntityKind::Agent, &self.agent),
        ];
        let (kind, name) = named.into_iter().find_map(|(kind, name)| Some((kind, name.as_ref()?)))?;
        Some((kind, name.strip_prefix('/').unwrap_or(name)))
    }
}

impl Args {
    /// Joins the arguments. A single one is used as it is; of several, each stays one word.
    fn arguments(&self) -> String {
        let words: Vec<&String> = self.input.iter().chain(&self.more).collect();
        match words.as_slice() {
            [one] => (*one).clone(),
            several => several.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        }
    }
}

/// Quotes a word so that splitting the joined text gives back the same word.
fn quoted(word: &str) -> String {
    let is_special = |c: char| matches!(c, '"' | '\\');
    let is_split = word.is_empty() || word.contains(char::is_whitespace) || word.matches('\'').count() > 1;
    if !is_split && !word.contains(is_special) {
        return word.to_owned();
    }
    if word.contains(is_special) && !word.contains('\'') {
        return format!("'{word}'");
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Runs `windlass run`.
pub(crate) fn perform(mut args: Args) -> Result<Exit, Report> {
    args.flags.jobs = args.jobs;
    args.flags.worktree = args.worktree.clone().map(own_worktree::wanted);
    if args.input.is_none() && args.skill.is_none() && args.command.is_none() && args.workflow.is_none() {
        return Err(Report::usage("there is nothing to work on: INPUT is missing").hint(
            "say what to do, in quotes: windlass run \"fix the login\"; `-` reads it from standard input",
        ));
    }
    if let Some((kind, name)) = args.entity() {
        let want = WantedWorkflow::Entity { kind, name: name.to_owned() };
        return args.flags.carry_out(want, &args.arguments());
    }
    let input = args.input.clone().unwrap_or_default();
    let [] = args.more.as_slice() else {
        if input.starts_with("--") {
            return Err(Report::usage(format!("there is no flag `{}`", plain_line(&input)))
                .hint("`windlass run --help` lists the flags; put an INPUT of several words in quotes"));
        }
        if args.worktree.as_deref() == Some("") {
            return Err(Report::usage("INPUT must be a single argument")
                .hint("put it in quotes, and write a branch as --worktree=BRANCH"));
        }
        return Err(Report::usage("INPUT must be a single argument")
            .hint("put it in quotes: windlass run \"fix the login\""));
    };
    args.flags.carry_out(WantedWorkflow::Workflow(args.workflow), &input)
}
