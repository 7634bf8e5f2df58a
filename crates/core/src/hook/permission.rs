//! Decides which tools an agent may use: presets and rules, deny before allow.
//!
//! A preset is the outer limit: no rule can allow a tool outside it. Rules narrow the preset, and the limits
//! of an entity narrow it further. Windlass's own tools and the CLI's internal tools always pass.
//! [`call`](super::call) decides whether a rule matches a call.

use super::call::{CheckedCall, is_about_all, is_about_files, name_of};
use super::command_line::{CommandLine, Touch, shown};
use super::{CallSite, ToolCall, ToolName};
use crate::entity::ToolEffect;
use crate::registry::limits::EXTERNAL;
use crate::registry::tools;
use crate::words;
use serde::{Deserialize, Serialize};

words! {
    /// The tools and settings an agent may use, from fewest to most.
    #[derive(PartialOrd, Ord, Default)]
    pub enum Isolation {
        /// Files and shell only; loads no settings.
        Strict = "strict",
        /// Adds web, subagents, skills and MCP; loads the project's settings.
        #[default]
        Minimal = "minimal",
        /// All tools; loads the user's settings too.
        Permissive = "permissive",
    }
}

/// The rules of the settings, and the limits of entities.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionRules {
    /// Tools that need no question. If the list is empty, the whole preset is allowed.
    pub allow: Vec<String>,
    /// Tools that are forbidden.
    pub deny: Vec<String>,
    /// Tools that a person or the policy decides on.
    pub ask: Vec<String>,
    /// The tools that an entity lists. If set, nothing else is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// An entity's rules with exceptions, in order: the last matching rule applies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitRule>,
    /// The limits of an entity's file and of its agents' files. A call must satisfy all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<FileLimits>,
}

/// The limits of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileLimits {
    /// The owner, for messages: ``agent `looker` (.claude/agents/looker.md)``.
    pub whose: String,
    /// The tools that the file lists. If set, nothing else is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// Tools that are forbidden.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Tools that a person or the policy decides on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// Rules with exceptions, in order: the last matching rule applies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitRule>,
}

impl PermissionRules {
    /// Merges the limits of all files into the first lists, for display.
    pub fn flat(&self) -> PermissionRules {
        let mut flat = self.clone();
        for bound in &self.bounds {
            flat.only = flat.only.or_else(|| bound.only.clone());
            flat.deny.extend(bound.deny.iter().cloned());
            flat.ask.extend(bound.ask.iter().cloned());
            flat.limits.extend(bound.limits.iter().cloned());
        }
        flat
    }
}

/// One rule of an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitRule {
    /// The pattern, written like other rules: `Bash(git *)`.
    pub rule: String,
    pub effect: ToolEffect,
}

/// The decision of the rules on one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    Allow,
    Deny {
        /// The explanation that the agent gets.
        reason: String,
    },
    /// The rules leave the decision to a person or the policy.
    Ask,
}

/// The tools of each preset. `minimal` adds its own to those of `strict`; `permissive` has all.
const STRICT: &[ToolName] =
    &[ToolName::Read, ToolName::Edit, ToolName::Write, ToolName::Search, ToolName::Shell];
const MINIMAL: &[ToolName] =
    &[ToolName::WebSearch, ToolName::WebFetch, ToolName::Task, ToolName::Skill, ToolName::Mcp];

