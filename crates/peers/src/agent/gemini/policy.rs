//! The policy file of a session: which tools the CLI offers to the model, and that none needs a person at the
//! terminal.
//!
//! The hook decides about each call. The policy holds even where hooks do not run.

use windlass_core::spec::SessionSettings;

use super::tools;

/// Builds the policy. The numbers are priorities: the user's own policies lie between them.
pub(super) fn build(settings: &SessionSettings) -> String {
    let mut left_out: Vec<String> = tools::left_out(settings.isolation, &settings.permissions)
        .iter()
        .map(|name| format!("{name:?}"))
        .collect();
    if !tools::has_mcp(settings.isolation, &settings.permissions) {
        left_out.push("\"mcp_*\"".to_owned());
    }
    format!(
        "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 0\nallowRedirection = true\n\n\
         [[rule]]\ntoolName = [{}]\ndecision = \"deny\"\npriority = 999\n",
        left_out.join(", ")
    )
}
