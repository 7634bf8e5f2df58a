//! Reads the YAML of a workflow and words every mistake in it.
//!
//! Other modules interpret the keys.

use std::collections::BTreeSet;

use super::yaml_error;
use crate::json::{self, JsonError, JsonNode, JsonValue};
use crate::yaml::{self, Bounds, Tag, Tagged, YamlError, YamlErrorKind, YamlReading};

const BOUNDS: Bounds = Bounds {
    // Deep enough for a workflow with the deepest allowed nesting of blocks.
    deepest: 160,
    values: 500_000,
    copied_values: 20_000,
    copied_bytes: 256 * 1024,
};

/// A parsed document, perhaps incomplete.
pub(crate) struct DocumentTree {
    /// The value, as far as it could be read.
    pub(crate) root: JsonNode,
    /// The starting bytes of values whose end was not reached.
    pub(crate) open: BTreeSet<usize>,
    /// The mistakes in the YAML.
    pub(crate) broken: Vec<JsonError>,
}

/// Reads one document. An empty document is null.
pub(crate) fn read(text: &str) -> DocumentTree {
    let tree = read_as_it_is(text);
    if tree.broken.is_empty() {
        return tree;
    }
    let Some((tabs, spaced)) = yaml_error::tabs(text) else { return tree };
    // The tabs cause the scanner's other complaints.
    let tree = read_as_it_is(&spaced);
    DocumentTree { broken: tabs, ..tree }
}

/// Reads the document of a `.json` file and reports its mistakes as JSON errors.
pub(crate) fn read_json(text: &str) -> DocumentTree {
    let tree = read(text);
    let is_mapping = matches!(tree.root.value, JsonValue::Object(_));
    if tree.broken.is_empty() && (is_mapping || matches!(tree.root.value, JsonValue::Null)) {
        return tree;
    }
    let Err(broken) = json::read(text) else { return tree };
    let broken = JsonError { message: format!("not JSON: {}", broken.message), ..broken };
    if is_mapping {
        return DocumentTree { broken: vec![broken], ..tree };
    }
    let at = tree.root.at;
    DocumentTree {
        root: JsonNode { at, value: JsonValue::Null },
        open: BTreeSet::from([at]),
        broken: vec![broken],
    }
}

fn read_as_it_is(text: &str) -> DocumentTree {
    let yaml::YamlTree { root, open, errors: slips } = yaml::read(text, 0, &WithTemplates);
    let mut broken: Vec<JsonError> = slips.into_iter().map(|slip| in_words(text, slip)).collect();
    // A second mistake at the same byte says nothing new.
    broken.dedup_by_key(|broken| broken.at);
    DocumentTree { root, open, broken }
}

/// The YAML reading for documents with templates and conditions, whose braces and `!` YAML would
/// otherwise interpret.
struct WithTemplates;

impl YamlReading for WithTemplates {
    fn bounds(&self) -> Bounds {
        BOUNDS
    }

    fn tagged(&self, tag: &Tag) -> Tagged {
        if tag.is_custom() { Tagged::Refused } else { Tagged::Text }
    }

    /// Returns the position of the `|` or `>`, from which [`nested`](super::nested) finds positions
    /// inside the text.
    fn block_at(&self, text: &str, at: usize) -> usize {
        let before = text.get(..at).unwrap_or_default();
        let above = before.trim_end_matches([' ', '\t']);
        let is_first_line = !above.ends_with('\n');
        if is_first_line { at } else { yaml_error::block_header(above).unwrap_or(at) }
    }

    /// Recognises a template without quotes, which looks like a mapping.
    fn is_mapping(&self, text: &str, at: usize) -> bool {
        !yaml_error::is_template(text, at)
    }
}

fn in_words(text: &str, YamlError { at, kind: mistake }: YamlError) -> JsonError {
    let broken = |message: &str, hint| JsonError { at, message: message.to_owned(), hint };
    match mistake {
        YamlErrorKind::NotYaml(info) => yaml_error::explain(text, at, &info),
        YamlErrorKind::More => {
            broken("there is more after the end of the document", Some("this file holds one document"))
        }
        YamlErrorKind::NoValue => broken("expected a value", None),
        YamlErrorKind::KeyNotText => broken("a key must be plain text", Some("put quotes around it")),
        YamlErrorKind::EndlessAlias => broken("an alias inside the value it repeats", None),
        YamlErrorKind::Tag => yaml_error::tagged(text, at),
        YamlErrorKind::NoMapping => yaml_error::unquoted(at),
        YamlErrorKind::TooDeep => {
            let message = format!("nested more than {} levels deep", BOUNDS.deepest);
            broken(&message, Some("write it flatter"))
        }
        YamlErrorKind::TooMany => broken("there are more values than a workflow can have", None),
        YamlErrorKind::TooMuchCopied => {
            broken("aliases repeat too many values", Some("write it without anchors and aliases"))
        }
    }
}
