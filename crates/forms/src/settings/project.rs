//! What a project's file may not set.
//!
//! It comes with a cloned repository, so it may make a run stricter but not looser, and may not
//! choose the programs that are run. `[checks]` are the exception, as every project's tests are.

use windlass_core::hook::permission::Isolation;
use windlass_core::spec::OnPermission;

use super::setting_value::SettingValue;
use super::value::Settings;
use super::words::{ISOLATIONS, ON_PERMISSION};

/// Why a value is not taken from a project's file, over the settings so far.
pub(super) fn refusal(path: &[&str], given: &SettingValue, settings: &Settings) -> Option<&'static str> {
    match path {
        ["agents", ..] => Some("it would choose the program that is run"),
        ["permissions", "allow"] => Some("it would loosen what an agent may do"),
        ["entities", "user_path"] => Some("it would put its own prompts in the place of yours"),
        ["on_permission"] => is_allow(given).then_some("it would loosen what an agent may do"),
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
