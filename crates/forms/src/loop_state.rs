//! The state file of the ralph-loop plugin, `.claude/ralph-loop.local.md`, for loops in `plugin`
//! mode.
//!
//! The plugin's Stop hook is a shell script that reads the file with `sed`, `grep` and `awk`, not
//! as YAML, so this module writes the file for those tools:
//! - The hook lets the agent stop once `iteration >= max_iterations`. So `iteration` starts at 1,
//!   and `max_iterations` is the number of turns.
//! - It strips the quotes around the promise and unescapes nothing.
//! - It treats every `---` line as a border.
//!
//! The runtime decides when to write and remove the file.

use windlass_core::time::Moment;

use crate::tracker::{fold, split, value, yaml};

/// The contents of the state file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopState<'a> {
    pub active: bool,
    /// The number of the current turn; the first is [`LoopState::FIRST`].
    pub iteration: u32,
    /// The most turns in total; 0 is unlimited.
    pub max_iterations: u32,
    /// The text that the agent must write in `<promise>` tags to complete the loop.
    pub completion_promise: Option<&'a str>,
    /// The only session that loops. Without it, the first session that stops loops.
    pub session_id: Option<&'a str>,
    pub started_at: Moment,
    /// The prompt of each turn.
    pub prompt: &'a str,
}

impl LoopState<'_> {
    pub const FIRST: u32 = 1;
}

/// The plugin's progress, as its file records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginProgress {
    /// The number of the current turn.
    pub iteration: u32,
    pub active: bool,
}

/// Renders the text of the state file.
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

/// Reads back the plugin's progress; `None` if the file has no readable iteration.
pub fn parse(text: &str) -> Option<PluginProgress> {
    let frontmatter = split(text).0?;
    let iteration = value(frontmatter, "iteration")?.parse().ok()?;
    // The hook checks only that the file exists, so anything but `false` counts as active.
    let active = value(frontmatter, "active") != Some("false");
    Some(PluginProgress { iteration, active })
}

/// Decides whether a run wrote this file: by its session if the file names one, otherwise by its
/// start.
pub fn is_of(text: &str, session: Option<&str>, started_at: Moment) -> bool {
    let Some(frontmatter) = split(text).0 else { return false };
    match (value(frontmatter, "session_id"), session) {
        (Some(named), Some(session)) => named == session,
        _ => {
            value(frontmatter, "started_at").map(|at| at.trim_matches('"')) == Some(&yaml::moment(started_at))
        }
    }
}

/// Folds white space and escapes nothing: the hook folds the agent's text the same way and then
/// compares character by character.
fn on_one_line(text: &str) -> String {
    fold(&text.replace(char::is_control, " "))
}

/// Changes the prompt lines that the hook would misread: it would treat `---` as a border and read
/// the next lines as frontmatter, and would increment an `iteration:`. One space prevents both.
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
