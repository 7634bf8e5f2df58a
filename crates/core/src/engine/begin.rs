//! How each kind of node begins.

use serde_json::json;

use super::frame::Frame;
use super::lane::{in_purse, seen};
use super::{Cx, block, call, tasks, work};
use crate::effect::Effect;
use crate::graph::walk::ids_in;
use crate::graph::workflow::{Act, Session, Source, Step, Until};
use crate::graph::{Node, NodeKind};
use crate::id::{EffectId, HookId, Verb};
use crate::looping::{Rules, prompt};
use crate::run::{Active, Ask, Cause, Doing, Lane, News, Outcome, Reason, Spent, Status, Waiting};
use crate::spec::OnQuestion;
use crate::time::Moment;

/// How a node began.
pub(super) enum Begun {
    /// It takes time.
    UnderWay,
    /// It is over already.
    Over(Outcome),
    /// It is left out.
    Skipped,
}

/// Which try it is.
pub(super) struct Try {
    /// From 1.
    pub(super) tries: u32,
    /// Why it begins.
    pub(super) cause: Cause,
    /// What the tries before it spent.
    pub(super) spent: Spent,
}

impl Try {
    pub(super) fn first(cause: Cause) -> Try {
        Try { tries: 1, cause, spent: Spent::default() }
    }
}

/// Begins a node. Unless it is left out, it is the one under way then, even if it is over. While the
/// run is paused none begins: nothing of it is looked at, told or timed before the pause ends.
pub(super) fn begin(cx: &mut Cx<'_>, step: &Step, lane: &mut Lane, frame: &Frame<'_>, this: Try) -> Begun {
    if cx.book.paused {
        lane.now = Some(Box::new(held(cx, step, frame, this)));
        return Begun::UnderWay;
    }
    let Try { tries, cause, spent } = this;
    let instance = frame.name(step, tries);
    // A node that is tried again was not left out before.
    let when = step.when.as_ref().filter(|_| tries == 1);
    let holds = when.map_or(Ok(true), |when| frame.holds(cx, when));
    if let Ok(false) = holds {
        skip(cx, step, frame);
        return Begun::Skipped;
    }
    seen(cx, step, &instance, cause);
    let about = match &step.act {
        Act::Session(session) => Some(named(session)),
        _ => None,
    };
    cx.tell(News::NodeStarted { node: instance.clone(), kind: step.act.word().to_owned(), about });
    let own = own_time(step).map(|ms| cx.at.plus_ms(ms));
    if let Some(until) = own {
        cx.plan_once(&instance, Verb::Timeout, Effect::WaitUntil { until });
    }
    let mut active = Active {
        step: step.id.clone(),
        instance,
        tries,
        began: cx.at,
        deadline: [frame.deadline, own].into_iter().flatten().min(),
        spent,
        earlier: spent,
        cut: None,
        said: None,
        word: None,
        doing: Doing::Check,
    };
    let over = match holds {
        Err(outcome) => Some(outcome),
        Ok(_) => in_purse(cx, step, &mut active, |cx, active| act(cx, step, active, frame)),
    };
    lane.now = Some(Box::new(active));
    over.map_or(Begun::UnderWay, Begun::Over)
}

/// How long a node itself may take, in milliseconds.
pub(super) fn own_time(step: &Step) -> Option<u64> {
    [step.settings.timeout_ms, step.budget.time_ms].into_iter().flatten().min()
}

/// A node that begins when the pause ends.
fn held(cx: &mut Cx<'_>, step: &Step, frame: &Frame<'_>, this: Try) -> Active {
    let Try { tries, cause, spent } = this;
    let instance = frame.name(step, tries);
    cx.hold(&instance);
    Active {
        step: step.id.clone(),
        instance,
        tries,
        began: cx.at,
        deadline: None,
        spent,
        earlier: spent,
        cut: None,
        said: None,
        word: None,
        doing: Doing::Held { cause },
    }
}

fn skip(cx: &mut Cx<'_>, step: &Step, frame: &Frame<'_>) {
    let condition = step.when.as_ref().map(|when| when.0.clone()).unwrap_or_default();
    let node = frame.name(step, 1);
    let why = format!("`{}` does not hold", condition.trim());
    cx.tell(News::NodeSkipped { node: node.clone(), why });
    let before = cx.book.nodes.get(&step.id);
    let times = before.map_or(0, |seen| seen.times);
    let earlier = before.and_then(|seen| seen.outcome.clone().or_else(|| seen.earlier.clone()));
    seen(cx, step, &node, Cause::WhenFalse { condition });
    if let Some(seen) = cx.book.nodes.get_mut(&step.id) {
        seen.times = times;
        seen.earlier = earlier;
        seen.ended = Some(seen.began);
    }
    forget_outputs(cx, std::slice::from_ref(step));
}

