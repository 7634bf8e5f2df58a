//! `windlass show --graph`: the workflow of a run as a picture, with how far each node is.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_core::engine::explain::Far;
use windlass_core::graph::draw::{NodeState, States};
use windlass_core::graph::workflow::{Settings, Workflow};
use windlass_core::run::{State, Status};
use windlass_runtime::view::View;

use super::super::draw::{Format, picture};
use super::super::feed::{envelope, words};
use super::nodes::{Row, rows};

/// The picture.
pub(super) fn lines(view: &View, format: Format, json: bool) -> Vec<String> {
    let picture = picture(format, &workflow(&view.state), &states(&view.state));
    if json {
        let data = json!({"name": view.state.spec.workflow, "picture": picture});
        return vec![envelope("graph", words::now(), Some(&view.run), data)];
    }
    picture.lines().map(str::to_owned).collect()
}

/// The workflow as the run carries it out.
fn workflow(state: &State) -> Workflow {
    let spec = &state.spec;
    Workflow {
        name: spec.workflow.clone(),
        description: None,
        inputs: Vec::new(),
        settings: Settings::default(),
        budget: spec.budget,
        plugins: Vec::new(),
        checks: BTreeMap::new(),
        body: spec.body.clone(),
    }
}

fn states(state: &State) -> States {
    let fared = |row: &Row<'_>| {
        let word = match row.far {
            Far::NotReached => return None,
            Far::Held => Far::Waiting.word(),
            Far::Over(Status::Completed) => "completed",
            far => far.word(),
        };
        let fared = NodeState {
            word: word.to_owned(),
            time: row.took_ms.map(words::span),
            cost: row.spent.usage.cost_usd.map(|usd| words::cost(Some(usd))),
        };
        Some((row.step.id.clone(), fared))
    };
    rows(state, words::now()).iter().filter_map(fared).collect()
}
