//! Every kind of node, each in its own file: its definition, its state in a run, its checks and
//! drawing, and its execution.
//!
//! - [`shape`]: what the checks, bounds and pictures of a workflow ask of a kind.
//! - [`pair`]: the execution of a kind.
//! - [`active`]: what the state of an active node says about itself.
//! - [`register`]: the list of all kinds.

pub(crate) mod active;
mod ask;
mod check;
mod clear_context;
mod criteria_loop;
mod each;
mod fail;
mod finally;
mod r#if;
mod land;
mod listen;
mod r#loop;
pub(in crate::engine) mod pair;
mod parallel;
mod pull_request;
mod register;
mod review;
mod rounds;
mod session;
pub(crate) mod shape;
mod shell;
mod sleep;
mod task_loop;
mod r#try;
mod workflow;

pub use ask::AskNode;
pub(crate) use ask::AskState;
pub use check::CheckNode;
pub(crate) use check::CheckState;
pub use criteria_loop::CriteriaLoopNode;
pub use each::{EachItem, EachLane, EachNode, EachPhase, EachResult, EachState, ListSource};
pub use fail::FailNode;
pub use finally::{FinallyNode, FinallyState};
pub use r#if::{IfNode, IfState};
pub use land::LandNode;
pub use listen::{ListenNode, ListenState};
pub use r#loop::LoopNode;
pub use parallel::{Join, ParallelBranch, ParallelNode, ParallelState};
pub use pull_request::PullRequestNode;
pub use review::ReviewNode;
pub use rounds::RoundsState;
pub use session::{PromptSource, Session, SessionTools, TurnLoop};
pub use shell::ShellNode;
pub(crate) use shell::ShellState;
pub(super) use shell::tell_repeat;
pub use sleep::{SleepNode, SleepState};
pub use task_loop::TaskLoopNode;
pub use r#try::{TryNode, TryState};
pub use workflow::{SubRunState, WorkflowNode};
