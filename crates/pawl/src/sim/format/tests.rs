//! The lines of each format have the kinds and keys of lines that the real CLI wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use crate::sim::play::PlayEnding;
use crate::sim::rehearsal::{Played, RehearsedScript};

/// Reads a recording of the real CLI.
fn recorded(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/tests/recordings").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The kind of a line, with that of what it is about.
fn kind(line: &Value) -> String {
    let inner = ["/item/type", "/part/type", "/params/update/sessionUpdate", "/role", "/severity"];
    let inner = inner.iter().find_map(|path| line.pointer(path)?.as_str()).unwrap_or_default();
    let outer = line["type"].as_str().or(line["method"].as_str());
    match (outer, inner) {
        (Some(outer), "") => outer.to_owned(),
        (Some(outer), inner) => format!("{outer}:{inner}"),
        (None, _) => format!("response {}", if line["error"].is_null() { "result" } else { "error" }),
    }
}

fn kinds(lines: &[Value]) -> Vec<String> {
    lines.iter().map(kind).collect()
}

/// The keys of a line, but not those below inputs, models and headers, which are free.
fn keys(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    const FREE: &[&str] = &[
        ".models",
        ".input",
        ".rawInput",
        ".parameters",
        ".arguments",
        ".responseHeaders",
        ".metadata",
        ".rawOutput",
        ".shellToolInfo",
        ".agentCapabilities",
        ".configOptions",
        ".authMethods",
        ".availableModels",
    ];
    if let Value::Object(map) = value {
        for (key, value) in map {
            let path = format!("{at}.{key}");
            into.insert(path.clone());
            if !FREE.iter().any(|free| path.ends_with(free)) {
                keys(value, &path, into);
            }
        }
    }
    if let Value::Array(items) = value {
        items.iter().for_each(|item| keys(item, &format!("{at}[]"), into));
    }
}

/// The keys of all lines of each kind.
fn keys_by_kind(lines: &[Value]) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in lines {
        keys(line, "", all.entry(kind(line)).or_default());
    }
    all
}

/// Asserts that each line of ours has only keys that the CLI writes in lines of its kind. `extra` are keys that no
/// recording has.
#[track_caller]
fn assert_keys(ours: &[Value], recordings: &[&str], extra: &[&str]) {
    let theirs: Vec<Value> = recordings.iter().flat_map(|name| recorded(name)).collect();
    let theirs = keys_by_kind(&theirs);
    for (kind, keys) in keys_by_kind(ours) {
        let Some(known) = theirs.get(&kind) else { panic!("no recording has a line of the kind `{kind}`") };
        let odd: Vec<&String> =
            keys.iter().filter(|key| !known.contains(*key) && !extra.contains(&key.as_str())).collect();
        assert!(odd.is_empty(), "{kind} has keys that no recording has: {odd:?}");
    }
}

/// Asserts that ours are the kinds of a recording in its order, without those in `without`.
#[track_caller]
fn assert_order(ours: &[Value], recording: &str, without: &[&str]) {
    let kept = |lines: &[Value]| -> Vec<String> {
        kinds(lines).into_iter().filter(|kind| !without.contains(&kind.as_str())).collect()
    };
    assert_eq!(kept(ours), kept(&recorded(recording)), "{recording}");
}

#[track_caller]
fn well(played: &Played) -> Vec<Value> {
    assert_eq!((played.ending, played.err.as_str()), (PlayEnding::Exit(0), ""));
    played.events()
}

const CODEX: &[&str] = &["exec", "--json", "--skip-git-repo-check", "-"];
const OPENCODE: &[&str] = &["run", "--format", "json"];
const COPILOT: &[&str] = &["--session-id=s", "--output-format", "json", "--allow-all-tools"];
const GEMINI: &[&str] = &["--output-format", "stream-json", "--session-id", "s", "--model", "m"];

fn play(format: &'static str, args: &[&str], steps: Value) -> Played {
    RehearsedScript::of_steps(steps).in_format(format, args).play()
}

