//! One turn: the prompt arrives whole, tools run, and what it cost is known.

use serde_json::json;
use windlass_testkit::{Model, require_agent, say, shell, write};

use crate::stage::Stage;

#[test]
fn a_turn_with_a_tool_call_ends_with_its_usage() {
    let stage = Stage::new(require_agent!("gemini"));
    let model = Model::script([
        shell("echo made > made.txt; git add .; git commit -qm made")
            .thinking("hm")
            .tokens(1000, 30)
            .cached(200)
            .reasoning(7),
        say("all done").tokens(70, 5).cached(3),
    ])
    .start();
    let ended = stage.run(&model, "  - prompt: make it\n", &[]);

    ended.assert_ended(0, "completed", "turn_done");
    assert_eq!(std::fs::read_to_string(stage.repo("made.txt")).unwrap(), "made\n");
    let expected = [("run_shell_command", "allow"), ("stop", "pass")];
    assert_eq!(ended.decisions(), expected.map(|(tool, said)| (tool.to_owned(), said.to_owned())));
    let usage = &ended.of("run.finished")[0]["usage"];
    let spent = ["input_tokens", "output_tokens", "cache_read_tokens"].map(|key| usage[key].as_u64());
    assert_eq!(spent, [Some(1070), Some(35), Some(203)]);
    assert_eq!(
        stage.sealed.git(["status", "--porcelain"]),
        "",
        "nothing of the CLI is left in the repository"
    );
    let kinds: Vec<_> = ended.of("session.event").iter().map(|event| event["kind"].clone()).collect();
    assert_eq!(kinds, ["session_init", "tool_use", "tool_result", "text", "result"]);
    stage.assert_nobody_left();
}

#[test]
fn a_prompt_arrives_byte_for_byte_and_the_answer_is_one_text() {
    let stage = Stage::new(require_agent!("gemini"));
    let prompt =
        format!("--help 'a' \"b\" $HOME `id` \\ é\u{1f600}\n-\n{}\nend", "0123456789abcdef".repeat(7000));
    let said = "a long answer\nin several pieces, ".repeat(5);
    let model = Model::script([say(&said)]).start();
    let nodes = format!("  - prompt: {}\n", json!(prompt));
    let ended = stage.run(&model, &nodes, &[]);

    ended.assert_ended(0, "completed", "turn_done");
    assert!(model.requests()[0].last_user_blocks().contains(&prompt), "{}", ended.story());
    let texts = ended.of("session.event").into_iter().filter(|event| event["kind"] == "text");
    assert_eq!(texts.map(|event| event["text"].clone()).collect::<Vec<_>>(), [json!(said)]);
}

#[test]
fn a_role_a_model_and_arguments_reach_the_cli() {
    let stage = Stage::new(require_agent!("gemini"));
    let agent =
        "---\nname: pirate\ndescription: d\n---\nYou talk like a \"pirate\". Ask @captain.md, says `x`.";
    stage.sealed.write("repo/.claude/agents/pirate.md", agent);
    stage.sealed.write("more/note.txt", "n");
    let more = stage.sealed.root().join("more");
    let model = Model::script([say("arr")]).start();
    let nodes = "  - agent: pirate\n    prompt: talk\n";
    let ended = stage.run(
        &model,
        nodes,
        &["--model", "other-model", "--", "--include-directories", more.to_str().unwrap()],
    );

    ended.assert_ended(0, "completed", "turn_done");
    let request = &model.requests()[0];
    assert_eq!(request.model, "other-model");
    assert!(request.mentions("You talk like a \"pirate\". Ask @captain.md, says `x`."), "{}", request.body);
    assert!(request.mentions("note.txt"));
}

#[test]
fn the_agent_reads_an_ignored_tracker_and_writes_artifacts_with_its_own_tools() {
    let stage = Stage::new(require_agent!("gemini"));
    stage.sealed.write("repo/.gitignore", ".windlass/\n");
    let tracker = |text: &str| {
        let rest = text.split("in the tracker ").nth(1).unwrap_or_else(|| panic!("no tracker in {text}"));
        rest.split(": its body").next().unwrap().to_owned()
    };
    let artifact = |text: &str| {
        let at = text.find("/artifacts/made.txt").unwrap_or_else(|| panic!("no artifact in {text}"));
        let from = text[..at].rfind(' ').unwrap() + 1;
        text[from..at + "/artifacts/made.txt".len()].to_owned()
    };
    let model = Model::script([
        windlass_testkit::reply(move |request| windlass_testkit::read(tracker(&request.first_user_text()))),
        windlass_testkit::reply(move |request| write(artifact(&request.first_user_text()), "kept")),
        say("<promise>DONE</promise>"),
    ])
    .start();
    let nodes = "  - prompt: Write {{ run.artifacts }}/made.txt\n    turns: { max: 2, promise: DONE, tracker: to do }\n";
    let ended = stage.run(&model, nodes, &[]);

    ended.assert_ended(0, "completed", "promise");
    let results = ended.of("session.event").into_iter().filter(|event| event["kind"] == "tool_result");
    let failed: Vec<_> = results.filter(|event| event["is_error"] == true).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn a_price_for_the_model_that_the_cli_reports_is_the_cost_and_spends_a_budget() {
    let stage = Stage::new(require_agent!("gemini"));
    let prices = "[prices.\"scripted-*\"]\ninput = 1000\noutput = 10000\ncached_input = 100\n";
    stage.sealed.write("config/windlass/config.toml", prices);
    let model = Model::script([say("one").tokens(100, 10).cached(40)]).start();
    let nodes = "  - prompt: one\n  - prompt: two\n";
    let ended = stage.run(&model, nodes, &["--budget", "cost=0.2"]);

    ended.assert_ended(9, "exhausted", "budget");
    let usage = &ended.of("run.finished")[0]["usage"];
    assert!((usage["cost_usd"].as_f64().unwrap() - 0.204).abs() < 1e-9, "{usage}");
    assert_eq!((&usage["is_cost_computed"], usage.get("is_cost_partial")), (&json!(true), None), "{usage}");
}
