//! Must show 6, the first half: hooks when Windlass is gone, deaf, late, or asked a lot.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::{Gate, Model, plugin, reply, require_claude, say, soon, tool, wait};

use crate::stage::{INPUT, MINUTE, Stage, append, assert_nobody_left, bash, path};

/// The time that a hook waits for a dead Windlass, as a variable.
const PATIENCE: (&str, &str) = ("WINDLASS_HOOK_PATIENCE_MS", "400");

fn one_turn() -> Value {
    let mut workflow = plugin::tracker_workflow();
    workflow["loop"] = json!({"enabled": false});
    workflow
}

/// The socket of the only run.
fn socket(stage: &Stage) -> PathBuf {
    let mut found = fs::read_dir(stage.sealed.state().join("windlass/s")).unwrap();
    found.next().unwrap().unwrap().path()
}

#[test]
fn without_windlass_the_agent_may_stop_and_may_use_no_tool() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&plugin::tracker_workflow());
    let gate = Gate::closed();
    let touched = stage.sealed.root().join("touched");
    let fetch = json!({"url": "http://127.0.0.1:9/", "prompt": "?"});
    let model = Model::script([
        bash(&format!("touch {}", path(&touched))).behind(&gate),
        tool("WebFetch", fetch),
        say("I cannot do anything"),
        append("E2E_COMPLETE"),
        say("done"),
    ])
    .start();
    let mut command = stage.command(&model, INPUT, &["--plugin", &folder, "--isolation", "strict"]);
    command.env(PATIENCE.0, PATIENCE.1);
    let started = stage.start(command);
    gate.wait_reached(MINUTE);
    started.kill9();
    gate.open();

    // Nobody is there: the agent's turn ends by itself.
    wait::until(MINUTE, || stage.alive().is_empty());
    assert!(!touched.exists());
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests[1..] {
        let told = request.last_user_text();
        assert!(told.contains("the run does not answer"), "{told}");
    }
    assert_eq!(stage.windlass(&["ps", "--json"]).of("run")[0]["status"], "crashed");

    let resumed = stage.resume(&model).end();
    resumed.assert_ended(0, "completed", "marker", 1);
    assert_eq!(model.sessions().len(), 1, "the turn was cut off, and goes on");
    assert_nobody_left(&stage);
}

#[test]
fn a_stop_that_nobody_answered_is_gone_on_with_in_the_same_session() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let mut workflow = plugin::tracker_workflow();
    workflow["loop"]["mode"] = json!("in_session");
    let folder = stage.plugin(&workflow);
    let gate = Gate::closed();
    let model =
        Model::script([say("first"), say("second").behind(&gate), append("E2E_COMPLETE"), say("done")])
            .start();
    let mut command = stage.command(&model, INPUT, &["--plugin", &folder]);
    command.env(PATIENCE.0, PATIENCE.1);
    let started = stage.start(command);
    gate.wait_reached(MINUTE);
    started.kill9();
    gate.open();
    wait::until(MINUTE, || stage.alive().is_empty());
    assert_eq!(model.requests().len(), 2, "the agent was let stop");

    let resumed = stage.resume(&model).end();
    resumed.assert_ended(0, "completed", "marker", 2);
    assert_eq!(model.sessions().len(), 1);
    assert_eq!(model.requests().len(), 4);
}

#[test]
fn with_a_stale_socket_no_tool_runs_and_the_run_fails_with_the_reason() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&plugin::tracker_workflow());
    let gate = Gate::closed();
    let touched = stage.sealed.root().join("touched");
    let model = Model::script([bash(&format!("touch {}", path(&touched))).behind(&gate)])
        .default(say("I cannot do anything"))
        .start();
    let mut command = stage.command(&model, INPUT, &["--plugin", &folder]);
    command.env(PATIENCE.0, PATIENCE.1);
    let started = stage.start(command);
    gate.wait_reached(MINUTE);
    let socket = socket(&stage);
    fs::remove_file(&socket).unwrap();
    drop(UnixListener::bind(&socket).unwrap());
    gate.open();

    let ended = started.end();
    ended.assert_ended(4, "failed", "hook_transport", 0);
    assert!(!touched.exists());
    assert_eq!(model.requests().len(), 2);
    assert!(model.requests()[1].last_user_text().contains("the run does not answer"));
    assert_nobody_left(&stage);
}

#[test]
fn a_late_answer_is_waited_for() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&one_turn());
    let gate = Gate::closed();
    let touched = stage.sealed.root().join("touched");
    let model =
        Model::script([bash(&format!("touch {}", path(&touched))).behind(&gate), say("done")]).start();
    let mut command = stage.command(&model, INPUT, &["--plugin", &folder]);
    command.env(PATIENCE.0, PATIENCE.1);
    let started = stage.start(command);
    gate.wait_reached(MINUTE);
    started.signal(Signal::STOP);
    gate.open();
    let asks = || stage.alive().iter().any(|p| p.command.contains("hook PreToolUse"));
    wait::until(soon(), asks);
    // Three times as long as it would wait for one that is gone.
    let since = Instant::now();
    wait::until(soon(), || !asks() || since.elapsed() > Duration::from_millis(1200));
    assert!(asks() && !touched.exists(), "the call did not wait");
    started.signal(Signal::CONT);

    let ended = started.end();
    ended.assert_ended(0, "completed", "turn_done", 1);
    assert!(touched.exists());
}

#[test]
fn a_call_of_five_megabytes_is_decided_and_carried_out() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&one_turn());
    let file = stage.sealed.repo().join("large.txt");
    let text = "0123456789abcde\n".repeat(5 * 65_536);
    let write = json!({"file_path": path(&file), "content": text});
    let model = Model::script([reply(move |_| tool("Write", write.clone())), say("written")]).start();
    let ended = stage.run(&model, &["--plugin", &folder]);

    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(ended.decisions("tool"), ["allow"]);
    assert_eq!(fs::read_to_string(&file).unwrap().len(), text.len());
}

#[test]
fn a_projects_settings_cannot_talk_the_hooks_away() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let settings = json!({
        "disableAllHooks": true,
        "env": {"WINDLASS_SOCKET": "", "WINDLASS_HOOK_PATIENCE_MS": "0"},
        "permissions": {"allow": ["Bash", "Bash(touch:*)"], "defaultMode": "bypassPermissions"},
    });
    stage.sealed.write("repo/.claude/settings.json", settings.to_string());
    let trusted = json!({"projects": {path(&stage.sealed.repo()): {"hasTrustDialogAccepted": true}}});
    stage.sealed.write("home/.claude/.claude.json", trusted.to_string());
    stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"Bash(touch *)\"]\n");
    let folder = stage.plugin(&one_turn());
    let touched = stage.sealed.repo().join("touched");
    let model = Model::script([bash(&format!("touch {}", path(&touched))), say("then not")]).start();
    let ended = stage.run(&model, &["--plugin", &folder, "--isolation", "minimal"]);

    assert!(!touched.exists(), "{}", ended.story());
    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(ended.decisions("tool"), ["deny"]);
}
