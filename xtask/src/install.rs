//! Installs the Debian packages that the tests need. `agents` installs the agent CLIs.
//!
//! If an install fails, this prints the reason, and the tests that need the package are skipped.

use std::process::{Command, Stdio};

use crate::cargo::is_on_path;
use crate::say;

/// The programs that the tests need. Each is in the package of the same name.
const PACKAGES: &[&str] = &["git", "strace", "tmux", "valgrind"];

/// Installs the missing packages if possible. Otherwise prints their names.
pub(crate) fn packages() {
    let missing: Vec<&str> = PACKAGES.iter().copied().filter(|name| !is_on_path(name)).collect();
    if missing.is_empty() {
        return;
    }
    let names = missing.join(", ");
    if !is_on_path("apt-get") || !is_root() {
        say::note(&format!("missing: {names}; installing them needs apt-get and root"));
        return;
    }
    say::step(&format!("installing packages: {names}"));
    if !apt(&missing) {
        say::note("apt-get could not install them; skipping tests that need them");
    }
}

fn apt(packages: &[&str]) -> bool {
    let install = [&["install", "-y", "-qq", "--no-install-recommends"], packages].concat();
    quietly(apt_get(&install)) || (quietly(apt_get(&["update", "-qq"])) && quietly(apt_get(&install)))
}

fn apt_get(words: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn quietly(mut command: Command) -> bool {
    let output = command.stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
