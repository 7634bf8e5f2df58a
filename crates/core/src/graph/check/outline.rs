//! A flat view of a workflow for the rules: its nodes in document order, each with its surroundings
//! and its parsed texts.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::engine::node::shape::Structure;
use crate::graph::ids::folded;
use crate::graph::template::{TemplateError, TemplateNames, constant, is_plain, names_in, names_used};
use crate::graph::workflow::{
    Budget, EachNode, Effort, Expression, Node, NodeKind, OnFailure, SessionOptions, Template, Workflow,
    input_name,
};

/// A workflow as a flat list of nodes.
pub(super) struct Outline<'w> {
    pub(super) workflow: &'w Workflow,
    /// The nodes; a node comes before the nodes inside it.
    pub(super) nodes: Vec<OutlineNode<'w>>,
    /// The texts of the workflow itself: `env` and `gives`.
    pub(super) top: Vec<Text>,
    /// Positions by id, with dashes as underscores; the first node wins.
    pub(super) by_id: HashMap<String, usize>,
    shows_only_completed: OnceCell<bool>,
}

/// A node with its surroundings.
pub(super) struct OutlineNode<'w> {
    pub(super) node: &'w Node,
    /// The position in the outline; the nodes inside it follow up to `end`.
    pub(super) at: usize,
    pub(super) end: usize,
    /// The templates and conditions.
    pub(super) texts: Vec<Text>,
    /// The constant value of `when`; true without a `when`.
    pub(super) when: Option<bool>,
    /// The constant value of the condition of an `if`.
    pub(super) condition: Option<bool>,
    pub(super) surroundings: Surroundings<'w>,
}

/// The effect of the enclosing blocks on a node.
#[derive(Clone, Copy, Default)]
pub(super) struct Surroundings<'w> {
    pub(super) driver: Option<&'w str>,
    pub(super) effort: Option<Effort>,
    pub(super) is_budgeted: bool,
    /// A budget or a timeout limits its time.
    pub(super) is_timed: bool,
    pub(super) is_in_loop: bool,
    pub(super) is_in_task_loop: bool,
    /// There is an `iteration`.
    pub(super) has_iteration: bool,
    /// The position of the innermost `each` around it.
    pub(super) each: Option<usize>,
    /// It runs at the end of the run.
    pub(super) is_last: bool,
}

/// A template or a condition.
pub(crate) struct Text {
    pub(crate) field: &'static str,
    pub(crate) key: Option<String>,
    pub(crate) moment: EvaluationTime,
    pub(crate) names: Result<TemplateNames, TemplateError>,
}

/// The time at which a run evaluates a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvaluationTime {
    /// Before the node starts.
    Begin,
    /// Before each iteration of a task loop.
    Round,
    /// After each iteration of a loop.
    RoundOver,
}

impl<'w> Outline<'w> {
    /// Lists the nodes of a workflow, which must not be too deep.
    pub(super) fn of(workflow: &'w Workflow) -> Outline<'w> {
        let mut top: Vec<Text> = workflow.env.iter().map(|(name, value)| env_text(name, value)).collect();
        let gives = |gives| Text::condition("gives", gives, EvaluationTime::Begin);
        top.extend(workflow.gives.iter().map(gives));
        let timeout = |from| Text::condition("settings.timeout", from, EvaluationTime::Begin);
        top.extend(workflow.settings.timeout_from.iter().map(timeout));
        top.extend(driver_text("settings.driver", &workflow.settings));
        let mut outline = Outline {
            workflow,
            nodes: Vec::new(),
            top,
            by_id: HashMap::new(),
            shows_only_completed: OnceCell::new(),
        };
        let around = Surroundings {
            driver: workflow.settings.driver.as_deref(),
            effort: workflow.settings.effort,
            is_budgeted: is_bound(&workflow.budget),
            is_timed: workflow.budget.time_ms.is_some() || workflow.settings.timeout_ms.is_some(),
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
                effort: step.settings.effort.or(around.effort),
                is_budgeted: around.is_budgeted || is_bound(&step.budget),
                is_timed: around.is_timed
                    || step.budget.time_ms.is_some()
                    || step.settings.timeout_ms.is_some(),
                ..around
            };
            self.by_id.entry(folded(step.id.as_str())).or_insert(at);
            self.nodes.push(OutlineNode::new(step, at, around));
            let inside = inside(&step.kind, at, around);
            for block in step.kind.blocks() {
                self.add(block.body, inside);
            }
            let end = self.nodes.len();
            if let Some(node) = self.nodes.get_mut(at) {
                node.end = end;
            }
        }
    }

    /// Returns all texts of the workflow and of its nodes.
    pub(super) fn texts(&self) -> impl Iterator<Item = &Text> {
        self.nodes.iter().flat_map(|node| &node.texts).chain(&self.top)
    }

