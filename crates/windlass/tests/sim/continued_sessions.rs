//! Nodes that continue the session of an earlier node: `continue`.

use crate::place::Place;
use serde_json::Value;

const CHAT: &str = r#"
name: chat
nodes:
  - { id: plan, prompt: Plan it. }
  - loop: { until: iteration > 2, max: 3 }
    do:
      - { id: chat, prompt: "Round {{ iteration }}", continue: chat }
  - { id: build, prompt: Build it., continue: plan }
"#;

fn place(document: &str) -> Place {
    Place::with_documents(&[document])
}

/// Returns the node, the session and whether it was resumed, of each turn.
fn sessions(place: &Place) -> Vec<(String, String, bool)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let turn = |request: &Value| {
        (text(&request["node"]), text(&request["session"]), request["resumed"].as_bool().unwrap())
    };
    place.requests().iter().map(turn).collect()
}

#[test]
fn a_node_continues_its_own_session_or_that_of_another_node() {
    let place = place(CHAT);
    place.go(&["run", "--workflow", "chat", "--json"]).assert_ended(0, "completed", "all_done", 5);
    let turns = sessions(&place);
    let nodes: Vec<(&str, bool)> = turns.iter().map(|(node, _, resumed)| (node.as_str(), *resumed)).collect();
    let expected = [("plan", false), ("chat@1", false), ("chat@2", true), ("chat@3", true), ("build", true)];
    assert_eq!(nodes, expected);
    let id = |place: usize| &turns[place].1;
    assert!(id(1) == id(2) && id(2) == id(3) && id(0) == id(4) && id(0) != id(1), "{turns:?}");
    assert_eq!(place.prompts().last().unwrap(), "Build it.");
}

#[test]
fn a_fork_starts_a_new_session_and_says_so() {
    let place = place(CHAT);
    let ran = place.go(&["run", "--workflow", "chat", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 5);
    let forked = place.go(&["fork", ran.run(), "--at", "build"]);
    assert_eq!(forked.code, 0, "{forked}");
    let turns = sessions(&place);
    let (node, session, resumed) = turns.last().unwrap();
    assert_eq!((node.as_str(), *resumed), ("build", false));
    assert_ne!(*session, turns[0].1);
    let why = "the session of `plan` belongs to the run that this one was forked from, so a new one starts";
    assert!(forked.to_string().contains(why), "{forked}");
}

#[test]
fn a_run_that_is_continued_resumes_the_session() {
    let place = place(
        "name: two\nnodes:\n  - { id: plan, prompt: Plan it. }\n  - { id: stop, shell: test -e go }\n  - { id: build, prompt: Build it., continue: plan }\n",
    );
    let ran = place.go(&["run", "--workflow", "two", "--json"]);
    ran.assert_ended(4, "failed", "shell_failed", 1);
    place.sealed.write("repo/go", "");
    let again = place.go(&["resume", ran.run(), "--json"]);
    again.assert_ended(0, "completed", "all_done", 2);
    let turns = sessions(&place);
    assert_eq!((turns.len(), turns[1].2), (2, true));
    assert_eq!(turns[0].1, turns[1].1);
}
