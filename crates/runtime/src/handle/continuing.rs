//! Continues runs that have ended: interrupted, exhausted, blocked or failed.

use std::path::{Path, PathBuf};

use windlass_core::engine;
use windlass_core::event::Event;
use windlass_core::id::{InboxId, RunId};
use windlass_core::run::{Continuation, FinalStatus, News, RunState};
use windlass_core::spec::Spec;
use windlass_store::{Append, AppendError};

use super::{Beside, ChildStart, Handle, OwnedRun, OwnerStart, Ownership, TakenRun};
use crate::clock::now;
use crate::config;
use crate::day::{self, Today};
use crate::error::RunError;
use crate::named_lock::NamedLock;
use crate::owner::project;
use crate::plan::uncounted;
use crate::time_travel::WaitPolicy;
use crate::view::RunView;
use crate::workspace::{FolderCheck, absence};

/// The additions with which a person resumes a run.
#[derive(Debug, Clone, Default)]
pub struct ResumeAdditions {
    pub more: Continuation,
    /// The flags for requests that would wait for a person.
    pub asks: WaitPolicy,
    pub beside: Beside,
}

/// The additions with which a parent run continues a child run.
#[derive(Debug)]
pub(crate) struct ChildContinuation {
    /// The id of the request, derived from the effect of the parent, so that it counts once.
    pub(crate) inbox: InboxId,
    pub(crate) more: Box<Continuation>,
}

impl ChildContinuation {
    /// Decides whether the child run can continue and has not been continued by this request.
    pub(super) fn is_new_to(&self, state: &RunState) -> bool {
        let is_final = state.outcome().is_none_or(|outcome| outcome.status.is_final());
        !is_final && state.bookkeeping.continued_by.as_ref() != Some(&self.inbox)
    }
}

impl Handle {
    /// Continues a run that has ended, in this process.
    pub async fn reopen(&self, run: &RunId, with: ResumeAdditions) -> Result<OwnedRun, RunError> {
        let run = run.clone();
        let (taken, _lock) = self.waiting(move |handle| handle.reopen_by_person(&run, with)).await?;
        self.own(taken)
    }

    /// Continues a run that has ended, in a background process.
    pub async fn reopen_detached(&self, run: &RunId, with: ResumeAdditions) -> Result<(), RunError> {
        let run = run.clone();
        self.waiting(move |handle| {
            let (taken, _lock) = handle.reopen_by_person(&run, with)?;
            let TakenRun { rights, family, .. } = taken;
            drop(rights);
            handle.detach(family.root())?;
            // Until then the run looks like one that nobody runs, beside which another may start.
            handle.wait_until_owned(&run, family.seq());
            Ok(())
        })
        .await
    }

    /// Continues a run. Until the lock is dropped, no other run starts.
    fn reopen_by_person(
        &self,
        run: &RunId,
        with: ResumeAdditions,
    ) -> Result<(TakenRun, NamedLock), RunError> {
        let lock = self.lock_starts()?;
        let view = self.view(run)?;
        self.check_is_newest(run)?;
        self.refuse_beside(&view.state.spec, with.beside)?;
        let mut more = with.more;
        more.policy = self.policy_over(&view.state.spec, view.state.spec.policy, with.asks);
        self.price_anew(&view.state.spec, &mut more)?;
        let by = crate::person::user();
        Ok((self.continue_run(view, InboxId::new(crate::random::token()), by, more)?, lock))
    }

    /// Adds the prices of today to a continuation. Refuses a new budget of money that could never hold with them.
    fn price_anew(&self, spec: &Spec, more: &mut Continuation) -> Result<(), RunError> {
        // Settings that cannot be read leave the prices as they are.
        if let Ok(resolved) = config::read(&self.home, Path::new(&spec.workspace), Vec::new()) {
            more.prices = Some(resolved.settings.price_table()).filter(|prices| *prices != spec.prices);
        }
        if more.budget.cost_usd.is_none() {
            return Ok(());
        }
        let mut spec = spec.clone();
        more.prices.iter().for_each(|prices| spec.price_by(prices));
        spec.budget = more.budget.applied(&spec.budget);
        let found = uncounted(&self.home.agents, &spec, &[]).refuse();
        found.map(drop).map_err(|problem| RunError::UncountedCost(problem.text()))
    }

    /// Continues a child run for its parent, which continues too.
    pub(super) fn reopen_child(
        &self,
        view: RunView,
        with: &ChildContinuation,
    ) -> Result<ChildStart, RunError> {
        let run = view.run.clone();
        let parent = view.state.spec.parent.as_ref();
        let by = parent.map_or_else(|| "its parent".to_owned(), |parent| format!("run {}", parent.run));
        match self.continue_run(view, with.inbox.clone(), by, (*with.more).clone()) {
            Ok(taken) => Ok(ChildStart::Running(Box::new(self.own(taken)?))),
            Err(RunError::WouldEnd { .. } | RunError::Final { .. }) => {
                Ok(ChildStart::Over(Box::new(self.view(&run)?.state)))
            }
            Err(RunError::Lease { .. }) => Ok(ChildStart::Elsewhere),
            Err(error) => Err(error),
        }
    }

