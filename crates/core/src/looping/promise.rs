//! Finds an agent's promise in its final message. Ignores code.

use super::prose::open_text;

const OPEN: &str = "<promise>";
const CLOSE: &str = "</promise>";

/// Returns true if a message contains `<promise>TEXT</promise>` with this text. Ignores differences in white
/// space.
pub fn find_promise(message: &str, promise: &str) -> bool {
    let promise = fold(promise);
    if promise.is_empty() {
        return false;
    }
    // Each closing tag is paired with the nearest opening tag before it, so that an opening tag in prose
    // does no harm. No tag closes the last piece.
    let message = open_text(message);
    let mut pieces: Vec<&str> = message.split(CLOSE).collect();
    pieces.pop();
    pieces.into_iter().filter_map(|piece| piece.rsplit_once(OPEN)).any(|(_, text)| fold(text) == promise)
}

/// Trims a text and reduces white space to single spaces.
pub fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_found_wherever_it_stands() {
        let messages = [
            "<promise>E2E COMPLETE</promise>",
            "All done.\n\n<promise>\n  E2E\n\tCOMPLETE </promise>\nbye",
            "<promise>not this</promise> <promise>E2E COMPLETE</promise>",
            "I end with a <promise> tag: <promise>E2E COMPLETE</promise>",
            "**<promise>E2E COMPLETE</promise>**",
            "I do not say `<promise>` but <promise>E2E COMPLETE</promise>",
        ];
        for message in messages {
            assert!(find_promise(message, " E2E  COMPLETE"), "{message}");
        }
    }

    #[test]
    fn what_is_not_promised_is_not_found() {
        let messages = [
            "E2E COMPLETE",
            "<promise>E2E COMPLETE",
            "E2E COMPLETE</promise>",
            "<promise>E2E COMPLETE!</promise>",
            "<promise>e2e complete</promise>",
            "<promise>E2E</promise> COMPLETE</promise>",
            "</promise>E2E COMPLETE<promise>",
            "I shall say `<promise>E2E COMPLETE</promise>` at the end",
            "```\n<promise>E2E COMPLETE</promise>\n```",
            "<promise>`E2E COMPLETE`</promise>",
            "<promise>\n```\nE2E COMPLETE\n```\n</promise>",
            "<!-- <promise>E2E COMPLETE</promise> -->",
            "    <promise>E2E COMPLETE</promise>",
            "",
        ];
        for message in messages {
            assert!(!find_promise(message, "E2E COMPLETE"), "{message}");
        }
        assert!(!find_promise("<promise> </promise>", " "));
    }
}
