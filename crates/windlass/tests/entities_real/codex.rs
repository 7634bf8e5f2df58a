//! Codex: skills, and agents in TOML, of the project and the home. Its prompts are no longer read.

use windlass_core::entity::{EntityKind, Provider};
use windlass_testkit::recipe::{self, Recipe};
use windlass_testkit::{Recorder, require_agent};

use crate::listed::assert_listed;
use crate::probe::Planted;
use crate::reads::{assert_reads, listen};

const READS: &[&str] = &[
    "./.agents/skills/*/SKILL.md",
    "./.agents/skills/front/*/SKILL.md",
    "./.codex/agents/*.toml",
    "./.codex/skills/*/SKILL.md",
    "./.codex/skills/front/*/SKILL.md",
    "~/.agents/skills/*/SKILL.md",
    "~/.agents/skills/front/*/SKILL.md",
    "~/.codex/agents/*.toml",
    "~/.codex/skills/*/SKILL.md",
    "~/.codex/skills/front/*/SKILL.md",
];

/// Its settings, with the project trusted: without that it reads nothing of it.
fn recipe(planted: &Planted, recorder: &Recorder) -> Recipe {
    let mut recipe = recipe::codex(&recorder.url());
    let repo = planted.sealed.repo().canonicalize().unwrap();
    recipe.home[0].1 += &format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", repo.display());
    recipe
}

#[test]
fn codex_reads_the_places_in_the_table() {
    let codex = require_agent!("codex");
    let (planted, recorder) = (Planted::everywhere(), Recorder::start());
    let prompt = planted.of(Provider::Codex, EntityKind::Command).next().unwrap();
    let mut command = planted.sealed.command(codex);
    command.args(["exec", "--json", "-s", "read-only"]).arg(format!("/prompts:{} it", prompt.name));
    command.envs(planted.sealed.prepare(recipe(&planted, &recorder)));
    let said = listen(&planted, command, || !recorder.asked().is_empty());

    let asked = recorder.asked();
    assert!(asked.contains(&format!("/prompts:{} it", prompt.name)), "{}\n{}", said.stdout, said.stderr);
    assert_reads(&planted.probes, READS, |probe| match probe.kind {
        EntityKind::Command => asked.contains(&probe.text),
        EntityKind::Skill | EntityKind::Agent => asked.contains(&probe.tale) && asked.contains(&probe.name),
    });
    assert_listed(&planted);
}
