//! The state file of the ralph-loop plugin, `.claude/ralph-loop.local.md`, for loops in
//! `plugin` mode.
//!
//! The plugin's Stop hook is a shell script that reads it with `sed`, `grep` and `awk`, not as
//! YAML, and the file is written for those: it lets the agent stop once `iteration >=
//! max_iterations`, so `iteration` starts at 1 for `max_iterations` to mean turns; it strips
//! the quotes around the promise and unescapes nothing; it takes every line `---` as a border.
//! When the file is written and removed is the runtime's.

use windlass_core::time::Moment;

use crate::tracker::{fold, split, value, yaml};

/// What the plugin is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopState<'a> {
    /// Whether the loop is on.
    pub active: bool,
    /// The turn that is under way; the first is [`LoopState::FIRST`].
    pub iteration: u32,
    /// Turns in total; 0 is unlimited.
    pub max_iterations: u32,
    /// What the agent must say in `<promise>` tags.
    pub completion_promise: Option<&'a str>,
    /// The only session that loops; without it the first session to stop does.
    pub session_id: Option<&'a str>,
    /// When the run started.
    pub started_at: Moment,
    /// What each turn is told.
    pub prompt: &'a str,
}

impl LoopState<'_> {
    /// The number of the first turn.
    pub const FIRST: u32 = 1;
}

/// What the plugin has made of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginProgress {
    /// The turn that is under way.
    pub iteration: u32,
    /// Whether the loop is on.
    pub active: bool,
}

/// The file's text.
pub fn render(state: &LoopState<'_>) -> String {
    let LoopState { active, iteration, max_iterations, completion_promise, session_id, started_at, prompt } =
        state;
    let promise = completion_promise
        .map_or_else(|| "null".to_owned(), |promise| format!("\"{}\"", on_one_line(promise)));
    let session = session_id.map(|id| format!("session_id: {}\n", on_one_line(id))).unwrap_or_default();
    let started_at = yaml::quote(&yaml::moment(*started_at));
    let prompt = guarded(prompt);
    format!(
        "---\nactive: {active}\niteration: {iteration}\nmax_iterations: {max_iterations}\n\
         completion_promise: {promise}\n{session}started_at: {started_at}\n---\n{prompt}\n"
    )
}

/// Reads back where the plugin is; `None` when the file says nothing that can be read.
pub fn parse(text: &str) -> Option<PluginProgress> {
    let frontmatter = split(text).0?;
    let iteration = value(frontmatter, "iteration")?.parse().ok()?;
    // The hook itself goes by the file being there.
    let active = value(frontmatter, "active") != Some("false");
    Some(PluginProgress { iteration, active })
}

/// Whether a run wrote this file: by the session it names, and by its start where it names none.
pub fn is_of(text: &str, session: Option<&str>, started_at: Moment) -> bool {
    let Some(frontmatter) = split(text).0 else { return false };
    match (value(frontmatter, "session_id"), session) {
        (Some(named), Some(session)) => named == session,
        _ => {
            value(frontmatter, "started_at").map(|at| at.trim_matches('"')) == Some(&yaml::moment(started_at))
        }
    }
}

/// The hook folds the white space of what the agent says and compares with what stands here,
/// character by character: so it is folded here, and not escaped.
fn on_one_line(text: &str) -> String {
    fold(&text.replace(char::is_control, " "))
}

/// A prompt no line of which the hook takes for its own: a border would be dropped and what
/// follows read as frontmatter, an `iteration:` would be counted up. One space prevents both.
fn guarded(prompt: &str) -> String {
    let lines: Vec<String> = prompt.split('\n').map(guarded_line).collect();
    lines.join("\n")
}

fn guarded_line(line: &str) -> String {
    if line == "---" {
        return "--- ".to_owned();
    }
    if line.starts_with("iteration: ") || line.starts_with("session_id: ") {
        return format!(" {line}");
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> LoopState<'static> {
        LoopState {
            active: true,
            iteration: LoopState::FIRST,
            max_iterations: 15,
            completion_promise: Some("E2E COMPLETE"),
            session_id: None,
            started_at: Moment(1_771_756_200_000),
            prompt: "Use /add-e2e-tests login flow on xyz.com",
        }
    }

    #[test]
    fn the_file_is_as_in_document_000_but_counts_turns() {
        let expected = "---
active: true
iteration: 1
max_iterations: 15
completion_promise: \"E2E COMPLETE\"
started_at: \"2026-02-22T10:30:00Z\"
---
Use /add-e2e-tests login flow on xyz.com
";
        assert_eq!(render(&example()), expected);
        assert_eq!(parse(expected), Some(PluginProgress { iteration: 1, active: true }));
    }

    #[test]
    fn without_a_promise_it_says_null_and_a_session_may_be_named() {
        let state = LoopState { completion_promise: None, session_id: Some("0b5c"), ..example() };
        assert!(render(&state).contains("\ncompletion_promise: null\nsession_id: 0b5c\nstarted_at:"));
    }

    #[test]
    fn a_promise_is_written_as_the_hook_compares_it() {
        let state = LoopState { completion_promise: Some(" say \"it\"\n\\ now "), ..example() };
        assert!(render(&state).contains("\ncompletion_promise: \"say \"it\" \\ now\"\n"));
    }

    #[test]
    fn no_line_of_the_prompt_is_taken_for_the_hooks_own() {
        let state = LoopState { prompt: "do\n---\niteration: 9\nsession_id: x\n---\n--- x", ..example() };
        let text = render(&state);
        assert!(text.ends_with("\n---\ndo\n--- \n iteration: 9\n session_id: x\n--- \n--- x\n"), "{text}");
        assert_eq!(parse(&text), Some(PluginProgress { iteration: 1, active: true }));
    }

    #[test]
    fn a_file_is_of_the_run_whose_session_or_start_it_names() {
        let (state, later) = (LoopState { session_id: Some("s1"), ..example() }, Moment(1_771_756_201_000));
        let text = render(&state);
        assert!(is_of(&text, Some("s1"), later));
        assert!(!is_of(&text, Some("s2"), state.started_at));
        assert!(is_of(&text, None, state.started_at) && !is_of(&text, None, later));
        let unnamed = render(&example());
        assert!(is_of(&unnamed, Some("s1"), state.started_at) && !is_of(&unnamed, Some("s1"), later));
        assert!(!is_of("An old prompt", None, state.started_at));
    }

    #[test]
    fn what_cannot_be_read_is_nothing() {
        for text in ["", "iteration: 1", "---\nactive: true\n---\n", "---\niteration: many\n---\nx"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert_eq!(
            parse("---\niteration: 3\nactive: false\n---\n"),
            Some(PluginProgress { iteration: 3, active: false })
        );
    }
}
