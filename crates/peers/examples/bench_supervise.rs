//! Supervising 200 children that each print fifty 1 KB lines a second: our watcher and parser
//! against a bare epoll reader over pipes, in one run. Prints CPU per 100,000 events, the ratio,
//! what was dropped, how often the supervisor was woken, and its peak memory.
//!
//! `cargo run --release -p windlass-peers --example bench_supervise [CHILDREN] [SECONDS]`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a measuring program, run by hand"
)]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::event::epoll;
use rustix::fs::{FlockOperation, flock};
use windlass_core::launch::files;
use windlass_peers::agent::{AgentEvent, AgentLines, Agents, Transcript};
use windlass_peers::child::ChildState;
use windlass_peers::tail::{TailEvent, Watcher};

const A_SECOND: u64 = 50;
const BETWEEN_LINES: Duration = Duration::from_millis(1000 / A_SECOND);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("child") => {
            child(args[1].parse().unwrap(), args[2].parse().unwrap(), args.get(3).map(Path::new))
        }
        Some("epoll") => epoll_reader(args[1].parse().unwrap(), args[2].parse().unwrap()),
        Some("watcher") => watcher(args[1].parse().unwrap(), args[2].parse().unwrap()),
        _ => compare(&args),
    }
}

fn compare(args: &[String]) {
    let count = args.first().map_or("200", String::as_str);
    let seconds = args.get(1).map_or("8", String::as_str);
    let [floor, ours] = ["epoll", "watcher"].map(|mode| {
        let output = Command::new(own()).args([mode, count, seconds]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        print!("{text}{}", String::from_utf8_lossy(&output.stderr));
        text.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap()
    });
    println!("ratio {:.2} (goal: at most 1.30)", ours / floor);
}

fn own() -> PathBuf {
    std::env::current_exe().unwrap()
}

fn line(n: u64) -> String {
    let text = "x".repeat(560);
    format!(
        r#"{{"type":"assistant","message":{{"id":"msg_{n:020}","type":"message","role":"assistant","model":"claude-opus-5-5","stop_sequence":null,"content":[{{"type":"text","text":"{n} {text}"}}],"stop_reason":null,"usage":{{"input_tokens":100,"output_tokens":1,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}},"context_management":null}},"parent_tool_use_id":null,"session_id":"8fe492dc-a220-4cfd-a8a7-2f483601da6e","uuid":"f6d015ea-4034-4833-a60f-a279cdea1e7a","timestamp":"2026-11-15T23:38:24.387Z","request_id":"req_857fd1562d8647ed811f"}}"#
    ) + "\n"
}

/// A child's own moment within the 20 ms between its lines, by its number alone: real children
/// know nothing of each other, so their lines must not come in step, nor neatly one after another.
fn phase(number: u64) -> Duration {
    let mut x = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Duration::from_nanos((x ^ (x >> 31)) % BETWEEN_LINES.as_nanos() as u64)
}

/// How long until the clock is at this phase again.
fn until(phase: Duration) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let gone = now.as_nanos() % BETWEEN_LINES.as_nanos();
    let wait = BETWEEN_LINES + phase - Duration::from_nanos(gone as u64);
    Duration::from_nanos((wait.as_nanos() % BETWEEN_LINES.as_nanos()) as u64)
}

/// Prints its lines on time, then says that it has ended.
fn child(number: u64, seconds: u64, dir: Option<&Path>) {
    let start = Instant::now() + until(phase(number));
    let mut out = std::io::stdout();
    for n in 0..seconds * A_SECOND {
        let due = start + BETWEEN_LINES * u32::try_from(n).unwrap();
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        out.write_all(line(n).as_bytes()).unwrap();
    }
    if let Some(dir) = dir {
        let exit = r#"{"v":1,"code":0,"signal":null,"ended_by":null}"#;
        fs::write(dir.join("exit.json.tmp"), exit).unwrap();
        fs::rename(dir.join("exit.json.tmp"), dir.join(files::EXIT)).unwrap();
    }
}

fn start(number: usize, seconds: u64, dir: Option<&Path>, out: Stdio) -> Child {
    let mut command = Command::new(own());
    command
        .args(["child", &number.to_string(), &seconds.to_string()])
        .args(dir)
        .stdout(out)
        .stdin(Stdio::null());
    command.spawn().unwrap()
}

