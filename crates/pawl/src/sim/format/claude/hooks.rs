//! The answers of hooks.
//!
//! As measured on the real CLI: exit code 2 blocks or denies, and JSON on standard output decides. Anything
//! else (another exit code, garbage, a timeout, a missing program) counts as no answer.

use serde_json::Value;

use crate::sim::hook_call::{HookDecision, HookMeaning, HookOutput};

/// Reads the answer of a hook.
pub(super) fn interpret(event: &str, said: &HookOutput, command: &str) -> HookMeaning {
    match said.exit_code {
        Some(0) => read_answer(event, &said.json()),
        Some(2) => HookMeaning::refuse(format!("[{command}]: {}", said.stderr.trim_end())),
        _ => HookMeaning::default(),
    }
}

/// Returns the CLI's word for the outcome of a call.
pub(super) fn outcome(said: &HookOutput) -> &'static str {
    match said.exit_code {
        Some(0) => "success",
        Some(_) => "error",
        None => "cancelled",
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use serde_json::json;

    use super::super::super::hook_table::HookTable;
    use super::*;
    use crate::sim::hook_call::HookRoom;

    fn call(event: &str, entry: Value) -> HookMeaning {
        let settings = json!({"hooks": {event: [{"hooks": [entry]}]}}).to_string();
        let mut hooks = HookTable::with_unit(Duration::from_secs(1));
        hooks.add(settings.as_bytes(), None).unwrap();
        let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
        let room = HookRoom { env: &env, cwd: Path::new("/"), limit: None };
        let said = hooks.call(event, "Bash", &json!({"a": 1}), &room, Duration::from_secs(60)).unwrap();
        HookMeaning::together(said.iter().map(|(command, said)| interpret(event, said, command)))
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
    fn a_permission_request_is_answered_one_floor_deeper() {
        let answer = saying(
            "PermissionRequest",
            json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
                "decision": {"behavior": "deny", "message": "no"}}}),
        );
        assert_eq!((answer.decision, answer.reason.as_str()), (Some(HookDecision::Refuse), "no"));
    }
}
