//! The nodes of a run for the feed: their depth, which are in progress, and the labels of lines where several
//! may be in progress.

use std::collections::BTreeMap;

use windlass_core::graph::workflow::{EachNode, Node, NodeKind, ParallelNode, TaskLoopNode};
use windlass_core::id::NodeId;
use windlass_core::run::{Activity, RunState};
use windlass_core::spec::{SessionSettings, Spec};

use super::tasks::RunTasks;
use crate::cli::sanitize::{plain_line, plain_short};

/// The longest label of an outer task or item.
const OUTER: usize = 12;

/// The nodes of one run.
#[derive(Debug)]
pub(crate) struct Nodes {
    known: BTreeMap<String, NodeDisplay>,
    /// The run is one session and nothing else.
    is_one: bool,
    /// The nodes in progress that have no children.
    open: Vec<NodeId>,
    /// The tasks of the run's task loops.
    pub(crate) tasks: RunTasks,
}

#[derive(Debug)]
struct NodeDisplay {
    depth: usize,
    is_leaf: bool,
    /// The branch of the node, if branches beside it may be in progress.
    branch: Option<String>,
    /// The task loops and lists around the node of which several rounds may be in progress at once, outermost
    /// first.
    jobs_loops: Vec<String>,
    /// The most turns, if the node is a looping session.
    most: Option<u32>,
}

impl Nodes {
    /// Returns the nodes of a run that is not known yet.
    pub(crate) fn unknown() -> Nodes {
        Nodes { known: BTreeMap::new(), is_one: true, open: Vec::new(), tasks: RunTasks::default() }
    }

    /// Returns the nodes of a run.
    pub(crate) fn of(spec: &Spec) -> Nodes {
        let mut nodes = Nodes { is_one: spec.only_session().is_some(), ..Nodes::unknown() };
        nodes.know(&spec.sessions, &spec.body, 0, &NodeSurroundings::default());
        nodes
    }

    fn know(
        &mut self,
        sessions: &BTreeMap<NodeId, SessionSettings>,
        steps: &[Node],
        depth: usize,
        around: &NodeSurroundings,
    ) {
        for node in steps {
            let rules = sessions.get(&node.id).and_then(|session_settings| session_settings.rules.as_ref());
            let blocks = node.kind.blocks();
            let known = NodeDisplay {
                depth,
                is_leaf: blocks.is_empty(),
                branch: around.branch.clone(),
                jobs_loops: around.jobs_loops.clone(),
                most: rules.map(|rules| rules.max_iterations),
            };
            self.known.insert(node.id.to_string(), known);
            for block in blocks {
                self.know(sessions, block.body, depth + 1, &around.inside(node, block.name));
            }
        }
    }

    /// Takes in the nodes in progress of a run that is shown from the middle on.
    pub(crate) fn see(&mut self, state: &RunState) {
        self.tasks.see(state);
        let mut actives = Vec::new();
        state.root.actives(&mut actives);
        for active in
            actives.iter().filter(|active| !matches!(active.activity, Activity::WaitingToRetry { .. }))
        {
            self.began(&active.instance);
        }
    }

    /// Returns whether the run is one session and nothing else.
    pub(crate) fn is_one(&self) -> bool {
        self.is_one
    }

    /// Takes note that a node has started.
    pub(crate) fn began(&mut self, node: &NodeId) {
        if self.of_name(node).is_some_and(|known| known.is_leaf) && !self.open.contains(node) {
            self.open.push(node.clone());
        }
    }

    /// Takes note that a node has ended.
    pub(crate) fn over(&mut self, node: &NodeId) {
        self.open.retain(|open| open != node);
    }

    /// Returns the number of blocks around a node.
    pub(crate) fn depth(&self, node: &NodeId) -> usize {
        self.of_name(node).map_or(0, |known| known.depth)
    }

    /// Returns the most turns of a node, if it is a looping session.
    pub(crate) fn most(&self, node: &NodeId) -> Option<u32> {
        self.of_name(node).and_then(|known| known.most)
    }

    /// Returns the label of a node's lines, if other nodes may be in progress at the same time: the task or the
    /// item of its round, its branch, or both.
    pub(crate) fn label(&self, node: &NodeId) -> Option<String> {
        let known = self.of_name(node)?;
        let task = self.task_label(node);
        match (task, known.branch.as_deref().map(plain_line)) {
            (Some(task), Some(branch)) => Some(format!("{task}, {branch}")),
            (task, branch) => task.or(branch),
        }
    }

    /// Returns the task or the item of a node's round, if several may be in progress at once.
    fn task_label(&self, node: &NodeId) -> Option<String> {
        let (innermost, outer) = self.of_name(node)?.jobs_loops.split_last()?;
        let Some(label) = self.tasks.label(innermost, node) else { return Some(plain_line(node.as_str())) };
        let outer = outer.iter().filter_map(|jobs_loop| self.tasks.label(jobs_loop, node));
        let mut labels: Vec<String> = outer.map(|label| plain_short(&label, OUTER)).collect();
        labels.push(label);
        Some(labels.join(" "))
    }

