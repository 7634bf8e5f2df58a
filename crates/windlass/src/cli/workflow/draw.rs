//! `windlass workflow graph`: a document as a picture.

use clap::ValueEnum;
use serde_json::json;
use windlass_core::graph::draw::{States, dot, mermaid, svg};
use windlass_runtime::catalog::catalog;

use super::super::feed::{envelope, words};
use super::super::here::{Here, print};
use super::super::report::Report;
use super::{Of, find};
use crate::exit::Exit;

/// How it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Mermaid,
    Dot,
    Svg,
}

/// Prints the picture.
pub(super) fn perform(here: &Here, name: &str, format: Format, of: &Of) -> Result<Exit, Report> {
    let found = catalog(&here.home, &here.cwd, &of.plugins)?;
    let entry = find(&found, name)?;
    let Some(graph) = entry.graph() else {
        return Err(Report::new(Exit::Configuration, format!("workflow `{name}` is one agent, not a graph"))
            .hint("`windlass workflow show` says what it is; only documents are drawn"));
    };
    let states = States::new();
    let picture = match format {
        Format::Mermaid => mermaid(graph, &states),
        Format::Dot => dot(graph, &states),
        Format::Svg => svg(graph, &states),
    };
    if of.json {
        return print(&[envelope("graph", words::now(), None, json!({ "name": name, "picture": picture }))]);
    }
    print(&picture.lines().map(str::to_owned).collect::<Vec<_>>())
}