/// Decides one tool call of a session.
pub fn decide<'a>(
    isolation: Isolation,
    rules: &PermissionRules,
    around: impl Into<CallSite<'a>>,
    tool_call: &ToolCall,
) -> Ruling {
    let call = CheckedCall::new(tool_call, around.into());
    let tool = call.tool;
    if tool.is_empty() {
        let reason = "Windlass cannot read this tool call; it may be too large: do it in smaller pieces";
        return Ruling::Deny { reason: reason.to_owned() };
    }
    if is_inner(tool_call) {
        return Ruling::Allow;
    }
    if let Some(reason) = denial(&rules.deny, "this run", &call) {
        return Ruling::Deny { reason };
    }
    for bound in &rules.bounds {
        if let Some(reason) = denial(&bound.deny, &bound.whose, &call) {
            return Ruling::Deny { reason };
        }
    }
    if !in_preset(isolation, call.kind) {
        return Ruling::Deny {
            reason: format!(
                "{tool} is not allowed under the `{}` isolation of this run; do without it",
                isolation.word()
            ),
        };
    }
    // Runs of earlier versions store an entity's limits here instead of in `bounds`.
    let own = FileLimits {
        whose: "this agent".to_owned(),
        only: rules.only.clone(),
        limits: rules.limits.clone(),
        ..FileLimits::default()
    };
    if !rules.allow.iter().any(|rule| rule == tool)
        && let Some(reason) = stranger(&rules.deny, &[], "this run", &call)
    {
        return Ruling::Deny { reason };
    }
    let mut asks = rules.ask.iter().any(|rule| call.touched_by(rule).is_some());
    for bound in std::iter::once(&own).chain(&rules.bounds) {
        match within(bound, &call) {
            Ruling::Deny { reason } => return Ruling::Deny { reason },
            Ruling::Ask => asks = true,
            Ruling::Allow => {}
        }
    }
    if asks {
        return Ruling::Ask;
    }
    if rules.allow.is_empty() || call.is_granted_by(&rules.allow) {
        return Ruling::Allow;
    }
    Ruling::Ask
}

/// Applies the limits of one file to a call, except its deny rules, which [`decide`] has already checked.
fn within(bound: &FileLimits, call: &CheckedCall<'_>) -> Ruling {
    if let Some(only) = &bound.only
        && !call.is_granted_by(only)
    {
        return Ruling::Deny { reason: beyond(only, &bound.whose, call) };
    }
    if bound.only.is_none()
        && let Some(reason) = stranger(&bound.deny, &bound.limits, &bound.whose, call)
    {
        return Ruling::Deny { reason };
    }
    match limit(&bound.limits, call) {
        Some(LimitRule { rule, effect: ToolEffect::Deny }) => {
            let touch = call.touched_by(rule).unwrap_or(Touch::Means(None));
            return Ruling::Deny { reason: because(rule, &bound.whose, call, touch) };
        }
        Some(LimitRule { effect: ToolEffect::Ask, .. }) => return Ruling::Ask,
        Some(LimitRule { effect: ToolEffect::Allow, .. }) | None => {}
    }
    match bound.ask.iter().any(|rule| call.touched_by(rule).is_some()) {
        true => Ruling::Ask,
        false => Ruling::Allow,
    }
}

/// Returns the reason to deny a tool that Windlass does not know: it could do what the rules forbid. Tools
/// of MCP servers are exempt, because rules name them directly.
fn stranger(deny: &[String], limits: &[LimitRule], whose: &str, call: &CheckedCall<'_>) -> Option<String> {
    let tool = call.tool;
    if call.kind != ToolName::Other || tools::is_understood(tool) {
        return None;
    }
    let refuses = |name: &str| {
        let last = limits.iter().rfind(|limit| is_about_all(&limit.rule, name));
        deny.iter().any(|rule| is_about_all(rule, name))
            || last.is_some_and(|limit| limit.effect == ToolEffect::Deny)
    };
    let refused = ["bash", "edit", "write"].into_iter().find(|name| refuses(name)).map(tools::spelling)?;
    Some(format!(
        "Windlass does not know the tool `{tool}`, and {whose} may not use {refused}; do without `{tool}`"
    ))
}

/// Returns true if an allow rule of the settings covers this call. An absent deny rule is not enough.
pub fn is_granted<'a>(rules: &PermissionRules, around: impl Into<CallSite<'a>>, call: &ToolCall) -> bool {
    CheckedCall::new(call, around.into()).is_granted_by(&rules.allow)
}

/// Returns true if any rule depends on the file of a call. Only then are links followed.
pub fn are_about_files(rules: &PermissionRules) -> bool {
    let PermissionRules { allow, deny, ask, only, limits, bounds } = rules;
    let is_one = |rule: &String| is_about_files(rule) || name_of(rule) == EXTERNAL;
    let any = |lists: [&[String]; 3], only: &Option<Vec<String>>, limits: &[LimitRule]| {
        lists.into_iter().flatten().chain(only.iter().flatten()).any(is_one)
            || limits.iter().any(|limit| is_one(&limit.rule))
    };
    any([allow, deny, ask], only, limits)
        || bounds.iter().any(|bound| any([&[], &bound.deny, &bound.ask], &bound.only, &bound.limits))
}

