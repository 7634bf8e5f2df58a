//! Chooses which variables of the user's environment a child of a run gets.
//!
//! Every child gets the same: agents, checks and shell nodes.

use windlass_core::hook::wire::env::RUN;
use windlass_core::id::RunId;

/// Agent CLIs set these for their own children. An agent that inherits one believes that it runs inside
/// another agent.
const NESTING: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_EFFORT",
    "AI_AGENT",
];
const NESTING_PREFIXES: &[&str] = &["CLAUDE_CODE_SESSION_", "CLAUDE_CODE_MESSAGING_"];
/// An agent lands its work through Windlass, not with the user's own rights.
const FORGE_TOKENS: &[&str] = &[
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITHUB_PAT",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITLAB_TOKEN",
    "GITLAB_ACCESS_TOKEN",
    "GITLAB_PRIVATE_TOKEN",
    "GL_TOKEN",
    "CI_JOB_TOKEN",
    "GITEA_TOKEN",
    "FORGEJO_TOKEN",
    "BITBUCKET_TOKEN",
    "BITBUCKET_ACCESS_TOKEN",
    "AZURE_DEVOPS_EXT_PAT",
];

/// Returns the environment of a program that is not an agent, such as a check.
pub fn plain_env(inherited: &[(String, String)], run: &RunId) -> Vec<(String, String)> {
    let mut env = passed_on(inherited);
    env.push((RUN.to_owned(), run.to_string()));
    env
}

/// Returns the variables that a program of a run may see.
pub fn passed_on(inherited: &[(String, String)]) -> Vec<(String, String)> {
    inherited.iter().filter(|(name, _)| is_passed_on(name)).cloned().collect()
}

fn is_passed_on(name: &str) -> bool {
    if let Some(ours) = name.strip_prefix("WINDLASS_") {
        return ours.starts_with("SIM_") || ours == "HOOK_PATIENCE_MS";
    }
    let is_nesting =
        NESTING.contains(&name) || NESTING_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    !is_nesting && !FORGE_TOKENS.contains(&name) && !name.starts_with("GIT_")
}
