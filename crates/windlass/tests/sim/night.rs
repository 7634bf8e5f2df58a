//! The owner of a run is dead for longer than the hooks of its agent wait: a crash at night, a resume in
//! the morning. No turn in which nobody answered counts as finished, and no answer of a person is lost.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use windlass_testkit::wait::until;
use windlass_testkit::{eventually, plugin};

use crate::place::{Going, LIMIT, Place, busy_turn, done, say};

/// Milliseconds that a hook waits for an owner in these tests: a short night.
const PATIENCE_MS: &str = "200";

/// `windlass` whose hooks wait for the night.
fn patient(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.windlass(arguments);
    command.env("WINDLASS_HOOK_PATIENCE_MS", PATIENCE_MS);
    command
}

fn start(place: &Place, arguments: &[&str]) -> Going {
    place.spawn(patient(place, arguments))
}

/// A turn that works once the file `go` is there; its second attempt works at once.
fn night_turn(work: Value) -> Value {
    let sign = json!({"write": {"path": "sign", "content": "x"}});
    let wait = json!({"wait_for": "go"});
    let end = [work.clone(), done(), say("I am done.")];
    let first: Vec<Value> = [say("Working."), sign, wait].into_iter().chain(end.clone()).collect();
    json!({"attempts": [{"steps": first}, {"steps": end}]})
}

fn work() -> Value {
    json!({"bash": "echo ${ITERATION}.${ATTEMPT} >> worked"})
}

/// Kills the owner in the middle of the turn, lets the agent work on alone until it is gone, and says
/// which run that was.
fn night(place: &Place, mut going: Going) -> String {
    let run = going.run();
    place.file("sign");
    place.sealed.kill9(going.pid());
    going.end();
    fs::write(place.repo().join("go"), "x").unwrap();
    place.assert_nothing_is_left();
    run
}

fn morning(place: &Place) -> crate::place::Ran {
    start(place, &["resume", "--json"]).end()
}

#[test]
fn a_node_whose_agent_was_refused_by_nobody_does_its_work_in_the_morning() {
    let place = Place::with_settings("");
    place.workflow(json!({"name": "w", "promptTemplate": "do {input}"}));
    let steps = |steps: Value| json!({"steps": steps});
    let sign = json!({"write": {"path": "sign", "content": "x"}});
    place.script(json!({"turns": [{"attempts": [
        steps(json!([sign, {"wait_for": "go"}, work(), say("It is done.")])),
        steps(json!([work(), say("It is done now.")])),
    ]}]}));
    let run = night(&place, start(&place, &["run", "it", "--workflow", "w", "--json"]));
    assert!(!place.repo().join("worked").exists(), "nobody allowed it");
    let ran = morning(&place);
    ran.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(place.file("worked"), "1.2\n");
    let retried = ran.all("run.retrying");
    assert_eq!(retried[0]["what"], "Windlass was not running when the agent needed an answer", "{ran}");
    let shown = place.go(&["logs", &run]).stdout;
    assert!(shown.contains("Windlass was not running when the agent needed an answer"), "{shown}");
}

#[test]
fn every_loop_mode_repeats_the_turn_that_nobody_answered() {
    for mode in ["fresh", "resume", "in_session"] {
        let place = Place::playing(json!([busy_turn(), night_turn(work())]));
        let flags = ["loop", "work", "--json", "--mode", mode, "--max-iterations", "2"];
        night(&place, start(&place, &flags));
        morning(&place).assert_ended(0, "completed", "marker", 2);
        assert_eq!(place.file("worked"), "2.2\n", "{mode}");
    }
}

