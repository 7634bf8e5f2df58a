//! A log that was emptied, deleted or lost its newest part, folders that are gone, and runs of
//! another version: nothing of it passes for a fresh start, and what still lives can be ended.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::wait::until;

use crate::place::{LIMIT, Place, Ran, busy_turn, done, last_turn, say};

/// One turn that says when it has begun and waits for the file `go`.
fn waiting() -> Value {
    json!([{"steps": [
        {"write": {"path": "sign", "content": "x"}},
        {"wait_for": "go"},
        {"bash": "echo ${ITERATION}.${ATTEMPT} >> worked"},
        done(),
        say("Done."),
    ]}])
}

fn state(place: &Place) -> PathBuf {
    place.sealed.state().join("windlass")
}

/// A run whose owner was killed in its turn, and whose agent lives.
fn orphaned(place: &Place) -> String {
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    place.sealed.kill9(going.pid());
    going.end();
    assert_eq!(place.hosts().len(), 1);
    run
}

fn unknown(ran: &Ran) -> Vec<&Value> {
    ran.lines.iter().filter(|line| line["type"] == "run.unknown").collect()
}

#[test]
fn a_lost_log_is_noticed_and_what_lives_of_its_runs_can_be_ended() {
    for what in ["emptied", "without its newest part", "deleted"] {
        let place = Place::playing(waiting());
        let run = orphaned(&place);
        let lost: &[&str] = match what {
            "emptied" => &[],
            "deleted" => &["windlass.db", "windlass.db-wal", "windlass.db-shm"],
            _ => &["windlass.db-wal", "windlass.db-shm"],
        };
        lost.iter().for_each(|name| fs::remove_file(state(&place).join(name)).unwrap());
        if what == "emptied" {
            fs::write(state(&place).join("windlass.db"), "").unwrap();
        }
        let host = place.hosts()[0].pid;
        let listed = place.go(&["ps", "--json"]);
        let [found] = unknown(&listed)[..] else { panic!("{what}: {listed}") };
        assert_eq!(
            (&found["run"], &found["data"]["living"][0]["host"]),
            (&json!(run), &json!(host)),
            "{what}"
        );
        let doctor = place.go(&["doctor", "--json"]);
        assert_eq!(unknown(&doctor).len(), 1, "{what}: {doctor}");
        for (verb, arguments) in [("ps", &["ps"][..]), ("doctor", &["doctor"])] {
            let ran = place.go(arguments);
            let said = [ran.stdout.as_str(), &ran.stderr].concat();
            let told = format!("run {run} is not in the log but still runs");
            assert!(
                said.contains(&told) && said.contains(&format!("windlass cancel {run}")),
                "{verb}: {ran}"
            );
        }
        let words = ["is not in the log", "folder", "`windlass cancel"];
        place.go(&["show", &run]).assert_refused(3, &words);
        let resumed = place.go(&["resume"]);
        assert!(resumed.stderr.contains("has no runs, but 1 run has left its folder"), "{what}: {resumed}");
        place
            .sealed
            .write("repo/.windlass/workflows/s.yaml", "name: s\nnodes: [ { id: s, shell: 'true' } ]\n");
        let refused = place.go(&["run", "--workflow", "s", "--json"]);
        refused.assert_refused(2, &["would write", &format!("windlass cancel {run}")]);
        let beside = place.go(&["run", "--workflow", "s", "--json", "--beside"]);
        assert_eq!(beside.code, 0, "{what}: {beside}");
        assert!(beside.stderr.contains("still runs: loop.1.1.session in "), "{what}: {beside}");
        let folder = state(&place).join("runs").join(&run);
        let before = fs::read_dir(&folder).unwrap().count();
        let cancelled = place.go(&["cancel", &run, "--json"]);
        let ended = &cancelled.lines[0]["data"]["ended"];
        assert_eq!(ended, &json!({"children": 1, "processes": 0, "left": 0}), "{what}: {cancelled}");
        place.assert_nothing_is_left();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), before, "nothing was deleted");
        let again = place.go(&["cancel", &run]);
        assert!(again.code == 0 && again.stderr.contains("nothing was running"), "{what}: {again}");
        let dead = place.go(&["ps"]);
        let told = format!("run {run} is not in the log and has no live process; you can delete its folder");
        assert!(dead.stderr.contains(&told), "{dead}");
    }
}

