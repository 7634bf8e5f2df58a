//! A panic while an effect is performed, at every point of it: the run ends and says so, with everything beside
//! it put away, and nothing waits for ever.

use crate::place::{Place, Ran, busy_turn, last_turn, say};
use serde_json::json;

const UNEXPECTED: i32 = 1;
const AGENT: i32 = 4;

fn break_at(place: &Place, point: u64, arguments: &[&str]) -> Ran {
    let mut command = place.windlass(arguments);
    command.env("WINDLASS_CRASH_AT", format!("effect:{point}"));
    place.spawn(command).end()
}

/// Breaks a run at each point in turn, until there is none left; how many there are.
fn sweep(stage: impl Fn() -> Place, arguments: &[&str], is_right: impl Fn(&Ran) -> bool) -> u64 {
    for point in 1.. {
        let place = stage();
        let ran = break_at(&place, point, arguments);
        place.assert_nothing_is_left();
        if ran.code == 0 {
            return point - 1;
        }
        let end = ran.finished();
        assert!(end["detail"].as_str().is_some_and(|detail| detail.contains("WINDLASS_CRASH_AT")), "{ran}");
        let ended = (ran.code, end["status"].as_str().unwrap(), end["reason"].as_str().unwrap());
        let is_own = ended == (UNEXPECTED, "failed", "internal_error");
        assert!(is_own || is_right(&ran), "point {point}: {ended:?}: {ran}");
        let listed = place.ps();
        let own = listed.iter().find(|line| line["run"] == ran.run()).unwrap();
        assert_eq!(own["data"]["status"], "failed", "{ran}");
    }
    unreachable!("points are counted to their end")
}

#[test]
fn a_loop_in_which_an_effect_breaks_ends_for_that_reason() {
    let stage = || Place::playing(json!([busy_turn(), last_turn()]));
    let points = sweep(stage, &["loop", "work", "--json", "--check", "true"], |_| false);
    assert!(points > 12, "only {points} points");
}

/// A place with these documents, whose agent waits in the node `work`.
fn with(documents: &[&str]) -> Place {
    let place = Place::with_settings("");
    let turn = json!([{"steps": [say("Hm."), {"wait_for": "go"}, say("Done.")]}]);
    place.script(json!({"nodes": {"work": turn}, "default": {"steps": [say("Fine.")]}}));
    for text in documents {
        let name = text.lines().find_map(|line| line.strip_prefix("name: ")).unwrap();
        place.sealed.write(format!("repo/.windlass/workflows/{name}.yaml"), text);
    }
    place
}

#[test]
fn what_runs_beside_an_effect_that_breaks_is_ended() {
    let points = sweep(|| with(&[BOTH]), &["run", "--workflow", "both", "--json"], |_| false);
    assert!(points > 10, "only {points} points");
}

#[test]
fn a_run_within_a_run_that_breaks_is_ended_and_fails_its_node() {
    let is_inner = |ran: &Ran| ran.code == AGENT && ran.finished()["reason"] == "child_failed";
    let points = sweep(|| with(&[OUTER, INNER]), &["run", "--workflow", "outer", "--json"], is_inner);
    assert!(points > 8, "only {points} points");
}

const BOTH: &str = r#"
name: both
nodes:
  - id: both
    parallel: { join: all }
    branches:
      long:
        - { id: work, prompt: take your time, retry: { times: 2 } }
      short:
        - { id: look, shell: printf seen, on_failure: continue }
        - { id: let, shell: touch go, on_failure: continue }
"#;

const OUTER: &str = r#"
name: outer
nodes:
  - { id: sub, workflow: inner }
"#;

const INNER: &str = r#"
name: inner
nodes:
  - { id: look, shell: printf seen }
  - { id: deep, prompt: go deep }
"#;
