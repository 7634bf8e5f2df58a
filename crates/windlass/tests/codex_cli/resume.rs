//! A conversation over several turns: resumed, or kept from stopping, and paid for once.

use serde_json::Value;
use windlass_testkit::{Model, require_agent, say, shell};

use crate::stage::{Ended, Stage};

fn spent(ended: &Ended) -> [Option<u64>; 3] {
    let usage = &ended.of("run.finished")[0]["usage"];
    ["input_tokens", "output_tokens", "cache_read_tokens"].map(|key| usage[key].as_u64())
}

const LOOP: &str = "  - id: work\n    prompt: build it\n    turns: { max: 3, mode: MODE, promise: DONE }\n";

#[test]
fn a_resumed_conversation_is_one_session_and_each_token_counts_once() {
    let stage = Stage::new(require_agent!("codex"));
    let model = Model::script([
        shell("echo 1 > one").tokens(100, 10).cached(40),
        say("the first").tokens(200, 20),
        say("<promise>DONE</promise>").tokens(300, 30).cached(50),
    ])
    .start();
    let ended = stage.run(&model, &LOOP.replace("MODE", "resume"), &[]);

    ended.assert_ended(0, "completed", "promise");
    assert_eq!(spent(&ended), [Some(600), Some(60), Some(90)]);
    let sessions = model.sessions();
    assert_eq!(sessions.len(), 1);
    assert!(model.requests()[2].mentions("the first"), "it remembers its first turn");
    assert_eq!(ended.of("session.started").len(), 2);
}

#[test]
fn a_fresh_loop_has_a_conversation_for_each_turn() {
    let stage = Stage::new(require_agent!("codex"));
    let model = Model::script([
        say("the first").tokens(200, 20),
        say("<promise>DONE</promise>").tokens(300, 30).cached(50),
    ])
    .start();
    let ended = stage.run(&model, &LOOP.replace("MODE", "fresh"), &[]);

    ended.assert_ended(0, "completed", "promise");
    assert_eq!(model.sessions().len(), 2);
    assert_eq!(spent(&ended), [Some(500), Some(50), Some(50)]);
}

#[test]
fn an_agent_that_wants_to_stop_is_kept_at_work_in_one_session() {
    let stage = Stage::new(require_agent!("codex"));
    let model = Model::script([
        say("the first").tokens(100, 10),
        say("the second").tokens(200, 20),
        say("<promise>DONE</promise>").tokens(300, 30),
    ])
    .start();
    let ended = stage.run(&model, &LOOP.replace("MODE", "in_session"), &[]);

    ended.assert_ended(0, "completed", "promise");
    let stops: Vec<Value> = ended.of("hook.decision").iter().map(|said| said["decision"].clone()).collect();
    assert_eq!(stops, ["block", "block", "pass"]);
    assert_eq!(spent(&ended), [Some(600), Some(60), Some(0)]);
    assert_eq!(model.sessions().len(), 1);
    assert_eq!(ended.of("session.started").len(), 1);
    let told = model.requests()[1].last_user_text();
    assert!(told.contains("Continue the task. Read the tracker at /"), "{told}");
    assert!(told.contains("write the plain characters"), "{told}");
}