    /// Finds a node by its id.
    pub(super) fn find(&self, id: &str) -> Option<&OutlineNode<'w>> {
        self.by_id.get(&folded(id)).and_then(|at| self.nodes.get(*at))
    }

    /// Returns the innermost `each` around a node that names its items like this.
    pub(super) fn each_named(
        &self,
        node: &OutlineNode<'_>,
        name: &str,
    ) -> Option<(&OutlineNode<'w>, &'w EachNode)> {
        let mut around = node.surroundings.each;
        while let Some(other) = around.and_then(|at| self.nodes.get(at)) {
            match &other.node.kind {
                NodeKind::Each(each) if each.name == name => return Some((other, each)),
                _ => around = other.surroundings.each,
            }
        }
        None
    }

    /// Returns whether templates only see outputs of completed nodes, because the run never continues
    /// after a failure.
    pub(super) fn shows_only_completed(&self) -> bool {
        *self.shows_only_completed.get_or_init(|| {
            self.nodes.iter().all(|node| {
                let goes_on = matches!(node.node.kind, NodeKind::Parallel(_) | NodeKind::TaskLoop(_));
                node.node.on_failure == OnFailure::Fail && node.node.retry.times == 0 && !goes_on
            })
        })
    }

    /// Returns the range of nodes of each block of a node.
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

    /// Returns the position after `count` nodes of one block.
    fn after(&self, begin: usize, count: usize) -> usize {
        (0..count).fold(begin, |at, _| self.nodes.get(at).map_or(at, |node| node.end))
    }
}

fn inside<'w>(kind: &NodeKind, at: usize, around: Surroundings<'w>) -> Surroundings<'w> {
    let structure = kind.shape().structure();
    let is_task_loop = matches!(structure, Structure::Tasks(_));
    let is_loop = is_task_loop || matches!(structure, Structure::Rounds { .. });
    let is_each = matches!(structure, Structure::Items(_));
    let is_last = matches!(structure, Structure::Last(_));
    Surroundings {
        // The nodes of an item see no outputs of other items.
        is_in_loop: (around.is_in_loop || is_loop) && !is_each,
        has_iteration: around.has_iteration || is_loop || is_each,
        each: if is_each { Some(at) } else { around.each },
        is_last: around.is_last || is_last,
        // The budget of the workflow does not apply to `finally`.
        is_budgeted: around.is_budgeted && !is_last,
        is_in_task_loop: around.is_in_task_loop || is_task_loop,
        ..around
    }
}

/// Returns whether a budget sets any limit.
pub(super) fn is_bound(budget: &Budget) -> bool {
    let Budget { turns, tokens, cost_usd, time_ms } = budget;
    turns.is_some() || tokens.is_some() || cost_usd.is_some() || time_ms.is_some()
}

/// Returns the expression of a driver that an input names.
fn driver_text(field: &'static str, settings: &SessionOptions) -> Option<Text> {
    let driver = settings.driver.as_ref().filter(|driver| input_name(driver).is_some())?;
    Some(Text::condition(field, &Expression(driver.clone()), EvaluationTime::Begin))
}

fn env_text(name: &str, value: &Template) -> Text {
    Text { key: Some(name.to_owned()), ..Text::template("env", value) }
}

impl<'w> OutlineNode<'w> {
    fn new(node: &'w Node, at: usize, surroundings: Surroundings<'w>) -> OutlineNode<'w> {
        let mut texts = Vec::new();
        if let Some(when) = &node.when {
            texts.push(Text::condition("when", when, EvaluationTime::Begin));
        }
        texts.extend(node.kind.shape().texts());
        texts.extend(node.env.iter().map(|(name, value)| env_text(name, value)));
        texts.extend(driver_text("driver", &node.settings));
        let models = node.settings.models().enumerate().filter(|(_, model)| !is_plain(model));
        texts.extend(models.map(|(index, model)| Text {
            key: (!node.settings.fallbacks.is_empty()).then(|| index.to_string()),
            ..Text::template("model", &Template(model.clone()))
        }));
        texts.extend(
            node.computed
                .iter()
                .map(|(number, from)| Text::condition(number.field(&node.kind), from, EvaluationTime::Begin)),
        );
        let condition = match node.kind.shape().structure() {
            Structure::Either(node) => constant(&node.condition),
            Structure::Leaf
            | Structure::Rounds { .. }
            | Structure::Tasks(_)
            | Structure::Items(_)
            | Structure::Beside(_)
            | Structure::Guarded(_)
            | Structure::Last(_) => None,
        };
        let when = node.when.as_ref().map_or(Some(true), constant);
        OutlineNode { node, at, end: at + 1, texts, when, condition, surroundings }
    }

    /// Returns whether the run may skip it.
    pub(super) fn is_optional(&self) -> bool {
        self.when != Some(true)
    }

    /// Returns whether a text in this field uses the output of a node that `is_meant` accepts.
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

    /// Returns the values it uses; none if it is malformed.
    pub(super) fn uses(&self) -> impl Iterator<Item = &crate::graph::template::Use> {
        self.names.iter().flat_map(|names| &names.uses)
    }
}
