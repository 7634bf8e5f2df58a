//! The hooks of a session: selects and runs them, and interprets their answers.
//!
//! As measured on the real CLI: exit code 2 blocks or denies, and JSON on standard output decides. Anything
//! else (another exit code, garbage, a timeout, a missing program) counts as no answer.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::plain::{self, Wire};
use super::process::{self, Environment, ProgramEnd, SimProgram, Stderr};
use super::signals::StopRequest;

const LIMIT: Duration = Duration::from_secs(600);
/// The time limit of hooks at the end of a session.
const END_LIMIT: Duration = Duration::from_millis(1500);

#[derive(Debug, Default, Deserialize)]
struct HookSettings {
    #[serde(default)]
    hooks: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct HookGroup {
    #[serde(default)]
    matcher: String,
    #[serde(default)]
    hooks: Vec<HookEntry>,
}

#[derive(Debug, Clone, Deserialize)]
struct HookEntry {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    command: String,
    /// With arguments, the command is a program. Without, it is shell code.
    #[serde(default)]
    args: Option<Vec<String>>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(skip)]
    plugin: Option<PathBuf>,
}

/// The hooks of one session.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    /// The format of payloads and answers.
    pub(super) wire: Wire,
    groups: Vec<(String, HookGroup)>,
}

/// The output of one hook.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HookOutput {
    pub(super) exit_code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) answer: HookMeaning,
}

/// The meaning of a hook's output.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct HookMeaning {
    pub(super) decision: Option<HookDecision>,
    pub(super) reason: String,
    pub(super) updated_input: Option<Value>,
    /// `continue: false`: the session ends after this.
    pub(super) halt: bool,
}

/// A hook's decision about a tool or a stop, in order of strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HookDecision {
    Allow,
    Defer,
    Ask,
    /// The tool may not run, or the agent may not stop.
    Refuse,
}

impl Hooks {
    /// Reads `--settings`: a file, or JSON itself.
    pub(super) fn from_settings(settings: &str, cwd: &Path) -> Result<Hooks, String> {
        let text = if settings.trim_start().starts_with('{') {
            settings.as_bytes().to_vec()
        } else {
            std::fs::read(cwd.join(settings))
                .map_err(|cause| format!("Settings file not found: {settings}: {cause}"))?
        };
        let mut hooks = Hooks::default();
        hooks.add(&text, None).map_err(|cause| format!("Invalid settings {settings}: {cause}"))?;
        Ok(hooks)
    }

    /// Adds a plugin's `hooks/hooks.json`, if it has one.
    pub(super) fn add_plugin(&mut self, dir: &Path) -> Result<(), String> {
        let Ok(text) = std::fs::read(dir.join("hooks/hooks.json")) else { return Ok(()) };
        self.add(&text, Some(dir))
            .map_err(|cause| format!("Invalid hooks of plugin {}: {cause}", dir.display()))
    }

    fn add(&mut self, text: &[u8], plugin: Option<&Path>) -> Result<(), serde_json::Error> {
        let settings: HookSettings = serde_json::from_slice(text)?;
        for (event, groups) in settings.hooks {
            let groups: Vec<HookGroup> = serde_json::from_value(groups)?;
            for mut group in groups {
                group.hooks.retain(|entry| entry.kind == "command");
                for entry in &mut group.hooks {
                    entry.plugin = plugin.map(Path::to_owned);
                }
                self.groups.push((event.clone(), group));
            }
        }
        Ok(())
    }

    /// Calls every hook of this event whose matcher matches the subject.
    pub(super) fn call(
        &self,
        event: &str,
        subject: &str,
        payload: &Value,
        room: &HookRoom<'_>,
    ) -> Result<Vec<HookOutput>, StopRequest> {
        let due = self.groups.iter().filter(|(name, group)| name == event && fits(&group.matcher, subject));
        let entries = due.flat_map(|(_, group)| &group.hooks);
        if self.wire == Wire::Plain {
            let told = plain::payload(event, payload).to_string().into_bytes();
            let read = |said: HookOutput| HookOutput {
                answer: plain::answer(event, said.exit_code, &said.stdout, payload),
                ..said
            };
            return entries.map(|entry| entry.call(event, &told, room).map(read)).collect();
        }
        let payload = payload.to_string().into_bytes();
        entries.map(|entry| entry.call(event, &payload, room)).collect()
    }
}

/// The environment in which hooks run.
pub(super) struct HookRoom<'a> {
    pub(super) env: &'a Environment,
    pub(super) cwd: &'a Path,
    /// The upper limit for all hooks, regardless of their own timeouts.
    pub(super) limit: Option<Duration>,
}

