//! The log is emptied, replaced, deleted or moved away under the process that writes it: that process
//! notices, ends its agent and says so. Every later command tells the truth, and nothing is overwritten.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Going, Place, Ran, busy_turn, done, last_turn, say};

fn state(place: &Place) -> PathBuf {
    place.sealed.state().join("windlass")
}

/// The agent says when it works, and waits for the file `go`.
fn place() -> Place {
    let waiting = |end: &[Value]| {
        let begin = [json!({"write": {"path": "sign", "content": "x"}}), json!({"wait_for": "go"})];
        json!({"steps": begin.iter().chain(end).collect::<Vec<_>>()})
    };
    let attempts = [waiting(&[say("Half.")]), waiting(&[done(), say("Done.")])];
    Place::playing(json!([{"attempts": attempts}, last_turn()]))
}

/// A run whose agent works. An older run is in the log, so that the file of the database holds something.
fn at_work(place: &Place) -> (Going, String) {
    place.sealed.write("repo/.windlass/workflows/s.yaml", "name: s\nnodes: [ { id: s, shell: 'true' } ]\n");
    assert_eq!(place.go(&["run", "--workflow", "s", "--json"]).code, 0);
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    assert_eq!(place.hosts().len(), 1);
    (going, run)
}

/// The database of a Windlass that never ran anything.
fn empty_database(place: &Place) -> PathBuf {
    let other = place.sealed.root().join("other");
    let mut command = place.windlass(&["ps"]);
    command.env("XDG_STATE_HOME", &other);
    assert_eq!(place.spawn(command).end().code, 0);
    other.join("windlass/windlass.db")
}

const FILES: [&str; 4] = ["windlass.db", "windlass.db-wal", "windlass.db-shm", "windlass.db.lock"];

const HARMS: [&str; 8] = [
    "emptied",
    "all emptied",
    "replaced",
    "overwritten",
    "database deleted",
    "wal deleted",
    "all deleted",
    "lock and all deleted",
];

fn harm(place: &Place, what: &str) {
    let path = |name: &str| state(place).join(name);
    let delete = |names: &[&str]| names.iter().for_each(|name| fs::remove_file(path(name)).unwrap());
    let empty = |name: &str| fs::write(path(name), "").unwrap();
    match what {
        "emptied" => empty("windlass.db"),
        "all emptied" => FILES[..2].iter().for_each(|name| empty(name)),
        "replaced" => fs::rename(empty_database(place), path("windlass.db")).unwrap(),
        "overwritten" => {
            delete(&FILES[1..3]);
            fs::copy(empty_database(place), path("windlass.db")).map(drop).unwrap();
        }
        "database deleted" => delete(&FILES[..1]),
        "wal deleted" => delete(&FILES[1..2]),
        "all deleted" => delete(&FILES[..3]),
        "lock and all deleted" => delete(&FILES),
        other => panic!("{other}"),
    }
}

fn said(ran: &Ran) -> String {
    [ran.stdout.as_str(), &ran.stderr].concat()
}

#[test]
fn an_owner_whose_log_is_gone_ends_its_agent_and_says_so() {
    for what in HARMS {
        let place = place();
        let (going, run) = at_work(&place);
        harm(&place, what);
        let ran = going.end();
        assert_eq!(ran.code, 3, "{what}: {ran}");
        let words = ["the log of run", "during the run", "ended its agents", "hint: "];
        assert!(words.iter().all(|word| ran.stderr.contains(word)), "{what}: {ran}");
        place.assert_nothing_is_left();
        if what == "wal deleted" {
            continue;
        }
        let listed = place.go(&["ps"]);
        assert!(said(&listed).contains(&run), "{what}: {listed}");
        if listed.stdout.contains(&format!("{run}  crashed (resumable)")) {
            // What was left of it is the whole log.
            assert_eq!(what, "replaced");
            continue;
        }
        let doctor = place.go(&["doctor"]);
        assert!(said(&doctor).contains(&run), "{what}: {doctor}");
        assert!(doctor.code == 3 && doctor.stdout.contains('✗'), "{what}: {doctor}");
    }
}

#[test]
fn a_cancel_reaches_an_owner_whose_log_is_gone_and_the_agent_stays_ended() {
    for what in HARMS {
        let place = place();
        let (going, run) = at_work(&place);
        harm(&place, what);
        let cancelled = place.go(&["cancel", &run]);
        assert_eq!(cancelled.code, 0, "{what}: {cancelled}");
        let owner = going.end();
        assert!(owner.code == 3 || owner.code == 130, "{what}: {owner}");
        place.assert_nothing_is_left();
        assert_eq!(place.requests().len(), 1, "{what}: the agent was not started again");
        let doctor = place.go(&["doctor"]);
        assert!(!doctor.stdout.contains("still runs"), "{what}: {doctor}");
    }
}

