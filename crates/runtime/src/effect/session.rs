//! Runs one turn of an agent: starts it under a host, or finds it again after a crash, and reads its stream
//! to the end.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use windlass_core::agent::{AgentEvent, AgentRequest};
use windlass_core::effect::SessionPlan;
use windlass_core::event::{Event, SessionEnd, SessionFailure, SessionVerdict};
use windlass_core::hook::wire::HookReply;
use windlass_core::id::{EffectId, HookId};
use windlass_core::launch::files as names;
use windlass_core::usage::Usage;
use windlass_peers::agent::{
    Channel, ChannelItem, Dialect, Prepared, ProcessEnd, TurnPaths, TurnRequest, UserEnvironment,
};
use windlass_peers::child::{ChildState, Terminate, child_state, gave_up, terminate_host, unanswered};
use windlass_peers::descent::Descent;
use windlass_peers::files::{self, FileError};
use windlass_peers::hook_socket::{HookRequest, IncomingLine};
use windlass_peers::process::{HostStart, start_host};

use super::child::{clear_dead_locks, clear_lost_child};
use super::{RunContext, SessionSite, StartFailure, loop_file};
use crate::artifacts::make_mentioned;
use crate::clock::now;
use crate::feed::FeedItem;

/// Starts the turn or adopts it, and reports how it ended.
pub(super) async fn perform(
    context: Arc<RunContext>,
    site: SessionSite,
    effect: EffectId,
    plan: SessionPlan,
) {
    let dir = context.child_dir(&effect);
    let name = &site.settings.driver.name;
    let Some(dialect) = context.home.agents.named(name) else {
        let end = failed(format!("this Windlass has no driver `{name}`"));
        return context.report(Event::SessionEnded { effect, end }).await;
    };
    let mut host = None;
    if matches!(child_state(&dir), ChildState::NotStarted) {
        if site.is_ending {
            return;
        }
        // The turn started and its effects are unknown, so it must not start again as if it never had.
        if !dir.exists() && (site.begun.as_ref() == Some(&effect) || context.is_orphaned(&effect)) {
            let verdict = SessionVerdict::Interrupted { what: "its folder was deleted".to_owned() };
            return context.report(Event::SessionEnded { effect, end: ended(verdict) }).await;
        }
        match launch(&context, &**dialect, &site, &effect, &plan, &dir) {
            Ok(Some(started)) => host = Some(started),
            Ok(None) => return,
            Err(StartFailure::NoRoom(error)) => return context.give_up(error).await,
            Err(StartFailure::Failed(what)) => {
                return context.report(Event::SessionEnded { effect, end: failed(what) }).await;
            }
        }
    }
    if host.is_none() && !gave_up(&dir).is_empty() {
        // The turn is repeated in any case, so the old process must not finish it as well.
        terminate_host(&dir, Terminate::WithGrace);
    }
    let channel = Channel::of_lines(&**dialect, &context.watcher, &dir, host);
    let session = plan.session.clone();
    context.report(Event::SessionStarted { effect: effect.clone(), session }).await;
    let end = follow(&context, &**dialect, &effect, &site.workspace, channel).await;
    let session = end.session.filter(|own| dialect.capabilities().chooses_session_id && *own != plan.session);
    let end = SessionEnd { unanswered: unanswered(&dir), session, took_ms: took_ms(&dir), ..end };
    forget_secrets(&dir, &**dialect);
    context.report(Event::SessionEnded { effect, end }).await;
}

fn launch(
    context: &RunContext,
    dialect: &dyn Dialect,
    site: &SessionSite,
    effect: &EffectId,
    plan: &SessionPlan,
    dir: &Path,
) -> Result<Option<HostStart>, StartFailure> {
    let user_settings = dialect.user_settings(&context.home.user, &context.home.env);
    let user_settings = user_settings.and_then(|path| files::read_bounded(&path, 1 << 20).ok());
    let user_settings = user_settings.and_then(|bytes| String::from_utf8(bytes).ok());
    let turn = TurnRequest {
        spec: &context.spec,
        settings: &site.settings,
        workspace: &site.workspace,
        system: site.node.system.as_deref(),
        plan,
        run: &context.run,
        effect,
        task: site.task.as_ref(),
        now: now(),
    };
    let home = context.dir.join(format!("home-{}", dialect.name()));
    let paths = TurnPaths { dir, home: &home, socket: &context.socket, windlass_exe: &context.exe };
    let outside = UserEnvironment { env: &context.home.env, user_settings: user_settings.as_deref() };
    let mut prepared = dialect.prepare(&turn, &paths, &outside);
    let mentions = plan.env.values().chain([&plan.prompt]).map(String::as_str);
    make_mentioned(&context.spec, mentions);
    add_env(&mut prepared.launch.env, &plan.env, &context.home.env);
    put_in_place(dir, &prepared).map_err(|error| StartFailure::of(&error, dir, &context.exe))?;
    let start = || {
        loop_file::arm(context, site, effect, plan)
            .map_err(|error| StartFailure::of(&error, dir, &context.exe))?;
        start_host(&context.exe, dir, &prepared.launch, &context.home.crash_env())
            .map_err(|error| StartFailure::of(&error, dir, &context.exe))
    };
    context.gate.start(&effect.node, dir, start)
}

