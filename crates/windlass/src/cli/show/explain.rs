//! `windlass show --explain`: explains why a node ran or did not.

use serde_json::{Value, json};
use windlass_core::engine::explain::{
    BlockProgress, EnclosingBlock, ExplainedCause, ExplainedCondition, Explanation, GivenAnswer,
    NodeProgress, Unreached, UnreachedCause, explain, explain_time, nearest, times_of,
};
use windlass_core::event::Record;
use windlass_core::graph::walk::{find, ids_in};
use windlass_core::graph::workflow::{IfNode, Join, NodeKind};
use windlass_core::id::NodeId;
use windlass_core::run::{NodeCause, NodeHistory, RunState};

use super::super::feed::{answer_object, envelope, named, rfc3339, words};
use super::super::report::Report;
use super::super::sanitize::{plain_line, plain_short};
use super::super::terminal::Terminal;
use super::{RunDetails, ShownTurn, facts, nodes};

/// The longest condition or error that is shown.
const TEXT: usize = 300;

/// The most starts of a node that are listed.
const TIMES: usize = 20;

/// A node to explain: as a whole, or one of its starts.
struct ExplainedNode<'a> {
    explained: &'a Explanation,
    /// The rounds and tries in which it started.
    began: Vec<NodeId>,
    is_one_time: bool,
    turns: Vec<&'a ShownTurn>,
}

/// Explains a node, or one of its starts such as `fix@2`.
pub(super) fn lines(
    screen: Terminal,
    details: &RunDetails,
    records: &[Record],
    node: &str,
    json: bool,
) -> Result<Vec<String>, Report> {
    let state = &details.view.state;
    let id = NodeId::new(node);
    let plain = NodeId::new(named(&id));
    let is_one_time = id != plain;
    let Some(whole) = explain(state, &plain) else { return Err(unknown(state, plain.as_str())) };
    let began = times_of(records, &plain);
    let explained = match is_one_time {
        true => explain_time(state, records, &id).ok_or_else(|| never(state, &id, &plain, &began))?,
        false => whole,
    };
    let is_its = |turn: &&ShownTurn| match is_one_time {
        true => turn.effect.node == id,
        false => named(&turn.effect.node) == plain.as_str(),
    };
    let turns = details.turns.iter().filter(is_its).collect();
    let told = ExplainedNode { explained: &explained, began, is_one_time, turns };
    Ok(match json {
        true => vec![object(details, &told)],
        false => described(screen, details, &told),
    })
}

/// Reports that the node never ran in this round or try.
fn never(state: &RunState, time: &NodeId, node: &NodeId, began: &[NodeId]) -> Report {
    let run = &state.run;
    let names: Vec<String> = began.iter().take(TIMES).map(|name| plain_line(name.as_str())).collect();
    let more = if began.len() > TIMES { ", ..." } else { "" };
    let report = Report::usage(format!("run {run} has no `{time}`"));
    report.hint(match began {
        [] => format!("`{node}` never ran: `windlass show {run} --explain {node}` explains why"),
        _ => format!("`{node}` ran as: {}{more}", names.join(", ")),
    })
}

fn unknown(state: &RunState, node: &str) -> Report {
    let mut ids: Vec<String> = ids_in(&state.spec.body).iter().map(|id| plain_line(id.as_str())).collect();
    ids.sort();
    let there = format!("its nodes are: {}", ids.join(", "));
    let hint = match nearest(state, node) {
        Some(near) => format!("did you mean `{near}`? {there}"),
        None => there,
    };
    Report::usage(format!("run {} has no node `{node}`", state.run)).hint(hint)
}

fn object(details: &RunDetails, told: &ExplainedNode<'_>) -> String {
    let ExplainedNode { explained, is_one_time, turns, .. } = told;
    let around = |around: &EnclosingBlock| {
        let mut data = json!(around.block);
        if let Value::Object(map) = &mut data {
            map.insert("node".to_owned(), json!(around.node));
            map.insert("state".to_owned(), around.far.word().into());
            map.insert("outcome".to_owned(), json!(around.outcome));
        }
        data
    };
    let seen = explained.seen.as_ref();
    let data = json!({
        "node": explained.node,
        "kind": explained.kind,
        "state": explained.far.word(),
        "because": explained.why,
        "around": explained.around.iter().map(around).collect::<Vec<_>>(),
        "conditions": explained.conditions,
        "answers": details.answers.iter().filter(|given| is_answer_to(given, explained, *is_one_time))
            .map(answer_object).collect::<Vec<_>>(),
        "instance": seen.map(|seen| &seen.instance),
        "times": seen.map_or(0, |seen| seen.times),
        "failed": seen.map_or(0, |seen| seen.failed),
        "began": seen.map(|seen| rfc3339(seen.began)),
        "ended": seen.and_then(|seen| seen.ended).map(rfc3339),
        "outcome": seen.and_then(|seen| seen.outcome.as_ref()),
        "took_ms": seen.map(|seen| seen.took_ms),
        "spent": seen.map(|seen| &seen.spent),
        "sessions": turns.iter().map(|turn| facts::session(turn, true)).collect::<Vec<_>>(),
    });
    envelope("node", words::now(), Some(&details.view.run), data)
}

