//! Nodes without others in them: what becomes of each, and what it gives.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::begin::{answered, done, own_time};
use super::{Cx, call};
use crate::event::{Event, PersonReply, RunEnd, ShellEnd};
use crate::graph::template::Output;
use crate::graph::workflow::{Act, Step};
use crate::hook::question_texts;
use crate::looping::verdict::{CheckResult, red};
use crate::run::{Active, Doing, Outcome, Reason, Slot, State, Status, Word, Work};
use crate::time::written;

/// Applies a fact to a node that it is about; how it ended, once it has.
pub(super) fn apply(cx: &mut Cx<'_>, step: &Step, active: &mut Active, event: &Event) -> Option<Outcome> {
    match (event, &mut active.doing) {
        (Event::RunSpent { spent, .. }, Doing::Run { .. }) => {
            call::spends(cx, active, spent);
            None
        }
        (Event::RunEnded { end, .. }, Doing::Run { .. }) => {
            call::spends(cx, active, &end.spent);
            call::took_no_turn(cx, active);
            // One that is being ended is over when everything is put away.
            if active.cut.is_some() { None } else { Some(run_ended(cx, active, end)) }
        }
        _ if active.cut.is_some() => None,
        (Event::ShellEnded { end, .. }, Doing::Shell) => Some(shell_ended(cx, step, active, end)),
        (Event::ChecksFinished { results, .. }, Doing::Check) => Some(checked(cx, step, active, results)),
        (Event::WaitOver { .. }, Doing::Sleep { .. }) => {
            cx.wait_is_over();
            Some(done(Reason::AllDone))
        }
        (Event::Told { text, .. }, Doing::Listen { .. }) => {
            cx.wait_is_over();
            Some(answered(cx, active, text))
        }
        (Event::PersonAnswered { reply, .. }, Doing::Ask) => person(cx, step, active, reply),
        _ => None,
    }
}

/// Puts down what a node gives, before it is over.
pub(super) fn give(cx: &mut Cx<'_>, active: &Active, text: &str) {
    give_value(cx, active, text, None);
}

fn give_value(cx: &mut Cx<'_>, active: &Active, text: &str, value: Option<Value>) {
    let output = Output { text: text.to_owned(), value, failed: false, status: String::new() };
    cx.book.outputs.insert(active.step.clone(), output);
}

/// What a node gives that is over.
pub(super) fn given(cx: &Cx<'_>, step: &Step, active: &Active) -> (String, Option<Value>) {
    match &active.doing {
        Doing::Session(work) => (answer(work), work.value.clone()),
        Doing::If { lane, .. } => (lane.said.clone().unwrap_or_default(), None),
        Doing::Loop { round, lane, .. } => {
            (lane.said.clone().unwrap_or_default(), Some(json!({"iteration": round})))
        }
        Doing::Parallel { slots } => (String::new(), Some(json!({"branches": branches(step, slots)}))),
        Doing::Tasks(tasks) => {
            let reason = tasks.over.as_ref().map(|outcome| outcome.reason);
            let value = json!({
                "iteration": tasks.rounds,
                "passed": tasks.passed,
                "all_tasks_complete": matches!(reason, Some(Reason::AllDone)),
                "max_iterations_reached": matches!(reason, Some(Reason::MaxIterations)),
            });
            (format!("{} of {} rounds passed", tasks.passed, tasks.rounds), Some(value))
        }
        Doing::Shell
        | Doing::Check
        | Doing::Ask
        | Doing::Sleep { .. }
        | Doing::Listen { .. }
        | Doing::Run { .. }
        | Doing::Pausing { .. }
        | Doing::Held { .. } => {
            let output = cx.book.outputs.get(&active.step).filter(|output| output.status.is_empty());
            output.map(|output| (output.text.clone(), output.value.clone())).unwrap_or_default()
        }
    }
}

/// What a run gives that is over: what the last of its nodes gave that was not left out. Where that said
/// nothing, its text is the last words of an agent.
pub fn given_by(state: &State) -> (String, Option<Value>) {
    let outputs = &state.book.outputs;
    let last = state.spec.body.iter().rev().find_map(|step| outputs.get(&step.id));
    let words = || state.book.last_message.clone().unwrap_or_default();
    match last {
        Some(output) if !output.text.is_empty() => (output.text.clone(), output.value.clone()),
        Some(output) => (words(), output.value.clone()),
        None => (words(), None),
    }
}

/// How each branch ended that did, by its name.
fn branches(step: &Step, slots: &[Slot]) -> BTreeMap<String, &'static str> {
    let Act::Parallel { branches, .. } = &step.act else { return BTreeMap::new() };
    let ended = slots.iter().zip(branches).filter_map(|(slot, branch)| match slot {
        Slot::Over(outcome) => Some((branch.name.clone(), outcome.status.word())),
        Slot::Waiting | Slot::Open(_) => None,
    });
    ended.collect()
}

/// The last words of an agent in it.
pub(super) fn said(active: &Active) -> Option<String> {
    if let Doing::Session(work) = &active.doing {
        return Some(answer(work)).filter(|answer| !answer.is_empty());
    }
    let lanes = active.doing.lanes();
    let now = lanes.iter().rev().find_map(|lane| lane.said.clone());
    now.or_else(|| active.said.clone())
}

