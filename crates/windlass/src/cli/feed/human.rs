//! The feed for people: a header, nodes, iterations, agent events, checks and waits.
//!
//! The feed is readable without colour. On a terminal, the line at the bottom shows the progress.

mod children;
mod reasons;
pub(super) mod repeats;
mod resumed;
mod turns;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::agent::AgentEvent;
use windlass_core::engine::explain::{AskTracker, GivenAnswer, branch_taken};
use windlass_core::event::{Event, LandingEnd, Record, SessionEnd, ShellEnd};
use windlass_core::graph::walk::find;
use windlass_core::graph::workflow::{IfNode, Node, NodeKind, ShellNode};
use windlass_core::hook::HookAnswer;
use windlass_core::id::{EffectId, NodeId, RunId};
use windlass_core::looping::verdict::CheckResult;
use windlass_core::run::News;
use windlass_core::spec::{OnQuestion, Spec};
use windlass_core::time::Moment;
use windlass_core::usage::Usage;

use super::face::Style;
use super::line_prefix::LinePrefix;
use super::nodes::Nodes;
use super::status_line::StatusLine;
use super::words::{self, span};
use super::wrap::{first, wrap};
use super::{agent, answers, header, steps};
use crate::cli::sanitize::{columns, plain, plain_line, plain_short, shorten};
use crate::cli::terminal::{Terminal, TextTone};
use reasons::ShownReasons;
use repeats::Repeats;
use turns::NodeTurns;
use waits::about;

/// The most lines of a failed check that are shown.
const CHECK_LINES: usize = 10;
/// The most refusals that are remembered until their results arrive.
const REFUSALS: usize = 32;
/// The length of a reason that tells it from others.
const REASON: usize = 80;
/// The phase of a run whose agents work.
const WORKING: &str = "working";
/// The smallest width of the lines of a sub-run.
const NARROWEST: usize = 20;

/// The feed of a run for a person.
pub(crate) struct Human {
    pub(super) screen: Terminal,
    style: Style,
    run: RunId,
    /// The run is shown within another run, which has printed its header.
    is_child: bool,
    /// The prefix of its lines there.
    stands: LinePrefix,
    /// The node of that run that started it.
    started_by: Option<NodeId>,
    spec: Option<Box<Spec>>,
    started: Option<Moment>,
    workspace: String,
    pub(super) nodes: Nodes,
    /// Without checks, a `check` node is not shown.
    has_checks: bool,
    /// The nodes that are not shown.
    silent: BTreeSet<NodeId>,
    turns: BTreeMap<NodeId, NodeTurns>,
    phase: &'static str,
    is_paused: bool,
    usage: Usage,
    /// The usage of the sub-runs, by the node that started each.
    below: BTreeMap<NodeId, Usage>,
    children: BTreeMap<RunId, Human>,
    /// The reasons of denied tool calls whose results have not arrived yet.
    denied: Vec<String>,
    asks: AskTracker,
    /// The terminal prompt shows the questions, so the feed does not.
    answers_here: bool,
    /// The keys that control the run, for people.
    keys: &'static str,
    repeats: Repeats,
    reasons: ShownReasons,
    pub(super) bottom: StatusLine,
}

impl Human {
    /// Creates an empty feed.
    pub(crate) fn new(screen: Terminal, style: Style, run: RunId) -> Human {
        Human {
            screen,
            style,
            run,
            is_child: false,
            stands: LinePrefix::Depth(0),
            started_by: None,
            spec: None,
            started: None,
            workspace: String::new(),
            nodes: Nodes::unknown(),
            has_checks: true,
            silent: BTreeSet::new(),
            turns: BTreeMap::new(),
            phase: "preparing",
            is_paused: false,
            usage: Usage::default(),
            below: BTreeMap::new(),
            children: BTreeMap::new(),
            denied: Vec::new(),
            asks: AskTracker::default(),
            answers_here: false,
            keys: "",
            repeats: Repeats::default(),
            reasons: ShownReasons::default(),
            bottom: StatusLine::default(),
        }
    }

