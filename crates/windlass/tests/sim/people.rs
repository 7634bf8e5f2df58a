//! Questions and permissions: who is asked, who answers, and what an agent may not do at all.

use crate::place::{Place, Ran, called, done, say};
use serde_json::{Value, json};

/// Asks which colour, and writes it down.
fn asking() -> Value {
    json!([{"steps": [
        {"ask": {"question": "Which colour?", "options": ["Red", "Blue"]}},
        {"write": {"path": "button.css", "content": "${ANSWER}"}},
        done(),
    ]}])
}

/// Uses a tool that is not in every preset.
fn fetching() -> Value {
    json!([{"steps": [{"tool": {"name": "WebFetch", "input": {"url": "http://x.invalid"}, "result": "page"}}, done()]}])
}

/// Returns the decision about a tool, with its reason.
fn decision<'a>(ran: &'a Ran, tool: &str) -> (&'a str, Option<&'a str>) {
    let found: Vec<&Value> =
        ran.all("hook.decision").into_iter().filter(|it| it["tool"] == called(tool)).collect();
    assert_eq!(found.len(), 1, "{ran}");
    (found[0]["decision"].as_str().unwrap(), found[0]["reason"].as_str())
}

/// Returns the first tool result that the agent received.
fn result(ran: &Ran) -> (bool, String) {
    let first = ran.all("session.event").into_iter().find(|event| event["kind"] == "tool_result").unwrap();
    (first["is_error"].as_bool().unwrap(), first["text"].as_str().unwrap().to_owned())
}

#[test]
fn a_question_that_nobody_may_answer_ends_the_run_as_blocked_at_once() {
    for flags in [&["--on-question", "fail"][..], &[]] {
        let place = Place::playing(asking());
        let ran = place.go(&[&["loop", "work", "--json"], flags].concat());
        ran.assert_ended(8, "blocked", "question", 0);
        assert!(ran.finished()["detail"].as_str().unwrap().contains("Which colour?"), "{ran}");
        assert!(!place.repo().join("button.css").exists());
        assert!(place.tracker_text(ran.run()).contains("active: false"));
        place.assert_nothing_is_left();
    }
}

#[test]
fn a_question_is_answered_from_another_process_and_the_answer_reaches_the_agent() {
    let place = Place::playing(asking());
    let mut going = place.start(&["loop", "work", "--json", "--on-question", "wait"]);
    let waiting = going.wait_for("run.waiting");
    assert_eq!((&waiting["on"], &waiting["question"]), (&json!("question"), &json!("Which colour?")));
    let run = going.run();
    assert_eq!(place.ps()[0]["data"]["status"], "waiting");
    let shown = place.go(&["show", &run]);
    for words in ["Which colour?", "Blue", &format!("windlass answer {run}")] {
        assert!(shown.stdout.contains(words), "`{words}` is missing: {shown}");
    }
    let answered = place.go(&["answer", &run, "Blue"]);
    assert_eq!(answered.code, 0, "{answered}");
    going.end().assert_ended(0, "completed", "marker", 1);
    assert_eq!(place.file("button.css"), "Blue");
}

#[test]
fn an_answer_is_kept_for_a_run_that_crashed_while_it_waited() {
    let place = Place::playing(asking());
    let mut going = place.start(&["loop", "work", "--json", "--on-question", "wait"]);
    going.wait_for("run.waiting");
    let run = going.run();
    place.sealed.kill9(going.pid());
    going.end();
    assert_eq!(place.ps()[0]["data"]["status"], "crashed");
    assert_eq!(place.go(&["answer", &run, "--", "-green-"]).code, 0);
    place.go(&["resume", &run, "--json"]).assert_ended(0, "completed", "marker", 1);
    assert_eq!(place.file("button.css"), "-green-");
    assert_eq!(place.requests().len(), 1, "the same session went on");
}

#[test]
fn a_question_whose_agent_died_is_asked_again_and_answered_once() {
    let place = Place::playing(asking());
    let mut going = place.start(&["loop", "work", "--json", "--on-question", "wait"]);
    going.wait_for("run.waiting");
    let run = going.run();
    place.kill_everything(going);
    let mut going = place.start(&["resume", &run, "--json"]);
    going.wait_for("run.waiting");
    let asks = place.go(&["show", &run, "--json"]).lines[0]["data"]["asks"].clone();
    assert_eq!(asks.as_array().map(Vec::len), Some(1), "{asks}");
    assert_eq!(place.go(&["answer", &run, "Blue"]).code, 0);
    going.end().assert_ended(0, "completed", "marker", 1);
    assert_eq!(place.file("button.css"), "Blue");
}

