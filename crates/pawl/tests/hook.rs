//! The forwarder with real processes and sockets: what it asks, what it does with the answer, and
//! what it does without one.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::thread::{self, JoinHandle};

use tempfile::TempDir;
use windlass_core::hook::wire::{HookLine, HookReply, WIRE_VERSION};

/// Plays the engine: one connection after the other is given to the next of these.
type Turn = fn(&mut Connection);

struct Connection {
    stream: UnixStream,
    line: String,
}

impl Connection {
    fn id(&self) -> String {
        serde_json::from_str::<HookLine>(&self.line).expect("a request").id
    }

    fn answer(&mut self, reply: &HookReply) {
        writeln!(self.stream, "{}", serde_json::to_string(reply).unwrap()).unwrap();
    }
}

fn allow(connection: &mut Connection) {
    let id = connection.id();
    connection.answer(&HookReply {
        v: WIRE_VERSION,
        id,
        exit: 0,
        stdout: "allowed\n".into(),
        stderr: String::new(),
    });
}

fn close(_: &mut Connection) {}

fn garbage(connection: &mut Connection) {
    connection.stream.write_all(b"{\"v\":1,\"exit\":0}\n").unwrap();
}

fn somebody_elses(connection: &mut Connection) {
    let reply =
        HookReply { v: WIRE_VERSION, id: "0".into(), exit: 0, stdout: String::new(), stderr: String::new() };
    connection.answer(&reply);
}

fn half_a_line(connection: &mut Connection) {
    connection.stream.write_all(b"{\"v\":1,\"id\":\"").unwrap();
}

fn socket() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s");
    (dir, path)
}

/// Takes one connection a turn and returns the lines that came. The socket is gone afterwards.
fn engine(path: &Path, turns: &'static [Turn]) -> JoinHandle<Vec<String>> {
    let listener = UnixListener::bind(path).unwrap();
    let path = path.to_owned();
    thread::spawn(move || {
        let lines = turns.iter().map(|turn| play(&listener, *turn)).collect();
        std::fs::remove_file(path).unwrap();
        lines
    })
}

fn play(listener: &UnixListener, turn: Turn) -> String {
    let (stream, _) = listener.accept().unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    let mut connection = Connection { stream, line };
    turn(&mut connection);
    connection.line
}

