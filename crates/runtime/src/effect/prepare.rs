//! Makes the tracker before the first turn, shows counters in it during the loop, and marks it inactive at
//! the end. [`loop_file`] manages the state file of plugins that loop.

use std::path::Path;

use crate::error::chain;
use crate::plan::{PromptContext, entity_texts};
use windlass_core::event::{EntityTexts, Event, PrepareEnd};
use windlass_core::id::EffectId;
use windlass_core::looping::LoopRules;
use windlass_core::snapshot::SnapshotName;
use windlass_core::time::Moment;
use windlass_forms::tracker;
use windlass_peers::files::{self, FileError, FileMode, checkout};
use windlass_peers::git;
use windlass_peers::process::run_short_for;

use super::{RunContext, SessionSite, inspect, loop_file};

/// The maximum size of a tracker.
pub(crate) const TRACKER_MAX: u64 = 8 * 1024 * 1024;

/// Makes everything that the loop needs, and saves the folder as it is before the first turn. Never
/// overwrites a file: a second attempt finds the files of the first.
pub(super) fn prepare(
    context: &RunContext,
    site: &SessionSite,
    effect: EffectId,
    args: Option<&str>,
) -> Vec<Event> {
    crate::changes::remember(&context.dir, Path::new(&context.spec.workspace));
    let whom = context.cookie(&effect.node.to_string());
    let mut odd = Vec::new();
    let made = run_short_for(&whom, || texts(context, site, args))
        .and_then(|texts| arm(context, site, &mut odd).map(|()| texts).map_err(|error| told(&error)));
    let head = git::head(Path::new(&site.workspace)).ok();
    let base = head.map(|head| head.unwrap_or_else(|| git::EMPTY_TREE.to_owned()));
    let name = SnapshotName::Turn { node: effect.node.clone(), turn: 0 };
    let saved = context.snapshots().save(&site.workspace, name);
    let fingerprint = inspect::fingerprint(site, saved.as_ref());
    let end = match made {
        Ok(texts) => PrepareEnd::Ready { texts, fingerprint, work: None },
        Err(why) => PrepareEnd::Failed { why },
    };
    saved.into_iter().chain([Event::Prepared { effect, end, base, odd }]).collect()
}

/// Describes an error, and what to do if the folder may not be written.
fn told(error: &FileError) -> String {
    match error.is_refused() {
        true => format!("{}; make the folder writable, or run in another one", chain(error)),
        false => chain(error),
    }
}

/// Writes the texts of a node's entity for these arguments.
fn texts(
    context: &RunContext,
    site: &SessionSite,
    args: Option<&str>,
) -> Result<Option<EntityTexts>, String> {
    let (Some(entity), Some(args)) = (&site.settings.entity, args) else { return Ok(None) };
    let stage = PromptContext {
        workspace: Path::new(&site.workspace),
        env: &context.home.env,
        can: context.home.agents.capabilities(&site.settings.driver.name),
        isolation: site.settings.isolation,
        rules: &site.settings.permissions,
        on_permission: context.spec.policy.on_permission,
        timeout_ms: context.spec.limits.run_ms,
        dry_run: false,
    };
    let mut odd = Vec::new();
    let made = entity_texts(entity, args, &stage, &mut odd);
    let (prompt, system) = made.map_err(|problem| problem.text())?;
    Ok(Some(EntityTexts { prompt, system, odd }))
}

fn arm(context: &RunContext, site: &SessionSite, odd: &mut Vec<String>) -> Result<(), FileError> {
    let Some(rules) = site.node.rules() else { return loop_file::clear(context, site, odd) };
    if let Some(path) = &rules.tracker_path {
        make_tracker(context, site, rules, Path::new(path))?;
    }
    loop_file::clear(context, site, odd)
}

fn make_tracker(
    context: &RunContext,
    site: &SessionSite,
    rules: &LoopRules,
    path: &Path,
) -> Result<(), FileError> {
    if let Some(dir) = path.parent() {
        files::make_dirs_inside(Path::new(&site.workspace), dir)?;
    }
    ignore_runs(site)?;
    let frontmatter = tracker::TrackerFrontmatter {
        run: context.run.as_str(),
        iteration: 0,
        max_iterations: rules.max_iterations,
        completion_marker: rules.marker.as_deref(),
        active: true,
        started_at: Moment(context.started_ms),
    };
    let text = tracker::render(&frontmatter, &rules.tracker_body);
    create_tracker(path, &text).map(drop)
}

/// Writes a new tracker. Its draft is in the folder of all runs, which git ignores.
pub(crate) fn create_tracker(path: &Path, text: &str) -> Result<bool, FileError> {
    files::create_new_by(runs_folder(path), path, text.as_bytes(), FileMode::Shared)
}

fn runs_folder(tracker: &Path) -> &Path {
    tracker.ancestors().nth(2).unwrap_or(tracker)
}

/// Keeps Windlass's run folders out of git with their own ignore file.
fn ignore_runs(site: &SessionSite) -> Result<(), FileError> {
    let ignore = Path::new(&site.workspace).join(".windlass/runs/.gitignore");
    checkout::create_new(&ignore, b"*\n", FileMode::Shared).map(|_| ())
}

/// Shows the counters in the tracker's frontmatter. They are only for people, because the log decides; so a
/// tracker that cannot be written is left alone.
pub(super) fn mark_tracker(site: &SessionSite, iteration: u32, active: bool) {
    let Some(path) = site.node.rules().and_then(|rules| rules.tracker_path.as_deref()) else { return };
    let path = Path::new(path);
    let Ok(bytes) = files::read_bounded(path, TRACKER_MAX) else { return };
    let Ok(text) = String::from_utf8(bytes) else { return };
    let marked = tracker::set_frontmatter(&text, iteration, active);
    if marked != text {
        let _ = files::write_atomic_by(runs_folder(path), path, marked.as_bytes(), FileMode::Shared);
    }
}
