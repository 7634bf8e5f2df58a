//! Task loops: claims, tries, what is told to the next, several at once in worktrees.

mod conflicts;

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::effect::ShellPlan;
use crate::event::{LandingEnd, WorktreeEnd};
use crate::graph::builder::{Steps, check_all, prompt, shell, task_loop};
use crate::tasks::{Attempts, Deadlock};

/// A loop over tasks, each done by one session.
fn one_session() -> Builder {
    Builder::new("w").start(
        task_loop()
            .path("tasks.json")
            .attempts(2)
            .each(|task| task.then(prompt("Do {{ task.name }}. {{ feedback }}").id("do")))
            .id("t"),
    )
}

fn several(jobs: u32) -> Builder {
    Builder::new("w")
        .start(task_loop().jobs(jobs).each(|task| task.then(shell("do {{ task.name }}").id("do"))).id("t"))
}

fn task(id: &str) -> TaskId {
    id.parse().expect("an id")
}

impl Story {
    fn claimed(&mut self, claim: Claim) -> &mut Story {
        let effect = self.open(Verb::Claim);
        self.tell(Event::TaskClaimed { effect, claim, odd: Vec::new() })
    }

    fn gets(&mut self, id: &str) -> &mut Story {
        self.claimed(Claim::Task { id: task(id), task: json!({"id": id, "name": format!("task {id}")}) })
    }

    fn settled(&mut self, round: &str, status: TaskStatus) -> &mut Story {
        let effect = self.open_of(round, Verb::Settle);
        let why = (status != TaskStatus::Passing).then(|| "it is red".to_owned());
        self.tell(Event::TaskSettled { effect, status, why, error: None })
    }

    fn worktree(&mut self, round: &str) -> &mut Story {
        let effect = self.open_of(round, Verb::Worktree);
        let (workspace, branch) = (format!("/trees/{round}"), format!("task/{round}"));
        let end =
            WorktreeEnd::Made { workspace, branch, target: Some("main".into()), commit: Some("base".into()) };
        self.tell(Event::WorktreeMade { effect, end })
    }

    fn landed(&mut self, round: &str, landed: bool) -> &mut Story {
        let effect = self.open_of(round, Verb::Land);
        let what = || "a conflict in lib.rs".to_owned();
        let end = match landed {
            true => LandingEnd::Landed { what: what(), is_empty: false },
            false => LandingEnd::Refused { why: what(), checks: Default::default() },
        };
        self.tell(Event::Landed { effect, end })
    }

    pub(super) fn effect_of(&self, node: &str, verb: Verb) -> Effect {
        let id = self.open_of(node, verb);
        let found = self.state.bookkeeping.open.iter().find(|planned| planned.id == id);
        found.map(|planned| planned.effect.clone()).expect("it is open")
    }
}

#[test]
fn each_task_is_claimed_done_and_settled_until_none_is_left() {
    let mut story = Story::drawn(one_session());
    let first = Effect::ClaimTask {
        path: Some("tasks.json".into()),
        select: None,
        busy: vec![],
        attempts: Attempts::of(2),
    };
    assert_eq!(story.effect_of("t", Verb::Claim), first);
    story.gets("a").prepared("do@1");
    let told = story.plan().prompt;
    assert!(told.starts_with("Do task a. \n\n---\n") && told.contains("<status>passing</status>"), "{told}");
    story.session_ends(SessionVerdict::Completed).seen(false).cleaned("do@1");
    let settle = Effect::SettleTask {
        path: Some("tasks.json".into()),
        task: task("a"),
        ok: true,
        said: Some("words".into()),
        why: None,
        branch: None,
    };
    assert_eq!(story.effect_of("t@1", Verb::Settle), settle);
    story.settled("t@1", TaskStatus::Passing).gets("b").says("do@2", "x");
    story.settled("t@2", TaskStatus::Passing).claimed(Claim::AllDone);
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
    let output = &story.state.bookkeeping.outputs[&NodeId::new("t")];
    assert_eq!(output.text, "2 of 2 iterations passed");
    assert_eq!(output.value.as_ref().map(|value| value["all_tasks_complete"].clone()), Some(json!(true)));
}

impl Story {
    /// A node's one turn ends with this, or with nothing.
    fn ends_with(&mut self, node: &str, words: Option<&str>, value: Option<serde_json::Value>) -> &mut Story {
        self.prepared(node);
        let effect = self.open_of(node, Verb::Session);
        let last_message = words.map(str::to_owned);
        let end = SessionEnd { last_message, value, ..session_end(SessionVerdict::Completed) };
        self.tell(Event::SessionEnded { effect, end }).seen(false).cleaned(node)
    }

