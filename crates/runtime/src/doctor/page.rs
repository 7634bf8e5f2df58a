//! The page `docs/drivers.md`: what each driver can do, what it enforces, and the versions of the tests.
//!
//! With `WINDLASS_TEST_UPDATE` set, the test writes the page. The table of the conformance tests in it is theirs.

use std::fs;
use std::path::Path;

use windlass_peers::agent::Agents;
use windlass_testkit::agents;

use super::{limits, rows};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/drivers.md");
const BEGIN: &str = "<!-- conformance -->\n";
const END: &str = "<!-- end of conformance -->\n";

const HEAD: &str = "\
# Drivers

A driver runs one agent CLI. `--driver NAME` chooses it for a run, `driver:` for a node of a workflow, and `driver = \"NAME\"` in your settings makes it the
default. `windlass doctor` shows the same tables for the CLIs that you have installed.

`acp` runs [any agent that speaks the Agent Client Protocol](acp.md): `--driver acp --agent-bin \"opencode acp\"`. `sim` is a
[simulated agent](sim.md) that needs no model. There are pages about [Codex](codex.md), [OpenCode](opencode.md),
[GitHub Copilot](copilot.md) and [Gemini CLI](gemini.md).
";

const CAPABILITIES: &str = "
## What each driver can do

Where a driver lacks a capability that a workflow needs, Windlass refuses the run before it starts and names the capability. A loop with
`mode: in_session` on a driver without `stop-block` uses `mode: resume` instead and warns.

";

const LIMITS: &str = "
## What each driver enforces

- `enforced`: the CLI, its sandbox or a hook of Windlass refuses what is not allowed.
- `asked`: the agent is asked to keep the limit, and nothing stops it.
- `no`: nothing limits it.

Windlass refuses `--isolation strict` on a driver that does not enforce `tools` and `settings`, unless you add `--isolation-best-effort`.

";

const VERSIONS: &str = "
## Versions

The tables are measured on these versions. Other versions work as long as their formats are the same.

";

const BEHAVIOURS: &str = "
## What the tests show

The conformance tests run each CLI under Windlass, with a scripted model on this machine. A number refers to the notes below the table.

";

/// Writes the page. `behaviours` is the table of the conformance tests.
fn page(behaviours: &str) -> String {
    let agents = Agents::default();
    let drivers: Vec<_> = agents.iter().map(|dialect| (dialect.name(), dialect.capabilities())).collect();
    let names: Vec<&str> = drivers.iter().map(|(name, _)| *name).collect();
    let can: Vec<_> = drivers.iter().map(|(_, can)| rows(*can)).collect();
    let holds: Vec<_> = drivers.iter().map(|(_, can)| limits(can.enforcement)).collect();
    let mut text = format!("{HEAD}{CAPABILITIES}{}", head("capability", &names, "the agent CLI"));
    for (nth, row) in can[0].iter().enumerate() {
        let cells: Vec<&str> = can.iter().map(|rows| if rows[nth].able { "yes" } else { "-" }).collect();
        text += &line(&format!("`{}`", row.name), &cells, row.about);
    }
    text += &format!("{LIMITS}{}", head("limit", &names, "a session"));
    for (nth, row) in holds[0].iter().enumerate() {
        let cells: Vec<&str> = holds.iter().map(|rows| rows[nth].word()).collect();
        text += &line(&format!("`{}`", row.name), &cells, row.about);
    }
    text += &format!("{VERSIONS}| CLI | package | version |\n|---|---|---|\n");
    for agent in agents::all() {
        text += &format!("| `{}` | `{}` | {} |\n", agent.name, agent.package, agent.version);
    }
    format!("{text}{BEHAVIOURS}{BEGIN}{behaviours}{END}")
}

fn head(first: &str, names: &[&str], last: &str) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let rule = "---|".repeat(names.len() + 2);
    format!("| {first} | {} | {last} |\n|{rule}\n", names.join(" | "))
}

fn line(first: &str, cells: &[&str], last: &str) -> String {
    format!("| {first} | {} | {last} |\n", cells.join(" | "))
}

#[test]
fn the_page_about_the_drivers_is_the_one_of_the_code() {
    let path = Path::new(PAGE);
    let found = fs::read_to_string(path).unwrap_or_default();
    let behaviours = found.split_once(BEGIN).and_then(|(_, rest)| Some(rest.split_once(END)?.0));
    let expected = page(behaviours.unwrap_or_default());
    if std::env::var_os("WINDLASS_TEST_UPDATE").is_some() {
        fs::write(path, &expected).unwrap();
        return;
    }
    let update = "WINDLASS_TEST_UPDATE=1 cargo test -p windlass-runtime doctor";
    assert!(found == expected, "docs/drivers.md is not what the code says: run `{update}`");
}
