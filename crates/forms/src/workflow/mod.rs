//! Workflows as people write them.
//!
//! - [`document`]: a workflow document, in YAML or JSON.
//! - [`builtin()`]: the documents that come with Windlass.
//! - [`parse_workflow_json`]: the `workflow.json` of a plugin, and [`apply_template`] its prompt.
//!
//! Either becomes a [graph](windlass_core::graph::workflow::Workflow); [`compile()`] makes it of the latter.

mod builtin;
mod compile;
pub mod document;
mod fields;
mod json;
mod plugin_ref;
mod template;

pub use builtin::builtin;
pub use compile::compile;
pub(crate) use fields::JsonFields;
pub use json::{LoopPart, WorkflowFile, parse_workflow_json};
pub(crate) use plugin_ref::is_plugin_name;
pub use plugin_ref::{PluginRef, PluginRefError, parse_plugin_ref};
pub use template::apply_template;
