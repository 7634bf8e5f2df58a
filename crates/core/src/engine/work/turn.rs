//! Starts and judges the turns of an agent.

use super::{ending, hand_over, plan, plan_wait};
use crate::effect::{Effect, SessionPlan};
use crate::engine::DecisionCx;
use crate::event::PrepareEnd;
use crate::graph::{SessionPromptKind, schema};
use crate::hook::HookAnswer;
use crate::id::{HookId, SessionId, Verb, derive_session};
use crate::looping::verdict::{
    CheckResult, Inspection, Verdict, claim, ends_before_checks, feedback as checks_feedback, judge,
};
use crate::looping::{LoopMode, LoopRules, prompt};
use crate::run::{EndReason, FinalStatus, HandOver, News, Outcome, SessionPhase, SessionWork, Turn};

/// The time in which an agent that may stop must do so by itself, in milliseconds.
const CLOSING_MS: u64 = 60_000;

/// Starts the first turn once everything is prepared.
pub(super) fn prepared(work: &mut SessionWork, cx: &mut DecisionCx<'_>, end: &PrepareEnd) {
    if work.phase != SessionPhase::Preparing {
        return;
    }
    let (texts, fingerprint, so_far) = match end {
        PrepareEnd::Ready { texts, fingerprint, work } => (texts, fingerprint, work),
        PrepareEnd::Failed { why } => {
            let failed = Outcome::new(FinalStatus::Failed, EndReason::PrepareFailed);
            return ending::end(work, cx, failed.because(why.clone()));
        }
    };
    if work.hand_over.is_none() || work.fingerprint.is_empty() {
        work.fingerprint.clone_from(fingerprint);
    }
    if let Some(hand_over) = &mut work.hand_over {
        hand_over.work.clone_from(so_far);
    }
    if let Some(texts) = texts {
        let odd = |what: &String| News::Odd { node: work.node.id.clone(), what: what.clone() };
        cx.decision.news.extend(texts.odd.iter().map(odd));
        work.node.fill(texts);
    }
    begin(work, cx);
}

/// Starts the next turn, in a new session or, if the mode requires it, in the current one.
pub(super) fn begin(work: &mut SessionWork, cx: &mut DecisionCx<'_>) {
    if let (Some(text), Some(session)) = (resumed(work), work.session.clone()) {
        return start_session(work, cx, session, true, text);
    }
    // Kept until the turn ends, because a repeated turn gets the same feedback.
    let feedback = work.feedback.clone();
    // The session that gave an answer that does not fit is asked to correct it.
    let goes_on =
        work.turns > 0 && work.session.is_some() && (mode(work) != Some(LoopMode::Fresh) || work.unfit > 0);
    let (session, text) = match (&work.session, work.node.rules()) {
        (Some(session), Some(rules)) if goes_on => {
            (session.clone(), prompt::continuing(rules, feedback.as_deref()))
        }
        (_, Some(rules)) => {
            (new_session(work, cx), prompt::opening(rules, work.turns + 1, feedback.as_deref()))
        }
        (Some(session), None) if goes_on => (session.clone(), feedback.unwrap_or_default()),
        (_, None) => (new_session(work, cx), work.node.prompt().to_owned()),
    };
    start_session(work, cx, session, goes_on, text);
}

/// Repeats the same turn, in the current session or in a new one.
pub(super) fn begin_again(work: &mut SessionWork, cx: &mut DecisionCx<'_>, resume: bool) {
    work.attempt += 1;
    match work.session.clone().filter(|_| resume) {
        Some(session) => {
            let text = prompt::after_interruption(work.node.rules(), work.node.prompt());
            // The agent may not have seen it before the interruption.
            let text = resumed(work).map_or(text.clone(), |told| format!("{text}\n\n{told}"));
            start_session(work, cx, session, true, text);
        }
        None => begin(work, cx),
    }
}

