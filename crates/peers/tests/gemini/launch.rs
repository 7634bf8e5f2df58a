//! The arguments, the environment and the files of a turn.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_core::effect::SessionPlan;
use windlass_core::hook::permission::{Isolation, PermissionRules};
use windlass_core::id::{EffectId, NodeId, RunId, SessionId, Verb};
use windlass_core::spec::{
    AgentCommand, Check, OnPermission, OnQuestion, Policy, SessionSettings, Spec, TimeLimits,
};
use windlass_core::time::Moment;
use windlass_peers::agent::{Agents, Prepared, TurnPaths, TurnRequest, UserEnvironment};

/// The orders for a turn in a workspace of its own.
struct Given {
    workspace: tempfile::TempDir,
    isolation: Isolation,
    permissions: PermissionRules,
    system: Option<&'static str>,
    resume: bool,
    model: Option<&'static str>,
    user_settings: Option<&'static str>,
    env: Vec<(String, String)>,
}

impl Given {
    fn new(isolation: Isolation) -> Given {
        Given {
            workspace: tempfile::tempdir().unwrap(),
            isolation,
            permissions: PermissionRules::default(),
            system: None,
            resume: false,
            model: None,
            user_settings: None,
            env: Vec::new(),
        }
    }

    fn prepared(&self) -> Prepared {
        let workspace = self.workspace.path().to_str().unwrap();
        let driver = AgentCommand {
            name: "gemini".into(),
            program: "/bin/gemini".into(),
            words: vec![],
            model: self.model.map(str::to_owned),
            args: vec!["--debug".into()],
        };
        let settings = SessionSettings {
            driver,
            models: Vec::new(),
            fallback: Vec::new(),
            switch_back: false,
            effort: None,
            isolation: self.isolation,
            permissions: self.permissions.clone(),
            entity: None,
            rules: None,
            choice: None,
        };
        let plan = SessionPlan {
            env: Default::default(),
            driver: None,
            session: SessionId::new("11111111-1111-4111-8111-111111111111"),
            resume: self.resume,
            prompt: "-x \"{input}\"\n".into(),
            holds_stop: false,
            deadline: None,
            model: None,
            schema: None,
        };
        let effect = EffectId { node: NodeId::new("loop"), iteration: 2, attempt: 3, verb: Verb::Session };
        let turn = TurnRequest {
            spec: &spec(workspace),
            settings: &settings,
            workspace,
            system: self.system,
            plan: &plan,
            run: &RunId::new("r1"),
            effect: &effect,
            task: None,
            now: Moment(1_000),
        };
        let paths = TurnPaths {
            dir: Path::new("/d"),
            home: Path::new("/h"),
            socket: Path::new("/s.sock"),
            windlass_exe: Path::new("/b in/wind'lass"),
        };
        let outside = UserEnvironment { env: &self.env, user_settings: self.user_settings };
        Agents::default().named("gemini").unwrap().prepare(&turn, &paths, &outside)
    }
}

fn spec(workspace: &str) -> Spec {
    Spec {
        workflow: "loop".into(),
        description: None,
        seed: "s".into(),
        input: "x".into(),
        inputs: Default::default(),
        kinds: Default::default(),
        ranges: Default::default(),
        body: vec![],
        sessions: Default::default(),
        workspace: workspace.into(),
        machine: "m".into(),
        plugins: vec![],
        checks: vec![Check { name: "c".into(), command: "true".into() }],
        env: Default::default(),
        parent_env: Default::default(),
        shell: Default::default(),
        gives: None,
        runs: None,
        policy: Policy { on_permission: OnPermission::Deny, on_question: OnQuestion::Fail },
        limits: TimeLimits { check_ms: 1_000, ..TimeLimits::default() },
        timeout_from: None,
        budget: Default::default(),
        prices: Default::default(),
        others: Default::default(),
        parent: None,
        notify: Default::default(),
        worktree: None,
        fork_of: None,
        request: None,
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

fn text(prepared: &Prepared, path: &str) -> String {
    let (_, bytes) = prepared.files.iter().find(|(file, _)| file == Path::new(path)).unwrap();
    String::from_utf8(bytes.clone()).unwrap()
}

fn settings(prepared: &Prepared) -> Value {
    serde_json::from_str(&text(prepared, "/d/home/.gemini/settings.json")).unwrap()
}

fn value<'a>(prepared: &'a Prepared, name: &str) -> Vec<&'a str> {
    let all = prepared.launch.env.iter().filter(|(key, _)| key == name);
    all.map(|(_, value)| value.as_str()).collect()
}

