//! The leftovers of parallel tasks: the branches and worktrees of a run that still exist, and the tasks of its
//! file that are not done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use windlass_core::effect::Effect;
use windlass_core::event::{Event, LandingEnd, Record, WorktreeEnd};
use windlass_core::graph::walk::{find, ids_in};
use windlass_core::graph::workflow::{EachNode, NodeKind};
use windlass_core::id::{NodeId, RunId};
use windlass_core::spec::Spec;
use windlass_core::tasks::TaskStatus;
use windlass_peers::git;

use crate::effect::tasks_place;
use crate::error::RunError;
use crate::handle::Handle;
use crate::tasks::inspect;

/// A branch of a run that still exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBranch {
    /// The run that made it: the run itself, or one that it started.
    pub run: RunId,
    pub branch: String,
    /// Its worktree, if that exists too.
    pub worktree: Option<PathBuf>,
    /// The branch on which its commits were to land.
    pub target: Option<String>,
    /// The task that it was made for.
    pub task: Option<String>,
    /// The item that it was made for: the block and the number of the item.
    pub item: Option<(NodeId, u32)>,
    /// The reason why its commits did not land, as far as the log says.
    pub why: Option<String>,
    /// Only a person can land it, and nothing is wrong with the work.
    pub is_hindered: bool,
    /// Another branch of the same task landed commits later.
    pub is_redone: bool,
    /// The task passed, and its workflow keeps the branch instead of landing it.
    pub is_kept: bool,
    /// The branch has commits that no branch of a person has.
    pub has_commits: bool,
    /// The worktree has changed or new files that are in no commit.
    pub has_uncommitted_files: bool,
    /// A branch of a person has all of its work, and its worktree has nothing else.
    pub has_landed: bool,
}

impl LeftBranch {
    /// Describes the branch that a run itself works on.
    pub(crate) fn of_run(run: &RunId, branch: String, target: Option<String>) -> LeftBranch {
        LeftBranch {
            run: run.clone(),
            branch,
            worktree: None,
            target,
            task: None,
            item: None,
            why: None,
            is_hindered: false,
            is_redone: false,
            is_kept: false,
            has_commits: true,
            has_uncommitted_files: false,
            has_landed: false,
        }
    }
}

/// The tasks of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskFileTally {
    /// The number of tasks that are passing or skipped.
    pub done: usize,
    /// The number of all tasks.
    pub all: usize,
    /// The other tasks, in the order of the file: the id, the name and the status.
    pub open: Vec<(String, String, TaskStatus)>,
}

impl Handle {
    /// Lists the branches that a run, and the runs below it, made for their tasks and that still exist.
    pub fn left_branches(&self, run: &RunId) -> Result<Vec<LeftBranch>, RunError> {
        let spec = self.view(run)?.state.spec;
        // Most runs have no tasks, and their logs may be long.
        if !has_tasks(&spec) {
            return Ok(Vec::new());
        }
        let repo = spec.workspace;
        let (mut runs, mut made) = (vec![run.clone()], Vec::new());
        let mut next = 0;
        while let Some(run) = runs.get(next).cloned() {
            let records: Vec<Record> = match self.records(&run, 1) {
                Ok(records) => records.into_iter().map(|(_, record)| record).collect(),
                // A run below may not have started, or its log cannot be read.
                Err(_) if next > 0 => Vec::new(),
                Err(error) => return Err(error),
            };
            // A damaged log may name its own run as a child.
            let new = started(&records).filter(|child| !runs.contains(child)).collect::<Vec<_>>();
            made.extend(made_by(&run, &records));
            runs.extend(new);
            next += 1;
        }
        if made.is_empty() {
            return Ok(made);
        }
        Ok(existing(Path::new(&repo), made))
    }

    /// Counts the tasks of the file that a run works on. `path` is the file that the workflow names. Returns
    /// `None` if the file cannot be read now.
    pub fn task_tally(&self, workspace: &Path, path: Option<&str>) -> Option<TaskFileTally> {
        let document = inspect(&tasks_place(workspace, path).ok()?).ok()?.document?;
        let tasks = &document.tasks().tasks;
        let is_done = |status: TaskStatus| matches!(status, TaskStatus::Passing | TaskStatus::Skipped);
        let open: Vec<_> = tasks.iter().filter(|task| !is_done(task.status)).collect();
        Some(TaskFileTally {
            done: tasks.len() - open.len(),
            all: tasks.len(),
            open: open.iter().map(|task| (task.id.to_string(), task.name.clone(), task.status)).collect(),
        })
    }
}

