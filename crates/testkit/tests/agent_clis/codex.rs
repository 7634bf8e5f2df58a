//! Codex on the Responses API.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_testkit::model::Kind;
use windlass_testkit::{
    Model, Sealed, Turn, cut, hang, rate_limit, read, reply, require_agent, say, server_error, shell, tool,
    unauthorized, usage_limit, wait, write,
};

use crate::output::{Printed, run, start};

fn exec(sealed: &Sealed, codex: &Path, model: &Model, arguments: &[&str]) -> Command {
    let mut command = sealed.agent("codex", codex, model);
    command.args(["exec", "--json", "-s", "workspace-write"]).args(arguments);
    command
}

/// Runs a script of one turn.
fn play(codex: &Path, turn: Turn) -> (Printed, Model) {
    let (sealed, model) = (Sealed::new(), Model::script([turn]).start());
    (run(exec(&sealed, codex, &model, &["go"])), model)
}

#[test]
fn it_plays_a_script_with_a_shell_call_and_prints_its_usage() {
    let codex = require_agent!("codex");
    let sealed = Sealed::new();
    let model = Model::script([
        shell("echo one-two | tr - _").thinking("a thought").tokens(1000, 30).cached(200).reasoning(7),
        say("all done").tokens(70, 5).cached(3),
    ])
    .start();
    let printed = run(exec(&sealed, &codex, &model, &["count for me"]));

    assert_eq!(printed.code, Some(0), "{}", printed.story);
    let requests = model.requests();
    assert_eq!((requests.len(), model.everything().len()), (2, 2), "{:#?}", model.everything());
    assert!(
        requests[0].opens_conversation() && requests[0].last_user_blocks().contains(&"count for me".into())
    );
    assert!(requests[1].last_user_text().contains("one_two"), "{}", requests[1].last_user_text());
    assert_eq!(requests[0].header("authorization"), None);
    let thread = printed.only("thread.started")["thread_id"].as_str().unwrap();
    assert_eq!(model.sessions(), [thread]);
    let usage = json!({
        "input_tokens": 1273, "cached_input_tokens": 203, "cache_write_input_tokens": 0,
        "output_tokens": 35, "reasoning_output_tokens": 7,
    });
    assert_eq!(printed.only("turn.completed")["usage"], usage);
    let items = printed.of("item.completed");
    let texts: Vec<_> = items.iter().filter_map(|event| event["item"]["text"].as_str()).collect();
    assert_eq!(texts, ["a thought", "all done"], "{}", printed.story);
}

#[test]
fn files_are_written_and_read_by_what_it_has_for_that() {
    let codex = require_agent!("codex");
    let sealed = Sealed::new();
    let file = sealed.repo().join("it's new.txt").display().to_string();
    let model = Model::script([write(&file, "one\n'two'\n"), read(&file), say("done")]).start();
    let printed = run(exec(&sealed, &codex, &model, &["go"]));
    assert_eq!(printed.code, Some(0), "{}", printed.story);
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n'two'\n");
    assert!(model.requests()[2].last_user_text().contains("'two'"));
}

#[test]
fn the_same_script_plays_on_the_tools_of_its_own_models() {
    let codex = require_agent!("codex");
    // The older one has a tool for patches. The newer one has a tool that runs JavaScript, and nothing else.
    for (name, tools) in [("gpt-5.5", ["exec_command", "apply_patch"]), ("gpt-6.1-sol", ["exec", "wait"])] {
        let sealed = Sealed::new();
        let file = sealed.repo().join("new.txt").display().to_string();
        let model = Model::script([
            shell("echo one-two | tr - _").tokens(1000, 30).cached(200),
            write(&file, "one\n'two'\n").tokens(0, 0),
            read(&file).tokens(0, 0),
            say("all done").tokens(70, 5),
        ])
        .start();
        let printed = run(exec(&sealed, &codex, &model, &["-m", name, "go"]));
        assert_eq!(printed.code, Some(0), "{}", printed.story);
        let requests = model.requests();
        for tool in tools {
            assert!(requests[0].tool_names().contains(&tool.to_owned()), "{:?}", requests[0].tool_names());
        }
        assert!(requests[1].last_user_text().contains("one_two"), "{}", requests[1].last_user_text());
        assert_eq!(fs::read_to_string(&file).unwrap(), "one\n'two'\n", "{}", printed.story);
        assert!(requests[3].last_user_text().contains("'two'"), "{}", requests[3].last_user_text());
        assert_eq!(printed.only("turn.completed")["usage"]["input_tokens"], 1270);
    }
}