    /// The words by which the round's task is settled.
    fn claim_of(&self, round: &str) -> Option<String> {
        let Effect::SettleTask { said, .. } = self.effect_of(round, Verb::Settle) else { panic!("settled") };
        said
    }
}

#[test]
fn an_agent_that_says_nothing_has_claimed_nothing() {
    let mut story = Story::drawn(one_session());
    story.gets("a").ends_with("do@1", None, None);
    assert_eq!(story.claim_of("t@1").as_deref(), Some(""), "an agent worked, and made no claim");
    let mut story = Story::drawn(several(1));
    story.gets("a").shell("do@1", true, "");
    assert_eq!(story.claim_of("t@1"), None, "no agent worked");
}

#[test]
fn an_agent_that_answers_by_a_schema_is_asked_for_no_claim_and_takes_none_away() {
    let form = json!({"type": "object", "required": ["ok"]});
    let workflow = |work: bool| {
        Builder::new("w").start(
            task_loop()
                .each(|task| {
                    let task = if work { task.then(prompt("do").id("do")) } else { task };
                    task.then(prompt("look").schema(form.clone()).id("review"))
                })
                .id("t"),
        )
    };
    let claimed = "done\n<status>passing</status>";
    for (words, value) in [(Some(r#"{"ok": true}"#), None), (None, Some(json!({"ok": true})))] {
        let mut story = Story::drawn(workflow(true));
        story.gets("a").says("do@1", claimed).prepared("review@1");
        let told = story.plan().prompt;
        assert!(told.contains("JSON Schema") && !told.contains("<status>"), "{told}");
        let effect = story.open_of("review@1", Verb::Session);
        let end = SessionEnd {
            last_message: words.map(str::to_owned),
            value: value.clone(),
            ..session_end(SessionVerdict::Completed)
        };
        story.tell(Event::SessionEnded { effect, end }).seen(false).cleaned("review@1");
        assert_eq!(story.claim_of("t@1").as_deref(), Some(claimed));
        let mut story = Story::drawn(workflow(false));
        story.gets("a").ends_with("review@1", words, value);
        assert_eq!(story.claim_of("t@1"), None, "nobody was asked for a claim");
    }
}

impl Story {
    /// A node's session says this and then ends so, which is no good end.
    fn breaks_with(&mut self, node: &str, words: &str, verdict: SessionVerdict) -> &mut Story {
        self.prepared(node);
        let effect = self.open_of(node, Verb::Session);
        let end = SessionEnd { last_message: Some(words.into()), ..session_end(verdict) };
        self.tell(Event::SessionEnded { effect, end }).cleaned(node)
    }

    /// Returns whether the task of a round may be passing, and the agent's text that settles it.
    fn settles(&self, round: &str) -> (bool, Option<String>) {
        let Effect::SettleTask { ok, said, .. } = self.effect_of(round, Verb::Settle) else {
            panic!("settled")
        };
        (ok, said)
    }
}

const CLAIM: &str = "done\n<status>passing</status>";

#[test]
fn a_session_that_did_not_end_well_claims_nothing_and_lands_nothing() {
    let broken = || SessionVerdict::Failed { cause: Default::default(), what: "exit code 3".into() };
    for jobs in [1, 2] {
        for verdict in [broken(), SessionVerdict::TimedOut] {
            let body = |task: Steps| task.then(prompt("do").id("do").continue_on_failure());
            let mut story = Story::drawn(Builder::new("w").start(task_loop().jobs(jobs).each(body).id("t")));
            story.gets("a");
            if jobs > 1 {
                story.worktree("t@1");
            }
            story.breaks_with("do@1", CLAIM, verdict);
            assert_eq!(story.settles("t@1"), (false, Some(String::new())), "{jobs} at once");
        }
    }
    // The time of the node is over while the agent hangs; the file may say what it likes.
    let body = |task: Steps| {
        let hangs = prompt("do").id("do").timeout(Duration::from_secs(2));
        task.then(hangs.continue_on_failure()).then(shell("true").id("after"))
    };
    let mut story = Story::drawn(Builder::new("w").start(task_loop().each(body).id("t")));
    story.gets("a").prepared("do@1");
    let kind = HookKind::Stop { last_message: Some(CLAIM.into()), background: true };
    story.asks("h", kind).wait_over("do@1", Verb::Timeout).cleaned("do@1").shell("after@1", true, "");
    assert_eq!(story.settles("t@1"), (false, Some(String::new())));
    // Nor does one that cannot begin.
    let body = |task: Steps| task.then(prompt("{{ 1 // 0 }}").id("do").continue_on_failure());
    let mut story = Story::drawn(Builder::new("w").start(task_loop().each(body).id("t")));
    story.gets("a");
    assert!(!story.settles("t@1").0, "no agent has worked that should have");
}

#[test]
fn a_later_session_that_ends_well_still_claims() {
    let broken = || SessionVerdict::Failed { cause: Default::default(), what: "exit code 3".into() };
    let form = json!({"type": "object"});
    let body = |task: Steps| {
        let task = task.then(prompt("do").id("do").continue_on_failure());
        let task = task.then(prompt("mend").id("mend").continue_on_failure());
        task.then(prompt("look").schema(form.clone()).id("look").continue_on_failure())
    };
    let story = || {
        let mut story = Story::drawn(Builder::new("w").start(task_loop().each(body).id("t")));
        story.gets("a");
        story
    };
    let mut mended = story();
    mended.breaks_with("do@1", CLAIM, broken()).says("mend@1", CLAIM).breaks_with("look@1", "", broken());
    assert_eq!(mended.settles("t@1"), (true, Some(CLAIM.into())), "a look by a schema takes no word away");
    let mut spoilt = story();
    spoilt.says("do@1", CLAIM).breaks_with("mend@1", CLAIM, broken());
    spoilt.ends_with("look@1", None, Some(json!({})));
    assert!(!spoilt.settles("t@1").0, "the last session that was asked has the word, and it broke");
}

#[test]
fn a_session_by_a_schema_that_broke_is_no_green_node() {
    let broken = || SessionVerdict::Failed { cause: Default::default(), what: "exit code 3".into() };
    let body = |task: Steps| {
        let look = prompt("look").schema(json!({"type": "object"})).id("look");
        task.then(look.retry(1, Duration::ZERO).continue_on_failure())
    };
    let story = || {
        let mut story = Story::drawn(Builder::new("w").start(task_loop().each(body).id("t")));
        story.gets("a").breaks_with("look@1", CLAIM, broken()).wait_over("look@1", Verb::Retry);
        story
    };
    let mut never = story();
    never.breaks_with("look@1~2", CLAIM, broken());
    assert!(!never.settles("t@1").0);
    let mut at_last = story();
    at_last.ends_with("look@1~2", None, Some(json!({})));
    assert_eq!(at_last.settles("t@1"), (true, None));
    // Another one may do instead of it.
    let look = |id: &str| prompt("look").schema(json!({"type": "object"})).id(id).continue_on_failure();
    let body = |task: Steps| task.then(look("x")).then(look("y"));
    let mut instead = Story::drawn(Builder::new("w").start(task_loop().each(body).id("t")));
    instead.gets("a").breaks_with("x@1", CLAIM, broken()).ends_with("y@1", None, Some(json!({})));
    assert_eq!(instead.settles("t@1"), (true, None));
}

#[test]
fn a_task_that_failed_is_tried_again_and_told_what_was_wrong() {
    let mut story = Story::drawn(one_session());
    story.gets("a").says("do@1", "x").settled("t@1", TaskStatus::Failing);
    let Effect::ClaimTask { attempts, .. } = story.effect_of("t", Verb::Claim) else { panic!("a claim") };
    assert_eq!(attempts.made, BTreeMap::from([(task("a"), 1)]));
    story.gets("a").prepared("do@2");
    assert!(story.plan().prompt.starts_with("Do task a. it is red"), "{}", story.plan().prompt);
    story.session_ends(SessionVerdict::Completed).seen(false).cleaned("do@2");
    story.settled("t@2", TaskStatus::Failing).claimed(Claim::Failed { ids: vec![task("a")] });
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::TasksFailed));
    assert_eq!(story.detail(), "tasks failed after 2 tries: a");
}

