//! The launch of a turn, and what stays of the user's settings.

use serde_json::json;
use windlass_core::effect::SessionPlan;
use windlass_core::graph::workflow::Effort;
use windlass_core::hook::permission::{Isolation, PermissionRules};
use windlass_core::id::{EffectId, NodeId, RunId, SessionId, Verb};
use windlass_core::spec::{SessionSettings, Spec};
use windlass_core::time::Moment;

use super::*;

/// The orders of a turn in a folder.
struct Orders {
    folder: tempfile::TempDir,
    spec: Spec,
    settings: SessionSettings,
    plan: SessionPlan,
    system: Option<&'static str>,
    env: Vec<(String, String)>,
    user: String,
}

fn orders(isolation: Isolation) -> Orders {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("repo/.git")).unwrap();
    let driver = json!({ "name": "codex", "program": "/bin/codex", "args": [] });
    let settings = json!({ "driver": driver, "isolation": isolation });
    let workspace = folder.path().join("repo");
    let spec = json!({
        "workflow": "w", "seed": "s", "input": "", "body": [], "sessions": {}, "workspace": workspace, "machine": "m",
        "plugins": [], "checks": [], "runs": "/runs",
        "policy": { "on_permission": "deny", "on_question": "fail" }, "limits": windlass_core::spec::TimeLimits::default(),
    });
    Orders {
        folder,
        spec: serde_json::from_value(spec).unwrap(),
        settings: serde_json::from_value(settings).unwrap(),
        plan: SessionPlan {
            session: SessionId::new("01a1f206-c770-7d41-b0f8-8c61de4c1839"),
            resume: false,
            prompt: "-x \"{input}\"\n".to_owned(),
            holds_stop: false,
            deadline: None,
            schema: None,
            env: Default::default(),
            driver: None,
            model: None,
        },
        system: None,
        env: vec![("HOME".to_owned(), "/home/me".to_owned())],
        user: String::new(),
    }
}

impl Orders {
    fn prepared(&self) -> Prepared {
        let effect = EffectId { node: NodeId::new("a_b"), iteration: 2, attempt: 3, verb: Verb::Session };
        let turn = TurnRequest {
            spec: &self.spec,
            settings: &self.settings,
            workspace: &self.spec.workspace,
            system: self.system,
            plan: &self.plan,
            run: &RunId::new("r1"),
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
        prepare(&turn, &paths, &UserEnvironment { env: &self.env, user_settings: Some(&self.user) })
    }

    fn settings(&self) -> Table {
        let prepared = self.prepared();
        let (_, text) = prepared.files.iter().find(|(path, _)| path.ends_with(SETTINGS)).unwrap();
        std::str::from_utf8(text).unwrap().parse().unwrap()
    }
}

fn at<'t>(table: &'t Table, path: &str) -> Option<&'t Value> {
    let (first, rest) = path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let value = table.get(first)?;
    match rest {
        None => Some(value),
        Some(rest) => at(value.as_table()?, rest),
    }
}

#[test]
fn a_turn_starts_with_its_prompt_as_a_file_and_its_settings_as_a_layer() {
    let prepared = orders(Isolation::Strict).prepared();
    let argv: Vec<&str> = prepared.launch.argv.iter().map(String::as_str).collect();
    let layer = "a_5fb_2e2_2e3_2esession";
    assert_eq!(
        argv,
        [
            "/bin/codex",
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--dangerously-bypass-hook-trust",
            "--profile",
            layer,
            "--ignore-rules",
            "-c",
            "features.hooks=true",
            "-c",
            "features.unified_exec_tty=false",
            "-c",
            "features.shell_snapshot=false",
            "-c",
            "approval_policy=\"never\"",
            "-c",
            "features.unbounded_connection_retries=false",
            "-c",
            "sandbox_mode=\"workspace-write\"",
            "-c",
            "sandbox_workspace_write.network_access=false",
            "-",
        ]
    );
    assert_eq!(prepared.launch.stdin.as_deref(), Some("/d/prompt"));
    assert_eq!(prepared.launch.stdin_until, None);
    assert_eq!(prepared.files[0], (PathBuf::from("/d/prompt"), b"-x \"{input}\"\n".to_vec()));
    let link = |link: &str, target: &str| (PathBuf::from(link), PathBuf::from(target));
    let expected = [
        link("/h/auth.json", "/home/me/.codex/auth.json"),
        link(&format!("/h/{layer}.config.toml"), "/d/codex.toml"),
    ];
    assert_eq!(prepared.links, expected);
}

#[test]
fn the_words_of_the_command_come_before_all_arguments() {
    let mut orders = orders(Isolation::Minimal);
    orders.settings.driver.words = vec!["run".to_owned(), "codex".to_owned()];
    let argv = orders.prepared().launch.argv;
    assert_eq!(argv[1..5], ["run", "codex", "exec", "--json"]);
}

