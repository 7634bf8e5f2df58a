//! `windlass show --explain`: why a node ran or did not, in words.

use serde_json::{Value, json};
use windlass_core::engine::explain::{
    Around, Because, Did, Explained, Far, Unreached, Why, explain, nearest,
};
use windlass_core::graph::walk::ids_in;
use windlass_core::graph::workflow::Join;
use windlass_core::id::NodeId;
use windlass_core::run::{Cause, Seen, State};

use super::super::feed::{envelope, named, rfc3339, words};
use super::super::plain::{plain_line, plain_short};
use super::super::report::Report;
use super::super::screen::Screen;
use super::{Story, Turn, facts, nodes};

/// How much of a condition or of what went wrong is shown.
const TEXT: usize = 300;

/// What is known of a node and why.
pub(super) fn lines(screen: Screen, story: &Story, node: &str, json: bool) -> Result<Vec<String>, Report> {
    let state = &story.view.state;
    // As the feed names it, with its round and try, too.
    let id = NodeId::new(node);
    let node = named(&id);
    let Some(explained) = explain(state, &NodeId::new(node)) else { return Err(unknown(state, node)) };
    let turns: Vec<&Turn> = story.turns.iter().filter(|turn| named(&turn.effect.node) == node).collect();
    Ok(match json {
        true => vec![object(story, &explained, &turns)],
        false => described(screen, story, &explained, &turns),
    })
}

fn unknown(state: &State, node: &str) -> Report {
    let mut ids: Vec<String> = ids_in(&state.spec.body).iter().map(|id| plain_line(id.as_str())).collect();
    ids.sort();
    let there = format!("there are: {}", ids.join(", "));
    let hint = match nearest(state, node) {
        Some(near) => format!("did you mean `{near}`? {there}"),
        None => there,
    };
    Report::usage(format!("run {} has no node `{node}`", state.run)).hint(hint)
}

fn object(story: &Story, explained: &Explained, turns: &[&Turn]) -> String {
    let around = |around: &Around| {
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
        "instance": seen.map(|seen| &seen.instance),
        "times": seen.map_or(0, |seen| seen.times),
        "began": seen.map(|seen| rfc3339(seen.began)),
        "ended": seen.and_then(|seen| seen.ended).map(rfc3339),
        "outcome": seen.and_then(|seen| seen.outcome.as_ref()),
        "took_ms": seen.map(|seen| seen.took_ms),
        "spent": seen.map(|seen| &seen.spent),
        "sessions": turns.iter().map(|turn| facts::session(&story.view, turn, true)).collect::<Vec<_>>(),
    });
    envelope("node", words::now(), Some(&story.view.run), data)
}

fn described(screen: Screen, story: &Story, explained: &Explained, turns: &[&Turn]) -> Vec<String> {
    let word = nodes::painted(screen, explained.far, explained.far.word());
    let mut lines = vec![format!("node {} ({}): {word}", explained.node, explained.kind)];
    lines.push(format!("  {}", why(explained)));
    lines.extend(explained.around.iter().map(|around| format!("  {}", around_it(around))));
    lines
        .extend(explained.seen.as_ref().and_then(|seen| ended(screen, seen)).map(|line| format!("  {line}")));
    lines.extend(facts::sessions("  sessions", &story.view, turns, true));
    lines
}

fn why(explained: &Explained) -> String {
    match &explained.why {
        Why::Reached(Cause::First) => match explained.around.last() {
            Some(around) => format!("it began because it is the first in `{}`", around.node),
            None => "it began because it is the first of the workflow".to_owned(),
        },
        Why::Reached(Cause::After { node, status }) => {
            format!("it began because `{node}` before it was over: {}", plain_line(status))
        }
        Why::Reached(Cause::Retried { what, attempt }) => {
            format!("it was tried again (try {attempt}) because of: {}", plain_short(what, TEXT))
        }
        Why::Reached(Cause::WhenFalse { condition }) => {
            format!("it was left out because its `when` did not hold: {}", plain_short(condition, TEXT))
        }
        Why::NotReached(Unreached { block, because: why }) => match block {
            Some(block) => {
                format!("it was not reached because `{block}` around it was not: {}", because(why))
            }
            None => format!("it was not reached: {}", because(why)),
        },
    }
}