#[test]
fn a_node_that_fails_fails_its_task_and_not_the_loop() {
    let mut story = Story::drawn(several(1));
    story.gets("a").shell("do@1", false, "oh");
    let Effect::SettleTask { ok, why, said, .. } = story.effect_of("t@1", Verb::Settle) else {
        panic!("it is settled")
    };
    assert_eq!((ok, said), (false, None));
    assert!(why.as_deref().is_some_and(|why| why.contains("exit code 1") && why.contains("oh")), "{why:?}");
    assert_eq!(story.settled("t@1", TaskStatus::Failing).wanted(), ["t.2.1.claim"]);
}

#[test]
fn the_checks_must_be_green_before_a_task_is_settled() {
    let mut spec = drawn(several(1));
    spec.checks = vec![test_check()];
    let mut story = Story::of(spec);
    story.gets("a").shell("do@1", true, "");
    assert_eq!(story.wanted(), ["t@1.1.1.checks"]);
    story.checks("t@1", false);
    let Effect::SettleTask { ok, why, .. } = story.effect_of("t@1", Verb::Settle) else { panic!("settled") };
    assert!(!ok && why.is_some_and(|why| why.contains("boom")));
}

#[test]
fn checks_that_ran_as_the_last_node_are_not_run_again() {
    let mut spec =
        drawn(Builder::new("w").start(
            task_loop().each(|task| task.then(shell("x").id("do")).then(check_all().id("all"))).id("t"),
        ));
    spec.checks = vec![test_check()];
    let mut story = Story::of(spec);
    story.gets("a").shell("do@1", true, "").checks("all@1", true);
    assert_eq!(story.wanted(), ["t@1.1.1.settle"]);
}