#[test]
fn a_turn_is_started_headless_with_its_prompt_on_standard_input() {
    let given = Given { model: Some("flash"), ..Given::new(Isolation::Minimal) };
    let prepared = given.prepared();
    let expected = "/bin/gemini --output-format stream-json --approval-mode default --session-id \
                    11111111-1111-4111-8111-111111111111 --model flash --debug";
    assert_eq!(prepared.launch.argv.join(" "), expected);
    assert_eq!(prepared.launch.stdin.as_deref(), Some("/d/input"));
    assert_eq!(prepared.launch.stdin_until, None, "the input ends after the prompt");
    assert_eq!(text(&prepared, "/d/input"), "-x \"{input}\"\n");
    assert_eq!(value(&prepared, "GEMINI_CLI_HOME"), ["/d/home"]);
    assert_eq!(value(&prepared, "GEMINI_CLI_TRUST_WORKSPACE"), ["true"]);
    let resumed = Given { resume: true, ..Given::new(Isolation::Minimal) }.prepared();
    assert_eq!(resumed.launch.argv[5], "--resume");
}

#[test]
fn the_users_variables_do_not_move_the_home_or_start_a_container() {
    let mut given = Given::new(Isolation::Permissive);
    given.env = pairs(&[
        ("HOME", "/u"),
        ("GEMINI_CLI_HOME", "/theirs"),
        ("GEMINI_SANDBOX", "docker"),
        ("GEMINI_CLI_TRUST_WORKSPACE", "false"),
        ("GEMINI_API_KEY", "k"),
    ]);
    let prepared = given.prepared();
    assert_eq!(value(&prepared, "GEMINI_CLI_HOME"), ["/d/home"]);
    assert_eq!(value(&prepared, "GEMINI_CLI_TRUST_WORKSPACE"), ["true"]);
    assert!(value(&prepared, "GEMINI_SANDBOX").is_empty());
    assert_eq!((value(&prepared, "HOME"), value(&prepared, "GEMINI_API_KEY")), (vec!["/u"], vec!["k"]));
    let login =
        (PathBuf::from("/d/home/.gemini/oauth_creds.json"), "/theirs/.gemini/oauth_creds.json".into());
    assert!(prepared.links.contains(&login), "{:?}", prepared.links);
}

#[test]
fn hooks_are_in_the_settings_and_in_an_extension_and_bring_their_own_variables() {
    let prepared = Given::new(Isolation::Strict).prepared();
    let hooks = &settings(&prepared)["hooks"];
    let extension: Value =
        serde_json::from_str(&text(&prepared, "/d/home/.gemini/extensions/windlass/hooks/hooks.json"))
            .unwrap();
    assert_eq!(*hooks, extension["hooks"], "the CLI runs equal hooks once");
    let tool = &hooks["BeforeTool"][0]["hooks"][0];
    let command = tool["command"].as_str().unwrap();
    assert!(command.starts_with("\"$WINDLASS_HOOK_PROGRAM\" hook BeforeTool --closed || "), "{command}");
    assert_eq!(tool["timeout"], 604_800_000);
    assert_eq!(tool["env"]["WINDLASS_HOOK_PROGRAM"], "/b in/wind'lass");
    assert_eq!(tool["env"]["WINDLASS_SOCKET"], "/s.sock");
    let stop = &hooks["AfterAgent"][0]["hooks"][0];
    assert_eq!(stop["command"], "\"$WINDLASS_HOOK_PROGRAM\" hook AfterAgent --open");
    assert_eq!(stop["timeout"], 301_000, "the checks run before the answer");
}

const USER: &str = r#"{
    // the user's
    "security": {"auth": {"selectedType": "oauth-personal"}, "disableAlwaysAllow": true, "allowedExtensions": ["x"]},
    "mcpServers": {"docs": {"command": "docs"}},
    "hooksConfig": {"enabled": false},
    "hooks": {"AfterAgent": [{"hooks": [{"type": "command", "command": "say done"}]}]},
    "context": {"includeDirectories": ["/more"]},
    "general": {"vimMode": true, "maxAttempts": 99},
    "tools": {"sandbox": "docker", "useRipgrep": false}
}"#;

