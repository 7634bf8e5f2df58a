//! Decides whether a rule matches a tool call.
//!
//! A rule is read in two ways. It *touches* a call that it could mean (for deny and ask). It *grants* a call
//! only if it covers all of the call (for allow). A rule may use the tool's name in any agent CLI.

use serde_json::Value;

use super::command_line::{CommandLine, Touch, fits};
use super::shell::ShellCommand;
use super::{CallSite, SEVERAL_FILES, ToolCall, ToolName};
use crate::entity::Provider;
use crate::registry::tools::{self, Named, canonical};

/// A tool call, prepared for comparison with rules.
#[derive(Debug)]
pub(super) struct CheckedCall<'a> {
    pub(super) kind: ToolName,
    /// The tool's name in its agent CLI.
    pub(super) tool: &'a str,
    subject: Subject<'a>,
    /// The files that a search covers, as a pattern.
    sought: Option<CleanPath>,
}

/// The part of a call that a rule's pattern in brackets applies to.
#[derive(Debug)]
enum Subject<'a> {
    Nothing,
    Line(CommandLine<'a>),
    /// One command of a line.
    Command {
        command: &'a ShellCommand,
        line: &'a CommandLine<'a>,
    },
    Path(File),
    Url(&'a str),
    Text(&'a str),
}

/// A file as the call spells it, and its location after links are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    spelled: CleanPath,
    real: RealFile,
}

/// The location of a file after links are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RealFile {
    /// The location that the call spells.
    Same,
    /// One of these locations.
    At(Vec<CleanPath>),
    /// Windlass cannot resolve the path.
    Unknown,
}

/// An absolute path without `.` and `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CleanPath {
    whole: String,
    /// The path relative to the workspace; `None` if it leads outside.
    inner: Option<String>,
}

