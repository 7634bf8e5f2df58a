//! Decides which iterations and attempts of a node a run can have, so that no test names another one: in
//! `not_ran` such a name could never fail.

use super::stub_check::node_at;
use crate::engine::node::shape::{RoundsEnd, Structure};
use crate::graph::template::constant;
use crate::graph::workflow::Node;
use crate::spec::Spec;

/// An iteration or an attempt in the name of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InstanceMark {
    /// `@2`
    Iteration(u32),
    /// `~2`
    Attempt(u32),
}

/// The marks that a block or the node itself adds to the name of an execution.
struct MarkRange<'s> {
    node: &'s Node,
    first: InstanceMark,
    /// The last number; `None` if it is unknown.
    last: Option<u64>,
}

/// A name that no execution has.
pub(super) struct ImpossibleInstance {
    pub(super) text: String,
    pub(super) hint: Option<String>,
}

/// Returns why no execution can have this name, of which every node exists.
pub(super) fn impossible(spec: &Spec, name: &str) -> Option<ImpossibleInstance> {
    let parts: Vec<&str> = name.split('/').collect();
    let mut spec = spec;
    for (index, part) in parts.iter().enumerate() {
        let (id, marks) = split(part);
        let chain = chain(&spec.body, id)?;
        if let Some(found) = in_part(name, id, marks, &chain) {
            return Some(found);
        }
        if index + 1 < parts.len() {
            let caller = node_at(spec, id)?;
            spec = spec.others.get(&caller.kind.shape().calls()?.name)?;
        }
    }
    None
}

/// Splits the id of a node from its marks: `work` and `@2~3`.
fn split(part: &str) -> (&str, &str) {
    part.split_at(part.find(['@', '~']).unwrap_or(part.len()))
}

/// Returns the node with an id after the blocks around it, outermost first.
fn chain<'s>(body: &'s [Node], id: &str) -> Option<Vec<&'s Node>> {
    body.iter().find_map(|node| {
        if node.id.as_str() == id {
            return Some(vec![node]);
        }
        let mut inner = node.kind.blocks().into_iter().find_map(|block| chain(block.body, id))?;
        inner.insert(0, node);
        Some(inner)
    })
}

fn in_part(name: &str, id: &str, written: &str, chain: &[&Node]) -> Option<ImpossibleInstance> {
    let ranges = ranges(chain);
    let mut rest = written;
    let mut index = 0;
    while !rest.is_empty() {
        let end = rest.char_indices().skip(1).find(|(_, letter)| ['@', '~'].contains(letter));
        let (mark, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        let Some(mark) = InstanceMark::read(mark) else {
            let text = format!("`{name}` is not the name of an execution");
            let hint = "write `work@2` for iteration 2, and `work~2` for the second attempt";
            return Some(ImpossibleInstance { text, hint: Some(hint.to_owned()) });
        };
        let found = match ranges.get(index..).unwrap_or_default() {
            left @ [range, ..] if left.iter().any(|range| range.is_like(mark)) => {
                range.misses(name, id, mark)
            }
            _ => Some(without_block(name, id, mark, &ranges)),
        };
        if found.is_some() {
            return found;
        }
        (rest, index) = (after, index + 1);
    }
    None
}

/// Describes a mark for which there is no block.
fn without_block(name: &str, id: &str, mark: InstanceMark, ranges: &[MarkRange<'_>]) -> ImpossibleInstance {
    let number = ranges.iter().filter(|range| range.is_like(mark)).count();
    let why = match (mark, number) {
        (InstanceMark::Iteration(_), 0) => format!("`{id}` is in no loop"),
        (InstanceMark::Iteration(_), _) => format!("`{id}` is in only {}", counted(number, "loop")),
        (InstanceMark::Attempt(_), 0) => format!("`{id}` has no `retry`"),
        (InstanceMark::Attempt(_), _) => {
            format!("the name of `{id}` has only {}", counted(number, "attempt number"))
        }
    };
    let hint = format!("write `{}`", in_caller(name, id));
    ImpossibleInstance { text: format!("`{name}` never runs: {why}"), hint: Some(hint) }
}

/// Returns the name of a node without marks: `caller/q` for `caller/q@3`.
fn in_caller(name: &str, id: &str) -> String {
    name.rsplit_once('/').map_or_else(|| id.to_owned(), |(caller, _)| format!("{caller}/{id}"))
}

/// Returns the marks that the name of an execution can have, in their order.
fn ranges<'s>(chain: &[&'s Node]) -> Vec<MarkRange<'s>> {
    let Some((own, around)) = chain.split_last() else { return Vec::new() };
    let mut ranges = Vec::new();
    let attempts = |node: &Node| Some(u64::from(node.retry.times) + 1);
    for node in around {
        if node.retry.times > 0 {
            ranges.push(MarkRange { node, first: InstanceMark::Attempt(1), last: attempts(node) });
        }
        if let Some(last) = iterations(node) {
            ranges.push(MarkRange { node, first: InstanceMark::Iteration(1), last });
        }
    }
    if own.retry.times > 0 {
        // The first attempt of the node itself has no mark.
        ranges.push(MarkRange { node: own, first: InstanceMark::Attempt(2), last: attempts(own) });
    }
    ranges
}

