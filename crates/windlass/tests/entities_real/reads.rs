//! A real CLI started among the probes, and what it read compared with a table.
//!
//! How a CLI is started, and how it shows what it read, is the file's of each one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::probe::{Planted, Probe};

/// The deadline of one start, on a busy machine too.
const LIMIT: Duration = Duration::from_secs(90);

/// The output of a CLI until it ended or the test stopped it.
pub(crate) struct Said {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Starts a CLI in a process group of its own and ends that as soon as enough is known.
#[track_caller]
pub(crate) fn listen(planted: &Planted, mut command: Command, enough: impl Fn() -> bool) -> Said {
    let [stdout, stderr] = ["said.out", "said.err"].map(|name| planted.sealed.root().join(name));
    command.stdin(Stdio::null()).process_group(0);
    command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    let mut over = false;
    while !over && !enough() && begun.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(10));
        over = child.try_wait().unwrap().is_some();
    }
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    // Gone already is as good as killed.
    let _ = kill_process_group(group, Signal::KILL);
    child.wait().unwrap();
    let [stdout, stderr] =
        [stdout, stderr].map(|file| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned());
    let in_time = over || begun.elapsed() < LIMIT;
    assert!(in_time, "{command:?} said nothing within {LIMIT:?}\n{stdout}\n{stderr}");
    Said { stdout, stderr }
}

/// That a CLI has read exactly the probes at these spots, of all there are.
#[track_caller]
pub(crate) fn assert_reads<'a>(probes: &'a [Probe], table: &[&'a str], seen: impl Fn(&Probe) -> bool) {
    let spots: BTreeSet<&str> = probes.iter().map(|probe| &*probe.spot).collect();
    let seen: BTreeSet<&str> = probes.iter().filter(|probe| seen(probe)).map(|probe| &*probe.spot).collect();
    let table: BTreeSet<&str> = table.iter().copied().collect();
    let unknown: Vec<_> = table.difference(&spots).collect();
    let unread: Vec<_> = table.difference(&seen).collect();
    let surprising: Vec<_> = seen.difference(&table).collect();
    assert!(
        unknown.is_empty() && unread.is_empty() && surprising.is_empty(),
        "no place of Windlass: {unknown:#?}\nnot read by the CLI: {unread:#?}\nread by it unexpectedly: {surprising:#?}"
    );
}

#[test]
#[should_panic(expected = "not read by the CLI: [\n    \"./.codex/agents/*.toml\",\n]")]
fn a_place_that_is_not_read_is_named() {
    let planted = Planted::everywhere();
    assert_reads(&planted.probes, &["./.codex/agents/*.toml"], |_| false);
}

#[test]
#[should_panic(expected = "read by it unexpectedly: [\n    \"~/.codex/prompts/*.md\",\n]")]
fn a_place_that_nobody_knew_to_be_read_is_named() {
    let planted = Planted::everywhere();
    assert_reads(&planted.probes, &[], |probe| probe.spot == "~/.codex/prompts/*.md");
}