#[test]
fn what_lives_of_an_unknown_run_without_a_host_is_ended_too() {
    let mut script = waiting();
    script[0]["steps"].as_array_mut().unwrap().insert(0, json!({"grandchild": {"pid_file": "pid"}}));
    let place = Place::playing(script);
    let run = orphaned(&place);
    fs::write(state(&place).join("windlass.db"), "").unwrap();
    place.kill_guards();
    place.kill_hosts();
    until(LIMIT, || place.hosts().is_empty());
    assert!(!place.sealed.processes().is_empty(), "something lives without a host");
    let cancelled = place.go(&["cancel", &run, "--json"]);
    assert!(cancelled.lines[0]["data"]["ended"]["processes"].as_u64().unwrap() > 0, "{cancelled}");
    place.assert_nothing_is_left();
}

#[test]
fn an_agent_of_which_the_log_lost_the_beginning_is_adopted() {
    let first =
        json!({"steps": [{"write": {"path": "sign", "content": "x"}}, {"wait_for": "go1"}, say("On.")]});
    let second = json!({"steps": [
        {"write": {"path": "sign2", "content": "x"}},
        {"wait_for": "go"},
        {"bash": "echo ${ITERATION}.${ATTEMPT} >> worked"},
        done(),
    ]});
    let place = Place::playing(json!([first, second]));
    let run = orphaned(&place);
    place.ps();
    let (db, copy) = (state(&place).join("windlass.db"), place.sealed.root().join("copy.db"));
    fs::copy(&db, &copy).unwrap();
    fs::write(place.repo().join("go1"), "x").unwrap();
    let going = place.start(&["resume", &run, "--json"]);
    place.file("sign2");
    place.sealed.kill9(going.pid());
    going.end();
    for ending in ["-wal", "-shm"] {
        fs::remove_file(state(&place).join(format!("windlass.db{ending}"))).unwrap();
    }
    fs::copy(&copy, &db).unwrap();
    let mut going = place.start(&["resume", &run, "--json"]);
    assert_eq!(going.wait_for("session.started")["iteration"], 2);
    fs::write(place.repo().join("go"), "x").unwrap();
    let resumed = going.end();
    assert_eq!(resumed.code, 0, "{resumed}");
    assert_eq!((place.requests().len(), place.file("worked").as_str()), (2, "2.1\n"));
    place.assert_nothing_is_left();
}

#[test]
fn a_turn_whose_folder_was_deleted_is_not_begun_beside_its_agent() {
    for kill_hosts in [false, true] {
        let place = Place::playing(waiting());
        let run = orphaned(&place);
        fs::remove_dir_all(state(&place).join("runs").join(&run)).unwrap();
        if kill_hosts {
            place.kill_hosts();
        }
        let resumed = place.start(&["resume", &run, "--json"]);
        until(LIMIT, || place.requests().len() == 2);
        fs::write(place.repo().join("go"), "x").unwrap();
        let resumed = resumed.end();
        assert_eq!(resumed.code, 0, "{resumed}");
        assert_eq!(place.file("worked"), "1.2\n", "one agent worked");
        place.assert_nothing_is_left();
    }
}

#[test]
fn a_command_whose_folder_was_deleted_is_not_run_beside_itself() {
    let place = Place::with_settings("");
    let command = "echo x >> sign; while ! test -e go; do sleep 0.01; done";
    let workflow = format!("name: s\nnodes: [ {{ id: s, shell: '{command}' }} ]\n");
    place.sealed.write("repo/.windlass/workflows/s.yaml", workflow);
    let mut going = place.start(&["run", "--workflow", "s", "--json"]);
    let run = going.run();
    place.file("sign");
    place.sealed.kill9(going.pid());
    going.end();
    fs::remove_dir_all(state(&place).join("runs").join(&run)).unwrap();
    let resumed = place.go(&["resume", &run, "--json"]);
    assert_eq!(resumed.finished()["reason"], "shell_unknown", "{resumed}");
    assert_eq!(place.file("sign"), "x\n", "it was not run again");
    place.assert_nothing_is_left();
}

