//! Settles the parts of a spec that depend on its inputs: the drivers of its sessions and the time limit of the
//! run. The runtime calls it for a run that a person starts, and the engine for a run that a node starts.

use std::collections::BTreeMap;

use serde_json::Value;

use super::numbers::span;
use crate::graph::template::{self, Scope};
use crate::spec::{SessionSettings, Spec};
use crate::time::written;

/// The reason why an input cannot decide what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    #[error("{0}")]
    Value(String),
    /// The input names a driver whose program is not there.
    #[error("{why}")]
    MissingDriver { driver: String, why: String },
}

/// Settles everything that the inputs decide.
pub fn settle_inputs(spec: &mut Spec) -> Result<(), InputError> {
    spec.limits.run_ms = run_time(spec).map_err(InputError::Value)?;
    spec.timeout_from = None;
    let Spec { sessions, inputs, .. } = spec;
    sessions.values_mut().try_for_each(|settings| choose(settings, inputs))
}

fn run_time(spec: &Spec) -> Result<Option<u64>, String> {
    let Some(from) = &spec.timeout_from else { return Ok(spec.limits.run_ms) };
    let scope = Scope::new(&spec.input, &spec.inputs);
    let value =
        template::evaluate(from, &scope).map_err(|error| format!("{error}, in: {}", from.0.trim()))?;
    let workflow = &spec.workflow;
    let must =
        |wanted: &str| format!("the `timeout` of workflow `{workflow}` must be {wanted}, and is {value}");
    match (span(&value), spec.limits.run_ms) {
        (None, _) => Err(must("a time such as `30m`, or a number of seconds")),
        (Some(0), _) => Err(must("longer than zero")),
        (Some(ms), Some(most)) if ms > most => Err(must(&format!("at most {}", written(most)))),
        (ms, _) => Ok(ms),
    }
}

/// Replaces settings by those with the driver that an input names.
fn choose(settings: &mut SessionSettings, inputs: &BTreeMap<String, Value>) -> Result<(), InputError> {
    let Some(mut choice) = settings.choice.take() else { return Ok(()) };
    let input = &choice.input;
    let Some(name) = inputs.get(input).and_then(Value::as_str) else {
        return Err(InputError::Value(format!("input `{input}` names no driver")));
    };
    match (choice.settings.remove(name), choice.missing.get(name)) {
        (Some(chosen), _) => {
            *settings = chosen;
            Ok(())
        }
        (None, Some(why)) => Err(InputError::MissingDriver { driver: name.to_owned(), why: why.clone() }),
        (None, None) => {
            let names: Vec<&str> = choice.settings.keys().map(String::as_str).collect();
            let names = names.join(", ");
            let text = format!("input `{input}` names the driver `{name}`, and must name one of {names}");
            Err(InputError::Value(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::drawn;
    use super::*;
    use crate::graph::builder::{Builder, prompt};
    use crate::graph::workflow::Expression;
    use crate::id::NodeId;
    use crate::spec::DriverChoice;

    fn spec(input: &str, value: Value) -> Spec {
        let mut spec = drawn(Builder::new("w").start(prompt("x").id("a")));
        spec.inputs = BTreeMap::from([(input.to_owned(), value)]);
        spec
    }

    fn with_choice(value: Value) -> Spec {
        let mut spec = spec("agent", value);
        let settings = spec.sessions.get_mut(&NodeId::new("a")).unwrap();
        let named = |name: &str| {
            let mut own = settings.clone();
            own.driver.name = name.to_owned();
            (name.to_owned(), own)
        };
        let missing = BTreeMap::from([("codex".to_owned(), "codex is not installed".to_owned())]);
        let choice = DriverChoice {
            input: "agent".into(),
            settings: BTreeMap::from([named("claude"), named("sim")]),
            missing,
        };
        settings.choice = Some(Box::new(choice));
        spec
    }

    #[test]
    fn an_input_chooses_the_driver_of_a_session() {
        let mut spec = with_choice(json!("claude"));
        settle_inputs(&mut spec).unwrap();
        let settings = &spec.sessions[&NodeId::new("a")];
        assert_eq!((settings.driver.name.as_str(), &settings.choice), ("claude", &None));
    }

    #[test]
    fn an_input_can_choose_only_a_driver_that_is_there() {
        let error = |value| settle_inputs(&mut with_choice(value)).unwrap_err();
        let missing =
            InputError::MissingDriver { driver: "codex".into(), why: "codex is not installed".into() };
        assert_eq!(error(json!("codex")), missing);
        let unknown = "input `agent` names the driver `cloude`, and must name one of claude, sim";
        assert_eq!(error(json!("cloude")), InputError::Value(unknown.into()));
        assert_eq!(error(json!(null)), InputError::Value("input `agent` names no driver".into()));
    }

    #[test]
    fn the_time_of_a_run_comes_from_its_inputs_within_its_bound() {
        let timed = |value: Value| {
            let mut spec = spec("minutes", value);
            spec.timeout_from = Some(Expression("inputs.minutes * 60".into()));
            spec.limits.run_ms = Some(600_000);
            settle_inputs(&mut spec).map(|()| spec.limits.run_ms)
        };
        assert_eq!(timed(json!(5)), Ok(Some(300_000)));
        let must =
            |text: &str| Err(InputError::Value(format!("the `timeout` of workflow `test` must be {text}")));
        assert_eq!(timed(json!(11)), must("at most 10m, and is 660"));
        assert_eq!(timed(json!(0)), must("longer than zero, and is 0"));
        assert!(timed(json!("x")).is_err());
    }
}
