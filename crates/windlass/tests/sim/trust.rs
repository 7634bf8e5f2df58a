//! A cloned repository gets more rights only if a person trusts exactly what it asks for.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::place::{Place, Ran, done, last_turn, say};

const REFUSED: i32 = 5;
const SETTINGS: &str = "repo/.windlass/config.toml";
/// Asks to answer permission requests with `allow`.
const ALLOWS: &str = "on_permission = \"allow\"\n";

/// The agent runs a command that needs a permission, which only the project's settings give.
fn place() -> Place {
    let place = Place::with_settings("[permissions]\nask = [\"Bash(touch *)\"]\n");
    let steps = json!([{"bash": "touch made"}, done(), say("All done.")]);
    place.script(json!({"turns": [{"steps": steps}]}));
    place.sealed.write(SETTINGS, ALLOWS);
    place
}

fn run(place: &Place) -> Ran {
    place.go(&["loop", "work", "--json"])
}

#[track_caller]
fn assert_trusted(place: &Place) {
    let ran = run(place);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(place.repo().join("made").exists(), "{ran}");
    fs::remove_file(place.repo().join("made")).unwrap();
}

#[track_caller]
fn assert_untrusted(place: &Place) {
    run(place).assert_refused(REFUSED, &["`on_permission` needs your trust", "`windlass trust`", "--trust"]);
}

/// Trusts through the command, as a script of a person does.
#[track_caller]
fn trust(place: &Place) {
    let ran = place.go(&["trust", "--yes"]);
    assert_eq!(ran.code, 0, "{ran}");
}

#[test]
fn without_a_terminal_a_repository_that_asks_for_rights_is_refused_before_any_agent_runs() {
    let place = place();
    let settings = "on_permission = \"allow\"\nisolation = \"permissive\"\nplugins = [\"../tools/p\"]\n\
        [permissions]\nallow = [\"Bash\"]\ndeny = [\"WebFetch\"]\n[agents.sim]\nprogram = \"/bin/true\"\n";
    place.sealed.write(SETTINGS, settings);
    for flags in [&["--json"][..], &["--detach"], &["--dry-run"], &[]] {
        let ran = place.go(&[&["loop", "work"], flags].concat());
        let words = [
            "`on_permission` needs your trust: it lets agents do more",
            "`isolation` needs your trust",
            "`plugins` needs your trust",
            "`permissions.allow` needs your trust",
            "`agents.sim.program` needs your trust: it names a program to run",
            "config.toml:8:1",
            "program = \"/bin/true\"",
            "`windlass trust`",
        ];
        ran.assert_refused(REFUSED, &words);
        assert!(!ran.stderr.contains("permissions.deny"), "{ran}");
    }
    assert!(place.requests().is_empty() && place.ps().is_empty());
}

#[test]
fn trust_holds_for_exactly_the_values_that_a_person_trusted() {
    let place = place();
    assert_untrusted(&place);
    trust(&place);
    assert_trusted(&place);
    // Other settings do not matter, nor does the order or the layout.
    place.sealed.write(SETTINGS, "max_iterations = 7\n\n# why\non_permission   =  'allow'\n");
    assert_trusted(&place);
    for changed in ["isolation = \"permissive\"\n", "plugins = [\"x\"]\n", "on_question = \"empty\"\n"] {
        place.sealed.write(SETTINGS, format!("{ALLOWS}{changed}"));
        assert_untrusted(&place);
    }
    // The values that were trusted are trusted again.
    place.sealed.write(SETTINGS, ALLOWS);
    assert_trusted(&place);
    // Without any of them, nothing needs trust.
    place.sealed.write(SETTINGS, "max_iterations = 7\non_permission = \"deny\"\n");
    run(&place).assert_ended(0, "completed", "marker", 1);
}

