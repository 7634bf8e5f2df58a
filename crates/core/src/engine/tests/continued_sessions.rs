//! Sessions that continue the session of another node, or their own.

use super::*;
use crate::graph::builder::{LoopRounds, clear_context, each_of, prompt, shell, task_loop};
use crate::run::Continuation;
use crate::tasks::Claim;

fn pair() -> Builder {
    Builder::new("w")
        .start(prompt("Plan it.").id("plan"))
        .then(prompt("Build it.").continues("plan").id("build"))
}

impl Story {
    /// The session with which a node has begun its turn.
    fn session_plan(&self, node: &str) -> SessionPlan {
        let id = self.open_of(node, Verb::Session);
        let found = self.state.bookkeeping.open.iter().find(|planned| planned.id == id);
        match found.map(|planned| &planned.effect) {
            Some(Effect::StartSession(plan)) => plan.clone(),
            other => panic!("not a session: {other:?}"),
        }
    }

    /// Ends the turn of a node that is prepared.
    fn done(&mut self, node: &str) -> &mut Story {
        let effect = self.open_of(node, Verb::Session);
        self.tell(Event::SessionEnded { effect, end: session_end(SessionVerdict::Completed) });
        self.seen(false).cleaned(node)
    }

    fn oddities(&self) -> Vec<String> {
        let news = self.records.iter().flat_map(|record| &record.news);
        news.filter_map(|news| if let News::Odd { what, .. } = news { Some(what.clone()) } else { None })
            .collect()
    }

    fn forked(&self, node: &str) -> Story {
        let place = fork_point(&self.records, &NodeId::new(node), None).expect("it ran alone");
        let records = self.records[..place].to_vec();
        let state = fold(RunId::new("r"), &records).expect("a run");
        let mut fork = Story { state, step: Decision::default(), records, at: self.at };
        let (from, spent) = (RunId::new("r"), Spent::default());
        fork.tell(Event::Forked { from, at: place as u64, seed: "other".into(), policy: None, spent });
        fork.tell(self.records[place].event.clone());
        fork
    }
}

#[test]
fn a_session_continues_the_one_of_another_node_with_its_own_prompt() {
    let mut story = Story::drawn(pair());
    story.prepared("plan");
    let first = story.plan();
    assert!(!first.resume);
    story.done("plan").prepared("build");
    let second = story.plan();
    assert_eq!((second.session, second.resume), (first.session, true));
    assert_eq!(second.prompt, "Build it.");
    story.done("build");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
    assert_eq!(story.oddities(), [""; 0]);
}

#[test]
fn a_session_in_a_loop_continues_itself_after_the_first_iteration() {
    let workflow = Builder::new("w").start(clear_context()).loop_(LoopRounds::times(3), |round| {
        round.then(prompt("Round {{ iteration }}").continues("chat").id("chat"))
    });
    let mut story = Story::drawn(workflow);
    let mut plans = Vec::new();
    for node in ["chat@1", "chat@2", "chat@3"] {
        plans.push(story.prepared(node).plan());
        story.done(node);
    }
    assert_eq!(plans.iter().map(|plan| plan.resume).collect::<Vec<_>>(), [false, true, true]);
    assert!(plans.iter().all(|plan| plan.session == plans[0].session));
    assert_eq!(plans[2].prompt, "Round 3");
    assert_eq!(story.oddities(), [""; 0], "nobody expects a session in the first iteration");
}

#[test]
fn without_a_session_to_continue_a_new_one_starts_and_people_know() {
    let left_out = Builder::new("w")
        .start(shell("true").id("x"))
        .then(prompt("Plan it.").when("false").id("plan"))
        .then(prompt("Build it.").continues("plan").id("build"));
    let mut story = Story::drawn(left_out);
    story.shell("x", true, "").prepared("build");
    assert!(!story.plan().resume);
    assert_eq!(story.oddities(), ["`plan` has no session to continue, so a new one starts"]);
}

#[test]
fn an_agent_that_never_spoke_left_no_session() {
    let plan = prompt("Plan it.").continue_on_failure().id("plan");
    let workflow = Builder::new("w").start(plan).then(prompt("Build it.").continues("plan").id("build"));
    let mut story = Story::drawn(workflow);
    story.prepared("plan");
    let effect = story.open(Verb::Session);
    let failed = SessionVerdict::Failed { cause: Default::default(), what: "no login".into() };
    let end = SessionEnd { spoke: false, ..session_end(failed) };
    story.tell(Event::SessionEnded { effect, end }).cleaned("plan").prepared("build");
    assert!(!story.plan().resume);
}

#[test]
fn a_cleared_context_ends_what_could_be_continued() {
    let workflow = Builder::new("w")
        .start(prompt("Plan it.").id("plan"))
        .then(clear_context())
        .then(prompt("Build it.").continues("plan").id("build"));
    let mut story = Story::drawn(workflow);
    story.says("plan", "Planned.").prepared("build");
    assert!(!story.plan().resume);
    assert_eq!(story.oddities(), [""; 0], "the workflow says so");
}

