//! Which commands a command line starts, as far as its text tells.
//!
//! Reads a line as bash and zsh do: quotes, escapes, here-documents, substitutions, reserved words, and
//! programs that start others. It runs nothing and expands nothing. Where shells differ it splits too
//! often rather than too seldom. Holding the commands against rules is [`line`](super::line)'s.

mod read;
mod wrapper;

use read::ShellReader;
use wrapper::WrappedCommand;

/// How many commands of a line are read.
const MOST_COMMANDS: usize = 1_000;
/// How deep commands may be nested in others.
const DEEPEST: usize = 16;

/// The commands of a command line.
#[derive(Debug, Default)]
pub(super) struct ShellScript {
    /// Those the line itself is made of, with those in substitutions.
    pub(super) commands: Vec<ShellCommand>,
    /// Whether output goes into a file.
    pub(super) writes: bool,
    /// Why the line as a whole could not be read to its end.
    pub(super) unclear: Option<Unclear>,
    /// The here-documents, by their numbers.
    bodies: Vec<(usize, String)>,
    here_documents: usize,
}

/// A simple command: a program and its arguments.
#[derive(Debug, Clone, Default)]
pub(super) struct ShellCommand {
    /// As it was written.
    pub(super) raw: String,
    /// Its words without quotes, with one space between them. An expansion stays as it was written.
    pub(super) text: String,
    pub(super) words: Vec<ShellWord>,
    /// Which word is the program: the first that is no assignment.
    pub(super) program: usize,
    /// Why it is not known what this command runs.
    pub(super) unclear: Option<Unclear>,
    /// What its program starts in turn: `rm x` of `sudo rm x`.
    pub(super) inner: Vec<ShellCommand>,
    input: InputSource,
    /// It may be arithmetic, `((i++))`, and no command at all.
    is_sum: bool,
}

/// One word of a command, by its place in the command's text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShellWord {
    pub(super) start: usize,
    pub(super) end: usize,
    /// From where to where the text is not known before the shell expands it.
    pub(super) hole: Option<(usize, usize)>,
    /// The expansion may become several words, or none.
    splits: bool,
    /// The program before it, such as `xargs`, fills it in.
    is_filled: bool,
    is_quoted: bool,
    /// Where the first quote or expansion is.
    plain: usize,
}

/// Where a command reads its input from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum InputSource {
    #[default]
    Inherited,
    /// Another descriptor, an expansion, or several at once.
    Unknown,
    /// A file by its name.
    File,
    Text(String),
    HereDocument(usize),
}

/// What keeps Windlass from telling which commands run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unclear {
    /// A word that stands for a program, or for its subcommand.
    Word(String),
    /// A command whose argument is a command that is put together at run time.
    Text(String),
    /// A shell that reads its commands from another program.
    Input(String),
    /// A quote or a bracket has no end.
    Unclosed,
    /// More, or more deeply nested, than is read.
    TooMuch,
}

impl ShellScript {
    /// Reads a command line.
    pub(super) fn read(line: &str) -> ShellScript {
        let mut script = ShellScript::default();
        ShellReader::new(line, &mut script, 0).all();
        if line.contains('\0') {
            script.blame(Unclear::Unclosed);
        }
        let mut room = MOST_COMMANDS;
        for mut command in std::mem::take(&mut script.commands) {
            script.open(&mut command, &mut room);
            script.commands.push(command);
        }
        script
    }

    /// Finds what the program of a command starts, and what that starts in turn.
    fn open(&mut self, command: &mut ShellCommand, room: &mut usize) {
        let mut rest = Vec::new();
        command.unclear = self.open_once(command, 0, room, &mut rest);
        while let Some((inner, depth)) = rest.pop() {
            let why = self.open_once(&inner, depth, room, &mut rest);
            command.unclear = command.unclear.take().or(why);
            command.inner.push(inner);
        }
    }

