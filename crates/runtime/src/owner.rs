//! The owner of one run: the only task that changes its state.
//!
//! Every event reaches it through one channel. The owner asks the engine for a decision, commits it, and only
//! then acts. `effect/` performs effects, `core::engine` decides.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use windlass_core::effect::{Effect, Planned};
use windlass_core::engine::{self, Decision};
use windlass_core::event::{Event, Record};
use windlass_core::hook::permission::are_about_files;
use windlass_core::hook::wire::{HookReply, REQUEST, WIRE_VERSION};
use windlass_core::hook::{HookAnswer, HookCall, HookKind, RealPath, SEVERAL_FILES};
use windlass_core::id::{EffectId, HookId, InboxId};
use windlass_core::looping::LoopMode;
use windlass_core::run::{DayLimit, Lifecycle, RunState};
use windlass_core::snapshot::SnapshotName;
use windlass_core::spec::Spec;
use windlass_core::time::Moment;
use windlass_peers::agent::Dialect;
use windlass_peers::child;
use windlass_peers::descent::Descent;
use windlass_peers::files::real::{self as links, readings};
use windlass_peers::hook_socket::{self, HookRequest, IncomingLine, PersonRequest};
use windlass_peers::process::{end_adopted, end_all_adopted};
use windlass_store::{
    Append, AppendError, Cadence, Durability, Lease, Projection, PutResult, SpendingChange, Store,
};

use crate::children::{clear_groups, end_all};
use crate::clock::{now, until};
use crate::crash::CrashCounter;
use crate::day::Today;
use crate::effect::{Fact, Performed, RunContext};
use crate::error::RunError;
use crate::feed::{Feed, FeedItem};
use crate::handle::OwnerStart;
use crate::inbox::{FRESH, InboxMessage, NOT_ASKED, SocketRequest, event_of};
use crate::notify::Notifier;
use crate::own_worktree;
use crate::person::why_not;
use crate::seal::InboxKey;
use crate::snapshot::SnapshotStore;
use crate::supervise::blocking;
use crate::view::children;
use crate::workspace::{FolderCheck, RunFolder};

/// The interval of the checks that the socket exists and that the inbox has only sealed requests.
const INBOX_EVERY: Duration = Duration::from_secs(2);
/// The longest interval, in a run that waits. A hook that finds no socket tries for twice as long.
const INBOX_AT_LEAST_EVERY: Duration = Duration::from_secs(15);
/// The number of refusals that an owner records. An agent may send requests without end.
const REFUSALS_TOLD: u32 = 20;

/// The time limit for resolving a path.
const LOOKING: Duration = Duration::from_secs(2);

/// The time limit for a snapshot while an agent waits for its Stop hook.
const SAVING: Duration = Duration::from_secs(10);

/// The exit codes for clients, the same as those of the command line.
const USAGE: u8 = 2;
pub(crate) const REFUSED: u8 = 5;
/// The exit code for a hook that belongs to no session: the agent CLI then denies the tool.
const REFUSED_HOOK: u8 = 2;

/// The owner of a run.
pub(crate) struct Owner {
    store: Store,
    lease: Lease,
    state: RunState,
    seq: u64,
    cadence: Cadence,
    durability: Durability,
    crash: CrashCounter,
    context: Arc<RunContext>,
    feed: Feed,
    inlet: mpsc::Receiver<Fact>,
    /// Hook calls whose forwarder waits for an answer.
    waiting: HashMap<HookId, (HookRequest, Arc<dyn Dialect>)>,
    hooks: mpsc::Receiver<IncomingLine>,
    /// The budgets of the day that hold while this process owns the run.
    day_limits: Vec<DayLimit>,
    /// The number of refused requests.
    refused: u32,
    folder: RunFolder,
    notifier: Notifier,
}

/// The parts of a new [`Owner`].
pub(crate) struct OwnerParts {
    pub(crate) store: Store,
    pub(crate) lease: Lease,
    pub(crate) state: RunState,
    pub(crate) seq: u64,
    pub(crate) cadence: Cadence,
    pub(crate) durability: Durability,
    pub(crate) crash: CrashCounter,
    pub(crate) context: Arc<RunContext>,
    pub(crate) feed: Feed,
    pub(crate) inlet: mpsc::Receiver<Fact>,
    pub(crate) hooks: mpsc::Receiver<IncomingLine>,
    pub(crate) day_limits: Vec<DayLimit>,
}

