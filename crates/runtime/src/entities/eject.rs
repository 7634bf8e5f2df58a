//! Copies an entity into Windlass's own folder, for a person to change.

use std::path::{Path, PathBuf};

use windlass_core::entity::{Entity, Kind, Provider};
use windlass_forms::entity::print;
use windlass_peers::files::{self, Mode};

use crate::error::chain;
use crate::home::Home;
use crate::problem::{Class, Problem};

/// Whose folder a copy is put into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Into {
    /// The repository's.
    Project,
    /// The user's own.
    User,
}

/// Writes a copy in our own format and says where. What is there already is left alone.
pub fn eject(home: &Home, cwd: &Path, entity: &Entity, into: Into) -> Result<PathBuf, Problem> {
    if entity.source.provider != Provider::Windlass {
        // In our format its places for arguments would mean something else.
        let text = format!("{} `{}` is a file already: {}", entity.kind, entity.name, entity.source.path);
        return Err(Problem::new(Class::Usage, text).hint(format!(
            "change that one; only Windlass's own are copied, and this is {}'s",
            entity.source.provider
        )));
    }
    let base = match into {
        Into::User => home.config.clone(),
        Into::Project => {
            let root = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd);
            root.join(".windlass")
        }
    };
    let path = base.join(place(entity));
    let wrong = |why: String| Problem::new(Class::Configuration, format!("{}: {why}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| wrong(error.to_string()))?;
        let is_linked_away = |root: &Path| {
            let real = |path: &Path| path.canonicalize().ok();
            into == Into::Project
                && real(folder).zip(real(root)).is_some_and(|(to, root)| !to.starts_with(root))
        };
        if base.parent().is_some_and(is_linked_away) {
            return Err(wrong("its folder leads out of the project".to_owned())
                .hint("use --user, or a folder in the project"));
        }
    }
    let written = files::create_new(&path, print(entity).as_bytes(), Mode::Shared);
    match written.map_err(|error| wrong(chain(&error)))? {
        true => Ok(path),
        false => Err(wrong("there is one already".to_owned()).hint("change that one, or rename it first")),
    }
}

/// Below `.windlass`. A name of several parts becomes one.
fn place(entity: &Entity) -> PathBuf {
    let name: String =
        entity.name.chars().map(|c| if matches!(c, '/' | ':' | '\\') { '-' } else { c }).collect();
    // A name is one plain word by the readers' rules; a leading dot would hide the copy.
    let name = name.trim_start_matches('.');
    match entity.kind {
        Kind::Command => Path::new("commands").join(format!("{name}.md")),
        Kind::Skill => Path::new("skills").join(name).join("SKILL.md"),
        Kind::Agent => Path::new("agents").join(format!("{name}.md")),
    }
}
