//! `windlass sim`: plays a script in the wire format of Claude Code.
//!
//! Started like the real CLI, it calls the configured hooks, uses tools, writes the stream of events and
//! fails on demand. So workflows can be rehearsed without a model. Without a script it plays a stub, which
//! changes nothing and reports that its work is done. `docs/sim.md` describes the scripts. The
//! sim knows nothing of runs or engines: it gets everything from its arguments, its environment and the
//! script.

mod args;
mod background;
mod calls;
mod check;
mod choose;
mod events;
mod faults;
mod finish;
mod hooks;
mod log;
mod perform;
mod plain;
mod play;
mod process;
mod script;
mod signals;
mod start;
mod stream;
mod tools;
mod words;

#[cfg(test)]
mod play_tests;
#[cfg(test)]
mod process_tests;
#[cfg(test)]
mod rehearsal;
#[cfg(test)]
mod shape_tests;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use self::play::PlayEnding;
use self::start::ProcessInputs;

/// The script of `windlass demo`.
pub const DEMO_SCRIPT: &str = include_str!("../../../../examples/sim/demo.json");

/// Runs the program with the arguments after `sim`.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    ExitCode::from(run(args.map(|arg| arg.to_string_lossy().into_owned()).collect()))
}

/// Reads a script, and returns the reason if it cannot be played.
pub fn script_error(path: &Path) -> Option<String> {
    script::SimScript::read(path).err().map(|error| error.to_string())
}

/// Returns the exit code, unless the script ends the process with a signal.
fn run(args: Vec<String>) -> u8 {
    match open(args) {
        Ok(PlayEnding::Exit(code)) => code,
        Ok(PlayEnding::Signal(signal)) => {
            signals::forget(signal);
            let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
            // The signal may arrive at another thread, a moment later.
            std::thread::sleep(Duration::from_secs(5));
            u8::try_from(128 + signal.as_raw()).unwrap_or(u8::MAX)
        }
        Err(_) => 1,
    }
}

fn open(args: Vec<String>) -> io::Result<PlayEnding> {
    // Unbuffered, so that every line is one write.
    let mut out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut err = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    if let [flag, files @ ..] = args.as_slice()
        && flag == "--check"
        && !files.is_empty()
    {
        let mut worst = 0;
        for file in files {
            worst = worst.max(check::check(file.as_ref(), &mut out, &mut err)?);
        }
        return Ok(PlayEnding::Exit(worst));
    }
    if args.iter().any(|arg| arg == "--version" || arg == "-v") {
        writeln!(out, "{} (Windlass sim)", events::CLI_VERSION)?;
        return Ok(PlayEnding::Exit(0));
    }
    let stdin = io::stdin();
    let mut nothing = io::empty();
    let mut piped = stdin.lock();
    let input: &mut dyn Read = if piped.is_terminal() { &mut nothing } else { &mut piped };
    let cwd = std::env::current_dir()?;
    let env = std::env::vars_os().collect();
    Ok(play::play(ProcessInputs {
        args,
        env,
        cwd,
        input,
        out: &mut out,
        err: &mut err,
        ready: signals::listen,
    }))
}
