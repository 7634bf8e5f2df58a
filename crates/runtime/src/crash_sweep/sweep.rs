//! The sweeps. Each runs in a thread beside its test, which gives up when one crash takes too long and
//! reports where.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use windlass_core::graph::workflow::Node;
use windlass_core::id::RunId;
use windlass_core::run::{EndReason, FinalStatus};

use super::executor::{Crash, Executor, Order, RUN, Wreck};
use super::proof::{Known, Left};
use super::story::{Story, dice};
use super::world::World;
use super::{everything, graphs, sessions};

/// The time limit of one crash, which needs a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of crashes of single sessions.
const SESSION_POINTS: u64 = 2_000;
/// The number of crashes of small graphs. The large graph crashes at every point.
const GRAPH_POINTS: u64 = 700;

/// The progress of a sweep, for the test that waits: the crash point, and what it waits for.
#[derive(Clone, Default)]
pub(super) struct Whereabouts(Arc<Mutex<(String, String)>>);

impl Whereabouts {
    fn begin(&self, story: &Story, point: Option<u64>) {
        let point = point.map_or("not dropped".to_owned(), |point| format!("dropped at point {point}"));
        *self.0.lock().unwrap() = (format!("{}, {point}", story.name), "the first effects".into());
    }

    pub(super) fn wait_for(&self, what: String) {
        self.0.lock().unwrap().1 = what;
    }

    pub(super) fn said(&self) -> String {
        let (point, what) = &*self.0.lock().unwrap();
        format!("{point}, waited for {what}")
    }
}

/// A sweep in progress.
struct Sweep {
    at: Whereabouts,
    tell: Sender<Report>,
    folder: PathBuf,
    stories: u64,
    points: u64,
}

/// A message from a part of a sweep to its test.
enum Report {
    /// One crash was survived.
    Point,
    Over(Count),
    Failed(Box<dyn Any + Send>),
}

/// The number of stories and crash points.
struct Count {
    stories: u64,
    points: u64,
}

/// Makes the folder of a sweep's stores, in memory if possible. It is removed with the test, however that
/// ends.
fn folder() -> tempfile::TempDir {
    let memory = PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
    tempfile::tempdir_in(parent).unwrap()
}

impl Sweep {
    /// Plays a story without a crash.
    fn play(&self, story: &Story, known: &mut Known) -> Left {
        self.at.begin(story, None);
        let dir = tempfile::tempdir_in(&self.folder).unwrap();
        let mut executor =
            Executor::new(dir.path(), story, World::of(story), Crash::Never, Order::Oldest, &self.at);
        executor.play().unwrap();
        executor.left(known)
    }

    /// Continues from what a dead process left behind, in another order. Sometimes dies once more.
    fn go_on(&self, story: &Story, mut wreck: Wreck, dir: &Path, point: u64, known: &mut Known) -> Left {
        let dies_again = dice(point, 1, 3) == 0;
        let mut crashes = vec![Crash::Never];
        crashes.extend(dies_again.then(|| Crash::At(1 + dice(point, 2, 25))));
        while let Some(crash) = crashes.pop() {
            let Wreck { world, committed, .. } = wreck;
            let order = Order::Dice(point + crashes.len() as u64);
            let mut executor = Executor::new(dir, story, world, crash, order, &self.at);
            if executor.take_over(committed).is_ok() {
                let _ = self.tell.send(Report::Point);
                return executor.left(known);
            }
            wreck = executor.wreck();
        }
        panic!("it dies and dies: {}", self.at.said())
    }

    /// Plays a story that survives itself, and continues from a copy at each of its crash points.
    fn die_at(
        &mut self,
        story: &Story,
        known: &mut Known,
        is_point: impl Fn(u64) -> bool,
        mut check: impl FnMut(u64, Left),
    ) {
        let mut points = 0;
        let dir = tempfile::tempdir_in(&self.folder).unwrap();
        let mut show = |point: u64, mut wreck: Wreck| {
            points += 1;
            self.at.begin(story, Some(point));
            let copy = wreck.copy.take().expect("a copy of the store");
            check(point, self.go_on(story, wreck, copy.path(), point, known));
        };
        let crash = Crash::Copied { at: &is_point, show: &mut show };
        let mut executor = Executor::new(dir.path(), story, World::of(story), crash, Order::Oldest, &self.at);
        executor.play().unwrap();
        drop(executor);
        self.points += points;
        self.stories += 1;
    }
}

