//! The arguments, the environment and the files with which the Copilot CLI starts.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::effect::SessionPlan;
use windlass_core::id::{EffectId, NodeId, RunId, Verb};
use windlass_core::spec::{SessionSettings, Spec};
use windlass_core::time::Moment;
use windlass_peers::agent::{Agents, Dialect, Prepared, TurnPaths, TurnRequest, UserEnvironment};

fn copilot() -> Arc<dyn Dialect> {
    Arc::clone(Agents::default().named("copilot").unwrap())
}

fn settings(isolation: &str) -> Value {
    json!({ "driver": { "name": "copilot", "program": "/bin/copilot", "model": null, "args": [] }, "isolation": isolation })
}

fn plan(prompt: &str) -> Value {
    json!({
        "session": "11111111-1111-4111-8111-111111111111", "resume": false, "prompt": prompt,
        "holds_stop": false, "deadline": null,
    })
}

fn prepared(settings: Value, plan: Value, system: Option<&str>, outside: &UserEnvironment<'_>) -> Prepared {
    let spec = json!({
        "workflow": "loop", "seed": "s", "input": "x", "body": [], "sessions": {}, "workspace": "/work space",
        "machine": "m", "policy": { "on_permission": "deny", "on_question": "fail" },
        "checks": [{ "name": "unit", "command": "true" }], "limits": { "check_ms": 60_000 },
    });
    let spec: Spec = serde_json::from_value(spec).unwrap();
    let settings: SessionSettings = serde_json::from_value(settings).unwrap();
    let plan: SessionPlan = serde_json::from_value(plan).unwrap();
    let effect = EffectId { node: NodeId::new("loop"), iteration: 2, attempt: 3, verb: Verb::Session };
    let turn = TurnRequest {
        spec: &spec,
        settings: &settings,
        workspace: &spec.workspace,
        system,
        plan: &plan,
        run: &RunId::new("r1"),
        effect: &effect,
        task: None,
        now: Moment(1_000),
    };
    let paths = TurnPaths {
        dir: Path::new("/run/turn"),
        home: Path::new("/run/home-copilot"),
        socket: Path::new("/s.sock"),
        windlass_exe: Path::new("/b in/windlass"),
    };
    copilot().prepare(&turn, &paths, outside)
}

fn plain(isolation: &str) -> Prepared {
    prepared(settings(isolation), plan("x"), None, &UserEnvironment::default())
}

fn argv(prepared: &Prepared) -> Vec<&str> {
    prepared.launch.argv.iter().map(String::as_str).collect()
}

fn text<'a>(prepared: &'a Prepared, path: &str) -> &'a str {
    let (_, bytes) = prepared.files.iter().find(|(file, _)| file == Path::new(path)).unwrap();
    std::str::from_utf8(bytes).unwrap()
}

fn value<'a>(prepared: &'a Prepared, name: &str) -> Vec<&'a str> {
    let all = prepared.launch.env.iter().filter(|(key, _)| key == name);
    all.map(|(_, value)| value.as_str()).collect()
}

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

const COMMON: [&str; 11] = [
    "/bin/copilot",
    "--session-id=11111111-1111-4111-8111-111111111111",
    "--output-format",
    "json",
    "--no-ask-user",
    "--log-level",
    "error",
    "--usage-output-file",
    "/run/turn/usage.json",
    "--plugin-dir",
    "/run/turn/plugin",
];

#[test]
fn a_preset_is_a_list_of_flags_and_none_allows_all_tools() {
    assert_eq!(argv(&plain("permissive")), COMMON);
    assert_eq!(argv(&plain("minimal")), [&COMMON[..], &["--disable-builtin-mcps"]].concat());
    let strict = [
        "--no-custom-instructions",
        "--disable-builtin-mcps",
        "--allow-tool=write",
        "--available-tools=view,create,edit,apply_patch,grep,rg,glob,bash,write_bash,read_bash,stop_bash,list_bash,sql",
        "--add-dir=/run",
    ];
    assert_eq!(argv(&plain("strict")), [&COMMON[..], &strict].concat());
}

#[test]
fn a_prompt_is_never_an_argument() {
    let prompt = "--help \"{input}\"\n\u{0}".repeat(20_000);
    let prepared = prepared(settings("minimal"), plan(&prompt), None, &UserEnvironment::default());
    assert_eq!(prepared.launch.stdin.as_deref(), Some("/run/turn/input"));
    assert_eq!(text(&prepared, "/run/turn/input"), prompt);
    assert!(argv(&prepared).iter().all(|argument| argument.len() < 200));
}

#[test]
fn a_resumed_session_with_a_role_a_model_and_an_effort() {
    let mut settings = settings("permissive");
    settings["driver"]["args"] = json!(["--stream", "off"]);
    settings["driver"]["model"] = json!("-gpt");
    settings["effort"] = json!("xhigh");
    let mut plan = plan("x");
    plan["resume"] = json!(true);
    let prepared = prepared(settings, plan, Some("You test.\n---\n"), &UserEnvironment::default());
    let argv = argv(&prepared);
    assert_eq!(argv[1], "--resume=11111111-1111-4111-8111-111111111111");
    let last = ["--agent", "windlass:role", "--model=-gpt", "--reasoning-effort", "xhigh", "--stream", "off"];
    assert_eq!(argv[11..], last);
    assert!(text(&prepared, "/run/turn/plugin/agents/role.agent.md").ends_with("\n---\nYou test.\n---\n\n"));
}

