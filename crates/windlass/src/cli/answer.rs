//! `windlass answer`: a person's answer to a question of an agent.

use windlass_core::event::PersonReply;
use windlass_core::id::{HookId, RunId};
use windlass_core::run::Ask;
use windlass_runtime::handle::Handle;

use super::asks::narrowed;
use super::feed::{choice, choices, envelope, gist, naming, none_of, words};
use super::invocation::{Invocation, print, wait_for};
use super::report::{Report, note};
use super::sanitize::plain_line;
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

    /// The question that is answered; without it, all that one node or agent asked together
    #[arg(long, value_name = "TEXT")]
    question: Option<String>,

    /// The hook call that is answered; needed where several wait
    #[arg(long, value_name = "HOOK")]
    to: Option<String>,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Leaves the answer for the run.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let question = args.question.unwrap_or_default();
    let is_asked =
        |ask: &Ask| question.is_empty() || ask.questions.iter().any(|asked| asked.text == question);
    let open = open(&args.run, args.to)?.narrowed(|ask| ask.tool.is_none());
    if open.asks.iter().all(|(_, ask)| ask.tool.is_none() && !is_asked(ask)) {
        return Err(not_asked(&open.asks));
    }
    let OpenRequest { handle, run, ask } = open.narrowed(is_asked).only()?;
    if ask.tool.is_some() {
        let report = Report::usage(format!("run {run} asks for a permission, not a question"));
        return Err(report.hint(format!("windlass approve {run}")));
    }
    if args.text.trim().is_empty() {
        return Err(Report::usage("an empty text is no answer"));
    }
    let reply = PersonReply::Answers { answers: vec![(question, chosen(&run, &ask, args.text)?)] };
    wait_for(handle.answer(&run, Some(ask.hook.clone()), reply))?;
    tell(&handle, &run, &ask, args.json)
}

fn not_asked(asks: &[(RunId, Ask)]) -> Report {
    let known = asks.iter().filter(|(_, ask)| ask.tool.is_none()).flat_map(|(_, ask)| &ask.questions);
    let names: Vec<String> = known.map(|asked| format!("\"{}\"", plain_line(&asked.text))).collect();
    Report::usage("the run did not ask that").hint(format!("it asks: {}", names.join(", ")))
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

/// Everything of a run that waits for a person; something does.
pub(super) struct OpenRequests {
    handle: Handle,
    run: RunId,
    asks: Vec<(RunId, Ask)>,
}

/// What waits for a person.
pub(super) struct OpenRequest {
    pub(super) handle: Handle,
    /// The run that asks: the one that was named, or one that it started.
    pub(super) run: RunId,
    pub(super) ask: Ask,
}

/// What of a run waits for a person: the named call, or all.
pub(super) fn open(prefix: &str, to: Option<String>) -> Result<OpenRequests, Report> {
    let handle = Invocation::look()?.open_to_ask()?;
    let view = handle.view(&handle.find(prefix)?)?;
    let hook = to.map(HookId::new);
    let mut asks = handle.family(&view).asks();
    asks.retain(|(_, ask)| hook.as_ref().is_none_or(|hook| ask.hook == *hook));
    if asks.is_empty() {
        let text = match &hook {
            Some(hook) => format!("run {} has no open question `{}`", view.run, plain_line(hook.as_str())),
            None => format!("run {} has not asked anything", view.run),
        };
        return Err(Report::usage(text).hint(format!("`windlass show {}` says what it is doing", view.run)));
    }
    Ok(OpenRequests { handle, run: view.run, asks })
}

impl OpenRequests {
    /// Only what a word may be about, where something is.
    pub(super) fn narrowed(self, is_meant: impl Fn(&Ask) -> bool) -> OpenRequests {
        OpenRequests { asks: narrowed(self.asks, is_meant), ..self }
    }

    /// The one that is meant; refused where it could be several.
    pub(super) fn only(mut self) -> Result<OpenRequest, Report> {
        match self.asks.pop() {
            Some((run, ask)) if self.asks.is_empty() => Ok(OpenRequest { handle: self.handle, run, ask }),
            last => {
                self.asks.extend(last);
                Err(several(&self.run, &self.asks))
            }
        }
    }
}

/// Nobody can know which of several is meant.
fn several(run: &RunId, asks: &[(RunId, Ask)]) -> Report {
    let line = |(run, ask): &(RunId, Ask)| format!("\n    {}\n      {}", gist(ask), naming(run, ask));
    let lines: String = asks.iter().map(line).collect();
    let text = format!("run {run} has {} open questions: say which one this answers", asks.len());
    Report::usage(text).hint(format!("say what is answered:{lines}"))
}

/// Says that the answer is on its way, or who must fetch it.
pub(super) fn tell(handle: &Handle, run: &RunId, ask: &Ask, json: bool) -> Result<Exit, Report> {
    let is_owned = !handle.view(run)?.status.is_crashed();
    if json {
        let data = serde_json::json!({"delivered": is_owned, "node": ask.node, "hook": ask.hook});
        return print(&[envelope("run.answered", words::now(), Some(run), data)]);
    }
    match is_owned {
        true => note(&format!("answered run {run}, where {}", gist(ask))),
        false => {
            note(&format!("kept for run {run}, which nobody runs: `windlass resume {run}` goes on with it"))
        }
    }
    Ok(Exit::Completed)
}
