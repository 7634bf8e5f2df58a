//! The documents of docs/workflows.md, docs/workflow-reference.md and examples/workflows/nodes run as they are
//! written, and the commands of the pages exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::place::{DONE, Going, LIMIT, Place, Ran, say};
use serde_json::{Value, json};
use windlass_testkit::wait::until;

const CONFIGURATION: i32 = 3;

/// The guide and the reference of workflow documents.
const PAGES: [&str; 2] = ["docs/workflows.md", "docs/workflow-reference.md"];

/// Documents that Windlass cannot run yet.
const NOT_YET: [&str; 3] = ["example-land", "example-pull-request", "example-review"];

/// The reply of every agent. It fits every schema in the documents, and reports completion in every
/// supported form.
const ANSWER: &str = r#"{"good": true, "is_good": true, "steps": ["look", "mend"]}

COMPLETE
<status>passing</status>"#;

pub(crate) const TASKS: &str = r#"{"version": "1.0", "tasks": [
  {"id": "1", "name": "one", "status": "pending", "priority": 1},
  {"id": "2", "name": "two", "status": "pending", "priority": 2, "dependencies": ["1"]}]}"#;

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The blocks of a page in that language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => open = Some((info.trim() == language, String::new())),
            (Some((is_wanted, text)), Some(_)) => {
                blocks.extend(is_wanted.then(|| std::mem::take(text)));
                open = None;
            }
            (Some((_, text)), None) => text.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    blocks
}

/// The whole documents among these texts, by name.
fn documents(texts: Vec<String>) -> Vec<(String, String)> {
    let mut named = Vec::new();
    for text in texts.into_iter().filter(|text| text.lines().any(|line| line == "nodes:")) {
        let name = text.lines().find_map(|line| line.strip_prefix("name: "));
        named.extend(name.map(str::to_owned).map(|name| (name, text)));
    }
    named
}

/// The documents of the guide and of the reference, by name.
fn documents_of_pages() -> Vec<(String, String)> {
    documents(PAGES.iter().flat_map(|name| blocks(&page(name), "yaml")).collect())
}

/// A place with these documents, whose agent does what any of them wants.
fn place(documents: &[(String, String)]) -> Place {
    let place = Place::with_settings("");
    let mark = format!("if [ -n \"${{TRACKER}}\" ]; then echo '{DONE}' >> \"${{TRACKER}}\"; fi");
    place.script(json!({"default": {"steps": [{"bash": mark}, say(ANSWER)]}}));
    for (name, text) in documents {
        place.sealed.write(format!("repo/.windlass/workflows/{name}.yaml"), text);
    }
    place
}

/// Runs a document to its end. The event it waits for comes as soon as it waits.
fn run(place: &Place, name: &str, text: &str) -> Ran {
    place.sealed.write("repo/tasks.json", TASKS);
    let going = place.start(&["run", "--workflow", name, "the parser", "--driver", "sim", "--json"]);
    finish(place, going, text)
}

/// Waits for the end of a run, and sends the event that its document waits for.
pub(crate) fn finish(place: &Place, mut going: Going, text: &str) -> Ran {
    if text.contains("event: deployed") {
        until(LIMIT, || going.lines().iter().any(|line| line["data"]["on"] == "event"));
        let run = going.run();
        let sent = place.go(&["send", &run, "--event", "deployed", "version 2"]);
        assert_eq!(sent.code, 0, "{sent}");
    }
    going.end()
}

fn assert_all_complete(documents: &[(String, String)]) {
    let place = place(documents);
    for (name, text) in documents {
        let checked = place.go(&["workflow", "check", name]);
        let is_not_yet = NOT_YET.contains(&name.as_str());
        assert_eq!(checked.code, if is_not_yet { CONFIGURATION } else { 0 }, "{checked}");
        assert_eq!(checked.stderr.contains("cannot run yet"), is_not_yet, "{checked}");
        let ran = run(&place, name, text);
        if NOT_YET.contains(&name.as_str()) {
            ran.assert_refused(CONFIGURATION, &["cannot run yet"]);
            continue;
        }
        assert_eq!((ran.code, &ran.finished()["status"]), (0, &json!("completed")), "{name}: {ran}");
        assert_what_is_said_of(name, &place, &ran);
    }
}

/// Checks the results that the page describes, beyond completion.
fn assert_what_is_said_of(name: &str, place: &Place, ran: &Ran) {
    let prompts = place.prompts();
    let last = prompts.last().map_or("", String::as_str);
    let skipped: Vec<&Value> = ran.all("node.skipped").iter().map(|data| &data["node"]).collect();
    match name {
        "fix" => assert_eq!(skipped, ["plan"], "{ran}"),
        "plan" | "example-schema" => assert!(last.contains("first of 2"), "{last}"),
        "polish" => assert!(last.starts_with("It took 1 rounds."), "{last}"),
        "work-off" => assert_eq!(last, "2 tasks are done. Write the release notes."),
        "example-task-loop" => assert_eq!(ran.all("task.settled").len(), 2, "{ran}"),
        "outer" => {
            assert!(prompts.iter().any(|prompt| prompt.contains("all of it: the parser, and")), "{last}")
        }
        "ship" => assert_eq!(skipped, ["skill-commit"], "{ran}"),
        "after-deploy" => assert_eq!(last, "Look whether version 2 is up: the parser"),
        "checked" => assert_eq!(skipped, ["prompt-2"], "{ran}"),
        "careful" | "judged" => assert_eq!(skipped, ["prompt"], "{ran}"),
        "triage" => assert_eq!(skipped, ["skill-review-code"], "{ran}"),
        "ask-first" => assert_eq!(skipped, ["skill-commit"], "{ran}"),
        "release-notes" => assert_eq!(skipped, ["fail"], "{ran}"),
        _ => {}
    }
}

