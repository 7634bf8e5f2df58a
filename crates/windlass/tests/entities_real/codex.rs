//! Codex: skills, and agents in TOML, of the project and the home. Its prompts are no longer read.

use windlass_core::entity::{EntityKind, Provider};
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

/// A model of its own, and the project trusted: without that it reads nothing of it.
fn settings(planted: &Planted, recorder: &Recorder) -> String {
    let (url, repo) = (recorder.url(), planted.sealed.repo().canonicalize().unwrap());
    format!(
        "model = \"fake-model\"\nmodel_provider = \"fake\"\n\
         [model_providers.fake]\nname = \"fake\"\nbase_url = \"{url}/v1\"\nenv_key = \"FAKE_KEY\"\n\
         wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n\
         [projects.\"{}\"]\ntrust_level = \"trusted\"\n",
        repo.display()
    )
}

#[test]
fn codex_reads_the_places_in_the_table() {
    let codex = require_agent!("codex");
    let (planted, recorder) = (Planted::everywhere(), Recorder::start());
    planted.sealed.write("home/.codex/config.toml", settings(&planted, &recorder));
    let prompt = planted.of(Provider::Codex, EntityKind::Command).next().unwrap();
    let mut command = planted.sealed.command(codex);
    command.args(["exec", "--json", "-s", "read-only"]).arg(format!("/prompts:{} it", prompt.name));
    command.env("FAKE_KEY", "fake");
    let said = listen(&planted, command, || !recorder.asked().is_empty());

    let asked = recorder.asked();
    assert!(asked.contains(&format!("/prompts:{} it", prompt.name)), "{}\n{}", said.stdout, said.stderr);
    assert_reads(&planted.probes, READS, |probe| match probe.kind {
        EntityKind::Command => asked.contains(&probe.text),
        EntityKind::Skill | EntityKind::Agent => asked.contains(&probe.tale) && asked.contains(&probe.name),
    });
    assert_listed(&planted);
}
