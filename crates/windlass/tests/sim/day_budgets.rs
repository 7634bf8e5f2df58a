//! The budgets of the day: several runs spend them together, a new day renews them, and no crash loses or
//! repeats what was spent.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::deaths::{Death, step, sweep};
use crate::place::{Going, Place, Ran, last_turn, say};

/// Returns a time zone in which it is noon now, and one in which it is an hour before the same midnight.
fn noon_and_the_day_before() -> (String, String) {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let west = i64::try_from(seconds / 3600 % 24).unwrap() - 12;
    (format!("AAA{west}"), format!("BBB{}", west + 13))
}

fn in_zone(place: &Place, zone: &str, arguments: &[&str]) -> Ran {
    let mut command = place.windlass(arguments);
    command.env("TZ", zone);
    place.spawn(command).end()
}

fn with_budget(turns: Value, budget: &str) -> Place {
    let place = Place::with_settings(budget);
    place.script(json!({"turns": turns}));
    place
}

#[test]
fn runs_spend_the_budget_of_a_day_together_and_the_next_day_brings_another() {
    let (noon, day_before) = noon_and_the_day_before();
    let idle = json!({"steps": [say("not yet")]});
    let place = with_budget(json!([idle, idle, last_turn()]), "[budgets.day]\nturns = 2\n");
    let first = in_zone(&place, &noon, &["loop", "work", "--json", "--max-iterations", "1"]);
    first.assert_ended(9, "exhausted", "max_iterations", 1);
    let second = in_zone(&place, &noon, &["loop", "work", "--json"]);
    second.assert_ended(9, "exhausted", "budget", 1);
    let detail = second.finished()["detail"].as_str().unwrap();
    assert_eq!(detail, "today's budget of 2 turns is spent (`budgets.day` in the settings)");
    let run = second.run();
    in_zone(&place, &noon, &["resume", run])
        .assert_refused(2, &["would end again at once", "today's budget"]);
    let other_day = in_zone(&place, &day_before, &["resume", run, "--json"]);
    other_day.assert_ended(0, "completed", "marker", 3);
    assert_eq!(place.go(&["replay", run]).code, 0);
}

#[test]
fn a_turn_whose_owner_was_killed_counts_once() {
    let (noon, _) = noon_and_the_day_before();
    let turn = json!({"steps": [{"bash": "touch sign"}, {"wait_for": "go"}, say("here")]});
    let place = with_budget(json!([turn, last_turn()]), "[budgets.sim]\nturns = 2\n");
    let mut command = place.windlass(&["loop", "work", "--json"]);
    command.env("TZ", &noon);
    let mut going = place.spawn(command);
    let run = going.run();
    place.file_exists("sign");
    place.kill_everything(going);
    std::fs::write(place.repo().join("go"), "").unwrap();
    let again = in_zone(&place, &noon, &["resume", &run, "--json"]);
    assert_eq!(again.code, 0, "the repeated turn is no second one: {again}");
    assert_eq!(again.finished()["iterations"], 2, "{again}");
    let other = in_zone(&place, &noon, &["loop", "work", "--json"]);
    other.assert_ended(9, "exhausted", "budget", 0);
    let detail = other.finished()["detail"].as_str().unwrap();
    assert!(detail.starts_with("today's budget of 2 turns for sim is spent"), "{detail}");
}

#[test]
fn processes_that_start_at_once_never_start_more_turns_than_the_day_allows() {
    let (noon, _) = noon_and_the_day_before();
    let turns: Vec<Value> =
        (0..9).map(|turn| json!({"steps": [{"commit": format!("{turn}")}, say("more")]})).collect();
    let place = with_budget(json!(turns), "[budgets.day]\nturns = 5\n");
    let start = |_| {
        let mut command = place.windlass(&["loop", "work", "--json", "--worktree", "--max-iterations", "9"]);
        command.env("TZ", &noon);
        place.spawn(command)
    };
    let ran: Vec<Ran> = (0..3).map(start).collect::<Vec<Going>>().into_iter().map(Going::end).collect();
    let turns = |ran: &Ran| {
        assert_eq!((ran.code, &ran.finished()["reason"]), (9, &json!("budget")), "{ran}");
        ran.finished()["iterations"].as_u64().unwrap()
    };
    assert_eq!(ran.iter().map(turns).sum::<u64>(), 5);
}

/// Plays a run of one turn for one dollar that dies somewhere and is resumed, and then finds out what the day counted.
fn die_and_count(death: Death, zone: &str) -> Result<bool, String> {
    let mut turn = last_turn();
    turn["cost_usd"] = json!(1.0);
    let place = Place::playing(json!([turn]));
    let start = |words: &[&str], limits: &[(&str, &str)]| {
        let mut command = place.windlass(words);
        command.env("TZ", zone);
        command.envs(limits.iter().map(|(what, most)| (format!("WINDLASS_BUDGETS_DAY_{what}"), most)));
        command
    };
    let (both, work) = ([("TURNS", "2"), ("COST", "1.5")], ["loop", "work", "--json", "--mode", "fresh"]);
    let mut command = start(&work, &both);
    death.strikes(&place, &mut command);
    let has_died = place.spawn(command).end().status.code().is_none();
    let listed = place.ps();
    let Some(run) = listed.first().and_then(|run| run["run"].as_str()) else { return Ok(has_died) };
    if has_died {
        let again = place.spawn(start(&["resume", run, "--json"], &both)).end();
        // It may have died after its end was recorded.
        if again.code != 0 && !again.stderr.contains("already over") {
            return Err(again.to_string());
        }
    }
    let rows = [(&both[..], "marker"), (&both[1..], "budget"), (&both[..1], "budget")];
    for (limits, reason) in rows {
        let next = place.spawn(start(&work, limits)).end();
        if next.finished()["reason"] != reason {
            return Err(format!("not {reason} with {limits:?}: {next}"));
        }
    }
    Ok(has_died)
}

/// Whatever happens between the commit that starts a turn and the one that reports its cost, both count once.
#[test]
fn a_process_that_dies_anywhere_spends_its_turn_and_its_money_once() {
    let (noon, _) = noon_and_the_day_before();
    // A sweep ends at the first run that does not die.
    assert_eq!(die_and_count(Death::Point(u64::MAX), &noon), Ok(false));
    let points = sweep(Death::Point, step(6), |death| die_and_count(death, &noon));
    assert!(points > 3, "it died at {points} points only");
}