#[test]
fn hooks_come_with_a_plugin_of_the_turn() {
    let tool = json!([{ "type": "command", "bash": "exec '/b in/windlass' hook preToolUse --closed", "timeoutSec": 315_360_000 }]);
    let stop = json!([{ "type": "command", "bash": "exec '/b in/windlass' hook agentStop --open", "timeoutSec": 360 }]);
    let hooks = |prepared: &Prepared| -> Value {
        serde_json::from_str(text(prepared, "/run/turn/plugin/hooks.json")).unwrap()
    };
    let expected = json!({ "version": 1, "hooks": { "preToolUse": tool, "agentStop": stop } });
    assert_eq!(hooks(&plain("minimal")), expected);
    assert_eq!(hooks(&plain("permissive")), expected);
    let strict = hooks(&plain("strict"));
    assert_eq!(strict["hooks"]["permissionRequest"][0]["bash"], ":");
    let manifest: Value =
        serde_json::from_str(text(&plain("strict"), "/run/turn/plugin/plugin.json")).unwrap();
    assert_eq!(manifest["name"], "windlass");
}

#[test]
fn variables_that_would_open_the_session_are_set_and_not_only_removed() {
    let users = env(&[
        ("COPILOT_ALLOW_ALL", "true"),
        ("COPILOT_HOME", "/home/me/copilot"),
        ("COPILOT_SKILLS_DIRS", "/skills"),
        ("GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS", "true"),
        ("COPILOT_PROVIDER_API_KEY", "sk-0123456789abcdef"),
        ("COPILOT_GITHUB_TOKEN", "gho_1"),
        ("GITHUB_TOKEN", "ghp_1"),
    ]);
    let outside = UserEnvironment { env: &users, user_settings: None };
    let started = |isolation: &str| prepared(settings(isolation), plan("x"), None, &outside);
    let strict = started("strict");
    assert_eq!(value(&strict, "COPILOT_ALLOW_ALL"), [""]);
    assert_eq!(value(&strict, "COPILOT_HOME"), ["/run/turn/copilot"]);
    assert_eq!(value(&strict, "COPILOT_SKILLS_DIRS"), [""]);
    assert_eq!(value(&strict, "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS"), ["false"]);
    assert_eq!(value(&strict, "GITHUB_COPILOT_PROMPT_MODE_WORKSPACE_MCP"), ["false"]);
    assert_eq!(value(&started("minimal"), "GITHUB_COPILOT_PROMPT_MODE_WORKSPACE_MCP"), ["true"]);
    let permissive = started("permissive");
    assert_eq!(value(&permissive, "COPILOT_SKILLS_DIRS"), ["/skills"]);
    assert_eq!(value(&permissive, "COPILOT_ALLOW_ALL"), [""]);
    // The login of the CLI and the key of a provider are passed on, the token of a forge is not.
    assert_eq!(value(&strict, "COPILOT_PROVIDER_API_KEY"), ["sk-0123456789abcdef"]);
    assert_eq!(value(&strict, "COPILOT_GITHUB_TOKEN"), ["gho_1"]);
    assert_eq!(value(&strict, "GITHUB_TOKEN"), [""; 0]);
}

#[test]
fn the_home_of_a_turn_has_the_login_and_the_conversations_of_the_run() {
    let users = env(&[("HOME", "/home/me")]);
    let login = r#"{"trustedFolders":["/work space"],"copilotTokens":{"a":"b"}}"#;
    let outside = UserEnvironment { env: &users, user_settings: Some(login) };
    let strict = prepared(settings("strict"), plan("x"), None, &outside);
    assert_eq!(text(&strict, "/run/turn/copilot/config.json"), r#"{"copilotTokens":{"a":"b"}}"#);
    assert_eq!(text(&strict, "/run/turn/copilot/settings.json"), r#"{"autoUpdate":false}"#);
    let conversations = (
        Path::new("/run/turn/copilot/session-state").into(),
        Path::new("/run/home-copilot/session-state").into(),
    );
    assert_eq!(strict.links, std::slice::from_ref(&conversations));
    assert!(strict.files.iter().any(|(file, _)| file.starts_with(&conversations.1)));

    let permissive = prepared(settings("permissive"), plan("x"), None, &outside);
    assert_eq!(text(&permissive, "/run/turn/copilot/config.json"), login);
    let (links, first) = (&permissive.links, &permissive.links[0]);
    assert_eq!(*first, conversations);
    let hooks = (Path::new("/run/turn/copilot/hooks").into(), Path::new("/home/me/.copilot/hooks").into());
    assert!(links.contains(&hooks), "{links:?}");
    let secrets = copilot().secret_files();
    assert!(secrets.contains(&"copilot/config.json") && secrets.contains(&"copilot/settings.json"));
}

#[test]
fn the_login_is_looked_for_where_the_user_moved_it() {
    let moved = copilot().user_settings(Path::new("/home/me"), &env(&[("COPILOT_HOME", "/else")]));
    assert_eq!(moved.as_deref(), Some(Path::new("/else/config.json")));
}
