//! Cleans up a node: ends its children and its sub-run, removes the plugin's state file, and marks the
//! tracker inactive.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use windlass_core::event::Event;
use windlass_core::id::{EffectId, NodeId, RunId};
use windlass_core::run::{Activity, EndReason, FinalStatus, Outcome, RunState, SubRunState};
use windlass_core::snapshot::SnapshotName;
use windlass_peers::agent::cancel;
use windlass_peers::child::{ChildState, Terminate, child_state, terminate_host};
use windlass_peers::process::end_short_of;

use super::child::clear_lost_child;
use super::{RunContext, SessionSite, loop_file, prepare};
use crate::inbox::InboxMessage;
use crate::supervise::blocking;

/// The interval at which a host that was asked to end is checked.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The time that a cancelled agent has to end its conversation before it gets a signal.
const CANCEL_MAX: Duration = Duration::from_secs(2);
/// The time limit for the reader of an ended turn to read the rest of its stream.
const READER_MAX: Duration = Duration::from_secs(10);

/// A sub-run to end, with the reason.
pub(super) struct ChildRunToEnd {
    run: RunId,
    why: String,
    /// The status of the node that started it. After all but `cancelled`, the run may continue later.
    status: FinalStatus,
}

impl ChildRunToEnd {
    fn event(&self) -> Event {
        let (interrupted, failed) = self.kind();
        Event::ParentEnded { inbox: None, why: self.why.clone(), interrupted, failed }
    }

    fn request(&self) -> InboxMessage {
        let (interrupted, failed) = self.kind();
        InboxMessage::EndWithOuter { why: self.why.clone(), interrupted, failed }
    }

    fn kind(&self) -> (bool, bool) {
        let is_cancelled = self.status == FinalStatus::Cancelled;
        let is_interrupted = self.status == FinalStatus::Interrupted;
        (is_interrupted, !is_interrupted && !is_cancelled)
    }
}

/// Returns the sub-run that a node started.
pub(super) fn child(state: &RunState, node: &NodeId) -> Option<ChildRunToEnd> {
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    let active = actives.into_iter().find(|active| active.instance == *node)?;
    let Activity::Run(SubRunState { run, .. }) = &active.activity else { return None };
    let words = |cut: &Outcome| match (&cut.detail, cut.reason) {
        (Some(detail), _) => detail.clone(),
        (None, EndReason::User) => {
            let how = if cut.status == FinalStatus::Interrupted { "interrupted" } else { "cancelled" };
            format!("run {} was {how}", state.run)
        }
        (None, reason) => reason.word().to_owned(),
    };
    let why = active.cut.as_ref().map(words).unwrap_or_default();
    let status = active.cut.as_ref().map_or(FinalStatus::Cancelled, |cut| cut.status);
    Some(ChildRunToEnd { run: run.clone(), why, status })
}

/// Asks the sub-run to end, in this process or another. Returns false if there is nothing to end.
async fn end_child(context: &RunContext, child: &ChildRunToEnd, effect: &EffectId) -> bool {
    let inlet = context.children.lock().unwrap_or_else(PoisonError::into_inner).get(&effect.node).cloned();
    if let Some(inlet) = inlet {
        let _ = inlet.send(Ok(child.event())).await;
        return true;
    }
    match context.handle.view(&child.run) {
        Ok(view) if !view.state.is_done() => {
            let (handle, run, effect) = (context.handle.clone(), child.run.clone(), effect.clone());
            let request = child.request();
            // Another owner may take a while to answer.
            blocking(move || handle.end_with_outer(&run, &effect, &request)).await.is_ok()
        }
        // The sub-run never started or is over.
        _ => false,
    }
}

