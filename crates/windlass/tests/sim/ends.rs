//! How runs end, with real processes: `finally` runs once for each end, knows which end it is, and survives a
//! killed Windlass in its middle.

#![allow(clippy::print_stdout, reason = "says how many points there were")]

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::wait::until;

use crate::deaths::{Death, sweep};
use crate::place::{Going, LIMIT, Place, Ran};

/// A command that can be held or made to fail by a file, and two commands at the end, of which the second can be held.
const HELD: &str = r#"
name: held
nodes:
  - id: work
    shell: "echo begun >> work.txt; touch working; while test -e hold; do sleep 0.01; done; test ! -e fails"
finally:
  - id: one
    shell: "echo \"one $HOW\" >> ends.txt"
    env: { HOW: "{{ run.status }}: {{ run.reason }}" }
  - id: two
    shell: "echo \"two $HOW\" >> ends.txt; touch ending; while test -e hold-end; do sleep 0.01; done; echo done >> ends.txt"
    env: { HOW: "{{ run.status }}: {{ run.reason }}" }
"#;

fn place(document: &str) -> Place {
    Place::with_documents(&[document.trim_start()])
}

fn touch(place: &Place, name: &str) {
    fs::write(place.repo().join(name), "").unwrap();
}

fn remove(place: &Place, name: &str) {
    fs::remove_file(place.repo().join(name)).unwrap();
}

/// Returns the file that `finally` writes.
fn ends(place: &Place) -> String {
    fs::read_to_string(place.repo().join("ends.txt")).unwrap_or_default()
}

/// Returns the lines of one `finally` that completes.
fn told(how: &str) -> String {
    format!("one {how}\ntwo {how}\ndone\n")
}

/// Starts the run and waits until a file is there.
fn start_until(place: &Place, file: &str) -> (Going, String) {
    let mut going = place.start(&["run", "--workflow", "held", "--json"]);
    let run = going.run();
    place.file_exists(file);
    (going, run)
}

/// Cancels a run whose `finally` runs, and waits until the run knows.
fn cancel_in_finally(place: &Place, going: &Going, run: &str) -> Going {
    let waits = place.start(&["cancel", run]);
    until(LIMIT, || going.output().contains("completes its `finally` first"));
    waits
}

fn end_of(ran: &Ran) -> (i32, Value, Value) {
    let end = ran.finished();
    (ran.code, end["status"].clone(), end["reason"].clone())
}

fn ended(code: i32, status: &str, reason: &str) -> (i32, Value, Value) {
    (code, json!(status), json!(reason))
}

fn shown_outcome(place: &Place, run: &str) -> Value {
    place.go(&["show", run, "--json"]).lines[0]["data"]["outcome"].clone()
}

#[test]
fn an_interrupted_run_runs_finally_only_when_it_was_resumed_and_completed() {
    let place = place(HELD);
    touch(&place, "hold");
    let (going, run) = start_until(&place, "working");
    going.signal(Signal::INT);
    assert_eq!(end_of(&going.end()), ended(130, "interrupted", "user"));
    assert_eq!(ends(&place), "");
    place.assert_nothing_is_left();
    remove(&place, "hold");
    let again = place.go(&["resume", &run, "--json"]);
    assert_eq!(end_of(&again), ended(0, "completed", "all_done"), "{again}");
    assert_eq!(ends(&place), told("completed: everything is done"));
}

#[test]
fn a_failed_run_and_its_continuation_each_have_their_finally() {
    let place = place(HELD);
    touch(&place, "fails");
    let ran = place.go(&["run", "--workflow", "held", "--json"]);
    assert_eq!(end_of(&ran), ended(4, "failed", "shell_failed"), "{ran}");
    let first = told("failed: the command of `work` failed: exit code 1");
    assert_eq!(ends(&place), first);
    remove(&place, "fails");
    let again = place.go(&["resume", ran.run(), "--json"]);
    assert_eq!(end_of(&again), ended(0, "completed", "all_done"), "{again}");
    assert_eq!(ends(&place), first + &told("completed: everything is done"));
    assert_eq!(place.file("work.txt"), "begun\nbegun\n");
}

