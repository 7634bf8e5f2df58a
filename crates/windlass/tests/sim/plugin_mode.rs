//! Loops that a plugin has: its state file, who may have it, and how such a loop ends.

use std::fs;
use std::path::PathBuf;

use crate::place::{LIMIT, Place, done, say};
use serde_json::{Value, json};
use windlass_testkit::plugin::{self, Plugin};
use windlass_testkit::wait::until;

const REFUSED: i32 = 5;
const CONFIGURATION: i32 = 3;

fn column(requests: &[Value], key: &str) -> Vec<Value> {
    requests.iter().map(|request| request[key].clone()).collect()
}

/// A place with the ralph-loop plugin and a workflow that loops by it.
struct Ralph {
    place: Place,
    plugin: String,
}

impl Ralph {
    fn playing(turns: Value) -> Ralph {
        let place = Place::playing(turns);
        let plugin = write(&place, &plugin::ralph_loop());
        let looping = json!({"enabled": true, "completionPromise": "E2E COMPLETE", "maxIterations": 4, "mode": "plugin"});
        place.workflow(json!({"name": "w", "promptTemplate": "Use {input}", "loop": looping}));
        Ralph { place, plugin }
    }

    fn arguments<'a>(&'a self, input: &'a str) -> [&'a str; 7] {
        ["run", input, "--workflow", "w", "--plugin", &self.plugin, "--json"]
    }

    /// A run whose Windlass was killed while its agent works on.
    fn left_by_windlass(&self) -> String {
        let mut going = self.place.start(&self.arguments("FIRST"));
        let run = going.run();
        self.place.file("sign");
        self.place.sealed.kill9(going.pid());
        going.end();
        run
    }

    fn state(&self) -> PathBuf {
        self.place.repo().join(".claude/ralph-loop.local.md")
    }
}

fn write(place: &Place, plugin: &Plugin) -> String {
    plugin.write(place.sealed.root()).display().to_string()
}

/// The texts of state files that were moved aside.
fn kept(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.repo().join(".claude")).into_iter().flatten().flatten();
    let is_aside = |path: &PathBuf| path.to_str().is_some_and(|path| path.contains("ralph-loop.before-"));
    entries.map(|entry| entry.path()).filter(is_aside).map(|path| fs::read_to_string(path).unwrap()).collect()
}

fn more() -> Value {
    json!({"steps": [{"bash": "echo ${ITERATION} >> log"}, say("More.")]})
}

fn promised() -> Value {
    json!({"steps": [say("<promise>E2E COMPLETE</promise>")]})
}

fn hanging() -> Value {
    json!({"steps": [{"write": {"path": "sign", "content": "x"}}, {"hang": true}]})
}

#[test]
fn plugin_lets_the_plugin_loop_on_a_state_file_that_is_gone_at_the_end() {
    let keep =
        json!({"steps": [{"bash": "cp .claude/ralph-loop.local.md \"state.${ITERATION}\""}, say("More.")]});
    let ralph = Ralph::playing(json!([keep, keep, promised()]));
    let ran = ralph.place.go(&ralph.arguments("the e2e plugin"));
    ran.assert_ended(0, "completed", "promise", 3);
    assert_eq!(ran.all("session.started").len(), 1, "the plugin's own Stop hook loops");
    let first = ralph.place.file("state.1");
    for line in ["active: true", "iteration: 1", "max_iterations: 4", "completion_promise: \"E2E COMPLETE\""]
    {
        assert!(first.lines().any(|found| found == line), "`{line}` is missing:\n{first}");
    }
    let prompts = ralph.place.prompts();
    assert!(prompts[0].starts_with("Use the e2e plugin\n\n"), "{}", prompts[0]);
    assert!(prompts[0].contains("<promise>E2E COMPLETE</promise>"), "it is told how to end: {}", prompts[0]);
    assert!(first.ends_with(&format!("---\n{}\n", prompts[0])), "{first}");
    let session = format!("session_id: {}", ran.all("session.started")[0]["session"].as_str().unwrap());
    assert!(first.lines().any(|line| line == session), "{first}");
    assert!(ralph.place.file("state.2").contains("\niteration: 2\n"));
    assert_eq!(prompts[1].trim_end(), prompts[0], "the prompt once more");
    assert!(!ralph.state().exists());
}