fn start(socket: &Path, patience_ms: u32, args: &[&str]) -> Child {
    let mut command = common::pawl("hook");
    command.args(args).env("WINDLASS_SOCKET", socket);
    command.env("WINDLASS_HOOK_PATIENCE_MS", patience_ms.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(mut hook: Child, payload: &str) -> Output {
    hook.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    hook.wait_with_output().unwrap()
}

fn hook(socket: &Path, patience_ms: u32, args: &[&str], payload: &str) -> Output {
    finish(start(socket, patience_ms, args), payload)
}

fn seen(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn allowed() -> (Option<i32>, String, String) {
    (Some(0), "allowed\n".into(), String::new())
}

fn silent() -> (Option<i32>, String, String) {
    (Some(0), String::new(), String::new())
}

fn denied() -> (Option<i32>, String, String) {
    let why = "windlass: denied, the run does not answer (its Windlass is gone)\n";
    (Some(2), String::new(), why.into())
}

const LONG: u32 = 20_000;

#[test]
fn the_answer_is_printed_and_is_the_exit_code() {
    fn block(connection: &mut Connection) {
        let (stdout, stderr) = ("{\"a\":\"ä\\n\"}".into(), "go on:\n\"next\"\t\u{1f600}".into());
        connection.answer(&HookReply { v: WIRE_VERSION, id: connection.id(), exit: 2, stdout, stderr });
    }
    let (_dir, path) = socket();
    let engine = engine(&path, &[block]);
    let output = hook(&path, LONG, &["Stop"], "{}");
    assert_eq!(seen(&output), (Some(2), "{\"a\":\"ä\\n\"}".into(), "go on:\n\"next\"\t\u{1f600}".into()));
    engine.join().unwrap();
}

#[test]
fn the_payload_arrives_as_it_came_on_one_line() {
    let (_dir, path) = socket();
    let engine = engine(&path, &[allow]);
    hook(&path, LONG, &["PreToolUse"], "{\n  \"tool\": \"Bash\",\r\n  \"text\": \"a\\nb\"\n}\n");
    let lines = engine.join().unwrap();
    let ask: HookLine = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!((ask.v, ask.event.as_str()), (WIRE_VERSION, "PreToolUse"));
    assert_eq!(ask.payload.unwrap().get(), "{   \"tool\": \"Bash\",    \"text\": \"a\\nb\" }");
}

#[test]
fn whose_hook_it_is_is_told_where_that_is_plain() {
    let told = |cookie: &str| {
        let (_dir, path) = socket();
        let engine = engine(&path, &[allow]);
        let mut command = common::pawl("hook");
        command.arg("Stop").env("WINDLASS_SOCKET", &path).env("WINDLASS_SESSION", cookie);
        let hook =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        assert_eq!(seen(&finish(hook, "{\"a\":1}")), allowed());
        let lines = engine.join().unwrap();
        let ask: HookLine = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!((ask.event.as_str(), ask.payload.unwrap().get()), ("Stop", "{\"a\":1}"));
        ask.session
    };
    let cookie = "k3f9.fix-it_2@2~3.1.1.session";
    assert_eq!(told(cookie).as_deref(), Some(cookie));
    for odd in ["", "a\"b", "a\\b", "a b", "a\nb", "ä"] {
        assert_eq!(told(odd), None, "{odd}");
    }
}

#[test]
fn no_payload_is_null() {
    let (_dir, path) = socket();
    let engine = engine(&path, &[allow]);
    assert_eq!(seen(&hook(&path, LONG, &["SessionEnd"], " \n")), allowed());
    let lines = engine.join().unwrap();
    let ask: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(ask["payload"], serde_json::Value::Null);
}

#[test]
fn five_megabytes_arrive_whole() {
    let (_dir, path) = socket();
    let engine = engine(&path, &[allow]);
    let payload = format!("{{\"big\":\"{}\"}}", "x".repeat(5 << 20));
    assert_eq!(seen(&hook(&path, LONG, &["PostToolUse"], &payload)), allowed());
    let lines = engine.join().unwrap();
    let ask: HookLine = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(ask.payload.unwrap().get(), payload);
}

#[test]
fn without_an_engine_a_closed_hook_refuses_and_an_open_one_goes_ahead_whatever_the_event() {
    let (_dir, path) = socket();
    for event in ["PreToolUse", "tool_execute_before", "Stop"] {
        assert_eq!(seen(&hook(&path, 60, &[event, "--closed"], "{}")), denied(), "{event}");
        assert_eq!(seen(&hook(&path, 60, &[event, "--open"], "{}")), silent(), "{event}");
        assert_eq!(seen(&hook(&path, 60, &[event], "{}")), denied(), "{event} says neither");
    }
}

/// The notes in a session's folder that a call found no owner.
fn notes(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).filter(|name| name.starts_with("unanswered.")).collect()
}

fn start_in(folder: &Path, socket: &Path, patience_ms: &str) -> Child {
    let mut command = common::pawl("hook");
    command.args(["Stop", "--open"]).env("WINDLASS_SOCKET", socket).env("WINDLASS_FOLDER", folder);
    command.env("WINDLASS_HOOK_PATIENCE_MS", patience_ms);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_call_that_no_engine_answers_leaves_a_note_that_stays_when_it_gives_up_or_is_killed() {
    let (dir, path) = socket();
    assert_eq!(seen(&finish(start_in(dir.path(), &path, "60"), "{}")), silent());
    assert_eq!(notes(dir.path()).len(), 1);
    let mut waits = start_in(dir.path(), &path, "20000");
    drop(waits.stdin.take());
    common::eventually("a second note", || (notes(dir.path()).len() == 2).then_some(()));
    waits.kill().unwrap();
    waits.wait().unwrap();
    assert_eq!(notes(dir.path()).len(), 2);
}

#[test]
fn a_call_that_is_answered_after_all_takes_its_note_away() {
    let (dir, path) = socket();
    let hook = start_in(dir.path(), &path, "20000");
    let engine = engine(&path, &[close, allow]);
    assert_eq!(seen(&finish(hook, "{}")), allowed());
    engine.join().unwrap();
    assert_eq!(notes(dir.path()), Vec::<String>::new());
}

#[test]
fn a_stale_socket_is_no_engine() {
    let (_dir, path) = socket();
    drop(UnixListener::bind(&path).unwrap());
    assert_eq!(seen(&hook(&path, 60, &["PreToolUse"], "{}")), denied());
}

#[test]
fn a_path_that_is_too_long_for_a_socket_is_said_at_once() {
    let output = hook(Path::new(&"x".repeat(200)), LONG, &["PreToolUse"], "{}");
    let why = "windlass: denied, WINDLASS_SOCKET is not the path of a socket\n";
    assert_eq!(seen(&output), (Some(2), String::new(), why.into()));
}

#[test]
fn an_engine_that_comes_late_is_still_asked() {
    let (_dir, path) = socket();
    let hook = start(&path, LONG, &["PreToolUse"]);
    let engine = engine(&path, &[allow]);
    assert_eq!(seen(&finish(hook, "{}")), allowed());
    engine.join().unwrap();
}

#[test]
fn an_engine_that_goes_and_comes_back_is_asked_with_the_same_id() {
    let (_dir, path) = socket();
    let first = engine(&path, &[close]);
    let hook = start(&path, LONG, &["PreToolUse"]);
    let again = path.clone();
    let engines = thread::spawn(move || {
        let mut lines = first.join().unwrap();
        lines.extend(engine(&again, &[half_a_line, allow]).join().unwrap());
        lines
    });
    assert_eq!(seen(&finish(hook, "{\"n\":1}")), allowed());
    let lines = engines.join().unwrap();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| *line == lines[0]));
}

#[test]
fn another_call_has_another_id() {
    let (_dir, path) = socket();
    let engine = engine(&path, &[allow, allow]);
    hook(&path, LONG, &["Stop"], "{}");
    hook(&path, LONG, &["Stop"], "{}");
    let lines = engine.join().unwrap();
    assert_ne!(lines[0], lines[1]);
}

#[test]
fn a_garbage_answer_counts_as_none() {
    let (_dir, path) = socket();
    let engine = engine(&path, &[garbage, somebody_elses, allow]);
    assert_eq!(seen(&hook(&path, LONG, &["PreToolUse"], "{}")), allowed());
    engine.join().unwrap();
}

#[test]
fn nothing_but_garbage_is_a_denial() {
    let (_dir, path) = socket();
    let engine = engine(&path, &[garbage, garbage]);
    assert_eq!(seen(&hook(&path, 60, &["PreToolUse"], "{}")), denied());
    engine.join().unwrap();
}

#[test]
fn an_answer_that_takes_longer_than_the_limit_counts_as_none() {
    fn never(connection: &mut Connection) {
        // Until the forwarder has gone.
        let _ = connection.stream.read(&mut [0]);
    }
    let (_dir, path) = socket();
    let engine = engine(&path, &[never]);
    assert_eq!(seen(&hook(&path, LONG, &["PreToolUse", "--limit", "2"], "{}")), denied());
    engine.join().unwrap();
}

#[test]
fn waiting_for_an_answer_does_not_spend_the_patience() {
    fn slowly(connection: &mut Connection) {
        thread::sleep(std::time::Duration::from_millis(300));
        allow(connection);
    }
    let (_dir, path) = socket();
    let engine = engine(&path, &[slowly]);
    assert_eq!(seen(&hook(&path, 10, &["PreToolUse"], "{}")), allowed());
    engine.join().unwrap();
}

#[test]
fn without_a_socket_in_the_environment_the_hook_is_not_ours() {
    let mut command = common::pawl("hook");
    let mut child = command.arg("PreToolUse").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It is still to be written to: nothing is read.
    let stdin = child.stdin.take().unwrap();
    let status = common::eventually("the hook's end", || child.try_wait().unwrap());
    assert!(status.success());
    drop(stdin);
}

#[test]
fn wrong_arguments_are_said() {
    let (_dir, path) = socket();
    let output = start(&path, 10, &["Stop", "--what"]).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(seen(&output).2.starts_with("usage: windlass hook EVENT"));
}
