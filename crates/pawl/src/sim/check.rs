//! `windlass sim --check FILE`: checks that a script can be played.
//!
//! Reports unknown fields, which playing ignores.

use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;

use super::script::{self, ScriptError, ScriptTurn, SimScript};

const SCRIPT_FIELDS: &[&str] = &["name", "turns", "nodes", "tasks", "default", "delay_ms"];
const TURN_FIELDS: &[&str] = &["steps", "result", "usage", "cost_usd", "attempts"];

/// Checks one file and returns the exit code.
pub(super) fn check(path: &Path, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    match read(path) {
        Ok((script, unknown)) => {
            for field in unknown {
                writeln!(err, "warning: {}: unknown field `{field}`", path.display())?;
            }
            let name = script.name.as_deref().unwrap_or("unnamed");
            let turns = script.all_turns().count();
            let steps: usize = script.all_turns().chain(&script.default).map(steps_in).sum();
            let more = if script.default.is_some() { " and a default" } else { "" };
            writeln!(out, "{}: ok ({name}, turns: {turns}{more}, steps: {steps})", path.display())?;
            Ok(0)
        }
        Err(error) => {
            writeln!(err, "error: {error}")?;
            Ok(1)
        }
    }
}

fn read(path: &Path) -> Result<(SimScript, Vec<String>), ScriptError> {
    let text = script::read_text(path)?;
    let script = SimScript::parse(path, &text)?;
    let value = serde_json::from_slice(&text).unwrap_or_default();
    Ok((script, unknown_fields(&value)))
}

fn steps_in(turn: &ScriptTurn) -> usize {
    turn.steps.len() + turn.attempts.iter().map(steps_in).sum::<usize>()
}

fn unknown_fields(script: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    note_unknown(script, "", SCRIPT_FIELDS, &mut unknown);
    note_turns(script.get("turns"), "turns", &mut unknown);
    for (node, turns) in script.get("nodes").and_then(Value::as_object).into_iter().flatten() {
        note_turns(Some(turns), &format!("nodes.{node}"), &mut unknown);
    }
    for (task, turns) in script.get("tasks").and_then(Value::as_object).into_iter().flatten() {
        note_turns(Some(turns), &format!("tasks.{task}"), &mut unknown);
        for (node, turns) in turns.as_object().into_iter().flatten() {
            note_turns(Some(turns), &format!("tasks.{task}.{node}"), &mut unknown);
        }
    }
    if let Some(turn) = script.get("default") {
        note_turn(turn, "default", &mut unknown);
    }
    unknown
}

fn note_turns(turns: Option<&Value>, at: &str, unknown: &mut Vec<String>) {
    for (index, turn) in turns.and_then(Value::as_array).into_iter().flatten().enumerate() {
        note_turn(turn, &format!("{at}[{index}]"), unknown);
    }
}

fn note_turn(turn: &Value, at: &str, unknown: &mut Vec<String>) {
    note_unknown(turn, &format!("{at}."), TURN_FIELDS, unknown);
    note_turns(turn.get("attempts"), &format!("{at}.attempts"), unknown);
}

fn note_unknown(object: &Value, at: &str, known: &[&str], unknown: &mut Vec<String>) {
    let keys = object.as_object().into_iter().flat_map(|map| map.keys());
    unknown.extend(keys.filter(|key| !known.contains(&key.as_str())).map(|key| format!("{at}{key}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> (u8, String, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.json");
        std::fs::write(&path, text).unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = check(&path, &mut out, &mut err).unwrap();
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn a_good_script_is_counted() {
        let (code, out, err) = checked(r#"{"name":"n","turns":[{"attempts":[{"steps":[{"say":"a"}]}]}]}"#);
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(out.ends_with("s.json: ok (n, turns: 1, steps: 1)\n"), "{out}");
    }

    #[test]
    fn the_turns_of_nodes_and_tasks_are_counted() {
        let turn = r#"{"steps":[{"say":"a"},{"finish":"b"}]}"#;
        let text = format!(
            r#"{{"nodes":{{"fix":[{turn},{turn}]}},"tasks":{{"1":[{turn}],"2":{{"fix":[{turn}]}}}},"default":{turn}}}"#
        );
        let (code, out, err) = checked(&text);
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(out.ends_with("s.json: ok (unnamed, turns: 4 and a default, steps: 10)\n"), "{out}");
        let (_, _, err) = checked(r#"{"tasks":{"2":{"fix":[{"stpes":[]}]}}}"#);
        assert!(err.contains("`tasks.2.fix[0].stpes`"), "{err}");
    }

    #[test]
    fn an_unknown_field_is_a_warning() {
        let (code, _, err) = checked(r#"{"turns":[{"attempts":[{"stesp":[]}]}],"dealy_ms":1}"#);
        assert_eq!(code, 0);
        assert!(err.contains("`dealy_ms`") && err.contains("`turns[0].attempts[0].stesp`"), "{err}");
    }

    #[test]
    fn a_broken_script_is_refused_with_its_place() {
        let (code, out, err) = checked("{\n \"turns\": [,]\n}");
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(err.contains("s.json:2:12: "), "{err}");
    }

    #[test]
    fn the_examples_can_be_played() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sim");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let (_, unknown) = read(&path).unwrap_or_else(|error| panic!("{error}"));
            assert!(unknown.is_empty(), "{}: {unknown:?}", path.display());
        }
    }
}