/// What these nodes gave in an earlier round is no longer there.
pub(super) fn forget_outputs(cx: &mut Cx<'_>, steps: &[Step]) {
    for id in ids_in(steps) {
        cx.book.outputs.remove(&id);
    }
}

fn act(cx: &mut Cx<'_>, step: &Step, active: &mut Active, frame: &Frame<'_>) -> Option<Outcome> {
    let inside = frame.inside(step, active.tries, active.deadline);
    match &step.act {
        Act::Session(session) => session_node(cx, step, session, active, frame).err(),
        Act::Shell { command, idempotent } => {
            let command = match frame.render(cx, command) {
                Ok(command) => command,
                Err(outcome) => return Some(outcome),
            };
            active.doing = Doing::Shell;
            let (workspace, idempotent, deadline) = (frame.workspace.clone(), *idempotent, active.deadline);
            let effect = Effect::RunShell { command, workspace, idempotent, deadline };
            cx.plan_once(&active.instance, Verb::Shell, effect);
            None
        }
        Act::Check { names } => {
            active.doing = Doing::Check;
            let is_unknown = |name: &&String| !cx.spec.checks.iter().any(|check| check.name == **name);
            if let Some(name) = names.iter().find(is_unknown) {
                let why = format!("`{}` wants the check `{name}`, which nobody defines", step.id);
                return Some(Outcome::new(Status::Failed, Reason::ChecksFailed).because(why));
            }
            if cx.spec.checks.is_empty() {
                return Some(done(Reason::AllDone).because("there are no checks"));
            }
            let effect = Effect::RunChecks { names: names.clone(), workspace: frame.workspace.clone() };
            cx.plan_once(&active.instance, Verb::Checks, effect);
            None
        }
        Act::Ask { question, choices, default } => match frame.render(cx, question) {
            Ok(question) => ask(cx, active, &question, choices, default.as_deref()),
            Err(outcome) => Some(outcome),
        },
        Act::Wait(until) => wait(cx, active, until),
        Act::Workflow { name, inputs } => call::run(cx, active, frame, name, inputs),
        Act::If { .. } => block::begin_if(cx, step, active, &inside),
        Act::Loop { .. } | Act::CriteriaLoop { .. } => block::begin_loop(cx, step, active, &inside),
        Act::Parallel { .. } => block::begin_parallel(cx, step, active, &inside),
        Act::TaskLoop { .. } => tasks::begin(cx, step, active, &inside),
        // Every session begins anew, so there is nothing to forget.
        Act::ClearContext => Some(done(Reason::AllDone)),
        Act::Review { .. } | Act::Land { .. } | Act::PullRequest { .. } => {
            let why = format!("a `{}` node cannot be run yet", step.act.word());
            Some(Outcome::new(Status::Failed, Reason::NotYet).because(why))
        }
    }
}

/// It went well.
pub(super) fn done(reason: Reason) -> Outcome {
    Outcome::new(Status::Completed, reason)
}

fn named(session: &Session) -> String {
    match &session.source {
        Source::Prompt { .. } => "prompt".to_owned(),
        Source::Skill { name, .. } => format!("skill {name}"),
        Source::Command { name, .. } => format!("command {name}"),
        Source::Agent { name, .. } => format!("agent {name}"),
    }
}

