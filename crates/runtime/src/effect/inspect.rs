//! Reads tracker and repository after a turn, and saves the folder. The engine decides what they mean.

use std::path::Path;

use crate::error::chain;
use windlass_core::event::Event;
use windlass_core::id::EffectId;
use windlass_core::looping::verdict::{Inspection, TrackerInspection, is_signalled};
use windlass_core::looping::{LoopRules, MarkerMatch};
use windlass_core::snapshot::SnapshotName;
use windlass_forms::tracker::{self, Markers};
use windlass_peers::{files, git};

use super::prepare::TRACKER_MAX;
use super::{RunContext, SessionSite};
use crate::snapshot;

/// Saves the folder as the turn left it, reads tracker, last message and repository, and returns what they
/// contain.
pub(super) fn inspect(
    context: &RunContext,
    site: &SessionSite,
    effect: EffectId,
    last_message: Option<&str>,
) -> Vec<Event> {
    let name = SnapshotName::Turn { node: effect.node.clone(), turn: effect.iteration };
    let saved = context.snapshots().save(&site.workspace, name);
    let rules = site.node.rules();
    let message = last_message.unwrap_or_default();
    let promise = rules.and_then(|rules| rules.promise.as_deref());
    let promised = promise.is_some_and(|promise| tracker::find_promise(message, promise));
    let tracker = rules.map_or(TrackerInspection::None, read_tracker);
    let (tracker, signalled) = match rules.filter(|rules| rules.is_ended_by_words()) {
        Some(rules) => read_message(rules, tracker, message),
        None => (tracker, false),
    };
    let fingerprint = fingerprint(site, saved.as_ref());
    let sight = Inspection { tracker, promised, signalled, fingerprint };
    saved.into_iter().chain([Event::Inspected { effect, sight }]).collect()
}

/// Reads the agent's last message. Returns whether it contains the signal, and the tracker's state with a
/// blocked marker of the message added.
fn read_message(rules: &LoopRules, tracker: TrackerInspection, message: &str) -> (TrackerInspection, bool) {
    let blocked = rules.blocked_marker.as_deref().unwrap_or(Markers::DEFAULT_BLOCKED);
    let signalled = rules.signal.as_deref().is_some_and(|signal| is_signalled(message, signal));
    let markers = Markers { complete: None, blocked, how: MarkerMatch::Line };
    let scan = tracker::scan(message, "", markers);
    let tracker = match tracker {
        TrackerInspection::None => TrackerInspection::Read { complete: false, blocked: scan.blocked },
        TrackerInspection::Read { complete, blocked } => {
            TrackerInspection::Read { complete, blocked: blocked.or(scan.blocked) }
        }
        lost @ (TrackerInspection::Missing | TrackerInspection::Unreadable { .. }) => lost,
    };
    (tracker, signalled)
}

fn read_tracker(rules: &LoopRules) -> TrackerInspection {
    let Some(path) = rules.tracker_path.as_deref() else { return TrackerInspection::None };
    let bytes = match files::read_bounded(Path::new(path), TRACKER_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.is_missing() => return TrackerInspection::Missing,
        Err(error) => return TrackerInspection::Unreadable { why: chain(&error) },
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return TrackerInspection::Unreadable { why: "it is not UTF-8 text".to_owned() };
    };
    let blocked = rules.blocked_marker.as_deref().unwrap_or(Markers::DEFAULT_BLOCKED);
    let markers = Markers { complete: rules.marker.as_deref(), blocked, how: rules.marker_match };
    let scan = tracker::scan(tracker::split(&text).1, &rules.tracker_body, markers);
    TrackerInspection::Read { complete: scan.complete, blocked: scan.blocked }
}

/// Returns a digest of everything that counts as progress: the tracker's body and the repository. A snapshot
/// that was just taken saves another look at the files.
pub(super) fn fingerprint(site: &SessionSite, saved: Option<&Event>) -> String {
    let path = site.node.rules().and_then(|rules| rules.tracker_path.as_deref());
    let text =
        path.and_then(|path| files::read_bounded(Path::new(path), TRACKER_MAX).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let body = tracker::split(&text).1;
    let folder = Path::new(&site.workspace);
    let content = match saved.and_then(snapshot::saved) {
        Some(snapshot) => git::fingerprint_of(folder, snapshot),
        None => git::fingerprint(folder),
    };
    format!("{}-{content}", git::digest(body.as_bytes()))
}
