//! A workflow laid out for the rules: its nodes in the order of the text, each with what stands
//! around it and with its texts parsed, once.

use std::collections::HashMap;

use crate::engine::node::shape::Structure;
use crate::graph::ids::folded;
use crate::graph::template::{TemplateError, TemplateNames, constant, names_in, names_used};
use crate::graph::workflow::{Budget, Expression, Node, NodeKind, Template, Workflow};

/// A workflow laid out.
pub(super) struct Outline<'w> {
    pub(super) workflow: &'w Workflow,
    /// A node stands before what is in it.
    pub(super) nodes: Vec<OutlineNode<'w>>,
    /// By id, with dashes as underscores; the first of its name.
    pub(super) by_id: HashMap<String, usize>,
}

/// A node and what stands around it.
pub(super) struct OutlineNode<'w> {
    pub(super) node: &'w Node,
    /// Where it stands in the outline; what is in it follows up to `end`.
    pub(super) at: usize,
    pub(super) end: usize,
    /// What its templates and conditions use.
    pub(super) texts: Vec<Text>,
    /// What `when` always is; true where there is none.
    pub(super) when: Option<bool>,
    /// What its own condition always is.
    pub(super) condition: Option<bool>,
    pub(super) surroundings: Surroundings<'w>,
}

/// What stands around a node.
#[derive(Clone, Copy, Default)]
pub(super) struct Surroundings<'w> {
    pub(super) driver: Option<&'w str>,
    pub(super) is_budgeted: bool,
    pub(super) is_in_loop: bool,
    pub(super) is_in_task_loop: bool,
}

/// A template or a condition.
pub(crate) struct Text {
    pub(crate) field: &'static str,
    pub(crate) key: Option<String>,
    pub(crate) moment: EvaluationTime,
    pub(crate) names: Result<TemplateNames, TemplateError>,
}

/// When a text is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvaluationTime {
    /// Before the node begins.
    Begin,
    /// Before each round of a task loop.
    Round,
    /// After each round of a loop.
    RoundOver,
}

impl<'w> Outline<'w> {
    /// Lays a workflow out. It must not be too deep.
    pub(super) fn of(workflow: &'w Workflow) -> Outline<'w> {
        let mut outline = Outline { workflow, nodes: Vec::new(), by_id: HashMap::new() };
        let around = Surroundings {
            driver: workflow.settings.driver.as_deref(),
            is_budgeted: is_bound(&workflow.budget),
            ..Surroundings::default()
        };
        outline.add(&workflow.body, around);
        outline
    }

    fn add(&mut self, body: &'w [Node], around: Surroundings<'w>) {
        for step in body {
            let at = self.nodes.len();
            let around = Surroundings {
                driver: step.settings.driver.as_deref().or(around.driver),
                is_budgeted: around.is_budgeted || is_bound(&step.budget),
                ..around
            };
            self.by_id.entry(folded(step.id.as_str())).or_insert(at);
            self.nodes.push(OutlineNode::new(step, at, around));
            let inside = inside(&step.kind, around);
            for block in step.kind.blocks() {
                self.add(block.body, inside);
            }
            let end = self.nodes.len();
            if let Some(node) = self.nodes.get_mut(at) {
                node.end = end;
            }
        }
    }

    /// The node of that name.
    pub(super) fn find(&self, id: &str) -> Option<&OutlineNode<'w>> {
        self.by_id.get(&folded(id)).and_then(|at| self.nodes.get(*at))
    }

    /// The nodes of each block of a node.
    pub(super) fn blocks(&self, node: &OutlineNode<'w>) -> Vec<std::ops::Range<usize>> {
        let mut begin = node.at + 1;
        let mut ranges = Vec::new();
        for block in node.node.kind.blocks() {
            let end = self.after(begin, block.body.len());
            ranges.push(begin..end);
            begin = end;
        }
        ranges
    }

    /// The place after so many nodes of one block.
    fn after(&self, begin: usize, count: usize) -> usize {
        (0..count).fold(begin, |at, _| self.nodes.get(at).map_or(at, |node| node.end))
    }
}

fn inside<'w>(kind: &NodeKind, around: Surroundings<'w>) -> Surroundings<'w> {
    let structure = kind.shape().structure();
    let is_task_loop = matches!(structure, Structure::Tasks(_));
    let is_loop = is_task_loop || matches!(structure, Structure::Rounds { .. });
    Surroundings {
        is_in_loop: around.is_in_loop || is_loop,
        is_in_task_loop: around.is_in_task_loop || is_task_loop,
        ..around
    }
}

/// Whether a budget ends anything.
pub(super) fn is_bound(budget: &Budget) -> bool {
    let Budget { turns, tokens, cost_usd, time_ms } = budget;
    turns.is_some() || tokens.is_some() || cost_usd.is_some() || time_ms.is_some()
}

impl<'w> OutlineNode<'w> {
    fn new(node: &'w Node, at: usize, surroundings: Surroundings<'w>) -> OutlineNode<'w> {
        let mut texts = Vec::new();
        if let Some(when) = &node.when {
            texts.push(Text::condition("when", when, EvaluationTime::Begin));
        }
        texts.extend(node.kind.shape().texts());
        let condition = match node.kind.shape().structure() {
            Structure::Either(node) => constant(&node.condition),
            Structure::Leaf | Structure::Rounds { .. } | Structure::Tasks(_) | Structure::Beside(_) => None,
        };
        let when = node.when.as_ref().map_or(Some(true), constant);
        OutlineNode { node, at, end: at + 1, texts, when, condition, surroundings }
    }

    /// Whether it may be left out.
    pub(super) fn is_optional(&self) -> bool {
        self.when != Some(true)
    }

    /// Whether a text of it asks about the output of a node for which that holds.
    pub(super) fn asks_about(&self, field: &str, is_meant: impl Fn(&str) -> bool) -> bool {
        let uses = self.texts.iter().filter(|text| text.field == field).flat_map(Text::uses);
        uses.filter(|used| used.root() == "outputs").filter_map(|used| used.name()).any(is_meant)
    }
}

impl Text {
    pub(crate) fn template(field: &'static str, template: &Template) -> Text {
        Text { field, key: None, moment: EvaluationTime::Begin, names: names_used(template) }
    }

    pub(crate) fn condition(field: &'static str, expression: &Expression, moment: EvaluationTime) -> Text {
        Text { field, key: None, moment, names: names_in(expression) }
    }

    /// What it uses; nothing where it is not well formed.
    pub(super) fn uses(&self) -> impl Iterator<Item = &crate::graph::template::Use> {
        self.names.iter().flat_map(|names| &names.uses)
    }
}
