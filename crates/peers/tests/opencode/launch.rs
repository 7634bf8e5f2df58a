//! The arguments, the environment and the files of a turn.

use std::path::Path;

use serde_json::{Value, json};
use windlass_core::effect::SessionPlan;
use windlass_core::graph::workflow::Effort;
use windlass_core::hook::permission::Isolation;
use windlass_core::id::{EffectId, NodeId, RunId, SessionId, Verb};
use windlass_core::spec::{
    AgentCommand, OnPermission, OnQuestion, Policy, SessionSettings, Spec, TimeLimits,
};
use windlass_core::time::Moment;
use windlass_peers::agent::{Prepared, TurnPaths, TurnRequest, UserEnvironment};

use crate::opencode;

fn settings() -> SessionSettings {
    let driver = AgentCommand {
        name: "opencode".into(),
        program: "/bin/opencode".into(),
        words: vec![],
        model: None,
        args: vec![],
    };
    SessionSettings {
        driver,
        models: Vec::new(),
        effort: None,
        isolation: Isolation::Minimal,
        permissions: Default::default(),
        entity: None,
        rules: None,
        choice: None,
        fallback: Vec::new(),
        switch_back: false,
    }
}

fn isolated(isolation: Isolation) -> SessionSettings {
    SessionSettings { isolation, ..settings() }
}

fn plan() -> SessionPlan {
    SessionPlan {
        env: Default::default(),
        driver: None,
        session: SessionId::new("11111111-1111-4111-8111-111111111111"),
        resume: false,
        prompt: "-x \"{input}\"\n".into(),
        holds_stop: false,
        deadline: None,
        model: None,
        schema: None,
    }
}

fn prepared(
    settings: &SessionSettings,
    plan: &SessionPlan,
    system: Option<&str>,
    outside: &UserEnvironment<'_>,
) -> Prepared {
    let effect = EffectId { node: NodeId::new("loop"), iteration: 2, attempt: 3, verb: Verb::Session };
    let run = RunId::new("r1");
    let spec = spec();
    let turn = TurnRequest {
        spec: &spec,
        settings,
        workspace: "/work space",
        system,
        plan,
        run: &run,
        effect: &effect,
        task: None,
        now: Moment(1_000),
    };
    let paths = TurnPaths {
        dir: Path::new("/d"),
        home: Path::new("/h"),
        socket: Path::new("/s.sock"),
        windlass_exe: Path::new("/b in/windlass"),
    };
    opencode().prepare(&turn, &paths, outside)
}

fn spec() -> Spec {
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
        workspace: "/work space".into(),
        machine: "m".into(),
        plugins: vec![],
        checks: vec![],
        env: Default::default(),
        parent_env: Default::default(),
        shell: Default::default(),
        gives: None,
        runs: None,
        policy: Policy { on_permission: OnPermission::Deny, on_question: OnQuestion::Fail },
        limits: TimeLimits::default(),
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

fn plain(settings: &SessionSettings) -> Prepared {
    prepared(settings, &plan(), None, &UserEnvironment::default())
}

fn file<'a>(prepared: &'a Prepared, path: &str) -> Option<&'a str> {
    let found = prepared.files.iter().find(|(other, _)| other == Path::new(path));
    found.map(|(_, bytes)| std::str::from_utf8(bytes).unwrap())
}

fn value<'a>(prepared: &'a Prepared, name: &str) -> Option<&'a str> {
    let mut all = prepared.launch.env.iter().filter(|(key, _)| key == name);
    let value = all.next().map(|(_, value)| value.as_str());
    assert_eq!(all.next(), None, "{name} is there once");
    value
}

fn json_of(prepared: &Prepared, name: &str) -> Value {
    serde_json::from_str(value(prepared, name).unwrap()).unwrap()
}

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

/// Returns the constant in the first line of the plugin.
fn facts(prepared: &Prepared) -> Value {
    let (first, rest) = file(prepared, "/d/windlass.js").unwrap().split_once('\n').unwrap();
    assert!(rest.contains("tool.execute.before"));
    serde_json::from_str(first.strip_prefix("const turn = ").unwrap()).unwrap()
}

#[test]
fn the_prompt_comes_by_standard_input_and_the_plugin_by_the_settings() {
    let prepared = plain(&settings());
    let argv = ["/bin/opencode", "run", "--format", "json", "--thinking", "--auto", "--title", "Windlass"];
    assert_eq!(prepared.launch.argv, argv);
    assert_eq!(prepared.launch.stdin.as_deref(), Some("/d/prompt"));
    assert_eq!(file(&prepared, "/d/prompt"), Some("-x \"{input}\"\n"));
    let content = json_of(&prepared, "OPENCODE_CONFIG_CONTENT");
    let expected = json!({
        "plugin": ["/d/windlass.js"],
        "snapshot": false,
        "share": "disabled",
        "autoupdate": false,
        "experimental": { "continue_loop_on_deny": true },
    });
    assert_eq!(content, expected);
    assert_eq!(json_of(&prepared, "OPENCODE_PERMISSION"), json!({ "**": "deny" }));
    assert_eq!(value(&prepared, "PWD"), Some("/work space"));
    let facts = facts(&prepared);
    assert_eq!((&facts["windlass"], &facts["holds"]), (&json!("/b in/windlass"), &json!(false)));
    assert_eq!(facts["env"]["WINDLASS_SOCKET"], "/s.sock");
    assert_eq!(facts["gate"], "**");
}

