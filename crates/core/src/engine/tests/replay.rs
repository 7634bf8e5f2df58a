//! Looking back at a log.

use super::*;
use crate::graph::builder::{LoopRounds, ask, clear_context, prompt, shell, wait};
use crate::graph::workflow::{ShellNode, Template, TurnLoop};

fn run() -> RunId {
    RunId::new("r")
}

fn node(name: &str) -> NodeId {
    NodeId::new(name)
}

/// Two sessions with a command line between them, told to its end.
fn three() -> Story {
    let workflow = Builder::new("w")
        .start(prompt("x").id("a"))
        .then(shell("echo {{ outputs.a.text }}").id("b"))
        .then(prompt("y").id("c"));
    let mut story = Story::drawn(workflow);
    story.says("a", "hi").shell("b", true, "").says("c", "bye");
    story
}

#[test]
fn a_log_is_decided_again_as_it_was() {
    let story = three();
    let replayed = engine_replay(&story);
    assert_eq!((replayed.records, replayed.differences.as_slice()), (story.records.len(), [].as_slice()));
    assert_eq!(replayed.state, Some(story.state));
}

fn engine_replay(story: &Story) -> Replayed {
    super::super::replay(run(), &story.records)
}

#[test]
fn what_was_decided_otherwise_is_named_with_its_record() {
    let mut story = three();
    story.records[1].effects.clear();
    story.records[2].news.push(News::Paused);
    if let Some(planned) = story.records[5].effects.first_mut() {
        planned.effect = Effect::KillChildren;
    }
    let told: Vec<String> = engine_replay(&story).differences.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "record 2: it also does `a.1.1.session`",
            "record 3: it no longer reports `paused`",
            "record 6: it does `c.1.1.prepare` differently",
        ]
    );
}

#[test]
fn a_log_is_followed_as_long_as_its_effects_are_those_that_are_planned() {
    let mut story = three();
    let follow = |story: &Story| super::super::follow(&run(), None, (1..).zip(&story.records));
    assert_eq!(follow(&story), Followed { state: Some(story.state.clone()), divergence: None });
    story.records[2].news.push(News::Paused);
    if let Some(planned) = story.records[5].effects.first_mut() {
        planned.effect = Effect::KillChildren;
    }
    assert_eq!(follow(&story).divergence, None, "it is told or done in another way, but the same is done");
    story.records[1].effects.clear();
    story.records[6].effects.clear();
    let Followed { state, divergence } = follow(&story);
    assert_eq!(state, Some(story.state), "who looks at it sees it all the same");
    let told = divergence.map(|divergence| divergence.to_string());
    let first = "record 2 planned nothing, but this windlass plans `a.1.1.session`";
    assert_eq!(told.as_deref(), Some(first));
}

#[test]
fn a_log_without_a_beginning_has_no_state() {
    let story = three();
    let replayed = super::super::replay(run(), &story.records[1..3]);
    assert_eq!(replayed.state, None);
    assert_eq!(replayed.differences.len(), 2);
    assert_eq!(super::super::replay(run(), &[]).differences, []);
}

#[test]
fn money_is_read_from_a_log_as_it_was_written() {
    let effect = EffectId { node: node("a"), iteration: 1, attempt: 1, verb: Verb::Session };
    let usage = Usage { cost_usd: Some(0.103_436_770_103_436_77), ..Usage::default() };
    let end = SessionEnd { usage, ..session_end(SessionVerdict::Completed) };
    let event = Event::SessionEnded { effect, end };
    let text = serde_json::to_string(&event).expect("it can be written");
    assert_eq!(
        serde_json::from_str::<Event>(&text).expect("it can be read"),
        event,
        "else a replay decides otherwise"
    );
}

#[test]
fn other_orders_that_change_nothing_are_no_difference() {
    let story = three();
    let same = what_if(run(), &story.records, |spec| spec.budget.turns = Some(2));
    assert_eq!(same.differs, None);
    assert_eq!(same.outcome(), story.state.outcome());
}

#[test]
fn other_orders_are_followed_to_where_they_first_make_a_difference() {
    let story = three();
    let less = what_if(run(), &story.records, |spec| spec.budget.turns = Some(1));
    let Some(Difference { seq, what }) = &less.differs else { panic!("there is a difference") };
    assert_eq!(*seq, 7, "the second session is prepared, and may not begin");
    assert_eq!(what, "it does `c.1.1.cleanup` instead of `c.1.1.session`");
    assert_eq!(less.outcome(), None, "it would be about to end");
    assert_eq!(less.records, story.records.len());
}

