//! Measures the log against bare SQLite, as ratios within one run:
//! `cargo run --release -p windlass-store --example bench_log [DIR]`.
//!
//! DIR is where the databases are made (the temporary directory by default): use a real disk,
//! since a commit that survives power loss costs nothing on tmpfs. Nothing here is a test; the
//! goals are printed beside the figures.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark stops where it stands")]

#[path = "bench_log/records.rs"]
mod records;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use records::{Content, Pool};
use rusqlite::{Connection, params};
use windlass_core::id::RunId;
use windlass_store::{Append, Cadence, Durability, Lease, NewRun, Projection, Store};

const KB: usize = 1024;
/// Short rounds by turns, so that whatever else the machine does meets all alike.
const ROUNDS: usize = 51;

fn main() {
    let mut args = std::env::args().skip(1);
    let first = args.next();
    if first.as_deref() == Some("--full-steps") {
        let dir = PathBuf::from(args.next().unwrap());
        let steps = args.next().unwrap().parse().unwrap();
        let mut run = Run::new(&Store::open(&dir).unwrap(), "a");
        run.steps(steps, &Pool::new(Content::Records, 4 * KB), Durability::Full);
        return;
    }
    let base = first.map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = tempfile::tempdir_in(base).unwrap();
    println!("{:<58} {:>10}  goal", "", "measured");
    for content in [Content::Records, Content::Noise] {
        normal_against_bare(dir.path(), content);
    }
    full_and_shared(dir.path());
    syncs(dir.path());
    for delta in [KB, 4 * KB] {
        growth(dir.path(), delta, Content::Records, State::Grows);
        growth(dir.path(), delta, Content::Records, State::Stays);
        growth(dir.path(), delta, Content::Noise, State::Grows);
    }
}

fn line(what: &str, measured: impl std::fmt::Display, goal: &str) {
    println!("{what:<58} {measured:>10}  {goal}");
}

/// A run and where its owner stands.
struct Run {
    store: Store,
    id: RunId,
    lease: Lease,
    seq: u64,
}

impl Run {
    fn new(store: &Store, id: &str) -> Run {
        let id = RunId::new(id);
        let projection = Projection::default();
        let lease = store
            .create_run(NewRun { id: id.clone(), projection, bodies: Vec::new(), spending: None })
            .unwrap();
        Run { store: store.clone(), id, lease, seq: 0 }
    }

    fn append(&self, body: Vec<u8>, durability: Durability) -> Append {
        Append {
            run: self.id.clone(),
            expected_seq: self.seq,
            epoch: self.lease.epoch(),
            bodies: vec![body],
            durability,
            taken: Vec::new(),
            projection: None,
            snapshot: None,
            spending: None,
        }
    }

    fn steps(&mut self, steps: usize, bodies: &Pool, durability: Durability) -> f64 {
        let start = Instant::now();
        for _ in 0..steps {
            let body = bodies.at(self.seq).to_vec();
            self.seq = self.store.append_blocking(self.append(body, durability)).unwrap();
        }
        per_second(steps, start.elapsed())
    }

    async fn steps_awaited(&mut self, steps: usize, bodies: &Pool, durability: Durability) {
        for _ in 0..steps {
            let body = bodies.at(self.seq).to_vec();
            self.seq = self.store.append(self.append(body, durability)).await.unwrap();
        }
    }
}

/// Lets every run take so many steps at once, as tasks of one thread.
fn together(runs: Vec<Run>, steps: usize, bodies: &Pool, durability: Durability) -> (Vec<Run>, f64) {
    let waits = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let all = runs.len() * steps;
    let start = Instant::now();
    let runs = waits.block_on(async {
        let tasks: Vec<_> = runs
            .into_iter()
            .map(|mut run| {
                let bodies = bodies.clone();
                tokio::spawn(async move {
                    run.steps_awaited(steps, &bodies, durability).await;
                    run
                })
            })
            .collect();
        let mut back = Vec::new();
        for task in tasks {
            back.push(task.await.unwrap());
        }
        back
    });
    (runs, per_second(all, start.elapsed()))
}

/// The least that SQLite needs: one insert, one commit.
struct Bare {
    conn: Connection,
    pos: u64,
}

