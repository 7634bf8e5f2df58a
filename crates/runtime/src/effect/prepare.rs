//! The tracker and the ralph-loop state file: made before the first turn, shown to people
//! while it runs, put away at the end.

use std::path::{Path, PathBuf};

use crate::error::chain;
use windlass_core::event::Event;
use windlass_core::looping::{Mode, Rules};
use windlass_core::time::Moment;
use windlass_forms::{loop_state, tracker};
use windlass_peers::files::{self, FileError, Mode as FileMode};
use windlass_peers::git;

use super::{Ground, inspect};

/// The largest tracker that is read.
pub(crate) const TRACKER_MAX: u64 = 8 * 1024 * 1024;

/// Stands in the run's folder when the folder of the state file was not there before.
const FOLDER_MADE: &str = "claude-folder-made";

/// Makes what the loop needs. Never over an existing file: on a second try they are there.
pub(super) fn prepare(ground: &Ground) -> Event {
    crate::changes::remember(&ground.dir, Path::new(&ground.spec.workspace));
    let error = match ground.spec.node.rules() {
        Some(rules) => arm(ground, rules).err().map(|error| chain(&error)),
        None => None,
    };
    let head = git::head(Path::new(&ground.spec.workspace)).ok();
    let base = head.map(|head| head.unwrap_or_else(|| git::EMPTY_TREE.to_owned()));
    Event::Prepared { fingerprint: inspect::fingerprint(ground), base, error }
}

fn arm(ground: &Ground, rules: &Rules) -> Result<(), FileError> {
    if let Some(path) = &rules.tracker_path {
        make_tracker(ground, rules, Path::new(path))?;
    }
    if rules.mode == Mode::Plugin {
        write_loop_state(ground, rules)?;
    }
    Ok(())
}

fn make_tracker(ground: &Ground, rules: &Rules, path: &Path) -> Result<(), FileError> {
    if let Some(dir) = path.parent() {
        files::make_dirs_inside(Path::new(&ground.spec.workspace), dir)?;
    }
    ignore_runs(ground)?;
    let frontmatter = tracker::Frontmatter {
        run: ground.run.as_str(),
        iteration: 0,
        max_iterations: rules.max_iterations,
        completion_marker: rules.marker.as_deref(),
        active: true,
        started_at: Moment(ground.started_ms),
    };
    let text = tracker::render(&frontmatter, &rules.tracker_body);
    files::create_new(path, text.as_bytes(), FileMode::Shared)?;
    Ok(())
}

/// Keeps the runs of Windlass out of git by an ignore file of its own.
fn ignore_runs(ground: &Ground) -> Result<(), FileError> {
    let ignore = Path::new(&ground.spec.workspace).join(".windlass/runs/.gitignore");
    files::create_new(&ignore, b"*\n", FileMode::Shared).map(|_| ())
}

/// A stale state file of an earlier prompt is replaced: it would loop on the wrong one.
fn write_loop_state(ground: &Ground, rules: &Rules) -> Result<(), FileError> {
    let path = loop_state_path(ground);
    if let Some(dir) = path.parent() {
        if !dir.exists() {
            // Noted before it is made: after a crash it is still known whose it is.
            files::create_new(&ground.dir.join(FOLDER_MADE), b"", FileMode::Private)?;
        }
        files::make_dirs_inside(Path::new(&ground.spec.workspace), dir)?;
    }
    let state = loop_state::LoopState {
        active: true,
        iteration: loop_state::LoopState::FIRST,
        max_iterations: rules.max_iterations,
        completion_promise: rules.promise.as_deref(),
        session_id: None,
        started_at: Moment(ground.started_ms),
        prompt: &rules.prompt,
    };
    files::write_atomic(&path, loop_state::render(&state).as_bytes(), FileMode::Shared)
}

fn loop_state_path(ground: &Ground) -> PathBuf {
    Path::new(&ground.spec.workspace).join(".claude/ralph-loop.local.md")
}

/// Shows the counters in the tracker's frontmatter. Only for people: what decides is in the
/// log, so a tracker that cannot be marked is left alone.
pub(super) fn mark_tracker(ground: &Ground, iteration: u32, active: bool) {
    let Some(path) = ground.spec.node.rules().and_then(|rules| rules.tracker_path.as_deref()) else { return };
    let path = Path::new(path);
    let Ok(bytes) = files::read_bounded(path, TRACKER_MAX) else { return };
    let Ok(text) = String::from_utf8(bytes) else { return };
    let marked = tracker::set_frontmatter(&text, iteration, active);
    if marked != text {
        let _ = files::write_atomic(path, marked.as_bytes(), FileMode::Shared);
    }
}

/// Removes the state file, so that no later session loops on it, and its folder when that was
/// made for it.
pub(super) fn disarm(ground: &Ground) {
    if ground.spec.node.rules().is_none_or(|rules| rules.mode != Mode::Plugin) {
        return;
    }
    let path = loop_state_path(ground);
    let _ = std::fs::remove_file(&path);
    if let Some(dir) = path.parent()
        && ground.dir.join(FOLDER_MADE).exists()
    {
        // Refused unless it is empty: what others put there stays.
        let _ = std::fs::remove_dir(dir);
    }
}