#[test]
fn codex_writes_what_was_recorded() {
    let steps = json!([{"say": "working"}, {"bash": "echo hello > a.txt"}, {"say": "all good"}]);
    let lines = well(&play("codex", CODEX, steps));
    assert_order(&lines, "codex/shell.jsonl", &["item.completed:error"]);
    assert_keys(&lines, &["codex/shell.jsonl"], &[]);
    assert_eq!(lines[3]["item"]["command"], "/bin/bash -lc 'echo hello > a.txt'");
    let steps = json!([
        {"think": "hm"}, {"tool": {"name": "mcp__probe__ping", "input": {"x": "1"}, "result": "pong"}},
        {"tool": {"name": "WebSearch", "input": {"query": "what is x"}}}, {"subagent_stop": true}, {"say": "over"},
    ]);
    let lines = well(&play("codex", CODEX, steps));
    let free = ".item.agents_states";
    assert_keys(&lines, &["codex/subagent.jsonl", "codex/retried.jsonl"], &[free]);
}

#[test]
fn codex_reports_failures_as_recorded() {
    for (error, recording) in [
        (json!({"api_error": {"status": 401, "message": "fake scripted HTTP 401"}}), "codex/http-401.jsonl"),
        (json!({"api_error": {"status": 429}}), "codex/http-429.jsonl"),
        (json!({"api_error": {"status": 500}}), "codex/http-500.jsonl"),
        (json!({"rate_limit": {"resets_in_ms": 3_600_000}}), "codex/http-429.jsonl"),
    ] {
        let played = play("codex", CODEX, json!([error]));
        assert_eq!(played.ending, PlayEnding::Exit(1));
        assert_order(&played.events(), recording, &["item.completed:error"]);
        assert_keys(&played.events(), &[recording], &[]);
    }
    let same = play("codex", CODEX, json!([{"api_error": {"status": 429}}])).events();
    assert_eq!(same[2]["message"], recorded("codex/http-429.jsonl")[2]["message"]);
}

#[test]
fn codex_counts_the_tokens_of_the_whole_thread() {
    let turn = json!({"steps": [{"say": "a"}], "usage": {"input": 7, "output": 3, "cache_read": 2}});
    let mut rehearsal = RehearsedScript::of(json!({"turns": [turn]})).in_format("codex", CODEX);
    let first = well(&rehearsal.play());
    let thread = first[0]["thread_id"].as_str().unwrap().to_owned();
    rehearsal = rehearsal.in_format("codex", &["exec", "--json", "resume", &thread, "-"]);
    let again = well(&rehearsal.play());
    assert_eq!(again[0]["thread_id"], first[0]["thread_id"]);
    let usage = |lines: &[Value]| {
        let usage = &lines.last().unwrap()["usage"];
        [&usage["input_tokens"], &usage["cached_input_tokens"], &usage["output_tokens"]].map(Value::clone)
    };
    assert_eq!((usage(&first), usage(&again)), ([9, 2, 3].map(Value::from), [18, 4, 6].map(Value::from)));
    rehearsal = rehearsal.in_format("codex", &["exec", "resume", "01a1-unknown", "-"]);
    let unknown = rehearsal.play();
    assert!(unknown.err.contains("no rollout found for thread id 01a1-unknown"), "{}", unknown.err);
}

#[test]
fn codex_runs_no_hooks_that_nobody_reviewed() {
    let deny = "\"echo no >&2; exit 2\"";
    let hooks =
        format!("[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = {deny}\n");
    for (flag, is_made) in [("--json", true), ("--dangerously-bypass-hook-trust", false)] {
        let rehearsal = RehearsedScript::of_steps(json!([{"bash": "touch made"}, {"say": "x"}]));
        std::fs::create_dir(rehearsal.path(".codex")).unwrap();
        std::fs::write(rehearsal.path(".codex/layer.config.toml"), &hooks).unwrap();
        let rehearsal = rehearsal.in_format("codex", &["exec", flag, "--profile", "layer", "-"]);
        let lines = well(&rehearsal.play());
        assert_eq!(rehearsal.path("made").exists(), is_made);
        let has_item = kinds(&lines).contains(&"item.started:command_execution".to_owned());
        assert_eq!(has_item, is_made, "a refused call leaves no item");
    }
}

