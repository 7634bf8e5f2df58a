//! `windlass tasks`: manages the list of tasks in `tasks.json`.
//!
//! [`show`] lists the tasks, [`edit`] changes them, [`check`] finds errors and draws the dependencies, and
//! [`run`] starts the workflow `tasks`, which does them.

mod check;
mod edit;
mod run;
mod show;

use std::path::PathBuf;

use windlass_core::tasks::{Priority, TaskId, TaskStatus};
use windlass_runtime::tasks::{LoadedTasks, TaskFilePath, TasksError, load, locate};
use windlass_runtime::user_error::UserError;

use super::command::Audience;
use super::complete;
use super::invocation::Invocation;
use super::report::{Report, tell};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass tasks init
  windlass tasks add \"Write the parser\" --priority 1
  windlass tasks add \"Write the printer\" --after 1
  windlass tasks list
  windlass tasks next          show which task is next, and why
  windlass tasks set 1 done
  windlass tasks run --jobs 3  let agents do them, three at once
  windlass tasks check         find cycles, unknown ids and other errors
  windlass tasks graph | tee tasks.mmd";

/// Manage a list of tasks and let agents do them
///
/// The tasks are in tasks.json. A task can depend on other tasks and have a priority.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: TasksCommand,
}

impl Args {
    /// Returns who may use the command. The agent that did a task may not declare it done.
    pub(crate) fn audience(&self) -> Audience {
        match &self.what {
            TasksCommand::Set { status: TaskStatus::Passing, .. } => {
                Audience::Person("say that a task is passing")
            }
            TasksCommand::Set { status: TaskStatus::Skipped, .. } => {
                Audience::Person("say that a task is skipped")
            }
            TasksCommand::Run(args) => args.flags.audience(),
            TasksCommand::Set { .. }
            | TasksCommand::Init { .. }
            | TasksCommand::List { .. }
            | TasksCommand::Add { .. }
            | TasksCommand::Next { .. }
            | TasksCommand::Check { .. }
            | TasksCommand::Graph { .. }
            | TasksCommand::Migrate { .. } => Audience::Anybody,
        }
    }

    /// Returns the argument that may be any text.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.what {
            TasksCommand::Add { name, .. } => Some(name),
            TasksCommand::Run(args) => Some(&args.input),
            _ => None,
        }
    }
}

