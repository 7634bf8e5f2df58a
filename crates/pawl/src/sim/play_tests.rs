//! Whole plays in this process: turns, hooks, tools, sessions and faults.

use serde_json::{Value, json};

use super::log::ModelRequest;
use super::play::PlayEnding;
use super::rehearsal::{NOTE, RehearsedScript};

const ALLOW: &str =
    r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'"#;
/// Blocks twice, then lets the agent stop.
const BLOCK_TWICE: &str = r#"n=$(cat n 2>/dev/null || echo 0); [ "$n" -ge 2 ] && exit 0
    echo $((n + 1)) > n; echo "{\"decision\":\"block\",\"reason\":\"reason $n\"}""#;

#[test]
fn a_turn_does_its_steps_and_ends_well() {
    let rehearsal = RehearsedScript::of_steps(json!([
        {"think": "hm"}, {"say": "now"}, {"write": {"path": "d/a", "content": "one ${ITERATION}\n"}},
        {"append": {"path": "d/a", "content": "two"}}, {"replace": {"path": "d/a", "old": "one", "new": "eins"}},
        {"bash": "cat d/a; pwd"}, {"tool": {"name": "WebFetch", "input": {"url": "x"}}}, {"say": "done"},
    ]));
    let played = rehearsal.play();
    assert_eq!((played.ending, played.err.as_str()), (PlayEnding::Exit(0), ""));
    assert_eq!(rehearsal.text("d/a"), "eins 1\ntwo");
    let result = played.result();
    assert_eq!((&result["result"], &result["terminal_reason"]), (&json!("done"), &json!("completed")));
    assert_eq!(result["num_turns"], 6);
    assert_eq!(result["usage"]["input_tokens"], 600);
    let names: Vec<Value> = played
        .of_kind("assistant")
        .iter()
        .map(|event| event["message"]["content"][0]["name"].clone())
        .filter(|name| !name.is_null())
        .collect();
    assert_eq!(names, ["Write", "Edit", "Edit", "Bash", "WebFetch"]);
}

#[test]
fn an_answer_is_held_to_its_schema_and_ends_the_session() {
    let schema = r#"{"type":"object","properties":{"n":{"type":["integer","null"]}},"required":["n"]}"#;
    let steps = json!([
        {"structured": {"n": "${ITERATION}"}}, {"structured": {"n": null, "by": "${SESSION}"}}, {"say": "never"},
    ]);
    let block = format!("{NOTE}; echo no >&2; exit 2");
    let rehearsal = RehearsedScript::of_steps(steps)
        .with(&["--json-schema", schema, "--session-id", "s"])
        .hooks(&[("Stop", &block), ("PreToolUse", NOTE)]);
    let played = rehearsal.play();
    assert_eq!((played.ending, played.err.as_str()), (PlayEnding::Exit(0), ""));
    assert_eq!(played.result()["structured_output"], json!({"n": null, "by": "s"}));
    assert_eq!(rehearsal.requests().len(), 1);
    let refused = played.tool_result();
    assert_eq!(
        (&refused["is_error"], &refused["content"]),
        (
            &json!(true),
            &json!("Output does not match required schema: $.n: must be an integer or null, not a string")
        )
    );
    let told: Vec<Value> = rehearsal.lines().iter().map(|call| call["hook_event_name"].clone()).collect();
    assert_eq!(told, ["PreToolUse", "PreToolUse", "Stop"]);
    let tools = played.events()[0]["tools"].as_array().unwrap().clone();
    assert!(tools.contains(&json!("StructuredOutput")));
}

#[test]
fn without_a_schema_there_is_no_tool_for_an_answer() {
    let steps = json!([{"structured": {"a": 1}}, {"say": "done"}]);
    let rehearsal = RehearsedScript::of_steps(steps).hooks(&[("PreToolUse", NOTE)]);
    let played = rehearsal.play();
    assert!(played.tool_result()["content"].as_str().unwrap().contains("No such tool available"));
    assert_eq!(played.result()["result"], "done");
    assert_eq!(played.result().get("structured_output"), None);
    assert_eq!(rehearsal.lines(), Vec::<Value>::new());
    let played = RehearsedScript::of_steps(json!([])).with(&["--json-schema", "true"]).play();
    assert_eq!(
        (played.ending, played.err.as_str()),
        (PlayEnding::Exit(1), "Error: --json-schema must be a JSON object\n")
    );
}