/// Decides whether a run, or a run below it, may work on several tasks at once.
fn has_tasks(spec: &Spec) -> bool {
    let is_task_loop = |id: &NodeId| {
        find(&spec.body, id).is_some_and(|node| {
            matches!(node.kind, NodeKind::TaskLoop(_) | NodeKind::Each(EachNode { worktree: true, .. }))
        })
    };
    ids_in(&spec.body).iter().any(is_task_loop) || spec.others.values().any(has_tasks)
}

/// Returns the runs that a run started.
fn started(records: &[Record]) -> impl Iterator<Item = RunId> {
    let effects = records.iter().flat_map(|record| &record.effects);
    effects.filter_map(|planned| match &planned.effect {
        Effect::StartRun { run, .. } => Some(run.clone()),
        _ => None,
    })
}

/// Keeps the branches that exist, adds their worktrees, and looks which have landed.
fn existing(repo: &Path, made: Vec<LeftBranch>) -> Vec<LeftBranch> {
    let listed = git::git(repo, &["for-each-ref", "--format=%(refname)", "refs/heads/windlass/"]);
    let listed = String::from_utf8_lossy(&listed.unwrap_or_default()).into_owned();
    let names: Vec<&str> = listed.lines().filter_map(|name| name.strip_prefix("refs/heads/")).collect();
    let worktrees = git::list(repo).unwrap_or_default();
    let left = made.into_iter().filter(|left| names.contains(&left.branch.as_str())).map(|left| {
        let its = worktrees.iter().find(|worktree| worktree.branch == left.branch);
        // A repository that cannot be read has landed nothing.
        let containing = git::containing_branch(repo, &left.branch, left.target.as_deref()).ok().flatten();
        let target = containing.as_deref().or(left.target.as_deref()).unwrap_or("HEAD");
        let kept = its.map(|its| git::reason_to_keep(its, target));
        let is_free = matches!(kept, None | Some(Ok(None)));
        LeftBranch {
            worktree: its.map(|its| its.path.clone()).filter(|path| path.is_dir()),
            has_commits: containing.is_none(),
            has_uncommitted_files: matches!(kept, Some(Ok(Some(git::KeepReason::Uncommitted { .. })))),
            has_landed: containing.is_some() && is_free,
            ..left
        }
    });
    left.collect()
}

