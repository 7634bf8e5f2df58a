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

- `enforced`: the CLI, its sandbox, a hook of Windlass or the kernel refuses what is not allowed.
- `asked`: the agent is asked to keep the limit, and nothing stops it.
- `no`: nothing limits it.

Windlass refuses `--isolation strict` on a driver that does not enforce `tools` and `settings`, unless you add `--isolation-best-effort`.

";

const SHELL_WRITES: &str = "
Codex has a sandbox of its own ([docs/codex.md](codex.md)). For Copilot and Gemini, Windlass starts the CLI under the kernel's Landlock in `strict`: the CLI
and everything that it starts may write only

- in the workspace, also in its `.git`; in a worktree, in the parts of the repository that a commit changes, but not in its hooks and settings;
- in `/tmp`, `/var/tmp` and `TMPDIR`, and to devices such as `/dev/null`;
- in the session's own folders below the folder of the run, and for Gemini to the files of your login, which the CLI renews.

Without a worktree an agent can therefore write a hook into `.git/hooks`, which git runs with all your rights at your next commit. With `--worktree` it cannot.

So a build that must write into your home, such as a download into `~/.cargo`, fails in `strict`. The kernel does not refuse changes of a file's mode and times.
Without Landlock (Linux before 6.2, or switched off), `windlass doctor` says `no`, and nothing limits these writes. Claude Code and OpenCode keep their
login, history and caches in folders of yours, so Windlass cannot limit them like this.

In `strict`, agents on Codex and Gemini cannot commit ([Codex](codex.md), [Gemini CLI](gemini.md)).
";

const FOLDERS: &str = "
## What a run leaves in your folders

A run never changes or removes a file of your settings, also if you cancel it or something kills Windlass. Codex, OpenCode, Copilot and Gemini work
with a home of the run, so their settings and conversations stay out of yours. These files are added nevertheless:

| driver | what the CLI adds or updates | why |
|---|---|---|
| `claude` | `.claude.json`, `backups/`, `plugins/` and `projects/` in your `~/.claude` or `$CLAUDE_CONFIG_DIR` | the login, the history of sessions that `--resume` reads, caches |
| `copilot` | `copilot/pkg/` and `Microsoft/DeveloperTools/` in your `~/.cache` | a version of the CLI unpacks itself (240 MB) when it starts for the first time, as it does without Windlass |
| `acp` | the CLI's own history, logs, locks and caches: `~/.copilot/session-*` and `logs/`, `~/.gemini/history/` and `tmp/`, `~/.npm/_cacache/` | the protocol has no setting for another home |

`windlass doctor` starts each CLI with your home to ask for its version, so Copilot may unpack itself then, and Codex may leave a lock in `~/.codex/tmp`.

Tests compare every file below the home and the configuration folder before a run and after its end, with each CLI.
";

const VERSIONS: &str = "
## Versions

The tables are measured on these versions. Other versions work as long as their formats are the same.

";

const BEHAVIOURS: &str = "
## What the tests show

The conformance tests run each CLI under Windlass, with a scripted model on this machine. `windlass doctor --conformance` runs the same on the CLIs that
you have installed.

- `passed`: it works. A number refers to the notes below the table, which say what is different.
- `not possible`: the CLI cannot do it. The note says why, and the test shows that Windlass refuses it or says so.

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
    text += &format!("{SHELL_WRITES}{FOLDERS}{VERSIONS}| CLI | package | version |\n|---|---|---|\n");
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
