//! Bad input: each mistake gets a clear error, a hint and the right exit code, before an agent
//! runs, and nothing is lost.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::place::{Place, Ran, last_turn};
use serde_json::{Value, json};
use windlass_testkit::plugin::Plugin;

const USAGE: i32 = 2;
const CONFIGURATION: i32 = 3;
const AGENT: i32 = 4;

fn place() -> Place {
    Place::playing(json!([last_turn()]))
}

/// Writes a plugin and gives its folder as an argument.
fn write(place: &Place, plugin: Plugin) -> String {
    plugin.write(&place.sealed.root().join("plugins")).display().to_string()
}

fn workflow(name: &str) -> Value {
    json!({"name": name, "promptTemplate": "{input}", "loop": {"enabled": true}})
}

/// `windlass run it` with a plugin whose `workflow.json` is this text.
fn run_text(place: &Place, text: &str) -> Ran {
    let folder = write(place, Plugin::named("p").file("workflow.json", text));
    place.go(&["run", "it", "--json", "--plugin", &folder])
}

#[test]
fn an_unknown_workflow_names_those_there_are() {
    let place = place();
    let folder = write(&place, Plugin::named("p").workflow(&workflow("e2e")));
    let ran = place.go(&["run", "it", "--workflow", "nope", "--plugin", &folder]);
    ran.assert_refused(CONFIGURATION, &["`nope`", "e2e", "loop"]);
    assert!(place.requests().is_empty());
}

#[test]
fn a_plugin_folder_that_is_none_is_named() {
    let place = place();
    place.go(&["run", "it", "--plugin", "no/such/folder"]).assert_refused(CONFIGURATION, &["no/such/folder"]);
    let ran = place.go(&["run", "it", "--plugin", "."]);
    ran.assert_refused(CONFIGURATION, &["is not a plugin", ".claude-plugin/plugin.json"]);
}

#[test]
fn two_plugin_workflows_need_a_choice() {
    let place = place();
    let one = write(&place, Plugin::named("a").workflow(&workflow("first")));
    let other = write(&place, Plugin::named("b").workflow(&workflow("second")));
    let both = ["run", "it", "--json", "--plugin", &one, "--plugin", &other];
    place.go(&both).assert_refused(USAGE, &["first", "second", "--workflow"]);
    let ran = place.go(&[&both[..], &["--workflow", "second"]].concat());
    ran.assert_ended(0, "completed", "marker", 1);
    assert_eq!(ran.all("run.started")[0]["workflow"], "second");
}

#[test]
fn one_plugin_workflow_is_run_and_without_any_the_built_in_loop() {
    let place = place();
    let folder = write(&place, Plugin::named("a").workflow(&workflow("only")));
    let ran = place.go(&["run", "it", "--json", "--plugin", &folder]);
    assert_eq!(ran.all("run.started")[0]["workflow"], "only", "{ran}");
    let ran = place.go(&["run", "it", "--json"]);
    assert_eq!(ran.all("run.started")[0]["workflow"], "loop", "{ran}");
}

#[test]
fn a_required_plugin_that_is_not_loaded_is_named() {
    let place = place();
    let mut needs = workflow("w");
    needs["plugins"] = json!(["helper-tools@owner/repo", "ralph-loop"]);
    let folder = write(&place, Plugin::named("p").workflow(&needs));
    let ran = place.go(&["run", "it", "--json", "--plugin", &folder]);
    ran.assert_refused(CONFIGURATION, &["helper-tools@owner/repo", "--plugin DIR"]);
    assert!(!ran.stderr.contains("ralph-loop"), "Windlass itself is that one: {ran}");
    let tools = write(&place, Plugin::named("helper-tools"));
    assert_eq!(place.go(&["run", "it", "--json", "--plugin", &folder, "--plugin", &tools]).code, 0);
}

