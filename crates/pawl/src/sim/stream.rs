//! Writes the stream of events to standard output: one line and one write for each.
//!
//! Keeps the ids, the open message and the token counts. `events` builds the events, `play` decides when they
//! are due.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::events::{self, put};
use super::plain::{self, Wire};
use super::script::ScriptUsage;

/// The tokens of one model request, if the script does not set them.
const REQUEST: ScriptUsage = ScriptUsage {
    input_tokens: 100,
    output_tokens: 20,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
};
const REQUEST_USD: f64 = 0.0008;

/// The usage so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct UsageTally {
    pub(super) usage: ScriptUsage,
    pub(super) cost_usd: f64,
    pub(super) requests: u64,
}

impl UsageTally {
    fn add(&mut self, usage: ScriptUsage, cost_usd: f64) {
        self.usage.input_tokens += usage.input_tokens;
        self.usage.output_tokens += usage.output_tokens;
        self.usage.cache_read_input_tokens += usage.cache_read_input_tokens;
        self.usage.cache_creation_input_tokens += usage.cache_creation_input_tokens;
        self.cost_usd += cost_usd;
    }
}

/// The open message: the answer to one model request. Each of its blocks is a separate event.
struct StreamMessage {
    id: String,
    request: String,
    usage: ScriptUsage,
}

/// The usage and cost of the current turn.
#[derive(Default)]
struct Price {
    usage: Option<ScriptUsage>,
    cost_usd: Option<f64>,
}

/// The writer of events.
pub(super) struct Stream<'a> {
    out: &'a mut dyn Write,
    session: String,
    model: String,
    start: Instant,
    wire: Wire,
    message: Option<StreamMessage>,
    price: Price,
    /// Since the process started.
    pub(super) total: UsageTally,
    /// Since the last result.
    pub(super) since: UsageTally,
}

impl<'a> Stream<'a> {
    pub(super) fn new(out: &'a mut dyn Write, session: String, model: String, wire: Wire) -> Self {
        Stream {
            out,
            session,
            model,
            start: Instant::now(),
            wire,
            message: None,
            price: Price::default(),
            total: UsageTally::default(),
            since: UsageTally::default(),
        }
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }

    pub(super) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Starts a turn. The usage in the script counts for its first request.
    pub(super) fn begin_turn(&mut self, usage: Option<ScriptUsage>, cost_usd: Option<f64>) {
        self.message = None;
        self.price = Price { usage, cost_usd };
    }

    /// Writes an event of this session.
    pub(super) fn event(&mut self, mut event: Value) -> io::Result<()> {
        put(&mut event, "session_id", json!(self.session));
        put(&mut event, "uuid", json!(new_uuid()));
        self.line(&event)
    }

    /// Writes an event without adding fields.
    pub(super) fn line(&mut self, event: &Value) -> io::Result<()> {
        if self.wire == Wire::Plain {
            return plain::lines(event).iter().try_for_each(|line| self.write_line(line));
        }
        self.write_line(event)
    }

    fn write_line(&mut self, event: &Value) -> io::Result<()> {
        let mut line = event.to_string().into_bytes();
        line.push(b'\n');
        self.raw(&line)
    }

    /// Writes bytes as they are, in one write.
    pub(super) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }

    /// Writes a block of the open message. A new message counts as a new model request.
    pub(super) fn block(&mut self, block: Value) -> io::Result<()> {
        let message = match self.message.take() {
            Some(message) => message,
            None => self.request(),
        };
        let mut event = events::assistant(&message.id, &self.model, message.usage, block);
        put(&mut event, "request_id", json!(message.request));
        put(&mut event, "timestamp", json!(now_iso()));
        self.message = Some(message);
        self.event(event)
    }

    /// Writes a message to the model. The next block starts a new message.
    pub(super) fn user(&mut self, mut event: Value) -> io::Result<()> {
        self.message = None;
        put(&mut event, "timestamp", json!(now_iso()));
        self.event(event)
    }

    /// Writes a message that the CLI makes up after a failed request.
    pub(super) fn synthetic(&mut self, mut event: Value) -> io::Result<()> {
        self.message = None;
        self.total.requests += 1;
        self.since.requests += 1;
        put(&mut event, "request_id", json!(format!("req_{}", short_id())));
        put(&mut event, "timestamp", json!(now_iso()));
        self.event(event)
    }

    /// Closes the open message without writing.
    pub(super) fn close_message(&mut self) {
        self.message = None;
    }

    fn request(&mut self) -> StreamMessage {
        let usage = self.price.usage.as_mut().map_or(REQUEST, std::mem::take);
        let cost = self.price.cost_usd.as_mut().map_or(REQUEST_USD, std::mem::take);
        for tally in [&mut self.total, &mut self.since] {
            tally.add(usage, cost);
            tally.requests += 1;
        }
        StreamMessage { id: format!("msg_{}", short_id()), request: format!("req_{}", short_id()), usage }
    }
}

