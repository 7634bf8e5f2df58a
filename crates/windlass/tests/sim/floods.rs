//! Tests that Windlass needs little memory however much an agent or a command prints.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use windlass_testkit::wait::until;

use crate::place::{LIMIT, Place, Ran, done, last_turn, say};

/// The most memory that `windlass` may have at any moment.
const MOST_KB: u64 = 64 * 1024;

/// The last line of a turn of the fake agents.
const END: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"done","num_turns":1}"#;

/// The peak of a process's memory so far, without the pages of its program and other files, which the system
/// can drop at any time; none when it has ended.
fn peak_kb(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kb = |name: &str| -> Option<u64> {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    Some(kb("VmHWM:")?.saturating_sub(kb("RssFile:")?))
}

/// Runs `windlass` to its end; how it ended, and the peak of its memory.
#[track_caller]
fn watched(place: &Place, command: Command) -> (Ran, u64) {
    let going = place.spawn(command);
    let pid = going.pid();
    let mut peak = 0;
    // A process that has ended and was not waited for has no memory any more.
    until(LIMIT * 2, || match peak_kb(pid) {
        Some(kb) => {
            peak = kb;
            false
        }
        None => true,
    });
    (going.end(), peak)
}

/// An agent that is a shell script, whose turn then ends well.
fn agent(place: &Place, script: &str) -> PathBuf {
    let path = place.sealed.write("agent", format!("#!/bin/sh\n{script}\nprintf '\\n%s\\n' '{END}'\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path
}

/// A run of one turn with such an agent.
fn run_of(place: &Place, script: &str, more: &[&str]) -> Command {
    place
        .sealed
        .write("repo/.windlass/workflows/one.yaml", "name: one\nnodes: [ { id: work, prompt: do it } ]\n");
    let mut command = place.windlass(&["run", "--workflow", "one", "--driver", "sim", "--agent-bin"]);
    command.arg(agent(place, script)).args(more);
    command
}

#[track_caller]
fn assert_small(peak: u64, what: &str) {
    assert!(peak > 100, "the peak of memory was not seen: {what}");
    assert!(peak < MOST_KB, "{peak} kB at the most: {what}");
}

/// The texts of the warnings about an agent's lines.
fn warnings(lines: &[Value]) -> Vec<&str> {
    let told = lines.iter().filter(|line| line["data"]["kind"] == "warning");
    told.map(|line| line["data"]["what"].as_str().unwrap()).collect()
}

#[test]
fn two_hundred_megabytes_that_are_no_events_take_little_memory_and_little_is_printed() {
    let garbage = "yes 'this is no event at all, and there are many of it' | head -n 4000000";
    let place = Place::with_settings("");
    let (ran, peak) = watched(&place, run_of(&place, garbage, &["--json"]));
    ran.assert_ended(0, "completed", "turn_done", 1);
    assert_small(peak, "garbage");
    let told = warnings(&ran.lines);
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].starts_with("unreadable line"), "{told:?}");
    assert_eq!(told[3], "3999997 more unreadable lines");
    assert!(ran.stdout.len() < 10_000, "{} bytes were printed", ran.stdout.len());
    let (logs, peak) = watched(&place, place.windlass(&["logs", ran.run(), "--json"]));
    assert_small(peak, "its logs");
    assert_eq!(warnings(&logs.lines), told);
    let logs = place.go(&["logs", ran.run()]);
    assert!(logs.stdout.contains("warning: 3999997 more unreadable lines"), "{logs}");
}

#[test]
fn two_hundred_megabytes_of_events_take_little_memory() {
    let text = "word ".repeat(4_000);
    let event = format!(
        r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    );
    let flood = |count: u32| format!("yes '{event}' | head -n {count}");
    let place = Place::with_settings("");
    let (ran, peak) = watched(&place, run_of(&place, &flood(10_000), &["--json"]));
    ran.assert_ended(0, "completed", "turn_done", 1);
    assert_small(peak, "events as JSON");
    let left_out =
        ran.all("session.left_out").iter().map(|data| data["events"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(ran.all("session.event").len() as u64 + left_out, 10_001, "each is told or counted");
    let (ran, peak) = watched(&place, run_of(&place, &flood(2_000), &[]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_small(peak, "events for people");
}

#[test]
fn a_reader_that_stalls_holds_up_no_run_and_misses_no_decision() {
    let mut steps = vec![json!({"big_line": 900_000}); 40];
    steps.extend([json!({"write": {"path": "made", "content": "x"}}), done(), say("The end.")]);
    let place = Place::playing(json!([{"steps": steps}]));
    let mut command = place.windlass(&["loop", "work", "--json"]);
    let mut going = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    until(LIMIT, || place.ps().first().is_some_and(|run| run["data"]["status"] == "completed"));
    let peak = peak_kb(i32::try_from(going.id()).unwrap()).unwrap();
    assert_small(peak, "nobody reads");
    let mut text = String::new();
    going.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(going.wait().unwrap().success());
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert!(has("hook.decision") >= 2 && has("run.finished") == 1, "decisions are told");
    assert!(has("session.left_out") > 0 && has("session.event") < 43, "what nobody read is counted");
}

#[test]
fn the_logs_of_five_hundred_megabytes_stream() {
    let place = Place::with_settings("");
    let (ran, _) = watched(&place, run_of(&place, "true", &["--json"]));
    let folder = place.sealed.state().join("windlass/runs").join(ran.run());
    let dirs = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let transcript = dirs.map(|dir| dir.join("stdout")).find(|path| path.exists()).unwrap();
    let told =
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"The first words."}]}}"#;
    let much = "x".repeat(2_000_000);
    let result = format!(
        r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"{much}"}}]}}}}"#
    );
    let mut file = File::create(&transcript).unwrap();
    for _ in 0..250 {
        file.write_all(format!("{told}\n{result}\n").as_bytes()).unwrap();
    }
    for more in [&["--json"][..], &[], &["-f"]] {
        let mut command = place.windlass(&["logs", ran.run()]);
        let mut going = command.args(more).stdout(Stdio::piped()).spawn().unwrap();
        let pid = i32::try_from(going.id()).unwrap();
        let mut lines = BufReader::new(going.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.contains("The first words.")), "{more:?}");
        let read = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
        let read =
            read.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse::<u64>().unwrap();
        assert!(read < 100_000_000, "{more:?}: {read} bytes were read before the first words were told");
        let mut peak = 0;
        let more_words = lines.filter(|line| line.contains("The first words.")).inspect(|_| {
            peak = peak_kb(pid).unwrap_or(peak);
        });
        assert_eq!(more_words.count(), 249, "{more:?}");
        assert!(going.wait().unwrap().success());
        assert_small(peak, &format!("logs {more:?}"));
    }
    // Too quick to be looked at: it gets no more memory than it may need.
    let mut bounded = place.sealed.command("/bin/sh");
    let limit = format!("ulimit -d {MOST_KB}; exec \"$0\" \"$@\"");
    bounded.args(["-c", &limit, env!("CARGO_BIN_EXE_windlass"), "show", ran.run()]).stdin(Stdio::null());
    let shown = place.spawn(bounded).end();
    assert_eq!(shown.code, 0, "{shown}");
}

