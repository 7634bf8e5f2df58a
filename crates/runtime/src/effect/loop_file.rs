//! The state file of plugins that loop, `.claude/ralph-loop.local.md`: written before each session that
//! such a plugin is to loop, and in the way of no other.
//!
//! A file that is there before is nobody's to lose. What a dead run left is removed; anything else is
//! moved aside, and a person is told where.

use std::path::{Path, PathBuf};

use windlass_core::effect::SessionPlan;
use windlass_core::id::EffectId;
use windlass_core::looping::{LoopMode, prompt};
use windlass_core::time::Moment;
use windlass_forms::loop_state;
use windlass_peers::files::{self, FileError, FileMode, checkout};

use super::{RunContext, SessionSite};

/// Where it lies in the folder of a session.
const STATE: &str = ".claude/ralph-loop.local.md";
/// Stands in the run's folder when the folder of the state file was not there before.
const FOLDER_MADE: &str = "claude-folder-made";
/// No state file is larger; a larger one is somebody else's.
const LARGEST: u64 = 8 * 1024 * 1024;

fn place(site: &SessionSite) -> PathBuf {
    Path::new(&site.workspace).join(STATE)
}

fn is_looped(site: &SessionSite) -> bool {
    site.node.rules().is_some_and(|rules| rules.mode == LoopMode::Plugin)
}

/// Takes a file out of the way on which a plugin would loop the node's sessions, before they begin.
pub(super) fn clear(
    context: &RunContext,
    site: &SessionSite,
    odd: &mut Vec<String>,
) -> Result<(), FileError> {
    let has_plugin = context.spec.plugins.iter().any(|plugin| plugin.loops);
    if !has_plugin && !is_looped(site) {
        return Ok(());
    }
    let path = place(site);
    if std::fs::symlink_metadata(&path).is_err() {
        return Ok(());
    }
    // What lies outside is nobody's to move, and yet a plugin would find it.
    files::inside(Path::new(&site.workspace), Path::new(STATE))?;
    if let Some(run) = left_by(context, &path) {
        remove(&path)?;
        odd.push(format!("removed {}, which run {run} left behind", path.display()));
        return Ok(());
    }
    if let Some(aside) = files::set_aside(&path, |nth| aside(context, nth))? {
        odd.push(format!(
            "{} was there already, and a plugin would have looped on it: it is kept as {}",
            path.display(),
            aside.display()
        ));
    }
    Ok(())
}

/// The name a file gets that is moved aside. It stays one that people keep out of git.
fn aside(context: &RunContext, nth: u32) -> String {
    let more = if nth == 0 { String::new() } else { format!("-{nth}") };
    format!("ralph-loop.before-{}{more}.local.md", context.run)
}

/// The run that left the file: the last one that looped here.
fn left_by(context: &RunContext, path: &Path) -> Option<windlass_core::id::RunId> {
    let text = read(path)?;
    let run = context.handle.last_loop_in(&context.spec, &context.run)?;
    let view = context.handle.view(&run).ok()?;
    loop_state::is_of(&text, None, view.state.started).then_some(run)
}

fn read(path: &Path) -> Option<String> {
    files::read_bounded(path, LARGEST).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}

fn remove(path: &Path) -> Result<(), FileError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(FileError::Io { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Writes it for a session that is about to start, from the turn that begins with it.
pub(super) fn arm(
    context: &RunContext,
    site: &SessionSite,
    effect: &EffectId,
    plan: &SessionPlan,
) -> Result<(), FileError> {
    let Some(rules) = site.node.rules().filter(|rules| rules.mode == LoopMode::Plugin) else { return Ok(()) };
    let path = place(site);
    if let Some(dir) = path.parent() {
        if !dir.exists() {
            // Noted before it is made: after a crash it is still known whose it is.
            files::create_new(&context.dir.join(FOLDER_MADE), b"", FileMode::Private)?;
        }
        files::make_dirs_inside(Path::new(&site.workspace), dir)?;
    }
    // What each turn of it is told is what the first was.
    let prompt = prompt::opening(rules, 1, None);
    let state = loop_state::LoopState {
        active: true,
        iteration: effect.iteration,
        max_iterations: rules.max_iterations,
        completion_promise: rules.promise.as_deref(),
        session_id: Some(plan.session.as_str()),
        started_at: Moment(context.started_ms),
        prompt: &prompt,
    };
    checkout::write(&path, loop_state::render(&state).as_bytes(), FileMode::Shared)
}

/// Removes the state file, so that no later session loops on it, and its folder when that was
/// made for it. Where another run has the loop of the folder by now, only a file of this one.
pub(super) fn disarm(context: &RunContext, site: &SessionSite) {
    if !is_looped(site) {
        return;
    }
    let path = place(site);
    let session = site.session.as_ref().map(windlass_core::id::SessionId::as_str);
    let is_ours =
        || read(&path).is_some_and(|text| loop_state::is_of(&text, session, Moment(context.started_ms)));
    if !context.has_the_folder() && !is_ours() {
        return;
    }
    let _ = std::fs::remove_file(&path);
    if let Some(dir) = path.parent()
        && context.dir.join(FOLDER_MADE).exists()
    {
        // Refused unless it is empty: what others put there stays.
        let _ = std::fs::remove_dir(dir);
    }
}
