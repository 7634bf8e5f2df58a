//! Must show 7: the state file of the ralph-loop plugin is as its Stop hook expects it, and is
//! never left behind.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::{Gate, Model, Turn, plugin, reply, require_claude, say};

use crate::stage::{INPUT, MINUTE, Stage, assert_nobody_left, path};

fn workflow(turns: u32) -> Value {
    let mut workflow = plugin::promise_workflow();
    workflow["loop"]["mode"] = json!("plugin");
    workflow["loop"]["maxIterations"] = json!(turns);
    workflow
}

fn plugins(stage: &Stage, turns: u32) -> [String; 2] {
    [stage.plugin(&workflow(turns)), path(&plugin::ralph_loop().write(stage.sealed.root()))]
}

fn state_file(stage: &Stage) -> PathBuf {
    stage.sealed.repo().join(".claude/ralph-loop.local.md")
}

/// Writes the state file of an earlier prompt.
fn leave_stale_state(stage: &Stage) {
    let text =
        "---\nactive: true\niteration: 7\nmax_iterations: 0\ncompletion_promise: \"X\"\n---\nan old prompt\n";
    stage.sealed.write("repo/.claude/ralph-loop.local.md", text);
}

/// The model looks at the state file before it says something.
fn look(stage: &Stage, seen: &Arc<Mutex<Vec<String>>>, words: &'static str) -> Turn {
    let (file, seen) = (state_file(stage), Arc::clone(seen));
    reply(move |_| {
        seen.lock().unwrap().push(std::fs::read_to_string(&file).unwrap_or_default());
        say(words)
    })
}

#[test]
fn as_many_turns_as_max_iterations_says_and_then_the_state_file_is_gone() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let [workflow, ralph] = plugins(&stage, 3);
    leave_stale_state(&stage);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let model = Model::script([]).default(look(&stage, &seen, "not yet")).start();
    let ended = stage.run(&model, &["--plugin", &workflow, "--plugin", &ralph]);

    ended.assert_ended(9, "exhausted", "max_iterations", 3);
    assert_eq!(model.sessions().len(), 1);
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests[1..] {
        let told = request.last_user_text();
        assert!(told.contains(&format!("Use /add-e2e-tests {INPUT}")), "{told}");
    }
    for request in &requests {
        let told = request.last_user_text();
        assert!(told.contains("<promise>E2E COMPLETE</promise>"), "it is told how to end: {told}");
    }
    let aside = std::fs::read_dir(stage.sealed.repo().join(".claude")).unwrap().next().unwrap().unwrap();
    assert!(std::fs::read_to_string(aside.path()).unwrap().contains("an old prompt"), "{aside:?}");
    assert!(!state_file(&stage).exists());

    let seen = seen.lock().unwrap();
    let lines: Vec<&str> = seen[0].lines().filter(|line| !line.starts_with("started_at: \"20")).collect();
    let prompt = format!("Use /add-e2e-tests {INPUT}");
    let session = format!("session_id: {}", ended.sessions()[0]);
    let expected = [
        "---",
        "active: true",
        "iteration: 1",
        "max_iterations: 3",
        "completion_promise: \"E2E COMPLETE\"",
        &session,
        "---",
        &prompt,
        "",
    ];
    assert_eq!(lines[..expected.len()], expected, "{}", seen[0]);
    assert!(lines[expected.len()].contains("<promise>E2E COMPLETE</promise>"), "{}", seen[0]);
    assert_eq!(lines.len(), expected.len() + 1);
    assert!(seen[2].contains("\niteration: 3\n"), "{}", seen[2]);
}

#[test]
fn a_promise_completes_the_plugins_loop() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let [workflow, ralph] = plugins(&stage, 9);
    let model =
        Model::script([say("one"), say("two: <promise>E2E COMPLETE</promise>"), say("never asked")]).start();
    let ended = stage.run(&model, &["--plugin", &workflow, "--plugin", &ralph]);

    ended.assert_ended(0, "completed", "promise", 2);
    assert_eq!(model.requests().len(), 2);
    assert!(!state_file(&stage).exists());
}

#[test]
fn an_interrupted_run_leaves_no_state_file() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let [workflow, ralph] = plugins(&stage, 9);
    let gate = Gate::closed();
    let model = Model::script([say("never heard").behind(&gate)]).start();
    let started = stage.start(stage.command(&model, INPUT, &["--plugin", &workflow, "--plugin", &ralph]));
    gate.wait_reached(MINUTE);
    assert!(state_file(&stage).exists());
    started.signal(Signal::INT);

    started.end().assert_ended(130, "interrupted", "user", 0);
    assert!(!state_file(&stage).exists());
    assert_nobody_left(&stage);
    gate.open();
}

