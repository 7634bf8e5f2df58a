//! The label of a node: a few short lines with its name, its work and its state.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{DrawnState, States};
use crate::graph::workflow::{Node, OnFailure, Workflow};

const WIDEST: usize = 44;

/// Returns the lines of a node, its name first.
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
        rest.push("continues on failure".to_owned());
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

pub(super) fn title(workflow: &Workflow) -> String {
    clean(&workflow.name)
}

/// Reduces an untrusted text to one short line of visible characters.
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

/// Returns whether a character is invisible: a control character, one without width, or one that
/// changes the direction of text.
fn is_unseen(letter: char) -> bool {
    letter.is_control() || letter.width().unwrap_or(0) == 0 || matches!(letter, '\u{fff9}'..='\u{ffff}')
}

/// Returns the width of the widest line in columns.
pub(super) fn columns(lines: &[String]) -> usize {
    lines.iter().map(|line| line.width()).max().unwrap_or(0)
}