#[test]
fn a_resumed_turn_names_its_conversation_after_the_users_arguments() {
    let mut orders = orders(Isolation::Minimal);
    orders.plan.resume = true;
    orders.settings.driver.args = vec!["--add-dir".to_owned(), "/x y".to_owned()];
    let argv = orders.prepared().launch.argv;
    let end = ["--add-dir", "/x y", "resume", "01a1f206-c770-7d41-b0f8-8c61de4c1839", "-"];
    assert_eq!(argv[argv.len() - 5..], end);
}

#[test]
fn the_home_is_private_and_nothing_of_an_outer_codex_is_inherited() {
    let mut orders = orders(Isolation::Minimal);
    let outer = [("CODEX_HOME", "/other"), ("CODEX_THREAD_ID", "1"), ("CODEX_SANDBOX_NETWORK_DISABLED", "1")];
    orders.env.extend(outer.map(|(name, value)| (name.to_owned(), value.to_owned())));
    orders.env.push(("CODEX_API_KEY".to_owned(), "key".to_owned()));
    let prepared = orders.prepared();
    let codex: Vec<_> = prepared.launch.env.iter().filter(|(name, _)| name.starts_with("CODEX_")).collect();
    assert_eq!(
        codex,
        [&("CODEX_API_KEY".to_owned(), "key".to_owned()), &("CODEX_HOME".to_owned(), "/h".to_owned())]
    );
    assert_eq!(prepared.links[0].1, Path::new("/other/auth.json"));
    assert!(!prepared.launch.argv.iter().any(|word| word.contains("key")));
}

const USER: &str = r#"
model = "mine"
model_provider = "own"
notify = ["x"]
sandbox_mode = "workspace-write"
developer_instructions = "Be brief."
[model_providers.own]
base_url = "http://127.0.0.1/v1"
experimental_bearer_token = "secret"
[mcp_servers.docs]
command = "docs"
[sandbox_workspace_write]
writable_roots = ["/cache"]
[features]
goals = true
[[hooks.Stop]]
hooks = [{ type = "command", command = "mine" }]
"#;

#[test]
fn the_isolation_decides_what_stays_of_the_users_settings() {
    for isolation in [Isolation::Strict, Isolation::Minimal, Isolation::Permissive] {
        let mut orders = orders(isolation);
        USER.clone_into(&mut orders.user);
        let settings = orders.settings();
        let text = |path: &str| at(&settings, path).and_then(Value::as_str);
        assert_eq!(text("model"), Some("mine"));
        assert_eq!(text("model_providers/own/experimental_bearer_token"), Some("secret"));
        let is_users = isolation == Isolation::Permissive;
        for key in ["notify", "mcp_servers", "developer_instructions"] {
            assert_eq!(settings.contains_key(key), is_users, "{key} {isolation:?}");
        }
        assert_eq!(at(&settings, "hooks/Stop").unwrap().as_array().unwrap().len(), 1 + usize::from(is_users));
        assert_eq!(at(&settings, "features/goals").unwrap().as_bool(), Some(is_users));
        assert_eq!(at(&settings, "features/hooks").unwrap().as_bool(), Some(true));
        let approves = text("mcp_servers/docs/default_tools_approval_mode");
        assert_eq!(approves, is_users.then_some("approve"), "the hook decides about its tools");
        let roots: Vec<_> =
            at(&settings, "sandbox_workspace_write/writable_roots").unwrap().as_array().unwrap().clone();
        let git = Value::String(orders.folder.path().join("repo/.git").display().to_string());
        let expected =
            if isolation == Isolation::Strict { vec![] } else { vec![git, Value::String("/cache".into())] };
        assert_eq!(roots, expected, "{isolation:?}");
    }
}

#[test]
fn the_hook_decides_about_the_servers_of_a_trusted_project() {
    for (isolation, trust, expected) in [
        (Isolation::Minimal, "trusted", Some("approve")),
        (Isolation::Minimal, "untrusted", None),
        (Isolation::Strict, "trusted", None),
    ] {
        let mut orders = orders(isolation);
        let repo = orders.folder.path().join("repo");
        std::fs::create_dir_all(repo.join(".codex")).unwrap();
        std::fs::write(repo.join(".codex/config.toml"), "[mcp_servers.own]\ncommand = \"own\"\n").unwrap();
        orders.user = format!("[projects.\"{}\"]\ntrust_level = \"{trust}\"\n", repo.display());
        let settings = orders.settings();
        let server = at(&settings, "mcp_servers/own").and_then(Value::as_table).cloned();
        let approval = server.as_ref().and_then(|server| server.get("default_tools_approval_mode")?.as_str());
        assert_eq!(approval, expected, "{isolation:?} {trust}");
    }
}

#[test]
fn permissive_is_no_wider_than_the_users_own_sandbox() {
    for (own, expected) in [
        ("", "danger-full-access"),
        ("sandbox_mode = \"danger-full-access\"", "danger-full-access"),
        ("sandbox_mode = \"workspace-write\"", "workspace-write"),
        ("sandbox_mode = \"read-only\"", "workspace-write"),
    ] {
        let mut orders = orders(Isolation::Permissive);
        own.clone_into(&mut orders.user);
        assert_eq!(orders.settings()["sandbox_mode"].as_str(), Some(expected), "{own}");
    }
}

