//! Tests for subscriptions: the items that a listener receives, and their order.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_core::event::{Event, RECORD_VERSION, Record, SessionEnd, SessionVerdict};
use windlass_core::hook::{HookCall, HookKind, ToolCall, ToolName};
use windlass_core::id::{EffectId, HookId, RunId, SessionId};
use windlass_core::run::{EndReason, FinalStatus, News, Outcome};
use windlass_core::time::Moment;
use windlass_core::usage::Usage;
use windlass_store::{Append, Durability, Lease, NewRun, Projection};

use super::*;
use crate::clock;
use crate::crash::CrashCounter;
use crate::handle::Handle;
use crate::home::Home;

/// A store, and a run in it whose records and transcripts are written by hand.
struct Stage {
    _dir: tempfile::TempDir,
    handle: Handle,
    leases: BTreeMap<RunId, (Lease, u64)>,
}

impl Stage {
    fn new() -> Stage {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let home = Home {
            state: at("state"),
            config: at("config"),
            user: at("user"),
            temp: at("temp"),
            env: Vec::new(),
            agents: crate::Agents::default(),
            binary: None,
            machine: "m".to_owned(),
            crash: CrashCounter::from_text(None),
        };
        let handle = Handle::open(home, Durability::Normal).unwrap();
        let mut stage = Stage { _dir: dir, handle, leases: BTreeMap::new() };
        stage.begin("one");
        stage
    }

    /// Makes a run with one record.
    fn begin(&mut self, run: &str) {
        let id = RunId::new(run);
        let body = serde_json::to_vec(&record(Event::OwnerChanged, Moment(0))).unwrap();
        let new =
            NewRun { id: id.clone(), projection: Projection::default(), bodies: vec![body], spending: None };
        let lease = self.handle.store.create_run(new).unwrap();
        self.leases.insert(id, (lease, 1));
    }

    fn append(&mut self, run: &str, record: &Record) {
        let run = RunId::new(run);
        let (lease, seq) = self.leases.get_mut(&run).unwrap();
        let append = Append {
            run,
            expected_seq: *seq,
            epoch: lease.epoch(),
            bodies: vec![serde_json::to_vec(record).unwrap()],
            durability: Durability::Normal,
            taken: Vec::new(),
            projection: None,
            snapshot: None,
            spending: None,
        };
        *seq = self.handle.store.append_blocking(append).unwrap();
    }

    /// Records a fact of long ago.
    fn tell(&mut self, event: Event) {
        self.append("one", &record(event, Moment(0)));
    }

    fn finish(&mut self, run: &str) {
        let outcome = Outcome::new(FinalStatus::Completed, EndReason::TurnDone);
        let mut last = record(Event::OwnerChanged, Moment(0));
        last.news.push(News::Finished { outcome, iterations: 1, usage: Usage::default() });
        self.append(run, &last);
    }

    fn transcript(&self, node: &str) -> PathBuf {
        self.handle.store.run_dir(&RunId::new("one")).join(turn(node).to_string()).join("stdout")
    }