#[test]
fn a_cancelled_run_completes_finally_and_a_second_cancel_stops_it() {
    let place = place(HELD);
    touch(&place, "hold");
    let (going, run) = start_until(&place, "working");
    assert_eq!(place.go(&["cancel", &run]).code, 0);
    assert_eq!(end_of(&going.end()), ended(130, "cancelled", "user"));
    assert_eq!(ends(&place), told("cancelled: by the user"));
    place.assert_nothing_is_left();

    let place = self::place(HELD);
    touch(&place, "hold-end");
    let (going, run) = start_until(&place, "ending");
    let waits = cancel_in_finally(&place, &going, &run);
    until(LIMIT, || waits.errors().contains("completes its `finally` first; `windlass cancel"));
    assert_eq!(place.go(&["cancel", &run]).code, 0);
    assert_eq!(end_of(&going.end()), ended(130, "cancelled", "user"));
    let waited = waits.end();
    assert!(waited.stderr.ends_with(&format!("run {run}: cancelled\n")), "{waited}");
    let how = "completed: everything is done";
    assert_eq!(ends(&place), format!("one {how}\ntwo {how}\n"));
    place.assert_nothing_is_left();
}

#[test]
fn a_run_that_is_cancelled_while_finally_runs_completes_it() {
    let place = place(HELD);
    touch(&place, "hold-end");
    let (going, run) = start_until(&place, "ending");
    let waits = cancel_in_finally(&place, &going, &run);
    remove(&place, "hold-end");
    assert_eq!(end_of(&going.end()), ended(130, "cancelled", "user"));
    assert_eq!(waits.end().code, 0);
    assert_eq!(ends(&place), told("completed: everything is done"));
    place.go(&["resume", &run]).assert_refused(2, &["already over", "cancelled"]);
}

#[test]
fn a_run_that_ran_out_of_time_runs_finally() {
    let place = place(&HELD.replacen("nodes:", "settings: { timeout: 500ms }\nnodes:", 1));
    touch(&place, "hold");
    let ran = place.go(&["run", "--workflow", "held", "--json"]);
    assert_eq!(end_of(&ran), ended(6, "failed", "timeout"), "{ran}");
    assert_eq!(ends(&place), told("failed: the run ran out of time"));
    place.assert_nothing_is_left();
}

#[test]
fn an_exhausted_run_runs_finally_and_again_after_it_got_more() {
    let looping =
        "  - loop: { until: \"iteration == 3\", max: 2 }\n    do: [{ id: round, prompt: again }]\nfinally:";
    let place = place(&HELD.replacen("finally:", looping, 1));
    let ran = place.go(&["run", "--workflow", "held", "--json"]);
    assert_eq!(end_of(&ran), ended(9, "exhausted", "max_iterations"), "{ran}");
    let first = ends(&place);
    assert!(first.starts_with("one exhausted: ") && first.ends_with("done\n"), "{first}");
    assert_eq!(first.lines().count(), 3, "{first}");
    let again = place.go(&["resume", ran.run(), "--json", "--max-iterations", "+1"]);
    assert_eq!(end_of(&again), ended(0, "completed", "all_done"), "{again}");
    assert_eq!(ends(&place), first + &told("completed: everything is done"));
    assert_eq!(place.file("work.txt"), "begun\n", "a complete node is not repeated");
}

#[test]
fn a_spent_budget_leaves_finally_its_commands() {
    let looping = "  - loop: { forever: true }\n    do: [{ id: round, prompt: again }]\nfinally:";
    let document =
        HELD.replacen("finally:", looping, 1).replacen("nodes:", "budget: { turns: 2 }\nnodes:", 1);
    let place = place(&document);
    let ran = place.go(&["run", "--workflow", "held", "--json"]);
    assert_eq!(end_of(&ran), ended(9, "exhausted", "budget"), "{ran}");
    let first = ends(&place);
    assert!(first.starts_with("one exhausted: ") && first.ends_with("done\n"), "{first}");
}

#[test]
fn an_interrupted_finally_runs_again_on_resume_and_the_body_does_not() {
    let place = place(HELD);
    touch(&place, "hold-end");
    let (going, run) = start_until(&place, "ending");
    going.signal(Signal::INT);
    let ran = going.end();
    assert_eq!(end_of(&ran), ended(130, "interrupted", "user"), "{ran}");
    let how = "completed: everything is done";
    let first = format!("one {how}\ntwo {how}\n");
    assert_eq!(ends(&place), first);
    remove(&place, "hold-end");
    let again = place.go(&["resume", &run, "--json"]);
    assert_eq!(end_of(&again), ended(0, "completed", "all_done"), "{again}");
    assert_eq!(ends(&place), first + &told(how));
    assert_eq!(place.file("work.txt"), "begun\n");
}