#[test]
fn the_log_holds_the_prompt_byte_for_byte() {
    let prompt = "--x {input} {{x}} $ARGUMENTS \"q\"\n\nend\n";
    let rehearsal = RehearsedScript::of_steps(json!([])).prompt(prompt).with(&["--session-id", "s-1"]);
    let rehearsal = rehearsal.env("WINDLASS_ITERATION", "3").env("WINDLASS_ATTEMPT", "2");
    rehearsal.play();
    let session = "s-1".to_owned();
    let expected = ModelRequest {
        node: String::new(),
        task: None,
        iteration: 3,
        attempt: 2,
        session,
        resumed: false,
        turn: 1,
        prompt: prompt.to_owned(),
        system: None,
    };
    assert_eq!(rehearsal.requests(), [expected]);
}

#[test]
fn a_blocked_stop_is_the_next_turn_with_the_reason_as_prompt() {
    let rehearsal = RehearsedScript::of(json!({"turns": [
        {"steps": [{"say": "answer 1"}]}, {"steps": [{"say": "answer 2"}]}, {"steps": [{"say": "answer 3"}]},
    ]}));
    let rehearsal =
        rehearsal.hooks(&[("Stop", &format!("{NOTE}; {BLOCK_TWICE}"))]).env("WINDLASS_ATTEMPT", "4");
    let played = rehearsal.play();
    let asked: Vec<_> =
        rehearsal.requests().into_iter().map(|r| (r.iteration, r.attempt, r.turn, r.prompt)).collect();
    let expected = [(1, 4, 1, "do it"), (2, 1, 2, "reason 0"), (3, 1, 3, "reason 1")];
    assert_eq!(asked, expected.map(|(i, a, t, p)| (i, a, t, p.to_owned())));
    let active: Vec<Value> = rehearsal.lines().iter().map(|told| told["stop_hook_active"].clone()).collect();
    assert_eq!(active, [false, true, true]);
    assert_eq!((&played.result()["result"], &played.result()["num_turns"]), (&json!("answer 3"), &json!(3)));
    let told = played.of_kind("user");
    assert_eq!(told[0]["message"]["content"][0]["text"], "Stop hook feedback:\nreason 0");
}

#[test]
fn the_ninth_block_in_a_row_is_overridden() {
    let block = r#"echo '{"decision":"block","reason":"more"}'"#;
    let rehearsal = RehearsedScript::of_steps(json!([{"say": "a"}])).hooks(&[("Stop", block)]);
    let played = rehearsal.play();
    assert_eq!(rehearsal.requests().len(), 9);
    let result = played.result();
    assert_eq!(
        (&result["result"], &result["num_turns"], &result["subtype"]),
        (&json!(""), &json!(10), &json!("success"))
    );
    assert_eq!(played.ending, PlayEnding::Exit(0));
}

