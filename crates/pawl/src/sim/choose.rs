//! Selects the turn that the sim plays, by task, node, round, iteration and attempt.
//!
//! The engine names a node in round 2 of its loop `fix@2`, and in the second attempt of a retry `fix~2`.

use std::collections::BTreeMap;

use super::script::{ScriptTurn, SimScript, TaskTurns};

/// The position of a turn in a run.
#[derive(Debug, Clone, Default)]
pub(super) struct ScriptPlace {
    /// The node, with its rounds: `fix@2`.
    pub(super) node: String,
    pub(super) iteration: u32,
    pub(super) attempt: u32,
    pub(super) task: Option<TaskPlace>,
}

/// The task that a turn works on.
#[derive(Debug, Clone)]
pub(super) struct TaskPlace {
    pub(super) id: String,
    /// The attempt at the task, from 1.
    pub(super) attempt: u32,
    /// The node, with the rounds of the loops inside the task only.
    pub(super) node: String,
}

impl ScriptPlace {
    /// Returns the number of the turn in the list of a node: each round and each iteration is one turn.
    pub(super) fn number(&self) -> u32 {
        numbered(self.iteration, round_of(&self.node).unwrap_or(1))
    }
}

impl TaskPlace {
    /// Returns the same for a task. Outside of an inner loop, each attempt is one turn.
    fn number(&self, iteration: u32) -> u32 {
        numbered(iteration, round_of(&self.node).unwrap_or(self.attempt))
    }
}

impl SimScript {
    /// Returns the turn for a place in a run.
    pub(super) fn turn(&self, place: &ScriptPlace) -> Option<&ScriptTurn> {
        let of_task = place.task.as_ref().and_then(|task| self.of_task(task, place.iteration));
        let own = of_task.or_else(|| of_node(&self.nodes, &place.node, place.iteration, place.number()));
        let any = || nth(&self.turns, place.iteration).or(self.default.as_ref()).or(self.turns.last());
        let turn = own.or_else(any)?;
        Some(nth_or_last(&turn.attempts, place.attempt).unwrap_or(turn))
    }

    fn of_task(&self, task: &TaskPlace, iteration: u32) -> Option<&ScriptTurn> {
        let number = task.number(iteration);
        match self.tasks.get(&task.id)? {
            TaskTurns::Every(turns) => nth_or_last(turns, number),
            TaskTurns::ByNode(nodes) => of_node(nodes, &task.node, iteration, number),
        }
    }
}

/// Returns the turn of a node. `fix@2` has the turns of that round alone, `fix` those of all rounds.
fn of_node<'s>(
    nodes: &'s BTreeMap<String, Vec<ScriptTurn>>,
    node: &str,
    iteration: u32,
    number: u32,
) -> Option<&'s ScriptTurn> {
    let in_round = nodes.get(node).or_else(|| nodes.get(&without_retries(node)));
    if let Some(turns) = in_round {
        let is_in_a_loop = node.contains('@');
        return nth_or_last(turns, if is_in_a_loop { iteration } else { number });
    }
    let id = node.split(['@', '~']).next().unwrap_or(node);
    nth_or_last(nodes.get(id)?, number)
}

/// Turns `fix@2~1@1~2` into `fix@2@1`.
fn without_retries(node: &str) -> String {
    let parts = node.split('@').map(|part| part.split('~').next().unwrap_or(part));
    parts.collect::<Vec<_>>().join("@")
}

/// Returns the round of the innermost loop around a node.
fn round_of(node: &str) -> Option<u32> {
    let (_, last) = node.rsplit_once('@')?;
    last.split('~').next()?.parse().ok()
}

fn numbered(iteration: u32, round: u32) -> u32 {
    iteration.saturating_add(round.saturating_sub(1))
}

fn nth(turns: &[ScriptTurn], number: u32) -> Option<&ScriptTurn> {
    turns.get(usize::try_from(number.saturating_sub(1)).ok()?)
}

