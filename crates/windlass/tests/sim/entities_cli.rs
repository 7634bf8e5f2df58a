//! `windlass entities` and `windlass hint`, and what a shell completes.

use std::os::unix::fs::symlink;

use crate::place::{Place, Ran, last_turn, say};
use serde_json::{Value, json};

fn skill(about: &str) -> String {
    format!("---\ndescription: {about}\n---\nDo {about}: $ARGUMENTS")
}

fn place() -> Place {
    Place::with_settings("")
}

/// The folders of providers that `windlass` asks the system about, by the beginning of each path.
fn folders_touched(place: &Place, arguments: &[&str]) -> Vec<String> {
    let trace = place.sealed.root().join("trace");
    let windlass = place.windlass(arguments);
    let mut traced = place.sealed.command("strace");
    traced.args(["-f", "-qq", "-e", "trace=%file", "-o"]).arg(&trace);
    traced.arg(windlass.get_program()).args(windlass.get_args());
    traced.envs(windlass.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = place.spawn(traced).end();
    assert_eq!(ran.code, 0, "{ran}");
    let said = std::fs::read_to_string(trace).unwrap();
    let hidden =
        ["/.claude", "/.opencode", "/.copilot", "/.codex", "/.gemini", "/.agents", "/.atomic", "/.github"];
    let touched = |folder: &&str| said.contains(*folder);
    hidden.into_iter().filter(touched).map(str::to_owned).collect()
}

#[test]
fn a_loop_looks_into_no_folder_of_entities_and_a_node_that_names_one_does() {
    if !crate::kill_sweep::can_trace() {
        let test = "a_loop_looks_into_no_folder_of_entities_and_a_node_that_names_one_does";
        return windlass_testkit::programs::note_skip(test, "strace cannot trace here");
    }
    let place = place();
    place.sealed.write("repo/.claude/agents/looker.md", "---\ndescription: d\n---\nYou look.");
    place.sealed.write("repo/.claude/agents/broken.md", "---\ndescription: [\n---\nx");
    let workflow = |nodes: &str| format!("name: w\nnodes:\n  - {nodes}\n");
    assert_eq!(folders_touched(&place, &["loop", "use @looker and /say", "--dry-run"]), [""; 0]);
    place.sealed.write("repo/.windlass/workflows/w.yaml", workflow("prompt: '{{ input }}'"));
    assert_eq!(folders_touched(&place, &["run", "x", "--workflow", "w", "--dry-run"]), [""; 0]);
    let named = workflow("loop: { max: 1 }\n    do:\n      - { agent: looker, prompt: x }");
    place.sealed.write("repo/.windlass/workflows/w.yaml", named);
    let touched = folders_touched(&place, &["run", "x", "--workflow", "w", "--dry-run"]);
    assert!(touched.contains(&"/.claude".to_owned()), "{touched:?}");
}

fn data(ran: &Ran) -> Vec<Value> {
    ran.lines.iter().map(|line| line["data"].clone()).collect()
}

fn listed(place: &Place, flags: &[&str]) -> Vec<Value> {
    let ran = place.go(&[&["entities", "list", "--json"], flags].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    data(&ran)
}

/// The places of each provider: provider, kind, level, file, and the name that calls the entity.
const PLACES: &[(&str, &str, &str, &str, &str)] = &[
    ("windlass", "command", "project", "repo/.windlass/commands/NAME.md", "NAME"),
    ("windlass", "skill", "project", "repo/.windlass/skills/NAME/SKILL.md", "NAME"),
    ("windlass", "agent", "project", "repo/.windlass/agents/NAME.md", "NAME"),
    ("windlass", "command", "user", "config/windlass/commands/NAME.md", "NAME"),
    ("windlass", "skill", "user", "config/windlass/skills/NAME/SKILL.md", "NAME"),
    ("windlass", "agent", "user", "config/windlass/agents/NAME.md", "NAME"),
    ("claude", "command", "project", "repo/.claude/commands/NAME.md", "NAME"),
    ("claude", "command", "project", "repo/.claude/commands/front/NAME.md", "front:NAME"),
    ("claude", "skill", "project", "repo/.claude/skills/NAME/SKILL.md", "NAME"),
    ("claude", "agent", "project", "repo/.claude/agents/deep/NAME.md", "deep:NAME"),
    ("claude", "command", "user", "home/.claude/commands/NAME.md", "NAME"),
    ("claude", "skill", "user", "home/.claude/skills/NAME/SKILL.md", "NAME"),
    ("claude", "agent", "user", "home/.claude/agents/NAME.md", "NAME"),
    ("opencode", "command", "project", "repo/.opencode/command/NAME.md", "NAME"),
    ("opencode", "command", "project", "repo/.opencode/commands/front/NAME.md", "front/NAME"),
    ("opencode", "skill", "project", "repo/.opencode/skill/NAME/SKILL.md", "NAME"),
    ("opencode", "skill", "project", "repo/.opencode/skills/NAME/SKILL.md", "NAME"),
    ("opencode", "agent", "project", "repo/.opencode/agent/NAME.md", "NAME"),
    ("opencode", "agent", "project", "repo/.opencode/agents/NAME.md", "NAME"),
    ("opencode", "command", "user", "config/opencode/command/NAME.md", "NAME"),
    ("opencode", "skill", "user", "config/opencode/skills/NAME/SKILL.md", "NAME"),
    ("opencode", "agent", "user", "config/opencode/agents/NAME.md", "NAME"),
    ("opencode", "agent", "user", "home/.opencode/agent/NAME.md", "NAME"),
    ("copilot", "command", "project", "repo/.github/prompts/NAME.prompt.md", "NAME"),
    ("copilot", "skill", "project", "repo/.github/skills/NAME/SKILL.md", "NAME"),
    ("copilot", "agent", "project", "repo/.github/agents/NAME.md", "NAME"),
    ("copilot", "agent", "project", "repo/.github/agents/NAME.agent.md", "NAME"),
    ("copilot", "skill", "user", "home/.copilot/skills/NAME/SKILL.md", "NAME"),
    ("copilot", "agent", "user", "home/.copilot/agents/NAME.agent.md", "NAME"),
    ("codex", "skill", "project", "repo/.codex/skills/NAME/SKILL.md", "NAME"),
    ("codex", "agent", "project", "repo/.codex/agents/NAME.toml", "NAME"),
    ("codex", "command", "user", "home/.codex/prompts/NAME.md", "NAME"),
    ("codex", "skill", "user", "home/.codex/skills/NAME/SKILL.md", "NAME"),
    ("codex", "agent", "user", "home/.codex/agents/NAME.toml", "NAME"),
    ("gemini", "command", "project", "repo/.gemini/commands/NAME.toml", "NAME"),
    ("gemini", "command", "project", "repo/.gemini/commands/git/NAME.toml", "git:NAME"),
    ("gemini", "skill", "project", "repo/.gemini/skills/NAME/SKILL.md", "NAME"),
    ("gemini", "agent", "project", "repo/.gemini/agents/NAME.md", "NAME"),
    ("gemini", "command", "user", "home/.gemini/commands/NAME.toml", "NAME"),
    ("gemini", "skill", "user", "home/.gemini/skills/NAME/SKILL.md", "NAME"),
    ("gemini", "agent", "user", "home/.gemini/agents/NAME.md", "NAME"),
    ("shared", "skill", "project", "repo/.agents/skills/NAME/SKILL.md", "NAME"),
    ("shared", "skill", "user", "home/.agents/skills/NAME/SKILL.md", "NAME"),
    ("atomic", "command", "project", "repo/.atomic/commands/NAME.md", "NAME"),
    ("atomic", "skill", "project", "repo/.atomic/skills/NAME/SKILL.md", "NAME"),
    ("atomic", "agent", "project", "repo/.atomic/agents/NAME.md", "NAME"),
    ("atomic", "command", "user", "home/.atomic/commands/NAME.md", "NAME"),
    ("atomic", "skill", "user", "home/.atomic/skills/NAME/SKILL.md", "NAME"),
    ("atomic", "agent", "user", "home/.atomic/agents/NAME.md", "NAME"),
];

fn text_for(provider: &str, kind: &str) -> &'static str {
    match (provider, kind) {
        ("codex", "agent") => "description = \"d\"\ndeveloper_instructions = \"Do it\"\n",
        ("gemini", "command") => "description = \"d\"\nprompt = \"Do it\"\n",
        _ => "---\ndescription: d\n---\nDo it",
    }
}

#[test]
fn every_place_of_every_provider_is_read() {
    let place = place();
    for (row, (provider, kind, _, file, _)) in PLACES.iter().enumerate() {
        place.sealed.write(file.replace("NAME", &format!("probe-{row}")), text_for(provider, kind));
    }
    let found = listed(&place, &["--all"]);
    for (row, (provider, kind, level, file, name)) in PLACES.iter().enumerate() {
        let name = name.replace("NAME", &format!("probe-{row}"));
        let entity = found.iter().find(|entity| entity["name"] == *name);
        let entity = entity.unwrap_or_else(|| panic!("{file} is not listed as {name}"));
        assert_eq!(
            [&entity["provider"], &entity["kind"], &entity["level"]],
            [provider, kind, level],
            "{file}"
        );
        assert_eq!(entity["shadowed"], false, "{file}");
    }
    assert_eq!(found.iter().filter(|entity| entity["level"] != "builtin").count(), PLACES.len());
}

#[test]
fn the_inline_ones_of_opencode_are_read_with_their_lines() {
    let place = place();
    let text = r#"{
  // comments and commas at the end are fine
  "command": {
    "ship": {"template": "Ship $ARGUMENTS", "description": "ships it"},
  },
  "agent": {
    "mate": {"prompt": "You help.", "description": "helps", "tools": {"bash": true, "write": false}},
  },
}"#;
    place.sealed.write("repo/opencode.jsonc", text);
    let found = listed(&place, &["--provider", "opencode"]);
    let seen: Vec<_> =
        found.iter().map(|e| (e["kind"].as_str(), e["name"].as_str(), e["line"].as_u64())).collect();
    assert_eq!(seen, [(Some("command"), Some("ship"), Some(4)), (Some("agent"), Some("mate"), Some(7))],);
    assert_eq!(found[1]["tools"], serde_json::json!(["bash"]));
}

