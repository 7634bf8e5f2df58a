//! Copies an entity into Windlass's own folder, for a person to change.

use std::path::{Path, PathBuf};

use windlass_core::entity::{Entity, EntityKind, Provider};
use windlass_forms::entity::print;

use crate::home::Home;
use crate::new_file::{self, NewFileScope};
use crate::user_error::{UserError, UserErrorKind};

/// Writes a copy in Windlass's own format and returns its path. Never overwrites a file.
pub fn eject(home: &Home, cwd: &Path, entity: &Entity, scope: NewFileScope) -> Result<PathBuf, UserError> {
    if entity.source.provider != Provider::Windlass {
        // Its argument placeholders would mean something else in Windlass's format.
        let text = format!("{} `{}` is a file already: {}", entity.kind, entity.name, entity.source.path);
        return Err(UserError::new(UserErrorKind::Usage, text).hint(format!(
            "edit that file; only Windlass's own entities can be copied, and this one is {}'s",
            entity.source.provider
        )));
    }
    new_file::put(home, cwd, scope, &place(entity), &print(entity))
}

/// Returns the path below `.windlass`. A name with several parts becomes one.
fn place(entity: &Entity) -> PathBuf {
    let name: String =
        entity.name.chars().map(|c| if matches!(c, '/' | ':' | '\\') { '-' } else { c }).collect();
    // The readers allow only plain words; a leading dot would hide the copy.
    let name = name.trim_start_matches('.');
    match entity.kind {
        EntityKind::Command => Path::new("commands").join(format!("{name}.md")),
        EntityKind::Skill => Path::new("skills").join(name).join("SKILL.md"),
        EntityKind::Agent => Path::new("agents").join(format!("{name}.md")),
    }
}
