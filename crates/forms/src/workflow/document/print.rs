//! Writes a workflow as a document and leaves out default values.

use std::collections::BTreeMap;

use windlass_core::graph::workflow::{
    AskNode, Budget, CheckNode, CriteriaLoopNode, EachNode, Expression, FINALLY_MS, FailNode, FinallyNode,
    IfNode, Join, LandNode, ListSource, ListenNode, LoopNode, Node, NodeKind, NodeNumber, OnFailure,
    ParallelNode, PromptSource, PullRequestNode, RetryPolicy, ReviewNode, Session, SessionOptions,
    SessionTools, ShellNode, SleepNode, TaskLoopNode, Template, TryNode, TurnLoop, WaitUntil, Workflow,
    WorkflowInput, WorkflowNode,
};
use windlass_core::looping::MarkerMatch;
use windlass_core::time::written;

use super::kinds::{ATTEMPTS, JOBS, JOINS, MATCHES};
use super::node::ON_FAILURE;
use super::top::INPUT_KINDS;
use super::yaml::{YamlOutput, write};

/// The keys of a mapping that have a value to print.
#[derive(Default)]
struct PrintedKeys(Vec<(String, YamlOutput)>);

impl PrintedKeys {
    fn add(mut self, key: &str, out: impl Into<Option<YamlOutput>>) -> PrintedKeys {
        self.0.extend(out.into().map(|out| (key.to_owned(), out)));
        self
    }

    fn text(self, key: &str, text: Option<&String>) -> PrintedKeys {
        self.add(key, text.map(YamlOutput::text))
    }

    fn plain(self, key: &str, value: Option<impl ToString>) -> PrintedKeys {
        self.add(key, value.map(YamlOutput::plain))
    }

    fn time(self, key: &str, ms: Option<u64>) -> PrintedKeys {
        self.add(key, ms.map(|ms| YamlOutput::text(written(ms))))
    }

    /// Prints a number, or the way in which a run computes it.
    fn count(self, key: &str, number: NodeNumber, node: &Node, value: Option<u32>) -> PrintedKeys {
        match node.computed.get(&number) {
            Some(from) => self.add(key, keys().text("from", Some(&from.0)).plain("at_most", value).map()),
            None => self.plain(key, value),
        }
    }

    /// Prints a number that is computed or not the default.
    fn unusual_count(
        self,
        key: &str,
        number: NodeNumber,
        node: &Node,
        value: u32,
        usual: u32,
    ) -> PrintedKeys {
        let is_printed = value != usual || node.computed.contains_key(&number);
        self.count(key, number, node, is_printed.then_some(value))
    }

    /// Prints a time, or the way in which a run computes it.
    fn time_of(self, key: &str, number: NodeNumber, node: &Node, ms: Option<u64>) -> PrintedKeys {
        match node.computed.get(&number) {
            Some(from) => self.computed_time(key, from, ms),
            None => self.time(key, ms),
        }
    }

    fn computed_time(self, key: &str, from: &Expression, at_most: Option<u64>) -> PrintedKeys {
        self.add(key, keys().text("from", Some(&from.0)).time("at_most", at_most).map())
    }

    fn nodes(self, key: &str, body: &[Node]) -> PrintedKeys {
        let nodes = body.iter().map(node).collect();
        self.add(key, (!body.is_empty()).then_some(YamlOutput::List(nodes)))
    }

    fn map(self) -> YamlOutput {
        YamlOutput::Map(self.0)
    }

    /// Returns the mapping, unless it is empty.
    fn some(self) -> Option<YamlOutput> {
        (!self.0.is_empty()).then_some(YamlOutput::Map(self.0))
    }
}

fn keys() -> PrintedKeys {
    PrintedKeys::default()
}