#[test]
fn opencode_writes_what_was_recorded() {
    let without = ["windlass_start", "windlass_tool"];
    let steps = json!([{"bash": "echo a > a.txt"}, {"say": "all done"}]);
    let lines = well(&play("opencode", OPENCODE, steps));
    assert_order(&lines, "opencode/tool.jsonl", &without);
    assert_keys(&lines, &["opencode/tool.jsonl"], &[]);
    // A turn that ends with a tool has one more answer, which is empty.
    let lines = well(&play("opencode", OPENCODE, json!([{"bash": "true"}])));
    assert_eq!(kinds(&lines).last().unwrap(), "step_finish:step-finish");
    assert_eq!(lines.last().unwrap()["part"]["reason"], "stop");
    assert_eq!(lines.last().unwrap()["part"]["tokens"]["total"], 0);
    let played = play("opencode", OPENCODE, json!([{"api_error": {"status": 401, "message": "no"}}]));
    assert_eq!(played.ending, PlayEnding::Exit(1));
    assert_keys(&played.events(), &["opencode/unauthorized.jsonl"], &[]);
}

#[test]
fn opencode_speaks_for_the_plugin_of_windlass() {
    let hook = "#!/bin/sh\ncat > payload\necho '{\"decision\":\"deny\",\"reason\":\"not here\"}'\n";
    let rehearsal = RehearsedScript::of_steps(json!([{"bash": "touch made"}, {"say": "then not"}]));
    let program = rehearsal.path("hook");
    std::fs::write(&program, hook).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let turn = json!({
        "windlass": program, "cwd": rehearsal.path(""), "holds": false, "gate": "**",
        "database": rehearsal.path("first.db"), "env": {}, "restore": {}, "tidy": [],
    });
    std::fs::write(rehearsal.path("windlass.js"), format!("const turn = {turn}\n// and more\n")).unwrap();
    let content = json!({"plugin": [rehearsal.path("windlass.js")]}).to_string();
    let rehearsal = rehearsal.in_format("opencode", OPENCODE).env("OPENCODE_CONFIG_CONTENT", &content);
    let lines = well(&rehearsal.play());
    assert_order(&lines, "opencode/denied.jsonl", &[]);
    assert_keys(&lines, &["opencode/denied.jsonl"], &[]);
    assert!(!rehearsal.path("made").exists());
    let payload: Value = serde_json::from_str(&rehearsal.text("payload")).unwrap();
    assert_eq!((&payload["tool"], &payload["input"]["command"]), (&json!("bash"), &json!("touch made")));
    let session = lines[0]["sessionID"].as_str().unwrap();
    assert!(rehearsal.path(&format!("{session}.db")).exists(), "a later turn finds the database");
}

