//! Nodes one after the other, branches, rounds, several at once.

use std::time::Duration;

use super::*;
use crate::graph::builder::{
    LoopRounds, Steps, ask, check_all, clear_context, criteria_loop, fail, prompt, shell, task_loop,
};
use crate::graph::workflow::{Expression, Join, LoopNode};
use crate::run::NodeCause;

const NONE: Duration = Duration::ZERO;

fn news_of_nodes(story: &Story) -> Vec<String> {
    let told = story.records.iter().flat_map(|record| &record.news).filter_map(|news| match news {
        News::NodeStarted { node, .. } => Some(format!("+{node}")),
        News::NodeFinished { node, outcome, .. } => Some(format!("-{node} {}", outcome.status.word())),
        News::NodeSkipped { node, .. } => Some(format!("/{node}")),
        _ => None,
    });
    told.collect()
}

#[test]
fn nodes_run_one_after_the_other_and_later_ones_see_what_earlier_ones_gave() {
    let workflow = Builder::new("w")
        .start(prompt("first: {{ input }}").id("a"))
        .then(shell("echo {{ outputs.a.text }}").id("b"))
        .then(prompt("then: {{ outputs.b.text }} {{ outputs.b.status }}").id("c"));
    let mut story = Story::drawn(workflow);
    assert_eq!(story.wanted(), ["a.1.1.prepare"]);
    story.prepared("a");
    assert_eq!(story.plan().prompt, "first: do it");
    story.session_ends(SessionVerdict::Completed).seen(false).cleaned("a");
    assert_eq!(story.command("b"), "echo words");
    story.shell("b", true, "printed").prepared("c");
    assert_eq!(story.plan().prompt, "then: printed completed");
    story.session_ends(SessionVerdict::Completed).seen(false).cleaned("c");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
    let news = ["+a", "-a completed", "+b", "-b completed", "+c", "-c completed"];
    assert_eq!(news_of_nodes(&story), news);
    let cause = &story.state.bookkeeping.nodes[&NodeId::new("b")].cause;
    assert_eq!(*cause, NodeCause::After { node: NodeId::new("a"), status: "completed".into() });
}

#[test]
fn a_condition_compares_an_output_as_the_text_it_is() {
    for (answer, way) in [("commit", "yes"), ("drop", "no")] {
        let workflow = Builder::new("w").start(ask("Commit?").choices(["commit", "drop"]).id("ok")).if_(
            "outputs.ok == 'commit'",
            |then| then.then(shell("git commit").id("yes")),
            |otherwise| otherwise.then(shell("git checkout -- .").id("no")),
        );
        let mut spec = drawn(workflow);
        spec.policy.on_question = OnQuestion::Wait;
        let mut story = Story::of(spec);
        assert_eq!(story.answers(None, answer).wanted(), [format!("{way}.1.1.shell")]);
    }
}

#[test]
fn a_template_about_all_outputs_sees_all_of_them() {
    let workflow = Builder::new("w")
        .start(shell("x").id("a"))
        .then(shell("y").id("b"))
        .then(shell("{% for id in outputs %}{{ id }} {% endfor %}{{ 'a' in outputs }}").id("c"));
    let mut story = Story::drawn(workflow);
    story.shell("a", true, "").shell("b", true, "");
    assert_eq!(story.command("c"), "a b true");
}

