//! The request log: what the model was asked, turn by turn, across all processes of a rehearsal.
//!
//! It is also the memory of which sessions there were.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One line: one turn asked of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ModelRequest {
    /// The node it belongs to, where one is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) node: String,
    pub(super) iteration: u32,
    pub(super) attempt: u32,
    pub(super) session: String,
    pub(super) resumed: bool,
    /// Within this process, from 1.
    pub(super) turn: u32,
    /// Byte for byte.
    pub(super) prompt: String,
    /// What was added to the system prompt.
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

    /// The prompts this session had so far, the latest first.
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