    /// Returns the lines of a record of this run, or of a run below it; `from` is the path to that run.
    pub(crate) fn record(&mut self, from: &[RunId], record: &Record) -> Vec<String> {
        let Some((child, rest)) = from.split_first() else { return self.own(record) };
        self.in_child(child, |child| child.record(rest, record))
    }

    /// Returns the lines of an agent event.
    pub(crate) fn agent(&mut self, from: &[RunId], effect: &EffectId, event: &AgentEvent) -> Vec<String> {
        let Some((child, rest)) = from.split_first() else { return self.said(effect, event) };
        self.in_child(child, |child| child.agent(rest, effect, event))
    }

    /// Returns the line that replaces agent events that nobody read in time.
    pub(crate) fn left_out(&mut self, from: &[RunId], count: u64) -> Vec<String> {
        if let Some((child, rest)) = from.split_first() {
            return self.in_child(child, |child| child.left_out(rest, count));
        }
        let (events, them) = if count == 1 { ("event", "it") } else { ("events", "them") };
        let text = format!("  ... {count} {events} left out: `windlass logs {}` shows {them}", self.run);
        vec![self.screen.paint(TextTone::Careful, &text)]
    }

    fn own(&mut self, record: &Record) -> Vec<String> {
        let given = self.asks.see(record);
        self.nodes.tasks.event(&record.event);
        let mut lines = self.event(record);
        lines.extend(given.into_iter().flat_map(|given| self.answered(&given)));
        for (at, news) in record.news.iter().enumerate() {
            if Repeats::ends_with(news) {
                let counted = self.repeats.counted();
                lines.extend(counted.iter().map(|line| self.screen.paint(TextTone::Careful, line)));
            }
            lines.extend(self.news(news, record));
            lines.extend(self.branch(news, record.news.iter().skip(at + 1)));
            self.nodes.tasks.news(news, &record.event);
        }
        for planned in &record.effects {
            self.nodes.tasks.planned(planned);
            lines.extend(self.know_child(planned));
        }
        lines
    }

    fn begin(&mut self, spec: &Spec) -> Vec<String> {
        self.workspace.clone_from(&spec.workspace);
        self.spec = Some(Box::new(spec.clone()));
        self.nodes = Nodes::of(spec);
        self.has_checks = !spec.checks.is_empty();
        if self.is_child { Vec::new() } else { header::lines(self.screen, &self.run, spec) }
    }