impl<'a> CheckedCall<'a> {
    pub(super) fn new(call: &'a ToolCall, around: CallSite<'_>) -> CheckedCall<'a> {
        let (kind, tool, input) = (call.tool, call.name.as_str(), &call.input);
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        // A tool that edits files may have a `command` input too: the name of the edit.
        let is_known_otherwise = matches!(canonical(tool), Some(name) if name != "bash");
        let command = text("command").filter(|_| kind == ToolName::Shell || !is_known_otherwise);
        let subject = match (command, path_of(input), text("url")) {
            (Some(line), _, _) => Subject::Line(CommandLine::read(line)),
            (_, Some(path), _) => Subject::Path(File::new(path, around)),
            (_, _, Some(url)) => Subject::Url(url),
            _ => ["query", "skill", "subagent_type", "pattern"]
                .into_iter()
                .find_map(text)
                .map_or(Subject::Nothing, Subject::Text),
        };
        let sought = match canonical(tool) {
            Some("grep") => text("glob"),
            Some("glob") => text("pattern"),
            _ => None,
        };
        let sought = match (sought, path_of(input)) {
            (Some(files), Some(path)) if !files.starts_with('/') => Some(format!("{path}/{files}")),
            (Some(files), _) => Some(files.to_owned()),
            // A search in a folder reaches all files below it. A rule about some files does not stop a search of
            // the whole workspace.
            (None, Some(path)) if kind == ToolName::Search && is_below(path, around) => {
                Some(format!("{path}/**"))
            }
            (None, _) => None,
        };
        let sought = sought.map(|files| CleanPath::new(&files, around.workspace));
        CheckedCall { kind, tool, subject, sought }
    }

    /// Splits the call into one call per command of its line.
    pub(super) fn commands(&self) -> Vec<CheckedCall<'_>> {
        let Subject::Line(line) = &self.subject else { return Vec::new() };
        let (kind, tool) = (self.kind, self.tool);
        let call =
            |command| CheckedCall { kind, tool, subject: Subject::Command { command, line }, sought: None };
        line.commands().map(call).collect()
    }

    /// Returns the command line, if the tool runs commands.
    pub(super) fn line(&self) -> Option<&CommandLine<'a>> {
        match &self.subject {
            Subject::Line(line) => Some(line),
            _ => None,
        }
    }

    /// Returns true if the call runs a command line, whatever the tool's name. Tools of MCP servers are
    /// exempt: rules name them directly.
    fn is_shell(&self) -> bool {
        let is_line = matches!(self.subject, Subject::Line(_) | Subject::Command { .. });
        self.kind == ToolName::Shell || tools::is_shell(self.tool) || is_line && self.kind != ToolName::Mcp
    }

    /// Returns true if a deny or ask rule applies to this tool. A rule about the shell applies to every tool
    /// that runs commands.
    fn is_covered_by(&self, rule: &str) -> bool {
        let name = name_of(rule);
        self.is_named_by(rule)
            || self.is_shell() && is_named(name, "bash")
            || is_variant(rule, self.tool)
            || (self.is_unknown() || self.is_every_search()) && tools::kind(name) == Some(self.kind)
    }

    /// Returns true if the agent has one tool for every search. A rule about one way to search then applies
    /// to all of it, or it would be lost.
    fn is_every_search(&self) -> bool {
        self.kind == ToolName::Search && ToolName::parse(self.tool) == Some(ToolName::Search)
    }

    /// Returns true if Windlass does not know the agent's name for the tool. Then only its kind counts.
    fn is_unknown(&self) -> bool {
        self.kind != ToolName::Other && self.kind != ToolName::Mcp && canonical(self.tool).is_none()
    }

    /// Returns true if the call uses a file outside the workspace, or may do so.
    pub(super) fn is_outside(&self) -> bool {
        let Subject::Path(File { spelled, real }) = &self.subject else { return false };
        match real {
            RealFile::Same => spelled.inner.is_none(),
            RealFile::At(places) => places.iter().any(|place| place.inner.is_none()),
            RealFile::Unknown => true,
        }
    }

    /// Describes where the file leads, if that differs from the path in the call.
    pub(super) fn detour(&self) -> Option<String> {
        let Subject::Path(File { spelled, real }) = &self.subject else { return None };
        match real {
            RealFile::Same => None,
            // Each of them leads somewhere.
            _ if spelled.whole.contains(SEVERAL_FILES) => None,
            RealFile::Unknown => Some(format!("Windlass cannot tell where `{}` leads", spelled.whole)),
            RealFile::At(places) => {
                let other = places.iter().find(|place| **place != *spelled)?;
                Some(format!("`{}` leads to `{}`", spelled.whole, other.whole))
            }
        }
    }

    /// Returns true if a rule about files outside the workspace matches the call's file.
    pub(super) fn is_meant_outside(&self, rule: &str, permits: bool) -> bool {
        matches!(&self.subject, Subject::Path(file) if file.is_meant_outside(rule, permits))
    }

    /// Returns true if a rule names this tool. Ignores the rule's pattern.
    pub(super) fn is_named_by(&self, rule: &str) -> bool {
        let name = name_of(rule);
        // A rule `Grep` covers less than every search tool.
        let is_all = self.kind != ToolName::Search && tools::kind(name) == Some(self.kind);
        is_named(name, self.tool)
            || ToolName::parse(name) == Some(self.kind)
            || self.is_unknown() && is_all && !name.contains(['*', '?'])
    }

    /// Decides whether a rule could mean this call: `Name`, `prefix*`, `mcp__server`, `Bash(git *)`. A rule
    /// means a command line if it means any command in it.
    pub(super) fn touched_by(&self, rule: &str) -> Option<Touch> {
        if !self.is_covered_by(rule) {
            return None;
        }
        let Some(pattern) = pattern_of(rule) else { return Some(Touch::Means(None)) };
        if self.sought.as_ref().is_some_and(|files| files.is_touched_by(pattern)) {
            return Some(Touch::Means(None));
        }
        let is_meant = match &self.subject {
            Subject::Line(line) => return line.touched_by(pattern),
            Subject::Command { command, line } => return line.command_touched_by(pattern, command),
            Subject::Nothing => false,
            Subject::Path(file) => file.is_touched_by(pattern),
            Subject::Url(url) => fits_url(pattern, url),
            // The text that a search looks for is not a file, so a rule about files does not apply to it.
            Subject::Text(text) => self.is_named_by(rule) && fits(pattern, text),
        };
        is_meant.then_some(Touch::Means(None))
    }

    /// Returns true if the rules allow this call. A command line passes only if each of its commands passes,
    /// so `git log; rm -rf .` does not count as a `git` command.
    pub(super) fn is_granted_by(&self, rules: &[String]) -> bool {
        let named: Vec<&String> = rules.iter().filter(|rule| self.is_named_by(rule)).collect();
        if named.iter().any(|rule| pattern_of(rule).is_none()) {
            return true;
        }
        let patterns: Vec<&str> = named.iter().filter_map(|rule| pattern_of(rule)).collect();
        let any = |fits: &dyn Fn(&str) -> bool| patterns.iter().any(|pattern| fits(pattern));
        match &self.subject {
            Subject::Nothing => false,
            Subject::Line(line) => line.is_granted_by(&patterns),
            Subject::Command { command, line } => line.is_command_granted_by(&patterns, command),
            Subject::Path(file) => file.is_granted_by(&patterns),
            Subject::Url(url) => any(&|pattern| fits_url(pattern, url)),
            Subject::Text(text) => any(&|pattern| fits(pattern, text)),
        }
    }

    /// Returns the first command of the line that the rules do not allow.
    pub(super) fn refused_by(&self, rules: &[String]) -> Option<&ShellCommand> {
        let patterns: Vec<&str> =
            rules.iter().filter(|rule| self.is_named_by(rule)).filter_map(|rule| pattern_of(rule)).collect();
        self.line()?.refused_by(&patterns)
    }
}

