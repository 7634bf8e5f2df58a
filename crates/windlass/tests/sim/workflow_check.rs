//! Tests for mistakes in workflows and in their arguments, and for the commands that report them.

use crate::place::{Place, last_turn, say};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};

const USAGE: i32 = 2;
const CONFIGURATION: i32 = 3;
const EXHAUSTED: i32 = 9;

const FINE: &str = "name: fine\nnodes:\n  - prompt: '{{ input }}'\n";

fn write(place: &Place, name: &str, text: &str) {
    place.sealed.write(format!("repo/.windlass/workflows/{name}.yaml"), text);
}

/// The lines of `--json`, as what they hold.
fn objects(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_file_that_cannot_be_read_is_in_nobodys_way() {
    let place = Place::playing(json!([{"steps": [say("Done.")]}]));
    write(&place, "fine", FINE);
    let folder = place.repo().join(".windlass/workflows");
    std::fs::write(folder.join("latin.yaml"), b"name: caf\xe9\n").unwrap();
    std::fs::write(folder.join("large.yaml"), "# ".repeat(600_000)).unwrap();
    symlink("nowhere", folder.join("dangling.yaml")).unwrap();
    symlink("/dev/zero", folder.join("zero.yaml")).unwrap();
    mknodat(CWD, folder.join("pipe.yaml"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let bad = ["latin", "large", "dangling", "zero", "pipe"];

    let listed = place.go(&["workflow", "list"]);
    assert!(listed.stdout.contains("fine"), "{listed}");
    assert!(listed.stderr.ends_with("\n`windlass workflow check` shows them\n"), "{listed}");
    assert_eq!(listed.stderr.lines().count(), bad.len() + 1, "one line for each file: {listed}");
    let all = place.go(&["workflow", "check"]);
    assert_eq!(all.code, CONFIGURATION);
    for name in bad {
        let line = format!(".windlass/workflows/{name}.yaml: 1 error\n");
        assert!(listed.stderr.contains(&line), "{line} in {listed}");
        let file = format!("{name}.yaml\n");
        assert!(all.stderr.contains(&file), "{file} in {all}");
        let path = format!(".windlass/workflows/{name}.yaml");
        for wanted in [name, path.as_str()] {
            let checked = place.go(&["workflow", "check", wanted]);
            assert_eq!(checked.code, CONFIGURATION, "{checked}");
            assert!(checked.stderr.contains("the file cannot be read: it is "), "{checked}");
            assert_eq!(checked.stderr.matches(".yaml").count(), 1, "{checked}");
        }
        let ran = place.go(&["run", "--workflow", name, "x"]);
        assert_eq!(ran.code, CONFIGURATION, "{ran}");
        assert!(ran.stderr.contains("the file cannot be read"), "{ran}");
    }
    for wanted in ["fine", ".windlass/workflows/fine.yaml"] {
        let checked = place.go(&["workflow", "check", wanted]);
        assert_eq!((checked.code, checked.stdout.as_str()), (0, "fine: ok\n"), "{checked}");
    }
    place.go(&["run", "--workflow", "fine", "x", "--json"]).assert_ended(0, "completed", "turn_done", 1);
    place.script(json!({"turns": [last_turn()]}));
    let ran = place.go(&["loop", "x", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(bad.iter().all(|name| ran.stderr.contains(&format!("{name}.yaml"))), "{ran}");
}

#[test]
fn what_is_not_shown_is_said_once_and_last() {
    let place = Place::playing(json!([]));
    let nodes: String = (0..57).map(|_| "  - wait: 0s\n").collect();
    write(&place, "many", &format!("name: many\nnodes:\n{nodes}  - prompt: '{{{{ inputs.zz }}}}'\n"));
    let ran = place.go(&["workflow", "check", "many", "--json"]);
    let said: Vec<String> = objects(&ran.stdout)
        .into_iter()
        .filter_map(|line| line["data"]["message"].as_str().map(str::to_owned))
        .collect();
    let end = [
        "there is no input `zz`",
        "Windlass could not read all of this file; there may be more mistakes",
        "7 more problems are not shown",
    ];
    assert_eq!(said.len(), 53, "{ran}");
    assert_eq!(said[50..], end, "{ran}");
}

#[test]
fn a_workflow_with_mistakes_is_not_one_that_does_not_exist() {
    let place = Place::playing(json!([]));
    write(&place, "file", "name: bad\nnodes:\n  - promt: x\n");
    for args in [["workflow", "show", "bad"], ["workflow", "graph", "bad"], ["workflow", "graph", "file"]] {
        let ran = place.go(&args);
        assert_eq!(ran.code, CONFIGURATION, "{ran}");
        let name = args[2];
        assert!(ran.stderr.contains(&format!("workflow `{name}` has errors")), "{ran}");
        assert!(ran.stderr.contains("unknown key `promt`") && ran.stderr.contains("file.yaml:3:5"), "{ran}");
        assert!(!ran.stderr.contains("no workflow"), "{ran}");
    }
    let refused = place.go(&["run", "--workflow", "bad", "x"]);
    assert!(refused.stderr.contains("unknown key `promt`"), "{refused}");
}

#[test]
fn everyone_says_the_same_of_a_workflow_with_mistakes() {
    let place = Place::playing(json!([]));
    write(
        &place,
        "slips",
        "name: slips\nnodes:\n  - skill: comit\n    whn: true\n  - prompt: '{{ inputs.x }}'\n",
    );
    let mistakes = ["unknown key `whn`", "there is no skill `comit`", "there is no input `x`"];
    let commands: [&[&str]; 5] = [
        &["workflow", "check"],
        &["workflow", "check", "slips"],
        &["workflow", "eject", "slips"],
        &["workflow", "show", "slips"],
        &["run", "--workflow", "slips", "x"],
    ];
    for command in commands {
        let ran = place.go(command);
        assert_eq!(ran.code, CONFIGURATION, "{ran}");
        for mistake in mistakes {
            assert_eq!(ran.stderr.matches(mistake).count(), 1, "{mistake} in {ran}");
        }
    }
}

#[test]
fn the_turns_of_a_workflow_that_is_run_are_known() {
    let place = Place::playing(json!([]));
    write(&place, "five", "name: five\nnodes:\n  - prompt: x\n    turns: { max: 5 }\n");
    write(&place, "outer", "name: outer\nnodes:\n  - workflow: five\n");
    let shown = place.go(&["workflow", "show", "outer"]).stdout;
    assert!(shown.contains("turns       at most 5 turns\n"), "{shown}");
    let line = place.go(&["workflow", "show", "outer", "--json"]).stdout;
    assert_eq!(objects(&line)[0]["data"]["worst"], "at most 5 turns", "{line}");
}

#[test]
fn parallel_tasks_whose_branches_are_kept_take_as_many_turns_as_foreseen() {
    let place = Place::playing(json!([]));
    place.script(json!({"default": {"steps": [say("Not yet.\n<status>failing</status>")]}}));
    let tasks = r#"{"version": "1.0", "tasks": [{"id": "1", "name": "one"}, {"id": "2", "name": "two"}]}"#;
    place.sealed.write("repo/tasks.json", tasks);
    let node = "task_loop: { max: 4, jobs: 2, attempts: 2, land: false }\n    do: [{ prompt: x }]";
    write(&place, "kept", &format!("name: kept\nnodes:\n  - {node}\n"));
    let shown = place.go(&["workflow", "show", "kept"]).stdout;
    assert!(shown.contains("turns       at most 4 turns\n"), "{shown}");
    let dry = place.go(&["run", "--workflow", "kept", "--dry-run"]);
    assert!(dry.to_string().contains("at most 4 turns"), "{dry}");
    let ran = place.go(&["run", "--workflow", "kept", "--json"]);
    assert_eq!((ran.code, place.requests().len()), (EXHAUSTED, 4), "{ran}");
}

#[test]
fn a_name_of_windlass_itself_is_not_taken_by_a_new_document() {
    let place = Place::playing(json!([]));
    for name in ["tasks", "loop"] {
        for flags in [&[][..], &["--user"]] {
            let ran = place.go(&[&["workflow", "new", name], flags].concat());
            assert_eq!(ran.code, CONFIGURATION, "{ran}");
            assert!(ran.stderr.contains(&format!("windlass workflow eject {name}")), "{ran}");
        }
    }
    assert!(!place.repo().join(".windlass/workflows").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_named_once() {
    let place = Place::playing(json!([]));
    write(&place, "fine", FINE);
    let folder = place.repo().join(".windlass/workflows");
    // A file where a folder should be: refused for everybody, root as well.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "").unwrap();
    for args in [["workflow", "new", "first"], ["workflow", "eject", "loop"]] {
        let ran = place.go(&args);
        assert_eq!(ran.code, CONFIGURATION, "{ran}");
        assert_eq!(ran.stderr.matches(".windlass").count(), 1, "{ran}");
    }
    std::fs::remove_file(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    let ran = place.go(&["workflow", "new", "first"]);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    // Root may write anywhere.
    assert!(ran.code == 0 || ran.stderr.matches(".windlass").count() == 1, "{ran}");
}

#[test]
fn everything_that_is_wrong_with_what_was_typed_is_said_at_once() {
    let place = Place::playing(json!([]));
    let inputs = "inputs:\n  a: { type: integer }\n  b: { type: boolean }\n  c: { required: true }\n";
    let node = "  - prompt: '{{ input }} {{ inputs.a }} {{ inputs.b }} {{ inputs.c }}'\n";
    write(&place, "w", &format!("name: w\n{inputs}nodes:\n{node}"));
    let flags = ["--input", "a=x", "--input", "b=maybe", "--input", "zz=1"];
    let ran = place.go(&[&["run", "--workflow", "w"][..], &flags].concat());
    assert_eq!(ran.code, USAGE, "{ran}");
    let parts = [
        "error: workflow `w` has no input `zz`\n  hint: it has: a, b, c\n",
        "error: input `a` must be a whole number, and is `x`\n",
        "error: input `b` must be true or false, and is `maybe`\n",
        "error: workflow `w` needs the input `c`\n  hint: give it: --input c=VALUE\n",
        "error: workflow `w` needs an input\n  hint: ",
    ];
    assert!(parts.iter().all(|part| ran.stderr.contains(part)), "{ran}");
}

#[test]
fn an_input_is_asked_for_where_it_is_used_and_nowhere_else() {
    let place = Place::playing(json!([{"steps": [say("Done.")]}]));
    write(&place, "fine", FINE);
    let outer = |with: &str| {
        format!("name: outer\nnodes:\n  - prompt: the input here is words\n  - workflow: fine\n{with}")
    };
    // It is told its own.
    write(&place, "outer", &outer("    with: { input: own }\n"));
    let ran = place.go(&["run", "--workflow", "outer", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(place.prompts(), ["the input here is words", "own"]);
    let ran = place.go(&["run", "--workflow", "outer", "something", "--dry-run"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("workflow `outer` does not use its input"), "{ran}");
    // It is given what the outer one is given.
    write(&place, "outer", &outer(""));
    let refused = place.go(&["run", "--workflow", "outer"]);
    assert_eq!(refused.code, USAGE, "{refused}");
    assert!(refused.stderr.contains("needs an input"), "{refused}");
    let ran = place.go(&["run", "--workflow", "outer", "something", "--dry-run"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran}");
}

#[test]
fn the_example_with_a_schema_is_rehearsed_to_its_end() {
    let place = Place::playing(json!([]));
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows");
    for name in ["nodes/schema", "planning", "backlog"] {
        let text = std::fs::read_to_string(examples.join(format!("{name}.yaml"))).unwrap();
        write(
            &place,
            "example",
            &text.replacen(text.lines().find(|line| line.starts_with("name:")).unwrap(), "name: example", 1),
        );
        let ran = place.go(&["run", "--workflow", "example", "x", "--dry-run"]);
        assert!(!ran.stdout.contains("undefined"), "{name}: {ran}");
        assert_eq!(ran.code, 0, "{name}: {ran}");
    }
}

#[test]
fn reviewers_beside_each_other_are_fine_and_writers_hear_what_to_do() {
    let place = Place::playing(json!([]));
    let both = |node: &str| {
        format!(
            "name: both\nnodes:\n  - parallel: {{ join: all }}\n    branches:\n      one: [{{ {node} }}]\n      two: [{{ {node} }}]\n"
        )
    };
    write(&place, "both", &both("agent: reviewer, prompt: look at it"));
    let checked = place.go(&["workflow", "check", "both"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{checked}");
    place.sealed.write("repo/.claude/commands/look.md", "---\ndescription: d\n---\nLook.\n");
    for node in ["prompt: look at it", "command: look"] {
        write(&place, "both", &both(node));
        let warned = place.go(&["workflow", "check", "both"]);
        assert!(warned.stderr.contains("both have sessions that may change files"), "{warned}");
        // Both ways out that the hint names.
        write(&place, "both", &both(node).replace("join: all", "join: all, limit: 1"));
        let checked = place.go(&["workflow", "check", "both"]);
        assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{checked}");
    }
    place.sealed.write(
        "repo/.claude/agents/looker.md",
        "---\nname: looker\ndescription: d\ntools: [read, grep, glob]\n---\nYou look.\n",
    );
    write(&place, "both", &both("agent: looker, prompt: look at it"));
    let checked = place.go(&["workflow", "check", "both"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{checked}");
}

#[test]
fn a_choice_that_is_listed_twice_is_a_mistake() {
    let place = Place::playing(json!([]));
    let text = r#"
name: twice
inputs:
  level: { choices: [low, high, low] }
nodes:
  - { id: q, ask: "Go?", choices: ["Yes", "no", "yes "] }
  - { id: p, prompt: "{{ inputs.level }}" }
"#;
    write(&place, "twice", text);
    let ran = place.go(&["workflow", "check", "twice"]);
    assert_eq!(ran.code, CONFIGURATION, "{ran}");
    for said in
        ["`inputs.level.choices[2]` repeats the choice", "twice.yaml:4:33", "`choices[2]` repeats the choice"]
    {
        assert!(ran.stderr.contains(said), "{said} in {ran}");
    }
    assert_eq!(ran.stderr.matches("hint: leave it out").count(), 2, "{ran}");
}

#[test]
fn a_workflow_that_runs_one_with_mistakes_is_not_ok() {
    let place = Place::playing(json!([{"steps": [say("Done.")]}]));
    write(&place, "inner", "name: inner\nnodes:\n  - shell: 'true'\ngives: outputs.nobody.value\n");
    write(&place, "middle", "name: middle\nnodes:\n  - workflow: inner\n");
    write(&place, "outer", "name: outer\nnodes:\n  - workflow: middle\n");
    write(&place, "garbled", "name: garbled\nnodes: 3\n");
    write(&place, "beside", "name: beside\nnodes:\n  - workflow: garbled\n");
    write(&place, "fine", FINE);
    write(&place, "sound", "name: sound\nnodes:\n  - workflow: fine\n    with: { input: x }\n");
    for (name, text, broken) in [
        ("middle", "workflow `inner` cannot run: its document has errors", "inner"),
        ("outer", "workflow `middle` cannot run: `inner` in it has errors", "inner"),
        ("beside", "workflow `garbled` cannot run: its document has errors", "garbled"),
    ] {
        let file = format!(".windlass/workflows/{name}.yaml");
        for wanted in [name, file.as_str()] {
            let checked = place.go(&["workflow", "check", wanted]);
            assert_eq!(checked.code, CONFIGURATION, "{checked}");
            assert!(checked.stderr.contains(text), "{checked}");
            assert!(checked.stderr.contains(&format!("windlass workflow check {broken}")), "{checked}");
            assert!(!checked.stderr.contains("there is no workflow"), "{checked}");
        }
        assert_eq!(place.go(&["run", "--workflow", name, "x"]).code, CONFIGURATION);
    }
    let sound = place.go(&["workflow", "check", "sound"]);
    assert_eq!((sound.code, sound.stdout.as_str()), (0, "sound: ok\n"), "{sound}");
}