fn because(because: &Because) -> String {
    match because {
        Because::Later { node } => format!("`{node}` comes before and is under way"),
        Because::Failed { node, outcome } => {
            format!("`{node}` before it ended otherwise than well: {}", words::outcome(outcome))
        }
        Because::OtherWay { node, condition, held } => {
            let (held, way) = if *held { ("held", "then") } else { ("did not hold", "else") };
            format!("`{node}` took `{way}`, since its condition {held}: {}", plain_short(condition, TEXT))
        }
        Because::LeftOut { node, condition } => {
            format!("`{node}` was left out, since its `when` did not hold: {}", plain_short(condition, TEXT))
        }
        Because::NoRoom { node, branch } => {
            let branch = plain_line(branch);
            format!("the branch `{branch}` of `{node}` waits until another one is over")
        }
        Because::NoRound { node } => format!("`{node}` has chosen no task yet"),
        Because::Over { node, outcome } => format!("`{node}` was over before: {}", words::outcome(outcome)),
        Because::Ended { outcome } => format!("the run ended before: {}", words::outcome(outcome)),
        Because::Paused => "the run is paused, and it begins when that goes on".to_owned(),
        Because::NotYet => "its turn has not come yet".to_owned(),
    }
}

fn around_it(around: &Around) -> String {
    let node = &around.node;
    let how = match (&around.outcome, around.far) {
        (_, Far::NotReached) => "it was not reached".to_owned(),
        (_, Far::Held) => "a pause holds it back".to_owned(),
        (_, Far::Skipped) => "it was left out".to_owned(),
        (_, Far::Running | Far::Waiting) => "it is under way".to_owned(),
        (Some(outcome), _) => format!("it ended {}", words::outcome(outcome)),
        (None, far) => format!("it is {}", far.word()),
    };
    match &around.block {
        Did::If { condition, held, then } => {
            let way = if *then { "then" } else { "else" };
            let condition = plain_short(condition, TEXT);
            match held {
                Some(held) => {
                    let word = if *held { "held" } else { "did not hold" };
                    format!("in `{way}` of `{node}`, whose condition {word}: {condition}")
                }
                None => format!("in `{way}` of `{node}`, whose condition was not looked at: {condition}"),
            }
        }
        Did::Loop { rounds, round, max } => {
            let most = if *max == 0 { String::new() } else { format!(" of at most {max}") };
            format!("in the loop `{node}`{}, which began {}{most}; {how}", within(*round), counted(*rounds))
        }
        Did::Tasks { rounds, round, passed } => {
            let done = words::count(u64::from(*passed), "task");
            format!("in the task loop `{node}`{}, {}, {done} done; {how}", within(*round), counted(*rounds))
        }
        Did::Parallel { branch, join } => {
            let when = match join {
                Join::All => "all of them are",
                Join::Any => "one of them is",
                Join::FirstSuccess => "one of them succeeded",
            };
            format!("in the branch `{}` of `{node}`, which is over when {when}; {how}", plain_line(branch))
        }
    }
}

fn within(round: Option<u32>) -> String {
    round.map(|round| format!(", last in round {round}")).unwrap_or_default()
}

fn counted(rounds: u32) -> String {
    words::count(u64::from(rounds), "round")
}

/// How it went, the last time and in all.
fn ended(screen: Screen, seen: &Seen) -> Option<String> {
    let outcome = seen.outcome.as_ref()?;
    let mut facts = vec![format!("it ended {}", words::outcome(outcome)), words::span(seen.took_ms)];
    if seen.times > 1 {
        facts.push(format!("{} times", seen.times));
    }
    if seen.spent.turns > 0 {
        facts.push(words::count(u64::from(seen.spent.turns), "turn"));
        facts.push(words::cost(seen.spent.usage.cost_usd));
    }
    Some(facts.join(screen.dot()))
}
