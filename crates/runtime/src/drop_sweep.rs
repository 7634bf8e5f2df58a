//! Thousands of crashes within one process: an executor is dropped at point k, the store is
//! opened again, the log folded, and what was open is settled by looking at the world.
//!
//! Store, engine and recovery are the real ones; executor and world are small ones, whose children always
//! answer alike, so that every run of a story can be compared with the uncrashed one. Real
//! processes are killed in `crates/windlass/tests/crash_sweep.rs`.
//!
//! The sweep runs beside its test, which gives it up when one story takes too long and says where.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "test code"
)]

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use windlass_core::effect::{Effect, Planned};
use windlass_core::engine::{self, Step};
use windlass_core::event::{Event, SessionEnd, SessionVerdict};
use windlass_core::graph::{Node, NodeKind};
use windlass_core::hook::permission::{Isolation, Rules as PermissionRules};
use windlass_core::hook::{HookCall, HookKind};
use windlass_core::id::{EffectId, HookId, NodeId, RunId};
use windlass_core::looping::verdict::{CheckResult, Sight, TrackerSight};
use windlass_core::looping::{MarkerMatch, Mode, Rules};
use windlass_core::run::{Outcome, Standing, State};
use windlass_core::spec::{Check, Driver, Limits, OnPermission, OnQuestion, Policy, Spec};
use windlass_core::time::Moment;
use windlass_core::usage::Usage;
use windlass_store::{Append, Durability, Lease, NewRun, Projection, Store};

use crate::recover;

/// How long one story may take; it needs some milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// More records than any story has.
const ENDLESS: u64 = 1_000;
const RUN: &str = "r";
/// The executor is not dropped at all.
const NEVER: u64 = u64::MAX;

/// Where the sweep stands, for the test that waits for it: which point, and what comes next.
#[derive(Clone, Default)]
struct Whereabouts(Arc<Mutex<(String, String)>>);

impl Whereabouts {
    fn begin(&self, seed: u64, die_at: u64) {
        let point = if die_at == NEVER { "not dropped".into() } else { format!("dropped at point {die_at}") };
        *self.0.lock().unwrap() = (format!("story {seed}, {point}"), "the first effects".into());
    }

    fn wait_for(&self, what: String) {
        self.0.lock().unwrap().1 = what;
    }

    fn said(&self) -> String {
        let (point, what) = &*self.0.lock().unwrap();
        format!("{point}, waited for {what}")
    }
}

/// A story, made from a number: modes, faults and the turn on which it is done differ.
#[derive(Debug, Clone, Copy)]
struct Story {
    seed: u64,
}

impl Story {
    /// A small, even hash: the same question always has the same answer.
    fn dice(self, what: u64, sides: u64) -> u64 {
        let mut x = self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ what.wrapping_mul(0xD1B5_4A32_D192_ED03);
        x ^= x >> 29;
        x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (x ^ (x >> 32)) % sides
    }

    fn mode(self) -> Mode {
        [Mode::Fresh, Mode::Resume, Mode::InSession][self.dice(1, 3) as usize]
    }

    fn done_on(self) -> u32 {
        1 + self.dice(2, 5) as u32
    }

    fn spec(self) -> Spec {
        let rules = Rules {
            prompt: "do it".into(),
            mode: self.mode(),
            marker: Some("DONE".into()),
            marker_match: MarkerMatch::Line,
            promise: None,
            signal: None,
            blocked_marker: None,
            max_iterations: 4,
            continue_message: "go on".into(),
            tracker_body: String::new(),
            tracker_path: Some("/w/t.md".into()),
            stuck_after: 0,
        };
        let checks = vec![Check { name: "test".into(), command: "true".into() }; self.dice(3, 2) as usize];
        Spec {
            workflow: "story".into(),
            seed: "seed".into(),
            input: "do it".into(),
            node: Node { id: NodeId::new("loop"), kind: NodeKind::Loop(rules), system: None },
            workspace: "/w".into(),
            machine: "m".into(),
            driver: Driver { name: "sim".into(), program: "/sim".into(), model: None, args: vec![] },
            isolation: Isolation::Minimal,
            permissions: PermissionRules::default(),
            plugins: vec![],
            checks,
            policy: Policy { on_permission: OnPermission::Deny, on_question: OnQuestion::Fail },
            limits: Limits::default(),
        }
    }

    fn verdict(self, id: &EffectId) -> SessionVerdict {
        let what = || "story".to_owned();
        match self.dice(100 + u64::from(id.iteration) * 8 + u64::from(id.attempt), 6) {
            0 if id.attempt < 3 => SessionVerdict::RateLimited { resets_at: None },
            1 if id.attempt < 3 => SessionVerdict::Transient { what: what() },
            2 if id.attempt < 3 => SessionVerdict::Interrupted { what: what() },
            _ => SessionVerdict::Done,
        }
    }
}

/// The world outside: what was really begun, and how often.
#[derive(Debug, Default, Clone, PartialEq)]
struct World {
    sessions: BTreeMap<String, u32>,
    checks: BTreeMap<String, u32>,
    stops: u32,
}