#[test]
fn a_run_without_nodes_is_over_at_once() {
    assert_eq!(Story::of(spec_of(vec![])).ended(), (FinalStatus::Completed, EndReason::AllDone));
    let only = Story::drawn(Builder::new("w").start(clear_context()));
    assert_eq!(only.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_failure_ends_the_run_and_what_comes_after_never_begins() {
    let workflow = Builder::new("w").start(prompt("x").id("a")).then(shell("y").id("b"));
    let mut story = Story::drawn(workflow);
    assert_eq!(story.breaks("a").ended(), (FinalStatus::Failed, EndReason::AgentFailed));
    assert!(!story.state.bookkeeping.nodes.contains_key(&NodeId::new("b")));
}

#[test]
fn a_failure_that_is_lived_with_is_seen_by_later_nodes() {
    let workflow = Builder::new("w")
        .start(shell("x").id("a").continue_on_failure())
        .then(shell("{{ outputs.a.failed }} {{ outputs.a.text }}").id("b"));
    let mut story = Story::drawn(workflow);
    story.shell("a", false, "oh");
    assert_eq!(story.command("b"), "true oh");
    assert_eq!(story.shell("b", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_node_is_left_out_where_its_condition_does_not_hold() {
    let workflow = Builder::new("w")
        .start(shell("x").id("a").when("input == 'other'"))
        .then(shell("{{ outputs.a is defined }}").id("b").when("input == 'do it'"));
    let mut story = Story::drawn(workflow);
    assert_eq!(story.command("b"), "false");
    story.shell("b", true, "");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
    assert_eq!(news_of_nodes(&story), ["/a", "+b", "-b completed"]);
    let seen = &story.state.bookkeeping.nodes[&NodeId::new("a")];
    assert_eq!((seen.times, seen.outcome.as_ref()), (0, None));
}

#[test]
fn a_condition_that_has_no_value_fails_its_node() {
    let node = shell("x").id("a").when("outputs.nobody.text == 'x'").retry(2, NONE);
    assert_eq!(
        Story::drawn(Builder::new("w").start(node)).ended(),
        (FinalStatus::Failed, EndReason::Template)
    );
    let workflow = Builder::new("w").start(shell("{{ outputs.nobody.text }}").id("a"));
    let story = Story::drawn(workflow);
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Template));
    assert!(story.detail().contains("{{ outputs.nobody.text }}"), "{}", story.detail());
}

#[test]
fn one_of_two_ways_is_taken() {
    let two_ways = || {
        Builder::new("w").start(shell("x").id("a")).if_(
            "outputs.a.text == 'yes'",
            |yes| yes.then(shell("y").id("yes")),
            |no| no.then(shell("n").id("no")),
        )
    };
    let mut story = Story::drawn(two_ways());
    assert_eq!(story.shell("a", true, "yes").wanted(), ["yes.1.1.shell"]);
    assert_eq!(story.shell("yes", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
    let mut story = Story::drawn(two_ways());
    assert_eq!(story.shell("a", true, "no").wanted(), ["no.1.1.shell"]);
    assert_eq!(story.shell("no", false, "").ended(), (FinalStatus::Failed, EndReason::ShellFailed));
}

#[test]
fn what_the_other_way_gave_in_an_earlier_round_is_forgotten() {
    let workflow = Builder::new("w").start(clear_context()).loop_(LoopRounds::times(2), |round| {
        round
            .if_("iteration == 1", |first| first.then(shell("x").id("one")), |no| no)
            .then(shell("{{ outputs.one is defined }}").id("look"))
    });
    let mut story = Story::drawn(workflow);
    story.shell("one@1", true, "");
    assert_eq!(story.command("look@1"), "true");
    story.shell("look@1", true, "");
    assert_eq!(story.command("look@2"), "false");
}

#[test]
fn a_loop_goes_round_until_its_condition_holds() {
    let workflow = Builder::new("w")
        .start(clear_context())
        .loop_(LoopRounds::until("outputs.x.text == 'ok'").max(5), |round| {
            round.then(shell("try {{ iteration }}").id("x"))
        })
        .id("l")
        .then(shell("{{ outputs.l.value.iteration }}").id("after"));
    let mut story = Story::drawn(workflow);
    assert_eq!(story.command("x@1"), "try 1");
    story.shell("x@1", true, "no");
    assert_eq!(story.command("x@2"), "try 2");
    story.shell("x@2", true, "ok");
    assert_eq!(story.command("after"), "2");
    assert_eq!(story.became("l"), (FinalStatus::Completed, EndReason::Until));
    assert_eq!(story.shell("after", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_loop_that_never_gets_there_is_exhausted_and_one_without_a_condition_is_done() {
    let workflow = |rounds| {
        Builder::new("w").start(clear_context()).loop_(rounds, |round| round.then(shell("x").id("x"))).id("l")
    };
    let mut story = Story::drawn(workflow(LoopRounds::until("false").max(2)));
    story.shell("x@1", true, "").shell("x@2", true, "");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::MaxIterations));
    let mut story = Story::drawn(workflow(LoopRounds::times(2)));
    story.shell("x@1", true, "").shell("x@2", true, "");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_round_is_told_what_was_wrong_in_the_one_before_it() {
    let mut spec = drawn(Builder::new("w").start(clear_context()).loop_(
        LoopRounds::until("not outputs.tests.failed").max(3),
        |round| {
            round
                .then(prompt("Fix it. {{ feedback }}").id("fix"))
                .then(check_all().id("tests").continue_on_failure())
        },
    ));
    spec.checks = vec![test_check()];
    let mut story = Story::of(spec);
    story.says("fix@1", "done").checks("tests@1", false).prepared("fix@2");
    let told = story.plan().prompt;
    assert!(told.starts_with("Fix it. `tests`: ") && told.contains("boom"), "{told}");
    story.session_ends(SessionVerdict::Completed).seen(false).cleaned("fix@2").checks("tests@2", true);
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_failure_in_a_round_ends_the_loop() {
    let workflow = Builder::new("w")
        .start(clear_context())
        .loop_(LoopRounds::times(3), |round| round.then(shell("x").id("x")));
    let mut story = Story::drawn(workflow);
    assert_eq!(story.shell("x@1", false, "").ended(), (FinalStatus::Failed, EndReason::ShellFailed));
}

#[test]
fn loops_in_loops_have_names_of_their_own() {
    let workflow = Builder::new("w").start(clear_context()).loop_(LoopRounds::times(2), |outer| {
        outer.loop_(LoopRounds::times(2), |inner| inner.then(shell("{{ iteration }}").id("x")))
    });
    let mut story = Story::drawn(workflow);
    for name in ["x@1@1", "x@1@2", "x@2@1", "x@2@2"] {
        story.shell(name, true, "");
    }
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_loop_whose_rounds_take_no_time_is_ended_instead_of_going_round_for_ever() {
    let workflow = Builder::new("w")
        .start(clear_context())
        .loop_(LoopRounds::until("false"), |round| round.then(shell("x").id("x").when("false")))
        .id("l");
    let story = Story::drawn(workflow);
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::MaxIterations));
    assert!(story.detail().contains("`l`"), "{}", story.detail());
}

#[test]
fn loops_without_time_in_one_another_are_ended_too() {
    let endless = |lived_with: bool| {
        let mut spec =
            drawn(Builder::new("w").start(clear_context()).loop_(LoopRounds::until("false"), |round| {
                round.loop_(LoopRounds::until("false"), |inner| inner.then(clear_context())).id("inner")
            }));
        if let (true, NodeKind::Loop(LoopNode { body, .. })) = (lived_with, &mut spec.body[1].kind) {
            body[0].on_failure = crate::graph::workflow::OnFailure::Continue;
        }
        spec
    };
    assert_eq!(Story::of(endless(false)).ended(), (FinalStatus::Exhausted, EndReason::MaxIterations));
    assert_eq!(Story::of(endless(true)).ended(), (FinalStatus::Exhausted, EndReason::MaxIterations));
}

#[test]
fn a_criteria_loop_goes_round_until_the_last_words_hold_the_signal() {
    let workflow = Builder::new("w")
        .start(criteria_loop("ALL GREEN").max(3).each(|round| round.then(prompt("work").id("work"))).id("l"));
    let mut story = Story::drawn(workflow);
    story.prepared("work@1");
    assert!(story.plan().prompt.contains("ALL GREEN"), "the agent knows the signal");
    story.session_ends(SessionVerdict::Completed).seen(false).cleaned("work@1");
    story.says("work@2", "nearly: ALL GREEN soon").says("work@3", "so:\nALL GREEN");
    assert_eq!(story.became("l"), (FinalStatus::Completed, EndReason::Signal));
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_signal_is_heard_from_within_branches_and_tasks() {
    let branches = |round: Steps| {
        round.parallel(|lanes| {
            let lanes = lanes.branch("x", |x| x.then(prompt("x").id("x")));
            lanes.branch("y", |y| y.then(shell("y").id("y")))
        })
    };
    let mut story = Story::drawn(Builder::new("w").start(criteria_loop("S").max(2).each(branches).id("l")));
    story.says("x@1", "S").shell("y@1", true, "");
    assert_eq!(story.became("l"), (FinalStatus::Completed, EndReason::Signal));
    let tasks = |round: Steps| round.then(task_loop().each(|task| task.then(prompt("x").id("x"))).id("t"));
    let mut story = Story::drawn(Builder::new("w").start(criteria_loop("S").max(2).each(tasks).id("l")));
    let claimed = |effect, claim| Event::TaskClaimed { effect, claim, odd: Vec::new() };
    let task = Claim::Task { id: "a".parse().expect("an id"), task: serde_json::json!({}) };
    story.tell(claimed(story.open(Verb::Claim), task)).says("x@1@1", "S");
    let effect = story.open(Verb::Settle);
    story.tell(Event::TaskSettled { effect, status: TaskStatus::Passing, why: None, error: None });
    story.tell(claimed(story.open(Verb::Claim), Claim::AllDone));
    assert_eq!(story.became("l"), (FinalStatus::Completed, EndReason::Signal));
}

#[test]
fn a_signal_of_a_session_that_did_not_end_well_is_not_heard() {
    let body = |round: Steps| round.then(prompt("work").id("work").continue_on_failure());
    let mut story = Story::drawn(Builder::new("w").start(criteria_loop("S").max(2).each(body).id("l")));
    for node in ["work@1", "work@2"] {
        story.prepared(node);
        let effect = story.open_of(node, Verb::Session);
        let verdict = SessionVerdict::Failed { cause: Default::default(), what: "exit code 3".into() };
        let end = SessionEnd { last_message: Some("S".into()), ..session_end(verdict) };
        story.tell(Event::SessionEnded { effect, end }).cleaned(node);
    }
    assert_eq!(story.became("l"), (FinalStatus::Exhausted, EndReason::MaxIterations));
}

#[test]
fn a_branch_that_another_made_needless_takes_no_signal_away() {
    let branches = |round: Steps| {
        round.parallel(|lanes| {
            let lanes = lanes.join(Join::Any).branch("x", |x| x.then(prompt("x").id("x")));
            lanes.branch("y", |y| y.then(prompt("y").id("y")))
        })
    };
    let mut story = Story::drawn(Builder::new("w").start(criteria_loop("S").max(2).each(branches).id("l")));
    story.says("x@1", "S").cleaned("y@1");
    assert_eq!(story.became("l"), (FinalStatus::Completed, EndReason::Signal));
}

#[test]
fn a_session_that_answers_by_a_schema_is_asked_for_no_signal_and_takes_none_away() {
    let form = serde_json::json!({"type": "object"});
    let body = |round: Steps| {
        round.then(prompt("work").id("work")).then(prompt("look").schema(form.clone()).id("review"))
    };
    let mut story = Story::drawn(Builder::new("w").start(criteria_loop("S").max(2).each(body).id("l")));
    story.says("work@1", "S").prepared("review@1");
    assert!(!story.plan().prompt.contains("repeated until"), "{}", story.plan().prompt);
    let effect = story.open_of("review@1", Verb::Session);
    let end = SessionEnd { last_message: Some("{}".into()), ..session_end(SessionVerdict::Completed) };
    story.tell(Event::SessionEnded { effect, end }).seen(false).cleaned("review@1");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
    assert_eq!(story.became("l"), (FinalStatus::Completed, EndReason::Signal));
}

#[test]
fn what_a_template_cannot_say_is_not_tried_again() {
    let fails = |workflow: Builder| {
        let story = Story::drawn(workflow);
        assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Template));
        assert!(
            story.detail().ends_with("; not tried again: another try would end the same way"),
            "{}",
            story.detail()
        );
        assert_eq!(story.records.len(), 1, "it is over at once");
    };
    let missing = "{{ outputs.nobody.text }}";
    fails(Builder::new("w").start(shell(missing).id("a").retry(6, NONE)));
    fails(Builder::new("w").start(prompt(missing).id("a").retry(6, NONE)));
    fails(Builder::new("w").start(shell("x").id("a").when("outputs.nobody.text").retry(6, NONE)));
}

const NOT_AGAIN: &str = "; not tried again: another try would end the same way";

/// A block after a first node, which may be tried six times more.
fn tried_again(block: impl FnOnce(Builder) -> Builder) -> Story {
    let mut spec = drawn(block(Builder::new("w").start(clear_context())));
    spec.body[1].retry.times = 6;
    Story::of(spec)
}

fn is_final(story: &Story) {
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Template), "{}", story.detail());
    assert!(story.detail().ends_with(NOT_AGAIN), "{}", story.detail());
}

#[test]
fn a_block_is_not_tried_again_for_a_template_whatever_has_run_in_it() {
    let mut story = tried_again(|w| {
        w.loop_(LoopRounds::times(2), |round| {
            round.then(shell("x").id("a")).then(shell("{{ outputs.a.value.n }}").id("b"))
        })
    });
    is_final(story.shell("a~1@1", true, "fine"));
    let mut story = tried_again(|w| {
        w.loop_(LoopRounds::until("outputs.a.value.n > 1").max(2), |r| r.then(shell("x").id("a")))
    });
    is_final(story.shell("a~1@1", true, "fine"));
    let mut story = tried_again(|w| {
        w.parallel(|lanes| {
            lanes.branch("red", |lane| lane.then(shell("x").id("a"))).branch("odd", |lane| {
                lane.then(shell("y").id("b")).then(shell("{{ outputs.b.value.n }}").id("c"))
            })
        })
    });
    story.shell("a~1", false, "");
    story.shell("b~1", true, "");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ShellFailed), "the other branch is as it was");
    assert!(story.detail().ends_with(NOT_AGAIN), "{}", story.detail());
}

#[test]
fn the_first_success_is_looked_for_again_where_a_branch_may_have_one() {
    let branches = |second: &str| {
        let second = second.to_owned();
        let mut spec = drawn(Builder::new("w").start(clear_context()).parallel(|lanes| {
            let odd = "{{ outputs.nobody.text }}";
            lanes
                .branch("odd", |lane| lane.then(shell(odd).id("a")))
                .branch("other", |lane| lane.then(shell(second).id("b")))
                .join(Join::FirstSuccess)
        }));
        spec.body[1].retry.times = 1;
        Story::of(spec)
    };
    assert_eq!(branches("{{ outputs.nobody.text }}").ended(), (FinalStatus::Failed, EndReason::NoBranch));
    let mut story = branches("x");
    assert!(story.shell("b~1", false, "").wanted()[0].ends_with(".retry"));
}

#[test]
fn a_criteria_loop_without_its_signal_is_exhausted() {
    let workflow =
        Builder::new("w").start(criteria_loop("S").max(2).each(|round| round.then(prompt("work").id("a"))));
    let mut story = Story::drawn(workflow);
    story.says("a@1", "no").says("a@2", "no");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::MaxIterations));
    let workflow = Builder::new("w")
        .start(criteria_loop("S").max(1).each(|round| round.then(prompt("work").id("a"))).id("l"));
    let mut story = Story::drawn(workflow);
    story.says("a@1", "no");
    assert_eq!(story.detail(), "`l` is not done after 1 iteration");
}