impl Owner {
    pub(crate) fn new(parts: OwnerParts) -> Owner {
        let notifier = Notifier::of(&parts.context.home, &parts.context.dir, &parts.state);
        Owner {
            store: parts.store,
            lease: parts.lease,
            state: parts.state,
            seq: parts.seq,
            cadence: parts.cadence,
            durability: parts.durability,
            crash: parts.crash,
            context: parts.context,
            feed: parts.feed,
            inlet: parts.inlet,
            waiting: HashMap::new(),
            hooks: parts.hooks,
            day_limits: parts.day_limits,
            refused: 0,
            folder: RunFolder::default(),
            notifier,
        }
    }

    /// Performs the effects that were committed and not settled, then runs to the end.
    pub(crate) async fn run(mut self, first: Vec<Planned>, hand: OwnerStart) -> Result<RunState, RunError> {
        let outcome = self.run_inner(first, hand).await;
        self.context.stop_tasks();
        let outcome = match outcome {
            Ok(()) => Ok(()),
            Err(error) => Err(self.lost_log(error).await),
        };
        self.context.handle.recent.forget(&self.state.run);
        // Git hooks may have left processes behind, and so may agents that killed their host or its guard.
        let (state, dir) = (self.state.clone(), self.context.dir.clone());
        let snapshots = self.state.is_done().then(|| self.context.snapshots());
        let is_over = outcome.is_ok();
        let end = move || {
            snapshots.iter().for_each(SnapshotStore::clear);
            end_all_adopted();
            clear_groups(&state.run, &dir);
            if is_over {
                own_worktree::clear(&state, &dir);
            }
        };
        let _ = tokio::task::spawn_blocking(end).await;
        outcome.map(|()| self.state)
    }

    /// Translates an error if the log is gone. No process can continue the run then, so this ends its agents.
    async fn lost_log(&self, error: RunError) -> RunError {
        let Some((path, how)) = error.lost_log(&self.store) else { return error };
        self.store.leave_open();
        self.end_orphans(&self.state.to_perform()).await;
        let runs = [vec![self.state.run.clone()], children(&self.state)].concat();
        let dirs: Vec<_> = runs.into_iter().map(|run| (self.store.run_dir(&run), run)).collect();
        let end = move || dirs.iter().map(|(dir, run)| end_all(run, dir).left).sum();
        // `end_all` waits until the processes are gone.
        let left = tokio::task::spawn_blocking(end).await.unwrap_or_default();
        let (run, state) = (self.state.run.clone(), self.store.dir());
        match state.exists() {
            true => RunError::LogGone { dir: self.store.run_dir(&run), run, path, how, left },
            false => RunError::StateGone(state.to_owned()),
        }
    }