/// Returns false if the rules forbid every tool that changes files, and the shell.
pub fn may_write(isolation: Isolation, rules: &PermissionRules) -> bool {
    let writers = [(ToolName::Edit, "edit"), (ToolName::Write, "write"), (ToolName::Shell, "bash")];
    writers.into_iter().any(|(tool, name)| in_preset(isolation, tool) && !forbids(rules, tool, name))
}

/// Decides whether the rules forbid every call of a tool.
fn forbids(rules: &PermissionRules, tool: ToolName, name: &str) -> bool {
    let denies = |deny: &[String], limits: &[LimitRule]| {
        let last = limits.iter().rev().take_while(|limit| limit.effect == ToolEffect::Deny);
        let mut denied = deny.iter().chain(last.map(|limit| &limit.rule));
        denied.any(|rule| is_about_all(rule, name))
    };
    // A name that Windlass does not know may stand for any tool.
    let lists = |only: &Vec<String>| {
        let kind = |rule: &String| tools::kind(name_of(rule));
        only.iter().any(|rule| kind(rule).map_or(!rule.starts_with("mcp__"), |kind| kind == tool))
    };
    let leaves_out = |only: &Option<Vec<String>>| only.as_ref().is_some_and(|only| !lists(only));
    denies(&rules.deny, &rules.limits)
        || leaves_out(&rules.only)
        || rules.bounds.iter().any(|bound| denies(&bound.deny, &bound.limits) || leaves_out(&bound.only))
}

/// Returns true if a tool always passes: it affects only the conversation.
pub fn is_inner(call: &ToolCall) -> bool {
    call.tool == ToolName::Plan
}

/// Returns the rule that applies to a call: the last match, or for a line of several commands the strictest
/// of their last matches. A file outside the workspace must also pass the rules for such files.
fn limit<'r>(limits: &'r [LimitRule], call: &CheckedCall<'_>) -> Option<&'r LimitRule> {
    if limits.is_empty() {
        return None;
    }
    let last = |part: &CheckedCall<'_>| {
        let is_match = |limit: &&LimitRule| match limit.effect {
            ToolEffect::Allow => part.is_granted_by(std::slice::from_ref(&limit.rule)),
            ToolEffect::Ask | ToolEffect::Deny => part.touched_by(&limit.rule).is_some(),
        };
        limits.iter().filter(|limit| name_of(&limit.rule) != EXTERNAL).rfind(is_match)
    };
    let outside = call.is_outside().then_some(()).and_then(|()| {
        let is_match =
            |limit: &&LimitRule| call.is_meant_outside(&limit.rule, limit.effect == ToolEffect::Allow);
        limits.iter().filter(|limit| name_of(&limit.rule) == EXTERNAL).rfind(is_match)
    });
    let commands = call.commands();
    let whole = if commands.is_empty() { last(call) } else { None };
    commands.iter().filter_map(last).chain(whole).chain(outside).max_by_key(|limit| limit.effect)
}

/// Returns the reason why deny rules forbid a call. Prefers a rule that means the call to one that may mean
/// it.
fn denial(rules: &[String], whose: &str, call: &CheckedCall<'_>) -> Option<String> {
    let mut touched = rules.iter().filter_map(|rule| Some((rule, call.touched_by(rule)?))).peekable();
    let first = touched.peek().cloned();
    let meant = touched.find(|(_, touch)| matches!(touch, Touch::Means(_)));
    meant.or(first).map(|(rule, touch)| because(rule, whose, call, touch))
}

/// Writes the explanation for an agent whose call a rule denies.
fn because(rule: &str, whose: &str, call: &CheckedCall<'_>, touch: Touch) -> String {
    let tool = call.tool;
    let why = match touch {
        Touch::MayMean(why) => {
            return format!("{tool} is denied because of the rule `{rule}` of {whose}: {why}");
        }
        Touch::Means(Some(command)) => format!(": the command line runs `{command}`"),
        Touch::Means(None) => call.detour().map(|detour| format!("; {detour}")).unwrap_or_default(),
    };
    format!("{tool} is denied by the rule `{rule}` of {whose}{why}")
}