/// Compares the interesting parts first, so that a failure shows only the difference.
fn same(story: &Story, point: u64, expected: &Left, left: &Left) {
    let at = format!("{}, dropped at point {point}", story.name);
    let outcomes = |left: &Left| left.runs.values().map(|ended| ended.outcome.clone()).collect::<Vec<_>>();
    assert_eq!(outcomes(left), outcomes(expected), "{at}");
    assert_eq!(left.begun.keys().collect::<Vec<_>>(), expected.begun.keys().collect::<Vec<_>>(), "{at}");
    assert_eq!(left.begun, expected.begun, "{at}");
    assert_eq!(left.tasks, expected.tasks, "{at}");
    for (run, ended) in &expected.runs {
        let other = left.runs.get(run).unwrap_or_else(|| panic!("{at}: no run {run}"));
        for (node, seen) in &ended.nodes {
            assert_eq!(other.nodes.get(node), Some(seen), "{at}: {run}, node {node}");
        }
        for (node, output) in &ended.outputs {
            assert_eq!(other.outputs.get(node), Some(output), "{at}: {run}, output of {node}");
        }
        assert_eq!(
            (&other.outcome, other.turns, other.spent),
            (&ended.outcome, ended.turns, ended.spent),
            "{at}"
        );
    }
    assert_eq!(left, expected, "{at}");
}

fn single_sessions(sweep: &mut Sweep) {
    for seed in 0.. {
        let story = sessions::story(seed);
        let mut known = Known::default();
        let expected = sweep.play(&story, &mut known);
        sweep.die_at(&story, &mut known, |_| true, |point, left| same(&story, point, &expected, &left));
        if sweep.points >= SESSION_POINTS {
            return;
        }
    }
}

fn even_half(sweep: &mut Sweep) {
    half_of_everything(sweep, |point| point % 2 == 0);
}

fn odd_half(sweep: &mut Sweep) {
    half_of_everything(sweep, |point| point % 2 == 1);
    // Both halves are the same story.
    sweep.stories -= 1;
}

fn half_of_everything(sweep: &mut Sweep, is_point: fn(u64) -> bool) {
    let whole = everything::story(&[0, 3, 17, 24]);
    let mut known = Known::default();
    let expected = sweep.play(&whole, &mut known);
    is_everything(&whole, &expected);
    sweep.die_at(&whole, &mut known, is_point, |point, left| same(&whole, point, &expected, &left));
}

fn small_graphs(sweep: &mut Sweep) {
    lost_shell(sweep);
    broken(sweep);
    for seed in 0.. {
        let story = graphs::story(seed);
        let mut known = Known::default();
        let expected = sweep.play(&story, &mut known);
        let some = |point: u64| dice(seed, point, 4) == 0;
        sweep.die_at(&story, &mut known, some, |point, left| same(&story, point, &expected, &left));
        if sweep.points >= GRAPH_POINTS {
            return;
        }
    }
}

/// Proves that a command which must not run twice does not, and that its run reports an unknown outcome.
fn lost_shell(sweep: &mut Sweep) {
    let story = everything::lost_shell();
    let mut known = Known::default();
    let expected = sweep.play(&story, &mut known);
    let mut unknown = 0;
    sweep.die_at(
        &story,
        &mut known,
        |_| true,
        |point, left| {
            let outcome = left.runs[&RunId::new(RUN)].outcome.clone();
            match outcome.reason {
                EndReason::ShellUnknown => {
                    assert_eq!(outcome.status, FinalStatus::Blocked);
                    unknown += 1;
                }
                _ => same(&story, point, &expected, &left),
            }
        },
    );
    assert!(unknown > 0, "no command was lost");
}

/// Proves that a broken effect ends the run for that reason, wherever its owner dies, and that nothing starts
/// after it.
fn broken(sweep: &mut Sweep) {
    let story = everything::broken();
    let mut known = Known::default();
    let proven = |left: &Left| {
        let outcome = &left.runs[&RunId::new(RUN)].outcome;
        assert_eq!((outcome.status, outcome.reason), (FinalStatus::Failed, EndReason::InternalError));
        let begun: Vec<&String> = left.begun.keys().collect();
        let is_after = |name: &&String| ["late", "next", "never"].iter().any(|node| name.contains(node));
        assert!(!left.begun.keys().any(|name| is_after(&name)), "{begun:?}");
    };
    proven(&sweep.play(&story, &mut known));
    sweep.die_at(&story, &mut known, |_| true, |_, left| proven(&left));
}

