//! Writes the prompt of a run's only session ahead of time, so that errors in it appear before the run
//! starts. Runs no program.

use std::path::Path;

use windlass_core::graph::template::{Scope, TemplateError, names_used, render};
use windlass_core::graph::workflow::{Node, NodeKind, PromptSource, Template};
use windlass_core::spec::Spec;

use super::entity::{PromptContext, texts};
use crate::home::Home;
use crate::user_error::{UserError, UserErrorKind};

/// Writes the prompt of the only session, unless it needs values that only the run can provide.
pub(super) fn ahead(home: &Home, spec: &Spec, warnings: &mut Vec<String>) -> Result<(), UserError> {
    let Some((node, session_settings)) = spec.only_session() else { return Ok(()) };
    let Some(template) = prompt_template(node).filter(|_| node.when.is_none()) else { return Ok(()) };
    if needs_a_run(template) {
        return Ok(());
    }
    let text = render(template, &Scope::new(&spec.input, &spec.inputs)).map_err(|error| {
        let text = format!("workflow `{}`, node `{}`: {error}", spec.workflow, node.id);
        let problem = UserError::new(UserErrorKind::Configuration, text);
        match error {
            TemplateError::TooMuchText { .. } => {
                problem.hint("put the input in a file and name the file in the prompt")
            }
            _ => problem,
        }
    })?;
    let Some(entity) = &session_settings.entity else { return Ok(()) };
    let stage = PromptContext {
        workspace: Path::new(&spec.workspace),
        env: &home.env,
        can: home.agents.capabilities(&session_settings.driver.name),
        isolation: session_settings.isolation,
        rules: &session_settings.permissions,
        on_permission: spec.policy.on_permission,
        timeout_ms: spec.limits.run_ms,
        dry_run: true,
    };
    texts(entity, &text, &stage, warnings).map(drop)
}

/// Returns the template that a session starts with: its prompt, or the arguments of its entity.
fn prompt_template(node: &Node) -> Option<&Template> {
    static NOTHING: Template = Template(String::new());
    let NodeKind::Session(session) = &node.kind else { return None };
    Some(match &session.source {
        PromptSource::Prompt { prompt } | PromptSource::Agent { prompt, .. } => prompt,
        PromptSource::Skill { args, .. } | PromptSource::Command { args, .. } => {
            args.as_ref().unwrap_or(&NOTHING)
        }
    })
}

/// Decides whether a template uses a value that only the run can provide.
fn needs_a_run(template: &Template) -> bool {
    let is_known = |root: &str| matches!(root, "input" | "inputs");
    names_used(template).is_ok_and(|names| !names.uses.iter().all(|used| is_known(used.root())))
}
