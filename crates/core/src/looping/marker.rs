//! Finds the marks an agent leaves in the tracker: complete, or blocked and why.
//!
//! A mark quoted in prose, shown in a code fence or brought by the template is not the agent's
//! word. Where in doubt a mark is not seen: one more turn costs less than a false end.

use std::collections::BTreeMap;

use super::MarkerMatch;
use super::prose::open_lines;

/// What to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Markers<'a> {
    /// The completion marker; none where only a promise completes.
    pub complete: Option<&'a str>,
    /// How a blocked marker starts; see [`Markers::DEFAULT_BLOCKED`].
    pub blocked: &'a str,
    /// Where the completion marker must stand.
    pub how: MarkerMatch,
}

impl Markers<'_> {
    /// `<!-- WORKFLOW_BLOCKED: reason -->`, or without a reason.
    pub const DEFAULT_BLOCKED: &'static str = "<!-- WORKFLOW_BLOCKED";
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scan {
    /// The completion marker stands where it must.
    pub complete: bool,
    /// The agent says it is blocked, for this reason; empty when it gave none.
    pub blocked: Option<String>,
}

/// Looks for the marks in a tracker's body; `template_body` is what the body was at first.
///
/// - `line`: the marker alone on a line outside code fences, and more often so than in the
///   template. Counting, and not comparing places, lets the agent move the template's lines
///   about; the price is that an agent that deletes the template's marker line and writes one
///   of its own has changed nothing.
/// - `last_line`: the last line that is not blank is the marker. A template that ends with it
///   needs one more, by the same count.
/// - `anywhere`: the marker is part of the body.
///
/// A blocked mark is always a line of its own outside fences, by the same count.
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

/// Whether a marker is part of the body. A frontmatter that lost its closing line is part of
/// the body too, and its own mention of the marker is nobody's word.
fn mentions(body: &str, marker: &str) -> bool {
    if !body.contains(marker) {
        return false;
    }
    let is_ours = |line: &&str| line.starts_with("completion_marker:");
    let rest: Vec<&str> = body.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
    rest.concat().contains(marker)
}

/// The last blocked line that the template did not bring.
fn find_blocked(body: &str, template: &str, start: &str) -> Option<String> {
    // `<!-- X: reason -->` and `<!-- X -->` are how people write the same start.
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

/// The reason in a blocked line: `START: reason -->`, `START -->`, and without the arrow where
/// the start is no comment.
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
