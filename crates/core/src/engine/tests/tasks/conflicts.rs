//! Work that conflicts with its target: who resolves it, how often, and that it costs no attempt.

use super::*;
use crate::effect::OpenConflict;
use crate::run::ConflictStep;

/// A loop over tasks, two at once, each done by one session.
fn sessions() -> Builder {
    Builder::new("w").start(
        task_loop()
            .jobs(2)
            .attempts(1)
            .each(|task| task.then(prompt("Do {{ task.name }}. {{ feedback }}").id("do")))
            .id("t"),
    )
}

impl Story {
    fn conflicts(&mut self, round: &str, commit: Option<&str>) -> &mut Story {
        let effect = self.open_of(round, Verb::Land);
        let (files, commit) = (vec!["lib.rs".to_owned()], commit.map(str::to_owned));
        let why = "it conflicts in lib.rs".to_owned();
        self.tell(Event::Landed { effect, end: LandingEnd::Conflict { files, commit, why } })
    }

    fn renewed(&mut self, round: &str, files: &[&str]) -> &mut Story {
        let effect = self.open_of(round, Verb::Worktree);
        let files = files.iter().map(|&name| name.to_owned()).collect();
        self.tell(Event::WorktreeMade {
            effect,
            end: WorktreeEnd::Renewed { commit: "merged".into(), files },
        })
    }

    fn not_renewed(&mut self, round: &str) -> &mut Story {
        let effect = self.open_of(round, Verb::Worktree);
        self.tell(Event::WorktreeMade { effect, end: WorktreeEnd::Failed { why: "git is too old".into() } })
    }

    /// Returns the steps against conflicts so far.
    fn steps(&self) -> Vec<ConflictStep> {
        let news = self.records.iter().flat_map(|record| &record.news);
        news.filter_map(|news| if let News::Conflict { next, .. } = news { Some(*next) } else { None })
            .collect()
    }

    fn session_of(&self, node: &str) -> crate::effect::SessionPlan {
        let Effect::StartSession(plan) = self.effect_of(node, Verb::Session) else { panic!("a session") };
        plan
    }
}

#[test]
fn a_conflict_resumes_the_session_in_its_worktree_and_costs_no_attempt() {
    let mut story = Story::drawn(sessions());
    story.gets("a").claimed(Claim::Working).worktree("t@1").prepared("do@1");
    let first = story.session_of("do@1").session;
    let effect = story.open_of("do@1", Verb::Session);
    let end = SessionEnd { spoke: true, ..session_end(SessionVerdict::Completed) };
    story.tell(Event::SessionEnded { effect, end }).seen(false).cleaned("do@1");
    story.conflicts("t@1", Some("own"));
    let renewal = Effect::RenewWorktree {
        task: task("a"),
        workspace: "/trees/t@1".into(),
        branch: "task/t@1".into(),
        target: Some("main".into()),
    };
    assert_eq!(story.effect_of("t@2", Verb::Worktree), renewal);
    assert_eq!(story.does(), ["t@2.1.1.worktree"], "nothing else begins");
    story.renewed("t@2", &["lib.rs", "a.rs"]).prepared("do@2");
    let again = story.session_of("do@2");
    assert_eq!((again.session, again.resume), (first, true));
    for words in ["- lib.rs\n- a.rs\n", "as on `main`", "`git show own:FILE`", "<status>passing</status>"] {
        assert!(again.prompt.contains(words), "`{words}` is missing: {}", again.prompt);
    }
    assert!(!again.prompt.contains("Do task a"), "{}", again.prompt);
    story.session_ends(SessionVerdict::Completed).seen(false).cleaned("do@2");
    let Effect::Land { workspace, conflict, .. } = story.effect_of("t@2", Verb::Land) else {
        panic!("lands")
    };
    let files = vec!["lib.rs".to_owned(), "a.rs".to_owned()];
    assert_eq!(
        (workspace.as_str(), conflict),
        ("/trees/t@1", Some(OpenConflict { files, since: "merged".into() }))
    );
    story.landed("t@2", true).settled("t@2", TaskStatus::Passing);
    let Effect::ClaimTask { attempts, .. } = story.effect_of("t", Verb::Claim) else { panic!("a claim") };
    assert_eq!(attempts.made.get(&task("a")), Some(&1), "one attempt");
    story.claimed(Claim::AllDone);
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
    assert_eq!(story.steps(), [ConflictStep::Agent { time: 1, of: 3 }]);
    assert_eq!(story.state.bookkeeping.outputs[&NodeId::new("t")].text, "1 of 1 iterations passed");
}

