//! Checks whether a loop's markers, signal and promise can ever be recognised.
//!
//! Each is written as the agent would write it and passed to the function that searches for it later. If
//! that function does not find it, the loop could never end.

use super::MarkerMatch;
use super::marker::{Markers, scan};
use super::promise::find_promise;
use super::verdict::is_signalled;

/// The hint for a text that can never be recognised.
pub const HINT: &str = "use plain words, such as `ALL DONE`";

/// Explains why a signal can never be recognised, if that is the case.
pub fn signal(signal: &str) -> Option<&'static str> {
    let is_heard = is_signalled(&format!("All is done.\n\n{signal}\n"), signal);
    (!is_heard).then_some(
        "no agent can say this signal: alone on a line, the text is code, a quotation or not one line",
    )
}

/// Explains why a promise can never be recognised, if that is the case.
pub fn promise(promise: &str) -> Option<&'static str> {
    let is_found = find_promise(&format!("All is done.\n\n<promise>{promise}</promise>\n"), promise);
    (!is_found)
        .then_some("no agent can keep this promise: inside its tags, the text is code, a comment or a tag")
}

/// Explains why a marker can never be found in a tracker with this initial body, if that is the case.
pub fn marker(marker: &str, how: MarkerMatch, tracker: &str) -> Option<&'static str> {
    let markers = Markers { complete: Some(marker), blocked: "", how };
    is_in_none(marker, tracker, |body| scan(body, tracker, markers).complete).then_some(
        "no agent can leave this marker: alone on a line, the text is code, a quotation or not one line",
    )
}

/// Explains why a blocked marker can never be found in a tracker with this initial body, if that is the
/// case.
pub fn blocked(blocked: &str, tracker: &str) -> Option<&'static str> {
    let markers = Markers { complete: None, blocked, how: MarkerMatch::Line };
    let is_found = |body: &str| scan(body, tracker, markers).blocked.is_some();
    // An agent closes a comment even if the marker does not.
    let written = [blocked.to_owned(), format!("{blocked} -->")];
    let is_lost = written.iter().all(|written| is_in_none(written, tracker, is_found));
    is_lost.then_some(
        "no agent can leave this marker: alone on a line, the text is code, a quotation or not one line",
    )
}

/// Returns true if a marker is not found after the initial body, before it, or in place of it.
fn is_in_none(mark: &str, tracker: &str, is_found: impl Fn(&str) -> bool) -> bool {
    let bodies = [format!("{tracker}\n\n{mark}\n"), format!("{mark}\n\n{tracker}"), format!("{mark}\n")];
    !bodies.iter().any(|body| is_found(body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looping::{BLOCKED_MARKER, DEFAULT_MARKER, DEFAULT_TRACKER};

    #[test]
    fn plain_words_are_read_and_so_are_the_usual_marks() {
        for text in ["DONE", "ALL DONE", " DONE ", "**DONE**", "<done/>", "- [x] all", "`x` is done", "100 %"]
        {
            assert_eq!(signal(text), None, "{text}");
            assert_eq!(marker(text, MarkerMatch::Line, DEFAULT_TRACKER), None, "{text}");
        }
        for text in ["DONE", "ALL  DONE", "a\nb", "1 < 2"] {
            assert_eq!(promise(text), None, "{text}");
        }
        for how in [MarkerMatch::Line, MarkerMatch::LastLine, MarkerMatch::Anywhere] {
            assert_eq!(marker(DEFAULT_MARKER, how, DEFAULT_TRACKER), None);
        }
        for text in [BLOCKED_MARKER, Markers::DEFAULT_BLOCKED, "BLOCKED", "STUCK: why"] {
            assert_eq!(blocked(text, DEFAULT_TRACKER), None, "{text}");
        }
    }

    #[test]
    fn what_the_reader_takes_for_no_word_of_the_agent_is_refused() {
        let never =
            ["", " ", "> DONE", "`DONE`", "``DONE``", "```\nDONE\n```", "```", "    DONE", "\tDONE", "a\nb"];
        for text in never {
            assert!(signal(text).is_some(), "{text:?}");
            assert!(marker(text, MarkerMatch::Line, DEFAULT_TRACKER).is_some(), "{text:?}");
        }
        for text in ["", " ", "`a`", "a `b` c", "a</promise>b", "a <promise> b", "<!-- a -->", "</promise>"] {
            assert!(promise(text).is_some(), "{text:?}");
        }
        for text in ["", "> BLOCKED", "`BLOCKED`", "    BLOCKED"] {
            assert!(blocked(text, DEFAULT_TRACKER).is_some(), "{text:?}");
        }
    }

    #[test]
    fn a_marker_anywhere_may_be_code_and_one_in_the_tracker_needs_one_more() {
        assert_eq!(marker("`DONE`", MarkerMatch::Anywhere, DEFAULT_TRACKER), None);
        assert_eq!(marker("DONE", MarkerMatch::Line, "Write this at the end:\nDONE\n"), None);
        assert_eq!(marker("DONE", MarkerMatch::Line, "```\nnever closed"), None, "it may stand before");
    }
}
