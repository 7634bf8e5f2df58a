//! The document that `windlass workflow new` creates.

use super::yaml::{YamlOutput, write};

/// Returns a commented workflow with the given name.
pub fn starter(name: &str) -> String {
    // Quoting keeps any name a single YAML value.
    let name = write(&YamlOutput::text(name.replace(char::is_control, " ")));
    include_str!("starter.yaml").replace("NAME", &name)
}