#[test]
fn what_comes_before_each_task_runs_first_and_its_failure_fails_the_task() {
    let workflow = || {
        let each = task_loop().before_each(|before| before.then(shell("clean").id("before")));
        Builder::new("w").start(each.each(|task| task.then(shell("x").id("do"))).id("t"))
    };
    let mut story = Story::drawn(workflow());
    assert_eq!(story.gets("a").wanted(), ["before@1.1.1.shell"]);
    assert_eq!(story.shell("before@1", true, "").wanted(), ["do@1.1.1.shell"]);
    let mut story = Story::drawn(workflow());
    assert_eq!(story.gets("a").shell("before@1", false, "").wanted(), ["t@1.1.1.settle"]);
}

#[test]
fn a_ring_of_tasks_needs_a_person() {
    let mut story = Story::drawn(one_session());
    story.claimed(Claim::Deadlock(Deadlock::Cycle(vec![task("a"), task("b")])));
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::Deadlock));
    let mut story = Story::drawn(one_session());
    assert_eq!(story.claimed(Claim::Working).ended(), (FinalStatus::Blocked, EndReason::Deadlock));
    let mut story = Story::drawn(one_session());
    story.claimed(Claim::Unreadable { why: "line 3".into() });
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::TasksUnreadable));
}

#[test]
fn a_file_that_cannot_be_written_ends_the_loop() {
    let mut story = Story::drawn(several(1));
    story.gets("a").shell("do@1", true, "");
    let effect = story.open(Verb::Settle);
    let error = Some("read-only".to_owned());
    story.tell(Event::TaskSettled { effect, status: TaskStatus::Failing, why: None, error });
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::TasksUnreadable));
}

#[test]
fn every_result_that_could_not_be_written_is_named_at_the_end() {
    let mut story = Story::drawn(several(2));
    story.gets("a").gets("b").worktree("t@1").worktree("t@2");
    story.shell("do@1", true, "").landed("t@1", true).shell("do@2", true, "").landed("t@2", true);
    for round in ["t@1", "t@2"] {
        let effect = story.open_of(round, Verb::Settle);
        let error = Some("line 1: broken".to_owned());
        story.tell(Event::TaskSettled { effect, status: TaskStatus::Passing, why: None, error });
    }
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::TasksUnreadable));
    let unwritten = |task| format!("task `{task}` is passing, but that could not be written to its file");
    assert_eq!(story.detail(), format!("{}\n{}: line 1: broken", unwritten("b"), unwritten("a")));
}

fn at_most(max: u32) -> Builder {
    Builder::new("w").start(task_loop().max(max).each(|task| task.then(shell("x").id("do"))).id("t"))
}

#[test]
fn a_loop_that_has_had_its_rounds_takes_no_other_task() {
    let mut story = Story::drawn(at_most(1));
    story.gets("a").shell("do@1", true, "").settled("t@1", TaskStatus::Passing);
    let Effect::ClaimTask { attempts, .. } = story.effect_of("t", Verb::Claim) else { panic!("it looks") };
    assert_eq!(attempts.allowed, 0, "it looks whether any is left, and takes none");
    story.claimed(Claim::Failed { ids: vec![] });
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::MaxIterations));
    let mut story = Story::drawn(at_most(1));
    story.gets("a").shell("do@1", true, "").settled("t@1", TaskStatus::Passing).gets("b");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::MaxIterations));
}

#[test]
fn a_loop_whose_last_round_did_the_last_task_is_done() {
    let mut story = Story::drawn(at_most(1));
    story.gets("a").shell("do@1", true, "").settled("t@1", TaskStatus::Passing).claimed(Claim::AllDone);
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_loop_whose_select_matches_no_open_task_does_not_say_that_all_is_done() {
    let mut story = Story::drawn(at_most(1));
    story.claimed(Claim::NoneSelected { open: 3 });
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::NoneSelected));
    assert_eq!(story.became("t"), (FinalStatus::Completed, EndReason::NoneSelected));
    let value =
        story.state.bookkeeping.outputs.get(&NodeId::new("t")).and_then(|output| output.value.clone());
    assert_eq!(value.map(|value| value["all_tasks_complete"].clone()), Some(json!(false)));
    // What it matched before was done.
    let mut story = Story::drawn(at_most(1));
    story.gets("a").shell("do@1", true, "").settled("t@1", TaskStatus::Passing);
    story.claimed(Claim::NoneSelected { open: 1 });
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_loop_is_over_when_its_condition_holds_whatever_is_left() {
    let each = task_loop().until("outputs.do.text == 'enough'");
    let workflow = Builder::new("w").start(each.each(|task| task.then(shell("x").id("do"))).id("t"));
    let mut story = Story::drawn(workflow);
    story.gets("a").shell("do@1", true, "no").settled("t@1", TaskStatus::Passing);
    story.gets("b").shell("do@2", true, "enough").settled("t@2", TaskStatus::Passing);
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
    assert_eq!(story.became("t"), (FinalStatus::Completed, EndReason::Until));
}

