//! The branches of tasks whose work does not land: a task starts from the branches of its dependencies.

use serde_json::Value;

use super::TaskLoopNode;
use crate::engine::DecisionCx;
use crate::run::{KeptBranch, Round};
use crate::tasks::TaskId;

impl TaskLoopNode {
    /// Returns the branches with the work of a task's dependencies, if their work does not land. Each follows those
    /// from which it started, because a dependency without commits of its own has no branch any more.
    pub(super) fn branches_before(
        &self,
        cx: &DecisionCx<'_>,
        path: Option<&String>,
        task: &Value,
    ) -> Vec<String> {
        let kept = cx.bookkeeping.kept_branches.get(&file(path)).filter(|_| self.keeps_branches);
        let Some(kept) = kept else { return Vec::new() };
        let mut branches: Vec<String> = Vec::new();
        for before in dependencies(task).iter().filter_map(|task| kept.get(task)) {
            for branch in before.from.iter().chain([&before.branch]) {
                if !branches.contains(branch) {
                    branches.push(branch.clone());
                }
            }
        }
        branches
    }

    /// Remembers the branch of a passing task for the tasks that depend on it.
    pub(super) fn keep_branch(&self, cx: &mut DecisionCx<'_>, path: Option<&String>, round: &Round) {
        let Some(branch) = round.branch.clone().filter(|_| self.keeps_branches) else { return };
        let from = self.branches_before(cx, path, &round.task);
        let kept = cx.bookkeeping.kept_branches.entry(file(path)).or_default();
        kept.insert(round.id.clone(), KeptBranch { branch, from });
    }
}

/// Returns the name of a task file among the kept branches.
fn file(path: Option<&String>) -> String {
    path.cloned().unwrap_or_default()
}

fn dependencies(task: &Value) -> Vec<TaskId> {
    let all = task.get("dependencies").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let id = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned).parse().ok();
    all.iter().filter_map(id).collect()
}