impl HookEntry {
    fn call(&self, event: &str, payload: &[u8], room: &HookRoom<'_>) -> Result<HookOutput, StopRequest> {
        let argv = self.argv();
        let mut env = room.env.clone();
        if let Some(root) = &self.plugin {
            env.push(("CLAUDE_PLUGIN_ROOT".into(), root.into()));
        }
        let limit = self.limit(event).min(room.limit.unwrap_or(Duration::MAX));
        let job = SimProgram {
            argv: &argv,
            env: &env,
            cwd: room.cwd,
            stdin: payload,
            limit,
            stderr: Stderr::Apart,
        };
        match process::run(&job) {
            Ok(ProgramEnd::Ended { code, stdout, stderr }) => {
                let answer = interpret(event, code, &stdout, &stderr, &self.command);
                Ok(HookOutput { exit_code: code, stdout, stderr, answer })
            }
            Ok(ProgramEnd::TimedOut) => Ok(HookOutput::nothing("timed out")),
            Ok(ProgramEnd::Cut(asked)) => Err(asked),
            Err(cause) => Ok(HookOutput::nothing(&cause.to_string())),
        }
    }

    fn argv(&self) -> Vec<OsString> {
        let root = self.plugin.as_ref().map(|root| root.display().to_string()).unwrap_or_default();
        let fill = |text: &String| OsString::from(text.replace("${CLAUDE_PLUGIN_ROOT}", &root));
        match &self.args {
            Some(args) => std::iter::once(&self.command).chain(args).map(fill).collect(),
            None => vec!["sh".into(), "-c".into(), fill(&self.command)],
        }
    }

    fn limit(&self, event: &str) -> Duration {
        let set = self.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        set.unwrap_or(if event == "SessionEnd" { END_LIMIT } else { LIMIT })
    }
}

impl HookOutput {
    fn nothing(why: &str) -> HookOutput {
        HookOutput {
            exit_code: None,
            stdout: String::new(),
            stderr: why.to_owned(),
            answer: HookMeaning::default(),
        }
    }

    /// Returns the CLI's word for the outcome of the call.
    pub(super) fn outcome(&self) -> &'static str {
        match self.exit_code {
            Some(0) => "success",
            Some(_) => "error",
            None => "cancelled",
        }
    }
}

/// Matches a subject: `""` and `*` match everything, `A|B` either, `mcp__x__.*` any suffix.
fn fits(matcher: &str, subject: &str) -> bool {
    matches!(matcher, "" | "*") || matcher.split('|').any(|one| fits_one(one.trim(), subject))
}

fn fits_one(pattern: &str, subject: &str) -> bool {
    let pattern = pattern.trim_start_matches('^');
    match pattern.strip_suffix(".*").or_else(|| pattern.strip_suffix('*')) {
        Some(prefix) => subject.starts_with(prefix),
        None => pattern.trim_end_matches('$') == subject,
    }
}

fn interpret(event: &str, code: Option<i32>, stdout: &str, stderr: &str, command: &str) -> HookMeaning {
    match code {
        Some(0) => serde_json::from_str(stdout)
            .map_or(HookMeaning::default(), |said: Value| read_answer(event, &said)),
        Some(2) => HookMeaning {
            decision: Some(HookDecision::Refuse),
            reason: format!("[{command}]: {}", stderr.trim_end()),
            ..HookMeaning::default()
        },
        _ => HookMeaning::default(),
    }
}

fn read_answer(event: &str, said: &Value) -> HookMeaning {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let halt = said.get("continue") == Some(&Value::Bool(false));
    let special =
        said.get("hookSpecificOutput").filter(|output| output.get("hookEventName") == Some(&event.into()));
    // PermissionRequest has its decision one level deeper.
    let inner = special.and_then(|output| output.get("decision")).filter(|decision| decision.is_object());
    let word = text(special.and_then(|output| output.get("permissionDecision")))
        .or_else(|| text(inner.and_then(|decision| decision.get("behavior"))))
        .or_else(|| text(said.get("decision")));
    let reason = text(special.and_then(|output| output.get("permissionDecisionReason")))
        .or_else(|| text(inner.and_then(|decision| decision.get("message"))))
        .or_else(|| text(said.get(if halt { "stopReason" } else { "reason" })));
    let holder = inner.or(special);
    HookMeaning {
        decision: word.as_deref().and_then(decision_named),
        reason: reason.unwrap_or_default(),
        updated_input: holder
            .and_then(|output| output.get("updatedInput"))
            .filter(|input| input.is_object())
            .cloned(),
        halt,
    }
}

fn decision_named(word: &str) -> Option<HookDecision> {
    Some(match word {
        "allow" | "approve" => HookDecision::Allow,
        "defer" => HookDecision::Defer,
        "ask" => HookDecision::Ask,
        "deny" | "block" => HookDecision::Refuse,
        _ => return None,
    })
}

