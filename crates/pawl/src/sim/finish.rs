//! Plays the step `finish`: the agent reports that its work is done, in every form that the prompt asks for.

use windlass_core::graph::schema::example_in_round;
use windlass_core::looping::completion::asked_for;

use super::play::{PlayCut, Player};
use super::script::TrackerEdit;

impl Player<'_> {
    /// Says a text and reports that the work is done: a marker in the tracker, a promise, a signal, the status
    /// of a task, or a value that fits the schema.
    pub(super) fn finish_work(&mut self, text: &str) -> Result<(), PlayCut> {
        let forms = asked_for(&self.words.prompt);
        if let Some(marker) = forms.marker.filter(|marker| !self.is_marked(marker)) {
            self.edit_tracker(&TrackerEdit::Append(marker))?;
        }
        let text = self.words.fill(text);
        // The prompt has the whole schema. The CLI's argument may lack parts that the CLI does not support.
        let schema = forms.schema.and_then(|schema| serde_json::from_str(&schema).ok());
        let Some(schema) = schema.or_else(|| self.launch.schema.clone()) else {
            let parts: Vec<String> =
                std::iter::once(text).chain(forms.lines).filter(|part| !part.is_empty()).collect();
            return self.speak(parts.join("\n\n"));
        };
        let value = example_in_round(&schema, self.words.place.number());
        // Without a tool for the answer, the message must contain nothing else.
        if self.launch.schema.is_none() {
            return self.speak(value.to_string());
        }
        if !text.is_empty() {
            self.speak(text)?;
        }
        self.give(&value)
    }

    /// Decides whether an earlier turn has already written the marker. Another one would count as progress,
    /// and an agent without progress must be found stuck.
    fn is_marked(&self, marker: &str) -> bool {
        let Some(tracker) = self.words.tracker.as_ref().filter(|_| self.words.place.iteration > 1) else {
            return false;
        };
        let text = std::fs::read_to_string(tracker).unwrap_or_default();
        text.lines().map(str::trim).rfind(|line| !line.is_empty()) == Some(marker)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::looping::prompt::{schema_note, task_note};

    use super::super::play::PlayEnding;
    use super::super::rehearsal::{Played, RehearsedScript};

    /// Plays without a script.
    fn stub(prompt: &str, args: &[&str]) -> (RehearsedScript, Played) {
        let mut rehearsal = RehearsedScript::of(json!({})).prompt(prompt).with(args);
        rehearsal.env.retain(|(name, _)| name != "WINDLASS_SIM_SCRIPT");
        let played = rehearsal.play();
        assert_eq!((played.ending, played.err.as_str()), (PlayEnding::Exit(0), ""));
        (rehearsal, played)
    }

    #[test]
    fn an_agent_without_a_script_says_so_and_uses_no_tool() {
        let (_, played) = stub("Fix the parser.\nAll of it.", &[]);
        assert_eq!(
            played.result()["result"],
            "I am the simulated agent and change nothing. I was asked: Fix the parser."
        );
        assert_eq!(played.of_kind("user").len(), 0);
    }

    #[test]
    fn the_status_of_a_task_ends_the_message() {
        let (_, played) = stub(&format!("Fix it.\n\n{}", task_note()), &[]);
        let result = played.result();
        let said = result["result"].as_str().unwrap();
        assert!(said.ends_with("I was asked: Fix it.\n\n<status>passing</status>"), "{said}");
    }

    #[test]
    fn the_marker_is_written_once() {
        let rehearsal = RehearsedScript::of_steps(json!([{"finish": "Done."}]));
        let tracker = rehearsal.path("loop-tracker.md");
        std::fs::write(&tracker, "# Progress").unwrap();
        let path = tracker.display();
        let text = format!(
            "Fix it.\n\nthe tracker {path}\nwrite this marker alone on a line of the tracker:\nALL DONE\nor not"
        );
        let mut rehearsal = rehearsal.prompt(&text);
        assert_eq!(rehearsal.play().result()["result"], "Done.");
        assert_eq!(rehearsal.text("loop-tracker.md"), "# Progress\nALL DONE\n");
        // A second iteration that changes nothing leaves no trace of progress.
        rehearsal = rehearsal.env("WINDLASS_ITERATION", "2");
        rehearsal.play();
        assert_eq!(rehearsal.text("loop-tracker.md"), "# Progress\nALL DONE\n");
    }

    #[test]
    fn an_answer_fits_its_schema_and_changes_with_the_round() {
        let schema = r#"{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}"#;
        let (_, played) = stub("Is it good?", &["--json-schema", schema]);
        assert_eq!(played.result()["structured_output"], json!({"ok": true}));
        let rehearsal = RehearsedScript::of_steps(json!([{"finish": ""}])).with(&["--json-schema", schema]);
        let played = rehearsal.env("WINDLASS_NODE", "review@2").play();
        assert_eq!(played.result()["structured_output"], json!({"ok": false}));
    }

    #[test]
    fn an_answer_that_the_cli_has_no_tool_for_is_the_last_message() {
        let schema = r#"{"type":"array","items":{"const":"a"},"minItems":2}"#;
        let (_, played) = stub(&format!("List.\n\n{}", schema_note(schema)), &[]);
        assert_eq!(played.result()["result"], r#"["a","a"]"#);
        assert_eq!(played.of_kind("assistant").len(), 1, "nothing else is said");
    }
}
