//! Windlass dies at every point while it interrupts or continues a run. The end is always the same, and no work is
//! done twice.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, Ran, say};

/// The number of crash points after which a sweep stops. Far more than there are.
const MOST: u32 = 200;

/// A turn that adds a line.
fn adds(line: &str) -> Value {
    json!({"steps": [{"append": {"path": "work.txt", "content": format!("{line}\n")}}, say(line)]})
}

/// A turn that adds a line and is done.
fn last(line: &str) -> Value {
    json!({"steps": [
        {"append": {"path": "work.txt", "content": format!("{line}\n")}},
        {"tracker": {"append": "<!-- WORKFLOW_COMPLETE -->"}},
        say("done"),
    ]})
}

/// Starts a command that dies at a crash point, and waits for its end. Returns whether it died.
fn dies(place: &Place, arguments: &[&str], point: u32) -> (bool, Ran) {
    let mut command = place.windlass(arguments);
    command.env("WINDLASS_CRASH_AT", format!("windlass:{point}"));
    let ran = place.spawn(command).end();
    (ran.code < 0, ran)
}

fn status(place: &Place) -> String {
    place.ps()[0]["data"]["status"].as_str().unwrap_or_default().to_owned()
}

/// Resumes a run until it is over. A run that was not continued yet is given more first.
fn finish(place: &Place, run: &str, more: &[&str]) -> Ran {
    match status(place).as_str() {
        "crashed" => place.go(&["resume", run, "--json"]),
        _ => place.go(&[&["resume", run, "--json"], more].concat()),
    }
}

#[test]
fn windlass_may_die_at_any_point_while_it_continues_a_run() {
    let more = ["--max-iterations", "+2", "--message", "go on"];
    let mut points = 0;
    for point in 1..MOST {
        let place = Place::playing(json!([adds("1"), adds("2"), last("3")]));
        let first = place.go(&["loop", "work", "--json", "--max-iterations", "1"]);
        first.assert_ended(9, "exhausted", "max_iterations", 1);
        let run = first.run();
        let (has_died, ran) = dies(&place, &[&["resume", run, "--json"], &more[..]].concat(), point);
        let ended = if has_died { finish(&place, run, &more) } else { ran };
        if status(&place) != "completed" {
            panic!("point {point}: {ended}");
        }
        assert_eq!(place.file("work.txt"), "1\n2\n3\n", "point {point}: {ended}");
        let replayed = place.go(&["replay", run]);
        assert!(replayed.stdout.contains("every decision is the same"), "point {point}: {replayed}");
        place.assert_nothing_is_left();
        if !has_died {
            break;
        }
        points = point;
    }
    println!("continuing a run: {points} points");
    assert!((5..MOST - 1).contains(&points), "{points} points");
}

#[test]
fn windlass_may_die_at_any_point_while_it_interrupts_a_run() {
    let mut points = 0;
    for point in 1..MOST {
        let begins = json!({"steps": [
            say("here"),
            {"write": {"path": "sign", "content": "x"}},
            {"wait_for": "go"},
            {"append": {"path": "work.txt", "content": "1\n"}},
        ]});
        let place = Place::playing(json!([begins, last("2")]));
        let mut command = place.windlass(&["loop", "work", "--json"]);
        command.env("WINDLASS_CRASH_AT", format!("windlass:{point}"));
        let mut going = place.spawn(command);
        let has_begun = going.wait_for_end_or(|| place.repo().join("sign").exists());
        if has_begun {
            going.signal(Signal::INT);
        }
        let ran = going.end();
        std::fs::write(place.repo().join("go"), "").unwrap();
        let Some(run) = place.ps().first().map(|run| run["run"].as_str().unwrap().to_owned()) else {
            continue;
        };
        let has_died = ran.code < 0;
        if !has_died {
            assert_eq!((ran.code, status(&place).as_str()), (130, "interrupted"), "point {point}: {ran}");
        }
        let again = place.go(&["resume", &run, "--json"]);
        let again =
            if status(&place) == "interrupted" { place.go(&["resume", &run, "--json"]) } else { again };
        assert_eq!((again.code, status(&place).as_str()), (0, "completed"), "point {point}: {again}");
        assert_eq!(place.file("work.txt"), "1\n2\n", "point {point}: {again}");
        place.assert_nothing_is_left();
        if !has_died {
            break;
        }
        points = point;
    }
    println!("interrupting a run: {points} points");
    assert!((5..MOST - 1).contains(&points), "{points} points");
}
