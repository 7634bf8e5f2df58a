//! The tracker's frontmatter, which shows people the state of a loop without running Windlass.
//!
//! Windlass never decides by it, so edits by a person or an agent are harmless. An update changes
//! two values where it finds them and no other byte.

use windlass_core::time::Moment;

use super::yaml;

/// The frontmatter of a tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrackerFrontmatter<'a> {
    pub run: &'a str,
    /// The turns so far.
    pub iteration: u32,
    /// The most turns in total; 0 is unlimited.
    pub max_iterations: u32,
    /// The text that the agent writes when it is done.
    pub completion_marker: Option<&'a str>,
    pub active: bool,
    pub started_at: Moment,
}

const BOM: char = '\u{feff}';

/// Renders a new tracker. The body ends with a line break, so that an agent can append to it.
pub fn render(frontmatter: &TrackerFrontmatter<'_>, body: &str) -> String {
    let TrackerFrontmatter { run, iteration, max_iterations, completion_marker, active, started_at } =
        frontmatter;
    let marker = completion_marker.map_or_else(|| "null".to_owned(), yaml::quote);
    let started_at = yaml::quote(&yaml::moment(*started_at));
    let run = yaml::quote(run);
    let body = body.strip_prefix(BOM).unwrap_or(body);
    let end = if body.ends_with('\n') { "" } else { "\n" };
    format!(
        "---\niteration: {iteration}\nmax_iterations: {max_iterations}\ncompletion_marker: {marker}\n\
         active: {active}\nstarted_at: {started_at}\nrun: {run}\n---\n{body}{end}"
    )
}

/// Splits a tracker into the text between the `---` lines, if any, and the body.
pub fn split(text: &str) -> (Option<&str>, &str) {
    match parts(text) {
        Some((_, frontmatter, rest)) => (Some(frontmatter), after_first_line(rest)),
        None => (None, text),
    }
}

/// Changes the values of `iteration` and `active` in place and keeps every other byte: the body,
/// comments, line endings and added keys. Returns a text without frontmatter unchanged.
pub fn set_frontmatter(text: &str, iteration: u32, active: bool) -> String {
    let Some((head, frontmatter, rest)) = parts(text) else { return text.to_owned() };
    let mut changed = String::with_capacity(text.len() + 8);
    changed.push_str(head);
    for line in frontmatter.split_inclusive('\n') {
        let line = with_value(line, "iteration", &iteration.to_string());
        changed.push_str(&with_value(&line, "active", if active { "true" } else { "false" }));
    }
    changed.push_str(rest);
    changed
}

/// Returns the value of a key at the left margin, without its comment.
pub(crate) fn value<'a>(frontmatter: &'a str, key: &str) -> Option<&'a str> {
    frontmatter.lines().find_map(|line| located(line, key)).map(|(_, value, _)| value)
}

/// Splits a text into the opening line (with a byte order mark, if any), the frontmatter, and the
/// closing line with everything after it.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let opening = text.split_inclusive('\n').next()?;
    let fence = opening.strip_prefix(BOM).unwrap_or(opening);
    if !is_fence(fence) || !opening.ends_with('\n') {
        return None;
    }
    let inner = text.get(opening.len()..)?;
    let mut length = 0;
    for line in inner.split_inclusive('\n') {
        if is_fence(line) {
            return Some((opening, inner.get(..length)?, inner.get(length..)?));
        }
        length += line.len();
    }
    None
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

fn after_first_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// Splits a line `key: value # comment` into the parts before, in and after the value.
fn located<'a>(line: &'a str, key: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let after = line.strip_prefix(key)?.trim_start_matches([' ', '\t']).strip_prefix(':')?;
    let value = after.trim_start_matches([' ', '\t']);
    // In YAML, `key:value` is one word and not a key.
    if value.len() == after.len() && !value.trim_end().is_empty() {
        return None;
    }
    let before = line.len() - value.len();
    let uncommented = match value.find(" #") {
        Some(comment) => value.get(..comment)?,
        None if value.starts_with('#') => "",
        None => value,
    };
    let end = before + uncommented.trim_end().len();
    Some((line.get(..before)?, line.get(before..end)?, line.get(end..)?))
}