    /// Lets the agent of a turn print a line with these tool calls.
    fn call(&self, node: &str, tools: &[&str]) {
        let path = self.transcript(node);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let call = |name: &&str| json!({"type": "tool_use", "id": "t", "name": name, "input": {}});
        let content: Vec<_> = tools.iter().map(call).collect();
        let line = json!({"type": "assistant", "message": {"id": "m", "content": content}});
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    fn subscribe(&self, start: FeedStart) -> Subscription {
        self.subscribe_to(FeedScope::Family(RunId::new("one")), start)
    }

    fn subscribe_to(&self, scope: FeedScope, start: FeedStart) -> Subscription {
        self.handle.subscribe(scope, start, AgentWords::Included).unwrap()
    }
}

fn record(event: Event, at: Moment) -> Record {
    Record { v: RECORD_VERSION, at, event, effects: Vec::new(), news: Vec::new() }
}

fn turn(node: &str) -> EffectId {
    format!("{node}.1.1.session").parse().unwrap()
}

fn hook(tool: &str, node: &str) -> Event {
    let input = serde_json::Value::Null;
    let kind = HookKind::Tool(ToolCall { tool: ToolName::Other, name: tool.to_owned(), input });
    let call =
        HookCall { id: HookId::new("h"), from: Some(turn(node)), kind, unanswered: Vec::new(), real: None };
    Event::HookAsked { call }
}

fn started(node: &str) -> Event {
    Event::SessionStarted { effect: turn(node), session: SessionId::new("s") }
}

fn ended(node: &str) -> Event {
    let end = SessionEnd {
        verdict: SessionVerdict::Completed,
        last_message: None,
        value: None,
        usage: Usage::default(),
        tool_calls: 0,
        spoke: true,
        offset: 0,
        unanswered: Vec::new(),
        session: None,
        usage_is_cumulative: false,
        models: Vec::new(),
        took_ms: 0,
    };
    Event::SessionEnded { effect: turn(node), end }
}

/// An update in short: the run's first letter, and which record or tool.
fn short(update: &RunUpdate) -> String {
    use windlass_core::agent::AgentEvent;
    let what = match &update.change {
        RunChange::Appeared => "appeared".to_owned(),
        RunChange::Record { seq, .. } => format!("record {seq}"),
        RunChange::Agent { event: AgentEvent::ToolUse { name, .. }, .. } => format!("calls {name}"),
        RunChange::Agent { event, .. } => format!("says {event:?}"),
        RunChange::LeftOut { count, .. } => format!("left out {count}"),
        RunChange::Ended { outcome } => format!("ended {}", outcome.status.word()),
    };
    format!("{}: {what}", update.run)
}

async fn now(feed: &mut Subscription) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(update) = feed.next_now().await {
        all.push(short(&update.unwrap()));
    }
    all
}

/// Two sessions beside each other, with their hooks, to the end.
fn story() -> Stage {
    let mut stage = Stage::new();
    stage.tell(started("a"));
    stage.tell(started("b"));
    stage.call("a", &["Read", "Bash", "Edit"]);
    stage.call("b", &["Bash"]);
    stage.tell(hook("Bash", "a"));
    stage.tell(hook("Bash", "b"));
    stage.call("b", &["Write"]);
    stage.tell(ended("a"));
    stage.tell(hook("Write", "b"));
    stage.tell(ended("b"));
    stage.finish("one");
    stage
}

const TOLD: [&str; 15] = [
    "one: appeared",
    "one: record 1",
    "one: record 2",
    "one: record 3",
    "one: calls Read",
    "one: calls Bash",
    "one: record 4",
    "one: calls Bash",
    "one: record 5",
    "one: calls Edit",
    "one: record 6",
    "one: calls Write",
    "one: record 7",
    "one: record 8",
    "one: record 9",
];

#[tokio::test]
async fn a_run_is_told_in_the_order_in_which_things_happened() {
    let stage = story();
    let mut feed = stage.subscribe(FeedStart::Beginning);
    let mut told = now(&mut feed).await;
    assert_eq!(told.pop().as_deref(), Some("one: ended completed"));
    assert_eq!(told, TOLD);
    assert!(feed.next().await.is_none(), "it is over");
}

#[tokio::test]
async fn a_cursor_goes_on_at_every_place_without_a_gap_or_a_repetition() {
    let stage = story();
    let whole = now(&mut stage.subscribe(FeedStart::Beginning)).await;
    for place in 0..=whole.len() {
        let mut first = stage.subscribe(FeedStart::Beginning);
        let mut told = Vec::new();
        for _ in 0..place {
            told.push(short(&first.next_now().await.unwrap().unwrap()));
        }
        if place == 0 {
            continue;
        }
        let text = serde_json::to_string(&first.cursor()).unwrap();
        let cursor = serde_json::from_str(&text).unwrap();
        told.extend(now(&mut stage.subscribe(FeedStart::After(cursor))).await);
        assert_eq!(told, whole, "after {place}: {text}");
    }
}

