//! Workflows as people write them.
//!
//! - [`document`]: a workflow document, in YAML or JSON.
//! - [`builtin()`]: the documents that come with Windlass.
//! - [`parse_workflow_json`]: a plugin's `workflow.json`; [`apply_template`] fills in its prompt.
//!
//! Both become a [graph](windlass_core::graph::workflow::Workflow); for a `workflow.json`,
//! [`compile()`] builds it.

mod builtin;
mod compile;
pub mod document;
mod fields;
mod json;
mod plugin_ref;
mod template;

pub use builtin::{TASKS, builtin};
pub use compile::compile;
pub(crate) use fields::JsonFields;
pub use json::{LoopPart, WorkflowFile, parse_workflow_json};
pub(crate) use plugin_ref::is_plugin_name;
pub use plugin_ref::{PluginRef, PluginRefError, parse_plugin_ref};
pub use template::apply_template;
