//! Lines of JSON-RPC: reads those of the client in a thread of their own, and writes the agent's.
//!
//! The client may cancel a prompt at any time, so its lines are read while the agent works.

use std::io::{self, BufRead, BufReader};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::sim::lines::object;
use crate::sim::signals::{self, StopRequest};
use crate::sim::start::SimInput;

/// The interval for looking for a signal while waiting for the client.
const LOOK: Duration = Duration::from_millis(20);
/// JSON-RPC's code for a method that the receiver does not have.
pub(super) const NO_METHOD: i64 = -32601;

/// A line of the client.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClientLine {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) result: Value,
}

/// The lines of the client, as they arrive.
#[derive(Debug)]
pub(super) struct ClientLines(Receiver<ClientLine>);

impl ClientLines {
    /// Starts to read.
    pub(super) fn of(input: SimInput) -> ClientLines {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(input).split(b'\n') {
                let Ok(line) = line else { return };
                let Ok(line) = serde_json::from_slice::<ClientLine>(&line) else { continue };
                if line.method == "session/cancel" {
                    signals::interrupt();
                } else if sender.send(line).is_err() {
                    return;
                }
            }
        });
        ClientLines(receiver)
    }

    /// Waits for the next line. `None` if the client closed the input.
    pub(super) fn next(&self) -> Result<Option<ClientLine>, StopRequest> {
        loop {
            if let Some(asked) = signals::asked() {
                return Err(asked);
            }
            match self.0.recv_timeout(LOOK) {
                Ok(line) => return Ok(Some(line)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Waits until the client closes the input, or a signal comes.
    pub(super) fn drain(&self) {
        while let Ok(Some(_)) = self.next() {}
    }
}

/// Returns the line with the result of a request.
pub(super) fn result(id: &Value, result: Value) -> String {
    object(&[("jsonrpc", json!("2.0")), ("id", id.clone()), ("result", result)])
}

/// Returns the line with the failure of a request.
pub(super) fn error(id: &Value, code: i64, message: &str) -> String {
    let error = json!({"code": code, "message": message});
    object(&[("jsonrpc", json!("2.0")), ("id", id.clone()), ("error", error)])
}

/// Returns the line of a request.
pub(super) fn request(id: u64, method: &str, params: Value) -> String {
    object(&[("jsonrpc", json!("2.0")), ("id", json!(id)), ("method", json!(method)), ("params", params)])
}

/// Returns the line of an update of a session.
pub(super) fn update(session: &str, update: Value) -> String {
    let params = json!({"sessionId": session, "update": update});
    object(&[("jsonrpc", json!("2.0")), ("method", json!("session/update")), ("params", params)])
}

/// Writes a line before the session has an output of its own.
pub(super) fn write(out: &mut dyn io::Write, line: &str) -> io::Result<()> {
    out.write_all(format!("{line}\n").as_bytes())?;
    out.flush()
}
