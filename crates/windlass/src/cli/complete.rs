//! Completes names that only this machine knows, while a person types them in a shell.
//!
//! The shell's script asks `windlass` itself; whatever goes wrong, it gets no answer and the
//! person goes on typing.

use std::ffi::OsStr;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use windlass_core::entity::EntityKind;
use windlass_core::registry::truncate;
use windlass_runtime::entities;

use super::invocation::Invocation;
use super::sanitize::plain_line;

/// The variable by which a shell's script asks.
pub(super) const ASKED: &str = "COMPLETE";
/// How many names are offered.
const MOST: usize = 200;
/// How much of a description stands beside a name.
const ABOUT: usize = 60;

/// Completes the names of entities.
pub(super) fn entities(kind: Option<EntityKind>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| names(kind, typed).unwrap_or_default())
}

fn names(kind: Option<EntityKind>, typed: &OsStr) -> Option<Vec<CompletionCandidate>> {
    let invocation = Invocation::look().ok()?;
    let loaded = entities::load(&invocation.home, &invocation.cwd, &[]).ok()?;
    let typed = typed.to_str()?;
    let mut found = loaded.registry.search(kind, typed, MOST);
    // A shell reads what it inserts: a stranger's file may be called `$(…)`.
    found.retain(|entity| entity.name.chars().all(is_harmless));
    // A shell puts what all answers share in place of what was typed: a guess that does not begin
    // with it would take it away, unless it is the only one.
    if found.len() > 1 {
        found.retain(|entity| begins(&entity.name, typed));
    }
    let offer = |entity: &&windlass_core::entity::Entity| {
        let about = plain_line(&entity.description);
        let about = truncate(&about, ABOUT);
        CompletionCandidate::new(plain_line(&entity.name))
            .help((!about.is_empty()).then(|| about.into_owned().into()))
    };
    Some(found.iter().map(offer).collect())
}

/// Whether a shell takes a character for nothing but itself.
fn is_harmless(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/')
}

fn begins(name: &str, typed: &str) -> bool {
    name.to_lowercase().starts_with(&typed.to_lowercase())
}

/// Answers a shell's script, when it is one that asks.
pub(super) fn answer() {
    if std::env::var_os(ASKED).is_some() {
        clap_complete::CompleteEnv::with_factory(super::command::grammar).var(ASKED).complete();
    }
}
