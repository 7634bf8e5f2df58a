//! One turn: the prompt arrives whole, a tool runs, and what it cost is known.

use serde_json::json;
use windlass_testkit::{Model, require_agent, say, shell};

use crate::stage::Stage;

#[test]
fn a_turn_with_a_tool_call_ends_with_its_usage() {
    let stage = Stage::new(require_agent!("codex"));
    let model = Model::script([
        shell("echo made > made.txt; git add .; git commit -qm made")
            .thinking("hm")
            .tokens(1000, 30)
            .cached(200),
        say("all done").tokens(70, 5).cached(3),
    ])
    .start();
    let ended = stage.run(&model, "  - prompt: make it\n", &[]);

    ended.assert_ended(0, "completed", "turn_done");
    assert_eq!(std::fs::read_to_string(stage.repo("made.txt")).unwrap(), "made\n");
    assert_eq!(stage.sealed.git(["log", "-1", "--format=%s"]), "made", "the agent may commit");
    assert_eq!(
        ended.decisions(),
        [("Bash".to_owned(), "allow".to_owned()), ("stop".to_owned(), "pass".to_owned())]
    );
    let usage = &ended.of("run.finished")[0]["usage"];
    let spent = ["input_tokens", "output_tokens", "cache_read_tokens"].map(|key| usage[key].as_u64());
    assert_eq!(spent, [Some(1070), Some(35), Some(203)]);
    assert_eq!(stage.sealed.git(["status", "--porcelain"]), "", "nothing of Codex is left in the repository");
    let kinds: Vec<_> = ended.of("session.event").iter().map(|event| event["kind"].clone()).collect();
    for kind in ["session_init", "tool_use", "tool_result", "text", "result"] {
        assert!(kinds.contains(&json!(kind)), "{kind}: {kinds:?}");
    }
    stage.assert_nobody_left();
}

#[test]
fn a_prompt_arrives_byte_for_byte() {
    let stage = Stage::new(require_agent!("codex"));
    let prompt =
        format!("--help 'a' \"b\" $HOME `id` \\ é\u{1f600}\n-\n{}\nend", "0123456789abcdef".repeat(7000));
    let model = Model::script([say("read")]).start();
    let nodes = format!("  - prompt: {}\n", json!(prompt));
    let ended = stage.run(&model, &nodes, &[]);

    ended.assert_ended(0, "completed", "turn_done");
    assert!(model.requests()[0].last_user_blocks().contains(&prompt), "{}", ended.story());
}

#[test]
fn a_role_a_model_an_effort_and_arguments_reach_codex() {
    let stage = Stage::new(require_agent!("codex"));
    let agent = "---\nname: pirate\ndescription: d\n---\nYou talk like a \"pirate\".";
    stage.sealed.write("repo/.claude/agents/pirate.md", agent);
    let model = Model::script([say("arr")]).start();
    let nodes = "  - agent: pirate\n    prompt: talk\n    effort: high\n    model: other-model\n";
    let ended = stage.run(&model, nodes, &["--", "-c", "model_verbosity=\"low\""]);

    ended.assert_ended(0, "completed", "turn_done");
    let request = &model.requests()[0];
    assert_eq!(request.body["model"], "other-model");
    assert_eq!(request.body["reasoning"]["effort"], "high");
    assert!(request.mentions("You talk like a \"pirate\"."));
}

#[test]
fn an_answer_with_a_schema_is_a_value() {
    let stage = Stage::new(require_agent!("codex"));
    let model = Model::script([say(r#"{"n": 3}"#)]).start();
    let nodes = "  - id: count\n    prompt: count\n    schema: { type: object, required: [n], additionalProperties: false, properties: { n: { type: integer } } }\n  - shell: echo {{ outputs.count.value.n }} > n\n";
    let ended = stage.run(&model, nodes, &[]);

    assert_eq!(ended.code, Some(0), "{}", ended.story());
    let format = &model.requests()[0].body["text"]["format"];
    assert_eq!((&format["type"], &format["strict"]), (&json!("json_schema"), &json!(true)));
    assert_eq!(std::fs::read_to_string(stage.repo("n")).unwrap(), "3\n");
}
