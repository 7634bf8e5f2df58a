//! Hook calls. Each call gets one answer, and a repeated call gets the same answer.

use super::{ending, session, turn};
use crate::effect::Effect;
use crate::engine::{ANSWERS_KEPT, DecisionCx};
use crate::event::PersonReply;
use crate::hook::permission::{Ruling, decide, is_granted};
use crate::hook::{CallSite, HookAnswer, HookCall, HookKind, Question, ToolCall};
use crate::id::{EffectId, HookId, NodeId, Verb};
use crate::looping::LoopMode;
use crate::run::{Ask, EndReason, FinalStatus, KeptReply, News, Outcome, SessionPhase, SessionWork, Waiting};
use crate::spec::{OnPermission, OnQuestion};

/// The agent's answer to a question when no person may be asked.
const NOBODY: &str = "Nobody is here to answer. Decide by yourself, and note the decision.";

/// Handles a hook call.
pub(super) fn asked(work: &mut SessionWork, cx: &mut DecisionCx<'_>, call: &HookCall) {
    let open = matches!(
        work.phase,
        SessionPhase::InTurn | SessionPhase::Judging { .. } | SessionPhase::Closing { .. }
    );
    match &call.kind {
        HookKind::Stop { background: false, last_message, .. } if open => stop(work, cx, call, last_message),
        HookKind::Stop { .. } => answer(work, cx, &call.id, "stop", None, HookAnswer::Pass),
        HookKind::Other { name } => answer(work, cx, &call.id, name, None, HookAnswer::Pass),
        HookKind::Tool(_) | HookKind::Permission(_) | HookKind::Question { .. } if !open => {
            too_late(cx, call);
        }
        // The agent's next steps build on a call that no one allowed, so it gets no tool until it
        // knows.
        HookKind::Tool(used) | HookKind::Permission(used) if was_cut_off(work, call) => {
            count_tool_hook(work);
            answer(work, cx, &call.id, "tool", Some(&used.name), cut_off());
        }
        HookKind::Question { .. } if was_cut_off(work, call) => {
            count_tool_hook(work);
            answer(work, cx, &call.id, "question", None, cut_off());
        }
        HookKind::Tool(used) => tool(work, cx, call, used),
        HookKind::Permission(used) => permission(work, cx, call, used),
        HookKind::Question { questions } => question(work, cx, &call.id, questions),
    }
}

/// Decides whether an earlier call of the turn got no answer and the agent does not know it yet.
fn was_cut_off(work: &SessionWork, call: &HookCall) -> bool {
    work.turn.as_ref().is_some_and(|turn| turn.has_missed(&call.unanswered))
}

fn cut_off() -> HookAnswer {
    let reason = "Windlass was not running when you needed an answer before, so this turn was cut off. Stop now: you \
                  are told how to continue.";
    HookAnswer::Deny { reason: reason.to_owned() }
}

/// Handles the agent's request to stop. If the loop runs inside the hook, the turn ends and is
/// judged.
fn stop(work: &mut SessionWork, cx: &mut DecisionCx<'_>, call: &HookCall, last_message: &Option<String>) {
    let hook = &call.id;
    if turn::mode(work) == Some(LoopMode::InSession)
        && work.phase == SessionPhase::InTurn
        && was_cut_off(work, call)
    {
        return not_yet(work, cx, call);
    }
    if let Some(turn) = &mut work.turn {
        turn.stops += 1;
    }
    if turn::mode(work) != Some(LoopMode::InSession) {
        return answer(work, cx, hook, "stop", None, HookAnswer::Pass);
    }
    if last_message.is_some() {
        work.last_message.clone_from(last_message);
        cx.bookkeeping.last_message.clone_from(last_message);
    }
    match &mut work.phase {
        SessionPhase::InTurn => turn::look(work, cx, Some(hook.clone()), last_message.clone()),
        // The CLI gave up on the first call and sent a new one, which gets the verdict.
        SessionPhase::Judging { hook: waiting, .. } => *waiting = Some(hook.clone()),
        _ => answer(work, cx, hook, "stop", None, HookAnswer::Pass),
    }
}

/// Continues an interrupted turn that the agent wants to stop.
fn not_yet(work: &mut SessionWork, cx: &mut DecisionCx<'_>, call: &HookCall) {
    missed(work, cx, &call.unanswered);
    let again = match cx.cannot_afford_repeat(work) {
        Some(outcome) => Err(outcome),
        None => session::cut_off_in_session(work, &call.unanswered),
    };
    match again {
        Ok(reason) => answer(work, cx, &call.id, "stop", None, HookAnswer::Block { reason }),
        Err(outcome) => {
            answer(work, cx, &call.id, "stop", None, HookAnswer::Pass);
            ending::end(work, cx, outcome);
        }
    }
}

/// Keeps people's answers to these calls until the agent asks again, because they never reached it.
pub(super) fn missed(work: &SessionWork, cx: &mut DecisionCx<'_>, unanswered: &[HookId]) {
    let ours = cx.bookkeeping.replies.iter_mut().filter(|reply| reply.ask.node == work.node.id);
    for reply in ours.filter(|reply| unanswered.contains(&reply.ask.hook)) {
        reply.missed = true;
    }
}

