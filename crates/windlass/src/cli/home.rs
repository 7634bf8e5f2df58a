//! Reads the environment once. The rest of the program never reads it again.

use std::path::{Path, PathBuf};

use windlass_runtime::Agents;
use windlass_runtime::crash::CrashCounter;
use windlass_runtime::home::Home;

use super::report::Report;
use crate::exit::Exit;

/// Reads the user's folders and environment.
pub(crate) fn read() -> Result<Home, Report> {
    // A variable that is not UTF-8 could not be passed to a child process either.
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    from(std::env::vars_os().filter_map(text).collect())
}

/// Returns the current folder.
pub(crate) fn cwd() -> Result<PathBuf, Report> {
    std::env::current_dir().map_err(|error| {
        Report::usage("the current folder cannot be used")
            .caused_by(&error)
            .hint("change to a folder that exists")
    })
}

fn from(env: Vec<(String, String)>) -> Result<Home, Report> {
    let absolute = |name: &str| {
        let found = env.iter().find(|(key, _)| key == name).map(|(_, value)| PathBuf::from(value));
        found.filter(|path| path.is_absolute())
    };
    let user = absolute("HOME").ok_or_else(|| {
        Report::new(Exit::Configuration, "HOME is not set to an absolute path")
            .hint("set HOME: Windlass keeps its state and settings below it")
    })?;
    let state = absolute("XDG_STATE_HOME").unwrap_or_else(|| user.join(".local/state"));
    let config = absolute("XDG_CONFIG_HOME").unwrap_or_else(|| user.join(".config"));
    let crash = env.iter().find(|(key, _)| key == "WINDLASS_CRASH_AT").map(|(_, value)| value.as_str());
    Ok(Home {
        state: state.join("windlass"),
        config: config.join("windlass"),
        temp: absolute("TMPDIR").unwrap_or_else(|| Path::new("/tmp").to_owned()),
        agents: Agents::default(),
        binary: None,
        machine: machine(),
        crash: CrashCounter::from_text(crash),
        user,
        env,
    })
}

fn machine() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn state_and_settings_are_where_the_environment_says() {
        let home = from(env(&[("HOME", "/home/ada"), ("XDG_STATE_HOME", "/s")])).unwrap();
        assert_eq!(home.state, Path::new("/s/windlass"));
        assert_eq!(home.config, Path::new("/home/ada/.config/windlass"));
        assert_eq!(home.temp, Path::new("/tmp"));
    }

    #[test]
    fn a_relative_place_is_no_place() {
        let home = from(env(&[("HOME", "/h"), ("XDG_STATE_HOME", "state")])).unwrap();
        assert_eq!(home.state, Path::new("/h/.local/state/windlass"));
        assert_eq!(from(env(&[("HOME", "h")])).unwrap_err().exit, Exit::Configuration);
    }
}
