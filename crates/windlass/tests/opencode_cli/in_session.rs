//! One session whose stop is answered: OpenCode works on in one process until the run lets it stop.

use serde_json::json;
use windlass_testkit::{Model, reply, require_agent, say, shell};

use crate::stage::Stage;

const FLAGS: [&str; 4] = ["--workflow", "loop", "--mode", "in_session"];

#[test]
fn one_session_is_kept_from_stopping_until_its_work_is_done() {
    let stage = Stage::new(require_agent!("opencode"));
    let finish = reply(|request| {
        let prompt = request.first_user_text();
        let words = prompt.split(|c: char| c.is_whitespace() || c == '`' || c == ':');
        let tracker = words.clone().find(|word| word.ends_with("loop-tracker.md")).unwrap().to_owned();
        shell(format!("echo '<!-- WORKFLOW_COMPLETE -->' >> '{tracker}'"))
    });
    let idle = (1..=3).map(|turn| say(format!("turn {turn}")));
    let model = Model::script(idle.chain([finish, say("finished")])).start();
    let ended = stage.run(&model, "work", &FLAGS);

    ended.assert_ended(0, "completed", "marker", 4);
    assert_eq!(ended.decisions("stop"), ["block", "block", "block", "pass"]);
    assert_eq!((ended.of("session.started").len(), model.sessions().len()), (1, 1));
    assert_eq!(model.requests().len(), 5);
    for request in &model.requests()[1..=3] {
        let told = request.last_user_text();
        assert!(told.contains("Continue the task. Read the tracker at /"), "{told}");
    }
    // What it said before and after it was kept from stopping, each once.
    let texts: Vec<_> = ended.events("text").iter().map(|event| event["text"].clone()).collect();
    let expected = ["turn 1", "turn 2", "turn 3", "finished"].map(|text| json!(text));
    assert_eq!(texts, expected);
    let usage = &ended.finished()["usage"];
    assert_eq!((usage["input_tokens"].as_u64(), usage["output_tokens"].as_u64()), (Some(500), Some(100)));
    stage.assert_nobody_left();
}

#[test]
fn a_resumed_session_can_be_kept_from_stopping_too() {
    let stage = Stage::new(require_agent!("opencode"));
    let document = r#"
name: twice
nodes:
  - id: first
    prompt: "first part"
  - id: second
    continue: first
    prompt: "second part"
    turns:
      mode: in_session
      max: 2
"#;
    let file = stage.sealed.write("twice.yaml", document);
    let model = Model::script([say("one"), say("two"), say("three")]).start();
    let ended = stage.run(&model, "work", &["--workflow", file.to_str().unwrap()]);
    assert_eq!(model.sessions().len(), 1, "{}", ended.story());
    assert_eq!(ended.decisions("stop"), ["block", "pass"], "{}", ended.story());
    assert!(model.requests()[2].mentions("one") && model.requests()[2].mentions("two"));
}

#[test]
fn an_error_after_a_continuation_ends_the_turn() {
    let stage = Stage::new(require_agent!("opencode"));
    let model = Model::script([say("turn 1"), windlass_testkit::unauthorized()]).start();
    let ended = stage.run(&model, "work", &FLAGS);
    ended.assert_ended(4, "failed", "agent_failed", 1);
    assert!(ended.finished()["detail"].as_str().unwrap().contains("APIError"), "{}", ended.story());
    stage.assert_nobody_left();
}
