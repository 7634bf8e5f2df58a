//! A person decides: permissions, interruption, and the death of Windlass.

use std::fs;

use rustix::process::Signal;
use serde_json::json;
use windlass_testkit::{Gate, Model, require_agent, say, shell, tool, write};

use crate::stage::{INPUT, MINUTE, Stage, one_turn};

#[test]
fn a_refused_tool_does_not_run_and_the_model_is_told_why() {
    let stage = Stage::new(require_agent!("copilot"));
    stage.sealed.write(
        "config/windlass/config.toml",
        "[permissions]\ndeny = [\"Bash(touch *)\", \"Write(secret/**)\"]\nask = [\"Bash(mkdir *)\"]\n",
    );
    let made = |name: &str| stage.sealed.repo().join(name).display().to_string();
    let model = Model::script([
        shell("touch made-by-shell"),
        write(made("secret/made.txt"), "x"),
        shell("mkdir made-folder"),
        write(made("allowed.txt"), "x"),
        say("done"),
    ])
    .start();
    let flags = ["--plugin", &stage.plugin(&one_turn()), "--on-permission", "deny"];
    let ended = stage.run(&model, &flags);

    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(ended.decisions("tool"), ["deny", "deny", "deny", "allow"]);
    let exists = ["made-by-shell", "secret/made.txt", "made-folder", "allowed.txt"]
        .map(|name| fs::exists(made(name)).unwrap());
    assert_eq!(exists, [false, false, false, true]);
    let requests = model.requests();
    let told = requests[1].last_user_text();
    assert!(told.contains("denied by the rule `Bash(touch *)`"), "{told}");
    let told = requests[3].last_user_text();
    assert!(told.contains("needs a person's permission, and nobody is watching"), "{told}");
}

#[test]
fn an_interrupt_ends_the_run_and_leaves_no_process() {
    let stage = Stage::new(require_agent!("copilot"));
    let before = stage.users_files();
    let gate = Gate::closed();
    let model = Model::script([shell("sleep 300 & echo started"), say("never heard").behind(&gate)]).start();
    let flags = ["--plugin", &stage.plugin(&one_turn())];
    let started = stage.start(stage.command(&model, INPUT, &flags));
    gate.wait_reached(MINUTE);
    started.signal(Signal::INT);
    let ended = started.end();

    ended.assert_ended(130, "interrupted", "user", 0);
    stage.assert_nobody_left();
    assert_eq!(stage.users_files(), before);
    gate.open();
}

#[test]
fn a_cancelled_command_of_the_agent_leaves_no_process() {
    let stage = Stage::new(require_agent!("copilot"));
    let model = Model::script([shell("touch begun; sleep 300"), say("never heard")]).start();
    let flags = ["--plugin", &stage.plugin(&one_turn())];
    let started = stage.start(stage.command(&model, INPUT, &flags));
    let begun = stage.sealed.repo().join("begun");
    windlass_testkit::wait::until(MINUTE, || begun.exists());
    let run = started.so_far()[0]["run"].as_str().unwrap().to_owned();
    let cancelled = stage.start({
        let mut command = stage.windlass(&model);
        command.args(["cancel", &run]);
        command
    });
    assert_eq!(cancelled.end().code, Some(0));
    let ended = started.end();
    let finished = ended.of("run.finished");
    assert_eq!(finished[0]["status"], "cancelled", "{}", ended.story());
    stage.assert_nobody_left();
}

#[test]
fn a_run_whose_windlass_was_killed_resumes_the_conversation() {
    let stage = Stage::new(require_agent!("copilot"));
    let gate = Gate::closed();
    let model =
        Model::script([shell("echo one > one.txt"), say("cut off").behind(&gate), say("whole")]).start();
    let flags = ["--plugin", &stage.plugin(&one_turn())];
    let started = stage.start(stage.command(&model, INPUT, &flags));
    gate.wait_reached(MINUTE);
    started.signal(Signal::KILL);
    started.end();
    gate.open();
    let mut command = stage.windlass(&model);
    command.args(["resume", "--json"]);
    let ended = stage.start(command).end();

    let finished = ended.of("run.finished");
    assert_eq!(finished[0]["status"], "completed", "{}", ended.story());
    assert_eq!(model.sessions().len(), 1);
    stage.assert_nobody_left();
}

#[test]
fn a_rule_about_files_holds_for_each_file_of_a_patch() {
    let stage = Stage::new(require_agent!("copilot"));
    stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"Edit(secret/**)\"]\n");
    let patch = |name: &str| {
        tool(
            "apply_patch",
            json!(format!(
                "*** Begin Patch\n*** Add File: {name}\n+x\n*** Add File: {name}2\n+x\n*** End Patch\n"
            )),
        )
    };
    let model = Model::script([patch("secret/made"), patch("made"), say("done")]).start();
    let flags = ["--plugin", &stage.plugin(&one_turn()), "--model", "gpt-5.3-codex"];
    let mut command = stage.command(&model, INPUT, &flags);
    command.env("COPILOT_PROVIDER_WIRE_API", "responses");
    let ended = stage.start(command).end();

    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(ended.decisions("tool"), ["deny", "allow"], "{}", ended.story());
    let exists = |name: &str| stage.sealed.repo().join(name).exists();
    assert_eq!(["secret/made", "secret/made2", "made", "made2"].map(exists), [false, false, true, true]);
}
