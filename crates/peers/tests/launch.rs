//! Tests for the arguments and the environment of an agent CLI.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::effect::SessionPlan;
use windlass_core::event::{SessionEnd, SessionVerdict};
use windlass_core::graph::schema::{KEYWORDS, answer, schema_errors, validate};
use windlass_core::hook::permission::Isolation;
use windlass_core::id::{EffectId, NodeId, RunId, SessionId, Verb};
use windlass_core::launch::{ExitFile, LineMark};
use windlass_core::spec::{
    AgentCommand, Check, OnPermission, OnQuestion, Plugin, Policy, SessionSettings, Spec, TimeLimits,
};
use windlass_core::time::Moment;
use windlass_peers::agent::{
    Agents, Dialect, Prepared, ProcessEnd, Transcript, TurnPaths, TurnRequest, UserEnvironment, read_stream,
};
use windlass_testkit::{Model, Sealed, require_claude, say, tool};

/// The orders of a run, and of its node.
#[derive(Clone)]
struct Given {
    run: Spec,
    node: SessionSettings,
    system: Option<String>,
}

fn spec() -> Given {
    let driver = AgentCommand {
        name: "claude".into(),
        program: "/bin/claude".into(),
        words: vec![],
        model: None,
        args: vec![],
    };
    let node = SessionSettings {
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
    };
    let run = Spec {
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
    };
    Given { run, node, system: None }
}

fn isolated(isolation: Isolation) -> Given {
    let mut given = spec();
    given.node.isolation = isolation;
    given
}

fn plan() -> SessionPlan {
    SessionPlan {
        env: Default::default(),
        session: SessionId::new("11111111-1111-4111-8111-111111111111"),
        resume: false,
        prompt: "-x \"{input}\"\n".into(),
        holds_stop: false,
        deadline: None,
        driver: None,
        model: None,
        schema: None,
    }
}

