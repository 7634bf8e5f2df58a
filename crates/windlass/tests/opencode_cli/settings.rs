//! The user's settings stay as they are, apply only where the preset says so, and nothing is left in the repository.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_testkit::{Model, require_agent, say};

use crate::stage::Stage;

const USER: &str = "USER-INSTRUCTIONS";
const USER_SKILL: &str = "USER-SKILL";
const USER_HOME: &str = "HOME-SKILL";
const PROJECT: &str = "PROJECT-INSTRUCTIONS";
const PROJECT_SETTINGS: &str = "PROJECT-SETTINGS";
const PROJECT_SKILL: &str = "PROJECT-SKILL";

/// Settings of the user, the user's home and the project, each with instructions that show whether they were read.
fn write_settings(stage: &Stage) {
    let write = |path: &str, text: &str| drop(stage.sealed.write(path, text));
    let skill = |path: &str, name: &str, text: &str| {
        write(&format!("{path}/{name}/SKILL.md"), &format!("---\nname: {name}\ndescription: {text}\n---\nx"));
    };
    write("config/opencode/AGENTS.md", USER);
    skill("home/.claude/skills", "mine", USER_SKILL);
    skill("home/.opencode/skill", "old", USER_HOME);
    write("home/.opencode/opencode.json", "{}\n");
    write("repo/AGENTS.md", PROJECT);
    write("repo/opencode.json", "{\n  \"instructions\": [\"docs/*.md\"]\n}\n");
    write("repo/docs/more.md", PROJECT_SETTINGS);
    skill("repo/.opencode/skill", "ours", PROJECT_SKILL);
    stage.sealed.git(["add", "."]);
    stage.sealed.git(["commit", "--quiet", "--message", "settings"]);
}

/// Returns every file below a folder with its content.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// Runs one turn and returns which of the settings reached the model.
fn read_with(opencode: PathBuf, isolation: &str) -> Vec<&'static str> {
    let stage = Stage::new(opencode);
    write_settings(&stage);
    let model = Model::script([say("done")]).start();
    // Writes the settings of the recipe, too.
    let command = stage.once(&model, "work", &["--isolation", isolation]);
    let folders = [stage.sealed.config().join("opencode"), stage.sealed.home().join(".opencode")];
    let before = folders.each_ref().map(|folder| files(folder));
    stage.start(command).end().assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(folders.each_ref().map(|folder| files(folder)), before, "{isolation}");
    assert_eq!(stage.changes(), [""; 0], "{isolation}");
    let request = model.requests()[0].body.to_string();
    let probes = [USER, USER_SKILL, USER_HOME, PROJECT, PROJECT_SETTINGS, PROJECT_SKILL];
    probes.into_iter().filter(|probe| request.contains(probe)).collect()
}

#[test]
fn strict_reads_no_settings() {
    assert_eq!(read_with(require_agent!("opencode"), "strict"), [""; 0]);
}

#[test]
fn minimal_reads_the_settings_of_the_project() {
    let read = read_with(require_agent!("opencode"), "minimal");
    assert_eq!(read, [PROJECT, PROJECT_SETTINGS, PROJECT_SKILL]);
}

#[test]
fn permissive_reads_the_settings_of_the_user_too() {
    let read = read_with(require_agent!("opencode"), "permissive");
    assert_eq!(read, [USER, USER_SKILL, USER_HOME, PROJECT, PROJECT_SETTINGS, PROJECT_SKILL]);
}
