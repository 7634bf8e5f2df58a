//! Finds the status that an agent claims for its task: `<status>passing</status>`.
//!
//! Ignores code blocks. `core::tasks` decides whether to believe the claim.

use windlass_core::looping::prose::{open_lines, plain};
use windlass_core::tasks::TaskStatus;

const OPEN: &str = "<status>";
const CLOSE: &str = "</status>";

/// Returns the status from the last line outside code that consists only of
/// `<status>WORD</status>`, perhaps in bold. A tag inside a sentence does not count. If that line
/// has an unknown word, returns `None` rather than an earlier claim: the agent did not end with
/// that one.
pub fn claimed(message: &str) -> Option<TaskStatus> {
    TaskStatus::parse(open_lines(message).filter_map(word).last()?)
}

/// Returns the word if the tag is alone on its line.
fn word(line: &str) -> Option<&str> {
    let word = plain(line).strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    (!word.contains(['<', '`'])).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts_that_stands_alone_on_its_line() {
        let cases = [
            ("<status>passing</status>", TaskStatus::Passing),
            ("All green.\n\n<status> Done </status>\n", TaskStatus::Passing),
            ("<status>failing</status>\nat first, then\n<status>passing</status>", TaskStatus::Passing),
            ("<status>passing</status>\nNo:\n  <status>failed</status>", TaskStatus::Failing),
            ("<status> in-progress </status>", TaskStatus::InProgress),
            ("**<status>passing</status>**", TaskStatus::Passing),
            ("_<status>passing</status>_", TaskStatus::Passing),
            ("<status>passing</status>\nActually it is not done.", TaskStatus::Passing),
            ("<status>failing</status>\nActually it is done.", TaskStatus::Failing),
            ("**<status>passing</status>**\n\n`<status>failing</status>`", TaskStatus::Passing),
            ("```\n<status>failing</status>\n```\n<status>passing</status>", TaskStatus::Passing),
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
            "`<status>passing</status>`",
            "**`<status>passing</status>`**",
            "`\n<status>passing</status>\n`",
            "\\<status>passing</status>",
            "&lt;status&gt;passing&lt;/status&gt;",
            "> <status>passing</status>",
            "- ```\n  <status>passing</status>\n  ```",
            "<pre>\n<status>passing</status>\n</pre>",
            "<!--\n<status>passing</status>\n-->",
            "<!-- <status>passing</status> -->",
            "```xml\n<status>passing</status>\n```",
            "~~~\n<status>passing</status>",
            "    <status>passing</status>",
            "<status>almost</status>, so no `<status>passing</status>`",
            "Not done: I must not say <status>passing</status> yet.",
            "<status>passing</status> is what I would like to say.",
            "<status>failing</status> <status>passing</status>",
            "<status>\npassing\n</status>",
            "I do not write `<status>passing</status>`, since a test is red.",
        ];
        for message in messages {
            assert_eq!(claimed(message), None, "{message}");
        }
    }
}
