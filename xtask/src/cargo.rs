//! Runs cargo and other programs, and finds the files that cargo builds.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// The build profile.
///
/// The default is `Release`, so that the tests run the binary that ships. The instruction count needs
/// a release build anyway, so cargo compiles the dependencies only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Dev,
    Release,
}

impl Profile {
    pub(crate) fn flags(self) -> &'static [&'static str] {
        match self {
            Profile::Dev => &[],
            Profile::Release => &["--release"],
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Profile::Dev => "debug",
            Profile::Release => "release",
        }
    }
}

/// The output of a program that [`watched`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    Stdout,
    Stderr,
}

/// Returns the root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Returns the command `cargo WORDS` in the root of the workspace.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(words).stdin(Stdio::null());
    // Either variable replaces the flags of .cargo/config.toml, and the binary would be dynamic.
    command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

/// Runs a command and returns whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool, String> {
    command.status().map(|status| status.success()).map_err(|error| could_not_start(command, &error))
}

/// Runs a command and passes each line of one of its outputs to the terminal and to `see`.
pub(crate) fn watched(
    command: &mut Command,
    watch: Watch,
    mut see: impl FnMut(&str),
) -> Result<ExitStatus, String> {
    match watch {
        Watch::Stdout => command.stdout(Stdio::piped()),
        Watch::Stderr => command.stderr(Stdio::piped()),
    };
    let mut child = command.spawn().map_err(|error| could_not_start(command, &error))?;
    let pipe: Option<Box<dyn Read>> = match watch {
        Watch::Stdout => child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read>),
        Watch::Stderr => child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read>),
    };
    let lines = pipe.into_iter().flat_map(|pipe| BufReader::new(pipe).split(b'\n'));
    for line in lines.map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        eprintln!("{line}");
        see(&line);
    }
    child.wait().map_err(|error| error.to_string())
}

pub(crate) fn could_not_start(command: &Command, error: &std::io::Error) -> String {
    format!("could not start `{}`: {error}", command.get_program().to_string_lossy())
}

/// Returns whether a program is on the `PATH`.
pub(crate) fn is_on_path(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Builds the binary and returns its path.
pub(crate) fn windlass(profile: Profile) -> Result<PathBuf, String> {
    let words = [&["build", "--package", "windlass"], profile.flags()].concat();
    if !succeeds(&mut cargo(&words))? {
        return Err("windlass does not build".to_owned());
    }
    Ok(built(profile)?.join("windlass"))
}

/// Returns the folder that cargo builds into.
pub(crate) fn built(profile: Profile) -> Result<PathBuf, String> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join(host()?).join(profile.folder()))
}

/// Returns the target triple. `.cargo/config.toml` names the host as the target, so cargo builds into
/// a folder of that name.
fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "`rustc -vV` prints no host".to_owned())
}
