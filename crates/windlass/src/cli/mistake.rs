//! Turns the errors of clap into our own: what is wrong, and a hint in the same style as everywhere.

use std::error::Error;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use windlass_core::graph::check::nearest;

use super::command::grammar;
use super::report::Report;
use super::sanitize::plain_line;

/// Describes a mistake in the command line.
pub(super) fn report(error: &clap::Error, words: &[OsString]) -> Report {
    let grammar = grammar();
    let typed: Vec<String> = words.iter().skip(1).map(|word| plain_line(&word.to_string_lossy())).collect();
    let line = TypedLine::of(&grammar, &typed);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            no_command(line.verb, line.path, &text(error, ContextKind::InvalidSubcommand))
        }
        ErrorKind::UnknownArgument => line.unknown(&text(error, ContextKind::InvalidArg), error),
        ErrorKind::MissingRequiredArgument => line.missing(error),
        ErrorKind::InvalidValue => line.wrong_value(error),
        ErrorKind::ValueValidation => {
            let (value, flag) =
                (text(error, ContextKind::InvalidValue), flag(error, ContextKind::InvalidArg));
            let why = error.source().map(|why| format!(": {}", plain_line(&why.to_string())));
            let text = match value.as_str() {
                "" => format!("the value of {flag} is empty"),
                _ => format!("`{value}` is no value for {flag}{}", why.unwrap_or_default()),
            };
            Report::usage(text).hint(line.help())
        }
        ErrorKind::ArgumentConflict => {
            let (one, other) = (flag(error, ContextKind::InvalidArg), flag(error, ContextKind::PriorArg));
            match one == other {
                true => Report::usage(format!("{one} is given twice")).hint("give it once"),
                false => Report::usage(format!("{one} cannot be used with {other}")).hint("leave one out"),
            }
        }
        _ => line.other(error),
    }
}

/// Reports that a command has no subcommand of this name.
pub(super) fn no_command(verb: &clap::Command, path: &[String], word: &str) -> Report {
    let text = match path {
        [] => format!("there is no command `{}`", plain_line(word)),
        _ => format!("`windlass {}` has no command `{}`", path.join(" "), plain_line(word)),
    };
    let names = verb.get_subcommands().filter(|verb| !verb.is_hide_set()).map(clap::Command::get_name);
    let names: Vec<&str> =
        names.chain(path.is_empty().then_some(["help", "version"]).into_iter().flatten()).collect();
    let list = help_of(path);
    let meant = path.is_empty().then(|| synonym(word)).flatten();
    Report::usage(text).hint(match (meant.or(nearest(word, names.iter().copied())), names.is_empty()) {
        (Some(near), _) => {
            format!(
                "did you mean `{}`?",
                [&["windlass".to_owned()], path, &[near.to_owned()]].concat().join(" ")
            )
        }
        (None, false) => format!("`{list}` lists the commands"),
        (None, true) => format!("`{list}` explains it"),
    })
}

/// Returns the command that other tools call by this name.
fn synonym(word: &str) -> Option<&'static str> {
    Some(match word {
        "stop" | "kill" | "abort" | "end" => "cancel",
        "list" | "ls" | "runs" | "status" => "ps",
        "tail" | "log" | "follow" => "logs",
        "revert" | "restore" | "rollback" | "reset" => "undo",
        "rm" | "clean" | "prune" | "delete" | "remove" => "gc",
        "continue" | "restart" | "retry" => "resume",
        "start" | "exec" => "run",
        "inspect" | "info" | "describe" => "show",
        "setup" | "check" => "doctor",
        _ => return None,
    })
}

