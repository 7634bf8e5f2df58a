//! `windlass sim`: plays a script in the format of an agent CLI.
//!
//! Started like that CLI, it calls the configured hooks, uses tools, writes the stream of events and
//! fails on demand. So workflows can be rehearsed without a model. Without a script it plays a stub, which
//! changes nothing and reports that its work is done. `docs/sim.md` describes the scripts. The
//! sim knows nothing of runs or engines: it gets everything from its arguments, its environment and the
//! script.

mod background;
mod check;
mod choose;
mod event;
mod faults;
mod finish;
mod format;
mod hook_call;
mod ids;
mod lines;
mod log;
mod perform;
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

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use self::format::SimFormat;
use self::play::PlayEnding;
use self::start::{ProcessInputs, SimInput};

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
    let (format, args) = match choose_format(args) {
        Ok(chosen) => chosen,
        Err(why) => {
            err.write_all(why.as_bytes())?;
            return Ok(PlayEnding::Exit(USAGE));
        }
    };
    if args.iter().any(|arg| arg == "--version" || arg == "-v") {
        writeln!(out, "{} (Windlass sim)", format.version())?;
        return Ok(PlayEnding::Exit(0));
    }
    let stdin = io::stdin();
    let input = match stdin.is_terminal() {
        true => SimInput::Nothing,
        false => SimInput::File(File::from(stdin.as_fd().try_clone_to_owned()?)),
    };
    let cwd = std::env::current_dir()?;
    let env = std::env::vars_os().collect();
    let inputs =
        ProcessInputs { args, env, cwd, input, out: &mut out, err: &mut err, ready: signals::listen };
    Ok(play::play(inputs, format))
}

/// The exit code of a wrong command line.
const USAGE: u8 = 2;

/// Takes the format off the arguments: `--as NAME`, or `--plain FILE` for the neutral one. Without either, the
/// sim plays Claude Code.
fn choose_format(mut args: Vec<String>) -> Result<(Box<dyn SimFormat>, Vec<String>), String> {
    let first = args.first().cloned().unwrap_or_default();
    let name = match first.split_once('=') {
        Some(("--as", name)) => {
            args.remove(0);
            name.to_owned()
        }
        _ if first == "--as" => {
            args.remove(0);
            if args.is_empty() { String::new() } else { args.remove(0) }
        }
        _ if first == "--plain" => "plain".to_owned(),
        _ => "claude".to_owned(),
    };
    let format = format::named(&name).ok_or_else(|| unknown_format(&name))?;
    Ok((format, args))
}

fn unknown_format(name: &str) -> String {
    let what = match name {
        "" => "`windlass sim --as` needs the name of a format".to_owned(),
        name => format!("`windlass sim` does not know the format `{name}`"),
    };
    let names = format::NAMES.join(", ");
    format!(
        "error: {what}\n  hint: it is one of {names}; for example: windlass run \"Say hello\" --driver codex \
         --agent-bin \"windlass sim --as codex\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_taken_off_the_arguments() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (line, version, rest) in [
            ("--as codex exec", "codex-cli 0.166.0", "exec"),
            ("--as=gemini -p x", "0.61.0", "-p x"),
            ("-p x", "2.1.325", "-p x"),
            ("--plain f", "neutral 1", "--plain f"),
        ] {
            let (format, args) = choose_format(words(line)).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!((format.version(), args), (version, words(rest)), "{line}");
        }
        for line in ["--as", "--as cdoex", "--as="] {
            let Err(why) = choose_format(words(line)) else { panic!("{line}") };
            assert!(why.contains("claude, codex, opencode, copilot, gemini, acp, plain"), "{why}");
        }
    }
}