/// Returns the branches that a run made, in the order of their rounds, with the reasons in the log.
pub(crate) fn made_by(run: &RunId, records: &[Record]) -> Vec<LeftBranch> {
    let spec = records.iter().find_map(|record| match &record.event {
        Event::RunStarted { spec } => Some(&**spec),
        _ => None,
    });
    let mut tasks: BTreeMap<&NodeId, String> = BTreeMap::new();
    let mut made: Vec<(&NodeId, LeftBranch)> = Vec::new();
    let mut conflicts: BTreeMap<&NodeId, &String> = BTreeMap::new();
    // The rounds whose commits landed, and the tasks that passed with them.
    let mut landed: Vec<&NodeId> = Vec::new();
    let mut redone: Vec<String> = Vec::new();
    // The rounds that were to land.
    let mut landing: BTreeSet<&NodeId> = BTreeSet::new();
    for record in records {
        for planned in &record.effects {
            // After a conflict, a task lands in a round for which no worktree was made.
            if let Effect::MakeWorktree { task, .. } | Effect::Land { task, .. } = &planned.effect {
                tasks.insert(&planned.id.node, task.to_string());
            }
            if let Effect::Land { .. } = &planned.effect {
                landing.insert(&planned.id.node);
            }
        }
        let (round, reason) = match &record.event {
            Event::WorktreeMade { effect, end: WorktreeEnd::Made { branch, target, .. } } => {
                let (branch, target) = (branch.clone(), target.clone());
                let item = spec.and_then(|spec| item_of(spec, &effect.node));
                let task = tasks.get(&effect.node).filter(|_| item.is_none()).cloned();
                let left = LeftBranch { task, item, ..LeftBranch::of_run(run, branch, target) };
                made.push((&effect.node, left));
                continue;
            }
            Event::Landed { effect, end: LandingEnd::Landed { is_empty, .. } } => {
                landed.extend((!is_empty).then_some(&effect.node));
                continue;
            }
            Event::Landed { effect, end: LandingEnd::Conflict { why, .. } } => {
                conflicts.entry(&effect.node).or_insert(why);
                continue;
            }
            Event::Landed { effect, end: LandingEnd::Refused { why, .. } | LandingEnd::Hindered { why } } => {
                (&effect.node, Some(why))
            }
            Event::TaskSettled { effect, why, status, .. } => {
                if *status == TaskStatus::Passing && landed.contains(&&effect.node) {
                    redone.extend(tasks.get(&effect.node).cloned());
                }
                if *status == TaskStatus::Passing && !landing.contains(&effect.node) {
                    let its = made.iter_mut().find(|(node, _)| *node == &effect.node);
                    its.into_iter().for_each(|(_, left)| left.is_kept = true);
                }
                (&effect.node, why.as_ref())
            }
            _ => continue,
        };
        let its = made.iter_mut().find(|(node, _)| *node == round).map(|(_, left)| left);
        if let (Some(left), Some(reason)) = (its, reason) {
            left.why.get_or_insert_with(|| reason.clone());
            left.is_hindered |=
                matches!(&record.event, Event::Landed { end: LandingEnd::Hindered { .. }, .. });
        }
    }
    // Items that run at once get their worktrees in any order.
    made.sort_by_key(|(round, _)| split(round));
    let is_redone = |left: &LeftBranch| left.task.as_ref().is_some_and(|task| redone.contains(task));
    let completed = made.into_iter().map(|(round, left)| LeftBranch {
        is_redone: is_redone(&left),
        why: left.why.clone().or_else(|| conflicts.get(round).map(|why| (*why).clone())),
        ..left
    });
    completed.collect()
}

/// Returns the item for whose round a worktree was made, if the round is one of `each`.
fn item_of(spec: &Spec, round: &NodeId) -> Option<(NodeId, u32)> {
    let block = find(&spec.body, &round.in_workflow())?;
    let is_list = matches!(block.kind, NodeKind::Each(_));
    // The name of an inner block says in which item of the outer one it is: `inner@2`.
    let (instance, number) = split(round);
    number.filter(|_| is_list).map(|number| (NodeId::new(instance), number))
}

/// Splits the id of a round into the block and the number: `board` and 3 for `board@3`.
fn split(round: &NodeId) -> (&str, Option<u32>) {
    let (block, number) = round.as_str().rsplit_once('@').unwrap_or((round.as_str(), ""));
    (block, number.parse().ok())
}

#[cfg(test)]
mod tests {
    use windlass_core::effect::Planned;
    use windlass_core::event::RECORD_VERSION;
    use windlass_core::id::{EffectId, Verb};
    use windlass_core::time::Moment;

    use super::*;

    #[test]
    fn branches_are_in_the_order_of_their_rounds() {
        let id = |round: u32| {
            let node = NodeId::new(format!("board@{round}"));
            EffectId { node, iteration: 1, attempt: 1, verb: Verb::Worktree }
        };
        let record =
            |event, effects| Record { v: RECORD_VERSION, at: Moment(0), event, effects, news: vec![] };
        let effects = (1..=10).map(|round| {
            let task = format!("t{round}").parse().unwrap();
            Planned {
                id: id(round),
                effect: Effect::MakeWorktree { task, attempt: 1, target: None, from: vec![] },
            }
        });
        let mut records = vec![record(Event::OwnerChanged, effects.collect())];
        records.extend([3, 10, 1, 2].map(|round| {
            let (workspace, branch) = (String::new(), format!("b{round}"));
            let end = WorktreeEnd::Made { workspace, branch, target: None, commit: None };
            record(Event::WorktreeMade { effect: id(round), end }, Vec::new())
        }));
        let made = made_by(&RunId::new("k3f9"), &records);
        let named = made.iter().map(|left| (left.branch.as_str(), left.task.as_deref().unwrap()));
        let expected = [("b1", "t1"), ("b2", "t2"), ("b3", "t3"), ("b10", "t10")];
        assert_eq!(named.collect::<Vec<_>>(), expected);
    }
}