fn tool(work: &mut SessionWork, cx: &mut DecisionCx<'_>, call: &HookCall, used: &ToolCall) {
    count_tool_hook(work);
    let Some(session_settings) = cx.spec.sessions.get(&work.step) else { return };
    let around = CallSite { workspace: &work.workspace, real: call.real.as_ref() };
    let ruling = decide(session_settings.isolation, &session_settings.permissions, around, used);
    follow(work, cx, &call.id, ("tool", used), ruling);
}

/// Answers a permission request of the agent CLI for a call that the rules permit. A rule that
/// names the call, or a person's recent permission, allows it. A call that no rule names needs a
/// person.
fn permission(work: &mut SessionWork, cx: &mut DecisionCx<'_>, call: &HookCall, used: &ToolCall) {
    let Some(session_settings) = cx.spec.sessions.get(&work.step) else { return };
    let around = CallSite { workspace: &work.workspace, real: call.real.as_ref() };
    let is_it = |ask: &Ask| ask.node == work.node.id && ask.tool.as_ref() == Some(used);
    let permitted = cx.bookkeeping.permitted.iter().position(is_it);
    let ruling = match decide(session_settings.isolation, &session_settings.permissions, around, used) {
        Ruling::Deny { reason } => Ruling::Deny { reason },
        _ if permitted.is_some() => Ruling::Allow,
        Ruling::Allow if is_granted(&session_settings.permissions, around, used) => Ruling::Allow,
        Ruling::Allow | Ruling::Ask => Ruling::Ask,
    };
    // A person's permission is valid for one call.
    permitted.and_then(|at| cx.bookkeeping.permitted.remove(at));
    follow(work, cx, &call.id, ("permission", used), ruling);
}

/// Answers according to the rules, or according to the policy where the rules leave it open.
fn follow(
    work: &mut SessionWork,
    cx: &mut DecisionCx<'_>,
    hook: &HookId,
    (asked, used): (&str, &ToolCall),
    ruling: Ruling,
) {
    let name = &used.name;
    let refuse = |reason: &str| HookAnswer::Deny { reason: reason.to_owned() };
    match (ruling, cx.spec.policy.on_permission) {
        (Ruling::Allow, _) | (Ruling::Ask, OnPermission::Allow) => {
            answer(work, cx, hook, asked, Some(name), HookAnswer::Allow);
        }
        (Ruling::Deny { reason }, _) => {
            answer(work, cx, hook, asked, Some(name), HookAnswer::Deny { reason })
        }
        (Ruling::Ask, OnPermission::Deny) => {
            let reason =
                format!("{name} needs a person's permission, and nobody is watching; continue without it");
            answer(work, cx, hook, asked, Some(name), refuse(&reason));
        }
        (Ruling::Ask, OnPermission::Fail) => {
            let reason = refuse("a person must permit this; the run stops here");
            answer(work, cx, hook, asked, Some(name), reason);
            let outcome = Outcome::new(FinalStatus::Blocked, EndReason::Permission)
                .because(format!("the agent wants to use {name}"));
            ending::end(work, cx, outcome);
        }
        (Ruling::Ask, OnPermission::Ask) => {
            let ask = Ask::permission(work.node.id.clone(), hook.clone(), used.clone());
            wait_for_person(work, cx, ask);
        }
    }
}

fn question(work: &mut SessionWork, cx: &mut DecisionCx<'_>, hook: &HookId, questions: &[Question]) {
    count_tool_hook(work);
    match cx.spec.policy.on_question {
        OnQuestion::Wait => {
            let ask = Ask::question(work.node.id.clone(), hook.clone(), questions.to_vec());
            wait_for_person(work, cx, ask);
        }
        OnQuestion::Empty => {
            let answers = questions.iter().map(|question| (question.text.clone(), NOBODY.to_owned()));
            let reply = HookAnswer::Reply { answers: answers.collect() };
            answer(work, cx, hook, "question", None, reply);
        }
        OnQuestion::Fail => {
            let reason = "nobody is here to answer; the run stops here".to_owned();
            answer(work, cx, hook, "question", None, HookAnswer::Deny { reason });
            let asked: Vec<&str> = questions.iter().map(|question| question.text.as_str()).collect();
            let outcome = Outcome::new(FinalStatus::Blocked, EndReason::Question)
                .because(format!("the agent asks: {}", asked.join(" / ")));
            ending::end(work, cx, outcome);
        }
    }
}

fn count_tool_hook(work: &mut SessionWork) {
    if let Some(turn) = &mut work.turn {
        turn.tool_hooks += 1;
    }
}

