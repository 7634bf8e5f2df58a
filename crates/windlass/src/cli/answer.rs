//! `windlass answer`: answers a question of an agent or of an `ask` node.

use windlass_core::event::PersonReply;
use windlass_core::hook::Question;
use windlass_core::id::{HookId, RunId};
use windlass_core::run::Ask;
use windlass_runtime::error::RunError;
use windlass_runtime::handle::Handle;
use windlass_runtime::person::AnswerWay;

use super::asks::narrowed;
use super::complete::{self, OfferedRuns};
use super::default_run;
use super::feed::{choice, choices, chosen, envelope, gist, naming, none_of, words};
use super::invocation::{Invocation, print, wait_for};
use super::report::{Report, note};
use super::sanitize::plain_line;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass answer \"port 8080\"  the run of this folder that waits
  windlass answer k3f9 \"port 8080\"
  windlass answer k3f9 2                        choose the second option
  windlass answer k3f9 Postgres --question \"Which database?\"
  windlass show k3f9           the open questions and their choices";

/// The shortest text that may be taken for the id of a run. An answer is often a short word or a number.
const RUN_LIKE: usize = 4;

/// Answer a question that a run asks
///
/// The question comes from an agent or from an `ask` node. `windlass show RUN` prints the command for each
/// open question.
///
/// A single argument is the answer for the run of this folder that waits for you. Of two arguments, the first
/// names the run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "windlass answer [OPTIONS] [RUN] <TEXT>")]
pub(crate) struct Args {
    /// Holds the answer if it is the only argument.
    #[arg(value_name = "RUN", help = default_run::WAITING, allow_hyphen_values = true,
        add = complete::runs(OfferedRuns::Open))]
    run: Option<String>,

    /// Your answer: one of the choices or its number, or your own words
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,

    /// Answer only the question with this text [default: all questions that were asked together]
    #[arg(long, value_name = "TEXT")]
    question: Option<String>,

    /// Answer this request; needed if several are open
    #[arg(long, value_name = "HOOK")]
    to: Option<String>,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Returns the argument that may be a mistyped flag.
    pub(crate) fn text(&self) -> Option<&str> {
        let words = [self.run.as_deref(), self.text.as_deref()];
        words.into_iter().flatten().find(|word| word.starts_with("--"))
    }
}

/// Hands the answer to the run.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let (run, text) = match (args.run, args.text) {
        (Some(run), Some(text)) => (Some(run), text),
        (Some(text), None) => (None, text),
        (None, _) => return Err(no_text("RUN")),
    };
    let question = args.question.unwrap_or_default();
    let is_asked =
        |ask: &Ask| question.is_empty() || ask.questions.iter().any(|asked| asked.text == question);
    tell_apart(run.as_deref(), &text)?;
    let open = open(run.as_deref(), args.to, |ask| ask.tool.is_none())?;
    let open = open.narrowed(|ask| ask.tool.is_none());
    if open.asks.iter().all(|(_, ask)| ask.tool.is_none() && !is_asked(ask)) {
        return Err(not_asked(&open.asks));
    }
    let OpenRequest { handle, run, ask } = open.narrowed(is_asked).only()?;
    if ask.tool.is_some() {
        let report = Report::usage(format!("run {run} waits for a permission, not for an answer"));
        return Err(report.hint(format!("windlass approve {run}")));
    }
    if text.trim().is_empty() {
        return Err(Report::usage("the answer is empty"));
    }
    let reply = PersonReply::Answers { answers: answers(&run, &ask, question, &text)? };
    wait_for(handle.answer(&run, Some(ask.hook.clone()), reply, AnswerWay::AnswerCommand))?;
    tell(&handle, &run, &ask, args.json)
}

/// Tells runs from answers. Refuses a single argument that names a run, because the answer is missing, and two
/// arguments of which the first names no run.
fn tell_apart(run: Option<&str>, text: &str) -> Result<(), Report> {
    if run.is_none() && (text.len() < RUN_LIKE || text.contains(char::is_whitespace)) {
        return Ok(());
    }
    let found = Invocation::look()?.open_to_ask()?.find(run.unwrap_or(text));
    match (run, found) {
        (None, Ok(run)) => Err(no_text(run.as_str())),
        (Some(_), Err(error @ RunError::NoSuchRun(_))) => Err(Report::from(error)
            .hint("`windlass ps` lists the runs; put an answer of several words in quotes")),
        _ => Ok(()),
    }
}

fn no_text(run: &str) -> Report {
    Report::usage("the answer is missing").hint(format!("windlass answer {run} \"TEXT\""))
}