#[test]
fn several_nights_in_one_turn_are_survived() {
    let place = Place::with_settings("");
    let attempt = |nth: u32| {
        let (sign, go) = (format!("sign{nth}"), format!("go{nth}"));
        json!({"steps": [{"write": {"path": sign, "content": "x"}}, {"wait_for": go}, work(), done(), say("Done.")]})
    };
    let attempts: Vec<Value> = (1..=6).map(attempt).collect();
    place.script(json!({"turns": [{"attempts": attempts}]}));
    let mut going = start(&place, &["loop", "work", "--json", "--max-iterations", "1"]);
    for nth in 1..=6 {
        place.file(&format!("sign{nth}"));
        if nth == 6 {
            fs::write(place.repo().join("go6"), "x").unwrap();
            break;
        }
        place.sealed.kill9(going.pid());
        going.end();
        fs::write(place.repo().join(format!("go{nth}")), "x").unwrap();
        place.assert_nothing_is_left();
        going = start(&place, &["resume", "--json"]);
    }
    going.end().assert_ended(0, "completed", "marker", 1);
    assert_eq!(place.file("worked"), "1.6\n");
}

/// The notes that hooks left in the folders of the sessions.
fn notes(place: &Place) -> Vec<PathBuf> {
    let list = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let runs = list(place.sealed.state().join("windlass/runs"));
    let files = runs.flat_map(list).flat_map(list);
    let is_note = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("unanswered."))
    };
    files.filter(is_note).collect()
}

/// Waits until a hook has given up and the agent goes on without it.
fn wait_for_refusal(place: &Place) {
    let hooks = || place.sealed.processes().into_iter().filter(|p| p.command.contains(" hook "));
    until(LIMIT, || !notes(place).is_empty() && hooks().next().is_none());
}

#[test]
fn an_agent_that_was_refused_by_nobody_may_not_stop_when_the_owner_is_back() {
    for mode in ["fresh", "resume", "in_session"] {
        let refused = json!([
            {"write": {"path": "sign", "content": "x"}}, {"wait_for": "go"}, {"bash": "echo refused >> worked"},
            {"wait_for": "go2"}, {"tracker": {"append": "half"}}, say("I could not work."),
        ]);
        let works = json!({"steps": [{"bash": "echo now >> worked"}, done(), say("Done.")]});
        let place = Place::playing(json!([{"attempts": [{"steps": refused}, works.clone()]}, works]));
        let mut going = start(&place, &["loop", "work", "--json", "--mode", mode, "--max-iterations", "1"]);
        going.run();
        place.file("sign");
        place.sealed.kill9(going.pid());
        going.end();
        fs::write(place.repo().join("go"), "x").unwrap();
        wait_for_refusal(&place);
        let mut resumed = start(&place, &["resume", "--json"]);
        resumed.wait_for("run.resumed");
        fs::write(place.repo().join("go2"), "x").unwrap();
        resumed.end().assert_ended(0, "completed", "marker", 1);
        assert_eq!(place.file("worked"), "now\n", "{mode}");
        let prompts = place.prompts();
        assert!(prompts[1].starts_with("You were interrupted in the middle"), "{mode}: {prompts:?}");
    }
}

#[test]
fn an_agent_that_builds_on_what_nobody_allowed_does_nothing_more_and_its_turn_is_repeated_once() {
    for mode in ["fresh", "in_session"] {
        let works = ["A", "B", "C"].map(|word| json!({"bash": format!("echo {word} >> worked")}));
        let sign = [json!({"write": {"path": "sign", "content": "x"}}), json!({"wait_for": "go"})];
        let end = [done(), say("Done.")];
        let first: Vec<Value> = sign.into_iter().chain(works.clone()).chain(end.clone()).collect();
        let second: Vec<Value> = works.into_iter().chain(end).collect();
        let place = Place::playing(json!([{"attempts": [{"steps": first}, {"steps": second}]}]));
        let mut command =
            place.windlass(&["loop", "work", "--json", "--mode", mode, "--max-iterations", "1"]);
        command.env("WINDLASS_HOOK_PATIENCE_MS", "3000");
        let mut going = place.spawn(command);
        going.run();
        place.file("sign");
        place.sealed.kill9(going.pid());
        going.end();
        fs::write(place.repo().join("go"), "x").unwrap();
        // The first was refused by nobody, the second waits for somebody.
        until(LIMIT, || notes(&place).len() == 2);
        place.go(&["resume", "--json"]).assert_ended(0, "completed", "marker", 1);
        assert_eq!(place.file("worked"), "A\nB\nC\n", "{mode}");
    }
}