/// What is left in the end.
#[derive(Debug, Clone, PartialEq)]
struct Left {
    outcome: Outcome,
    turns: u32,
    usage: Usage,
    world: World,
}

/// The executor was dropped.
struct Dropped;

struct Executor<'a> {
    store: Store,
    lease: Lease,
    state: State,
    /// The state as of the last commit: what a fold must give.
    committed: State,
    seq: u64,
    story: Story,
    world: &'a mut World,
    passed: &'a mut u64,
    die_at: u64,
    queue: Vec<Event>,
    at: &'a Whereabouts,
}

impl Executor<'_> {
    fn point(&mut self) -> Result<(), Dropped> {
        *self.passed += 1;
        if *self.passed == self.die_at { Err(Dropped) } else { Ok(()) }
    }

    fn tell(&mut self, event: Event) -> Result<(), Dropped> {
        let at = Moment(i64::try_from(self.seq).unwrap());
        let step = engine::apply(&mut self.state, at, &event);
        self.commit(&step, at, event)?;
        for planned in step.effects {
            self.perform(&planned)?;
        }
        Ok(())
    }

    fn commit(&mut self, step: &Step, at: Moment, event: Event) -> Result<(), Dropped> {
        self.point()?;
        let append = Append {
            run: self.state.run.clone(),
            expected_seq: self.seq,
            epoch: self.lease.epoch(),
            bodies: vec![serde_json::to_vec(&step.record(at, event)).unwrap()],
            durability: Durability::Normal,
            taken: vec![],
            projection: None,
            // Often, so that snapshots are part of what is tested.
            snapshot: self.seq.is_multiple_of(5).then(|| serde_json::to_vec(&self.state).unwrap()),
        };
        self.seq = self.store.append_blocking(append).unwrap();
        self.committed = self.state.clone();
        self.point()
    }

    /// Does an effect in the world, unless it is seen to be done, and queues its outcome.
    fn perform(&mut self, planned: &Planned) -> Result<(), Dropped> {
        let id = planned.id.clone();
        let outcome = match &planned.effect {
            Effect::Prepare => Some(Event::Prepared { fingerprint: "0".into(), base: None, error: None }),
            Effect::StartSession(_) => {
                self.world.sessions.entry(id.to_string()).or_insert(1);
                self.session(&id)
            }
            Effect::Inspect { .. } => {
                let complete = id.iteration >= self.story.done_on();
                let tracker = TrackerSight::Read { complete, blocked: None };
                let sight = Sight {
                    tracker,
                    promised: false,
                    signalled: false,
                    fingerprint: id.iteration.to_string(),
                };
                Some(Event::Inspected { effect: id, sight })
            }
            Effect::RunChecks => {
                self.world.checks.entry(id.to_string()).or_insert(1);
                let passed = self.story.dice(50 + u64::from(id.iteration), 3) > 0;
                let result = CheckResult {
                    name: "test".into(),
                    passed,
                    how: "exit code 1".into(),
                    output: "x".into(),
                };
                Some(Event::ChecksFinished { effect: id, results: vec![result] })
            }
            Effect::WaitUntil { .. } => Some(Event::WaitOver { effect: id }),
            Effect::CleanUp { .. } => Some(Event::CleanedUp),
            Effect::AnswerHook { .. } | Effect::MarkTracker { .. } | Effect::KillChildren => None,
        };
        self.point()?;
        self.queue.extend(outcome);
        Ok(())
    }

    /// How a turn goes on: in session it asks to stop, and ends once it may.
    fn session(&mut self, id: &EffectId) -> Option<Event> {
        let verdict = self.story.verdict(id);
        if self.story.mode() != Mode::InSession || verdict != SessionVerdict::Done {
            return Some(ended(id.clone(), verdict));
        }
        None
    }

    /// What a waiting agent does next, when nothing else happens: ask to stop, with an id that
    /// a resend shares, or end because it was let go.
    fn nudge(&mut self) -> Option<Event> {
        let turn = self.state.turn.clone()?;
        if self.story.mode() != Mode::InSession {
            return None;
        }
        let effect = turn.effect;
        let hook = HookId::new(format!("{effect}/{}", self.state.turns));
        if matches!(self.state.phase, windlass_core::run::Phase::Closing { .. }) {
            return Some(ended(effect, SessionVerdict::Done));
        }
        self.world.stops = self.world.stops.max(self.state.turns + 1);
        let kind = HookKind::Stop { last_message: None, background: false, stop_hook_active: true };
        Some(Event::HookAsked { call: HookCall { id: hook, kind } })
    }

    /// Says what is waited for, and stops what would write forever.
    fn look_out(&self) {
        let State { turns, phase, open, .. } = &self.state;
        let open: Vec<String> = open.iter().map(|planned| planned.id.to_string()).collect();
        let next = self.queue.first();
        self.at.wait_for(format!(
            "the end of the run: step {}, {turns} turns, {phase:?}, open {open:?}, next {next:?}",
            self.seq
        ));
        assert!(self.seq < ENDLESS, "it goes on without end: {}", self.at.said());
    }

    fn run(&mut self) -> Result<(), Dropped> {
        let mut waited_for = None;
        while !self.state.is_done() {
            self.look_out();
            if self.queue.is_empty() {
                let next = self.nudge().expect("something happens");
                assert_ne!(waited_for, Some((self.seq, self.state.turns)), "it goes round: {:?}", self.state);
                waited_for = Some((self.seq, self.state.turns));
                self.tell(next)?;
                continue;
            }
            // Closing waits beside the agent's own end; the agent is quicker.
            let event = self.queue.remove(0);
            if matches!(event, Event::WaitOver { .. })
                && matches!(self.state.phase, windlass_core::run::Phase::Closing { .. })
            {
                continue;
            }
            self.tell(event)?;
        }
        Ok(())
    }
}