#[test]
fn while_one_conflict_is_resolved_the_others_wait_and_the_earliest_conflict_is_next() {
    let mut story = Story::drawn(several(3));
    story.gets("a").gets("b").gets("c").worktree("t@1").worktree("t@2").worktree("t@3");
    story.shell("do@1", true, "").shell("do@2", true, "").conflicts("t@1", Some("a"));
    assert!(story.does().is_empty(), "b is landing: the target may still move");
    story.conflicts("t@2", Some("b"));
    assert_eq!(story.does(), ["t@4.1.1.worktree"], "a came first");
    story.shell("do@3", true, "");
    assert!(story.does().is_empty(), "c waits for a");
    story.renewed("t@4", &["lib.rs"]).shell("do@4", true, "");
    assert_eq!(story.wanted(), ["t@4.1.1.land"]);
    story.landed("t@4", true);
    story.settled("t@4", TaskStatus::Passing);
    assert_eq!(story.does(), ["t@5.1.1.worktree", "t.4.1.claim"], "b is next");
    story.claimed(Claim::Working).renewed("t@5", &[]);
    assert_eq!(story.does(), ["t@5.1.1.land"], "git merged everything");
    story.landed("t@5", true).settled("t@5", TaskStatus::Passing);
    assert_eq!(story.does(), ["t@3.1.1.land", "t.5.1.claim"], "now c lands");
    story.claimed(Claim::Working).landed("t@3", true).settled("t@3", TaskStatus::Passing);
    story.claimed(Claim::AllDone);
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn after_three_resolutions_the_task_runs_alone_and_then_a_person_gets_it_and_the_others_go_on() {
    let mut story = Story::drawn(several(2));
    story.gets("a").gets("b").worktree("t@1").worktree("t@2").shell("do@1", true, "");
    story.conflicts("t@1", Some("own"));
    for round in 3..=5 {
        let (name, node) = (format!("t@{round}"), format!("do@{round}"));
        story.renewed(&name, &["lib.rs"]).shell(&node, true, "").conflicts(&name, None);
    }
    let alone =
        Effect::MakeWorktree { task: task("a"), attempt: 1, target: Some("main".into()), from: vec![] };
    assert_eq!(story.effect_of("t@6", Verb::Worktree), alone);
    story.shell("do@2", true, "");
    assert!(story.does().is_empty(), "b does not land meanwhile");
    story.worktree("t@6").shell("do@6", true, "");
    let Effect::Land { branch, conflict, .. } = story.effect_of("t@6", Verb::Land) else { panic!("lands") };
    let files = vec!["lib.rs".to_owned()];
    assert_eq!((branch.as_str(), conflict), ("task/t@6", Some(OpenConflict { files, since: "base".into() })));
    story.conflicts("t@6", Some("own"));
    let Effect::SettleTask { ok, why, .. } = story.effect_of("t@6", Verb::Settle) else { panic!("settled") };
    let why = why.unwrap();
    assert!(
        !ok && why.contains("`git merge task/t@6`") && why.contains("`windlass tasks set a done`"),
        "{why}"
    );
    story.settled("t@6", TaskStatus::Failing).claimed(Claim::Working);
    story.landed("t@2", true).settled("t@2", TaskStatus::Passing);
    let Effect::ClaimTask { attempts, .. } = story.effect_of("t", Verb::Claim) else { panic!("a claim") };
    assert!(!attempts.allow(&task("a")), "nobody tries it again");
    story.claimed(Claim::Failed { ids: vec![task("a")] });
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::Git));
    let by = |time| ConflictStep::Agent { time, of: 3 };
    assert_eq!(story.steps(), [by(1), by(2), by(3), ConflictStep::Alone]);
}

#[test]
fn a_worktree_that_cannot_be_renewed_is_left_and_the_task_runs_alone() {
    let mut story = Story::drawn(sessions());
    story.gets("a").claimed(Claim::Working).worktree("t@1").says("do@1", "done");
    story.conflicts("t@1", Some("own")).not_renewed("t@2").worktree("t@3").prepared("do@3");
    let plan = story.session_of("do@3");
    assert!(
        !plan.resume && plan.prompt.starts_with("Do task a. Earlier work for this task"),
        "{}",
        plan.prompt
    );
    assert!(
        plan.prompt.contains("on branch `task/t@1`") && plan.prompt.contains("- lib.rs"),
        "{}",
        plan.prompt
    );
    assert_eq!(story.steps(), [ConflictStep::Agent { time: 1, of: 3 }, ConflictStep::Alone]);
}

#[test]
fn a_task_that_is_done_again_without_a_commit_goes_to_a_person_with_the_earlier_work() {
    let mut story = Story::drawn(sessions());
    story.gets("a").claimed(Claim::Working).worktree("t@1").says("do@1", "done");
    story.conflicts("t@1", Some("0123456789abcdef"));
    for round in 2..=4 {
        let (name, node) = (format!("t@{round}"), format!("do@{round}"));
        story.renewed(&name, &["lib.rs"]).says(&node, "done").conflicts(&name, None);
    }
    story.worktree("t@5").prepared("do@5");
    let told = story.session_of("do@5").prompt;
    assert!(told.contains("Without a commit") && told.contains("`git commit --allow-empty`"), "{told}");
    story.session_ends(SessionVerdict::Completed).seen(false).cleaned("do@5").conflicts("t@5", None);
    let Effect::SettleTask { ok, why, branch, .. } = story.effect_of("t@5", Verb::Settle) else {
        panic!("settled")
    };
    assert_eq!((ok, branch.as_deref()), (false, Some("task/t@5")), "the empty worktree goes");
    let why = why.unwrap();
    let words =
        ["committed nothing", "on branch `task/t@1`", "`git merge 0123456789ab`", "tasks set a done`"];
    for words in words {
        assert!(why.contains(words), "`{words}` is missing: {why}");
    }
    story.settled("t@5", TaskStatus::Failing).claimed(Claim::Failed { ids: vec![task("a")] });
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::Git));
}

