//! The real Claude Code CLI against the scripted model: that the model is good enough for it, and
//! the facts about the CLI that the driver stands on.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_testkit::env::{story, text};
use windlass_testkit::{
    Gate, Model, Sealed, cut, fail, plugin, read, reply, require_claude, say, shell, soon, tool, usage_limit,
    wait, write,
};

const MINUTE: Duration = Duration::from_secs(60);

fn headless<'a>(claude: &'a mut Command, arguments: &[&str]) -> &'a mut Command {
    claude.args(["-p", "--output-format", "stream-json", "--verbose"]).args(arguments).stdin(Stdio::null())
}

fn events(output: &Output) -> Vec<Value> {
    let lines = text(&output.stdout);
    lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn result(output: &Output) -> Value {
    let last = events(output).into_iter().rfind(|event| event["type"] == "result");
    last.unwrap_or_else(|| panic!("no result: {}", story(output)))
}

/// A script that can be run, below the sealed place.
fn script(sealed: &Sealed, path: &str, text: &str) -> std::path::PathBuf {
    let path = sealed.write(path, text);
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path
}

#[test]
fn it_plays_a_script_with_a_tool_call() {
    let claude = require_claude!();
    let sealed = Sealed::new();
    let write = reply(|request| {
        let path =
            request.first_user_text().split("write to ").nth(1).unwrap().lines().next().unwrap().to_owned();
        tool("Write", json!({"file_path": path, "content": "hello\n"}))
    });
    let model = Model::script([write, say("it is written").tokens(7, 3)]).start();
    let target = sealed.repo().join("new.txt");
    let prompt = format!("write to {}", target.display());
    let mut command = sealed.claude(&claude, &model);
    let output =
        headless(&mut command, &["--permission-mode", "acceptEdits", "--", &prompt]).output().unwrap();

    assert_eq!(output.status.code(), Some(0), "{}", story(&output));
    assert_eq!(fs::read_to_string(target).unwrap(), "hello\n");
    assert_eq!(result(&output)["result"], "it is written");
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1].nth_in_session, 1);
    assert!(requests[1].last_user_text().contains("new.txt"), "{}", requests[1].last_user_text());
    assert_eq!(requests[0].header("x-api-key"), None);
}

#[test]
fn a_script_without_names_of_tools_plays_and_its_usage_is_printed() {
    let claude = require_claude!();
    let sealed = Sealed::new();
    let file = sealed.repo().join("it's new.txt").display().to_string();
    let model = Model::script([
        shell("echo one-two | tr - _").tokens(1000, 30).cached(200),
        write(&file, "one\n'two'\n").tokens(0, 0),
        read(&file).tokens(0, 0),
        say("all done").tokens(70, 5).cached(3),
    ])
    .start();
    let mut command = sealed.claude(&claude, &model);
    let output = headless(&mut command, &["--dangerously-skip-permissions", "--", "go"]).output().unwrap();

    assert_eq!(result(&output)["result"], "all done", "{}", story(&output));
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n'two'\n");
    let requests = model.requests();
    assert!(
        requests[1].last_user_text().contains("one_two") && requests[3].last_user_text().contains("'two'")
    );
    let usage = &result(&output)["usage"];
    let tokens =
        ["input_tokens", "cache_read_input_tokens", "output_tokens"].map(|name| usage[name].as_u64());
    assert_eq!(tokens, [Some(1070), Some(203), Some(35)], "{usage}");
}

#[test]
fn a_spent_plan_ends_it_at_once() {
    let claude = require_claude!();
    let (sealed, model) = (Sealed::new(), Model::script([usage_limit(MINUTE)]).start());
    let mut command = sealed.claude(&claude, &model);
    let output = headless(&mut command, &["--", "go"]).output().unwrap();
    assert_eq!((output.status.code(), model.requests().len()), (Some(1), 1), "{}", story(&output));
    assert_eq!(result(&output)["terminal_reason"], "api_error");
}