#[test]
fn without_a_cap_the_hook_decides_alone() {
    let block = r#"[ "$(wc -l < log.jsonl)" -ge 20 ] || echo '{"decision":"block","reason":"more"}'"#;
    let rehearsal = RehearsedScript::of_steps(json!([{"say": "a"}])).hooks(&[("Stop", block)]);
    let rehearsal = rehearsal.env("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "0");
    assert_eq!(rehearsal.play().result()["result"], "a");
    assert_eq!(rehearsal.requests().len(), 20);
}

#[test]
fn a_denied_tool_is_not_used_and_the_model_is_told_why() {
    let deny = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not here"}}'"#;
    for (hook, told) in [(deny, "not here"), ("echo gone >&2; exit 2", "[echo gone >&2; exit 2]: gone")] {
        let rehearsal =
            RehearsedScript::of_steps(json!([{"bash": "touch made"}])).hooks(&[("PreToolUse", hook)]);
        let played = rehearsal.play();
        assert!(!rehearsal.path("made").exists());
        let result = played.tool_result();
        assert_eq!(
            (&result["content"], &result["is_error"]),
            (&json!(format!("PreToolUse:Bash hook error: {told}")), &json!(true))
        );
        assert_eq!(played.result()["permission_denials"][0]["tool_input"]["command"], "touch made");
        assert_eq!(played.ending, PlayEnding::Exit(0));
    }
}

#[test]
fn in_default_mode_a_tool_needs_somebodys_word() {
    let steps = json!([{"bash": "touch made"}]);
    let unasked = RehearsedScript::of_steps(steps.clone()).with(&["--permission-mode", "default"]);
    unasked.play();
    assert!(!unasked.path("made").exists());
    let broken = RehearsedScript::of_steps(steps.clone())
        .with(&["--permission-mode", "default"])
        .hooks(&[("PreToolUse", "exit 1")]);
    broken.play();
    assert!(!broken.path("made").exists());
    let allowed = RehearsedScript::of_steps(steps.clone())
        .with(&["--permission-mode", "default"])
        .hooks(&[("PreToolUse", ALLOW)]);
    allowed.play();
    assert!(allowed.path("made").exists());
    let bypassed = RehearsedScript::of_steps(steps).hooks(&[("PreToolUse", "exit 1")]);
    bypassed.play();
    assert!(bypassed.path("made").exists());
}

#[test]
fn a_hook_may_change_what_a_tool_does() {
    let change = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"touch other"}}}'"#;
    let rehearsal =
        RehearsedScript::of_steps(json!([{"bash": "touch made"}])).hooks(&[("PreToolUse", change)]);
    rehearsal.play();
    assert!(rehearsal.path("other").exists() && !rehearsal.path("made").exists());
}

#[test]
fn an_answer_reaches_the_model_and_the_script() {
    let answer = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"questions":[],"answers":{"Which?":"Blue"}}}}'"#;
    let steps =
        json!([{"ask": {"question": "Which?", "options": ["Red", "Blue"]}}, {"say": "So ${ANSWER}."}]);
    let played = RehearsedScript::of_steps(steps.clone()).hooks(&[("PreToolUse", answer)]).play();
    assert!(played.tool_result()["content"].as_str().unwrap().contains("\"Which?\"=\"Blue\""));
    assert_eq!(played.result()["result"], "So Blue.");
    assert_eq!(RehearsedScript::of_steps(steps).play().tool_result()["is_error"], true);
}

#[test]
fn the_tracker_is_found_in_the_prompt_and_remembered() {
    let rehearsal = RehearsedScript::of_steps(json!([{"tracker": {"append": "<!-- X -->"}}]));
    let tracker = rehearsal.path("loop-tracker.md");
    std::fs::write(&tracker, "# Progress").unwrap();
    let prompt = format!("Read the tracker at {}.", tracker.display());
    let rehearsal = rehearsal.prompt(&prompt).hooks(&[("Stop", BLOCK_TWICE)]).with(&["--session-id", "s"]);
    rehearsal.play();
    assert_eq!(rehearsal.text("loop-tracker.md"), "# Progress\n<!-- X -->\n<!-- X -->\n<!-- X -->\n");
    let mut resumed = rehearsal.prompt("go on");
    let flag = resumed.args.iter_mut().find(|arg| *arg == "--session-id").unwrap();
    *flag = "--resume".to_owned();
    assert_eq!(resumed.play().err, "");
    assert_eq!(resumed.text("loop-tracker.md").lines().count(), 5);
    assert!(resumed.requests().last().unwrap().resumed);
}

#[test]
fn without_a_tracker_in_the_prompt_its_step_is_a_mistake() {
    let played = RehearsedScript::of_steps(json!([{"tracker": {"write": "x"}}])).play();
    assert_eq!(
        (played.ending, played.err.as_str()),
        (PlayEnding::Exit(1), "Error: no prompt of this session names a tracker\n")
    );
}

#[test]
fn a_prompt_never_becomes_shell_code() {
    let steps = json!([{"bash": "printf %s \"${PROMPT}\" > seen"}]);
    let prompt = "$(touch made); \"; touch made; '";
    let rehearsal = RehearsedScript::of_steps(steps).prompt(prompt);
    rehearsal.play();
    assert_eq!(rehearsal.text("seen"), prompt);
    assert!(!rehearsal.path("made").exists());
}