#[test]
fn a_log_from_before_worktrees_had_a_commit_still_lands_what_is_done_again() {
    let mut story = Story::drawn(several(2));
    story.gets("a").claimed(Claim::Working).worktree("t@1").shell("do@1", true, "");
    story.conflicts("t@1", Some("own")).not_renewed("t@2");
    let effect = story.open_of("t@3", Verb::Worktree);
    let (workspace, branch) = ("/trees/t@3".to_owned(), "task/t@3".to_owned());
    let end = WorktreeEnd::Made { workspace, branch, target: None, commit: None };
    story.tell(Event::WorktreeMade { effect, end }).shell("do@3", true, "");
    let Effect::Land { conflict, .. } = story.effect_of("t@3", Verb::Land) else { panic!("lands") };
    assert_eq!(conflict, None);
    story.landed("t@3", true).settled("t@3", TaskStatus::Passing).claimed(Claim::AllDone);
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn an_agent_that_commits_nothing_is_told_again_with_the_commit_of_its_own_version() {
    let mut story = Story::drawn(sessions());
    story
        .gets("a")
        .claimed(Claim::Working)
        .worktree("t@1")
        .says("do@1", "done")
        .conflicts("t@1", Some("own"));
    story.renewed("t@2", &["lib.rs"]).says("do@2", "done").conflicts("t@2", None);
    story.renewed("t@3", &[]).prepared("do@3");
    let told = story.session_of("do@3").prompt;
    assert!(told.starts_with("You have committed nothing") && told.contains("git show own:FILE"), "{told}");
    assert!(told.contains("- lib.rs"), "{told}");
}

#[test]
fn conflicts_do_not_count_as_iterations() {
    let each = task_loop().jobs(2).max(2).each(|task| task.then(shell("x").id("do")));
    let mut story = Story::drawn(Builder::new("w").start(each.id("t")));
    story.gets("a").claimed(Claim::Working).worktree("t@1").shell("do@1", true, "");
    story.conflicts("t@1", Some("own")).renewed("t@2", &["lib.rs"]).shell("do@2", true, "");
    story.landed("t@2", true).settled("t@2", TaskStatus::Passing);
    story.gets("b").worktree("t@3").shell("do@3", true, "").landed("t@3", true);
    story.settled("t@3", TaskStatus::Passing).claimed(Claim::AllDone);
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn an_interrupted_run_goes_on_with_its_conflicts_where_they_were() {
    let mut story = Story::drawn(several(3));
    story.gets("a").gets("b").gets("c").worktree("t@1").worktree("t@2").worktree("t@3");
    story.shell("do@1", true, "").shell("do@2", true, "");
    story.conflicts("t@1", Some("a")).conflicts("t@2", Some("b")).shell("do@3", true, "");
    story.interrupt();
    assert_eq!(story.wanted(), ["t@4.1.1.worktree"], "what git does is finished");
    story.renewed("t@4", &["lib.rs"]);
    assert_eq!(story.ended(), (FinalStatus::Interrupted, EndReason::User));
    story.goes_on_after_end();
    assert_eq!(story.wanted(), ["do@4.1.2.shell"], "a is resolved, b and c wait");
    story.shell("do@4", true, "").landed("t@4", true).settled("t@4", TaskStatus::Passing);
    assert_eq!(story.open_of("t@5", Verb::Worktree).to_string(), "t@5.1.2.worktree");
}

#[test]
fn a_cancelled_run_returns_tasks_in_conflict_with_their_branches() {
    let mut story = Story::drawn(several(3));
    story.gets("a").gets("b").gets("c").worktree("t@1").worktree("t@2").worktree("t@3");
    story.shell("do@1", true, "").shell("do@2", true, "");
    story.conflicts("t@1", Some("a")).conflicts("t@2", Some("b")).shell("do@3", true, "");
    story.cancel().renewed("t@4", &["lib.rs"]);
    for (round, branch) in [("t@4", "task/t@1"), ("t@2", "task/t@2"), ("t@3", "task/t@3")] {
        let released = story.effect_of(round, Verb::Settle);
        assert!(
            matches!(&released, Effect::ReleaseTask { branch: Some(kept), .. } if kept == branch),
            "{released:?}"
        );
        story.settled(round, TaskStatus::Pending);
    }
    assert_eq!(story.ended(), (FinalStatus::Cancelled, EndReason::User));
}