impl File {
    fn new(path: &str, around: CallSite<'_>) -> File {
        let real = match around.real {
            None => RealFile::Same,
            Some(real) if real.files.is_empty() => RealFile::Unknown,
            Some(real) => {
                RealFile::At(real.files.iter().map(|file| CleanPath::new(file, &real.workspace)).collect())
            }
        };
        File { spelled: CleanPath::new(path, around.workspace), real }
    }

    /// Returns true if the pattern matches the spelled path or any location that it leads to.
    fn is_touched_by(&self, pattern: &str) -> bool {
        let is_meant = |place: &CleanPath| place.is_touched_by(pattern);
        let leads_there = match &self.real {
            RealFile::Same => false,
            RealFile::At(places) => places.iter().any(is_meant),
            RealFile::Unknown => true,
        };
        leads_there || is_meant(&self.spelled)
    }

    /// Returns true if the patterns allow every location that the path leads to. The spelled path alone
    /// allows nothing.
    fn is_granted_by(&self, patterns: &[&str]) -> bool {
        let is_granted = |place: &CleanPath| patterns.iter().any(|pattern| place.is_granted_by(pattern));
        match &self.real {
            RealFile::Same => is_granted(&self.spelled),
            RealFile::At(places) => places.iter().all(is_granted),
            RealFile::Unknown => false,
        }
    }

    /// Returns true if a rule about files outside the workspace matches this file.
    fn is_meant_outside(&self, rule: &str, permits: bool) -> bool {
        let is_meant = |place: &CleanPath| means_outside(rule, &place.whole, permits);
        let places = match &self.real {
            RealFile::Same => return is_meant(&self.spelled),
            RealFile::Unknown => return !permits,
            RealFile::At(places) => places,
        };
        match permits {
            true => places.iter().filter(|place| place.inner.is_none()).all(is_meant),
            false => is_meant(&self.spelled) || places.iter().any(is_meant),
        }
    }
}

/// Returns the file that a tool's input names.
pub(super) fn path_of(input: &Value) -> Option<&str> {
    PATHS.into_iter().find_map(|key| input.get(key).and_then(Value::as_str))
}

/// The input keys under which tools name a file.
const PATHS: [&str; 4] = ["file_path", "notebook_path", "path", "absolute_path"];

