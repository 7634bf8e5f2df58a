//! What every target does with a text: reads it as each kind of one provider's entities, and
//! holds what must be true of the answer. A failure of these assertions is a finding like a crash.

use windlass_core::entity::{Kind, Level, Provider};
use windlass_forms::entity::{Origin, Read, parse, print};

/// Reads a text as files of all kinds.
pub fn files(provider: Provider, text: &str) {
    for kind in Kind::ALL {
        let origin = origin(provider, Some(kind));
        let read = parse(&origin, text);
        let has_error = read.diagnostics.iter().any(|diagnostic| diagnostic.is_error());
        assert!(!has_error || read.entities.is_empty(), "an error and an entity");
        check(&read);
        if provider == Provider::Windlass {
            round_trip(&origin, &read);
        }
    }
}

/// Reads a text as a document.
pub fn document(provider: Provider, text: &str) {
    check(&parse(&origin(provider, None), text));
}

fn origin(provider: Provider, kind: Option<Kind>) -> Origin<'static> {
    Origin { provider, kind, level: Level::Project, distance: 0, path: "some/file", name: "name", plugin: None }
}

fn check(read: &Read) {
    for diagnostic in &read.diagnostics {
        let shown = diagnostic.to_string();
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    }
    for entity in &read.entities {
        assert!(!entity.name.trim().is_empty() && !entity.name.contains(char::is_control), "{:?}", entity.name);
    }
}

fn round_trip(origin: &Origin<'_>, read: &Read) {
    for entity in &read.entities {
        let again = parse(origin, &print(entity));
        assert_eq!(again.entities, [entity.clone()]);
    }
}