/// Returns the command that explains a command.
fn help_of(path: &[String]) -> String {
    ["windlass help"].into_iter().chain(path.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

/// The words that a person typed, and the command that they name.
struct TypedLine<'a> {
    verb: &'a clap::Command,
    /// The words that name the command.
    path: &'a [String],
    /// The words after it.
    rest: &'a [String],
}

impl<'a> TypedLine<'a> {
    fn of(grammar: &'a clap::Command, words: &'a [String]) -> TypedLine<'a> {
        let (mut verb, mut depth) = (grammar, 0);
        while let Some(next) = words.get(depth).and_then(|word| verb.find_subcommand(word)) {
            (verb, depth) = (next, depth + 1);
        }
        let (path, rest) = words.split_at_checked(depth).unwrap_or((words, &[]));
        TypedLine { verb, path, rest }
    }

    fn help(&self) -> String {
        format!("`{}` explains it", help_of(self.path))
    }

    /// Reports a flag that does not exist, or an argument too many.
    fn unknown(&self, word: &str, error: &clap::Error) -> Report {
        let name = word.split('=').next().unwrap_or(word);
        if !name.starts_with('-') || name.len() < 2 {
            return self.too_many(word);
        }
        if let Some(flag) = self.flag_before(word) {
            let text = format!("the value of {flag} is missing, or it begins with a dash");
            return Report::usage(text).hint(format!("write such a value as {flag}={word}"));
        }
        let report = Report::usage(format!("there is no flag `{name}`"));
        let longs =
            self.verb.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(clap::Arg::get_long);
        let longs: Vec<String> = longs.chain(["help"]).map(|long| format!("--{long}")).collect();
        let suggested = strings(error, ContextKind::SuggestedArg).into_iter().next();
        let near = nearest(name, longs.iter().map(String::as_str)).map(str::to_owned).or(suggested);
        report.hint(match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("`{}` lists the flags", help_of(self.path)),
        })
    }

    /// Returns the flag before a word, if it takes a value.
    fn flag_before(&self, word: &str) -> Option<String> {
        let at = self.rest.iter().position(|typed| typed == word)?;
        let before = self.rest.get(at.checked_sub(1)?)?;
        let is_it = |arg: &&clap::Arg| arg.get_long() == before.strip_prefix("--");
        let arg = self.verb.get_arguments().filter(|arg| arg.get_long().is_some()).find(is_it)?;
        arg.get_action().takes_values().then(|| before.clone())
    }

    fn too_many(&self, word: &str) -> Report {
        let takes_text = |arg: &&clap::Arg| arg.is_allow_hyphen_values_set();
        let report = Report::usage(format!("`{word}` is an argument too many"));
        // Its value is optional, so it needs the sign to be told from the next argument.
        if let Some(flag) = self.flag_before(word) {
            return report
                .hint(format!("write it as {flag}={word}, or put a text of several words in quotes"));
        }
        match self
            .verb
            .get_positionals()
            .find(takes_text)
            .and_then(|arg| arg.get_value_names()?.first().cloned())
        {
            Some(name) => report.hint(format!("put {name} in quotes if it has several words")),
            None => report.hint(self.help()),
        }
    }

    fn missing(&self, error: &clap::Error) -> Report {
        let names = strings(error, ContextKind::InvalidArg);
        let names: Vec<String> = names.iter().map(|name| name.replace(['<', '>'], "")).collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        let report = Report::usage(format!("{} {verb} missing", names.join(" and ")));
        report.hint(match self.example() {
            Some(example) => format!("as in: {example}"),
            None => self.help(),
        })
    }

    /// Returns the first example of the command that it can be called like.
    fn example(&self) -> Option<String> {
        let text = self.verb.get_after_help()?.to_string();
        let start = format!("  windlass {} ", self.path.join(" "));
        let line = text.lines().find(|line| line.starts_with(&start))?.trim_start();
        // Three blanks separate an example from its explanation.
        Some(line.split("   ").next().unwrap_or(line).to_owned())
    }

    fn wrong_value(&self, error: &clap::Error) -> Report {
        let (value, flag) = (text(error, ContextKind::InvalidValue), flag(error, ContextKind::InvalidArg));
        let known = strings(error, ContextKind::ValidValue);
        let list = (!known.is_empty()).then(|| format!("it is one of {}", known.join(", ")));
        if value.is_empty() {
            return Report::usage(format!("{flag} needs a value")).hint(list.unwrap_or_else(|| self.help()));
        }
        let report = Report::usage(format!("`{value}` is no value for {flag}"));
        let near =
            nearest(&value, known.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"));
        report.hint(match (near, list) {
            (Some(near), Some(list)) => format!("{near} {list}"),
            (None, Some(list)) => list,
            (_, None) => self.help(),
        })
    }

    /// Reports any other mistake in clap's words, without its tips.
    fn other(&self, error: &clap::Error) -> Report {
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default();
        Report::usage(plain_line(first.trim_start_matches("error: "))).hint(self.help())
    }
}

/// Returns the text of a context, made harmless.
fn text(error: &clap::Error, kind: ContextKind) -> String {
    strings(error, kind).join(", ")
}

/// Returns the flag or argument of a context without its value.
fn flag(error: &clap::Error, kind: ContextKind) -> String {
    let whole = text(error, kind);
    let name = whole.split(' ').next().unwrap_or(&whole);
    name.trim_matches(['<', '>', '[', ']']).trim_end_matches("...").to_owned()
}

fn strings(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![plain_line(text)],
        Some(ContextValue::Strings(texts)) => texts.iter().map(|text| plain_line(text)).collect(),
        _ => Vec::new(),
    }
}
