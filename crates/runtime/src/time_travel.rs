//! Forks runs: starts a new run at a point of another one.
//!
//! `core::engine` decides a log again and finds the points where it can be forked. This module reads the log
//! and prepares the folder for the new run.

use std::path::{Path, PathBuf};

use windlass_core::effect::{Effect, Planned, ShellPlan};
use windlass_core::engine::explain::nearest;
use windlass_core::engine::{self, Decision, Divergence, ForkError};
use windlass_core::event::{Event, Record};
use windlass_core::graph::walk::ids_in;
use windlass_core::id::{NodeId, RunId};
use windlass_core::looping::{LoopRules, MarkerMatch};
use windlass_core::run::{News, RunState, SessionPhase, SessionWork, Spent};
use windlass_core::spec::{ForkOrigin, OnPermission, OnQuestion, Policy, Spec};
use windlass_core::time::Moment;
use windlass_forms::tracker::{self, Markers};
use windlass_peers::files::{self, FileError};
use windlass_store::{Cadence, Lease, NewRun};

use crate::artifacts;
use crate::clock::now;
use crate::config;
use crate::day::{self, Today};
use crate::effect::{TRACKER_MAX, create_tracker};
use crate::error::{RunError, chain};
use crate::handle::{Beside, Handle, OwnedRun, OwnerStart, Ownership, TakenRun, pin_sim};
use crate::named_lock::NamedLock;
use crate::owner::project;
use crate::plan::{PlanAgain, plan_again};
use crate::user_error::UserError;
use crate::view::Family;

/// A run that started with the log of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    pub run: RunId,
    /// The number of records it took from the other run.
    pub taken: usize,
    /// The number of records the other run had.
    pub of: usize,
    pub document: ForkDocument,
}

/// A request for a fork.
#[derive(Debug, Clone)]
pub struct ForkRequest {
    pub from: RunId,
    pub node: NodeId,
    /// The number of the node's start, from 1. The first by default.
    pub iteration: Option<u32>,
    pub asks: WaitPolicy,
    pub beside: Beside,
    /// `--with-document`: plan the workflow again.
    pub with_document: bool,
}

/// The workflow document that a fork uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkDocument {
    /// The recorded one.
    Recorded,
    /// The recorded one, and the document has changed since or cannot be read.
    RecordedOther,
    /// The document as it is now.
    Current,
}

impl ForkDocument {
    /// Returns the word for JSON.
    pub fn word(self) -> &'static str {
        match self {
            ForkDocument::Recorded => "recorded",
            ForkDocument::RecordedOther => "changed",
            ForkDocument::Current => "current",
        }
    }
}

/// The flags of a fork for requests that would wait for a person.
#[derive(Debug, Clone, Copy, Default)]
pub struct WaitPolicy {
    /// `--on-permission`.
    pub on_permission: Option<OnPermission>,
    /// `--on-question`.
    pub on_question: Option<OnQuestion>,
    /// A person watches the fork and can be asked.
    pub interactive: bool,
    /// The run goes to the background, where a person can answer questions later.
    pub detached: bool,
}

/// The policies that no settings file sets.
#[derive(Debug, Clone, Copy)]
struct FreeSettings {
    on_permission: bool,
    on_question: bool,
}

impl WaitPolicy {
    /// Returns the policy of a fork. Where the other run used the default for an absent person, a person who
    /// watches the fork is asked instead. Policies from settings and flags stay.
    fn over(self, was: Policy, free: FreeSettings) -> Policy {
        let permission = match was.on_permission {
            OnPermission::Deny if self.interactive && free.on_permission => OnPermission::Ask,
            other => other,
        };
        let question = match was.on_question {
            OnQuestion::Fail if (self.interactive || self.detached) && free.on_question => OnQuestion::Wait,
            other => other,
        };
        Policy {
            on_permission: self.on_permission.unwrap_or(permission),
            on_question: self.on_question.unwrap_or(question),
        }
    }
}

