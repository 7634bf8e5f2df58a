//! Copilot: its own folders, `.agents`, and most of a project's `.claude`. Prompts are its editor's.

use windlass_testkit::{Recorder, recipe, require_agent};

use crate::listed::assert_listed;
use crate::probe::Planted;
use crate::reads::{assert_reads, listen};

const READS: &[&str] = &[
    "./.agents/skills/*/SKILL.md",
    "./.agents/skills/front/*/SKILL.md",
    "./.claude/agents/*.md",
    "./.claude/agents/front/*.md",
    "./.claude/commands/*.md",
    "./.claude/skills/*/SKILL.md",
    "./.github/agents/*.agent.md",
    "./.github/agents/*.md",
    "./.github/agents/front/*.agent.md",
    "./.github/agents/front/*.md",
    "./.github/skills/*/SKILL.md",
    "./.github/skills/front/*/SKILL.md",
    "~/.agents/skills/*/SKILL.md",
    "~/.agents/skills/front/*/SKILL.md",
    "~/.copilot/agents/*.agent.md",
    "~/.copilot/agents/*.md",
    "~/.copilot/agents/front/*.agent.md",
    "~/.copilot/agents/front/*.md",
    "~/.copilot/skills/*/SKILL.md",
    "~/.copilot/skills/front/*/SKILL.md",
];

#[test]
fn copilot_reads_the_places_in_the_table() {
    let copilot = require_agent!("copilot");
    let (planted, recorder) = (Planted::everywhere(), Recorder::start());
    let mut command = planted.sealed.command(copilot);
    command.args(["-p", "hello", "--allow-all-tools", "--output-format", "json", "--no-ask-user"]);
    command.envs(planted.sealed.prepare(recipe::copilot(&recorder.url())));
    let said = listen(&planted, command, || !recorder.asked().is_empty());

    let asked = recorder.asked();
    assert!(asked.contains("hello"), "{}\n{}", said.stdout, said.stderr);
    assert_reads(&planted.probes, READS, |probe| asked.contains(&probe.tale) && asked.contains(&probe.name));
    assert_listed(&planted);
}
