//! The owner of one run: the only task that moves it on.
//!
//! Everything that happens reaches it through one channel, is put to the engine, committed, and
//! only then acted on. Performing effects is `effect/`, deciding is `core::engine`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use windlass_core::effect::{Effect, Planned};
use windlass_core::engine::{self, Decision};
use windlass_core::event::{Event, Record};
use windlass_core::hook::permission::are_about_files;
use windlass_core::hook::wire::{HookReply, REQUEST, WIRE_VERSION};
use windlass_core::hook::{HookAnswer, HookCall, HookKind, RealPath};
use windlass_core::id::{EffectId, HookId, InboxId};
use windlass_core::run::{Lifecycle, RunState};
use windlass_core::spec::Spec;
use windlass_core::time::Moment;
use windlass_peers::agent::Dialect;
use windlass_peers::child;
use windlass_peers::descent::Descent;
use windlass_peers::files::real::{self as links, readings};
use windlass_peers::hook_socket::{self, HookRequest, IncomingLine, PersonRequest};
use windlass_peers::process::{end_adopted, end_all_adopted};
use windlass_store::{Append, Cadence, Durability, Lease, Projection, PutResult, Store};

use crate::children::{clear_groups, end_all};
use crate::clock::{now, until};
use crate::crash::CrashCounter;
use crate::effect::{Fact, Performed, RunContext};
use crate::error::RunError;
use crate::feed::{Feed, FeedItem};
use crate::handle::OwnerStart;
use crate::inbox::{FRESH, InboxMessage, SocketRequest, event_of};
use crate::person::why_not;
use crate::seal::InboxKey;
use crate::view::children;
use crate::workspace::{FolderCheck, RunFolder};

/// How often it is looked whether the socket is there and the inbox as Windlass left it.
const INBOX_EVERY: Duration = Duration::from_secs(2);
/// How many refusals an owner writes down: an agent may try for ever.
const REFUSALS_TOLD: u32 = 20;

/// How long it may take to find out where a path leads.
const LOOKING: Duration = Duration::from_secs(2);

/// What a client that asks is told: the exit codes of the command line.
const USAGE: u8 = 2;
pub(crate) const REFUSED: u8 = 5;
/// The exit code of a hook that belongs to no session: the CLI then denies the tool.
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
    /// Hook calls with a forwarder waiting at the other end.
    waiting: HashMap<HookId, (HookRequest, Arc<dyn Dialect>)>,
    hooks: mpsc::Receiver<IncomingLine>,
    requests: mpsc::Sender<IncomingLine>,
    /// How often somebody asked what only a person may.
    refused: u32,
    /// Where the run works.
    folder: RunFolder,
}

/// What an owner needs to begin.
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
    pub(crate) requests: mpsc::Sender<IncomingLine>,
}

