//! Checks the tools that a session may use: they exist, and their patterns can match.

use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::Outline;
use super::suggest::{did_you_mean, shown};
use crate::entity::{EntityTool, Provider};
use crate::graph::workflow::SessionTools;
use crate::registry::tools::{self, Named};

pub(super) fn look(outline: &Outline<'_>, found: &mut GraphDiagnostics) {
    for node in &outline.nodes {
        let tools = node.node.kind.session().and_then(|session| session.tools.as_ref());
        let Some(SessionTools::These(tools)) = tools else { continue };
        for (index, written) in tools.iter().enumerate() {
            if let Some(finding) = finding(written, found) {
                found.node(node, finding.item(index));
            }
        }
    }
}

fn finding(written: &str, found: &mut GraphDiagnostics) -> Option<GraphDiagnostic> {
    let error = |text: String| GraphDiagnostic::error(None, "tools", text);
    let EntityTool { name, .. } = EntityTool::named(written);
    let Ok(pattern) = tools::pattern(written.trim()) else {
        let text = format!("the brackets in {} are empty or do not match", shown(written));
        return Some(error(text).hint("write `NAME` or `NAME(PATTERN)`: `Bash(git diff:*)`"));
    };
    if let Some((what, hint)) = tools::name_error(&name, pattern) {
        return Some(error(format!("{}: {what}", shown(written))).hint(hint));
    }
    if tools::named(&name, Provider::Windlass) != Named::Unknown {
        return None;
    }
    let near = found.guess(|| did_you_mean(&name, tools::words()));
    let as_written = written.split('(').next().unwrap_or(written).trim();
    Some(error(format!("there is no tool {}", shown(as_written))).maybe_hint(near))
}
