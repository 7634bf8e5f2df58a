//! Copies an entity into Windlass's own folder, for a person to change.

use std::path::{Path, PathBuf};

use windlass_core::entity::{Entity, EntityKind, Provider};
use windlass_forms::entity::print;

use crate::home::Home;
use crate::user_error::{UserError, UserErrorKind};
use crate::workflow_scope::{self, WorkflowScope};

/// Writes a copy in our own format and says where. What is there already is left alone.
pub fn eject(home: &Home, cwd: &Path, entity: &Entity, shelf: WorkflowScope) -> Result<PathBuf, UserError> {
    if entity.source.provider != Provider::Windlass {
        // In our format its places for arguments would mean something else.
        let text = format!("{} `{}` is a file already: {}", entity.kind, entity.name, entity.source.path);
        return Err(UserError::new(UserErrorKind::Usage, text).hint(format!(
            "change that one; only Windlass's own are copied, and this is {}'s",
            entity.source.provider
        )));
    }
    workflow_scope::put(home, cwd, shelf, &place(entity), &print(entity))
}

/// Below `.windlass`. A name of several parts becomes one.
fn place(entity: &Entity) -> PathBuf {
    let name: String =
        entity.name.chars().map(|c| if matches!(c, '/' | ':' | '\\') { '-' } else { c }).collect();
    // A name is one plain word by the readers' rules; a leading dot would hide the copy.
    let name = name.trim_start_matches('.');
    match entity.kind {
        EntityKind::Command => Path::new("commands").join(format!("{name}.md")),
        EntityKind::Skill => Path::new("skills").join(name).join("SKILL.md"),
        EntityKind::Agent => Path::new("agents").join(format!("{name}.md")),
    }
}
