//! The tasks and the items of lists of a run: the rounds in progress with their labels and folders, and how many
//! tasks are done.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_core::effect::{Effect, Planned};
use windlass_core::event::{Event, WorktreeEnd};
use windlass_core::id::NodeId;
use windlass_core::run::{Activity, ListItem, News, RunState};
use windlass_core::tasks::Claim;

use super::nodes::named;
use crate::cli::sanitize::{plain_line, plain_short};

/// The longest name of a task in a label, and the longest id.
const NAME: usize = 18;
const ID: usize = 10;
/// The most running tasks that are listed.
const LISTED: usize = 8;

/// The tasks of the task loops of a run, and the items of its lists.
#[derive(Debug, Default)]
pub(crate) struct RunTasks {
    /// The rounds in progress, by the id of their effects: `task_loop@7`.
    rounds: BTreeMap<String, TaskRound>,
    /// The number of done tasks and of all tasks in the file.
    counts: Option<(usize, usize)>,
}

#[derive(Debug)]
struct TaskRound {
    /// The id of the task; an item has none.
    task: Option<String>,
    label: String,
    workspace: Option<String>,
}

impl TaskRound {
    fn of_task(id: &str, name: Option<&str>, workspace: Option<String>) -> TaskRound {
        let name = name.map(|name| format!(" {}", plain_short(name, NAME))).unwrap_or_default();
        let label = format!("{}{name}", plain_short(id, ID));
        TaskRound { task: Some(id.to_owned()), label, workspace }
    }

    fn of_item(item: &ListItem, workspace: Option<String>) -> TaskRound {
        TaskRound { task: None, label: plain_line(&item.label), workspace }
    }

    fn is_of(&self, task: &str) -> bool {
        self.task.as_deref() == Some(task)
    }

    /// Returns its name in a list of rounds.
    fn listed(&self) -> String {
        self.task.as_ref().map_or_else(|| self.label.clone(), |id| plain_short(id, ID))
    }
}

impl RunTasks {
    /// Takes in the rounds in progress of a run that is shown from the middle on.
    pub(super) fn see(&mut self, state: &RunState) {
        let mut actives = Vec::new();
        state.root.actives(&mut actives);
        for active in actives {
            let key = |number: u32| format!("{}@{number}", active.instance);
            match &active.activity {
                Activity::Tasks(tasks) => self.rounds.extend(tasks.open.iter().map(|round| {
                    let (id, workspace) = (round.id.to_string(), round.workspace.clone());
                    (key(round.round), TaskRound::of_task(&id, name_of(&round.task), workspace))
                })),
                Activity::Each(list) => self.rounds.extend(list.open.iter().filter_map(|open| {
                    let item = list.list_item(&active.step, open.at)?;
                    let number = list.items.get(open.at)?.number;
                    Some((key(number), TaskRound::of_item(&item, open.workspace.clone())))
                })),
                _ => {}
            }
        }
    }

    /// Sets how many tasks of the file are done, and how many there are.
    pub(crate) fn count(&mut self, done: usize, all: usize) {
        self.counts = Some((done, all));
    }

    /// Takes an event into account, before its news.
    pub(super) fn event(&mut self, event: &Event) {
        if let Event::WorktreeMade { effect, end: WorktreeEnd::Made { workspace, .. } } = event
            && let Some(round) = self.rounds.get_mut(effect.node.as_str())
        {
            round.workspace = Some(workspace.clone());
        }
    }

    /// Takes an effect into account: the work on a task goes on in a new round, after a conflict.
    pub(super) fn planned(&mut self, planned: &Planned) {
        let (Effect::RenewWorktree { task, .. } | Effect::MakeWorktree { task, .. }) = &planned.effect else {
            return;
        };
        let new = planned.id.node.as_str();
        let loop_of = |key: &str| key.rsplit_once('@').map(|(of, _)| of.to_owned());
        let is_before = |(key, round): &(&String, &TaskRound)| {
            key.as_str() != new && round.is_of(&task.to_string()) && loop_of(key) == loop_of(new)
        };
        let before = self.rounds.iter().find(is_before).map(|(key, _)| key.clone());
        if let Some(round) = before.and_then(|key| self.rounds.remove(&key)) {
            self.rounds.insert(new.to_owned(), round);
        }
    }

