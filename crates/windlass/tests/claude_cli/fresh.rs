//! Must show 1: the workflows of both documents loop in fresh sessions until they are done.

use serde_json::json;
use windlass_testkit::{Model, fail, plugin, require_claude, say, tool};

use crate::stage::{INPUT, Stage, append};

#[test]
fn a_workflow_with_a_tracker_loops_in_fresh_sessions_until_the_marker_stands_in_it() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&plugin::tracker_workflow());
    let command = json!({"skill": "e2e-test-builder:add-e2e-tests", "args": "the login page"});
    let model = Model::script([
        tool("Skill", command),
        say("the first flow is covered"),
        append("- [x] All tests passing"),
        say("E2E_COMPLETE is what I will write when I am done"),
        append("E2E_COMPLETE"),
        say("done"),
    ])
    .start();
    let ended = stage.run(&model, &["--plugin", &folder]);

    ended.assert_ended(0, "completed", "marker", 3);
    assert_eq!(model.sessions().len(), 3);
    assert_eq!(ended.sessions(), model.sessions());
    let turns: Vec<_> = ended.of("iteration.finished").iter().map(|data| data["iteration"].clone()).collect();
    assert_eq!(turns, [1, 2, 3]);
    let requests = model.requests();
    assert_eq!(requests.len(), 6, "one request a line of the script");
    let openings: Vec<_> = requests.iter().filter(|request| request.nth_in_session == 0).collect();
    for (turn, opening) in openings.iter().enumerate() {
        let prompt = opening.first_user_text();
        assert!(prompt.contains(&format!("Use /add-e2e-tests {INPUT}\n")), "{prompt}");
        assert_eq!(prompt.contains("Continue the task. Read the tracker at /"), turn > 0, "{prompt}");
    }
    assert!(requests[1].mentions("Add end-to-end tests for the login page"), "the plugin's own command ran");
    let tracker = stage.tracker();
    assert!(tracker.contains("# E2E Test Progress") && tracker.contains("active: false"), "{tracker}");
}

#[test]
fn a_workflow_with_a_promise_loops_in_fresh_sessions_until_it_is_said() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&plugin::promise_workflow());
    let model = Model::script([
        say("I will say <promise>E2E DONE</promise> or so, later"),
        say("all of it: <promise>E2E\n COMPLETE</promise>"),
        say("never asked"),
    ])
    .start();
    let ended = stage.run(&model, &["--plugin", &folder]);

    ended.assert_ended(0, "completed", "promise", 2);
    assert_eq!(model.sessions().len(), 2);
    assert_eq!(model.requests().len(), 2);
    assert!(model.requests()[1].first_user_text().contains(&format!("Use /add-e2e-tests {INPUT}\n")));
}

#[test]
fn an_error_of_the_api_fails_the_run_although_the_cli_calls_it_a_success() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&plugin::tracker_workflow());
    let model = Model::script([]).default(fail(404, "not_found_error").message("model: x")).start();
    let ended = stage.run(&model, &["--plugin", &folder]);

    ended.assert_ended(4, "failed", "agent_failed", 0);
    let results: Vec<_> =
        ended.of("session.event").into_iter().filter(|data| data["kind"] == "result").collect();
    assert_eq!(results[0]["failure"]["cause"]["api"], "model");
    assert!(
        ended.of("run.finished")[0]["detail"].to_string().contains("the selected model"),
        "{}",
        ended.story()
    );
}