/// Returns the absolute path without `.` and `..`.
pub(super) fn whole(path: &str, workspace: &str) -> String {
    let joined = if path.starts_with('/') { path.to_owned() } else { format!("{workspace}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Returns true unless a search in this folder covers the whole workspace.
fn is_below(folder: &str, around: CallSite<'_>) -> bool {
    let folder = CleanPath::new(folder, around.workspace);
    let is_above = || {
        let below = around.workspace.strip_prefix(folder.whole.trim_end_matches('/'));
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    folder.inner.as_ref().map_or_else(|| !is_above(), |inner| inner != ".")
}

impl CleanPath {
    fn new(path: &str, workspace: &str) -> CleanPath {
        let whole = whole(path, workspace);
        let inner = whole.strip_prefix(workspace.trim_end_matches('/')).and_then(|inner| match inner {
            "" => Some("."),
            inner => inner.strip_prefix('/'),
        });
        let inner = inner.map(str::to_owned);
        CleanPath { whole, inner }
    }

    /// Returns true if the pattern could mean this path: relative to the workspace, as a name at any depth,
    /// or as an absolute path.
    fn is_touched_by(&self, pattern: &str) -> bool {
        within(relative(pattern)).into_iter().any(|pattern| self.fits_anywhere(&pattern))
    }

    fn fits_anywhere(&self, pattern: &str) -> bool {
        let inner = self.inner.as_deref();
        inner.is_some_and(|inner| fits_path(pattern, inner))
            || glob(pattern, &self.whole)
            || glob(&format!("/{}", pattern.trim_start_matches('/')), &self.whole)
            || glob(&format!("*/{}", from_home(pattern).trim_start_matches('/')), &self.whole)
    }

    /// Returns true if the pattern surely means this path. A relative pattern means files of the workspace
    /// only.
    fn is_granted_by(&self, pattern: &str) -> bool {
        if pattern.chars().all(|c| c == '*') {
            return true;
        }
        within(relative(pattern)).into_iter().any(|pattern| self.fits_exactly(&pattern))
    }

    fn fits_exactly(&self, pattern: &str) -> bool {
        match (pattern.strip_prefix("//"), pattern.starts_with('/')) {
            (Some(whole), _) => glob(&format!("/{whole}"), &self.whole),
            (None, true) => glob(pattern, &self.whole),
            (None, false) => self.inner.as_deref().is_some_and(|inner| fits_path(pattern, inner)),
        }
    }
}

fn relative(pattern: &str) -> &str {
    pattern.strip_prefix("./").unwrap_or(pattern)
}

/// Returns patterns for the named file and, in case it is a folder, for everything below it.
fn within(pattern: &str) -> [String; 2] {
    let name = if pattern.ends_with('/') { pattern.trim_end_matches('/') } else { pattern };
    [name.to_owned(), format!("{name}/*")]
}

/// Replaces `~/` and `$HOME/` by a pattern for any home folder.
fn from_home(pattern: &str) -> String {
    let below = pattern.strip_prefix("~/").or_else(|| pattern.strip_prefix("$HOME/"));
    below.map_or_else(|| pattern.to_owned(), |below| format!("*/{below}"))
}

fn fits_path(pattern: &str, path: &str) -> bool {
    glob(pattern, path) || pattern.strip_prefix("**/").is_some_and(|pattern| glob(pattern, path))
}

/// Returns true if a pattern matches an address. Claude Code writes a host as `domain:example.com`;
/// `example.com` means the same. Other patterns apply to the whole address, with or without `https://`.
fn fits_url(pattern: &str, url: &str) -> bool {
    let after = url.split_once("://").map_or(url, |(_, after)| after);
    let domain = pattern.strip_prefix("domain:");
    if domain.is_none() && (glob(pattern, url) || glob(pattern, after)) {
        return true;
    }
    let Some(domain) = domain.or((!pattern.contains('/')).then_some(pattern)) else { return false };
    let host = after.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().to_lowercase();
    let domain = domain.trim().to_lowercase();
    glob(&domain, &host) || host.strip_suffix(&domain).is_some_and(|rest| rest.ends_with('.'))
}

/// Returns true if a rule about files outside the workspace matches this path. The user's home folder is not
/// known here, so `~` is any home folder in a rule that forbids and no folder in a rule that permits.
fn means_outside(rule: &str, path: &str, permits: bool) -> bool {
    let pattern = |pattern: &str| if permits { pattern.to_owned() } else { from_home(pattern) };
    pattern_of(rule).is_none_or(|written| glob(&pattern(written), path))
}

/// Returns the tool name in a rule: `Bash` of `Bash(git *)`.
pub(super) fn name_of(rule: &str) -> &str {
    rule.split('(').next().unwrap_or(rule).trim()
}

/// Returns the pattern of `Name(pattern)`; `None` for `Name(*)`, which means the whole tool.
fn pattern_of(rule: &str) -> Option<&str> {
    let (_, pattern) = rule.strip_suffix(')')?.split_once('(')?;
    Some(pattern).filter(|pattern| !matches!(*pattern, "*" | ":*" | "**"))
}

/// Returns true if a rule may apply to some files only. Then links must be followed.
pub(super) fn is_about_files(rule: &str) -> bool {
    pattern_of(rule).is_some() && canonical(name_of(rule)) != Some("bash")
}

/// Returns true if a name in a rule means a tool, in any CLI's vocabulary.
fn is_named(name: &str, tool: &str) -> bool {
    let (name, lower) = (name.to_lowercase(), tool.to_lowercase());
    if name == lower {
        return true;
    }
    if name.contains('/') {
        return match tools::named(&name, Provider::Claude) {
            Named::Matching(name) => is_named(&name, tool),
            Named::These(names) => names.into_iter().any(|name| is_named(name, tool)),
            Named::Everything | Named::Elsewhere | Named::Unknown => false,
        };
    }
    // One CLI names a tool of a server `mcp__server__tool`, others `server_tool` or `mcp_server_tool`.
    if let Some(inner) = lower.strip_prefix("mcp__") {
        let flat = inner.replacen("__", "_", 1);
        let is_server = name.starts_with("mcp__")
            && !name.contains('*')
            && lower.strip_prefix(&name).is_some_and(|rest| rest.starts_with("__"));
        return is_server
            || glob(&name, &lower)
            || glob(&name, &flat)
            || name.strip_prefix("mcp_").is_some_and(|name| glob(name, &flat));
    }
    let ours = canonical(&lower);
    if name.contains(['*', '?']) {
        return glob(&name, &lower) || ours.is_some_and(|ours| glob(&name, ours));
    }
    let same = |word: &'static str| if word == "multiedit" { "edit" } else { word };
    ours.is_some() && ours.map(same) == canonical(&name).map(same)
}

/// Returns true if a rule covers all uses of a tool, in any CLI's vocabulary.
pub(super) fn is_about_all(rule: &str, tool: &str) -> bool {
    pattern_of(rule).is_none() && is_named(name_of(rule), tool)
}

/// Returns true if a deny or ask rule about one tool also covers this other tool. A rule with a pattern
/// about files covers every tool that changes files, or every tool that reads them. A rule without a pattern
/// covers its own tool only, unless that tool covers all edits.
fn is_variant(rule: &str, tool: &str) -> bool {
    let name = name_of(rule);
    let (Some(ours), Some(tool)) = (canonical(name), canonical(tool)) else { return false };
    let is_wide = pattern_of(rule).is_some() || tools::is_every_edit(name);
    match ours {
        "edit" | "multiedit" if tool == "notebookedit" => true,
        "edit" | "multiedit" | "write" | "notebookedit" => is_wide && CHANGING.contains(&tool),
        "read" => is_wide && READING.contains(&tool),
        _ => false,
    }
}

/// The tools that change files.
const CHANGING: [&str; 4] = ["edit", "multiedit", "write", "notebookedit"];
/// The tools that show or list files.
const READING: [&str; 4] = ["read", "grep", "glob", "list"];

/// Matches a text against a pattern: `*` is any text, `?` is one character.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    // A shortcut: most patterns that do not match already differ at the end.
    let end = pattern.rsplit(['*', '?']).next().unwrap_or_default();
    if !text.ends_with(end) {
        return false;
    }
    let (pattern, bytes) = (pattern.as_bytes(), text.as_bytes());
    let width = |at: usize| (1..4).find(|width| text.is_char_boundary(at + width)).unwrap_or(4);
    let (mut p, mut t) = (0, 0);
    // The position of the last `*`, and the end of the text that it covers so far.
    let mut star: Option<(usize, usize)> = None;
    while t < bytes.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(b'?') => (p, t) = (p + 1, t + width(t)),
            Some(byte) if bytes.get(t) == Some(byte) => (p, t) = (p + 1, t + 1),
            _ => {
                let Some((at, taken)) = star else { return false };
                let taken = taken + width(taken);
                star = Some((at, taken));
                (p, t) = (at + 1, taken);
            }
        }
    }
    pattern.iter().skip(p).all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests;
