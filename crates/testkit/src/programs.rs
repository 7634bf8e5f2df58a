//! Finds the programs under test, and skips tests whose program is missing.
//!
//! `cargo xtask test` installs them. `agents` finds the agent CLIs.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns the `windlass` binary: `WINDLASS_BIN`, or the one built beside the running test.
pub fn windlass_bin() -> PathBuf {
    if let Some(path) = env::var_os("WINDLASS_BIN") {
        return PathBuf::from(path);
    }
    let test = env::current_exe().expect("the test knows its own path");
    let folders = test.ancestors().skip(1).take(3);
    let found = folders.map(|folder| folder.join("windlass")).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("no windlass binary beside {}: run `cargo build` first", test.display()))
}

/// Returns true if `cargo xtask test --quick` asked for the fast tests only.
pub fn is_quick() -> bool {
    env::var_os("WINDLASS_TEST_QUICK").is_some()
}

/// Returns the folder of the agent CLIs for tests, outside the source tree.
pub fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("WINDLASS_TEST_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("windlass-tests")))
        .or_else(|| Some(set("HOME")?.join(".cache/windlass-tests")))
}

/// Finds a program on the `PATH`.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Reports that a test did not run, in the form that `cargo xtask test` counts.
///
/// Written to standard error, and to the file in `WINDLASS_TEST_SKIPS`, because a test runner hides the
/// output of a passing test.
pub fn note_skip(test: &str, why: &str) {
    let line = format!("SKIPPED: {test}: {why}\n");
    eprint!("{line}");
    if let Some(file) = env::var_os("WINDLASS_TEST_SKIPS") {
        append(Path::new(&file), &line);
    }
}

/// Prints a table of a test, also if the test passes.
///
/// Written to the standard error of the process, and to the file in `WINDLASS_TEST_TABLES`, which
/// `cargo xtask test` prints after the tests.
pub fn note_table(table: &str) {
    // Not by a macro, whose output the test runner keeps to itself.
    std::io::stderr().write_all(format!("\n{table}\n").as_bytes()).expect("standard error takes a table");
    if let Some(file) = env::var_os("WINDLASS_TEST_TABLES") {
        append(Path::new(&file), &format!("{table}\n"));
    }
}

fn append(file: &Path, line: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(file).expect("the list of skips opens");
    file.write_all(line.as_bytes()).expect("the list of skips is written");
}

/// Returns the name of the enclosing function.
#[doc(hidden)]
#[macro_export]
macro_rules! test_name {
    () => {{
        fn here() {}
        fn name<T>(_: T) -> &'static str {
            ::std::any::type_name::<T>()
        }
        name(here).trim_end_matches("::here")
    }};
}

/// Returns from the test, and reports why it could not run.
#[macro_export]
macro_rules! skip {
    ($($why:tt)*) => {{
        $crate::programs::note_skip($crate::test_name!(), &format!($($why)*));
        return;
    }};
}

/// Returns the path of the real Claude Code CLI, or skips the test.
#[macro_export]
macro_rules! require_claude {
    () => {
        $crate::require_agent!("claude")
    };
}

/// Returns the path of a program on the `PATH`, or skips the test.
#[macro_export]
macro_rules! require_program {
    ($name:expr) => {
        match $crate::programs::on_path($name) {
            Some(path) => path,
            None => $crate::skip!("`{}` is not installed", $name),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_names_the_test_it_stands_in() {
        assert!(test_name!().ends_with("programs::tests::a_skip_names_the_test_it_stands_in"));
    }

    #[test]
    fn a_program_is_found_on_the_path() {
        assert!(on_path("sh").is_some());
        assert_eq!(on_path("no-such-program"), None);
    }
}
