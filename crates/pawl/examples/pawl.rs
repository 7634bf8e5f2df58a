//! The small programs on their own, for the tests of this crate: `pawl hook …`, `pawl host …`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_ref().and_then(|name| name.to_str()) {
        Some("hook") => windlass_pawl::hook::main(args),
        Some("host") => windlass_pawl::host::main(args),
        _ => ExitCode::from(2),
    }
}
