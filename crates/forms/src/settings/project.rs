//! Decides which values of a project's file need trust.
//!
//! The file comes with a cloned repository. It may make a run stricter. Until a person trusts it, it may not
//! make a run looser or choose what Windlass runs by itself. `[checks]` is the exception: running a project's
//! tests means running its code.

use windlass_core::hook::permission::Isolation;

use super::layer::SettingSource;
use super::reference::described;
use super::setting_value::SettingValue;
use super::value::Settings;
use super::words::ISOLATIONS;
use crate::diagnostic::Diagnostic;

/// The values of a key that widen what an agent may do, or that make something run by itself. Every key in
/// `reference.rs` has this, so nobody can add one without a decision.
#[derive(Clone, Copy)]
pub(super) enum Widens {
    /// No value does.
    No,
    /// Every value does, for this reason.
    Yes(&'static str),
    /// Some values do.
    When {
        /// These values, for people.
        which: &'static str,
        /// Decides about a value. The settings hold the lower layers.
        when: fn(&SettingValue, &Settings) -> bool,
        why: &'static str,
    },
}

/// A value of a project's file that needs trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRequest {
    /// The dotted key.
    pub key: String,
    /// The value, as TOML.
    pub value: String,
    /// The reason, after a colon.
    pub why: &'static str,
    pub source: SettingSource,
    /// False if the value is left out of the settings.
    pub is_granted: bool,
    /// The warning that the value needs trust.
    pub warning: Diagnostic,
}

/// Returns the reason why a value needs trust, if it does. `settings` holds the lower layers.
pub(super) fn needs_trust(path: &[&str], given: &SettingValue, settings: &Settings) -> Option<&'static str> {
    match described(path)?.widens {
        Widens::No => None,
        Widens::Yes(why) => Some(why),
        Widens::When { when, why, .. } => when(given, settings).then_some(why),
    }
}

/// Decides whether a value is more permissive than the lower layers.
pub(super) fn is_above(given: &SettingValue, so_far: Isolation) -> bool {
    given.word(&ISOLATIONS).is_ok_and(|wanted| wanted > so_far)
}