fn three(limit: u32, join: Join) -> Story {
    Story::drawn(Builder::new("w").start(clear_context()).parallel(|lanes| {
        let lanes = lanes.branch("x", |x| x.then(shell("x").id("x")));
        let lanes = lanes.branch("y", |y| y.then(prompt("y").id("y")));
        lanes.branch("z", |z| z.then(shell("z").id("z")).then(shell("z2").id("z2"))).limit(limit).join(join)
    }))
}

#[test]
fn parallel_branches_run_at_once_and_all_are_waited_for() {
    let mut story = three(0, Join::All);
    assert_eq!(story.wanted(), ["x.1.1.shell", "y.1.1.prepare", "z.1.1.shell"]);
    story.shell("z", true, "").shell("x", true, "").says("y", "hi");
    assert_eq!(story.wanted(), ["z2.1.1.shell"]);
    assert_eq!(story.shell("z2", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
    let output = &story.state.bookkeeping.outputs[&NodeId::new("parallel")];
    let ended = serde_json::json!({"x": "completed", "y": "completed", "z": "completed"});
    assert_eq!(output.value, Some(serde_json::json!({ "branches": ended })));
}

#[test]
fn only_so_many_branches_run_at_once() {
    let mut story = three(1, Join::All);
    assert_eq!(story.wanted(), ["x.1.1.shell"]);
    assert_eq!(story.shell("x", true, "").wanted(), ["y.1.1.prepare"]);
    assert_eq!(story.says("y", "hi").wanted(), ["z.1.1.shell"]);
    story.shell("z", true, "").shell("z2", true, "");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_branch_that_fails_does_not_stop_the_others_but_fails_the_block() {
    let mut story = three(0, Join::All);
    story.shell("x", false, "").says("y", "hi").shell("z", true, "").shell("z2", true, "");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ShellFailed));
}

#[test]
fn any_is_over_with_the_first_branch_once_the_others_are_put_away() {
    let mut story = three(0, Join::Any);
    story.prepared("y").shell("x", false, "");
    assert_eq!(story.does(), ["y.1.1.cleanup", "z.1.1.cleanup"]);
    story.cleaned("z");
    assert!(!story.state.is_done(), "the agent is still there");
    story.cleaned("y");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ShellFailed));
    assert_eq!(story.became("z"), (FinalStatus::Cancelled, EndReason::NotNeeded));
}

