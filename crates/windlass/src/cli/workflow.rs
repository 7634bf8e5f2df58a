//! `windlass workflow`: lists, shows, checks, tests, draws and creates workflows.

mod begin;
mod draw;
mod test;

use std::path::{Path, PathBuf};

use serde_json::json;
use windlass_runtime::catalog::{Catalog, Diagnostic, WorkflowEntry, catalog, catalog_with, check_workflow};
use windlass_runtime::new_file::NewFileScope;

use super::complete;
use super::draw::DrawFormat;
use super::feed::{envelope, words};
use super::fit;
use super::invocation::{Invocation, print};
use super::report::{Report, note, on_screen, tell};
use super::sanitize::{plain, plain_line};
use crate::exit::Exit;

/// The largest workflow file that is shown.
const FILE_MAX: u64 = 1 << 20;

const EXAMPLES: &str = "\
Examples:
  windlass workflow list --plugin ./e2e
  windlass workflow show e2e --plugin ./e2e
  windlass workflow check                      check all workflows
  windlass workflow check ./e2e/workflow.json  check one file
  windlass workflow test                       run the tests of the project
  windlass workflow new release                create a commented document
  windlass workflow eject loop                 copy it, to change it
  windlass workflow graph ./release.yaml       draw the workflow of a file
  windlass workflow graph release --format svg > release.svg
  windlass workflow schema > workflow.schema.json";

const EJECT: &str = "\
Examples:
  windlass workflow eject tasks                  copy it to .windlass/workflows
  windlass workflow eject loop --user            copy it for all projects
  windlass workflow eject ../other/release.yaml  copy the document of a file
  windlass workflow eject e2e --plugin ./e2e     translate a workflow.json";

/// List, show, check, test, draw and create workflows
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: WorkflowCommand,
}

#[derive(Debug, clap::Subcommand)]
enum WorkflowCommand {
    /// List the workflows of the plugins, of the project, your own, and the built-in ones
    List {
        #[command(flatten)]
        of: Of,
    },
    /// Show a workflow and its document
    Show {
        /// Workflow or file to show
        #[arg(value_name = "NAME|FILE", add = complete::workflows())]
        name: String,

        #[command(flatten)]
        of: Of,
    },
    /// Check workflows and report all errors
    Check {
        /// Workflow or file to check [default: all workflows]
        #[arg(value_name = "NAME|FILE", add = complete::workflows())]
        name: Option<String>,

        #[command(flatten)]
        of: Of,
    },
    /// Test workflows with stub results: starts no agent and no command
    #[command(after_help = test::EXAMPLES)]
    Test(test::Args),
    /// Draw a workflow
    Graph {
        /// Workflow or file to draw
        #[arg(value_name = "NAME|FILE", add = complete::workflows())]
        name: String,

        /// Language of the drawing [default: tree on a terminal, else mermaid]
        #[arg(long, value_enum)]
        format: Option<DrawFormat>,

        #[command(flatten)]
        of: Of,
    },
    /// Create a commented workflow document; never overwrites a file
    New {
        /// Name of the new workflow
        #[arg(value_name = "NAME")]
        name: String,

        /// Write it for all projects, beside your own workflows [default: into this project]
        #[arg(long)]
        user: bool,

        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Write a built-in workflow, a workflow.json or a file as a document in .windlass
    #[command(after_help = EJECT)]
    Eject {
        /// Workflow or file to write
        #[arg(value_name = "NAME|FILE", add = complete::workflows())]
        name: String,

        /// Write it for all projects, beside your own workflows [default: into this project]
        #[arg(long)]
        user: bool,

        #[command(flatten)]
        of: Of,
    },
    /// Print the JSON Schema of workflow documents, for editors
    Schema,
}

/// The flags that most subcommands share.
#[derive(Debug, clap::Args)]
struct Of {
    /// Also load the plugin in DIR (may be repeated)
    #[arg(long = "plugin", value_name = "DIR")]
    plugins: Vec<PathBuf>,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// Runs `windlass workflow`.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    match args.what {
        WorkflowCommand::List { of } => list(&invocation, &of),
        WorkflowCommand::Show { name, of } => show(&invocation, &name, &of),
        WorkflowCommand::Check { name, of } => check(&invocation, name.as_deref(), &of),
        WorkflowCommand::Test(args) => test::perform(&invocation, &args),
        WorkflowCommand::Graph { name, format, of } => draw::perform(&invocation, &name, format, &of),
        WorkflowCommand::New { name, user, json } => begin::new(&invocation, &name, scope(user), json),
        WorkflowCommand::Eject { name, user, of } => begin::eject(&invocation, &name, scope(user), &of),
        WorkflowCommand::Schema => begin::schema(),
    }
}

fn scope(is_user: bool) -> NewFileScope {
    if is_user { NewFileScope::User } else { NewFileScope::Project }
}

fn list(invocation: &Invocation, of: &Of) -> Result<Exit, Report> {
    let found = catalog(&invocation.home, &invocation.cwd, &of.plugins)?;
    tell_briefly(&found.problems, &invocation.cwd);
    let lines: Vec<String> = match of.json {
        true => found.workflows.iter().map(object).collect(),
        false => {
            let rows: Vec<[String; 3]> = found.workflows.iter().map(row).collect();
            fit::table(&rows, 2, invocation.screen.limit())
        }
    };
    let printed = print(&lines)?;
    Ok(if has_errors(&found.problems) { Exit::Configuration } else { printed })
}

