//! Compares the commands of a command line with the patterns of rules.
//!
//! A forbidding pattern applies to any command that the line starts, however it is written. A permitting
//! pattern applies to the words as written. [`shell`](super::shell) reads the line.

use super::call::glob;
use super::shell::{ShellCommand, ShellScript, Unclear};

/// The maximum number of words that are tried as a subcommand.
const MOST_OPTIONS: usize = 16;
/// The number of characters of a command that a message shows.
const SHOWN: usize = 80;

/// A command line and the commands that it starts.
#[derive(Debug)]
pub(super) struct CommandLine<'a> {
    text: &'a str,
    script: ShellScript,
}

/// The relation of a rule to a call that it touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Touch {
    /// The rule means the call. Names the command, unless that is the whole line.
    Means(Option<String>),
    /// The rule may mean the call. Says why Windlass cannot decide, and what to write instead.
    MayMean(String),
}

impl<'a> CommandLine<'a> {
    pub(super) fn read(text: &'a str) -> CommandLine<'a> {
        CommandLine { text, script: ShellScript::read(text) }
    }

    pub(super) fn commands(&self) -> impl Iterator<Item = &ShellCommand> {
        self.script.commands.iter()
    }

    /// Returns true if the line writes output to a file.
    pub(super) fn writes(&self) -> bool {
        self.script.writes
    }

    /// Decides whether a pattern means the line or any command in it.
    pub(super) fn touched_by(&self, pattern: &str) -> Option<Touch> {
        let pattern = &plain(pattern);
        if fits(pattern, self.text) {
            return Some(Touch::Means(None));
        }
        if let Some(by) = self.commands().find_map(|command| self.meant(pattern, command)) {
            return Some(by);
        }
        let why = self.commands().find_map(|command| unclear_within(pattern, command));
        why.or_else(|| self.script.unclear.clone()).map(|why| Touch::MayMean(explain(&why)))
    }

    /// Decides whether a pattern means one command of the line or a command that it starts.
    pub(super) fn command_touched_by(&self, pattern: &str, command: &ShellCommand) -> Option<Touch> {
        let pattern = &plain(pattern);
        if let Some(by) = self.meant(pattern, command) {
            return Some(by);
        }
        if fits(pattern, self.text) {
            return Some(Touch::Means(None));
        }
        let why = unclear_within(pattern, command).or_else(|| self.script.unclear.clone());
        why.map(|why| Touch::MayMean(explain(&why)))
    }

    fn meant(&self, pattern: &str, command: &ShellCommand) -> Option<Touch> {
        let by = all(command).find(|command| means(pattern, command))?.after_assignments();
        Some(Touch::Means((by != self.text.trim()).then(|| shown(by))))
    }

    /// Returns true if each command in the line fits one of the patterns.
    pub(super) fn is_granted_by(&self, patterns: &[&str]) -> bool {
        !self.writes()
            && self.script.unclear.is_none()
            && self.commands().next().is_some()
            && self.refused_by(patterns).is_none()
    }

    pub(super) fn is_command_granted_by(&self, patterns: &[&str], command: &ShellCommand) -> bool {
        !self.writes() && self.script.unclear.is_none() && is_granted(patterns, command)
    }

    /// Returns the first command that fits none of the patterns.
    pub(super) fn refused_by(&self, patterns: &[&str]) -> Option<&ShellCommand> {
        self.commands().find(|command| !is_granted(patterns, command))
    }
}

/// Shortens a command for a message.
pub(super) fn shown(command: &str) -> String {
    let line = command.lines().next().unwrap_or_default();
    let start: String = line.chars().take(SHOWN).collect();
    if start.len() < command.len() { format!("{start}…") } else { start }
}

/// Returns true if a pattern matches a text.
pub(super) fn fits(pattern: &str, subject: &str) -> bool {
    // Claude Code writes a prefix as `Bash(git:*)`, OpenCode as `git *`.
    let subject = subject.trim();
    let prefix = pattern
        .strip_suffix(":*")
        .or_else(|| pattern.strip_suffix(" *").filter(|start| !start.contains(['*', '?'])));
    match prefix {
        Some(prefix) => {
            subject.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        }
        None => glob(pattern, subject),
    }
}

/// Returns true if a pattern means a command, however the command is written.
fn means(pattern: &str, command: &ShellCommand) -> bool {
    let text = command.after_assignments();
    if fits(pattern, &command.raw) || fits(pattern, text) {
        return true;
    }
    let Some(Ok(name)) = command.name() else { return false };
    let program = command.word(command.program).unwrap_or_default();
    let folder = program.len() - name.len();
    // git's program folder has one program per subcommand, such as `git-push`.
    let of_git = name.strip_prefix("git-").and_then(|_| text.get(folder + 4..));
    text.get(folder..).is_some_and(|text| folder > 0 && fits(pattern, text))
        || of_git.is_some_and(|rest| fits(pattern, &format!("git {rest}")))
        || subcommands(pattern, name, command).any(|(at, rest, _)| fits(rest, command.text_from(at)))
}

/// Iterates over a command and the commands that it starts.
fn all(command: &ShellCommand) -> impl Iterator<Item = &ShellCommand> {
    std::iter::once(command).chain(&command.inner)
}

fn unclear_within(pattern: &str, command: &ShellCommand) -> Option<Unclear> {
    command.unclear.clone().or_else(|| all(command).find_map(|command| unclear(pattern, command)))
}

/// Returns the reason why Windlass cannot decide whether a pattern means a command, if there is one.
fn unclear(pattern: &str, command: &ShellCommand) -> Option<Unclear> {
    let name = match command.name()? {
        Ok(name) => name,
        Err(word) => return Some(Unclear::Word(shown(word))),
    };
    if subcommands(pattern, name, command).count() == MOST_OPTIONS {
        return Some(Unclear::TooMuch);
    }
    // This pattern means any program, so every word with an expansion would be unclear.
    if pattern.starts_with("* ") {
        return None;
    }
    let hidden = subcommands(pattern, name, command).find(|(at, rest, is_certain)| {
        let wanted = rest.split(' ').next().unwrap_or_default();
        let wanted = wanted.strip_suffix(":*").unwrap_or(wanted);
        let is_plain = wanted.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        *is_certain && is_plain && may_be(wanted, command, *at)
    });
    hidden.and_then(|(at, ..)| Some(Unclear::Word(shown(command.word(at)?))))
}

/// Returns true if a word that the shell expands may become the wanted text.
fn may_be(wanted: &str, command: &ShellCommand, at: usize) -> bool {
    let Some(word) = command.words.get(at) else { return false };
    let Some((from, to)) = word.hole else { return false };
    let start = command.text.get(word.start..from).unwrap_or_default();
    let end = command.text.get(to..word.end).unwrap_or_default();
    let literal = wanted.split(['*', '?']).next().unwrap_or_default();
    let starts = literal.starts_with(start) || start.starts_with(literal);
    starts && (literal.len() < wanted.len() || wanted.ends_with(end))
}

/// Finds the words that may be the subcommand in a pattern, such as `push` of `git -C folder push`. Each
/// comes with the rest of the pattern from there on, and with true if the word can only be a subcommand.
/// There may be several, because Windlass does not know which options take a value.
fn subcommands<'p>(
    pattern: &'p str,
    name: &str,
    command: &ShellCommand,
) -> impl Iterator<Item = (usize, &'p str, bool)> {
    let next = |pattern: &'p str| {
        let rest = pattern.split_once(' ').map(|(_, rest)| rest);
        rest.filter(|rest| !rest.starts_with(['-', '*', '?']))
    };
    let is_program = |pattern: &str| pattern.split(' ').next().is_some_and(|program| glob(program, name));
    let mut found = Vec::new();
    let mut starts = vec![(command.program + 1, Some(pattern).filter(|pattern| is_program(pattern)), true)];
    while let Some((first, Some(pattern), is_certain)) = starts.pop() {
        let Some(rest) = next(pattern) else { continue };
        let mut may_be_value = false;
        for at in first..command.words.len() {
            let word = command.word(at).unwrap_or_default();
            if word.starts_with(['-', '+']) {
                may_be_value = !word.contains('=') && !word.starts_with('+');
                continue;
            }
            if found.len() == MOST_OPTIONS {
                break;
            }
            found.push((at, rest, is_certain && !may_be_value));
            // The pattern may name a subcommand of this one: `merge` of `gh pr -R x merge`.
            if rest.split(' ').next() == Some(word) {
                starts.push((at + 1, Some(rest), is_certain && !may_be_value));
            }
            if !may_be_value {
                break;
            }
            may_be_value = false;
        }
    }
    found.into_iter()
}