#[test]
fn other_orders_can_end_a_run_earlier() {
    let story = three();
    let broken = what_if(run(), &story.records, |spec| {
        spec.body[1].kind = NodeKind::Shell(ShellNode {
            command: Template("{{ outputs.nobody.text }}".into()),
            idempotent: false,
            stdin: None,
            schema: None,
        });
    });
    assert_eq!(broken.differs.as_ref().map(|difference| difference.seq), Some(5));
    let outcome = broken.outcome().expect("it ends there");
    assert_eq!((outcome.status, outcome.reason), (FinalStatus::Failed, EndReason::Template));
}

#[test]
fn other_orders_can_make_a_difference_from_the_beginning() {
    let story = three();
    let other = what_if(run(), &story.records, |spec| spec.body.clear());
    assert_eq!(other.differs.as_ref().map(|difference| difference.seq), Some(1));
    assert_eq!(other.outcome().map(|outcome| outcome.status), Some(FinalStatus::Completed));
}

#[test]
fn a_fork_begins_where_the_node_began() {
    let story = three();
    assert_eq!(fork_point(&story.records, &node("a"), None), Ok(0));
    let second = fork_point(&story.records, &node("b"), None).expect("it ran alone");
    assert!(matches!(&story.records[second].event, Event::CleanedUp { effect } if effect.node == node("a")));
    let begins = story.records[second].effects.iter().any(|planned| planned.id.node == node("b"));
    assert!(begins);
}

#[test]
fn a_fork_can_go_another_way_from_there() {
    let story = three();
    let place = fork_point(&story.records, &node("c"), None).expect("it ran alone");
    let mut fork = fold(run(), &story.records[..place]).expect("a run");
    apply(
        &mut fork,
        NOW,
        &Event::Forked {
            from: run(),
            at: place as u64,
            seed: "other".into(),
            policy: None,
            spent: Default::default(),
        },
    );
    let step = apply(&mut fork, NOW, &story.records[place].event);
    assert_eq!(step.effects.len(), 1);
    let effect = step.effects[0].id.clone();
    let prepared = Event::Prepared {
        effect,
        end: crate::event::PrepareEnd::Ready { texts: None, fingerprint: String::new(), work: None },
        base: None,
        odd: Vec::new(),
    };
    let step = apply(&mut fork, NOW, &prepared);
    let Some(Effect::StartSession(plan)) = step.effects.first().map(|planned| &planned.effect) else {
        panic!("a turn begins")
    };
    assert!(
        !story.records.iter().flat_map(|record| &record.effects).any(|planned| matches!(
            &planned.effect,
            Effect::StartSession(old) if old.session == plan.session
        )),
        "in a conversation of its own"
    );
}

#[test]
fn a_fork_asks_where_the_other_run_could_not() {
    let workflow = Builder::new("w").start(shell("x").id("x")).then(ask("ok?").id("q"));
    let mut story = Story::drawn(workflow);
    story.shell("x", true, "");
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::Question));
    let place = fork_point(&story.records, &node("q"), None).expect("it ran alone");
    let mut records = story.records[..place].to_vec();
    let mut fork = fold(run(), &records).expect("a run");
    let policy = Policy { on_permission: OnPermission::Deny, on_question: OnQuestion::Wait };
    let forked = Event::Forked {
        from: run(),
        at: place as u64,
        seed: "other".into(),
        policy: Some(policy),
        spent: Default::default(),
    };
    for event in [forked, story.records[place].event.clone()] {
        records.push(apply(&mut fork, NOW, &event).record(NOW, event));
    }
    assert!(matches!(fork.progress(), Progress::Waiting(Waiting::Person(_))));
    assert_eq!(fold(run(), &records), Some(fork), "and whoever resumes it does the same");
}