#[test]
fn first_success_lives_with_failures_until_one_branch_succeeds() {
    let mut story = three(2, Join::FirstSuccess);
    assert_eq!(story.wanted(), ["x.1.1.shell", "y.1.1.prepare"]);
    story.shell("x", false, "");
    assert_eq!(story.does(), ["z.1.1.shell"]);
    story.says("y", "hi");
    assert_eq!(story.does(), ["z.1.1.cleanup"]);
    assert_eq!(story.cleaned("z").ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn first_success_fails_when_no_branch_succeeds() {
    let mut story = three(0, Join::FirstSuccess);
    story.shell("x", false, "").breaks("y").shell("z", false, "");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::NoBranch));
}

#[test]
fn a_branch_that_takes_no_time_can_be_enough() {
    let workflow = Builder::new("w").start(clear_context()).parallel(|lanes| {
        let lanes = lanes.branch("x", |x| x.then(shell("x").id("x")));
        lanes.branch("y", |y| y.then(clear_context())).join(Join::Any)
    });
    let mut story = Story::drawn(workflow);
    assert_eq!(story.cleaned("x").ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_node_that_fails_is_tried_again_after_a_pause_that_doubles() {
    let workflow = Builder::new("w").start(shell("{{ feedback }}").id("x").retry(2, Duration::from_secs(3)));
    let mut story = Story::drawn(workflow);
    story.shell("x", false, "");
    let until = Moment(NOW.0 + 3_000);
    let what = "the command of `x` failed: exit code 1".to_owned();
    let again = News::Retrying {
        node: NodeId::new("x"),
        what: what.clone(),
        attempt: 2,
        of: Some(3),
        until: Some(until),
    };
    assert!(story.records.last().is_some_and(|record| record.news.contains(&again)));
    assert_eq!(story.state.progress(), Progress::Waiting(Waiting::Retry { until, what: what.clone() }));
    story.later(3_000).wait_over("x", Verb::Retry);
    assert_eq!(story.command("x~2"), what, "a try is told what was wrong");
    story.shell("x~2", false, "");
    let Progress::Waiting(Waiting::Retry { until: second, .. }) = story.state.progress() else {
        panic!("it waits")
    };
    assert_eq!(second, Moment(NOW.0 + 9_000));
    story.later(6_000).wait_over("x~2", Verb::Retry).shell("x~3", false, "");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ShellFailed));
    assert_eq!(story.state.bookkeeping.nodes[&NodeId::new("x")].times, 3);
}

