//! The user's own configuration stays as it is, and applies where the isolation says so.

use std::fs;

use serde_json::json;
use windlass_testkit::{Model, Request, recipe, require_agent, say, shell};

use crate::stage::Stage;

/// Gives the user and the project a skill, an agent, a context file and a hook each.
fn furnish(stage: &Stage) {
    for (place, whose) in [("home", "users"), ("repo", "projects")] {
        let write = |path: &str, text: &str| {
            stage.sealed.write(format!("{place}/.gemini/{path}"), text.replace("WHOSE", whose))
        };
        write(
            "skills/WHOSE-skill/SKILL.md".replace("WHOSE", whose).as_str(),
            "---\nname: WHOSE-skill\ndescription: Knows WHOSE-tale\n---\nx\n",
        );
        let context = if place == "home" { "home/.gemini/GEMINI.md" } else { "repo/GEMINI.md" };
        stage.sealed.write(context, format!("Remember the {whose}-context.\n"));
    }
    let extension = "home/.gemini/extensions/theirs";
    stage.sealed.write(
        format!("{extension}/gemini-extension.json"),
        json!({"name": "theirs", "version": "1.0.0", "contextFileName": "CONTEXT.md"}).to_string(),
    );
    stage.sealed.write(format!("{extension}/CONTEXT.md"), "Remember the extensions-context.\n");
    stage.sealed.git(["add", "."]);
    stage.sealed.git(["commit", "-qm", "furnished"]);
}

/// Which of these words reached the model.
fn known(request: &Request) -> Vec<&'static str> {
    let words = ["users-context", "projects-context", "extensions-context", "users-tale", "projects-tale"];
    words.into_iter().filter(|word| request.mentions(word)).collect()
}

#[test]
fn each_isolation_loads_its_own_part_and_changes_nothing() {
    for (isolation, expected) in [
        ("strict", vec![]),
        ("minimal", vec!["projects-context", "projects-tale"]),
        (
            "permissive",
            vec!["users-context", "projects-context", "extensions-context", "users-tale", "projects-tale"],
        ),
    ] {
        let stage = Stage::new(require_agent!("gemini"));
        furnish(&stage);
        let model = Model::script([shell("true"), say("done")]).start();
        let command = stage.of_nodes(&model, "  - prompt: go\n", &["--isolation", isolation]);
        let before = stage.users_files();
        let ended = stage.start(command).end();

        ended.assert_ended(0, "completed", "turn_done");
        assert_eq!(known(&model.requests()[0]), expected, "{isolation}");
        assert!(stage.users_files() == before, "{isolation}: the user's files changed");
        assert_eq!(stage.sealed.git(["status", "--porcelain"]), "", "{isolation}");
    }
}

#[test]
fn only_permissive_runs_the_users_hooks_and_ours_run_beside_them() {
    for (isolation, expected) in [("minimal", false), ("permissive", true)] {
        let stage = Stage::new(require_agent!("gemini"));
        let model = Model::script([shell("echo x > made"), say("done")]).start();
        let command = stage.of_nodes(&model, "  - prompt: go\n", &["--isolation", isolation]);
        let hook = json!([{"hooks": [{"type": "command", "command": "touch \"$HOME/ran\""}]}]);
        let file = stage.sealed.home().join(".gemini/settings.json");
        let mut settings: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        settings["hooks"] = json!({"BeforeTool": hook});
        settings["hooksConfig"] = json!({"enabled": false});
        fs::write(&file, format!("// mine\n{settings}")).unwrap();
        let ended = stage.start(command).end();

        ended.assert_ended(0, "completed", "turn_done");
        assert_eq!(stage.sealed.home().join("ran").exists(), expected, "{isolation}");
        let decisions: Vec<String> = ended.decisions().into_iter().map(|(_, said)| said).collect();
        assert_eq!(decisions, ["allow", "pass"], "{isolation}");
    }
}

#[test]
fn a_key_in_the_users_own_file_logs_in_under_every_isolation() {
    for isolation in ["strict", "minimal", "permissive"] {
        let stage = Stage::new(require_agent!("gemini"));
        let model = Model::script([say("done")]).start();
        let mut command = stage.of_nodes(&model, "  - prompt: go\n", &["--isolation", isolation]);
        command.env_remove("GEMINI_API_KEY");
        stage.sealed.write("home/.gemini/.env", format!("GEMINI_API_KEY={}\n", recipe::KEY));
        let ended = stage.start(command).end();
        ended.assert_ended(0, "completed", "turn_done");
    }
}

#[test]
fn the_doctor_leaves_nothing_in_the_users_home() {
    let gemini = require_agent!("gemini");
    let stage = Stage::new(gemini.clone());
    let path = std::env::var("PATH").unwrap();
    let mut command = stage.sealed.windlass();
    command.arg("doctor").env("PATH", format!("{}:{path}", gemini.parent().unwrap().display()));
    let ended = stage.start(command).end();
    assert!(ended.stdout.contains("gemini: 0."), "{}", ended.story());
    assert_eq!(stage.users_files(), []);
}
