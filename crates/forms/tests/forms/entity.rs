//! A file of one entity, and what is made of it.

use windlass_core::entity::{Entity, EntityKind, Level, Provider};
use windlass_forms::entity::{Origin, ReadEntities, parse};

/// A file of Claude Code's that is called `x`.
pub(crate) fn origin(kind: EntityKind) -> Origin<'static> {
    Origin {
        provider: Provider::Claude,
        kind: Some(kind),
        level: Level::Project,
        distance: 0,
        path: ".claude/x.md",
        name: "x",
        plugin: None,
    }
}

/// A skill that is this text.
pub(crate) fn skill(text: &str) -> ReadEntities {
    parse(&origin(EntityKind::Skill), text)
}

/// A skill with this line in its frontmatter.
pub(crate) fn line(line: &str) -> ReadEntities {
    skill(&format!("---\n{line}\n---\nDo it.\n"))
}

/// Everything that is said about a file.
pub(crate) fn said(read: &ReadEntities) -> String {
    read.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The one entity of a file.
pub(crate) fn only(read: &ReadEntities) -> &Entity {
    let [entity] = read.entities.as_slice() else { unreachable!("not one entity: {}", said(read)) };
    entity
}

/// An entity that is used without a complaint.
pub(crate) fn clean(read: &ReadEntities) -> &Entity {
    assert_eq!(said(read), "");
    only(read)
}

/// Returns the diagnostics about a text that yields no entity.
pub(crate) fn refused(read: &ReadEntities) -> String {
    assert_eq!(read.entities, [], "{}", said(read));
    assert!(read.diagnostics.iter().any(|diagnostic| diagnostic.is_error()));
    said(read)
}