#[test]
fn a_hook_that_finds_the_owner_again_in_time_leaves_no_note() {
    let place = Place::playing(json!([night_turn(work())]));
    let mut going = place.start(&["loop", "work", "--json"]);
    going.run();
    place.file("sign");
    place.sealed.kill9(going.pid());
    going.end();
    fs::write(place.repo().join("go"), "x").unwrap();
    until(LIMIT, || !notes(&place).is_empty());
    place.go(&["resume", "--json"]).assert_ended(0, "completed", "marker", 1);
    assert_eq!(place.file("worked"), "1.1\n");
    assert_eq!(notes(&place), Vec::<PathBuf>::new());
}

#[test]
fn what_a_person_answered_at_night_reaches_the_agent_in_the_morning() {
    let asks = json!({"ask": {"question": "Which colour?", "options": ["blue", "red"]}});
    let paint = json!({"bash": "echo \"${ANSWER}\" >> worked"});
    let steps = json!({"steps": [asks, paint, done(), say("Painted.")]});
    let place = Place::playing(json!([{"attempts": [steps.clone(), steps]}]));
    let mut going = start(&place, &["loop", "paint", "--json", "--on-question", "wait"]);
    let run = going.run();
    going.wait_for("run.waiting");
    place.sealed.kill9(going.pid());
    going.end();
    place.assert_nothing_is_left();
    assert_eq!(place.go(&["answer", &run, "blue"]).code, 0);
    let ran = morning(&place);
    ran.assert_ended(0, "completed", "marker", 1);
    assert_eq!(place.file("worked"), "blue\n");
    assert!(ran.all("run.waiting").len() <= 1, "nobody is asked a second time: {ran}");
}

#[test]
fn an_answer_whose_key_was_deleted_is_asked_for_again_and_not_lost_silently() {
    let asks = json!({"ask": {"question": "Which colour?", "options": ["blue", "red"]}});
    let paint = json!({"bash": "echo \"${ANSWER}\" >> worked"});
    let steps = json!({"steps": [asks, paint, done(), say("Painted.")]});
    for answers_again in [false, true] {
        let place = Place::playing(json!([{"attempts": [steps.clone(), steps.clone()]}]));
        let mut going = start(&place, &["loop", "paint", "--json", "--on-question", "wait"]);
        let run = going.run();
        going.wait_for("run.waiting");
        place.sealed.kill9(going.pid());
        going.end();
        place.assert_nothing_is_left();
        assert_eq!(place.go(&["answer", &run, "blue"]).code, 0);
        let key = place.sealed.state().join("windlass/inbox.key");
        fs::remove_file(&key).unwrap();
        if answers_again {
            assert_eq!(place.go(&["answer", &run, "red"]).code, 0, "nothing is in its way");
        }
        let mut resumed = start(&place, &["resume", "--json"]);
        if !answers_again {
            let told = resumed.wait_for("warning")["text"].as_str().unwrap_or_default().to_owned();
            let words = ["(answer)", key.to_str().unwrap(), "send it again"];
            assert!(words.iter().all(|word| told.contains(word)), "{told}");
            // The turn was cut off, and the agent asks again.
            eventually(LIMIT, || (place.go(&["answer", &run, "red"]).code == 0).then_some(()));
        }
        resumed.end().assert_ended(0, "completed", "marker", 1);
        assert_eq!(place.file("worked"), "red\n");
    }
}

