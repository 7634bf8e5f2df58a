//! OpenCode: a provider of its own in the user's settings, and variables that keep it off the network.

use serde_json::json;

use super::{KEY, MODEL, Recipe};

/// Returns the recipe of OpenCode. Its settings are in `XDG_CONFIG_HOME`.
pub fn opencode(url: &str) -> Recipe {
    let model = format!("scripted/{MODEL}");
    let limit = json!({"context": 200_000, "output": 8192});
    let settings = json!({
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": false,
        "share": "disabled",
        "model": model,
        "small_model": model,
        "enabled_providers": ["scripted"],
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "{env:SCRIPTED_KEY}"},
            "models": {MODEL: {
                "name": "Scripted", "tool_call": true, "reasoning": true, "limit": limit,
                "cost": {"input": 3, "output": 15, "cache_read": 0.3},
            }},
        }},
    });
    let mut env = vec![("SCRIPTED_KEY", KEY.to_owned())];
    // It looks for a package of its own in the registry. This one has none.
    env.push(("npm_config_registry", url.to_owned()));
    env.extend(SWITCHES.map(|name| (name, "1".to_owned())));
    Recipe { config: vec![("opencode/opencode.json", settings.to_string())], env, ..Recipe::default() }
}

const SWITCHES: [&str; 4] = [
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
];