/// The work of an agent: what it is told is made from the values of now.
fn session_node(
    cx: &mut Cx<'_>,
    step: &Step,
    session: &Session,
    active: &mut Active,
    frame: &Frame<'_>,
) -> Result<(), Outcome> {
    let Some(orders) = cx.spec.sessions.get(&step.id) else {
        let why = format!("there are no orders for the sessions of `{}`", step.id);
        return Err(Outcome::new(Status::Failed, Reason::NotYet).because(why));
    };
    let (told, args) = match &session.source {
        Source::Prompt { prompt } => (frame.render(cx, prompt)?, None),
        Source::Skill { args, .. } | Source::Command { args, .. } => {
            let args = args.as_ref().map(|args| frame.render(cx, args)).transpose()?;
            (String::new(), Some(args.unwrap_or_default()))
        }
        Source::Agent { prompt, .. } => (String::new(), Some(frame.render(cx, prompt)?)),
    };
    let mut parts = vec![told];
    match &session.schema {
        // Nothing else may stand beside such an answer, so that no word is asked for and none is heard.
        Some(schema) => parts.push(prompt::schema_note(&schema.to_string())),
        None => {
            parts.extend(frame.task.map(|_| prompt::task_note()));
            parts.extend(frame.signal.map(prompt::signal_note));
        }
    }
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    let kind = match &orders.rules {
        None => NodeKind::Prompt { prompt: text },
        Some(rules) => NodeKind::Loop(Rules {
            prompt: text,
            tracker_path: rules.tracker_path.as_ref().map(|path| tracker(cx, active, frame, path)),
            ..rules.clone()
        }),
    };
    let node = Node { id: active.instance.clone(), kind, system: None };
    let mut work = work::new(node, &step.id, &frame.workspace);
    work.schema.clone_from(&session.schema);
    // Between the nodes of a workflow its `check` nodes are the gates.
    work.checked = !cx.spec.checks.is_empty() && (orders.rules.is_some() || cx.spec.only_session().is_some());
    work.deadline = active.deadline;
    work::begin(cx, &mut work, args);
    active.doing = Doing::Session(Box::new(work));
    Ok(())
}

/// Where the loop of a node keeps its tracker: in a folder of the run's own below the workspace.
fn tracker(cx: &Cx<'_>, active: &Active, frame: &Frame<'_>, given: &str) -> String {
    if !given.is_empty() {
        return given.to_owned();
    }
    let name = match cx.spec.only_session() {
        Some(_) => "loop",
        None => active.instance.as_str(),
    };
    format!("{}/.windlass/runs/{}/{name}-tracker.md", frame.workspace, cx.run)
}

/// A person is asked, or what is said where nobody is there holds.
fn ask(
    cx: &mut Cx<'_>,
    active: &mut Active,
    question: &str,
    choices: &[String],
    default: Option<&str>,
) -> Option<Outcome> {
    active.doing = Doing::Ask;
    if cx.spec.policy.on_question != OnQuestion::Wait {
        let asks = format!("`{}` asks: {question}; nobody may be asked", active.step);
        return Some(match (default, cx.spec.policy.on_question) {
            (Some(answer), _) => {
                answered(cx, active, answer).because(format!("{asks}: the default `{answer}` was taken"))
            }
            (None, OnQuestion::Empty) => {
                answered(cx, active, "").because(format!("{asks}: the answer is empty"))
            }
            (None, OnQuestion::Fail | OnQuestion::Wait) => {
                let way = "run it with `--on-question wait`, fork the run there with that flag, or give the node a `default`";
                Outcome::new(Status::Blocked, Reason::Question).because(format!("{asks}; {way}"))
            }
        });
    }
    let options: Vec<_> = choices.iter().map(|choice| json!({"label": choice})).collect();
    let ask = Ask {
        node: active.instance.clone(),
        hook: HookId::new(format!("ask/{}", active.instance)),
        tool: None,
        input: json!({"questions": [{"question": question, "options": options}]}),
        answers: Vec::new(),
    };
    cx.step.news.push(News::Waiting(Waiting::Person(ask.clone())));
    cx.book.asks.push(ask);
    None
}

/// What was answered is what the node gives.
pub(super) fn answered(cx: &mut Cx<'_>, active: &Active, answer: &str) -> Outcome {
    super::leaf::give(cx, active, answer);
    done(Reason::AllDone)
}

fn wait(cx: &mut Cx<'_>, active: &mut Active, until: &Until) -> Option<Outcome> {
    match until {
        Until::Elapsed { ms } => {
            let until: Moment = cx.at.plus_ms(*ms);
            active.doing = Doing::Sleep { until };
            cx.step.news.push(News::Waiting(Waiting::Time { until }));
            cx.plan_once(&active.instance, Verb::Wait, Effect::WaitUntil { until });
            None
        }
        Until::Event { name, timeout_ms } => {
            if let Some(text) = cx.book.take_told(name) {
                return Some(answered(cx, active, &text));
            }
            active.doing = Doing::Listen { name: name.clone() };
            cx.step.news.push(News::Waiting(Waiting::Event { name: name.clone() }));
            if let Some(ms) = timeout_ms {
                let until = cx.at.plus_ms(*ms);
                let id =
                    EffectId { node: active.instance.clone(), iteration: 2, attempt: 1, verb: Verb::Timeout };
                cx.plan(id, Effect::WaitUntil { until });
            }
            None
        }
    }
}