fn described(screen: Terminal, details: &RunDetails, node: &ExplainedNode<'_>) -> Vec<String> {
    let explained = node.explained;
    let word = nodes::painted(screen, explained.far, explained.far.word());
    let time = explained.seen.as_ref().filter(|_| node.is_one_time).map(|seen| &seen.instance);
    let name = plain_line(time.unwrap_or(&explained.node).as_str());
    let mut lines = vec![format!("node {name} ({}): {word}", explained.kind)];
    lines.push(format!("  {}", why(&details.view.state, node)));
    lines.extend(explained.conditions.iter().filter_map(|condition| held(explained, condition)));
    lines.extend(explained.around.iter().map(|around| format!("  {}", around_it(around, node.is_one_time))));
    lines
        .extend(explained.seen.as_ref().and_then(|seen| ended(screen, seen)).map(|line| format!("  {line}")));
    let is_its = |given: &GivenAnswer| is_answer_to(given, explained, node.is_one_time);
    lines.extend(facts::answers("  answers", details, is_its));
    lines.extend(facts::sessions("  sessions", &node.turns, true));
    lines
}

/// Decides whether an answer belongs to the explained node, or to the explained start of it.
fn is_answer_to(given: &GivenAnswer, explained: &Explanation, is_one_time: bool) -> bool {
    let instance = explained.seen.as_ref().map(|seen| &seen.instance);
    match is_one_time {
        true => instance == Some(&given.ask.node),
        false => given.ask.node.in_workflow() == explained.node,
    }
}

/// Says whether a condition of the node was true. The reason of a skipped node has said it already.
fn held(explained: &Explanation, condition: &ExplainedCondition) -> Option<String> {
    let ExplainedCondition { field, condition, held } = condition;
    let condition = plain_short(condition, TEXT);
    if *field == "when" && explained.far == NodeProgress::Skipped {
        return None;
    }
    Some(match (*field, held) {
        ("if", Some(held)) => {
            let (value, way) = if *held { ("true", "then") } else { ("false", "else") };
            format!("  its condition was {value}, so it took `{way}`: {condition}")
        }
        ("if", None) => format!("  its condition was not evaluated: {condition}"),
        (field, Some(held)) => format!("  its `{field}` was {held}: {condition}"),
        (field, None) => format!("  its `{field}` was not evaluated: {condition}"),
    })
}

fn why(state: &RunState, told: &ExplainedNode<'_>) -> String {
    let explained = told.explained;
    match &explained.why {
        ExplainedCause::Reached(NodeCause::First) => match explained.around.last() {
            Some(around) => format!("ran because it is the first node in `{}`", around.node),
            None => "ran because it is the first node of the workflow".to_owned(),
        },
        ExplainedCause::Reached(NodeCause::After { node, status }) => {
            format!("ran because `{node}` {}", plain_line(NodeCause::describe_end(status)))
        }
        ExplainedCause::Reached(NodeCause::Continued) => {
            "ran again because someone continued the run".to_owned()
        }
        ExplainedCause::Reached(NodeCause::Retried { what, attempt }) => {
            format!("ran again (try {attempt}) because of: {}", plain_short(what, TEXT))
        }
        ExplainedCause::Reached(NodeCause::WhenFalse { condition })
            if !told.is_one_time && !told.began.is_empty() =>
        {
            let condition = plain_short(condition, TEXT);
            format!(
                "{}, but was skipped the last time because its `when` was false: {condition}",
                ran(&told.began)
            )
        }
        ExplainedCause::Reached(NodeCause::WhenFalse { condition }) => {
            format!("skipped because its `when` was false: {}", plain_short(condition, TEXT))
        }
        ExplainedCause::NotReached(Unreached { block, because: why }) => match block {
            Some(block) => {
                format!("not reached, because `{block}` around it was not: {}", because(state, why))
            }
            None => format!("not reached: {}", because(state, why)),
        },
    }
}

/// Says how often the node ran, and its last start.
fn ran(began: &[NodeId]) -> String {
    let last = began.last().map(|name| plain_line(name.as_str())).unwrap_or_default();
    match began {
        [_] => format!("ran once, as `{last}`"),
        _ => format!("ran {} times, last as `{last}`", began.len()),
    }
}

/// Returns whether an `if` node has an `else`.
fn has_else(state: &RunState, node: &NodeId) -> bool {
    let step = find(&state.spec.body, node);
    step.is_some_and(
        |step| matches!(&step.kind, NodeKind::If(IfNode { otherwise, .. }) if !otherwise.is_empty()),
    )
}

