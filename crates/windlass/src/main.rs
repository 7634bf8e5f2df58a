//! The `windlass` binary.
//!
//! An agent waits for `hook` at every tool call, and a run may start dozens of hosts. So `main` picks the
//! small programs by their first argument before it builds the command line.

mod cli;
mod exit;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_ref().and_then(|name| name.to_str()) {
        Some("hook") => windlass_pawl::hook::main(args),
        Some("host") => windlass_pawl::host::main(args),
        // The agent CLI that it plays has no help of ours, so only a first `--help` asks for it.
        Some("sim") if !asks_for_help(std::env::args_os().nth(2)) => windlass_pawl::sim::main(args),
        Some(windlass_pawl::conformance::mcp_server::VERB) => windlass_pawl::conformance::mcp_server::main(),
        _ => cli::main(),
    }
}

fn asks_for_help(arg: Option<std::ffi::OsString>) -> bool {
    arg.is_some_and(|arg| arg == "--help" || arg == "-h")
}
