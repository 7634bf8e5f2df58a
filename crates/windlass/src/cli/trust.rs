//! `windlass trust`: shows the rights that a repository asks for, and lets a person trust them.

use std::io::BufRead;
use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_runtime::trust::{
    ReplacingWorkflow, RequestedRight, TrustReview, TrustedProject, WorkflowText, review, revoke,
    trusted_projects,
};

use super::feed::{envelope, rfc3339, words};
use super::invocation::{Invocation, print};
use super::keyboard::{Echo, Keyboard};
use super::report::{Report, ask, note};
use super::sanitize::{plain, plain_line};
use super::terminal::TextTone;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass trust                  show what this repository asks for, then ask
  windlass trust --yes            trust it without a question, in a script
  windlass trust --json           show whether it is trusted; exit 5 if not
  windlass trust --list           list the repositories that you trust
  windlass trust --revoke         trust this repository no longer";

/// Show the rights that a repository asks for, and trust them
///
/// Settings in .windlass/config.toml that widen what an agent may do, or that make something run by itself,
/// have no effect until you trust them. The same holds for a workflow in .windlass/workflows that
/// `windlass tasks run` would use in place of the built-in one. Windlass remembers exactly these values and
/// texts: if one of them changes, it asks again.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder of the repository [default: the current folder]
    #[arg(value_name = "DIR", conflicts_with = "list")]
    dir: Option<PathBuf>,

    /// Trust it without asking
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    yes: bool,

    /// List the repositories that you trust
    #[arg(long, conflicts_with = "revoke")]
    list: bool,

    /// Trust the repository no longer
    #[arg(long)]
    revoke: bool,

    /// Print JSON, one object per line; never asks
    #[arg(long)]
    json: bool,
}

/// Runs `windlass trust`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    if args.list {
        return list(&invocation, args.json);
    }
    let dir = args.dir.as_ref().map_or_else(|| invocation.cwd.clone(), |dir| invocation.cwd.join(dir));
    if args.revoke {
        return take_back(&invocation, &dir, args.json);
    }
    if !dir.is_dir() {
        return Err(Report::usage(format!("{} is not a folder", dir.display())));
    }
    let mut review = review(&invocation.home, &dir)?;
    if args.json {
        if args.yes {
            review.grant(&invocation.home)?;
        }
        return Ok(ended(&review, print(&[object(&review)])?));
    }
    let printed = print(&lines(&invocation, &review))?;
    if review.is_trusted() {
        return Ok(printed);
    }
    if !args.yes && !invocation.has_terminal() {
        note("not trusted: use a terminal to be asked, or `windlass trust --yes`");
        return Ok(Exit::Refused);
    }
    if !args.yes && !is_confirmed() {
        note("not trusted: Windlass leaves it out");
        return Ok(Exit::Refused);
    }
    review.grant(&invocation.home)?;
    note("trusted until it changes; `windlass trust --revoke` takes it back");
    Ok(printed)
}

/// Trusts what the repository of the current folder asks for, before a run.
pub(super) fn trust_now(invocation: &Invocation) -> Result<(), Report> {
    let mut review = review(&invocation.home, &invocation.cwd)?;
    if review.is_trusted() {
        return Ok(());
    }
    review.grant(&invocation.home)?;
    for request in &review.requests {
        note(&format!("trusted: {}", setting(request)));
    }
    for workflow in &review.workflows {
        let files: Vec<String> = workflow.files.iter().map(shown_file).collect();
        note(&format!("trusted: workflow {} ({})", workflow.name, files.join(", ")));
    }
    Ok(())
}

fn ended(review: &TrustReview, printed: Exit) -> Exit {
    if review.is_trusted() { printed } else { Exit::Refused }
}

