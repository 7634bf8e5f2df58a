//! Refuses the settings that a project's file may not set.
//!
//! The file comes with a cloned repository. It may make a run stricter but not looser, and it may not
//! choose the programs that Windlass runs. `[checks]` is the exception: running a project's tests means
//! running its code.

use windlass_core::hook::permission::Isolation;
use windlass_core::spec::OnPermission;

use super::setting_value::SettingValue;
use super::value::Settings;
use super::words::{ISOLATIONS, ON_PERMISSION};

/// Returns the reason to ignore a value from a project's file, if any. `settings` holds the lower layers.
pub(super) fn refusal(path: &[&str], given: &SettingValue, settings: &Settings) -> Option<&'static str> {
    match path {
        ["agents", ..] => Some("it would choose the program that Windlass runs"),
        ["permissions", "allow"] => Some("it would loosen what an agent may do"),
        ["entities", "user_path"] => Some("it would replace your prompts with its own"),
        ["on_permission"] => is_allow(given).then_some("it would loosen what an agent may do"),
        ["isolation"] => raises(given, settings.isolation).then_some("it would loosen what an agent may do"),
        ["max_isolation"] => {
            raises(given, settings.max_isolation).then_some("it would raise what a workflow may ask for")
        }
        _ => None,
    }
}

fn is_allow(given: &SettingValue) -> bool {
    given.word(&ON_PERMISSION) == Ok(OnPermission::Allow)
}

fn raises(given: &SettingValue, so_far: Isolation) -> bool {
    given.word(&ISOLATIONS).is_ok_and(|wanted| wanted > so_far)
}