fn ended(effect: EffectId, verdict: SessionVerdict) -> Event {
    let usage = Usage { output_tokens: 10, ..Usage::default() };
    let end = SessionEnd { verdict, last_message: None, usage, tool_calls: 0, spoke: true, offset: 1 };
    Event::SessionEnded { effect, end }
}

/// Plays a story, dropping the executor at one point, and gives what is left and the number of
/// points that were passed.
fn play(story: Story, die_at: u64, dir: &Path, at: &Whereabouts) -> (Left, u64) {
    at.begin(story.seed, die_at);
    let mut world = World::default();
    let mut passed = 0;
    let run = RunId::new(RUN);
    let (state, step) = engine::start(run.clone(), story.spec(), Moment(0));
    let body =
        serde_json::to_vec(&step.record(Moment(0), Event::RunStarted { spec: Box::new(story.spec()) }))
            .unwrap();
    let store = Store::open(dir).unwrap();
    let new = NewRun { id: run.clone(), projection: Projection::default(), bodies: vec![body] };
    let lease = store.create_run(new).unwrap();
    let mut executor = Executor {
        store,
        lease,
        committed: state.clone(),
        state,
        seq: 1,
        story,
        world: &mut world,
        passed: &mut passed,
        die_at,
        queue: vec![],
        at,
    };
    let first =
        step.effects.iter().try_for_each(|planned| executor.perform(planned)).and_then(|()| executor.run());
    let state = match first {
        Ok(()) => executor.state.clone(),
        Err(Dropped) => {
            let committed = executor.committed.clone();
            drop(executor);
            recover(story, dir, committed, &mut world, at)
        }
    };
    let Standing::Finished(outcome) = state.standing() else { panic!("not finished: {state:?}") };
    (Left { outcome, turns: state.turns, usage: state.usage, world }, passed)
}

fn recover(story: Story, dir: &Path, committed: State, world: &mut World, at: &Whereabouts) -> State {
    let run = &RunId::new(RUN);
    at.wait_for("the lease of the run".into());
    let store = Store::open(dir).unwrap();
    let lease = store.acquire(run).unwrap();
    let loaded = store.load(run).unwrap();
    at.wait_for(format!("the fold of {} records", loaded.last_seq()));
    let state = recover::fold(run, &loaded).unwrap();
    assert_eq!(state, committed, "the fold is not what was committed: {}", at.said());
    if state.is_done() {
        return state;
    }
    let seq = loaded.last_seq();
    let (passed, die_at, queue) = (&mut 0, NEVER, vec![]);
    let mut executor =
        Executor { store, lease, state, committed, seq, story, world, passed, die_at, queue, at };
    let open = executor.state.open.clone();
    let settled = executor
        .tell(Event::OwnerChanged)
        .and_then(|()| open.iter().try_for_each(|planned| executor.perform(planned)))
        .and_then(|()| executor.run());
    assert!(settled.is_ok());
    executor.state.clone()
}

/// Plays every story with every point, and reports each that is over.
fn sweep(at: &Whereabouts, over: &Sender<()>) {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let played = |story, point| {
        let dir = tempfile::tempdir_in(&parent).unwrap();
        let played = play(story, point, dir.path(), at);
        let _ = over.send(());
        played
    };
    let mut points = 0;
    let mut stories = 0;
    for seed in 0.. {
        let story = Story { seed };
        let (expected, passed) = played(story, NEVER);
        for point in 1..=passed {
            let (left, _) = played(story, point);
            assert_eq!(left, expected, "story {seed}, dropped at point {point}");
        }
        points += passed;
        stories += 1;
        if points >= 2_000 {
            break;
        }
    }
    println!("sweep: in process, {stories} stories, {points} points");
}

#[test]
fn a_dropped_executor_loses_and_repeats_nothing() {
    let at = Whereabouts::default();
    let (over, stories) = channel();
    let swept = thread::spawn({
        let at = at.clone();
        move || sweep(&at, &over)
    });
    loop {
        match stories.recv_timeout(PATIENCE) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => panic!("not over after {PATIENCE:?}: {}", at.said()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if let Err(panic) = swept.join() {
        println!("{}", at.said());
        resume_unwind(panic);
    }
}