/// Reduces the space between the pattern's words to one blank.
fn plain(pattern: &str) -> String {
    pattern.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_granted(patterns: &[&str], command: &ShellCommand) -> bool {
    // A quoted program name with a space must not match a pattern of two words.
    let is_program = |word: &str| !word.contains(char::is_whitespace);
    let is_odd = !command.word(0).is_some_and(is_program);
    command.is_text() && !patterns.is_empty()
        || !is_odd
            && patterns.iter().any(|pattern| fits(pattern, &command.text) || fits(pattern, &command.raw))
}

/// Says why Windlass cannot tell which command runs, and what to write instead.
fn explain(why: &Unclear) -> String {
    match why {
        Unclear::Word(word) => {
            format!("Windlass cannot tell what `{word}` stands for; write the name itself")
        }
        Unclear::Text(command) => {
            let command = shown(command);
            format!("Windlass cannot read the command that `{command}` puts together; write it directly")
        }
        Unclear::Input(command) => {
            let command = shown(command);
            format!("Windlass cannot read the commands that `{command}` gets as its input; write them directly")
        }
        Unclear::Unclosed => {
            "Windlass cannot read the whole command line: a quote, a bracket or a here-document is not closed, or it is not shell syntax; write it in a simpler way"
                .to_owned()
        }
        Unclear::TooMuch => {
            "the command line has more commands, or deeper nesting, than Windlass reads; run it in parts"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
