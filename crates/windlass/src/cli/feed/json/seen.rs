//! The runs of a JSON feed, folded from their records: the outputs of nodes and the open requests are not in
//! the news.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use windlass_core::engine;
use windlass_core::engine::explain::{AskTracker, GivenAnswer};
use windlass_core::event::{Event, Record};
use windlass_core::graph::template::NodeOutput;
use windlass_core::id::{NodeId, RunId};
use windlass_core::run::{Ask, News, RunState};

use super::super::ask;

/// The most bytes of a node's text, and of its value, in one line.
const OUTPUT: usize = 16 * 1024;

/// The runs that a feed shows.
#[derive(Debug, Default)]
pub(super) struct SeenRuns(BTreeMap<RunId, SeenRun>);

#[derive(Debug)]
struct SeenRun {
    /// The state, if the run has more than one node. A single session has no outputs to show.
    state: Option<RunState>,
    asks: AskTracker,
}

impl SeenRuns {
    /// Takes in the state of a run that is shown from the middle on.
    pub(super) fn see(&mut self, state: &RunState) {
        let (run, mut asks) = (state.run.clone(), AskTracker::default());
        state.bookkeeping.asks.iter().for_each(|ask| asks.add(ask));
        let state = state.spec.only_session().is_none().then(|| state.clone());
        self.0.insert(run, SeenRun { state, asks });
    }

    /// Applies a record. Returns the answer in it.
    pub(super) fn record(&mut self, run: &RunId, record: &Record) -> Option<GivenAnswer> {
        if let Event::RunStarted { spec } = &record.event
            && !self.0.contains_key(run)
        {
            let is_many = spec.only_session().is_none();
            let state = is_many.then(|| engine::start(run.clone(), (**spec).clone(), record.at).0);
            self.0.insert(run.clone(), SeenRun { state, asks: AskTracker::default() });
        } else if let Some(state) = self.0.get_mut(run).and_then(|seen| seen.state.as_mut()) {
            engine::apply(state, record.at, &record.event);
        }
        self.0.get_mut(run)?.asks.see(record)
    }

    /// Forgets a run that is over.
    pub(super) fn forget(&mut self, run: &RunId) {
        self.0.remove(run);
    }

    /// Returns the default of the `ask` node that asks.
    pub(super) fn default_of(&self, run: &RunId, ask: &Ask) -> Option<&str> {
        ask::default_of(&self.0.get(run)?.state.as_ref()?.spec, ask)
    }

    /// Adds the output and the exit code of a node that a record finished.
    pub(super) fn add_results(
        &self,
        run: &RunId,
        news: &News,
        record: &Record,
        map: &mut Map<String, Value>,
    ) {
        let News::NodeFinished { node, .. } = news else { return };
        let id = node.in_workflow();
        // If the node finished again in the same record, only the last output is known.
        let is_its =
            |other: &&News| matches!(other, News::NodeFinished { node, .. } if node.in_workflow() == id);
        let last = record.news.iter().rev().find(is_its);
        if last.is_some_and(|last| std::ptr::eq(last, news)) {
            add_output(map, self.output(run, &id));
        }
        if let Event::ShellEnded { effect, end } = &record.event
            && effect.node == *node
        {
            map.insert("exit_code".to_owned(), end.exit_code().into());
        }
    }

    fn output(&self, run: &RunId, node: &NodeId) -> Option<&NodeOutput> {
        self.0.get(run)?.state.as_ref()?.bookkeeping.outputs.get(node)
    }
}

/// Adds the text and the value of a node. A text that is too long keeps its end, where results are; a value
/// that is too large is left out. Both are marked.
pub(crate) fn add_output(map: &mut Map<String, Value>, output: Option<&NodeOutput>) {
    let text = output.map(|output| output.text.as_str());
    let start = text.map_or(0, |text| text.len().saturating_sub(OUTPUT));
    let shown = text.map(|text| {
        let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        text.get(start..).unwrap_or_default()
    });
    let value = output.and_then(|output| output.value.as_ref());
    let is_small = value.is_none_or(|value| value.to_string().len() <= OUTPUT);
    map.insert("text".to_owned(), shown.into());
    map.insert("value".to_owned(), value.filter(|_| is_small).cloned().unwrap_or_default());
    map.extend((start > 0).then(|| ("text_cut".to_owned(), true.into())));
    map.extend((!is_small).then(|| ("value_cut".to_owned(), true.into())));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_text_keeps_its_end_and_a_large_value_is_left_out() {
        let text = format!("{}the end", "ä".repeat(OUTPUT));
        let value = Some(json!({"x": "y".repeat(OUTPUT)}));
        let output = NodeOutput { text, value, ..NodeOutput::default() };
        let mut map = Map::new();
        add_output(&mut map, Some(&output));
        let shown = map["text"].as_str().unwrap();
        assert!(shown.len() <= OUTPUT && shown.ends_with("äthe end"), "{}", shown.len());
        assert_eq!(
            (&map["value"], &map["text_cut"], &map["value_cut"]),
            (&json!(null), &json!(true), &json!(true))
        );
        let mut map = Map::new();
        add_output(&mut map, None);
        assert_eq!(Value::Object(map), json!({"text": null, "value": null}));
    }
}
