//! Completes names while a person types in a shell: entities, workflows, runs, nodes and tasks.
//!
//! The shell's script asks `windlass` itself. After any error it gets no answer, and the person just keeps
//! typing.

mod files;
mod runs;

use std::ffi::{OsStr, OsString};

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use windlass_core::entity::EntityKind;
use windlass_core::registry::truncate;

use super::invocation::Invocation;
use super::sanitize::plain_line;
pub(super) use runs::OfferedRuns;

/// The variable that a shell's script sets to ask for completions.
pub(super) const ASKED: &str = "COMPLETE";
/// The most names that are offered.
const MOST: usize = 200;
/// The width of the description beside a name.
const ABOUT: usize = 60;

/// Completes the names of entities.
pub(super) fn entities(kind: Option<EntityKind>) -> ArgValueCompleter {
    completer(move |invocation, typed| files::entities(invocation, kind, typed))
}

/// Completes the names of entities and of verbs.
pub(super) fn entities_and_verbs() -> ArgValueCompleter {
    completer(|invocation, typed| {
        let entities = files::entities(invocation, None, typed).unwrap_or_default();
        Some(entities.into_iter().chain(verbs_below(&super::command::grammar(), typed)).collect())
    })
}

/// Completes the names of verbs, after the verbs on the line.
pub(super) fn verbs() -> ArgValueCompleter {
    completer(|_, typed| {
        let grammar = super::command::grammar();
        let words: Vec<OsString> = line().skip(1).collect();
        // The last word is the one that is being typed.
        let before = words.split_last().map_or(&[][..], |(_, before)| before);
        let known = before.iter().map_while(|word| word.to_str());
        let verb = known.fold(&grammar, |verb, word| verb.find_subcommand(word).unwrap_or(verb));
        Some(verbs_below(verb, typed))
    })
}

fn verbs_below(verb: &clap::Command, typed: &str) -> Vec<CompletionCandidate> {
    let verbs = verb.get_subcommands().filter(|verb| !verb.is_hide_set());
    let about = |verb: &clap::Command| verb.get_about().map(ToString::to_string).unwrap_or_default();
    verbs.filter_map(|verb| candidate(verb.get_name(), &about(verb), typed)).collect()
}

/// Completes the names of workflows, and the paths of workflow files.
pub(super) fn workflows() -> ArgValueCompleter {
    completer(files::workflows)
}

/// Completes the ids of tasks.
pub(super) fn tasks() -> ArgValueCompleter {
    completer(files::tasks)
}

/// Completes the ids of runs, newest first.
pub(super) fn runs(offered: OfferedRuns) -> ArgValueCompleter {
    completer(move |invocation, typed| runs::runs(invocation, offered, typed))
}

/// Completes the nodes of the run on the line, or of the newest run of this folder.
pub(super) fn nodes() -> ArgValueCompleter {
    completer(runs::nodes)
}

fn completer(
    offer: impl Fn(&Invocation, &str) -> Option<Vec<CompletionCandidate>> + Send + Sync + 'static,
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let offered = Invocation::look().ok().and_then(|invocation| offer(&invocation, typed.to_str()?));
        offered.unwrap_or_default()
    })
}

/// Offers a name, if it begins with the typed text. The shell evaluates what it inserts, and a stranger's file
/// may be called `$(…)`, so a name with special characters is not offered.
fn candidate(name: &str, about: &str, typed: &str) -> Option<CompletionCandidate> {
    if !begins(name, typed) || !name.chars().all(is_harmless) {
        return None;
    }
    let about = plain_line(about);
    let about = truncate(&about, ABOUT);
    Some(CompletionCandidate::new(name).help((!about.is_empty()).then(|| about.into_owned().into())))
}

/// Decides whether a character has no special meaning in a shell.
fn is_harmless(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/')
}

fn begins(name: &str, typed: &str) -> bool {
    name.to_lowercase().starts_with(&typed.to_lowercase())
}

/// Returns the words of the line that a person types, from the verb on.
fn line() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip_while(|word| word != "--").skip(2)
}

/// Returns the values of a flag on the line.
fn values_of(flag: &str) -> Vec<OsString> {
    let words: Vec<OsString> = line().collect();
    let value = |pair: &[OsString]| match pair {
        [name, value] if name == flag => Some(value.clone()),
        _ => None,
    };
    words.windows(2).filter_map(value).collect()
}

/// Answers and exits if a shell's script asks.
pub(super) fn answer() {
    if std::env::var_os(ASKED).is_some() {
        clap_complete::CompleteEnv::with_factory(super::command::grammar).var(ASKED).complete();
    }
}