#[test]
fn a_workflow_that_may_be_in_a_file_that_says_no_name_is_not_only_unknown() {
    let place = place();
    let cut = "{\n  \"name\": \"bad\",\n  \"promptTemplate\" \"{input}\"\n}\n";
    let root = write(&place, Plugin::named("p").file("workflow.json", cut));
    let refused = |flags: &[&str], words: &[&str]| {
        let ran = place.go(flags);
        ran.assert_refused(CONFIGURATION, words);
        for words in ["no workflow `bad`", "loop"] {
            assert_eq!(ran.stderr.matches(words).count().min(1), 1, "{ran}");
        }
        assert_eq!(ran.stderr.matches("error: no workflow").count(), 1, "{ran}");
    };
    refused(&["run", "it", "--workflow", "bad", "--plugin", &root], &["workflow.json:3:20"]);
    refused(&["workflow", "show", "bad", "--plugin", &root], &["workflow.json:3:20"]);
    refused(&["workflow", "check", "bad", "--plugin", &root], &["workflow.json:3:20"]);
    place.sealed.write("repo/.windlass/workflows/a.yaml", "nodes:\n  - prompt: x\n");
    place.sealed.write("repo/.windlass/workflows/b.yaml", "name: [bad\nnodes: {\n");
    place.sealed.write("repo/.windlass/workflows/c.json", "");
    let files = ["a.yaml:1", "`name`", "b.yaml:", "c.json", "workflow.json:3:20"];
    refused(&["run", "it", "--workflow", "bad", "--plugin", &root], &files);
    // One that says another name is not it.
    place.sealed.write("repo/.windlass/workflows/d.yaml", "name: other\nnodes:\n  - promt: x\n");
    let ran = place.go(&["run", "it", "--workflow", "bad"]);
    assert!(!ran.stderr.contains("d.yaml"), "{ran}");
    // Nor is it unknown to a workflow that runs it.
    place.sealed.write("repo/.windlass/workflows/o.yaml", "name: outer\nnodes:\n  - workflow: bad\n");
    place
        .go(&["run", "it", "--workflow", "outer"])
        .assert_refused(CONFIGURATION, &["o.yaml:3:15", "a.yaml:1", "b.yaml:", "c.json"]);
}

#[test]
fn broken_json_is_shown_with_line_and_column() {
    let place = place();
    let ran = run_text(&place, "{\n  \"name\": \"w\",\n  \"promptTemplate\" \"{input}\"\n}\n");
    assert_eq!(ran.code, CONFIGURATION, "{ran}");
    assert!(ran.stderr.contains("workflow.json:3:20") && ran.stderr.starts_with("error: "), "{ran}");
    for text in ["", "[1, 2", "{\"name\": \"w\",}", "null", "\u{0}", "{\"a\": 1} {"] {
        let ran = run_text(&place, text);
        assert!(ran.code == CONFIGURATION && ran.stderr.contains("workflow.json"), "{text:?}: {ran}");
    }
    let folder = write(&place, Plugin::named("q").file(".claude-plugin/plugin.json", "{\"name\": }"));
    let ran = place.go(&["run", "it", "--plugin", &folder]);
    assert!(ran.code == CONFIGURATION && ran.stderr.contains("plugin.json:1:10"), "{ran}");
    assert!(place.requests().is_empty());
}

#[test]
fn a_wrong_type_or_a_missing_field_is_shown_with_its_place() {
    let place = place();
    let text = "{\"name\": \"w\", \"promptTemplate\": \"{input}\",\n \"loop\": {\"enabled\": true, \"maxIterations\": \"three\"}}";
    let ran = run_text(&place, text);
    assert_eq!(ran.code, CONFIGURATION, "{ran}");
    for words in ["maxIterations", "workflow.json:2:45", "number"] {
        assert!(ran.stderr.contains(words), "`{words}` is missing: {ran}");
    }
    let ran = run_text(&place, "{\"name\": \"w\"}");
    assert!(ran.code == CONFIGURATION && ran.stderr.contains("promptTemplate"), "{ran}");
    let ran = run_text(&place, "{\"name\": 7, \"promptTemplate\": [], \"isolation\": \"paranoid\"}");
    for words in ["name", "promptTemplate", "isolation", "strict"] {
        assert!(ran.stderr.contains(words), "all mistakes at once, `{words}` too: {ran}");
    }
}

#[test]
fn an_unknown_field_is_a_warning_and_the_run_goes_on() {
    let place = place();
    let text =
        "{\"name\": \"w\", \"promptTemplate\": \"{input}\",\n \"lop\": {}, \"loop\": {\"enabled\": true}}";
    let ran = run_text(&place, text);
    ran.assert_ended(0, "completed", "marker", 1);
    for words in ["warning:", "`lop`", "workflow.json:2:2", "`loop`"] {
        assert!(ran.stderr.contains(words), "`{words}` is missing: {ran}");
    }
}

#[test]
fn mcp_servers_of_one_name_collide() {
    let place = place();
    let server = json!({"db": {"command": "true"}});
    let one = write(&place, Plugin::named("a").mcp(&server));
    let other = write(&place, Plugin::named("b").mcp(&server));
    let ran = place.go(&["run", "it", "--plugin", &one, "--plugin", &other]);
    ran.assert_refused(CONFIGURATION, &["`db`", "`a`", "`b`"]);
    assert_eq!(place.go(&["run", "it", "--json", "--plugin", &one]).code, 0);
    let ours = write(&place, Plugin::named("c").mcp(&json!({"windlass": {"command": "true"}})));
    place.go(&["run", "it", "--plugin", &ours]).assert_refused(CONFIGURATION, &["`windlass`"]);
}

