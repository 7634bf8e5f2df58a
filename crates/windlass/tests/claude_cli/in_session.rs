//! Must show 2: one session whose Stop hook is answered; the record decides how the run ended.

use serde_json::{Value, json};
use windlass_testkit::{Model, plugin, require_claude, say};

use crate::stage::{Stage, append};

/// The tracker workflow in one session, with as many turns, never stuck.
fn workflow(turns: u32) -> Value {
    let mut workflow = plugin::tracker_workflow();
    workflow["loop"]["mode"] = json!("in_session");
    workflow["loop"]["stuckAfter"] = json!(0);
    workflow["loop"]["maxIterations"] = json!(turns);
    workflow
}

#[test]
fn one_session_is_kept_from_stopping_ten_times_in_a_row_and_then_completes() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&workflow(15));
    let idle = (1..=10).map(|turn| say(format!("turn {turn}")));
    let model = Model::script(idle.chain([append("E2E_COMPLETE"), say("finished")])).start();
    let ended = stage.run(&model, &["--plugin", &folder]);

    ended.assert_ended(0, "completed", "marker", 11);
    assert_eq!(model.sessions().len(), 1);
    assert_eq!(ended.sessions(), model.sessions());
    assert_eq!(model.requests().len(), 12);
    let mut expected = vec!["block"; 10];
    expected.push("pass");
    assert_eq!(ended.decisions("stop"), expected);
    for request in &model.requests()[1..=10] {
        let told = request.last_user_text();
        assert!(told.contains("Continue the task. Read the tracker at /"), "{told}");
    }
}

#[test]
fn spent_turns_are_exhausted_by_the_record_although_the_cli_ended_well() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&workflow(3));
    let model = Model::script([]).default(say("all is done, exit 0")).start();
    let ended = stage.run(&model, &["--plugin", &folder]);

    ended.assert_ended(9, "exhausted", "max_iterations", 3);
    assert_eq!(model.requests().len(), 3);
    assert_eq!(ended.decisions("stop"), ["block", "block", "pass"]);
    assert_eq!(stage.cli_exit(&ended.run(), "loop.1.1.session")["code"], 0);
}

#[test]
fn an_agent_that_says_it_is_blocked_ends_the_run_so_although_the_cli_ended_well() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&workflow(9));
    let model =
        Model::script([say("looking"), append("<!-- WORKFLOW_BLOCKED: no test account -->"), say("I stop")])
            .start();
    let ended = stage.run(&model, &["--plugin", &folder]);

    ended.assert_ended(8, "blocked", "blocked_marker", 2);
    assert_eq!(ended.of("run.finished")[0]["detail"], "no test account");
    assert_eq!(stage.cli_exit(&ended.run(), "loop.1.1.session")["code"], 0);
}

#[test]
fn in_resume_mode_every_turn_is_a_process_of_its_own_in_the_same_conversation() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&plugin::tracker_workflow());
    let model = Model::script([say("the first flow"), append("E2E_COMPLETE"), say("done")]).start();
    let ended = stage.run(&model, &["--plugin", &folder, "--mode", "resume"]);

    ended.assert_ended(0, "completed", "marker", 2);
    assert_eq!(model.sessions().len(), 1);
    assert_eq!(ended.of("session.started").len(), 2);
    let second = &model.requests()[1];
    assert!(second.last_user_text().contains("Continue the task. Read the tracker at /"));
    assert!(second.body.to_string().contains("the first flow"), "it remembers its first turn");
}
