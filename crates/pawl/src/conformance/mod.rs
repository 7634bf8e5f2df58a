//! The conformance suite: one set of behaviours, played with every agent CLI that is installed.
//!
//! A scene runs the `windlass` program itself with a real CLI on a [scripted model](crate::model), in a temporary
//! folder with its own home, and checks what came of it. So it touches no settings, no keys and no network.
//!
//! - `behaviour` lists what every driver must show, and `scenes` the runs that show it, written once.
//! - `drivers` has what differs between drivers, as data.
//! - `place` is the temporary folder of a scene, `stage` the driver on it, and `command` a `windlass` that runs.
//! - `cells` keeps what came of each behaviour, and `suite` plays everything, two scenes at a time.
//! - `mcp_server` is the MCP server of the scenes.
//!
//! It prints nothing. `windlass doctor --conformance` shows the cells.

mod behaviour;
mod cells;
mod command;
mod drivers;
mod ensure;
pub mod mcp_server;
mod place;
mod scenes;
mod stage;
mod suite;
mod utc;

pub use behaviour::Behaviour;
pub use cells::{CellOutcome, ConformanceCell};
pub use drivers::{SUITE_DRIVERS, SuiteDriver};
pub use suite::{ConformanceSuite, InstalledCli, SuiteProgress};
