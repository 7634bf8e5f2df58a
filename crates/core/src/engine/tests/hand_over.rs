//! Work that one driver gives to another.

use super::session::{begin, of_loop};
use super::*;
use crate::event::{SessionFailure, WorkSoFar};
use crate::run::News;

fn with_drivers(mode: LoopMode, drivers: &[&str], switch_back: bool) -> Story {
    let mut spec = of_loop(rules(mode, 9));
    let settings = spec.sessions.get_mut(&NodeId::new("loop")).unwrap();
    let own = settings.clone();
    let with = |name: &&str| {
        let mut other = own.clone();
        (*name).clone_into(&mut other.driver.name);
        other
    };
    settings.fallback = drivers.iter().map(with).collect();
    settings.switch_back = switch_back;
    // A driver without a stop hook.
    for other in settings.fallback.iter_mut().filter(|other| other.driver.name == "plain") {
        other.rules.as_mut().unwrap().mode = LoopMode::Resume;
    }
    begin(spec)
}

fn limited(until: i64) -> SessionVerdict {
    SessionVerdict::RateLimited { resets_at: Some(Moment(until)) }
}

fn looked(story: &mut Story) {
    let effect = story.open_of("loop", Verb::Prepare);
    let work = WorkSoFar { commits: vec!["abc Half of it".into()], files: vec!["a.rs +3 -1".into()] };
    let end = crate::event::PrepareEnd::Ready { texts: None, fingerprint: "other".into(), work: Some(work) };
    story.tell(Event::Prepared { effect, end, base: None, odd: Vec::new() });
}

fn handed_over(story: &Story) -> Vec<(String, String)> {
    let of = |news: &News| match news {
        News::HandedOver { from, to, .. } => Some((from.clone(), to.clone())),
        _ => None,
    };
    story.records.iter().flat_map(|record| record.news.iter().filter_map(of)).collect()
}

fn pair(from: &str, to: &str) -> (String, String) {
    (from.to_owned(), to.to_owned())
}

#[test]
fn the_next_driver_repeats_the_turn_in_a_new_session_and_hears_of_the_work() {
    let mut story = with_drivers(LoopMode::Fresh, &["codex", "opencode"], false);
    let first = story.plan();
    assert_eq!(first.driver, None);
    story.session_ends(limited(9_000_000));
    assert_eq!(handed_over(&story), [pair("sim", "codex")]);
    assert_eq!(story.state.driver_of(&NodeId::new("loop")), Some("codex"));
    looked(&mut story);
    let second = story.plan();
    assert_eq!((second.driver.as_deref(), second.resume), (Some("codex"), false));
    assert_ne!(second.session, first.session);
    for part in ["do it", "abc Half of it", "a.rs +3 -1", "words", "Another agent worked on this"] {
        assert!(second.prompt.contains(part), "{part} in {}", second.prompt);
    }
    assert_eq!((story.state.spent.turns, story.state.turns()), (1, 0), "the turn counts once");
    let third = story.turn(false).plan();
    assert_eq!(third.driver.as_deref(), Some("codex"), "it keeps the work");
    assert!(!third.prompt.contains("Another agent"), "{}", third.prompt);
    assert_eq!(story.turn(true).ends(), (FinalStatus::Completed, EndReason::Marker));
}

#[test]
fn a_short_limit_is_waited_for_and_so_is_one_of_all_drivers() {
    let mut story = with_drivers(LoopMode::Fresh, &["codex"], false);
    story.session_ends(limited(NOW.0 + 60_000)).later(60_000).wait_over("loop", Verb::Wait);
    assert_eq!((handed_over(&story), story.plan().resume), (Vec::new(), true));
    story.session_ends(limited(9_000_000));
    looked(&mut story);
    story.session_ends(limited(5_000_000));
    let until = Moment(5_000_000);
    assert_eq!(story.state.progress(), Progress::Waiting(Waiting::RateLimit { until }), "the first to reset");
    story.later(5_000_000).wait_over("loop", Verb::Wait);
    assert_eq!(story.plan().driver.as_deref(), Some("codex"));
    assert_eq!(handed_over(&story), [pair("sim", "codex")]);
}

