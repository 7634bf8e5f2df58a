//! Tests for markers: a marker in the tracker completes a loop, and a mere mention does not.

use crate::place::{DONE, Place, last_turn, say};
use serde_json::{Value, json};

/// Returns the exit code of a loop of one turn that takes this step: 0 or 9.
fn code_after(step: Value, looping: Value) -> i32 {
    let place = Place::playing(json!([{"steps": [step]}]));
    let mut looping = looping;
    looping["enabled"] = json!(true);
    looping["maxIterations"] = json!(1);
    place.workflow(json!({"name": "w", "promptTemplate": "{input}", "loop": looping}));
    place.go(&["run", "it", "--workflow", "w", "--json"]).code
}

fn appended(text: &str) -> i32 {
    code_after(json!({"tracker": {"append": text}}), json!({}))
}

#[test]
fn a_marker_alone_on_a_line_completes_whatever_follows() {
    assert_eq!(appended(DONE), 0);
    assert_eq!(appended(&format!("{DONE}\n\n\n   \n\t\n")), 0, "blank lines behind it");
    assert_eq!(appended(&format!("   {DONE}  \n\nA last word.")), 0, "blanks around it, and text below");
    assert_eq!(appended(&format!("{DONE}\r\n")), 0, "the line ends of another system");
}

#[test]
fn a_marker_in_prose_completes_nothing() {
    assert_eq!(appended(&format!("When all is done I shall write {DONE} here.")), 9);
    assert_eq!(appended(&format!("`{DONE}`")), 9);
    assert_eq!(appended(&format!("> {DONE}")), 9, "quoted");
    assert_eq!(appended(&format!("- [ ] {DONE}")), 9);
}

#[test]
fn a_marker_in_a_code_fence_completes_nothing() {
    assert_eq!(appended(&format!("```\n{DONE}\n```")), 9);
    assert_eq!(appended(&format!("~~~~markdown\n```\n{DONE}\n```\n~~~~")), 9);
    assert_eq!(appended(&format!("```\nexample\n```\n\n{DONE}")), 0, "behind a fence it does");
}

#[test]
fn a_marker_in_the_template_completes_only_when_it_was_written_once_more() {
    let template =
        json!({"trackerTemplate": format!("# Plan\n\nEnds with\n{DONE}\n"), "completionMarker": DONE});
    assert_eq!(code_after(json!({"bash": "echo work >> \"${TRACKER}\""}), template.clone()), 9);
    assert_eq!(code_after(json!({"tracker": {"append": DONE}}), template), 0);
}

#[test]
fn the_place_of_a_marker_can_be_chosen() {
    let how = |word: &str| json!({"markerMatch": word, "completionMarker": "E2E_COMPLETE"});
    let append = |text: &str| json!({"tracker": {"append": text}});
    assert_eq!(code_after(append("status: E2E_COMPLETE!"), how("anywhere")), 0);
    assert_eq!(code_after(append("status: E2E_COMPLETE!"), how("line")), 9);
    assert_eq!(code_after(append("E2E_COMPLETE\n\nmore"), how("last_line")), 9);
    assert_eq!(code_after(append("more\n\nE2E_COMPLETE\n\n"), how("last_line")), 0);
}

#[test]
fn a_marker_in_what_the_agent_says_completes_nothing() {
    let place = Place::playing(json!([{"steps": [{"say": DONE}]}]));
    place.go(&["loop", "work", "--json", "--max-iterations", "1"]).assert_ended(
        9,
        "exhausted",
        "max_iterations",
        1,
    );
}

#[test]
fn an_agent_that_ends_with_a_promise_says_in_its_message_that_it_is_blocked() {
    let place = Place::playing(json!([{"steps": [say("No key.\n\n<!-- WORKFLOW_BLOCKED: no key -->")]}]));
    let looping = json!({"enabled": true, "completionPromise": "ALL DONE", "maxIterations": 5});
    place.workflow(json!({"name": "w", "promptTemplate": "{input}", "loop": looping}));
    let ran = place.go(&["run", "it", "--workflow", "w", "--json"]);
    ran.assert_ended(8, "blocked", "blocked_marker", 1);
    assert_eq!(ran.finished()["detail"], "no key");
    assert!(place.prompts()[0].contains("end your last message instead with this"), "{:?}", place.prompts());
    // With a marker, the tracker is the place.
    let marked = json!({"enabled": true, "maxIterations": 1});
    place.workflow(json!({"name": "m", "promptTemplate": "{input}", "loop": marked}));
    place.go(&["run", "it", "--workflow", "m", "--json"]).assert_ended(9, "exhausted", "max_iterations", 1);
}

#[test]
fn a_marker_with_odd_characters_is_taken_literally() {
    for marker in ["[x] (done)*", "$ARGUMENTS {input} \\1", "Fertig: größer"] {
        let place = Place::playing(json!([{"steps": [{"tracker": {"append": marker}}]}]));
        let looping = json!({"enabled": true, "completionMarker": marker, "maxIterations": 1});
        place.workflow(json!({"name": "w", "promptTemplate": "{input}", "loop": looping}));
        place.go(&["run", "it", "--workflow", "w", "--json"]).assert_ended(0, "completed", "marker", 1);
    }
}

#[test]
fn the_tracker_is_made_of_the_template_with_a_frontmatter_for_people() {
    let place = Place::playing(json!([last_turn()]));
    place.workflow(json!({"name": "w", "promptTemplate": "{input}",
        "loop": {"enabled": true, "trackerTemplate": "# Mine\n\n- [ ] one", "maxIterations": 4}}));
    let ran = place.go(&["run", "it", "--workflow", "w", "--json"]);
    let text = place.tracker_text(ran.run());
    assert!(text.starts_with("---\n") && text.contains("# Mine\n\n- [ ] one"), "{text}");
    assert!(text.contains("max_iterations: 4") && text.contains("active: false"), "{text}");
    assert_eq!(
        place.sealed.git(["status", "--porcelain", "--", ".windlass/runs"]),
        "",
        "git does not see it"
    );
}
