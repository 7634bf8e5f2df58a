//! The verbs of the command line: parses the arguments and runs one verb.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use windlass_runtime::{adopt_orphans, end_all_adopted};

use super::help::show;
use super::invocation::Invocation;
use super::report::{Report, warn};
use super::sanitize::plain;
use super::{
    answer, approve, attach, cancel, complete, completions, config, demo, diff, doctor, entities, export,
    fast_help, fork, gc, help, hint, logs, r#loop, mistake, overview, pause, plugin, ps, replay, resume, run,
    send, show, sim, tasks, trust, typo, undo, workflow,
};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass demo                              see a loop with nothing installed
  windlass loop \"make the tests pass\" --check \"cargo test\"
  windlass run \"login flow\" --plugin ./e2e   run the workflow of a plugin
  windlass ps                                list running and resumable runs
  windlass resume                            continue after Ctrl-C or a crash

`windlass help COMMAND` explains a command, with examples.

Exit codes:
  0 completed    3 configuration      6 timeout           9 exhausted
  1 unexpected   4 agent failed       7 output failed   130 interrupted
  2 usage        5 refused by policy  8 blocked";

/// The help of `windlass` itself. clap cannot group subcommands, so the groups are written out here.
/// A test compares every line with the summary of its verb.
const HELP: &str = "\
{about-with-newline}
{usage-heading} {usage}

Start work:
  run          Run a workflow on INPUT until it is done
  loop         Loop an agent on PROMPT until the work is done
  tasks        Manage a list of tasks and let agents do them
  demo         Play a whole loop in a temporary repository; needs no agent

Watch runs:
  ps           List runs, newest first
  show         Show a run: its state, nodes, sessions and open questions
  logs         Show what happened in a run
  export       Write a run as JSON Lines, Markdown or an OpenTelemetry trace
  diff         Show what a turn or a run changed
  attach       Return to the feed and the questions of a run in the background

Control runs:
  answer       Answer a question that a run asks
  approve      Allow or refuse the tool that a run asks for
  send         Send an event to a run that waits for it
  pause        Finish the sessions in progress and start nothing new
  resume       Continue a run that was interrupted, paused or not completed
  cancel       Stop a run and everything it started
  undo         Bring the files back to how they were before a run
  fork         Start a new run from a node of another run
  replay       Repeat the decisions of a run without an agent, and compare them

Manage files and settings:
  workflow     List, show, check, test, draw and create workflows
  entities     List, show, check and copy commands, skills and agents
  plugin       List the loaded plugins
  hint         Show the arguments of a command, skill, agent or verb
  config       Show the settings and where each comes from
  trust        Show the rights that a repository asks for, and trust them
  doctor       Check which agent CLIs are installed and what each can do
  gc           Remove old runs, and worktrees and branches that have landed
  sim          Play a script as an agent, without a model
  completions  Print a completion script for a shell

Options:
{options}{after-help}";