#[tokio::test]
async fn a_decision_waits_for_the_call_it_is_about_and_holds_up_what_follows() {
    let mut stage = Stage::new();
    stage.tell(started("a"));
    let mut feed = stage.subscribe(FeedStart::Beginning);
    now(&mut feed).await;
    // Made a minute from now: it has not waited for long.
    let soon = Moment(clock::now().0 + 60_000);
    stage.append("one", &record(hook("Bash", "a"), soon));
    stage.append("one", &record(Event::RunTimedOut, soon));
    let waiting = tokio::time::timeout(Duration::from_millis(30), feed.next()).await;
    assert!(waiting.is_err(), "its call was not read");
    stage.call("a", &["Bash"]);
    assert_eq!(now(&mut feed).await, ["one: calls Bash", "one: record 3", "one: record 4"]);
}

#[tokio::test]
async fn a_decision_whose_call_was_told_waits_for_nothing() {
    let mut stage = Stage::new();
    stage.tell(started("a"));
    stage.call("a", &["Bash"]);
    let mut feed = stage.subscribe(FeedStart::Beginning);
    now(&mut feed).await;
    stage.append("one", &record(hook("Bash", "a"), Moment(clock::now().0 + 60_000)));
    assert_eq!(now(&mut feed).await, ["one: record 3"]);
}

#[tokio::test]
async fn a_decision_whose_call_never_comes_is_told_after_a_moment() {
    let mut stage = Stage::new();
    stage.tell(started("a"));
    let mut feed = stage.subscribe(FeedStart::Beginning);
    now(&mut feed).await;
    stage.append("one", &record(hook("Bash", "a"), clock::now()));
    let begun = Instant::now();
    assert_eq!(now(&mut feed).await, ["one: record 3"]);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_listener_of_all_runs_is_told_of_each_and_forgets_those_that_are_over() {
    let mut stage = Stage::new();
    let mut feed = stage.subscribe_to(FeedScope::All, FeedStart::Beginning);
    assert_eq!(now(&mut feed).await, ["one: appeared", "one: record 1"]);
    stage.begin("two");
    stage.finish("one");
    let told = now(&mut feed).await;
    assert_eq!(told, ["one: record 2", "one: ended completed", "two: appeared", "two: record 1"]);
    let cursor = feed.cursor();
    assert_eq!(cursor.runs.len(), 1, "{cursor:?}");
    stage.finish("two");
    let mut again = stage.subscribe_to(FeedScope::All, FeedStart::After(cursor));
    assert_eq!(now(&mut again).await, ["two: record 2", "two: ended completed"]);
}

#[tokio::test]
async fn a_listener_that_lags_may_skip_words_but_no_record() {
    let mut stage = Stage::new();
    stage.tell(started("a"));
    stage.call("a", &["Read", "Bash"]);
    stage.call("a", &["Edit"]);
    let mut feed = stage.subscribe(FeedStart::Beginning);
    for _ in 0..3 {
        feed.next_now().await.unwrap().unwrap();
    }
    assert!(feed.catch_up(1 << 20).is_none(), "it does not lag by that much");
    assert_eq!(short(&feed.catch_up(10).unwrap()), "one: left out 3");
    stage.tell(ended("a"));
    assert_eq!(now(&mut feed).await, ["one: record 3"]);
}

#[tokio::test]
async fn who_begins_now_hears_nothing_old() {
    let mut stage = Stage::new();
    stage.tell(started("a"));
    stage.call("a", &["Read"]);
    let mut old = stage.subscribe(FeedStart::Beginning);
    now(&mut old).await;
    let mut feed = stage.subscribe(FeedStart::After(old.cursor()));
    assert!(now(&mut feed).await.is_empty());
    stage.call("a", &["Bash"]);
    assert_eq!(now(&mut feed).await, ["one: calls Bash"]);
}