#[test]
fn each_turn_that_the_plugin_held_has_a_snapshot_of_its_own() {
    let ralph = Ralph::playing(json!([more(), more(), promised()]));
    let ran = ralph.place.go(&ralph.arguments("it"));
    ran.assert_ended(0, "completed", "promise", 3);
    for (turn, expected) in [("1", "+1"), ("2", "+2")] {
        let diff = ralph.place.go(&["diff", ran.run(), turn]);
        let added: Vec<&str> =
            diff.stdout.lines().filter(|line| line.starts_with("+") && !line.starts_with("+++")).collect();
        assert!(added.contains(&expected), "turn {turn}: {diff}");
    }
    assert_eq!(ralph.place.go(&["undo", ran.run(), "--to", "1"]).code, 0);
    assert_eq!(ralph.place.file("log"), "1\n");
}

#[test]
fn plugin_means_turns_by_max_iterations() {
    let ralph = Ralph::playing(json!([{"steps": [{"bash": "echo ${ITERATION} >> log"}, say("More.")]}]));
    let ran = ralph.place.go(&ralph.arguments("it"));
    ran.assert_ended(9, "exhausted", "max_iterations", 4);
    assert_eq!(ralph.place.requests().len(), 4);
    assert!(!ralph.state().exists());
}

#[test]
fn plugin_leaves_no_state_file_behind_when_cancelled() {
    let ralph = Ralph::playing(json!([hanging()]));
    let mut going = ralph.place.start(&ralph.arguments("it"));
    let run = going.run();
    ralph.place.file("sign");
    assert!(ralph.state().exists());
    assert_eq!(ralph.place.go(&["cancel", &run]).code, 0);
    going.end().assert_ended(130, "cancelled", "user", 0);
    assert!(!ralph.state().exists());
}

#[test]
fn plugin_leaves_no_state_file_behind_after_a_kill_and_a_resume() {
    let wait = json!({"steps": [{"write": {"path": "sign", "content": "x"}}, {"wait_for": "go"}, promised()["steps"][0]]});
    let ralph = Ralph::playing(json!([wait]));
    let mut going = ralph.place.start(&ralph.arguments("it"));
    let run = going.run();
    ralph.place.file("sign");
    ralph.place.sealed.kill9(going.pid());
    going.end();
    assert!(ralph.state().exists(), "the agent still works");
    fs::write(ralph.place.repo().join("go"), "x").unwrap();
    ralph.place.go(&["resume", &run, "--json"]).assert_ended(0, "completed", "promise", 1);
    assert!(!ralph.place.repo().join(".claude").exists(), "the folder was made for the state file");
}

#[test]
fn plugin_goes_on_after_a_crash_of_the_agent_and_counts_each_turn_once() {
    let more = json!({"steps": [{"bash": "echo ${ITERATION} >> log"}, say("More.")]});
    let crash = json!({"steps": [say("On it."), {"crash": "SIGKILL"}]});
    let ralph = Ralph::playing(json!([more, {"attempts": [crash, more]}, promised()]));
    let ran = ralph.place.go(&ralph.arguments("it"));
    ran.assert_ended(0, "completed", "promise", 3);
    assert_eq!(column(&ralph.place.requests(), "iteration"), [json!(1), json!(2), json!(2), json!(3)]);
    assert!(!ralph.state().exists());
}

