//! What the tests need of the machine: Debian packages, and the agent CLI at its pinned version.
//!
//! Nothing goes into the tree. What cannot be had is said, and the tests that need it say so too.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::is_on_path;
use crate::say;

/// Programs that are packages of the same name.
const PACKAGES: &[&str] = &["git", "tmux", "valgrind"];

const CLAUDE_PACKAGE: &str = "@anthropic-ai/claude-code";
/// One place for both: the tests are written against exactly this one.
const CLAUDE_VERSION: &str = include_str!("../../crates/testkit/claude-code.version").trim_ascii();

/// Installs the missing packages where that is possible, and says where it is not.
pub(crate) fn packages() {
    let missing: Vec<&str> = PACKAGES.iter().copied().filter(|name| !is_on_path(name)).collect();
    if missing.is_empty() {
        return;
    }
    let names = missing.join(", ");
    if !is_on_path("apt-get") || !is_root() {
        say::note(&format!("missing, and not installed without apt-get and root: {names}"));
        return;
    }
    say::step(&format!("installing packages: {names}"));
    if !apt(&missing) {
        say::note("apt-get could not install them; tests that need them are skipped");
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

/// The Claude Code CLI, installed once; or why there is none.
pub(crate) fn claude() -> Result<PathBuf, String> {
    if let Some(path) = env::var_os("WINDLASS_TEST_CLAUDE") {
        return Ok(PathBuf::from(path));
    }
    let cache = cache_folder().ok_or("neither WINDLASS_TEST_CACHE nor HOME is set")?;
    let folder = cache.join(format!("claude-code-{CLAUDE_VERSION}"));
    // Written last: a folder without it is what an interrupted install left.
    if !folder.join("complete").is_file() {
        say::step(&format!("installing Claude Code {CLAUDE_VERSION} into {}", folder.display()));
        install_claude(&cache, &folder)?;
    }
    Ok(claude_in(&folder))
}

fn claude_in(folder: &Path) -> PathBuf {
    folder.join("node_modules/.bin/claude")
}

/// Beside its place first, then renamed: two at once do not see each other's halves.
fn install_claude(cache: &Path, folder: &Path) -> Result<(), String> {
    if !is_on_path("npm") {
        return Err("npm is not installed".to_owned());
    }
    let place = cache.join(format!(".installing-{}", std::process::id()));
    let outcome = npm_install(&place).and_then(|()| put_in_place(&place, folder));
    // Nothing is left there when it was renamed.
    let _ = fs::remove_dir_all(&place);
    outcome
}

fn npm_install(place: &Path) -> Result<(), String> {
    fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))?;
    let output = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(place)
        .arg(format!("{CLAUDE_PACKAGE}@{CLAUDE_VERSION}"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("npm: {error}"))?;
    if !output.status.success() {
        return Err(format!("npm: {}", last_lines(&output.stderr)));
    }
    let version = Command::new(claude_in(place)).arg("--version").stdin(Stdio::null()).output();
    let version = version.map_err(|error| format!("the installed CLI does not start: {error}"))?;
    let said = String::from_utf8_lossy(&version.stdout).into_owned();
    match said.contains(CLAUDE_VERSION) {
        true => Ok(()),
        false => Err(format!("the installed CLI says it is `{}`", said.trim())),
    }
}

fn put_in_place(place: &Path, folder: &Path) -> Result<(), String> {
    fs::write(place.join("complete"), CLAUDE_VERSION).map_err(|error| error.to_string())?;
    if folder.join("complete").is_file() {
        return Ok(());
    }
    let _ = fs::remove_dir_all(folder);
    fs::rename(place, folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}

fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("WINDLASS_TEST_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("windlass-tests")))
        .or_else(|| Some(set("HOME")?.join(".cache/windlass-tests")))
}
