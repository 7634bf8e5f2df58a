//! Hook calls: each is answered once, and a resend gets the same answer.

use serde_json::Value;

use super::{ANSWERS_KEPT, Step, ending, plan, turn};
use crate::effect::Effect;
use crate::event::PersonReply;
use crate::hook::permission::{Ruling, decide};
use crate::hook::{Answer, HookCall, HookKind, answer_question, question_texts};
use crate::id::{HookId, Verb};
use crate::looping::Mode;
use crate::run::{Ask, News, Outcome, Phase, Reason, State, Status, Waiting};
use crate::spec::{OnPermission, OnQuestion};

/// What an agent is told when a question finds nobody.
const NOBODY: &str = "Nobody is here to answer. Decide by yourself, and note the decision.";

/// A hook asked.
pub(super) fn asked(state: &mut State, step: &mut Step, call: &HookCall) {
    if let Some(answer) = state.answer_to(&call.id).cloned() {
        plan(state, step, Verb::Answer, Effect::AnswerHook { hook: call.id.clone(), answer });
        return;
    }
    if state.asks.iter().any(|ask| ask.hook == call.id) {
        return;
    }
    let open = matches!(state.phase, Phase::InTurn | Phase::Judging { .. } | Phase::Closing { .. });
    match &call.kind {
        HookKind::Stop { background: false, last_message, .. } if open => {
            stop(state, step, &call.id, last_message)
        }
        HookKind::Stop { .. } => answer(state, step, &call.id, "stop", None, Answer::Pass),
        HookKind::Other { name } => answer(state, step, &call.id, name, None, Answer::Pass),
        HookKind::Tool { name, .. } if !open => {
            let reason = "this run is over".to_owned();
            answer(state, step, &call.id, "tool", Some(name), Answer::Deny { reason });
        }
        HookKind::Question { .. } if !open => {
            let reason = "this run is over".to_owned();
            answer(state, step, &call.id, "question", None, Answer::Deny { reason });
        }
        HookKind::Tool { name, input } => tool(state, step, &call.id, name, input),
        HookKind::Question { input } => question(state, step, &call.id, input),
    }
}

/// The agent wants to stop: where the loop lives in the hook, the turn is over and judged.
fn stop(state: &mut State, step: &mut Step, hook: &HookId, last_message: &Option<String>) {
    if let Some(turn) = &mut state.turn {
        turn.stops += 1;
    }
    if turn::mode(state) != Some(Mode::InSession) {
        return answer(state, step, hook, "stop", None, Answer::Pass);
    }
    match &mut state.phase {
        Phase::InTurn => turn::look(state, step, Some(hook.clone()), last_message.clone()),
        // The CLI gave up on the first call and asks anew: the verdict goes to this one.
        Phase::Judging { hook: waiting, .. } => *waiting = Some(hook.clone()),
        _ => answer(state, step, hook, "stop", None, Answer::Pass),
    }
}

fn tool(state: &mut State, step: &mut Step, hook: &HookId, name: &str, input: &Value) {
    count_tool_hook(state);
    let ruling = decide(state.spec.isolation, &state.spec.permissions, name, input);
    let refuse = |reason: &str| Answer::Deny { reason: reason.to_owned() };
    match (ruling, state.spec.policy.on_permission) {
        (Ruling::Allow, _) | (Ruling::Ask, OnPermission::Allow) => {
            answer(state, step, hook, "tool", Some(name), Answer::Allow { input: None });
        }
        (Ruling::Deny { reason }, _) => {
            answer(state, step, hook, "tool", Some(name), Answer::Deny { reason })
        }
        (Ruling::Ask, OnPermission::Deny) => {
            let reason = format!("{name} needs a permission that nobody is here to give; do without it");
            answer(state, step, hook, "tool", Some(name), refuse(&reason));
        }
        (Ruling::Ask, OnPermission::Fail) => {
            answer(
                state,
                step,
                hook,
                "tool",
                Some(name),
                refuse("a person must permit this; the run stops here"),
            );
            let outcome = Outcome::new(Status::Blocked, Reason::Permission)
                .because(format!("the agent wants to use {name}, which needs a person's permission"));
            ending::end(state, step, outcome);
        }
        (Ruling::Ask, OnPermission::Ask) => wait_for_person(state, step, hook, Some(name), input),
    }
}