    fn event(&mut self, record: &Record) -> Vec<String> {
        match &record.event {
            Event::RunStarted { spec } => {
                self.started = Some(record.at);
                self.begin(spec)
            }
            Event::SessionEnded { end, .. } => {
                self.ended(end);
                Vec::new()
            }
            Event::ChecksFinished { effect, results } => {
                let lines = results.iter().flat_map(|result| self.check(result)).collect();
                self.margin(&effect.node).put(lines)
            }
            Event::ShellEnded { effect, end } => {
                let margin = self.margin(&effect.node);
                margin.put(self.shell(&effect.node, self.within(&margin), end))
            }
            // The line about the task says why.
            Event::Landed {
                end: LandingEnd::Refused { .. } | LandingEnd::Conflict { .. } | LandingEnd::Hindered { .. },
                ..
            } => Vec::new(),
            Event::Landed { effect, end: LandingEnd::Landed { what, .. } } => {
                let line = format!("{} {}", self.screen.check(true), plain_short(what, 200));
                match self.nodes.tasks.label_of_round(&effect.node) {
                    Some(task) => LinePrefix::label(&task).put(vec![line]),
                    None => self.at_depth(&effect.node, 1, vec![line]),
                }
            }
            Event::RunSpent { effect, spent } => {
                self.below.insert(effect.node.clone(), spent.usage);
                Vec::new()
            }
            Event::RunEnded { effect, end } => {
                self.below.insert(effect.node.clone(), end.spent.usage);
                Vec::new()
            }
            Event::EventReceived { name, .. } => self.lines(name, record),
            Event::CancelAsked { .. } if self.is_child => Vec::new(),
            Event::CancelAsked { inbox } => {
                let by = if inbox.is_some() { " (`windlass cancel`)" } else { "" };
                vec![format!("cancelling{by}: stopping the agent and cleaning up")]
            }
            Event::InterruptAsked { .. } if self.is_child => Vec::new(),
            Event::InterruptAsked { .. } => {
                vec!["interrupting: stopping the agent; the run can continue later".to_owned()]
            }
            Event::Forked { policy: Some(policy), .. } => {
                self.spec.iter_mut().for_each(|spec| spec.follow(*policy));
                Vec::new()
            }
            Event::OwnerChanged
            | Event::Continued { .. }
            | Event::RequestRefused { .. }
            | Event::Forked { .. }
            | Event::Allowed { .. }
            | Event::DayAllowed { .. }
            | Event::Prepared { .. }
            | Event::SessionStarted { .. }
            | Event::HookAsked { .. }
            | Event::Inspected { .. }
            | Event::TaskClaimed { .. }
            | Event::TaskSettled { .. }
            | Event::WorktreeMade { .. }
            | Event::WaitOver { .. }
            | Event::RunTimedOut
            | Event::ParentEnded { .. }
            | Event::PauseAsked { .. }
            | Event::UnpauseAsked { .. }
            | Event::RetryAsked { .. }
            | Event::PersonAnswered { .. }
            | Event::CleanedUp { .. }
            | Event::FolderSaved { .. }
            | Event::EffectBroken { .. } => Vec::new(),
        }
    }

    fn ended(&mut self, end: &SessionEnd) {
        self.denied.clear();
        self.usage.add(&end.usage);
        self.phase = "checking";
    }

    fn news(&mut self, news: &News, record: &Record) -> Vec<String> {
        match news {
            News::SessionStarted { node, iteration, attempt, resumed, .. } => {
                let lines = self.session(node, *iteration, *attempt, *resumed);
                self.margin(node).put(lines)
            }
            News::HookDecided { tool, answer, .. } => {
                let lines = self.decision(tool.as_deref(), answer);
                // The line about a person's answer says the same.
                let is_said = matches!(record.event, Event::PersonAnswered { .. });
                if is_said { Vec::new() } else { self.margin_of_hook(&record.event).put(lines) }
            }
            News::IterationFinished { node, iteration, goes_on, .. } => {
                self.turns.entry(node.clone()).or_default().heading = goes_on.then_some(iteration + 1);
                Vec::new()
            }
            News::Waiting(waiting) => {
                let lines = self.waiting(waiting, record);
                self.under(about(news, record), lines)
            }
            News::WaitOver => {
                let node = about(news, record);
                let lines = self.wait_over(&record.event, node);
                self.under(node, lines)
            }
            News::TakenOver if self.is_child => Vec::new(),
            News::TakenOver => self.resuming(),
            News::Continued { .. } if self.is_child => Vec::new(),
            News::Continued { by, with } => self.continued(by, with),
            News::Paused => self.paused(),
            News::Odd { what, .. } => self
                .repeats
                .warning(what)
                .map(|text| self.screen.paint(TextTone::Careful, &text))
                .into_iter()
                .collect(),
            News::GoesOn => {
                self.phase = WORKING;
                self.is_paused = false;
                self.unless_child("resumed")
            }
            News::Retrying { node, what, attempt, of, until } => {
                let wait = until.map(|until| until.since(record.at));
                let lines = self.retrying(what, *attempt, *of, wait);
                self.margin(node).put(lines)
            }
            News::HandedOver { node, from, to, why } => {
                let text = format!("{from} hands over to {to}: {}", plain_line(why));
                let line = self.screen.paint(TextTone::Careful, &text);
                self.margin(node).put(vec![line])
            }
            News::NodeStarted { .. }
            | News::NodeFinished { .. }
            | News::NodeHeld { .. }
            | News::NodeSkipped { .. }
            | News::Round { .. }
            | News::Conflict { .. }
            | News::Task { .. } => self.step(news, &record.event),
            // `watch.rs` prints the summary, because it knows the changed files.
            News::Finished { .. } => Vec::new(),
        }
    }

