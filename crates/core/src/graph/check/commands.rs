//! Checks the command lines of a workflow: the shell must not run an agent's words, and `sh` must
//! understand the command.
//!
//! [`shell_text`] reads a command line as the shell does, [`words`] knows where a value comes from, and [`relays`]
//! what a command may print.

mod bashisms;
mod plain_output;
mod relays;
mod shell_text;
mod words;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::UnreadParts;
use super::context::CheckContext;
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics, GraphSeverity};
use super::outline::{Outline, OutlineNode};
use super::suggest::shown;
use super::texts::ROOTS;
use crate::graph::template::command::{CarriedText, CommandTemplate, CommandValue};
use crate::graph::template::names::ITEM;
use crate::graph::template::{at, length_as_comment};
use crate::graph::workflow::{NodeKind, ShellNode, ShellProgram, Template};
use relays::CommandRelays;
use shell_text::{ShellQuotes, ShellText};
use words::Speaker;

pub(super) fn look(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    doubts: UnreadParts,
    found: &mut GraphDiagnostics,
) {
    let relays = OnceCell::new();
    for node in &outline.nodes {
        let NodeKind::Shell(ShellNode { command, .. }) = &node.node.kind else { continue };
        let length = length_as_comment(&command.0);
        if let Some(offset) = length {
            found.node(node, as_comment(&command.0, offset));
        }
        // As long as the text, so that positions are right.
        let source = length.map(|_| Template(command.0.replace("${#", "${_")));
        let Ok(template) = CommandTemplate::of(source.as_ref().unwrap_or(command)) else { continue };
        let text = ShellText::read(&template.text);
        if !doubts.values && !doubts.nodes {
            for value in &template.values {
                let quoting = text.quoting_at(value.at);
                found_words(outline, known, &relays, node, value, quoting)
                    .into_iter()
                    .for_each(|finding| found.node(node, finding));
            }
        }
        if !is_run_by_bash(outline) {
            let hint = "run it with bash: `settings: { shell: bash }`";
            for (offset, finding) in only_in_bash(&text, hint) {
                let at = template.position(offset, &command.0);
                found.node(node, GraphDiagnostic { field: "shell", ..finding }.at(Some(at)));
            }
        }
    }
    for (name, command) in &outline.workflow.checks {
        if let Some(finding) = template_in_check(command) {
            found.whole(finding.key(Some(name.clone())));
        }
        let text = ShellText::read(&CommandTemplate::plain(command).text);
        for (_, finding) in only_in_bash(&text, "call bash in it: `bash -c '…'`") {
            found.whole(GraphDiagnostic { field: "checks", ..finding }.key(Some(name.clone())));
        }
    }
}

/// Reports a value in braces in a check, which the shell would get as it is.
fn template_in_check(command: &str) -> Option<GraphDiagnostic> {
    let root = |after: &str| -> Option<&'static str> {
        let word = after.trim_start().split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
        ROOTS.into_iter().find(|root| *root == word)
    };
    let used = command.split("{{").skip(1).find_map(root)?;
    let text = format!("a check is no template, so the shell gets `{{{{ {used} … }}}}` as it is");
    let hint = "set a variable in `env` of the workflow, and use it in the check: `\"$NAME\"`";
    Some(GraphDiagnostic::error(None, "checks", text).hint(hint))
}

/// Reports a `${#…}` that the shell does not get.
fn as_comment(command: &str, offset: usize) -> GraphDiagnostic {
    let rest = command.get(offset..).unwrap_or_default();
    let whole = rest.split_inclusive('}').next().unwrap_or_default();
    let text = format!("the template reads the `{{#` in {} as the start of a comment", shown(whole));
    let hint = format!("write `{{% raw %}}{whole}{{% endraw %}}`");
    GraphDiagnostic::error(None, "shell", text).hint(hint).at(Some(at(command, offset)))
}

/// Returns whether bash runs the command of a node, and not `sh`.
fn is_run_by_bash(outline: &Outline<'_>) -> bool {
    outline.workflow.settings.shell == Some(ShellProgram::Bash)
}

/// Reports each kind of syntax that `sh` does not have, once.
fn only_in_bash(text: &ShellText, hint: &str) -> Vec<(usize, GraphDiagnostic)> {
    let mut seen = BTreeSet::new();
    let first = text.bashisms().iter().filter(|(_, what)| seen.insert(*what));
    let finding = |(offset, what): &(usize, &'static str)| {
        let text = format!("{what} needs bash, but `sh` runs this command");
        (*offset, GraphDiagnostic::warning(None, "", text).hint(hint))
    };
    first.map(finding).collect()
}

/// Reports the first value in a command line that may be any text: of an agent, a person or an input.
fn found_words(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    relays: &OnceCell<CommandRelays>,
    node: &OutlineNode<'_>,
    value: &CommandValue,
    quoting: ShellQuotes,
) -> Option<GraphDiagnostic> {
    let is_safe = |carried: &&CarriedText| quoting == ShellQuotes::Single && !carried.may_have_quote;
    let carried = value.carried.iter().filter(|carried| !is_safe(carried));
    let spoken = carried.filter_map(|carried| {
        let path = carried.value();
        Some((path, words::speaker(outline, known, relays, node, path)?))
    });
    let (path, speaker) = spoken.min_by_key(|(_, speaker)| speaker.is_trusted())?;
    let name = shown(&path.join(".").replace(&format!(".{ITEM}"), ITEM));
    let text = match speaker {
        Speaker::Agent => format!("{name} is an agent's text, and"),
        Speaker::Person => format!("{name} is a person's text, and"),
        Speaker::Event => format!("{name} is the text of an event, and"),
        Speaker::Workflow => format!("{name} is the text of another workflow, and"),
        Speaker::Feedback => format!("{name} may repeat an agent's text, and"),
        Speaker::Input | Speaker::Task => format!("{name} may be any text, and"),
        Speaker::Program => format!("{name} is the output of a command, and"),
        Speaker::Relayed => format!("{name} may repeat the text of an agent or a person, and"),
    };
    let finding = match quoting {
        ShellQuotes::None => GraphDiagnostic::error(
            None,
            "shell",
            format!("{text} the shell would run it as part of the command"),
        ),
        ShellQuotes::Single => GraphDiagnostic::warning(
            None,
            "shell",
            format!("{text} a `'` in it ends the quotes: the shell would run the rest"),
        ),
        ShellQuotes::Double => GraphDiagnostic::warning(
            None,
            "shell",
            format!("{text} quotes do not help: the shell would run a `$(…)` in it"),
        ),
        ShellQuotes::Document => GraphDiagnostic::warning(
            None,
            "shell",
            format!("{text} a line in it may end the here-document: the shell would run the rest"),
        ),
    };
    // Such a text is seldom meant to be run, but it may have a quote or a `$` by accident.
    let severity = if speaker.is_trusted() { GraphSeverity::Warning } else { finding.severity };
    let finding = GraphDiagnostic { severity, ..finding };
    let hint = "pass it with `env: { NAME: … }` and write `\"$NAME\"`, or pass it with `stdin`";
    Some(finding.hint(hint).at(Some(value.position)))
}
