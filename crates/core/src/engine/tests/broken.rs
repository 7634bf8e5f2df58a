//! Effects that break.

use super::*;
use crate::graph::builder::shell;

fn broken(story: &mut Story, node: &str, verb: Verb) {
    let effect = story.open_of(node, verb);
    story.tell(Event::EffectBroken { effect, what: "a fault".into() });
}

#[test]
fn an_effect_that_breaks_ends_the_run_whatever_its_node_says_of_failures() {
    let first = shell("x").id("x").continue_on_failure();
    let mut story = Story::drawn(Builder::new("w").start(first).then(shell("y").id("y")));
    broken(&mut story, "x", Verb::Shell);
    assert_eq!(story.wanted(), ["x.1.1.cleanup"]);
    assert_eq!(story.cleaned("x").ended(), (FinalStatus::Failed, EndReason::InternalError));
    let detail = story.state.outcome().and_then(|outcome| outcome.detail.clone());
    assert_eq!(detail.as_deref(), Some("performing `x.1.1.shell` failed: a fault"));
}

#[test]
fn a_clean_up_that_breaks_is_over_and_what_it_left_is_killed() {
    let mut story = Story::drawn(Builder::new("w").start(shell("x").id("x")).then(shell("y").id("y")));
    story.tell(Event::CancelAsked { inbox: None });
    broken(&mut story, "x", Verb::CleanUp);
    assert_eq!(story.does(), ["run.1.1.kill"]);
    assert_eq!(story.ended(), (FinalStatus::Cancelled, EndReason::User));
}

#[test]
fn an_effect_that_is_settled_cannot_break_any_more() {
    let mut story = Story::drawn(Builder::new("w").start(shell("x").id("x")).then(shell("y").id("y")));
    let effect = story.open_of("x", Verb::Shell);
    story.shell("x", true, "").tell(Event::EffectBroken { effect, what: "too late".into() });
    assert_eq!(story.step, Decision::default());
    assert_eq!(story.wanted(), ["y.1.1.shell"]);
}
