//! A conversation over several turns: resumed, or kept from stopping, and paid for once.

use serde_json::Value;
use windlass_testkit::{Model, require_agent, say, shell};

use crate::stage::{Ended, Stage};

fn spent(ended: &Ended) -> [Option<u64>; 3] {
    let usage = &ended.of("run.finished")[0]["usage"];
    ["input_tokens", "output_tokens", "cache_read_tokens"].map(|key| usage[key].as_u64())
}

const LOOP: &str = "  - id: work\n    prompt: build it\n    turns: { max: 4, mode: MODE, promise: DONE }\n";

#[test]
fn a_resumed_conversation_is_one_session_and_each_token_counts_once() {
    let stage = Stage::new(require_agent!("gemini"));
    let model = Model::script([
        shell("echo 1 > one").tokens(100, 10).cached(40),
        say("the first").tokens(200, 20),
        say("<promise>DONE</promise>").tokens(300, 30).cached(50),
    ])
    .start();
    let ended = stage.run(&model, &LOOP.replace("MODE", "resume"), &[]);

    ended.assert_ended(0, "completed", "promise");
    assert_eq!(spent(&ended), [Some(600), Some(60), Some(90)]);
    assert!(model.requests()[2].mentions("the first"), "it remembers its first turn");
    let sessions: Vec<Value> =
        ended.of("session.started").iter().map(|started| started["session"].clone()).collect();
    assert_eq!((sessions.len(), &sessions[0]), (2, &sessions[1]));
}

#[test]
fn a_fresh_loop_has_a_conversation_for_each_turn() {
    let stage = Stage::new(require_agent!("gemini"));
    let model = Model::script([
        say("the first").tokens(200, 20),
        say("<promise>DONE</promise>").tokens(300, 30).cached(50),
    ])
    .start();
    let ended = stage.run(&model, &LOOP.replace("MODE", "fresh"), &[]);

    ended.assert_ended(0, "completed", "promise");
    assert!(model.requests().iter().all(|request| request.opens_conversation()));
    assert_eq!(spent(&ended), [Some(500), Some(50), Some(50)]);
}

#[test]
fn an_agent_that_wants_to_stop_is_kept_at_work_in_one_session() {
    let stage = Stage::new(require_agent!("gemini"));
    let model = Model::script([
        say("the first").tokens(100, 10),
        shell("true").tokens(50, 5),
        say("the second").tokens(200, 20),
        say("<promise>DONE</promise>").tokens(300, 30),
    ])
    .start();
    let ended = stage.run(&model, &LOOP.replace("MODE", "in_session"), &[]);

    ended.assert_ended(0, "completed", "promise");
    let stops = ended.decisions().into_iter().filter(|(asked, _)| asked == "stop");
    assert_eq!(stops.map(|(_, said)| said).collect::<Vec<_>>(), ["block", "block", "pass"]);
    assert_eq!(spent(&ended), [Some(650), Some(65), Some(0)]);
    assert_eq!(ended.of("session.started").len(), 1);
    let told = model.requests()[1].last_user_text();
    assert!(told.contains("Continue the task. Read the tracker at /"), "{told}");
}

#[test]
fn turns_that_are_used_up_end_the_loop_although_the_cli_would_go_on() {
    let stage = Stage::new(require_agent!("gemini"));
    let model = Model::script([]).default(say("not yet")).start();
    let ended = stage.run(&model, &LOOP.replace("MODE", "in_session"), &[]);

    ended.assert_ended(9, "exhausted", "max_iterations");
    assert_eq!(model.requests().len(), 4);
}

#[test]
fn sessions_at_the_same_time_keep_their_conversations_apart() {
    let stage = Stage::new(require_agent!("gemini"));
    let answer = windlass_testkit::reply(|request| {
        let word = ["red", "green", "blue"].into_iter().find(|word| request.mentions(word)).unwrap();
        say(format!("I said {word}"))
    });
    let model = Model::script([]).default(answer).start();
    let branch = |word: &str| {
        format!(
            "      {word}:\n        - {{ id: {word}, prompt: say {word}, tools: read, turns: {{ max: 2, mode: resume, promise: NEVER }} }}\n"
        )
    };
    let nodes =
        format!("  - parallel: true\n    branches:\n{}", ["red", "green", "blue"].map(branch).concat());
    let ended = stage.run(&model, &nodes, &[]);

    let requests = model.requests();
    assert_eq!(requests.len(), 6, "{}", ended.story());
    let resumed: Vec<_> = requests.iter().filter(|request| !request.opens_conversation()).collect();
    assert_eq!(resumed.len(), 3, "{}", ended.story());
    for request in resumed {
        let words =
            ["red", "green", "blue"].into_iter().filter(|word| request.mentions(&format!("I said {word}")));
        assert_eq!(words.count(), 1, "{}", request.body);
    }
}
