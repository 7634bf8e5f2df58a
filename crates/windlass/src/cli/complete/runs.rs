//! Completes the ids of runs and of their nodes.

use clap_complete::engine::CompletionCandidate;
use windlass_core::engine::explain::far;
use windlass_core::graph::workflow::Node;
use windlass_core::id::RunId;
use windlass_runtime::Durability;
use windlass_runtime::handle::Handle;
use windlass_runtime::view::{OriginFilter, RunFilter, RunStatus, RunSummary, StatusFilter};

use super::{candidate, line};
use crate::cli::command::grammar;
use crate::cli::default_run;
use crate::cli::invocation::Invocation;

/// The most runs that are offered.
const MOST: usize = 50;

/// The runs that a command can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfferedRuns {
    All,
    /// Runs that are not over.
    Open,
    /// Runs that are not over for good.
    Unfinished,
}

/// Offers the runs, newest first, with the workflow and the status of each.
pub(super) fn runs(
    invocation: &Invocation,
    offered: OfferedRuns,
    typed: &str,
) -> Option<Vec<CompletionCandidate>> {
    let status = match offered {
        OfferedRuns::All | OfferedRuns::Unfinished => StatusFilter::Any,
        OfferedRuns::Open => StatusFilter::Open,
    };
    let origin = if typed.is_empty() { OriginFilter::NoRun } else { OriginFilter::Anybody };
    let filter = RunFilter { status, origin, ..RunFilter::default() };
    let mut found = open(invocation)?.runs(&filter).ok()?;
    if offered == OfferedRuns::Unfinished {
        found.retain(|run| !matches!(run.status, RunStatus::Ended(status) if status.is_final()));
    }
    let offer = |run: &RunSummary| {
        let about = format!("{}, {}: {}", run.workflow, run.status.word(), run.input);
        candidate(run.run.as_str(), &about, typed)
    };
    Some(found.iter().filter_map(offer).take(MOST).collect())
}

/// Offers the nodes of a run, each with its kind and progress.
pub(super) fn nodes(invocation: &Invocation, typed: &str) -> Option<Vec<CompletionCandidate>> {
    let handle = open(invocation)?;
    let run = named(&handle).or_else(|| default_run::newest(invocation, &handle))?;
    let state = handle.view(&run).ok()?.state;
    let offer = |node: &&Node| {
        let about = format!("{}, {}", node.kind.word(), far(&state, &node.id).word());
        candidate(node.id.as_str(), &about, typed)
    };
    Some(in_order(&state.spec.body).iter().filter_map(offer).collect())
}

/// Lists nodes in the order of the workflow.
fn in_order(body: &[Node]) -> Vec<&Node> {
    let mut nodes = Vec::new();
    for node in body {
        nodes.push(node);
        nodes.extend(node.kind.blocks().into_iter().flat_map(|block| in_order(block.body)));
    }
    nodes
}

/// Returns the run that is named on the line: the first word that is neither a flag nor the value of one.
fn named(handle: &Handle) -> Option<RunId> {
    let words: Vec<String> = line().map(|word| word.to_string_lossy().into_owned()).collect();
    let grammar = grammar();
    let verb = grammar.find_subcommand(words.first()?)?;
    let takes_value = |word: &str| {
        let flag = word.strip_prefix("--").unwrap_or_default();
        verb.get_arguments().any(|arg| arg.get_long() == Some(flag) && arg.get_action().takes_values())
    };
    let is_own = |pair: &&[String]| match pair {
        [before, word] => !word.is_empty() && !word.starts_with('-') && !takes_value(before),
        _ => false,
    };
    handle.find(words.windows(2).find(is_own)?.last()?).ok()
}

/// Opens the log, if there is one: completing creates no files.
fn open(invocation: &Invocation) -> Option<Handle> {
    if !invocation.home.state.join("windlass.db").exists() {
        return None;
    }
    Handle::open(invocation.home.clone(), Durability::Full).ok()
}
