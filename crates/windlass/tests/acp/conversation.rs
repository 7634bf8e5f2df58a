//! The lines that Windlass sends to a fake agent, and what follows from its answers.

use std::process::Stdio;

use serde_json::{Value, json};
use windlass_testkit::Sealed;
use windlass_testkit::acp_agent::{AcpAgent, asks, chunk, heard};

use crate::stage::Stage;

fn ended(reason: &str) -> Value {
    json!({ "stopReason": reason, "usage": { "inputTokens": 10, "outputTokens": 2, "totalTokens": 12 } })
}

fn said(sealed: &Sealed, id: &str) -> Value {
    let lines = heard(sealed).into_iter().filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    lines.into_iter().find(|line| line["id"] == id).unwrap()
}

#[test]
fn a_turn_is_one_prompt_and_the_agent_ends_by_itself() {
    let agent = AcpAgent::new()
        .run("windlass-last", [Stage::completes()])
        .say("windlass-last", &[&chunk("All "), &chunk("done.")])
        .result("windlass-last", &ended("end_turn"));
    let stage = Stage::with_fake(&agent);
    let ended = stage.run(&["--max-iterations", "2"]);
    ended.assert_ended(0, "completed", "marker", 1);
    assert_eq!(stage.heard(), ["started", "initialize", "session", "last"]);
    assert_eq!(ended.tokens(), [10, 2, 0]);
    let opened = said(&stage.sealed, "windlass-session");
    assert_eq!(opened["params"]["cwd"], json!(stage.sealed.repo()));
    let prompt = said(&stage.sealed, "windlass-last");
    assert!(prompt["params"]["prompt"][0]["text"].as_str().unwrap().starts_with("do the work"), "{prompt}");
    assert_eq!(prompt["params"]["sessionId"], "s-1");
    stage.assert_nobody_left();
}

#[test]
fn an_agent_that_may_not_stop_gets_the_next_prompt_in_the_same_conversation() {
    let agent = AcpAgent::new()
        .say("windlass-prompt-1", &[&chunk("More is left.")])
        .result("windlass-prompt-1", &ended("end_turn"))
        .run("windlass-prompt-2", [Stage::completes()])
        .result("windlass-prompt-2", &ended("end_turn"));
    let stage = Stage::with_fake(&agent);
    let ended = stage.run(&["--mode", "in_session"]);
    ended.assert_ended(0, "completed", "marker", 2);
    assert_eq!(ended.decisions("stop"), ["block", "pass"]);
    assert_eq!(stage.heard(), ["started", "initialize", "session", "prompt-1", "prompt-2"]);
    let next = said(&stage.sealed, "windlass-prompt-2");
    let next = next["params"]["prompt"][0]["text"].as_str().unwrap();
    assert!(next.starts_with("Continue the task."), "{next}");
    assert_eq!(ended.tokens(), [20, 4, 0]);
}

#[test]
fn a_later_turn_loads_the_conversation() {
    let agent = AcpAgent::new().result("windlass-last", &ended("end_turn"));
    let stage = Stage::with_fake(&agent);
    let ended = stage.run(&["--mode", "resume", "--max-iterations", "2"]);
    ended.assert_ended(9, "exhausted", "max_iterations", 2);
    let turn = ["started", "initialize", "session", "last"];
    assert_eq!(stage.heard(), [turn, turn].concat());
    let opened: Vec<Value> = heard(&stage.sealed)
        .into_iter()
        .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
        .filter(|line| line["id"] == "windlass-session")
        .collect();
    assert_eq!((&opened[0]["method"], &opened[1]["method"]), (&json!("session/new"), &json!("session/load")));
    assert_eq!(opened[1]["params"]["sessionId"], "s-1");
}

#[test]
fn a_rule_answers_a_permission_request_for_one_time() {
    let story = |rule: &str, option: &str| {
        let agent = AcpAgent::new()
            .say("windlass-last", &[&asks(5, "echo it")])
            .say(option, &[&json!({ "jsonrpc": "2.0", "id": "windlass-last", "result": ended("end_turn") })]);
        let stage = Stage::with_fake(&agent);
        stage.settings(rule);
        let ended = stage.run(&["--max-iterations", "1"]);
        ended.assert_ended(9, "exhausted", "max_iterations", 1);
        assert_eq!(stage.heard(), ["started", "initialize", "session", "last", "5"]);
        let decisions = ended.decisions("tool").into_iter().map(str::to_owned).collect::<Vec<_>>();
        decisions.join(" ")
    };
    assert_eq!(story("[permissions]\ndeny = [\"shell(echo *)\"]\n", "the-reject_once"), "deny");
    assert_eq!(story("", "the-allow_once"), "allow");
}

#[test]
fn an_agent_without_a_login_gets_no_prompt() {
    let agent = AcpAgent::default().result("windlass-initialize", &json!({ "protocolVersion": 1 })).error(
        "windlass-session",
        -32000,
        "Authentication required",
    );
    let stage = Stage::with_fake(&agent);
    let ended = stage.run(&[]);
    ended.assert_ended(4, "failed", "agent_failed", 0);
    let detail = ended.of("run.finished")[0]["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("Authentication required"), "{detail}");
    assert_eq!(stage.heard(), ["started", "initialize", "session"]);
}

#[test]
fn a_cancelled_agent_is_told_so_and_nothing_is_left() {
    let agent = AcpAgent::new().say("windlass-last", &[&chunk("Wait"), &asks(1, "sleep 1")]);
    let stage = Stage::with_fake(&agent);
    stage.settings("on_permission = \"ask\"\n[permissions]\nask = [\"shell\"]\n");
    let started = stage.start(&[]);
    let run = started.wait_for("run.started")["run"].as_str().unwrap().to_owned();
    started.wait_for("run.waiting");
    let cancelled = stage.call(&["cancel", &run], &[]).end();
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.story());
    let ended = started.end();
    assert_eq!(ended.of("run.finished")[0]["status"], "cancelled", "{}", ended.story());
    assert_eq!(stage.heard(), ["started", "initialize", "session", "last", "session/cancel"]);
    let cancel = heard(&stage.sealed).pop().unwrap();
    assert!(cancel.contains(r#""params":{"sessionId":"s-1"}"#), "{cancel}");
    stage.assert_nobody_left();
}

#[test]
fn the_user_must_name_the_agent() {
    let sealed = Sealed::new();
    let mut command = sealed.windlass();
    command.args(["loop", "x", "--driver", "acp"]).stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert!(said.contains(r#"--agent-bin "opencode acp""#), "{said}");
    let mut command = sealed.windlass();
    command.args(["loop", "x", "--driver", "acp", "--agent-bin", "agent 'x"]).stdin(Stdio::null());
    let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(said.contains("a quote that is never closed"), "{said}");
}
