//! Checks that cannot start, and checks that print the same error again and again.

use serde_json::{Value, json};

use crate::place::{Place, done, last_turn, say};

fn works() -> Value {
    json!({"steps": [{"append": {"path": "work.txt", "content": "${ITERATION}\n"}}, say("not yet")]})
}

#[test]
fn a_check_that_cannot_start_ends_the_run_after_one_turn_and_a_new_command_continues_it() {
    for mode in ["fresh", "in_session"] {
        let place = Place::playing(json!([last_turn(), last_turn()]));
        let first = place.go(&["loop", "work", "--json", "--mode", mode, "--check", "./no-such-script"]);
        first.assert_ended(3, "failed", "check_cannot_start", 0);
        let detail = first.finished()["detail"].as_str().unwrap();
        assert!(detail.contains("./no-such-script") && detail.contains("--check"), "{detail}");
        assert_eq!(place.requests().len(), 1, "{mode}");
        let again = place.go(&["resume", first.run(), "--json", "--check", "true"]);
        again.assert_ended(0, "completed", "marker", 1);
        assert_eq!(place.requests().len(), 1, "{mode}: the finished turn is judged, not repeated");
    }
}

#[test]
fn the_end_names_the_command_that_corrects_a_check_that_cannot_start() {
    let place = Place::playing(json!([last_turn()]));
    let ran = place.go(&["loop", "work", "--check", "./no-such-script"]);
    assert_eq!(ran.code, 3, "{ran}");
    let run = place.ps()[0]["run"].as_str().unwrap().to_owned();
    let next = format!("\n  continue: windlass resume {run} --check COMMAND\n");
    assert!(ran.stdout.contains(&next) && !ran.stdout.contains("fork"), "{ran}");
}

#[test]
fn a_mistyped_program_is_refused_before_any_agent_runs() {
    let place = Place::playing(json!([last_turn()]));
    for check in ["gti status", "t=gti status"] {
        let refused = place.go(&["loop", "work", "--check", check]);
        refused.assert_refused(3, &["no program `gti`", "did you mean `git`?"]);
    }
    assert!(place.requests().is_empty());
}

#[test]
fn a_check_whose_program_exists_fails_like_any_other_if_it_misses_another_one() {
    // The agent builds the program in its second turn.
    let build = json!({"bash": "mkdir -p build && printf '#!/bin/sh\\n' >build/app && chmod +x build/app"});
    for check in [
        "sh test.sh",
        "cd . && ./build/app",
        "timeout 5 ./build/app",
        "env ./build/app",
        "sh -c './build/app'",
        "t=env ./build/app",
    ] {
        let second = json!({"steps": [build, done(), say("built")]});
        let place = Place::playing(json!([last_turn(), second]));
        place.sealed.write("repo/test.sh", "./build/app\n");
        let ran = place.go(&["loop", "work", "--json", "--mode", "fresh", "--check", check]);
        ran.assert_ended(0, "completed", "marker", 2);
        assert!(place.prompts()[1].contains("exit code 127"), "{check}: {}", place.prompts()[1]);
    }
}

#[test]
fn a_check_without_its_program_ends_the_run_named_or_not() {
    for (check, words) in [
        ("nosuchprogram --foo", "`nosuchprogram --foo` cannot start"),
        ("t=nosuchprogram --foo", "`t` (`nosuchprogram --foo`) cannot start"),
        ("A=1 nosuchprogram", "cannot start (exit code 127)"),
        ("./missing.sh", "check it with `sh -c './missing.sh'`"),
        ("./not-executable.sh x", "cannot start (exit code 126)"),
        ("t=./not-executable.sh x", "check it with `sh -c './not-executable.sh x'`"),
        ("/no/such/program", "cannot start (exit code 127)"),
    ] {
        let place = Place::playing(json!([last_turn()]));
        place.sealed.write("repo/not-executable.sh", "true\n");
        let ran = place.go(&["loop", "work", "--json", "--check", check]);
        ran.assert_ended(3, "failed", "check_cannot_start", 0);
        let detail = ran.finished()["detail"].as_str().unwrap();
        assert!(detail.contains(words), "{check}: {detail}");
        assert_eq!(detail.contains("sh -c"), check.contains("./"), "{detail}");
    }
}

#[test]
fn a_task_keeps_its_attempts_if_a_check_cannot_start() {
    let place = Place::playing(json!([{"steps": [say("done")]}, {"steps": [say("done")]}]));
    std::fs::write(place.repo().join("tasks.json"), r#"[{"id": "a", "description": "do a"}]"#).unwrap();
    let first = place.go(&["tasks", "run", "--json", "--check", "./no-such-script"]);
    assert_eq!((first.code, &first.finished()["reason"]), (3, &json!("check_cannot_start")), "{first}");
    let tasks = place.file("tasks.json");
    assert!(!tasks.contains("failed") && !tasks.contains("in_progress"), "{tasks}");
}

#[test]
fn the_same_error_in_three_turns_is_stuck_although_files_change() {
    let check = "broken=echo \"error: no such table, took $(date +%N)ns\"; exit 1";
    let place = Place::playing(json!([works(), works(), works(), works(), works(), works()]));
    let ran = place.go(&["loop", "work", "--json", "--max-iterations", "5", "--check", check]);
    ran.assert_ended(8, "blocked", "stuck", 3);
    assert!(ran.finished()["detail"].as_str().unwrap().contains("`broken` never passed"), "{ran}");
    let place = Place::with_settings("stuck_after = 0\n");
    place.script(json!({"turns": [works(), works(), works(), works(), {"steps": [done()]}]}));
    let ran = place.go(&["loop", "work", "--json", "--max-iterations", "4", "--check", check]);
    ran.assert_ended(9, "exhausted", "max_iterations", 4);
}