#[test]
fn plugin_replaces_the_state_file_of_an_earlier_prompt() {
    let ralph = Ralph::playing(json!([hanging()]));
    let stale =
        "---\nactive: true\niteration: 3\nmax_iterations: 9\ncompletion_promise: null\n---\nAn old prompt\n";
    ralph.place.sealed.write("repo/.claude/ralph-loop.local.md", stale);
    let mut going = ralph.place.start(&ralph.arguments("something new"));
    ralph.place.file("sign");
    let text = fs::read_to_string(ralph.state()).unwrap();
    assert!(text.contains("Use something new") && text.contains("\niteration: 1\n"), "{text}");
    assert!(!text.contains("An old prompt"));
    let kept = kept(&ralph.place);
    assert_eq!(kept, [stale], "a person may still want it");
    let said = going.wait_for("warning");
    assert!(said["text"].as_str().unwrap().contains("ralph-loop.before-"), "{said}");
    going.signal(rustix::process::Signal::INT);
    assert_eq!(going.end().code, 130);
    until(crate::place::LIMIT, || !ralph.state().exists());
    assert!(ralph.place.repo().join(".claude").exists(), "the folder was there before");
    assert_eq!(self::kept(&ralph.place), [stale]);
}

#[test]
fn plugin_needs_a_plugin_that_loops_whatever_it_is_called() {
    let ralph = Ralph::playing(json!([promised()]));
    let run = |plugin: &str| ralph.place.go(&["run", "it", "--workflow", "w", "--plugin", plugin, "--json"]);
    let without = ralph.place.go(&["run", "it", "--workflow", "w"]);
    let words = ["Stop hook reads", ".claude/ralph-loop.local.md", "ralph-loop or ralph-wiggum", "--plugin"];
    without.assert_refused(CONFIGURATION, &words);
    let empty = write(
        &ralph.place,
        &Plugin::named("nothing/ralph-loop").file(".claude-plugin/plugin.json", "{\"name\": \"ralph-loop\"}"),
    );
    run(&empty).assert_refused(CONFIGURATION, &["the loaded `ralph-loop` has no such hook"]);
    assert!(ralph.place.requests().is_empty(), "before any turn");
    let other = write(&ralph.place, &Plugin::named("once-more")
        .file("hooks/hooks.json", "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"sh \\\"${CLAUDE_PLUGIN_ROOT}/bin/again.sh\\\"\"}]}]}}")
        .file("bin/again.sh", include_str!("../../../testkit/src/ralph-stop.sh")));
    run(&other).assert_ended(0, "completed", "promise", 1);
}

#[test]
fn a_required_plugin_of_a_public_name_is_any_that_loops_and_only_in_plugin_mode() {
    let place = Place::playing(json!([{"steps": [say("<promise>P</promise>")]}]));
    let looping =
        |mode: &str| json!({"enabled": true, "completionPromise": "P", "maxIterations": 3, "mode": mode});
    let plugin = write(&place, &plugin::ralph_loop());
    for mode in ["plugin", "fresh"] {
        place.workflow(json!({"name": "w", "promptTemplate": "{input}", "loop": looping(mode), "requiredPlugins": ["ralph-wiggum@a/b"]}));
        place.go(&["run", "x", "--workflow", "w", "--plugin", &plugin, "--json"]).assert_ended(
            0,
            "completed",
            "promise",
            1,
        );
    }
    assert_eq!(place.go(&["run", "x", "--workflow", "w", "--json"]).code, 0, "Windlass itself loops");
}

#[test]
fn a_loop_that_nothing_can_complete_is_refused() {
    let ralph = Ralph::playing(json!([more()]));
    let place = &ralph.place;
    for rest in [
        json!({"completionMarker": "X", "maxIterations": 0}),
        json!({"completionMarker": "X", "maxIterations": 3}),
        json!({}),
    ] {
        let mut looping = json!({"enabled": true, "mode": "plugin"});
        looping.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        place.workflow(json!({"name": "w", "promptTemplate": "{input}", "loop": looping}));
        place
            .go(&ralph.arguments("it"))
            .assert_refused(CONFIGURATION, &["plugin` mode", "completionPromise", "w.json:"]);
        let checked = place.go(&["workflow", "check", "w"]);
        assert_ne!(checked.code, 0, "{checked}");
    }
    let ran = place.go(&["loop", "it", "--mode", "plugin", "--plugin", &ralph.plugin]);
    ran.assert_refused(CONFIGURATION, &["only a promise", "--mode fresh"]);
    assert!(place.requests().is_empty());
}