fn because(state: &RunState, because: &UnreachedCause) -> String {
    match because {
        UnreachedCause::Later { node } => format!("`{node}` comes first and is in progress"),
        UnreachedCause::Failed { node, outcome } => {
            format!("the previous node, `{node}`, {}", words::outcome(outcome))
        }
        UnreachedCause::OtherWay { node, condition, held: false } if !has_else(state, node) => {
            format!("the condition of `{node}` was false: {}", plain_short(condition, TEXT))
        }
        UnreachedCause::OtherWay { node, condition, held } => {
            let (held, way) = if *held { ("true", "then") } else { ("false", "else") };
            let condition = plain_short(condition, TEXT);
            format!("`{node}` took `{way}`, because its condition was {held}: {condition}")
        }
        UnreachedCause::LeftOut { node, condition } => {
            format!("`{node}` was skipped, because its `when` was false: {}", plain_short(condition, TEXT))
        }
        UnreachedCause::NoRoom { node, branch } => {
            let branch = plain_line(branch);
            format!("the branch `{branch}` of `{node}` waits until another branch ends")
        }
        UnreachedCause::NoRound { node } => format!("`{node}` has not chosen a task yet"),
        UnreachedCause::Over { node, outcome } => {
            format!("`{node}` ended first: {}", words::outcome(outcome))
        }
        UnreachedCause::Ended { outcome } => format!("the run ended first: {}", words::outcome(outcome)),
        UnreachedCause::Paused => "the run is paused; the node starts when the run continues".to_owned(),
        UnreachedCause::NotYet => "its turn has not come yet".to_owned(),
    }
}

fn around_it(around: &EnclosingBlock, is_one_time: bool) -> String {
    let node = &around.node;
    let how = match (&around.outcome, around.far) {
        (_, NodeProgress::NotReached) => "it was not reached".to_owned(),
        (_, NodeProgress::Held) => "it starts when the run continues".to_owned(),
        (_, NodeProgress::Skipped) => "it was skipped".to_owned(),
        (_, NodeProgress::Running | NodeProgress::Waiting) => "it is in progress".to_owned(),
        (Some(outcome), _) => format!("it ended: {}", words::outcome(outcome)),
        (None, far) => format!("it is {}", far.word()),
    };
    match &around.block {
        BlockProgress::If { condition, held, then } => {
            let way = if *then { "then" } else { "else" };
            let condition = plain_short(condition, TEXT);
            match held {
                Some(held) => {
                    let word = if *held { "true" } else { "false" };
                    format!("in `{way}` of `{node}`, whose condition was {word}: {condition}")
                }
                None => format!("in `{way}` of `{node}`, whose condition was not evaluated: {condition}"),
            }
        }
        BlockProgress::Loop { rounds, round, max } => {
            let most = if *max == 0 { String::new() } else { format!(" of at most {max}") };
            format!(
                "in the loop `{node}`{}; the loop started {}{most}; {how}",
                within(*round, is_one_time),
                counted(*rounds)
            )
        }
        BlockProgress::Tasks { rounds, round, passed } => {
            let done = words::count(u64::from(*passed), "task");
            format!(
                "in the task loop `{node}`{}, {}, {done} done; {how}",
                within(*round, is_one_time),
                counted(*rounds)
            )
        }
        BlockProgress::Items { number, done } => {
            let item = number.map(|number| format!(", for item {number}")).unwrap_or_default();
            let done = done.map(|done| format!("; {done} done")).unwrap_or_default();
            format!("in `{node}`, which runs once for each item{item}{done}; {how}")
        }
        BlockProgress::Try { is_catch: false } => format!("in `{node}`, which catches a failure; {how}"),
        BlockProgress::Try { is_catch: true } => {
            format!("in `catch` of `{node}`, which runs after a failure; {how}")
        }
        BlockProgress::Parallel { branch, join } => {
            let when = match join {
                Join::All => "all branches end",
                Join::Any => "one branch ends",
                Join::FirstSuccess => "one branch succeeds",
                Join::Some => "all branches end, of which one must succeed",
            };
            format!("in the branch `{}` of `{node}`, which ends when {when}; {how}", plain_line(branch))
        }
    }
}

fn within(round: Option<u32>, is_one_time: bool) -> String {
    let last = if is_one_time { "" } else { "last " };
    round.map(|round| format!(", {last}in iteration {round}")).unwrap_or_default()
}

fn counted(rounds: u32) -> String {
    words::count(u64::from(rounds), "iteration")
}

/// Describes how the node ended last, and its total time and cost.
fn ended(screen: Terminal, seen: &NodeHistory) -> Option<String> {
    let outcome = seen.outcome.as_ref().or(seen.earlier.as_ref())?;
    let mut facts = vec![format!("ended: {}", words::outcome(outcome)), words::span(seen.took_ms)];
    facts.extend(nodes::times(seen.times, seen.failed));
    if seen.spent.turns > 0 {
        facts.push(words::count(u64::from(seen.spent.turns), "turn"));
        facts.push(words::cost(seen.spent.usage.cost()));
    }
    Some(facts.join(screen.dot()))
}
