//! One turn: the prompt arrives as it was typed, tools run, and nothing of the user's own changes.

use std::fs;

use serde_json::json;
use windlass_testkit::{Model, read, require_agent, say, shell, write};

use crate::stage::{INPUT, Stage, one_turn};

#[test]
fn tools_run_the_usage_is_exact_and_nothing_is_left_behind() {
    let stage = Stage::new(require_agent!("copilot"));
    let before = stage.users_files();
    let made = stage.sealed.repo().join("it's made.txt").display().to_string();
    let model = Model::script([
        shell("echo one-two | tr - _").tokens(1000, 30).cached(200),
        write(&made, "one\n").tokens(100, 5),
        read(&made).tokens(10, 1),
        say("all done").tokens(70, 5).cached(3),
    ])
    .start();
    let ended = stage.run(&model, &["--plugin", &stage.plugin(&one_turn())]);

    ended.assert_ended(0, "completed", "turn_done", 1);
    let requests = model.requests();
    assert_eq!(requests.len(), 4, "{}", ended.story());
    assert!(requests[0].last_user_text().contains(INPUT), "{}", requests[0].last_user_text());
    assert!(requests[1].last_user_text().contains("one_two"));
    assert_eq!(fs::read_to_string(&made).unwrap(), "one\n");
    assert_eq!(ended.decisions("tool"), ["allow"; 3]);
    let usage = &ended.of("run.finished")[0]["usage"];
    let seen = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"];
    // 203 of the input come from the cache, which the scripted model counts on top.
    assert_eq!(seen.map(|name| usage[name].as_u64()), [1180, 41, 203, 0].map(Some), "{usage}");
    assert_eq!(usage.get("is_partial"), None, "{usage}");

    assert_eq!(stage.users_files(), before);
    stage.assert_repository_has_only(&["\"it's made.txt\""]);
    let home = stage.turn(&ended.run(), "run.1.1.session").join("copilot");
    assert!(!home.join("config.json").exists() && !home.join("session-store.db").exists());
    stage.assert_nobody_left();
}

#[test]
fn a_huge_prompt_of_odd_characters_arrives_as_it_is() {
    let stage = Stage::new(require_agent!("copilot"));
    let model = Model::script([say("read")]).start();
    let prompt = format!("--help {} @README.md !ls \u{1b}[31m `id` $HOME \"q\" é\u{7}", "x".repeat(100_000));
    let flags = ["--plugin", &stage.plugin(&one_turn())];
    let ended = stage.start(stage.command(&model, &prompt, &flags)).end();
    ended.assert_ended(0, "completed", "turn_done", 1);
    let told = model.requests()[0].last_user_text();
    assert!(told.contains(&prompt), "{} of {} bytes", told.len(), prompt.len());
}

#[test]
fn a_role_and_a_model_reach_the_service() {
    let stage = Stage::new(require_agent!("copilot"));
    let role = "---\ndescription: d\n---\nYou are the {{tester}}.\n---\nname: other";
    stage.sealed.write("repo/.claude/agents/tester.md", role);
    stage.sealed.git(["add", "."]);
    let model = Model::script([say("tested")]).start();
    let ended = stage.run(&model, &["--agent", "tester", "--model", "gpt-9"]);

    ended.assert_ended(0, "completed", "turn_done", 1);
    let request = &model.requests()[0];
    assert!(request.system_text().contains("You are the {{tester}}.\n---\nname: other"), "{}", ended.story());
    assert_eq!(request.body["model"], json!("gpt-9"));
}

#[test]
fn a_placeholder_as_key_blanks_out_nothing() {
    let stage = Stage::new(require_agent!("copilot"));
    let model = Model::script([say("e is a letter, and type is a word")]).start();
    let mut command = stage.command(&model, INPUT, &["--plugin", &stage.plugin(&one_turn())]);
    command.env("COPILOT_PROVIDER_API_KEY", "e");
    let ended = stage.start(command).end();

    ended.assert_ended(0, "completed", "turn_done", 1);
    let texts = ended.of("session.event").into_iter().filter(|event| event["kind"] == "text");
    let texts: Vec<_> = texts.map(|event| event["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["e is a letter, and type is a word"]);
}