fn nth_or_last(turns: &[ScriptTurn], number: u32) -> Option<&ScriptTurn> {
    nth(turns, number).or(turns.last())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::script::ScriptStep;
    use super::*;

    fn parse(text: &str) -> Result<SimScript, String> {
        SimScript::parse(Path::new("s.json"), text.as_bytes()).map_err(|error| error.to_string())
    }

    fn place(node: &str, iteration: u32, attempt: u32) -> ScriptPlace {
        ScriptPlace { node: node.to_owned(), iteration, attempt, task: None }
    }

    fn at_task(id: &str, attempt: u32, node: &str, iteration: u32) -> ScriptPlace {
        let task = TaskPlace { id: id.to_owned(), attempt, node: node.to_owned() };
        ScriptPlace { task: Some(task), ..place("fix@7", iteration, 1) }
    }

    fn said(turn: Option<&ScriptTurn>) -> &str {
        match &turn.unwrap().steps[0] {
            ScriptStep::Say(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_turn_follows_iteration_and_attempt() {
        let script = parse(
            r#"{"turns":[{"attempts":[{"steps":[{"say":"1.1"}]},{"steps":[{"say":"1.2"}]}]},{"steps":[{"say":"2"}]}]}"#,
        )
        .unwrap();
        assert_eq!(said(script.turn(&place("", 1, 1))), "1.1");
        assert_eq!(said(script.turn(&place("", 1, 7))), "1.2");
        assert_eq!(said(script.turn(&place("", 2, 3))), "2");
        assert_eq!(said(script.turn(&place("", 9, 1))), "2");
    }

    #[test]
    fn after_the_last_turn_the_default_is_played() {
        let script =
            parse(r#"{"turns":[{"steps":[{"say":"1"}]}],"default":{"steps":[{"say":"d"}]}}"#).unwrap();
        assert_eq!(said(script.turn(&place("", 2, 1))), "d");
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
        assert_eq!(said(script.turn(&place("fix", 1, 1))), "1");
        assert_eq!(said(script.turn(&place("fix", 2, 1))), "2");
        assert_eq!(said(script.turn(&place("fix@2", 1, 1))), "2");
        assert_eq!(said(script.turn(&place("fix@2~1@1~2", 1, 1))), "1", "the innermost round counts");
        assert_eq!(said(script.turn(&place("fix@3", 1, 1))), "third round");
        assert_eq!(said(script.turn(&place("fix@9", 1, 1))), "2");
        assert_eq!(said(script.turn(&place("other", 1, 1))), "any");
    }

    #[test]
    fn a_round_with_its_own_turns_is_found_also_in_a_retry() {
        let text = r#"{"nodes":{
            "fix@2":[{"steps":[{"say":"2.1"}]},{"steps":[{"say":"2.2"}]}],
            "fix@1@3":[{"steps":[{"say":"1.3"}]}],
            "fix":[{"steps":[{"say":"other"}]}]}}"#;
        let script = parse(text).unwrap();
        assert_eq!(said(script.turn(&place("fix@2", 1, 1))), "2.1");
        assert_eq!(said(script.turn(&place("fix@2~2", 2, 1))), "2.2", "a node with turns in a loop");
        assert_eq!(said(script.turn(&place("fix@1~1@3~2", 1, 1))), "1.3");
        assert_eq!(said(script.turn(&place("fix@1", 1, 1))), "other");
    }

    #[test]
    fn a_task_has_turns_of_its_own() {
        let text = r#"{
            "tasks":{
                "login":[{"steps":[{"say":"l1"}]},{"steps":[{"say":"l2"}]}],
                "search":{"fix":[{"steps":[{"say":"s1"}]},{"steps":[{"say":"s2"}]}],
                          "fix@2":[{"steps":[{"say":"inner"}]}]}},
            "nodes":{"fix":[{"steps":[{"say":"node"}]}]}}"#;
        let script = parse(text).unwrap();
        assert_eq!(said(script.turn(&at_task("login", 1, "fix", 1))), "l1");
        assert_eq!(said(script.turn(&at_task("login", 2, "fix", 1))), "l2", "the second attempt");
        assert_eq!(said(script.turn(&at_task("login", 1, "fix", 2))), "l2", "the second iteration");
        assert_eq!(said(script.turn(&at_task("login", 1, "fix@2", 1))), "l2", "the second inner round");
        assert_eq!(said(script.turn(&at_task("search", 1, "fix", 1))), "s1");
        assert_eq!(said(script.turn(&at_task("search", 2, "fix", 1))), "s2");
        assert_eq!(said(script.turn(&at_task("search", 1, "fix@2", 1))), "inner");
        assert_eq!(
            said(script.turn(&at_task("search", 1, "review", 1))),
            "node",
            "the node of the run is fix@7"
        );
        assert_eq!(said(script.turn(&at_task("other", 1, "fix", 1))), "node");
    }
}
