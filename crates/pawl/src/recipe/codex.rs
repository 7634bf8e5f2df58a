//! Codex: a provider of its own in `config.toml`, with the key in the environment.

use super::{KEY, MODEL, Recipe};

/// Returns the recipe of Codex. It never tries a request again, so that each turn of the script is asked for
/// once.
pub fn codex(url: &str) -> Recipe {
    let config = format!(
        r#"model = "{MODEL}"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"#
    );
    Recipe {
        home: vec![(".codex/config.toml", config)],
        env: vec![("SCRIPTED_KEY", KEY.to_owned())],
        ..Recipe::default()
    }
}
