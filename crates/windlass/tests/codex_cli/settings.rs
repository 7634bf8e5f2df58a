//! The user's own Codex stays as it is, and the isolation decides what of it a session loads.

use windlass_testkit::{Gate, Model, require_agent, say, shell};

use crate::stage::{MINUTE, Stage, outside};

/// Adds to the user's settings, after the recipe of the model.
fn add_settings(stage: &Stage, text: &str) {
    let file = stage.sealed.home().join(".codex/config.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    // Keys without a table belong at the beginning.
    std::fs::write(file, format!("{text}\n{before}")).unwrap();
}

fn probes(stage: &Stage) -> String {
    let ran = |name: &str| format!("touch {}", stage.sealed.home().join(name).display());
    format!(
        "notify = [\"sh\", \"-c\", \"{}\"]\ndeveloper_instructions = \"USER PROBE\"\n\
         hooks = {{ Stop = [{{ hooks = [{{ type = \"command\", command = \"{}\" }}] }}] }}\n",
        ran("notified"),
        ran("hooked")
    )
}

#[test]
fn the_users_folder_is_byte_identical_after_a_run_and_a_resumed_turn() {
    let stage = Stage::new(require_agent!("codex"));
    let model = Model::script([shell("echo 1 > a"), say("first"), say("<promise>DONE</promise>")]).start();
    let nodes = "  - prompt: go\n    turns: { max: 3, mode: resume, promise: DONE }\n";
    let command = stage.of_nodes(&model, nodes, &[]);
    stage.sealed.write("home/.codex/auth.json", r#"{"OPENAI_API_KEY": "sk-nothing"}"#);
    add_settings(&stage, &probes(&stage));
    let before = stage.users_files();
    let ended = stage.start(command).end();

    ended.assert_ended(0, "completed", "promise");
    assert_eq!(stage.users_files(), before);
    assert_eq!(before.len(), 2);
    let secret = |text: &str| text.contains("sk-nothing") || text.contains("USER PROBE");
    assert!(!secret(&ended.stdout) && !secret(&ended.stderr));
}

#[test]
fn only_permissive_loads_the_users_own_settings() {
    for (isolation, is_loaded) in [("strict", false), ("minimal", false), ("permissive", true)] {
        let stage = Stage::new(require_agent!("codex"));
        let model = Model::script([say("hi")]).start();
        let command = stage.of_nodes(&model, "  - prompt: go\n", &["--isolation", isolation]);
        add_settings(&stage, &probes(&stage));
        let ended = stage.start(command).end();

        ended.assert_ended(0, "completed", "turn_done");
        let seen = [
            model.requests()[0].mentions("USER PROBE"),
            stage.sealed.home().join("hooked").exists(),
            stage.sealed.home().join("notified").exists(),
        ];
        assert_eq!(seen, [is_loaded; 3], "{isolation}");
    }
}

#[test]
fn a_project_can_neither_turn_off_the_hooks_nor_widen_the_sandbox() {
    let stage = Stage::new(require_agent!("codex"));
    let settings = "sandbox_mode = \"danger-full-access\"\napproval_policy = \"on-request\"\n\
                    [features]\nhooks = false\nunified_exec_tty = true\n[hooks]\nPreToolUse = []\n";
    stage.sealed.write("repo/.codex/config.toml", settings);
    let ran = stage.sealed.home().join("ran");
    let hook = format!(
        r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"touch {}"}}]}}]}}}}"#,
        ran.display()
    );
    stage.sealed.write("repo/.codex/hooks.json", hook);
    stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"Bash(touch *)\"]\n");
    let outside_folder = outside();
    let outside = outside_folder.path().join("out");
    for is_trusted in [false, true] {
        let model = Model::script([
            shell("touch made"),
            shell(format!("echo x > {}", outside.display())),
            say("then not"),
        ])
        .start();
        let command = stage.of_nodes(&model, "  - prompt: go\n", &[]);
        if is_trusted {
            let file = stage.sealed.home().join(".codex/config.toml");
            let before = std::fs::read_to_string(&file).unwrap();
            let repo = stage.sealed.repo();
            let trust = format!("{before}\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", repo.display());
            std::fs::write(file, trust).unwrap();
        }
        let ended = stage.start(command).end();

        ended.assert_ended(0, "completed", "turn_done");
        assert_eq!(ended.decisions()[0], ("Bash".to_owned(), "deny".to_owned()), "{}", ended.story());
        assert!(!stage.repo("made").exists() && !outside.exists(), "{}", ended.story());
        assert_eq!(ran.exists(), is_trusted, "its own hook runs only with the user's trust");
    }
}

#[test]
fn the_instructions_of_a_project_are_loaded_except_in_strict() {
    for (isolation, is_loaded) in [("strict", false), ("minimal", true)] {
        let stage = Stage::new(require_agent!("codex"));
        stage.sealed.write("repo/AGENTS.md", "PROJECT PROBE");
        stage.sealed.write(
            "repo/.agents/skills/probe/SKILL.md",
            "---\nname: probe\ndescription: SKILL PROBE\n---\nx",
        );
        stage
            .sealed
            .write("home/.agents/skills/mine/SKILL.md", "---\nname: mine\ndescription: MY PROBE\n---\nx");
        let model = Model::script([say("hi")]).start();
        let ended = stage.run(&model, "  - prompt: go\n", &["--isolation", isolation]);

        ended.assert_ended(0, "completed", "turn_done");
        let request = &model.requests()[0];
        let seen = ["PROJECT PROBE", "SKILL PROBE"].map(|probe| request.mentions(probe));
        assert_eq!(seen, [is_loaded; 2], "{isolation}");
        let tools = request.body["tools"].to_string();
        let has = ["web_search", "spawn_agent", "create_goal"].map(|name| tools.contains(name));
        assert_eq!(has, [is_loaded, is_loaded, false], "{isolation}: {tools}");
    }
}

#[test]
fn the_users_login_reaches_codex_by_a_link() {
    let stage = Stage::new(require_agent!("codex"));
    let gate = Gate::closed();
    let model = Model::script([say("hi").behind(&gate)]).start();
    let command = stage.of_nodes(&model, "  - prompt: go\n", &[]);
    let login = stage.sealed.write("home/.codex/auth.json", r#"{"OPENAI_API_KEY": "sk-nothing"}"#);
    let started = stage.start(command);
    gate.wait_reached(MINUTE);
    let run = started.wait_for("run.started")["run"].as_str().unwrap().to_owned();
    let home = stage.sealed.state().join("windlass/runs").join(run).join("home-codex");
    assert_eq!(std::fs::read_link(home.join("auth.json")).unwrap(), login);
    let settings = std::fs::read_dir(&home).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        path.to_str()?.ends_with(".config.toml").then_some(path)
    });
    let settings: Vec<_> = settings.collect();
    assert!(settings.len() == 1 && settings[0].exists(), "{settings:?}");
    gate.open();
    started.end().assert_ended(0, "completed", "turn_done");
    assert!(!settings[0].exists(), "the settings may contain keys, and are gone with the turn");
    assert!(!home.join("config.toml").exists());
}
