//! Reads the part of a node that is specific to its kind.

use std::collections::BTreeMap;

use windlass_core::entity::{EntityTool, Provider};
use windlass_core::graph::check::nearest;
use windlass_core::graph::ids::is_id;
use windlass_core::graph::workflow::{
    AskNode, CheckNode, CriteriaLoopNode, EachNode, Expression, FailNode, IfNode, Join, LandNode, ListSource,
    ListenNode, LoopNode, NodeKind, NodeNumber, ParallelBranch, ParallelNode, PromptSource, PullRequestNode,
    ReviewNode, Session, SessionTools, ShellNode, SleepNode, TaskLoopNode, Template, TryNode, TurnLoop,
    WaitUntil, WorkflowNode,
};
use windlass_core::id::NodeId;
use windlass_core::looping::MarkerMatch;
use windlass_core::registry::tools::{self as known_tools, Named};

use super::field_reader::{FieldReader, Map, join};
use super::keys::{CRITERIA_LOOP, EACH, LAND, LOOP, PARALLEL, PULL_REQUEST, REVIEW, TASK_LOOP, TURNS, WAIT};
use super::node::{StatedKind, steps};
use crate::json::{JsonNode, JsonValue};
use crate::settings::words::MODES;
use crate::words::{WordTable, quoted};
use crate::yaml::to_json;

/// The default for the most iterations of a task loop.
const TASKS_MAX: u32 = 100;
/// The default number of tasks that run at the same time.
pub(super) const JOBS: u32 = 1;
/// The default number of attempts at a task.
pub(super) const ATTEMPTS: u32 = 3;
/// The default number of rejections before Windlass asks a person.
const CYCLES_MAX: u32 = 3;

pub(super) const JOINS: WordTable<Join> = WordTable(&Join::WORDS);

pub(super) const MATCHES: WordTable<MarkerMatch> = WordTable(&MarkerMatch::WORDS);

pub(super) fn read(form: &mut FieldReader<'_>, map: &Map<'_>, said: &StatedKind<'_>) -> Option<NodeKind> {
    let (path, node) = (said.kind, said.node);
    match path {
        "prompt" | "agent" | "skill" | "command" => session(form, map, said),
        "shell" => {
            let command = form.template(path, node);
            let idempotent = form.take(map, "idempotent", FieldReader::flag).unwrap_or_default();
            let stdin = form.take(map, "stdin", FieldReader::template);
            let schema = schema(form, map);
            Some(NodeKind::Shell(ShellNode { command: command?, idempotent, stdin, schema }))
        }
        "check" => check(form, path, node),
        "if" => {
            let condition = form.expression(path, node);
            let then = form.need(map, "then", steps);
            let otherwise = form.take(map, "else", steps);
            form.is_part |= condition.is_none();
            if otherwise.is_none() && map.get("else").is_some() {
                form.nodes_are_missing();
            }
            Some(NodeKind::If(IfNode {
                condition: condition.unwrap_or_else(either_way),
                then: or_missing(form, then),
                otherwise: otherwise.unwrap_or_default(),
            }))
        }
        "loop" => looping(form, map, path, node),
        "task_loop" => task_loop(form, map, path, node),
        "criteria_loop" => criteria_loop(form, map, path, node),
        "each" => each(form, map, path, node),
        "parallel" => parallel(form, map, path, node),
        "try" => {
            let body = steps(form, path, node);
            let catch = form.take(map, "catch", steps);
            if catch.is_none() && map.get("catch").is_some() {
                form.nodes_are_missing();
            }
            Some(NodeKind::Try(TryNode { body: or_missing(form, body), catch: catch.unwrap_or_default() }))
        }
        "fail" => Some(NodeKind::Fail(FailNode { reason: form.template(path, node)? })),
        "workflow" => {
            let name = form.one_line(path, node);
            let inputs = form.take(map, "with", with).unwrap_or_default();
            Some(NodeKind::Workflow(WorkflowNode { name: name?, inputs }))
        }
        "ask" => ask(form, map, path, node),
        "wait" => wait(form, path, node).map(NodeKind::Wait),
        "review" => review(form, path, node),
        "land" => {
            let map = options(form, path, node, LAND)?;
            Some(NodeKind::Land(LandNode { target: form.take(&map, "target", FieldReader::template) }))
        }
        "pull_request" => {
            let map = form.map(path, node, PULL_REQUEST)?;
            let title = form.need(&map, "title", FieldReader::template);
            let body = form.take(&map, "body", FieldReader::template);
            Some(NodeKind::PullRequest(PullRequestNode { title: title?, body }))
        }
        _ => clear_context(form, path, node),
    }
}

