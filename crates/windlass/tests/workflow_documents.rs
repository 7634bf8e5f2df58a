//! Workflow documents: begun, checked, drawn, and run where they have one session.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it stands")]

mod common;

use common::{Place, last_turn, say};
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
    place.go(&["run", "--workflow", "first", "a change", "--json"]).assert_ended(0, "completed", "marker", 1);
    let prompt = &place.prompts()[0];
    assert!(prompt.starts_with("Make this change. Touch only the whole project.\n\na change\n"), "{prompt}");
    let again = place.go(&["workflow", "new", "first"]);
    assert_eq!(again.code, CONFIGURATION);
    assert!(again.stderr.contains("there is one already"), "{again}");
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
fn a_document_of_several_nodes_is_checked_and_drawn_and_not_run() {
    let place = place(json!([last_turn()]));
    write(
        &place,
        "two",
        "name: two\nnodes:\n  - id: a\n    prompt: x\n  - id: b\n    prompt: '{{ outputs.a.text }}'\n",
    );
    assert_eq!(place.go(&["workflow", "check", "two"]).code, 0);
    let ran = place.go(&["run", "--workflow", "two", "x"]);
    assert_eq!(ran.code, CONFIGURATION);
    assert!(ran.stderr.contains("workflow `two` cannot be run yet: it has 2 nodes"), "{ran}");
    for (format, begin) in [("mermaid", "flowchart TD\n"), ("dot", "digraph"), ("svg", "<svg")] {
        let ran = place.go(&["workflow", "graph", "two", "--format", format]);
        assert_eq!(ran.code, 0, "{ran}");
        assert!(ran.stdout.starts_with(begin), "{ran}");
    }
    assert_eq!(place.go(&["workflow", "graph", "loop"]).code, CONFIGURATION);
}

#[test]
fn what_nothing_holds_yet_is_refused_rather_than_ignored() {
    let place = place(json!([last_turn()]));
    for (key, line) in [
        ("budget", "budget: { turns: 3 }\n"),
        ("retry", "    retry: 2\n"),
        ("when", "    when: 'true'\n"),
        ("schema", "    schema: { type: object }\n"),
    ] {
        let (top, node) = if key == "budget" { (line, "") } else { ("", line) };
        write(&place, "w", &format!("name: w\n{top}nodes:\n  - id: a\n    prompt: x\n{node}"));
        let ran = place.go(&["run", "--workflow", "w", "x"]);
        assert_eq!(ran.code, CONFIGURATION, "{key}: {ran}");
        assert!(ran.stderr.contains(&format!("its `{key}` would not be kept to")), "{key}: {ran}");
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

#[test]
fn the_schema_is_json() {
    let place = place(json!([last_turn()]));
    let schema: Value = serde_json::from_str(&place.go(&["workflow", "schema"]).stdout).unwrap();
    assert_eq!(schema["required"], json!(["name", "nodes"]));
}

#[test]
fn every_example_passes_its_check() {
    let place = place(json!([last_turn()]));
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows");
    let mut seen = 0;
    for folder in [examples.clone(), examples.join("nodes")] {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                seen += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                place.sealed.write(format!("repo/.windlass/workflows/{seen}.yaml"), text);
            }
        }
    }
    let ran = place.go(&["workflow", "check"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(ran.stdout.lines().count(), seen + 1, "{ran}");
    assert!(seen > 20, "{seen}");
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
    assert!(ran.stderr.contains("another workflow is named `same`, and that one is run"), "{ran}");
    assert_eq!(place.go(&["workflow", "check", "fine"]).stderr, "");
    let missing = place.go(&["run", "--workflow", "nosuch", "x"]);
    assert!(missing.stderr.contains("no workflow `nosuch`"), "{missing}");
    assert_eq!(place.go(&["workflow", "check"]).code, CONFIGURATION);
}