/// Asks on the terminal. Only `y` and `yes` mean yes.
fn is_confirmed() -> bool {
    // Text that somebody typed or pasted before the question is no answer to it.
    Keyboard::of_stdin(Echo::Terminal).forget();
    ask("Trust this? [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Returns the whole value: nobody should trust what is not shown.
fn setting(request: &RequestedRight) -> String {
    plain_line(&format!("{} = {}", request.key, request.value))
}

fn lines(invocation: &Invocation, review: &TrustReview) -> Vec<String> {
    let state = |is_trusted: bool| match is_trusted {
        true => invocation.screen.paint(TextTone::Good, "trusted"),
        false => invocation.screen.paint(TextTone::Careful, "not trusted"),
    };
    let mut lines = Vec::new();
    if let Some(file) = review.file.as_ref().filter(|_| !review.requests.is_empty()) {
        let file = plain_line(&file.display().to_string());
        lines.push(format!("{}: {file}", state(review.are_settings_trusted)));
    }
    for request in &review.requests {
        lines.push(format!("  {}", setting(request)));
        lines.push(format!("    line {}: {}", request.line, request.why));
        lines.extend(request.runs.iter().map(|run| format!("    runs: {}", plain_line(run))));
    }
    for workflow in &review.workflows {
        let name = plain_line(&workflow.name);
        lines.push(format!("{}: workflow {name}: {}", state(workflow.is_trusted), workflow.why));
        for part in &workflow.files {
            lines.push(format!("  {}", shown_file(part)));
            lines.extend(plain(&part.text).lines().map(|line| format!("    {line}")));
        }
    }
    if lines.is_empty() {
        let project = plain_line(&review.project.display().to_string());
        lines.push(format!("nothing to trust: {project} asks for no rights"));
    }
    lines
}

fn shown_file(part: &WorkflowText) -> String {
    plain_line(&part.file.display().to_string())
}

fn object(review: &TrustReview) -> String {
    let setting = |request: &RequestedRight| -> Value {
        json!({
            "key": request.key, "value": request.value, "line": request.line,
            "why": request.why, "runs": request.runs,
        })
    };
    let file = |part: &WorkflowText| json!({"file": part.file, "text": part.text});
    let workflow = |workflow: &ReplacingWorkflow| -> Value {
        json!({
            "name": workflow.name, "trusted": workflow.is_trusted, "why": workflow.why,
            "files": workflow.files.iter().map(file).collect::<Vec<_>>(),
        })
    };
    let data = json!({
        "project": review.project,
        "file": review.file,
        "trusted": review.is_trusted(),
        "settings": review.requests.iter().map(setting).collect::<Vec<_>>(),
        "workflows": review.workflows.iter().map(workflow).collect::<Vec<_>>(),
    });
    envelope("trust", words::now(), None, data)
}

fn take_back(invocation: &Invocation, dir: &std::path::Path, json: bool) -> Result<Exit, Report> {
    let was_trusted = revoke(&invocation.home, dir)?;
    if json {
        let data = json!({"project": dir, "was_trusted": was_trusted});
        return print(&[envelope("trust.revoked", words::now(), None, data)]);
    }
    let shown = plain_line(&dir.display().to_string());
    let text = match was_trusted {
        true => format!("not trusted any more: {shown}"),
        false => format!("was not trusted: {shown}"),
    };
    print(&[text])
}

fn list(invocation: &Invocation, json: bool) -> Result<Exit, Report> {
    let projects = trusted_projects(&invocation.home)?;
    if projects.is_empty() && !json {
        note("you trust no repository");
    }
    let lines: Vec<String> = match json {
        true => projects.iter().map(listed_object).collect(),
        false => projects.iter().flat_map(listed).collect(),
    };
    print(&lines)
}

fn listed(project: &TrustedProject) -> Vec<String> {
    let path = plain_line(&project.project.display().to_string());
    let mut lines = vec![format!("{:9} {path}", project.state.word())];
    let setting = |(key, value): &(String, String)| plain_line(&format!("{key} = {value}"));
    lines.extend(project.settings.iter().map(|pair| format!("  {}", setting(pair))));
    lines
}

fn listed_object(project: &TrustedProject) -> String {
    let setting = |(key, value): &(String, String)| json!({"key": key, "value": value});
    let data = json!({
        "project": project.project,
        "state": project.state.word(),
        "trusted_at": rfc3339(project.at),
        "settings": project.settings.iter().map(setting).collect::<Vec<_>>(),
    });
    envelope("trust.project", words::now(), None, data)
}
