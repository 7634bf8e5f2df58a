//! Reads the YAML of frontmatter, and says what is wrong with it.
//!
//! The first mistake is the end of it: a second try, with what is almost YAML, is left to others.

use super::subset;
use crate::json::{Broken, Node};
use crate::yaml::{self, Bounds, Manner, Mistake, Slip};

const BOUNDS: Bounds = Bounds {
    // Deeper than any frontmatter; keeps a hostile one from exhausting the stack.
    deepest: 32,
    values: 20_000,
    copied_values: 20_000,
    copied_bytes: 256 * 1024,
};

/// Why a text is not read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Refused {
    /// It is not YAML, and perhaps almost.
    Broken(Broken),
    /// It means more than anybody would write by hand.
    Excess(Broken),
}

/// Reads one document; positions are counted from `base`. An empty one is null.
pub(super) fn read(text: &str, base: usize) -> Result<Node, Refused> {
    match subset::read(text, base) {
        Some(node) => Ok(node),
        None => read_all(text, base),
    }
}

/// The same, without the short cut for simple texts.
pub(super) fn read_all(text: &str, base: usize) -> Result<Node, Refused> {
    let tree = yaml::read(text, base, &Frontmatter);
    match tree.slips.into_iter().next() {
        None => Ok(tree.root),
        Some(slip) => Err(refused(slip)),
    }
}

struct Frontmatter;

impl Manner for Frontmatter {
    fn bounds(&self) -> Bounds {
        BOUNDS
    }
}

fn refused(Slip { at, mistake }: Slip) -> Refused {
    let broken = |message: &str, hint| Broken { at, message: message.to_owned(), hint };
    match mistake {
        Mistake::NotYaml(info) => {
            let hint = Some("a value with `: `, `#`, quotes or brackets in it goes into quotes");
            Refused::Broken(broken(&format!("not YAML: {info}"), hint))
        }
        Mistake::More => Refused::Broken(broken("there is more after the end of the YAML", None)),
        Mistake::KeyNotText => {
            Refused::Broken(broken("a key must be plain text", Some("put quotes around it")))
        }
        Mistake::EndlessAlias => Refused::Broken(broken("an alias inside the value it repeats", None)),
        // Frontmatter has no mappings and tags that are refused.
        Mistake::NoValue | Mistake::NoMapping | Mistake::Tag => {
            Refused::Broken(broken("expected a value", None))
        }
        Mistake::TooDeep => {
            let message = format!("nested more than {} levels deep", BOUNDS.deepest);
            Refused::Excess(broken(&message, Some("write it flatter")))
        }
        Mistake::TooMany | Mistake::TooMuchCopied => {
            let hint = Some("write it without anchors and aliases");
            Refused::Excess(broken("this means far more than it says", hint))
        }
    }
}

#[cfg(test)]
mod tests;
