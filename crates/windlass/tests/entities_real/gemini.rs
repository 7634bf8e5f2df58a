//! Gemini: its own folders and `.agents`. A project's agents are documented, and not read.

use serde_json::json;
use windlass_core::entity::{EntityKind, Provider};
use windlass_testkit::{Recorder, require_agent};

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
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
    });
    planted.sealed.write("home/.gemini/settings.json", settings.to_string());
    // It lists its commands nowhere: each is called, and seen by what becomes of it.
    for (nth, probe) in planted.of(Provider::Gemini, EntityKind::Command).enumerate() {
        let mut command = planted.sealed.command(&gemini);
        command.args(["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-o", "stream-json", "-p"]);
        command.arg(format!("/{} it", probe.name));
        command.env("GEMINI_API_KEY", "rig-0123456789").env("GOOGLE_GEMINI_BASE_URL", recorder.url());
        // It would start itself a second time with other limits, and take twice as long.
        command.env("GEMINI_CLI_NO_RELAUNCH", "true");
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