#[test]
fn several_tasks_run_at_once_each_in_a_worktree_and_are_landed() {
    let mut story = Story::drawn(several(2));
    story.gets("a");
    assert_eq!(story.does(), ["t@1.1.1.worktree", "t.2.1.claim"]);
    let Effect::ClaimTask { busy, .. } = story.effect_of("t", Verb::Claim) else { panic!("a claim") };
    assert_eq!(busy, [task("a")]);
    story.gets("b").worktree("t@2").worktree("t@1");
    let Effect::RunShell(ShellPlan { command, workspace, .. }) = story.effect_of("do@2", Verb::Shell) else {
        panic!("a command line")
    };
    assert_eq!((command.as_str(), workspace.as_str()), ("do task b", "/trees/t@2"));
    story.shell("do@2", true, "");
    let land = Effect::Land {
        workspace: "/trees/t@2".into(),
        branch: "task/t@2".into(),
        target: Some("main".into()),
        path: None,
        task: task("b"),
        said: None,
        conflict: None,
        env: BTreeMap::new(),
    };
    assert_eq!(story.effect_of("t@2", Verb::Land), land);
    story.landed("t@2", true).settled("t@2", TaskStatus::Passing).claimed(Claim::Working);
    assert_eq!(story.wanted(), ["do@1.1.1.shell"], "nothing is asked again while nothing changes");
    story.shell("do@1", true, "").landed("t@1", false);
    let Effect::SettleTask { ok, why, .. } = story.effect_of("t@1", Verb::Settle) else { panic!("settled") };
    assert_eq!((ok, why.as_deref()), (false, Some("a conflict in lib.rs")));
    story.settled("t@1", TaskStatus::Failing).gets("a");
    let again =
        Effect::MakeWorktree { task: task("a"), attempt: 2, target: Some("main".into()), from: vec![] };
    assert_eq!(story.effect_of("t@3", Verb::Worktree), again);
    story.claimed(Claim::Working).worktree("t@3").shell("do@3", true, "").landed("t@3", true);
    story.settled("t@3", TaskStatus::Passing).claimed(Claim::AllDone);
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_worktree_that_cannot_be_made_ends_the_loop_and_its_task_is_put_back() {
    let mut story = Story::drawn(several(2));
    story.gets("a");
    let effect = story.open(Verb::Worktree);
    story.tell(Event::WorktreeMade { effect, end: WorktreeEnd::Failed { why: "the disk is full".into() } });
    let why = Some("the disk is full".to_owned());
    let released = Effect::ReleaseTask { path: None, task: task("a"), branch: None, why };
    assert_eq!(story.effect_of("t@1", Verb::Settle), released);
    story.claimed(Claim::Working).settled("t@1", TaskStatus::Pending);
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::Git));
}

#[test]
fn a_landing_that_only_a_person_can_clear_the_way_for_is_no_failure_and_no_other_task_is_begun() {
    let mut story = Story::drawn(several(2));
    story.gets("a").gets("b").worktree("t@1").worktree("t@2").shell("do@1", true, "");
    let effect = story.open_of("t@1", Verb::Land);
    let what = "the checkout is in the middle of a merge".to_owned();
    story.tell(Event::Landed { effect, end: LandingEnd::Hindered { why: what.clone() } });
    let released = Effect::ReleaseTask { path: None, task: task("a"), branch: None, why: Some(what) };
    assert_eq!(story.effect_of("t@1", Verb::Settle), released);
    story.settled("t@1", TaskStatus::Pending);
    assert_eq!(story.wanted(), ["do@2.1.1.shell"], "what is under way is finished, nothing else is begun");
    story.shell("do@2", true, "").landed("t@2", true).settled("t@2", TaskStatus::Passing);
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::Git));
}

#[test]
fn a_task_settled_while_another_is_looked_for_is_found_by_another_look() {
    let mut story = Story::drawn(several(2));
    story.gets("a").worktree("t@1").shell("do@1", true, "").landed("t@1", false);
    story.settled("t@1", TaskStatus::Failing);
    assert_eq!(story.wanted(), ["t.2.1.claim"], "one look at a time");
    // Whoever looked still saw the first task under way.
    story.claimed(Claim::Working);
    assert_eq!(story.wanted(), ["t.3.1.claim"]);
    assert_eq!(story.gets("a").does(), ["t@2.1.1.worktree", "t.4.1.claim"]);
}