/// The word of the last session in what is over so; see [`Lane::word`](crate::run::Lane::word).
pub(super) fn word(step: &Step, active: &Active, outcome: &Outcome) -> Option<Word> {
    if let Act::Session(session) = &step.act {
        let asked = session.schema.is_none();
        if outcome.status != Status::Completed {
            let how = outcome.detail.clone().unwrap_or_else(|| outcome.reason.word().to_owned());
            return Some(Word::Broken { broken: how, asked });
        }
        let Doing::Session(work) = &active.doing else { return None };
        return asked.then(|| Word::Said(work.last_message.clone().unwrap_or_default()));
    }
    let lanes = active.doing.lanes();
    let now = lanes.iter().rev().find_map(|lane| lane.word.clone());
    now.or_else(|| active.word.clone())
}

/// The last words of a session. One that only gave a value said that value, and one whose value is a text
/// said that text, without the quotes around it.
fn answer(work: &Work) -> String {
    if let Some(Value::String(text)) = &work.value {
        return text.clone();
    }
    let words = work.last_message.clone().filter(|words| !words.is_empty());
    words.or_else(|| work.value.as_ref().map(Value::to_string)).unwrap_or_default()
}

fn shell_ended(cx: &mut Cx<'_>, step: &Step, active: &Active, end: &ShellEnd) -> Outcome {
    match end {
        ShellEnd::Exited { passed, how, output } => {
            give(cx, active, output);
            if *passed {
                return done(Reason::AllDone);
            }
            Outcome::new(Status::Failed, Reason::ShellFailed)
                .because(format!("the command of `{}` failed: {how}", step.id))
        }
        ShellEnd::Unknown => Outcome::new(Status::Blocked, Reason::ShellUnknown).because(format!(
            "the command of `{}` was cut off, and nobody knows whether it did its work; look, then \
             fork the run there, or mark the node `idempotent: true` where it may run twice",
            step.id
        )),
    }
}

fn checked(cx: &mut Cx<'_>, step: &Step, active: &Active, results: &[CheckResult]) -> Outcome {
    if results.is_empty() {
        let why = format!("the checks of `{}` were not run", step.id);
        return Outcome::new(Status::Failed, Reason::ChecksFailed).because(why);
    }
    let text = red(results).unwrap_or_default();
    let red: Vec<&CheckResult> = results.iter().filter(|check| !check.passed).collect();
    let by_name: serde_json::Map<String, Value> =
        results.iter().map(|check| (check.name.clone(), json!(check.passed))).collect();
    give_value(cx, active, &text, Some(Value::Object(by_name)));
    if red.is_empty() {
        return done(Reason::AllDone);
    }
    let names: Vec<&str> = red.iter().map(|check| check.name.as_str()).collect();
    Outcome::new(Status::Failed, Reason::ChecksFailed).because(format!(
        "`{}` found red: {}",
        step.id,
        names.join(", ")
    ))
}

fn run_ended(cx: &mut Cx<'_>, active: &Active, end: &RunEnd) -> Outcome {
    give_value(cx, active, &end.text, end.value.clone());
    if end.outcome.status == Status::Completed {
        return done(Reason::AllDone);
    }
    let Doing::Run { run, .. } = &active.doing else { return end.outcome.clone() };
    let detail = end.outcome.detail.clone().unwrap_or_else(|| end.outcome.reason.sentence().to_owned());
    let why = format!("run {run} is {}: {detail}", end.outcome.status.word());
    // That what may be spent is spent can be so for this run, too.
    let reason = if end.outcome.reason == Reason::Budget { Reason::Budget } else { Reason::ChildFailed };
    Outcome::new(end.outcome.status, reason).because(why).from(&end.outcome)
}

/// Nobody answered in the time given to a question that has a default: that is the answer.
pub(super) fn unanswered(cx: &mut Cx<'_>, step: &Step, active: &Active) -> Option<Outcome> {
    let (Act::Ask { default: Some(default), .. }, Doing::Ask) = (&step.act, &active.doing) else {
        return None;
    };
    cx.book.asks.retain(|ask| ask.node != active.instance);
    cx.wait_is_over();
    let waited = own_time(step).map_or_else(String::new, |ms| format!(" within {}", written(ms)));
    Some(
        answered(cx, active, default)
            .because(format!("nobody answered{waited}: the default `{default}` was used")),
    )
}

/// A person answered. What is none of the choices is no answer.
fn person(cx: &mut Cx<'_>, step: &Step, active: &Active, reply: &PersonReply) -> Option<Outcome> {
    let Act::Ask { choices, .. } = &step.act else { return None };
    let place = cx.book.asks.iter().position(|ask| ask.node == active.instance)?;
    let question = cx.book.asks.get(place).map(|ask| question_texts(&ask.input)).unwrap_or_default();
    let text = match reply {
        PersonReply::Approve => "yes",
        PersonReply::Reject { .. } => "no",
        PersonReply::Answers { answers } => {
            let named = |(asked, _): &&(String, String)| asked.is_empty() || question.contains(asked);
            answers.iter().find(named).map(|(_, answer)| answer.as_str())?
        }
    };
    let is_choice = |choice: &&String| choice.trim().eq_ignore_ascii_case(text.trim());
    let answer = match choices.iter().find(is_choice) {
        Some(choice) => choice.clone(),
        None if choices.is_empty() => text.to_owned(),
        None => return None,
    };
    cx.book.asks.remove(place);
    cx.wait_is_over();
    Some(answered(cx, active, &answer))
}
