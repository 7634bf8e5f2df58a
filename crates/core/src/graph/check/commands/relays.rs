//! Finds out which commands may print the text of an agent or a person, because they get one: in their command
//! line, in `env` or in `stdin`.

use std::collections::{HashMap, HashSet};

use super::plain_output;
use super::words::{Heard, Speaker, heard};
use crate::graph::check::context::CheckContext;
use crate::graph::check::outline::{Outline, OutlineNode};
use crate::graph::template::command::{CommandTemplate, CommandValue};
use crate::graph::workflow::{NodeKind, ShellNode};

/// The commands that may print any text, by position.
pub(super) struct CommandRelays {
    printing: HashSet<usize>,
    /// Those that get the text of an agent or a person, also through other commands.
    relaying: HashSet<usize>,
}

impl CommandRelays {
    pub(super) fn of(outline: &Outline<'_>, known: &CheckContext<'_>) -> CommandRelays {
        let mut relays = CommandRelays { printing: HashSet::new(), relaying: HashSet::new() };
        let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut left = Vec::new();
        for node in &outline.nodes {
            let Some(values) = values_of_printing(node) else { continue };
            relays.printing.insert(node.at);
            for carried in values.iter().flat_map(|value| &value.carried) {
                let Heard { speaker, commands } = heard(outline, known, node, carried.value());
                if speaker.is_some_and(|speaker| !speaker.is_trusted()) {
                    left.push(node.at);
                }
                commands.into_iter().for_each(|source| readers.entry(source).or_default().push(node.at));
            }
        }
        while let Some(at) = left.pop() {
            if relays.relaying.insert(at) {
                left.extend(readers.get(&at).into_iter().flatten());
            }
        }
        relays
    }

    /// Returns whose text these commands may print, if it may be any text.
    pub(super) fn speaker(&self, commands: &[usize]) -> Option<Speaker> {
        let any = |set: &HashSet<usize>| commands.iter().any(|at| set.contains(at));
        if any(&self.relaying) {
            return Some(Speaker::Relayed);
        }
        any(&self.printing).then_some(Speaker::Program)
    }
}

/// Returns the values that a command gets, if it may print any text.
fn values_of_printing(node: &OutlineNode<'_>) -> Option<Vec<CommandValue>> {
    let NodeKind::Shell(ShellNode { command, stdin, .. }) = &node.node.kind else { return None };
    let read = CommandTemplate::of(command).unwrap_or_default();
    if plain_output::is_plain(&read.text) {
        return None;
    }
    let others = stdin.iter().chain(node.node.env.values());
    let others = others.filter_map(|text| CommandTemplate::of(text).ok()).flat_map(|text| text.values);
    Some(read.values.into_iter().chain(others).collect())
}