#[test]
fn the_flag_trusts_for_this_run_and_for_later_ones() {
    let place = place();
    let ran = place.go(&["loop", "work", "--json", "--trust"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(place.repo().join("made").exists(), "{ran}");
    assert!(ran.stderr.contains("trusted: on_permission = \"allow\""), "{ran}");
    fs::remove_file(place.repo().join("made")).unwrap();
    assert_trusted(&place);
}

#[test]
fn a_person_sees_what_is_asked_for_trusts_it_and_takes_it_back() {
    let place = place();
    let settings = "on_permission = \"allow\"\n[permissions]\nallow = [\n  \"Bash\",\n]\n\
        [agents.sim]\nargs = [\"\\u001b[2J\\u202e\"]\n";
    place.sealed.write(SETTINGS, settings);
    let ran = place.go(&["trust"]);
    assert_eq!(ran.code, REFUSED, "{ran}");
    let file = place.repo().join(".windlass/config.toml").display().to_string();
    assert!(ran.stdout.starts_with(&format!("not trusted: {file}\n")), "{ran}");
    for words in ["  on_permission = \"allow\"\n    line 1: it lets", "    line 3: it lets", "[2J"] {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    assert!(!ran.stdout.contains(['\u{1b}', '\u{202e}']), "{ran}");
    let told = |arguments: &[&str]| {
        let ran = place.go(arguments);
        (ran.code, ran.lines.iter().map(|line| line["data"].clone()).collect::<Vec<Value>>())
    };
    let (code, seen) = told(&["trust", "--json"]);
    assert_eq!((code, &seen[0]["trusted"]), (REFUSED, &json!(false)));
    assert_eq!(seen[0]["settings"][0]["key"], "on_permission");
    assert_eq!(told(&["trust", "--list", "--json"]), (0, vec![]));
    assert_eq!(told(&["trust", "--yes", "--json"]).0, 0);
    let (code, seen) = told(&["trust", "--json"]);
    assert_eq!((code, &seen[0]["trusted"]), (0, &json!(true)));
    let (code, seen) = told(&["trust", "--list", "--json"]);
    assert_eq!((code, seen.len(), &seen[0]["state"]), (0, 1, &json!("trusted")));
    assert_eq!(seen[0]["project"], json!(place.repo()));
    // What an old list says is not what counts.
    place.sealed.write(SETTINGS, "on_permission = \"allow\"\n");
    assert_eq!(told(&["trust", "--list", "--json"]).1[0]["state"], "changed");
    assert_eq!(
        told(&["trust", "--revoke", "--json"]),
        (0, vec![json!({"project": place.repo(), "was_trusted": true})])
    );
    assert_eq!(told(&["trust", "--revoke", "--json"]).1[0]["was_trusted"], false);
    assert_untrusted(&place);
    fs::remove_file(place.sealed.root().join(SETTINGS)).unwrap();
    assert_eq!(told(&["trust", "--json"]).0, 0);
    assert!(place.go(&["trust"]).stdout.starts_with("nothing to trust"));
}

#[test]
fn the_decision_is_in_the_state_folder_for_the_user_alone_and_cannot_be_copied() {
    let place = place();
    trust(&place);
    let folder = place.sealed.state().join("windlass/trust");
    let files: Vec<_> = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&files[0])), (0o700, 0o600));
    assert!(!place.repo().join(".windlass/trust").exists());
    // Another repository with the same values, and with the same decision put in its place, is not trusted.
    let clone = place.sealed.root().join("clone");
    fs::create_dir_all(clone.join(".windlass")).unwrap();
    fs::copy(place.repo().join(".windlass/config.toml"), clone.join(".windlass/config.toml")).unwrap();
    let there = |arguments: &[&str]| {
        let mut command = place.windlass(arguments);
        command.current_dir(&clone);
        place.spawn(command).end()
    };
    assert_eq!(there(&["trust", "--json"]).code, REFUSED);
    let ran = there(&["trust", "--yes"]);
    assert_eq!(ran.code, 0, "{ran}");
    let other =
        fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path()).find(|path| *path != files[0]);
    fs::copy(&files[0], other.unwrap()).unwrap();
    assert_eq!(there(&["trust", "--json"]).code, REFUSED);
    // A decision about other values does not become one about these.
    let text = fs::read_to_string(&files[0]).unwrap();
    place.sealed.write(SETTINGS, "on_permission = \"allow\"\nisolation = \"permissive\"\n");
    fs::write(
        &files[0],
        text.replace(
            "\"settings\":[",
            "\"settings\":[{\"key\":\"isolation\",\"value\":\"\\\"permissive\\\"\"},",
        ),
    )
    .unwrap();
    assert_untrusted(&place);
    fs::write(&files[0], "{").unwrap();
    place.sealed.write(SETTINGS, ALLOWS);
    assert_untrusted(&place);
    trust(&place);
    assert_trusted(&place);
}