/// Returns the nodes that were read. If there are none, returns the default and records that nodes
/// are missing, so that the node around them can still be checked.
fn or_missing<T: Default>(form: &mut FieldReader<'_>, read: Option<T>) -> T {
    if read.is_none() {
        form.nodes_are_missing();
    }
    read.unwrap_or_default()
}

/// A placeholder for a condition that could not be read. The checks must not assume that it is true
/// or false.
fn either_way() -> Expression {
    Expression("input".to_owned())
}

/// Reads a mapping without required keys; `true` means all defaults.
fn options<'n>(
    form: &mut FieldReader<'_>,
    path: &str,
    node: &'n JsonNode,
    known: &'static [&'static str],
) -> Option<Map<'n>> {
    if node.value == JsonValue::Boolean(true) {
        return Some(Map::empty(node.at, path));
    }
    if matches!(node.value, JsonValue::Object(_)) {
        return form.map(path, node, known);
    }
    let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
    let hint = Some(format!("a mapping may have {}", known.join(", ")));
    form.wrong_with(path, "`true` or a mapping", node, hint);
    None
}

fn session(form: &mut FieldReader<'_>, map: &Map<'_>, said: &StatedKind<'_>) -> Option<NodeKind> {
    let (path, node) = (said.kind, said.node);
    let turns = form.take(map, "turns", turns);
    let schema = schema(form, map);
    let source = match path {
        "prompt" => PromptSource::Prompt { prompt: form.template(path, node)? },
        "agent" => {
            let name = form.one_line(path, node);
            let prompt = match map.get("prompt") {
                Some(_) => form.need(map, "prompt", FieldReader::template),
                None => Some(Template("{{ input }}".to_owned())),
            };
            PromptSource::Agent { name: name?, prompt: prompt? }
        }
        _ => {
            let name = form.one_line(path, node);
            let args = form.take(map, "args", |form, path, node| form.word_of_any_kind(path, node));
            let (name, args) = (name?, args.map(Template));
            if path == "skill" {
                PromptSource::Skill { name, args }
            } else {
                PromptSource::Command { name, args }
            }
        }
    };
    let continues = form.take(map, "continue", node_name);
    let tools = form.take(map, "tools", tools);
    Some(NodeKind::Session(Session { source, turns, schema, continues, tools }))
}

/// Reads `read` or a list of tools. An empty list allows no tool.
fn tools(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<SessionTools> {
    let items = match &node.value {
        JsonValue::Text(word) if word.trim() == SessionTools::READ => return Some(SessionTools::Read),
        JsonValue::List(items) => items,
        JsonValue::Text(word) => {
            let name = word.trim();
            let is_tool =
                known_tools::named(&EntityTool::named(name).name, Provider::Windlass) != Named::Unknown;
            let near = nearest(name, known_tools::words()).filter(|_| !is_tool);
            let hint = match near {
                _ if name.eq_ignore_ascii_case(SessionTools::READ) => "write `read`".to_owned(),
                Some(tool) if tool.eq_ignore_ascii_case(SessionTools::READ) => {
                    "did you mean `read`?".to_owned()
                }
                Some(tool) => format!("did you mean `[{tool}]`?"),
                None => format!("write it as a list: `[{name}]`"),
            };
            form.error(node.at, &format!("`{path}` must be `read` or a list of tools"), Some(hint));
            return None;
        }
        _ => {
            form.wrong_with(path, "`read` or a list of tools", node, None);
            return None;
        }
    };
    let mut tools = Vec::new();
    for (index, item) in items.iter().enumerate() {
        form.mark(&format!("{path}.{index}"), item.at, item.at);
        tools.push(form.one_line(&format!("{path}[{index}]"), item)?);
    }
    Some(SessionTools::These(tools))
}

/// Reads the id of a node.
fn node_name(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<NodeId> {
    let id = match &node.value {
        JsonValue::Number(number) => Some(number.clone()),
        _ => form.one_line(path, node),
    };
    id.map(NodeId::new)
}

/// Reads the schema of a node's value.
fn schema(form: &mut FieldReader<'_>, map: &Map<'_>) -> Option<serde_json::Value> {
    let schema = form.take(map, "schema", |form, path, node| {
        let map = form.any_map(path, node)?;
        for member in map.members {
            mark_inside(form, &join(path, &member.key), &member.node);
        }
        Some(to_json(node.clone()))
    });
    // A value is present even if its schema could not be read.
    form.is_part |= schema.is_none() && map.get("schema").is_some();
    schema.or_else(|| map.get("schema").map(|_| serde_json::Value::Bool(true)))
}

/// Records the position of each part of a schema. Uses `/` between the names, so that none of them
/// is mistaken for a field of the node.
fn mark_inside(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) {
    match &node.value {
        JsonValue::Object(members) => {
            for member in members {
                let path = format!("{path}/{}", member.key);
                form.mark(&path, member.key_at, member.node.at);
                mark_inside(form, &path, &member.node);
            }
        }
        JsonValue::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}/{index}");
                form.mark(&path, item.at, item.at);
                mark_inside(form, &path, item);
            }
        }
        _ => {}
    }
}