/// Prints one line for each file with problems, and every problem that belongs to no file.
fn tell_briefly(problems: &[Diagnostic], cwd: &Path) {
    let (in_files, others): (Vec<Diagnostic>, Vec<Diagnostic>) =
        problems.iter().cloned().partition(|problem| problem.file.is_some());
    tell(&others);
    let mut files: Vec<&str> = in_files.iter().filter_map(|problem| problem.file.as_deref()).collect();
    files.sort_unstable();
    files.dedup();
    for file in &files {
        let its: Vec<&Diagnostic> = in_files.iter().filter(|problem| problem.is_in(file)).collect();
        let errors = its.iter().filter(|problem| problem.is_error()).count();
        let shown = Path::new(file).strip_prefix(cwd).unwrap_or(Path::new(file)).display().to_string();
        note(&format!("{}: {}", plain_line(&shown), tally(errors, its.len() - errors)));
    }
    if !files.is_empty() {
        note("`windlass workflow check` shows them");
    }
}

/// Counts errors and warnings, as in `2 errors, 1 warning`.
fn tally(errors: usize, warnings: usize) -> String {
    let counts = [(errors, "error"), (warnings, "warning")].into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| words::count(count as u64, word)).collect();
    counts.join(", ")
}

fn object(entry: &WorkflowEntry) -> String {
    let data = json!({
        "name": entry.name,
        "description": entry.description,
        "source": entry.source,
        "path": entry.path,
        "mode": entry.mode,
        "max_iterations": entry.max_iterations,
        "worst": entry.worst,
        "required_plugins": entry.required,
    });
    envelope("workflow", words::now(), None, data)
}

fn row(entry: &WorkflowEntry) -> [String; 3] {
    let about = entry.description.as_deref().unwrap_or_default();
    [&entry.name, &entry.source, about].map(plain_line)
}

fn show(invocation: &Invocation, name: &str, of: &Of) -> Result<Exit, Report> {
    let found = catalog_with(&invocation.home, &invocation.cwd, &of.plugins, Some(name))?;
    let entry = find(&found, name)?;
    tell(&found.problems);
    if of.json {
        return print(&[object(entry)]);
    }
    print(&describe(entry))
}

/// Finds a workflow by name. Otherwise reports its errors, or that it does not exist.
fn find<'a>(found: &'a Catalog, name: &str) -> Result<&'a WorkflowEntry, Report> {
    if let Some(problem) = found.broken_first(name, &found.problems) {
        return Err(problem.into());
    }
    if let Some(entry) = found.named(name)? {
        return Ok(entry);
    }
    let mistakes: Vec<String> = found.diagnostics(name).iter().map(on_screen).collect();
    if !mistakes.is_empty() {
        let text = format!("workflow `{name}` has errors\n\n{}", mistakes.join("\n\n"));
        return Err(Report::new(Exit::Configuration, text));
    }
    Err(found.missing(name, &found.problems).into())
}

fn describe(entry: &WorkflowEntry) -> Vec<String> {
    let most =
        if entry.max_iterations == 0 { "no limit".to_owned() } else { entry.max_iterations.to_string() };
    let mut lines = vec![format!("name        {}", plain_line(&entry.name))];
    lines.extend(entry.description.iter().map(|text| format!("about       {}", plain_line(text))));
    lines.push(format!("source      {}", plain_line(&entry.source)));
    lines.push(format!("mode        {}", plain_line(&entry.mode)));
    match &entry.worst {
        Some(worst) => lines.push(format!("turns       {}", plain_line(worst))),
        None => lines.push(format!("iterations  {most}")),
    }
    if !entry.required.is_empty() {
        lines.push(format!("needs       {}", plain_line(&entry.required.join(", "))));
    }
    let text = match &entry.path {
        Some(path) => {
            lines.push(format!("file        {}", plain_line(&path.display().to_string())));
            text_of(path)
        }
        None => entry.text().unwrap_or_default().to_owned(),
    };
    lines.push(String::new());
    lines.extend(plain(&text).lines().map(str::to_owned));
    lines
}

/// Reads the file. Returns nothing if it has grown too large since the catalog read it.
fn text_of(path: &std::path::Path) -> String {
    let is_small = std::fs::metadata(path).is_ok_and(|meta| meta.len() <= FILE_MAX);
    if !is_small {
        return String::new();
    }
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn check(invocation: &Invocation, name: Option<&str>, of: &Of) -> Result<Exit, Report> {
    let (names, problems) = check_workflow(&invocation.home, &invocation.cwd, &of.plugins, name)?;
    let failed = has_errors(&problems);
    if of.json {
        let mut lines: Vec<String> = problems.iter().map(diagnostic).collect();
        lines.push(envelope("checked", words::now(), None, json!({"workflows": names, "ok": !failed})));
        print(&lines)?;
    } else {
        tell(&problems);
        let ok: Vec<String> = names.iter().map(|name| format!("{}: ok", plain_line(name))).collect();
        print(if failed { &[] } else { &ok })?;
    }
    Ok(if failed { Exit::Configuration } else { Exit::Completed })
}

fn diagnostic(problem: &Diagnostic) -> String {
    envelope("diagnostic", words::now(), None, serde_json::to_value(problem).unwrap_or_default())
}

fn has_errors(problems: &[Diagnostic]) -> bool {
    problems.iter().any(Diagnostic::is_error)
}
