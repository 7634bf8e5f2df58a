//! Gemini CLI on the Gemini API.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use windlass_testkit::model::Kind;
use windlass_testkit::{
    Model, Sealed, Turn, cut, hang, rate_limit, read, require_agent, say, server_error, shell, tool,
    unauthorized, usage_limit, wait, write,
};

use crate::output::{Printed, run, start};

fn headless(sealed: &Sealed, gemini: &Path, model: &Model, arguments: &[&str]) -> Command {
    let mut command = sealed.agent("gemini", gemini, model);
    command.args(["--approval-mode", "yolo", "-o", "stream-json"]).args(arguments);
    command
}

/// Returns the text of the model.
fn said(printed: &Printed) -> String {
    let said = printed.of("message").into_iter().filter(|event| event["role"] == "assistant");
    said.filter_map(|event| event["content"].as_str()).collect()
}

/// Runs a script of one turn.
fn play(gemini: &Path, turn: Turn) -> (Printed, Model) {
    let (sealed, model) = (Sealed::new(), Model::script([turn]).start());
    (run(headless(&sealed, gemini, &model, &["-p", "go"])), model)
}

#[test]
fn it_plays_a_script_with_a_shell_call_and_prints_its_usage() {
    let gemini = require_agent!("gemini");
    let sealed = Sealed::new();
    let model = Model::script([
        shell("echo one-two | tr - _").thinking("a thought").tokens(1000, 30).cached(200).reasoning(7),
        say("all done").tokens(70, 5).cached(3),
    ])
    .start();
    let printed = run(headless(&sealed, &gemini, &model, &["-p", "count for me"]));

    assert_eq!(printed.code, Some(0), "{}", printed.story);
    let requests = model.requests();
    assert_eq!((requests.len(), model.everything().len()), (2, 2), "{:#?}", model.everything());
    assert!(
        requests[0].opens_conversation() && requests[0].last_user_blocks().contains(&"count for me".into())
    );
    assert!(requests[1].last_user_text().contains("one_two"), "{}", requests[1].last_user_text());
    assert_eq!((requests[0].header("x-goog-api-key"), requests[0].session.as_deref()), (None, None));
    let stats = &printed.only("result")["stats"];
    let usage = json!({
        "input_tokens": 1273, "cached": 203, "input": 1070, "output_tokens": 28, "total_tokens": 1308,
    });
    for (name, tokens) in usage.as_object().unwrap() {
        assert_eq!(stats[name], *tokens, "{name}: {stats}");
    }
    assert_eq!(said(&printed), "all done", "{}", printed.story);
}

#[test]
fn files_are_written_and_read_by_its_own_tools() {
    let gemini = require_agent!("gemini");
    let sealed = Sealed::new();
    let file = sealed.repo().join("it's new.txt").display().to_string();
    let model = Model::script([write(&file, "one\n'two'\n"), read(&file), say("done")]).start();
    let printed = run(headless(&sealed, &gemini, &model, &["-p", "go"]));
    assert_eq!(printed.code, Some(0), "{}", printed.story);
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n'two'\n");
    assert!(model.requests()[2].last_user_text().contains("'two'"));
    let tools: Vec<_> = printed.of("tool_use").iter().map(|event| event["tool_name"].clone()).collect();
    assert_eq!(tools, ["write_file", "read_file"]);
}

#[test]
fn the_choice_of_a_model_takes_no_turn_and_costs_no_tokens() {
    let gemini = require_agent!("gemini");
    let (sealed, model) = (Sealed::new(), Model::script([say("the turn")]).start());
    let printed = run(headless(&sealed, &gemini, &model, &["-m", "auto", "-p", "go"]));
    assert_eq!(said(&printed), "the turn", "{}", printed.story);
    let everything = model.everything();
    assert_eq!((model.requests().len(), everything.len()), (1, 2), "{}", printed.story);
    assert!(everything[0].path.ends_with(":generateContent"), "{}", everything[0].path);
    assert!(!printed.story.contains("[Routing]"), "{}", printed.story);
    let stats = &printed.only("result")["stats"];
    assert_eq!((&stats["input_tokens"], &stats["output_tokens"]), (&json!(100), &json!(20)));
}

#[test]
fn a_resumed_session_goes_on_with_its_conversation() {
    let gemini = require_agent!("gemini");
    let sealed = Sealed::new();
    let model = Model::script([say("first"), say("second")]).start();
    let first = run(headless(&sealed, &gemini, &model, &["-p", "go"]));
    let session = first.only("init")["session_id"].as_str().unwrap();
    let second = run(headless(&sealed, &gemini, &model, &["--resume", session, "-p", "go on"]));
    assert_eq!(said(&second), "second", "{}", second.story);
    let requests = model.requests();
    assert!(requests[1].mentions("first") && !requests[1].opens_conversation());
}

#[test]
fn a_subagent_has_turns_of_its_own() {
    let gemini = require_agent!("gemini");
    let sealed = Sealed::new();
    let task = json!({"agent_name": "codebase_investigator", "prompt": "look around"});
    let found = json!({"SummaryOfFindings": "nothing", "ExplorationTrace": [], "RelevantLocations": []});
    let model = Model::script([tool("invoke_agent", task), say("done")])
        .subagents([read("README.md"), tool("complete_task", json!({"report": found}))])
        .start();
    let printed = run(headless(&sealed, &gemini, &model, &["-p", "go"]));
    assert_eq!(said(&printed), "done", "{}", printed.story);
    let kinds: Vec<Kind> = model.everything().iter().map(|request| request.kind).collect();
    assert_eq!(kinds, [Kind::Main, Kind::Subagent, Kind::Subagent, Kind::Main]);
}

#[test]
fn it_understands_every_fault() {
    let gemini = require_agent!("gemini");
    let minute = Duration::from_secs(60);
    // Its exit code is the status of the service, of which the system keeps the lowest eight bits.
    for (fault, code, expected) in [
        (usage_limit(minute * 90), 429, "exhausted your daily quota"),
        (rate_limit(minute), 429, "retry after 60s"),
        (server_error(), 500, "INTERNAL"),
        (unauthorized(), 401, "API_KEY_INVALID"),
        (cut(2), 1, "terminated"),
    ] {
        let (printed, model) = play(&gemini, fault);
        assert_eq!(printed.code, Some(code % 256), "{}", printed.story);
        let message = printed.only("result")["error"]["message"].to_string();
        assert!(message.contains(expected), "{message}");
        assert_eq!(model.everything().len(), 1, "{}", printed.story);
    }
}

#[test]
fn a_hang_lasts_until_the_cli_is_killed() {
    let gemini = require_agent!("gemini");
    let (sealed, model) = (Sealed::new(), Model::script([hang()]).start());
    let mut running = start(headless(&sealed, &gemini, &model, &["-p", "go"]));
    model.wait_for_requests(1, wait::soon());
    assert!(!running.has_ended());
    assert!(!running.kill().success());
}
