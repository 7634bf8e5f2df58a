//! Sends the events of an answer as a stream, which may end too early or come to a halt.

use std::io::{self, Write};

use serde_json::Value;

use super::http;
use super::turn::StreamBreak;
use super::wire::WireFormat;

/// The result of sending an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Whole,
    Cut,
    /// The rest never comes, but the connection is open.
    Stalled,
}

/// Streams events up to the break.
pub(super) fn stream(
    out: &mut impl Write,
    format: &dyn WireFormat,
    events: &[Value],
    breaks: Option<StreamBreak>,
) -> io::Result<Sent> {
    let last = events.len().saturating_sub(1);
    let (limit, sent) = match breaks {
        None => (events.len(), Sent::Whole),
        Some(StreamBreak::Cut(after)) => (after.min(last), Sent::Cut),
        Some(StreamBreak::Stall(after)) => (after.min(last), Sent::Stalled),
    };
    http::write_stream_head(out)?;
    for event in events.iter().take(limit) {
        http::write_chunk(out, format.frame(event).as_bytes())?;
    }
    if sent == Sent::Whole {
        http::write_chunk(out, format.closing().as_bytes())?;
        http::end_chunks(out)?;
    }
    Ok(sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::WireApi;
    use serde_json::json;

    fn sent(breaks: Option<StreamBreak>) -> (Sent, String) {
        let events = [json!({"type": "a"}), json!({"type": "b"}), json!({"type": "c"})];
        let mut wire = Vec::new();
        let sent = stream(&mut wire, WireApi::Messages.format(), &events, breaks).unwrap();
        (sent, String::from_utf8(wire).unwrap())
    }

    #[test]
    fn a_whole_stream_has_an_end() {
        let (sent, wire) = sent(None);
        assert_eq!((sent, wire.matches("event: ").count()), (Sent::Whole, 3));
        assert!(wire.ends_with("\r\n0\r\n\r\n"), "{wire}");
    }

    #[test]
    fn a_broken_stream_has_no_end_and_misses_at_least_the_last_event() {
        for (breaks, expected) in [
            (StreamBreak::Cut(1), (Sent::Cut, 1)),
            (StreamBreak::Cut(9), (Sent::Cut, 2)),
            (StreamBreak::Stall(usize::MAX), (Sent::Stalled, 2)),
        ] {
            let (sent, wire) = sent(Some(breaks));
            assert_eq!((sent, wire.matches("event: ").count()), expected);
            assert!(!wire.contains("\r\n0\r\n"), "{wire}");
        }
    }
}