    /// Ends a run that could continue for good. It has no owner and nothing that runs.
    pub(super) fn cancel_stopped(&self, run: &RunId) -> Result<(), RunError> {
        let lease = self.store.acquire(run).map_err(|source| RunError::Lease { run: run.clone(), source })?;
        let view = self.view(run)?;
        let (mut state, at) = (view.state, now());
        let event = Event::CancelAsked { inbox: None };
        let step = engine::apply(&mut state, at, &event);
        let body = serde_json::to_vec(&step.record(at, event)).map_err(RunError::Encode)?;
        self.store.append_blocking(Append {
            run: run.clone(),
            expected_seq: view.seq,
            epoch: lease.epoch(),
            bodies: vec![body],
            durability: self.durability,
            taken: Vec::new(),
            projection: Some(project(&state, at.0)),
            snapshot: None,
            spending: None,
        })?;
        // Its `finally` has not run yet, so a process must run it.
        if !state.is_done() {
            drop(lease);
            self.detach(&state)?;
            self.wait_until_owned(run, view.seq + 1);
        }
        Ok(())
    }

    /// Decides whether the newest record of a run continues it, so that nothing was performed since.
    pub(super) fn is_just_continued(&self, run: &RunId, seq: u64) -> Result<bool, RunError> {
        let last = self.record_at(run, seq)?;
        Ok(last.is_some_and(|record| matches!(record.event, Event::Continued { .. })))
    }

    /// Decides how the run continues, and commits that decision.
    fn continue_run(
        &self,
        view: RunView,
        inbox: InboxId,
        by: String,
        more: Continuation,
    ) -> Result<TakenRun, RunError> {
        let run = view.run.clone();
        let lease =
            self.store.acquire(&run).map_err(|source| RunError::Lease { run: run.clone(), source })?;
        let family = self.as_recorded(self.family(&view))?;
        if let Some(divergence) = family.divergence().cloned() {
            return Err(self.with_binary(RunError::Diverged { run, divergence, binary: None }));
        }
        let seq = family.seq();
        match family.root().outcome().map(|outcome| outcome.status) {
            // Another process continued it in the meantime, and is gone already.
            None => return Err(RunError::Over(run)),
            Some(status @ (FinalStatus::Completed | FinalStatus::Cancelled)) => {
                return Err(RunError::Final { run, status });
            }
            Some(_) => {}
        }
        let limits = day::limits(&self.home, family.root());
        let (state, step, task_claims, folder, cadence) = loop {
            let (mut state, at) = (family.root().clone(), now());
            let today = Today::read(&self.store, at, &limits)?;
            let news = today.news(&state, &limits).map(|event| {
                let step = engine::apply(&mut state, at, &event);
                step.record(at, event)
            });
            if let Some(outcome) = engine::would_end(&state, at, &more) {
                return Err(RunError::WouldEnd { run, outcome });
            }
            let folder = PathBuf::from(&state.spec.workspace);
            if let Some(why) = absence(&state, &self.store.run_dir(&run), FolderCheck::Close) {
                return Err(RunError::NoFolder { run, folder, why });
            }
            let spent = state.bookkeeping.spent_on.clone();
            let event =
                Event::Continued { inbox: inbox.clone(), by: by.clone(), more: Box::new(more.clone()) };
            let step = engine::apply(&mut state, at, &event);
            let task_claims = self.claim_tasks(&state, OwnerStart::Next)?;
            let folder = self.lock_folder(&run, &state.spec)?;
            let records = news.into_iter().chain([step.record(at, event)]);
            let bodies: Result<Vec<_>, _> = records.map(|record| serde_json::to_vec(&record)).collect();
            let bodies = bodies.map_err(RunError::Encode)?;
            let mut cadence = family.cadence();
            bodies.iter().for_each(|body| cadence.wrote(body.len()));
            self.home.crash.point(|| {});
            let appended = self.store.append_blocking(Append {
                run: run.clone(),
                expected_seq: seq,
                epoch: lease.epoch(),
                bodies,
                durability: self.durability,
                taken: Vec::new(),
                projection: Some(project(&state, at.0)),
                snapshot: None,
                spending: today.change(&spent, &state, std::slice::from_ref(&step)),
            });
            match appended {
                // Another run spent from a budget of the day at the same moment.
                Err(AppendError::SpendingChanged { .. }) => {}
                appended => break appended.map(|_| (state, step, task_claims, folder, cadence))?,
            }
        };
        self.home.crash.point(|| {});
        crate::changes::remember(&self.store.run_dir(&run), Path::new(&state.spec.workspace));
        let family = self.family(&self.view(&run)?);
        let mut first = self.header(&family, OwnerStart::Reopened)?;
        // The new owner reports by itself what the run waits for.
        first.news = step.news.iter().filter(|news| !matches!(news, News::Waiting(_))).cloned().collect();
        let (effects, hand) = (state.to_perform(), OwnerStart::Reopened);
        Ok(TakenRun {
            rights: Ownership { lease, task_claims, folder },
            family,
            cadence,
            first,
            effects,
            hand,
        })
    }
}
