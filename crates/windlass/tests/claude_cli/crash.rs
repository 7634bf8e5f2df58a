//! Must show 4: `kill -9` of Windlass loses and repeats nothing; `kill -9` of the CLI leaves
//! nobody behind, and the same conversation goes on.

use std::time::Duration;

use rustix::process::Signal;
use windlass_testkit::procs::{is_alive, with_cookie};
use windlass_testkit::{Gate, Model, plugin, reply, require_claude, say, soon, wait};

use crate::stage::{INPUT, MINUTE, Stage, append, assert_nobody_left, bash, path, send, wait_for_text};

#[test]
fn a_windlass_killed_in_the_middle_of_a_session_is_resumed_without_a_session_more() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&plugin::tracker_workflow());
    let gate = Gate::closed();
    let model = Model::script([
        say("one flow is covered"),
        append("- [x] half of it").behind(&gate),
        say("two flows are covered"),
        append("E2E_COMPLETE"),
        say("done"),
    ])
    .start();
    let started = stage.start(stage.command(&model, INPUT, &["--plugin", &folder]));
    gate.wait_reached(MINUTE);
    let cli = stage.cli();
    let killed = started.kill9();
    assert_eq!(killed.of("iteration.finished").len(), 1, "{}", killed.story());

    // The agent goes on with nobody there: its tool call asks, and waits to be answered.
    gate.open();
    wait::until(soon(), || stage.alive().iter().any(|p| p.command.contains("hook PreToolUse")));
    let resumed = stage.resume(&model).end();

    resumed.assert_ended(0, "completed", "marker", 3);
    assert!(!is_alive(cli.pid));
    assert_eq!(model.sessions().len(), 3, "one session an iteration, the second one adopted");
    assert_eq!(model.requests().len(), 5, "no turn of the model was repeated");
    assert_eq!(resumed.sessions(), [&model.sessions()[2]]);
    assert_nobody_left(&stage);
}

#[test]
fn a_cli_killed_during_a_tool_leaves_nobody_and_its_conversation_goes_on() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&plugin::tracker_workflow());
    let file = stage.sealed.root().join("tool.pid");
    let script = stage.script("tool.sh", "#!/bin/sh\necho $$ >\"$1\"\nexec sleep 600\n");
    let model = Model::script([
        bash(&format!("{script} {}", path(&file))),
        append("E2E_COMPLETE"),
        say("done after all"),
    ])
    .start();
    let started = stage.start(stage.command(&model, INPUT, &["--plugin", &folder]));
    let tool: i32 = wait_for_text(&file).trim().parse().unwrap();
    let run = started.so_far()[0]["run"].as_str().unwrap().to_owned();
    let cookie = format!("{run}.loop.1.1.session");
    assert!(with_cookie(&cookie).iter().any(|p| p.pid == tool), "the tool is one of the turn's");

    send(stage.cli().pid, Signal::KILL);
    wait::until(Duration::from_secs(2), || with_cookie(&cookie).is_empty() && !is_alive(tool));

    let ended = started.end();
    ended.assert_ended(0, "completed", "marker", 1);
    let turns = ended.of("session.started");
    assert_eq!(turns.len(), 2, "{}", ended.story());
    assert_eq!(turns[0]["session"], turns[1]["session"]);
    assert_eq!((&turns[1]["resumed"], &turns[1]["iteration"]), (&true.into(), &1.into()));
    assert_eq!(model.sessions().len(), 1);
    assert!(model.requests()[1].mentions("You were interrupted in the middle of this turn"));
    assert_nobody_left(&stage);
}

#[test]
fn with_windlass_host_and_cli_killed_a_resume_ends_the_tool_and_the_conversation_goes_on() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&plugin::tracker_workflow());
    let file = stage.sealed.root().join("tool.pid");
    let script =
        stage.script("tool.sh", "#!/bin/sh\ntrap '' TERM\necho $$ >\"$1\"\nwhile :; do sleep 1; done\n");
    let tool_file = file.clone();
    let look = reply(move |_| {
        let tool: i32 = wait_for_text(&tool_file).trim().parse().unwrap();
        say(if is_alive(tool) { "it still runs" } else { "it was ended" })
    });
    let model = Model::script([
        bash(&format!("{script} {}", path(&file))),
        look,
        append("E2E_COMPLETE"),
        say("done after all"),
    ])
    .start();
    let started = stage.start(stage.command(&model, INPUT, &["--plugin", &folder]));
    let tool: i32 = wait_for_text(&file).trim().parse().unwrap();
    let cli = stage.cli();
    let host = stage.host();
    // Stopped first, so that neither sees the other go.
    send(cli.pid, Signal::STOP);
    started.kill9();
    send(host.pid, Signal::KILL);
    send(cli.pid, Signal::KILL);
    wait::until(soon(), || !is_alive(cli.pid) && !is_alive(host.pid));
    assert!(is_alive(tool), "the tool is left to nobody");

    let resumed = stage.resume(&model).end();
    resumed.assert_ended(0, "completed", "marker", 2);
    let said: Vec<_> = resumed.of("session.event").iter().map(|data| data["text"].clone()).collect();
    assert!(said.contains(&"it was ended".into()), "before the agent went on: {said:?}");
    let turns: Vec<_> = resumed.of("session.started").iter().map(|data| data["resumed"].clone()).collect();
    assert_eq!(turns, [true, false], "{}", resumed.story());
    assert_eq!(model.sessions().len(), 2);
    assert_eq!(model.requests().len(), 4);
    assert_nobody_left(&stage);
}
