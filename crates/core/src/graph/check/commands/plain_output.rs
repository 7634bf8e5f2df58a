//! Decides whether the output of a command line holds only what no shell would run: numbers, hashes, dates
//! and the words of the line itself.

use super::shell_text::{ShellText, SimpleCommand};
use crate::graph::template::command::VALUE;

/// The commands that print nothing when they succeed.
const SILENT: [&str; 27] = [
    "true", "false", ":", "test", "[", "cd", "mkdir", "touch", "rm", "cp", "mv", "ln", "chmod", "sleep",
    "export", "set", "unset", "read", "exit", "return", "wait", "kill", "trap", "shift", "for", "case",
    "rmdir",
];
/// The commands that print numbers, hashes, dates and names of the system.
const MEASURING: [&str; 14] = [
    "wc",
    "date",
    "seq",
    "nproc",
    "uname",
    "id",
    "whoami",
    "cksum",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "expr",
    "uuidgen",
];
/// The commands that print parts of what they read.
const FILTERS: [&str; 10] = ["tr", "head", "tail", "sort", "uniq", "cut", "rev", "cat", "awk", "sed"];
/// The subcommands of git that print nothing, numbers or hashes.
const GIT: [&str; 11] = [
    "rev-list",
    "merge-base",
    "hash-object",
    "write-tree",
    "commit-tree",
    "add",
    "rm",
    "config",
    "update-ref",
    "fetch",
    "clean",
];
/// The subcommands of git that print nothing with `-q`.
const GIT_QUIET: [&str; 9] =
    ["commit", "checkout", "switch", "reset", "merge", "init", "stash", "push", "pull"];
/// The ends of a query whose result is a number.
const NUMBERS: [&str; 5] = ["length", ".number", ".id", ".databaseId", "add"];

/// Returns whether a command line, with its values left open, prints only harmless text.
pub(super) fn is_plain(text: &str) -> bool {
    let read = ShellText::read(text);
    let Some(commands) = read.commands() else { return false };
    let mut is_fed_plainly = false;
    for command in commands {
        let is_plain = command.is_redirected || prints_plainly(text, command, is_fed_plainly);
        is_fed_plainly = command.is_piped && is_plain;
        if !is_plain && !command.is_piped {
            return false;
        }
    }
    !commands.is_empty()
}

fn prints_plainly(text: &str, command: &SimpleCommand, is_fed_plainly: bool) -> bool {
    let is_assignment = |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.is_empty());
    let words: Vec<&str> =
        command.words.iter().map(|word| word.text.as_str()).skip_while(is_assignment).collect();
    let start = command.words.first().map_or(0, |word| word.start);
    let source = text.get(start..command.end).unwrap_or_default();
    let Some((name, args)) = words.split_first() else { return true };
    let has = |option: &str| args.contains(&option);
    match *name {
        name if SILENT.contains(&name) || MEASURING.contains(&name) => true,
        name if FILTERS.contains(&name) => is_fed_plainly,
        "echo" | "printf" => !source.contains(['$', '`', VALUE]),
        "grep" => has("-q") || has("-c") || has("-qx") || has("-qF") || has("-qE"),
        "git" => git(args),
        "gh" | "jq" => {
            let end = source.trim_end().trim_end_matches(['\'', '"', ';', '\n', ' ']);
            NUMBERS.iter().any(|number| end.ends_with(number))
        }
        _ => false,
    }
}

fn git(args: &[&str]) -> bool {
    let mut args = args;
    while let ["-C" | "-c", _, rest @ ..] | ["--no-pager", rest @ ..] = args {
        args = rest;
    }
    let Some((command, args)) = args.split_first() else { return false };
    let has = |option: &str| args.contains(&option);
    match *command {
        // The other options of it print names of branches and paths.
        "rev-parse" => args.iter().all(|arg| !arg.starts_with("--") || ["--short", "--verify"].contains(arg)),
        "rev-list" => !has("--pretty") && !args.iter().any(|arg| arg.starts_with("--format")),
        "diff" => has("--quiet") || has("--exit-code") && has("-s") || has("--shortstat"),
        "log" | "show" => {
            let formats = ["%H", "%h", "%T", "%ct", "%at", "%cI", "%aI"];
            let is_format = |arg: &&str| {
                let format = arg.strip_prefix("--format=").or_else(|| arg.strip_prefix("--pretty="));
                format.is_some_and(|format| formats.contains(&format))
            };
            args.iter().any(is_format) && !has("-p") && !has("--stat") && (*command == "log" || has("-s"))
        }
        command => {
            GIT.contains(&command)
                || GIT_QUIET.contains(&command) && (has("-q") || has("-qm") || has("--quiet"))
        }
    }
}