#[test]
fn a_condition_is_asked_once_and_not_before_each_try() {
    let workflow = Builder::new("w").start(shell("x").id("x").retry(1, NONE).when("feedback == ''"));
    let mut story = Story::drawn(workflow);
    story.shell("x", false, "").wait_over("x", Verb::Retry);
    assert_eq!(story.wanted(), ["x~2.1.1.shell"]);
}

#[test]
fn a_node_that_waits_to_be_tried_again_has_given_nothing() {
    let workflow = Builder::new("w").start(clear_context()).parallel(|lanes| {
        let lanes = lanes.branch("x", |x| x.then(shell("x").id("x").retry(1, NONE)));
        lanes.branch("y", |y| y.then(shell("y").id("y")).then(shell("{{ outputs.x is defined }}").id("look")))
    });
    let mut story = Story::drawn(workflow);
    story.shell("x", false, "oh").shell("y", true, "");
    assert_eq!(story.command("look"), "false");
}

#[test]
fn a_block_that_is_tried_again_has_new_names_in_it() {
    let mut spec = drawn(Builder::new("w").start(clear_context()).loop_(LoopRounds::times(2), |round| {
        round.then(shell("x").id("x")).then(shell("y").id("y").retry(1, NONE))
    }));
    spec.body[1].retry.times = 1;
    let mut story = Story::of(spec);
    story.shell("x~1@1", true, "").shell("y~1@1", false, "").wait_over("y~1@1", Verb::Retry);
    story.shell("y~1@1~2", false, "").wait_over("loop", Verb::Retry);
    for name in ["x~2@1", "y~2@1", "x~2@2", "y~2@2"] {
        story.shell(name, true, "");
    }
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn what_may_have_been_done_is_not_tried_again() {
    let workflow = Builder::new("w").start(shell("deploy").id("x").retry(3, NONE));
    let mut story = Story::drawn(workflow);
    let effect = story.open(Verb::Shell);
    story.tell(Event::ShellEnded { effect, end: ShellEnd::Unknown });
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::ShellUnknown));
}