#[test]
fn a_missing_agent_cli_says_what_to_install() {
    let place = place();
    let mut command = place.windlass(&["loop", "work", "--driver", "claude"]);
    command.env("PATH", place.sealed.home());
    place.spawn(command).end().assert_refused(AGENT, &["claude", "npm install -g", "--agent-bin"]);
    let ran = place.go(&["loop", "work", "--driver", "claude", "--agent-bin", "no/such/claude"]);
    ran.assert_refused(AGENT, &["no/such/claude"]);
    let file = place.sealed.write("not-a-program", "text");
    let ran = place.go(&["loop", "work", "--driver", "claude", "--agent-bin", file.to_str().unwrap()]);
    ran.assert_refused(AGENT, &["not-a-program"]);
    place
        .go(&["loop", "work", "--driver", "cladue"])
        .assert_refused(CONFIGURATION, &["cladue", "claude", "sim"]);
}

#[test]
fn an_agent_that_cannot_play_its_script_fails_the_run_with_its_own_words() {
    let place = place();
    let agent =
        place.sealed.write("agent.sh", "#!/bin/sh\necho 'Error: cannot play script.json' >&2\nexit 1\n");
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = place.go(&["loop", "work", "--json", "--agent-bin", agent.to_str().unwrap()]);
    ran.assert_ended(AGENT, "failed", "agent_failed", 0);
    assert!(ran.finished()["detail"].as_str().unwrap().contains("cannot play script.json"), "{ran}");
}

#[test]
fn settings_that_cannot_be_read_are_shown_with_their_place() {
    let place = Place::with_settings("");
    place.sealed.write("config/windlass/config.toml", "driver = \"sim\"\nmax_iterations = \"many\"\n");
    let ran = place.go(&["loop", "work"]);
    assert_eq!(ran.code, CONFIGURATION, "{ran}");
    assert!(ran.stderr.contains("config.toml:2:") && ran.stderr.contains("max_iterations"), "{ran}");
    place.sealed.write("config/windlass/config.toml", "driver = \"sim\nmode = 1\n");
    let ran = place.go(&["loop", "work"]);
    assert!(ran.code == CONFIGURATION && ran.stderr.contains("config.toml:1:"), "{ran}");
}

#[test]
fn an_unknown_setting_is_a_warning_and_the_run_goes_on() {
    let place = Place::with_settings("max_iteration = 3\n");
    place.script(json!({"turns": [last_turn()]}));
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(ran.stderr.contains("warning:") && ran.stderr.contains("max_iterations"), "{ran}");
}

#[test]
fn a_command_line_that_makes_no_sense_is_a_usage_error() {
    let place = place();
    let lines: [&[&str]; 11] = [
        &["loop"],
        &["loop", ""],
        &["loop", "x", "--plugin", ""],
        &["nosuchverb"],
        &["loop", "x", "--mode", "sometimes"],
        &["loop", "x", "--timeout", "soon"],
        &["loop", "x", "--max-iterations", "-1"],
        &["loop", "x", "--on-question", "maybe"],
        &["loop", "x", "--isolation", "none"],
        &["show"],
        &["loop", "x", "y"],
    ];
    for line in lines {
        let ran = place.go(line);
        assert!(
            ran.code == USAGE && ran.stderr.starts_with("error: ") && ran.stdout.is_empty(),
            "{line:?}: {ran}"
        );
    }
    assert!(place.requests().is_empty());
}