#[test]
fn isolated_sessions_get_the_users_login_and_nothing_else() {
    for isolation in [Isolation::Strict, Isolation::Minimal] {
        let settings = settings(&Given { user_settings: Some(USER), ..Given::new(isolation) }.prepared());
        assert_eq!(settings["security"]["auth"]["selectedType"], "oauth-personal");
        assert_eq!(settings["hooks"]["AfterAgent"].as_array().unwrap().len(), 1);
        assert_eq!((&settings["mcpServers"], &settings["tools"]), (&Value::Null, &Value::Null));
        assert_eq!(settings["general"]["maxAttempts"], 2);
    }
}

#[test]
fn a_permissive_session_gets_all_of_the_users_settings_but_what_would_stop_our_hooks() {
    let given = Given { user_settings: Some(USER), ..Given::new(Isolation::Permissive) };
    let settings = settings(&given.prepared());
    assert_eq!(settings["mcpServers"]["docs"]["command"], "docs");
    assert_eq!(settings["hooks"]["AfterAgent"].as_array().unwrap().len(), 2);
    assert_eq!(
        settings["security"],
        json!({"auth": {"selectedType": "oauth-personal"}, "folderTrust": {"enabled": false}})
    );
    assert_eq!(settings["hooksConfig"], Value::Null);
    assert_eq!(settings["tools"], json!({"useRipgrep": false}));
    assert_eq!(
        (&settings["general"]["vimMode"], &settings["general"]["maxAttempts"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(settings["context"]["includeDirectories"], json!(["/more"]));
}

#[test]
fn the_project_is_trusted_unless_strict_or_its_settings_forbid_it() {
    let trust = |given: &Given| value(&given.prepared(), "GEMINI_CLI_TRUST_WORKSPACE").concat();
    assert_eq!(trust(&Given::new(Isolation::Strict)), "false");
    let given = Given::new(Isolation::Permissive);
    std::fs::create_dir(given.workspace.path().join(".gemini")).unwrap();
    let file = given.workspace.path().join(".gemini/settings.json");
    std::fs::write(&file, r#"{"hooksConfig": {"enabled": false}}"#).unwrap();
    assert_eq!(trust(&given), "false");
    std::fs::write(&file, r#"{"mcpServers": {}}"#).unwrap();
    assert_eq!(trust(&given), "true");
}

#[test]
fn the_policy_hides_tools_that_no_call_could_use() {
    let policy = |given: &Given| text(&given.prepared(), "/d/home/.gemini/policies/windlass.toml");
    let strict = policy(&Given::new(Isolation::Strict));
    assert!(strict.contains("\"web_fetch\"") && strict.contains("\"mcp_*\""), "{strict}");
    assert!(!strict.contains("run_shell_command"), "{strict}");
    let only = Some(vec!["read".to_owned()]);
    let permissions = PermissionRules { only, ..PermissionRules::default() };
    let reader = policy(&Given { permissions, ..Given::new(Isolation::Permissive) });
    assert!(reader.contains("\"write_file\"") && !reader.contains("\"read_file\""), "{reader}");
    assert!(!policy(&Given::new(Isolation::Permissive)).contains("mcp_"), "{strict}");
}

#[test]
fn a_role_is_a_context_file_of_the_extension() {
    let prepared = Given { system: Some("You test."), ..Given::new(Isolation::Strict) }.prepared();
    assert_eq!(text(&prepared, "/d/home/.gemini/extensions/windlass/ROLE.md"), "You test.");
    let manifest = text(&prepared, "/d/home/.gemini/extensions/windlass/gemini-extension.json");
    assert!(manifest.contains("ROLE.md"), "{manifest}");
    let argv = prepared.launch.argv.join(" ");
    assert!(!argv.contains("You test"), "{argv}");
}

#[test]
fn only_permissive_links_what_belongs_to_the_users_settings() {
    let user = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(user.path().join(".gemini/extensions/theirs")).unwrap();
    let linked = |isolation, name: &str| {
        let mut given = Given::new(isolation);
        given.env = pairs(&[("HOME", user.path().to_str().unwrap())]);
        given.prepared().links.iter().any(|(link, _)| *link == Path::new("/d/home/.gemini").join(name))
    };
    for name in ["skills", "agents", "commands", "extensions/theirs", "GEMINI.md"] {
        assert!(linked(Isolation::Permissive, name) && !linked(Isolation::Minimal, name), "{name}");
    }
    for name in ["tmp", "oauth_creds.json", ".env"] {
        assert!(linked(Isolation::Strict, name), "{name}");
    }
}