    /// Returns the folder of a node's round, if its task has a worktree.
    pub(crate) fn workspace(&self, node: &NodeId) -> Option<&str> {
        let jobs_loops = &self.of_name(node)?.jobs_loops;
        jobs_loops.iter().rev().find_map(|jobs_loop| self.tasks.workspace(jobs_loop, node))
    }

    /// Returns the name of a node for people: its name in the workflow, and the try if it is not the first.
    pub(crate) fn name(&self, node: &NodeId) -> String {
        match own_try(node) {
            Some(again) => plain_line(&format!("{}~{again}", named(node))),
            None => plain_line(named(node)),
        }
    }

    /// Names the node in progress, or counts them.
    pub(crate) fn under_way(&self) -> Option<String> {
        match self.open.as_slice() {
            [] => None,
            [one] => Some(self.name(one)),
            several => Some(format!("{} nodes", several.len())),
        }
    }

    /// Returns the node in progress, if there is only one.
    pub(crate) fn only_open(&self) -> Option<&NodeId> {
        match self.open.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    fn of_name(&self, node: &NodeId) -> Option<&NodeDisplay> {
        self.known.get(named(node))
    }
}

/// The blocks around a node, as far as they decide about labels.
#[derive(Debug, Clone, Default)]
struct NodeSurroundings {
    branch: Option<String>,
    jobs_loops: Vec<String>,
}

impl NodeSurroundings {
    /// Returns the surroundings of the nodes in a block of a node.
    fn inside(&self, node: &Node, branch: Option<&str>) -> NodeSurroundings {
        match &node.kind {
            NodeKind::Parallel(ParallelNode { branches, .. }) if branches.len() > 1 => {
                let path: Vec<&str> = self.branch.as_deref().into_iter().chain(branch).collect();
                NodeSurroundings { branch: Some(path.join("/")), ..self.clone() }
            }
            // The label says which task it is, so the branches around the loop need no names.
            NodeKind::TaskLoop(TaskLoopNode { jobs, .. }) | NodeKind::Each(EachNode { jobs, .. })
                if *jobs > 1 =>
            {
                let mut jobs_loops = self.jobs_loops.clone();
                jobs_loops.push(node.id.to_string());
                NodeSurroundings { branch: None, jobs_loops }
            }
            _ => self.clone(),
        }
    }
}

/// Returns the name of a node in the workflow, without its round and try.
pub(crate) fn named(node: &NodeId) -> &str {
    node.as_str().split(['@', '~']).next().unwrap_or_default()
}

/// Returns the try of a node after the first. Tries of the blocks around it do not count.
fn own_try(node: &NodeId) -> Option<u32> {
    let (_, after) = node.as_str().rsplit_once('@').unwrap_or(("", node.as_str()));
    let (_, again) = after.rsplit_once('~')?;
    again.parse().ok().filter(|again| *again > 1)
}

#[cfg(test)]
mod tests {
    use windlass_core::event::Event;
    use windlass_core::graph::builder::{each, shell};
    use windlass_core::run::{ListItem, News};

    use super::*;

    #[test]
    fn the_label_of_an_inner_item_names_the_outer_one_too() {
        let inner = each("b", "[1, 2]").jobs(2).each(|steps| steps.then(shell("true").id("s"))).id("inner");
        let outer = each("a", "['x', 'y']").jobs(2).each(|steps| steps.then(inner)).id("outer");
        let body = windlass_core::graph::builder::Builder::new("w").start(outer).end().unwrap().body;
        let mut nodes = Nodes::unknown();
        nodes.know(&BTreeMap::new(), &body, 0, &NodeSurroundings::default());
        let mut round = |node: &str, round: u32, label: &str| {
            let item = ListItem { place: round, of: 2, label: label.to_owned(), is_named: true };
            let node = NodeId::new(node);
            let news = News::Round { node, round, task: None, item: Some(item) };
            nodes.tasks.news(&news, &Event::OwnerChanged);
        };
        round("outer", 1, "x");
        round("outer", 2, "y");
        round("inner@1", 1, "1");
        round("inner@2", 1, "1");
        let label = |node: &str| nodes.label(&NodeId::new(node));
        assert_eq!(label("s@1@1").as_deref(), Some("x 1"));
        assert_eq!(label("s@2@1").as_deref(), Some("y 1"));
        assert_eq!(label("inner@2").as_deref(), Some("y"));
    }

    #[test]
    fn the_round_and_the_try_are_no_part_of_the_name() {
        let name = |text: &str| named(&NodeId::new(text)).to_owned();
        assert_eq!([name("fix"), name("fix@2"), name("fix~2@3")], ["fix", "fix", "fix"]);
    }

    #[test]
    fn a_node_that_is_tried_again_says_so_and_the_tries_around_its_loop_do_not_count() {
        let name = |text: &str| Nodes::unknown().name(&NodeId::new(text));
        let names = ["fix", "fix~2", "fix@3~2", "fix~2@3", "fix~1"].map(name);
        assert_eq!(names, ["fix", "fix~2", "fix~2", "fix", "fix"]);
    }
}