/// Returns the prompt of a first turn that resumes the session of earlier work.
fn resumed(work: &SessionWork) -> Option<String> {
    let own = work.is_continuing.then(|| work.node.prompt().to_owned());
    let told = work.resumes.clone().or(own).filter(|_| work.turns == 0)?;
    Some(match work.node.rules() {
        Some(rules) => prompt::opening(&LoopRules { prompt: told, ..rules.clone() }, 1, None),
        None => told,
    })
}

fn new_session(work: &SessionWork, cx: &DecisionCx<'_>) -> SessionId {
    derive_session(&cx.bookkeeping.seed, &work.node.id, work.turns + 1, work.attempt)
}

fn start_session(
    work: &mut SessionWork,
    cx: &mut DecisionCx<'_>,
    session: SessionId,
    resume: bool,
    text: String,
) {
    let is_first = work.attempt == 1;
    if let Some(outcome) = if is_first { cx.cannot_afford_turn(work) } else { cx.cannot_afford_repeat(work) }
    {
        return ending::end(work, cx, outcome);
    }
    if is_first {
        cx.count_turns_of(work, 1);
    }
    mark(work, cx);
    work.is_judged = false;
    work.is_resumable = resume;
    work.is_forked &= resume;
    work.session = Some(session.clone());
    let deadline = work.deadline;
    let holds_stop = mode(work) == Some(LoopMode::InSession) || mode(work) == Some(LoopMode::Plugin);
    let schema = work.schema.clone();
    // Kept until the turn ends, because a repeated turn gets the same message.
    let text = match &work.message {
        Some(message) => format!("{text}\n\n{}", prompt::from_person(message)),
        None => text,
    };
    let text = match work.hand_over.as_ref().filter(|_| !resume) {
        Some(hand_over) => format!("{text}\n\n{}", taken_over(work, hand_over)),
        None => text,
    };
    let (driver, model, env) = (work.driver.clone(), work.model().cloned(), work.env.clone());
    let session_plan =
        SessionPlan { session, resume, prompt: text, holds_stop, deadline, schema, env, driver, model };
    let effect = plan(work, cx, Verb::Session, Effect::StartSession(session_plan));
    work.turn = Some(Turn {
        effect,
        resumed: resume,
        started: false,
        tool_hooks: 0,
        stops: 0,
        owner_changed: false,
        unanswered: Vec::new(),
    });
    work.is_turn_open = true;
    work.phase = SessionPhase::InTurn;
}

/// Describes the work so far for an agent that takes it over.
fn taken_over(work: &SessionWork, hand_over: &HandOver) -> String {
    // A loop's prompt contains the failures already.
    let failed = work.feedback.as_deref().filter(|_| work.node.rules().is_none());
    let told = [failed, work.resumes.as_deref().filter(|_| work.turns == 0)];
    let so_far = hand_over.work.clone().unwrap_or_default();
    prompt::taken_over(&so_far, work.last_message.as_deref(), told.into_iter().flatten())
}

/// Shows the number of the current turn in the tracker.
fn mark(work: &mut SessionWork, cx: &mut DecisionCx<'_>) {
    if work.node.rules().is_some_and(|rules| rules.tracker_path.is_some()) {
        let iteration = work.turns + 1;
        plan(work, cx, Verb::Mark, Effect::MarkTracker { iteration, active: true });
    }
}

/// Inspects the result of a turn that ended by its Stop hook or by its process.
pub(super) fn look(
    work: &mut SessionWork,
    cx: &mut DecisionCx<'_>,
    hook: Option<HookId>,
    last_message: Option<String>,
) {
    work.phase = SessionPhase::Judging { hook, sight: None };
    plan(work, cx, Verb::Inspect, Effect::Inspect { last_message });
}