/// Writes a workflow as YAML that reads back as the same workflow.
pub fn print(workflow: &Workflow) -> String {
    let Workflow { name, description, inputs, settings, budget, plugins, checks, env, gives, .. } = workflow;
    let last = workflow.body.last().and_then(finally_of);
    let inputs = inputs.iter().map(|given| (given.name.clone(), input(given))).collect();
    let checks = checks.iter().map(|(name, command)| (name.clone(), YamlOutput::text(command))).collect();
    let top = keys()
        .add("name", YamlOutput::text(name))
        .text("description", description.as_ref())
        .add("inputs", PrintedKeys(inputs).some())
        .add("settings", whole_settings(settings).some())
        .add("budget", spend(budget))
        .add("plugins", (!plugins.is_empty()).then(|| YamlOutput::texts(plugins)))
        .add("checks", PrintedKeys(checks).some())
        .add("env", templates(env))
        .text("gives", gives.as_ref().map(|gives| &gives.0))
        .nodes("nodes", workflow.main_nodes())
        .add("finally", last);
    write(&top.map())
}

/// Writes the `finally` block.
fn finally_of(node: &Node) -> Option<YamlOutput> {
    let NodeKind::Finally(FinallyNode { body }) = &node.kind else { return None };
    let nodes = YamlOutput::List(body.iter().map(self::node).collect());
    match node.settings.timeout_ms.filter(|ms| *ms != FINALLY_MS) {
        Some(ms) => Some(keys().time("timeout", Some(ms)).add("do", nodes).map()),
        None => Some(nodes),
    }
}

fn templates(of: &BTreeMap<String, Template>) -> Option<YamlOutput> {
    let texts = of.iter().map(|(name, value)| (name.clone(), YamlOutput::text(&value.0))).collect();
    PrintedKeys(texts).some()
}

fn input(input: &WorkflowInput) -> YamlOutput {
    let choices = input.choices.iter().map(YamlOutput::json).collect();
    keys()
        .add("type", YamlOutput::text(INPUT_KINDS.word(input.kind)))
        .text("description", input.description.as_ref())
        .plain("required", input.required.then_some(true))
        .add("default", input.default.as_ref().map(YamlOutput::json))
        .add("choices", (!input.choices.is_empty()).then_some(YamlOutput::List(choices)))
        .plain("minimum", input.range.minimum)
        .plain("maximum", input.range.maximum)
        .map()
}

fn whole_settings(settings: &SessionOptions) -> PrintedKeys {
    let keys = how(keys(), settings);
    match &settings.timeout_from {
        Some(from) => keys.computed_time("timeout", from, settings.timeout_ms),
        None => keys.time("timeout", settings.timeout_ms),
    }
}

fn how(keys: PrintedKeys, settings: &SessionOptions) -> PrintedKeys {
    let model = match settings.fallbacks.is_empty() {
        true => settings.model.as_ref().map(YamlOutput::text),
        false => Some(YamlOutput::texts(settings.models())),
    };
    keys.text("driver", settings.driver.as_ref())
        .add("model", model)
        .add("effort", settings.effort.map(|effort| YamlOutput::text(effort.word())))
        .add("isolation", settings.isolation.map(|isolation| YamlOutput::text(isolation.word())))
        .add("shell", settings.shell.map(|shell| YamlOutput::text(shell.word())))
}

fn spend(budget: &Budget) -> Option<YamlOutput> {
    keys()
        .plain("turns", budget.turns)
        .plain("tokens", budget.tokens)
        .plain("cost", budget.cost_usd)
        .time("time", budget.time_ms)
        .some()
}

fn node(step: &Node) -> YamlOutput {
    let Node { id, kind: _, when, settings, retry, budget, on_failure, computed: _, env } = step;
    let said = act_of(keys().add("id", YamlOutput::text(id.as_str())), step);
    let said = said.text("when", when.as_ref().map(|when| &when.0));
    let tries = (*retry != RetryPolicy::default()).then(|| {
        keys()
            .count("times", NodeNumber::Times, step, Some(retry.times))
            .time_of("delay", NodeNumber::Delay, step, Some(retry.delay_ms))
            .map()
    });
    let fails = (*on_failure != OnFailure::default()).then(|| YamlOutput::text(ON_FAILURE.word(*on_failure)));
    how(said, settings)
        .time_of("timeout", NodeNumber::Timeout, step, settings.timeout_ms)
        .add("env", templates(env))
        .add("retry", tries)
        .add("budget", spend(budget))
        .add("on_failure", fails)
        .map()
}