#[test]
fn opencode_without_the_plugin_uses_no_tool_that_the_rules_deny() {
    let rehearsal = RehearsedScript::of_steps(json!([{"bash": "touch made"}, {"say": "x"}]));
    let rehearsal = rehearsal.in_format("opencode", OPENCODE).env("OPENCODE_PERMISSION", r#"{"**":"deny"}"#);
    well(&rehearsal.play());
    assert!(!rehearsal.path("made").exists());
}

#[test]
fn copilot_writes_what_was_recorded() {
    let steps = json!([{"bash": "echo n > denied.txt"}, {"say": "tried"}]);
    // The CLI reports more of its progress than the sim does.
    let progress = ["model.call_finished", "session.background_tasks_changed"];
    let denied = play("copilot", &["--session-id=s", "--output-format", "json"], steps.clone());
    let mut without = progress.to_vec();
    without.push("model.call_final_result");
    assert_order(&well(&denied), "copilot/denied.jsonl", &without);
    assert_keys(&denied.events(), &["copilot/denied.jsonl"], &[]);
    assert_eq!(
        denied.events().iter().find(|line| line["type"] == "tool.execution_complete").unwrap()["data"]["error"],
        recorded("copilot/denied.jsonl")
            .iter()
            .find(|line| line["type"] == "tool.execution_complete")
            .unwrap()["data"]["error"],
    );
    let steps = json!([
        {"bash": "true"}, {"write": {"path": "b.txt", "content": "x"}}, {"think": "hm"},
        {"tool": {"name": "mcp__echo__say_it", "input": {"text": "yo"}}}, {"say": "all good"},
    ]);
    let lines = well(&play("copilot", COPILOT, steps));
    let extra = [".data.reasoningText"];
    assert_keys(&lines, &["copilot/tool-call.jsonl", "copilot/mcp.jsonl"], &extra);
    let parents =
        lines.windows(2).filter(|pair| pair[0]["ephemeral"].is_null() && !pair[1]["parentId"].is_null());
    parents.for_each(|pair| assert_eq!(pair[1]["parentId"], pair[0]["id"]));
}

#[test]
fn copilot_sums_up_its_usage_in_a_file() {
    let turn = json!({"steps": [{"say": "a"}], "usage": {"input": 7, "output": 3, "cache_read": 2}});
    let mut rehearsal = RehearsedScript::of(json!({"turns": [turn]}));
    let usage = |rehearsal: &RehearsedScript| {
        let file: Value = serde_json::from_str(&rehearsal.text("u.json")).unwrap();
        file["modelMetrics"]["m"]["usage"].clone()
    };
    let args = |session: &'static str| [session, "--model=m", "--usage-output-file", "u.json"];
    let place = |rehearsal: &RehearsedScript| rehearsal.path("u.json").display().to_string();
    let file = place(&rehearsal);
    let with = |words: [&'static str; 4]| {
        words.map(|word| if word == "u.json" { file.clone() } else { word.to_owned() })
    };
    for (session, count) in [("--session-id=s", 1), ("--resume=s", 2)] {
        let words = with(args(session));
        rehearsal = rehearsal.in_format("copilot", &words.each_ref().map(String::as_str));
        well(&rehearsal.play());
        let usage = usage(&rehearsal);
        assert_eq!(
            (&usage["inputTokens"], &usage["cacheReadTokens"]),
            (&json!(9 * count), &json!(2 * count))
        );
    }
}

#[test]
fn copilot_reports_failures_as_recorded() {
    for (error, recording, extra) in [
        (json!({"api_error": {"status": 400, "message": "no"}}), "copilot/http-400.jsonl", &[][..]),
        (json!({"api_error": {"status": 429}}), "copilot/http-429.jsonl", &[]),
    ] {
        let played = play("copilot", COPILOT, json!([error]));
        assert_eq!(played.ending, PlayEnding::Exit(1));
        assert_keys(&played.events(), &[recording, "copilot/http-400.jsonl"], extra);
        let last: Vec<String> = kinds(&recorded(recording)).into_iter().rev().take(5).collect();
        assert_eq!(kinds(&played.events()).into_iter().rev().take(5).collect::<Vec<_>>(), last);
    }
}

#[test]
fn gemini_writes_what_was_recorded() {
    let steps = json!([
        {"say": "working"}, {"bash": "echo hello > a.txt"}, {"write": {"path": "b.txt", "content": "x"}},
        {"say": "all good"},
    ]);
    let lines = well(&play("gemini", GEMINI, steps));
    assert_order(&lines, "gemini/tools.jsonl", &[]);
    assert_keys(&lines, &["gemini/tools.jsonl"], &[]);
}

#[test]
fn gemini_calls_the_hooks_of_its_settings() {
    let hook =
        |command: &str| json!([{"hooks": [{"type": "command", "command": command, "timeout": 60_000}]}]);
    let deny = r#"cat > before; echo '{"decision":"deny","reason":"not allowed"}'"#;
    let block =
        r#"cat >> after; echo >> after; [ -e n ] || echo '{"decision":"block","reason":"go on"}'; touch n"#;
    let settings = json!({"hooks": {"BeforeTool": hook(deny), "AfterAgent": hook(block)}}).to_string();
    let rehearsal = RehearsedScript::of(json!({"turns": [
        {"steps": [{"bash": "touch made"}, {"say": "tried"}]}, {"steps": [{"say": "again"}]},
    ]}));
    std::fs::create_dir_all(rehearsal.path(".gemini/extensions/windlass/hooks")).unwrap();
    for file in [".gemini/settings.json", ".gemini/extensions/windlass/hooks/hooks.json"] {
        std::fs::write(rehearsal.path(file), &settings).unwrap();
    }
    let rehearsal = rehearsal.in_format("gemini", GEMINI);
    let lines = well(&rehearsal.play());
    assert_keys(&lines, &["gemini/denied.jsonl", "gemini/stop-block.jsonl"], &[]);
    assert!(!rehearsal.path("made").exists());
    let after: Vec<Value> =
        rehearsal.text("after").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let theirs = recorded("gemini/hooks.jsonl");
    for (ours, theirs) in after.iter().zip(&theirs[1..]) {
        assert_eq!(keys_by_kind(std::slice::from_ref(ours)), keys_by_kind(std::slice::from_ref(theirs)));
        assert_eq!(ours["stop_hook_active"], theirs["stop_hook_active"]);
    }
    assert_eq!(after[1]["prompt_response"], "tried\nagain");
    assert_eq!(after.len(), 2, "the hook is named twice and called once");
}

#[test]
fn gemini_ends_with_the_status_as_its_exit_code() {
    for (status, code, recording) in [
        (400, 144, "gemini/api-400.jsonl"),
        (429, 173, "gemini/api-429.jsonl"),
        (500, 244, "gemini/api-500.jsonl"),
    ] {
        let message = format!("fake scripted HTTP {status}");
        let played = play("gemini", GEMINI, json!([{"api_error": {"status": status, "message": message}}]));
        assert_eq!(played.ending, PlayEnding::Exit(code));
        assert_order(&played.events(), recording, &[]);
        assert_keys(&played.events(), &[recording], &[]);
    }
    let played = play("gemini", GEMINI, json!([{"api_error": {"status": 404, "message": "no such model"}}]));
    assert_eq!(played.ending, PlayEnding::Exit(1));
    assert!(played.err.contains("ModelNotFoundError: no such model"), "{}", played.err);
}

#[test]
fn an_agent_of_the_protocol_writes_what_was_recorded() {
    let request = |id: &str, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let allowed = json!({"jsonrpc": "2.0", "id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "once"}}});
    let input = [
        request("windlass-initialize", "initialize", json!({"protocolVersion": 1})),
        request("windlass-session", "session/new", json!({"cwd": "/", "mcpServers": []})),
        request("windlass-last", "session/prompt", json!({"prompt": [{"type": "text", "text": "go"}]})),
        allowed.to_string(),
    ];
    let steps = json!([{"bash": "echo acp > acp.txt"}, {"say": "acp-done"}]);
    let rehearsal = RehearsedScript::of_steps(steps).in_format("acp", &[]).prompt(&(input.join("\n") + "\n"));
    let lines = well(&rehearsal.play());
    assert_eq!(rehearsal.text("acp.txt"), "acp\n");
    assert_eq!(rehearsal.requests()[0].prompt, "go");
    let noise = ["session/update:available_commands_update", "session/update:usage_update"];
    let repeated = "session/update:tool_call_update";
    let order: Vec<String> = kinds(&lines)
        .into_iter()
        .filter(|kind| !noise.contains(&kind.as_str()) && kind != repeated)
        .collect();
    let mut theirs: Vec<String> = kinds(&recorded("acp/opencode.jsonl"));
    theirs.retain(|kind| order.contains(kind) && kind != repeated);
    theirs.dedup();
    let mut ours = order.clone();
    ours.dedup();
    ours.retain(|kind| kind != "session/request_permission");
    theirs.retain(|kind| kind != "session/request_permission");
    assert_eq!(ours, theirs);
    let recordings =
        ["acp/opencode.jsonl", "acp/opencode-asks.jsonl", "acp/claude.jsonl", "acp/gemini.jsonl"];
    assert_keys(&lines, &recordings, &[]);
}