    async fn run_inner(&mut self, mut first: Vec<Planned>, hand: OwnerStart) -> Result<(), RunError> {
        let is_new = hand == OwnerStart::First || self.seq == 1;
        if hand != OwnerStart::Next {
            self.folder = RunFolder::now(Path::new(&self.state.spec.workspace));
        }
        // Before any other record, so that an owner that dies here leaves the run new.
        let first_state = match hand {
            // So that changes that a person made meanwhile do not count as the next turn's.
            OwnerStart::Reopened => Some(SnapshotName::Resumed { number: self.state.bookkeeping.continued }),
            _ => is_new.then_some(SnapshotName::Start),
        };
        if let Some(name) = first_state
            && let Some(event) = self.save_folder(name).await
        {
            self.tell(event, Vec::new()).await?;
        }
        if hand == OwnerStart::Next {
            self.tell(Event::OwnerChanged, Vec::new()).await?;
            // Requests sent while the run had no owner come first: people sent them about the state they saw.
            self.read_inbox().await?;
            let open = self.state.to_perform();
            first.retain(|planned| open.iter().any(|open| open.id == planned.id));
            self.end_orphans(&first).await;
        }
        // The first record may already ask.
        self.notifier.see(&self.state);
        self.perform(first);
        self.read_inbox().await?;
        let (mut pause, mut next_check) = (INBOX_EVERY, Instant::now() + INBOX_EVERY);
        while !self.state.is_done() {
            let deadline = self.state.deadline();
            let timeout = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep(until(deadline)).await,
                    None => std::future::pending().await,
                }
            };
            let is_check = tokio::select! {
                fact = self.inlet.recv() => match fact {
                    Some(fact) => {
                        let event = fact?;
                        self.find_folder(is_found_in_folder(&event))?;
                        self.tell(event, Vec::new()).await?;
                        false
                    }
                    None => return Err(RunError::Abandoned),
                },
                Some(request) = self.hooks.recv() => {
                    match request {
                        IncomingLine::Hook(request) => self.hook(request).await?,
                        IncomingLine::Person(request) => self.person(request).await?,
                    }
                    false
                }
                () = tokio::time::sleep_until(next_check) => {
                    self.mend_socket();
                    end_adopted();
                    self.refuse_planted().await?;
                    true
                }
                () = timeout, if matches!(self.state.lifecycle, Lifecycle::Running) => {
                    self.tell(Event::RunTimedOut, Vec::new()).await?;
                    false
                }
            };
            // The longer nothing happens, the rarer the checks: a run that waits costs almost nothing.
            (pause, next_check) = match is_check {
                true => (INBOX_AT_LEAST_EVERY.min(pause * 2), Instant::now() + pause),
                false => (INBOX_EVERY, next_check.min(Instant::now() + INBOX_EVERY)),
            };
        }
        Ok(())
    }

    /// Fails if the folder of the run is missing, before anything is recorded. A result found without the
    /// folder says nothing about the work.
    fn find_folder(&mut self, is_needed: bool) -> Result<(), RunError> {
        if !is_needed || !matches!(self.state.lifecycle, Lifecycle::Running) {
            return Ok(());
        }
        match self.folder.absence(&self.state, &self.context.dir, FolderCheck::Close) {
            None => Ok(()),
            Some(why) => {
                let folder = PathBuf::from(&self.state.spec.workspace);
                Err(RunError::NoFolder { run: self.state.run.clone(), folder, why })
            }
        }
    }

    /// Ends the agents of effects whose folder somebody deleted.
    async fn end_orphans(&self, effects: &[Planned]) {
        let (context, effects) = (Arc::clone(&self.context), effects.to_vec());
        let end = move || effects.iter().for_each(|planned| context.end_orphans(planned));
        // `end_orphans` waits until the processes are gone.
        let _ = tokio::task::spawn_blocking(end).await;
    }

    /// Binds the socket again if somebody deleted it during the run. Hooks retry for half a minute, so no
    /// call is lost.
    fn mend_socket(&self) {
        let context = &self.context;
        if context.socket.exists() {
            return;
        }
        let path = hook_socket::path_for(&context.home.state, &context.run, &context.home.temp);
        if let Some(server) = path.ok().and_then(|path| hook_socket::bind(&path).ok()) {
            tokio::spawn(server.serve(context.requests.clone()));
        }
    }

    /// Handles a hook call. Calls that need no decision are answered at once and not logged.
    async fn hook(&mut self, mut request: HookRequest) -> Result<(), RunError> {
        let cookie = match whose(&request) {
            Ok(Some(cookie)) => cookie,
            // Its process is gone, so no answer is needed.
            Ok(None) => return Ok(()),
            Err(why) => {
                self.refuse(why).await?;
                say(request, REFUSED_HOOK, String::new(), format!("windlass: denied, {why}\n"));
                return Ok(());
            }
        };
        // Taken out of the request, which may wait long for a person: the payload may be large.
        let payload = std::mem::take(&mut request.payload);
        let from = EffectId::of_cookie(&self.state.run, &cookie);
        let dialect = self.dialect(from.as_ref());
        let kind = match dialect.read_hook(&request.event, &payload) {
            HookKind::Tool(call) => HookKind::Tool(call.shortened()),
            HookKind::Permission(call) => HookKind::Permission(call.shortened()),
            other => other,
        };
        let cwd = dialect.hook_folder(&payload);
        let real = self.real(from.as_ref(), &kind, cwd).await;
        // Only the answers to these calls are written from the payload.
        if matches!(kind, HookKind::Question { .. } | HookKind::Permission(_) | HookKind::Other { .. }) {
            request.payload = payload;
        }
        if let HookKind::Other { .. } = kind {
            reply(request, &*dialect, &HookAnswer::Pass);
            return Ok(());
        }
        self.save_held_turn(from.as_ref(), &kind).await?;
        let id = request.id.clone();
        self.waiting.insert(id.clone(), (request, dialect));
        let dir = from.as_ref().map(|from| self.context.child_dir(from));
        let unanswered = dir.map_or_else(Vec::new, |dir| child::gave_up(&dir));
        // A forwarder that reached us only now removes its note when it gets the answer.
        let unanswered = unanswered.into_iter().filter(|call| !self.waiting.contains_key(call)).collect();
        self.tell(Event::HookAsked { call: HookCall { id, from, kind, unanswered, real } }, Vec::new()).await
    }

    /// Resolves the real path of the file in a tool call, if a permission rule of the session could apply to
    /// it.
    async fn real(&self, from: Option<&EffectId>, kind: &HookKind, cwd: Option<PathBuf>) -> Option<RealPath> {
        let path = kind.path()?.to_owned();
        let work = self.state.work(&from?.node)?;
        if !are_about_files(&self.state.session_settings(work)?.permissions) {
            return None;
        }
        let workspace = PathBuf::from(&work.workspace);
        let cwd = cwd.filter(|cwd| cwd.is_absolute()).unwrap_or_else(|| workspace.clone());
        let home = self.context.home.user.clone();
        let spelled = path.clone();
        let look = tokio::task::spawn_blocking(move || {
            let text = |path: PathBuf| path.into_os_string().into_string().ok();
            let mut files = Vec::new();
            for file in path.split(SEVERAL_FILES) {
                match readings(file, &cwd, Some(&home)) {
                    unknown if unknown.is_empty() => return None,
                    known => files.extend(known.into_iter().map(text).collect::<Option<Vec<_>>>()?),
                }
            }
            let workspace = links::real(&workspace).and_then(text)?;
            Some(RealPath { workspace, files })
        });
        // A file system that does not respond must not block the owner.
        let seen = tokio::time::timeout(LOOKING, look).await.ok().and_then(Result::ok).flatten();
        let unknown = || RealPath { workspace: work.workspace.clone(), files: Vec::new() };
        seen.unwrap_or_else(unknown).unless_plain(&spelled, &work.workspace)
    }

    /// Finds the dialect of the session that a call comes from. The log decides, because an agent could
    /// change a file.
    fn dialect(&self, from: Option<&EffectId>) -> Arc<dyn Dialect> {
        let driver = from.and_then(|from| self.state.driver_of(&from.node));
        self.context.home.agents.named_or_first(driver)
    }

    /// Applies the requests from the inbox in order, each as one event. Later requests come through the
    /// socket.
    async fn read_inbox(&mut self) -> Result<(), RunError> {
        self.refuse_planted().await?;
        let handle = &self.context.handle;
        for (id, message) in handle.pending(&self.state.run, handle.key()?)?.sealed {
            self.tell(event_of(id.clone(), message), vec![id]).await?;
        }
        Ok(())
    }

    /// Discards the requests in the inbox that Windlass did not seal, and records the refusal.
    async fn refuse_planted(&mut self) -> Result<(), RunError> {
        if self.store.pending(&self.state.run)?.is_empty() {
            return Ok(());
        }
        let handle = &self.context.handle;
        let pending = handle.pending(&self.state.run, handle.key()?)?;
        for (id, message) in pending.unverified {
            let (verb, key) = (message.verb(), InboxKey::path(&self.context.home.state));
            self.store.discard(&self.state.run, &id)?;
            self.refuse(&format!(
                "Windlass ignored a request that waited for this run ({verb}): its seal does not match \
                 the key {}, which somebody deleted or replaced, so Windlass cannot tell who sent it; \
                 if it was you, send it again",
                key.display()
            ))
            .await?;
        }
        for id in pending.planted {
            self.store.discard(&self.state.run, &id)?;
            self.refuse("Windlass ignored a request in the database that has no Windlass seal").await?;
        }
        Ok(())
    }

    /// Records a refused request, up to a maximum number.
    async fn refuse(&mut self, why: &str) -> Result<(), RunError> {
        self.refused += 1;
        match self.refused <= REFUSALS_TOLD {
            true => self.tell(Event::RequestRefused { why: why.to_owned() }, Vec::new()).await,
            false => Ok(()),
        }
    }

    /// Handles a request that only a person may make. Checks the process that sent it and not what the client
    /// says, because the client may be old or not ours.
    async fn person(&mut self, request: PersonRequest) -> Result<(), RunError> {
        let PersonRequest { payload, from, reply } = request;
        let (exit, stdout, stderr) = match serde_json::from_slice::<SocketRequest>(&payload) {
            Err(error) => (USAGE, String::new(), format!("cannot read the request: {error}")),
            Ok(asked) => match why_not(&from, asked.message.verb()) {
                Some(why) => {
                    self.refuse(&why).await?;
                    (REFUSED, String::new(), why)
                }
                None => (0, self.hear(asked).await?.to_owned(), String::new()),
            },
        };
        // The client may have disconnected.
        let _ = reply.send(HookReply { v: WIRE_VERSION, id: REQUEST.to_owned(), exit, stdout, stderr });
        Ok(())
    }

    /// Applies a person's request, once.
    async fn hear(&mut self, asked: SocketRequest) -> Result<&'static str, RunError> {
        let SocketRequest { id, message } = asked;
        self.refuse_planted().await?;
        let (handle, run) = (self.context.handle.clone(), self.state.run.clone());
        // The request may already be in the inbox: put there before this process owned the run, and read only
        // now.
        let is_waiting = |waiting: &(InboxId, InboxMessage)| *waiting == (id.clone(), message.clone());
        let waits = handle.pending(&run, handle.key()?)?.sealed.iter().any(is_waiting);
        if !waits && handle.keep(&run, &id, &message)? == PutResult::Known {
            return Ok("known");
        }
        // The turn that asked may have ended since the client looked. Its agent asks again, and the answer to
        // the old question must not count as given.
        if !waits && !self.is_asked(&message) {
            self.store.discard(&run, &id)?;
            return Ok(NOT_ASKED);
        }
        self.tell(event_of(id.clone(), message), vec![id]).await?;
        Ok(FRESH)
    }

    /// Returns false for an answer to a question that is not open.
    fn is_asked(&self, message: &InboxMessage) -> bool {
        let InboxMessage::Reply { hook, .. } = message else { return true };
        let asks = &self.state.bookkeeping.asks;
        asks.iter().any(|ask| hook.as_ref().is_none_or(|hook| ask.hook == *hook))
    }

    /// Advances the run. Nothing else changes the state. If another run spent from a budget of the day at the
    /// same moment, the run decides again.
    async fn tell(&mut self, event: Event, taken: Vec<InboxId>) -> Result<(), RunError> {
        if self.day_limits.is_empty() {
            return self.tell_once(event, taken).await;
        }
        let state = self.state.clone();
        loop {
            match self.tell_once(event.clone(), taken.clone()).await {
                Err(RunError::Append(AppendError::SpendingChanged { .. })) => self.state = state.clone(),
                result => return result,
            }
        }
    }

    /// Decides, commits, then acts.
    async fn tell_once(&mut self, event: Event, taken: Vec<InboxId>) -> Result<(), RunError> {
        let (before, was_done) = (self.seq, self.state.is_done());
        let at = now();
        let today = Today::read(&self.store, at, &self.day_limits)?;
        let spent = self.state.bookkeeping.spent_on.clone();
        let (mut records, mut steps) = self.decide(at, event, &today);
        if self.state.is_done()
            && !was_done
            && let Some(event) = self.save_folder(SnapshotName::End).await
        {
            // In the same commit and before the end, so that whoever sees the end sees what changed.
            let step = engine::apply(&mut self.state, at, &event);
            records.insert(0, step.record(at, event));
            steps.insert(0, step);
        }
        let spending = today.change(&spent, &self.state, &steps);
        self.commit(&records, &steps, taken, spending).await?;
        for (seq, record) in (before + 1..).zip(records) {
            if self.context.handle.pulse.is_heard() {
                self.context.handle.recent.add(&self.state.run, seq, &record);
            }
            self.feed.send(FeedItem::Record { seq, record: Box::new(record) });
        }
        self.notifier.see(&self.state);
        self.context.release_tasks(&self.state);
        let begins = steps.iter().any(|step| step.effects.iter().any(is_done_in_folder));
        self.find_folder(begins)?;
        if begins {
            self.store.check()?;
        }
        for step in steps {
            self.perform(step.effects);
        }
        Ok(())
    }

    /// Saves the folder at the end of a turn that a plugin may continue in the same process. All other turns
    /// are saved when they are judged.
    async fn save_held_turn(&mut self, from: Option<&EffectId>, kind: &HookKind) -> Result<(), RunError> {
        let HookKind::Stop { background: false, .. } = kind else { return Ok(()) };
        let Some(work) = from.and_then(|from| self.state.work(&from.node)) else { return Ok(()) };
        let is_plugins = work.node.rules().is_some_and(|rules| rules.mode == LoopMode::Plugin);
        let Some(turn) = work.turn.as_ref().filter(|_| is_plugins) else { return Ok(()) };
        let turn = work.current_turn().saturating_add(turn.stops);
        let name = SnapshotName::Turn { node: work.node.id.clone(), turn };
        let (snapshots, folder) = (self.context.snapshots(), work.workspace.clone());
        let save = blocking(move || snapshots.save(&folder, name));
        // The agent waits for its hook meanwhile. A slow disk must not block the owner.
        match tokio::time::timeout(SAVING, save).await {
            Ok(Some(event)) => self.tell(event, Vec::new()).await,
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Saves the workspace of the run.
    async fn save_folder(&self, name: SnapshotName) -> Option<Event> {
        let (snapshots, folder) = (self.context.snapshots(), self.state.spec.workspace.clone());
        blocking(move || snapshots.save(&folder, name)).await
    }

    /// Decides about an event. If the run shares a budget, it first records the spending of the other runs.
    fn decide(&mut self, at: Moment, event: Event, today: &Today) -> (Vec<Record>, Vec<Decision>) {
        let apply = |state: &mut RunState, event: Event| {
            let step = engine::apply(state, at, &event);
            (step.record(at, event), step)
        };
        let news = today.news(&self.state, &self.day_limits).into_iter();
        if !shares_a_budget(&self.state) {
            return news.chain([event]).map(|event| apply(&mut self.state, event)).unzip();
        }
        // Locked until this decision is in the ledger, so that no other run spends the same budget meanwhile.
        let mut ledger = self.context.handle.ledger();
        let mut events = ledger.news_for(&self.state);
        events.extend(news);
        events.push(event);
        let decided = events.into_iter().map(|event| apply(&mut self.state, event)).unzip();
        ledger.note(&self.state);
        decided
    }

    async fn commit(
        &mut self,
        records: &[Record],
        steps: &[Decision],
        taken: Vec<InboxId>,
        spending: Option<SpendingChange>,
    ) -> Result<(), RunError> {
        let bodies: Result<Vec<Vec<u8>>, _> = records.iter().map(serde_json::to_vec).collect();
        let bodies = bodies.map_err(RunError::Encode)?;
        bodies.iter().for_each(|body| self.cadence.wrote(body.len()));
        let snapshot = match self.cadence.is_due() {
            true => Some(serde_json::to_vec(&self.state).map_err(RunError::Encode)?),
            false => None,
        };
        let snapshot = snapshot.filter(|bytes| self.cadence.offer(bytes.len()));
        let needs_disk = steps.iter().any(Decision::needs_disk);
        let durability = if needs_disk { self.durability } else { Durability::Normal };
        self.crash.point(|| self.context.kill_everything());
        let told = records.iter().rfind(|record| !record.news.is_empty());
        let projection = told.map(|record| project(&self.state, record.at.0));
        let append = Append {
            run: self.state.run.clone(),
            expected_seq: self.seq,
            epoch: self.lease.epoch(),
            bodies,
            durability,
            taken,
            projection,
            snapshot,
            spending,
        };
        self.seq = self.store.append(append).await?;
        self.crash.point(|| self.context.kill_everything());
        Ok(())
    }

    fn perform(&mut self, effects: Vec<Planned>) {
        for planned in effects {
            match &planned.effect {
                Effect::AnswerHook { hook, answer } => self.answer(hook, answer),
                _ => match self.context.perform(&self.state, &planned) {
                    Performed::UnderWay => continue,
                    Performed::Done => {}
                },
            }
            self.crash.point(|| self.context.kill_everything());
        }
    }

    /// Answers a hook call. If no forwarder waits, it will send its call again.
    fn answer(&mut self, hook: &HookId, answer: &HookAnswer) {
        if let Some((request, dialect)) = self.waiting.remove(hook) {
            reply(request, &*dialect, answer);
        }
    }
}

/// Decides whether an effect works in the folder of the run.
fn is_done_in_folder(planned: &Planned) -> bool {
    match &planned.effect {
        Effect::Inspect { .. } | Effect::RunChecks { .. } | Effect::Prepare { .. } => true,
        effect => effect.begins_work(),
    }
}

/// Decides whether the result in an event depends on the folder of the run.
fn is_found_in_folder(event: &Event) -> bool {
    matches!(
        event,
        Event::Prepared { .. }
            | Event::SessionEnded { .. }
            | Event::Inspected { .. }
            | Event::ChecksFinished { .. }
            | Event::ShellEnded { .. }
            | Event::TaskClaimed { .. }
            | Event::TaskSettled { .. }
            | Event::WorktreeMade { .. }
            | Event::Landed { .. }
    )
}

/// Decides whether the run has a parent or may have children: they spend from one budget.
pub(crate) fn shares_a_budget(state: &RunState) -> bool {
    state.spec.parent.is_some() || !state.spec.others.is_empty()
}

/// Returns the session that a hook belongs to, found from the ancestors of its process. The session that the
/// hook names must be the same.
fn whose(request: &HookRequest) -> Result<Option<String>, &'static str> {
    match (&request.from, &request.session) {
        (Descent::Session { cookie }, Some(said)) if said != cookie => {
            Err("a hook call does not come from the session that it names")
        }
        (Descent::Session { cookie }, _) => Ok(Some(cookie.clone())),
        (Descent::Free | Descent::Orphan, _) => Err("a hook call does not come from a session"),
        (Descent::Unseen, _) => Ok(None),
    }
}