fn act_of(said: PrintedKeys, node: &Node) -> PrintedKeys {
    match &node.kind {
        NodeKind::Session(session) => session_of(said, node, session),
        NodeKind::Shell(ShellNode { command, idempotent, stdin, schema }) => said
            .text("shell", Some(&command.0))
            .plain("idempotent", idempotent.then_some(true))
            .text("stdin", stdin.as_ref().map(|stdin| &stdin.0))
            .add("schema", schema.as_ref().map(YamlOutput::json)),
        NodeKind::Each(each) => each_of(said, node, each),
        // It is not a node of a document.
        NodeKind::Finally(_) => said,
        NodeKind::Check(CheckNode { names }) if names.is_empty() => {
            said.add("check", YamlOutput::text("all"))
        }
        NodeKind::Check(CheckNode { names }) => said.add("check", YamlOutput::texts(names)),
        NodeKind::If(IfNode { condition, then, otherwise }) => {
            said.text("if", Some(&condition.0)).nodes("then", then).nodes("else", otherwise)
        }
        NodeKind::Loop(LoopNode { until, max, forever, body }) => {
            let until = YamlOutput::texts(until.iter().map(|until| &until.0)).filled();
            let max = Some(*max).filter(|max| !forever || *max > 0);
            let how = keys()
                .add("until", until)
                .count("max", NodeNumber::Max, node, max)
                .plain("forever", forever.then_some(true));
            said.add("loop", how.map()).nodes("do", body)
        }
        NodeKind::TaskLoop(TaskLoopNode {
            path,
            until,
            select,
            max,
            jobs,
            attempts,
            keeps_branches,
            before_each,
            body,
        }) => {
            let how = keys()
                .text("path", path.as_ref().map(|path| &path.0))
                .text("until", until.as_ref().map(|until| &until.0))
                .text("select", select.as_ref().map(|select| &select.0))
                .count("max", NodeNumber::Max, node, Some(*max))
                .unusual_count("jobs", NodeNumber::Jobs, node, *jobs, JOBS)
                .unusual_count("attempts", NodeNumber::Attempts, node, *attempts, ATTEMPTS)
                .plain("land", keeps_branches.then_some(false));
            said.add("task_loop", how.map()).nodes("before_each", before_each).nodes("do", body)
        }
        NodeKind::CriteriaLoop(CriteriaLoopNode { signal, max, body }) => {
            let how = keys().text("signal", Some(signal)).count("max", NodeNumber::Max, node, Some(*max));
            said.add("criteria_loop", how.map()).nodes("do", body)
        }
        NodeKind::Parallel(ParallelNode { limit, join, branches }) => {
            let join = (*join != Join::default()).then(|| YamlOutput::text(JOINS.word(*join)));
            let how = keys()
                .count("limit", NodeNumber::Limit, node, (*limit > 0).then_some(*limit))
                .add("join", join);
            let bodies = branches.iter().fold(keys(), |all, branch| all.nodes(&branch.name, &branch.body));
            said.add("parallel", how.map()).add("branches", bodies.map())
        }
        NodeKind::Try(TryNode { body, catch }) => said.nodes("try", body).nodes("catch", catch),
        NodeKind::Fail(FailNode { reason }) => said.text("fail", Some(&reason.0)),
        NodeKind::Workflow(WorkflowNode { name, inputs }) => {
            let told =
                inputs.iter().map(|(name, value)| (name.clone(), YamlOutput::text(&value.0))).collect();
            said.text("workflow", Some(name)).add("with", PrintedKeys(told).some())
        }
        NodeKind::Ask(AskNode { question, choices, default }) => said
            .text("ask", Some(&question.0))
            .add("choices", YamlOutput::texts(choices).filled())
            .text("default", default.as_ref()),
        NodeKind::Wait(WaitUntil::Elapsed(SleepNode { ms })) => said.time("wait", Some(*ms)),
        NodeKind::Wait(WaitUntil::Event(ListenNode { name, timeout_ms })) => {
            said.add("wait", keys().text("event", Some(name)).time("timeout", *timeout_ms).map())
        }
        NodeKind::Review(ReviewNode { agent, max_cycles, threshold }) => {
            let how = keys().text("agent", agent.as_ref()).plain("max_cycles", Some(max_cycles));
            said.add("review", how.plain("threshold", *threshold).map())
        }
        NodeKind::Land(LandNode { target }) => {
            said.add("land", keys().text("target", target.as_ref().map(|target| &target.0)).map())
        }
        NodeKind::PullRequest(PullRequestNode { title, body }) => {
            let how = keys().text("title", Some(&title.0)).text("body", body.as_ref().map(|body| &body.0));
            said.add("pull_request", how.map())
        }
        NodeKind::ClearContext => said.plain("clear_context", Some(true)),
    }
}