#[test]
fn a_turn_that_was_cut_off_goes_on_in_the_same_session_with_its_prompt() {
    let mut story = Story::drawn(pair());
    story.says("plan", "Planned.").prepared("build");
    let session = story.plan().session;
    story.tell(Event::OwnerChanged);
    story.session_ends(SessionVerdict::Interrupted { what: "killed".into() });
    let again = story.plan();
    assert_eq!((again.session, again.resume), (session, true));
    assert!(again.prompt.ends_with("Build it."), "{}", again.prompt);
}

#[test]
fn a_run_that_is_continued_resumes_the_same_session() {
    let mut story = Story::drawn(pair());
    story.says("plan", "Planned.").prepared("build");
    let session = story.plan().session;
    story.tell(Event::InterruptAsked { inbox: None });
    story.session_ends(SessionVerdict::Interrupted { what: "killed".into() }).cleaned("build");
    assert_eq!(story.ended().0, FinalStatus::Interrupted);
    let more = Box::new(Continuation::default());
    story.tell(Event::Continued { inbox: InboxId::new("i"), by: "me".into(), more });
    let again = story.session_plan("build");
    assert_eq!((again.session, again.resume), (session, true));
}

#[test]
fn a_fork_leaves_the_sessions_to_the_run_it_came_from() {
    let workflow = Builder::new("w")
        .start(shell("true").id("x"))
        .then(prompt("Plan it.").id("plan"))
        .then(prompt("Build it.").continues("plan").id("build"));
    let mut story = Story::drawn(workflow);
    story.shell("x", true, "").prepared("plan");
    let first = story.plan().session;
    story.done("plan").prepared("build").done("build");
    let mut fork = story.forked("build");
    fork.prepared("build");
    let plan = fork.plan();
    assert!(!plan.resume && plan.session != first, "{plan:?}");
    let why = "the session of `plan` belongs to the run that this one was forked from, so a new one starts";
    assert_eq!(fork.oddities(), [why]);
    let mut again = story.forked("plan");
    again.says("plan", "Planned.").prepared("build");
    assert!(again.plan().resume, "a session of the fork itself");
}

#[test]
fn each_task_has_sessions_of_its_own() {
    let workflow = Builder::new("w").start(task_loop().jobs(2).attempts(1).id("t").each(|task| {
        task.then(prompt("Plan {{ task.id }}").id("plan"))
            .then(prompt("Build {{ task.id }}").continues("plan").id("build"))
    }));
    let mut story = Story::drawn(workflow);
    for id in ["a", "b"] {
        let task: TaskId = id.parse().unwrap();
        let effect = story.open(Verb::Claim);
        let claim = Claim::Task { id: task, task: serde_json::json!({"id": id, "name": id}) };
        story.tell(Event::TaskClaimed { effect, claim, odd: Vec::new() });
    }
    for round in ["t@1", "t@2"] {
        let effect = story.open_of(round, Verb::Worktree);
        let end = crate::event::WorktreeEnd::Made {
            workspace: format!("/trees/{round}"),
            branch: round.into(),
            target: None,
            commit: None,
        };
        story.tell(Event::WorktreeMade { effect, end });
    }
    let first = story.prepared("plan@1").plan().session;
    let second = story.prepared("plan@2").plan().session;
    story.done("plan@1");
    story.done("plan@2");
    assert_eq!(story.prepared("build@1").plan().session, first);
    assert_eq!(story.prepared("build@2").plan().session, second);
}

#[test]
fn each_item_of_a_list_has_sessions_of_its_own_until_it_is_complete() {
    let items = each_of("item", vec!["a".into(), "b".into()]).jobs(2).each(|one| {
        one.then(prompt("Plan {{ item }}").id("plan"))
            .then(prompt("Build {{ item }}").continues("plan").id("build"))
    });
    let mut story = Story::drawn(Builder::new("w").start(items.id("all")));
    let first = story.prepared("plan@1").plan().session;
    let second = story.prepared("plan@2").plan().session;
    assert_ne!(first, second);
    story.done("plan@2");
    story.done("plan@1");
    let build = story.prepared("build@1").plan();
    assert_eq!((build.session, build.resume), (first, true));
    assert_eq!(story.prepared("build@2").plan().session, second);
    story.done("build@1");
    assert_eq!(story.state.bookkeeping.sessions[&NodeId::new("plan")].len(), 1, "nobody continues the first");
    story.done("build@2");
    assert!(story.state.bookkeeping.sessions.is_empty());
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn an_item_that_failed_continues_its_session_when_the_run_is_continued() {
    let items = each_of("item", vec!["a".into()]).each(|one| {
        one.then(prompt("Plan {{ item }}").id("plan"))
            .then(shell("test").id("test"))
            .then(prompt("Build {{ item }}").continues("plan").id("build"))
    });
    let mut story = Story::drawn(Builder::new("w").start(items.id("all")));
    let session = story.prepared("plan@1").plan().session;
    story.done("plan@1").shell("test@1", false, "red");
    assert_eq!(story.ended().0, FinalStatus::Failed);
    let more = Box::new(Continuation::default());
    story.tell(Event::Continued { inbox: InboxId::new("i"), by: "me".into(), more });
    story.shell("test@1~2", true, "green");
    let build = story.prepared("build@1").plan();
    assert_eq!((build.session, build.resume), (session, true));
}
