//! Reads the YAML of frontmatter, and says what is wrong with it.
//!
//! The first mistake is the end of it: a second try, with what is almost YAML, is left to others.

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

/// Why a text is not read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum YamlRefusal {
    /// It is not YAML, and perhaps almost.
    Broken(JsonError),
    /// It means more than anybody would write by hand.
    Excess(JsonError),
}

/// Reads one document; positions are counted from `base`. An empty one is null.
pub(super) fn read(text: &str, base: usize) -> Result<JsonNode, YamlRefusal> {
    match fast_yaml::read(text, base) {
        Some(node) => Ok(node),
        None => read_all(text, base),
    }
}

/// The same, without the short cut for simple texts.
pub(super) fn read_all(text: &str, base: usize) -> Result<JsonNode, YamlRefusal> {
    let tree = yaml::read(text, base, &FrontmatterMap);
    match tree.errors.into_iter().next() {
        None => Ok(tree.root),
        Some(slip) => Err(refused(slip)),
    }
}

struct FrontmatterMap;

impl YamlReading for FrontmatterMap {
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
        // Frontmatter has no mappings and tags that are refused.
        YamlErrorKind::NoValue | YamlErrorKind::NoMapping | YamlErrorKind::Tag => {
            YamlRefusal::Broken(broken("expected a value", None))
        }
        YamlErrorKind::TooDeep => {
            let message = format!("nested more than {} levels deep", BOUNDS.deepest);
            YamlRefusal::Excess(broken(&message, Some("write it flatter")))
        }
        YamlErrorKind::TooMany | YamlErrorKind::TooMuchCopied => {
            let hint = Some("write it without anchors and aliases");
            YamlRefusal::Excess(broken("this means far more than it says", hint))
        }
    }
}

#[cfg(test)]
mod tests;
