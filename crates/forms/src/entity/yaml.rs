//! Reads the YAML of frontmatter and words the first mistake in it.
//!
//! Stops at the first mistake; [`lenient_yaml`](super::lenient_yaml) then makes a second attempt.

use super::fast_yaml;
use crate::json::{JsonError, JsonNode};
use crate::yaml::{self, Bounds, YamlError, YamlErrorKind, YamlReading};

const BOUNDS: Bounds = Bounds {
    // Deeper than any frontmatter; keeps a hostile one from exhausting the stack.
    deepest: 32,
    values: 20_000,
    copied_values: 20_000,
    copied_bytes: 256 * 1024,
};

/// The reason that a text is refused.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum YamlRefusal {
    /// Not YAML, but perhaps almost.
    Broken(JsonError),
    /// Far larger than anyone would write by hand.
    Excess(JsonError),
}

/// Reads one document. Positions are counted from `base`. An empty document is null.
pub(super) fn read(text: &str, base: usize) -> Result<JsonNode, YamlRefusal> {
    match fast_yaml::read(text, base) {
        Some(node) => Ok(node),
        None => read_all(text, base),
    }
}

/// Does the same without the fast path for simple texts.
pub(super) fn read_all(text: &str, base: usize) -> Result<JsonNode, YamlRefusal> {
    let tree = yaml::read(text, base, &FrontmatterReading);
    match tree.errors.into_iter().next() {
        None => Ok(tree.root),
        Some(slip) => Err(refused(slip)),
    }
}

struct FrontmatterReading;

impl YamlReading for FrontmatterReading {
    fn bounds(&self) -> Bounds {
        BOUNDS
    }
}

fn refused(YamlError { at, kind: mistake }: YamlError) -> YamlRefusal {
    let broken = |message: &str, hint| JsonError { at, message: message.to_owned(), hint };
    match mistake {
        YamlErrorKind::NotYaml(info) => {
            let hint = Some("a value with `: `, `#`, quotes or brackets in it goes into quotes");
            YamlRefusal::Broken(broken(&format!("not YAML: {info}"), hint))
        }
        YamlErrorKind::More => YamlRefusal::Broken(broken("there is more after the end of the YAML", None)),
        YamlErrorKind::KeyNotText => {
            YamlRefusal::Broken(broken("a key must be plain text", Some("put quotes around it")))
        }
        YamlErrorKind::EndlessAlias => {
            YamlRefusal::Broken(broken("an alias inside the value it repeats", None))
        }
        // Frontmatter refuses no tags or mappings, so the last two cannot occur.
        YamlErrorKind::NoValue | YamlErrorKind::NoMapping | YamlErrorKind::Tag => {
            YamlRefusal::Broken(broken("expected a value", None))
        }
        YamlErrorKind::TooDeep => {
            let message = format!("nested more than {} levels deep", BOUNDS.deepest);
            YamlRefusal::Excess(broken(&message, Some("write it flatter")))
        }
        YamlErrorKind::TooMany | YamlErrorKind::TooMuchCopied => {
            let hint = Some("write it without anchors and aliases");
            YamlRefusal::Excess(broken("there are too many values, aliases included", hint))
        }
    }
}

#[cfg(test)]
mod tests;