    fn continued(&mut self, by: &str, with: &[String]) -> Vec<String> {
        self.phase = "working";
        self.is_paused = false;
        let mut lines = vec![format!("continued by {}", plain_line(by))];
        lines.extend(with.iter().map(|part| format!("  with {}", plain_short(part, 200))));
        lines
    }

    /// Returns the lines about the nodes of a workflow.
    fn step(&mut self, news: &News, event: &Event) -> Vec<String> {
        let screen = self.screen;
        match news {
            News::NodeStarted { node, kind, about } => {
                self.phase = WORKING;
                self.nodes.began(node);
                if kind == "clear_context" || kind == "check" && !self.has_checks {
                    self.silent.insert(node.clone());
                    return Vec::new();
                }
                let line = steps::started(screen, &self.nodes.name(node), kind, about.as_deref());
                let blank = (self.nodes.depth(node) == 0 && !self.is_child).then(String::new);
                self.at_depth(node, 0, blank.into_iter().chain([line]).collect())
            }
            News::NodeFinished { node, outcome, spent, took_ms } => {
                self.nodes.over(node);
                self.turns.remove(node);
                if self.silent.remove(node) {
                    return Vec::new();
                }
                let why = self.why_ended(node, outcome);
                let margin = self.margin(node);
                let ended = (outcome, why.as_deref());
                let name = self.nodes.name(node);
                margin.put(steps::finished(self.within(&margin), &name, ended, spent, *took_ms))
            }
            News::NodeHeld { node } => {
                let line = format!("{} will start when the run continues", self.nodes.name(node));
                self.at_depth(node, 0, vec![screen.paint(TextTone::Careful, &line)])
            }
            News::NodeSkipped { node, why } => {
                let margin = self.margin(node);
                margin.put(steps::skipped(self.within(&margin), &self.nodes.name(node), why))
            }
            News::Round { node, round, task, item } => {
                let task = task.as_deref();
                let line = match item {
                    Some(item) => steps::item(screen, item, task.unwrap_or_default()),
                    None => steps::round(screen, *round, task, event),
                };
                self.at_depth(node, 1, vec![line])
            }
            News::Conflict { node, task, target, files, next } => {
                let line = steps::conflict(screen, task, target.as_deref(), files, *next);
                self.at_depth(node, 1, vec![line])
            }
            News::Task { node, task, status, why } => {
                self.at_depth(node, 1, vec![steps::task(screen, task, *status, why.as_deref())])
            }
            _ => Vec::new(),
        }
    }

    /// Returns the definition of a node.
    fn definition(&self, node: &NodeId) -> Option<&Node> {
        find(&self.spec.as_ref()?.body, &node.in_workflow())
    }

    /// Returns the end of a command's output. A value of a command with a schema takes one line.
    fn shell(&self, node: &NodeId, screen: Terminal, end: &ShellEnd) -> Vec<String> {
        if self.style.whole {
            return steps::shell(screen, end, usize::MAX);
        }
        let has_schema = self
            .definition(node)
            .is_some_and(|node| matches!(&node.kind, NodeKind::Shell(ShellNode { schema: Some(_), .. })));
        let value = steps::printed_value(screen, end).filter(|_| has_schema);
        value.map_or_else(|| steps::shell(screen, end, CHECK_LINES), |line| vec![line])
    }

    /// Prefixes the lines that name a node themselves, or its rounds.
    fn at_depth(&self, node: &NodeId, deeper: usize, lines: Vec<String>) -> Vec<String> {
        self.prefix(node, deeper).put(lines)
    }

