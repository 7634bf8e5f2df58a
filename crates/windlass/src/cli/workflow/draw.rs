//! `windlass workflow graph`: draws a workflow.

use serde_json::json;
use windlass_core::graph::draw::States;
use windlass_runtime::catalog::catalog_with;

use super::super::draw::{DrawFormat, picture};
use super::super::feed::{envelope, words};
use super::super::invocation::{Invocation, print};
use super::super::report::Report;
use super::super::terminal::Terminal;
use super::{Of, find};
use crate::exit::Exit;

/// Draws the workflow.
pub(super) fn perform(
    invocation: &Invocation,
    name: &str,
    format: Option<DrawFormat>,
    of: &Of,
) -> Result<Exit, Report> {
    let found = catalog_with(&invocation.home, &invocation.cwd, &of.plugins, Some(name))?;
    let graph = find(&found, name)?.graph();
    let screen = Terminal::of(&invocation.home);
    let format = format.unwrap_or(DrawFormat::default_for(screen, of.json));
    let picture = picture(format, &graph, &States::new(), screen);
    if of.json {
        return print(&[envelope("graph", words::now(), None, json!({ "name": name, "picture": picture }))]);
    }
    print(&picture.lines().map(str::to_owned).collect::<Vec<_>>())
}