#[test]
fn a_session_id_is_used_once() {
    let rehearsal = RehearsedScript::of_steps(json!([])).with(&["--session-id", "s"]);
    rehearsal.play();
    let again = rehearsal.play();
    assert_eq!((again.ending, again.out.len()), (PlayEnding::Exit(1), 0));
    assert_eq!(again.err, "Error: Session ID s is already in use.\n");
    assert_eq!(rehearsal.requests().len(), 1);
}

#[test]
fn a_session_nobody_knows_cannot_be_resumed() {
    let played = RehearsedScript::of_steps(json!([])).with(&["--resume", "s"]).play();
    assert_eq!(played.ending, PlayEnding::Exit(1));
    assert_eq!(played.events().len(), 1);
    let result = played.result();
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("error_during_execution"), &json!(true)));
    assert_eq!(result["errors"], json!(["No conversation found with session ID: s"]));
}

#[test]
fn a_rate_limit_is_reported_with_its_end_if_known() {
    let hooked =
        |limit: Value| RehearsedScript::of_steps(json!([{"rate_limit": limit}])).hooks(&[("Stop", NOTE)]);
    let rehearsal = hooked(json!({"resets_at_ms": 1_800_000_000_500_i64}));
    let played = rehearsal.play();
    let event = played.of_kind("rate_limit_event").pop().unwrap();
    assert_eq!(event["rate_limit_info"]["status"], "rejected");
    assert_eq!(event["rate_limit_info"]["resetsAt"], 1_800_000_001_i64);
    let result = played.result();
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)));
    assert_eq!((&result["api_error_status"], &result["terminal_reason"]), (&json!(429), &json!("api_error")));
    assert_eq!(played.ending, PlayEnding::Exit(1));
    assert!(rehearsal.lines().is_empty(), "Stop is not asked");
    let event = hooked(json!({})).play().of_kind("rate_limit_event").pop().unwrap();
    assert_eq!(event["rate_limit_info"].get("resetsAt"), None);
}

#[test]
fn a_stop_while_a_subagent_runs_gives_two_results_at_the_end() {
    let hooks = ["Stop", "SubagentStop", "UserPromptSubmit"].map(|name| (name, NOTE));
    let steps = json!([{"say": "started"}, {"background_stop": true}, {"say": "all done"}]);
    let rehearsal = RehearsedScript::of_steps(steps).hooks(&hooks);
    let played = rehearsal.play();
    let told: Vec<(Value, usize)> = rehearsal
        .lines()
        .iter()
        .map(|told| {
            (told["hook_event_name"].clone(), told["background_tasks"].as_array().map_or(0, Vec::len))
        })
        .collect();
    let expected =
        [("UserPromptSubmit", 0), ("Stop", 1), ("SubagentStop", 1), ("UserPromptSubmit", 0), ("Stop", 0)];
    assert_eq!(told, expected.map(|(name, tasks)| (json!(name), tasks)));
    let results = played.of_kind("result");
    assert_eq!(results.len(), 2);
    assert_eq!((&results[0]["result"], &results[1]["result"]), (&json!("started"), &json!("all done")));
    assert_eq!(
        (&results[1]["result_index"], &results[1]["origin"]["kind"]),
        (&json!(1), &json!("task-notification"))
    );
    assert_eq!(rehearsal.requests().len(), 1);
}

#[test]
fn a_subagent_may_be_kept_from_stopping() {
    let rehearsal = RehearsedScript::of_steps(json!([{"subagent_stop": true}, {"say": "end"}]));
    let rehearsal =
        rehearsal.hooks(&[("SubagentStop", &format!("{NOTE}; {BLOCK_TWICE}")), ("PreToolUse", NOTE)]);
    assert_eq!(rehearsal.play().result()["result"], "end");
    let told = rehearsal.lines();
    assert_eq!(told[0]["tool_name"], "Agent");
    let active: Vec<&Value> = told[1..].iter().map(|told| &told["stop_hook_active"]).collect();
    assert_eq!(active, [false, true, true]);
}

