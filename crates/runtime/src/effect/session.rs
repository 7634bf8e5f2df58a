//! One turn of an agent: started under a host, or found again after a crash, and read to the
//! end of its stream.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::agent::AgentEvent;
use windlass_core::effect::SessionPlan;
use windlass_core::event::{Event, SessionEnd, SessionVerdict};
use windlass_core::id::EffectId;
use windlass_core::launch::files as names;
use windlass_core::usage::Usage;
use windlass_peers::agent::{Dialect, Lines, Outside, Over, Paths, Transcript, Turn};
use windlass_peers::child::{ChildState, Terminate, child_state, gave_up, terminate_host, unanswered};
use windlass_peers::files;
use windlass_peers::process::{HostStart, start_host};
use windlass_peers::tail::{Chunk, Tail, TailEvent};

use super::child::{put_away_locks, put_away_lost};
use super::{Ground, Site, Unstarted, loop_file};
use crate::clock::now;
use crate::feed::Item;

/// How much of standard error is kept for messages.
const STDERR_TAIL: u64 = 4_000;

/// Starts the turn or adopts it, and reports how it ended.
pub(super) async fn perform(ground: Arc<Ground>, site: Site, effect: EffectId, plan: SessionPlan) {
    let dir = ground.child_dir(&effect);
    let name = &site.orders.driver.name;
    let Some(dialect) = ground.home.agents.named(name) else {
        let end = failed(format!("this Windlass has no driver `{name}`"));
        return ground.report(Event::SessionEnded { effect, end }).await;
    };
    let mut host = None;
    if matches!(child_state(&dir), ChildState::NotStarted) {
        if site.is_ending {
            return;
        }
        // It began, and nobody can say what it did: it is not begun once more as if it never had.
        if !dir.exists() && (site.begun.as_ref() == Some(&effect) || ground.is_orphaned(&effect)) {
            let verdict = SessionVerdict::Interrupted { what: "its folder was deleted".to_owned() };
            return ground.report(Event::SessionEnded { effect, end: ended(verdict) }).await;
        }
        match launch(&ground, &**dialect, &site, &effect, &plan, &dir) {
            Ok(Some(started)) => host = Some(started),
            Ok(None) => return,
            Err(Unstarted::NoRoom(error)) => return ground.give_up(error).await,
            Err(Unstarted::Failed(what)) => {
                return ground.report(Event::SessionEnded { effect, end: failed(what) }).await;
            }
        }
    }
    let seen = std::fs::metadata(dir.join(names::STDOUT)).map(|meta| meta.len()).unwrap_or(0);
    let seen = if host.is_some() { 0 } else { seen };
    if host.is_none() && !gave_up(&dir).is_empty() {
        // Its turn is repeated in any case: what it would still do, it would do twice.
        terminate_host(&dir, Terminate::WithGrace);
    }
    let session = plan.session.clone();
    ground.report(Event::SessionStarted { effect: effect.clone(), session }).await;
    let end = follow(&ground, &**dialect, &effect, &dir, &site.workspace, host, seen).await;
    let end = SessionEnd { unanswered: unanswered(&dir), ..end };
    forget_secrets(&dir, &**dialect);
    ground.report(Event::SessionEnded { effect, end }).await;
}

fn launch(
    ground: &Ground,
    dialect: &dyn Dialect,
    site: &Site,
    effect: &EffectId,
    plan: &SessionPlan,
    dir: &Path,
) -> Result<Option<HostStart>, Unstarted> {
    let user_settings = dialect.user_settings(&ground.home.user, &ground.home.env);
    let user_settings = user_settings.and_then(|path| files::read_bounded(&path, 1 << 20).ok());
    let user_settings = user_settings.and_then(|bytes| String::from_utf8(bytes).ok());
    let turn = Turn {
        spec: &ground.spec,
        orders: &site.orders,
        workspace: &site.workspace,
        system: site.node.system.as_deref(),
        plan,
        run: &ground.run,
        effect,
        now: now(),
    };
    let paths = Paths { dir, socket: &ground.socket, windlass_exe: &ground.exe };
    let outside = Outside { env: &ground.home.env, user_settings: user_settings.as_deref() };
    let prepared = dialect.prepare(&turn, &paths, &outside);
    files::make_private_dir(dir).map_err(|error| Unstarted::of(&error, dir, &ground.exe))?;
    for (path, bytes) in &prepared.files {
        files::write_atomic(path, bytes, files::Mode::Private)
            .map_err(|error| Unstarted::of(&error, dir, &ground.exe))?;
    }
    let start = || {
        loop_file::arm(ground, site, effect, plan)
            .map_err(|error| Unstarted::of(&error, dir, &ground.exe))?;
        start_host(&ground.exe, dir, &prepared.launch, &ground.home.crash_env())
            .map_err(|error| Unstarted::of(&error, dir, &ground.exe))
    };
    ground.gate.start(&effect.node, dir, start)
}

