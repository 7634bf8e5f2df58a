//! The script of the sim: turns made of steps, read from JSON.
//!
//! Only types and parsing. `play` plays them, and `words` replaces variables. Unknown fields are ignored, and
//! reported by `--check`.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The size limit of a script.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A whole script.
#[derive(Debug, Deserialize)]
pub(super) struct SimScript {
    /// Shown by `--check`.
    #[serde(default)]
    pub(super) name: Option<String>,
    /// The turns by iteration, from 1.
    #[serde(default)]
    pub(super) turns: Vec<ScriptTurn>,
    /// The turns by node, then by round and iteration. They take precedence over `turns`.
    #[serde(default)]
    pub(super) nodes: BTreeMap<String, Vec<ScriptTurn>>,
    /// Played after the last turn.
    #[serde(default)]
    pub(super) default: Option<ScriptTurn>,
    /// The pause between steps.
    #[serde(default)]
    pub(super) delay_ms: u64,
}

/// The steps of the agent, from the request to the stop.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ScriptTurn {
    #[serde(default)]
    pub(super) steps: Vec<ScriptStep>,
    /// Fields that replace those of the result event; `exit_code` is that of the process.
    #[serde(default)]
    pub(super) result: Map<String, Value>,
    #[serde(default)]
    pub(super) usage: Option<ScriptUsage>,
    #[serde(default)]
    pub(super) cost_usd: Option<f64>,
    /// Turns that replace this one, by attempt.
    #[serde(default)]
    pub(super) attempts: Vec<ScriptTurn>,
}

/// The tokens of one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct ScriptUsage {
    #[serde(alias = "input")]
    pub(super) input_tokens: u64,
    #[serde(alias = "output")]
    pub(super) output_tokens: u64,
    #[serde(alias = "cache_read")]
    pub(super) cache_read_input_tokens: u64,
    #[serde(alias = "cache_creation")]
    pub(super) cache_creation_input_tokens: u64,
}

/// One action of the agent, or one fault.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScriptStep {
    Say(String),
    Think(String),
    Write { path: String, content: String },
    Append { path: String, content: String },
    Replace { path: String, old: String, new: String },
    Bash(String),
    Tool(ToolStep),
    Structured(Value),
    Ask(AskStep),
    Commit(String),
    Tracker(TrackerEdit),
    Hang(Hang),
    SleepMs(u64),
    WaitFor(String),
    Crash(CrashStep),
    HalfLine(bool),
    BigLine(usize),
    Garbage(Garbage),
    Grandchild(Grandchild),
    RateLimit(RateLimitStep),
    ApiError(ApiError),
    BackgroundStop(bool),
    SubagentStop(bool),
    SkipHooks(bool),
}

/// A tool that the sim cannot run: its result is a fixed text.
#[derive(Debug, Deserialize)]
pub(super) struct ToolStep {
    pub(super) name: String,
    #[serde(default)]
    pub(super) input: Value,
    #[serde(default)]
    pub(super) result: Option<String>,
}

/// A question to a person.
#[derive(Debug, Deserialize)]
pub(super) struct AskStep {
    pub(super) question: String,
    #[serde(default)]
    pub(super) header: Option<String>,
    #[serde(default)]
    pub(super) options: Vec<Choice>,
}

/// A choice: its label, or label and description.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Choice {
    Label(String),
    Whole {
        label: String,
        #[serde(default)]
        description: String,
    },
}

/// A change of the tracker, whose path is found in the prompt.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TrackerEdit {
    /// Added on its own line at the end.
    Append(String),
    /// Replaces the whole content.
    Write(String),
}

/// A hang until a signal ends the process.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Hang {
    Plain(bool),
    How {
        #[serde(default)]
        ignore_sigterm: bool,
    },
}

/// A death of the process without a result.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) enum CrashStep {
    Signal(Signal),
    Code(u8),
}

/// A line that is not an event: text, or bytes that need not be UTF-8.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Garbage {
    Text(String),
    Raw { bytes: Vec<u8> },
}

/// A process left behind in its own session.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Grandchild {
    Plain(bool),
    Noted { pid_file: String },
}

/// A refusal because the account's limit is reached.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RateLimitStep {
    /// The end of the limit, since the epoch.
    pub(super) resets_at_ms: Option<i64>,
    /// The end of the limit, from now.
    pub(super) resets_in_ms: Option<i64>,
}

