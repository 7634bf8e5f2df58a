//! Durable steps of the engine, committed as the owner of a run does:
//! `cargo run --release -p windlass-store --example steps DIR SCENARIO [--OPTION VALUE]`.
//!
//! Takes the words of `bench/langgraph.py` and answers with a line of the same JSON;
//! `cargo xtask bench steps` runs both in turn. A step is a node that is over and what follows from it:
//! decided by the engine, put into a record, committed. The nodes are command lines whose ends are given here at
//! once, as the peer's are functions that return. Commits are synced as the engine says, which is
//! each of them here, unless `--durability normal` is said. `floor` is what the system takes for a
//! file that is appended to and synced as often.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark stops where it stands"
)]

#[path = "bench_log/records.rs"]
mod records;

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use records::{Content, Pool};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use windlass_core::effect::{Effect, Planned};
use windlass_core::engine;
use windlass_core::event::{Event, ShellEnd};
use windlass_core::graph::builder::{Builder, LoopRounds, clear_context, each_of, shell};
use windlass_core::graph::workflow::Node;
use windlass_core::id::{EffectId, RunId};
use windlass_core::run::RunState;
use windlass_core::spec::{OnPermission, OnQuestion, Policy, Spec, TimeLimits};
use windlass_core::time::Moment;
use windlass_core::usage::Cost;
use windlass_store::{Append, Cadence, Durability, Lease, NewRun, Projection, Store};

const WARM_UP: u64 = 50;
const WINDOW: usize = 50;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [base, scenario, options @ ..] = words.as_slice() else {
        panic!("usage: steps DIR steps|grow|parallel|each|runs|floor [--OPTION VALUE ...]");
    };
    let given: HashMap<&str, &str> =
        options.chunks(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    let number = |option: &str, default| given.get(option).map_or(default, |word| word.parse().unwrap());
    let durability = match given.get("--durability") {
        None | Some(&"full") => Durability::Full,
        Some(&"normal") => Durability::Normal,
        Some(other) => panic!("`--durability` is full or normal, not `{other}`"),
    };
    let dir = tempfile::tempdir_in(base).unwrap();
    let bench = |body_bytes: u64| Bench::new(dir.path(), body_bytes as usize, durability);
    let took = match scenario.as_str() {
        "steps" => bench(number("--state", 4096)).one_run(number("--count", 1000), Shape::Loop),
        "grow" => bench(number("--delta", 1024)).one_run(number("--count", 2000), Shape::Sequence),
        "parallel" => bench(number("--state", 1024)).parallel(number("--branches", 100)),
        "each" => bench(number("--state", 1024)).one_run(number("--count", 1000), Shape::Items),
        "runs" => bench(number("--state", 1024)).runs(number("--count", 200), number("--steps", 5)),
        "floor" => bench(number("--state", 4096)).floor(number("--count", 1000)),
        other => panic!("no scenario is named `{other}`"),
    };
    println!("{}", took.json(scenario));
}

/// What a run does.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// One node in a loop: its output is replaced in each round.
    Loop,
    /// One node after the other: every output is kept.
    Sequence,
    /// All at once.
    Parallel,
    /// One node for each item of a list, eight at a time.
    Items,
}

impl Shape {
    fn body(self, count: u64) -> Vec<Node> {
        let begin = Builder::new("bench").start(clear_context());
        let node = |n: u64| shell("true").id(format!("n{n}")).idempotent();
        let built = match self {
            Shape::Loop => begin.loop_(LoopRounds::times(count as u32), |round| round.then(node(0))),
            Shape::Sequence => (0..count).fold(begin, |all, n| all.then(node(n))),
            Shape::Items => {
                let items = (0..count).map(|n| json!({"number": n, "title": format!("item {n}")})).collect();
                begin.then(each_of("item", items).jobs(8).each(|item| item.then(node(0))))
            }
            Shape::Parallel => begin.parallel(|lanes| {
                (0..count).fold(lanes, |all, n| all.branch(format!("b{n}"), |lane| lane.then(node(n))))
            }),
        };
        built.end().unwrap().body
    }
}

/// A run and where its owner stands.
struct Run {
    store: Store,
    state: RunState,
    lease: Lease,
    seq: u64,
    cadence: Cadence,
    durability: Durability,
    open: VecDeque<EffectId>,
}

