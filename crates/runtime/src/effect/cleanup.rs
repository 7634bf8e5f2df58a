//! Puts everything of a node away: no child, no run it started, no armed state, the tracker
//! inactive.

use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use windlass_core::event::Event;
use windlass_core::id::EffectId;
use windlass_peers::child::{ChildState, Terminate, child_state, sweep_cookie, terminate_host};
use windlass_peers::process::end_short_of;

use super::{Ground, Site, prepare};

/// How often a host that was asked to end is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long the reader of an ended turn may take for the rest of its stream.
const READER_MAX: Duration = Duration::from_secs(10);

/// Ends what is left and marks the tracker.
pub(super) async fn perform(ground: Arc<Ground>, site: Option<Site>, effect: EffectId, iteration: u32) {
    let node = &effect.node;
    ground.gate.put_away(node);
    end_short_of(&ground.cookie(node.as_str()));
    let dirs = ground.child_dirs(Some(node));
    let asked: Vec<bool> = dirs.iter().map(|dir| terminate_host(dir, Terminate::WithGrace)).collect();
    let child = ground.children.lock().unwrap_or_else(PoisonError::into_inner).get(node).cloned();
    if let Some(child) = &child {
        let _ = child.send(Ok(Event::CancelAsked { inbox: None })).await;
    }
    for (dir, is_asked) in dirs.iter().zip(asked) {
        wait_for_end(&ground, dir, is_asked).await;
    }
    let reader = ground.readers.lock().unwrap_or_else(PoisonError::into_inner).remove(node);
    match (reader, child) {
        // A run takes as long as it needs to put its own things away.
        (Some(reader), Some(_)) => drop(reader.await),
        (Some(reader), None) => drop(tokio::time::timeout(READER_MAX, reader).await),
        (None, _) => {}
    }
    if let Some(site) = &site {
        prepare::mark_tracker(site, iteration, false);
        prepare::disarm(&ground, site);
    }
    ground.report(Event::CleanedUp { effect }).await;
}

/// Waits for the host; a host that died is swept after. One that had only just been started could
/// not be asked to end, and is asked as soon as it can be found.
async fn wait_for_end(ground: &Ground, dir: &Path, mut is_asked: bool) {
    loop {
        is_asked = is_asked || terminate_host(dir, Terminate::WithGrace);
        match child_state(dir) {
            ChildState::NotStarted if ground.gate.has_host(dir) => tokio::time::sleep(LOOK_EVERY).await,
            ChildState::Running { .. } => tokio::time::sleep(LOOK_EVERY).await,
            ChildState::Lost => {
                if let Some(name) = ground.child_name(dir) {
                    sweep_cookie(&ground.cookie(&name));
                }
                return;
            }
            ChildState::NotStarted | ChildState::Ended(_) => return,
        }
    }
}