#[test]
fn a_task_that_is_being_done_is_not_begun_again() {
    let mut story = Story::drawn(several(2));
    story.gets("a").gets("a");
    assert_eq!(story.wanted(), ["t@1.1.1.worktree"]);
}

#[test]
fn a_loop_of_tasks_that_may_spend_no_more_takes_no_other_task() {
    let mut spec = drawn(one_session());
    spec.budget.turns = Some(1);
    let mut story = Story::of(spec);
    story.gets("a").says("do@1", "x").settled("t@1", TaskStatus::Passing);
    story.gets("b").prepared("do@2").cleaned("do@2").settled("t@2", TaskStatus::Pending);
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
}

#[test]
fn a_task_whose_agent_never_got_a_turn_is_returned_and_costs_no_attempt() {
    for jobs in [1, 2] {
        let each = task_loop().jobs(jobs).attempts(2);
        let each = each.each(|task| task.then(prompt("Do {{ task.name }}. {{ feedback }}").id("do"))).id("t");
        let mut spec = drawn(Builder::new("w").start(each));
        spec.budget.turns = Some(1);
        let mut story = Story::of(spec);
        let branch = (jobs > 1).then(|| "task/t@2".to_owned());
        match branch.is_some() {
            true => {
                story.gets("a").gets("b").worktree("t@1").says("do@1", "x").landed("t@1", true);
                story.settled("t@1", TaskStatus::Passing).claimed(Claim::Working).worktree("t@2")
            }
            false => story.gets("a").says("do@1", "x").settled("t@1", TaskStatus::Passing).gets("b"),
        };
        story.prepared("do@2").cleaned("do@2");
        let released = Effect::ReleaseTask {
            path: None,
            task: task("b"),
            branch,
            why: Some("`do`: the budget of 1 turn is spent".into()),
        };
        assert_eq!(story.effect_of("t@2", Verb::Settle), released);
        story.settled("t@2", TaskStatus::Pending);
        assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
        story.goes_on_after_end();
        let Effect::ClaimTask { attempts, .. } = story.effect_of("t", Verb::Claim) else { panic!("a claim") };
        assert_eq!(attempts.made.get(&task("b")), None);
    }
}

#[test]
fn a_task_whose_agent_had_a_turn_is_failing_when_the_budget_is_spent() {
    let each = task_loop().each(|task| task.then(prompt("x").id("one")).then(prompt("y").id("two"))).id("t");
    let mut spec = drawn(Builder::new("w").start(each));
    spec.budget.turns = Some(1);
    let mut story = Story::of(spec);
    story.gets("a").says("one@1", "x").prepared("two@1").cleaned("two@1");
    let settled = story.effect_of("t@1", Verb::Settle);
    assert!(matches!(&settled, Effect::SettleTask { ok: false, .. }), "{settled:?}");
    story.settled("t@1", TaskStatus::Failing);
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
}

#[test]
fn cancelling_gives_tasks_back_and_finishes_what_is_being_landed() {
    let mut story = Story::drawn(several(3));
    story.gets("a").gets("b").gets("c").worktree("t@1").worktree("t@2").shell("do@1", true, "");
    story.cancel();
    assert_eq!(story.wanted(), ["t@3.1.1.worktree", "t@1.1.1.land", "do@2.1.1.cleanup"]);
    story.cleaned("do@2").worktree("t@3").landed("t@1", true);
    assert_eq!(story.wanted(), ["t@2.1.1.settle", "t@3.1.1.settle", "t@1.1.1.settle"]);
    for (round, id) in [("t@2", "b"), ("t@3", "c")] {
        let released = Effect::ReleaseTask {
            path: None,
            task: task(id),
            branch: Some(format!("task/{round}")),
            why: None,
        };
        assert_eq!(story.effect_of(round, Verb::Settle), released);
        story.settled(round, TaskStatus::Pending);
    }
    assert_eq!(story.settled("t@1", TaskStatus::Passing).ended(), (FinalStatus::Cancelled, EndReason::User));
}

#[test]
fn a_try_that_failed_in_its_steps_hands_its_worktree_over_and_one_that_landed_does_not() {
    let mut story = Story::drawn(several(2));
    story.gets("a").claimed(Claim::Working).worktree("t@1").shell("do@1", false, "");
    let Effect::SettleTask { branch, why, .. } = story.effect_of("t@1", Verb::Settle) else {
        panic!("settled")
    };
    assert_eq!(branch.as_deref(), Some("task/t@1"));
    assert!(!why.unwrap_or_default().contains("kept"), "nobody has looked yet");
    story
        .settled("t@1", TaskStatus::Failing)
        .gets("a")
        .worktree("t@2")
        .shell("do@2", true, "")
        .landed("t@2", false);
    let Effect::SettleTask { branch, .. } = story.effect_of("t@2", Verb::Settle) else { panic!("settled") };
    assert_eq!(branch, None);
}