/// A refusal of the model's service.
#[derive(Debug, Deserialize)]
pub(super) struct ApiError {
    pub(super) status: u16,
    #[serde(default)]
    pub(super) message: String,
}

impl TryFrom<Value> for CrashStep {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        if let Some(code) = value.as_u64().and_then(|code| u8::try_from(code).ok()) {
            return Ok(CrashStep::Code(code));
        }
        let named = value.as_str().and_then(signal_named);
        named
            .map(CrashStep::Signal)
            .ok_or_else(|| format!("crash is an exit code or a signal like \"SIGKILL\", not {value}"))
    }
}

fn signal_named(name: &str) -> Option<Signal> {
    Some(match name.strip_prefix("SIG").unwrap_or(name) {
        "KILL" => Signal::KILL,
        "TERM" => Signal::TERM,
        "INT" => Signal::INT,
        "HUP" => Signal::HUP,
        "QUIT" => Signal::QUIT,
        "ABRT" => Signal::ABORT,
        "SEGV" => Signal::SEGV,
        "BUS" => Signal::BUS,
        "PIPE" => Signal::PIPE,
        _ => return None,
    })
}

/// The reason why a script cannot be played.
#[derive(Debug)]
pub(super) enum ScriptError {
    Unreadable { path: PathBuf, cause: std::io::Error },
    TooLarge { path: PathBuf },
    Malformed { path: PathBuf, cause: serde_json::Error },
    Empty { path: PathBuf },
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptError::Unreadable { path, cause } => {
                write!(f, "cannot read the script {}: {cause}", path.display())
            }
            ScriptError::TooLarge { path } => {
                write!(f, "the script {} is larger than {MAX_BYTES} bytes", path.display())
            }
            ScriptError::Malformed { path, cause } => {
                let (line, column) = (cause.line(), cause.column());
                write!(f, "{}:{line}:{column}: {}", path.display(), without_position(cause))
            }
            ScriptError::Empty { path } => {
                write!(f, "the script {} has neither `turns` nor a `default` turn", path.display())
            }
        }
    }
}

/// Removes the position at the end of serde_json's text, because ours comes first.
fn without_position(cause: &serde_json::Error) -> String {
    let text = cause.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(before, _)| before.to_owned())
}

impl SimScript {
    /// Reads a script file.
    pub(super) fn read(path: &Path) -> Result<SimScript, ScriptError> {
        Self::parse(path, &read_text(path)?)
    }

    /// Parses a script. The path is only used in errors.
    pub(super) fn parse(path: &Path, text: &[u8]) -> Result<SimScript, ScriptError> {
        let path = path.to_owned();
        match serde_json::from_slice::<SimScript>(text) {
            Err(cause) => Err(ScriptError::Malformed { path, cause }),
            Ok(script) if script.turns.is_empty() && script.nodes.is_empty() && script.default.is_none() => {
                Err(ScriptError::Empty { path })
            }
            Ok(script) => Ok(script),
        }
    }

    /// Returns the turn for a node, iteration and attempt, counted from 1. For a node in a loop, `fix@3`, the
    /// third round is the third turn.
    pub(super) fn turn(&self, node: &str, iteration: u32, attempt: u32) -> Option<&ScriptTurn> {
        let own = self.nodes.get(node).map(|turns| (turns, iteration)).or_else(|| {
            let (id, marks) = node.split_at(node.find(['@', '~']).unwrap_or(node.len()));
            let round = marks.rsplit('@').next().and_then(|mark| mark.split('~').next()?.parse().ok());
            Some((self.nodes.get(id)?, iteration + round.unwrap_or(1_u32).saturating_sub(1)))
        });
        let own = own.and_then(|(turns, number)| nth(turns, number).or(turns.last()));
        let turn = own.or(nth(&self.turns, iteration)).or(self.default.as_ref()).or(self.turns.last())?;
        Some(nth(&turn.attempts, attempt).or(turn.attempts.last()).unwrap_or(turn))
    }
}

fn nth(turns: &[ScriptTurn], number: u32) -> Option<&ScriptTurn> {
    turns.get(usize::try_from(number.saturating_sub(1)).ok()?)
}

