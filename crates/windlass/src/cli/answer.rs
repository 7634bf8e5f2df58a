//! `windlass answer`: a person's answer to a question of an agent.

use windlass_core::event::PersonReply;
use windlass_core::hook::question_texts;
use windlass_core::id::{HookId, RunId};
use windlass_core::run::Ask;
use windlass_runtime::handle::{Handle, View};

use super::feed::{envelope, words};
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
    let (handle, view, ask) = waiting(&args.run, args.to)?;
    if ask.tool.is_some() {
        let report = Report::usage(format!("run {} asks for a permission, not a question", view.run));
        return Err(report.hint(format!("windlass approve {}", view.run)));
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
    let reply = PersonReply::Answers { answers: vec![(question, args.text)] };
    handle.answer(&view.run, Some(ask.hook), reply)?;
    tell(&handle, &view.run, args.json)
}

/// What of a run waits for a person: the named call, or the oldest.
pub(super) fn waiting(prefix: &str, to: Option<String>) -> Result<(Handle, View, Ask), Report> {
    let handle = Here::look()?.open_to_answer()?;
    let view = handle.view(&handle.find(prefix)?)?;
    let hook = to.map(HookId::new);
    let mut asks = view.state.asks.iter();
    let Some(ask) = asks.find(|ask| hook.as_ref().is_none_or(|hook| ask.hook == *hook)).cloned() else {
        return Err(Report::usage(format!("run {} waits for no such answer", view.run))
            .hint(format!("`windlass show {}` says what it is doing", view.run)));
    };
    Ok((handle, view, ask))
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
