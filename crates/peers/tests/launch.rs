//! What an agent CLI is started with.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;

use serde_json::{Value, json};
use windlass_core::effect::SessionPlan;
use windlass_core::graph::{Node, NodeKind};
use windlass_core::hook::permission::Isolation;
use windlass_core::id::{EffectId, NodeId, RunId, SessionId, Verb};
use windlass_core::spec::{Check, Driver, Limits, OnPermission, OnQuestion, Plugin, Policy, Spec};
use windlass_core::time::Moment;
use windlass_peers::agent::claude::launch::{Outside, Paths, Prepared, Turn, prepare};

fn spec() -> Spec {
    Spec {
        workflow: "loop".into(),
        seed: "s".into(),
        input: "x".into(),
        node: Node { id: NodeId::new("loop"), kind: NodeKind::Prompt { prompt: "x".into() }, system: None },
        workspace: "/work space".into(),
        machine: "m".into(),
        driver: Driver { name: "claude".into(), program: "/bin/claude".into(), model: None, args: vec![] },
        isolation: Isolation::Minimal,
        permissions: Default::default(),
        plugins: vec![],
        checks: vec![],
        policy: Policy { on_permission: OnPermission::Deny, on_question: OnQuestion::Fail },
        limits: Limits::default(),
    }
}

fn plan() -> SessionPlan {
    SessionPlan {
        session: SessionId::new("11111111-1111-4111-8111-111111111111"),
        resume: false,
        prompt: "-x \"{input}\"\n".into(),
        holds_stop: false,
        deadline: None,
    }
}

fn prepared(spec: &Spec, plan: &SessionPlan, outside: &Outside<'_>) -> Prepared {
    let effect = EffectId { node: NodeId::new("loop"), iteration: 2, attempt: 3, verb: Verb::Session };
    let run = RunId::new("r1");
    let turn = Turn { spec, plan, run: &run, effect: &effect, now: Moment(1_000) };
    let paths = Paths {
        dir: Path::new("/d"),
        socket: Path::new("/s.sock"),
        windlass_exe: Path::new("/b in/windlass"),
    };
    prepare(&turn, &paths, outside)
}

fn file(prepared: &Prepared, name: &str) -> Value {
    let (_, bytes) = prepared.files.iter().find(|(path, _)| path == &Path::new("/d").join(name)).unwrap();
    serde_json::from_slice(bytes).unwrap()
}

fn value<'a>(prepared: &'a Prepared, name: &str) -> Option<&'a str> {
    prepared.launch.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

#[test]
fn a_turn_of_claude_is_started_headless_with_our_hooks_and_server() {
    let prepared = prepared(&spec(), &plan(), &Outside::default());
    let argv = [
        "/bin/claude",
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-mode",
        "default",
        "--session-id",
        "11111111-1111-4111-8111-111111111111",
        "--settings",
        "/d/settings.json",
        "--mcp-config",
        "/d/mcp.json",
        "--permission-prompt-tool",
        "mcp__windlass__approve",
        "--setting-sources",
        "project,local",
    ];
    assert_eq!(prepared.launch.argv, argv);
    assert_eq!(
        (prepared.launch.cwd.as_str(), prepared.launch.stdin.as_deref()),
        ("/work space", Some("/d/prompt"))
    );
    assert_eq!(prepared.launch.cookie, "r1.loop.2.3.session");
    let hook = |event: &str, seconds: u64| json!({"type": "command", "command": "/b in/windlass", "args": ["hook", event], "timeout": seconds});
    let settings = json!({
        "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook("PreToolUse", 604_800)]}], "Stop": [{"hooks": [hook("Stop", 300)]}]},
        "env": {"WINDLASS_RUN": "r1", "WINDLASS_SESSION": "r1.loop.2.3.session", "WINDLASS_SOCKET": "/s.sock",
            "WINDLASS_ITERATION": "2", "WINDLASS_ATTEMPT": "3"},
        "disableAllHooks": false,
    });
    assert_eq!(file(&prepared, "settings.json"), settings);
    let server = &file(&prepared, "mcp.json")["mcpServers"]["windlass"];
    assert_eq!((&server["command"], &server["args"]), (&json!("/b in/windlass"), &json!(["mcp"])));
    assert_eq!(server["env"]["WINDLASS_SOCKET"], "/s.sock");
    let (_, prompt) = prepared.files.iter().find(|(path, _)| path.ends_with("prompt")).unwrap();
    assert_eq!(prompt, b"-x \"{input}\"\n");
}

#[test]
fn isolation_says_what_is_loaded_from_outside() {
    let argv = |isolation| prepared(&Spec { isolation, ..spec() }, &plan(), &Outside::default()).launch.argv;
    assert!(argv(Isolation::Strict).ends_with(&[
        "--setting-sources".into(),
        String::new(),
        "--strict-mcp-config".into()
    ]));
    assert!(
        argv(Isolation::Permissive).ends_with(&["--setting-sources".into(), "user,project,local".into()])
    );
}