#[test]
fn a_condition_of_a_loop_that_has_no_value_fails_it() {
    let mut spec = drawn(
        Builder::new("w")
            .start(clear_context())
            .loop_(LoopRounds::times(2), |round| round.then(clear_context())),
    );
    if let NodeKind::Loop(LoopNode { until, .. }) = &mut spec.body[1].kind {
        *until = vec![Expression("outputs.nobody.text == 'x'".into())];
    }
    assert_eq!(Story::of(spec).ended(), (FinalStatus::Failed, EndReason::Template));
}

#[test]
fn a_node_that_fails_by_itself_tells_its_reason() {
    let workflow =
        Builder::new("w").start(shell("x").id("a")).then(fail("{{ outputs.a.text }} is bad").id("no"));
    let mut story = Story::drawn(workflow);
    story.shell("a", true, "milk");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::FailNode));
    assert_eq!(story.state.outcome().unwrap().detail.as_deref(), Some("milk is bad"));
}

#[test]
fn a_failure_in_a_try_block_is_caught_and_told() {
    let workflow = Builder::new("w")
        .start(clear_context())
        .try_(
            |body| body.then(shell("x").id("a")).then(shell("y").id("b")),
            |catch| catch.then(shell("mend {{ feedback }}").id("mend")),
        )
        .then(shell("z").id("c"));
    let mut story = Story::of(drawn(workflow.clone()));
    assert_eq!(
        story.shell("a", false, "oh").command("mend"),
        "mend `a`: the command of `a` failed: exit code 1\noh"
    );
    assert_eq!(story.shell("mend", true, "").wanted(), ["c.1.1.shell"]);
    let mut well = Story::of(drawn(workflow.clone()));
    assert_eq!(well.shell("a", true, "").shell("b", true, "").wanted(), ["c.1.1.shell"]);
    let mut twice = Story::of(drawn(workflow));
    twice.shell("a", false, "").shell("mend", false, "");
    assert_eq!(twice.ended(), (FinalStatus::Failed, EndReason::ShellFailed));
}

