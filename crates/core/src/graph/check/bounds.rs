//! Checks that every loop ends, every question has an answer, and the budget is enough.
//!
//! A loop needs a `max` or an enclosing budget. A loop that only a condition ends is a warning; a
//! loop that nothing ends is an error.

use serde_json::Value;

use super::UnreadParts;
use super::context::CheckContext;
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::lower_bound::{Calls, LowerBound, least, sequence};
use super::outline::{Outline, OutlineNode};
use super::reach::never_ends;
use super::suggest::shown;
use crate::graph::template::{Scope, evaluate, is_plain, names_in};
use crate::graph::upper_bound::UpperBound;
use crate::graph::workflow::{
    AskNode, Budget, CriteriaLoopNode, EachNode, ListSource, LoopNode, NodeKind, NodeNumber, ReviewNode,
    Session, TaskLoopNode, TurnLoop, WorkflowInput, input_name,
};
use crate::looping::{DEFAULT_TRACKER, LoopMode, reach};
use crate::time::{parse_span, written};

pub(super) fn look(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    unread: UnreadParts,
    found: &mut GraphDiagnostics,
) {
    let all = least(outline, &mut Calls::new(known));
    let whole = sequence(outline, 0..outline.nodes.len(), &all);
    for text in too_small(&outline.workflow.budget, whole) {
        found.whole(GraphDiagnostic::error(None, "budget", text));
    }
    if outline.workflow.settings.timeout_ms == Some(0) {
        found.whole(GraphDiagnostic::error(None, "settings.timeout", "a timeout of 0 leaves no time to run"));
    }
    let timeout = outline.workflow.settings.timeout_ms.filter(|ms| *ms > 0);
    if let Some(text) = timeout.and_then(|allowed| cut_off(allowed, whole)) {
        found.whole(GraphDiagnostic::error(None, "settings.timeout", text));
    }
    for node in &outline.nodes {
        for text in too_small(&node.node.budget, all.get(node.at).copied().unwrap_or_default()) {
            found.error(node, "budget", text);
        }
        if node.node.settings.timeout_ms == Some(0) {
            found.error(node, "timeout", "a timeout of 0 leaves no time to run");
        }
        defaults_fit(outline, node, found);
        list_is_given(outline, node, found);
        constants_fit(node, found);
        waits_fit(outline, node, &all, found);
        // One of the unread nodes may spend the budget.
        let is_budgeted =
            node.surroundings.is_budgeted && (unread.nodes || unread.values || spends(outline, node));
        check_node(node, is_budgeted, known, found);
    }
}

/// Describes a timeout that is shorter than the waits in it.
fn cut_off(allowed: u64, least: LowerBound) -> Option<String> {
    let (shown, waited) = (written(allowed), written(least.ms));
    (allowed < least.ms)
        .then(|| format!("the `timeout` allows {shown}, but the waits take at least {waited}"))
}

/// Checks that the waits of a node end before its timeout.
fn waits_fit(
    outline: &Outline<'_>,
    node: &OutlineNode<'_>,
    all: &[LowerBound],
    found: &mut GraphDiagnostics,
) {
    let least = match &node.node.kind {
        NodeKind::Finally(_) => sequence(outline, node.at + 1..node.end, all),
        _ => all.get(node.at).copied().unwrap_or_default(),
    };
    let timeout = node.node.settings.timeout_ms.filter(|ms| *ms > 0);
    let Some(text) = timeout.and_then(|allowed| cut_off(allowed, least)) else { return };
    let (field, hint) = match &node.node.kind {
        NodeKind::Finally(_) => ("finally", "set a longer one: `finally: { timeout: 1h, do: [ … ] }`"),
        _ => ("timeout", "set a longer `timeout`, or wait less"),
    };
    found.node(node, GraphDiagnostic::error(None, field, text).hint(hint));
}