#[test]
fn plugins_model_and_the_users_own_arguments_come_last() {
    let mut spec = spec();
    spec.plugins = vec![Plugin { name: "demo".into(), dir: "/p".into() }];
    spec.driver.model = Some("opus".into());
    spec.driver.args = vec!["--max-turns".into(), "3".into()];
    let argv = prepared(&spec, &plan(), &Outside::default()).launch.argv;
    assert!(
        argv.ends_with(&["--plugin-dir", "/p", "--model", "opus", "--max-turns", "3"].map(str::to_owned))
    );
}

#[test]
fn the_rehearsal_agent_takes_the_same_after_its_own_word() {
    let mut spec = spec();
    spec.driver = Driver { name: "sim".into(), program: "/b/windlass".into(), model: None, args: vec![] };
    let argv = prepared(&spec, &plan(), &Outside::default()).launch.argv;
    assert_eq!(argv[..3], ["/b/windlass".to_owned(), "sim".into(), "-p".into()]);
}

#[test]
fn a_resumed_turn_keeps_its_conversation_and_a_held_one_has_no_cap() {
    let plan = SessionPlan { resume: true, holds_stop: true, deadline: Some(Moment(6_000)), ..plan() };
    let prepared = prepared(&spec(), &plan, &Outside::default());
    assert!(prepared.launch.argv.windows(2).any(|w| w[0] == "--resume" && w[1].starts_with("1111")));
    assert!(!prepared.launch.argv.contains(&"--session-id".to_owned()));
    assert_eq!(value(&prepared, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"), Some("0"));
    assert_eq!(prepared.launch.deadline_ms, Some(5_000));
}

#[test]
fn a_stop_may_wait_for_all_checks() {
    let check = Check { name: "t".into(), command: "true".into() };
    let spec = Spec { checks: vec![check.clone(), check], ..spec() };
    let settings = file(&prepared(&spec, &plan(), &Outside::default()), "settings.json");
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["timeout"], 1_500);
}

#[test]
fn the_environment_is_cleared_of_nesting_forges_and_git() {
    let inherited = env(&[
        ("PATH", "/bin"),
        ("ANTHROPIC_API_KEY", "k"),
        ("CLAUDE_CONFIG_DIR", "/c"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "o"),
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "cli"),
        ("CLAUDE_CODE_MESSAGING_TOKEN", "t"),
        ("CLAUDE_CODE_SESSION_ID", "s"),
        ("GITHUB_TOKEN", "g"),
        ("GH_TOKEN", "g"),
        ("GITLAB_TOKEN", "g"),
        ("GIT_DIR", "/x"),
        ("WINDLASS_RUN", "outer"),
        ("WINDLASS_CRASH_AT", "all:1"),
        ("WINDLASS_SIM_SCRIPT", "/s"),
    ]);
    let prepared = prepared(&spec(), &plan(), &Outside { env: &inherited, user_settings: None });
    let expected = env(&[
        ("PATH", "/bin"),
        ("ANTHROPIC_API_KEY", "k"),
        ("CLAUDE_CONFIG_DIR", "/c"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "o"),
        ("WINDLASS_SIM_SCRIPT", "/s"),
        ("WINDLASS_RUN", "r1"),
        ("WINDLASS_SESSION", "r1.loop.2.3.session"),
        ("WINDLASS_SOCKET", "/s.sock"),
        ("WINDLASS_ITERATION", "2"),
        ("WINDLASS_ATTEMPT", "3"),
    ]);
    assert_eq!(prepared.launch.env, expected);
}

#[test]
fn the_users_login_is_carried_over_and_nothing_else_of_their_settings() {
    let user = r#"{"apiKeyHelper":"get-key","env":{"ANTHROPIC_BASE_URL":"u","EDITOR":"vi"},"hooks":{"Stop":[]},"permissions":{"allow":["*"]},"disableAllHooks":true}"#;
    let outside = Outside { env: &[], user_settings: Some(user) };
    for isolation in [Isolation::Strict, Isolation::Minimal] {
        let settings = file(&prepared(&Spec { isolation, ..spec() }, &plan(), &outside), "settings.json");
        assert_eq!(settings["apiKeyHelper"], "get-key");
        assert_eq!(settings["env"]["ANTHROPIC_BASE_URL"], "u");
        assert_eq!(settings["env"].get("EDITOR"), None);
        assert_eq!(settings["disableAllHooks"], false);
        assert_eq!(settings.get("permissions"), None);
        assert_eq!(settings["hooks"]["Stop"].as_array().unwrap().len(), 1);
    }
    let broken = Outside { env: &[], user_settings: Some("{") };
    assert_eq!(file(&prepared(&spec(), &plan(), &broken), "settings.json").get("apiKeyHelper"), None);
}

#[test]
fn our_variables_are_in_the_settings_too_so_that_no_projects_env_beats_them() {
    let prepared = prepared(&spec(), &plan(), &Outside::default());
    let env = &file(&prepared, "settings.json")["env"];
    for name in ["WINDLASS_RUN", "WINDLASS_SESSION", "WINDLASS_SOCKET"] {
        assert_eq!(env[name].as_str(), value(&prepared, name), "{name}");
    }
}