#[test]
fn every_document_of_the_pages_runs() {
    let documents = documents_of_pages();
    let yaml = PAGES.map(|name| page(name).lines().filter(|line| *line == "```yaml").count());
    let yaml: usize = yaml.iter().sum();
    assert_eq!(documents.len(), yaml, "every block is a whole document");
    let names: BTreeSet<&String> = documents.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), documents.len(), "two documents of one name: {names:?}");
    // One for each kind of node that runs.
    let kinds = [
        "prompt",
        "skill",
        "command",
        "agent",
        "shell",
        "check",
        "if",
        "loop",
        "task_loop",
        "criteria_loop",
        "parallel",
        "workflow",
        "ask",
        "wait",
        "clear_context",
        "each",
        "try",
        "fail",
        "finally",
    ];
    for kind in kinds {
        let has = |(_, text): &(String, String)| {
            text.lines()
                .any(|line| line.trim_start().trim_start_matches("- ").starts_with(&format!("{kind}:")))
        };
        assert!(documents.iter().any(has), "no example of `{kind}`");
    }
    assert_all_complete(&documents);
}

#[test]
fn every_document_of_the_pages_completes_with_the_stub() {
    let documents = documents_of_pages();
    let place = place(&documents);
    for (name, text) in &documents {
        place.sealed.write("repo/tasks.json", TASKS);
        let mut command =
            place.windlass(&["run", "--workflow", name, "the parser", "--driver", "sim", "--json"]);
        command.env_remove("WINDLASS_SIM_SCRIPT");
        let ran = finish(&place, place.spawn(command), text);
        assert_eq!((ran.code, &ran.finished()["status"]), (0, &json!("completed")), "{name}: {ran}");
    }
}

#[test]
fn the_document_of_the_readme_runs() {
    let documents = documents(blocks(&page("README.md"), "yaml"));
    let [(name, _)] = documents.as_slice() else { panic!("one document, found {}", documents.len()) };
    let place = place(&documents);
    let arguments = ["run", "--workflow", name, "the parser", "--check", "test=true", "--json"];
    place.go(&arguments).assert_ended(0, "completed", "all_done", 1);
    let mut command = place.windlass(&arguments);
    command.env_remove("WINDLASS_SIM_SCRIPT");
    place.spawn(command).end().assert_ended(0, "completed", "all_done", 1);
}

#[test]
fn every_example_of_a_node_runs_or_says_that_it_does_not_yet() {
    let folder = root().join("examples/workflows/nodes");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let is_document = |name: &str| name.ends_with(".yaml") && !name.ends_with(".test.yaml");
    files.retain(|file| file.to_str().is_some_and(is_document));
    files.sort();
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let documents = documents(texts);
    assert_eq!(documents.len(), files.len(), "every file is a whole document");
    assert_all_complete(&documents);
}

/// `windlass VERB --flag` in the blocks for a shell: the verb, or the two of them, and its flags.
fn commands(page: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let mut found = Vec::new();
    for line in blocks(page, "sh").iter().flat_map(|block| block.lines()) {
        let line = line.split(" # ").next().unwrap_or_default();
        let Some(rest) = line.strip_prefix("windlass ") else { continue };
        let words: Vec<&str> = rest.split_whitespace().take_while(|word| *word != "--").collect();
        let is_nested = ["workflow", "tasks", "plugin", "config"].contains(&words[0]);
        let verb = words.iter().take(if is_nested { 2 } else { 1 }).map(|word| (*word).to_owned()).collect();
        let flags =
            words.iter().filter(|word| word.starts_with("--")).map(|word| (*word).to_owned()).collect();
        found.push((verb, flags));
    }
    found
}

#[test]
fn the_first_commands_of_the_page_work_one_after_the_other() {
    let place = place(&[]);
    let first = blocks(&page("docs/workflows.md"), "sh").remove(0);
    for line in first.lines() {
        let line = line.split(" # ").next().unwrap_or_default();
        let quoted = line.split('"').enumerate().flat_map(|(place, part)| match place % 2 {
            0 => part.split_whitespace().collect::<Vec<_>>(),
            _ => vec![part],
        });
        let words: Vec<&str> = quoted.skip(1).collect();
        let ran = place.go(&words);
        assert_eq!(ran.code, 0, "{line}: {ran}");
    }
}

#[test]
fn the_commands_of_the_pages_are_there() {
    let place = Place::with_settings("");
    for name in PAGES.into_iter().chain(["README.md"]) {
        let commands = commands(&page(name));
        assert!(commands.len() > 5, "{name} has {} commands", commands.len());
        for (verb, flags) in commands {
            let arguments: Vec<&str> = verb.iter().map(String::as_str).chain(["--help"]).collect();
            let help = place.go(&arguments);
            assert_eq!(help.code, 0, "{name}: {verb:?}: {help}");
            for flag in flags {
                assert!(
                    help.stdout.contains(&format!("{flag} ")) || help.stdout.contains(&format!("{flag}\n")),
                    "{name}: {verb:?} has no {flag}"
                );
            }
        }
    }
}