#[test]
fn a_folder_has_one_run_whose_loop_a_plugin_has() {
    let ralph = Ralph::playing(json!([hanging()]));
    let mut first = ralph.place.start(&ralph.arguments("FIRST"));
    let run = first.run();
    ralph.place.file("sign");
    let armed = fs::read_to_string(ralph.state()).unwrap();
    let ways = [format!("windlass cancel {run}"), format!("windlass resume {run}")];
    let words = [run.as_str(), &ways[0], &ways[1]];
    ralph.place.go(&ralph.arguments("SECOND")).assert_refused(REFUSED, &words);
    ralph.place.go(&[&ralph.arguments("SECOND")[..], &["--detach"]].concat()).assert_refused(REFUSED, &words);
    // The plugin would loop the sessions of another mode, too.
    let ran = ralph.place.go(&["loop", "THIRD", "--plugin", &ralph.plugin, "--json", "--beside"]);
    ran.assert_refused(REFUSED, &words);
    assert_eq!(fs::read_to_string(ralph.state()).unwrap(), armed);
    assert_eq!((ralph.place.requests().len(), ralph.place.ps().len()), (1, 1), "nothing was begun");
    // Without the plugin nothing would be looped.
    ralph.place.script(json!({"turns": [{"steps": [done()]}]}));
    ralph.place.go(&["loop", "FOURTH", "--json", "--beside"]).assert_ended(0, "completed", "marker", 1);

    assert_eq!(ralph.place.go(&["cancel", &run]).code, 0);
    first.end().assert_ended(130, "cancelled", "user", 0);
    ralph.place.script(json!({"turns": [promised()]}));
    ralph.place.go(&ralph.arguments("FIFTH")).assert_ended(0, "completed", "promise", 1);
}

#[test]
fn a_run_that_would_be_looped_too_keeps_the_folder() {
    let ralph = Ralph::playing(json!([hanging()]));
    let flags = ["loop", "FIRST", "--plugin", &ralph.plugin, "--json", "--beside"];
    let (mut first, mut second) = (ralph.place.start(&flags), ralph.place.start(&flags));
    let runs = [first.run(), second.run()];
    ralph.place.file("sign");
    let ran = ralph.place.go(&ralph.arguments("SECOND"));
    ran.assert_refused(REFUSED, &["windlass cancel"]);
    assert!(runs.iter().any(|run| ran.stderr.contains(run)), "{ran}");
    assert!(!ralph.state().exists());
    for (run, going) in runs.iter().zip([first, second]) {
        assert_eq!(ralph.place.go(&["cancel", run]).code, 0);
        going.end();
    }
}

#[test]
fn of_several_that_start_at_once_one_has_the_folder() {
    let ralph = Ralph::playing(json!([hanging()]));
    let arguments = [&ralph.arguments("it")[..], &["--beside"]].concat();
    let all: Vec<_> = (0..5).map(|_| ralph.place.start(&arguments)).collect();
    ralph.place.file("sign");
    let is_waiting =
        |going: &crate::place::Going| going.lines().iter().any(|line| line["type"] == "run.started");
    let (mut winners, losers): (Vec<_>, Vec<_>) = {
        let mut left = all;
        let mut losers = Vec::new();
        until(LIMIT, || {
            let mut at = 0;
            while at < left.len() {
                if left[at].errors().contains("only one run in a folder") {
                    losers.push(left.remove(at))
                } else {
                    at += 1
                }
            }
            left.len() == 1
        });
        (left, losers)
    };
    for loser in losers {
        assert!(loser.end().code == REFUSED);
    }
    let winner = winners.remove(0);
    until(LIMIT, || is_waiting(&winner));
    winner.signal(rustix::process::Signal::INT);
    winner.end().assert_ended(130, "interrupted", "user", 0);
    assert_eq!(ralph.place.requests().len(), 1);
}