#[test]
fn a_try_block_catches_neither_a_cancel_nor_a_spent_budget() {
    let workflow = || {
        Builder::new("w")
            .start(clear_context())
            .try_(|body| body.then(shell("x").id("a")), |catch| catch.then(shell("y").id("mend")))
    };
    let mut story = Story::of(drawn(workflow()));
    story.tell(Event::CancelAsked { inbox: None });
    assert_eq!(story.cleaned("a").ended(), (FinalStatus::Cancelled, EndReason::User));
    let dry = Builder::new("w")
        .budget(Budget { turns: Some(1), ..Budget::default() })
        .start(prompt("p").id("p"))
        .try_(|body| body.then(prompt("q").id("q")), |catch| catch.then(shell("y").id("mend")));
    let mut story = Story::drawn(dry);
    story
        .prepared("p")
        .session_ends(SessionVerdict::Completed)
        .seen(false)
        .cleaned("p")
        .prepared("q")
        .cleaned("q");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
}

#[test]
fn some_branches_are_enough_once_all_have_ended() {
    for (results, end) in [
        ([true, false, true], (FinalStatus::Completed, EndReason::AllDone)),
        ([false, false, false], (FinalStatus::Failed, EndReason::NoBranch)),
    ] {
        let lane = |name: &'static str| move |lane: Steps| lane.then(shell("x").id(name));
        let mut story = Story::drawn(Builder::new("w").start(clear_context()).parallel(|lanes| {
            lanes.branch("a", lane("a")).branch("b", lane("b")).branch("c", lane("c")).join(Join::Some)
        }));
        for (name, well) in ["a", "b", "c"].iter().zip(results) {
            assert!(!story.state.is_done());
            story.shell(name, well, "");
        }
        assert_eq!(story.ended(), end);
    }
}

#[test]
fn a_branch_in_which_the_run_skips_every_node_decides_nothing() {
    let both = |join| {
        let steps = Builder::new("w").start(clear_context()).parallel(|lanes| {
            let lanes = lanes.branch("skipped", |lane| lane.then(shell("x").when("false").id("x")));
            lanes.branch("runs", |lane| lane.then(shell("y").id("y"))).join(join)
        });
        Story::drawn(steps.id("both"))
    };
    let no_branch = (FinalStatus::Failed, EndReason::NoBranch);
    let failed = |join| both(join).shell("y", false, "").ended();
    assert_eq!(failed(Join::Some), no_branch);
    assert_eq!(failed(Join::FirstSuccess), no_branch);
    assert_eq!(failed(Join::Any), (FinalStatus::Failed, EndReason::ShellFailed));
    for join in [Join::All, Join::Any, Join::FirstSuccess, Join::Some] {
        let done = (FinalStatus::Completed, EndReason::AllDone);
        assert_eq!(both(join).shell("y", true, "").ended(), done, "{join:?}");
    }
}