fn prepared(given: &Given, plan: &SessionPlan, outside: &UserEnvironment<'_>) -> Prepared {
    let effect = EffectId { node: NodeId::new("loop"), iteration: 2, attempt: 3, verb: Verb::Session };
    let run = RunId::new("r1");
    let turn = TurnRequest {
        spec: &given.run,
        settings: &given.node,
        workspace: &given.run.workspace,
        system: given.system.as_deref(),
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
    agent(&given.node.driver.name).prepare(&turn, &paths, outside)
}

/// The dialect of a driver.
fn agent(name: &str) -> Arc<dyn Dialect> {
    Arc::clone(Agents::default().named(name).unwrap())
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
fn a_turn_of_claude_is_started_headless_with_our_hooks_and_an_open_input() {
    let prepared = prepared(&spec(), &plan(), &UserEnvironment::default());
    let argv = [
        "/bin/claude",
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-mode",
        "default",
        "--session-id",
        "11111111-1111-4111-8111-111111111111",
        "--settings",
        "/d/settings.json",
        "--permission-prompt-tool",
        "stdio",
        "--setting-sources",
        "project,local",
    ];
    assert_eq!(prepared.launch.argv, argv);
    assert_eq!(
        (prepared.launch.cwd.as_str(), prepared.launch.stdin.as_deref()),
        ("/work space", Some("/d/input"))
    );
    assert_eq!(prepared.launch.cookie, "r1.loop.2.3.session");
    let hook = |event: &str, unanswered: &str, seconds: u64| {
        let args = ["hook", event, unanswered];
        json!({"type": "command", "command": "/b in/windlass", "args": args, "timeout": seconds})
    };
    let settings = json!({
        "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook("PreToolUse", "--closed", 604_800)]}], "Stop": [{"hooks": [hook("Stop", "--open", 300)]}]},
        "env": {"WINDLASS_RUN": "r1", "WINDLASS_SESSION": "r1.loop.2.3.session", "WINDLASS_SOCKET": "/s.sock",
            "WINDLASS_FOLDER": "/d", "WINDLASS_NODE": "loop", "WINDLASS_ITERATION": "2", "WINDLASS_ATTEMPT": "3"},
        "disableAllHooks": false,
    });
    assert_eq!(file(&prepared, "settings.json"), settings);
    let message = json!({"role": "user", "content": "-x \"{input}\"\n"});
    assert_eq!(file(&prepared, "input"), json!({"type": "user", "message": message}));
    let (_, input) = prepared.files.iter().find(|(path, _)| path.ends_with("input")).unwrap();
    assert_eq!(input.iter().filter(|byte| **byte == b'\n').count(), 1, "the message is one line");
    let mark = LineMark { key: "type".to_owned(), value: "result".to_owned() };
    assert_eq!(prepared.launch.stdin_until, Some(mark));
}

#[test]
fn isolation_says_what_is_loaded_from_outside() {
    let argv = |isolation| prepared(&isolated(isolation), &plan(), &UserEnvironment::default()).launch.argv;
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
    spec.run.plugins = vec![Plugin { name: "demo".into(), dir: "/p".into(), loops: false }];
    spec.node.driver.model = Some("opus".into());
    spec.node.driver.args = vec!["--max-turns".into(), "3".into()];
    let argv = prepared(&spec, &plan(), &UserEnvironment::default()).launch.argv;
    assert!(
        argv.ends_with(&["--plugin-dir", "/p", "--model", "opus", "--max-turns", "3"].map(str::to_owned))
    );
}

#[test]
fn a_schema_is_an_argument_where_the_cli_can_take_it() {
    let argv = |schema: Value| {
        let plan = SessionPlan { schema: Some(schema), ..plan() };
        prepared(&spec(), &plan, &UserEnvironment::default()).launch.argv
    };
    let schema = json!({"type": "object", "required": ["a"]});
    assert!(argv(schema.clone()).ends_with(&["--json-schema".to_owned(), schema.to_string()]));
    for schema in [json!({"type": "array"}), json!({"type": "object", "title": "x".repeat(200_000)})] {
        assert!(!argv(schema).contains(&"--json-schema".to_owned()));
    }
}

#[test]
fn the_rehearsal_agent_takes_the_same_after_its_own_word() {
    let mut spec = spec();
    spec.node.driver = AgentCommand {
        name: "sim".into(),
        program: "/b/windlass".into(),
        words: vec![],
        model: None,
        args: vec![],
    };
    let argv = prepared(&spec, &plan(), &UserEnvironment::default()).launch.argv;
    assert_eq!(argv[..3], ["/b/windlass".to_owned(), "sim".into(), "-p".into()]);
}

#[test]
fn a_resumed_turn_keeps_its_conversation_and_a_held_one_has_no_cap() {
    let plan = SessionPlan { resume: true, holds_stop: true, deadline: Some(Moment(6_000)), ..plan() };
    let prepared = prepared(&spec(), &plan, &UserEnvironment::default());
    assert!(prepared.launch.argv.windows(2).any(|w| w[0] == "--resume" && w[1].starts_with("1111")));
    assert!(!prepared.launch.argv.contains(&"--session-id".to_owned()));
    assert_eq!(value(&prepared, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"), Some("0"));
    assert_eq!(prepared.launch.deadline_ms, Some(5_000));
}

#[test]
fn a_stop_may_wait_for_all_checks() {
    let check = Check { name: "t".into(), command: "true".into() };
    let mut spec = spec();
    spec.run.checks = vec![check.clone(), check];
    let settings = file(&prepared(&spec, &plan(), &UserEnvironment::default()), "settings.json");
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
    let prepared = prepared(&spec(), &plan(), &UserEnvironment { env: &inherited, user_settings: None });
    let expected = env(&[
        ("PATH", "/bin"),
        ("ANTHROPIC_API_KEY", "k"),
        ("CLAUDE_CONFIG_DIR", "/c"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "o"),
        ("WINDLASS_SIM_SCRIPT", "/s"),
        ("WINDLASS_RUN", "r1"),
        ("WINDLASS_SESSION", "r1.loop.2.3.session"),
        ("WINDLASS_SOCKET", "/s.sock"),
        ("WINDLASS_FOLDER", "/d"),
        ("WINDLASS_NODE", "loop"),
        ("WINDLASS_ITERATION", "2"),
        ("WINDLASS_ATTEMPT", "3"),
    ]);
    assert_eq!(prepared.launch.env, expected);
}

#[test]
fn the_users_login_is_carried_over_and_nothing_else_of_their_settings() {
    let user = r#"{"apiKeyHelper":"get-key","env":{"ANTHROPIC_BASE_URL":"u","EDITOR":"vi"},"hooks":{"Stop":[]},"permissions":{"allow":["*"]},"disableAllHooks":true}"#;
    let outside = UserEnvironment { env: &[], user_settings: Some(user) };
    for isolation in [Isolation::Strict, Isolation::Minimal] {
        let settings = file(&prepared(&isolated(isolation), &plan(), &outside), "settings.json");
        assert_eq!(settings["apiKeyHelper"], "get-key");
        assert_eq!(settings["env"]["ANTHROPIC_BASE_URL"], "u");
        assert_eq!(settings["env"].get("EDITOR"), None);
        assert_eq!(settings["disableAllHooks"], false);
        assert_eq!(settings.get("permissions"), None);
        assert_eq!(settings["hooks"]["Stop"].as_array().unwrap().len(), 1);
    }
    let broken = UserEnvironment { env: &[], user_settings: Some("{") };
    assert_eq!(file(&prepared(&spec(), &plan(), &broken), "settings.json").get("apiKeyHelper"), None);
}

#[test]
fn our_variables_are_in_the_settings_too_so_that_no_projects_env_beats_them() {
    let prepared = prepared(&spec(), &plan(), &UserEnvironment::default());
    let env = &file(&prepared, "settings.json")["env"];
    for name in ["WINDLASS_RUN", "WINDLASS_SESSION", "WINDLASS_SOCKET"] {
        assert_eq!(env[name].as_str(), value(&prepared, name), "{name}");
    }
}

/// Runs a turn of the real CLI with the schema as Windlass passes it, and returns its end.
fn held_to(schema: &Value, claude: &Path, model: &Model) -> SessionEnd {
    let plan = SessionPlan { schema: Some(schema.clone()), ..plan() };
    let argv = prepared(&spec(), &plan, &UserEnvironment::default()).launch.argv;
    let given =
        argv.windows(2).find(|words| words.first().is_some_and(|word| word == "--json-schema")).unwrap();
    let sealed = Sealed::new();
    let mut command = sealed.claude(claude, model);
    command.args(["-p", "--output-format", "stream-json", "--verbose"]).args(given);
    let output = command.args(["--", "go"]).stdin(Stdio::null()).output().unwrap();
    let mut events = Vec::new();
    read_stream(&*agent("claude"), &output.stdout, &mut events);
    let mut transcript = Transcript::default();
    events.iter().for_each(|event| transcript.add(event));
    let exit = ExitFile {
        v: 1,
        code: output.status.code(),
        signal: None,
        ended_by: None,
        spawn_error: None,
        too_much_output: false,
    };
    let verdict = transcript.judge(ProcessEnd::Exited(&exit), &String::from_utf8_lossy(&output.stderr));
    transcript.end(verdict, 0)
}

/// A schema with every keyword that is known.
fn every_keyword() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.invalid/plan",
        "$comment": "c", "title": "t", "description": "d", "default": {}, "examples": [{}],
        "deprecated": false, "readOnly": false, "writeOnly": false,
        "type": "object",
        "required": ["steps"],
        "minProperties": 1, "maxProperties": 9,
        "additionalProperties": false,
        "allOf": [{"not": {"required": ["never"]}}],
        "properties": {
            "steps": {
                "type": "array", "items": {"$ref": "#/$defs/step"}, "minItems": 1, "maxItems": 5, "uniqueItems": true,
            },
            "pair": {"type": "array", "prefixItems": [{"const": 1}], "items": {"type": "string"}},
            "size": {"type": "integer", "minimum": 0, "maximum": 9, "exclusiveMinimum": -1, "exclusiveMaximum": 10},
            "ratio": {"type": ["number", "null"], "multipleOf": 0.5},
            "way": {"oneOf": [{"enum": ["a", "b"]}, {"$ref": "#/definitions/other"}]},
        },
        "$defs": {"step": {"anyOf": [{"type": "string", "minLength": 1, "maxLength": 80, "format": "email"}, {"type": "null"}]}},
        "definitions": {"other": {"const": "c"}},
    })
}

#[test]
fn the_real_cli_takes_every_keyword_we_know_and_hands_the_value_over() {
    let claude = require_claude!();
    let schema = every_keyword();
    assert_eq!(schema_errors(&schema), []);
    let text = schema.to_string();
    let missing = KEYWORDS.iter().find(|(keyword, _)| !text.contains(&format!("\"{keyword}\":")));
    assert_eq!(missing, None);
    let value = json!({"steps": ["one", null], "pair": [1, "x"], "size": 3, "ratio": 1.5, "way": "c"});
    let model = Model::script([
        tool("StructuredOutput", json!({"steps": 5})),
        tool("StructuredOutput", value.clone()),
    ])
    .start();
    let end = held_to(&schema, &claude, &model);
    assert_eq!((&end.verdict, &end.value), (&SessionVerdict::Completed, &Some(value.clone())));
    assert_eq!(validate(&schema, &value), []);
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert!(
        requests[1].last_user_text().contains("does not match required schema"),
        "{}",
        requests[1].last_user_text()
    );
    let tools = requests[0].body["tools"].as_array().unwrap();
    let asked = &tools.iter().find(|tool| tool["name"] == "StructuredOutput").unwrap()["input_schema"];
    assert_eq!(asked["type"], "object");
    assert!(asked["description"].as_str().unwrap().contains("prefixItems"), "{asked}");
}

#[test]
fn an_agent_that_only_writes_has_its_value_in_the_text() {
    let claude = require_claude!();
    let schema = json!({"type": "object", "required": ["verdict"]});
    let model =
        Model::script([say("It is good."), say("So:\n```json\n{\"verdict\": \"pass\"}\n```")]).start();
    let end = held_to(&schema, &claude, &model);
    assert_eq!((&end.verdict, &end.value), (&SessionVerdict::Completed, &None));
    assert_eq!(answer(end.value.as_ref(), end.last_message.as_deref()), Ok(json!({"verdict": "pass"})));
    // It was reminded once.
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn the_plan_chooses_the_model_and_the_node_the_effort() {
    let mut spec = spec();
    spec.node.driver.model = Some("opus".into());
    spec.node.effort = Some(windlass_core::graph::workflow::Effort::High);
    let argv = |plan: &SessionPlan| prepared(&spec, plan, &UserEnvironment::default()).launch.argv;
    let has = |argv: &[String], pair: [&str; 2]| argv.windows(2).any(|found| found == pair);
    let own = argv(&plan());
    assert!(has(&own, ["--model", "opus"]) && has(&own, ["--effort", "high"]), "{own:?}");
    let next = argv(&SessionPlan { model: Some("sonnet".into()), ..plan() });
    assert!(has(&next, ["--model", "sonnet"]) && !has(&next, ["--model", "opus"]), "{next:?}");
}

#[test]
fn an_agent_of_a_protocol_gets_its_arguments_and_its_notes() {
    let mut given = spec();
    given.node.driver.name = "acp".into();
    given.node.driver.program = "/opt/my agents/opencode".into();
    given.node.driver.args = vec!["acp".into(), "--odd; $x".into()];
    given.system = Some("You are kind.".into());
    let plan = SessionPlan { holds_stop: true, ..plan() };
    let first = prepared(&given, &plan, &UserEnvironment::default());
    assert_eq!(first.launch.argv, ["/opt/my agents/opencode", "acp", "--odd; $x"]);
    let mark = LineMark { key: "id".into(), value: "windlass-last".into() };
    assert_eq!(
        (first.launch.stdin.as_deref(), first.launch.stdin_until.clone()),
        (Some("/d/input"), Some(mark))
    );
    assert!(first.launch.env.contains(&("OPENCODE_PERMISSION".into(), r#"{"*":"ask"}"#.into())));
    assert_eq!(file(&first, "input")["method"], "initialize");
    let notes = file(&first, "conversation.json");
    assert_eq!((&notes["prompt"], &notes["role"]), (&json!(plan.prompt), &json!("You are kind.")));
    assert_eq!((&notes["session"], &notes["holds_stop"]), (&Value::Null, &json!(true)));
    let resumed = SessionPlan { resume: true, ..plan };
    let notes = file(&prepared(&given, &resumed, &UserEnvironment::default()), "conversation.json");
    assert_eq!((&notes["session"], &notes["role"]), (&json!(resumed.session), &Value::Null));
}
