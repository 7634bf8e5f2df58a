//! Files for rehearsals: stub results of a workflow, and tests with expectations.
//!
//! - [`StubFile`]: the results of nodes, with their positions; [`stub_file_text`] writes one to fill in.
//! - [`WorkflowTest`]: one test of a test file.
//!
//! `core::engine::rehearsal` knows which nodes a workflow has and what they can give.

mod fields;
mod print;
mod stubs;
mod test_file;
#[cfg(test)]
mod tests;

pub use print::stub_file_text;
pub use stubs::{StubFile, read_stubs};
pub use test_file::{WorkflowTest, read_tests};