#[test]
fn a_worktree_shares_the_trust_and_a_clone_does_not() {
    let place = place();
    trust(&place);
    let git = |arguments: &[&str]| {
        let status = place.sealed.command("git").args(arguments).status().unwrap();
        assert!(status.success(), "{arguments:?}");
    };
    git(&["add", ".windlass"]);
    git(&["commit", "--quiet", "-m", "settings"]);
    git(&["worktree", "add", "--quiet", "../tree"]);
    git(&["clone", "--quiet", ".", "../clone"]);
    let code = |folder: &str| {
        let mut command = place.windlass(&["trust", "--json"]);
        command.current_dir(place.sealed.root().join(folder));
        place.spawn(command).end().code
    };
    fs::create_dir(place.repo().join("deep")).unwrap();
    assert_eq!([code("repo"), code("repo/deep"), code("tree"), code("clone")], [0, 0, 0, REFUSED]);
}

#[test]
fn plugins_of_a_repository_run_nothing_until_they_are_trusted_and_again_when_they_run_something_else() {
    let place = Place::playing(json!([last_turn()]));
    place.sealed.write(SETTINGS, "plugins = [\"../tools/p\"]\n");
    place.sealed.write(
        "repo/tools/p/.claude-plugin/plugin.json",
        "{\"name\": \"p\", \"mcpServers\": \"./servers.json\"}",
    );
    let hooks = |command: &str| {
        let hook = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
        place.sealed.write("repo/tools/p/hooks/hooks.json", hook.to_string());
    };
    hooks("./stop.sh --now");
    let server = json!({"mcpServers": {"s": {"command": "node", "args": ["server.js"]}}});
    place.sealed.write("repo/tools/p/servers.json", server.to_string());
    // Other commands leave them out and say so.
    let ran = place.go(&["plugin", "list", "--json"]);
    assert!(ran.lines.is_empty() && ran.stderr.contains("`plugins` needs your trust"), "{ran}");
    let ran = place.go(&["trust", "--json"]);
    let runs = &ran.lines[0]["data"]["settings"][0]["runs"];
    assert_eq!(*runs, json!(["./stop.sh --now", "node server.js"]), "{ran}");
    trust(&place);
    assert_eq!(place.go(&["plugin", "list", "--json"]).lines.len(), 1);
    run(&place).assert_ended(0, "completed", "marker", 1);
    hooks("./stop.sh --later");
    run(&place).assert_refused(REFUSED, &["`plugins` needs your trust"]);
    trust(&place);
    fs::write(place.repo().join("tools/p/servers.json"), "{}").unwrap();
    run(&place).assert_refused(REFUSED, &["`plugins` needs your trust"]);
    // A declaration that Windlass cannot compare cannot be trusted.
    fs::remove_file(place.repo().join("tools/p/servers.json")).unwrap();
    symlink("/etc/hostname", place.repo().join("tools/p/servers.json")).unwrap();
    let ran = place.go(&["trust", "--yes"]);
    assert!(
        ran.code == 3 && ran.stderr.contains("servers.json cannot be read: it is not a plain file"),
        "{ran}"
    );
    run(&place).assert_refused(REFUSED, &["`plugins` needs your trust"]);
}

