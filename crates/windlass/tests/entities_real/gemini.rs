//! Gemini: its own folders and `.agents`. A project's agents are documented, and not read.

use windlass_core::entity::{EntityKind, Provider};
use windlass_testkit::{Recorder, recipe, require_agent};

use crate::listed::assert_listed;
use crate::probe::Planted;
use crate::reads::{assert_reads, listen};

const READS: &[&str] = &[
    "./.agents/skills/*/SKILL.md",
    "./.gemini/commands/*.toml",
    "./.gemini/commands/front/*.toml",
    "./.gemini/skills/*/SKILL.md",
    "~/.agents/skills/*/SKILL.md",
    "~/.gemini/agents/*.md",
    "~/.gemini/commands/*.toml",
    "~/.gemini/commands/front/*.toml",
    "~/.gemini/skills/*/SKILL.md",
];

#[test]
fn gemini_reads_the_places_in_the_table() {
    let gemini = require_agent!("gemini");
    let (planted, recorder) = (Planted::everywhere(), Recorder::start());
    let environment = planted.sealed.prepare(recipe::gemini(&recorder.url()));
    // It lists its commands nowhere: each is called, and seen by what becomes of it.
    for (nth, probe) in planted.of(Provider::Gemini, EntityKind::Command).enumerate() {
        let mut command = planted.sealed.command(&gemini);
        command.args(["--approval-mode", "yolo", "-o", "stream-json", "-p"]);
        command.arg(format!("/{} it", probe.name));
        command.envs(environment.iter().cloned());
        let said = listen(&planted, command, || recorder.requests().len() > nth);
        assert!(recorder.requests().len() > nth, "{}\n{}", said.stdout, said.stderr);
    }

    let asked = recorder.asked();
    // Names alone prove nothing: it tells its model which files there are.
    assert_reads(&planted.probes, READS, |probe| match probe.kind {
        EntityKind::Command => asked.contains(&format!("{} it", probe.text)),
        EntityKind::Skill | EntityKind::Agent => asked.contains(&probe.tale) && asked.contains(&probe.name),
    });
    assert_listed(&planted);
}
