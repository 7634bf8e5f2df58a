//! Puts everything away at the end of a run: no child, no armed state, the tracker inactive.

use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use windlass_core::event::Event;
use windlass_peers::child::{ChildState, Terminate, child_state, sweep_cookie, terminate_host};

use super::{Ground, prepare};

/// How often a host that was asked to end is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long the reader of an ended turn may take for the rest of its stream.
const READER_MAX: Duration = Duration::from_secs(10);

/// Ends what is left and marks the tracker.
pub(super) async fn perform(ground: Arc<Ground>, iteration: u32) {
    let dirs = ground.child_dirs();
    for dir in &dirs {
        terminate_host(dir, Terminate::WithGrace);
    }
    for dir in &dirs {
        wait_for_end(&ground, dir).await;
    }
    let reader = ground.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(reader) = reader {
        let _ = tokio::time::timeout(READER_MAX, reader).await;
    }
    prepare::mark_tracker(&ground, iteration, false);
    prepare::disarm(&ground);
    ground.report(Event::CleanedUp).await;
}

/// Waits for the host; a host that died is swept after.
async fn wait_for_end(ground: &Ground, dir: &Path) {
    loop {
        match child_state(dir) {
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
