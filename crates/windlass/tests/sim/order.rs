//! After each turn, in this order: cancelled, session failed, transport broken, tracker missing,
//! complete, blocked, checks failed, stuck, exhausted, next. Each row with the `sim` driver.

use crate::place::{Place, busy_turn, done, last_turn, say};
use serde_json::json;

#[test]
fn a_cancelled_run_is_cancelled_even_if_its_tracker_says_complete() {
    let place = Place::playing(
        json!([{"steps": [done(), {"write": {"path": "sign", "content": "x"}}, {"hang": true}]}]),
    );
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    assert_eq!(place.go(&["cancel", &run]).code, 0);
    let ran = going.end();
    ran.assert_ended(130, "cancelled", "user", 0);
    assert!(place.tracker_text(&run).contains("active: false"));
    place.assert_nothing_is_left();
}

#[test]
fn a_failed_session_fails_the_run_even_if_its_tracker_says_complete() {
    let place =
        Place::playing(json!([{"steps": [done(), {"api_error": {"status": 401, "message": "bad key"}}]}]));
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(4, "failed", "agent_failed", 0);
    assert!(ran.finished()["detail"].as_str().unwrap().contains("bad key"), "{ran}");
    assert_eq!(place.requests().len(), 1);
}

#[test]
fn a_session_that_exits_with_a_code_and_no_result_fails_the_run() {
    let ran = Place::playing(json!([{"steps": [{"crash": 3}]}])).go(&["loop", "work", "--json"]);
    ran.assert_ended(4, "failed", "agent_failed", 0);
}

#[test]
fn a_rate_limit_that_says_when_it_ends_is_waited_for_and_is_no_turn() {
    let limited = json!({"steps": [say("I begin."), {"rate_limit": {"resets_in_ms": 200}}]});
    let place = Place::playing(json!([{"attempts": [limited, last_turn()]}]));
    let ran = place.go(&["loop", "work", "--json", "--max-iterations", "1"]);
    ran.assert_ended(0, "completed", "marker", 1);
    let waits = ran.all("run.waiting");
    assert_eq!(waits.len(), 1, "{ran}");
    assert_eq!(waits[0]["on"], "rate_limit");
    let requests = place.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1]["resumed"], true, "what began goes on");
    assert_eq!(requests[1]["session"], requests[0]["session"]);
}

