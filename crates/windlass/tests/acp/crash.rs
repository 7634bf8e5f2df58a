//! Windlass dies at each of its crash points, and the next owner continues the conversation: the same agent ends the
//! same work, and hears no line twice.

use serde_json::{Value, json};
use windlass_testkit::acp_agent::{AcpAgent, asks, chunk};

use crate::stage::{Ended, Stage};

/// The distance between two crash points that are tried, unless `WINDLASS_SWEEP=full`.
const STEP: usize = 5;

fn stage() -> Stage {
    let end = |id: &str| json!({ "jsonrpc": "2.0", "id": id, "result": { "stopReason": "end_turn" } });
    let agent = AcpAgent::new()
        .say("windlass-prompt-1", &[&asks(5, "echo it")])
        .say("the-allow_once", &[&chunk("More is left."), &end("windlass-prompt-1")])
        .run("windlass-prompt-2", [Stage::completes()])
        .say("windlass-prompt-2", &[&chunk("Done."), &end("windlass-prompt-2")]);
    Stage::with_fake(&agent)
}

fn finished(ended: &Ended) -> Value {
    let finished = ended.of("run.finished").last().copied().cloned().unwrap_or_default();
    json!([finished["status"], finished["reason"], finished["iterations"]])
}

/// The lines of the conversation, in order.
const LINES: [&str; 6] = ["started", "initialize", "session", "prompt-1", "5", "prompt-2"];

#[test]
fn the_next_owner_continues_the_conversation_and_sends_no_line_twice() {
    let step = if std::env::var("WINDLASS_SWEEP").is_ok_and(|sweep| sweep == "full") { 1 } else { STEP };
    let mut points = 0;
    for point in (1..).step_by(step) {
        let stage = stage();
        let crash = format!("windlass:{point}");
        let died = stage.start_to_crash(&["--mode", "in_session"], &crash).end();
        if died.code.is_some() {
            assert_eq!(finished(&died), json!(["completed", "marker", 2]), "{}", died.story());
            assert_eq!(stage.heard(), LINES, "{}", died.story());
            break;
        }
        points += 1;
        if died.of("run.started").is_empty() {
            continue;
        }
        let resumed = stage.call(&["resume", &died.run(), "--json"], &[]).end();
        let over = resumed.stderr.contains("is over") || resumed.stderr.contains("has ended");
        assert!(
            over || finished(&resumed) == json!(["completed", "marker", 2]),
            "{crash}: {}",
            resumed.story()
        );
        assert_eq!(stage.heard(), LINES, "{crash}: {}", resumed.story());
    }
    assert!(points > 2, "only {points} points");
}