#[test]
fn a_broken_transport_means_tools_without_any_hook() {
    let names = ["SessionStart", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"];
    let rehearsal = RehearsedScript::of_steps(json!([{"skip_hooks": true}, {"bash": "touch made"}]));
    let rehearsal = rehearsal.hooks(&names.map(|name| (name, NOTE))).with(&["--permission-mode", "default"]);
    assert_eq!(rehearsal.play().of_kind("assistant").len(), 1);
    assert!(rehearsal.path("made").exists());
    assert!(rehearsal.lines().is_empty());
}

#[test]
fn faults_in_the_stream_are_written_as_they_are() {
    let steps = json!([{"garbage": "not json"}, {"garbage": {"bytes": [255, 254]}}, {"big_line": 5_000_000}, {"half_line": true}]);
    let played = RehearsedScript::of_steps(steps).play();
    assert_eq!(played.ending, PlayEnding::Exit(1));
    let lines: Vec<&[u8]> = played.out.split(|byte| *byte == b'\n').collect();
    assert_eq!(lines[1], b"not json");
    assert_eq!(lines[2], [255, 254]);
    assert!(lines[3].len() > 5_000_000);
    assert!(!lines[4].is_empty() && serde_json::from_slice::<Value>(lines[4]).is_err());
}

#[test]
fn a_result_can_be_written_over() {
    let turn = json!({"steps": [{"say": "a"}], "usage": {"input_tokens": 7}, "cost_usd": 1.5,
        "result": {"terminal_reason": "max_turns", "exit_code": 9}});
    let played = RehearsedScript::of(json!({"turns": [turn]})).play();
    let result = played.result();
    assert_eq!((&result["terminal_reason"], result.get("exit_code")), (&json!("max_turns"), None));
    assert_eq!((&result["usage"]["input_tokens"], &result["total_cost_usd"]), (&json!(7), &json!(1.5)));
    assert_eq!(played.ending, PlayEnding::Exit(9));
}

#[test]
fn a_commit_holds_everything_that_was_done() {
    let rehearsal = RehearsedScript::of_steps(json!([
        {"bash": "git init -q ."}, {"write": {"path": "a", "content": "x"}}, {"commit": "it's done"},
        {"bash": "git log --format=%s; git status --short"},
    ]));
    let played = rehearsal.play();
    let last = played.of_kind("user").pop().unwrap();
    assert_eq!(last["message"]["content"][0]["content"], "it's done");
}

#[test]
fn a_plugin_brings_its_own_hooks() {
    let rehearsal = RehearsedScript::of_steps(json!([{"say": "a"}])).with(&["--plugin-dir", "plugin"]);
    std::fs::create_dir_all(rehearsal.path("plugin/hooks")).unwrap();
    let hook = json!({"type": "command", "command": "touch \"${CLAUDE_PLUGIN_ROOT}/stopped\""});
    let hooks = json!({"hooks": {"Stop": [{"hooks": [hook]}]}});
    std::fs::write(rehearsal.path("plugin/hooks/hooks.json"), hooks.to_string()).unwrap();
    rehearsal.play();
    assert!(rehearsal.path("plugin/stopped").exists());
}

#[test]
fn the_demo_fails_its_test_first_and_then_passes() {
    let demo: Value = serde_json::from_str(super::DEMO_SCRIPT).unwrap();
    let mut quick = demo;
    quick["delay_ms"] = json!(0);
    let rehearsal = RehearsedScript::of(quick);
    let tracker = rehearsal.path("loop-tracker.md");
    std::fs::write(&tracker, "# Loop Progress\n\n_In progress_").unwrap();
    let test = "sh ./test.sh > checked 2>&1; echo $? >> checked; git init -q . 2>/dev/null";
    let prompt = format!("Write a greeting. The tracker is {}.", tracker.display());
    let rehearsal =
        rehearsal.prompt(&prompt).hooks(&[("SessionStart", "git init -q ."), ("SessionEnd", test)]);
    assert_eq!(rehearsal.play().err, "");
    assert_eq!(
        rehearsal.text("checked"),
        "ok: Hello, Ada!\nFAIL: expected 'Hello, world!', got 'Hello, !'\n1\n"
    );
    assert!(rehearsal.text("loop-tracker.md").ends_with("\n<!-- WORKFLOW_COMPLETE -->\n"));
    let rehearsal = rehearsal.env("WINDLASS_ITERATION", "2");
    assert_eq!(rehearsal.play().result()["is_error"], false);
    assert!(rehearsal.text("checked").ends_with("ok: Hello, world!\n0\n"));
}
