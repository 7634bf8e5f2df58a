//! The request log: every request to the model, turn by turn, from all processes of a rehearsal.
//!
//! It also tells which sessions exist.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One line of the log: one turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ModelRequest {
    /// The node, if it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) node: String,
    /// The task, if the turn works on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) task: Option<String>,
    pub(super) iteration: u32,
    pub(super) attempt: u32,
    pub(super) session: String,
    pub(super) resumed: bool,
    /// The turn within this process, from 1.
    pub(super) turn: u32,
    /// The prompt, byte for byte.
    pub(super) prompt: String,
    /// The addition to the system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<String>,
}

/// The log, if one is kept.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestLog(pub(super) Option<PathBuf>);

impl RequestLog {
    pub(super) fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Appends one line, in one write.
    pub(super) fn append(&self, request: &ModelRequest) -> io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        OpenOptions::new().append(true).create(true).mode(0o600).open(path)?.write_all(&line)
    }

    /// Returns the prompts of a session so far, the latest first.
    pub(super) fn prompts(&self, session: &str) -> Vec<String> {
        let Some(file) = self.0.as_ref().and_then(|path| File::open(path).ok()) else { return Vec::new() };
        let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
        let requests = lines.filter_map(|line| serde_json::from_slice::<ModelRequest>(&line).ok());
        let mut prompts: Vec<String> =
            requests.filter(|request| request.session == session).map(|request| request.prompt).collect();
        prompts.reverse();
        prompts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_kept_byte_for_byte_under_its_session() {
        let folder = tempfile::tempdir().unwrap();
        let log = RequestLog(Some(folder.path().join("log")));
        let prompt = "a\n\"b\" {{x}} $ARGUMENTS \u{1f600}\n".to_owned();
        let request = ModelRequest {
            node: String::new(),
            task: None,
            iteration: 1,
            attempt: 1,
            session: "s".into(),
            resumed: false,
            turn: 1,
            prompt: prompt.clone(),
            system: None,
        };
        log.append(&request).unwrap();
        log.append(&ModelRequest { session: "other".into(), ..request.clone() }).unwrap();
        log.append(&ModelRequest { prompt: "later".into(), ..request }).unwrap();
        assert_eq!(log.prompts("s"), ["later".to_owned(), prompt]);
        assert!(log.prompts("unknown").is_empty());
    }
}
