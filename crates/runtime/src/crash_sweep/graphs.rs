//! Small graphs made from a seed, and the script for everything in them.
//!
//! No outcome depends on the order of parallel events: only one branch of a race can win, and parallel tasks
//! always succeed.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use windlass_core::event::SessionVerdict;
use windlass_core::graph::builder::{
    Builder, Steps, ask, check_all, clear_context, criteria_loop, each_of, fail, prompt, shell, skill,
    task_loop, turns, wait, workflow,
};
use windlass_core::graph::workflow::{
    Expression, IfNode, Join, LoopNode, Node, NodeKind, NodeNumber, OnFailure, ParallelBranch, ParallelNode,
    RetryPolicy, TryNode, TurnLoop,
};
use windlass_core::id::{EffectId, NodeId, Verb};
use windlass_core::looping::LoopMode;
use windlass_core::tasks::Task;

use super::story::{Line, Pace, Script, Story, dice, number, spec_of};

const SIGNAL: &str = "ALL CLEAR";
const SECOND: Duration = Duration::from_secs(1);
/// The depth to which blocks nest.
const DEPTH: u32 = 2;

/// Builds the story of a seed.
pub(super) fn story(seed: u64) -> Story {
    let mut maker = Maker { seed, count: 0, tasks: BTreeMap::new() };
    let body = maker.body(DEPTH, Luck::Dice);
    let start = Builder::new("graph").check("test", "make test").start(prompt("Begin").id("sure-begin"));
    let mut whole = body.into_iter().fold(start, Builder::then).then(prompt("End").id("sure-end"));
    if maker.roll(2) == 0 {
        let last = maker.body(0, Luck::Dice);
        whole = whole.finally(|steps| last.into_iter().fold(steps, Steps::then));
    }
    let workflow = whole.end();
    let other =
        Builder::new("other").start(prompt("Other").id("other-talk")).then(shell("o").id("other-shell"));
    let mut spec = spec_of(&workflow.unwrap());
    spec.others = BTreeMap::from([("other".to_owned(), spec_of(&other.end().unwrap()))]);
    let mut story = Story::new(format!("graph {seed}"), spec, Script::Graph(seed));
    story.tasks = maker.tasks;
    story.pauses = (0..dice(seed, 7, 3)).map(|pause| 1 + 2 * pause as u32).collect();
    story
}

/// Returns the script line of an effect in the story of a seed.
pub(super) fn line(seed: u64, id: &EffectId) -> Line {
    let node = id.node.as_str().split(['@', '~']).next().unwrap_or_default();
    let begins = |word: &str| node.starts_with(word);
    if begins("sure") {
        return Line::default();
    }
    if begins("slow") {
        return Line::paced(Pace::Slow);
    }
    if begins("hung") {
        return Line::paced(Pace::Never);
    }
    if begins("lose") {
        return Line::bad();
    }
    let what = || "story".to_owned();
    // A crash cuts off a turn, and the next attempt at it must end as this one would have ended.
    let fate = dice(seed, number(&format!("{}.{}.{}", id.node, id.iteration, id.verb.word())), 12);
    let trouble = dice(seed, number(&id.to_string()), 12);
    let verdict = match trouble {
        // If the owner dies, nobody heard how a turn ended in which the agent waits for its hooks.
        _ if fate == 0 && !begins("held") => {
            SessionVerdict::Failed { cause: Default::default(), what: what() }
        }
        1 if id.attempt < 3 => SessionVerdict::Transient { what: what() },
        2 if id.attempt < 3 => SessionVerdict::Interrupted { what: what() },
        3 if id.attempt < 3 => SessionVerdict::RateLimited { resets_at: None },
        _ => SessionVerdict::Completed,
    };
    let says = match (begins("clear"), fate % 3) {
        (true, 0..2) => Some(format!("{SIGNAL}\n<status>passing</status>")),
        _ => None,
    };
    let ok = id.verb == Verb::Session || fate > 2;
    Line { ok, verdict, says, done_on: 1 + dice(seed, number(node), 3) as u32, ..Line::default() }
}

/// Permission for things to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Luck {
    Dice,
    Sure,
}

struct Maker {
    seed: u64,
    count: u64,
    tasks: BTreeMap<String, Vec<Task>>,
}

impl Maker {
    fn roll(&mut self, sides: u64) -> u64 {
        self.count += 1;
        dice(self.seed, 1_000 + self.count, sides)
    }

    fn body(&mut self, depth: u32, luck: Luck) -> Vec<Node> {
        (0..1 + self.roll(3)).map(|_| self.step(depth, luck)).collect()
    }

    fn step(&mut self, depth: u32, luck: Luck) -> Node {
        let is_block = depth > 0 && self.roll(2) == 0;
        let mut node = if is_block { self.block(depth - 1) } else { self.leaf(luck) };
        if node.id.as_str().is_empty() {
            node.id = self.name(node.kind.word(), luck);
        }
        if luck == Luck::Dice && self.roll(3) == 0 {
            node.retry = RetryPolicy { times: 1, delay_ms: 1_000 };
        }
        if self.roll(3) == 0 {
            let number = NodeNumber::ALL[self.roll(NodeNumber::ALL.len() as u64) as usize];
            if node.bound(number).is_some_and(|most| most > 1) && !number.is_time() {
                node.computed.insert(number, Expression("1 + 1".into()));
            }
        }
        if self.roll(4) > 0 {
            node.on_failure = OnFailure::Continue;
        }
        node
    }