/// Returns a random number, unique across processes.
fn random() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.write_u128(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()));
    hasher.finish()
}

/// Returns the tail of an id like `toolu_…`.
pub(super) fn short_id() -> String {
    let tail = format!("{:016x}{:016x}", random(), random());
    tail.chars().take(20).collect()
}

pub(super) fn new_uuid() -> String {
    let bits = (u128::from(random()) << 64) | u128::from(random());
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | (4 << 76) | (2 << 62);
    let part = |shift: u32, digits: u32| (bits >> shift) & ((1 << (4 * digits)) - 1);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        part(96, 8),
        part(80, 4),
        part(64, 4),
        part(48, 4),
        part(0, 12)
    )
}

/// Returns milliseconds since the epoch.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn now_iso() -> String {
    iso(now_ms())
}

/// Formats a time as `2026-11-15T23:35:12.588Z`.
fn iso(ms: i64) -> String {
    let (days, in_day) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    // Converts days to a date in the proleptic Gregorian calendar, with years that start in March.
    let z = days + 719_468;
    let (era, day_of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hours, minutes) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (seconds, millis) = (in_day / 1000 % 60, in_day % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_the_cli_does() {
        assert_eq!(iso(1_794_785_712_588), "2026-11-15T23:35:12.588Z");
        assert_eq!(iso(951_782_400_000), "2000-02-29T00:00:00.000Z");
    }

    #[test]
    fn ids_differ_and_have_the_right_form() {
        let id = new_uuid();
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(id.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&id.as_bytes()[19]));
        assert_ne!(id, new_uuid());
        assert_eq!(short_id().len(), 20);
    }

    #[test]
    fn an_event_is_one_line_in_one_write() {
        struct Writes(Vec<Vec<u8>>);
        impl Write for Writes {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.push(bytes.to_vec());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writes = Writes(Vec::new());
        let mut stream = Stream::new(&mut writes, "s".into(), "m".into(), Wire::Claude);
        stream.block(json!({"type": "text", "text": "two\nlines"})).unwrap();
        assert_eq!(writes.0.len(), 1);
        assert_eq!(writes.0[0].iter().filter(|byte| **byte == b'\n').count(), 1);
    }

    #[test]
    fn blocks_share_a_message_until_the_user_speaks() {
        let mut out = Vec::new();
        let mut stream = Stream::new(&mut out, "s".into(), "m".into(), Wire::Claude);
        stream.block(json!({"type": "text", "text": "a"})).unwrap();
        stream.block(json!({"type": "text", "text": "b"})).unwrap();
        stream.user(events::feedback("c")).unwrap();
        stream.block(json!({"type": "text", "text": "d"})).unwrap();
        assert_eq!(stream.total.requests, 2);
        assert_eq!(stream.total.usage.input_tokens, 200);
        let lines: Vec<Value> =
            out.split(|b| *b == b'\n').filter_map(|l| serde_json::from_slice(l).ok()).collect();
        assert_eq!(lines[0]["message"]["id"], lines[1]["message"]["id"]);
        assert_ne!(lines[1]["message"]["id"], lines[3]["message"]["id"]);
    }

    #[test]
    fn scripted_tokens_are_counted_once_a_turn() {
        let mut out = Vec::new();
        let mut stream = Stream::new(&mut out, "s".into(), "m".into(), Wire::Claude);
        let usage = ScriptUsage { input_tokens: 7, output_tokens: 3, ..ScriptUsage::default() };
        stream.begin_turn(Some(usage), Some(0.5));
        for _ in 0..3 {
            stream.block(json!({"type": "text", "text": "a"})).unwrap();
            stream.close_message();
        }
        assert_eq!(stream.since, UsageTally { usage, cost_usd: 0.5, requests: 3 });
    }
}