/// Reads a script file, up to the size limit.
pub(super) fn read_text(path: &Path) -> Result<Vec<u8>, ScriptError> {
    let unreadable = |cause| ScriptError::Unreadable { path: path.to_owned(), cause };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(unreadable)?;
    if u64::try_from(read).unwrap_or(u64::MAX) > MAX_BYTES {
        return Err(ScriptError::TooLarge { path: path.to_owned() });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SimScript, ScriptError> {
        SimScript::parse(Path::new("s.json"), text.as_bytes())
    }

    fn said(turn: Option<&ScriptTurn>) -> &str {
        match &turn.unwrap().steps[0] {
            ScriptStep::Say(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_kind_of_step_is_read() {
        let text = r#"{"turns":[{"steps":[
            {"say":"a"},{"think":"a"},{"write":{"path":"a","content":"b"}},{"append":{"path":"a","content":"b"}},
            {"replace":{"path":"a","old":"b","new":"c"}},{"bash":"ls"},{"tool":{"name":"WebFetch","input":{"url":"x"}}},
            {"structured":{"a":1}},
            {"ask":{"question":"q","options":["a",{"label":"b","description":"c"}]}},{"commit":"m"},
            {"tracker":{"append":"x"}},{"tracker":{"write":"x"}},{"hang":true},{"hang":{"ignore_sigterm":true}},
            {"sleep_ms":1},{"wait_for":"p"},{"crash":"SIGKILL"},{"crash":3},{"half_line":true},{"big_line":5000000},
            {"garbage":"x"},{"garbage":{"bytes":[255,10]}},{"grandchild":true},{"grandchild":{"pid_file":"p"}},
            {"rate_limit":{"resets_at_ms":5}},{"rate_limit":{}},{"api_error":{"status":529,"message":"m"}},
            {"background_stop":true},{"subagent_stop":true},{"skip_hooks":true}]}]}"#;
        assert_eq!(parse(text).unwrap().turns[0].steps.len(), 30);
    }

    #[test]
    fn the_turn_follows_iteration_and_attempt() {
        let script = parse(
            r#"{"turns":[{"attempts":[{"steps":[{"say":"1.1"}]},{"steps":[{"say":"1.2"}]}]},{"steps":[{"say":"2"}]}]}"#,
        )
        .unwrap();
        assert_eq!(said(script.turn("", 1, 1)), "1.1");
        assert_eq!(said(script.turn("", 1, 7)), "1.2");
        assert_eq!(said(script.turn("", 2, 3)), "2");
        assert_eq!(said(script.turn("", 9, 1)), "2");
    }

    #[test]
    fn after_the_last_turn_the_default_is_played() {
        let script =
            parse(r#"{"turns":[{"steps":[{"say":"1"}]}],"default":{"steps":[{"say":"d"}]}}"#).unwrap();
        assert_eq!(said(script.turn("", 2, 1)), "d");
    }

    #[test]
    fn a_node_has_turns_of_its_own() {
        let turn = |text: &str| format!(r#"{{"steps":[{{"say":"{text}"}}]}}"#);
        let text = format!(
            r#"{{"nodes":{{"fix":[{},{}],"fix@3":[{}]}},"default":{}}}"#,
            turn("1"),
            turn("2"),
            turn("third round"),
            turn("any")
        );
        let script = parse(&text).unwrap();
        assert_eq!(said(script.turn("fix", 1, 1)), "1");
        assert_eq!(said(script.turn("fix", 2, 1)), "2");
        assert_eq!(said(script.turn("fix@2", 1, 1)), "2");
        assert_eq!(said(script.turn("fix@2~1@1~2", 1, 1)), "1", "the innermost round counts");
        assert_eq!(said(script.turn("fix@3", 1, 1)), "third round");
        assert_eq!(said(script.turn("fix@9", 1, 1)), "2");
        assert_eq!(said(script.turn("other", 1, 1)), "any");
    }

    #[test]
    fn a_mistake_is_named_with_its_place() {
        let error = parse("{\"turns\":[{\"steps\":[\n  {\"sya\":\"x\"}]}]}").unwrap_err().to_string();
        assert!(error.starts_with("s.json:2:"), "{error}");
        assert!(error.contains("unknown variant `sya`"), "{error}");
        let error = parse(r#"{"turns":[{"steps":[{"crash":"SIGNOPE"}]}]}"#).unwrap_err().to_string();
        assert!(error.contains("SIGNOPE"), "{error}");
    }

    #[test]
    fn a_script_without_any_turn_is_refused() {
        assert!(matches!(parse("{}"), Err(ScriptError::Empty { .. })));
    }
}
