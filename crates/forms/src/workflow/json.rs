//! Reads a plugin's `workflow.json`.
//!
//! Reports all mistakes at once, each with its position. A value that the file leaves out stays
//! `None`; the runtime fills it in from the settings.

use windlass_core::hook::permission::Isolation;
use windlass_core::looping::{DEFAULT_TRACKER, LoopMode, MarkerMatch, reach};
use windlass_core::spec::Check;

use super::fields::{JsonFields, join};
use super::plugin_ref::{PluginRef, parse_plugin_ref};
use super::template::PLACEHOLDER;
use crate::diagnostic::Diagnostic;
use crate::json::{JsonMember, JsonNode};
use crate::settings::words::{ISOLATIONS, MODES};
use crate::words::{WordTable, is_label};

/// A `workflow.json` as its author wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowFile {
    pub name: String,
    pub description: Option<String>,
    /// The prompt, with `{input}` in place of the user's text; see [`super::apply_template`].
    pub prompt_template: String,
    /// The loop, unless it is off.
    pub looping: Option<LoopPart>,
    /// The least isolation that the workflow needs.
    pub isolation: Option<Isolation>,
    /// `plugins` and `requiredPlugins`, each name once.
    pub plugins: Vec<PluginRef>,
    /// The model, as the agent CLI names it.
    pub model: Option<String>,
    /// The workflow's own gates, in the order written.
    pub checks: Vec<Check>,
}

/// The `loop` of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoopPart {
    /// The text in the tracker that completes the loop, trimmed and on one line.
    pub completion_marker: Option<String>,
    /// The text in `<promise>` tags that completes the loop.
    pub completion_promise: Option<String>,
    /// The most turns in total; 0 is unlimited.
    pub max_iterations: Option<u32>,
    /// The prompt of every turn after the first.
    pub continue_message: Option<String>,
    /// The initial body of the tracker.
    pub tracker_template: Option<String>,
    pub mode: Option<LoopMode>,
    /// The part of the tracker in which the marker counts.
    pub marker_match: MarkerMatch,
    /// The text that marks the agent as blocked, instead of `<!-- WORKFLOW_BLOCKED: reason -->`.
    pub blocked_marker: Option<String>,
    /// The number of turns without progress after which the loop is blocked; 0 is never.
    pub stuck_after: Option<u32>,
}

const MATCHES: WordTable<MarkerMatch> = WordTable(&MarkerMatch::WORDS);

const FIELDS: &[&str] = &[
    "name",
    "description",
    "promptTemplate",
    "loop",
    "isolation",
    "plugins",
    "requiredPlugins",
    "model",
    "checks",
];

const LOOP_FIELDS: &[&str] = &[
    "enabled",
    "completionMarker",
    "completionPromise",
    "maxIterations",
    "continueMessage",
    "trackerTemplate",
    "mode",
    "markerMatch",
    "blockedMarker",
    "stuckAfter",
];

/// Reads a `workflow.json`. Returns a workflow unless there is an error; warnings may accompany it.
pub fn parse_workflow_json(text: &str, file_name: &str) -> (Option<WorkflowFile>, Vec<Diagnostic>) {
    let (mut fields, root) = JsonFields::open(text, file_name);
    let workflow = root.and_then(|root| read(&mut fields, &root));
    let workflow = workflow.filter(|_| !fields.has_errors());
    (workflow, fields.finish())
}

/// The fields read so far.
#[derive(Default)]
struct WorkflowDraft {
    name: Option<String>,
    description: Option<String>,
    prompt_template: Option<String>,
    looping: Option<LoopDraft>,
    isolation: Option<Isolation>,
    plugins: Vec<PluginRef>,
    model: Option<String>,
    checks: Vec<Check>,
}

#[derive(Default)]
struct LoopDraft {
    at: usize,
    enabled: Option<bool>,
    /// The position of `maxIterations`.
    bound_at: usize,
    /// The position of `completionMarker`.
    marker_at: usize,
    /// The position of `completionPromise`.
    promise_at: usize,
    /// The position of `blockedMarker`.
    blocked_at: usize,
    /// The position of `mode`.
    mode_at: usize,
    part: LoopPart,
}

