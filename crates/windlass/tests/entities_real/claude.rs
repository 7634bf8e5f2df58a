//! Claude Code: its own folders and those of a plugin, and nobody else's.

use serde_json::Value;
use windlass_core::entity::EntityKind;
use windlass_testkit::{Model, require_claude, say};

use crate::listed::assert_listed;
use crate::probe::Planted;
use crate::reads::{assert_reads, listen};

const READS: &[&str] = &[
    "$PLUGIN/agents/*.md",
    "$PLUGIN/agents/front/*.md",
    "$PLUGIN/commands/*.md",
    "$PLUGIN/commands/front/*.md",
    "$PLUGIN/skills/*/SKILL.md",
    "./.claude/agents/*.md",
    "./.claude/agents/front/*.md",
    "./.claude/commands/*.md",
    "./.claude/commands/front/*.md",
    "./.claude/skills/*/SKILL.md",
    "~/.claude/agents/*.md",
    "~/.claude/agents/front/*.md",
    "~/.claude/commands/*.md",
    "~/.claude/commands/front/*.md",
    "~/.claude/skills/*/SKILL.md",
];

#[test]
fn claude_code_reads_the_places_in_the_table() {
    let claude = require_claude!();
    let (planted, model) = (Planted::everywhere(), Model::script([say("done")]).start());
    let mut command = planted.sealed.claude(&claude, &model);
    command.args(["-p", "hello", "--output-format", "stream-json", "--verbose", "--plugin-dir"]);
    command.arg(planted.plugin());
    let said = listen(&planted, command, || false);

    let events = said.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let begun = events.into_iter().find(|event| event["subtype"] == "init");
    let begun = begun.unwrap_or_else(|| panic!("no session: {}\n{}", said.stdout, said.stderr));
    let has = |list: &str, name: &str| begun[list].as_array().unwrap().iter().any(|entry| entry == name);
    assert_reads(&planted.probes, READS, |probe| match probe.kind {
        // Skills can be called like commands, and are in both lists.
        EntityKind::Command => has("slash_commands", &probe.name) && !has("skills", &probe.name),
        EntityKind::Skill => has("skills", &probe.name),
        EntityKind::Agent => has("agents", &probe.name),
    });
    assert_listed(&planted);
}