impl Bare {
    #[expect(clippy::disallowed_methods, reason = "the floor, without the store")]
    fn new(path: &Path, synchronous: &str, like: Option<&Path>) -> Bare {
        let conn = Connection::open(path).unwrap();
        if let Some(store) = like {
            let store = Connection::open(store.join("windlass.db")).unwrap();
            let page: u32 = store.pragma_query_value(None, "page_size", |row| row.get(0)).unwrap();
            conn.pragma_update(None, "page_size", page).unwrap();
            let pages = 8 * 1024 * 1024 / page;
            conn.pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(())).unwrap();
        }
        conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
        conn.pragma_update(None, "synchronous", synchronous).unwrap();
        conn.execute_batch("CREATE TABLE event (pos INTEGER PRIMARY KEY, body BLOB)").unwrap();
        Bare { conn, pos: 0 }
    }

    fn steps(&mut self, steps: usize, bodies: &Pool) -> f64 {
        let mut insert = self.conn.prepare("INSERT INTO event VALUES (?1, ?2)").unwrap();
        let start = Instant::now();
        for _ in 0..steps {
            self.pos += 1;
            insert.execute(params![self.pos as i64, bodies.at(self.pos).to_vec()]).unwrap();
        }
        per_second(steps, start.elapsed())
    }
}

fn per_second(steps: usize, took: Duration) -> f64 {
    steps as f64 / took.as_secs_f64()
}

/// The speed over all rounds together: a median would leave out the rounds with a checkpoint.
fn mean_speed(rounds: &[f64]) -> f64 {
    rounds.len() as f64 / rounds.iter().map(|speed| 1.0 / speed).sum::<f64>()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn normal_against_bare(dir: &Path, content: Content) {
    let dir = dir.join(format!("normal-{content:?}"));
    let bodies = Pool::new(content, 4 * KB);
    let store = Store::open(&dir).unwrap();
    let mut bare = Bare::new(&dir.join("bare.db"), "NORMAL", None);
    let mut bare_alike = Bare::new(&dir.join("bare-alike.db"), "NORMAL", Some(store.dir()));
    let mut blocking_run = Run::new(&store, "a");
    let mut awaited_run = vec![Run::new(&store, "b")];
    let (mut floor, mut alike, mut blocking, mut awaited) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        floor.push(bare.steps(200, &bodies));
        alike.push(bare_alike.steps(200, &bodies));
        blocking.push(blocking_run.steps(200, &bodies, Durability::Normal));
        let (back, speed) = together(awaited_run, 200, &bodies, Durability::Normal);
        awaited_run = back;
        awaited.push(speed);
    }
    let (floor, alike) = (mean_speed(&floor), mean_speed(&alike));
    let (blocking, awaited) = (mean_speed(&blocking), mean_speed(&awaited));
    println!("steps of 4 KB that survive a killed process, {content:?}");
    line("  bare SQLite, NORMAL, steps/s", format!("{floor:.0}"), "");
    line("  store, NORMAL, steps/s", format!("{awaited:.0}"), "");
    line("  x bare", format!("{:.2}", awaited / floor), ">= 0.7");
    line("  x bare with the store's page size and checkpoints", format!("{:.2}", awaited / alike), ">= 0.7");
    line("  x bare, waiting in place", format!("{:.2}", blocking / floor), ">= 0.7");
}

fn full_and_shared(dir: &Path) {
    let bodies = Pool::new(Content::Records, 4 * KB);
    let mut bare = Bare::new(&dir.join("bare-full.db"), "FULL", None);
    let store = Store::open(&dir.join("full")).unwrap();
    let mut alone = vec![Run::new(&store, "alone")];
    let mut eight: Vec<Run> = (0..8).map(|n| Run::new(&store, &format!("run-{n}"))).collect();
    let (mut floor, mut one, mut shared) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        floor.push(bare.steps(40, &bodies));
        let (back, speed) = together(alone, 40, &bodies, Durability::Full);
        alone = back;
        one.push(speed);
        let (back, speed) = together(eight, 40, &bodies, Durability::Full);
        eight = back;
        shared.push(speed);
    }
    let (floor, one, shared) = (mean_speed(&floor), mean_speed(&one), mean_speed(&shared));
    line("store, FULL, 4 KB, one run, steps/s", format!("{one:.0}"), "");
    line("  x bare FULL", format!("{:.2}", one / floor), ">= 0.8");
    line("  eight runs at once x one run", format!("{:.2}", shared / one), ">= 3");
}

