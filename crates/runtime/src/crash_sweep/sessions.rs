//! Stories of one session, made from a seed: they differ in mode, faults and the turn on which the work is
//! done.

use windlass_core::event::SessionVerdict;
use windlass_core::graph::builder::{Builder, prompt};
use windlass_core::graph::workflow::TurnLoop;
use windlass_core::id::{EffectId, Verb};
use windlass_core::looping::{LoopMode, LoopRules, MarkerMatch};
use windlass_core::spec::{Check, OnQuestion, SessionSettings, Spec};

use super::story::{Line, Script, Story, dice, session_settings, spec_of};

/// Builds the story of a seed.
pub(super) fn story(seed: u64) -> Story {
    Story::new(format!("session {seed}"), spec(seed), Script::Session(seed))
}

fn mode(seed: u64) -> LoopMode {
    [LoopMode::Fresh, LoopMode::Resume, LoopMode::InSession][dice(seed, 1, 3) as usize]
}

fn spec(seed: u64) -> Spec {
    let node = prompt("do it").turns(TurnLoop::default()).id("loop");
    let mut spec = spec_of(&Builder::new("story").start(node).end().unwrap());
    let rules = LoopRules {
        prompt: String::new(),
        mode: mode(seed),
        marker: Some("DONE".into()),
        marker_match: MarkerMatch::Line,
        promise: None,
        signal: None,
        blocked_marker: None,
        max_iterations: 4,
        continue_message: "go on".into(),
        tracker_body: String::new(),
        tracker_path: Some("/w/t.md".into()),
        stuck_after: 0,
    };
    spec.sessions.values_mut().for_each(|own| *own = session_settings(Some(rules.clone())));
    if dice(seed, 4, 2) == 0 {
        spec.sessions.values_mut().for_each(add_fallback);
    }
    spec.checks = vec![Check { name: "test".into(), command: "true".into() }; dice(seed, 3, 2) as usize];
    spec.policy.on_question = OnQuestion::Fail;
    spec
}

/// Lets two other drivers take the work over.
fn add_fallback(own: &mut SessionSettings) {
    own.fallback = ["codex", "opencode"]
        .map(|name| {
            let mut other = own.clone();
            name.clone_into(&mut other.driver.name);
            other
        })
        .to_vec();
    own.switch_back = true;
}

/// Returns the script line of an effect in the story of a seed.
pub(super) fn line(seed: u64, id: &EffectId) -> Line {
    let what = || "story".to_owned();
    let verdict = match dice(seed, 100 + u64::from(id.iteration) * 8 + u64::from(id.attempt), 6) {
        0 if id.attempt < 3 => SessionVerdict::RateLimited { resets_at: None },
        1 if id.attempt < 3 => SessionVerdict::Transient { what: what() },
        2 if id.attempt < 3 => SessionVerdict::Interrupted { what: what() },
        _ => SessionVerdict::Completed,
    };
    let ok = id.verb != Verb::Checks || dice(seed, 50 + u64::from(id.iteration), 3) > 0;
    Line { ok, verdict, done_on: 1 + dice(seed, 2, 5) as u32, ..Line::default() }
}
