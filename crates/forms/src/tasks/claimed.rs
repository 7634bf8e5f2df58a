//! Finds what an agent says of its task at the end of its work: `<status>passing</status>`.
//!
//! What is shown as code is not its word. Whether its word is believed is `core::tasks`' to say.

use windlass_core::tasks::Status;

use crate::tracker::open_lines;

const OPEN: &str = "<status>";
const CLOSE: &str = "</status>";

/// How far a task is by the last `<status>WORD</status>` of a message, outside code. A last one
/// that means nothing says nothing: an earlier one is not what the agent ended with.
pub fn claimed(message: &str) -> Option<Status> {
    let text = open_lines(message).map(spoken).collect::<Vec<_>>().join("\n");
    // A closing tag belongs to the nearest opening one before it: what the message says of the
    // tag itself swallows nothing. The part after the last closing tag has none.
    let mut pieces: Vec<&str> = text.split(CLOSE).collect();
    pieces.pop();
    let (_, word) = pieces.into_iter().rev().find_map(|piece| piece.rsplit_once(OPEN))?;
    Status::parse(word)
}

/// A line without the code in it: there the tag is only mentioned. A line that is nothing but
/// the tag is meant, however it is set.
fn spoken(line: &str) -> String {
    let bare = line.trim_matches(['`', '*', '_', ' ']);
    if bare.starts_with(OPEN) && bare.ends_with(CLOSE) && !bare.contains('`') {
        return bare.to_owned();
    }
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts_wherever_it_stands() {
        let cases = [
            ("<status>passing</status>", Status::Passing),
            ("All green.\n\n<status> Done </status>\n", Status::Passing),
            ("<status>failing</status> at first, then\n<status>passing</status>", Status::Passing),
            ("<status>passing</status>\nNo: <status>failed</status>", Status::Failing),
            ("<status>\n  in-progress\n</status>", Status::InProgress),
            ("It is one of <status> tags: <status>skip</status>.", Status::Skipped),
            ("**`<status>passing</status>`**", Status::Passing),
            ("```\n<status>failing</status>\n```\n<status>passing</status>", Status::Passing),
        ];
        for (message, status) in cases {
            assert_eq!(claimed(message), Some(status), "{message}");
        }
    }

    #[test]
    fn what_is_only_mentioned_is_no_word() {
        let messages = [
            "",
            "passing",
            "status: passing",
            "<status>passing",
            "passing</status>",
            "</status>passing<status>",
            "<status></status>",
            "<status>not done</status>",
            "<status>passing</status>\n<status>almost</status>",
            "```xml\n<status>passing</status>\n```",
            "~~~\n<status>passing</status>",
            "    <status>passing</status>",
            "<status>almost</status>, so no `<status>passing</status>`",
            "I do not write `<status>passing</status>`, since a test is red.",
        ];
        for message in messages {
            assert_eq!(claimed(message), None, "{message}");
        }
    }
}