impl Run {
    /// What the owner of a run does with a fact, up to the answer of the store.
    async fn tell(&mut self, event: Event) {
        let at = Moment(1_794_793_577_000 + self.seq as i64);
        let step = engine::apply(&mut self.state, at, &event);
        let body = serde_json::to_vec(&step.record(at, event)).unwrap();
        self.cadence.wrote(body.len());
        let snapshot = self.cadence.is_due().then(|| serde_json::to_vec(&self.state).unwrap());
        let snapshot = snapshot.filter(|bytes| self.cadence.offer(bytes.len()));
        let durability = if step.needs_disk() { self.durability } else { Durability::Normal };
        let append = Append {
            run: self.state.run.clone(),
            expected_seq: self.seq,
            epoch: self.lease.epoch(),
            bodies: vec![body],
            durability,
            taken: Vec::new(),
            projection: (!step.news.is_empty()).then(|| shown(self.seq)),
            snapshot,
            spending: None,
        };
        self.seq = self.store.append(append).await.unwrap();
        self.take(step.effects);
    }

    fn take(&mut self, effects: Vec<Planned>) {
        let shells = effects.into_iter().filter(|planned| matches!(planned.effect, Effect::RunShell { .. }));
        self.open.extend(shells.map(|planned| planned.id));
    }

    /// Ends one node after the other, and answers with the CPU time of the process at the
    /// beginning of each.
    async fn go(&mut self, output: impl Fn(u64) -> String) -> Vec<Duration> {
        let mut marks = Vec::new();
        while let Some(effect) = self.open.pop_front() {
            marks.push(cpu());
            let output = output(marks.len() as u64);
            let end = ShellEnd::exited(true, "exit code 0", output);
            self.tell(Event::ShellEnded { effect, end }).await;
        }
        assert!(self.state.is_done(), "{:?}", self.state.progress());
        marks
    }
}

/// What all scenarios have in common.
struct Bench {
    dir: PathBuf,
    /// Made beforehand: writing texts is not what is measured.
    outputs: Vec<String>,
    durability: Durability,
    records: Pool,
}

impl Bench {
    fn new(dir: &Path, body_bytes: usize, durability: Durability) -> Bench {
        let records = Pool::new(Content::Records, body_bytes);
        let output = |step: u64| {
            let text = String::from_utf8_lossy(records.at(step)).into_owned();
            text.chars().cycle().take(body_bytes).collect()
        };
        let outputs = (0..64).map(output).collect();
        Bench { dir: dir.to_owned(), outputs, durability, records }
    }

    fn run(&self, store: &Store, id: &str, body: Vec<Node>) -> Run {
        let spec = Spec {
            workflow: "bench".into(),
            description: None,
            seed: "seed".into(),
            input: "Work on the cart until its tests are green.".into(),
            inputs: Default::default(),
            kinds: Default::default(),
            ranges: Default::default(),
            body,
            sessions: Default::default(),
            workspace: "/home/ada/shop".into(),
            machine: "m".into(),
            plugins: Vec::new(),
            checks: Vec::new(),
            env: Default::default(),
            parent_env: Default::default(),
            shell: Default::default(),
            gives: None,
            runs: None,
            policy: Policy { on_permission: OnPermission::Deny, on_question: OnQuestion::Fail },
            limits: TimeLimits::default(),
            timeout_from: None,
            budget: Default::default(),
            prices: Default::default(),
            others: Default::default(),
            parent: None,
            notify: Default::default(),
            worktree: None,
            fork_of: None,
            request: None,
        };
        let at = Moment(1_794_793_577_000);
        let event = Event::RunStarted { spec: Box::new(spec.clone()) };
        let (state, step) = engine::start(RunId::new(id), spec, at);
        let first = serde_json::to_vec(&step.record(at, event)).unwrap();
        let mut cadence = Cadence::new();
        cadence.wrote(first.len());
        let new = NewRun { id: RunId::new(id), projection: shown(0), bodies: vec![first], spending: None };
        let lease = store.create_run(new).unwrap();
        let (store, durability) = (store.clone(), self.durability);
        let mut run = Run { store, state, lease, seq: 1, cadence, durability, open: VecDeque::new() };
        run.take(step.effects);
        run
    }

    /// What a node gives: text like that of records, as long as was asked for.
    fn output(&self, step: u64) -> String {
        self.outputs[step as usize % self.outputs.len()].clone()
    }

    /// One run, one step after the other.
    fn one_run(&self, count: u64, shape: Shape) -> Took {
        let go = async |store: &Store, count| {
            self.run(store, "measured", shape.body(count)).go(|step| self.output(step)).await
        };
        self.measure("warm-up", async |store| go(store, WARM_UP).await);
        let (marks, took) = self.measure("measured", async |store| go(store, count).await);
        Took { windows: windows(&marks), ..took }
    }

