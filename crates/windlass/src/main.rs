//! The `windlass` binary.
//!
//! An agent waits for `hook` at every tool call, and a run may start dozens of hosts. So `main` picks the
//! small programs by their first argument before it builds the command line.

mod cli;
mod exit;
mod mcp;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_ref().and_then(|name| name.to_str()) {
        Some("hook") => windlass_pawl::hook::main(args),
        Some("host") => windlass_pawl::host::main(args),
        Some("sim") => windlass_pawl::sim::main(args),
        _ => cli::main(),
    }
}