#[test]
fn cancelling_while_checks_run_puts_them_away() {
    let mut spec = drawn(several(1));
    spec.checks = vec![test_check()];
    let mut story = Story::of(spec);
    story.gets("a").shell("do@1", true, "").cancel();
    assert_eq!(story.wanted(), ["t@1.1.1.cleanup"]);
    story.cleaned("t@1").settled("t@1", TaskStatus::Pending);
    assert_eq!(story.ended(), (FinalStatus::Cancelled, EndReason::User));
}

#[test]
fn a_task_that_is_being_taken_while_all_is_cancelled_is_put_back() {
    let mut story = Story::drawn(several(1));
    assert_eq!(story.cancel().claimed(Claim::Working).ended(), (FinalStatus::Cancelled, EndReason::User));
    let mut story = Story::drawn(several(1));
    story.cancel().gets("a");
    let released = Effect::ReleaseTask { path: None, task: task("a"), branch: None, why: None };
    assert_eq!(story.effect_of("t@1", Verb::Settle), released);
    assert_eq!(story.settled("t@1", TaskStatus::Pending).ended(), (FinalStatus::Cancelled, EndReason::User));
}

#[test]
fn cancelling_a_paused_loop_lands_nothing() {
    let mut story = Story::drawn(several(2));
    story.gets("a").claimed(Claim::Working).worktree("t@1").pause().shell("do@1", true, "");
    assert!(story.wanted().is_empty(), "the landing waits for the pause to end");
    assert_eq!(story.cancel().wanted(), ["t@1.1.1.settle"], "it is put back");
    assert_eq!(story.settled("t@1", TaskStatus::Pending).ended(), (FinalStatus::Cancelled, EndReason::User));
}

#[test]
fn a_task_that_is_blocked_is_not_tried_again_and_the_others_are_done() {
    let mut story = Story::drawn(several(1));
    story.gets("a");
    let effect = story.open_of("do@1", Verb::Shell);
    story.tell(Event::ShellEnded { effect, end: ShellEnd::Unknown }).settled("t@1", TaskStatus::Failing);
    let Effect::ClaimTask { attempts, .. } = story.effect_of("t", Verb::Claim) else { panic!("a claim") };
    assert!(!attempts.allow(&task("a")) && attempts.allow(&task("b")));
    story.gets("b").shell("do@2", true, "").settled("t@2", TaskStatus::Passing);
    story.claimed(Claim::Failed { ids: vec![task("a")] });
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::ShellUnknown));
}

#[test]
fn a_task_whose_template_has_no_value_is_not_tried_again_and_the_others_are_done() {
    let each = |command: &'static str| {
        let each = task_loop().each(move |task| task.then(shell(command).id("do"))).id("t");
        let mut spec = drawn(Builder::new("w").start(each));
        spec.body[0].retry.times = 2;
        Story::of(spec)
    };
    let mut story = each("do {{ task.steps }}");
    story.gets("a").settled("t@1", TaskStatus::Failing);
    let Effect::ClaimTask { attempts, .. } = story.effect_of("t", Verb::Claim) else { panic!("a claim") };
    assert!(!attempts.allow(&task("a")) && attempts.allow(&task("b")));
    let id = task("b");
    story.claimed(Claim::Task { id, task: json!({"id": "b", "steps": "all"}) });
    story.shell("do~1@2", true, "").settled("t@2", TaskStatus::Passing);
    story.claimed(Claim::Failed { ids: vec![task("a")] });
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::TasksFailed));
    assert_eq!(
        story.detail(),
        "tasks failed, and another try cannot help: a (`task.steps` is undefined (line 1, column 7), in: do {{ task.steps }}); not tried again: another try would end the same way"
    );
    // What failed otherwise may be tried again.
    let mut story = each("do {{ task.name }}");
    story.gets("a").shell("do~1@1", false, "").settled("t@1", TaskStatus::Failing);
    story.claimed(Claim::Failed { ids: vec![task("a")] });
    assert!(story.wanted()[0].ends_with(".retry"), "{:?}", story.wanted());
}

