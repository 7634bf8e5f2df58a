//! Every tool is asked about before it runs, and nothing runs when nobody is asked.

use std::fs;

use serde_json::json;
use windlass_testkit::{Model, read, require_agent, say, shell, tool, tools, write};

use crate::stage::Stage;

#[test]
fn a_refused_tool_does_not_run_and_the_model_is_told_why() {
    let stage = Stage::new(require_agent!("opencode"));
    stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"shell(touch *)\"]\n");
    let model = Model::script([shell("touch made"), shell("echo more"), say("then without it")]).start();
    let ended = stage.run_once(&model, "work", &[]);

    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(ended.decisions("tool"), ["deny", "allow"]);
    assert_eq!(stage.changes(), [""; 0]);
    let reason = ended.of("hook.decision")[0]["reason"].as_str().unwrap();
    assert!(model.requests()[1].last_user_text().contains(reason), "{}", ended.story());
    let refused = ended.events("tool_result")[0];
    assert_eq!((&refused["is_error"], &refused["was_decided"]), (&json!(true), &json!(true)));
}

#[test]
fn strict_offers_no_web_and_no_subagents_and_refuses_them() {
    let stage = Stage::new(require_agent!("opencode"));
    let model = Model::script([shell("echo x > made"), say("done")]).start();
    let ended = stage.run_once(&model, "work", &["--isolation", "strict"]);
    ended.assert_ended(0, "completed", "turn_done", 1);
    let offered = model.requests()[0].tool_names();
    assert!(offered.iter().any(|tool| tool == "bash"), "{offered:?}");
    for tool in ["webfetch", "websearch", "task", "skill"] {
        assert!(!offered.iter().any(|other| other == tool), "{offered:?}");
    }
    assert_eq!(stage.changes(), ["?? made"]);
}

#[test]
fn files_outside_and_several_calls_at_once_are_each_asked_about() {
    let stage = Stage::new(require_agent!("opencode"));
    let outside = stage.sealed.write("outside.txt", "secret words");
    let rules = "[permissions]\ndeny = [\"read(*.env)\", \"edit(*.lock)\"]\n";
    stage.sealed.write("config/windlass/config.toml", rules);
    let environment = stage.sealed.write("repo/.env", "KEY=hidden");
    let path = |name: &str| stage.sealed.repo().join(name).display().to_string();
    let model = Model::script([
        tools([
            ("read", json!({"filePath": environment})),
            ("write", json!({"filePath": path("a.lock"), "content": "x"})),
        ]),
        read(outside.display().to_string()),
        write(path("b.txt"), "written"),
        say("done"),
    ])
    .start();
    let ended = stage.run_once(&model, "work", &[]);
    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(ended.decisions("tool"), ["deny", "deny", "allow", "allow"], "{}", ended.story());
    assert!(!model.requests()[1].mentions("hidden"));
    assert!(model.requests()[2].mentions("secret words"), "OpenCode's own question is answered");
    assert_eq!(fs::read_to_string(path("b.txt")).unwrap(), "written");
    assert!(!fs::exists(path("a.lock")).unwrap());
}

#[test]
fn a_subagent_is_held_to_the_same_rules_and_its_tokens_count() {
    let stage = Stage::new(require_agent!("opencode"));
    stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"shell(touch *)\"]\n");
    let task = json!({"description": "d", "prompt": "SUBTASK", "subagent_type": "general"});
    let model = Model::script([tool("task", task), say("done")])
        .subagents([shell("touch made"), say("could not").tokens(1000, 1)])
        .start();
    let ended = stage.run_once(&model, "work", &[]);
    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(ended.decisions("tool"), ["allow", "deny"], "{}", ended.story());
    assert_eq!(stage.changes(), [""; 0]);
    assert_eq!(ended.finished()["usage"]["input_tokens"], 100 + 100 + 1000 + 100, "{}", ended.story());
    assert_eq!(ended.events("text").iter().filter(|event| event["side"] == true).count(), 1);
}

#[test]
fn without_the_plugin_no_tool_is_offered() {
    let stage = Stage::new(require_agent!("opencode"));
    let model = Model::script([say("nothing to do it with")]).start();
    let ended = stage.run_once(&model, "work", &["--", "--pure"]);
    // A request without tools does not count as one of the conversation.
    let requests = model.everything();
    assert!(!requests.is_empty() && requests.iter().all(|request| request.tool_names().is_empty()));
    assert_eq!(ended.events("tool_use").len(), 0, "{}", ended.story());
}
