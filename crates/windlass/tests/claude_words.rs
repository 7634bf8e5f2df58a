//! Claude Code's words are in the places that are about Claude Code, and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};

/// Words of its hooks, tools and results, as code would write them in a text.
const WORDS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PermissionRequest",
    "SubagentStop",
    "UserPromptSubmit",
    "hookSpecificOutput",
    "permissionDecision",
    "updatedInput",
    "stop_hook_active\"",
    "stream-json",
    "\"Stop\"",
    "\"Bash",
    "\"Read\"",
    "\"Edit\"",
    "\"Write\"",
    "\"Glob\"",
    "\"Grep\"",
    "\"Task\"",
    "\"Agent\"",
    "\"Skill\"",
    "\"WebFetch\"",
    "\"WebSearch\"",
    "\"TodoWrite\"",
    "\"NotebookEdit\"",
    "\"MultiEdit\"",
    "AskUserQuestion",
    "\"subtype\"",
    "terminal_reason",
    "error_max_",
    "aborted_tools",
    "is_api_error_message",
];

/// The files that may use words of Claude Code.
const PLACES: &[&str] = &[
    // The dialect.
    "crates/peers/src/agent/claude/",
    // Codex, whose hooks are made after Claude Code's.
    "crates/peers/src/agent/codex/",
    // Copilot's hooks use some of the same words.
    "crates/peers/src/agent/copilot/hook.rs",
    // The dialect of a CLI with an output format of the same name.
    "crates/peers/src/agent/gemini/launch.rs",
    // The simulated agent, which also speaks Claude Code's format.
    "crates/pawl/src/sim/",
    // The scripted model, which calls the tools that a CLI offers, and the questions of Claude Code in the suite.
    "crates/pawl/src/model/tools.rs",
    "crates/pawl/src/conformance/drivers/claude.rs",
    // The one table of spellings that people may write.
    "crates/core/src/registry/tools.rs",
    // The readers of Claude Code's files: plugins, and what its own agents may do.
    "crates/forms/src/plugin.rs",
    "crates/core/src/registry/roles.rs",
    // The form of old records.
    "crates/core/src/event/upcast/from_3/",
    // The fakes.
    "crates/testkit/",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap_or_default()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|kind| kind == "rs"))
        .collect()
}

/// The shipped code of a file: without comments, and without the tests at its end.
fn shipped(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = code.split("#[cfg(test)]\nimpl ").next().unwrap_or_default();
    code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// `file:line: word` for each word of Claude Code in a file.
fn found_in(file: &str, source: &str) -> Vec<String> {
    let named = |line: &str| WORDS.iter().find(|word| line.contains(**word)).copied();
    shipped(source).filter_map(|(at, line)| Some(format!("{file}:{}: {}", at + 1, named(line)?))).collect()
}

#[test]
fn only_its_own_places_know_the_words_of_claude_code() {
    let root = root();
    let mut looked_at = 0;
    let mut found = Vec::new();
    for folder in fs::read_dir(root.join("crates")).unwrap() {
        for file in sources(&folder.unwrap().path().join("src")) {
            let name = file.strip_prefix(&root).unwrap().display().to_string();
            let is_test =
                name.contains("/tests/") || name.ends_with("tests.rs") || name.contains("crash_sweep");
            if is_test || PLACES.iter().any(|place| name.starts_with(place)) {
                continue;
            }
            looked_at += 1;
            found.extend(found_in(&name, &fs::read_to_string(&file).unwrap()));
        }
    }
    assert!(looked_at > 300, "only {looked_at} files");
    assert!(found.is_empty(), "words of Claude Code outside of its places:\n{}", found.join("\n"));
}

#[test]
fn a_word_elsewhere_would_be_seen() {
    let source = "// \"Bash\" in a comment\nfn f() -> &'static str { \"Bash\" }\n#[cfg(test)]\nmod tests { \"Bash\" }\n";
    assert_eq!(found_in("f.rs", source), ["f.rs:2: \"Bash"]);
}

#[test]
fn the_folders_of_agents_are_private() {
    let module = fs::read_to_string(root().join("crates/peers/src/agent/mod.rs")).unwrap();
    let agents = ["claude", "codex", "opencode", "copilot", "gemini", "acp", "sim"];
    for agent in agents {
        assert!(module.lines().any(|line| line == format!("mod {agent};")), "`mod {agent};`, private");
    }
    let named = agents.map(|agent| format!("\"{agent}\""));
    for folder in ["crates/runtime/src", "crates/core/src"] {
        for file in sources(&root().join(folder)) {
            let source = fs::read_to_string(&file).unwrap();
            let is_asked = |line: &str| {
                named.iter().any(|name| {
                    line.contains(&format!("== {name}")) || line.contains(&format!("matches!(driver, {name}"))
                })
            };
            let lines: Vec<_> = shipped(&source).filter(|(_, line)| is_asked(line)).collect();
            assert!(lines.is_empty(), "{} asks which driver it is: {lines:?}", file.display());
        }
    }
}