/// Checks that an input which gives a number always has a value, and that its default is not more than the
/// number may be.
fn defaults_fit(outline: &Outline<'_>, node: &OutlineNode<'_>, found: &mut GraphDiagnostics) {
    for (number, from) in &node.node.computed {
        let name = from.0.trim().strip_prefix("inputs.");
        let input = outline.workflow.inputs.iter().find(|input| name == Some(input.name.as_str()));
        let Some(input) = input else { continue };
        let (field, written) = (number.field(&node.node.kind), shown(from.0.trim()));
        least_fits(node, (field, *number), input, found);
        let Some(default) = &input.default else {
            if !input.required {
                let text = format!("{written} may have no value, and then this node fails");
                let finding = GraphDiagnostic::warning(None, field, text);
                found.node(node, finding.hint("give the input a `default`, or `required: true`"));
            }
            continue;
        };
        let bound = node.node.bound(*number).filter(|_| !number.is_time());
        let (Some(default), Some(most)) = (default.as_u64(), bound) else { continue };
        if default > most || default < number.least() {
            let wanted = if default > most { format!("at most {most}") } else { "at least 1".to_owned() };
            let text = format!("{written} must be {wanted}, and its default is {default}");
            found.error(node, field, text);
        }
    }
}

/// Warns about an input whose `minimum` is less than the number may be.
fn least_fits(
    node: &OutlineNode<'_>,
    (field, number): (&'static str, NodeNumber),
    input: &WorkflowInput,
    found: &mut GraphDiagnostics,
) {
    if number.is_time() || number.least() == 0 {
        return;
    }
    let Some(least) = input.range.minimum.filter(|least| *least < 1.0) else { return };
    let name = shown(&format!("inputs.{}", input.name));
    let text = format!("{name} may be {least}, and then this node fails: the number must be at least 1");
    found.node(node, GraphDiagnostic::warning(None, field, text).hint("give the input `minimum: 1`"));
}

/// Reports numbers and times that are written out, and that the node does not allow.
fn constants_fit(node: &OutlineNode<'_>, found: &mut GraphDiagnostics) {
    for (number, from) in &node.node.computed {
        let is_constant =
            names_in(from).is_ok_and(|names| names.uses.is_empty() && names.item_uses.is_empty());
        let value =
            if is_constant { evaluate(from, &Scope::new("", &Default::default())).ok() } else { None };
        let time = value.as_ref().and_then(Value::as_str).and_then(parse_span).filter(|_| number.is_time());
        let amount = time.or_else(|| value.as_ref().and_then(Value::as_u64).filter(|_| !number.is_time()));
        let most = node.node.bound(*number).unwrap_or(u64::MAX);
        let wanted = match amount {
            Some(amount) if amount < number.least() && number.is_time() => "longer than zero".to_owned(),
            Some(amount) if amount < number.least() => "at least 1".to_owned(),
            Some(amount) if amount > most && number.is_time() => format!("at most {}", written(most)),
            Some(amount) if amount > most => format!("at most {most}"),
            _ => continue,
        };
        let field = number.field(&node.node.kind);
        let text = format!("`{field}` must be {wanted}, and is {}", shown(from.0.trim()));
        found.error(node, field, text);
    }
}

/// Warns about an `each` whose list is an input that may have no value.
fn list_is_given(outline: &Outline<'_>, node: &OutlineNode<'_>, found: &mut GraphDiagnostics) {
    let NodeKind::Each(EachNode { items: ListSource::Expression(list), .. }) = &node.node.kind else {
        return;
    };
    let Some(name) = input_name(&list.0) else { return };
    let input = outline.workflow.inputs.iter().find(|input| input.name == name);
    if input.is_none_or(|input| input.required || input.default.is_some()) {
        return;
    }
    // A condition around it may ask whether there is a list.
    let around = outline.nodes.iter().filter(|other| other.at <= node.at && node.at < other.end);
    let mut conditions =
        around.flat_map(|other| &other.texts).filter(|text| ["when", "if"].contains(&text.field));
    if conditions.any(|text| text.uses().any(|used| used.root() == "inputs" && used.name() == Some(name))) {
        return;
    }
    let text = format!("{} may have no value, and then this node fails", shown(list.0.trim()));
    let hint = "give the input `default: []` or `required: true`";
    found.node(node, GraphDiagnostic::warning(None, "each.in", text).hint(hint));
}

fn too_small(budget: &Budget, least: LowerBound) -> Vec<String> {
    let mut texts = Vec::new();
    match budget.turns {
        Some(turns) if u64::from(turns) < least.turns => {
            let allowed = if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
            let needed = if least.turns == 1 { "1 is".to_owned() } else { format!("{} are", least.turns) };
            texts.push(format!("the budget allows {allowed}, but at least {needed} needed"));
        }
        _ => {}
    }
    match budget.time_ms {
        Some(0) => texts.push("the budget allows no time at all".to_owned()),
        Some(ms) if ms < least.ms => {
            let (allowed, waited) = (written(ms), written(least.ms));
            texts.push(format!("the budget allows {allowed}, but the waits take at least {waited}"));
        }
        _ => {}
    }
    if budget.tokens == Some(0) && least.turns > 0 {
        texts.push("the budget allows no tokens at all".to_owned());
    }
    match budget.cost_usd {
        Some(cost) if (cost.is_nan() || cost <= 0.0) && least.turns > 0 => {
            texts.push("the budget allows no money at all".to_owned());
        }
        _ => {}
    }
    texts
}

/// Returns whether a node spends what limits it: time, or turns, tokens and money that only sessions spend.
fn spends(outline: &Outline<'_>, node: &OutlineNode<'_>) -> bool {
    let inside = outline.nodes.get(node.at..node.end).unwrap_or_default();
    let has_session = |node: &OutlineNode<'_>| {
        let shape = node.node.kind.shape();
        shape.calls().is_some() || shape.most_turns(node.node) != UpperBound::AtMost(0)
    };
    node.surroundings.is_timed || inside.iter().any(has_session)
}

