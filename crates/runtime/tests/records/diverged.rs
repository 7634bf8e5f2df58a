//! A log whose decisions this engine would not make again: the run does not go on by other rules, and can still
//! be looked at and ended.

use std::path::PathBuf;

use super::{Fixture, Stage, folder};

const CONFIGURATION: i32 = 3;

fn recorded(name: &str) -> Fixture {
    let file: PathBuf = folder().join("v3").join(format!("{name}.jsonl"));
    Fixture::read(&file)
}

#[test]
fn a_log_with_other_effects_than_the_engine_plans_is_refused_by_name_and_still_shown() {
    let mut fixture = recorded("turn");
    let tampered = fixture.replace(r#""attempt":1,"verb":"mark"}"#, r#""attempt":9,"verb":"mark"}"#);
    let run = fixture.first_run().to_owned();
    let stage = Stage::new();
    fixture.restore(&stage);

    let refused = stage.go(&["resume", &run]);
    assert_eq!(refused.code, CONFIGURATION, "{refused}");
    for words in [
        &format!("error: this version of windlass decides run {run} differently: record {tampered} planned "),
        "`loop.1.9.mark`, `loop.1.1.session`, but this windlass plans `loop.1.1.mark`, `loop.1.1.session`",
        "resume it with the windlass that started it",
        &format!("`windlass replay {run}` shows what differs"),
    ] {
        assert!(refused.stderr.contains(words), "`{words}` is missing: {refused}");
    }
    assert!(!stage.sealed.root().join("sign").exists(), "no agent was asked");

    for look in [&["ps"][..], &["show", &run], &["logs", &run]] {
        let looked = stage.go(look);
        assert_eq!(looked.code, 0, "{look:?}: {looked}");
        assert!(look[0] == "logs" || looked.stdout.contains(&run), "{look:?}: {looked}");
    }
    let replayed = stage.go(&["replay", &run]);
    assert_eq!(replayed.code, 1, "{replayed}");
    for words in ["it does `loop.1.1.mark` instead of `loop.1.9.mark`", "this windlass cannot resume it"] {
        assert!(replayed.stdout.contains(words), "`{words}` is missing: {replayed}");
    }
    let forked = stage.go(&["fork", &run, "--at", "loop:2"]);
    assert_eq!(forked.code, CONFIGURATION, "{forked}");

    let cancelled = stage.go(&["cancel", &run]);
    assert_eq!(cancelled.code, 0, "{cancelled}");
    let listed = stage.go(&["ps", "--all"]);
    assert!(listed.stdout.contains("cancelled"), "{listed}");
}

#[test]
fn a_run_whose_inner_run_was_decided_by_other_rules_stops_and_is_not_failed() {
    let mut fixture = recorded("nodes");
    fixture.replace(
        r#""effects":[{"id":{"node":"deep","iteration":1,"attempt":1,"verb":"prepare"}"#,
        r#""effects":[{"id":{"node":"deep","iteration":1,"attempt":7,"verb":"prepare"}"#,
    );
    let run = fixture.first_run().to_owned();
    let stage = Stage::new();
    fixture.restore(&stage);
    let refused = stage.go(&["resume", &run, "--json"]);
    assert_eq!(refused.code, CONFIGURATION, "{refused}");
    assert!(refused.stderr.contains("this version of windlass decides run"), "{refused}");
    assert!(refused.stderr.contains("`deep.1.7.prepare`"), "{refused}");
    let shown = stage.go(&["show", &run]);
    assert!(shown.stdout.contains("crashed"), "it is not over: {shown}");
}