#[test]
fn what_only_a_person_may_decide_is_told_once_and_blocks_the_loop_when_nothing_else_is_left() {
    let mut story = Story::drawn(several(1));
    let tell = |story: &mut Story, claim: Claim| {
        let effect = story.open(Verb::Claim);
        story.tell(Event::TaskClaimed { effect, claim, odd: vec!["task `b` is `skipped`".into()] });
        story.step.news.iter().filter(|news| matches!(news, News::Odd { .. })).count()
    };
    let first = Claim::Task { id: task("a"), task: json!({"id": "a", "name": "a"}) };
    assert_eq!(tell(&mut story, first), 1);
    story.shell("do@1", true, "").settled("t@1", TaskStatus::Passing);
    assert_eq!(tell(&mut story, Claim::Unproven { why: "task `b`".into() }), 0, "it was told");
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::TasksUnproven));
    assert_eq!(story.detail(), "task `b`");
}

#[test]
fn a_loop_that_ran_out_of_time_is_ended() {
    let each = several(1).end().expect("a workflow");
    let mut spec = spec_of(each.body);
    spec.body[0].settings.timeout_ms = Some(1_000);
    spec.body[0].retry = crate::graph::workflow::RetryPolicy { times: 1, delay_ms: 0 };
    let mut story = Story::of(spec);
    story.gets("a").wait_over("t", Verb::Timeout).cleaned("do~1@1").settled("t@1", TaskStatus::Pending);
    story.wait_over("t", Verb::Retry).claimed(Claim::AllDone);
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_branch_that_is_kept_does_not_land_and_its_checks_run_in_the_worktree() {
    let workflow = Builder::new("w").start(
        task_loop().jobs(2).attempts(1).keeps_branches().each(|task| task.then(shell("x").id("do"))).id("t"),
    );
    let mut spec = drawn(workflow);
    spec.checks = vec![test_check()];
    let mut story = Story::of(spec);
    story.gets("a").claimed(Claim::Working).worktree("t@1").shell("do@1", true, "");
    let Effect::RunChecks { workspace, .. } = story.effect_of("t@1", Verb::Checks) else { panic!("checks") };
    assert_eq!(workspace, "/trees/t@1");
    story.checks("t@1", true);
    let Effect::SettleTask { ok, why, .. } = story.effect_of("t@1", Verb::Settle) else { panic!("settled") };
    assert_eq!((ok, why), (true, None));
    story.settled("t@1", TaskStatus::Passing).claimed(Claim::AllDone);
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
    let lands = |planned: &Planned| matches!(planned.effect, Effect::Land { .. });
    assert!(!story.records.iter().flat_map(|record| &record.effects).any(lands));
}

#[test]
fn a_task_starts_from_the_branches_of_its_dependencies_if_they_do_not_land() {
    let tasks = |keeps: bool| {
        let tasks = task_loop().jobs(2).attempts(1).each(|task| task.then(shell("x").id("do"))).id("t");
        Story::drawn(Builder::new("w").start(if keeps { tasks.keeps_branches() } else { tasks }))
    };
    let depends = |id: &str, on: &[&str]| Claim::Task {
        id: task(id),
        task: json!({"id": id, "name": id, "dependencies": on}),
    };
    let from = |story: &Story, round: &str| {
        let Effect::MakeWorktree { from, .. } = story.effect_of(round, Verb::Worktree) else { panic!("one") };
        from
    };
    let mut story = tasks(true);
    for (number, (id, on)) in
        [("a", vec![]), ("b", vec!["a"]), ("c", vec![]), ("d", vec!["b", "c", "a", "old"])]
            .into_iter()
            .enumerate()
    {
        let round = format!("t@{}", number + 1);
        story.claimed(depends(id, &on));
        let before: Vec<&str> = match id {
            "b" => vec!["task/t@1"],
            "d" => vec!["task/t@1", "task/t@2", "task/t@3"],
            _ => vec![],
        };
        assert_eq!(from(&story, &round), before, "of {id}");
        if id != "d" {
            story.claimed(Claim::Working).worktree(&round).shell(&format!("do@{}", number + 1), true, "");
            story.settled(&round, TaskStatus::Passing);
        }
    }
    let effect = story.open_of("t@4", Verb::Worktree);
    let why = "they conflict".to_owned();
    story.tell(Event::WorktreeMade { effect, end: WorktreeEnd::Conflict { why } });
    story.claimed(depends("e", &["a"])).worktree("t@5").shell("do@5", true, "");
    story.settled("t@4", TaskStatus::Failing).settled("t@5", TaskStatus::Passing);
    story.claimed(Claim::Failed { ids: vec![task("d")] });
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::Git), "the others were done first");
    assert_eq!(story.detail(), "task `d`: they conflict");

    let mut story = tasks(false);
    story.claimed(depends("a", &[])).claimed(Claim::Working).worktree("t@1").shell("do@1", true, "");
    story.landed("t@1", true).settled("t@1", TaskStatus::Passing).claimed(depends("b", &["a"]));
    assert_eq!(from(&story, "t@2"), Vec::<String>::new(), "the work has landed");
}
