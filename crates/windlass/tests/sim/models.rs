//! The models of a session: lists of models, and models from inputs.

use crate::place::{Place, Ran, say};
use serde_json::{Value, json};

/// A place whose agent is refused in its first attempts, with these statuses.
fn place(document: &str, refused: &[u16]) -> Place {
    let place = Place::with_settings("");
    let refuse = |status: &u16| json!({"steps": [{"api_error": {"status": status, "message": "not now"}}]});
    let attempts: Vec<Value> = refused.iter().map(refuse).chain([json!({"steps": [say("Fine.")]})]).collect();
    place.script(json!({"default": {"steps": [say("Fine.")], "attempts": attempts}}));
    place.sealed.write("repo/.windlass/workflows/w.yaml", format!("name: w\n{document}"));
    place
}

/// Returns the model of each start of the agent.
fn models(ran: &Ran) -> Vec<String> {
    let events = ran.all("session.event");
    let starts = events.iter().filter_map(|data| {
        let event = if data["event"].is_object() { &data["event"] } else { *data };
        (event["kind"] == "session_init").then(|| event["model"].as_str().unwrap().to_owned())
    });
    starts.collect()
}

const LIST: &str = "nodes:\n  - { prompt: Go., model: [opus, sonnet] }\n";

#[test]
fn an_unknown_model_gives_way_to_the_next_in_the_same_turn() {
    let place = place(LIST, &[404]);
    let ran = place.go(&["run", "--workflow", "w", "--json"]);
    ran.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(models(&ran), ["opus", "sonnet"]);
    let retried: Vec<&str> =
        ran.all("node.retrying").iter().filter_map(|data| data["what"].as_str()).collect();
    assert!(retried.iter().all(|what| what.contains("model `opus` is not available")), "{retried:?}");
}

#[test]
fn an_overloaded_model_gives_way_after_the_usual_tries() {
    let place = place(LIST, &[529, 529, 529, 529]);
    let ran = place.go(&["run", "--workflow", "w", "--json"]);
    ran.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(models(&ran), ["opus", "opus", "opus", "opus", "sonnet"]);
}

#[test]
fn without_another_model_the_run_fails() {
    let place = place("nodes:\n  - { prompt: Go., model: opus }\n", &[404, 404]);
    place.go(&["run", "--workflow", "w", "--json"]).assert_ended(4, "failed", "agent_failed", 0);
}

#[test]
fn an_input_or_a_flag_chooses_the_model() {
    let document = "inputs: { model: { default: haiku } }\nsettings: { model: inputs.model, effort: high }\nnodes:\n  - { prompt: Go. }\n";
    let place = place(document, &[]);
    let ran = place.go(&["run", "--workflow", "w", "--json"]);
    assert_eq!(models(&ran), ["haiku"]);
    let ran = place.go(&["run", "--workflow", "w", "--input", "model=opus", "--json"]);
    assert_eq!(models(&ran), ["opus"]);
    let ran = place.go(&["run", "--workflow", "w", "--model", "sonnet", "--json"]);
    assert_eq!(models(&ran), ["sonnet"]);
}