/// An error from forking a run.
#[derive(Debug, thiserror::Error)]
pub enum TravelError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("run {run} has no node `{node}`")]
    NoSuchNode {
        run: RunId,
        node: NodeId,
        /// The node with the most similar name.
        near: Option<NodeId>,
        /// All nodes of the workflow.
        nodes: Vec<NodeId>,
    },
    /// The run cannot be forked at that point.
    #[error("run {run} cannot be forked there: {why}")]
    Fork { run: RunId, why: ForkError },
    /// A folder that the fork needs is gone.
    #[error("the folder {} that run {run} worked in is gone", folder.display())]
    NoFolder { run: RunId, folder: PathBuf },
    /// The run was recorded without the request that planned it.
    #[error("run {0} does not say how it was planned: an older windlass recorded it")]
    NoRequest(RunId),
    /// The workflow cannot be planned again.
    #[error("the workflow of run {run} cannot be planned again")]
    Plan { run: RunId, error: Box<UserError> },
    /// The document as it is now would have decided differently before the fork point.
    #[error("the workflow document as it is now does not fit what run {run} did: {difference}")]
    OtherDocument { run: RunId, difference: String },
    /// The tracker with the progress so far cannot be copied.
    #[error("the tracker of `{node}` cannot be copied: {why}")]
    NoTracker { node: NodeId, why: String },
    /// The files in `run.artifacts` cannot be copied.
    #[error("the artifacts of run {run} cannot be copied")]
    NoArtifacts { run: RunId, source: std::io::Error },
}

/// The log of a fork, before it is stored.
struct ForkedLog {
    state: RunState,
    records: Vec<Record>,
    /// The effects to perform now.
    effects: Vec<Planned>,
    /// The news of the last decision.
    news: Vec<News>,
    /// The bytes written since the last snapshot.
    cadence: Cadence,
}

impl ForkedLog {
    /// Makes the record to show first.
    fn header(&self) -> Record {
        // Nodes and waits that ended just before the fork point belong to the other run.
        let is_past = |news: &&News| matches!(news, News::NodeFinished { .. } | News::WaitOver);
        let news: Vec<News> = self.news.iter().skip_while(is_past).cloned().collect();
        // Without news, the child runs were already shown.
        let begins =
            |planned: &&Planned| !news.is_empty() && matches!(planned.effect, Effect::StartRun { .. });
        let effects = self.state.bookkeeping.open.iter().filter(begins).cloned().collect();
        let event = Event::RunStarted { spec: Box::new(self.state.spec.clone()) };
        Decision { effects, news }.record(self.state.begun(), event)
    }
}

impl Handle {
    /// Starts a new run at the point where a node of another run started, and runs it in this process.
    pub async fn fork(&self, request: ForkRequest) -> Result<(Fork, OwnedRun), TravelError> {
        let draw = move |handle: &Handle| handle.draw_and_record(&request);
        let (fork, drawn, rights, _lock) = self.waiting(draw).await?;
        let first = drawn.header();
        let seq = u64::try_from(drawn.records.len()).unwrap_or(u64::MAX);
        let family = Family::of_one(drawn.state, seq);
        let (cadence, effects, hand) = (drawn.cadence, drawn.effects, OwnerStart::First);
        let running = self.own(TakenRun { rights, family, cadence, first, effects, hand })?;
        Ok((fork, running))
    }

    /// Forks a run like [`Handle::fork`] and starts a background process to run it.
    pub async fn fork_detached(&self, request: ForkRequest) -> Result<Fork, TravelError> {
        self.waiting(move |handle| {
            let (fork, drawn, rights, _lock) = handle.draw_and_record(&request)?;
            drop(rights);
            let seq = u64::try_from(drawn.records.len()).unwrap_or(u64::MAX);
            handle.detach(&drawn.state)?;
            handle.wait_until_owned(&fork.run, seq);
            Ok(fork)
        })
        .await
    }

    fn draw_and_record(
        &self,
        request: &ForkRequest,
    ) -> Result<(Fork, ForkedLog, Ownership, NamedLock), TravelError> {
        let ForkRequest { from, node, iteration, asks, .. } = request;
        let mut log: Vec<Record> = self.records(from, 1)?.into_iter().map(|(_, record)| record).collect();
        let place = place_of(from, &log, node, *iteration)?;
        self.follow(from, log.get(..place).unwrap_or_default())?;
        let document = self.choose_document(request, &mut log, place)?;
        let run = RunId::new(crate::random::run_id());
        let origin = ForkOrigin {
            run: from.clone(),
            node: node.clone(),
            iteration: iteration.unwrap_or(1),
            made: now(),
        };
        let mut drawn = self.draw(&run, origin, &log, place, *asks)?;
        has_its_folders(from, &drawn.state)?;
        let lock = self.lock_starts()?;
        self.refuse_beside(&drawn.state.spec, request.beside)?;
        let holds = self.claim_tasks(&drawn.state, OwnerStart::First)?;
        let folder = self.lock_folder(&run, &drawn.state.spec)?;
        bring_trackers(from, log.get(..=place).unwrap_or_default(), &drawn.state)?;
        if place > 0 {
            let (old, new) = (self.store.run_dir(from), self.store.run_dir(&run));
            artifacts::copy(&old, &new)
                .map_err(|source| TravelError::NoArtifacts { run: from.clone(), source })?;
        }
        let lease = self.record(&run, &mut drawn)?;
        let fork = Fork { run, taken: place, of: log.len(), document };
        Ok((fork, drawn, Ownership { lease, task_claims: holds, folder }, lock))
    }