    /// Takes news into account: a round starts, or a task is settled.
    pub(super) fn news(&mut self, news: &News, event: &Event) {
        match news {
            News::Round { node, round, item: Some(item), .. } => {
                self.rounds.insert(format!("{node}@{round}"), TaskRound::of_item(item, None));
            }
            News::Round { node, round, task: Some(id), item: None } => {
                let started = TaskRound::of_task(id, task_name(event), None);
                self.rounds.insert(format!("{node}@{round}"), started);
            }
            News::Task { node, task, .. } => {
                let is_its = |key: &String| key.rsplit_once('@').is_some_and(|(of, _)| of == node.as_str());
                self.rounds.retain(|key, round| !(is_its(key) && round.is_of(task)));
            }
            News::NodeFinished { node, .. } => {
                self.rounds.retain(|key, _| !key.strip_prefix(node.as_str()).is_some_and(is_round));
            }
            _ => {}
        }
    }

    /// Returns the label of the round in which a node runs: `6 Changelog`.
    pub(super) fn label(&self, jobs_loop: &str, node: &NodeId) -> Option<String> {
        self.round(jobs_loop, node).map(|round| round.label.clone())
    }

    /// Returns the label of a round, by the id of its effects.
    pub(super) fn label_of_round(&self, round: &NodeId) -> Option<String> {
        self.rounds.get(round.as_str()).map(|round| round.label.clone())
    }

    /// Returns the folder in which a node of a round works.
    pub(super) fn workspace(&self, jobs_loop: &str, node: &NodeId) -> Option<&str> {
        self.round(jobs_loop, node)?.workspace.as_deref()
    }

    /// Returns the round of a node inside a loop.
    fn round(&self, jobs_loop: &str, node: &NodeId) -> Option<&TaskRound> {
        let marks = node.as_str().strip_prefix(named(node))?;
        let holds = |key: &str| {
            let round = key.strip_prefix(jobs_loop).filter(|round| round.starts_with(['@', '~']));
            let rest = round.and_then(|round| {
                // In the first try of a block with `retry`, the names inside say so: `work~1@2`.
                let in_first_try = || {
                    let (outer, number) = round.rsplit_once('@')?;
                    marks.strip_prefix(&format!("{outer}~1@{number}"))
                };
                marks.strip_prefix(round).or_else(in_first_try)
            });
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', '~']))
        };
        let found = self.rounds.iter().filter(|(key, _)| holds(key));
        found.max_by_key(|(key, _)| key.len()).map(|(_, round)| round)
    }

    /// Returns whether tasks are in progress.
    pub(super) fn is_busy(&self) -> bool {
        !self.rounds.is_empty()
    }

    /// Describes the progress: `5 of 8 done`, `running 2, 3, 5`. Empty if there are no tasks.
    pub(super) fn progress(&self) -> Vec<String> {
        let running = self.running().map(|ids| format!("running {ids}"));
        self.done().into_iter().chain(running).collect()
    }

    /// Describes the progress of a run that continues: `5 of 8 done`, `tasks 2, 3, 5 in progress`.
    pub(super) fn left_off(&self) -> Vec<String> {
        let is_items = self.rounds.values().all(|round| round.task.is_none());
        let what = if is_items { "item" } else { "task" };
        let several = if self.rounds.len() > 1 { "s" } else { "" };
        let running = self.running().map(|ids| format!("{what}{several} {ids} in progress"));
        self.done().into_iter().chain(running).collect()
    }

    fn done(&self) -> Option<String> {
        self.counts.as_ref().map(|(done, all)| format!("{done} of {all} done"))
    }

    /// Lists the tasks or items in progress.
    fn running(&self) -> Option<String> {
        let mut rounds: Vec<(u32, &TaskRound)> =
            self.rounds.iter().map(|(key, round)| (number(key), round)).collect();
        rounds.sort_by_key(|(number, _)| *number);
        let mut ids: Vec<String> = rounds.iter().take(LISTED).map(|(_, round)| round.listed()).collect();
        ids.extend((rounds.len() > LISTED).then(|| "...".to_owned()));
        (!ids.is_empty()).then(|| ids.join(", "))
    }
}

/// Returns the number of a round: 7 for `task_loop@7`.
fn number(key: &str) -> u32 {
    key.rsplit_once('@').and_then(|(_, number)| number.parse().ok()).unwrap_or(u32::MAX)
}

/// Decides whether a text names a round and nothing else: `@7`.
fn is_round(rest: &str) -> bool {
    rest.strip_prefix('@').is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Returns the name of the chosen task.
pub(super) fn task_name(event: &Event) -> Option<&str> {
    let Event::TaskClaimed { claim: Claim::Task { task, .. }, .. } = event else { return None };
    name_of(task)
}

fn name_of(task: &Value) -> Option<&str> {
    task.get("name").and_then(Value::as_str).filter(|name| !name.trim().is_empty())
}