#[test]
fn a_rate_limit_without_an_end_is_waited_for_a_little_longer_each_time() {
    let limited = json!({"steps": [{"rate_limit": {}}]});
    let place = Place::playing(json!([{"attempts": [limited, limited, limited, limited, last_turn()]}]));
    let ran = place.go(&["loop", "work", "--json", "--max-iterations", "1"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert_eq!(ran.all("run.waiting").len(), 4, "more often than a transient error is tried again: {ran}");
    assert_eq!(place.requests().len(), 5);
}

#[test]
fn a_transient_error_is_tried_again_three_times() {
    let busy = json!({"steps": [{"api_error": {"status": 529, "message": "overloaded"}}]});
    let place = Place::playing(json!([{"attempts": [busy, busy, busy, last_turn()]}]));
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    let waits = ran.all("run.waiting");
    assert_eq!(waits.len(), 3, "{ran}");
    assert!(waits.iter().all(|wait| wait["on"] == "retry"), "{ran}");
}

#[test]
fn a_transient_error_that_does_not_pass_fails_the_run_after_three_more_tries() {
    let place = Place::playing(json!([{"steps": [{"api_error": {"status": 529, "message": "overloaded"}}]}]));
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(4, "failed", "transient_errors", 0);
    assert_eq!(place.requests().len(), 4);
}

#[test]
fn a_stray_refusal_costs_a_retry_and_a_lasting_one_ends_the_run() {
    for status in [400, 500, 502, 503] {
        let stray = json!({"steps": [{"api_error": {"status": status, "message": "scripted"}}]});
        let place = Place::playing(json!([{"attempts": [stray, last_turn()]}]));
        let ran = place.go(&["loop", "work", "--json"]);
        ran.assert_ended(0, "completed", "marker", 1);
        assert_eq!(ran.all("run.waiting").len(), 1, "{status}: {ran}");
    }
    for (status, message) in [(401, "key"), (403, "no"), (404, "model"), (400, "prompt is too long: 9 > 8")] {
        let refused = json!({"steps": [{"api_error": {"status": status, "message": message}}]});
        let place = Place::playing(json!([{"attempts": [refused, last_turn()]}]));
        place.go(&["loop", "work", "--json"]).assert_ended(4, "failed", "agent_failed", 0);
        assert_eq!(place.requests().len(), 1, "{status}");
    }
}

#[test]
fn a_run_that_an_error_of_the_service_ended_goes_on_later() {
    let busy = json!({"steps": [{"api_error": {"status": 500, "message": "down"}}]});
    let place = Place::playing(json!([{"attempts": [busy, busy, busy, busy, last_turn()]}]));
    let first = place.go(&["loop", "work", "--json"]);
    first.assert_ended(4, "failed", "transient_errors", 0);
    place.go(&["resume", first.run(), "--json"]).assert_ended(0, "completed", "marker", 1);
}

#[test]
fn transient_errors_are_counted_anew_in_each_turn() {
    let busy = json!({"steps": [{"api_error": {"status": 529, "message": "overloaded"}}]});
    let place = Place::playing(json!([
        {"attempts": [busy, busy, busy, busy_turn()]},
        {"attempts": [busy, busy, busy, last_turn()]},
    ]));
    place.go(&["loop", "work", "--json"]).assert_ended(0, "completed", "marker", 2);
}

#[test]
fn tool_calls_of_which_no_hook_arrives_fail_the_run() {
    let read = json!({"tool": {"name": "Read", "input": {"file_path": "README.md"}, "result": "text"}});
    let place = Place::playing(json!([{"steps": [{"skip_hooks": true}, read, say("Done.")]}]));
    place.go(&["loop", "work", "--json"]).assert_ended(4, "failed", "hook_transport", 0);
    assert_eq!(place.requests().len(), 1);
}

#[test]
fn a_turn_without_tools_needs_no_hook() {
    let place = Place::playing(json!([{"steps": [{"skip_hooks": true}, say("Thinking.")]}, last_turn()]));
    place.go(&["loop", "work", "--json"]).assert_ended(0, "completed", "marker", 2);
}

#[test]
fn a_tracker_that_is_deleted_replaced_or_no_text_fails_the_run() {
    let ways = [
        "rm \"${TRACKER}\"",
        "rm \"${TRACKER}\" && mkdir \"${TRACKER}\"",
        "printf '\\377\\376' > \"${TRACKER}\"",
        "rm -r \"$(dirname \"${TRACKER}\")\"",
        "rm \"${TRACKER}\" && mkfifo \"${TRACKER}\"",
        "ln -sf /dev/zero \"${TRACKER}\"",
        "truncate -s 1G \"${TRACKER}\"",
    ];
    for way in ways {
        let place = Place::playing(json!([{"steps": [{"bash": way}, say("Gone.")]}]));
        let ran = place.go(&["loop", "work", "--json", "--check", "touch checked"]);
        ran.assert_ended(4, "failed", "missing_tracker", 1);
        assert_eq!(place.requests().len(), 1, "{way}");
        assert!(!place.repo().join("checked").exists(), "no check can change that");
    }
}

#[test]
fn an_emptied_tracker_is_no_end() {
    let place = Place::playing(json!([{"steps": [{"bash": ": > \"${TRACKER}\""}]}, last_turn()]));
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(0, "completed", "marker", 2);
}

#[test]
fn a_frontmatter_edited_by_hand_changes_nothing() {
    let edit = "sed -i -e 's/^iteration: .*/iteration: 99/' -e 's/^max_iterations: .*/max_iterations: 1/' \
        -e 's/^active: .*/active: false/' \"${TRACKER}\" && echo ${ITERATION} >> \"${TRACKER}\"";
    let place = Place::playing(json!([{"steps": [{"bash": edit}]}]));
    let ran = place.go(&["loop", "work", "--json", "--max-iterations", "3"]);
    ran.assert_ended(9, "exhausted", "max_iterations", 3);
    let text = place.tracker_text(ran.run());
    assert!(text.contains("\niteration: 3\n") && text.contains("\nactive: false\n"), "{text}");
}

#[test]
fn a_promise_in_the_final_message_completes() {
    let workflow = json!({"name": "w", "promptTemplate": "{input}",
        "loop": {"enabled": true, "completionPromise": "E2E COMPLETE"}});
    let turns = json!([
        {"steps": [{"tracker": {"append": "<promise>E2E COMPLETE</promise>"}}, say("Not promised in words.")]},
        {"steps": [say("<promise>E2E COMPLETE</promise>"), {"bash": "echo x >> f"}, say("One thing is left.")]},
        {"steps": [say("So:\n<promise>\n  E2E   COMPLETE\n</promise>")]},
    ]);
    let place = Place::playing(turns);
    place.workflow(workflow);
    place.go(&["run", "it", "--workflow", "w", "--json"]).assert_ended(0, "completed", "promise", 3);
}

#[test]
fn either_of_marker_and_promise_completes() {
    let workflow = json!({"name": "w", "promptTemplate": "{input}",
        "loop": {"enabled": true, "completionPromise": "YES", "completionMarker": "M_DONE"}});
    let ends = [
        (json!({"steps": [{"tracker": {"append": "M_DONE"}}]}), "marker"),
        (json!({"steps": [say("<promise>YES</promise>")]}), "promise"),
    ];
    for (turn, reason) in ends {
        let place = Place::playing(json!([turn]));
        place.workflow(workflow.clone());
        place.go(&["run", "it", "--workflow", "w", "--json"]).assert_ended(0, "completed", reason, 1);
    }
}

#[test]
fn a_blocked_marker_ends_the_run_as_blocked_with_its_reason() {
    let cases = [
        ("<!-- WORKFLOW_BLOCKED: no key for the API -->", "no key for the API"),
        ("<!-- WORKFLOW_BLOCKED -->", "blocked"),
    ];
    for (marker, detail) in cases {
        let place = Place::playing(json!([busy_turn(), {"steps": [{"tracker": {"append": marker}}]}]));
        let ran = place.go(&["loop", "work", "--json", "--max-iterations", "2", "--check", "false"]);
        ran.assert_ended(8, "blocked", "blocked_marker", 2);
        assert!(ran.finished()["detail"].as_str().unwrap().contains(detail), "{ran}");
    }
}

#[test]
fn complete_is_asked_before_blocked() {
    let both = json!({"steps": [{"tracker": {"append": "<!-- WORKFLOW_BLOCKED: x -->"}}, done()]});
    Place::playing(json!([both])).go(&["loop", "work", "--json"]).assert_ended(0, "completed", "marker", 1);
}

#[test]
fn what_a_failed_check_said_is_in_the_next_prompt_and_a_claim_of_being_done_does_not_complete() {
    let place = Place::playing(json!([
        last_turn(),
        {"steps": [{"write": {"path": "ok.txt", "content": "ok"}}, say("Fixed.")]},
    ]));
    let check = "proof=test -f ok.txt || { echo boom-42; exit 7; }";
    let ran = place.go(&["loop", "work", "--json", "--check", check, "--check", "always=true"]);
    ran.assert_ended(0, "completed", "marker", 2);
    let turns = ran.all("iteration.finished");
    let first = json!([{"name": "always", "passed": true}, {"name": "proof", "passed": false}]);
    let mut checks = turns[0]["checks"].as_array().unwrap().clone();
    checks.sort_by_key(|check| check["name"].to_string());
    assert_eq!((json!(checks), &turns[0]["goes_on"]), (first, &json!(true)));
    let prompts = place.prompts();
    assert_eq!(prompts.len(), 2);
    assert!(!prompts[0].contains("boom-42"));
    for words in ["work", "boom-42", "proof", "exit code 7", "marked the task as complete"] {
        assert!(prompts[1].contains(words), "`{words}` is missing:\n{}", prompts[1]);
    }
    assert!(!prompts[1].contains("always"), "what passed is not repeated:\n{}", prompts[1]);
}

#[test]
fn a_claim_of_being_done_without_work_never_completes_while_a_check_fails() {
    let place = Place::playing(json!([last_turn()]));
    let ran = place.go(&["loop", "work", "--json", "--max-iterations", "3", "--check", "test -f ok.txt"]);
    ran.assert_ended(9, "exhausted", "max_iterations", 3);
    assert_eq!(place.requests().len(), 3);
}

#[test]
fn turns_that_change_nothing_end_the_run_as_blocked() {
    let place = Place::with_settings("stuck_after = 2\n");
    place.script(json!({"turns": [busy_turn(), {"steps": [{"bash": "ls"}, say("Hm.")]}]}));
    let ran = place.go(&["loop", "work", "--json", "--max-iterations", "3"]);
    ran.assert_ended(8, "blocked", "stuck", 3);
    assert_eq!(place.requests().len(), 3);
}

#[test]
fn a_change_in_the_repository_is_progress() {
    let place = Place::with_settings("stuck_after = 2\n");
    place.script(
        json!({"turns": [{"steps": [{"append": {"path": "log.txt", "content": "${ITERATION}\n"}}]}]}),
    );
    place.go(&["loop", "work", "--json", "--max-iterations", "4"]).assert_ended(
        9,
        "exhausted",
        "max_iterations",
        4,
    );
}

#[test]
fn a_change_of_files_outside_a_repository_is_progress() {
    let place = Place::with_settings("stuck_after = 2\n");
    place.script(
        json!({"turns": [{"steps": [{"append": {"path": "log.txt", "content": "${ITERATION}\n"}}]}]}),
    );
    let folder = place.sealed.root().join("plain");
    std::fs::create_dir(&folder).unwrap();
    let mut command = place.windlass(&["loop", "work", "--json", "--max-iterations", "4"]);
    command.current_dir(&folder);
    place.spawn(command).end().assert_ended(9, "exhausted", "max_iterations", 4);
}

#[test]
fn spent_turns_end_the_run_as_exhausted_after_exactly_that_many() {
    for most in [1, 3] {
        let place = Place::playing(json!([busy_turn()]));
        let ran = place.go(&["loop", "work", "--json", "--max-iterations", &most.to_string()]);
        ran.assert_ended(9, "exhausted", "max_iterations", most);
        assert_eq!(place.requests().len() as u32, most);
        assert_eq!(ran.all("session.started").len() as u32, most);
    }
}

#[test]
fn no_limit_of_turns_is_no_limit() {
    let mut turns = vec![busy_turn(); 16];
    turns.push(last_turn());
    let ran = Place::playing(json!(turns)).go(&["loop", "work", "--json", "--max-iterations", "0"]);
    ran.assert_ended(0, "completed", "marker", 17);
}

#[test]
fn what_a_check_prints_may_be_anything_and_its_end_is_told() {
    let place = Place::playing(json!([last_turn(), {"steps": [{"write": {"path": "ok", "content": "x"}}]}]));
    let check =
        "odd=test -f ok || { head -c 3000000 /dev/urandom; printf '\\377\\000```\\nthe-end\\n'; exit 1; }";
    place.go(&["loop", "work", "--json", "--check", check]).assert_ended(0, "completed", "marker", 2);
    let prompt = &place.prompts()[1];
    assert!(prompt.contains("the-end") && prompt.len() < 40_000, "{} bytes", prompt.len());
}

#[test]
fn completing_on_the_last_turn_is_completed() {
    for most in [1, 3] {
        let mut turns = vec![busy_turn(); most - 1];
        turns.push(last_turn());
        let place = Place::playing(json!(turns));
        let ran = place.go(&["loop", "work", "--json", "--max-iterations", &most.to_string()]);
        ran.assert_ended(0, "completed", "marker", most as u32);
    }
}

#[test]
fn a_workflow_without_a_loop_is_one_turn_without_tracker() {
    let place = Place::playing(json!([{"steps": [say("Here you are.")]}]));
    place.workflow(json!({"name": "once", "promptTemplate": "Do {input}"}));
    let ran = place.go(&["run", "it", "--workflow", "once", "--json"]);
    ran.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(place.prompts(), ["Do it"]);
    assert!(!place.repo().join(".windlass/runs").exists());
    let ran = place.go(&["run", "it", "--workflow", "once", "--json", "--check", "false"]);
    ran.assert_ended(4, "failed", "checks_failed", 1);
}

#[test]
fn the_exit_code_never_decides_alone() {
    let mut turn = last_turn();
    turn["exit_code"] = json!(1);
    Place::playing(json!([turn])).go(&["loop", "work", "--json"]).assert_ended(0, "completed", "marker", 1);
    turn["exit_code"] = json!(0);
    turn["result"] =
        json!({"is_error": true, "subtype": "error_during_execution", "terminal_reason": "error"});
    Place::playing(json!([turn])).go(&["loop", "work", "--json"]).assert_ended(
        4,
        "failed",
        "agent_failed",
        0,
    );
}