    /// Puts the document as it is now into the first record, if the request asks for it. Otherwise finds out
    /// whether the document has changed.
    fn choose_document(
        &self,
        request: &ForkRequest,
        log: &mut [Record],
        place: usize,
    ) -> Result<ForkDocument, TravelError> {
        let from = || request.from.clone();
        let Some(Event::RunStarted { spec }) = log.first().map(|record| &record.event) else {
            return Err(TravelError::Fork { run: from(), why: ForkError::NoRun });
        };
        let why = if request.with_document { PlanAgain::Run } else { PlanAgain::Compare };
        let again = plan_again(&self.home, spec, why);
        if !request.with_document {
            let is_same = again.is_none_or(|again| again.is_ok_and(|again| are_alike(spec, &again)));
            return Ok(if is_same { ForkDocument::Recorded } else { ForkDocument::RecordedOther });
        }
        let again = again.ok_or_else(|| TravelError::NoRequest(from()))?;
        let mut spec = again.map_err(|error| TravelError::Plan { run: from(), error: Box::new(error) })?;
        pin_sim(&mut spec, &self.exe()?);
        let nodes = ids_in(&spec.body);
        if !nodes.contains(&request.node) {
            let node = request.node.clone();
            return Err(TravelError::NoSuchNode { run: from(), node, near: None, nodes });
        }
        if let Some(difference) = first_difference(&request.from, log.get(..place).unwrap_or_default(), &spec)
        {
            return Err(TravelError::OtherDocument { run: from(), difference });
        }
        if let Some(first) = log.first_mut() {
            first.event = Event::RunStarted { spec: Box::new(spec) };
        }
        Ok(ForkDocument::Current)
    }

    /// Rejects a log that the engine would decide differently: its events would not fit the new decisions.
    fn follow(&self, from: &RunId, log: &[Record]) -> Result<(), RunError> {
        match engine::follow(from, None, (1..).zip(log)).divergence {
            None => Ok(()),
            Some(divergence) => {
                Err(self.with_binary(RunError::Diverged { run: from.clone(), divergence, binary: None }))
            }
        }
    }

    /// Builds the log of the new run: the records before the fork point, a fork event, and the event that
    /// starts the node again.
    fn draw(
        &self,
        run: &RunId,
        origin: ForkOrigin,
        log: &[Record],
        place: usize,
        asks: WaitPolicy,
    ) -> Result<ForkedLog, TravelError> {
        let (from, at) = (origin.run.clone(), origin.made);
        let no_run = || TravelError::Fork { run: from.clone(), why: ForkError::NoRun };
        let (first, rest) = log.split_first().ok_or_else(no_run)?;
        let Event::RunStarted { spec } = &first.event else { return Err(no_run()) };
        let mut spec = (**spec).clone();
        spec.parent = None;
        spec.fork_of = Some(origin);
        pin_sim(&mut spec, &self.exe()?);
        let policy = self.policy_of(log, place, &spec, asks);
        if place == 0 {
            policy.iter().for_each(|policy| spec.follow(*policy));
            spec.seed = crate::random::token();
        }
        let shift = at.0.saturating_sub(log.get(place).unwrap_or(first).at.0);
        let moved = |moment: Moment| Moment(moment.0.saturating_add(shift));
        let begun = Event::RunStarted { spec: Box::new(spec.clone()) };
        let (state, node) = engine::start(run.clone(), spec, moved(first.at));
        let mut course =
            GrowingLog { records: vec![node.record(moved(first.at), begun)], state, decision: node };
        if let Some(again) = place.checked_sub(1).and_then(|last| rest.get(last)) {
            for record in rest.iter().take(place.saturating_sub(1)) {
                course.tell(moved(record.at), record.event.clone());
            }
            let seed = crate::random::token();
            let taken = u64::try_from(place).unwrap_or(u64::MAX);
            let spent = spent_before(&course.state, at, &again.event);
            course.tell(at, Event::Forked { from, at: taken, seed, policy, spent });
            let limits = day::limits(&self.home, &course.state);
            let today = Today::read(&self.store, at, &limits)?;
            if let Some(event) = today.news(&course.state, &limits) {
                course.tell(at, event);
            }
            course.tell(at, again.event.clone());
        }
        let news = course.decision.news.clone();
        if course.state.bookkeeping.paused {
            // The pause was meant for the other run.
            course.tell(at, Event::UnpauseAsked { inbox: None });
        }
        let effects = course.state.to_perform();
        let (state, records, cadence) = (course.state, course.records, Cadence::new());
        Ok(ForkedLog { state, records, effects, news, cadence })
    }