#[test]
fn a_resumed_turn_names_its_session_and_finds_its_database() {
    let plan = SessionPlan {
        session: SessionId::new("ses_1"),
        resume: true,
        holds_stop: true,
        model: Some("a/b".into()),
        ..plan()
    };
    let mut settings = settings();
    settings.effort = Some(Effort::High);
    settings.driver.args = vec!["--agent".into(), "plan".into()];
    let prepared = prepared(&settings, &plan, None, &UserEnvironment::default());
    let last = ["--session", "ses_1", "--model", "a/b", "--variant", "high", "--agent", "plan"];
    assert_eq!(prepared.launch.argv[8..], last);
    assert_eq!(value(&prepared, "OPENCODE_DB"), Some("/h/ses_1.db"));
    assert_eq!(facts(&prepared)["holds"], true);
}

#[test]
fn the_role_is_added_to_the_instructions_under_a_path_that_stays() {
    let prepared = prepared(&settings(), &plan(), Some("You look."), &UserEnvironment::default());
    assert_eq!(file(&prepared, "/h/role-loop.md"), Some("You look."));
    let content = json_of(&prepared, "OPENCODE_CONFIG_CONTENT");
    assert_eq!(content["instructions"], json!(["/h/role-loop.md"]));
}

const USERS: &str = r#"{
    // mine
    "model": "own/m",
    "provider": { "own": { "options": { "apiKey": "k" } } },
    "plugin": ["theirs"],
    "permission": { "bash": "ask" },
}"#;

#[test]
fn only_permissive_brings_the_users_settings_and_the_others_only_the_login() {
    let inherited = env(&[
        ("HOME", "/home/u"),
        ("OPENCODE_CONFIG_CONTENT", r#"{"plugin":["other"],"small_model":"own/s","theme":"x"}"#),
        ("OPENCODE_PERMISSION", r#"{"edit":"deny"}"#),
        ("OPENCODE_CONFIG_DIR", "/home/u/dir"),
        ("OPENCODE_PURE", "1"),
    ]);
    let outside = UserEnvironment { env: &inherited, user_settings: Some(USERS) };
    for isolation in [Isolation::Strict, Isolation::Minimal] {
        let prepared = prepared(&isolated(isolation), &plan(), None, &outside);
        let login: Value =
            serde_json::from_str(file(&prepared, "/d/config/opencode/opencode.json").unwrap()).unwrap();
        let provider = json!({ "own": { "options": { "apiKey": "k" } } });
        assert_eq!(login, json!({ "model": "own/m", "small_model": "own/s", "provider": provider }));
        assert_eq!(value(&prepared, "XDG_CONFIG_HOME"), Some("/d/config"));
        assert_eq!(value(&prepared, "OPENCODE_CONFIG_DIR"), None);
        assert_eq!(json_of(&prepared, "OPENCODE_CONFIG_CONTENT")["plugin"], json!(["/d/windlass.js"]));
        assert_eq!(json_of(&prepared, "OPENCODE_PERMISSION").get("edit"), None);
        assert_eq!(facts(&prepared)["restore"]["XDG_CONFIG_HOME"], Value::Null);
    }
    let prepared = prepared(&isolated(Isolation::Permissive), &plan(), None, &outside);
    assert_eq!(file(&prepared, "/d/config/opencode/opencode.json"), None);
    assert_eq!((value(&prepared, "XDG_CONFIG_HOME"), value(&prepared, "OPENCODE_PURE")), (None, None));
    assert_eq!(value(&prepared, "OPENCODE_CONFIG_DIR"), Some("/home/u/dir"));
    let content = json_of(&prepared, "OPENCODE_CONFIG_CONTENT");
    assert_eq!((&content["plugin"], &content["theme"]), (&json!(["other", "/d/windlass.js"]), &json!("x")));
    assert_eq!(json_of(&prepared, "OPENCODE_PERMISSION"), json!({ "edit": "deny", "**": "deny" }));
    assert_eq!(facts(&prepared)["tidy"], json!(["/home/u/.config/opencode", "/home/u/.opencode"]));
}

#[test]
fn a_key_of_the_user_is_in_no_argument_and_no_variable() {
    let inherited = env(&[("HOME", "/home/u")]);
    let settings = USERS.replace("\"k\"", "\"sk-secret\"");
    let outside = UserEnvironment { env: &inherited, user_settings: Some(&settings) };
    let prepared = prepared(&isolated(Isolation::Strict), &plan(), None, &outside);
    assert!(!format!("{:?}", prepared.launch).contains("sk-secret"));
    for (path, bytes) in &prepared.files {
        let is_known = opencode().secret_files().iter().any(|name| Path::new("/d").join(name) == *path);
        assert!(is_known || !String::from_utf8_lossy(bytes).contains("sk-secret"), "{path:?}");
    }
}

#[test]
fn only_strict_leaves_out_the_project() {
    let is_off = |isolation| value(&plain(&isolated(isolation)), "OPENCODE_DISABLE_PROJECT_CONFIG").is_some();
    let [strict, minimal, permissive] =
        [Isolation::Strict, Isolation::Minimal, Isolation::Permissive].map(is_off);
    assert!(strict && !minimal && !permissive);
    let rules = json_of(&plain(&isolated(Isolation::Strict)), "OPENCODE_PERMISSION");
    assert_eq!(rules["webfetch"], "deny");
}