fn turns(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<TurnLoop> {
    let before = form.error_count();
    let map = match &node.value {
        JsonValue::Number(_) => Map::empty(node.at, path),
        _ => form.map_or_number(path, node, TURNS, "max")?,
    };
    let max = match &node.value {
        JsonValue::Number(_) => form.count(path, node),
        _ => form.take(&map, "max", |form, path, node| {
            form.count_or_computed((path, node), NodeNumber::Turns, FieldReader::count)
        }),
    };
    let turns = TurnLoop {
        max,
        mode: form.take(&map, "mode", |form, path, node| form.word(path, node, &MODES)),
        marker: form.take(&map, "marker", FieldReader::one_line),
        marker_match: form
            .take(&map, "match", |form, path, node| form.word(path, node, &MATCHES))
            .unwrap_or_default(),
        promise: form.take(&map, "promise", FieldReader::text),
        blocked: form.take(&map, "blocked", FieldReader::one_line),
        continue_message: form.take(&map, "continue", FieldReader::text),
        tracker: form.take(&map, "tracker", FieldReader::text),
        stuck_after: form.take(&map, "stuck_after", FieldReader::count),
    };
    // An unreadable field may be the one that ends the turns.
    let is_sure = form.error_count() == before;
    Some(TurnLoop { max: turns.max.filter(|max| is_sure || *max > 0), ..turns })
}

fn check(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<NodeKind> {
    if let JsonValue::Text(name) = &node.value {
        let names = if name == "all" { Vec::new() } else { vec![form.one_line(path, node)?] };
        return Some(NodeKind::Check(CheckNode { names }));
    }
    let items = form.list(path, "`all` or a list of names", node)?;
    let mut names = Vec::new();
    for (index, item) in items.iter().enumerate() {
        form.mark(&format!("{path}.{index}"), item.at, item.at);
        names.extend(form.one_line(&format!("{path}[{index}]"), item));
    }
    // A node without names would mean all checks.
    (!names.is_empty()).then_some(NodeKind::Check(CheckNode { names }))
}

fn looping(form: &mut FieldReader<'_>, map: &Map<'_>, path: &str, node: &JsonNode) -> Option<NodeKind> {
    let before = form.error_count();
    let said = form.map(path, node, LOOP).unwrap_or_else(|| Map::empty(node.at, path));
    let until = form.take(&said, "until", conditions).unwrap_or_default();
    let max = form.take(&said, "max", max_of_rounds);
    let forever = form.take(&said, "forever", FieldReader::flag).unwrap_or_default();
    // An unreadable field may be the one that ends the loop.
    let max = max.unwrap_or(if form.error_count() > before { 1 } else { 0 });
    let body = form.need(map, "do", steps);
    Some(NodeKind::Loop(LoopNode { until, max, forever, body: or_missing(form, body) }))
}

/// Reads the most iterations of a loop.
fn max_of_rounds(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<u32> {
    form.count_or_computed((path, node), NodeNumber::Max, FieldReader::count)
}

/// Reads the most tasks or items at once.
fn jobs_at_once(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<u32> {
    form.count_or_computed((path, node), NodeNumber::Jobs, FieldReader::some)
}

/// Reads one condition, or a list of conditions of which any one is enough.
fn conditions(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<Vec<Expression>> {
    if !matches!(node.value, JsonValue::List(_)) {
        return Some(vec![form.expression(path, node).unwrap_or_else(either_way)]);
    }
    let items = form.list(path, "a condition or a list of them", node)?;
    let mut conditions = Vec::new();
    for (index, item) in items.iter().enumerate() {
        form.mark(&format!("{path}.{index}"), item.at, item.at);
        conditions.push(form.expression(&format!("{path}[{index}]"), item).unwrap_or_else(either_way));
    }
    Some(conditions)
}

fn task_loop(form: &mut FieldReader<'_>, map: &Map<'_>, path: &str, node: &JsonNode) -> Option<NodeKind> {
    let said = options(form, path, node, TASK_LOOP);
    let before_each = form.take(map, "before_each", steps);
    form.is_part |= said.is_none();
    if before_each.is_none() && map.get("before_each").is_some() {
        form.nodes_are_missing();
    }
    let body = form.need(map, "do", steps);
    let said = said.unwrap_or_else(|| Map::empty(node.at, path));
    Some(NodeKind::TaskLoop(TaskLoopNode {
        path: form.take(&said, "path", FieldReader::template),
        until: form.take(&said, "until", FieldReader::expression),
        select: form.take(&said, "select", FieldReader::expression),
        max: form.take(&said, "max", max_of_rounds).unwrap_or(TASKS_MAX),
        jobs: form.take(&said, "jobs", jobs_at_once).unwrap_or(JOBS),
        attempts: form
            .take(&said, "attempts", |form, path, node| {
                form.count_or_computed((path, node), NodeNumber::Attempts, FieldReader::some)
            })
            .unwrap_or(ATTEMPTS),
        keeps_branches: !form.take(&said, "land", FieldReader::flag).unwrap_or(true),
        before_each: before_each.unwrap_or_default(),
        body: or_missing(form, body),
    }))
}

fn criteria_loop(form: &mut FieldReader<'_>, map: &Map<'_>, path: &str, node: &JsonNode) -> Option<NodeKind> {
    let (signal, max) = match form.map(path, node, CRITERIA_LOOP) {
        Some(said) => {
            let signal = form.need(&said, "signal", FieldReader::one_line);
            (signal, form.take(&said, "max", max_of_rounds).unwrap_or_default())
        }
        None => (None, 0),
    };
    let body = form.need(map, "do", steps);
    form.is_part |= signal.is_none();
    Some(NodeKind::CriteriaLoop(CriteriaLoopNode {
        signal: signal.unwrap_or_default(),
        max,
        body: or_missing(form, body),
    }))
}

fn each(form: &mut FieldReader<'_>, map: &Map<'_>, path: &str, node: &JsonNode) -> Option<NodeKind> {
    let said = form.map(path, node, EACH);
    let body = form.need(map, "do", steps);
    form.is_part |= said.is_none();
    let said = said.unwrap_or_else(|| Map::empty(node.at, path));
    let before = form.error_count();
    let items = form.need(&said, "in", |form, path, node| match &node.value {
        JsonValue::List(items) => {
            Some(ListSource::Literal(items.iter().map(|item| to_json(item.clone())).collect()))
        }
        _ => form.expression(path, node).map(ListSource::Expression),
    });
    let name = form.need(&said, "as", FieldReader::one_line);
    let join = form.take(&said, "join", |form, path, node| form.word(path, node, &JOINS));
    let each = EachNode {
        items: items.unwrap_or_else(|| ListSource::Expression(either_way())),
        name: name.unwrap_or_default(),
        jobs: form.take(&said, "jobs", jobs_at_once).unwrap_or(JOBS),
        join: join.unwrap_or_default(),
        worktree: form.take(&said, "worktree", FieldReader::flag).unwrap_or_default(),
        max: form
            .take(&said, "max", |form, path, node| {
                form.count_or_computed((path, node), NodeNumber::Max, FieldReader::some)
            })
            .unwrap_or(EachNode::MAX),
        body: or_missing(form, body),
    };
    form.is_part |= form.error_count() > before;
    // The items are read all the same.
    if let Some(item) = said.get("in").and_then(|member| template_in(&member.node)) {
        let hint = "write the list as an expression: `in: \"[inputs.first, 'second']\"`";
        let text = "an item of a list that is written out is no template, so nothing is filled in";
        form.error(item.at, text, Some(hint.to_owned()));
    }
    Some(NodeKind::Each(each))
}

/// Finds a text with a template in a list that is written out.
fn template_in(list: &JsonNode) -> Option<&JsonNode> {
    fn inside(item: &JsonNode) -> Option<&JsonNode> {
        match &item.value {
            JsonValue::Text(text) => (text.contains("{{") || text.contains("{%")).then_some(item),
            JsonValue::List(items) => items.iter().find_map(inside),
            JsonValue::Object(members) => members.iter().find_map(|member| inside(&member.node)),
            JsonValue::Null | JsonValue::Boolean(_) | JsonValue::Number(_) => None,
        }
    }
    if matches!(list.value, JsonValue::List(_)) { inside(list) } else { None }
}

fn parallel(form: &mut FieldReader<'_>, map: &Map<'_>, path: &str, node: &JsonNode) -> Option<NodeKind> {
    let said = options(form, path, node, PARALLEL);
    form.is_part |= said.is_none();
    let branches = form.need(map, "branches", branches);
    let said = said.unwrap_or_else(|| Map::empty(node.at, path));
    let join = form.take(&said, "join", |form, path, node| form.word(path, node, &JOINS));
    Some(NodeKind::Parallel(ParallelNode {
        limit: form
            .take(&said, "limit", |form, path, node| {
                form.count_or_computed((path, node), NodeNumber::Limit, FieldReader::count)
            })
            .unwrap_or_default(),
        join: join.unwrap_or_default(),
        branches: or_missing(form, branches),
    }))
}

fn branches(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<Vec<ParallelBranch>> {
    if matches!(node.value, JsonValue::List(_)) {
        let hint = Some("give each branch a name: `docs: [ … ]`".to_owned());
        form.wrong_with(path, "a mapping", node, hint);
        return None;
    }
    let map = form.any_map(path, node)?;
    if map.members.is_empty() && !form.is_open(map.at) {
        form.error(map.at, &format!("`{path}` is empty"), None);
        return None;
    }
    let mut branches = Vec::new();
    for member in &map.members {
        let name = member.key.as_str();
        if !is_id(name) {
            let hint = Some("letters from a to z, digits, `-` and `_`".to_owned());
            form.error(member.key_at, &format!("{} cannot be the name of a branch", quoted(name)), hint);
        }
        match steps(form, &join(path, name), &member.node) {
            Some(body) => branches.push(ParallelBranch { name: name.to_owned(), body }),
            None => form.nodes_are_missing(),
        }
    }
    Some(branches)
}

fn with(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<BTreeMap<String, Template>> {
    let mut inputs = BTreeMap::new();
    for member in &form.any_map(path, node)?.members {
        let value = form.word_of_any_kind(&join(path, &member.key), &member.node);
        inputs.extend(value.map(|value| (member.key.clone(), Template(value))));
    }
    Some(inputs)
}

fn ask(form: &mut FieldReader<'_>, map: &Map<'_>, path: &str, node: &JsonNode) -> Option<NodeKind> {
    let question = form.template(path, node);
    let choices = form.take(map, "choices", choices).unwrap_or_default();
    let default = form.take(map, "default", |form, path, node| form.word_of_any_kind(path, node));
    let is_choice = default.as_ref().is_none_or(|default| choices.is_empty() || choices.contains(default));
    if let (false, Some(member)) = (is_choice, map.get("default")) {
        let listed: Vec<String> = choices.iter().map(|choice| quoted(choice)).collect();
        form.error(member.node.at, &format!("`default` must be one of {}", listed.join(", ")), None);
    }
    Some(NodeKind::Ask(AskNode { question: question?, choices, default }))
}

fn choices(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<Vec<String>> {
    let mut choices: Vec<String> = Vec::new();
    for (index, item) in form.list(path, "a list of answers", node)?.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Some(choice) = form.word_of_any_kind(&path, item) else { continue };
        // An answer may differ from its choice in case and blanks.
        let is_same = |other: &String| other.trim().eq_ignore_ascii_case(choice.trim());
        if choices.iter().any(is_same) {
            let text = format!("`{path}` repeats the choice {}", quoted(&choice));
            form.error(item.at, &text, Some("leave it out".to_owned()));
        }
        choices.push(choice);
    }
    Some(choices)
}

fn wait(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<WaitUntil> {
    if !matches!(node.value, JsonValue::Object(_)) {
        return Some(WaitUntil::Elapsed(SleepNode { ms: form.time(path, node)? }));
    }
    let map = form.map(path, node, WAIT)?;
    let name = form.need(&map, "event", FieldReader::one_line);
    let timeout_ms = form.take(&map, "timeout", FieldReader::time);
    Some(WaitUntil::Event(ListenNode { name: name?, timeout_ms }))
}

fn review(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<NodeKind> {
    let map = options(form, path, node, REVIEW)?;
    Some(NodeKind::Review(ReviewNode {
        agent: form.take(&map, "agent", FieldReader::one_line),
        max_cycles: form.take(&map, "max_cycles", FieldReader::count).unwrap_or(CYCLES_MAX),
        threshold: form.take(&map, "threshold", |form, path, node| form.amount(path, node, 1.0)),
    }))
}

fn clear_context(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<NodeKind> {
    if node.value == JsonValue::Boolean(true) {
        return Some(NodeKind::ClearContext);
    }
    let hint = Some("remove the node if you do not want it".to_owned());
    match node.value {
        JsonValue::Boolean(_) => form.error(node.at, &format!("`{path}` can only be `true`"), hint),
        _ => form.wrong_with(path, "`true`", node, hint),
    }
    None
}