    /// Returns the policy of the fork, if it differs from that of the other run.
    fn policy_of(&self, log: &[Record], place: usize, spec: &Spec, asks: WaitPolicy) -> Option<Policy> {
        // The other run may be a fork itself.
        let forked = log.iter().take(place.max(1)).rev().find_map(|record| match &record.event {
            Event::Forked { policy, .. } => *policy,
            _ => None,
        });
        let was = forked.unwrap_or(spec.policy);
        self.policy_over(spec, was, asks)
    }

    /// Returns the policy of a run that starts or continues where another had that policy, if it
    /// differs.
    pub(crate) fn policy_over(&self, spec: &Spec, was: Policy, asks: WaitPolicy) -> Option<Policy> {
        let settings = config::read(&self.home, Path::new(&spec.workspace), Vec::new()).ok();
        let is_free = |key| settings.as_ref().is_some_and(|resolved| resolved.is_builtin(key));
        let free =
            FreeSettings { on_permission: is_free("on_permission"), on_question: is_free("on_question") };
        let policy = asks.over(was, free);
        (policy != was).then_some(policy)
    }

    fn record(&self, run: &RunId, drawn: &mut ForkedLog) -> Result<Lease, RunError> {
        let bodies: Result<Vec<_>, _> = drawn.records.iter().map(serde_json::to_vec).collect();
        let bodies = bodies.map_err(RunError::Encode)?;
        bodies.iter().for_each(|body| drawn.cadence.wrote(body.len()));
        let at = now();
        let projection = project(&drawn.state, at.0);
        let spending = Some(day::of_fork(&drawn.state, at));
        let lease = self.store.create_run(NewRun { id: run.clone(), projection, bodies, spending })?;
        // A fork starts now, also on another commit.
        crate::changes::remember(&self.store.run_dir(run), Path::new(&drawn.state.spec.workspace));
        Ok(lease)
    }
}

/// Returns the spending up to an event that starts a node again. The event may report the end of another
/// turn, which the original run paid for; the turns that it starts are those of the fork.
fn spent_before(state: &RunState, at: Moment, again: &Event) -> Spent {
    let mut ahead = state.clone();
    let decision = engine::apply(&mut ahead, at, again);
    let begun = decision.effects.iter().filter(|planned| planned.begins_turn()).count();
    let spent = ahead.known_spent();
    let turns = spent.turns.saturating_sub(u32::try_from(begun).unwrap_or(u32::MAX));
    Spent { turns, ..spent }
}

/// Decides whether two plans come from the same documents.
fn are_alike(one: &Spec, other: &Spec) -> bool {
    let prompts = |spec: &Spec| {
        let all = spec.sessions.iter().map(|(node, settings)| (node.clone(), settings.entity.clone()));
        all.collect::<Vec<_>>()
    };
    one.body == other.body
        && one.checks == other.checks
        && prompts(one) == prompts(other)
        && one.others.len() == other.others.len()
        && one
            .others
            .iter()
            .zip(&other.others)
            .all(|(one, other)| one.0 == other.0 && are_alike(one.1, other.1))
}