#[test]
fn the_driver_that_resets_first_takes_the_work_after_a_wait_for_all() {
    let mut story = with_drivers(LoopMode::Fresh, &["codex"], false);
    story.session_ends(limited(5_000_000));
    looked(&mut story);
    story.session_ends(limited(9_000_000));
    story.later(5_000_000).wait_over("loop", Verb::Wait);
    assert_eq!(handed_over(&story), [pair("sim", "codex"), pair("codex", "sim")]);
    looked(&mut story);
    assert_eq!(story.plan().driver, None);
}

#[test]
fn repeated_errors_hand_over_once_through_all_drivers_and_then_fail() {
    let mut story = with_drivers(LoopMode::Fresh, &["codex", "opencode"], false);
    for _ in 0..3 {
        for _ in 0..3 {
            story
                .session_ends(SessionVerdict::Transient { what: "529".into() })
                .wait_over("loop", Verb::Wait);
        }
        story.session_ends(SessionVerdict::Transient { what: "529".into() });
        if story.state.bookkeeping.open.iter().any(|planned| planned.id.verb == Verb::Prepare) {
            looked(&mut story);
        }
    }
    assert_eq!(handed_over(&story), [pair("sim", "codex"), pair("codex", "opencode")]);
    assert_eq!(story.cleaned("loop").ended(), (FinalStatus::Failed, EndReason::TransientErrors));
}

#[test]
fn a_driver_without_the_model_hands_over() {
    let mut story = with_drivers(LoopMode::Fresh, &["codex"], false);
    story.session_ends(SessionVerdict::Failed { cause: SessionFailure::Model, what: "404".into() });
    assert_eq!(handed_over(&story), [pair("sim", "codex")]);
}

#[test]
fn each_driver_loops_in_a_way_that_it_can() {
    let mut story = with_drivers(LoopMode::InSession, &["plain"], false);
    assert!(story.plan().holds_stop);
    story.session_ends(limited(9_000_000));
    looked(&mut story);
    assert!(!story.plan().holds_stop);
    let next = story.turn(false).plan();
    assert!(next.resume);
}

#[test]
fn a_run_that_ended_in_the_middle_of_a_hand_over_looks_again_and_hands_over_once() {
    let mut story = with_drivers(LoopMode::Fresh, &["codex"], false);
    story.turn(false).session_ends(limited(9_000_000));
    story.interrupt().cleaned("loop");
    assert!(story.state.is_done());
    story.goes_on_after_end();
    looked(&mut story);
    let plan = story.plan();
    assert_eq!((plan.driver.as_deref(), plan.resume), (Some("codex"), false));
    assert!(plan.prompt.contains("abc Half of it"));
    assert_eq!(handed_over(&story), [pair("sim", "codex")]);
    assert_eq!(story.state.spent.turns, 2);
}

#[test]
fn the_work_returns_after_the_reset_only_if_that_was_asked_for() {
    for (switch_back, driver) in [(false, Some("codex")), (true, None)] {
        let mut story = with_drivers(LoopMode::Resume, &["codex"], switch_back);
        story.session_ends(limited(500_000));
        looked(&mut story);
        story.turn(false);
        assert_eq!(story.plan().driver.as_deref(), Some("codex"), "the limit holds");
        story.later(500_000).turn(false);
        if switch_back {
            looked(&mut story);
        }
        let plan = story.plan();
        assert_eq!((plan.driver.as_deref(), plan.resume), (driver, !switch_back));
        assert_eq!(story.state.spent.turns, 3, "each turn counts");
    }
}

#[test]
fn a_node_that_starts_during_a_limit_starts_with_the_next_driver() {
    let mut story = with_drivers(LoopMode::Fresh, &["codex"], false);
    let spec = story.state.spec.clone();
    let mut two = spec.clone();
    let mut second = two.body[0].clone();
    second.id = NodeId::new("y");
    two.sessions.insert(second.id.clone(), spec.sessions[&NodeId::new("loop")].clone());
    two.body.push(second);
    story = Story::of(two);
    story.prepared("loop").session_ends(limited(9_000_000));
    looked(&mut story);
    story.turn(true).cleaned("loop").prepared("y");
    assert_eq!(story.plan().driver.as_deref(), Some("codex"));
    assert_eq!(handed_over(&story), [pair("sim", "codex"), pair("sim", "codex")]);
}
