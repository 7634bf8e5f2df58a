//! Finds the task that a session works on.

use super::lane::{Activity, Lane};
use super::{RunState, TaskRounds};
use crate::id::NodeId;
use crate::tasks::TaskId;

/// The task that a session works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPosition {
    pub id: TaskId,
    /// The attempt at the task, counted from 1.
    pub attempt: u32,
    /// The node of the session, with the iterations of the loops inside the task only: `fix`, or `fix@2`.
    pub node: NodeId,
}

impl RunState {
    /// Returns the task that a session in progress works on. In nested task loops, this is the inner task.
    pub fn task_position(&self, session: &NodeId) -> Option<TaskPosition> {
        in_lane(&self.root, session)
    }
}

fn in_lane(lane: &Lane, session: &NodeId) -> Option<TaskPosition> {
    let active = lane.now.as_ref()?;
    let mut inside = active.activity.lanes().into_iter();
    if let Some(inner) = inside.find_map(|lane| in_lane(lane, session)) {
        return Some(inner);
    }
    let Activity::Tasks(tasks) = &active.activity else { return None };
    in_task(tasks, &active.instance, session)
}

fn in_task(tasks: &TaskRounds, task_loop: &NodeId, session: &NodeId) -> Option<TaskPosition> {
    let round = tasks.open.iter().find(|round| round.lane.work(session).is_some())?;
    let attempt = tasks.attempts.made.get(&round.id).copied().unwrap_or(1).max(1);
    // The iterations around the task, and the task's own.
    let outside = task_loop.as_str().matches('@').count() + 1;
    let id = session.in_workflow();
    let inside = session.as_str().split('@').skip(1 + outside);
    let node = inside.fold(id.to_string(), |node, iteration| format!("{node}@{iteration}"));
    Some(TaskPosition { id: round.id.clone(), attempt, node: NodeId::new(node) })
}