fn with_value(line: &str, key: &str, new: &str) -> String {
    match located(line, key) {
        Some((before, _, after)) => {
            let space = if before.ends_with(':') { " " } else { "" };
            let gap = if after.starts_with('#') { " " } else { "" };
            format!("{before}{space}{new}{gap}{after}")
        }
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> TrackerFrontmatter<'static> {
        TrackerFrontmatter {
            run: "loop-7f3a",
            iteration: 0,
            max_iterations: 15,
            completion_marker: Some("E2E_COMPLETE"),
            active: true,
            started_at: Moment(1_772_013_600_000),
        }
    }

    const TRACKER: &str = "---
iteration: 0
max_iterations: 15
completion_marker: \"E2E_COMPLETE\"
active: true
started_at: \"2026-02-25T10:00:00Z\"
run: \"loop-7f3a\"
---
# E2E Test Progress

_pending_
";

    #[test]
    fn a_new_tracker_is_as_in_document_001() {
        assert_eq!(render(&example(), "# E2E Test Progress\n\n_pending_"), TRACKER);
        let none = TrackerFrontmatter { completion_marker: None, ..example() };
        assert!(render(&none, "x\n").contains("\ncompletion_marker: null\n"));
        assert!(render(&none, "x\n").ends_with("---\nx\n"));
    }

    #[test]
    fn a_tracker_comes_apart_as_it_was_put_together() {
        let (frontmatter, body) = split(TRACKER);
        assert_eq!(body, "# E2E Test Progress\n\n_pending_\n");
        assert_eq!(value(frontmatter.unwrap(), "iteration"), Some("0"));
        assert_eq!(value(frontmatter.unwrap(), "started_at"), Some("\"2026-02-25T10:00:00Z\""));
    }

    #[test]
    fn what_has_no_frontmatter_is_all_body() {
        for text in [
            "",
            "# x\n",
            "---",
            "---\n",
            "---\nactive: true\nnever closed\n",
            "\n---\na: 1\n---\n",
            "----\na\n---\n",
        ] {
            assert_eq!(split(text), (None, text), "{text:?}");
            assert_eq!(set_frontmatter(text, 3, false), text, "{text:?}");
        }
    }

    #[test]
    fn split_finds_empty_and_odd_frontmatter() {
        let cases = [
            ("---\n---\nbody", Some(""), "body"),
            ("---\na: 1\n---", Some("a: 1\n"), ""),
            ("---  \r\na: 1\r\n--- \r\nbody\r\n", Some("a: 1\r\n"), "body\r\n"),
            ("\u{feff}---\na: 1\n---\nbody\n---\nmore", Some("a: 1\n"), "body\n---\nmore"),
        ];
        for (text, frontmatter, body) in cases {
            assert_eq!(split(text), (frontmatter, body), "{text:?}");
        }
    }

    #[test]
    fn an_update_changes_two_values_and_no_other_byte() {
        let expected =
            TRACKER.replace("iteration: 0", "iteration: 7").replace("active: true", "active: false");
        // `max_iterations: 15` holds no `iteration: 0`, so the replacement above is exact.
        assert_eq!(set_frontmatter(TRACKER, 7, false), expected);
    }

    #[test]
    fn an_update_survives_what_people_do_to_a_frontmatter() {
        let cases = [
            // line ends and byte order mark
            (
                "\u{feff}---\r\niteration: 1\r\nactive: true\r\n---\r\nx\r\n",
                "\u{feff}---\r\niteration: 2\r\nactive: false\r\n---\r\nx\r\n",
            ),
            // comments, spacing, quotes, foreign keys, order
            (
                "---\nactive:   yes # please\nnote: iteration: 5\niteration : \"4\"\n---\n",
                "---\nactive:   false # please\nnote: iteration: 5\niteration : 2\n---\n",
            ),
            // no value, not a number, only a comment
            ("---\niteration:\nactive: \n---\n", "---\niteration: 2\nactive: false\n---\n"),
            (
                "---\niteration: lots of them\nactive: # ?\n---\n",
                "---\niteration: 2\nactive: false # ?\n---\n",
            ),
            // indented or longer keys, and broken YAML, are somebody else's
            (
                "---\n  iteration: 1\nmax_iterations: 9\niterations: 1\n: [{\nactive:true\n---\n",
                "---\n  iteration: 1\nmax_iterations: 9\niterations: 1\n: [{\nactive:true\n---\n",
            ),
            // the body is the agent's
            ("---\na: 1\n---\niteration: 1\nactive: true\n", "---\na: 1\n---\niteration: 1\nactive: true\n"),
        ];
        for (text, expected) in cases {
            assert_eq!(set_frontmatter(text, 2, false), expected, "{text:?}");
        }
    }
}