/// Returns the highest iteration of a block, if it has iterations. The number may be unknown.
#[expect(clippy::option_option, reason = "whether it has iterations, and whether their number is known")]
fn iterations(node: &Node) -> Option<Option<u64>> {
    match node.kind.shape().structure() {
        Structure::Rounds { ends: RoundsEnd::Conditions(until), .. }
            if until.iter().any(|until| constant(until) == Some(true)) =>
        {
            Some(Some(1))
        }
        Structure::Rounds { max, .. } => Some((max > 0).then_some(max.into())),
        Structure::Items(each) => Some(Some(each.most_items().into())),
        Structure::Tasks(_) => Some(None),
        Structure::Leaf
        | Structure::Either(_)
        | Structure::Beside(_)
        | Structure::Guarded(_)
        | Structure::Last(_) => None,
    }
}

impl InstanceMark {
    fn read(written: &str) -> Option<InstanceMark> {
        let digits =
            |text: &str| text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        match written.strip_prefix('@') {
            Some(number) => digits(number).map(InstanceMark::Iteration),
            None => digits(written.strip_prefix('~')?).map(InstanceMark::Attempt),
        }
    }
}

impl MarkRange<'_> {
    fn is_like(&self, mark: InstanceMark) -> bool {
        matches!(
            (mark, self.first),
            (InstanceMark::Iteration(_), InstanceMark::Iteration(_))
                | (InstanceMark::Attempt(_), InstanceMark::Attempt(_))
        )
    }

    /// Describes why a mark is not in this range.
    fn misses(&self, name: &str, id: &str, mark: InstanceMark) -> Option<ImpossibleInstance> {
        let block = &self.node.id;
        let never = |why: String, hint: Option<String>| {
            Some(ImpossibleInstance { text: format!("`{name}` never runs: {why}"), hint })
        };
        let (number, first, unit) = match (mark, self.first) {
            (InstanceMark::Iteration(number), InstanceMark::Iteration(first)) => (number, first, "iteration"),
            (InstanceMark::Attempt(number), InstanceMark::Attempt(first)) => (number, first, "attempt"),
            (InstanceMark::Iteration(_), InstanceMark::Attempt(_)) => {
                let hint = format!("write the attempt of `{block}` first: `{}~1@2`", in_caller(name, id));
                return never(format!("the attempt of `{block}` is missing"), Some(hint));
            }
            (InstanceMark::Attempt(_), InstanceMark::Iteration(_)) => {
                let hint = format!("write the iteration of `{block}` first: `{}@1~2`", in_caller(name, id));
                return never(format!("the iteration of `{block}` is missing"), Some(hint));
            }
        };
        if number == 0 {
            return never(format!("the first {unit} is 1"), None);
        }
        if number < first {
            let hint = format!(
                "write `{}`",
                name.strip_suffix("~1").map_or_else(|| in_caller(name, id), str::to_owned)
            );
            return never(format!("the first {unit} of `{block}` has no number"), Some(hint));
        }
        let last = self.last.filter(|last| u64::from(number) > *last)?;
        let last = usize::try_from(last).unwrap_or(usize::MAX);
        never(format!("`{block}` has at most {}", counted(last, unit)), None)
    }
}

fn counted(number: usize, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_workflow_that_is_called() {
        assert_eq!(in_caller("k/q@3", "q"), "k/q");
        assert_eq!(in_caller("q@3", "q"), "q");
    }
}
