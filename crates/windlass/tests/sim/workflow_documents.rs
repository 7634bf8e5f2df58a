//! Workflow documents: begun, checked, drawn, and run where they have one session.

use crate::place::{Place, last_turn, say};
use serde_json::{Value, json};

const USAGE: i32 = 2;
const CONFIGURATION: i32 = 3;

const TIDY: &str = r#"
name: tidy
inputs:
  area: { type: text, required: true }
  deep: { type: boolean, default: false }
  level: { type: text, default: low, choices: [low, high] }
  names: { type: list }
settings: { timeout: 1h }
checks: { fine: "true" }
nodes:
  - id: build
    prompt: "Work on {{ inputs.area }}{% if inputs.deep %} deeply{% endif %} at {{ inputs.level }}: {{ input }}{% for n in inputs.names or [] %} <{{ n }}>{% endfor %}"
    turns: { max: 3 }
"#;

fn place(turns: Value) -> Place {
    Place::playing(turns)
}

fn write(place: &Place, name: &str, text: &str) {
    place.sealed.write(format!("repo/.windlass/workflows/{name}.yaml"), text);
}

#[test]
fn a_new_document_has_no_mistake_and_runs() {
    let place = place(json!([last_turn()]));
    assert_eq!(place.go(&["workflow", "new", "first"]).code, 0);
    let checked = place.go(&["workflow", "check", "first"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{checked}");
    let line = "# yaml-language-server: $schema=../workflow.schema.json\n";
    assert!(place.file(".windlass/workflows/first.yaml").starts_with(line), "editors find the schema");
    place.go(&["run", "--workflow", "first", "a change", "--json"]).assert_ended(0, "completed", "marker", 1);
    let prompt = &place.prompts()[0];
    assert!(prompt.starts_with("Make this change. Touch only the whole project.\n\na change\n"), "{prompt}");
    let again = place.go(&["workflow", "new", "first"]);
    assert_eq!(again.code, CONFIGURATION);
    assert!(again.stderr.contains("already exists"), "{again}");
    assert_eq!(place.go(&["workflow", "new", "../evil"]).code, USAGE);
    place.sealed.write("repo/.windlass/workflows/second.yml", "name: second\nnodes:\n  - prompt: x\n");
    assert_eq!(place.go(&["workflow", "new", "second"]).code, CONFIGURATION);
}

#[test]
fn a_new_document_is_not_written_through_a_link_out_of_the_project() {
    let place = place(json!([last_turn()]));
    std::os::unix::fs::symlink(place.sealed.root(), place.repo().join(".windlass")).unwrap();
    let ran = place.go(&["workflow", "new", "first"]);
    assert_eq!(ran.code, CONFIGURATION);
    assert!(ran.stderr.contains("leads out of the project"), "{ran}");
    assert!(!place.sealed.root().join("workflows/first.yaml").exists());
}

#[test]
fn inputs_are_typed_and_put_in_once() {
    let place = place(json!([last_turn()]));
    write(&place, "tidy", TIDY);
    let input = "{{ inputs.deep }} {% x %}";
    let flags =
        ["--input", "area={{ input }}", "--input", "deep=yes", "--input", "names=a", "--input", "names=b c"];
    let ran = place.go(&[&["run", "--workflow", "tidy", input, "--json"][..], &flags].concat());
    ran.assert_ended(0, "completed", "marker", 1);
    let expected = "Work on {{ input }} deeply at low: {{ inputs.deep }} {% x %} <a> <b c>\n\n---\n";
    assert!(place.prompts()[0].starts_with(expected), "{:?}", place.prompts()[0]);
}

#[test]
fn inputs_that_are_wrong_are_refused_before_anything_runs() {
    let place = place(json!([last_turn()]));
    write(&place, "tidy", TIDY);
    let cases: [(&[&str], &str); 6] = [
        (&[], "workflow `tidy` needs the input `area`"),
        (&["--input", "area=x", "--input", "are=y"], "workflow `tidy` has no input `are`"),
        (
            &["--input", "area=x", "--input", "deep=perhaps"],
            "input `deep` must be true or false, and is `perhaps`",
        ),
        (
            &["--input", "area=x", "--input", "level=mid"],
            "input `level` must be one of low, high, and is `mid`",
        ),
        (&["--input", "area=x", "--input", "area=y"], "input `area` is given twice"),
        (&["--input", "area"], "NAME=VALUE"),
    ];
    for (flags, text) in cases {
        let ran = place.go(&[&["run", "--workflow", "tidy", "x"][..], flags].concat());
        assert_eq!(ran.code, USAGE, "{ran}");
        assert!(ran.stderr.contains(text), "{text} in {ran}");
    }
    assert_eq!(place.go(&["loop", "x", "--input", "area=y"]).code, USAGE);
    assert!(place.requests().is_empty());
}

#[test]
fn a_document_may_call_an_entity_by_name() {
    let place = place(json!([{"steps": [say("Done.")]}]));
    place.sealed.write("repo/.claude/skills/tell/SKILL.md", "---\ndescription: d\n---\nTell $ARGUMENTS!");
    place.sealed.write("repo/.claude/agents/teller.md", "---\ndescription: d\n---\nYou tell.");
    write(&place, "a", "name: a\nnodes:\n  - skill: tell\n    args: 'it to {{ input }}'\n");
    write(&place, "b", "name: b\nnodes:\n  - agent: teller\n    prompt: 'tell {{ input }}'\n");
    place.go(&["run", "--workflow", "a", "$1", "--json"]).assert_ended(0, "completed", "turn_done", 1);
    place.go(&["run", "--workflow", "b", "me", "--json"]).assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(place.prompts(), ["Tell it to $1!", "tell me"]);
    assert_eq!(place.requests()[1]["system"], "You tell.");
}

#[test]
fn a_document_of_several_nodes_is_checked_drawn_and_run() {
    let place = place(json!([last_turn()]));
    write(
        &place,
        "two",
        "name: two\nnodes:\n  - id: a\n    prompt: x\n  - id: b\n    prompt: '{{ outputs.a.text }}'\n",
    );
    assert_eq!(place.go(&["workflow", "check", "two"]).code, 0);
    place.script(json!({"default": {"steps": [say("All done.")]}}));
    place.go(&["run", "--workflow", "two", "--json"]).assert_ended(0, "completed", "all_done", 2);
    assert_eq!(place.prompts(), ["x", "All done."]);
    for (format, begin) in [("mermaid", "flowchart TD\n"), ("dot", "digraph"), ("svg", "<svg")] {
        let ran = place.go(&["workflow", "graph", "two", "--format", format]);
        assert_eq!(ran.code, 0, "{ran}");
        assert!(ran.stdout.starts_with(begin), "{ran}");
    }
}

#[test]
fn a_built_in_workflow_is_listed_shown_checked_and_drawn_like_any_other() {
    let place = place(json!([last_turn()]));
    let listed = place.go(&["workflow", "list"]).stdout;
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split("  ").next()).collect();
    assert_eq!(names, ["loop", "tasks"], "{listed}");
    for name in ["loop", "tasks"] {
        let shown = place.go(&["workflow", "show", name]).stdout;
        assert!(shown.contains("source      built-in\n"), "{shown}");
        assert!(shown.contains(&format!("\nname: {name}\n")), "{shown}");
        let drawn = place.go(&["workflow", "graph", name]).stdout;
        assert!(drawn.starts_with("flowchart TD\n"), "{drawn}");
        assert_eq!(place.go(&["workflow", "check", name]).code, 0);
    }
    let checked = place.go(&["workflow", "check", "loop"]);
    assert_eq!((checked.stdout.as_str(), checked.stderr.as_str()), ("loop: ok\n", ""));
    // What cannot be mended is in nobody's way, but whoever asks hears of it.
    assert_eq!(place.go(&["workflow", "check"]).stderr, "");
    let checked = place.go(&["workflow", "check", "tasks"]).stderr;
    assert!(
        checked.contains("there are no checks") && checked.contains("at builtin/tasks.yaml:"),
        "{checked}"
    );
}

#[test]
fn the_workflow_of_a_plugin_is_drawn_too() {
    let place = place(json!([last_turn()]));
    place.sealed.write(
        "repo/.windlass/workflows/old.json",
        r#"{ "name": "old", "promptTemplate": "Do {input}", "loop": { "enabled": true, "maxIterations": 4 } }"#,
    );
    let drawn = place.go(&["workflow", "graph", "old", "--format", "dot"]).stdout;
    assert!(drawn.contains("up to 4 turns"), "{drawn}");
}

#[test]
fn a_built_in_workflow_is_copied_out_once_and_the_copy_is_run() {
    let place = place(json!([last_turn()]));
    let file = place.repo().join(".windlass/workflows/loop.yaml");
    let ejected = place.go(&["workflow", "eject", "loop"]);
    assert_eq!((ejected.code, ejected.stdout.trim()), (0, file.to_str().unwrap()), "{ejected}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(place.go(&["workflow", "show", "loop"]).stdout.contains("source      project\n"));
    let checked = place.go(&["workflow", "check", "loop"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{checked}");
    assert_eq!(checked.stdout, "loop: ok\n");
    for args in [["workflow", "show", "nobody"], ["workflow", "check", "nobody"]] {
        let hint = place.go(&args).stderr;
        assert!(hint.contains("there are: loop, tasks\n"), "{hint}");
    }

    std::fs::write(&file, text.replace("{{ input }}", "Mine: {{ input }}")).unwrap();
    let again = place.go(&["workflow", "eject", "loop"]);
    assert_eq!(again.code, CONFIGURATION);
    assert!(again.stderr.contains("already exists"), "{again}");
    assert!(std::fs::read_to_string(&file).unwrap().contains("Mine"));
    place.go(&["run", "--workflow", "loop", "x", "--json"]).assert_ended(0, "completed", "marker", 1);
    place.go(&["loop", "x", "--json"]).assert_ended(0, "completed", "marker", 1);
    let prompts = place.prompts();
    let begins: Vec<&str> = prompts.iter().map(|text| text.lines().next().unwrap()).collect();
    assert_eq!(begins, ["Mine: x", "x"]);

    place.sealed.write("repo/.windlass/workflows/tasks.yml", "name: tasks\nnodes:\n  - prompt: x\n");
    assert_eq!(place.go(&["workflow", "eject", "tasks"]).code, CONFIGURATION);
    let ejected = place.go(&["workflow", "eject", "tasks", "--user", "--json"]);
    let line: Value = serde_json::from_str(ejected.stdout.trim()).unwrap();
    assert_eq!(line["type"], "workflow.ejected", "{ejected}");
    let path = line["data"]["path"].as_str().unwrap();
    assert!(path.ends_with("windlass/workflows/tasks.yaml"), "{path}");
    assert!(std::fs::read_to_string(path).unwrap().contains("name: tasks"));

    let unknown = place.go(&["workflow", "eject", "../loop"]);
    assert_eq!(unknown.code, CONFIGURATION);
    assert!(unknown.stderr.contains("there is no file `../loop`"), "{unknown}");
}

#[test]
fn a_workflow_json_is_translated_to_a_document_that_does_the_same() {
    let place = place(json!([last_turn()]));
    let plugin = place.sealed.root().join("plugin");
    place.sealed.write("plugin/.claude-plugin/plugin.json", r#"{ "name": "e2e-plugin" }"#);
    place.sealed.write(
        "plugin/workflow.json",
        r#"{
          "name": "e2e",
          "promptTemplate": "Test {input}",
          "loop": { "enabled": true, "completionMarker": "E2E_COMPLETE", "maxIterations": 7 },
          "isolation": "permissive"
        }"#,
    );
    let plugin = plugin.to_str().unwrap();
    let ejected = place.go(&["workflow", "eject", "e2e", "--plugin", plugin]);
    assert_eq!(ejected.code, 0, "{ejected}");
    assert!(ejected.stderr.contains("`windlass run --workflow project:e2e` runs this one"), "{ejected}");
    let text = std::fs::read_to_string(place.repo().join(".windlass/workflows/e2e.yaml")).unwrap();
    assert!(text.contains("E2E_COMPLETE") && text.contains("max: 7"), "{text}");
    let plan = |args: &[&str]| place.go(&[args, &["login", "--dry-run"]].concat()).stdout;
    let translated = plan(&["run", "--workflow", "project:e2e"]);
    let original = plan(&["run", "--workflow", "e2e-plugin:e2e", "--plugin", plugin]);
    for fact in ["permissive", "Test login", "iterations  7", "E2E_COMPLETE"] {
        assert!(translated.contains(fact) && original.contains(fact), "{fact}\n{translated}\n{original}");
    }
    let again = place.go(&["workflow", "eject", "project:e2e"]);
    assert_eq!(again.code, CONFIGURATION);
    assert!(again.stderr.contains("is a document already"), "{again}");
}

#[test]
fn the_settings_bound_turns_that_leave_it_open() {
    let place = place(json!([{"steps": [say("Not yet.")]}]));
    place.sealed.write("repo/.windlass/config.toml", "max_iterations = 2\nmode = \"resume\"\n");
    write(&place, "open", "name: open\nnodes:\n  - prompt: x\n    turns: {}\n");
    write(&place, "own", "name: own\nnodes:\n  - prompt: x\n    turns: { max: 3, mode: fresh }\n");
    let plan = |args: &[&str]| place.go(&[args, &["x", "--dry-run"]].concat()).stdout;
    for args in [&["run", "--workflow", "open"][..], &["loop"]] {
        let plan = plan(args);
        assert!(plan.contains("mode        resume\niterations  2\n"), "{plan}");
    }
    let own = plan(&["run", "--workflow", "own"]);
    assert!(own.contains("mode        fresh\niterations  3\n"), "{own}");
}

#[test]
fn nodes_that_do_not_run_yet_are_refused_before_anything_is_done() {
    let place = place(json!([last_turn()]));
    for (word, node) in [
        ("review", "review: { agent: reviewer }"),
        ("land", "land: true"),
        ("pull_request", "pull_request: { title: x }"),
    ] {
        let text = format!(
            "name: w\nchecks: {{ ok: 'true' }}\nnodes:\n  - prompt: x\n  - check: all\n  - id: late\n    {node}\n"
        );
        write(&place, "w", &text);
        let ran = place.go(&["run", "--workflow", "w"]);
        assert_eq!(ran.code, CONFIGURATION, "{word}: {ran}");
        assert!(ran.stderr.contains(word) && ran.stderr.contains("late"), "{word}: {ran}");
    }
    assert!(place.requests().is_empty());
}

#[test]
fn all_mistakes_of_a_document_are_found_at_once_with_their_places() {
    let place = place(json!([last_turn()]));
    let text = "name: bad\nnodes:\n  - skill: comit\n  - id: a\n    promt: x\n  - prompt: '{{ inputs.no }} {{ outputs.b.text }}'\n    turns: { max: -1 }\n";
    write(&place, "bad", text);
    let ran = place.go(&["workflow", "check", "bad"]);
    assert_eq!(ran.code, CONFIGURATION);
    for part in ["did you mean `commit`?", "bad.yaml:3:", "promt", "bad.yaml:5:", "bad.yaml:7:"] {
        assert!(ran.stderr.contains(part), "{part} in {ran}");
    }
    let refused = place.go(&["run", "--workflow", "bad", "x"]);
    assert_eq!(refused.code, CONFIGURATION);
    // It is in nobody else's way.
    let ran = place.go(&["loop", "x", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(ran.stderr.contains("bad.yaml has mistakes and is left out"), "{ran}");
}

/// Workflow `tasks` with a mistake that costs it its limits.
const BROKEN: &str = "name: tasks\nchekcs: { t: \"false\" }\nsettings: { isolation: strict }\n\
    nodes:\n  - { id: a, prompt: x }\n";

#[test]
fn a_broken_file_is_never_replaced_by_another_workflow_of_its_name() {
    let place = place(json!([{"steps": [say("Done.")]}]));
    place.sealed.write("repo/tasks.json", r#"{"version": "1.0", "tasks": []}"#);
    let user = |text: &str| place.sealed.write("config/windlass/workflows/tasks.yaml", text);
    write(&place, "caller", "name: caller\nnodes:\n  - { id: c, workflow: tasks }\n");
    let ways: [&[&str]; 5] = [
        &["tasks", "run"],
        &["run", "--workflow", "tasks", "x"],
        &["run", "--workflow", "caller", "x"],
        &["workflow", "show", "tasks"],
        &["workflow", "graph", "tasks"],
    ];
    let refused = |what: &str, file: &str, of: &str| {
        for way in ways {
            let ran = place.go(way);
            let words = [
                "the file of workflow `tasks` has mistakes",
                &format!("the {of} one in its place"),
                file,
                what,
            ];
            ran.assert_refused(CONFIGURATION, &words);
        }
    };
    write(&place, "tasks", BROKEN);
    refused("`chekcs`", "tasks.yaml:2:1", "built-in");
    user("name: tasks\nnodes:\n  - { id: own, prompt: x }\n");
    refused("`chekcs`", "tasks.yaml:2:1", "user");
    // The name counts, and the name of the file only if there is no other.
    std::fs::remove_file(place.repo().join(".windlass/workflows/tasks.yaml")).unwrap();
    write(&place, "mine", BROKEN);
    refused("`chekcs`", "mine.yaml:2:1", "user");
    write(&place, "mine", "name: tasks\nnodes:\n  - { id: a, prompt: 'open\n");
    refused("mine.yaml:3:", "mine.yaml", "user");
    std::fs::remove_file(place.repo().join(".windlass/workflows/mine.yaml")).unwrap();
    write(&place, "tasks", "- 1\n");
    refused("must be a mapping", "tasks.yaml", "user");
    assert!(place.requests().is_empty() && place.ps().is_empty());
}

#[test]
fn a_broken_file_that_nobody_asks_for_is_only_a_warning() {
    let place = place(json!([{"steps": [say("Done.")]}]));
    let ran = |name: &str, warning: &str| {
        let ran = place.go(&["run", "--workflow", name, "x", "--json"]);
        assert_eq!(ran.code, 0, "{ran}");
        assert!(ran.stderr.contains(&format!("{warning} has mistakes and is left out")), "{ran}");
    };
    // The file says another name than its own.
    write(&place, "tasks", "name: other\nnodes:\n  - { id: a, promt: x }\n");
    place.sealed.write("repo/tasks.json", r#"{"version": "1.0", "tasks": []}"#);
    ran("tasks", "tasks.yaml");
    // A farther place.
    write(&place, "near", "name: near\nnodes:\n  - { id: a, prompt: x }\n");
    place.sealed.write("config/windlass/workflows/near.yaml", "name: near\n");
    ran("near", "near.yaml");
    // Another one is named with its place.
    write(&place, "loop", "name: loop\n");
    let refused = place.go(&["run", "--workflow", "loop", "x"]);
    refused.assert_refused(CONFIGURATION, &["loop.yaml"]);
    let planned = place.go(&["run", "--workflow", "built-in:loop", "x", "--dry-run"]);
    assert_eq!(planned.code, 0, "{planned}");
    assert!(planned.stderr.contains("loop.yaml has mistakes and is left out"), "{planned}");
}

#[test]
fn the_schema_is_json() {
    let place = place(json!([last_turn()]));
    let schema: Value = serde_json::from_str(&place.go(&["workflow", "schema"]).stdout).unwrap();
    assert_eq!(schema["required"], json!(["name", "nodes"]));
    let driver = &schema["$defs"]["settings"]["properties"]["driver"];
    assert_eq!(
        driver["anyOf"][0]["enum"],
        json!(["claude", "codex", "opencode", "copilot", "gemini", "acp", "sim"]),
        "the drivers that exist, and no other"
    );
}

#[test]
fn a_document_says_how_far_its_agent_may_reach() {
    let place = place(json!([{"steps": [say("Done.")]}]));
    write(&place, "w", "name: w\nsettings: { isolation: strict }\nnodes:\n  - prompt: x\n");
    let isolation = |flags: &[&str]| {
        let plan = place.go(&[&["run", "--workflow", "w", "x", "--dry-run", "--json"], flags].concat());
        serde_json::from_str::<Value>(plan.stdout.trim()).unwrap()["data"]["isolation"].clone()
    };
    assert_eq!(isolation(&[]), "strict");
    // Who asks for more gets more.
    assert_eq!(isolation(&["--isolation", "permissive"]), "permissive");
}

#[test]
fn two_of_one_name_are_said_and_neighbours_do_not_matter() {
    let place = place(json!([last_turn()]));
    write(&place, "a", "name: same\nnodes:\n  - prompt: x\n");
    write(&place, "b", "name: same\nnodes:\n  - prompt: y\n");
    write(&place, "c", "name: fine\nnodes:\n  - prompt: y\n");
    place.sealed.write("repo/.windlass/workflows/j.json", r#"{"name": "j"}"#);
    let ran = place.go(&["workflow", "check", "same"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("another workflow is named `same`, and Windlass runs that one"), "{ran}");
    assert_eq!(place.go(&["workflow", "check", "fine"]).stderr, "");
    let missing = place.go(&["run", "--workflow", "nosuch", "x"]);
    assert!(missing.stderr.contains("no workflow `nosuch`"), "{missing}");
    assert_eq!(place.go(&["workflow", "check"]).code, CONFIGURATION);
}

#[test]
fn a_workflow_is_also_named_by_its_file() {
    let place = place(json!([{"steps": [say("Done.")]}]));
    let text = "# mine\nname: apart\nnodes:\n  - { id: only, prompt: 'Do {{ input }}' }\n";
    place.sealed.write("other/apart.yaml", text);
    place
        .sealed
        .write("repo/here.yml", "name: apart\nnodes:\n  - { id: here, prompt: 'Here: {{ input }}' }\n");
    place.sealed.write("other/workflow.json", r#"{"name": "old", "promptTemplate": "Old {input}"}"#);
    for (file, prompt) in
        [("../other/apart.yaml", "Do x"), ("here.yml", "Here: x"), ("../other/workflow.json", "Old x")]
    {
        let ran = place.go(&["run", "--workflow", file, "x", "--json"]);
        assert_eq!(ran.code, 0, "{ran}");
        assert!(place.prompts().last().unwrap().starts_with(prompt), "{file}: {:?}", place.prompts());
    }
    let shown = place.go(&["workflow", "show", "../other/apart.yaml"]);
    assert_eq!(shown.code, 0, "{shown}");
    assert!(shown.stdout.contains("source      file\n") && shown.stdout.ends_with(text), "{shown}");
    let drawn = place.go(&["workflow", "graph", "../other/apart.yaml"]);
    assert_eq!(drawn.code, 0, "{drawn}");
    assert!(drawn.stdout.contains("only"), "{drawn}");
    let copied = place.go(&["workflow", "eject", "../other/apart.yaml"]);
    assert_eq!(copied.code, 0, "{copied}");
    assert_eq!(place.file(".windlass/workflows/apart.yaml"), text, "a document is copied as it is");
    // The path means the file also where a workflow has that name.
    let shown = place.go(&["workflow", "show", "here.yml"]);
    assert!(shown.stdout.contains("id: here"), "{shown}");
    assert_eq!(place.go(&["workflow", "eject", "here.yml"]).code, CONFIGURATION, "nothing is overwritten");
    let translated = place.go(&["workflow", "eject", "../other/workflow.json"]);
    assert_eq!(translated.code, 0, "{translated}");
    assert!(place.file(".windlass/workflows/old.yaml").starts_with("# Translated from "));
}

#[test]
fn every_command_reports_the_mistakes_in_a_named_file() {
    let place = place(json!([{"steps": [say("Done.")]}]));
    place.sealed.write("other/bad.yaml", "name: bad\nnodes:\n  - { id: a, promt: x }\n");
    write(&place, "broken", "name: broken\nnodes:\n  - { id: a, promt: x }\n");
    for wanted in ["../other/bad.yaml", "broken"] {
        for command in [
            &["workflow", "check"][..],
            &["workflow", "show"],
            &["workflow", "graph"],
            &["workflow", "eject"],
        ] {
            let ran = place.go(&[command, &[wanted]].concat());
            assert_eq!(ran.code, CONFIGURATION, "{ran}");
            assert!(
                ran.stderr.contains(".yaml:3:") && !ran.stderr.contains("no workflow"),
                "{command:?}: {ran}"
            );
        }
        let ran = place.go(&["run", "--workflow", wanted, "x"]);
        assert_eq!(ran.code, CONFIGURATION, "{ran}");
        assert!(ran.stderr.contains(".yaml:3:"), "{ran}");
    }
    for command in [
        &["run", "x", "--workflow"][..],
        &["workflow", "show"],
        &["workflow", "graph"],
        &["workflow", "eject"],
    ] {
        let ran = place.go(&[command, &["./nowhere.yaml"]].concat());
        assert_eq!(ran.code, CONFIGURATION, "{ran}");
        assert!(ran.stderr.starts_with("error: there is no file `./nowhere.yaml`\n  hint: "), "{ran}");
    }
}

#[test]
fn a_workflow_that_is_nearly_named_is_suggested() {
    let place = place(json!([{"steps": [say("Done.")]}]));
    write(&place, "feature", "name: feature\nnodes:\n  - { id: a, prompt: x }\n");
    for command in [
        &["run", "x", "--workflow"][..],
        &["workflow", "show"],
        &["workflow", "check"],
        &["workflow", "eject"],
    ] {
        let ran = place.go(&[command, &["featur"]].concat());
        assert_eq!(ran.code, CONFIGURATION, "{ran}");
        let expected =
            "error: no workflow `featur`\n  hint: did you mean `feature`? there are: feature, loop, tasks\n";
        assert_eq!(ran.stderr, expected, "{command:?}");
    }
}

#[test]
fn an_agent_without_a_prompt_gets_the_input_of_the_run() {
    let place = Place::playing(json!([{"steps": [{"say": "fine"}]}]));
    write(&place, "judge", "name: judge\nnodes:\n  - agent: reviewer\n");
    let ran = place.go(&["run", "look at it", "--workflow", "judge", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(place.prompts()[0], "look at it");
    place.go(&["run", "--workflow", "judge"]).assert_refused(2, &["workflow `judge` needs an input"]);
}
