//! Must show 3: what is outside the preset is denied before it runs, and the model is told why.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use windlass_testkit::{Model, Turn, plugin, require_claude, say, tool};

use crate::stage::{INPUT, Stage};

/// A web server of which only one thing is asked: whether anybody came. It hangs up at once.
struct Door {
    address: SocketAddr,
    knocks: Arc<AtomicUsize>,
}

impl Door {
    fn open() -> Door {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let door = Door { address: listener.local_addr().unwrap(), knocks: Arc::default() };
        let knocks = Arc::clone(&door.knocks);
        // Ends with the test's process.
        std::thread::spawn(move || {
            for _ in listener.incoming() {
                knocks.fetch_add(1, Ordering::SeqCst);
            }
        });
        door
    }

    /// The model fetches its page.
    fn fetch(&self) -> Turn {
        let url = format!("http://{}/page", self.address);
        tool("WebFetch", json!({"url": url, "prompt": "What does it say?"}))
    }

    fn was_knocked_at(&self) -> bool {
        self.knocks.load(Ordering::SeqCst) > 0
    }
}

/// A workflow of one turn that wants this isolation.
fn one_turn(isolation: Option<&str>) -> Value {
    let mut workflow = plugin::tracker_workflow();
    workflow["loop"] = json!({"enabled": false});
    if let Some(isolation) = isolation {
        workflow["isolation"] = json!(isolation);
    }
    workflow
}

/// The CLI asks its maker about a host before it fetches from it, unless told not to.
fn without_preflight(stage: &Stage) {
    stage.sealed.write("repo/.claude/settings.json", r#"{"skipWebFetchPreflight": true}"#);
}

#[test]
fn strict_denies_a_fetch_before_it_runs_and_the_model_is_told_why() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    without_preflight(&stage);
    let door = Door::open();
    let model = Model::script([door.fetch(), say("then without it")]).start();
    let folder = stage.plugin(&one_turn(None));
    let ended = stage.run(&model, &["--plugin", &folder, "--isolation", "strict"]);

    ended.assert_ended(0, "completed", "turn_done", 1);
    assert!(!door.was_knocked_at(), "the tool ran");
    assert_eq!(ended.decisions("tool"), ["deny"]);
    // By this the feed knows the result of a refusal, which it told already.
    let reason = ended.of("hook.decision")[0]["reason"].as_str().unwrap();
    let mut results = ended.of("session.event").into_iter().filter(|event| event["kind"] == "tool_result");
    assert!(results.any(|event| event["text"].as_str().unwrap().contains(reason)), "{}", ended.story());
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    let told = requests[1].last_user_text();
    assert!(told.contains("WebFetch is not allowed under the `strict` isolation"), "{told}");
}

#[test]
fn minimal_lets_the_fetch_run() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    without_preflight(&stage);
    let door = Door::open();
    let model = Model::script([door.fetch(), say("read")]).start();
    let folder = stage.plugin(&one_turn(None));
    let ended = stage.run(&model, &["--plugin", &folder, "--isolation", "minimal"]);

    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(ended.decisions("tool"), ["allow"]);
    assert!(door.was_knocked_at(), "{}", model.requests()[1].last_user_text());
}

#[test]
fn a_workflow_that_needs_more_is_warned_about_and_gets_it() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let door = Door::open();
    let model = Model::script([door.fetch(), say("read")]).start();
    let folder = stage.plugin(&one_turn(Some("minimal")));
    let ended = stage.run(&model, &["--plugin", &folder, "--isolation", "strict"]);

    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(ended.of("run.started")[0]["isolation"], "minimal");
    assert_eq!(ended.decisions("tool"), ["allow"]);
    let warning =
        "workflow `e2e-testing` needs `minimal` isolation, so Windlass uses that instead of `strict`";
    assert!(ended.stderr.contains(warning), "{}", ended.stderr);
}

#[test]
fn a_workflow_that_needs_more_than_the_settings_let_it_is_refused() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    stage.sealed.write("config/windlass/config.toml", "isolation = \"strict\"\nmax_isolation = \"strict\"\n");
    let model = Model::script([]).start();
    let folder = stage.plugin(&one_turn(Some("minimal")));
    let ended = stage.run(&model, &["--plugin", &folder]);

    assert_eq!(ended.code, Some(5), "{}", ended.story());
    assert!(ended.stderr.contains("max_isolation"), "{}", ended.stderr);
    assert_eq!(model.everything().len(), 0);
    assert!(ended.lines.is_empty());
}

#[test]
fn strict_loads_nothing_of_the_users_settings_but_the_login() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let settings = json!({
        "apiKeyHelper": "echo fake",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch \"$HOME/ran\""}]}]},
    });
    stage.sealed.write("elsewhere/settings.json", settings.to_string());
    let model = Model::script([say("logged in")]).start();
    let folder = stage.plugin(&one_turn(None));
    let mut command = stage.command(&model, INPUT, &["--plugin", &folder, "--isolation", "strict"]);
    command.env_remove("ANTHROPIC_API_KEY").env("CLAUDE_CONFIG_DIR", stage.sealed.root().join("elsewhere"));
    let ended = stage.start(command).end();

    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(model.requests().len(), 1);
    assert!(!stage.sealed.home().join("ran").exists());
}