    /// One run with so many branches, which end one after the other.
    fn parallel(&self, branches: u64) -> Took {
        let go = async |store: &Store, branches: u64| {
            self.run(store, "measured", Shape::Parallel.body(branches)).go(|step| self.output(step)).await;
        };
        self.measure("warm-up", async |store| go(store, 10).await);
        self.measure("measured", async |store| go(store, branches).await).1
    }

    /// So many runs at once, as tasks of one thread, each made and taken through its steps.
    fn runs(self, count: u64, steps: u64) -> Took {
        let bench = Arc::new(self);
        let go = async |store: &Store, count| {
            let tasks: Vec<_> = (0..count)
                .map(|n| {
                    let (bench, store) = (Arc::clone(&bench), store.clone());
                    tokio::spawn(async move {
                        let mut run = bench.run(&store, &format!("run-{n}"), Shape::Loop.body(steps));
                        run.go(|step| bench.output(n + step)).await
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        };
        bench.measure("warm-up", async |store| go(store, 10).await);
        bench.measure("measured", async |store| go(store, count).await).1
    }

    /// The least that the system takes: a file that gets a record and is synced, again and again.
    fn floor(&self, count: u64) -> Took {
        let path = self.dir.join("floor");
        let mut file = File::create(&path).unwrap();
        let (used, begun) = (cpu(), Instant::now());
        for step in 0..count {
            file.write_all(self.records.at(step)).unwrap();
            file.sync_data().unwrap();
        }
        let (cpu, wall) = (cpu() - used, begun.elapsed());
        Took { cpu, wall, database: path.metadata().unwrap().len(), windows: None }
    }

    /// Measures `work` in a store of its own. Opening it is not counted; closing it is, because
    /// that moves the rest of the write-ahead log into the database.
    fn measure<T>(&self, name: &str, work: impl AsyncFnOnce(&Store) -> T) -> (T, Took) {
        let dir = self.dir.join(name);
        let waits = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let store = Store::open(&dir).unwrap();
        let (used, begun) = (cpu(), Instant::now());
        let answer = waits.block_on(work(&store));
        drop(store);
        let (cpu, wall) = (cpu() - used, begun.elapsed());
        (answer, Took { cpu, wall, database: database_bytes(&dir), windows: None })
    }
}

/// What lists show of a run after so many steps.
fn shown(step: u64) -> Projection {
    Projection {
        workflow: "bench".to_owned(),
        workspace: "/home/ada/shop".to_owned(),
        driver: "claude".to_owned(),
        status: "running".to_owned(),
        reason: None,
        iteration: step as u32,
        cost: Cost { usd: Some(0.01 * step as f64), ..Cost::default() },
        started_ms: 1_794_793_577_000,
        updated_ms: 1_794_793_577_000 + step as i64 * 713,
        input: "Work on the cart until its tests are green.".to_owned(),
        parent: None,
    }
}

/// What a measurement took, up to a database that was closed.
struct Took {
    cpu: Duration,
    wall: Duration,
    database: u64,
    /// An early and a late step, where one follows the other.
    windows: Option<(Duration, Duration)>,
}

impl Took {
    fn json(&self, scenario: &str) -> Value {
        let mut line = json!({
            "scenario": scenario,
            "cpu_s": self.cpu.as_secs_f64(),
            "wall_s": self.wall.as_secs_f64(),
            "database_bytes": self.database,
        });
        if let Some((first, last)) = self.windows {
            line["first_cpu_s"] = json!(first.as_secs_f64());
            line["last_cpu_s"] = json!(last.as_secs_f64());
        }
        line
    }
}

/// The median of the first and of the last steps: one that moves the write-ahead log into the
/// database has done so for thousands. A step ends where the next begins.
fn windows(marks: &[Duration]) -> Option<(Duration, Duration)> {
    let mut steps: Vec<Duration> = marks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let last = steps.len().checked_sub(WINDOW)?;
    let median = |window: &mut [Duration]| {
        window.sort();
        window[WINDOW / 2]
    };
    Some((median(&mut steps[..WINDOW].to_vec()), median(&mut steps[last..])))
}

/// The database with whatever SQLite keeps beside it.
fn database_bytes(dir: &Path) -> u64 {
    let files = fs::read_dir(dir).unwrap().map(Result::unwrap);
    let of_it = files.filter(|file| file.file_name().to_string_lossy().starts_with("windlass.db"));
    of_it.map(|file| file.metadata().unwrap().len()).sum()
}

/// CPU time of this process, all its threads: the clock that Python's `process_time` reads.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
