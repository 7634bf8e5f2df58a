//! Workflows as people write them.
//!
//! So far the `workflow.json` of a plugin ([`parse_workflow_json`]) and its prompt template
//! ([`apply_template`]). Compiling one into a node is the runtime's.

mod fields;
mod json;
mod plugin_ref;
mod template;

pub(crate) use fields::Fields;
pub use json::{LoopPart, WorkflowFile, parse_workflow_json};
pub(crate) use plugin_ref::is_plugin_name;
pub use plugin_ref::{PluginRef, PluginRefError, parse_plugin_ref};
pub use template::apply_template;