#[test]
fn a_state_folder_that_is_deleted_under_way_is_named_as_gone() {
    let turn =
        json!({"steps": [{"write": {"path": "sign", "content": "x"}}, {"wait_for": "go"}, say("On.")]});
    let place = Place::playing(json!([turn, busy_turn(), last_turn()]));
    let going = place.start(&["loop", "work", "--json"]);
    place.file("sign");
    fs::remove_dir_all(state(&place)).unwrap();
    fs::write(place.repo().join("go"), "x").unwrap();
    let ran = going.end();
    let said = [ran.stdout.as_str(), &ran.stderr].concat();
    assert_ne!(ran.code, 0, "{ran}");
    assert!(said.contains("the state folder") && said.contains("is gone"), "{ran}");
    assert!(!said.contains("could not start"), "{ran}");
    place.assert_nothing_is_left();
}

/// The places in the database at which a record says that it is of this version.
fn stamps(place: &Place) -> Vec<usize> {
    // The last one to close the database moves everything into it.
    place.ps();
    let bytes = fs::read(state(place).join("windlass.db")).unwrap();
    bytes.windows(7).enumerate().filter(|(_, bytes)| *bytes == br#"{"v":4,"#).map(|(at, _)| at).collect()
}

#[test]
fn a_run_of_another_version_is_named_and_passed_over_and_can_be_cancelled() {
    let place = Place::playing(waiting());
    let mut first = place.start(&["loop", "work", "--json"]);
    let older = first.run();
    place.file("sign");
    place.kill_everything(first);
    let before = stamps(&place);
    fs::remove_file(place.repo().join("sign")).unwrap();
    let binary = place.sealed.write("state/windlass/bin/0.0.1-old/windlass", "#!/bin/sh\n");
    let run = orphaned(&place);
    let after = stamps(&place);
    let db = state(&place).join("windlass.db");
    let mut bytes = fs::read(&db).unwrap();
    for at in after.iter().filter(|at| !before.contains(at)) {
        bytes[at + 5] = b'2';
    }
    fs::write(&db, &bytes).unwrap();

    let listed = place.ps();
    let found = listed.iter().find(|line| line["run"] == run.as_str()).unwrap();
    assert_eq!((&found["data"]["resumable"], &found["data"]["record_version"]), (&json!(false), &json!(2)));
    assert_eq!(found["data"]["binary"], json!(binary));
    let shown = place.go(&["ps"]);
    assert!(shown.stdout.contains("of another version"), "{shown}");
    assert!(shown.stderr.contains(&format!("`{} resume {run}`", binary.display())), "{shown}");
    let resume = format!("`{} resume {run}`", binary.display());
    place.go(&["resume", &run]).assert_refused(3, &["has version 2", &resume]);

    fs::write(place.repo().join("go"), "x").unwrap();
    let resumed = place.go(&["resume", "--json"]);
    assert_eq!((resumed.code, resumed.run()), (0, older.as_str()), "the newest that can be read: {resumed}");
    fs::remove_file(place.repo().join("go")).unwrap();
    place.go(&["resume"]).assert_refused(2, &["another version recorded", &run, &resume]);
}

#[test]
fn the_agent_of_a_run_of_another_version_is_ended_with_it() {
    let place = Place::playing(waiting());
    let run = orphaned(&place);
    let stamps = stamps(&place);
    let db = state(&place).join("windlass.db");
    let mut bytes = fs::read(&db).unwrap();
    stamps.iter().for_each(|at| bytes[at + 5] = b'2');
    fs::write(&db, &bytes).unwrap();
    let cancelled = place.go(&["cancel", &run, "--json"]);
    let data = &cancelled.lines[0]["data"];
    assert_eq!(
        (&data["status"], &data["ended"]["children"]),
        (&json!("cancelled"), &json!(1)),
        "{cancelled}"
    );
    place.assert_nothing_is_left();
    assert_eq!(place.ps()[0]["data"]["status"], "cancelled");
    place.go(&["cancel", &run]).assert_refused(2, &["already over"]);
    place.go(&["resume", &run]).assert_refused(3, &["has version 2"]);
}

#[test]
fn a_stopped_owner_is_named_at_once_and_nothing_is_left_for_it() {
    let place = Place::with_settings("");
    let nodes = "nodes: [ { id: q, ask: 'Go?' }, { id: w, wait: { event: ready } } ]";
    place.sealed.write("repo/.windlass/workflows/q.yaml", format!("name: q\n{nodes}\n"));
    let mut going = place.start(&["run", "--workflow", "q", "--json", "--on-question", "wait"]);
    let run = going.run();
    going.wait_for("run.waiting");
    going.signal(Signal::STOP);
    let pid = going.pid();
    let verbs = [
        &["pause", &run][..],
        &["answer", &run, "yes"],
        &["send", &run, "--event", "ready"],
        &["cancel", &run],
        &["cancel", &run, "--json"],
    ];
    for arguments in verbs {
        let asked = place.go(arguments);
        let is_named = asked.stderr.contains(&format!("process {pid}, which runs it, is stopped"));
        assert!(asked.code == 4 && is_named, "{asked}");
        assert!(asked.stderr.contains(&format!("kill -CONT {pid}")), "{asked}");
    }
    let resumed = place.go(&["resume", &run]);
    assert!(resumed.stderr.contains(&format!("process {pid}")), "{resumed}");
    going.signal(Signal::CONT);
    assert_eq!(place.go(&["answer", &run, "yes"]).code, 0, "it still waits for the answer");
    assert_eq!(place.go(&["send", &run, "--event", "ready"]).code, 0, "and for the event");
    let ended = going.end();
    assert_eq!((ended.code, &ended.finished()["status"]), (0, &json!("completed")), "{ended}");
}

#[test]
fn a_log_that_lost_its_newest_part_is_not_gone_on_with_as_if_nothing_had_happened() {
    let place = Place::with_settings("");
    let nodes =
        "nodes: [ { id: a, prompt: x }, { id: pay, shell: 'echo paid >> paid' }, { id: b, prompt: y } ]";
    place.sealed.write("repo/.windlass/workflows/w.yaml", format!("name: w\n{nodes}\n"));
    let go = place.sealed.root().join("go");
    let wait =
        json!({"bash": format!("echo 1 > began; until [ -e '{}' ]; do sleep 0.05; done", go.display())});
    place.script(json!({"nodes": {"a": [{"steps": [wait]}], "b": [{"steps": [{"bash": "true"}]}]}}));
    let mut going = place.start(&["run", "--workflow", "w", "--json"]);
    let run = going.run();
    place.file("began");
    let state = place.sealed.state().join("windlass");
    let copies: Vec<PathBuf> =
        ["windlass.db", "windlass.db-wal"].iter().map(|name| state.join(name)).collect();
    let kept = place.sealed.root().join("kept");
    fs::create_dir(&kept).unwrap();
    going.signal(Signal::STOP);
    for copy in &copies {
        fs::copy(copy, kept.join(copy.file_name().unwrap())).unwrap();
    }
    going.signal(Signal::CONT);
    fs::write(&go, "").unwrap();
    let ended = going.end();
    assert_eq!(ended.code, 0, "{ended}");
    let _ = fs::remove_file(state.join("windlass.db-shm"));
    for copy in &copies {
        fs::copy(kept.join(copy.file_name().unwrap()), copy).unwrap();
    }
    let resumed = place.go(&["resume", &run]);
    assert_eq!(resumed.code, 3, "{resumed}");
    assert!(resumed.stderr.contains("lost its newest records"), "{resumed}");
    assert_eq!(place.file("paid"), "paid\n", "and nothing was done twice");
    assert_eq!(place.go(&["cancel", &run]).code, 0);
}