#[derive(Debug, clap::Subcommand)]
enum TasksCommand {
    /// Create a tasks.json; never overwrites an existing one
    #[command(
        after_help = "Examples:\n  windlass tasks init\n  windlass tasks init --file research/tasks.json"
    )]
    Init {
        #[command(flatten)]
        of: Of,
    },
    /// List the tasks, their status and what each waits for
    #[command(after_help = "Examples:\n  windlass tasks list\n  windlass tasks list --json | jq -r .data.id")]
    List {
        #[command(flatten)]
        of: Of,
    },
    /// Add a task at the end of the file
    #[command(after_help = "Examples:\n  windlass tasks add \"Write the parser\"\n  \
        windlass tasks add \"Write the printer\" --after 1 --after 2 --priority 3")]
    Add {
        /// Name of the task: what to do, in a few words
        #[arg(value_name = "NAME", allow_hyphen_values = true)]
        name: String,

        /// Description of the task, for the agent [default: none]
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        description: Option<String>,

        /// Priority: lower numbers come first [default: none, which comes last]
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        priority: Option<Priority>,

        /// Task that must be done first (may be repeated) [default: none]
        #[arg(long, value_name = "ID", add = complete::tasks())]
        after: Vec<TaskId>,

        #[command(flatten)]
        of: Of,
    },
    /// Show the task that is next, and why; or why there is none
    #[command(after_help = "Examples:\n  windlass tasks next\n  windlass tasks next --json\n\n\
        The exit code is 8 if no task can start because of a deadlock.")]
    Next {
        #[command(flatten)]
        of: Of,
    },
    /// Set the status of a task: pending, in_progress, passing, failing or skipped
    #[command(after_help = "Examples:\n  windlass tasks set 3 passing\n  \
        windlass tasks set '#3' done       does the same\n  \
        windlass tasks set 4 skip          other tasks no longer wait for it")]
    Set {
        /// Id of the task
        #[arg(value_name = "ID", add = complete::tasks())]
        id: TaskId,

        /// New status; `done` means passing, `skip` means skipped
        #[arg(value_name = "STATUS", value_parser = status)]
        status: TaskStatus,

        #[command(flatten)]
        of: Of,
    },
    /// Let agents do the tasks, each as soon as its dependencies are done
    ///
    /// Runs the workflow `tasks`: the project's, else yours, else the built-in one.
    ///
    /// The defaults below are the built-in settings; `windlass config show` shows yours.
    #[command(after_help = "Examples:\n  windlass tasks run --check \"cargo test\"\n  \
        windlass tasks run --jobs 3 --detach\n  \
        windlass tasks run \"keep the public API as it is\" --file plan.json")]
    Run(Box<run::Args>),
    /// Check the file and report all errors
    #[command(
        after_help = "Examples:\n  windlass tasks check\n  windlass tasks check --file plan.json --json"
    )]
    Check {
        #[command(flatten)]
        of: Of,
    },
    /// Draw the tasks and their dependencies
    #[command(
        after_help = "Examples:\n  windlass tasks graph\n  windlass tasks graph --format dot | dot -Tsvg -o tasks.svg"
    )]
    Graph {
        /// Language of the drawing
        #[arg(long, value_name = "FORMAT", default_value = "mermaid")]
        format: TaskFormat,

        #[command(flatten)]
        of: Of,
    },
    /// Convert a feature-list.json or a prd.json to a tasks.json
    #[command(after_help = "Examples:\n  windlass tasks migrate research/feature-list.json\n  \
        windlass tasks migrate prd.json\n  \
        windlass tasks migrate features.json --out tasks.json")]
    Migrate {
        /// File to convert; it is not changed
        #[arg(value_name = "FILE")]
        from: PathBuf,

        /// File to write [default: tasks.json beside FILE]
        #[arg(long, value_name = "PATH")]
        out: Option<PathBuf>,

        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
}

/// The flags that most subcommands share.
#[derive(Debug, clap::Args)]
struct Of {
    /// Task file [default: tasks.json or research/tasks.json, in this folder or a folder above it]
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TaskFormat {
    Mermaid,
    Dot,
}

/// Runs `windlass tasks`.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    match args.what {
        TasksCommand::Init { of } => edit::init(&invocation, &of),
        TasksCommand::List { of } => show::list(&invocation, &of),
        TasksCommand::Add { name, description, priority, after, of } => {
            edit::add(&invocation, &of, edit::new_task(name, description, priority, after)?)
        }
        TasksCommand::Next { of } => show::next(&invocation, &of),
        TasksCommand::Set { id, status, of } => edit::set(&invocation, &of, id, status),
        TasksCommand::Run(args) => run::perform(&invocation, *args),
        TasksCommand::Check { of } => check::check(&invocation, &of),
        TasksCommand::Graph { format, of } => check::graph(&invocation, &of, format),
        TasksCommand::Migrate { from, out, json } => edit::migrate(&invocation, &from, out.as_deref(), json),
    }
}

fn status(written: &str) -> Result<TaskStatus, String> {
    let known = TaskStatus::ALL.map(TaskStatus::word).join(", ");
    TaskStatus::parse(written).ok_or_else(|| format!("it must be one of {known}"))
}

fn place(invocation: &Invocation, of: &Of) -> Result<TaskFilePath, Report> {
    locate(&invocation.cwd, of.file.as_deref()).map_err(report)
}

/// Loads the tasks and prints the warnings about the file.
fn loaded(invocation: &Invocation, of: &Of) -> Result<LoadedTasks, Report> {
    let loaded = load(&place(invocation, of)?).map_err(report)?;
    tell(&loaded.warnings);
    Ok(loaded)
}

fn report(error: TasksError) -> Report {
    UserError::from(error).into()
}