/// Counts the calls that wait for the disk, as the kernel sees them.
#[expect(clippy::disallowed_methods, reason = "strace counts what no library call tells")]
fn syncs(dir: &Path) {
    const STEPS: usize = 2000;
    let trace = dir.join("trace");
    let traced = std::process::Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .arg("--full-steps")
        .arg(dir.join("traced"))
        .arg(STEPS.to_string())
        .status();
    if !traced.is_ok_and(|status| status.success()) {
        line("fsyncs a step, FULL", "skipped", "<= 1.02 (needs strace)");
        return;
    }
    let calls = fs::read_to_string(&trace).unwrap().lines().filter(|line| line.contains("sync(")).count();
    let each = calls as f64 / STEPS as f64;
    line("fsyncs a step, FULL (strace, with opening and closing)", format!("{each:.3}"), "<= 1.02");
}

/// What the state of the measured run does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// Every delta stays in it.
    Grows,
    /// It is as large as four deltas.
    Stays,
}

/// Ten thousand steps of one run, then what it takes to load it.
fn growth(dir: &Path, delta: usize, content: Content, state: State) {
    const STEPS: usize = 10_000;
    let dir = dir.join(format!("growth-{delta}-{content:?}-{state:?}"));
    let bodies = Pool::new(content, delta);
    let store = Store::open(&dir).unwrap();
    let mut run = Run::new(&store, "a");
    let mut cadence = Cadence::new();
    let before = written();
    let mut costs = Vec::with_capacity(STEPS);
    let mut deltas = 0;
    for step in 1..=STEPS {
        let start = Instant::now();
        let body = bodies.at(step as u64).to_vec();
        deltas += body.len();
        cadence.wrote(body.len());
        let mut append = run.append(body, Durability::Normal);
        if cadence.is_due() {
            let snapshot = bodies.many(if state == State::Grows { step } else { 4 });
            append.snapshot = cadence.offer(snapshot.len()).then_some(snapshot);
        }
        run.seq = store.append_blocking(append).unwrap();
        costs.push(start.elapsed().as_secs_f64() * 1e6);
    }
    // Closing moves the rest into the database: that is written too.
    drop((run, store));
    let bytes = written() - before;
    println!("10,000 steps of {} bytes, {content:?}, state {state:?}", deltas / STEPS);
    let middle = |range: std::ops::Range<usize>| median(costs[range].to_vec());
    let mean = |range: std::ops::Range<usize>| costs[range.clone()].iter().sum::<f64>() / range.len() as f64;
    let (early, late) = (middle(50..250), middle(STEPS - 200..STEPS));
    line("  step 100, µs (median of 200 around it)", format!("{early:.0}"), "");
    line("  step 10,000 x step 100", format!("{:.2}", late / early), "<= 1.2");
    let (first, last) = (0..2000, STEPS - 2000..STEPS);
    let means = mean(last.clone()) / mean(first.clone());
    line("  last 2,000 x first 2,000, mean with checkpoints", format!("{means:.2}"), "");
    // A checkpoint takes milliseconds, any other step far less than one.
    let slow = |range: std::ops::Range<usize>| costs[range].iter().filter(|cost| **cost > 3000.0).count();
    line("    steps over 3 ms in them, last and first", format!("{}, {}", slow(last), slow(first)), "");
    let amplified = bytes as f64 / deltas as f64;
    line("  bytes written x delta (all writes, checkpoints too)", format!("{amplified:.2}"), "<= 3");

    let store = Store::open(&dir).unwrap();
    let start = cpu();
    let loaded = store.load(&RunId::new("a")).unwrap();
    let took = cpu() - start;
    assert_eq!(loaded.last_seq(), STEPS as u64);
    line("  loading it, CPU ms", format!("{:.1}", took.as_secs_f64() * 1e3), "<= 50");
}

/// Bytes this process has handed to `write`, from the kernel's count.
fn written() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap();
    let count = io.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap();
    count.parse().unwrap()
}

/// CPU time of this thread, which the kernel may count only to the last tick (some milliseconds).
fn cpu() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}
