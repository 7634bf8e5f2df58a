//! Windlass dies in the middle of a turn and stays dead for longer than hooks wait: the real CLI is
//! refused its tools by nobody, gives up and is gone. The resume in the morning does the work all the same.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_testkit::{Gate, Model, plugin, require_claude, say, wait};

use crate::stage::{INPUT, MINUTE, Stage, append, assert_nobody_left, bash, path};

/// The minimum time without an owner.
const NIGHT: Duration = Duration::from_secs(40);
/// Two hooks that wait half a minute each, and a busy machine.
const LONGEST: Duration = Duration::from_secs(150);

/// One turn of a loop in this mode, or of no loop, with a night in its middle.
fn survives_a_night(claude: PathBuf, mode: Option<&str>) {
    let stage = Stage::new(claude);
    let mut workflow = plugin::tracker_workflow();
    workflow["loop"]["maxIterations"] = json!(1);
    match mode {
        Some(mode) => workflow["loop"]["mode"] = json!(mode),
        None => drop(workflow.as_object_mut().unwrap().remove("loop")),
    }
    let folder = stage.plugin(&workflow);
    let gate = Gate::closed();
    let mut script = vec![
        bash("echo night >> worked").behind(&gate),
        say("I could not do it."),
        bash("echo morning >> worked"),
    ];
    script.extend(mode.map(|_| append("E2E_COMPLETE")));
    script.push(say("done"));
    let model = Model::script(script).start();
    let started = stage.start(stage.command(&model, INPUT, &["--plugin", &folder]));
    gate.wait_reached(MINUTE);
    started.kill9();
    let killed = Instant::now();
    gate.open();
    wait::until(LONGEST, || stage.alive().is_empty() && killed.elapsed() > NIGHT);

    let resumed = stage.resume(&model).end();
    let reason = if mode.is_some() { "marker" } else { "turn_done" };
    resumed.assert_ended(0, "completed", reason, 1);
    let worked = std::fs::read_to_string(stage.sealed.repo().join("worked")).unwrap();
    assert_eq!(worked, "morning\n", "{mode:?}");
    assert_eq!(model.sessions().len(), 1, "the same conversation: {mode:?}");
    assert!(model.requests()[2].mentions("You were interrupted in the middle of this turn"), "{mode:?}");
    assert_nobody_left(&stage);
}

#[test]
fn an_owner_that_is_dead_for_forty_seconds_in_mid_turn_loses_nothing_in_any_mode() {
    let claude = require_claude!();
    // All at once: each of them only waits.
    std::thread::scope(|scope| {
        for mode in [None, Some("fresh"), Some("resume"), Some("in_session")] {
            let claude = claude.clone();
            scope.spawn(move || survives_a_night(claude, mode));
        }
    });
}

#[test]
fn a_loop_of_a_plugin_loses_nothing_at_night_either() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let mut workflow = plugin::promise_workflow();
    workflow["loop"]["mode"] = json!("plugin");
    workflow["loop"]["maxIterations"] = json!(1);
    let folders = [stage.plugin(&workflow), path(&plugin::ralph_loop().write(stage.sealed.root()))];
    let gate = Gate::closed();
    let model = Model::script([
        bash("echo night >> worked").behind(&gate),
        say("I could not do it."),
        bash("echo morning >> worked"),
        say("<promise>E2E COMPLETE</promise>"),
    ])
    .start();
    let mut command = stage.command(&model, INPUT, &["--plugin", &folders[0], "--plugin", &folders[1]]);
    command.env("WINDLASS_HOOK_PATIENCE_MS", "400");
    let started = stage.start(command);
    gate.wait_reached(MINUTE);
    started.kill9();
    gate.open();
    wait::until(LONGEST, || stage.alive().is_empty());

    stage.resume(&model).end().assert_ended(0, "completed", "promise", 1);
    let worked = std::fs::read_to_string(stage.sealed.repo().join("worked")).unwrap();
    assert_eq!(worked, "morning\n");
    assert!(!stage.sealed.repo().join(".claude/ralph-loop.local.md").exists());
    assert_nobody_left(&stage);
}