#[test]
fn a_workflow_of_a_plugin_that_is_not_trusted_is_missing_for_that_reason() {
    let place = Place::playing(json!([last_turn()]));
    place.sealed.write(SETTINGS, "plugins = [\"../tools/p\"]\n");
    place.sealed.write("repo/tools/p/.claude-plugin/plugin.json", "{\"name\": \"p\"}");
    place.sealed.write("repo/tools/p/workflows/e2e.yaml", "name: e2e\nnodes:\n  - { id: one, prompt: hi }\n");
    let ran = place.go(&["workflow", "check", "e2e"]);
    assert_eq!(ran.code, 3, "{ran}");
    assert!(ran.stderr.contains("`plugins` needs your trust") && ran.stderr.contains("`e2e`"), "{ran}");
    trust(&place);
    let ran = place.go(&["workflow", "check", "e2e"]);
    assert_eq!(ran.code, 0, "{ran}");
}

#[test]
fn no_process_below_a_session_may_trust() {
    let place = place();
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let bare = "env -i HOME=$HOME XDG_STATE_HOME=$XDG_STATE_HOME XDG_CONFIG_HOME=$XDG_CONFIG_HOME PATH=$PATH";
    let tries = [
        "trust --yes",
        "trust --json",
        "trust --list",
        "trust --revoke",
        "run x --trust",
        "loop x --trust",
        "tasks run --trust",
    ];
    let mut script = String::new();
    for (number, words) in (0..).zip(tries) {
        for (way, how) in [("plain", ""), ("bare", bare), ("away", &format!("setsid -w {bare}"))] {
            script += &format!(
                "{how} {windlass} {words} >{way}{number}.out 2>&1 </dev/null; echo $? >{way}{number}\n"
            );
        }
    }
    place.sealed.write("repo/tries.sh", script);
    place.script(json!({"turns": [{"steps": [{"bash": "sh tries.sh"}, done(), say("tried")]}]}));
    place.sealed.write(SETTINGS, "");
    run(&place).assert_ended(0, "completed", "marker", 1);
    for way in ["plain", "bare", "away"] {
        for (number, words) in (0..).zip(tries) {
            let said = place.file(&format!("{way}{number}.out"));
            assert_eq!(place.file(&format!("{way}{number}")).trim(), "5", "{way} {words}: {said}");
            assert!(said.contains("only a person may trust the settings of a repository"), "{words}: {said}");
        }
    }
    assert!(!place.sealed.state().join("windlass/trust").exists());
}

#[test]
fn an_agent_that_edits_the_settings_gains_nothing() {
    let place = place();
    place.sealed.write(SETTINGS, "");
    let edit = "printf '[agents.sim]\\nprogram = \"/bin/true\"\\n' >.windlass/config.toml";
    let steps = json!([{"bash": edit}, done(), say("edited")]);
    place.script(json!({"turns": [{"steps": steps}]}));
    run(&place).assert_ended(0, "completed", "marker", 1);
    run(&place).assert_refused(REFUSED, &["`agents.sim.program` needs your trust"]);
}