#[test]
fn a_resumed_thread_is_the_same_session() {
    let codex = require_agent!("codex");
    let sealed = Sealed::new();
    let model = Model::script([say("first"), say("second")]).start();
    let first = run(exec(&sealed, &codex, &model, &["go"]));
    let thread = first.only("thread.started")["thread_id"].as_str().unwrap();
    let mut command = sealed.agent("codex", &codex, &model);
    command.args(["exec", "resume", "--json", thread, "go on"]);
    let second = run(command);
    assert_eq!(second.code, Some(0), "{}", second.story);
    assert_eq!(model.sessions(), [thread]);
    assert_eq!(model.requests()[1].nth_in_session, 1);
    assert!(model.requests()[1].mentions("first"));
}

#[test]
fn a_subagent_has_turns_of_its_own_and_a_summary_takes_none() {
    let codex = require_agent!("codex");
    let sealed = Sealed::new();
    let wait_for_it = reply(|request| {
        let answer: Value = serde_json::from_str(&request.last_user_text()).unwrap();
        tool("wait_agent", json!({"targets": [answer["agent_id"]]})).tokens(50_000, 1)
    });
    let model =
        Model::script([tool("spawn_agent", json!({"message": "look around"})), wait_for_it, say("done")])
            .subagents([say("nothing there")])
            .start();
    let limit = ["-c", "model_auto_compact_token_limit=20000"];
    let printed = run(exec(&sealed, &codex, &model, &[limit.as_slice(), &["go"]].concat()));
    assert_eq!(printed.code, Some(0), "{}", printed.story);
    let kinds: Vec<Kind> = model.everything().iter().map(|request| request.kind).collect();
    let count = |kind| kinds.iter().filter(|one| **one == kind).count();
    assert_eq!((count(Kind::Subagent), count(Kind::Side)), (1, 1), "{kinds:?}");
    // It may ask once more, because the subagent ended.
    assert!(count(Kind::Main) >= 3, "{kinds:?}");
    assert_eq!(model.sessions().len(), 1);
    assert!(model.requests().iter().any(|request| request.agent.is_some()));
}

#[test]
fn it_understands_every_fault() {
    let codex = require_agent!("codex");
    let minute = Duration::from_secs(60);
    for (fault, expected) in [
        (usage_limit(minute * 90), "hit your usage limit"),
        (rate_limit(minute), "429 Too Many Requests"),
        (server_error(), "experiencing high demand"),
        (unauthorized(), "401 Unauthorized: Incorrect API key"),
        (cut(4), "stream disconnected"),
    ] {
        let (printed, model) = play(&codex, fault);
        assert_eq!(printed.code, Some(1), "{}", printed.story);
        let message = printed.only("turn.failed")["error"]["message"].to_string();
        assert!(message.contains(expected), "{message}");
        assert_eq!(model.requests().len(), 1, "{}", printed.story);
    }
}

#[test]
fn a_hang_lasts_until_the_cli_is_killed() {
    let codex = require_agent!("codex");
    let (sealed, model) = (Sealed::new(), Model::script([hang()]).start());
    let mut running = start(exec(&sealed, &codex, &model, &["go"]));
    model.wait_for_requests(1, wait::soon());
    assert!(!running.has_ended());
    assert!(!running.kill().success());
}