#[test]
fn one_name_in_four_providers_and_two_levels_has_one_winner_and_all_others_listed() {
    let place = place();
    let files = [
        "repo/.claude/skills/same/SKILL.md",
        "repo/.opencode/skills/same/SKILL.md",
        "repo/.github/skills/same/SKILL.md",
        "repo/.agents/skills/same/SKILL.md",
        "home/.claude/skills/same/SKILL.md",
        "home/.agents/skills/same/SKILL.md",
    ];
    for file in files.iter().rev() {
        place.sealed.write(file, skill(file));
    }
    // A broken one at the very top hides nothing.
    place.sealed.write("repo/.windlass/skills/same/SKILL.md", b"---\ndescription: d\n---\n\xff\xfe");
    let winner: Vec<Value> = listed(&place, &[]).into_iter().filter(|e| e["name"] == "same").collect();
    assert_eq!(winner.len(), 1);
    assert!(winner[0]["path"].as_str().unwrap().ends_with(files[0]), "{winner:?}");
    let all: Vec<Value> = listed(&place, &["--all"]).into_iter().filter(|e| e["name"] == "same").collect();
    assert_eq!(all.len(), files.len());
    assert_eq!(all.iter().filter(|e| e["shadowed"] == true).count(), files.len() - 1);
    let shown = place.go(&["entities", "show", "SAME", "--json"]);
    assert_eq!(data(&shown)[0]["shadows"].as_array().unwrap().len(), files.len() - 1);
}