fn check_node(
    node: &OutlineNode<'_>,
    is_budgeted: bool,
    known: &CheckContext<'_>,
    found: &mut GraphDiagnostics,
) {
    if let NodeKind::CriteriaLoop(CriteriaLoopNode { signal, .. }) = &node.node.kind
        && let Some(why) = reach::signal(signal)
    {
        found.node(node, GraphDiagnostic::error(None, "criteria_loop.signal", why).hint(reach::HINT));
    }
    match &node.node.kind {
        NodeKind::Loop(LoopNode { forever: true, max, until, .. }) => {
            if *max > 0 || !until.is_empty() {
                let text = "a loop with `forever` cannot have `until` or `max`";
                found.node(
                    node,
                    GraphDiagnostic::error(None, "loop.forever", text).hint("leave out one of them"),
                );
            }
            if !is_budgeted {
                let (text, hint) = match node.surroundings.is_budgeted {
                    true => (
                        "nothing ends this loop: no session in it spends the budget",
                        "give it a budget of time: `budget: { time: 8h }`",
                    ),
                    false => (
                        "nothing ends this loop: a loop that runs forever needs a budget",
                        "give it a budget: `budget: { turns: 50 }` or `budget: { time: 8h }`",
                    ),
                };
                found.node(node, GraphDiagnostic::error(None, "loop.forever", text).hint(hint));
            }
        }
        NodeKind::Loop(LoopNode { max: 0, .. }) => {
            let finding = match (never_ends(node), is_budgeted) {
                (true, false) => GraphDiagnostic::error(None, "loop.max", "nothing ends this loop"),
                (true, true) => GraphDiagnostic::warning(None, "loop.max", "only the budget ends this loop"),
                (false, false) => {
                    let text = "this loop has no limit: it runs until its condition is true";
                    GraphDiagnostic::warning(None, "loop.max", text)
                }
                (false, true) => return,
            };
            found.node(node, finding.hint("set `max: 10`"));
        }
        NodeKind::CriteriaLoop(CriteriaLoopNode { max: 0, .. }) if !is_budgeted => {
            let text = "only the signal ends this loop, and an agent may never give it";
            found.node(node, GraphDiagnostic::error(None, "criteria_loop.max", text).hint("max: 20"));
        }
        NodeKind::TaskLoop(TaskLoopNode { max, jobs, attempts, keeps_branches, .. }) => {
            if *keeps_branches && *jobs < 2 {
                let text = "with one job at a time the tasks have no branches of their own to keep";
                let finding = GraphDiagnostic::error(None, "task_loop.land", text);
                found.node(node, finding.hint("set `jobs: 2`, or leave out `land`"));
            }
            if *max == 0 && !is_budgeted {
                let text = "only the tasks end this loop";
                found.node(node, GraphDiagnostic::warning(None, "task_loop.max", text).hint("max: 100"));
            }
            if *jobs == 0 {
                found.node(
                    node,
                    GraphDiagnostic::error(None, "task_loop.jobs", "0 jobs run no task").hint("jobs: 1"),
                );
            }
            if *attempts == 0 {
                let finding = GraphDiagnostic::error(None, "task_loop.attempts", "0 attempts run no task");
                found.node(node, finding.hint("attempts: 3"));
            }
        }
        NodeKind::Session(session) => turns(node, session, found),
        NodeKind::Ask(AskNode { choices, default, .. }) => {
            ask(node, choices, default.as_deref(), known, found)
        }
        NodeKind::Review(ReviewNode { max_cycles, threshold, .. }) => {
            if *max_cycles == 0 {
                found.warning(node, "review.max_cycles", "Windlass asks a person at the first rejection");
            }
            if threshold.is_some_and(|threshold| !(0.0..=1.0).contains(&threshold)) {
                found.error(node, "review.threshold", "the threshold must be from 0 to 1");
            }
        }
        _ => {}
    }
}