/// Explains to an agent why its call is not on an entity's list.
fn beyond(only: &[String], whose: &str, call: &CheckedCall<'_>) -> String {
    let tool = call.tool;
    let ways: Vec<&str> =
        only.iter().map(String::as_str).filter(|rule| rule.contains('(') && call.is_named_by(rule)).collect();
    if ways.is_empty() {
        return format!("{tool} is not among the tools that {whose} may use; do without it");
    }
    let why = match (call.detour(), call.refused_by(only)) {
        (Some(detour), _) => detour,
        (None, Some(command)) => format!("`{}` matches none of these", shown(&command.text)),
        (None, None) if call.line().is_some_and(CommandLine::writes) => {
            "it may not write its output to a file".to_owned()
        }
        (None, None) => "this call matches none of these".to_owned(),
    };
    format!("{whose} may use {tool} only as {}; {why}", ways.join(", "))
}

fn in_preset(isolation: Isolation, tool: ToolName) -> bool {
    match isolation {
        Isolation::Strict => STRICT.contains(&tool),
        Isolation::Minimal => STRICT.contains(&tool) || MINIMAL.contains(&tool),
        Isolation::Permissive => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RealPath, SEVERAL_FILES};
    use super::*;
    use serde_json::{Value, json};

    fn decide<'a>(
        isolation: Isolation,
        rules: &PermissionRules,
        around: impl Into<CallSite<'a>>,
        tool: &str,
        input: &Value,
    ) -> Ruling {
        super::decide(isolation, rules, around, &ToolCall::named(tool, input.clone()))
    }

    fn ruling(isolation: Isolation, tool: &str) -> bool {
        decide(isolation, &PermissionRules::default(), "/w", tool, &json!({})) == Ruling::Allow
    }

    #[test]
    fn only_rules_that_forbid_every_writer_make_a_session_read_only() {
        let list = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let may = |rules: PermissionRules| may_write(Isolation::Strict, &rules);
        assert!(may(PermissionRules::default()));
        assert!(may(PermissionRules { deny: list(&["Edit", "Write"]), ..Default::default() }));
        assert!(may(PermissionRules { deny: list(&["Edit", "Write", "Bash(rm *)"]), ..Default::default() }));
        assert!(!may(PermissionRules { deny: list(&["Edit", "Write", "Bash"]), ..Default::default() }));
        let only = |names: &[&str]| PermissionRules { only: Some(list(names)), ..Default::default() };
        assert!(!may(only(&["Read", "Grep", "mcp__docs__find"])));
        assert!(may(only(&["Read", "Bash(git log:*)"])));
        assert!(may(only(&["Read", "*"])), "an unknown name may be any tool");
        let bound = FileLimits { only: Some(list(&["Read"])), ..FileLimits::default() };
        assert!(!may(PermissionRules { bounds: vec![bound], ..Default::default() }));
    }

    #[test]
    fn a_call_that_cannot_be_read_is_refused_under_every_isolation() {
        for isolation in [Isolation::Strict, Isolation::Minimal, Isolation::Permissive] {
            let rules = PermissionRules { allow: vec!["*".to_owned()], ..PermissionRules::default() };
            assert!(matches!(decide(isolation, &rules, "/w", "", &Value::Null), Ruling::Deny { .. }));
        }
    }

    #[test]
    fn strict_is_files_and_shell_only() {
        for tool in ["Read", "Edit", "Glob", "Grep", "Bash", "Write"] {
            assert!(ruling(Isolation::Strict, tool), "{tool}");
        }
        for tool in
            ["WebFetch", "WebSearch", "Task", "Agent", "Skill", "mcp__x__y", "NotebookEdit", "Brand_new"]
        {
            assert!(!ruling(Isolation::Strict, tool), "{tool}");
        }
    }

    #[test]
    fn minimal_adds_web_subagents_skills_and_mcp() {
        for tool in ["WebFetch", "WebSearch", "Task", "Agent", "Skill", "mcp__plugin_demo_rig__echo"] {
            assert!(ruling(Isolation::Minimal, tool), "{tool}");
        }
        assert!(!ruling(Isolation::Minimal, "NotebookEdit"));
        assert!(ruling(Isolation::Permissive, "NotebookEdit"));
    }

    #[test]
    fn inner_tools_pass_even_when_denied() {
        let rules = PermissionRules { deny: vec!["*".into()], ..PermissionRules::default() };
        for tool in ["TodoWrite", "AskUserQuestion"] {
            assert_eq!(decide(Isolation::Strict, &rules, "/w", tool, &json!({})), Ruling::Allow, "{tool}");
        }
    }

    #[test]
    fn a_server_that_calls_itself_windlass_has_no_more_rights_than_others() {
        let rules = PermissionRules { deny: vec!["mcp__*".into()], ..PermissionRules::default() };
        let ruling = decide(Isolation::Permissive, &rules, "/w", "mcp__windlass__approve", &json!({}));
        assert!(matches!(ruling, Ruling::Deny { .. }), "{ruling:?}");
    }

    #[test]
    fn deny_beats_allow_and_the_preset_beats_both() {
        let rules = PermissionRules {
            allow: vec!["Bash".into(), "WebFetch".into()],
            deny: vec!["Bash(git push*)".into()],
            ..PermissionRules::default()
        };
        let push = json!({"command": "git push origin"});
        assert!(matches!(decide(Isolation::Strict, &rules, "/w", "Bash", &push), Ruling::Deny { .. }));
        assert_eq!(decide(Isolation::Strict, &rules, "/w", "Bash", &json!({"command": "ls"})), Ruling::Allow);
        assert!(matches!(
            decide(Isolation::Strict, &rules, "/w", "WebFetch", &json!({})),
            Ruling::Deny { .. }
        ));
        assert_eq!(decide(Isolation::Strict, &rules, "/w", "Read", &json!({})), Ruling::Ask);
    }

    #[test]
    fn only_the_tools_of_an_agent_may_be_used() {
        let only = Some(vec!["Read".to_owned(), "Bash(git log:*)".to_owned()]);
        let rules = PermissionRules { only, ..PermissionRules::default() };
        let ruling = |tool, input| decide(Isolation::Minimal, &rules, "/w", tool, &input);
        assert_eq!(ruling("Read", json!({})), Ruling::Allow);
        assert_eq!(ruling("TodoWrite", json!({})), Ruling::Allow);
        assert_eq!(ruling("Bash", json!({"command": "git log -3"})), Ruling::Allow);
        assert!(matches!(ruling("Bash", json!({"command": "git push"})), Ruling::Deny { .. }));
        assert!(matches!(ruling("Edit", json!({})), Ruling::Deny { .. }));
    }

    #[test]
    fn a_command_line_is_as_good_as_its_worst_command() {
        let rules = PermissionRules {
            allow: vec!["Bash(git:*)".into()],
            deny: vec!["Bash(git push*)".into()],
            ..PermissionRules::default()
        };
        let ruling = |line: &str| decide(Isolation::Minimal, &rules, "/w", "Bash", &json!({"command": line}));
        assert_eq!(ruling("git log && git status"), Ruling::Allow);
        for line in
            ["git log; rm -rf .", "git log | tee x", "git log $(evil)", "git log `evil`", "git log > x"]
        {
            assert_eq!(ruling(line), Ruling::Ask, "{line}");
        }
        for line in ["git push", "cd x && git push", "true\ngit push origin", "git log | sh"] {
            assert!(matches!(ruling(line), Ruling::Deny { .. }), "{line}");
        }
    }

    fn limited(limits: &[(&str, ToolEffect)]) -> PermissionRules {
        let limit =
            |(rule, effect): &(&str, ToolEffect)| LimitRule { rule: (*rule).to_owned(), effect: *effect };
        PermissionRules { limits: limits.iter().map(limit).collect(), ..PermissionRules::default() }
    }

    #[test]
    fn of_the_rules_of_an_entity_the_last_one_counts() {
        use ToolEffect::{Allow, Ask, Deny};
        let rules = limited(&[
            ("*", Ask),
            ("Read", Allow),
            ("Bash", Deny),
            ("Bash(git *)", Allow),
            ("Bash(git push *)", Deny),
            ("Edit", Deny),
            ("Edit(docs/*)", Allow),
        ]);
        let ruling =
            |tool: &str, input: Value| match decide(Isolation::Permissive, &rules, "/w", tool, &input) {
                Ruling::Allow => "allow",
                Ruling::Ask => "ask",
                Ruling::Deny { .. } => "deny",
            };
        let line = |line: &str| ruling("Bash", json!({"command": line}));
        let file = |path: &str| ruling("Edit", json!({"file_path": path}));
        assert_eq!(ruling("Read", json!({})), "allow");
        assert_eq!(ruling("WebFetch", json!({"url": "https://x.org"})), "ask");
        assert_eq!(ruling("mcp__x__y", json!({})), "ask");
        assert_eq!(ruling("TodoWrite", json!({})), "allow");
        for (command, expected) in [
            ("git log", "allow"),
            ("git log && git status", "allow"),
            ("git push origin", "deny"),
            ("git log; git push", "deny"),
            ("ls", "deny"),
            ("git log; ls", "deny"),
            ("git log > x", "deny"),
        ] {
            assert_eq!(line(command), expected, "{command}");
        }
        assert_eq!(file("/w/docs/a.md"), "allow");
        assert_eq!(file("/w/src/a.rs"), "deny");
        assert_eq!(file("/w/docs/../src/a.rs"), "deny");
    }

    #[test]
    fn what_an_entity_allows_does_not_widen_what_the_run_allows() {
        let entity =
            limited(&[("*", ToolEffect::Deny), ("Bash", ToolEffect::Allow), ("WebFetch", ToolEffect::Allow)]);
        let rules =
            PermissionRules { deny: vec!["Bash(rm *)".into()], ask: vec!["Bash(git *)".into()], ..entity };
        let ruling = |line: &str| decide(Isolation::Strict, &rules, "/w", "Bash", &json!({"command": line}));
        assert!(matches!(ruling("rm x"), Ruling::Deny { .. }));
        assert_eq!(ruling("git log"), Ruling::Ask);
        assert_eq!(ruling("ls"), Ruling::Allow);
        assert!(matches!(
            decide(Isolation::Strict, &rules, "/w", "WebFetch", &json!({})),
            Ruling::Deny { .. }
        ));
    }

    #[test]
    fn files_outside_of_the_workspace_have_rules_of_their_own() {
        let rules = limited(&[
            ("external_directory", ToolEffect::Deny),
            ("external_directory(/tmp/*)", ToolEffect::Allow),
        ]);
        let is_denied = |path: &str| {
            let input = json!({"file_path": path});
            matches!(decide(Isolation::Minimal, &rules, "/w", "Read", &input), Ruling::Deny { .. })
        };
        assert!(is_denied("/etc/passwd") && is_denied("../x") && is_denied("/w/../x") && is_denied("/w2/x"));
        assert!(!is_denied("/w/x") && !is_denied("x") && !is_denied("/tmp/x"));
    }

    #[test]
    fn a_rule_about_files_holds_for_each_of_several_files() {
        let ruling = |rules: &PermissionRules, files: [&str; 2]| {
            let real = RealPath { workspace: "/w".into(), files: files.map(str::to_owned).to_vec() };
            let around = CallSite { workspace: "/w", real: Some(&real) };
            let path = files.join(SEVERAL_FILES.encode_utf8(&mut [0; 4]));
            decide(Isolation::Minimal, rules, around, "Edit", &json!({"file_path": path}))
        };
        let deny = PermissionRules { deny: vec!["Edit(secret/**)".into()], ..PermissionRules::default() };
        let reason = "Edit is denied by the rule `Edit(secret/**)` of this run".to_owned();
        assert_eq!(ruling(&deny, ["/w/a", "/w/secret/b"]), Ruling::Deny { reason });
        assert_eq!(ruling(&deny, ["/w/a", "/w/b"]), Ruling::Allow);
        let allow = PermissionRules { allow: vec!["Edit(docs/**)".into()], ..PermissionRules::default() };
        assert_eq!(ruling(&allow, ["/w/docs/a", "/w/docs/b"]), Ruling::Allow);
        assert_eq!(ruling(&allow, ["/w/docs/a", "/w/b"]), Ruling::Ask);
    }

    fn held(bound: FileLimits, tool: &str, input: &Value) -> Ruling {
        let rules = PermissionRules { bounds: vec![bound], ..PermissionRules::default() };
        decide(Isolation::Permissive, &rules, "/w", tool, input)
    }

    fn denying(rules: &[&str]) -> FileLimits {
        let deny = rules.iter().map(|rule| (*rule).to_owned()).collect();
        FileLimits { whose: "agent `ro` (ro.md)".to_owned(), deny, ..FileLimits::default() }
    }

    #[test]
    fn a_tool_that_runs_commands_is_a_shell_under_any_name() {
        let push = json!({"command": "git push", "description": "x"});
        for tool in ["Monitor", "SomethingNew", "Bash"] {
            for rule in ["Bash", "Bash(git push *)", "shell", "Ba*"] {
                let ruling = held(denying(&[rule]), tool, &push);
                let Ruling::Deny { reason } = ruling else { panic!("{tool} {rule}: {ruling:?}") };
                assert!(reason.contains(&format!("`{rule}` of agent `ro`")), "{reason}");
                let rules = PermissionRules { ask: vec![rule.to_owned()], ..PermissionRules::default() };
                assert_eq!(decide(Isolation::Permissive, &rules, "/w", tool, &push), Ruling::Ask);
            }
        }
        let limits = limited(&[("Bash", ToolEffect::Deny), ("Bash(git log *)", ToolEffect::Allow)]).limits;
        let ordered = FileLimits { limits, ..denying(&[]) };
        assert!(matches!(held(ordered, "Monitor", &push), Ruling::Deny { .. }));
        assert_eq!(held(denying(&["Bash(rm *)"]), "Monitor", &push), Ruling::Allow);
        assert_eq!(held(denying(&["Bash"]), "mcp__x__run", &push), Ruling::Allow, "it has rules of its own");
        let allow = PermissionRules { allow: vec!["Bash".to_owned()], ..PermissionRules::default() };
        assert_eq!(decide(Isolation::Permissive, &allow, "/w", "Monitor", &push), Ruling::Ask);
    }

    #[test]
    fn a_tool_that_nobody_knows_is_refused_to_who_may_not_write_or_run_commands() {
        for (rule, named) in [("Bash", "Bash"), ("Edit", "Edit"), ("Write", "Write"), ("edit", "Edit")] {
            for tool in ["REPL", "Workflow", "CronCreate", "SomethingNew"] {
                let told = format!(
                    "Windlass does not know the tool `{tool}`, and agent `ro` (ro.md) may not use {named}; do without `{tool}`"
                );
                assert_eq!(held(denying(&[rule]), tool, &json!({})), Ruling::Deny { reason: told });
                let limits = limited(&[(rule, ToolEffect::Deny), ("WebFetch", ToolEffect::Allow)]).limits;
                let ordered = FileLimits { limits, ..denying(&[]) };
                assert!(matches!(held(ordered, tool, &json!({})), Ruling::Deny { .. }), "{rule} {tool}");
                let rules = PermissionRules { deny: vec![rule.to_owned()], ..PermissionRules::default() };
                let ruling = decide(Isolation::Permissive, &rules, "/w", tool, &json!({}));
                assert!(matches!(ruling, Ruling::Deny { .. }), "{rule} {tool}");
            }
            for tool in
                ["Read", "Grep", "LSP", "ListMcpResourcesTool", "ExitPlanMode", "mcp__x__y", "WebFetch"]
            {
                assert_eq!(held(denying(&[rule]), tool, &json!({})), Ruling::Allow, "{rule} {tool}");
            }
        }
        for rule in ["WebFetch", "Bash(rm *)", "Write(.env)"] {
            assert_eq!(held(denying(&[rule]), "Workflow", &json!({})), Ruling::Allow, "{rule}");
        }
        let listed =
            FileLimits { only: Some(vec!["Read".to_owned(), "Workflow".to_owned()]), ..denying(&["Edit"]) };
        assert_eq!(held(listed, "Workflow", &json!({})), Ruling::Allow, "the file lists it");
    }

    #[test]
    fn ask_is_left_open() {
        let rules = PermissionRules { ask: vec!["Bash(rm *)".into()], ..PermissionRules::default() };
        assert_eq!(
            decide(Isolation::Minimal, &rules, "/w", "Bash", &json!({"command": "rm -rf x"})),
            Ruling::Ask
        );
    }
}
