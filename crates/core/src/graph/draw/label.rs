//! What is written on a node: its name, what it does, and how it fared. A few short lines.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{DrawnState, States};
use crate::graph::workflow::{Node, OnFailure, Workflow};

/// The widest line, in columns.
const WIDEST: usize = 44;

/// The lines of a node, its name first.
pub(super) fn lines(node: &Node, states: &States) -> Vec<String> {
    let mut lines = vec![clean(node.id.as_str())];
    lines.push(clean(&node.kind.shape().label()));
    if let Some(when) = &node.when {
        lines.push(clean(&format!("when {}", when.0)));
    }
    let mut rest = Vec::new();
    if node.retry.times > 0 {
        rest.push(format!("retry {}", node.retry.times));
    }
    if node.on_failure == OnFailure::Continue {
        rest.push("goes on when it fails".to_owned());
    }
    if !rest.is_empty() {
        lines.push(clean(&rest.join(", ")));
    }
    lines.extend(states.get(&node.id).map(fared));
    lines
}

fn fared(state: &DrawnState) -> String {
    let parts = [Some(&state.word), state.time.as_ref(), state.cost.as_ref()];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    clean(&parts.join(" · "))
}

/// The name of a workflow.
pub(super) fn title(workflow: &Workflow) -> String {
    clean(&workflow.name)
}

/// A stranger's text on one line: short, and only what can be seen.
pub(super) fn clean(text: &str) -> String {
    let mut line = String::new();
    let mut columns = 0;
    let mut is_spaced = true;
    for letter in text.chars().take(WIDEST * 20) {
        let letter = if letter.is_whitespace() { ' ' } else { letter };
        if is_unseen(letter) || (letter == ' ' && is_spaced) {
            continue;
        }
        columns += letter.width().unwrap_or(0);
        if columns > WIDEST {
            line.truncate(line.trim_end().len());
            line.push('…');
            return line;
        }
        is_spaced = letter == ' ';
        line.push(letter);
    }
    line.truncate(line.trim_end().len());
    line
}

/// Controls, marks without a width, and what turns the direction of a text.
fn is_unseen(letter: char) -> bool {
    letter.is_control() || letter.width().unwrap_or(0) == 0 || matches!(letter, '\u{fff9}'..='\u{ffff}')
}

/// The columns of the widest line.
pub(super) fn columns(lines: &[String]) -> usize {
    lines.iter().map(|line| line.width()).max().unwrap_or(0)
}