#[test]
fn a_run_keeps_the_rights_with_which_it_started() {
    let place = place();
    let steps = json!([{"wait_for": "go"}, {"bash": "touch made"}, done(), say("All done.")]);
    place.script(json!({"turns": [{"steps": steps}]}));
    trust(&place);
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    going.wait_for("session.started");
    going.signal(rustix::process::Signal::KILL);
    going.end();
    assert_eq!(place.go(&["trust", "--revoke"]).code, 0);
    place.sealed.write(SETTINGS, "on_permission = \"deny\"\n");
    fs::write(place.repo().join("go"), "").unwrap();
    let ran = place.go(&["resume", &run, "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(place.repo().join("made").exists(), "{ran}");
}

#[test]
fn a_settings_file_that_is_a_link_or_too_large_is_an_error_and_trusts_nothing() {
    let place = place();
    trust(&place);
    let file = place.repo().join(".windlass/config.toml");
    fs::remove_file(&file).unwrap();
    fs::write(place.repo().join("elsewhere.toml"), ALLOWS).unwrap();
    symlink(place.repo().join("elsewhere.toml"), &file).unwrap();
    for verb in [&["loop", "work"][..], &["trust", "--yes"], &["config", "show"]] {
        let ran = place.go(verb);
        assert!(ran.code == 3 && ran.stderr.contains("it is not a plain file"), "{ran}");
    }
    fs::remove_file(&file).unwrap();
    fs::write(&file, format!("{ALLOWS}# {}\n", "x".repeat(2 << 20))).unwrap();
    let ran = place.go(&["loop", "work"]);
    assert!(ran.code == 3 && ran.stderr.contains("it is larger than"), "{ran}");
    assert!(place.requests().is_empty());
}

#[test]
fn the_settings_show_what_is_trusted_and_what_is_left_out() {
    let place = place();
    let about = |key: &str| {
        let ran = place.go(&["config", "show", "--json"]);
        let data = ran.lines.iter().map(|line| line["data"].clone()).filter(|data| data["key"] == key);
        data.map(|data| (data["value"].clone(), data["trusted"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(
        about("on_permission"),
        [(json!("\"deny\""), Value::Null), (json!("\"allow\""), json!(false))]
    );
    let ran = place.go(&["config", "show"]);
    assert!(ran.stdout.contains("config.toml:1, not trusted: left out"), "{ran}");
    assert!(ran.stderr.contains("`windlass trust`"), "{ran}");
    trust(&place);
    assert_eq!(about("on_permission"), [(json!("\"allow\""), json!(true))]);
}

const WORKFLOW: &str = "repo/.windlass/workflows/tasks.yaml";

/// Workflow `tasks` of a repository. It runs commands that nobody asked for.
const REPLACES: &str = "name: tasks\nsettings: { isolation: permissive }\nnodes:\n  - { id: a, shell: 'touch made' }\n  \
    - { id: b, workflow: more }\n";

/// A repository with a task and its own workflow `tasks`, which runs another of its workflows.
fn replacing() -> Place {
    let place = Place::playing(json!([{"steps": [say("Done.\n<status>passing</status>")]}]));
    let tasks = json!([{"id": "1", "name": "one", "status": "pending"}]);
    place.sealed.write("repo/tasks.json", json!({"version": "1.0", "tasks": tasks}).to_string());
    place.sealed.write(WORKFLOW, REPLACES);
    more(&place, "name: more\nnodes:\n  - { id: c, shell: 'touch more' }\n");
    place
}

fn more(place: &Place, text: &str) {
    place.sealed.write("repo/.windlass/workflows/more.yaml", text);
}

#[track_caller]
fn assert_runs(place: &Place, arguments: &[&str]) {
    let ran = place.go(arguments);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(place.repo().join("made").exists(), "{ran}");
    fs::remove_file(place.repo().join("made")).unwrap();
}

#[track_caller]
fn assert_workflow_refused(place: &Place) {
    for flags in [&["--json"][..], &["--detach"], &["--dry-run"], &[]] {
        let ran = place.go(&[&["tasks", "run"], flags].concat());
        let words =
            ["workflow `tasks` of this repository needs your trust", "tasks.yaml", "`windlass trust`"];
        ran.assert_refused(REFUSED, &words);
    }
    assert!(!place.repo().join("made").exists());
}

#[test]
fn a_workflow_of_a_repository_that_nobody_names_runs_only_if_it_is_trusted() {
    let place = replacing();
    assert_workflow_refused(&place);
    assert!(place.ps().is_empty());
    // Who names it means it. Other commands do not use it.
    assert_runs(&place, &["run", "--workflow", "tasks"]);
    assert_ne!(place.go(&["loop", "work", "--max-iterations", "1"]).code, REFUSED);
    trust(&place);
    assert_runs(&place, &["tasks", "run"]);
    // A change of any file that takes part needs trust again.
    place.sealed.write(WORKFLOW, REPLACES.replace("touch made", "touch made other"));
    assert_workflow_refused(&place);
    place.sealed.write(WORKFLOW, REPLACES);
    assert_runs(&place, &["tasks", "run"]);
    more(&place, "name: more\nnodes:\n  - { id: c, shell: 'touch less' }\n");
    assert_workflow_refused(&place);
    assert_runs(&place, &["tasks", "run", "--trust"]);
    assert_runs(&place, &["tasks", "run"]);
    assert_eq!(place.go(&["trust", "--revoke"]).code, 0);
    assert_workflow_refused(&place);
    // So does a `workflow.json` that replaces it.
    fs::remove_file(place.sealed.root().join(WORKFLOW)).unwrap();
    let old = json!({"name": "tasks", "promptTemplate": "Do {input}"}).to_string();
    place.sealed.write("repo/.windlass/workflows/old.json", old);
    let ran = place.go(&["tasks", "run"]);
    ran.assert_refused(REFUSED, &["workflow `tasks` of this repository needs your trust", "old.json"]);
}

#[test]
fn a_person_sees_the_workflow_that_a_repository_wants_to_run() {
    let place = replacing();
    let ran = place.go(&["trust"]);
    assert_eq!(ran.code, REFUSED, "{ran}");
    let first = "not trusted: workflow tasks: `windlass tasks run` uses it in place of the built-in one\n";
    assert!(ran.stdout.starts_with(first), "{ran}");
    for words in
        ["workflows/tasks.yaml\n    name: tasks\n", "touch made", "workflows/more.yaml\n", "touch more"]
    {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    let told = |arguments: &[&str]| place.go(arguments).lines[0]["data"].clone();
    let seen = told(&["trust", "--json"]);
    assert_eq!((&seen["trusted"], &seen["project"]), (&json!(false), &json!(place.repo())));
    assert_eq!(seen["workflows"][0]["name"], "tasks");
    assert_eq!(seen["workflows"][0]["files"][0]["text"], REPLACES);
    place.sealed.write(SETTINGS, ALLOWS);
    let ran = place.go(&["tasks", "run", "--trust"]);
    assert!(ran.stderr.contains("trusted: workflow tasks (") && ran.stderr.contains("more.yaml"), "{ran}");
    let listed = place.go(&["trust", "--list", "--json"]);
    assert_eq!(listed.lines.len(), 1, "{listed}");
    let (state, settings) = (&listed.lines[0]["data"]["state"], &listed.lines[0]["data"]["settings"]);
    assert_eq!((state, settings.as_array().map(Vec::len)), (&json!("trusted"), Some(3)), "{listed}");
    place.sealed.write(WORKFLOW, "name: tasks\nnodes:\n  - { id: a, shell: 'touch x' }\n");
    assert_eq!(told(&["trust", "--list", "--json"])["state"], "changed");
    assert_eq!(told(&["trust", "--json"])["workflows"][0]["trusted"], false);
    // The settings keep their trust.
    assert_ne!(place.go(&["loop", "work", "--max-iterations", "1"]).code, REFUSED);
    assert_eq!(told(&["trust", "--revoke", "--json"])["was_trusted"], true);
    assert!(place.go(&["trust", "--list", "--json"]).lines.is_empty());
}

#[test]
fn the_workflows_of_the_user_need_no_trust() {
    let place = replacing();
    fs::remove_dir_all(place.repo().join(".windlass/workflows")).unwrap();
    let own = REPLACES.replace("  - { id: b, workflow: more }\n", "");
    place.sealed.write("config/windlass/workflows/tasks.yaml", own);
    assert_runs(&place, &["tasks", "run"]);
    assert!(place.go(&["trust"]).stdout.starts_with("nothing to trust"));
    // The ejected copy of the project says what it needs.
    let ran = place.go(&["workflow", "eject", "tasks"]);
    assert!(ran.code == 0 && ran.stderr.contains("`windlass trust`"), "{ran}");
}
