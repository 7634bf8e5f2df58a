//! The tools that a node allows: `tools`.

use crate::place::{Place, say};
use serde_json::json;

fn place(nodes: &str) -> Place {
    let place = Place::with_settings("");
    let steps = json!([
        {"bash": "git diff --stat > /dev/null"},
        {"bash": "touch made"},
        {"write": {"path": "written", "content": "x"}},
        say("Done."),
    ]);
    place.script(json!({"default": {"steps": steps}}));
    place.sealed.write("repo/.windlass/workflows/look.yaml", format!("name: look\nnodes:\n{nodes}"));
    place
}

/// Returns the reasons of all refusals.
fn refusals(ran: &crate::place::Ran) -> Vec<String> {
    let decisions = ran.all("hook.decision");
    let refused = decisions.iter().filter(|data| data["decision"] == "deny");
    refused.map(|data| data["reason"].as_str().unwrap_or_default().to_owned()).collect()
}

fn exists(place: &Place, name: &str) -> bool {
    place.repo().join(name).exists()
}

#[test]
fn a_session_that_only_reads_can_neither_write_nor_run_commands() {
    let place = place("  - { id: look, prompt: Look., tools: read }\n");
    let ran = place.go(&["run", "--workflow", "look", "--json"]);
    ran.assert_ended(0, "completed", "turn_done", 1);
    assert!(!exists(&place, "made") && !exists(&place, "written"), "{ran}");
    let refusals = refusals(&ran);
    let why = "is not among the tools that node `look` may use; do without it";
    assert_eq!(refusals.len(), 3, "{refusals:?}");
    assert!(refusals.iter().all(|reason| reason.ends_with(why)), "{refusals:?}");
}

#[test]
fn a_pattern_limits_a_tool_further() {
    let place = place("  - { id: look, prompt: Look., tools: [Read, Write, \"Bash(git diff:*)\"] }\n");
    let ran = place.go(&["run", "--workflow", "look", "--json"]);
    ran.assert_ended(0, "completed", "turn_done", 1);
    assert!(!exists(&place, "made") && exists(&place, "written"), "{ran}");
    let refusals = refusals(&ran);
    assert!(
        refusals.iter().any(|reason| reason.contains("`touch made` matches none of these")),
        "{refusals:?}"
    );
}

#[test]
fn a_node_never_widens_what_its_agent_may_do() {
    let place = place("  - { agent: looker, prompt: Look., tools: [Read, Write] }\n");
    place.sealed.write(
        "repo/.claude/agents/looker.md",
        "---\nname: looker\ndescription: looks\ntools: Read, Bash\n---\nYou look.",
    );
    let ran = place.go(&["run", "--workflow", "look", "--json"]);
    ran.assert_ended(0, "completed", "turn_done", 1);
    assert!(!exists(&place, "made") && !exists(&place, "written"), "{ran}");
}

#[test]
fn a_dry_run_shows_the_tools() {
    let place = place("  - { prompt: Look., tools: read }\n");
    let planned = place.go(&["run", "--workflow", "look", "--dry-run"]);
    assert_eq!(planned.code, 0, "{planned}");
    assert!(planned.stdout.contains("Read, LS, Glob, Grep"), "{planned}");
}