fn read(fields: &mut JsonFields<'_>, root: &JsonNode) -> Option<WorkflowFile> {
    let mut draft = WorkflowDraft::default();
    let members = fields.members("", root)?;
    for member in &members {
        take(fields, &mut draft, member);
    }
    for required in ["name", "promptTemplate"] {
        if !members.iter().any(|member| member.key == required) {
            fields.error(root.at, &format!("the field `{required}` is missing"), None);
        }
    }
    let WorkflowDraft { name, description, prompt_template, looping, isolation, plugins, model, checks } =
        draft;
    let looping = looping.and_then(|looping| settle_loop(fields, looping, &checks));
    Some(WorkflowFile {
        name: name?,
        description,
        prompt_template: prompt_template?,
        looping,
        isolation,
        plugins,
        model,
        checks,
    })
}

fn take(fields: &mut JsonFields<'_>, draft: &mut WorkflowDraft, member: &JsonMember) {
    let (path, node) = (member.key.as_str(), &member.node);
    match path {
        "name" => draft.name = name(fields, path, node),
        "description" => draft.description = fields.text(path, node),
        "promptTemplate" => draft.prompt_template = prompt_template(fields, path, node),
        "loop" => draft.looping = looping(fields, path, node),
        "isolation" => draft.isolation = fields.word(path, node, &ISOLATIONS),
        "plugins" | "requiredPlugins" => plugins(fields, path, node, &mut draft.plugins),
        "model" => draft.model = fields.one_line(path, node),
        "checks" => draft.checks = checks(fields, path, node),
        _ => fields.unknown(path, member, FIELDS),
    }
}

/// Reads the name, which users type after `--workflow` and see in lists.
fn name(fields: &mut JsonFields<'_>, path: &str, node: &JsonNode) -> Option<String> {
    let name = fields.one_line(path, node)?;
    let is_usable =
        !name.starts_with(['-', '.']) && !name.contains(|c: char| c.is_control() || c == '/' || c == '\\');
    if is_usable && name.chars().count() <= 100 {
        return Some(name);
    }
    let message = "`name` must be at most 100 characters without slashes, and not start with `-` or `.`";
    fields.error(node.at, message, None);
    None
}

fn prompt_template(fields: &mut JsonFields<'_>, path: &str, node: &JsonNode) -> Option<String> {
    let template = fields.filled(path, node)?;
    if !template.contains(PLACEHOLDER) {
        let message = "`promptTemplate` has no `{input}`: the input is appended to it";
        fields.warn(node.at, message, Some("write `{input}` where the input belongs".into()));
    }
    Some(template)
}

fn plugins(fields: &mut JsonFields<'_>, path: &str, node: &JsonNode, found: &mut Vec<PluginRef>) {
    for (index, item) in fields.list(path, node).unwrap_or_default().iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Some(text) = fields.text(&path, item) else { continue };
        match parse_plugin_ref(&text) {
            // The entry with a source wins.
            Ok(plugin) => match found.iter_mut().find(|known| known.name == plugin.name) {
                Some(known) => known.source = known.source.take().or(plugin.source),
                None => found.push(plugin),
            },
            Err(error) => {
                let hint = Some("a plugin is named `name` or `name@owner/repo`".to_owned());
                fields.error(item.at, &format!("`{path}`: {error}"), hint);
            }
        }
    }
}

fn checks(fields: &mut JsonFields<'_>, path: &str, node: &JsonNode) -> Vec<Check> {
    let mut checks = Vec::new();
    for member in fields.members(path, node).unwrap_or_default() {
        let path = join(path, &member.key);
        if !is_label(&member.key) {
            fields.error(member.key_at, "a check needs a name of at most 60 characters on one line", None);
            continue;
        }
        if let Some(command) = fields.filled(&path, &member.node) {
            checks.push(Check { name: member.key.clone(), command });
        }
    }
    checks
}

fn looping(fields: &mut JsonFields<'_>, path: &str, node: &JsonNode) -> Option<LoopDraft> {
    let mut draft = LoopDraft { at: node.at, ..LoopDraft::default() };
    for member in fields.members(path, node)? {
        take_loop(fields, &mut draft, member, &join(path, &member.key));
    }
    Some(draft)
}

