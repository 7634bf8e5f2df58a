//! Copilot on the Chat Completions API.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_testkit::model::Kind;
use windlass_testkit::{
    Model, Sealed, cut, hang, rate_limit, read, require_agent, say, server_error, shell, tool, unauthorized,
    usage_limit, wait, write,
};

use crate::output::{Printed, run, start};

fn headless(sealed: &Sealed, copilot: &Path, model: &Model, arguments: &[&str]) -> Command {
    let mut command = sealed.agent("copilot", copilot, model);
    command.args(["--allow-all-tools", "--output-format", "json", "--no-ask-user"]);
    command.arg("--usage-output-file").arg(sealed.root().join("usage.json")).args(arguments);
    command
}

/// Returns the texts of the model.
fn said(printed: &Printed) -> Vec<&str> {
    let texts =
        printed.of("assistant.message").into_iter().filter_map(|event| event["data"]["content"].as_str());
    texts.filter(|text| !text.is_empty()).collect()
}

#[test]
fn it_plays_a_script_with_a_shell_call_and_prints_its_usage() {
    let copilot = require_agent!("copilot");
    let sealed = Sealed::new();
    let model = Model::script([
        shell("echo one-two | tr - _").thinking("a thought").tokens(1000, 30).cached(200).reasoning(7),
        say("all done").tokens(70, 5).cached(3),
    ])
    .start();
    let printed = run(headless(&sealed, &copilot, &model, &["-p", "count for me"]));

    assert_eq!(printed.code, Some(0), "{}", printed.story);
    assert_eq!(said(&printed), ["all done"], "{}", printed.story);
    let requests = model.requests();
    assert_eq!((requests.len(), model.everything().len()), (2, 2), "{:#?}", model.everything());
    assert!(requests[0].opens_conversation() && requests[0].last_user_text().ends_with("count for me"));
    assert!(requests[1].last_user_text().contains("one_two"), "{}", requests[1].last_user_text());
    assert_eq!(requests[0].header("authorization"), None);
    let session = printed.only("result")["sessionId"].as_str().unwrap();
    assert_eq!(model.sessions(), [session]);

    let told = fs::read_to_string(sealed.root().join("usage.json")).unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    let usage = json!({
        "inputTokens": 1273, "outputTokens": 35, "cacheReadTokens": 203, "cacheWriteTokens": 0, "reasoningTokens": 7,
    });
    assert_eq!(told["modelMetrics"]["scripted-model"]["usage"], usage, "{told}");
    assert_eq!(printed.only("assistant.reasoning")["data"]["content"], "a thought");
}

#[test]
fn files_are_written_and_read_by_its_own_tools_and_a_resumed_session_is_the_same() {
    let copilot = require_agent!("copilot");
    let sealed = Sealed::new();
    let file = sealed.repo().join("it's new.txt").display().to_string();
    let script = [write(&file, "one\n'two'\n"), read(&file), say("done"), say("again")];
    let model = Model::script(script).start();
    let first = run(headless(&sealed, &copilot, &model, &["-p", "go"]));
    assert_eq!(first.code, Some(0), "{}", first.story);
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n'two'\n");
    assert!(model.requests()[2].last_user_text().contains("'two'"));
    let started = first.of("tool.execution_start");
    let tools: Vec<_> = started.iter().map(|event| event["data"]["toolName"].clone()).collect();
    assert_eq!(tools, ["create", "view"]);

    let session = first.only("result")["sessionId"].as_str().unwrap();
    let second = run(headless(&sealed, &copilot, &model, &["--resume", session, "-p", "next"]));
    assert_eq!(said(&second), ["again"], "{}", second.story);
    assert_eq!((model.sessions(), model.requests()[3].nth_in_session), (vec![session.to_owned()], 3));
}

#[test]
fn a_subagent_has_turns_of_its_own_and_a_summary_takes_none() {
    let copilot = require_agent!("copilot");
    let sealed = Sealed::new();
    let task = json!({
        "name": "looker", "description": "look", "prompt": "look around",
        "agent_type": "general-purpose", "mode": "sync",
    });
    // So many tokens that it asks for a summary of the conversation.
    let model = Model::script([tool("task", task).tokens(127_000, 30), say("done")])
        .subagents([shell("echo one"), say("nothing there")])
        .start();
    let printed = run(headless(&sealed, &copilot, &model, &["-p", "go"]));
    assert_eq!(printed.code, Some(0), "{}", printed.story);
    let kinds: Vec<Kind> = model.everything().iter().map(|request| request.kind).collect();
    let count = |kind| kinds.iter().filter(|one| **one == kind).count();
    assert_eq!((count(Kind::Main), count(Kind::Subagent), count(Kind::Side)), (2, 2, 1), "{kinds:?}");
    assert_eq!(model.sessions().len(), 1);
}

#[test]
fn it_tries_again_after_a_limit_an_error_and_a_cut_stream() {
    let copilot = require_agent!("copilot");
    let sealed = Sealed::new();
    let faults = [rate_limit(Duration::from_secs(1)), server_error(), cut(4), say("at last")];
    let model = Model::script(faults).start();
    let printed = run(headless(&sealed, &copilot, &model, &["-p", "go"]));
    assert_eq!((printed.code, said(&printed)), (Some(0), vec!["at last"]), "{}", printed.story);
    let retries: Vec<_> =
        printed.of("assistant.turn_retry").iter().map(|event| event["data"]["reason"].clone()).collect();
    assert_eq!(retries, ["rate_limit", "api_error", "streaming_error"]);
}

#[test]
fn a_refused_key_and_a_spent_plan_end_it() {
    let copilot = require_agent!("copilot");
    for (fault, status, kind) in
        [(unauthorized(), 401, "authentication"), (usage_limit(Duration::from_secs(5400)), 429, "rate_limit")]
    {
        let (sealed, model) = (Sealed::new(), Model::script([]).default(fault).start());
        let printed = run(headless(&sealed, &copilot, &model, &["-p", "go"]));
        assert_eq!(printed.code, Some(1), "{}", printed.story);
        let error = &printed.only("session.error")["data"];
        assert_eq!((&error["statusCode"], &error["errorType"]), (&json!(status), &json!(kind)), "{error}");
    }
}

#[test]
fn a_hang_lasts_until_the_cli_is_killed() {
    let copilot = require_agent!("copilot");
    let (sealed, model) = (Sealed::new(), Model::script([hang()]).start());
    let mut running = start(headless(&sealed, &copilot, &model, &["-p", "go"]));
    model.wait_for_requests(1, 2 * wait::soon());
    assert!(!running.has_ended());
    assert!(!running.kill().success());
}