#[test]
fn a_run_whose_agent_lives_keeps_the_folder_and_one_that_is_dead_makes_way() {
    let ralph = Ralph::playing(json!([hanging()]));
    let run = ralph.left_by_windlass();
    let words = [run.as_str(), "windlass cancel", "windlass resume"];
    ralph.place.go(&ralph.arguments("SECOND")).assert_refused(REFUSED, &words);
    ralph.place.kill_hosts();
    ralph.place.assert_nothing_is_left();
    assert!(ralph.state().exists(), "nobody put it away");

    ralph.place.script(json!({"turns": [promised()]}));
    let ran = ralph.place.go(&ralph.arguments("THIRD"));
    ran.assert_ended(0, "completed", "promise", 1);
    let said = ran.all("warning")[0]["text"].as_str().unwrap();
    assert!(said.contains(&run) && said.contains("ends it"), "{said}");
    assert!(!ralph.place.repo().join(".claude").exists(), "{ran}");
    let old = ralph.place.ps().into_iter().find(|line| line["run"] == run.as_str()).unwrap();
    assert_eq!(old["data"]["status"], "cancelled");
}

#[test]
fn a_stale_state_file_loops_no_other_mode() {
    let stale =
        "---\nactive: true\niteration: 1\nmax_iterations: 0\ncompletion_promise: \"X\"\n---\nSTALE PROMPT\n";
    let place = Place::playing(json!([{"steps": [done()]}]));
    let plugin = write(&place, &plugin::ralph_loop());
    place.workflow(json!({"name": "once", "promptTemplate": "{input}"}));
    let runs: [(&[&str], Value); 3] = [
        (&["loop", "work", "--json"], done()),
        (&["loop", "work", "--mode", "in_session", "--json"], done()),
        (&["run", "work", "--workflow", "once", "--json"], say("Done.")),
    ];
    for (nth, (run, step)) in runs.into_iter().enumerate() {
        place.script(json!({"turns": [{"steps": [step]}]}));
        place.sealed.write("repo/.claude/ralph-loop.local.md", stale);
        let ran = place.go(&[run, &["--plugin", &plugin]].concat());
        assert_eq!(ran.code, 0, "{ran}");
        assert_eq!(place.requests().len(), nth + 1, "{ran}");
        assert_eq!(kept(&place), vec![stale; nth + 1]);
        assert!(
            ran.all("warning").iter().any(|line| line["text"].as_str().unwrap().contains("is kept as")),
            "{ran}"
        );
    }
    // Without such a plugin it is in nobody's way.
    place.script(json!({"turns": [{"steps": [done()]}]}));
    place.sealed.write("repo/.claude/ralph-loop.local.md", stale);
    assert_eq!(place.go(&["loop", "work", "--json"]).code, 0);
    assert_eq!(place.file(".claude/ralph-loop.local.md"), stale);
}