    /// Returns the prefix of the lines about a node.
    fn margin(&self, node: &NodeId) -> LinePrefix {
        self.prefix(node, 0)
    }

    /// Returns the prefix of lines. In a block of several branches, tasks or items it is a label, from the
    /// start of the block to its end.
    fn prefix(&self, node: &NodeId, deeper: usize) -> LinePrefix {
        match self.nodes.label(node) {
            Some(label) => LinePrefix::label(&label),
            None => LinePrefix::Depth(self.nodes.depth(node) + deeper),
        }
    }

    /// Says who answered a request, and what.
    fn answered(&self, given: &GivenAnswer) -> Vec<String> {
        let line = format!("  {}", answers::answered(given));
        self.margin(&given.ask.node).put(vec![self.screen.paint(TextTone::Careful, &line)])
    }

    /// Says which branch an `if` took, and why.
    fn branch<'n>(&self, news: &News, after: impl Iterator<Item = &'n News>) -> Option<String> {
        let News::NodeStarted { node: instance, kind, .. } = news else { return None };
        let node = self.definition(instance).filter(|_| kind == "if")?;
        let NodeKind::If(IfNode { condition, otherwise, .. }) = &node.kind else { return None };
        let held = branch_taken(node, instance, after)?;
        let line = steps::branch(self.screen, condition.0.trim(), held, otherwise.is_empty());
        self.at_depth(instance, 0, vec![line]).pop()
    }

    /// Prefixes lines about a node, if the node is known.
    fn under(&self, node: Option<&NodeId>, lines: Vec<String>) -> Vec<String> {
        node.map_or(LinePrefix::Depth(0), |node| self.margin(node)).put(lines)
    }

    fn margin_of_hook(&self, event: &Event) -> LinePrefix {
        match event {
            Event::HookAsked { call } => {
                call.from.as_ref().map_or(LinePrefix::Depth(0), |from| self.margin(&from.node))
            }
            _ => LinePrefix::Depth(0),
        }
    }

    /// Returns the screen that is left beside a prefix.
    fn within(&self, margin: &LinePrefix) -> Terminal {
        let width = self.screen.width.saturating_sub(margin.columns()).max(NARROWEST);
        Terminal { width, ..self.screen }
    }

    /// Shows only refusals, because a person sees an allowed tool when it runs, and questions that the policy
    /// leaves to the agent.
    fn decision(&mut self, tool: Option<&str>, answer: &HookAnswer) -> Vec<String> {
        let policy = self.spec.as_ref().map(|spec| spec.policy.on_question);
        if let (HookAnswer::Reply { .. }, Some(OnQuestion::Empty)) = (answer, policy) {
            let line = "  nobody was asked (--on-question empty): the agent decides by itself";
            return vec![self.screen.paint(TextTone::Careful, line)];
        }
        let HookAnswer::Deny { reason } = answer else { return Vec::new() };
        self.denied.push(reason.clone());
        self.denied.drain(..self.denied.len().saturating_sub(REFUSALS));
        let tool = plain_line(tool.unwrap_or("question"));
        vec![self.screen.paint(TextTone::Bad, &format!("  denied {tool}: {}", plain_short(reason, 200)))]
    }

    fn check(&self, result: &CheckResult) -> Vec<String> {
        let sign = self.screen.check(result.passed);
        let name = plain_line(&result.name);
        if result.passed {
            return vec![format!("  {sign} {name}")];
        }
        let mut lines = vec![format!("  {sign} {name}: {}", plain_short(&result.how, 100))];
        // Failures are usually at the end of the output.
        let mut output = wrap(&plain(&result.output), "      ", self.screen.width);
        let skipped = if self.style.whole { 0 } else { output.len().saturating_sub(CHECK_LINES) };
        output.drain(..skipped);
        let (output, _) = first(output, usize::MAX);
        lines.extend(output.into_iter().filter(|line| !line.trim().is_empty()));
        lines
    }

    /// Returns whether the event repeats a refusal that the feed has shown.
    fn is_told(&mut self, event: &AgentEvent) -> bool {
        let AgentEvent::ToolResult { is_error: true, text, .. } = event else { return false };
        let told = self.denied.iter().position(|reason| is_about(text, reason));
        told.map(|at| self.denied.remove(at)).is_some()
    }

    fn said(&mut self, effect: &EffectId, event: &AgentEvent) -> Vec<String> {
        if self.is_told(event) || self.repeats.has(event) {
            return Vec::new();
        }
        let margin = self.margin(&effect.node);
        let workspace = self.nodes.workspace(&effect.node).unwrap_or(&self.workspace);
        let lines = agent::lines(self.within(&margin), self.style, workspace, event);
        // The heading of a turn comes before its question.
        let asks = matches!(event, AgentEvent::ToolUse { asks: true, .. });
        if lines.is_empty() && !asks {
            return lines;
        }
        let mut all = self.heading(&effect.node);
        all.extend(lines);
        margin.put(all)
    }

    /// Returns the text that redraws the progress line, or `None` if lines cannot be redrawn.
    pub(crate) fn progress(&mut self, now: Moment) -> Option<String> {
        if !self.screen.redraws {
            return None;
        }
        self.screen.measure();
        let elapsed = self.started.map_or(0, |started| now.since(started));
        let tasks = self.nodes.tasks.progress();
        let phase = if self.is_paused { "paused" } else { self.phase };
        let mut facts = if tasks.is_empty() { self.far() } else { tasks };
        // The tasks in progress say that the run works.
        let is_said = self.nodes.tasks.is_busy() && phase == WORKING;
        facts.extend((!is_said).then(|| phase.to_owned()));
        facts.push(span(elapsed / 1000 * 1000));
        let mut usage = self.usage;
        self.below.values().for_each(|below| usage.add(below));
        facts.extend(words::known_cost(usage.cost()));
        let text = with_keys(&facts.join(self.screen.dot()), self.keys, self.screen);
        self.bottom.draw(self.screen.width, || self.screen.paint(TextTone::Faint, &text))
    }

    /// Returns the text that shows an entered line.
    pub(super) fn input_entered(&mut self, line: &str) -> String {
        self.bottom.input_entered(line, self.screen.width)
    }

    /// Returns the node in progress and its turn.
    fn far(&self) -> Vec<String> {
        let turn = |node: &NodeId| {
            let turns = self.turns.get(node);
            let iteration = turns.map_or(0, |turns| turns.heading.unwrap_or(turns.iteration));
            (iteration > 0).then(|| self.place(node, iteration))
        };
        if self.nodes.is_one() {
            return self.turns.keys().next().and_then(turn).into_iter().collect();
        }
        let looping = self.nodes.only_open().filter(|node| self.nodes.most(node).is_some());
        self.nodes.under_way().into_iter().chain(looping.and_then(turn)).collect()
    }

    /// Leaves questions to the terminal prompt.
    pub(crate) fn answer_here(&mut self) {
        self.answers_here = true;
    }

    /// Shows these keys at the end of the progress line.
    pub(crate) fn show_keys(&mut self, keys: &'static str) {
        self.keys = keys;
    }
}

/// Joins the progress and the keys. A narrow terminal shows the progress alone.
fn with_keys(progress: &str, keys: &str, screen: Terminal) -> String {
    let width = screen.width.saturating_sub(1);
    let both = format!("{progress}{}{keys}", screen.dot());
    if keys.is_empty() || columns(&both) > width { shorten(progress, width) } else { both }
}

/// Decides whether a tool's result quotes the reason. The result may be cut short.
fn is_about(result: &str, reason: &str) -> bool {
    let reason: String = reason.trim().chars().take(REASON).collect();
    !reason.is_empty() && result.contains(reason.as_str())
}

#[cfg(test)]
mod tests;
