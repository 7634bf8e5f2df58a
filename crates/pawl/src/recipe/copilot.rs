//! Copilot: a provider of the user's own, all in the environment. It needs no GitHub login.

use super::{KEY, MODEL, Recipe};

/// Returns the recipe of Copilot.
pub fn copilot(url: &str) -> Recipe {
    let env = vec![
        ("COPILOT_OFFLINE", "true".to_owned()),
        ("COPILOT_AUTO_UPDATE", "false".to_owned()),
        ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
        ("COPILOT_PROVIDER_TYPE", "openai".to_owned()),
        ("COPILOT_PROVIDER_WIRE_API", "completions".to_owned()),
        ("COPILOT_PROVIDER_API_KEY", KEY.to_owned()),
        ("COPILOT_MODEL", MODEL.to_owned()),
    ];
    Recipe { env, ..Recipe::default() }
}
