//! A limit on files is about where a file lies: no link and no `..` leads around it.

use serde_json::{Value, json};
use std::os::unix::fs::symlink;

use crate::place::{Place, Ran, say};

/// The ways to a file of `src` that begin in `docs`: by a link that is there, by one that the agent makes,
/// through a folder that is not there yet, by `..`, and by a link from outside.
fn ways() -> Value {
    let write = |path: &str| json!({"write": {"path": path, "content": "x"}});
    json!([{"steps": [
        write("docs/fine.md"),
        {"bash": "ln -s ../src docs/made"},
        write("docs/link/one.rs"),
        write("docs/made/two.rs"),
        write("docs/link/new/three.rs"),
        write("docs/../src/four.rs"),
        write("docs/file"),
        write("docs/out/five.rs"),
        {"tool": {"name": "Edit", "input": {"file_path": "docs/link/lib.rs"}}},
        {"tool": {"name": "Write", "input": {"file_path": " docs/link/six.rs"}}},
        {"tool": {"name": "Write", "input": {"file_path": "docs/circle/x"}}},
        say("Done."),
    ]}])
}

fn ground(place: &Place) {
    let repo = place.repo();
    place.sealed.write("repo/src/lib.rs", "// lib\n");
    place.sealed.write("repo/docs/a.md", "# A\n");
    place.sealed.write("outside/a", "");
    symlink("../src", repo.join("docs/link")).unwrap();
    symlink("../src/lib.rs", repo.join("docs/file")).unwrap();
    symlink(place.sealed.root().join("outside"), repo.join("docs/out")).unwrap();
    symlink("circle", repo.join("docs/circle")).unwrap();
}

/// Returns the decisions about the tools that write, in order.
fn written(ran: &Ran) -> Vec<(&str, &str)> {
    let decisions = ran.lines.iter().filter(|line| line["type"] == "hook.decision");
    let told = decisions
        .filter_map(|line| Some((line["data"]["tool"].as_str()?, line["data"]["decision"].as_str()?)));
    told.filter(|(tool, _)| *tool != "Bash").collect()
}

fn assert_held(place: &Place, ran: &Ran, what: &str) {
    ran.assert_ended(0, "completed", "turn_done", 1);
    let written = written(ran);
    assert_eq!(written.first(), Some(&("Write", "allow")), "{what}: {written:?}");
    assert!(written.iter().skip(1).all(|(_, decision)| *decision == "deny"), "{what}: {written:?}");
    assert_eq!(written.len(), 10, "{what}: {written:?}");
    assert_eq!(place.file("docs/fine.md"), "x");
    assert_eq!(place.file("src/lib.rs"), "// lib\n", "{what}");
    assert_eq!(std::fs::read_dir(place.repo().join("src")).unwrap().count(), 1, "{what}");
    assert_eq!(std::fs::read_dir(place.sealed.root().join("outside")).unwrap().count(), 1, "{what}");
}

#[test]
fn no_link_leads_around_a_limit_on_files() {
    let agent = |head: &str| format!("---\ndescription: d\n{head}\n---\nYou write.");
    for (file, text) in [
        (".claude/agents/writer.md", agent("tools: Write(docs/**), Edit(docs/**), Bash(ln:*)")),
        (
            ".opencode/agent/writer.md",
            agent("permission:\n  edit:\n    \"*\": deny\n    \"docs/**\": allow\n  bash: allow"),
        ),
    ] {
        let place = Place::playing(ways());
        ground(&place);
        place.sealed.write(format!("repo/{file}"), &text);
        let ran = place.go(&["run", "--agent", "writer", "write", "--json"]);
        assert_held(&place, &ran, file);
    }
}

#[test]
fn no_link_leads_around_the_rules_of_the_settings() {
    for (rules, policy) in [
        ("[permissions]\nallow = [\"Write(docs/**)\", \"Edit(docs/**)\", \"Bash\"]\n", "deny"),
        ("[permissions]\ndeny = [\"Write(src/**)\", \"Edit(src/**)\", \"Write(//**/outside/*)\"]\n", "allow"),
        ("[permissions]\nask = [\"Write(src/**)\", \"Edit(src/**)\", \"Write(//**/outside/*)\"]\n", "deny"),
    ] {
        let place = Place::with_settings(rules);
        place.script(json!({ "turns": ways() }));
        ground(&place);
        place.sealed.write("repo/.claude/commands/w.md", "Write.");
        let ran = place.go(&["run", "--command", "w", "--on-permission", policy, "--json"]);
        assert_held(&place, &ran, rules);
    }
}

#[test]
fn no_link_leads_out_of_the_workspace() {
    let write = |path: &str| json!({"write": {"path": path, "content": "x"}});
    for (file, text) in [
        (
            ".codex/agents/writer.toml",
            "description = 'd'\nsandbox_mode = 'workspace-write'\ndeveloper_instructions = 'x'\n",
        ),
        (
            ".opencode/agent/writer.md",
            "---\ndescription: d\npermission:\n  external_directory: deny\n---\nYou write.",
        ),
    ] {
        let place = Place::playing(json!([{"steps": [
            write("docs/link/fine.rs"),
            write("docs/out/one.rs"),
            write("docs/out/new/two.rs"),
            {"tool": {"name": "Edit", "input": {"file_path": "docs/out/a"}}},
            {"tool": {"name": "Write", "input": {"file_path": "~/three"}}},
            {"tool": {"name": "Write", "input": {"file_path": "docs/link/../../../outside/four"}}},
            say("Done."),
        ]}]));
        ground(&place);
        place.sealed.write(format!("repo/{file}"), text);
        let ran = place.go(&["run", "--agent", "writer", "write", "--json"]);
        ran.assert_ended(0, "completed", "turn_done", 1);
        let written = written(&ran);
        assert_eq!(written.first(), Some(&("Write", "allow")), "{file}: {written:?}");
        assert!(written.iter().skip(1).all(|(_, decision)| *decision == "deny"), "{file}: {written:?}");
        assert_eq!(written.len(), 6, "{file}: {written:?}");
        assert_eq!(std::fs::read_dir(place.sealed.root().join("outside")).unwrap().count(), 1, "{file}");
    }
}

#[test]
fn a_refusal_says_where_a_link_leads() {
    let place = Place::playing(json!([{"steps": [
        {"write": {"path": "docs/link/one.rs", "content": "x"}},
        say("Done."),
    ]}]));
    ground(&place);
    let text = "---\ndescription: d\ntools: Write(docs/**)\n---\nYou write.";
    place.sealed.write("repo/.claude/agents/writer.md", text);
    let ran = place.go(&["run", "--agent", "writer", "write", "--json"]);
    let repo = place.repo().canonicalize().unwrap();
    let told = format!("`{0}/docs/link/one.rs` leads to `{0}/src/one.rs`", repo.display());
    assert!(ran.stdout.contains(&told), "{told} in {ran}");
}