/// Writes the files of a launch and makes its links.
fn put_in_place(dir: &Path, prepared: &Prepared) -> Result<(), FileError> {
    files::make_private_dir(dir)?;
    for (path, bytes) in &prepared.files {
        path.parent().map_or(Ok(()), files::make_private_dir)?;
        // Not synced: a launch that a power cut interrupts writes them again.
        files::write_spare(dir, path, files::FileMode::Private, |out| out.write_all(bytes))?;
    }
    for (link, target) in &prepared.links {
        if target.exists() && link.symlink_metadata().is_err() {
            link.parent().map_or(Ok(()), files::make_private_dir)?;
            files::make_link(link, target)?;
        }
    }
    Ok(())
}

/// Adds the environment variables of the workflow, except those that the driver itself sets.
fn add_env(env: &mut Vec<(String, String)>, own: &BTreeMap<String, String>, user: &[(String, String)]) {
    for (name, value) in own {
        let is_users = |value: &String| user.iter().any(|(other, theirs)| other == name && theirs == value);
        match env.iter_mut().find(|(other, _)| other == name) {
            Some((_, before)) if is_users(before) => before.clone_from(value),
            Some(_) => {}
            None => env.push((name.clone(), value.clone())),
        }
    }
}

async fn follow(
    context: &RunContext,
    dialect: &dyn Dialect,
    effect: &EffectId,
    workspace: &str,
    mut channel: Channel,
) -> SessionEnd {
    let mut replies = JoinSet::new();
    let over = loop {
        tokio::select! {
            item = channel.next() => match item {
                ChannelItem::Said(said) => show(context, effect, said).await,
                ChannelItem::Asked(request) => drop(replies.spawn(ask(context, effect, request))),
                ChannelItem::Over(state) => break state,
            },
            Some(Ok(Some(reply))) = replies.join_next(), if !replies.is_empty() => {
                // If the agent's folder is gone, the end of the turn says so.
                let _ = channel.reply(&reply.id, &reply.stdout);
            }
        }
    };
    let end = finish(context, dialect, effect, workspace, &mut channel, &over).await;
    show(context, effect, channel.end()).await;
    end
}

/// Sends a request of the agent to the owner, as a hook call. Returns `None` if the owner ends before it
/// decides.
fn ask(
    context: &RunContext,
    effect: &EffectId,
    request: AgentRequest,
) -> impl Future<Output = Option<HookReply>> + use<> {
    let (reply, replied) = oneshot::channel();
    let cookie = context.cookie(&effect.to_string());
    let call = HookRequest {
        id: HookId::new(request.id),
        event: request.event,
        session: Some(cookie.clone()),
        // The output file belongs to the session.
        from: Descent::Session { cookie },
        payload: request.payload.to_string().into_bytes(),
        reply,
    };
    let requests = context.requests.clone();
    async move {
        requests.send(IncomingLine::Hook(call)).await.ok()?;
        replied.await.ok()
    }
}

async fn show(context: &RunContext, effect: &EffectId, said: Vec<AgentEvent>) {
    for event in said {
        context.feed.offer(FeedItem::Agent { effect: effect.clone(), event }).await;
    }
}

/// Judges the whole turn. If the host died, first ends the remaining processes, then reads the rest of their
/// output.
async fn finish(
    context: &RunContext,
    dialect: &dyn Dialect,
    effect: &EffectId,
    workspace: &str,
    channel: &mut Channel,
    state: &ChildState,
) -> SessionEnd {
    let dir = context.child_dir(effect);
    if let ChildState::Ended(exit) = state {
        if exit.code.is_none() {
            tell_of_locks(context, effect, clear_dead_locks(&dir, workspace).await);
        }
        return channel.sum_up(dialect, ProcessEnd::Exited(exit));
    }
    let left = clear_lost_child(&dir, context.cookie(&effect.to_string()), workspace).await;
    tell_of_locks(context, effect, left);
    channel.read_rest();
    channel.sum_up(dialect, ProcessEnd::Lost)
}

/// Warns about git locks that may be somebody's: the next commit in the repository fails.
fn tell_of_locks(context: &RunContext, effect: &EffectId, left: Vec<PathBuf>) {
    for lock in left {
        let text = format!(
            "the agent was interrupted, and git is locked by {}; remove that file if no git process is running",
            lock.display()
        );
        let event = AgentEvent::Notice { about: "git".to_owned(), text };
        context.feed.send(FeedItem::Aside { effect: effect.clone(), event });
    }
}

/// Returns the time for which the process of a turn ran, by the files of its host. If the host was killed, the last
/// output is the end.
fn took_ms(dir: &Path) -> u64 {
    let changed = |name: &str| std::fs::metadata(dir.join(name)).and_then(|meta| meta.modified()).ok();
    let end = changed(names::EXIT).or_else(|| changed(names::STDOUT));
    let time = changed(names::STARTED).zip(end).and_then(|(start, end)| end.duration_since(start).ok());
    time.and_then(|time| u64::try_from(time.as_millis()).ok()).unwrap_or_default()
}

/// Removes the files that contain keys from the user's environment and settings.
fn forget_secrets(dir: &Path, dialect: &dyn Dialect) {
    for name in [names::LAUNCH].iter().chain(dialect.secret_files()) {
        let _ = std::fs::remove_file(dir.join(name));
    }
}

fn failed(what: String) -> SessionEnd {
    ended(SessionVerdict::Failed { cause: SessionFailure::NotStarted, what })
}

/// Builds the end of a turn of which nothing was read.
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
        session: None,
        usage_is_cumulative: false,
        models: Vec::new(),
        took_ms: 0,
    }
}