#[test]
fn the_rounds_of_a_node_are_counted_for_a_fork() {
    let workflow = Builder::new("w").start(clear_context()).loop_(LoopRounds::times(3), |round| {
        round.then(shell("x").id("x").retry(1, std::time::Duration::ZERO)).then(shell("y").id("xy"))
    });
    let mut story = Story::drawn(workflow);
    story.shell("x@1", false, "").wait_over("x@1", Verb::Retry).shell("x@1~2", true, "");
    story.shell("xy@1", true, "").shell("x@2", true, "").shell("xy@2", true, "");
    let begins = |iteration| fork_point(&story.records, &node("x"), iteration);
    assert_eq!((begins(None), begins(Some(1))), (Ok(0), Ok(0)));
    assert_eq!(begins(Some(2)), Ok(2), "the second try");
    assert_eq!(begins(Some(3)), Ok(4), "the second round");
    assert_eq!(begins(Some(4)), Ok(6));
    let wrong = ForkError::NotSoOften { node: node("x"), times: 4, wanted: 5 };
    assert_eq!(begins(Some(5)), Err(wrong.clone()));
    assert_eq!(wrong.to_string(), "`x` ran 4 times, so there is no 5th time");
    let rank = |wanted| ForkError::NotSoOften { node: node("x"), times: 1, wanted }.to_string();
    for (wanted, name) in [(2, "2nd"), (3, "3rd"), (11, "11th"), (21, "21st"), (112, "112th")] {
        assert_eq!(rank(wanted), format!("`x` ran once, so there is no {name} time"));
    }
    assert!(matches!(begins(Some(0)), Err(ForkError::NotSoOften { .. })));
    assert_eq!(fork_point(&story.records, &node("loop"), None), Ok(0), "a block begins, too");
}

#[test]
fn a_node_that_never_ran_is_no_place_for_a_fork() {
    let story = three();
    let wrong = fork_point(&story.records, &node("nobody"), None);
    assert_eq!(wrong, Err(ForkError::NeverRan { node: node("nobody") }));
    assert_eq!(fork_point(&story.records[1..], &node("a"), None), Err(ForkError::NoRun));
}

#[test]
fn where_other_work_is_under_way_there_is_no_place_for_a_fork() {
    let workflow = Builder::new("w").start(shell("first").id("first")).parallel(|lanes| {
        let lanes = lanes.branch("a", |a| a.then(shell("a").id("a")).then(shell("a2").id("a2")));
        lanes.branch("b", |b| b.then(shell("b").id("b")))
    });
    let mut story = Story::drawn(workflow);
    story.shell("first", true, "").shell("a", true, "").shell("a2", true, "").shell("b", true, "");
    assert_eq!(fork_point(&story.records, &node("a"), None), Ok(1), "both begin there");
    let busy = fork_point(&story.records, &node("a2"), None).expect_err("b was under way");
    assert_eq!(
        busy.to_string(),
        "other work was in progress when `a2` started: b.1.1.shell; fork at a node that ran alone"
    );
}

#[test]
fn a_wait_is_no_work_that_hinders_a_fork() {
    let mut spec = drawn(Builder::new("w").start(clear_context()).parallel(|lanes| {
        let lanes = lanes.branch("a", |a| a.then(shell("a").id("a")).then(shell("a2").id("a2")));
        lanes.branch("b", |b| b.then(wait(std::time::Duration::from_secs(9)).id("b")))
    }));
    spec.body[1].settings.timeout_ms = Some(60_000);
    let mut story = Story::of(spec);
    story.shell("a", true, "");
    assert_eq!(fork_point(&story.records, &node("a2"), None), Ok(1));
}

fn one_loop(mode: LoopMode) -> Story {
    let turns = TurnLoop { mode: Some(mode), max: Some(5), ..TurnLoop::default() };
    let mut story = Story::drawn(Builder::new("w").start(prompt("x").turns(turns).id("loop")));
    story.prepared("loop");
    story
}

#[test]
fn a_loop_alone_is_forked_at_a_turn() {
    let mut story = one_loop(LoopMode::Fresh);
    for _ in 0..2 {
        story.session_ends(SessionVerdict::Interrupted { what: "killed".into() });
        story.session_ends(SessionVerdict::Completed).seen(false);
    }
    let begins = |turn| fork_point(&story.records, &node("loop"), turn);
    assert_eq!((begins(None), begins(Some(1))), (Ok(0), Ok(0)));
    assert_eq!((begins(Some(2)), begins(Some(3))), (Ok(4), Ok(7)));
    assert!(matches!(begins(Some(4)), Err(ForkError::NotSoOften { times: 3, .. })));
}

#[test]
fn a_turn_that_goes_on_in_a_living_session_is_no_place_for_a_fork() {
    let mut story = one_loop(LoopMode::InSession);
    story.stops("h").seen(false);
    let at = |story: &Story, turn| fork_point(&story.records, &node("loop"), Some(turn));
    let in_session = Err(ForkError::InSession { node: node("loop") });
    assert_eq!((at(&story, 1), at(&story, 2)), (Ok(0), in_session.clone()));
    assert!(matches!(at(&story, 3), Err(ForkError::NotSoOften { times: 2, .. })));
    // What a plugin holds is not in the log.
    let mut story = one_loop(LoopMode::Plugin);
    story.stops("h");
    assert_eq!((at(&story, 1), at(&story, 2)), (Ok(0), in_session));
}