/// Runs the checks after the inspection, unless they cannot change the verdict any more.
pub(super) fn inspected(work: &mut SessionWork, cx: &mut DecisionCx<'_>, seen: &Inspection) {
    let SessionPhase::Judging { sight, .. } = &mut work.phase else { return };
    let mut seen = seen.clone();
    if work.unblocked.is_some() {
        seen.forget_block(work.unblocked.as_deref());
    }
    *sight = Some(seen.clone());
    if !work.checked || ends_before_checks(&seen).is_some() {
        return conclude(work, cx, &[]);
    }
    let (workspace, env) = (work.workspace.clone(), work.env.clone());
    plan(work, cx, Verb::Checks, Effect::RunChecks { names: Vec::new(), workspace, env });
}

pub(super) fn checked(work: &mut SessionWork, cx: &mut DecisionCx<'_>, results: &[CheckResult]) {
    if matches!(work.phase, SessionPhase::Judging { .. }) {
        conclude(work, cx, results);
    }
}

/// Counts the turn and judges it.
fn conclude(work: &mut SessionWork, cx: &mut DecisionCx<'_>, results: &[CheckResult]) {
    let SessionPhase::Judging { hook, sight: Some(sight) } = work.phase.clone() else { return };
    let iteration = count_turn(work, cx, &sight);
    for result in results {
        work.streaks.entry(result.name.clone()).or_default().count(result);
    }
    let (verdict, unfit) = fitting(work, verdict(work, &sight, results));
    cx.decision.news.push(News::IterationFinished {
        node: work.node.id.clone(),
        iteration,
        checks: results.iter().map(|check| (check.name.clone(), check.passed)).collect(),
        goes_on: matches!(verdict, Verdict::Next { .. }),
        feedback: match &verdict {
            Verdict::Next { feedback } => feedback.clone(),
            Verdict::End(_) => None,
        },
    });
    if let (Verdict::Next { .. }, Some(what)) = (&verdict, unfit) {
        cx.decision.news.push(News::Retrying {
            node: work.node.id.clone(),
            what: format!("the answer does not fit its schema: {what}"),
            attempt: work.unfit + 1,
            of: Some(schema::ASKED_AGAIN + 1),
            until: None,
        });
    }
    match verdict {
        Verdict::End(outcome) => {
            work.feedback = checks_feedback(results, claim(&sight).is_some());
            close(work, cx, hook, outcome)
        }
        Verdict::Next { feedback } => go_on(work, cx, hook, feedback),
    }
}

fn count_turn(work: &mut SessionWork, cx: &mut DecisionCx<'_>, sight: &Inspection) -> u32 {
    cx.bookkeeping.replies.retain(|reply| reply.ask.node != work.node.id);
    cx.bookkeeping.turns += 1;
    work.turns += 1;
    work.is_turn_open = false;
    work.attempt = 1;
    work.transient = 0;
    work.interrupted = 0;
    work.rate_limits = 0;
    work.is_judged = true;
    hand_over::has_worked(work, cx);
    work.message = None;
    work.unblocked = None;
    work.idle_turns = if sight.fingerprint == work.fingerprint { work.idle_turns + 1 } else { 0 };
    work.fingerprint.clone_from(&sight.fingerprint);
    work.turns
}

fn verdict(work: &SessionWork, sight: &Inspection, results: &[CheckResult]) -> Verdict {
    let rules = match &work.node.kind {
        SessionPromptKind::Loop(rules) => rules,
        SessionPromptKind::Prompt { .. } => return Verdict::End(single_turn(results)),
    };
    match judge(rules, work.turns, work.idle_turns, sight, results, &work.streaks) {
        // Failed checks explain why the work is not done, so the agent continues with them as
        // feedback.
        Verdict::Next { feedback: None } if rules.mode == LoopMode::Plugin => Verdict::End(
            Outcome::new(FinalStatus::Failed, EndReason::PluginStopped)
                .because("the plugin ended its loop before the work was done"),
        ),
        verdict => verdict,
    }
}

