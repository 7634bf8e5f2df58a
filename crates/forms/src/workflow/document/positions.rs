//! Positions of the nodes of a document and their fields.

use std::collections::HashMap;

use windlass_core::graph::workflow::Node;
use windlass_core::id::NodeId;

/// A field of a node, or a field nested in one.
#[derive(Debug, Clone)]
pub(super) struct Field {
    /// For example `loop`, `loop.until` or `loop.until.1`.
    pub(super) path: Box<str>,
    /// The byte of the key.
    pub(super) key_at: usize,
    /// The byte of the value.
    pub(super) at: usize,
}

/// The positions in a node, or in the part of the document around all nodes.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentPart {
    /// The starting byte.
    pub(super) at: usize,
    pub(super) fields: Vec<Field>,
    /// The bytes at which reading reported an error.
    pub(super) errors: Vec<usize>,
}

/// The positions in a document.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentPositions {
    top: DocumentPart,
    nodes: HashMap<NodeId, DocumentPart>,
}

impl DocumentPart {
    /// Returns the last field that begins at or before a byte. If a misspelt key and the intended
    /// field share a position, returns the misspelt key.
    fn field_at(&self, at: usize) -> Option<&str> {
        let before = self.fields.iter().filter(|field| field.key_at <= at);
        let last = before.reduce(|last, field| if field.key_at > last.key_at { field } else { last });
        last.map(|field| &*field.path)
    }

    /// Returns the field if it is present, otherwise the nearest field around it.
    fn nearest<'f>(&self, field: &'f str) -> Option<&'f str> {
        if self.fields.iter().any(|own| *own.path == *field) {
            return Some(field);
        }
        field.rsplit_once('.').and_then(|(outer, _)| self.nearest(outer))
    }
}

impl DocumentPositions {
    /// Matches nodes to their parts; both are in the order of the text.
    pub(super) fn new(top: DocumentPart, body: &[Node], spots: Vec<DocumentPart>) -> DocumentPositions {
        let mut nodes = HashMap::with_capacity(spots.len());
        name(body, &mut spots.into_iter(), &mut nodes);
        DocumentPositions { top, nodes }
    }

    fn spot(&self, node: Option<&NodeId>) -> &DocumentPart {
        node.and_then(|id| self.nodes.get(id)).unwrap_or(&self.top)
    }

    /// Decides whether reading reported an error in a field, so that further messages about it
    /// would only follow from that. For a missing field, checks the mapping that would contain it.
    pub(super) fn is_doubtful(&self, node: Option<&NodeId>, field: &str) -> bool {
        let spot = self.spot(node);
        let Some(field) = spot.nearest(field) else { return false };
        spot.errors.iter().filter_map(|at| spot.field_at(*at)).any(|wrong| is_in(wrong, field))
    }

    /// Returns the byte of a field's value. Falls back to the node if there is no such field, and
    /// to the start of the document if there is no such node. Takes the field's full path
    /// (`loop.until`) or its end (`until`).
    pub(super) fn find(&self, node: Option<&NodeId>, field: &str) -> usize {
        self.field(node, field).map_or(self.spot(node).at, |field| field.at)
    }

    /// Returns the byte of a field's key, found in the same way.
    pub(super) fn find_key(&self, node: Option<&NodeId>, field: &str) -> usize {
        self.field(node, field).map_or(self.spot(node).at, |field| field.key_at)
    }

    fn field(&self, node: Option<&NodeId>, field: &str) -> Option<&Field> {
        let spot = self.spot(node);
        let by_path = |path: &str| spot.fields.iter().find(|field| *field.path == *path);
        let by_end = |path: &str| spot.fields.iter().find(|field| ends_with(&field.path, path));
        by_path(field).or_else(|| by_end(field)).or_else(|| {
            let (outer, _) = field.rsplit_once('.')?;
            by_path(outer).or_else(|| by_end(outer))
        })
    }
}

fn name(
    body: &[Node],
    spots: &mut impl Iterator<Item = DocumentPart>,
    nodes: &mut HashMap<NodeId, DocumentPart>,
) {
    for node in body {
        let Some(spot) = spots.next() else { return };
        nodes.insert(node.id.clone(), spot);
        for block in node.kind.blocks() {
            name(block.body, spots, nodes);
        }
    }
}

/// Decides whether a path is the field itself or is inside it.
fn is_in(path: &str, field: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/']))
}

fn ends_with(path: &str, field: &str) -> bool {
    path.strip_suffix(field).is_some_and(|before| before.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(at: usize, fields: &[(&str, usize)], mistakes: &[usize]) -> DocumentPart {
        let field = |(path, at): &(&str, usize)| Field { path: (*path).into(), key_at: at - 2, at: *at };
        DocumentPart { at, fields: fields.iter().map(field).collect(), errors: mistakes.into() }
    }

    fn places() -> (DocumentPositions, NodeId) {
        let id = NodeId::new("a");
        let fields = [("loop", 20), ("loop.max", 28), ("loop.until", 36), ("with", 50), ("skill", 60)];
        let nodes = HashMap::from([(id.clone(), spot(10, &fields, &[37, 48]))]);
        (DocumentPositions { top: spot(0, &[("name", 6)], &[]), nodes }, id)
    }

    #[test]
    fn a_field_is_found_by_its_path_by_its_end_and_by_what_it_is_in() {
        let (places, id) = places();
        let rows =
            [("loop", 20), ("loop.until", 36), ("until", 36), ("with.area", 50), ("nil", 10), ("", 10)];
        for (field, at) in rows {
            assert_eq!(places.find(Some(&id), field), at, "{field}");
        }
        assert_eq!(places.find(None, "name"), 6);
        assert_eq!(places.find_key(Some(&id), "loop.until"), 34);
        assert_eq!(places.find(Some(&NodeId::new("b")), "x"), 0);
    }

    #[test]
    fn a_mistake_casts_doubt_on_the_field_it_is_in() {
        let (places, id) = places();
        let rows = [
            ("loop", true),
            ("loop.until", true),
            ("loop.max", false),
            ("loop.other", true),
            ("with.area", true),
            ("skill", false),
            ("id", false),
        ];
        for (field, is_doubtful) in rows {
            assert_eq!(places.is_doubtful(Some(&id), field), is_doubtful, "{field}");
        }
        assert!(!places.is_doubtful(None, "name"));
    }
}