#[test]
fn an_owner_begins_nothing_when_its_log_is_gone() {
    for what in HARMS {
        let place = place();
        place.script(json!({"turns": [
            {"steps": [{"write": {"path": "sign", "content": "x"}}, {"wait_for": "go"}, say("On.")]},
            busy_turn(), busy_turn(), last_turn()]}));
        let (going, _) = at_work(&place);
        harm(&place, what);
        fs::write(place.repo().join("go"), "x").unwrap();
        let ran = going.end();
        assert_eq!(ran.code, 3, "{what}: {ran}");
        assert_eq!(place.requests().len(), 1, "{what}: {ran}");
        place.assert_nothing_is_left();
    }
}

fn copies(place: &Place, files: &[&str]) -> Vec<Vec<u8>> {
    files.iter().map(|name| fs::read(state(place).join(name)).unwrap()).collect()
}

fn lost_files(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(state(place)).unwrap().flatten().map(|entry| entry.path());
    let is_lost =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".lost-"));
    entries.filter(|path| is_lost(path)).collect()
}

#[test]
fn what_is_left_of_a_lost_log_is_kept_aside() {
    for what in ["emptied", "database deleted"] {
        let place = place();
        let (going, _) = at_work(&place);
        going.signal(Signal::STOP);
        let wal = copies(&place, &FILES[1..2]);
        harm(&place, what);
        going.signal(Signal::CONT);
        assert_eq!(going.end().code, 3, "{what}");
        for _ in 0..2 {
            assert_eq!(place.go(&["ps"]).code, 0, "{what}");
        }
        let [kept] = &lost_files(&place)[..] else { panic!("{what}: {:?}", lost_files(&place)) };
        assert!(fs::read(kept).unwrap().starts_with(&wal[0]), "{what}");
        let doctor = place.go(&["doctor"]);
        assert!(doctor.stdout.contains(&kept.display().to_string()), "{what}: {doctor}");
    }
}

#[test]
fn a_log_that_was_moved_away_and_is_put_back_goes_on() {
    let place = place();
    let (going, run) = at_work(&place);
    let away = place.sealed.root().join("kept");
    fs::create_dir(&away).unwrap();
    let names = &FILES[..3];
    names.iter().for_each(|name| fs::rename(state(&place).join(name), away.join(name)).unwrap());
    let ran = going.end();
    assert_eq!(ran.code, 3, "{ran}");
    assert!(ran.stderr.contains("put it back") && ran.stderr.contains("windlass resume"), "{ran}");
    place.assert_nothing_is_left();
    for name in names {
        let _ = fs::remove_file(state(&place).join(name));
        if away.join(name).exists() {
            fs::rename(away.join(name), state(&place).join(name)).unwrap();
        }
    }
    fs::write(place.repo().join("go"), "x").unwrap();
    let resumed = place.go(&["resume", &run, "--json"]);
    resumed.assert_ended(0, "completed", "marker", 1);
}

#[test]
fn what_lives_beside_a_log_that_cannot_be_read_is_named_and_can_be_ended() {
    for keep_owner in [false, true] {
        let place = place();
        let (going, run) = at_work(&place);
        if keep_owner {
            going.signal(Signal::STOP);
        } else {
            place.sealed.kill9(going.pid());
        }
        for name in &FILES[1..3] {
            fs::remove_file(state(&place).join(name)).unwrap();
        }
        let db = fs::OpenOptions::new().write(true).open(state(&place).join("windlass.db")).unwrap();
        db.write_all_at(&[b'x'; 4096], 0).unwrap();
        let before = copies(&place, &FILES[..1]);
        let command = format!("windlass cancel {run}");
        for verb in ["ps", "doctor"] {
            let ran = place.go(&[verb]);
            assert_eq!(ran.code, 3, "{ran}");
            assert!(said(&ran).contains("is damaged") && said(&ran).contains(&command), "{ran}");
            let ran = place.go(&[verb, "--json"]);
            let named = ran.lines.iter().find(|line| line["type"] == "run.unknown").unwrap();
            assert_eq!(named["run"], json!(run), "{ran}");
        }
        place.go(&["show", &run]).assert_refused(3, &["is damaged", "windlass ps"]);
        if keep_owner {
            place.go(&["cancel", &run]).assert_refused(4, &["is stopped", "kill -CONT"]);
            assert_eq!(place.hosts().len(), 1);
            going.signal(Signal::CONT);
        }
        let cancelled = place.go(&["cancel", &run, "--json"]);
        assert_eq!(
            (cancelled.code, &cancelled.lines[0]["data"]["ended"]["left"]),
            (0, &json!(0)),
            "{cancelled}"
        );
        going.end();
        place.assert_nothing_is_left();
        assert_eq!(copies(&place, &FILES[..1]), before, "it was left as it is");
        fs::remove_file(state(&place).join("windlass.db")).unwrap();
    }
}