#[test]
fn a_folder_that_is_gone_or_a_home_that_is_not_set_is_said() {
    let place = place();
    let gone = place.sealed.root().join("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = place.sealed.command("sh");
    command.args([
        "-c",
        "rmdir \"$PWD\" && exec \"$0\" loop work --driver sim",
        env!("CARGO_BIN_EXE_windlass"),
    ]);
    command.current_dir(&gone);
    place.spawn(command).end().assert_refused(USAGE, &["folder"]);
    let mut command = place.windlass(&["loop", "work"]);
    command.env_remove("HOME");
    place.spawn(command).end().assert_refused(CONFIGURATION, &["HOME"]);
}

#[test]
fn a_tracker_that_cannot_be_made_fails_the_run_and_escapes_nowhere() {
    let place = place();
    let runs = place.sealed.write("repo/.windlass/runs", "a file");
    place.go(&["loop", "work", "--json"]).assert_ended(AGENT, "failed", "prepare_failed", 0);
    assert_eq!(fs::read_to_string(&runs).unwrap(), "a file");

    let outside = place.sealed.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_file(&runs).unwrap();
    symlink(&outside, &runs).unwrap();
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(AGENT, "failed", "prepare_failed", 0);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(place.requests().is_empty());
}

#[test]
fn a_workflow_file_that_names_itself_in_escape_codes_prints_none() {
    let place = place();
    let ran =
        run_text(&place, "{\"name\": \"\\u001b[31mred\", \"promptTemplate\": 1, \"\\u001b[2J\": \u{1b}[1m}");
    assert_eq!(ran.code, CONFIGURATION, "{ran}");
    assert!(!ran.stderr.contains('\u{1b}'), "{:?}", ran.stderr);
}

#[test]
fn a_broken_workflow_of_a_plugin_is_in_the_way_of_those_alone_who_want_it() {
    let place = place();
    let texts = ["{\"name\": \"broken\",", "{\"name\": \"broken\"}", "\u{0}", "[]"];
    let good = write(&place, Plugin::named("good").workflow(&workflow("good")));
    for text in texts {
        let bad = write(&place, Plugin::named("broken").file("workflow.json", text));
        let with = |arguments: &[&str]| {
            place.go(&[arguments, &["--plugin", &bad, "--plugin", &good, "--json"]].concat())
        };
        with(&["loop", "it"]).assert_ended(0, "completed", "marker", 1);
        let ran = with(&["run", "it", "--workflow", "good"]);
        ran.assert_ended(0, "completed", "marker", 1);
        assert!(ran.stderr.contains("broken/workflow.json has mistakes and is left out"), "{ran}");
        assert!(ran.all("warning").iter().any(|line| line["text"].as_str().unwrap().contains("left out")));
        // It may be the one that is meant.
        for arguments in [&["run", "it"][..], &["run", "it", "--workflow", "broken"]] {
            let ran = with(arguments);
            assert!(ran.code == CONFIGURATION && ran.stderr.contains("broken/workflow.json"), "{ran}");
        }
        let list = place.go(&["workflow", "list", "--plugin", &bad, "--plugin", &good]);
        assert!(list.stdout.contains("good") && list.stderr.contains("broken/workflow.json"), "{list}");
        let check = place.go(&["workflow", "check", "good", "--plugin", &bad, "--plugin", &good]);
        assert_eq!(check.code, 0, "{check}");
    }
    let bad = write(&place, Plugin::named("broken").file("workflow.json", "{}"));
    let file = std::path::Path::new(&bad).join("workflow.json");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let ran = place.go(&["loop", "it", "--json", "--plugin", &bad]);
    ran.assert_ended(0, "completed", "marker", 1);
    place
        .go(&["run", "it", "--plugin", &bad])
        .assert_refused(CONFIGURATION, &["workflow.json", "cannot be read"]);
}

#[test]
fn workflows_of_one_name_are_told_apart_by_whose_they_are() {
    let place = place();
    let named = |plugin: &str, prompt: &str| {
        let workflow = json!({"name": "same", "promptTemplate": prompt, "loop": {"enabled": true}});
        write(&place, Plugin::named(plugin).workflow(&workflow))
    };
    let (one, other) = (named("one", "ONE {input}"), named("other", "OTHER {input}"));
    let go = |rest: &[&str]| {
        place.go(&[&["run", "it", "--json", "--plugin", &one, "--plugin", &other], rest].concat())
    };
    go(&[]).assert_refused(USAGE, &["one:same", "other:same"]);
    let places = ["one/workflow.json", "other/workflow.json", "`one:same`"];
    go(&["--workflow", "same"]).assert_refused(CONFIGURATION, &places);
    go(&["--workflow", "other:same"]).assert_ended(0, "completed", "marker", 1);
    assert!(place.prompts()[0].starts_with("OTHER it"));
    let verbs =
        |verb: &str, name: &str| place.go(&["workflow", verb, name, "--plugin", &one, "--plugin", &other]);
    for verb in ["show", "graph"] {
        verbs(verb, "same").assert_refused(CONFIGURATION, &places[..2]);
        assert_eq!(verbs(verb, "other:same").code, 0);
    }
    assert_eq!(verbs("check", "other:same").code, 0);
    go(&["--workflow", "nobody:same"]).assert_refused(CONFIGURATION, &["no workflow `nobody:same`"]);

    place.sealed.write(
        "repo/.windlass/workflows/same.json",
        json!({"name": "same", "promptTemplate": "MINE {input}", "loop": {"enabled": true}}).to_string(),
    );
    let beside = |rest: &[&str]| place.go(&[&["run", "it", "--json", "--plugin", &one], rest].concat());
    let places = ["one/workflow.json", ".windlass/workflows/same.json"];
    beside(&["--workflow", "same"]).assert_refused(CONFIGURATION, &places);
    beside(&["--workflow", "project:same"]).assert_ended(0, "completed", "marker", 1);
    assert!(place.prompts()[1].starts_with("MINE it"));
    // The project's own goes before the user's.
    place.sealed.write(
        "config/windlass/workflows/same.json",
        json!({"name": "same", "promptTemplate": "USER {input}", "loop": {"enabled": true}}).to_string(),
    );
    place.go(&["run", "it", "--workflow", "same", "--json"]).assert_ended(0, "completed", "marker", 1);
    assert!(place.prompts()[2].starts_with("MINE it"));
    place
        .sealed
        .write("repo/.windlass/workflows/calls.yaml", "name: calls\nnodes:\n  - { id: c, workflow: same }\n");
    beside(&["--workflow", "calls"]).assert_refused(CONFIGURATION, &places);
}

#[test]
fn a_plugins_folder_of_workflows_is_read() {
    let place = place();
    let document = "name: deep\nnodes:\n  - { id: a, prompt: 'DEEP {{ input }}', turns: { max: 2 } }\n";
    let plugin = Plugin::named("p").file("workflows/deep.yaml", document);
    let folder = write(&place, plugin);
    let ran = place.go(&["run", "it", "--json", "--plugin", &folder]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(place.prompts()[0].starts_with("DEEP it"), "the only one of the plugins: {ran}");
    let also = workflow("flat");
    let plugin = Plugin::named("p").file("workflows/flat.json", &also.to_string());
    write(&place, plugin);
    let both = |rest: &[&str]| place.go(&[&["run", "it", "--json", "--plugin", &folder], rest].concat());
    both(&[]).assert_refused(USAGE, &["deep", "flat"]);
    both(&["--workflow", "flat"]).assert_ended(0, "completed", "marker", 1);
    both(&["--workflow", "p:deep"]).assert_ended(0, "completed", "marker", 1);
    let list = place.go(&["workflow", "list", "--plugin", &folder]);
    assert!(list.stdout.contains("deep") && list.stdout.contains("plugin p"), "{list}");
    write(&place, Plugin::named("p").file("workflows/bad.yaml", "name: bad\nnodes: 3\n"));
    both(&["--workflow", "deep"]).assert_ended(0, "completed", "marker", 1);
    for name in ["bad", "p:bad"] {
        let ran = both(&["--workflow", name]);
        assert!(ran.code == CONFIGURATION && ran.stderr.contains("workflows/bad.yaml"), "{ran}");
    }
}

#[test]
fn what_is_odd_about_a_start_is_in_the_json_too() {
    let place = place();
    let mut wants = workflow("w");
    wants["isolation"] = json!("minimal");
    let folder = write(&place, Plugin::named("p").workflow(&wants));
    let flags = ["run", "it", "--json", "--plugin", &folder, "--isolation", "strict"];
    let says = |ran: &Ran| {
        let lines = ran.all("warning");
        lines.iter().any(|line| line["text"].as_str().unwrap().contains("`minimal` isolation"))
    };
    let ran = place.go(&flags);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(says(&ran) && ran.stderr.contains("`minimal` isolation"), "{ran}");
    assert_eq!(ran.run(), ran.lines[0]["run"]);
    assert_eq!(ran.lines[0]["type"], "run.started");
    for (more, kind) in [("--dry-run", "run.planned"), ("--detach", "run.detached")] {
        let ran = place.go(&[&flags[..], &[more]].concat());
        let text = ran.all(kind)[0]["warnings"].to_string();
        assert!(text.contains("`minimal` isolation"), "{more}: {ran}");
    }
}

#[test]
fn a_plugin_whose_workflow_has_another_name_is_told_apart_from_it() {
    let place = place();
    let folder = write(&place, Plugin::named("helper").workflow(&workflow("e2e")));
    let ran = place.go(&["run", "x", "--workflow", "helper", "--plugin", &folder]);
    ran.assert_refused(
        CONFIGURATION,
        &["no workflow `helper`", "the workflow of plugin `helper` is called `e2e`"],
    );
}

#[test]
fn a_home_that_is_not_expanded_is_said() {
    let place = Place::with_settings("plugins = [\"~/plugin\"]\n");
    place.go(&["loop", "x"]).assert_refused(CONFIGURATION, &["does not exist", "does not expand `~`"]);
}