/// Replaces the verdict if the answer does not fit its schema. The agent gets two more attempts.
/// Also returns the problem.
fn fitting(work: &mut SessionWork, verdict: Verdict) -> (Verdict, Option<String>) {
    let (Some(form), Verdict::End(Outcome { status: FinalStatus::Completed, .. })) = (&work.schema, &verdict)
    else {
        return (verdict, None);
    };
    let answer = schema::answer(work.value.as_ref(), work.last_message.as_deref());
    work.value = None;
    let what = match answer {
        Err(none) => none.to_string(),
        Ok(answer) => {
            let faults = schema::validate(form, &answer);
            if faults.is_empty() {
                work.value = Some(answer);
                return (verdict, None);
            }
            faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        }
    };
    work.unfit += 1;
    if work.unfit > schema::ASKED_AGAIN {
        let why = format!("the agent's answer does not fit its schema: {what}");
        return (Verdict::End(Outcome::new(FinalStatus::Failed, EndReason::Schema).because(why)), Some(what));
    }
    let text = format!(
        "Your answer does not fit what was asked for:\n{what}\n\nAnswer again, with JSON alone that fits this JSON Schema:\n{form}"
    );
    (Verdict::Next { feedback: Some(text) }, Some(what))
}

fn single_turn(results: &[CheckResult]) -> Outcome {
    let failed: Vec<&str> = results.iter().filter(|c| !c.passed).map(|c| c.name.as_str()).collect();
    if failed.is_empty() {
        return Outcome::new(FinalStatus::Completed, EndReason::TurnDone);
    }
    Outcome::new(FinalStatus::Failed, EndReason::ChecksFailed)
        .because(format!("checks failed: {}", failed.join(", ")))
}

/// Lets the agent stop after the outcome is decided. The agent gets time to end by itself, so that
/// the stream contains its last message and its usage.
fn close(work: &mut SessionWork, cx: &mut DecisionCx<'_>, hook: Option<HookId>, outcome: Outcome) {
    if let Some(hook) = hook {
        super::hooks::answer(work, cx, &hook, "stop", None, HookAnswer::Pass);
    }
    if work.turn.is_none() {
        return ending::end(work, cx, outcome);
    }
    work.phase = SessionPhase::Closing { outcome };
    let until = cx.at.plus_ms(CLOSING_MS);
    plan_wait(work, cx, until);
}

/// Starts another turn: in the running session through its Stop hook, or in a new process.
fn go_on(work: &mut SessionWork, cx: &mut DecisionCx<'_>, hook: Option<HookId>, feedback: Option<String>) {
    match (hook, work.node.rules()) {
        (Some(hook), Some(rules)) if work.turn.is_some() => {
            if let Some(outcome) = cx.cannot_afford_turn(work) {
                return close(work, cx, Some(hook), outcome);
            }
            cx.count_turns_of(work, 1);
            work.is_judged = false;
            let reason = prompt::continuing(rules, feedback.as_deref());
            // For another driver that may have to repeat the turn.
            work.feedback = feedback;
            mark(work, cx);
            super::hooks::answer(work, cx, &hook, "stop", None, HookAnswer::Block { reason });
            work.is_turn_open = true;
            work.phase = SessionPhase::InTurn;
        }
        _ => {
            work.feedback = feedback;
            if !hand_over::give_back(work, cx) {
                begin(work, cx);
            }
        }
    }
}

/// Repeats the turn after a wait, or ends an agent that should have stopped.
pub(super) fn wait_over(work: &mut SessionWork, cx: &mut DecisionCx<'_>) {
    match work.phase.clone() {
        SessionPhase::Pausing { resume, .. } => {
            cx.wait_is_over();
            let is_given =
                hand_over::is_limited(work, cx) && hand_over::give(work, cx, "it is at its usage limit");
            if !is_given {
                begin_again(work, cx, resume);
            }
        }
        SessionPhase::Closing { outcome } => ending::end(work, cx, outcome),
        _ => {}
    }
}

/// Returns the mode of the loop, if the node loops.
pub(super) fn mode(work: &SessionWork) -> Option<LoopMode> {
    work.node.rules().map(|rules| rules.mode)
}
