//! Finds in a prompt how the agent is to report that its work is done: the reverse of
//! [`prompt`](super::prompt).
//!
//! The simulated agent and rehearsals use it. A run never does, because it knows the rules themselves.

use super::prompt::{END_WITH, FIT_SCHEMA, SAY, WRITE_MARKER};

const OPEN: &str = "<promise>";
const CLOSE: &str = "</promise>";

/// The forms of completion that a prompt asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CompletionForms {
    /// The marker to write into the tracker.
    pub marker: Option<String>,
    /// The lines to end the last message with: a promise, a signal, the status of a task.
    pub lines: Vec<String>,
    /// The JSON Schema of an answer that is a value.
    pub schema: Option<String>,
}

/// Returns the forms of completion that a prompt asks for. The notes of the loop are at the end of a
/// prompt, so the last marker, promise and schema count.
pub fn asked_for(prompt: &str) -> CompletionForms {
    let marker = prompt.rsplit_once(WRITE_MARKER).and_then(|(_, rest)| first_line(rest));
    let promise = prompt.rsplit_once(&format!("{SAY}{OPEN}")).and_then(|(_, rest)| rest.split_once(CLOSE));
    let promise = promise.map(|(text, _)| format!("{OPEN}{text}{CLOSE}"));
    let mut lines: Vec<String> = promise.into_iter().collect();
    for line in prompt.split(END_WITH).skip(1).filter_map(first_line) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let schema = prompt.rsplit_once(FIT_SCHEMA).and_then(|(_, rest)| first_line(rest));
    CompletionForms { marker, lines, schema }
}

fn first_line(text: &str) -> Option<String> {
    text.lines().next().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::{DEFAULT_CONTINUE, LoopMode, LoopRules, MarkerMatch, prompt};
    use super::*;

    fn rules() -> LoopRules {
        LoopRules {
            prompt: "do it".into(),
            mode: LoopMode::Fresh,
            marker: None,
            marker_match: MarkerMatch::Line,
            promise: None,
            signal: None,
            blocked_marker: None,
            max_iterations: 3,
            continue_message: DEFAULT_CONTINUE.into(),
            tracker_body: String::new(),
            tracker_path: Some("/w/loop-tracker.md".into()),
            stuck_after: 0,
        }
    }

    fn forms(marker: Option<&str>, lines: &[&str]) -> CompletionForms {
        CompletionForms {
            marker: marker.map(str::to_owned),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            schema: None,
        }
    }

    #[test]
    fn every_form_is_found_in_every_prompt_of_a_loop() {
        let by_marker = LoopRules { marker: Some("<!-- DONE -->".into()), ..rules() };
        let by_promise = LoopRules { promise: Some("ALL DONE".into()), ..rules() };
        let by_both = LoopRules { promise: Some("ALL DONE".into()), ..by_marker.clone() };
        let by_signal = LoopRules { signal: Some("SIGNAL".into()), tracker_path: None, ..rules() };
        let by_plugin = LoopRules { tracker_path: None, mode: LoopMode::Plugin, ..by_promise.clone() };
        let promise = "<promise>ALL DONE</promise>";
        let cases = [
            (by_marker, forms(Some("<!-- DONE -->"), &[])),
            (by_promise, forms(None, &[promise])),
            (by_both, forms(Some("<!-- DONE -->"), &[promise])),
            (by_signal, forms(None, &["SIGNAL"])),
            (by_plugin, forms(None, &[promise])),
        ];
        for (rules, expected) in cases {
            let again = prompt::opening(&rules, 2, Some("a check fails"));
            let prompts = [
                prompt::opening(&rules, 1, None),
                again,
                prompt::continuing(&rules, None),
                prompt::after_interruption(Some(&rules), ""),
            ];
            for text in prompts {
                assert_eq!(asked_for(&text), expected, "{text}");
            }
        }
    }

    #[test]
    fn a_task_and_a_signal_are_both_reported() {
        let text = format!("do it\n\n{}\n\n{}", prompt::task_note(), prompt::signal_note("SIGNAL"));
        assert_eq!(asked_for(&text), forms(None, &["<status>passing</status>", "SIGNAL"]));
    }

    #[test]
    fn the_schema_of_an_answer_is_found() {
        let text = format!("do it\n\n{}", prompt::schema_note(r#"{"type":"array"}"#));
        assert_eq!(asked_for(&text).schema.as_deref(), Some(r#"{"type":"array"}"#));
    }

    #[test]
    fn a_prompt_without_a_loop_asks_for_nothing() {
        assert_eq!(asked_for("say <promise> and write"), CompletionForms::default());
    }

    #[test]
    fn an_interrupted_session_is_asked_for_the_same_answer_again() {
        for note in
            [prompt::task_note(), prompt::signal_note("SIGNAL"), prompt::schema_note(r#"{"type":"array"}"#)]
        {
            let text = format!("do it\n\n{note}");
            assert_eq!(asked_for(&prompt::after_interruption(None, &text)), asked_for(&text), "{note}");
        }
        assert_eq!(asked_for(&prompt::after_interruption(None, "do it")), CompletionForms::default());
    }
}