/// Sends an answer in the agent's dialect to the waiting forwarder. If the forwarder is gone, it asks again.
fn reply(request: HookRequest, dialect: &dyn Dialect, answer: &HookAnswer) {
    let printed = dialect.write_answer(&request.event, &request.payload, answer);
    say(request, printed.exit, printed.stdout, printed.stderr);
}

fn say(request: HookRequest, exit: u8, stdout: String, stderr: String) {
    let id = request.id.as_str().to_owned();
    let _ = request.reply.send(HookReply { v: WIRE_VERSION, id, exit, stdout, stderr });
}

/// Returns the fields of a run that lists show.
pub(crate) fn project(state: &RunState, at_ms: i64) -> Projection {
    let standing = state.progress();
    let reason = match &standing {
        windlass_core::run::Progress::Finished(outcome) => Some(outcome.reason.word().to_owned()),
        _ => None,
    };
    let Spec { workflow, workspace, input, .. } = &state.spec;
    let driver = state.spec.first_session().map(|session_settings| session_settings.driver.name.clone());
    Projection {
        workflow: workflow.clone(),
        workspace: workspace.clone(),
        driver: driver.unwrap_or_default(),
        status: standing.word().to_owned(),
        reason,
        iteration: state.current_turn(),
        cost: state.own_spent().usage.cost(),
        started_ms: state.begun().0,
        updated_ms: at_ms,
        input: shorten(input),
        parent: state.spec.parent.as_ref().map(|parent| parent.run.clone()),
    }
}

fn shorten(input: &str) -> String {
    input.chars().take(200).collect()
}