/// Proves that the large story has every kind of node, and that each ends as intended.
fn is_everything(story: &Story, left: &Left) {
    let mut words = BTreeSet::new();
    let mut bodies: Vec<&Node> = story.spec.body.iter().collect();
    while let Some(step) = bodies.pop() {
        words.insert(step.kind.word());
        bodies.extend(step.kind.blocks().iter().flat_map(|block| block.body));
    }
    let all = [
        "agent",
        "ask",
        "check",
        "clear_context",
        "command",
        "criteria_loop",
        "each",
        "fail",
        "finally",
        "if",
        "loop",
        "parallel",
        "prompt",
        "shell",
        "skill",
        "task_loop",
        "try",
        "wait",
        "workflow",
    ];
    assert_eq!(words.into_iter().collect::<Vec<_>>(), all);
    let run = &left.runs[&RunId::new(RUN)];
    assert_eq!(run.outcome.status, FinalStatus::Completed, "{:?}", run.outcome);
    let named = |status: &dyn Fn(Option<FinalStatus>) -> bool| -> Vec<&str> {
        let known = run.nodes.iter().filter_map(|(node, seen)| Some((node, seen.last.as_ref()?)));
        let nodes = known.filter(|(_, (_, _, end))| status(end.as_ref().map(|end| end.status)));
        nodes.map(|(node, _)| node.as_str()).collect()
    };
    assert_eq!(named(&|status| status.is_none()), ["left-out"]);
    assert_eq!(named(&|status| status == Some(FinalStatus::Failed)), ["bad", "given-up", "loses", "tried"]);
    assert_eq!(named(&|status| status == Some(FinalStatus::Exhausted)), ["poor"]);
    let cut = ["hung", "hung-event", "hung-inside", "hung-run", "hung-session", "hung-shell"];
    assert_eq!(named(&|status| status == Some(FinalStatus::Cancelled)), cut);
    let mut ends: Vec<FinalStatus> = left.runs.values().map(|ended| ended.outcome.status).collect();
    ends.sort_by_key(|status| status.word());
    assert_eq!(ends, [FinalStatus::Cancelled, FinalStatus::Completed, FinalStatus::Completed]);
    assert_eq!(left.begun.keys().filter(|name| name.ends_with("land")).count(), 4);
}

/// Runs the parts of a sweep in parallel to their end, and returns the number of crash points.
fn run(what: &str, parts: &[fn(&mut Sweep)]) -> u64 {
    let folder = folder();
    let (tell, told) = channel();
    let places: Vec<Whereabouts> = parts.iter().map(|_| Whereabouts::default()).collect();
    let said = || places.iter().map(Whereabouts::said).collect::<Vec<_>>().join("\n");
    for (part, at) in parts.iter().zip(&places) {
        start(*part, at.clone(), tell.clone(), folder.path().to_owned());
    }
    drop(tell);
    let (mut stories, mut points) = (0, 0);
    loop {
        match told.recv_timeout(PATIENCE) {
            Ok(Report::Point) => {}
            Ok(Report::Over(part)) => (stories, points) = (stories + part.stories, points + part.points),
            Ok(Report::Failed(panic)) => {
                println!("{}", said());
                resume_unwind(panic);
            }
            Err(RecvTimeoutError::Timeout) => panic!("not over after {PATIENCE:?}: {}", said()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    println!("sweep: in process, {what}, {stories} stories, {points} points");
    points
}

fn start(part: fn(&mut Sweep), at: Whereabouts, tell: Sender<Report>, folder: PathBuf) {
    thread::spawn(move || {
        let mut sweep = Sweep { at, tell: tell.clone(), folder, stories: 0, points: 0 };
        let swept = catch_unwind(AssertUnwindSafe(|| part(&mut sweep)));
        let (stories, points) = (sweep.stories, sweep.points);
        let report = swept.map_or_else(Report::Failed, |()| Report::Over(Count { stories, points }));
        // Nobody listens any more if another part has failed.
        let _ = tell.send(report);
    });
}

#[test]
fn a_session_whose_executor_dies_loses_and_repeats_nothing() {
    assert!(run("sessions", &[single_sessions]) >= SESSION_POINTS);
}

#[test]
fn a_graph_whose_executor_dies_loses_and_repeats_nothing() {
    assert!(run("graphs", &[even_half, odd_half, small_graphs]) >= 1_000);
}