impl Owner {
    pub(crate) fn new(parts: OwnerParts) -> Owner {
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
            requests: parts.requests,
            refused: 0,
            folder: RunFolder::default(),
        }
    }

    /// Performs what was committed and never settled, then runs to the end.
    pub(crate) async fn run(mut self, first: Vec<Planned>, hand: OwnerStart) -> Result<RunState, RunError> {
        let outcome = self.run_inner(first, hand).await;
        self.context.stop_tasks();
        let outcome = match outcome {
            Ok(()) => Ok(()),
            Err(error) => Err(self.lost_log(error).await),
        };
        // Hooks of git's, and agents that killed their host or its guard, may have left something behind.
        let (run, dir) = (self.state.run.clone(), self.context.dir.clone());
        let end = move || {
            end_all_adopted();
            clear_groups(&run, &dir);
        };
        let _ = tokio::task::spawn_blocking(end).await;
        outcome.map(|()| self.state)
    }

    /// What an error is where the log is gone. Nobody can go on with the run then, so its agents are ended.
    async fn lost_log(&self, error: RunError) -> RunError {
        let Some((path, how)) = error.lost_log(&self.store) else { return error };
        self.store.let_lie();
        self.end_orphans(&self.state.to_perform()).await;
        let runs = [vec![self.state.run.clone()], children(&self.state)].concat();
        let dirs: Vec<_> = runs.into_iter().map(|run| (self.store.run_dir(&run), run)).collect();
        let end = move || dirs.iter().map(|(dir, run)| end_all(run, dir).left).sum();
        // It waits for the last of them.
        let left = tokio::task::spawn_blocking(end).await.unwrap_or_default();
        let (run, state) = (self.state.run.clone(), self.store.dir());
        match state.exists() {
            true => RunError::LogGone { dir: self.store.run_dir(&run), run, path, how, left },
            false => RunError::StateGone(state.to_owned()),
        }
    }

    async fn run_inner(&mut self, mut first: Vec<Planned>, hand: OwnerStart) -> Result<(), RunError> {
        if hand == OwnerStart::First {
            self.folder = RunFolder::now(Path::new(&self.state.spec.workspace));
        }
        if hand == OwnerStart::Next {
            self.tell(Event::OwnerChanged, Vec::new()).await?;
            // Before anything else happens: what people said while nobody listened is about what they saw.
            self.read_inbox().await?;
            let open = self.state.to_perform();
            first.retain(|planned| open.iter().any(|open| open.id == planned.id));
            self.end_orphans(&first).await;
        }
        self.perform(first);
        self.read_inbox().await?;
        let mut inbox = tokio::time::interval(INBOX_EVERY);
        inbox.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !self.state.is_done() {
            let deadline = self.state.deadline();
            let timeout = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep(until(deadline)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                fact = self.inlet.recv() => match fact {
                    Some(fact) => {
                        let event = fact?;
                        self.find_folder(is_found_in_folder(&event))?;
                        self.tell(event, Vec::new()).await?;
                    }
                    None => return Err(RunError::Abandoned),
                },
                Some(request) = self.hooks.recv() => match request {
                    IncomingLine::Hook(request) => self.hook(request).await?,
                    IncomingLine::Person(request) => self.person(request).await?,
                },
                _ = inbox.tick() => {
                    self.mend_socket();
                    end_adopted();
                    self.refuse_planted().await?;
                }
                () = timeout, if matches!(self.state.lifecycle, Lifecycle::Running) => {
                    self.tell(Event::RunTimedOut, Vec::new()).await?;
                }
            }
        }
        Ok(())
    }

    /// Stops here, with everything as it was, where the folder of the run is away: what is found without
    /// it says nothing about the work.
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

    /// Somebody may have deleted the run's folder while its agents lived.
    async fn end_orphans(&self, effects: &[Planned]) {
        let (context, effects) = (Arc::clone(&self.context), effects.to_vec());
        let end = move || effects.iter().for_each(|planned| context.end_orphans(planned));
        // It waits for the last of them.
        let _ = tokio::task::spawn_blocking(end).await;
    }

    /// Somebody who tidies up may delete the socket of a living run. Hooks try again for half a
    /// minute, so a new one in its place loses none of them.
    fn mend_socket(&self) {
        let context = &self.context;
        if context.socket.exists() {
            return;
        }
        let path = hook_socket::path_for(&context.home.state, &context.run, &context.home.temp);
        if let Some(server) = path.ok().and_then(|path| hook_socket::bind(&path).ok()) {
            tokio::spawn(server.serve(self.requests.clone()));
        }
    }

    /// A hook asks. What needs no decision is answered at once and not logged.
    async fn hook(&mut self, mut request: HookRequest) -> Result<(), RunError> {
        let cookie = match whose(&request) {
            Ok(Some(cookie)) => cookie,
            // Its process is gone: nobody waits for an answer.
            Ok(None) => return Ok(()),
            Err(why) => {
                self.refuse(why).await?;
                say(request, REFUSED_HOOK, String::new(), format!("windlass: denied, {why}\n"));
                return Ok(());
            }
        };
        // It may wait long for a person, and its payload may be large.
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
        // The answer to these is made from what was asked. Anything else may be large and wait long.
        if matches!(kind, HookKind::Question { .. } | HookKind::Permission(_) | HookKind::Other { .. }) {
            request.payload = payload;
        }
        if let HookKind::Other { .. } = kind {
            reply(request, &*dialect, &HookAnswer::Pass);
            return Ok(());
        }
        let id = request.id.clone();
        self.waiting.insert(id.clone(), (request, dialect));
        let dir = from.as_ref().map(|from| self.context.child_dir(from));
        let unanswered = dir.map_or_else(Vec::new, |dir| child::gave_up(&dir));
        // A call that has found us only now takes its note away when it is answered.
        let unanswered = unanswered.into_iter().filter(|call| !self.waiting.contains_key(call)).collect();
        self.tell(Event::HookAsked { call: HookCall { id, from, kind, unanswered, real } }, Vec::new()).await
    }

    /// Where the file of a tool call really lies, where a rule of its session could be about it.
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
            let files = readings(&path, &cwd, Some(&home)).into_iter().map(text).collect::<Option<Vec<_>>>();
            let workspace = links::real(&workspace).and_then(text)?;
            Some(RealPath { workspace, files: files? })
        });
        // A file system that does not answer holds up nobody else.
        let seen = tokio::time::timeout(LOOKING, look).await.ok().and_then(Result::ok).flatten();
        let unknown = || RealPath { workspace: work.workspace.clone(), files: Vec::new() };
        seen.unwrap_or_else(unknown).unless_plain(&spelled, &work.workspace)
    }

    /// Finds the dialect of the session that a call comes from. The log says which it is; an agent could
    /// change a file.
    fn dialect(&self, from: Option<&EffectId>) -> Arc<dyn Dialect> {
        let driver = from.and_then(|from| self.state.spec.driver_of(&from.node));
        self.context.home.agents.named_or_first(driver)
    }

    /// Takes what waited for an owner, in order, each with the event it becomes. From then on requests come
    /// over the socket.
    async fn read_inbox(&mut self) -> Result<(), RunError> {
        self.refuse_planted().await?;
        let handle = &self.context.handle;
        for (id, message) in handle.pending(&self.state.run, handle.key()?)?.sealed {
            self.tell(event_of(id.clone(), message), vec![id]).await?;
        }
        Ok(())
    }

    /// Discards requests in the inbox that do not carry Windlass's seal, and says so.
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
                "Windlass ignored a request that waited for this run ({verb}): it was sealed with another key than {}, \
                 which somebody deleted or replaced, so nobody can tell who sent it; if it was you, send it again",
                key.display()
            ))
            .await?;
        }
        for id in pending.planted {
            self.store.discard(&self.state.run, &id)?;
            self.refuse("Windlass ignored a request in the database that does not carry its seal").await?;
        }
        Ok(())
    }

    /// Writes down that a request was refused; not each one of a flood.
    async fn refuse(&mut self, why: &str) -> Result<(), RunError> {
        self.refused += 1;
        match self.refused <= REFUSALS_TOLD {
            true => self.tell(Event::RequestRefused { why: why.to_owned() }, Vec::new()).await,
            false => Ok(()),
        }
    }

    /// Somebody asks what only a person may. Their process is looked at, whatever program it is: a client
    /// may be old or not ours.
    async fn person(&mut self, request: PersonRequest) -> Result<(), RunError> {
        let PersonRequest { payload, from, reply } = request;
        let (exit, stdout, stderr) = match serde_json::from_slice::<SocketRequest>(&payload) {
            Err(error) => (USAGE, String::new(), format!("the request is not understood: {error}")),
            Ok(asked) => match why_not(&from, asked.message.verb()) {
                Some(why) => {
                    self.refuse(&why).await?;
                    (REFUSED, String::new(), why)
                }
                None => (0, self.hear(asked).await?.to_owned(), String::new()),
            },
        };
        // They may have gone.
        let _ = reply.send(HookReply { v: WIRE_VERSION, id: REQUEST.to_owned(), exit, stdout, stderr });
        Ok(())
    }

    /// Takes a person's request, once.
    async fn hear(&mut self, asked: SocketRequest) -> Result<&'static str, RunError> {
        let SocketRequest { id, message } = asked;
        self.refuse_planted().await?;
        let (handle, run) = (self.context.handle.clone(), self.state.run.clone());
        // It may wait already: put there before this process owned the run, and seen only now.
        let is_waiting = |waiting: &(InboxId, InboxMessage)| *waiting == (id.clone(), message.clone());
        let waits = handle.pending(&run, handle.key()?)?.sealed.iter().any(is_waiting);
        if !waits && handle.keep(&run, &id, &message)? == PutResult::Known {
            return Ok("known");
        }
        self.tell(event_of(id.clone(), message), vec![id]).await?;
        Ok(FRESH)
    }

    /// The one way a run moves: decide, commit, act.
    async fn tell(&mut self, event: Event, taken: Vec<InboxId>) -> Result<(), RunError> {
        let before = self.seq;
        let (records, steps) = self.decide(now(), event);
        self.commit(&records, &steps, taken).await?;
        for (seq, record) in (before + 1..).zip(records) {
            self.feed.send(FeedItem::Record { seq, record: Box::new(record) });
        }
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

    /// What comes of a fact, and before it of what a run hears that spends of one budget with others.
    fn decide(&mut self, at: Moment, event: Event) -> (Vec<Record>, Vec<Decision>) {
        let apply = |state: &mut RunState, event: Event| {
            let step = engine::apply(state, at, &event);
            (step.record(at, event), step)
        };
        if !shares_a_budget(&self.state) {
            let (record, step) = apply(&mut self.state, event);
            return (vec![record], vec![step]);
        }
        // Held until it is noted what this run has decided: no other one takes the same turn meanwhile.
        let mut ledger = self.context.handle.ledger();
        let mut events = ledger.news_for(&self.state);
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

    /// Without a forwarder waiting there is nothing to do: it will send its call again.
    fn answer(&mut self, hook: &HookId, answer: &HookAnswer) {
        if let Some((request, dialect)) = self.waiting.remove(hook) {
            reply(request, &*dialect, answer);
        }
    }
}

/// Whether an effect works in the folder of the run.
fn is_done_in_folder(planned: &Planned) -> bool {
    match &planned.effect {
        Effect::Inspect { .. } | Effect::RunChecks { .. } | Effect::Prepare { .. } => true,
        effect => effect.begins_work(),
    }
}

/// Whether a fact is of the folder of the run: an outcome that would be another one without it.
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

/// Whether others spend of what this run may, or it of what they may.
pub(crate) fn shares_a_budget(state: &RunState) -> bool {
    state.spec.parent.is_some() || !state.spec.others.is_empty()
}

/// The session that a hook belongs to, by where its process comes from. What it says of itself must agree.
fn whose(request: &HookRequest) -> Result<Option<String>, &'static str> {
    match (&request.from, &request.session) {
        (Descent::Session { cookie }, Some(said)) if said != cookie => {
            Err("a hook call does not come from the session that it names")
        }
        (Descent::Session { cookie }, _) => Ok(Some(cookie.clone())),
        (Descent::Free | Descent::Orphan, _) => Err("a hook call comes from no session"),
        (Descent::Unseen, _) => Ok(None),
    }
}

/// Says an answer in the agent's dialect to the forwarder that waits. That it has gone is no
/// error: it asks again.
fn reply(request: HookRequest, dialect: &dyn Dialect, answer: &HookAnswer) {
    let printed = dialect.write_answer(&request.event, &request.payload, answer);
    say(request, printed.exit, printed.stdout, printed.stderr);
}

fn say(request: HookRequest, exit: u8, stdout: String, stderr: String) {
    let id = request.id.as_str().to_owned();
    let _ = request.reply.send(HookReply { v: WIRE_VERSION, id, exit, stdout, stderr });
}

/// What lists show of a run.
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
        cost_usd: state.spent.usage.cost_usd,
        started_ms: state.started.0,
        updated_ms: at_ms,
        input: shorten(input),
        parent: state.spec.parent.as_ref().map(|parent| parent.run.clone()),
    }
}

fn shorten(input: &str) -> String {
    input.chars().take(200).collect()
}