/// Reads the stream to its end. What was there before we came is read for its facts and not
/// shown again.
async fn follow(
    ground: &Ground,
    dialect: &dyn Dialect,
    effect: &EffectId,
    dir: &Path,
    workspace: &str,
    host: Option<HostStart>,
    seen: u64,
) -> SessionEnd {
    let mut reading = Reading { lines: Lines::of(dialect), transcript: Transcript::default(), offset: 0 };
    let mut events = ground.watcher.watch(dir, 0, host);
    let mut over = None;
    while let (None, Some(event)) = (&over, events.recv().await) {
        match event {
            TailEvent::Lines(chunk) => {
                let is_new = chunk.offset > seen;
                let said = reading.take(&chunk);
                // It may be long, and waits for whoever looks.
                drop(chunk);
                if is_new {
                    show(ground, effect, said).await;
                }
            }
            TailEvent::Ended(state) => over = Some(state),
        }
    }
    let over = over.unwrap_or_else(|| child_state(dir));
    let end = finish(ground, effect, dir, workspace, &mut reading, &over).await;
    show(ground, effect, reading.end()).await;
    end
}

async fn show(ground: &Ground, effect: &EffectId, said: Vec<AgentEvent>) {
    for event in said {
        ground.feed.offer(Item::Agent { effect: effect.clone(), event }).await;
    }
}

/// What was read of a stream so far.
struct Reading {
    lines: Lines,
    transcript: Transcript,
    offset: u64,
}

impl Reading {
    fn take(&mut self, chunk: &Chunk) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        self.lines.read(&chunk.bytes, chunk.skipped, &mut events);
        for event in &events {
            self.transcript.add(event);
        }
        self.transcript.skip(chunk.skipped);
        self.offset = chunk.offset;
        events
    }

    /// What is to be said of the stream as a whole.
    fn end(&mut self) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        self.lines.end(&mut events);
        events
    }
}

/// Judges the whole stream. Where the host died, whoever is left is ended first, and then the
/// rest of what they wrote is read.
async fn finish(
    ground: &Ground,
    effect: &EffectId,
    dir: &Path,
    workspace: &str,
    reading: &mut Reading,
    state: &ChildState,
) -> SessionEnd {
    let stderr = || files::read_tail(&dir.join(names::STDERR), STDERR_TAIL);
    if let ChildState::Ended(exit) = state {
        if exit.code.is_none() {
            tell_of_locks(ground, effect, put_away_locks(dir, workspace).await);
        }
        return reading.transcript.end(Over::Exited(exit), &stderr(), reading.offset);
    }
    let left = put_away_lost(dir, ground.cookie(&effect.to_string()), workspace).await;
    tell_of_locks(ground, effect, left);
    let mut tail = Tail::new(&dir.join(names::STDOUT), reading.offset);
    let mut buffer = Vec::new();
    while let Ok(chunk) = tail.next_lines(&mut buffer) {
        chunk.iter().for_each(|chunk| drop(reading.take(chunk)));
        if tail.is_at_end() {
            break;
        }
    }
    reading.transcript.end(Over::Lost, &stderr(), reading.offset)
}

/// Warns of locks that may be somebody's: the next commit there fails.
fn tell_of_locks(ground: &Ground, effect: &EffectId, left: Vec<PathBuf>) {
    for lock in left {
        let text = format!(
            "the agent was cut off, and git is locked by {}: perhaps you are at work there; if no git is, remove it",
            lock.display()
        );
        let event = AgentEvent::Notice { about: "git".to_owned(), text };
        ground.feed.send(Item::Agent { effect: effect.clone(), event });
    }
}

/// What held keys of the user's environment and settings is not kept once nobody needs it.
fn forget_secrets(dir: &Path, dialect: &dyn Dialect) {
    for name in [names::LAUNCH].iter().chain(dialect.secret_files()) {
        let _ = std::fs::remove_file(dir.join(name));
    }
}

fn failed(what: String) -> SessionEnd {
    ended(SessionVerdict::Failed { what })
}

/// A turn of which nothing was read.
fn ended(verdict: SessionVerdict) -> SessionEnd {
    SessionEnd {
        verdict,
        last_message: None,
        value: None,
        usage: Usage::default(),
        tool_calls: 0,
        spoke: false,
        offset: 0,
        unanswered: Vec::new(),
    }
}
