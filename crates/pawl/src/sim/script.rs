//! The script of the sim: turns made of steps, read from JSON.
//!
//! Only types and parsing. `choose` selects a turn, `play` plays it, and `words` replaces variables. Unknown
//! fields are ignored, and reported by `--check`.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The size limit of a script.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The words of an agent without a script.
const STUB: &str = "I am the simulated agent and change nothing. I was asked: ${FIRST_LINE}";

/// A whole script.
#[derive(Debug, Default, Deserialize)]
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
    /// The turns by task. They take precedence over `nodes`.
    #[serde(default)]
    pub(super) tasks: BTreeMap<String, TaskTurns>,
    /// Played after the last turn.
    #[serde(default)]
    pub(super) default: Option<ScriptTurn>,
    /// The pause between steps.
    #[serde(default)]
    pub(super) delay_ms: u64,
}

/// The turns of a task: of every node that works on it, or by node.
#[derive(Debug)]
pub(super) enum TaskTurns {
    Every(Vec<ScriptTurn>),
    ByNode(BTreeMap<String, Vec<ScriptTurn>>),
}

/// Reads a list or an object. `#[serde(untagged)]` would lose the place of a mistake.
impl<'de> Deserialize<'de> for TaskTurns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TaskTurns, D::Error> {
        struct TaskTurnsVisitor;

        impl<'de> Visitor<'de> for TaskTurnsVisitor {
            type Value = TaskTurns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of turns, or the turns of each node")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<TaskTurns, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(TaskTurns::Every)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TaskTurns, A::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(TaskTurns::ByNode)
            }
        }

        deserializer.deserialize_any(TaskTurnsVisitor)
    }
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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

impl ScriptUsage {
    pub(super) fn add(&mut self, other: ScriptUsage) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_read_input_tokens += other.cache_read_input_tokens;
        self.cache_creation_input_tokens += other.cache_creation_input_tokens;
    }

    /// Returns the tokens that went in, also those from and to a cache.
    pub(super) fn whole_input(&self) -> u64 {
        self.input_tokens + self.cached()
    }

    pub(super) fn cached(&self) -> u64 {
        self.cache_read_input_tokens + self.cache_creation_input_tokens
    }
}

/// One action of the agent, or one fault.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScriptStep {
    Say(String),
    /// Says a text, and that the work is done, in every form that the prompt asks for.
    Finish(String),
    Think(String),
    Write {
        path: String,
        content: String,
    },
    Append {
        path: String,
        content: String,
    },
    Replace {
        path: String,
        old: String,
        new: String,
    },
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
                write!(
                    f,
                    "the script {} has no turns: it needs `turns`, `nodes`, `tasks` or `default`",
                    path.display()
                )
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
            Ok(script) if script.all_turns().next().is_none() && script.default.is_none() => {
                Err(ScriptError::Empty { path })
            }
            Ok(script) => Ok(script),
        }
    }

    /// Makes the script of an agent that has none: every turn claims to be done and changes nothing.
    pub(super) fn stub() -> SimScript {
        let turn = ScriptTurn { steps: vec![ScriptStep::Finish(STUB.to_owned())], ..ScriptTurn::default() };
        SimScript { default: Some(turn), ..SimScript::default() }
    }

    /// Returns every turn but the default.
    pub(super) fn all_turns(&self) -> impl Iterator<Item = &ScriptTurn> {
        let of_tasks = self.tasks.values().flat_map(|turns| match turns {
            TaskTurns::Every(turns) => vec![turns],
            TaskTurns::ByNode(nodes) => nodes.values().collect(),
        });
        self.turns.iter().chain(self.nodes.values().flatten()).chain(of_tasks.flatten())
    }
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

    #[test]
    fn every_kind_of_step_is_read() {
        let text = r#"{"turns":[{"steps":[
            {"say":"a"},{"finish":"a"},{"think":"a"},{"write":{"path":"a","content":"b"}},{"append":{"path":"a","content":"b"}},
            {"replace":{"path":"a","old":"b","new":"c"}},{"bash":"ls"},{"tool":{"name":"WebFetch","input":{"url":"x"}}},
            {"structured":{"a":1}},
            {"ask":{"question":"q","options":["a",{"label":"b","description":"c"}]}},{"commit":"m"},
            {"tracker":{"append":"x"}},{"tracker":{"write":"x"}},{"hang":true},{"hang":{"ignore_sigterm":true}},
            {"sleep_ms":1},{"wait_for":"p"},{"crash":"SIGKILL"},{"crash":3},{"half_line":true},{"big_line":5000000},
            {"garbage":"x"},{"garbage":{"bytes":[255,10]}},{"grandchild":true},{"grandchild":{"pid_file":"p"}},
            {"rate_limit":{"resets_at_ms":5}},{"rate_limit":{}},{"api_error":{"status":529,"message":"m"}},
            {"background_stop":true},{"subagent_stop":true},{"skip_hooks":true}]}]}"#;
        assert_eq!(parse(text).unwrap().turns[0].steps.len(), 31);
    }

    #[test]
    fn a_mistake_is_named_with_its_place() {
        let error = parse("{\"turns\":[{\"steps\":[\n  {\"sya\":\"x\"}]}]}").unwrap_err().to_string();
        assert!(error.starts_with("s.json:2:"), "{error}");
        assert!(error.contains("unknown variant `sya`"), "{error}");
        let error = parse(r#"{"turns":[{"steps":[{"crash":"SIGNOPE"}]}]}"#).unwrap_err().to_string();
        assert!(error.contains("SIGNOPE"), "{error}");
        let error = parse("{\"tasks\":{\"a\":{\"fix\":[\n  {\"steps\":[{\"sya\":\"x\"}]}]}}}").unwrap_err();
        assert!(error.to_string().starts_with("s.json:2:"), "{error}");
        assert!(error.to_string().contains("unknown variant `sya`"), "{error}");
        let error = parse(r#"{"tasks":{"a":1}}"#).unwrap_err().to_string();
        assert!(error.contains("a list of turns, or the turns of each node"), "{error}");
    }

    #[test]
    fn a_script_without_any_turn_is_refused() {
        for text in ["{}", r#"{"turns":[]}"#, r#"{"nodes":{"fix":[]}}"#, r#"{"tasks":{"1":{"fix":[]}}}"#] {
            assert!(matches!(parse(text), Err(ScriptError::Empty { .. })), "{text}");
        }
    }
}
