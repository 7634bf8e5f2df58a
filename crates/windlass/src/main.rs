//! The one binary.
//!
//! An agent waits for `hook` at every tool call, and hosts are started by the dozen: the small
//! programs are told apart by the first argument, before anything else of the command line exists.

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