#[test]
fn a_permission_given_at_night_counts_in_the_morning_and_only_once() {
    let place = Place::with_settings("[permissions]\nask = [\"Bash(git push *)\"]\n");
    let push = json!({"bash": "git push origin main; echo pushed >> worked"});
    let steps = json!({"steps": [push.clone(), push, done(), say("Pushed.")]});
    place.script(json!({"turns": [{"attempts": [steps.clone(), steps]}]}));
    let mut going = start(&place, &["loop", "push", "--json", "--on-permission", "ask"]);
    let run = going.run();
    going.wait_for("run.waiting");
    place.sealed.kill9(going.pid());
    going.end();
    place.assert_nothing_is_left();
    assert_eq!(place.go(&["approve", &run]).code, 0);
    let resumed = start(&place, &["resume", "--json"]);
    place.file("worked");
    eventually(LIMIT, || {
        let answered = place.go(&["approve", &run, "--deny", "once is enough"]);
        (answered.code == 0).then_some(())
    });
    resumed.end().assert_ended(0, "completed", "marker", 1);
    assert_eq!(place.file("worked"), "pushed\n");
}

#[test]
fn each_resume_tells_the_question_of_an_agent_again_and_nobody_has_to_look_for_it() {
    let place = Place::playing(json!([{"steps": [
        {"ask": {"question": "Which colour?", "options": ["blue", "red"]}}, done(), say("Painted.")]}]));
    let mut going = place.start(&["loop", "paint", "--json", "--on-question", "wait"]);
    let (run, waits) = (going.run(), going.wait_for("run.waiting"));
    for _ in 0..3 {
        place.sealed.kill9(going.pid());
        going.end();
        going = place.start(&["resume", "--json"]);
        assert_eq!(going.wait_for("run.waiting"), waits);
    }
    assert_eq!(place.go(&["answer", &run, "blue"]).code, 0);
    going.end().assert_ended(0, "completed", "marker", 1);
}

#[test]
fn each_resume_tells_again_what_is_waited_for() {
    let nodes = [
        json!([{"id": "go", "wait": {"event": "go"}}]),
        json!([{"id": "ship", "ask": "Ship it?", "choices": ["yes", "no"]}]),
        json!([{"id": "first", "shell": "true"}, {"id": "go", "wait": {"event": "go"}}]),
        json!([{"id": "first", "shell": "true"}, {"id": "later", "wait": "1h"}]),
    ];
    for nodes in nodes {
        let place = Place::with_settings("");
        place
            .sealed
            .write("repo/.windlass/workflows/w.json", json!({"name": "w", "nodes": nodes}).to_string());
        let mut going = start(&place, &["run", "--workflow", "w", "--json", "--on-question", "wait"]);
        let waits = going.wait_for("run.waiting");
        for nth in 1..=3 {
            place.sealed.kill9(going.pid());
            going.end();
            going = start(&place, &["resume", "--json"]);
            let again = going.wait_for("run.waiting");
            assert_eq!(again, waits, "resume {nth} of {nodes}");
            let times = going.lines().iter().filter(|line| line["type"] == "run.waiting").count();
            assert_eq!(times, 1, "told once: {}", going.output());
        }
        assert_eq!(place.go(&["cancel", going.lines()[0]["run"].as_str().unwrap()]).code, 0);
        going.end();
    }
}

/// Puts the folder of the repository back that a step has moved away.
fn put_back(place: &Place) {
    std::fs::rename(place.sealed.root().join("away"), place.repo()).unwrap();
}

fn move_away() -> Value {
    json!({"bash": "mv \"${CWD}\" \"${CWD}/../away\""})
}