#[test]
fn a_prompt_on_standard_input_arrives_byte_for_byte() {
    let claude = require_claude!();
    let prompts = [
        ("leading dash", "--help me\n".to_owned()),
        ("quotes and braces", "say \"it's\" `now` {input} $ARGUMENTS {{x}} $(id) \\n".to_owned()),
        ("newlines", "one\n\n  two\ttabbed\r\nthree".to_owned()),
        ("slash", "/tmp is a folder, not a command".to_owned()),
        ("two hundred kilobytes", "0123456789 äöü\n".repeat(13_000)),
    ];
    for (name, prompt) in prompts {
        let sealed = Sealed::new();
        let model = Model::script([]).start();
        let file = sealed.write("prompt.txt", &prompt);
        let mut command = sealed.claude(&claude, &model);
        command.args(["-p", "--output-format", "stream-json", "--verbose"]);
        let output = command.stdin(File::open(file).unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {}", story(&output));
        let blocks = model.requests()[0].last_user_blocks();
        let found = blocks.contains(&prompt);
        let near: Vec<_> =
            blocks.iter().map(|b| (b.len(), b.chars().take(120).collect::<String>())).collect();
        assert!(found, "{name}: {} bytes became {near:?}", prompt.len());
    }
}

#[test]
fn a_hook_with_args_is_started_without_a_shell() {
    let claude = require_claude!();
    let sealed = Sealed::new();
    let hook = script(
        &sealed,
        "a folder/hook.sh",
        "#!/bin/sh\nprintf '%s|' \"$@\" >\"$HOME/arguments\"\ntr '\\0' ' ' </proc/$PPID/cmdline >\"$HOME/parent\"\n",
    );
    let hooks = json!({"hooks": {"Stop": [{"hooks": [
        {"type": "command", "command": hook, "args": ["Stop", "$HOME; touch x", "a b"], "timeout": 20}
    ]}]}});
    let settings = sealed.write("settings.json", hooks.to_string());
    let model = Model::script([say("done")]).start();
    let mut command = sealed.claude(&claude, &model);
    let output =
        headless(&mut command, &["--settings", settings.to_str().unwrap(), "--", "go"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", story(&output));
    let arguments = fs::read_to_string(sealed.home().join("arguments")).unwrap();
    assert_eq!(arguments, "Stop|$HOME; touch x|a b|");
    let parent = fs::read_to_string(sealed.home().join("parent")).unwrap();
    assert!(parent.contains("claude") && !parent.contains("sh -c"), "{parent}");
}

#[test]
fn without_any_setting_source_the_key_still_logs_in() {
    let claude = require_claude!();
    let sealed = Sealed::new();
    sealed.write(
        "repo/.claude/settings.json",
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"touch \"$HOME/ran\""}]}]}}"#,
    );
    let model = Model::script([say("done")]).start();
    let mut command = sealed.claude(&claude, &model);
    let output = headless(&mut command, &["--setting-sources", "", "--", "go"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", story(&output));
    assert_eq!(result(&output)["result"], "done");
    assert!(!sealed.home().join("ran").exists());
}

#[test]
fn errors_and_a_cut_connection_are_tried_again() {
    let claude = require_claude!();
    let sealed = Sealed::new();
    let limited = fail(429, "rate_limit_error").header("retry-after", "1").message("slow down");
    let model = Model::script([fail(529, "overloaded_error"), limited, cut(4), say("at last")]).start();
    let mut command = sealed.claude(&claude, &model);
    let output = headless(&mut command, &["--", "go"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", story(&output));
    assert_eq!(result(&output)["result"], "at last");
    let retries = events(&output).iter().filter(|event| event["subtype"] == "api_retry").count();
    assert!(retries >= 2, "{}", story(&output));
}

#[test]
fn a_subagent_has_turns_of_its_own() {
    let claude = require_claude!();
    let sealed = Sealed::new();
    let task = json!({"description": "look", "prompt": "look around", "subagent_type": "general-purpose",
                      "run_in_background": false});
    let model =
        Model::script([tool("Task", task), say("all seen")]).subagents([say("nothing there")]).start();
    let mut command = sealed.claude(&claude, &model);
    let output = headless(&mut command, &["--", "go"]).output().unwrap();
    assert_eq!(result(&output)["result"], "all seen", "{}", story(&output));
    let agents = model.requests().iter().filter(|request| request.agent.is_some()).count();
    assert_eq!(agents, 1);
    assert!(model.requests().last().unwrap().last_user_text().contains("nothing there"));
}

#[test]
fn a_gate_holds_a_turn_while_the_cli_is_killed_and_resumed() {
    let claude = require_claude!();
    let sealed = Sealed::new();
    let gate = Gate::closed();
    let id = "6f2d9a52-0d3c-4f7c-9d63-3f0e5b0a1c11";
    let model = Model::script([say("never heard").behind(&gate), say("resumed")]).start();
    let mut command = sealed.claude(&claude, &model);
    let mut child =
        headless(&mut command, &["--session-id", id, "--", "go"]).stdout(Stdio::null()).spawn().unwrap();
    gate.wait_reached(MINUTE);
    // The transcript comes some 50 ms after the first request; without it there is nothing to resume.
    wait::until(soon(), || sealed.claude_transcript(id).is_some());
    sealed.kill9(i32::try_from(child.id()).unwrap());
    child.wait().unwrap();
    wait::until(soon(), || sealed.processes().is_empty());

    let mut command = sealed.claude(&claude, &model);
    let output = headless(&mut command, &["--resume", id, "--", "go on"]).output().unwrap();
    assert_eq!(result(&output)["result"], "resumed", "{}", story(&output));
    assert_eq!(model.sessions(), [id]);
    gate.open();
}

#[test]
fn a_session_id_is_free_until_it_has_a_transcript() {
    let claude = require_claude!();
    let sealed = Sealed::new();
    let id = "6f2d9a52-0d3c-4f7c-9d63-3f0e5b0a1c12";
    let model = Model::script([]).start();
    let run = |how: &str| {
        let mut command = sealed.claude(&claude, &model);
        headless(&mut command, &[how, id, "--", "go"]).output().unwrap()
    };
    let refused = run("--resume");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("No conversation found"), "{}", story(&refused));
    assert_eq!(run("--session-id").status.code(), Some(0));
    assert!(sealed.claude_transcript(id).is_some());
    assert!(text(&run("--session-id").stderr).contains("already in use"));
    assert_eq!(run("--resume").status.code(), Some(0));
}

#[test]
fn the_ralph_loop_plugin_repeats_its_prompt_until_the_promise() {
    let claude = require_claude!();
    let sealed = Sealed::new();
    let folder = plugin::ralph_loop().write(sealed.root());
    let state = sealed.write(
        "repo/.claude/ralph-loop.local.md",
        "---\nactive: true\niteration: 1\nmax_iterations: 9\ncompletion_promise: \"E2E COMPLETE\"\n---\nadd tests\n",
    );
    let model = Model::script([say("one"), say("two"), say("three <promise>E2E COMPLETE</promise>")]).start();
    let mut command = sealed.claude(&claude, &model);
    let output =
        headless(&mut command, &["--plugin-dir", path(&folder), "--", "add tests"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", story(&output));
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[1].last_user_text().contains("add tests"));
    assert!(!state.exists());
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
