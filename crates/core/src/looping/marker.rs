//! Finds the markers that an agent leaves in the tracker: complete, or blocked with a reason.
//!
//! A marker does not count if it is quoted in prose, shown in a code fence, or part of the template. In
//! doubt a marker does not count: one more turn costs less than a false end.

use std::collections::BTreeMap;

use super::MarkerMatch;
use super::prose::open_lines;

/// The markers to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Markers<'a> {
    /// The completion marker; `None` if only a promise completes the loop.
    pub complete: Option<&'a str>,
    /// The start of a blocked marker, such as [`Markers::DEFAULT_BLOCKED`].
    pub blocked: &'a str,
    /// The rule for the position of the completion marker.
    pub how: MarkerMatch,
}

impl Markers<'_> {
    /// The start of `<!-- WORKFLOW_BLOCKED: reason -->`. The reason is optional.
    pub const DEFAULT_BLOCKED: &'static str = "<!-- WORKFLOW_BLOCKED";
}

/// The markers that were found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scan {
    /// True if the completion marker is in the required position.
    pub complete: bool,
    /// The reason of a blocked marker; empty if the agent gave none.
    pub blocked: Option<String>,
}

/// Finds the markers in a tracker's body. `template_body` is the body that the tracker started with.
///
/// - `line`: the marker is alone on a line outside code fences, more often than in the template. Counting
///   lets the agent move the template's lines. The cost: if the agent deletes the template's marker line and
///   writes a new one, the count does not change.
/// - `last_line`: the last non-blank line is the marker. If the template already ends with the marker, the
///   body must contain more of them than the template.
/// - `anywhere`: the body contains the marker.
///
/// A blocked marker must be alone on a line outside fences, and must not come from the template.
pub fn scan(body: &str, template_body: &str, markers: Markers<'_>) -> Scan {
    let marker = markers.complete.map(str::trim).filter(|marker| !marker.is_empty());
    let complete = marker.is_some_and(|marker| match markers.how {
        MarkerMatch::Line => is_added(body, template_body, |line| line == marker),
        MarkerMatch::LastLine => is_last(body, template_body, marker),
        MarkerMatch::Anywhere => mentions(body, marker),
    });
    Scan { complete, blocked: find_blocked(body, template_body, markers.blocked) }
}

fn is_added(body: &str, template: &str, is_mark: impl Fn(&str) -> bool) -> bool {
    let count = |text| open_lines(text).filter(|line| is_mark(line)).count();
    count(body) > count(template)
}

fn is_last(body: &str, template: &str, marker: &str) -> bool {
    if last_line(body) != Some(marker) {
        return false;
    }
    let count = |text: &str| text.lines().filter(|line| line.trim() == marker).count();
    last_line(template) != Some(marker) || count(body) > count(template)
}

fn last_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).rfind(|line| !line.is_empty())
}

/// Returns true if the body contains the marker. A frontmatter without its closing line is part of the body,
/// so its own `completion_marker:` line does not count.
fn mentions(body: &str, marker: &str) -> bool {
    if !body.contains(marker) {
        return false;
    }
    let is_ours = |line: &&str| line.starts_with("completion_marker:");
    let rest: Vec<&str> = body.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
    rest.concat().contains(marker)
}

/// Returns the reason of the last blocked marker that is not from the template.
fn find_blocked(body: &str, template: &str, start: &str) -> Option<String> {
    // Workflows may write the same start as `<!-- X: reason -->` or `<!-- X -->`.
    let start = start.split(':').next().unwrap_or_default().trim().trim_end_matches("-->").trim_end();
    if start.is_empty() {
        return None;
    }
    let mut brought = BTreeMap::new();
    for line in open_lines(template) {
        *brought.entry(line).or_insert(0_usize) += 1;
    }
    let mut found = None;
    for line in open_lines(body) {
        let Some(reason) = blocked_reason(line, start) else { continue };
        match brought.get_mut(line) {
            Some(left) if *left > 0 => *left -= 1,
            _ => found = Some(reason.to_owned()),
        }
    }
    found
}

/// Returns the reason in a blocked line: `START: reason -->` or `START -->`. The arrow is required only if
/// the start opens a comment.
fn blocked_reason<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(start)?;
    let rest = if start.starts_with("<!--") { rest.strip_suffix("-->")? } else { rest };
    match rest.trim_start().strip_prefix(':') {
        Some(reason) => Some(reason.trim()),
        None => rest.trim().is_empty().then_some(""),
    }
}

#[cfg(test)]
mod tests;
