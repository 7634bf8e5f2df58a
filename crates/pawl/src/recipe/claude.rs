//! Claude Code: everything is in the environment.

use super::{KEY, Recipe};

/// Returns the recipe of Claude Code.
pub fn claude(url: &str) -> Recipe {
    let env = vec![
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("DISABLE_TELEMETRY", "1".to_owned()),
        // Allows testing permission modes as root.
        ("IS_SANDBOX", "1".to_owned()),
    ];
    Recipe { env, ..Recipe::default() }
}