fn take_loop(fields: &mut JsonFields<'_>, draft: &mut LoopDraft, member: &JsonMember, path: &str) {
    let (part, node) = (&mut draft.part, &member.node);
    match member.key.as_str() {
        "enabled" => draft.enabled = fields.flag(path, node).or(Some(false)),
        "completionMarker" => {
            draft.marker_at = node.at;
            part.completion_marker = fields.one_line(path, node);
        }
        "completionPromise" => {
            draft.promise_at = node.at;
            part.completion_promise = fields.filled(path, node);
        }
        "maxIterations" => {
            draft.bound_at = node.at;
            part.max_iterations = fields.count(path, node);
        }
        "continueMessage" => part.continue_message = fields.filled(path, node),
        "trackerTemplate" => part.tracker_template = fields.text(path, node),
        "mode" => {
            draft.mode_at = node.at;
            part.mode = fields.word(path, node, &MODES);
        }
        "markerMatch" => part.marker_match = fields.word(path, node, &MATCHES).unwrap_or_default(),
        "blockedMarker" => {
            draft.blocked_at = node.at;
            part.blocked_marker = fields.one_line(path, node);
        }
        "stuckAfter" => part.stuck_after = fields.count(path, node),
        _ => fields.unknown(path, member, LOOP_FIELDS),
    }
}

/// Checks how the fields of a loop fit together.
fn settle_loop(fields: &mut JsonFields<'_>, draft: LoopDraft, checks: &[Check]) -> Option<LoopPart> {
    let LoopDraft { at, enabled, bound_at, marker_at, promise_at, blocked_at, mode_at, part } = draft;
    if enabled.is_none() && part != LoopPart::default() {
        let hint = Some("add `\"enabled\": true`".to_owned());
        fields.warn(at, "`loop` is off: `loop.enabled` is not given", hint);
    }
    if enabled != Some(true) {
        return None;
    }
    let may_complete =
        part.completion_marker.is_some() || part.completion_promise.is_some() || !checks.is_empty();
    if part.max_iterations == Some(0) && !may_complete {
        let hint =
            Some("add `completionMarker`, `completionPromise` or `checks`, or a number of turns".to_owned());
        fields.error(
            bound_at,
            "`loop.maxIterations` is 0, which is unlimited, and nothing else ends the loop",
            hint,
        );
    }
    if part.mode == Some(LoopMode::Plugin) {
        plugin_mode(fields, &part, mode_at, marker_at);
    }
    let tracker = part.tracker_template.as_deref().unwrap_or(DEFAULT_TRACKER);
    let marker = part.completion_marker.as_deref();
    let blocked = part.blocked_marker.as_deref();
    let lost = [
        (
            "completionMarker",
            marker_at,
            marker.and_then(|text| reach::marker(text, part.marker_match, tracker)),
        ),
        ("completionPromise", promise_at, part.completion_promise.as_deref().and_then(reach::promise)),
        ("blockedMarker", blocked_at, blocked.and_then(|text| reach::blocked(text, tracker))),
    ];
    for (field, at, why) in lost {
        if let Some(why) = why {
            fields.error(at, &format!("`loop.{field}`: {why}"), Some(reach::HINT.to_owned()));
        }
    }
    let marker = marker.unwrap_or_default();
    let is_there = !marker.is_empty() && part.tracker_template.as_deref().is_some_and(|t| t.contains(marker));
    if part.marker_match == MarkerMatch::Anywhere && is_there {
        let message = "`loop.trackerTemplate` contains the marker: with `markerMatch` `anywhere` it is complete at once";
        fields.warn(marker_at, message, Some("use `markerMatch` `line`, or another marker".into()));
    }
    Some(part)
}

/// Checks a loop in `plugin` mode. The plugin counts turns and looks for the promise; it has no
/// tracker.
fn plugin_mode(fields: &mut JsonFields<'_>, part: &LoopPart, mode_at: usize, marker_at: usize) {
    let has_marker = part.completion_marker.is_some();
    if part.completion_promise.is_none() {
        let message = match has_marker {
            true => "`loop.completionMarker` completes nothing in `plugin` mode, where there is no tracker",
            false => "in `plugin` mode only a promise completes the loop, and there is none",
        };
        let hint = "add `completionPromise`, or choose another `mode`".to_owned();
        fields.error(if has_marker { marker_at } else { mode_at }, message, Some(hint));
    } else if has_marker {
        let message = "in `plugin` mode there is no tracker: `loop.completionMarker` completes nothing";
        fields.warn(marker_at, message, Some("leave it out, or choose another `mode`".to_owned()));
    }
}

#[cfg(test)]
mod tests;