    /// Finds what the program of a command starts itself, and what keeps that from being told.
    fn open_once(
        &mut self,
        outer: &ShellCommand,
        depth: usize,
        room: &mut usize,
        found: &mut Vec<(ShellCommand, usize)>,
    ) -> Option<Unclear> {
        let mut unclear = None;
        for part in wrapper::inner(outer, &self.bodies) {
            if depth == DEEPEST {
                return Some(Unclear::TooMuch);
            }
            let before = found.len();
            match part {
                WrappedCommand::Command(command) => found.push((command, depth + 1)),
                WrappedCommand::Unclear(why) => unclear = Some(why),
                WrappedCommand::Text(text) => {
                    let mut script =
                        ShellScript { here_documents: self.here_documents, ..ShellScript::default() };
                    ShellReader::new(&text, &mut script, depth + 1).all();
                    self.writes |= script.writes;
                    self.here_documents = script.here_documents;
                    self.bodies.append(&mut script.bodies);
                    unclear = unclear.or(script.unclear);
                    found.extend(script.commands.into_iter().map(|command| (command, depth + 1)));
                }
            }
            match room.checked_sub(found.len() - before) {
                Some(left) => *room = left,
                None => return Some(Unclear::TooMuch),
            }
        }
        unclear
    }

    fn blame(&mut self, why: Unclear) {
        self.unclear = self.unclear.take().or(Some(why));
    }
}

impl ShellCommand {
    /// A word's text.
    pub(super) fn word(&self, at: usize) -> Option<&str> {
        let word = self.words.get(at)?;
        self.text.get(word.start..word.end)
    }

    /// The command without the assignments before it.
    pub(super) fn after_assignments(&self) -> &str {
        self.text_from(self.program)
    }

    /// The command from a word on.
    pub(super) fn text_from(&self, at: usize) -> &str {
        self.words.get(at).and_then(|word| self.text.get(word.start..)).unwrap_or_default()
    }

    /// The program by its own name, without its folder; as it was written where that cannot be told.
    pub(super) fn name(&self) -> Option<Result<&str, &str>> {
        let (word, text) = (self.words.get(self.program)?, self.word(self.program)?);
        let folder = text.rfind('/').map_or(0, |at| at + 1);
        let is_known = match word.hole {
            None => true,
            Some((_, end)) => !word.splits && folder > 0 && word.start + folder >= end,
        };
        let name = text.get(folder..).unwrap_or_default();
        // zsh finds the program for `=rm` itself.
        let name = name.strip_prefix('=').unwrap_or(name);
        Some(if is_known || self.is_sum { Ok(name) } else { Err(text) })
    }

    /// Whether it only prints a text of the line: `cat <<EOF`.
    pub(super) fn is_text(&self) -> bool {
        self.text == "cat" && matches!(self.input, InputSource::HereDocument(_) | InputSource::Text(_))
    }

    /// Shells differ in which of two inputs they read.
    fn read_from(&mut self, input: InputSource) {
        self.input = if self.input == InputSource::Inherited { input } else { InputSource::Unknown };
    }

    /// A command of some of its words.
    fn part(&self, from: usize, to: usize) -> ShellCommand {
        let words = self.words.get(from..to).unwrap_or_default();
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return ShellCommand::default() };
        let text = self.text.get(first.start..last.end).unwrap_or_default().to_owned();
        let moved = |word: &ShellWord| ShellWord {
            start: word.start - first.start,
            end: word.end - first.start,
            hole: word.hole.map(|(from, to)| (from - first.start, to - first.start)),
            plain: word.plain - first.start,
            ..*word
        };
        let words = words.iter().map(moved).collect();
        ShellCommand { raw: text.clone(), text, words, input: self.input.clone(), ..ShellCommand::default() }
    }
}

/// Whether the name of a file stands for an open descriptor.
fn is_descriptor(file: &str) -> bool {
    file == "-" || file == "/dev/stdin" || ["/dev/fd/", "/proc/"].iter().any(|start| file.starts_with(start))
}

#[cfg(test)]
mod tests;