/// The run stops because its folder is away, and is crashed and resumable.
fn assert_away(place: &Place, arguments: &[&str]) -> String {
    let ran = place.go(arguments);
    let words = ["the folder", "is missing", "put the folder back", "windlass resume"];
    assert_eq!(ran.code, 3, "{ran}");
    assert!(words.iter().all(|word| ran.stderr.contains(word)), "{ran}");
    assert_told_missing(place, ran.run());
    put_back(place);
    let listed = &place.ps()[0]["data"];
    assert_eq!((&listed["status"], &listed["resumable"]), (&json!("crashed"), &json!(true)), "{listed}");
    ran.run().to_owned()
}

/// `ps` and `show` say of a crashed run that its folder is missing, and that it can go on.
fn assert_told_missing(place: &Place, run: &str) {
    let told = |json: &Value| {
        let data = &json["data"];
        assert_eq!((&data["status"], &data["resumable"]), (&json!("crashed"), &json!(true)), "{data}");
        let missing = data["missing_folder"].as_str().unwrap_or_default();
        assert!(
            missing.contains(&place.repo().display().to_string()) && missing.contains("is missing"),
            "{data}"
        );
    };
    let outside = |arguments: &[&str]| {
        let mut command = place.windlass(arguments);
        command.current_dir(place.sealed.root());
        place.spawn(command).end()
    };
    let listed = outside(&["ps", "--json"]).lines;
    told(listed.iter().find(|line| line["run"] == run).unwrap());
    told(&outside(&["show", run, "--json"]).lines[0]);
    for arguments in [&["ps"][..], &["show", run]] {
        let ran = outside(arguments);
        let said = [ran.stdout.as_str(), &ran.stderr].concat();
        assert!(said.contains("is missing") && said.contains(&format!("windlass resume {run}")), "{ran}");
    }
}

/// An empty folder or another repository, where the folder of the run was.
fn swap(what: &str) -> Value {
    let make = match what {
        "empty" => "mkdir \"$d\"",
        "repository" => "git init --quiet \"$d\"",
        _ => {
            "git init --quiet \"$d\" && git -C \"$d\" -c user.name=t -c user.email=t@example.invalid \
              commit --quiet --allow-empty -m other"
        }
    };
    json!({"bash": format!("d=\"${{CWD}}\"; mv \"$d\" \"$d/../away\" && {make}")})
}

#[test]
fn another_folder_in_the_place_of_the_runs_own_costs_no_run() {
    for what in ["empty", "repository", "commits"] {
        for mode in ["fresh", "in_session"] {
            let place = Place::playing(json!([{"steps": [work(), done(), swap(what), say("Swapped.")]}]));
            let ran = place.go(&["loop", "work", "--json", "--mode", mode, "--max-iterations", "1"]);
            assert_eq!(ran.code, 3, "{what}: {ran}");
            assert!(
                ran.stderr.contains("is missing") && ran.stderr.contains("windlass resume"),
                "{what}: {ran}"
            );
            let run = ran.run().to_owned();
            match what {
                "empty" => assert_told_missing(&place, &run),
                _ => {
                    let shown = place.go(&["show", &run]);
                    assert!(shown.stdout.contains("is missing"), "{what}: {shown}");
                }
            }
            let refused = place.go(&["resume", &run]);
            refused.assert_refused(3, &["is missing", "put the folder back"]);
            std::fs::remove_dir_all(place.repo()).unwrap();
            put_back(&place);
            place.go(&["resume", "--json"]).assert_ended(0, "completed", "marker", 1);
            assert_eq!(place.file("worked"), "1.1\n", "{what}: nothing is done twice");
        }
    }
}

