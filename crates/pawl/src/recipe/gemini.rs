//! Gemini CLI: a key in the environment, and settings that keep it from asking and from calling home.

use serde_json::json;

use super::{KEY, MODEL, Recipe};

/// Returns the recipe of Gemini CLI. It tries a request once. Without a named model it would first ask
/// another one which model to take.
pub fn gemini(url: &str) -> Recipe {
    let settings = json!({
        "model": {"name": MODEL},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 1},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
    });
    let env = vec![
        ("GEMINI_API_KEY", KEY.to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
        // It would start itself a second time with other limits, and take twice as long.
        ("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()),
    ];
    Recipe { home: vec![(".gemini/settings.json", settings.to_string())], env, ..Recipe::default() }
}
