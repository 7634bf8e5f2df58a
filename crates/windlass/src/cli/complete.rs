//! Completes the names of entities while a person types in a shell.
//!
//! The shell's script asks `windlass` itself. After any error it gets no answer, and the person just keeps
//! typing.

use std::ffi::OsStr;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use windlass_core::entity::EntityKind;
use windlass_core::registry::truncate;
use windlass_runtime::entities;

use super::invocation::Invocation;
use super::sanitize::plain_line;

/// The variable that a shell's script sets to ask for completions.
pub(super) const ASKED: &str = "COMPLETE";
/// The most names that are offered.
const MOST: usize = 200;
/// The width of the description beside a name.
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
    // The shell evaluates what it inserts, and a stranger's file may be called `$(…)`.
    found.retain(|entity| entity.name.chars().all(is_harmless));
    // A shell replaces the typed word with the common prefix of all answers. Answers that do not start
    // with the word would delete it, unless there is only one.
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

/// Decides whether a character has no special meaning in a shell.
fn is_harmless(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/')
}

fn begins(name: &str, typed: &str) -> bool {
    name.to_lowercase().starts_with(&typed.to_lowercase())
}

/// Answers and exits if a shell's script asks.
pub(super) fn answer() {
    if std::env::var_os(ASKED).is_some() {
        clap_complete::CompleteEnv::with_factory(super::command::grammar).var(ASKED).complete();
    }
}
