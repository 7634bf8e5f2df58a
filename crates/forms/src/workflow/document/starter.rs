//! The first document of somebody who has never written one.

use super::yaml::{YamlOutput, write};

/// A commented workflow by a name, for `windlass workflow new`.
pub fn starter(name: &str) -> String {
    // Whatever somebody types as a name stays one value.
    let name = write(&YamlOutput::text(name.replace(char::is_control, " ")));
    include_str!("starter.yaml").replace("NAME", &name)
}