#[test]
fn lines_without_an_end_take_little_memory() {
    let say = |text: &str| {
        format!(
            r#"printf '{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"'; {text}; printf '"}}]}}}}\n'"#
        )
    };
    let much = |mb: u32| format!("head -c {mb}000000 /dev/zero | tr '\\0' x");
    for (what, script, told) in [
        ("a line of 50 MB", say(&much(50)), &["left out 500000"][..]),
        (
            "100 MB without a newline",
            much(100),
            &["left out 100000001 bytes: a line may be at most 8 MB long"],
        ),
        ("lines of 7 MB", (0..10).map(|_| say(&much(7))).collect::<Vec<_>>().join("\n"), &[]),
        ("escapes", say("yes '\\n' | head -n 3000000 | tr -d '\\n'"), &[]),
    ] {
        let place = Place::with_settings("");
        let (ran, peak) = watched(&place, run_of(&place, &script, &["--json"]));
        ran.assert_ended(0, "completed", "turn_done", 1);
        assert_small(peak, what);
        let warnings = warnings(&ran.lines);
        assert_eq!(warnings.len(), told.len(), "{what}: {warnings:?}");
        assert!(warnings.iter().zip(told).all(|(found, told)| found.contains(told)), "{warnings:?}");
    }
}

#[test]
fn what_commands_and_standard_error_print_takes_little_memory() {
    let place = Place::with_settings("");
    let errors = "yes 'an error of many' | head -c 200000000 >&2";
    let (ran, peak) = watched(&place, run_of(&place, errors, &["--json"]));
    ran.assert_ended(0, "completed", "turn_done", 1);
    assert_small(peak, "standard error of an agent");
    let place = Place::playing(json!([last_turn()]));
    let check = ["loop", "work", "--json", "--check", "head -c 60000000 /dev/zero | tr '\\0' x >&2"];
    let (ran, peak) = watched(&place, place.windlass(&check));
    ran.assert_ended(0, "completed", "marker", 1);
    assert_small(peak, "a check");
}

#[test]
fn what_an_agent_says_at_the_end_of_a_long_message_counts() {
    let long = format!("{}\n\nALLDONE", "x".repeat(2_000_000));
    let place = Place::playing(json!([{"steps": [{"say": long}]}]));
    let ran = place.go(&["loop", "x", "--until-signal", "ALLDONE", "--max-iterations", "2", "--json"]);
    ran.assert_ended(0, "completed", "signal", 1);
}

#[test]
fn a_message_that_is_too_long_to_be_read_does_not_pass_for_a_turn_that_was_cut_off() {
    // The first is too long for a hook, the second for the stream, too.
    for (bytes, ended) in
        [(8_500_000, (9, "exhausted", "max_iterations", 1)), (9_500_000, (4, "failed", "agent_failed", 0))]
    {
        let place =
            Place::playing(json!([{"steps": [{"bash": "echo x >> work"}, {"say": "x".repeat(bytes)}]}]));
        let ran = place.go(&["loop", "x", "--until-signal", "ALLDONE", "--max-iterations", "1", "--json"]);
        let (code, status, reason, iterations) = ended;
        ran.assert_ended(code, status, reason, iterations);
        assert_eq!(ran.stdout.contains("a line of more than 8 MB"), code == 4, "{}", ran.stderr);
        assert_eq!(fs::read_to_string(place.repo().join("work")).unwrap(), "x\n", "the turn was made once");
    }
}