#[test]
fn another_folder_in_the_place_of_the_runs_own_costs_no_workflow() {
    for what in ["mkdir \"$d\"", "git init --quiet \"$d\""] {
        let place = Place::with_settings("");
        let swap = format!("d=$PWD; mv \"$d\" \"$d/../away\" && {what}");
        let nodes = json!([{"id": "swap", "shell": swap}, {"id": "then", "shell": "echo then >> worked"}]);
        let workflow = json!({"name": "w", "nodes": nodes}).to_string();
        place.sealed.write("repo/.windlass/workflows/w.json", workflow);
        let ran = place.go(&["run", "--workflow", "w", "--json"]);
        assert_eq!(ran.code, 3, "{what}: {ran}");
        std::fs::remove_dir_all(place.repo()).unwrap();
        put_back(&place);
        let resumed = place.go(&["resume", "--json"]);
        assert_eq!(resumed.finished()["status"], "completed", "{what}: {resumed}");
        assert_eq!(place.file("worked"), "then\n");
    }
}

#[test]
fn a_run_may_do_with_its_own_repository_what_it_wants() {
    let steps = ["rm -rf .git && git init --quiet", "rm -rf .git"];
    for step in steps {
        let place = Place::playing(json!([{"steps": [{"bash": step}, done(), say("Done.")]}]));
        place.go(&["loop", "work", "--json", "--max-iterations", "1"]).assert_ended(
            0,
            "completed",
            "marker",
            1,
        );
    }
}

#[test]
fn a_folder_that_is_away_for_a_moment_costs_no_loop() {
    let place = Place::playing(json!([{"steps": [work(), done(), move_away(), say("Moved.")]}]));
    assert_away(&place, &["loop", "work", "--json", "--max-iterations", "1"]);
    place.go(&["resume", "--json"]).assert_ended(0, "completed", "marker", 1);
    assert_eq!(place.file("worked"), "1.1\n", "nothing is done twice");
}

#[test]
fn a_folder_that_is_away_for_a_moment_costs_no_workflow() {
    let place = Place::with_settings("");
    let away = "mv \"$PWD\" \"$PWD/../away\"";
    let inner = json!({"name": "inner", "nodes": [
        {"id": "move", "shell": away}, {"id": "then", "shell": "echo then >> worked"}]});
    let outer = json!({"name": "outer", "nodes": [
        {"id": "call", "workflow": "inner"}, {"id": "last", "shell": "echo last >> worked"}]});
    for workflow in [inner, outer] {
        let name = workflow["name"].as_str().unwrap();
        place.sealed.write(format!("repo/.windlass/workflows/{name}.json"), workflow.to_string());
    }
    place.script(json!({"turns": []}));
    let ran = place.go(&["run", "--workflow", "outer", "--json"]);
    assert_eq!(ran.code, 3, "{ran}");
    put_back(&place);
    let runs = place.ps();
    assert_eq!(runs[0]["data"]["status"], "crashed", "{runs:?}");
    // The command that moved it has ended, and is not run again.
    let resumed = place.go(&["resume", "--json"]);
    assert_eq!(resumed.finished()["status"], "completed", "{resumed}");
    assert_eq!(place.file("worked"), "then\nlast\n");
}

#[test]
fn plugin_mode_repeats_the_turn_that_nobody_answered() {
    // With one turn the plugin itself ends its loop at night, and takes its state file away.
    for turns in [1, 3] {
        let place = Place::with_settings("");
        let attempts = json!({"attempts": [
            {"steps": [{"write": {"path": "sign", "content": "x"}}, {"wait_for": "go"}, work(), say("I give up.")]},
            {"steps": [work(), say("<promise>DONE</promise>")]},
        ]});
        place.script(json!({"turns": [attempts], "default": {"steps": [say("I give up.")]}}));
        let folder = plugin::ralph_loop().write(place.sealed.root()).display().to_string();
        place.workflow(json!({"name": "w", "promptTemplate": "do {input}", "loop": {
            "enabled": true, "mode": "plugin", "completionPromise": "DONE", "maxIterations": turns}}));
        night(&place, start(&place, &["run", "it", "--workflow", "w", "--plugin", &folder, "--json"]));
        let ran = morning(&place);
        assert_eq!(ran.finished()["status"], "completed", "{ran}");
        assert_eq!(place.file("worked"), "1.2\n", "{ran}");
    }
}