/// Combines the answers of several hooks: the strongest decision, and the last changed input.
pub(super) fn together(said: &[HookOutput]) -> HookMeaning {
    let mut all = HookMeaning::default();
    for one in said.iter().map(|said| &said.answer) {
        if one.decision > all.decision {
            all.decision = one.decision;
            all.reason = one.reason.clone();
        }
        all.halt |= one.halt;
        all.updated_input = one.updated_input.clone().or(all.updated_input);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(event: &str, entry: Value) -> HookMeaning {
        let settings = json!({"hooks": {event: [{"hooks": [entry]}]}}).to_string();
        let hooks = Hooks::from_settings(&settings, Path::new("/")).unwrap();
        let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
        let room = HookRoom { env: &env, cwd: Path::new("/"), limit: None };
        together(&hooks.call(event, "Bash", &json!({"a": 1}), &room).unwrap())
    }

    fn command(text: &str) -> Value {
        json!({"type": "command", "command": text})
    }

    fn saying(event: &str, answer: Value) -> HookMeaning {
        call(event, command(&format!("cat >/dev/null; echo '{answer}'")))
    }

    #[test]
    fn a_tool_is_allowed_denied_or_changed_by_json() {
        let output = |decision: &str| {
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
                "permissionDecisionReason": "why", "updatedInput": {"x": 1}}})
        };
        let allowed = saying("PreToolUse", output("allow"));
        assert_eq!(allowed.decision, Some(HookDecision::Allow));
        assert_eq!(allowed.updated_input, Some(json!({"x": 1})));
        let denied = saying("PreToolUse", output("deny"));
        assert_eq!((denied.decision, denied.reason.as_str()), (Some(HookDecision::Refuse), "why"));
    }

    #[test]
    fn exit_code_2_refuses_with_the_reason_from_standard_error() {
        let answer = call("Stop", command("echo go on >&2; exit 2"));
        assert_eq!(answer.decision, Some(HookDecision::Refuse));
        assert_eq!(answer.reason, "[echo go on >&2; exit 2]: go on");
    }

    #[test]
    fn a_stop_is_blocked_by_json() {
        let answer = saying("Stop", json!({"decision": "block", "reason": "go on"}));
        assert_eq!((answer.decision, answer.reason.as_str()), (Some(HookDecision::Refuse), "go on"));
    }

    #[test]
    fn whatever_goes_wrong_says_nothing() {
        let broken = [
            "exit 1",
            "echo garbage",
            "echo '[1]'",
            "echo '{\"decision\":7}'",
            "kill -9 $$",
            "/no/such/program",
        ];
        for text in broken {
            assert_eq!(call("Stop", command(text)), HookMeaning::default(), "{text}");
        }
        let slow = json!({"type": "command", "command": "sleep 600; exit 2", "timeout": 0.05});
        assert_eq!(call("Stop", slow), HookMeaning::default());
    }

    #[test]
    fn a_hook_with_arguments_is_a_program() {
        let entry = json!({"type": "command", "command": "sh", "args": ["-c", "cat >&2; exit 2"]});
        assert_eq!(call("Stop", entry).reason, "[sh]: {\"a\":1}");
    }

    #[test]
    fn one_that_does_not_read_its_input_is_no_trouble() {
        let hooks = Hooks::from_settings(
            r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}"#,
            Path::new("/"),
        );
        let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
        let room = HookRoom { env: &env, cwd: Path::new("/"), limit: None };
        let payload = json!({"big": "x".repeat(5_000_000)});
        assert_eq!(hooks.unwrap().call("Stop", "", &payload, &room).unwrap()[0].outcome(), "success");
    }

    #[test]
    fn a_matcher_is_everything_an_alternation_or_a_prefix() {
        for (matcher, subject, expected) in [
            ("", "Bash", true),
            ("*", "Bash", true),
            ("Edit|Write", "Write", true),
            ("Edit|Write", "WriteX", false),
            ("mcp__db__.*", "mcp__db__query", true),
            ("Bash", "BashOutput", false),
        ] {
            assert_eq!(fits(matcher, subject), expected, "{matcher} {subject}");
        }
    }

    #[test]
    fn a_permission_request_is_answered_one_floor_deeper() {
        let answer = saying(
            "PermissionRequest",
            json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
                "decision": {"behavior": "deny", "message": "no"}}}),
        );
        assert_eq!((answer.decision, answer.reason.as_str()), (Some(HookDecision::Refuse), "no"));
    }

    #[test]
    fn a_refusal_beats_an_allowance() {
        let said = |decision| HookOutput {
            exit_code: Some(0),
            stdout: String::new(),
            stderr: String::new(),
            answer: HookMeaning { decision: Some(decision), ..HookMeaning::default() },
        };
        assert_eq!(
            together(&[said(HookDecision::Refuse), said(HookDecision::Allow)]).decision,
            Some(HookDecision::Refuse)
        );
    }
}