#[test]
fn settings_that_are_no_toml_count_as_none() {
    let mut orders = orders(Isolation::Permissive);
    orders.user = "model = [".to_owned();
    assert_eq!(orders.settings().get("model"), None);
    orders.user = "features = 1\nhooks = \"x\"\nskills = []".to_owned();
    let settings = orders.settings();
    assert_eq!(at(&settings, "features/hooks"), Some(&Value::Boolean(true)));
    assert!(at(&settings, "hooks/Stop").is_some());
}

#[test]
fn model_effort_and_role_are_those_of_the_turn() {
    let mut orders = orders(Isolation::Permissive);
    USER.clone_into(&mut orders.user);
    orders.settings.effort = Some(Effort::XHigh);
    orders.settings.driver.model = Some("the node's".to_owned());
    orders.system = Some("You \"only\"\nlook.");
    let settings = orders.settings();
    let text = |key: &str| settings.get(key).and_then(Value::as_str);
    assert_eq!(text("model"), Some("the node's"));
    assert_eq!(text("model_reasoning_effort"), Some("xhigh"));
    assert_eq!(text("developer_instructions"), Some("Be brief.\n\nYou \"only\"\nlook."));
}

#[test]
fn a_session_that_may_only_read_has_a_read_only_sandbox_and_says_so_in_its_hook() {
    let mut orders = orders(Isolation::Permissive);
    let only = Some(vec!["Read".to_owned(), "Grep".to_owned()]);
    orders.settings.permissions = PermissionRules { only, ..PermissionRules::default() };
    let hook = |orders: &Orders| {
        let settings = orders.settings();
        let group = at(&settings, "hooks/PreToolUse").unwrap()[0]["hooks"][0].clone();
        group["command"].as_str().unwrap().to_owned()
    };
    assert_eq!(hook(&orders), "'/b in/windlass' hook PreToolUseReadOnly --closed");
    assert!(orders.prepared().launch.argv.contains(&"sandbox_mode=\"read-only\"".to_owned()));
    let settings = orders.settings();
    assert_eq!(at(&settings, "web_search").unwrap().as_str(), Some("disabled"));
    assert_eq!(at(&settings, "features/multi_agent").unwrap().as_bool(), Some(false));
    for args in [&["-s", "danger-full-access"][..], &["-c", "sandbox_mode=x"]] {
        orders.settings.driver.args = args.iter().map(|arg| (*arg).to_owned()).collect();
        assert_eq!(hook(&orders), "'/b in/windlass' hook PreToolUse --closed", "its shell may write");
    }
}

#[test]
fn a_project_with_settings_needs_the_users_trust() {
    let trust = |orders: &Orders| {
        let settings = orders.settings();
        let level = settings["projects"][&orders.spec.workspace]["trust_level"].clone();
        level.as_str().unwrap().to_owned()
    };
    let mut orders = orders(Isolation::Minimal);
    assert_eq!(trust(&orders), "trusted", "there is nothing to trust");
    let repo = orders.folder.path().join("repo");
    std::fs::create_dir_all(repo.join("sub")).unwrap();
    std::fs::create_dir(repo.join(".codex")).unwrap();
    assert_eq!(trust(&orders), "untrusted");
    orders.spec.workspace = repo.join("sub").display().to_string();
    assert_eq!(trust(&orders), "untrusted", "its settings are in a folder above");
    orders.user = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"", repo.display());
    assert_eq!(trust(&orders), "trusted");
    orders.settings.isolation = Isolation::Strict;
    assert_eq!(trust(&orders), "untrusted");
}

#[test]
fn the_runs_own_folder_is_writable_if_the_agent_hears_of_it() {
    let mut orders = orders(Isolation::Strict);
    let roots =
        |orders: &Orders| at(&orders.settings(), "sandbox_workspace_write/writable_roots").cloned().unwrap();
    assert_eq!(roots(&orders), Value::Array(vec![]));
    orders.plan.prompt = "Write to /runs/r1/artifacts/report.md".to_owned();
    assert_eq!(roots(&orders), Value::Array(vec!["/runs/r1/artifacts".into()]));
}

#[test]
fn a_linked_worktree_may_write_the_folders_of_git_that_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(top.join("main/.git/worktrees/w")).unwrap();
    std::fs::write(top.join("main/.git/worktrees/w/commondir"), "../..\n").unwrap();
    std::fs::create_dir_all(top.join("w/sub")).unwrap();
    std::fs::write(top.join("w/.git"), format!("gitdir: {}\n", top.join("main/.git/worktrees/w").display()))
        .unwrap();
    let expected = [top.join("main/.git"), top.join("main/.git/worktrees/w")];
    assert_eq!(project::git_folders(&top.join("w/sub")), expected);
    assert_eq!(project::git_folders(&top.join("main")), [top.join("main/.git")]);
}

#[test]
fn a_path_in_a_hook_is_quoted_only_where_a_shell_would_split_it() {
    assert_eq!(quoted("/usr/bin/windlass-1.0"), "/usr/bin/windlass-1.0");
    assert_eq!(quoted("/it's $x"), r"'/it'\''s $x'");
}
