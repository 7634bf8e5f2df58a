//! `windlass show --graph`: draws the workflow of a run with the progress of each node.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_core::engine::explain::NodeProgress;
use windlass_core::graph::draw::{DrawnState, States};
use windlass_core::graph::workflow::{SessionOptions, Workflow};
use windlass_core::run::{FinalStatus, RunState};
use windlass_runtime::view::RunView;

use super::super::draw::{DrawFormat, picture};
use super::super::feed::{envelope, words};
use super::super::terminal::Terminal;
use super::nodes::{NodeRow, rows};

/// Draws the workflow of a run.
pub(super) fn lines(view: &RunView, format: Option<DrawFormat>, screen: Terminal, json: bool) -> Vec<String> {
    let format = format.unwrap_or(DrawFormat::default_for(screen, json));
    let picture = picture(format, &workflow(&view.state), &states(&view.state), screen);
    if json {
        let data = json!({"name": view.state.spec.workflow, "picture": picture});
        return vec![envelope("graph", words::now(), Some(&view.run), data)];
    }
    picture.lines().map(str::to_owned).collect()
}

/// Returns the workflow that the run uses.
fn workflow(state: &RunState) -> Workflow {
    let spec = &state.spec;
    Workflow {
        name: spec.workflow.clone(),
        description: None,
        inputs: Vec::new(),
        settings: SessionOptions::default(),
        budget: spec.budget,
        plugins: Vec::new(),
        checks: BTreeMap::new(),
        env: BTreeMap::new(),
        gives: None,
        body: spec.body.clone(),
    }
}

fn states(state: &RunState) -> States {
    let fared = |row: &NodeRow<'_>| {
        let word = match row.far {
            NodeProgress::NotReached => return None,
            NodeProgress::Held => NodeProgress::Waiting.word(),
            NodeProgress::Over(FinalStatus::Completed) => "completed",
            far => far.word(),
        };
        let fared = DrawnState {
            word: word.to_owned(),
            time: row.took_ms.map(words::span),
            cost: words::known_cost(row.spent.usage.cost()),
        };
        Some((row.node.id.clone(), fared))
    };
    rows(state, words::now()).iter().filter_map(fared).collect()
}