fn report(name: &str, since: &Spent, events: u64, expected: u64) {
    let now = Spent::so_far();
    let per = (now.cpu - since.cpu).as_secs_f64() * 100_000.0 / events as f64;
    let dropped = expected - events;
    let wakeups = now.wakeups - since.wakeups;
    let lines = events as f64 / wakeups as f64;
    let peak = status("VmHWM") as f64 / 1024.0;
    println!(
        "{name} {per:.3} CPU s/100k events, {events} events, {dropped} dropped, \
         {wakeups} wake-ups ({lines:.1} lines each), peak {peak:.1} MB"
    );
}

/// A number from what the kernel says of this process.
fn status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// What this process, which has one thread, used.
struct Spent {
    cpu: Duration,
    /// It slept and was woken.
    wakeups: u64,
}

impl Spent {
    fn so_far() -> Spent {
        Spent { cpu: cpu(), wakeups: status("voluntary_ctxt_switches") }
    }
}

fn cpu() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let times = tasks.map(|task| {
        let text = fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap();
        text.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    });
    Duration::from_nanos(times.sum())
}

fn epoll_reader(count: usize, seconds: u64) {
    let mut children: Vec<Child> = (0..count).map(|n| start(n, seconds, None, Stdio::piped())).collect();
    let pipes: Vec<_> = children.iter_mut().map(|c| c.stdout.take().unwrap()).collect();
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    for (n, pipe) in pipes.iter().enumerate() {
        epoll::add(&poll, pipe, epoll::EventData::new_u64(n as u64), epoll::EventFlags::IN).unwrap();
    }
    let before = Spent::so_far();
    let (mut open, mut lines) = (count, 0);
    let mut ready = Vec::with_capacity(256);
    let mut buffer = vec![0_u8; 65536];
    while open > 0 {
        ready.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut ready), None).unwrap();
        for event in &ready {
            let pipe = &pipes[usize::try_from(event.data.u64()).unwrap()];
            let got = rustix::io::read(pipe.as_fd(), &mut buffer).unwrap();
            if got == 0 {
                epoll::delete(&poll, pipe).unwrap();
                open -= 1;
            }
            lines += memchr::memchr_iter(b'\n', &buffer[..got]).count() as u64;
        }
    }
    report("epoll", &before, lines, count as u64 * seconds * A_SECOND);
    children.iter_mut().for_each(|c| drop(c.wait()));
}

fn watcher(count: usize, seconds: u64) {
    let temp = tempfile::tempdir().unwrap();
    let (mut children, mut dirs, mut locks) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..count {
        let dir = temp.path().join(format!("{n}"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join(files::STARTED), "").unwrap();
        let lock = File::create(dir.join(files::LOCK)).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        let out = OpenOptions::new().create(true).append(true).open(dir.join(files::STDOUT)).unwrap();
        children.push(start(n, seconds, Some(&dir), out.into()));
        dirs.push(dir);
        locks.push(lock);
    }
    let before = Spent::so_far();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let events = runtime.block_on(async {
        let watcher = Watcher::start().unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for dir in &dirs {
            tasks.spawn(read_one(watcher.watch(dir, 0, None)));
        }
        let mut sum = 0;
        while let Some(events) = tasks.join_next().await {
            sum += events.unwrap();
        }
        sum
    });
    report("watcher", &before, events, count as u64 * seconds * A_SECOND);
    children.iter_mut().for_each(|c| drop(c.wait()));
}

/// Counts the events of one child, and that they come in order.
async fn read_one(mut from: tokio::sync::mpsc::Receiver<TailEvent>) -> u64 {
    let mut transcript = Transcript::default();
    let mut lines = AgentLines::of(&**Agents::default().named("claude").unwrap());
    let mut events = Vec::new();
    let mut next = 0;
    loop {
        match from.recv().await.unwrap() {
            TailEvent::Lines(chunk) => lines.read(&chunk.bytes, chunk.skipped, &mut events),
            TailEvent::Ended(ChildState::Ended(_)) => return next,
            TailEvent::Ended(other) => unreachable!("{other:?}"),
        }
        for event in events.drain(..) {
            if let AgentEvent::Text { text, .. } = &event {
                assert_eq!(text.split(' ').next().unwrap().parse(), Ok(next));
                next += 1;
            }
            transcript.add(&event);
        }
    }
}