#[test]
fn what_a_plugin_brings_carries_its_name() {
    let place = place();
    place.sealed.write("plug/.claude-plugin/plugin.json", r#"{"name": "demo"}"#);
    place.sealed.write("plug/commands/greet.md", "Hello $0 in ${CLAUDE_PLUGIN_ROOT}");
    place.sealed.write("plug/skills/hello/SKILL.md", skill("hello"));
    place.sealed.write("plug/agents/judge.md", "---\nname: judge\ndescription: d\n---\nYou judge.");
    let dir = place.sealed.root().join("plug");
    let found = listed(&place, &["--provider", "claude", "--plugin", dir.to_str().unwrap()]);
    let names: Vec<&str> = found.iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["demo:greet", "demo:hello", "demo:judge"]);
    let ran = place.go(&[
        "entities",
        "show",
        "demo:greet",
        "--args",
        "you",
        "--plugin",
        dir.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(data(&ran)[0]["prompt"], format!("Hello you in {}", dir.canonicalize().unwrap().display()));
}

#[test]
fn check_lists_everything_that_is_wrong_and_ends_with_3() {
    let place = place();
    place.sealed.write(
        "repo/.claude/skills/colon/SKILL.md",
        "---\nname: colon\ndescription: Use this: when foo\n---\nX",
    );
    place.sealed.write("repo/.claude/commands/empty.md", "");
    place.sealed.write("repo/.claude/commands/latin.md", b"caf\xe9");
    place.sealed.write("repo/.claude/commands/huge.md", vec![b'x'; 10 << 20]);
    symlink("loop", place.repo().join(".claude/skills/loop")).unwrap();
    place.sealed.write("secret/SKILL.md", skill("secret"));
    symlink("../../../secret", place.repo().join(".claude/skills/out")).unwrap();
    let ran = place.go(&["entities", "check"]);
    assert_eq!(ran.code, 3);
    for part in ["colon/SKILL.md:3:", "empty.md", "latin.md", "huge.md", "skills/loop", "skills/out"] {
        assert!(ran.stdout.contains(part), "{part} in\n{}", ran.stdout);
    }
    assert!(ran.stdout.contains("     3 | description: Use this: when foo\n"), "{}", ran.stdout);
    // What can be used is used, and what is wrong elsewhere does not stand in its way.
    let found = listed(&place, &["--provider", "claude"]);
    let names: Vec<&str> = found.iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["colon"]);
    assert_eq!(found[0]["description"], "Use this: when foo");
}

#[test]
fn warnings_alone_are_no_error() {
    let place = place();
    place.sealed.write("repo/.claude/skills/colon/SKILL.md", "---\ndescription: Use this: when foo\n---\nX");
    let ran = place.go(&["entities", "check", "--json"]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        ran.lines.iter().map(|line| line["type"].as_str().unwrap()).collect::<Vec<_>>(),
        ["diagnostic", "checked"]
    );
    assert_eq!(data(&ran)[0]["severity"], "warning");
}

#[test]
fn a_list_is_a_table_without_escape_codes() {
    let place = place();
    place.sealed.write("repo/.claude/skills/esc/SKILL.md", "---\ndescription: \"a\\e[31m red\"\n---\nX");
    let ran = place.go(&["entities", "--type", "skill"]);
    assert_eq!(ran.code, 0);
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{:?}", ran.stdout);
    assert!(
        ran.stdout.lines().any(|line| line.starts_with("commit ") && line.contains(" windlass builtin "))
    );
    assert!(ran.stdout.lines().all(|line| line.contains(" skill ")), "{}", ran.stdout);
}

#[test]
fn show_says_where_it_comes_from_and_what_it_hides() {
    let place = place();
    place.sealed.write("repo/.claude/skills/commit/SKILL.md", skill("mine"));
    let ran = place.go(&["entities", "show", "commit", "--args", "a b"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains(".claude/skills/commit/SKILL.md:1 (claude, project)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("hides       Windlass itself"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("\nDo mine: a b\n"), "{}", ran.stdout);
    let miss = place.go(&["entities", "show", "comit"]);
    assert_eq!(miss.code, 3);
    assert!(miss.stderr.contains("hint: did you mean `commit`? "), "{}", miss.stderr);
}

#[test]
fn a_copy_is_made_once_and_never_over_another() {
    let place = place();
    let ran = place.go(&["entities", "eject", "commit"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let copy = place.repo().join(".windlass/skills/commit/SKILL.md");
    let text = std::fs::read_to_string(&copy).unwrap();
    let show = |place: &Place| data(&place.go(&["entities", "show", "commit", "--json"]))[0].clone();
    let mine = show(&place);
    assert_eq!([&mine["level"], &mine["provider"]], ["project", "windlass"]);
    assert!(
        mine["aliases"] == show(&self::place())["aliases"]
            && mine["prompt"] == show(&self::place())["prompt"]
    );
    std::fs::write(&copy, text.clone() + "changed").unwrap();
    let again = place.go(&["entities", "eject", "commit"]);
    assert_eq!(again.code, 3);
    assert!(again.stderr.contains("already exists"), "{}", again.stderr);
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), text + "changed");
}

#[test]
fn a_hint_is_the_entitys_own_or_the_built_in_one() {
    let place = place();
    let hint = |name: &str| place.go(&["hint", name]);
    assert_eq!(hint("commit").stdout, "[message] | --amend\n");
    assert_eq!(hint("/commit").stdout, "[message] | --amend\n");
    assert_eq!(hint("doctor").stdout, "\n");
    // An entity has the alias `tasks`.
    assert!(hint("tasks").stdout.starts_with("init | list | add <name> | "), "{}", hint("tasks"));
    place.sealed.write("repo/.claude/commands/commit.md", "---\nargument-hint: <my own>\n---\nX");
    assert_eq!(hint("COMMIT").stdout, "<my own>\n");
    let miss = hint("comit");
    assert_eq!(miss.code, 3);
    assert!(miss.stderr.contains("hint: did you mean `commit`? "), "{}", miss.stderr);
}

#[test]
fn settings_choose_the_providers() {
    let place = Place::with_settings("[entities]\nproviders = [\"claude\"]\n");
    place.sealed.write("repo/.claude/skills/a/SKILL.md", skill("a"));
    place.sealed.write("repo/.opencode/skills/b/SKILL.md", skill("b"));
    let found = listed(&place, &[]);
    let mine: Vec<&str> =
        found.iter().filter(|e| e["level"] != "builtin").map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(mine, ["a"]);
    assert!(found.iter().any(|e| e["level"] == "builtin"));
}

/// Returns what bash offers for the last of the words.
fn completed(place: &Place, words: &str) -> Vec<String> {
    let script = place.go(&["completions", "bash"]);
    assert_eq!(script.code, 0);
    let script = place.sealed.write("complete.bash", &script.stdout);
    let typed = format!(
        "source {}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_TYPE=9; \
         _clap_complete_windlass windlass \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    let mut bash = place.sealed.command("bash");
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_windlass")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", binary.display());
    bash.args(["--norc", "-c", &typed]).env("PATH", path);
    let ran = place.spawn(bash).end();
    let lines = ran.stdout.lines().map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// Returns the lines that fish gets: each a name and its description.
fn described(place: &Place, words: &[&str]) -> Vec<String> {
    let mut asked = place.windlass(&[]);
    asked.arg("--").args(words).env("COMPLETE", "fish");
    let ran = place.spawn(asked).end();
    assert_eq!(ran.code, 0, "{ran}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_completes_runs_with_workflow_and_status() {
    let place = Place::playing(json!([last_turn()]));
    assert!(completed(&place, "windlass show ''").iter().all(|word| word.starts_with('-')));
    assert!(!place.sealed.state().join("windlass").exists(), "completing opened the store");
    let first = place.go(&["loop", "the first", "--json"]).run().to_owned();
    let second = place.go(&["loop", "the second", "--json"]).run().to_owned();
    for verb in ["show", "logs", "fork", "replay"] {
        let offered = completed(&place, &format!("windlass {verb} ''"));
        assert_eq!(offered[..2], [second.clone(), first.clone()], "{verb}: newest first");
    }
    assert_eq!(completed(&place, &format!("windlass logs -f {}", &first[..5])), [first.as_str()]);
    let line = format!("{second}\tloop, completed: the second");
    assert!(described(&place, &["windlass", "show", ""]).contains(&line));
    // These are over, so nothing can act on them.
    for verb in ["cancel", "pause", "answer", "approve", "send", "resume"] {
        let offered = completed(&place, &format!("windlass {verb} ''"));
        assert!(!offered.contains(&first), "{verb}: {offered:?}");
    }
    place.script(json!({"turns": [{"steps": [say("hello"), {"hang": true}]}]}));
    let open = place.go(&["loop", "x", "--detach"]).stdout.trim().to_owned();
    for verb in ["cancel", "pause", "answer", "approve", "send", "resume"] {
        assert_eq!(completed(&place, &format!("windlass {verb} {}", &open[..4])), [open.as_str()], "{verb}");
    }
    assert_eq!(place.go(&["cancel", &open]).code, 0);
}

#[test]
fn a_shell_completes_workflows_nodes_and_tasks() {
    let place = Place::with_settings("");
    let document = r#"
name: release
description: Ships it.
nodes:
  - { id: build, shell: "true" }
  - { id: bundle, when: "false", shell: "true" }
"#;
    place.sealed.write("repo/.windlass/workflows/release.yaml", document);
    place.sealed.write("repo/.windlass/workflows/odd.yaml", "name: re$(id)\nnodes: []\n");
    let named = ["run --workflow", "workflow show", "workflow graph", "workflow check", "workflow eject"];
    for start in named {
        assert_eq!(completed(&place, &format!("windlass {start} rel")), ["release"], "{start}");
    }
    assert_eq!(completed(&place, "windlass workflow show re"), ["release"], "no name that a shell would run");
    let lines = described(&place, &["windlass", "run", "--workflow", "rel"]);
    assert_eq!(lines, ["release\tShips it."]);
    place.sealed.write("plug/.claude-plugin/plugin.json", r#"{"name": "demo"}"#);
    place.sealed.write("plug/workflow.json", r#"{"name": "plugged", "promptTemplate": "{input}"}"#);
    assert_eq!(completed(&place, "windlass run --plugin ../plug --workflow plu"), ["plugged"]);
    let file = ".windlass/workflows/release.yaml";
    assert_eq!(completed(&place, "windlass workflow graph .windlass/workflows/r"), [file]);

    let earlier = place.go(&["run", "--workflow", "release", "--json"]).run().to_owned();
    place.script(json!({"turns": [last_turn()]}));
    place.go(&["loop", "x"]);
    assert_eq!(completed(&place, "windlass show --explain ''"), ["loop"], "the newest run");
    for line in [format!("show {earlier} --explain b"), format!("fork --detach {earlier} --at b")] {
        assert_eq!(completed(&place, &format!("windlass {line}")), ["build", "bundle"], "{line}");
    }
    let lines = described(&place, &["windlass", "show", &earlier, "--explain", "bun"]);
    assert_eq!(lines, ["bundle\tshell, skipped"]);

    assert_eq!(place.go(&["tasks", "init"]).code, 0);
    for name in ["Write the parser", "Write the printer"] {
        place.go(&["tasks", "add", name]);
    }
    assert_eq!(completed(&place, "windlass tasks set ''")[..2], ["1", "2"]);
    assert_eq!(completed(&place, "windlass tasks add x --after ''"), ["1", "2"]);
    let lines = described(&place, &["windlass", "tasks", "set", "2"]);
    assert_eq!(lines, ["2\tpending: Write the printer"]);
    assert_eq!(completed(&place, "windlass hint docto"), ["doctor"]);
}

#[test]
fn a_shell_completes_the_names_of_entities() {
    let place = place();
    place.sealed.write("repo/.claude/skills/compose/SKILL.md", skill("compose"));
    place.sealed.write("repo/.claude/agents/composer.md", "---\ndescription: d\n---\nX");
    let ask = |words: &str| completed(&place, words);
    assert_eq!(ask("windlass run --skill com"), ["commit", "compose"]);
    assert_eq!(ask("windlass run --agent com"), ["composer"]);
    assert_eq!(ask("windlass entities show compo"), ["compose", "composer"]);
    assert!(ask("windlass ent").contains(&"entities".to_owned()));
    place.sealed.write("repo/.claude/commands/front/component.md", "X");
    assert_eq!(ask("windlass run --command front:comp"), ["front:component"]);
    // What a shell would read as more than a name is not offered.
    for name in ["evil$(touch pwned)", "evil`id`", "evil one", "evil;x", "evil'x", "evil*"] {
        place.sealed.write(format!("repo/.claude/commands/{name}.md"), "X");
    }
    assert!(ask("windlass entities show evil").is_empty());
}

#[test]
fn a_name_beats_an_alias_of_another_kind() {
    let place = place();
    place.sealed.write("repo/.claude/commands/aa.md", "---\naliases: [bb]\nargument-hint: aa\n---\nX");
    place.sealed.write("repo/.claude/skills/bb/SKILL.md", "---\ndescription: d\nargument-hint: bb\n---\nX");
    assert_eq!(data(&place.go(&["entities", "show", "/bb", "--json"]))[0]["kind"], "skill");
    assert_eq!(place.go(&["hint", "bb"]).stdout, "bb\n");
}

#[test]
fn only_our_own_are_copied() {
    let place = place();
    place.sealed.write("repo/.claude/commands/zb.md", "zero=$0");
    let ran = place.go(&["entities", "eject", "zb"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("command `zb` is a file already: "), "{ran}");
    assert!(!place.repo().join(".windlass/commands").exists());
    symlink(place.sealed.root(), place.repo().join(".windlass")).unwrap();
    assert_eq!(place.go(&["entities", "eject", "commit"]).code, 3);
    assert!(!place.sealed.root().join("skills/commit/SKILL.md").exists());
}

#[test]
fn the_project_may_be_named_by_its_own_settings() {
    let place = place();
    place.sealed.write("repo/.claude/skills/a/SKILL.md", skill("a"));
    place.sealed.write("repo/sub/.claude/skills/b/SKILL.md", skill("b"));
    for (path, expected) in [(".", "a"), ("sub", "b")] {
        place.sealed.write("repo/.windlass/config.toml", format!("[entities]\nproject_path = \"{path}\"\n"));
        let found = listed(&place, &["--provider", "claude"]);
        let names: Vec<&str> = found.iter().map(|e| e["name"].as_str().unwrap()).collect();
        assert_eq!(names, [expected]);
    }
}

#[test]
fn a_broken_file_is_named_to_whoever_asks_for_it() {
    let place = place();
    place.sealed.write("repo/.claude/commands/hollow.md", "");
    let ran = place.go(&["entities", "show", "hollow"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("`hollow` cannot be used: "), "{ran}");
    let ran = place.go(&["entities", "--plugin", "nowhere"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("nowhere is not a plugin"), "{ran}");
}
