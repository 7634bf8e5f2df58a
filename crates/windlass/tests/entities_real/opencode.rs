//! OpenCode: its folders in both spellings, its documents, `.agents`, and the skills of `.claude`.

use std::path::Path;

use serde_json::Value;
use windlass_core::entity::EntityKind;
use windlass_testkit::{Recorder, require_agent};

use crate::listed::assert_listed;
use crate::probe::{Planted, Probe};
use crate::reads::{assert_reads, listen};

const READS: &[&str] = &[
    "$XDG_CONFIG_HOME/opencode/agent/*.md",
    "$XDG_CONFIG_HOME/opencode/agent/front/*.md",
    "$XDG_CONFIG_HOME/opencode/agents/*.md",
    "$XDG_CONFIG_HOME/opencode/agents/front/*.md",
    "$XDG_CONFIG_HOME/opencode/command/*.md",
    "$XDG_CONFIG_HOME/opencode/command/front/*.md",
    "$XDG_CONFIG_HOME/opencode/commands/*.md",
    "$XDG_CONFIG_HOME/opencode/commands/front/*.md",
    "$XDG_CONFIG_HOME/opencode/opencode.json: agent",
    "$XDG_CONFIG_HOME/opencode/opencode.json: command",
    "$XDG_CONFIG_HOME/opencode/opencode.jsonc: agent",
    "$XDG_CONFIG_HOME/opencode/opencode.jsonc: command",
    "$XDG_CONFIG_HOME/opencode/skill/*/SKILL.md",
    "$XDG_CONFIG_HOME/opencode/skill/front/*/SKILL.md",
    "$XDG_CONFIG_HOME/opencode/skills/*/SKILL.md",
    "$XDG_CONFIG_HOME/opencode/skills/front/*/SKILL.md",
    "./.agents/skills/*/SKILL.md",
    "./.agents/skills/front/*/SKILL.md",
    "./.claude/skills/*/SKILL.md",
    "./.opencode/agent/*.md",
    "./.opencode/agent/front/*.md",
    "./.opencode/agents/*.md",
    "./.opencode/agents/front/*.md",
    "./.opencode/command/*.md",
    "./.opencode/command/front/*.md",
    "./.opencode/commands/*.md",
    "./.opencode/commands/front/*.md",
    "./.opencode/opencode.json: agent",
    "./.opencode/opencode.json: command",
    "./.opencode/opencode.jsonc: agent",
    "./.opencode/opencode.jsonc: command",
    "./.opencode/skill/*/SKILL.md",
    "./.opencode/skill/front/*/SKILL.md",
    "./.opencode/skills/*/SKILL.md",
    "./.opencode/skills/front/*/SKILL.md",
    "./opencode.json: agent",
    "./opencode.json: command",
    "./opencode.jsonc: agent",
    "./opencode.jsonc: command",
    "~/.agents/skills/*/SKILL.md",
    "~/.agents/skills/front/*/SKILL.md",
    "~/.claude/skills/*/SKILL.md",
    "~/.opencode/agent/*.md",
    "~/.opencode/agent/front/*.md",
    "~/.opencode/agents/*.md",
    "~/.opencode/agents/front/*.md",
    "~/.opencode/command/*.md",
    "~/.opencode/command/front/*.md",
    "~/.opencode/commands/*.md",
    "~/.opencode/commands/front/*.md",
    "~/.opencode/opencode.json: agent",
    "~/.opencode/opencode.json: command",
    "~/.opencode/opencode.jsonc: agent",
    "~/.opencode/opencode.jsonc: command",
    "~/.opencode/skill/*/SKILL.md",
    "~/.opencode/skill/front/*/SKILL.md",
    "~/.opencode/skills/*/SKILL.md",
    "~/.opencode/skills/front/*/SKILL.md",
];

/// Returns the output of `opencode debug WHAT`.
#[track_caller]
fn ask(planted: &Planted, opencode: &Path, what: &str) -> Value {
    // It looks for a package of its own in the registry; here that one knows nothing.
    let registry = Recorder::start();
    let mut command = planted.sealed.command(opencode);
    command.args(["debug", what]).env("npm_config_registry", registry.url());
    for switch in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
        command.env(format!("OPENCODE_DISABLE_{switch}"), "1");
    }
    let said = listen(planted, command, || false);
    serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {}\n{}", said.stdout, said.stderr))
}

fn describes(found: &Value, probe: &Probe) -> bool {
    found["description"].as_str().is_some_and(|text| text.contains(&probe.tale))
}

#[test]
fn opencode_reads_the_places_in_the_table() {
    let opencode = require_agent!("opencode");
    let planted = Planted::everywhere();
    let settings = ask(&planted, &opencode, "config");
    let skills = ask(&planted, &opencode, "skill");
    let skills = skills.as_array().unwrap();

    assert_reads(&planted.probes, READS, |probe| match probe.kind {
        EntityKind::Command => describes(&settings["command"][&probe.name], probe),
        EntityKind::Agent => describes(&settings["agent"][&probe.name], probe),
        EntityKind::Skill => {
            skills.iter().any(|skill| skill["name"] == *probe.name && describes(skill, probe))
        }
    });
    assert_listed(&planted);
}