#[test]
fn a_question_may_be_left_to_the_agent() {
    let place = Place::playing(asking());
    let ran = place.go(&["loop", "work", "--json", "--on-question", "empty"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(place.file("button.css").contains("Decide by yourself"), "{}", place.file("button.css"));
}

#[test]
fn an_answer_to_a_run_that_asks_nothing_is_refused() {
    let place = Place::playing(json!([{"steps": [say("ok"), done()]}]));
    let ran = place.go(&["loop", "work", "--json"]);
    place.go(&["answer", ran.run(), "Blue"]).assert_refused(2, &[ran.run()]);
    place.go(&["approve", ran.run()]).assert_refused(2, &[ran.run()]);
}

#[test]
fn strict_denies_a_tool_before_it_runs_and_tells_the_agent_why() {
    let ran = Place::playing(fetching()).go(&["loop", "work", "--json", "--isolation", "strict"]);
    ran.assert_ended(0, "completed", "marker", 1);
    let (decision, reason) = decision(&ran, "WebFetch");
    assert_eq!(decision, "deny");
    let (is_error, told) = result(&ran);
    assert!(is_error && told.contains(reason.unwrap()) && told.contains("strict"), "{told}");
}

#[test]
fn a_denied_tool_is_told_once() {
    let place = Place::playing(fetching());
    let ran = place.go(&["loop", "work", "--isolation", "strict"]);
    let run = place.ps()[0]["run"].as_str().unwrap().to_owned();
    for told in [ran.stdout, place.go(&["logs", &run]).stdout] {
        assert_eq!(told.matches(&format!("{} is not allowed", called("WebFetch"))).count(), 1, "{told}");
        assert!(
            told.contains(&format!("  denied {}: ", called("WebFetch"))) && !told.contains("error:"),
            "{told}"
        );
    }
}

#[test]
fn minimal_allows_what_strict_denies() {
    let ran = Place::playing(fetching()).go(&["loop", "work", "--json", "--isolation", "minimal"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert_eq!(decision(&ran, "WebFetch"), ("allow", None));
    assert_eq!(result(&ran), (false, "page".to_owned()));
}

#[test]
fn a_policy_never_opens_what_the_preset_closes() {
    let place = Place::playing(fetching());
    let ran = place.go(&["loop", "work", "--json", "--isolation", "strict", "--on-permission", "allow"]);
    assert_eq!(decision(&ran, "WebFetch").0, "deny");
    let place = Place::with_settings("[permissions]\ndeny = [\"WebFetch\"]\nask = [\"WebFetch\"]\n");
    place.script(json!({"turns": fetching()}));
    let ran = place.go(&["loop", "work", "--json", "--on-permission", "allow"]);
    assert_eq!(decision(&ran, "WebFetch").0, "deny");
}

/// A place where a push needs a permission, and an agent that pushes.
fn pushing() -> Place {
    let place = Place::with_settings("[permissions]\nask = [\"Bash(touch *)\"]\n");
    place.script(json!({"turns": [{"steps": [{"bash": "touch pushed"}, done()]}]}));
    place
}

#[test]
fn what_the_rules_say_to_ask_about_is_decided_by_the_policy() {
    for (flags, pushed) in
        [(&["--on-permission", "allow"][..], true), (&["--on-permission", "deny"], false), (&[], false)]
    {
        let place = pushing();
        let ran = place.go(&[&["loop", "work", "--json"], flags].concat());
        ran.assert_ended(0, "completed", "marker", 1);
        assert_eq!(place.repo().join("pushed").exists(), pushed, "{ran}");
    }
}

#[test]
fn a_permission_that_nobody_may_give_ends_the_run_as_blocked() {
    let place = pushing();
    let ran = place.go(&["loop", "work", "--json", "--on-permission", "fail"]);
    ran.assert_ended(8, "blocked", "permission", 0);
    assert!(!place.repo().join("pushed").exists());
    place.assert_nothing_is_left();
}

#[test]
fn a_permission_is_given_or_refused_from_another_process() {
    for (words, pushed) in [(&[][..], true), (&["--deny", "not today"], false)] {
        let place = pushing();
        let mut going = place.start(&["loop", "work", "--json", "--on-permission", "ask"]);
        let waiting = going.wait_for("run.waiting");
        assert_eq!((&waiting["on"], &waiting["tool"]), (&json!("permission"), &json!(called("Bash"))));
        let run = going.run();
        assert_eq!(place.go(&[&["approve", &run], words].concat()).code, 0);
        let ran = going.end();
        ran.assert_ended(0, "completed", "marker", 1);
        assert_eq!(place.repo().join("pushed").exists(), pushed);
        if !pushed {
            assert!(result(&ran).1.contains("not today"), "{ran}");
        }
    }
}

#[test]
fn a_workflow_that_needs_more_isolation_gets_it_with_a_warning() {
    let place = Place::playing(fetching());
    place.workflow(
        json!({"name": "w", "promptTemplate": "{input}", "isolation": "minimal", "loop": {"enabled": true}}),
    );
    let ran = place.go(&["run", "it", "--workflow", "w", "--json", "--isolation", "strict"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(ran.stderr.contains("warning:") && ran.stderr.contains("minimal"), "{ran}");
    assert_eq!(ran.all("run.started")[0]["isolation"], "minimal");
    assert_eq!(decision(&ran, "WebFetch").0, "allow");
}

#[test]
fn a_workflow_that_needs_less_isolation_lowers_nothing() {
    let place = Place::playing(fetching());
    place.workflow(
        json!({"name": "w", "promptTemplate": "{input}", "isolation": "strict", "loop": {"enabled": true}}),
    );
    let ran = place.go(&["run", "it", "--workflow", "w", "--json"]);
    assert_eq!(ran.all("run.started")[0]["isolation"], "minimal", "{ran}");
    assert!(!ran.stderr.contains("warning:"), "{ran}");
}

#[test]
fn a_workflow_that_needs_more_than_the_settings_let_it_is_refused() {
    let place = Place::with_settings("max_isolation = \"minimal\"\n");
    place.script(json!({"turns": fetching()}));
    place.workflow(json!({"name": "w", "promptTemplate": "{input}", "isolation": "permissive"}));
    place.go(&["run", "it", "--workflow", "w", "--json"]).assert_refused(5, &["permissive", "max_isolation"]);
    place.go(&["loop", "it", "--json", "--isolation", "permissive"]).assert_refused(5, &["max_isolation"]);
    assert!(place.requests().is_empty());
}

const TWO: &str = "name: two
nodes:
  - parallel: { join: all }
    branches:
      a: [ { id: pq, ask: 'A?' } ]
      b: [ { id: pq2, ask: 'B?', choices: [yes, no] } ]
";

#[test]
fn an_answer_that_could_be_to_several_questions_is_refused_with_the_command_for_each() {
    let place = Place::playing(json!([{"steps": [say("ok")]}]));
    place.sealed.write("repo/.windlass/workflows/two.yaml", TWO);
    let mut going = place.start(&["run", "--workflow", "two", "--json", "--on-question", "wait"]);
    going.wait_for("run.waiting");
    let run = going.run();
    let commands = [
        format!("windlass answer {run} \"TEXT\" --to ask/pq"),
        format!("windlass answer {run} \"TEXT\" --to ask/pq2"),
    ];
    let shown = place.go(&["show", &run]);
    let told = place.go(&["logs", &run]);
    for command in &commands {
        assert!(shown.stdout.contains(&format!("{command}\n")), "{shown}");
        assert!(told.stdout.contains(&format!("{command}\n")), "{told}");
    }
    let [first, second] = &commands;
    let words = ["has 2 open questions", "`pq` asks: A?", "`pq2` asks: B?", first.as_str(), second.as_str()];
    place.go(&["answer", &run, "yes"]).assert_refused(2, &words);
    place.go(&["approve", &run]).assert_refused(2, &words);
    let named = place.go(&["answer", &run, "yes", "--question", "B?"]);
    assert_eq!(named.code, 0, "{named}");
    assert!(named.stderr.contains(&format!("answered run {run}: `pq2` asks: B?")), "{named}");
    let other = place.go(&["answer", &run, "fine", "--to", "ask/pq", "--json"]);
    assert_eq!(other.all("run.answered")[0]["node"], "pq", "{other}");
    let ran = going.end();
    assert_eq!(ran.code, 0, "{ran}");
}