    fn name(&mut self, word: &str, luck: Luck) -> NodeId {
        self.count += 1;
        let word = if luck == Luck::Sure { "sure" } else { word };
        NodeId::new(format!("{word}-{}", self.count))
    }

    fn leaf(&mut self, luck: Luck) -> Node {
        let mode =
            [LoopMode::Fresh, LoopMode::Resume, LoopMode::InSession, LoopMode::Plugin][self.roll(4) as usize];
        match self.roll(if luck == Luck::Sure { 3 } else { 9 }) {
            0 if self.roll(2) == 0 => prompt("Go on. {{ feedback }}").continues("sure-begin").into(),
            0 => prompt("Do it. {{ feedback }}").into(),
            1 => shell("make").into(),
            2 => shell("touch x").idempotent().into(),
            3 => {
                let is_held = matches!(mode, LoopMode::InSession | LoopMode::Plugin);
                let word = if is_held { "held" } else { "rounds" };
                let id = self.name(word, luck);
                let rounds = TurnLoop { mode: Some(mode), ..turns(3) };
                prompt("Turn by turn").turns(rounds).id(id.as_str()).into()
            }
            4 => check_all().into(),
            5 => ask("Well?").into(),
            6 => wait(SECOND).into(),
            7 => fail("It is of no use. {{ feedback }}").into(),
            _ => skill("research").args("{{ input }}").into(),
        }
    }

    fn block(&mut self, depth: u32) -> Node {
        match self.roll(10) {
            0 => {
                let condition = ["true", "false"][self.roll(2) as usize];
                let (then, otherwise) = (self.body(depth, Luck::Dice), self.body(depth, Luck::Dice));
                bare(NodeKind::If(IfNode { condition: Expression(condition.into()), then, otherwise }))
            }
            1 => {
                let body = self.body(depth, Luck::Dice);
                bare(NodeKind::Loop(LoopNode {
                    until: vec![Expression("iteration > 1".into())],
                    max: 3,
                    forever: false,
                    body,
                }))
            }
            2 => {
                let mut node = Node::from(criteria_loop(SIGNAL).max(3));
                let talk = prompt("Round {{ iteration }}").id(self.name("clear", Luck::Dice).as_str());
                *node.kind.blocks_mut().remove(0) = vec![talk.into()];
                node
            }
            3 => self.tasks(depth),
            4 => self.race(),
            5 => workflow("other").into(),
            6 => {
                let body = self.body(depth, Luck::Dice);
                let catch = if self.roll(3) == 0 { Vec::new() } else { self.body(depth, Luck::Dice) };
                bare(NodeKind::Try(TryNode { body, catch }))
            }
            7 | 8 => self.items(depth),
            _ => {
                let mut branch =
                    |name: &str| ParallelBranch { name: name.into(), body: self.body(depth, Luck::Dice) };
                let branches = vec![branch("x"), branch("y"), branch("z")];
                bare(NodeKind::Parallel(ParallelNode {
                    limit: self.roll(4) as u32,
                    join: Join::All,
                    branches,
                }))
            }
        }
    }

    /// Builds several branches of which exactly one can win.
    fn race(&mut self) -> Node {
        let mut branch = |word: &str| {
            let id = self.name(word, Luck::Dice);
            ParallelBranch { name: id.as_str().into(), body: vec![shell(word).id(id.as_str()).into()] }
        };
        let mut branches = vec![branch("hung"), branch("slow"), branch("hung")];
        let join = match self.roll(2) {
            0 => Join::Any,
            _ => {
                let id = self.name("lose", Luck::Dice);
                branches.push(ParallelBranch {
                    name: "lose".into(),
                    body: vec![shell("false").id(id.as_str()).into()],
                });
                Join::FirstSuccess
            }
        };
        bare(NodeKind::Parallel(ParallelNode { limit: 0, join, branches }))
    }

    /// Builds a block for the items of a list, of which two are the same.
    fn items(&mut self, depth: u32) -> Node {
        let jobs = 1 + self.roll(3) as u32;
        let items = each_of("item", vec![json!("a"), json!({"b": 1}), json!("a")]).jobs(jobs);
        let items = items.join([Join::All, Join::Some][self.roll(2) as usize]);
        let mut node = Node::from(if self.roll(3) == 0 { items.worktree() } else { items });
        let (depth, luck) = if jobs > 1 { (0, Luck::Sure) } else { (depth, Luck::Dice) };
        *node.kind.blocks_mut().remove(0) = self.body(depth, luck);
        node
    }

    fn tasks(&mut self, depth: u32) -> Node {
        let jobs = 1 + self.roll(2) as u32;
        let luck = if jobs > 1 { Luck::Sure } else { Luck::Dice };
        let id = self.name("task_loop", luck);
        let file = format!("{id}.json");
        let named = |id: &str| Task::named(id.parse().unwrap(), json!(id).to_string());
        let mut list = vec![named("a"), named("b"), named("c")];
        list.truncate(1 + self.roll(3) as usize);
        self.tasks.insert(file.clone(), list);
        let tasks = task_loop().path(file).jobs(jobs).attempts(2).max(6).id(id.as_str());
        let mut node = Node::from(if self.roll(3) == 0 { tasks.keeps_branches() } else { tasks });
        let depth = if jobs > 1 { 0 } else { depth };
        let bodies = [self.body(0, luck), self.body(depth, luck)];
        for (block, body) in node.kind.blocks_mut().into_iter().zip(bodies) {
            *block = body;
        }
        node
    }
}

fn bare(act: NodeKind) -> Node {
    Node { kind: act, ..Node::from(clear_context()) }
}