fn not_asked(asks: &[(RunId, Ask)]) -> Report {
    let known = asks.iter().filter(|(_, ask)| ask.tool.is_none()).flat_map(|(_, ask)| &ask.questions);
    let names: Vec<String> = known.map(|asked| format!("\"{}\"", plain_line(&asked.text))).collect();
    Report::usage("the run did not ask that").hint(format!("it asks: {}", names.join(", ")))
}

/// Returns the answers with their questions. A number stands for an option, as at the terminal: where
/// several questions are answered at once, it may be another option of each.
fn answers(run: &RunId, ask: &Ask, named: String, text: &str) -> Result<Vec<(String, String)>, Report> {
    let is_meant = |question: &&Question| named.is_empty() || question.text == named;
    let open: Vec<&Question> = ask.open_questions().filter(is_meant).collect();
    let same = |open: &[&Question]| open.iter().all(|question| chosen(question, text) == text);
    match open.as_slice() {
        [question] => Ok(vec![(named, valid(run, ask, chosen(question, text))?)]),
        several if same(several) => Ok(vec![(named, valid(run, ask, text.to_owned())?)]),
        several => Ok(several.iter().map(|one| (one.text.clone(), chosen(one, text))).collect()),
    }
}

/// Returns the answer in the form that the run takes. If the question has only choices, the answer must be
/// one of them.
fn valid(run: &RunId, ask: &Ask, text: String) -> Result<String, Report> {
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

/// The requests of a run that wait for a person; there is at least one.
pub(super) struct OpenRequests {
    handle: Handle,
    run: RunId,
    asks: Vec<(RunId, Ask)>,
}

/// A request that waits for a person.
pub(super) struct OpenRequest {
    pub(super) handle: Handle,
    /// The run that asks: the named one, or a run that it started.
    pub(super) run: RunId,
    pub(super) ask: Ask,
}

/// Returns the open requests of a run, or only the one with the hook id `to`. Without a name it takes the run
/// that waits with such a request.
pub(super) fn open(
    named: Option<&str>,
    to: Option<String>,
    is_meant: impl Fn(&Ask) -> bool,
) -> Result<OpenRequests, Report> {
    let invocation = Invocation::look()?;
    let handle = invocation.open_to_ask()?;
    let run = match named {
        Some(prefix) => handle.find(prefix)?,
        None => default_run::waiting(&invocation, &handle, is_meant)?,
    };
    let view = handle.view(&run)?;
    if let Some(outcome) = view.state.outcome() {
        let next = outcome.resume_flags().map(|flags| format!("`windlass resume {run}{flags}` continues it"));
        let report = Report::from(RunError::Over(run));
        return Err(match next {
            Some(next) => report.hint(next),
            None => report,
        });
    }
    let hook = to.map(HookId::new);
    let mut asks = handle.family(&view).asks();
    asks.retain(|(_, ask)| hook.as_ref().is_none_or(|hook| ask.hook == *hook));
    if asks.is_empty() {
        let text = match &hook {
            Some(hook) => format!("run {} has no open question `{}`", view.run, plain_line(hook.as_str())),
            None => format!("run {} is not waiting for an answer", view.run),
        };
        return Err(Report::usage(text).hint(format!("`windlass show {}` shows what it is doing", view.run)));
    }
    Ok(OpenRequests { handle, run: view.run, asks })
}

impl OpenRequests {
    /// Keeps the requests that match, or all if none does.
    pub(super) fn narrowed(self, is_meant: impl Fn(&Ask) -> bool) -> OpenRequests {
        OpenRequests { asks: narrowed(self.asks, is_meant), ..self }
    }

    /// Returns the only request, or an error if there are several.
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

/// Reports that several requests are open, with the command for each.
fn several(run: &RunId, asks: &[(RunId, Ask)]) -> Report {
    let line = |(run, ask): &(RunId, Ask)| format!("\n    {}\n      {}", gist(ask), naming(run, ask));
    let lines: String = asks.iter().map(line).collect();
    let text = format!("run {run} has {} open questions: choose one", asks.len());
    Report::usage(text).hint(format!("use one of these commands:{lines}"))
}

/// Reports whether a live process takes the answer, or the run gets it when somebody resumes it.
pub(super) fn tell(handle: &Handle, run: &RunId, ask: &Ask, json: bool) -> Result<Exit, Report> {
    let is_owned = !handle.view(run)?.status.is_crashed();
    if json {
        let data = serde_json::json!({"delivered": is_owned, "node": ask.node, "hook": ask.hook});
        return print(&[envelope("run.answered", words::now(), Some(run), data)]);
    }
    match is_owned {
        true => note(&format!("answered run {run}: {}", gist(ask))),
        false => note(&format!(
            "saved for run {run}, which has no live process: `windlass resume {run}` continues it"
        )),
    }
    Ok(Exit::Completed)
}
