//! Writes lines of JSON to standard output: one line and one write for each.

use std::io::{self, Write};
use std::time::Instant;

use serde_json::Value;

use super::ids::{new_uuid, now_ms};

/// The output of a session, with the facts that lines repeat.
pub(super) struct EventLines<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    pub(super) session: String,
    pub(super) model: String,
    start: Instant,
}

impl<'a> EventLines<'a> {
    pub(super) fn new(
        out: &'a mut dyn Write,
        err: &'a mut dyn Write,
        session: String,
        model: String,
    ) -> Self {
        EventLines { out, err, session, model, start: Instant::now() }
    }

    pub(super) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Writes one line of JSON.
    pub(super) fn line(&mut self, line: &Value) -> io::Result<()> {
        self.text(&line.to_string())
    }

    /// Writes one line of JSON with its keys in this order. The CLIs write the kind of a line first.
    pub(super) fn ordered(&mut self, fields: &[(&str, Value)]) -> io::Result<()> {
        self.text(&object(fields))
    }

    /// Writes one line.
    pub(super) fn text(&mut self, line: &str) -> io::Result<()> {
        self.raw(format!("{line}\n").as_bytes())
    }

    /// Writes a text to standard error.
    pub(super) fn complain(&mut self, text: &str) {
        // Nobody has to read it.
        let _ = self.err.write_all(text.as_bytes());
    }

    /// Writes bytes as they are, in one write.
    pub(super) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }
}

/// Returns an object with its keys in this order, as JSON.
pub(super) fn object(fields: &[(&str, Value)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(key, value)| format!("{}:{value}", Value::from(*key))).collect();
    format!("{{{}}}", fields.join(","))
}

/// Returns an id with a prefix, the way OpenCode makes them: its beginning grows with time.
pub(super) fn growing_id(prefix: &str) -> String {
    let tail: String = new_uuid().chars().filter(char::is_ascii_alphanumeric).take(14).collect();
    format!("{prefix}_{:012x}{tail}", now_ms().unsigned_abs() << 4)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_keep_their_order_and_a_line_is_one_write() {
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
        let (mut writes, mut err) = (Writes(Vec::new()), Vec::new());
        let mut lines = EventLines::new(&mut writes, &mut err, "s".into(), "m".into());
        lines.ordered(&[("type", json!("a\"b")), ("data", json!({"x": "two\nlines"}))]).unwrap();
        assert_eq!(writes.0, [b"{\"type\":\"a\\\"b\",\"data\":{\"x\":\"two\\nlines\"}}\n"]);
    }
}