/// Describes the first record that would be decided differently with another spec.
fn first_difference(run: &RunId, log: &[Record], spec: &Spec) -> Option<String> {
    let mut state: Option<RunState> = None;
    for (seq, record) in (1_u64..).zip(log) {
        let decision = match &mut state {
            Some(state) => engine::apply(state, record.at, &record.event),
            None => {
                let (begun, decision) = engine::start(run.clone(), spec.clone(), record.at);
                state = Some(begun);
                decision
            }
        };
        let names = |effects: &[Planned]| {
            let ids: Vec<String> = effects.iter().map(|planned| format!("`{}`", planned.id)).collect();
            if ids.is_empty() { "nothing".to_owned() } else { ids.join(", ") }
        };
        if let Some(divergence) = Divergence::of(seq, record, &decision) {
            let (was, is) = (names(&record.effects), names(&decision.effects));
            return Some(format!(
                "record {} started {was}, and the document now starts {is}",
                divergence.seq
            ));
        }
        let mut both = record.effects.iter().zip(&decision.effects);
        if let Some((was, _)) = both.find(|(was, is)| was.effect != is.effect) {
            let node = &was.id.node;
            return Some(format!("record {seq}: the document now has other instructions for node `{node}`"));
        }
    }
    None
}

/// A log that is being built.
struct GrowingLog {
    state: RunState,
    records: Vec<Record>,
    /// The decision about the last event.
    decision: Decision,
}

impl GrowingLog {
    fn tell(&mut self, at: Moment, event: Event) {
        self.decision = engine::apply(&mut self.state, at, &event);
        self.records.push(self.decision.record(at, event));
    }
}

/// Returns the index of the record at which the node started.
fn place_of(
    run: &RunId,
    log: &[Record],
    node: &NodeId,
    iteration: Option<u32>,
) -> Result<usize, TravelError> {
    let state = engine::fold(run.clone(), log);
    if let Some(state) = &state {
        let nodes = ids_in(&state.spec.body);
        if !nodes.contains(node) {
            let near = nearest(state, node.as_str());
            return Err(TravelError::NoSuchNode { run: run.clone(), node: node.clone(), near, nodes });
        }
    }
    let found = engine::fork_point(log, node, iteration);
    found.map_err(|why| TravelError::Fork { run: run.clone(), why })
}

/// Checks that the folder of every node in progress still exists.
fn has_its_folders(from: &RunId, state: &RunState) -> Result<(), TravelError> {
    let works = state.works().into_iter().map(|work| work.workspace.clone());
    let effects = state.bookkeeping.open.iter().filter_map(|planned| match &planned.effect {
        Effect::RunChecks { workspace, .. }
        | Effect::RunShell(ShellPlan { workspace, .. })
        | Effect::RenewWorktree { workspace, .. }
        | Effect::Land { workspace, .. } => Some(workspace.clone()),
        Effect::StartRun { spec, .. } => Some(spec.workspace.clone()),
        _ => None,
    });
    let all = std::iter::once(state.spec.workspace.clone()).chain(works).chain(effects);
    match all.map(PathBuf::from).find(|folder| !folder.is_dir()) {
        Some(folder) => Err(TravelError::NoFolder { run: from.clone(), folder }),
        None => Ok(()),
    }
}

/// Copies the trackers of sessions in progress. A session that only starts creates its own.
fn bring_trackers(from: &RunId, log: &[Record], state: &RunState) -> Result<(), TravelError> {
    let Some(old) = engine::fold(from.clone(), log) else { return Ok(()) };
    for work in state.works().into_iter().filter(|work| work.phase != SessionPhase::Preparing) {
        let Some(rules) = work.node.rules() else { continue };
        let was = old.work(&work.node.id).and_then(|work| work.node.rules());
        let (Some(path), Some(was)) =
            (&rules.tracker_path, was.and_then(|rules| rules.tracker_path.as_ref()))
        else {
            continue;
        };
        copy_tracker(state, work, rules, Path::new(was), Path::new(path))
            .map_err(|why| TravelError::NoTracker { node: work.node.id.clone(), why })?;
    }
    Ok(())
}