fn turns(node: &OutlineNode<'_>, session: &Session, found: &mut GraphDiagnostics) {
    let Some(turns) = &session.turns else { return };
    let says_when = turns.marker.is_some() || turns.promise.is_some();
    let gives_up = turns.stuck_after.is_some_and(|turns| turns > 0);
    if turns.max == Some(0) && !says_when && !node.surroundings.is_budgeted {
        let finding = match gives_up {
            false => GraphDiagnostic::error(None, "turns.max", "nothing ends these turns"),
            true => {
                GraphDiagnostic::warning(None, "turns.max", "these turns only end when the agent is stuck")
            }
        };
        found.node(node, finding.hint("max: 10, or a `marker`"));
    }
    if turns.mode == Some(LoopMode::Plugin) {
        plugin_mode(node, turns, found);
    }
    let tracker = turns.tracker.as_deref().unwrap_or(DEFAULT_TRACKER);
    let marker = |text: &str| reach::marker(text, turns.marker_match, tracker);
    ends(node, "turns.marker", turns.marker.as_deref(), "the marker is empty", marker, found);
    ends(node, "turns.promise", turns.promise.as_deref(), "the promise is empty", reach::promise, found);
    let blocked = |text: &str| reach::blocked(text, tracker);
    ends(node, "turns.blocked", turns.blocked.as_deref(), "the marker is empty", blocked, found);
}

/// Checks that a text which ends the turns is not empty and that Windlass can find it.
fn ends(
    node: &OutlineNode<'_>,
    field: &'static str,
    text: Option<&str>,
    empty: &str,
    lost: impl Fn(&str) -> Option<&'static str>,
    found: &mut GraphDiagnostics,
) {
    match text {
        Some(text) if text.trim().is_empty() => found.error(node, field, empty),
        Some(text) => {
            if let Some(why) = lost(text) {
                found.node(node, GraphDiagnostic::error(None, field, why).hint(reach::HINT));
            }
        }
        None => {}
    }
}

/// Checks `plugin` mode: the plugin counts turns and searches for the promise, but reads no tracker.
fn plugin_mode(node: &OutlineNode<'_>, turns: &TurnLoop, found: &mut GraphDiagnostics) {
    if turns.promise.is_none() {
        let text = "in `plugin` mode only a promise completes the turns, and there is none";
        let finding = GraphDiagnostic::error(None, "turns.mode", text);
        found.node(node, finding.hint("add `promise: DONE`, or choose another mode"));
    } else if turns.marker.is_some() {
        let text = "`plugin` mode has no tracker, so this marker has no effect";
        found.warning(node, "turns.marker", text);
    }
}

fn ask(
    node: &OutlineNode<'_>,
    choices: &[String],
    default: Option<&str>,
    known: &CheckContext<'_>,
    found: &mut GraphDiagnostics,
) {
    let literal = "write the answer itself";
    if choices.iter().any(|choice| !is_plain(choice)) {
        let finding = GraphDiagnostic::error(None, "choices", "a choice cannot be a template");
        found.node(node, finding.hint(literal));
    }
    match default {
        Some(default) if !is_plain(default) => {
            let finding = GraphDiagnostic::error(None, "default", "the default cannot be a template");
            found.node(node, finding.hint(literal));
        }
        Some(default) if !choices.is_empty() && choices.iter().all(|choice| choice != default) => {
            let text = format!("the default {} is not among the choices", shown(default));
            let hint = format!("choices are {}", choices.join(", "));
            found.node(node, GraphDiagnostic::error(None, "default", text).hint(hint));
        }
        None if known.is_headless => {
            let finding =
                GraphDiagnostic::error(None, "default", "no one can answer, and there is no default");
            found.node(node, finding.hint("add an answer for this case: `default: …`"));
        }
        _ => {}
    }
    if choices.len() == 1 {
        found.warning(node, "choices", "there is only one choice");
    }
}
