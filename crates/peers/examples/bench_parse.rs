//! Parsing the output of every agent CLI: MB of stream per second on one core, for each dialect.
//!
//! `cargo run --release -p windlass-peers --example bench_parse [MB] [ROUNDS] [DIALECT]`
//!
//! The stream of a dialect is its recordings one after the other, repeated. A recording that only fails, or that
//! breaks off, is left out: a session prints its line once. Each repetition is read by a fresh reader, because a
//! reader remembers what it reported. The baseline, measured in the same rounds, reads the same lines as JSON and
//! keeps nothing (`IgnoredAny`), which is the least that any reader built on `serde_json` can do.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a measuring program, run by hand"
)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::de::IgnoredAny;
use windlass_peers::agent::{Agents, Dialect, read_stream};

/// The recordings of each dialect, below `tests/recordings`.
const RECORDINGS: [(&str, &[&str]); 6] = [
    (
        "claude",
        &[
            "01-simple-text",
            "10-stop-block-twice",
            "20-pre-deny",
            "22-ask-pre-allow",
            "27-subagentstop-block",
        ],
    ),
    (
        "codex",
        &[
            "codex/first",
            "codex/refused-write",
            "codex/resumed",
            "codex/shell",
            "codex/stop-blocked-once",
            "codex/subagent",
        ],
    ),
    ("opencode", &["opencode/denied", "opencode/in-session", "opencode/subagent", "opencode/tool"]),
    (
        "copilot",
        &["copilot/denied", "copilot/mcp", "copilot/stop-blocked", "copilot/subagent", "copilot/tool-call"],
    ),
    ("gemini", &["gemini/denied", "gemini/hooks", "gemini/resume", "gemini/stop-block", "gemini/tools"]),
    (
        "acp",
        &[
            "acp/claude",
            "acp/codex",
            "acp/copilot",
            "acp/copilot-in-session",
            "acp/gemini",
            "acp/opencode",
            "acp/opencode-asks",
        ],
    ),
];

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = || args.next().map(|arg| arg.parse::<usize>().unwrap());
    let (mb, rounds) = (number().unwrap_or(40), number().unwrap_or(9));
    let only = args.next();
    println!("median (range) of {rounds} rounds of {mb} MB; goal: at least 200 MB/s on one core");
    println!("{:10} {:>26} {:>26} {:>8}", "dialect", "events, MB/s", "skipping reader, MB/s", "ratio");
    let agents = Agents::default();
    for (name, files) in
        RECORDINGS.iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name))
    {
        measure(agents.named(name).unwrap().as_ref(), files, mb << 20, rounds);
    }
}

fn measure(dialect: &dyn Dialect, files: &[&str], size: usize, rounds: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let read = |file: &&str| fs::read(folder.join(format!("{file}.jsonl"))).unwrap();
    let streams: Vec<Vec<u8>> = files.iter().map(read).collect();
    let once: usize = streams.iter().map(Vec::len).sum();
    let times = size.div_ceil(once);
    let mb = (once * times) as f64 / 1e6;
    let (mut ours, mut least) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(
            mb / timed(|| {
                (0..times).for_each(|_| streams.iter().for_each(|stream| read_all(dialect, stream)))
            }),
        );
        least
            .push(mb / timed(|| (0..times).for_each(|_| streams.iter().for_each(|stream| skip_all(stream)))));
    }
    let ratio = median(&mut ours) / median(&mut least);
    println!("{:10} {:>26} {:>26} {ratio:>7.2}×", dialect.name(), shown(&mut ours), shown(&mut least));
}

fn read_all(dialect: &dyn Dialect, stream: &[u8]) {
    let mut events = Vec::new();
    read_stream(dialect, stream, &mut events);
    assert!(!std::hint::black_box(events).is_empty());
}

fn skip_all(stream: &[u8]) {
    for line in stream.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        std::hint::black_box(serde_json::from_slice::<IgnoredAny>(line).is_ok());
    }
}

/// Returns the CPU seconds of this thread: other programs do not count.
fn timed(work: impl FnOnce()) -> f64 {
    let before = now();
    work();
    (now() - before).as_secs_f64()
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap())
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn shown(numbers: &mut [f64]) -> String {
    let median = median(numbers);
    format!("{median:.0} ({:.0} to {:.0})", numbers[0], numbers[numbers.len() - 1])
}