/// Run coding agents in loops until the work is proven done; no crash loses a step
#[derive(Debug, Parser)]
#[command(name = "windlass", version, after_help = EXAMPLES, disable_help_subcommand = true)]
#[command(max_term_width = 80, help_template = HELP)]
pub(crate) struct Windlass {
    #[command(subcommand)]
    verb: CliCommand,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    Run(run::Args),
    Loop(r#loop::Args),
    Resume(resume::Args),
    Ps(ps::Args),
    Show(show::Args),
    Logs(logs::Args),
    Export(export::Args),
    Attach(attach::Args),
    Diff(diff::Args),
    Answer(answer::Args),
    Approve(approve::Args),
    Send(send::Args),
    Pause(pause::Args),
    Cancel(cancel::Args),
    Undo(undo::Args),
    Replay(replay::Args),
    Fork(fork::Args),
    Workflow(workflow::Args),
    Tasks(tasks::Args),
    Entities(entities::Args),
    Hint(hint::Args),
    Plugin(plugin::Args),
    Config(config::Args),
    Trust(trust::Args),
    Doctor(doctor::Args),
    Gc(gc::Args),
    Demo(demo::Args),
    Completions(completions::Args),
    Sim(sim::Args),
    #[command(hide = true)]
    Help(help::Args),
    #[command(hide = true)]
    Version(help::VersionArgs),
}

impl CliCommand {
    /// Returns the text to work on, for the verbs that take any text.
    fn text(&self) -> Option<&str> {
        match self {
            CliCommand::Run(args) => args.input.as_deref(),
            CliCommand::Loop(args) => Some(&args.prompt),
            CliCommand::Tasks(args) => args.text(),
            CliCommand::Answer(args) => args.text(),
            _ => None,
        }
    }
}

/// The words for trusting, after "only a person may".
pub(super) const TRUST: &str = "trust the settings of a repository";

/// The people and programs that may use a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// A person, or an agent in its session.
    Anybody,
    /// Only a person may do this. Windlass refuses every process below the session of a run.
    Person(&'static str),
}

impl CliCommand {
    /// Returns who may use the verb. A verb that decides about a run for a person is for people only.
    /// The match names every verb, so that no new verb is forgotten.
    fn audience(&self) -> Audience {
        match self {
            CliCommand::Answer(_) | CliCommand::Approve(_) => Audience::Person("answer"),
            CliCommand::Send(_) => Audience::Person("tell a run what happened"),
            CliCommand::Resume(_) => Audience::Person("resume a run"),
            CliCommand::Attach(_) => Audience::Person("attach to a run"),
            CliCommand::Pause(_) => Audience::Person("pause a run"),
            CliCommand::Cancel(_) => Audience::Person("cancel a run"),
            CliCommand::Fork(_) => Audience::Person("fork a run"),
            CliCommand::Trust(_) => Audience::Person(TRUST),
            CliCommand::Undo(_) => Audience::Person("undo a run"),
            CliCommand::Gc(_) => Audience::Person("remove runs"),
            CliCommand::Run(args) => args.flags.audience(),
            CliCommand::Loop(args) => args.flags.audience(),
            CliCommand::Tasks(args) => args.audience(),
            CliCommand::Ps(_)
            | CliCommand::Show(_)
            | CliCommand::Logs(_)
            | CliCommand::Export(_)
            | CliCommand::Diff(_)
            | CliCommand::Replay(_)
            | CliCommand::Workflow(_)
            | CliCommand::Entities(_)
            | CliCommand::Hint(_)
            | CliCommand::Plugin(_)
            | CliCommand::Config(_)
            | CliCommand::Doctor(_)
            | CliCommand::Demo(_)
            | CliCommand::Completions(_)
            | CliCommand::Sim(_)
            | CliCommand::Help(_)
            | CliCommand::Version(_) => Audience::Anybody,
        }
    }
}

/// Parses the arguments and runs the verb.
pub(crate) fn main() -> ExitCode {
    if let Some(text) = fast_help::answer() {
        return show(text).unwrap_or_else(|report| report.print()).into();
    }
    complete::answer();
    parse_and_perform().unwrap_or_else(|report| report.print()).into()
}

fn parse_and_perform() -> Result<Exit, Report> {
    let words: Vec<OsString> = std::env::args_os().collect();
    if words.len() < 2 {
        return overview::perform();
    }
    match Windlass::try_parse_from(&words) {
        Ok(typed) => match typed.verb.text().and_then(|text| typo::mistyped(text, &words)) {
            Some(error) => explain(&error, &words),
            None => perform(typed.verb),
        },
        Err(error) => explain(&typo::mistyped_before(error, &words), &words),
    }
}

/// Returns the clap definition of the whole command line.
pub(crate) fn grammar() -> clap::Command {
    Windlass::command()
}

fn perform(verb: CliCommand) -> Result<Exit, Report> {
    if let Audience::Person(what) = verb.audience() {
        Invocation::look()?.refuse_agents(what)?;
    }
    adopt_orphans();
    let done = run_command(verb);
    if let Some(text) = windlass_runtime::notify::warning() {
        warn(&text);
    }
    // A git hook that one of our git commands ran may have left processes behind.
    end_all_adopted();
    done
}

fn run_command(verb: CliCommand) -> Result<Exit, Report> {
    match verb {
        CliCommand::Run(args) => run::perform(args),
        CliCommand::Loop(args) => r#loop::perform(args),
        CliCommand::Resume(args) => resume::perform(args),
        CliCommand::Attach(args) => attach::perform(&args),
        CliCommand::Ps(args) => ps::perform(&args),
        CliCommand::Show(args) => show::perform(&args),
        CliCommand::Logs(args) => logs::perform(&args),
        CliCommand::Export(args) => export::perform(&args),
        CliCommand::Diff(args) => diff::perform(&args),
        CliCommand::Answer(args) => answer::perform(args),
        CliCommand::Approve(args) => approve::perform(args),
        CliCommand::Send(args) => send::perform(&args),
        CliCommand::Pause(args) => pause::perform(&args),
        CliCommand::Cancel(args) => cancel::perform(&args),
        CliCommand::Undo(args) => undo::perform(&args),
        CliCommand::Replay(args) => replay::perform(&args),
        CliCommand::Fork(args) => fork::perform(args),
        CliCommand::Workflow(args) => workflow::perform(args),
        CliCommand::Tasks(args) => tasks::perform(args),
        CliCommand::Entities(args) => entities::perform(args),
        CliCommand::Hint(args) => hint::perform(&args),
        CliCommand::Plugin(args) => plugin::perform(args),
        CliCommand::Config(args) => config::perform(args),
        CliCommand::Trust(args) => trust::perform(&args),
        CliCommand::Doctor(args) => doctor::perform(&args),
        CliCommand::Gc(args) => gc::perform(&args),
        CliCommand::Demo(args) => demo::perform(&args),
        CliCommand::Completions(args) => completions::perform(&args),
        CliCommand::Sim(args) => sim::perform(&args),
        CliCommand::Help(args) => help::perform(&args),
        CliCommand::Version(_) => help::version(),
    }
}

/// Prints clap's help and version to standard output. Turns its errors into our own. The text may quote escape
/// sequences that somebody typed.
fn explain(error: &clap::Error, words: &[OsString]) -> Result<Exit, Report> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => show(&plain(&error.render().to_string())),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            super::report::note(plain(&error.render().to_string()).trim_end());
            Ok(Exit::Usage)
        }
        _ => Err(mistake::report(error, words)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_has_no_mistake() {
        grammar().debug_assert();
    }

    #[test]
    fn the_groups_name_every_verb_with_its_summary() {
        let commands = grammar();
        let shown: Vec<&clap::Command> =
            commands.get_subcommands().filter(|verb| !verb.is_hide_set()).collect();
        for verb in &shown {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            let line = format!("\n  {:<11}  {about}\n", verb.get_name());
            assert!(HELP.contains(&line), "not in the groups: {line}");
        }
        let listed = HELP.lines().filter(|line| line.starts_with("  ")).count();
        assert_eq!(listed, shown.len());
    }

    #[test]
    fn every_verb_that_is_shown_has_examples() {
        for verb in grammar().get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let examples = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(examples.starts_with("Examples:\n  windlass"), "{}", verb.get_name());
        }
    }

    /// Visits a command and all commands below it, with the words that name each.
    fn each(verb: &clap::Command, words: &[String], visit: &mut impl FnMut(&clap::Command, &[String])) {
        visit(verb, words);
        for below in verb.get_subcommands() {
            each(below, &[words, &[below.get_name().to_owned()]].concat(), visit);
        }
    }

    #[test]
    fn every_help_page_fits_80_columns() {
        let mut wide = Vec::new();
        each(&grammar(), &["windlass".to_owned()], &mut |verb, words| {
            // clap would break a wide example in two.
            let examples = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines = examples.lines().filter(|line| line.chars().count() > 80);
            wide.extend(lines.map(|line| format!("{}: {line}", words.join(" "))));
            for flag in ["-h", "--help"] {
                let typed = words.iter().map(String::as_str).chain([flag]);
                let help = Windlass::try_parse_from(typed).unwrap_err().render().to_string();
                let lines = help.lines().filter(|line| line.chars().count() > 80);
                wide.extend(lines.map(|line| format!("{} {flag}: {line}", words.join(" "))));
            }
        });
        assert!(wide.is_empty(), "wider than 80 columns:\n{}", wide.join("\n"));
    }

    /// A verb that is added without saying who may use it does not build. This is what was said.
    #[test]
    fn every_verb_says_who_may_use_it() {
        let commands = grammar();
        let all: Vec<&str> = commands.get_subcommands().map(clap::Command::get_name).collect();
        let persons: Vec<&[&str]> = vec![
            &["attach"],
            &["resume"],
            &["answer", "r", "yes"],
            &["approve", "r"],
            &["send", "r", "--event", "e"],
            &["pause", "r"],
            &["cancel", "r"],
            &["fork", "r", "--at", "n"],
            &["trust"],
            &["run", "x", "--trust"],
            &["loop", "x", "--trust"],
            &["tasks", "run", "--trust"],
            &["undo", "r"],
            &["gc"],
            &["run", "x", "--detach"],
            &["loop", "x", "--detach"],
            &["tasks", "run", "--detach"],
            &["tasks", "set", "1", "done"],
        ];
        let anybodys: Vec<&[&str]> = vec![
            &["run", "x"],
            &["loop", "x"],
            &["ps"],
            &["show", "r"],
            &["logs", "r"],
            &["export", "r"],
            &["diff", "r"],
            &["replay", "r"],
            &["workflow", "list"],
            &["tasks", "run"],
            &["tasks", "set", "1", "doing"],
            &["tasks", "list"],
            &["entities", "list"],
            &["hint", "x"],
            &["plugin", "list"],
            &["config", "show"],
            &["doctor"],
            &["demo"],
            &["completions", "bash"],
            &["sim"],
            &["help"],
            &["version"],
        ];
        let who = |typed: &[&str]| {
            let typed = Windlass::try_parse_from([&["windlass"], typed].concat());
            typed.unwrap_or_else(|error| panic!("{error}")).verb.audience()
        };
        for typed in &persons {
            assert!(matches!(who(typed), Audience::Person(_)), "{typed:?}");
        }
        for typed in &anybodys {
            assert_eq!(who(typed), Audience::Anybody, "{typed:?}");
        }
        let said = |verb: &&str| persons.iter().chain(&anybodys).any(|typed| typed[0] == *verb);
        let missing: Vec<&&str> = all.iter().filter(|verb| !said(verb)).collect();
        assert!(missing.is_empty(), "say above who may use {missing:?}");
    }

    #[test]
    fn an_input_may_begin_with_a_dash_and_agent_arguments_follow_two() {
        let typed =
            Windlass::try_parse_from(["windlass", "run", "-3 is the answer", "--json", "--", "--foo", "x"]);
        let CliCommand::Run(args) = typed.unwrap().verb else { panic!() };
        assert_eq!(args.input.as_deref(), Some("-3 is the answer"));
        assert_eq!(args.flags.agent_args, ["--foo", "x"]);
    }

    #[test]
    fn a_loop_without_a_prompt_is_a_mistake() {
        let error = Windlass::try_parse_from(["windlass", "loop"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument);
    }
}
