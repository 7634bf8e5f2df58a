//! Every tool passes the gate: rules refuse a call before it runs, and a person can answer questions.

use serde_json::json;
use windlass_testkit::{Model, require_agent, say, shell, tool};

use crate::stage::Stage;

#[test]
fn a_refused_command_does_not_run_and_the_model_is_told_why() {
    let stage = Stage::new(require_agent!("codex"));
    stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"Bash(touch *)\"]\n");
    let model = Model::script([shell("touch made"), say("then not")]).start();
    let ended = stage.run(&model, "  - prompt: go\n", &[]);

    ended.assert_ended(0, "completed", "turn_done");
    assert!(!stage.repo("made").exists());
    assert_eq!(ended.decisions()[0], ("Bash".to_owned(), "deny".to_owned()));
    let told = model.requests()[1].last_user_text();
    assert!(told.contains("denied by the rule `Bash(touch *)`"), "{told}");
}

#[test]
fn an_agent_that_may_only_read_reads_with_a_shell_that_cannot_write() {
    let stage = Stage::new(require_agent!("codex"));
    let model = Model::script([shell("cat README.md; echo x > made; echo $?"), say("read")]).start();
    let ended = stage.run(&model, "  - prompt: look\n    tools: read\n", &[]);

    ended.assert_ended(0, "completed", "turn_done");
    assert_eq!(ended.decisions()[0], ("Bash".to_owned(), "allow".to_owned()));
    let told = model.requests()[1].last_user_text();
    assert!(told.contains("# A repository") && told.contains("Read-only file system"), "{told}");
    assert!(!stage.repo("made").exists());
}

#[test]
fn nothing_can_be_typed_into_a_running_shell() {
    let stage = Stage::new(require_agent!("codex"));
    let shell = |tty: bool| tool("exec_command", json!({"cmd": "sh", "tty": tty, "yield_time_ms": 300}));
    let model = Model::script([
        shell(true),
        shell(false),
        tool("write_stdin", json!({"session_id": 1, "chars": "touch made\n"})),
        say("could not"),
    ])
    .start();
    let ended = stage.run(&model, "  - prompt: go\n", &[]);

    ended.assert_ended(0, "completed", "turn_done");
    let told: Vec<String> = model.requests()[1..].iter().map(|request| request.last_user_text()).collect();
    assert!(told[0].contains("TTY execution is disabled"), "{told:?}");
    assert!(told[1].contains("exited with code 0"), "its input is at its end: {told:?}");
}

#[test]
fn a_question_is_answered_through_the_hook() {
    let stage = Stage::new(require_agent!("codex"));
    let question = json!({"questions": [{"id": "q", "header": "Port", "question": "Which port?", "options": [
        {"label": "80", "description": "the usual"}, {"label": "8080", "description": "free"}]}]});
    let model = Model::script([tool("request_user_input", question), say("took it")]).start();
    let started = stage.start(stage.of_nodes(&model, "  - prompt: go\n", &["--on-question", "wait"]));
    let waiting = started.wait_for("run.waiting");
    assert_eq!(waiting["data"]["question"], "Which port?");
    let answer = stage.windlass(&model, &["answer", waiting["run"].as_str().unwrap(), "Neither, use 9090"]);
    assert_eq!(answer.code, Some(0), "{}", answer.story());
    let ended = started.end();

    ended.assert_ended(0, "completed", "turn_done");
    let told = model.requests()[1].last_user_text();
    assert!(told.contains("Neither, use 9090") && told.contains("Which port?"), "{told}");
    assert_eq!(model.sessions().len(), 1);
}

/// A model that this version of Codex knows. Its tools are called from a script, and it has the patch tool.
const KNOWN: &str = "  - prompt: go\n    model: gpt-6.1-sol\n";

fn script(code: &str) -> windlass_testkit::Turn {
    tool("exec", json!(code))
}

#[test]
fn the_tools_in_a_script_of_the_agent_pass_the_gate_too() {
    let stage = Stage::new(require_agent!("codex"));
    stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"Bash(touch *)\"]\n");
    let model = Model::script([
        script("text(await tools.exec_command({cmd: 'echo 1 > one'}));"),
        script("try { text(await tools.exec_command({cmd: 'touch two'})); } catch (e) { text(String(e)); }"),
        say("done"),
    ])
    .start();
    let ended = stage.run(&model, KNOWN, &[]);

    ended.assert_ended(0, "completed", "turn_done");
    let decided: Vec<String> = ended.decisions().into_iter().map(|(_, decision)| decision).collect();
    assert_eq!(decided, ["allow", "deny", "pass"], "{}", ended.story());
    assert!(stage.repo("one").exists() && !stage.repo("two").exists());
}

#[test]
fn a_rule_about_files_holds_for_each_file_of_a_patch() {
    let stage = Stage::new(require_agent!("codex"));
    stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"Edit(secret/**)\"]\n");
    let patch = |files: &[&str]| {
        let add = |file: &&str| format!("*** Add File: {file}\\n+x\\n");
        let files: String = files.iter().map(add).collect();
        let text = format!("*** Begin Patch\\n{files}*** End Patch");
        script(&format!(
            "try {{ text(await tools.apply_patch('{text}')); }} catch (e) {{ text(String(e)); }}"
        ))
    };
    let model = Model::script([
        patch(&["a", "b"]),
        patch(&["c", "secret/d"]),
        patch(&["x/../secret/e"]),
        say("done"),
    ])
    .start();
    let ended = stage.run(&model, KNOWN, &[]);

    ended.assert_ended(0, "completed", "turn_done");
    let decided: Vec<(String, String)> = ended.decisions();
    let of = |decision: &str| ("apply_patch".to_owned(), decision.to_owned());
    assert_eq!(decided[..3], [of("allow"), of("deny"), of("deny")], "{}", ended.story());
    assert!(stage.repo("a").exists() && stage.repo("b").exists());
    assert!(!stage.repo("c").exists() && !stage.repo("secret").exists());
}

#[test]
fn a_subagent_needs_a_rule_that_allows_it() {
    let stage = Stage::new(require_agent!("codex"));
    let model = Model::script([say("hi")]).default(say("hi")).start();
    for (isolation, has_subagents) in [("strict", false), ("minimal", true)] {
        let ended = stage.run(&model, KNOWN, &["--isolation", isolation]);
        ended.assert_ended(0, "completed", "turn_done");
        let request = model.requests().pop().unwrap();
        assert_eq!(request.body.to_string().contains("spawn_agent"), has_subagents, "{isolation}");
    }
}