#[test]
fn a_state_file_outside_the_project_is_not_moved() {
    let place = Place::playing(json!([{"steps": [done()]}]));
    let plugin = write(&place, &plugin::ralph_loop());
    let outside = place.sealed.write("shared/ralph-loop.local.md", "MINE");
    std::os::unix::fs::symlink(outside.parent().unwrap(), place.repo().join(".claude")).unwrap();
    let run = ["loop", "work", "--plugin", &plugin, "--json"];
    let ran = place.go(&run);
    assert!(ran.code == 4 && ran.finished()["reason"] == "prepare_failed", "{ran}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "MINE");
    assert!(place.requests().is_empty());
    fs::remove_file(&outside).unwrap();
    place.go(&run).assert_ended(0, "completed", "marker", 1);
}

#[test]
fn what_a_dead_run_left_is_removed_for_another_mode() {
    let ralph = Ralph::playing(json!([hanging()]));
    let run = ralph.left_by_windlass();
    ralph.place.kill_hosts();
    ralph.place.assert_nothing_is_left();
    ralph.place.script(json!({"turns": [{"steps": [done()]}]}));
    let ran = ralph.place.go(&["loop", "work", "--plugin", &ralph.plugin, "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(!ralph.state().exists() && kept(&ralph.place).is_empty());
    assert!(ran.all("warning")[0]["text"].as_str().unwrap().contains(&run), "{ran}");
    // It can still go on: its file is written anew.
    ralph.place.script(json!({"turns": [promised()]}));
    ralph.place.go(&["resume", &run, "--json"]).assert_ended(0, "completed", "promise", 1);
    assert!(!ralph.state().exists());
}

#[test]
fn a_promise_with_a_red_check_goes_on_with_what_failed() {
    let mend = json!({"steps": [{"bash": "cp .claude/ralph-loop.local.md second; touch ok"}, promised()["steps"][0]]});
    let ralph = Ralph::playing(json!([more(), promised(), mend]));
    let ran = ralph.place.go(&[&ralph.arguments("it")[..], &["--check", "test=test -e ok"]].concat());
    ran.assert_ended(0, "completed", "promise", 3);
    assert_eq!(column(&ralph.place.requests(), "resumed"), [json!(false), json!(false), json!(true)]);
    let told = &ralph.place.prompts()[2];
    assert!(told.contains("these checks fail") && told.contains("## test"), "{told}");
    assert!(ralph.place.file("second").contains("\niteration: 3\n"), "armed for the turns that are left");
    assert!(!ralph.state().exists());
}

#[test]
fn a_red_check_is_named_when_the_turns_are_spent() {
    let ralph = Ralph::playing(json!([promised()]));
    let ran = ralph.place.go(&[&ralph.arguments("it")[..], &["--check", "lint=false"]].concat());
    ran.assert_ended(9, "exhausted", "max_iterations", 4);
    assert!(ran.finished()["detail"].as_str().unwrap().contains("checks still failing: lint"), "{ran}");
}

#[test]
fn a_run_that_is_cut_off_says_how_many_turns_the_plugin_made() {
    let ralph = Ralph::playing(json!([more(), more(), hanging()]));
    let going = ralph.place.start(&ralph.arguments("it"));
    ralph.place.file("sign");
    going.signal(rustix::process::Signal::INT);
    going.end().assert_ended(130, "interrupted", "user", 2);
}

#[test]
fn loops_of_plugins_do_not_run_side_by_side() {
    let ralph = Ralph::playing(json!([promised()]));
    let text = |mode: &str, limit: &str| {
        let node = |id: &str| {
            format!("[{{ id: {id}, prompt: x, turns: {{ max: 2, promise: E2E COMPLETE{mode} }} }}]")
        };
        let branches = format!("one: {}, two: {}", node("a"), node("b"));
        format!("name: d\nnodes:\n  - id: p\n    parallel: {{ {limit} }}\n    branches: {{ {branches} }}\n")
    };
    let file = "repo/.windlass/workflows/d.yaml";
    ralph.place.sealed.write(file, text(", mode: plugin", ""));
    let run = ["run", "x", "--workflow", "d", "--plugin", &ralph.plugin, "--json"];
    ralph.place.go(&run).assert_refused(CONFIGURATION, &["loops by a plugin", "limit: 1"]);
    let checked = ralph.place.go(&["workflow", "check", "d"]);
    assert!(checked.code != 0 && checked.stderr.contains("loops by a plugin"), "{checked}");
    ralph.place.sealed.write(file, text("", ""));
    let by_flag = [&run[..], &["--mode", "plugin"]].concat();
    ralph.place.go(&by_flag).assert_refused(CONFIGURATION, &["loops by a plugin"]);
    assert!(ralph.place.requests().is_empty());
    // One after the other, each has the file to itself.
    ralph.place.sealed.write(file, text(", mode: plugin", "limit: 1"));
    assert_eq!(ralph.place.go(&run).code, 0);
    assert!(!ralph.state().exists());
}