fn each_of(said: PrintedKeys, node: &Node, each: &EachNode) -> PrintedKeys {
    let EachNode { items, name, jobs, join, worktree, max, body } = each;
    let list = match items {
        ListSource::Literal(items) => YamlOutput::List(items.iter().map(YamlOutput::json).collect()),
        ListSource::Expression(list) => YamlOutput::text(&list.0),
    };
    let join = (*join != Join::default()).then(|| YamlOutput::text(JOINS.word(*join)));
    let how = keys()
        .add("in", list)
        .text("as", Some(name))
        .unusual_count("jobs", NodeNumber::Jobs, node, *jobs, JOBS)
        .add("join", join)
        .plain("worktree", worktree.then_some(true))
        .unusual_count("max", NodeNumber::Max, node, *max, EachNode::MAX);
    said.add("each", how.map()).nodes("do", body)
}

fn session_of(said: PrintedKeys, node: &Node, session: &Session) -> PrintedKeys {
    let said = match &session.source {
        PromptSource::Prompt { prompt } => said.text("prompt", Some(&prompt.0)),
        PromptSource::Agent { name, prompt } => {
            said.text("agent", Some(name)).text("prompt", Some(&prompt.0))
        }
        PromptSource::Skill { name, args } => {
            said.text("skill", Some(name)).text("args", args.as_ref().map(|args| &args.0))
        }
        PromptSource::Command { name, args } => {
            said.text("command", Some(name)).text("args", args.as_ref().map(|args| &args.0))
        }
    };
    said.add("turns", session.turns.as_ref().map(|turns| turns_of(node, turns)))
        .add("schema", session.schema.as_ref().map(YamlOutput::json))
        .add("tools", session.tools.as_ref().map(tools_of))
        .add("continue", session.continues.as_ref().map(|node| YamlOutput::text(node.as_str())))
}

fn tools_of(tools: &SessionTools) -> YamlOutput {
    match tools {
        SessionTools::Read => YamlOutput::text(SessionTools::READ),
        SessionTools::These(tools) => YamlOutput::texts(tools),
    }
}

fn turns_of(node: &Node, turns: &TurnLoop) -> YamlOutput {
    let is_usual = turns.marker_match == MarkerMatch::default();
    keys()
        .count("max", NodeNumber::Turns, node, turns.max)
        .add("mode", turns.mode.map(|mode| YamlOutput::text(mode.word())))
        .text("marker", turns.marker.as_ref())
        .add("match", (!is_usual).then(|| YamlOutput::text(MATCHES.word(turns.marker_match))))
        .text("promise", turns.promise.as_ref())
        .text("blocked", turns.blocked.as_ref())
        .text("continue", turns.continue_message.as_ref())
        .text("tracker", turns.tracker.as_ref())
        .plain("stuck_after", turns.stuck_after)
        .map()
}