#[test]
fn a_killed_windlass_leaves_a_state_file_that_cancel_puts_away() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let [workflow, ralph] = plugins(&stage, 9);
    let gate = Gate::closed();
    let model = Model::script([say("never heard").behind(&gate)]).start();
    let started = stage.start(stage.command(&model, INPUT, &["--plugin", &workflow, "--plugin", &ralph]));
    gate.wait_reached(MINUTE);
    let run = started.kill9().run();
    assert!(state_file(&stage).exists());

    let cancelled = stage.windlass(&["cancel", &run, "--json"]);
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.story());
    assert_eq!(cancelled.of("run.cancelled")[0]["status"], "cancelled");
    assert!(!state_file(&stage).exists());
    assert_nobody_left(&stage);
    gate.open();
}

/// A plugin of another name whose Stop hook loops the one session that the state file names.
fn of_one_session(name: &str) -> plugin::Plugin {
    let script = "#!/bin/sh\ncd \"${CLAUDE_PROJECT_DIR:-.}\" || exit 0\nstate=.claude/ralph-loop.local.md\n\
        input=$(cat)\nnamed=$(sed -n 's/^session_id: //p' \"$state\" 2>/dev/null)\n\
        case \"$input\" in *\"\\\"$named\\\"\"*) ;; *) exit 0 ;; esac\n\
        printf '%s' \"$input\" | sh \"$(dirname \"$0\")/again.sh\"\n";
    let command = "\"${CLAUDE_PLUGIN_ROOT}\"/bin/stop.sh";
    let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
    plugin::Plugin::named(name)
        .file("hooks/hooks.json", &hooks.to_string())
        .file("bin/stop.sh", script)
        .file("bin/again.sh", include_str!("../../../testkit/src/ralph-stop.sh"))
}

#[test]
fn any_plugin_that_loops_will_do_and_finds_its_session_in_the_state_file() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let workflow = stage.plugin(&workflow(5));
    let again = path(&of_one_session("ralph-wiggum").write(stage.sealed.root()));
    let model = Model::script([say("one"), say("two: <promise>E2E COMPLETE</promise>")]).start();
    let ended = stage.run(&model, &["--plugin", &workflow, "--plugin", &again]);
    ended.assert_ended(0, "completed", "promise", 2);
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn a_second_run_in_the_folder_is_refused_and_the_first_goes_on() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let [workflow, ralph] = plugins(&stage, 9);
    let flags = ["--plugin", &workflow, "--plugin", &ralph];
    let gate = Gate::closed();
    let turns = [say("one"), say("<promise>E2E COMPLETE</promise>").behind(&gate)];
    let model = Model::script(turns).start();
    let first = stage.start(stage.command(&model, "FIRST", &flags));
    gate.wait_reached(MINUTE);
    let second = stage.start(stage.command(&model, "SECOND", &flags)).end();
    assert_eq!(second.code, Some(5), "{}", second.story());
    let run = first.so_far()[0]["run"].as_str().unwrap().to_owned();
    for words in [format!("windlass cancel {run}"), format!("windlass resume {run}")] {
        assert!(second.stderr.contains(&words), "{}", second.story());
    }
    gate.open();
    first.end().assert_ended(0, "completed", "promise", 2);
    assert!(model.requests().iter().all(|request| !request.last_user_text().contains("SECOND")));
    assert!(!state_file(&stage).exists());
}

#[test]
fn a_stale_state_file_does_not_loop_a_session_of_another_mode() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let mut once = plugin::promise_workflow();
    once["loop"] = json!({"enabled": false});
    let (workflow, ralph) = (stage.plugin(&once), path(&plugin::ralph_loop().write(stage.sealed.root())));
    leave_stale_state(&stage);
    let model = Model::script([say("done")]).default(say("looped")).start();
    let ended = stage.run(&model, &["--plugin", &workflow, "--plugin", &ralph]);
    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(model.requests().len(), 1, "{}", ended.story());
    let said = ended.of("warning")[0]["text"].as_str().unwrap().to_owned();
    assert!(said.contains("is kept as"), "{said}");
}

#[test]
fn a_promise_with_a_red_check_is_mended_in_the_same_session() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let [workflow, ralph] = plugins(&stage, 5);
    let ok = stage.sealed.repo().join("ok");
    let model = Model::script([
        say("<promise>E2E COMPLETE</promise>"),
        crate::stage::bash(&format!("touch {}", path(&ok))),
        say("<promise>E2E COMPLETE</promise>"),
    ])
    .start();
    let check = format!("test=test -e {}", path(&ok));
    let ended = stage.run(&model, &["--plugin", &workflow, "--plugin", &ralph, "--check", &check]);
    ended.assert_ended(0, "completed", "promise", 2);
    assert_eq!(model.sessions().len(), 1);
    assert!(model.requests()[1].last_user_text().contains("these checks fail"), "{}", ended.story());
}