fn question(state: &mut State, step: &mut Step, hook: &HookId, input: &Value) {
    count_tool_hook(state);
    match state.spec.policy.on_question {
        OnQuestion::Wait => wait_for_person(state, step, hook, None, input),
        OnQuestion::Empty => {
            let answers: Vec<_> =
                question_texts(input).into_iter().map(|text| (text, NOBODY.to_owned())).collect();
            let input = Some(answer_question(input, &answers));
            answer(state, step, hook, "question", None, Answer::Allow { input });
        }
        OnQuestion::Fail => {
            let reason = "nobody is here to answer; the run stops here".to_owned();
            answer(state, step, hook, "question", None, Answer::Deny { reason });
            let asked = question_texts(input).join(" / ");
            let outcome =
                Outcome::new(Status::Blocked, Reason::Question).because(format!("the agent asks: {asked}"));
            ending::end(state, step, outcome);
        }
    }
}

fn count_tool_hook(state: &mut State) {
    if let Some(turn) = &mut state.turn {
        turn.tool_hooks += 1;
    }
}

fn wait_for_person(state: &mut State, step: &mut Step, hook: &HookId, tool: Option<&str>, input: &Value) {
    let ask =
        Ask { hook: hook.clone(), tool: tool.map(str::to_owned), input: input.clone(), answers: Vec::new() };
    step.news.push(News::Waiting(Waiting::Person(ask.clone())));
    state.asks.push(ask);
}

/// A person answered: the oldest open ask, or the one they named.
pub(super) fn person_answered(
    state: &mut State,
    step: &mut Step,
    hook: Option<&HookId>,
    reply: &PersonReply,
) {
    let found = state.asks.iter().position(|ask| hook.is_none_or(|hook| ask.hook == *hook));
    let Some(ask) = found.and_then(|at| state.asks.get_mut(at)) else { return };
    if let (PersonReply::Answers { answers }, None) = (reply, &ask.tool) {
        ask.answers.extend(spread(&ask.input, answers));
        let is_answered = |text: &String| ask.answers.iter().any(|(question, _)| question == text);
        if !question_texts(&ask.input).iter().all(is_answered) {
            return;
        }
    }
    let Some(ask) = found.map(|at| state.asks.remove(at)) else { return };
    let told = match (reply, &ask.tool) {
        (PersonReply::Reject { reason }, _) => Answer::Deny { reason: reason.clone() },
        (PersonReply::Approve, _) => Answer::Allow { input: None },
        (PersonReply::Answers { .. }, Some(_)) => Answer::Allow { input: None },
        (PersonReply::Answers { .. }, None) => {
            Answer::Allow { input: Some(answer_question(&ask.input, &ask.answers)) }
        }
    };
    let asked = if ask.tool.is_some() { "tool" } else { "question" };
    answer(state, step, &ask.hook, asked, ask.tool.as_deref(), told);
    step.news.push(News::WaitOver);
}

/// An answer without a question's text stands for every question not answered by name.
fn spread(input: &Value, answers: &[(String, String)]) -> Vec<(String, String)> {
    let general = answers.iter().find(|(question, _)| question.is_empty()).map(|(_, answer)| answer);
    let pick = |text: String| {
        let named = answers.iter().find(|(question, _)| *question == text).map(|(_, answer)| answer);
        named.or(general).map(|answer| (text, answer.clone()))
    };
    question_texts(input).into_iter().filter_map(pick).collect()
}

/// Answers a call and remembers the answer for a resend.
pub(super) fn answer(
    state: &mut State,
    step: &mut Step,
    hook: &HookId,
    asked: &str,
    tool: Option<&str>,
    told: Answer,
) {
    state.answered.push_back((hook.clone(), told.clone()));
    if state.answered.len() > ANSWERS_KEPT {
        state.answered.pop_front();
    }
    step.news.push(News::HookDecided {
        hook: hook.clone(),
        asked: asked.to_owned(),
        tool: tool.map(str::to_owned),
        answer: told.clone(),
    });
    plan(state, step, Verb::Answer, Effect::AnswerHook { hook: hook.clone(), answer: told });
}
