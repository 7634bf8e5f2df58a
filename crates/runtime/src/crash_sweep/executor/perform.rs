//! Performs each effect in the world, unless it was performed before, and queues its outcome.

use windlass_core::effect::{Effect, Planned};
use windlass_core::event::{
    EntityTexts, Event, LandingEnd, PrepareEnd, SaveEnd, SessionVerdict, ShellEnd, WorkSoFar, WorktreeEnd,
};
use windlass_core::id::{EffectId, NodeId, RunId, Verb};
use windlass_core::looping::LoopMode;
use windlass_core::looping::verdict::{CheckResult, Inspection, TrackerInspection};
use windlass_core::run::{Activity, SubRunState};
use windlass_core::snapshot::{FolderSnapshot, SnapshotName};
use windlass_core::spec::Spec;

use super::super::story::Pace;
use super::super::world::{Found, name};
use super::{Dropped, Executor, actives, effect_of, ended};

impl Executor<'_> {
    /// Performs an effect, or continues what was started of it before.
    pub(super) fn perform(&mut self, run: &RunId, planned: Planned) -> Result<(), Dropped> {
        let Planned { id, effect } = planned;
        if effect.is_settled_by_an_event() {
            let is_new = self.owned(run).performed.insert(id.clone());
            assert!(is_new, "{id} is performed twice by one process: {}", self.at.said());
        }
        if let Effect::StartRun { run: child, spec, .. } = effect {
            return self.start_run(run, id, &child, *spec);
        }
        let pace = if id.verb == Verb::CleanUp { Pace::Quick } else { self.story.line(&id).pace };
        let is_time = matches!(effect, Effect::WaitUntil { .. });
        let outcomes = match self.story.line(&id).breaks && id.verb != Verb::CleanUp {
            true => vec![Event::EffectBroken { effect: id, what: "a fault".into() }],
            false => self.outcomes(run, &id, effect),
        };
        self.point()?;
        let owned = self.owned(run);
        match pace {
            _ if is_time => owned.timers.extend(outcomes),
            Pace::Slow => owned.slow.extend(outcomes),
            Pace::Quick | Pace::Never => owned.quick.extend(outcomes),
        }
        Ok(())
    }

    fn outcomes(&mut self, run: &RunId, id: &EffectId, effect: Effect) -> Vec<Event> {
        let line = self.story.line(id);
        let (effect_name, effect_id) = (name(run, id), id.clone());
        let one = |event: Event| vec![event];
        match effect {
            Effect::Prepare { hand_over: true, .. } => {
                let work = Some(WorkSoFar { commits: vec!["c1 Half".into()], ..WorkSoFar::default() });
                let end = PrepareEnd::Ready { texts: None, fingerprint: String::new(), work };
                one(Event::Prepared { effect: effect_id, end, base: None, odd: Vec::new() })
            }
            Effect::Prepare { args, .. } => {
                let said = |args: String| EntityTexts {
                    prompt: format!("Told: {args}"),
                    system: Some("you".into()),
                    odd: Vec::new(),
                };
                let end =
                    PrepareEnd::Ready { texts: args.map(said), fingerprint: "0".to_owned(), work: None };
                let prepared =
                    Event::Prepared { effect: effect_id, end, base: Some("c0".into()), odd: Vec::new() };
                vec![saved(id, 0), prepared]
            }
            Effect::StartSession(plan) => {
                let told = format!("{} resume={}: {}", plan.session, plan.resume, plan.prompt);
                self.world.begin(effect_name, told);
                let mut events = one(Event::SessionStarted { effect: id.clone(), session: plan.session });
                events.extend(self.end_of_turn(run, id));
                events
            }
            Effect::Inspect { .. } => {
                let sight = self.sight(run, id);
                vec![saved(id, id.iteration), Event::Inspected { effect: effect_id, sight }]
            }
            Effect::RunChecks { names, .. } => {
                self.world.begin(effect_name, names.join(" "));
                let checks = &self.state(run).spec.checks;
                let named = checks.iter().filter(|check| names.is_empty() || names.contains(&check.name));
                let result = |name: &str| CheckResult {
                    name: name.to_owned(),
                    passed: line.ok,
                    how: "exit code 1".into(),
                    output: format!("what {id} found"),
                    ..CheckResult::default()
                };
                let results = named.map(|check| result(&check.name)).collect();
                one(Event::ChecksFinished { effect: effect_id, results })
            }
            Effect::RunShell(plan) => self.shell(run, id, plan.command, plan.idempotent),
            Effect::ClaimTask { path, select, busy, attempts } => {
                assert!(select.is_none(), "the world knows no conditions");
                let claim = self.world.claim(&path.unwrap_or_default(), &busy, &attempts);
                one(Event::TaskClaimed { effect: effect_id, claim, odd: Vec::new() })
            }
            Effect::SettleTask { path, task, ok, said, why, branch: _ } => {
                let file = path.unwrap_or_default();
                let (status, reason) = self.world.settle(&file, &task, ok, said.as_deref());
                one(Event::TaskSettled { effect: effect_id, status, why: reason.or(why), error: None })
            }
            Effect::ReleaseTask { path, task, branch: _, why: _ } => {
                let status = self.world.release(&path.unwrap_or_default(), &task);
                one(Event::TaskSettled { effect: effect_id, status, why: None, error: None })
            }
            Effect::MakeWorktree { task, attempt, target: _, from } => {
                let branch = format!("task-{task}-{attempt}");
                let after =
                    if from.is_empty() { String::new() } else { format!(" after {}", from.join(" ")) };
                self.world.begin(effect_name, format!("{branch}{after}"));
                let workspace = format!("/trees/{branch}");
                let end = WorktreeEnd::Made {
                    workspace,
                    branch,
                    target: Some("main".into()),
                    commit: Some("base".into()),
                };
                one(Event::WorktreeMade { effect: effect_id, end })
            }
            Effect::LeaveWorktree { branch } => {
                self.world.begin(effect_name, &branch);
                one(Event::WorktreeMade { effect: effect_id, end: WorktreeEnd::Left { kept: line.ok } })
            }
            Effect::RenewWorktree { branch, .. } => {
                self.world.begin(effect_name, &branch);
                let end = match line.ok {
                    true => WorktreeEnd::Renewed { commit: "merged".into(), files: vec!["a".into()] },
                    false => WorktreeEnd::Failed { why: "it cannot be renewed".into() },
                };
                one(Event::WorktreeMade { effect: effect_id, end })
            }
            Effect::Land { workspace, branch, .. } => {
                self.world.begin(effect_name, format!("{branch} of {workspace}"));
                let end = match line.ok {
                    true => LandingEnd::Landed { what: "landed".into(), is_empty: false },
                    false if line.says.is_some() => {
                        LandingEnd::Refused { why: "its checks are red".into(), checks: Default::default() }
                    }
                    false => LandingEnd::Conflict {
                        files: vec!["a".into()],
                        commit: Some("own".into()),
                        why: "it conflicts with what others did".into(),
                    },
                };
                one(Event::Landed { effect: effect_id, end })
            }
            // Nothing takes that long here, and an agent that may stop does so before its timeout.
            Effect::WaitUntil { .. } if id.verb == Verb::Timeout || self.is_closing(run, &id.node) => vec![],
            Effect::WaitUntil { .. } => one(Event::WaitOver { effect: effect_id }),
            Effect::CleanUp { .. } => self.put_away(run, id),
            Effect::StartRun { .. }
            | Effect::AnswerHook { .. }
            | Effect::MarkTracker { .. }
            | Effect::KillChildren => vec![],
        }
    }

    fn is_closing(&self, run: &RunId, node: &NodeId) -> bool {
        use windlass_core::run::SessionPhase;
        self.state(run).work(node).is_some_and(|work| matches!(work.phase, SessionPhase::Closing { .. }))
    }

    /// Returns the end of a turn that ends by itself. Hooks end the others.
    fn end_of_turn(&self, run: &RunId, id: &EffectId) -> Option<Event> {
        let line = self.story.line(id);
        let mode = self.state(run).work(&id.node)?.node.rules().map(|rules| rules.mode);
        let is_held = matches!(mode, Some(LoopMode::InSession | LoopMode::Plugin));
        if line.pace == Pace::Never || (is_held && line.verdict == SessionVerdict::Completed) {
            return None;
        }
        let verdict = line.verdict.clone();
        Some(ended(id.clone(), line, verdict))
    }

    fn sight(&self, run: &RunId, id: &EffectId) -> Inspection {
        let line = self.story.line(id);
        let rules = self.state(run).work(&id.node).and_then(|work| work.node.rules());
        let is_done = id.iteration >= line.done_on;
        let tracker = match rules.is_some_and(|rules| rules.tracker_path.is_some()) {
            true => TrackerInspection::Read { complete: is_done, blocked: None },
            false => TrackerInspection::None,
        };
        let promised = rules.is_some_and(|rules| rules.mode == LoopMode::Plugin) && is_done;
        Inspection { tracker, promised, signalled: false, fingerprint: id.iteration.to_string() }
    }

    /// Runs a command. One with a known outcome does not run again; an interrupted one only if it is
    /// idempotent.
    fn shell(&mut self, run: &RunId, id: &EffectId, command: String, idempotent: bool) -> Vec<Event> {
        let line = self.story.line(id);
        let effect_name = name(run, id);
        let found = match idempotent {
            true => {
                self.world.begin_again(effect_name, command);
                Found::Nothing
            }
            false => self.world.begin(effect_name, command),
        };
        let end = match (found, line.pace) {
            (Found::It, _) if self.story.loses_shells => ShellEnd::Unknown,
            (_, Pace::Never) => return vec![],
            _ => {
                let output = line.says.unwrap_or_else(|| format!("what {id} printed"));
                ShellEnd::exited(line.ok, "exit code 1", output)
            }
        };
        vec![Event::ShellEnded { effect: id.clone(), end }]
    }

    /// Starts or adopts a sub-run. Does not start one whose node is being ended.
    fn start_run(&mut self, run: &RunId, id: EffectId, child: &RunId, spec: Spec) -> Result<(), Dropped> {
        let is_cut =
            actives(self.state(run)).iter().any(|active| active.instance == id.node && active.cut.is_some());
        let from = Some((run.clone(), id));
        match (self.is_in_store(child), is_cut) {
            (true, _) => self.adopt(child, from)?,
            (false, true) => {}
            (false, false) => {
                let found = self.world.begin(format!("run {child}"), &spec.input);
                assert_eq!(found, Found::Nothing, "run {child} was begun and is gone");
                self.create(child, spec, from)?;
            }
        }
        self.point()
    }

    /// Ends what is left of a node. The end of its turn or sub-run comes first.
    fn put_away(&mut self, run: &RunId, id: &EffectId) -> Vec<Event> {
        let child = actives(self.state(run)).into_iter().find_map(|active| match &active.activity {
            Activity::Run(SubRunState { run, .. }) if active.instance == id.node => Some(run.clone()),
            _ => None,
        });
        let living = child.filter(|child| self.runs.get(child).is_some_and(|owned| !owned.state.is_done()));
        if let Some(child) = living {
            let child = self.owned(&child);
            child.quick.push_back(Event::ParentEnded {
                inbox: None,
                why: "its node is over".to_owned(),
                interrupted: false,
                failed: false,
            });
            child.put_away_by = Some(id.clone());
            return vec![];
        }
        let owned = &self.runs[run];
        let is_told = |turn: &EffectId| {
            let ends = owned.quick.iter().filter(|event| matches!(event, Event::SessionEnded { .. }));
            ends.into_iter().any(|event| effect_of(event) == Some(turn))
        };
        let turns = owned.state.bookkeeping.open.iter().map(|planned| planned.id.clone());
        let turns = turns.filter(|turn| turn.node == id.node && turn.verb == Verb::Session);
        let left = turns.filter(|turn| self.world.has_begun(&name(run, turn)) && !is_told(turn));
        let cut_off = |turn: EffectId| {
            let line = self.story.line(&turn);
            ended(turn, line, SessionVerdict::Interrupted { what: "it was ended".into() })
        };
        left.map(cut_off).chain([Event::CleanedUp { effect: id.clone() }]).collect()
    }
}

/// Saves the folder. Every second attempt of a turn fails to.
fn saved(effect: &EffectId, turn: u32) -> Event {
    let end = match effect.attempt % 2 {
        0 => SaveEnd::Failed { why: "no space".into() },
        _ => SaveEnd::Saved(FolderSnapshot {
            commit: format!("commit of {effect}"),
            tree: format!("tree of {effect}"),
            head: None,
            left_out: Vec::new(),
        }),
    };
    let name = SnapshotName::Turn { node: effect.node.clone(), turn };
    Event::FolderSaved { name, folder: "/w".into(), end }
}