#[test]
fn windlass_may_be_killed_in_the_middle_of_finally() {
    for (fails, end, how) in [
        (false, ended(0, "completed", "all_done"), "completed: everything is done"),
        (true, ended(4, "failed", "shell_failed"), "failed: the command of `work` failed: exit code 1"),
    ] {
        let place = place(HELD);
        touch(&place, "hold-end");
        if fails {
            touch(&place, "fails");
        }
        let (going, run) = start_until(&place, "ending");
        going.signal(Signal::KILL);
        going.end();
        assert_eq!(place.ps()[0]["data"]["status"], "crashed");
        let resumed = place.start(&["resume", &run, "--json"]);
        until(LIMIT, || place.ps()[0]["data"]["status"] == "running");
        remove(&place, "hold-end");
        let resumed = resumed.end();
        assert_eq!(end_of(&resumed), end, "{resumed}");
        assert_eq!(ends(&place), told(how), "each command ran once");
        assert_eq!(place.file("work.txt"), "begun\n");
        place.assert_nothing_is_left();
    }
}

#[test]
fn windlass_may_be_killed_in_finally_of_a_cancelled_run() {
    let place = place(HELD);
    touch(&place, "hold");
    touch(&place, "hold-end");
    let (going, run) = start_until(&place, "working");
    // A waiting `cancel` would take the run over itself.
    let waits = place.start(&["cancel", &run]);
    place.file_exists("ending");
    waits.signal(Signal::KILL);
    waits.end();
    going.signal(Signal::KILL);
    going.end();
    remove(&place, "hold-end");
    let resumed = place.go(&["resume", &run, "--json"]);
    assert_eq!(end_of(&resumed), ended(130, "cancelled", "user"), "{resumed}");
    assert_eq!(ends(&place), told("cancelled: by the user"));
}

#[test]
fn a_command_of_finally_that_died_with_windlass_runs_again_only_if_it_is_idempotent() {
    let how = "completed: everything is done";
    for (idempotent, end, lines) in [
        (true, ended(0, "completed", "all_done"), format!("one {how}\ntwo {how}\ntwo {how}\ndone\n")),
        (false, ended(4, "failed", "finally_failed"), format!("one {how}\ntwo {how}\n")),
    ] {
        let document = if idempotent {
            HELD.replace("- id: two", "- id: two\n    idempotent: true")
        } else {
            HELD.to_owned()
        };
        let place = place(&document);
        touch(&place, "hold-end");
        let (going, run) = start_until(&place, "ending");
        place.kill_everything(going);
        remove(&place, "hold-end");
        let resumed = place.go(&["resume", &run, "--json"]);
        assert_eq!(end_of(&resumed), end, "{resumed}");
        assert_eq!(ends(&place), lines);
        assert_eq!(shown_outcome(&place, &run)["status"], end.1);
        place.assert_nothing_is_left();
    }
}

const OUTER: &str = r#"
name: outer
nodes:
  - { id: sub, workflow: held }
finally:
  - shell: "echo \"outer $HOW\" >> ends.txt"
    env: { HOW: "{{ run.status }}: {{ run.reason }}" }
"#;

/// Starts a run that runs another one, and waits until a file is there.
fn outer_until(file: &str) -> (Place, Going, String) {
    let place = Place::with_documents(&[HELD.trim_start(), OUTER.trim_start()]);
    let held = if file == "ending" { "hold-end" } else { "hold" };
    touch(&place, held);
    let mut going = place.start(&["run", "--workflow", "outer", "--json"]);
    let run = going.run();
    place.file_exists(file);
    (place, going, run)
}

#[test]
fn a_cancelled_run_and_the_run_in_it_both_run_finally() {
    let (place, going, run) = outer_until("working");
    assert_eq!(place.go(&["cancel", &run]).code, 0);
    assert_eq!(end_of(&going.end()), ended(130, "cancelled", "user"));
    let inner = told(&format!("cancelled: run {run} was cancelled"));
    assert_eq!(ends(&place), inner + "outer cancelled: by the user\n");
}

