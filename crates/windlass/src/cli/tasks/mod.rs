//! `windlass tasks`: the list of things to do, in `tasks.json`.
//!
//! One file for looking ([`show`]), one for changing ([`edit`]), one for what is wrong and how it
//! hangs together ([`check`]). Running the tasks is the workflow `tasks`, which [`run`] begins.

mod check;
mod edit;
mod run;
mod show;

use std::path::PathBuf;

use windlass_core::tasks::{Priority, TaskId, TaskStatus};
use windlass_runtime::tasks::{LoadedTasks, TaskFilePath, TasksError, load, locate};
use windlass_runtime::user_error::UserError;

use super::command::Audience;
use super::invocation::Invocation;
use super::report::{Report, tell};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass tasks init
  windlass tasks add \"Write the parser\" --priority 1
  windlass tasks add \"Write the printer\" --after 1
  windlass tasks list
  windlass tasks next                            which one, and why
  windlass tasks set 1 done
  windlass tasks run --jobs 3                    let agents do them, three at once
  windlass tasks check                           cycles, unknown ids, what cannot be read
  windlass tasks graph | tee tasks.mmd";

/// Keep a list of tasks with an order: add, list, choose, run, check and draw them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: TasksCommand,
}

impl Args {
    /// Who may do it: that a task is done is not for the agent to say that did it.
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

    /// What may be any text.
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
    /// Begin a new tasks.json; one that is there is left as it is
    #[command(
        after_help = "Examples:\n  windlass tasks init\n  windlass tasks init --file research/tasks.json"
    )]
    Init {
        #[command(flatten)]
        of: Of,
    },
    /// The tasks, how far each is, and what it waits for
    #[command(after_help = "Examples:\n  windlass tasks list\n  windlass tasks list --json | jq -r .data.id")]
    List {
        #[command(flatten)]
        of: Of,
    },
    /// Add a task at the end of the file
    #[command(after_help = "Examples:\n  windlass tasks add \"Write the parser\"\n  \
        windlass tasks add \"Write the printer\" --after 1 --after 2 --priority 3")]
    Add {
        /// What is to be done, in a few words
        #[arg(value_name = "NAME", allow_hyphen_values = true)]
        name: String,

        /// What is to be done, at length
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        description: Option<String>,

        /// When it is its turn: lower comes first, none at all last
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        priority: Option<Priority>,

        /// The task that must be done before (may be repeated)
        #[arg(long, value_name = "ID")]
        after: Vec<TaskId>,

        #[command(flatten)]
        of: Of,
    },
    /// The task that would be chosen now, and why; or why none can be
    #[command(
        after_help = "Examples:\n  windlass tasks next\n  windlass tasks next --json\n\nA deadlock ends with 8."
    )]
    Next {
        #[command(flatten)]
        of: Of,
    },
    /// Say how far a task is: pending, in_progress, passing, failing or skipped
    #[command(
        after_help = "Examples:\n  windlass tasks set 3 passing\n  windlass tasks set '#3' done       the same\n  \
        windlass tasks set 4 skip          nobody waits for it any more"
    )]
    Set {
        /// The task
        #[arg(value_name = "ID")]
        id: TaskId,

        /// How far it is
        #[arg(value_name = "STATUS", value_parser = status)]
        status: TaskStatus,

        #[command(flatten)]
        of: Of,
    },
    /// Let agents do the tasks, each as soon as what it waits for is done
    ///
    /// Runs the workflow `tasks`: the project's or the user's own, else the built-in one.
    #[command(after_help = "Examples:\n  windlass tasks run --check \"cargo test\"\n  \
        windlass tasks run --jobs 3 --detach\n  \
        windlass tasks run \"keep the public API as it is\" --file plan.json")]
    Run(Box<run::Args>),
    /// Everything that is wrong with the file
    #[command(
        after_help = "Examples:\n  windlass tasks check\n  windlass tasks check --file plan.json --json"
    )]
    Check {
        #[command(flatten)]
        of: Of,
    },
    /// Draw which task waits for which
    #[command(
        after_help = "Examples:\n  windlass tasks graph\n  windlass tasks graph --format dot | dot -Tsvg -o tasks.svg"
    )]
    Graph {
        /// The language it is drawn in
        #[arg(long, value_name = "FORMAT", default_value = "mermaid")]
        format: TaskFormat,

        #[command(flatten)]
        of: Of,
    },
    /// Make a tasks.json out of a feature-list.json
    #[command(after_help = "Examples:\n  windlass tasks migrate research/feature-list.json\n  \
        windlass tasks migrate features.json --out tasks.json")]
    Migrate {
        /// The list of features
        #[arg(value_name = "FILE")]
        from: PathBuf,

        /// Where the tasks go; without it, tasks.json beside FILE
        #[arg(long, value_name = "PATH")]
        out: Option<PathBuf>,

        /// Print JSON, one object a line
        #[arg(long)]
        json: bool,
    },
}

/// Which file, and how it is shown.
#[derive(Debug, clap::Args)]
struct Of {
    /// The file; without it, tasks.json or research/tasks.json of this folder or of one above it
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TaskFormat {
    Mermaid,
    Dot,
}

/// Does it.
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

/// The tasks; what is odd about how they are written is said.
fn loaded(invocation: &Invocation, of: &Of) -> Result<LoadedTasks, Report> {
    let loaded = load(&place(invocation, of)?).map_err(report)?;
    tell(&loaded.warnings);
    Ok(loaded)
}

fn report(error: TasksError) -> Report {
    UserError::from(error).into()
}