/// Ends everything that is left of a node and marks the tracker.
pub(super) async fn perform(
    context: Arc<RunContext>,
    site: Option<SessionSite>,
    child: Option<ChildRunToEnd>,
    effect: EffectId,
    iteration: u32,
) {
    let node = &effect.node;
    context.gate.close_for(node);
    end_short_of(&context.cookie(node.as_str()));
    let dirs = context.child_dirs(Some(node));
    cancel_turns(&context, site.as_ref(), &dirs).await;
    let asked: Vec<bool> = dirs.iter().map(|dir| terminate_host(dir, Terminate::WithGrace)).collect();
    let has_child = match &child {
        Some(child) => end_child(&context, child, &effect).await,
        None => false,
    };
    for (dir, is_asked) in dirs.iter().zip(asked) {
        wait_for_end(&context, site.as_ref(), dir, is_asked).await;
    }
    let reader = context.readers.lock().unwrap_or_else(PoisonError::into_inner).remove(node);
    match reader {
        // A sub-run may take as long as it needs for its own cleanup.
        Some(reader) if has_child => drop(reader.await),
        Some(reader) => drop(tokio::time::timeout(READER_MAX, reader).await),
        None => {}
    }
    if let Some(child) = child.filter(|_| has_child) {
        wait_for_run(&context, &child.run).await;
    }
    save_open_turn(&context, site.as_ref(), &effect).await;
    if let Some(site) = &site {
        prepare::mark_tracker(site, iteration, false);
        loop_file::disarm(&context, site);
    }
    context.report(Event::CleanedUp { effect }).await;
}

/// Tells agents that hold a conversation that their work is cancelled, and gives them a moment to end by themselves.
async fn cancel_turns(context: &RunContext, site: Option<&SessionSite>, dirs: &[PathBuf]) {
    let Some(dialect) = site.and_then(|site| context.home.agents.named(&site.settings.driver.name)) else {
        return;
    };
    let runs = |dir: &&PathBuf| matches!(child_state(dir), ChildState::Running { .. });
    let told: Vec<&PathBuf> = dirs.iter().filter(runs).filter(|dir| cancel(&**dialect, dir)).collect();
    let end = Instant::now() + CANCEL_MAX.min(Duration::from_millis(context.spec.limits.grace_ms));
    while told.iter().any(&runs) && Instant::now() < end {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Saves the folder after a turn that was cut off. Every other turn was saved when it was judged.
async fn save_open_turn(context: &Arc<RunContext>, site: Option<&SessionSite>, effect: &EffectId) {
    let Some((site, turn)) = site.and_then(|site| Some((site, site.open_turn?))) else { return };
    let (snapshots, folder) = (context.snapshots(), site.workspace.clone());
    let name = SnapshotName::Turn { node: effect.node.clone(), turn };
    if let Some(event) = blocking(move || snapshots.save(&folder, name)).await {
        context.report(event).await;
    }
}

/// Waits for a sub-run that was asked to end. Needed because the reader is gone if it failed.
async fn wait_for_run(context: &RunContext, run: &RunId) {
    let is_under_way = || {
        let lives = context.handle.owner(run).is_some();
        lives && context.handle.view(run).is_ok_and(|view| !view.state.is_done())
    };
    while is_under_way() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Waits for a host to end, and ends the processes of one that died. A host that was just started cannot be
/// asked to end yet, so it is asked as soon as it is found.
async fn wait_for_end(context: &RunContext, site: Option<&SessionSite>, dir: &Path, mut is_asked: bool) {
    loop {
        is_asked = is_asked || terminate_host(dir, Terminate::WithGrace);
        match child_state(dir) {
            ChildState::NotStarted if context.gate.has_host(dir) => tokio::time::sleep(LOOK_EVERY).await,
            ChildState::Running { .. } => tokio::time::sleep(LOOK_EVERY).await,
            ChildState::Lost => {
                if let Some(name) = context.child_name(dir) {
                    let workspace = site.map_or(&context.spec.workspace, |site| &site.workspace);
                    clear_lost_child(dir, context.cookie(&name), workspace).await;
                }
                return;
            }
            ChildState::NotStarted | ChildState::Ended(_) => return,
        }
    }
}