#[test]
fn an_interruption_stops_the_finally_of_a_run_inside_the_run_and_resume_runs_it_again() {
    let (place, going, run) = outer_until("ending");
    going.signal(Signal::INT);
    assert_eq!(end_of(&going.end()), ended(130, "interrupted", "user"));
    let how = "completed: everything is done";
    let first = format!("one {how}\ntwo {how}\n");
    assert_eq!(ends(&place), first);
    remove(&place, "hold-end");
    let again = place.go(&["resume", &run, "--json"]);
    assert_eq!(end_of(&again), ended(0, "completed", "all_done"), "{again}");
    assert_eq!(ends(&place), format!("{first}{}outer {how}\n", told(how)));
    assert_eq!(place.file("work.txt"), "begun\n");
}

/// Returns the warnings about the command of the body.
fn warned_of_work(ran: &Ran) -> Vec<String> {
    let texts =
        ran.all("warning").into_iter().map(|data| data["text"].as_str().unwrap_or_default().to_owned());
    texts.filter(|text| text.starts_with("the command of `work`")).collect()
}

const RUNS_AGAIN: &str = "the command of `work` was interrupted, and runs again from its start";

#[test]
fn a_command_that_may_have_had_effects_is_never_repeated_silently() {
    let idempotent = HELD.replace("- id: work", "- id: work\n    idempotent: true");
    for (document, is_told) in [(HELD.to_owned(), true), (idempotent, false)] {
        let place = place(&document);
        touch(&place, "hold");
        let (going, run) = start_until(&place, "working");
        going.signal(Signal::INT);
        let stopped = going.end();
        let told = "the command of `work` was stopped before it ended; `resume` runs it again from its start";
        assert_eq!(warned_of_work(&stopped), if is_told { vec![told] } else { vec![] }, "{stopped}");
        remove(&place, "hold");
        let again = place.go(&["resume", &run, "--json"]);
        assert_eq!(warned_of_work(&again), if is_told { vec![RUNS_AGAIN] } else { vec![] }, "{again}");
        assert_eq!(place.file("work.txt"), "begun\nbegun\n");
    }
}

#[test]
fn a_command_that_was_lost_in_a_crash_runs_again_only_if_a_person_resumes_the_blocked_run() {
    let place = place(HELD);
    touch(&place, "hold");
    let (going, run) = start_until(&place, "working");
    place.kill_everything(going);
    remove(&place, "hold");
    let blocked = place.go(&["resume", &run, "--json"]);
    assert_eq!(end_of(&blocked), ended(8, "blocked", "shell_unknown"), "{blocked}");
    assert_eq!(place.file("work.txt"), "begun\n");
    let first = ends(&place);
    assert!(first.starts_with("one blocked: the command of `work` was interrupted"), "{first}");
    let again = place.go(&["resume", &run, "--json"]);
    assert_eq!(end_of(&again), ended(0, "completed", "all_done"), "{again}");
    assert_eq!(warned_of_work(&again), [RUNS_AGAIN]);
    assert_eq!(place.file("work.txt"), "begun\nbegun\n");
    assert_eq!(ends(&place), first + &told("completed: everything is done"));
}

/// Plays a run whose Windlass dies at a point, and resumes it. Returns whether it died.
fn play(death: Death) -> Result<bool, String> {
    let place = place(HELD);
    let mut command = place.windlass(&["run", "--workflow", "held", "--json"]);
    death.strikes(&place, &mut command);
    let first = place.spawn(command).end();
    let has_died = first.status.code().is_none();
    let listed = place.ps();
    let Some(run) = listed.first().map(|line| line["run"].as_str().unwrap().to_owned()) else {
        return Ok(true);
    };
    let resumed = has_died.then(|| place.go(&["resume", &run, "--json"]));
    let is_well = |ran: &Ran| ran.code == 0 || ran.stderr.contains("already over");
    if !resumed.iter().all(is_well) || !(has_died || is_well(&first)) {
        return Err(format!("{first}\n{}", resumed.map(|ran| ran.to_string()).unwrap_or_default()));
    }
    place.assert_nothing_is_left();
    let (ends, work) = (ends(&place), place.file("work.txt"));
    match ends == told("completed: everything is done") && work == "begun\n" {
        true => Ok(has_died),
        false => Err(format!("{ends}\n{work}\n{first}")),
    }
}

#[test]
fn windlass_may_die_at_any_point_of_a_run_with_finally() {
    let tried = sweep(Death::Point, 1, play);
    println!("sweep: windlass   finally      {tried:>5} points tried");
    assert!(tried > 5, "only {tried}");
}