fn wait_for_person(work: &SessionWork, cx: &mut DecisionCx<'_>, ask: Ask) {
    let is_known = |reply: &KeptReply| reply.missed && reply.ask.is_the_same_as(&ask);
    if let Some(place) = cx.bookkeeping.replies.iter().position(is_known) {
        let known = cx.bookkeeping.replies.remove(place).answer;
        return answer(work, cx, &ask.hook, ask.asked(), ask.tool_name(), known);
    }
    cx.decision.news.push(News::Waiting(Waiting::Person(ask.clone())));
    cx.bookkeeping.asks.push(ask);
}

/// Handles a person's answer to an agent. Questions without an answer stay open.
pub(in crate::engine) fn person_answered(cx: &mut DecisionCx<'_>, at: usize, reply: &PersonReply) {
    let Some(ask) = cx.bookkeeping.asks.get_mut(at) else { return };
    if let (PersonReply::Answers { answers }, None) = (reply, &ask.tool) {
        ask.answers.extend(spread(&ask.questions, answers));
        if ask.open_questions().next().is_some() {
            return;
        }
    }
    let ask = cx.bookkeeping.asks.remove(at);
    if ask.tool.is_some() && !matches!(reply, PersonReply::Reject { .. }) {
        cx.bookkeeping.permitted.push_back(ask.clone());
        if cx.bookkeeping.permitted.len() > ANSWERS_KEPT {
            cx.bookkeeping.permitted.pop_front();
        }
    }
    let told = match (reply, &ask.tool) {
        (PersonReply::Reject { reason }, _) => HookAnswer::Deny { reason: reason.clone() },
        (PersonReply::Approve, _) | (PersonReply::Answers { .. }, Some(_)) => HookAnswer::Allow,
        (PersonReply::Answers { .. }, None) => HookAnswer::Reply { answers: ask.answers.clone() },
    };
    let id = EffectId { node: ask.node.clone(), iteration: 1, attempt: 1, verb: Verb::Answer };
    reply_to(cx, id, &ask.hook, ask.asked(), ask.tool_name(), told.clone());
    let missed = cx.bookkeeping.unheard.contains(&ask.hook);
    cx.bookkeeping.unheard.retain(|hook| *hook != ask.hook);
    cx.bookkeeping.replies.push(KeptReply { ask, answer: told, missed });
    cx.decision.news.push(News::WaitOver);
}

/// Applies an answer without a question text to every question that has no answer of its own.
fn spread(questions: &[Question], answers: &[(String, String)]) -> Vec<(String, String)> {
    let general = answers.iter().find(|(question, _)| question.is_empty()).map(|(_, answer)| answer);
    let pick = |Question { text, .. }: &Question| {
        let named = answers.iter().find(|(question, _)| question == text).map(|(_, answer)| answer);
        named.or(general).map(|answer| (text.clone(), answer.clone()))
    };
    questions.iter().filter_map(pick).collect()
}

/// Answers a call of the current turn.
pub(super) fn answer(
    work: &SessionWork,
    cx: &mut DecisionCx<'_>,
    hook: &HookId,
    asked: &str,
    tool: Option<&str>,
    told: HookAnswer,
) {
    let (iteration, attempt) = (work.turns + 1, work.attempt);
    let id = EffectId { node: work.node.id.clone(), iteration, attempt, verb: Verb::Answer };
    reply_to(cx, id, hook, asked, tool, told);
}

/// Answers a call and keeps the answer for a repeated call.
pub(in crate::engine) fn reply_to(
    cx: &mut DecisionCx<'_>,
    id: EffectId,
    hook: &HookId,
    asked: &str,
    tool: Option<&str>,
    told: HookAnswer,
) {
    cx.bookkeeping.answered.push_back((hook.clone(), told.clone()));
    if cx.bookkeeping.answered.len() > ANSWERS_KEPT {
        cx.bookkeeping.answered.pop_front();
    }
    cx.decision.news.push(News::HookDecided {
        hook: hook.clone(),
        asked: asked.to_owned(),
        tool: tool.map(str::to_owned),
        answer: told.clone(),
    });
    cx.plan(id, Effect::AnswerHook { hook: hook.clone(), answer: told });
}

/// Answers a call of a turn that ended, or of no known turn: a Stop may stop, a tool may not run.
pub(in crate::engine) fn too_late(cx: &mut DecisionCx<'_>, call: &HookCall) {
    let node = call.from.as_ref().map_or_else(|| NodeId::new("run"), |from| from.node.clone());
    let id = EffectId { node, iteration: 1, attempt: 1, verb: Verb::Answer };
    let reason = "this run is over".to_owned();
    let (asked, tool, told) = match &call.kind {
        HookKind::Stop { .. } => ("stop", None, HookAnswer::Pass),
        HookKind::Other { name } => (name.as_str(), None, HookAnswer::Pass),
        HookKind::Tool(used) => ("tool", Some(used.name.as_str()), HookAnswer::Deny { reason }),
        HookKind::Permission(used) => ("permission", Some(used.name.as_str()), HookAnswer::Deny { reason }),
        HookKind::Question { .. } => ("question", None, HookAnswer::Deny { reason }),
    };
    reply_to(cx, id, &call.id, asked, tool, told);
}
