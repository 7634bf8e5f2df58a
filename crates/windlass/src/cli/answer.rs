//! `windlass answer`: a person's answer to a question of an agent.

use windlass_core::event::PersonReply;
use windlass_core::hook::question_texts;
use windlass_core::id::{HookId, RunId};
use windlass_core::run::Ask;
use windlass_runtime::handle::Handle;

use super::asks;
use super::feed::{choice, choices, envelope, none_of, words};
use super::here::{Here, print};
use super::plain::plain_line;
use super::report::{Report, note};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass answer k3f9 \"port 8080\"
  windlass answer k3f9 Postgres --question \"Which database?\"
  windlass show k3f9                            what was asked, and what may be chosen";

/// Answer what the agent of a run asks
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run, or the beginning of its id
    #[arg(value_name = "RUN")]
    run: String,

    /// The answer: a label of the choices, or your own words
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,

    /// The question that is answered; without it, all that were asked together
    #[arg(long, value_name = "TEXT")]
    question: Option<String>,

    /// The hook call that is answered; without it, the oldest that waits
    #[arg(long, value_name = "HOOK")]
    to: Option<String>,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Leaves the answer for the run.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let Waits { handle, run, ask } = waiting(&args.run, args.to)?;
    if ask.tool.is_some() {
        let report = Report::usage(format!("run {run} asks for a permission, not a question"));
        return Err(report.hint(format!("windlass approve {run}")));
    }
    if args.text.trim().is_empty() {
        return Err(Report::usage("an empty text is no answer"));
    }
    let question = args.question.unwrap_or_default();
    let known = question_texts(&ask.input);
    if !question.is_empty() && !known.contains(&question) {
        let names: Vec<String> = known.iter().map(|text| format!("\"{}\"", plain_line(text))).collect();
        return Err(Report::usage("that was not asked").hint(format!("it asks: {}", names.join(", "))));
    }
    let reply = PersonReply::Answers { answers: vec![(question, chosen(&run, &ask, args.text)?)] };
    handle.answer(&run, Some(ask.hook), reply)?;
    tell(&handle, &run, args.json)
}

/// The answer as the run takes it: where there are only choices, one of them.
fn chosen(run: &RunId, ask: &Ask, text: String) -> Result<String, Report> {
    let choices = choices(ask);
    match choice(&choices, &text) {
        Some(choice) => Ok(choice.clone()),
        None if choices.is_empty() => Ok(text),
        None => {
            let first = choices.first().map(String::as_str).unwrap_or_default();
            Err(Report::usage(none_of(&choices)).hint(format!("windlass answer {run} \"{first}\"")))
        }
    }
}

/// What waits for a person.
pub(super) struct Waits {
    pub(super) handle: Handle,
    /// The run that asks: the one that was named, or one that it started.
    pub(super) run: RunId,
    pub(super) ask: Ask,
}

/// What of a run waits for a person: the named call, or the oldest.
pub(super) fn waiting(prefix: &str, to: Option<String>) -> Result<Waits, Report> {
    let handle = Here::look()?.open_to_answer()?;
    let view = handle.view(&handle.find(prefix)?)?;
    match asks::find(&handle, &view.state, to.map(HookId::new).as_ref()) {
        Some((run, ask)) => Ok(Waits { handle, run, ask }),
        None => Err(Report::usage(format!("run {} waits for no such answer", view.run))
            .hint(format!("`windlass show {}` says what it is doing", view.run))),
    }
}

/// Says that the answer is on its way, or who must fetch it.
pub(super) fn tell(handle: &Handle, run: &RunId, json: bool) -> Result<Exit, Report> {
    let is_owned = handle.view(run)?.status != "crashed";
    if json {
        let data = serde_json::json!({"delivered": is_owned});
        return print(&[envelope("run.answered", words::now(), Some(run), data)]);
    }
    match is_owned {
        true => note(&format!("answered run {run}")),
        false => {
            note(&format!("kept for run {run}, which nobody runs: `windlass resume {run}` goes on with it"))
        }
    }
    Ok(Exit::Completed)
}