fn copy_tracker(
    state: &RunState,
    work: &SessionWork,
    rules: &LoopRules,
    old: &Path,
    new: &Path,
) -> Result<(), String> {
    if new.exists() {
        return Ok(());
    }
    let told = |error: FileError| chain(&error);
    let bytes = files::read_bounded(old, TRACKER_MAX).map_err(told)?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8 text", old.display()))?;
    let frontmatter = tracker::TrackerFrontmatter {
        run: state.run.as_str(),
        iteration: work.current_turn(),
        max_iterations: rules.max_iterations,
        completion_marker: rules.marker.as_deref(),
        active: true,
        started_at: state.started,
    };
    let body = without_ends(tracker::split(&text).1, rules);
    if let Some(dir) = new.parent() {
        files::make_dirs_inside(Path::new(&work.workspace), dir).map_err(told)?;
    }
    create_tracker(new, &tracker::render(&frontmatter, &body)).map_err(told)?;
    Ok(())
}

/// Removes the completion and blocked markers from the body of a tracker. At the fork point the loop was
/// neither complete nor blocked, and the markers would end the new loop after its first turn.
fn without_ends(body: &str, rules: &LoopRules) -> String {
    let blocked = rules.blocked_marker.as_deref().unwrap_or(Markers::DEFAULT_BLOCKED);
    let markers = Markers { complete: rules.marker.as_deref(), blocked, how: rules.marker_match };
    let mut lines: Vec<&str> = body.split_inclusive('\n').collect();
    let marker = rules.marker.as_deref().map(str::trim).unwrap_or_default();
    let start = blocked.split(':').next().unwrap_or_default().trim().trim_end_matches("-->").trim_end();
    loop {
        let scan = tracker::scan(&lines.concat(), &rules.tracker_body, markers);
        let is_end = |line: &&str| {
            let line = line.trim();
            let anywhere = rules.marker_match == MarkerMatch::Anywhere && line.contains(marker);
            (scan.complete && (line == marker || anywhere))
                || (scan.blocked.is_some() && line.starts_with(start))
        };
        match lines.iter().rposition(is_end) {
            Some(place) => drop(lines.remove(place)),
            None => return lines.concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(marker_match: MarkerMatch, template: &str) -> LoopRules {
        LoopRules {
            prompt: String::new(),
            mode: Default::default(),
            marker: Some("DONE".into()),
            marker_match,
            promise: None,
            signal: None,
            blocked_marker: None,
            max_iterations: 3,
            continue_message: String::new(),
            tracker_body: template.into(),
            tracker_path: None,
            stuck_after: 0,
        }
    }

    #[test]
    fn a_person_who_watches_a_fork_is_asked_unless_something_else_was_ordered() {
        let nobody = Policy { on_permission: OnPermission::Deny, on_question: OnQuestion::Fail };
        let asked = Policy { on_permission: OnPermission::Ask, on_question: OnQuestion::Wait };
        let (free, set) = (
            FreeSettings { on_permission: true, on_question: true },
            FreeSettings { on_permission: false, on_question: false },
        );
        let watched = WaitPolicy { interactive: true, ..WaitPolicy::default() };
        assert_eq!(watched.over(nobody, free), asked);
        assert_eq!(watched.over(nobody, set), nobody, "the settings say so");
        assert_eq!(WaitPolicy::default().over(nobody, free), nobody, "nobody is there");
        let ordered = Policy { on_permission: OnPermission::Allow, on_question: OnQuestion::Empty };
        assert_eq!(watched.over(ordered, free), ordered);
        let flags = WaitPolicy { on_question: Some(OnQuestion::Wait), ..WaitPolicy::default() };
        assert_eq!(flags.over(nobody, set), Policy { on_question: OnQuestion::Wait, ..nobody });
    }

    #[test]
    fn a_copied_tracker_says_neither_done_nor_blocked() {
        let plain = rules(MarkerMatch::Line, "# T\n");
        let body = "# T\n- one\n<!-- WORKFLOW_BLOCKED: no key -->\nDONE\nDONE\n";
        assert_eq!(without_ends(body, &plain), "# T\n- one\n");
        assert_eq!(without_ends("not DONE yet\n", &plain), "not DONE yet\n");
        assert_eq!(without_ends("a\nit is DONE\nb", &rules(MarkerMatch::Anywhere, "")), "a\nb");
        assert_eq!(without_ends("a\nDONE\n\n", &rules(MarkerMatch::LastLine, "")), "a\n\n");
    }

    #[test]
    fn what_the_template_brought_stays() {
        let template = "Write this at the end:\nDONE\n";
        let kept = without_ends(&format!("{template}x\nDONE\n"), &rules(MarkerMatch::Line, template));
        assert_eq!(kept, format!("{template}x\n"));
    }
}
