//! OpenCode on the Chat Completions API.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use windlass_testkit::model::Kind;
use windlass_testkit::{
    Model, Request, Sealed, cut, hang, rate_limit, read, require_agent, say, server_error, shell, tool,
    unauthorized, wait, write,
};

use crate::output::{Printed, run, start};

fn headless(sealed: &Sealed, opencode: &Path, model: &Model, arguments: &[&str]) -> Command {
    let mut command = sealed.agent("opencode", opencode, model);
    command.args(["run", "--format", "json"]).args(arguments);
    command
}

/// Returns the texts of the model.
fn said(printed: &Printed) -> Vec<&str> {
    printed.of("text").into_iter().filter_map(|event| event["part"]["text"].as_str()).collect()
}

fn of_kind(model: &Model, kind: Kind) -> Vec<Request> {
    model.everything().into_iter().filter(|request| request.kind == kind).collect()
}

#[test]
fn it_plays_a_script_with_a_shell_call_and_prints_its_usage() {
    let opencode = require_agent!("opencode");
    let sealed = Sealed::new();
    let model = Model::script([
        shell("echo one-two | tr - _").thinking("a thought").tokens(1000, 30).cached(200).reasoning(7),
        say("all done").tokens(70, 5).cached(3),
    ])
    .start();
    let printed = run(headless(&sealed, &opencode, &model, &["--thinking", "count"]));

    assert_eq!(printed.code, Some(0), "{}", printed.story);
    assert_eq!(said(&printed), ["all done"], "{}", printed.story);
    let requests = model.requests();
    assert_eq!(requests.len(), 2, "{}", printed.story);
    assert!(requests[0].opens_conversation() && requests[0].last_user_text() == "count");
    assert_eq!((requests[1].last_user_text().trim(), requests[1].header("authorization")), ("one_two", None));
    // The title of the session is a request of its own.
    let side = of_kind(&model, Kind::Side);
    assert_eq!(side.len(), 1, "{side:#?}");
    assert!(side[0].system_text().contains("title"), "{}", side[0].system_text());

    let steps = printed.of("step_finish");
    let session = steps[0]["sessionID"].as_str().unwrap();
    assert_eq!(model.sessions(), [session]);
    let tokens: Vec<_> = steps.iter().map(|event| event["part"]["tokens"].clone()).collect();
    let first = json!({
        "total": 1230, "input": 1000, "output": 23, "reasoning": 7, "cache": {"write": 0, "read": 200},
    });
    let second = json!({
        "total": 78, "input": 70, "output": 5, "reasoning": 0, "cache": {"write": 0, "read": 3},
    });
    assert_eq!(tokens, [first, second]);
    assert_eq!(printed.only("reasoning")["part"]["text"], "a thought", "{}", printed.story);
}

#[test]
fn files_are_written_and_read_by_its_own_tools_and_a_resumed_session_is_the_same() {
    let opencode = require_agent!("opencode");
    let sealed = Sealed::new();
    let file = sealed.repo().join("it's new.txt").display().to_string();
    let script = [write(&file, "one\n'two'\n"), read(&file), say("done"), say("again")];
    let model = Model::script(script).start();
    let first = run(headless(&sealed, &opencode, &model, &["--title", "t", "go"]));
    assert_eq!(first.code, Some(0), "{}", first.story);
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n'two'\n");
    assert!(model.requests()[2].last_user_text().contains("'two'"));
    let tools: Vec<_> = first.of("tool_use").iter().map(|event| event["part"]["tool"].clone()).collect();
    assert_eq!(tools, ["write", "read"]);

    let session = first.of("text")[0]["sessionID"].as_str().unwrap();
    let second = run(headless(&sealed, &opencode, &model, &["--session", session, "next"]));
    assert_eq!(said(&second), ["again"], "{}", second.story);
    assert_eq!((model.sessions(), model.requests()[3].nth_in_session), (vec![session.to_owned()], 3));
    // A session with a title asks for none.
    assert!(of_kind(&model, Kind::Side).is_empty());
}

#[test]
fn a_subagent_has_turns_of_its_own_and_a_summary_takes_none() {
    let opencode = require_agent!("opencode");
    let sealed = Sealed::new();
    let task = json!({"description": "look", "prompt": "look around", "subagent_type": "general"});
    // So many tokens that it asks for a summary of the conversation.
    let model = Model::script([tool("task", task).tokens(199_000, 30), say("done")])
        .subagents([shell("echo one"), say("nothing there")])
        .start();
    let printed = run(headless(&sealed, &opencode, &model, &["--title", "t", "go"]));
    assert_eq!(printed.code, Some(0), "{}", printed.story);
    let count = |kind| of_kind(&model, kind).len();
    assert_eq!((count(Kind::Main), count(Kind::Subagent), count(Kind::Side)), (2, 2, 1), "{}", printed.story);
    assert_eq!(model.sessions().len(), 1);
    assert!(of_kind(&model, Kind::Subagent)[0].agent.is_some());
}

#[test]
fn it_tries_again_after_a_limit_an_error_and_a_cut_stream() {
    let opencode = require_agent!("opencode");
    let sealed = Sealed::new();
    let faults = [rate_limit(Duration::from_secs(1)), server_error(), cut(4), say("at last")];
    let model = Model::script(faults).start();
    let printed = run(headless(&sealed, &opencode, &model, &["--title", "t", "go"]));
    assert_eq!((printed.code, said(&printed)), (Some(0), vec!["at last"]), "{}", printed.story);
    assert_eq!(model.requests().len(), 4, "{}", printed.story);
}

#[test]
fn a_refused_key_is_final() {
    let opencode = require_agent!("opencode");
    let (sealed, model) = (Sealed::new(), Model::script([unauthorized()]).start());
    let printed = run(headless(&sealed, &opencode, &model, &["--title", "t", "go"]));
    assert_eq!(printed.code, Some(1), "{}", printed.story);
    let error = &printed.only("error")["error"]["data"];
    assert_eq!((&error["statusCode"], &error["isRetryable"]), (&json!(401), &json!(false)), "{error}");
}

#[test]
fn a_hang_lasts_until_the_cli_is_killed() {
    let opencode = require_agent!("opencode");
    let (sealed, model) = (Sealed::new(), Model::script([hang()]).start());
    let mut running = start(headless(&sealed, &opencode, &model, &["--title", "t", "go"]));
    model.wait_for_requests(1, 2 * wait::soon());
    assert!(!running.has_ended());
    assert!(!running.kill().success());
}
