//! Workflows as people write them.
//!
//! - [`document`]: a workflow document, in YAML or JSON.
//! - [`parse_workflow_json`]: the `workflow.json` of a plugin, and [`apply_template`] its prompt.
//!
//! Compiling the latter into a node is the runtime's.

pub mod document;
mod fields;
mod json;
mod plugin_ref;
mod template;

pub(crate) use fields::Fields;
pub use json::{LoopPart, WorkflowFile, parse_workflow_json};
pub(crate) use plugin_ref::is_plugin_name;
pub use plugin_ref::{PluginRef, PluginRefError, parse_plugin_ref};
pub use template::apply_template;
