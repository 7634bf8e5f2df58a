//! Manages `.claude/ralph-loop.local.md`, the state file of plugins that loop. Windlass writes it before each
//! session that such a plugin is to loop, and keeps it away from all other sessions.
//!
//! No file found there is ever lost. Windlass removes a file that a dead run left, moves any other file
//! aside, and tells the user where.

use std::path::{Path, PathBuf};

use windlass_core::effect::SessionPlan;
use windlass_core::id::EffectId;
use windlass_core::looping::{LoopMode, prompt};
use windlass_core::time::Moment;
use windlass_forms::loop_state;
use windlass_peers::files::{self, FileError, FileMode, checkout};

use super::{RunContext, SessionSite};

/// The path of the state file in the folder of a session.
const STATE: &str = ".claude/ralph-loop.local.md";
/// A marker file in the run's folder: Windlass created the folder of the state file.
const FOLDER_MADE: &str = "claude-folder-made";
/// The maximum size of a state file. A larger file belongs to somebody else.
const LARGEST: u64 = 8 * 1024 * 1024;

fn place(site: &SessionSite) -> PathBuf {
    Path::new(&site.workspace).join(STATE)
}

fn is_looped(site: &SessionSite) -> bool {
    site.node.rules().is_some_and(|rules| rules.mode == LoopMode::Plugin)
}

/// Removes or moves aside a file on which a plugin would loop the node's sessions, before they start.
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
    // A file outside the workspace must not be moved, yet a plugin would find it: this is an error.
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

/// Returns the new name of a file that is moved aside. It still matches the pattern that people keep out of
/// git.
fn aside(context: &RunContext, nth: u32) -> String {
    let more = if nth == 0 { String::new() } else { format!("-{nth}") };
    format!("ralph-loop.before-{}{more}.local.md", context.run)
}

/// Returns the run that left the file: the last one that looped here.
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

/// Writes the file for a session that is about to start.
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
            // Recorded before the folder is made, so that a crash between the two loses nothing.
            files::create_new(&context.dir.join(FOLDER_MADE), b"", FileMode::Private)?;
        }
        files::make_dirs_inside(Path::new(&site.workspace), dir)?;
    }
    // The plugin repeats this prompt in every turn.
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

/// Removes the state file, so that no later session loops on it, and the folder if Windlass made it. If
/// another run has the right to loop in the folder by now, removes only a file of this run.
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
        // Fails unless the folder is empty, so files of others stay.
        let _ = std::fs::remove_dir(dir);
    }
}
