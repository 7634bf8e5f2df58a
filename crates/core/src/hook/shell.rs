//! Finds the commands that a command line starts, as far as its text shows.
//!
//! Reads a line as bash and zsh do: quotes, escapes, here-documents, substitutions, reserved words, and
//! programs that start others. It runs nothing and expands nothing. Where shells differ, it splits too often
//! rather than too seldom. [`command_line`](super::command_line) compares the commands with rules.

mod first_program;
mod read;
mod wrapper;

pub use first_program::first_program;
use read::ShellReader;
use wrapper::WrappedCommand;

/// The maximum number of commands read from a line.
const MOST_COMMANDS: usize = 1_000;
/// The maximum nesting depth of commands.
const DEEPEST: usize = 16;

/// The commands of a command line.
#[derive(Debug, Default)]
pub(super) struct ShellScript {
    /// The commands of the line itself and of its substitutions.
    pub(super) commands: Vec<ShellCommand>,
    /// True if the line writes output to a file.
    pub(super) writes: bool,
    /// The reason why the line could not be read to its end.
    pub(super) unclear: Option<Unclear>,
    /// The here-documents and their numbers.
    bodies: Vec<(usize, String)>,
    here_documents: usize,
}

/// A simple command: a program and its arguments.
#[derive(Debug, Clone, Default)]
pub(super) struct ShellCommand {
    /// The text as written.
    pub(super) raw: String,
    /// The words without quotes, separated by one space. Expansions stay as written.
    pub(super) text: String,
    pub(super) words: Vec<ShellWord>,
    /// The index of the program: the first word that is not an assignment.
    pub(super) program: usize,
    /// The reason why Windlass cannot tell what this command runs.
    pub(super) unclear: Option<Unclear>,
    /// The commands that its program starts: `rm x` of `sudo rm x`.
    pub(super) inner: Vec<ShellCommand>,
    input: InputSource,
    /// True if this may be arithmetic, `((i++))`, instead of a command.
    is_sum: bool,
}

/// One word of a command, as positions in the command's text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShellWord {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The range of the text that only the shell's expansion determines.
    pub(super) hole: Option<(usize, usize)>,
    /// True if the expansion may become several words, or none.
    splits: bool,
    /// True if the program before it, such as `xargs`, replaces this word.
    is_filled: bool,
    is_quoted: bool,
    /// The position of the first quote or expansion.
    plain: usize,
}

/// The source of a command's input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum InputSource {
    #[default]
    Inherited,
    /// Another descriptor, an expansion, or several sources at once.
    Unknown,
    /// A file, named in the line.
    File,
    Text(String),
    HereDocument(usize),
}

/// The reason why Windlass cannot tell which commands run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unclear {
    /// An expansion in place of a program or its subcommand.
    Word(String),
    /// A command whose argument is another command, assembled at run time.
    Text(String),
    /// A shell that reads its commands from another program.
    Input(String),
    /// A quote or a bracket is not closed.
    Unclosed,
    /// The line has more commands, or deeper nesting, than the limits allow.
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

    /// Finds the commands that the program of a command starts, at any depth.
    fn open(&mut self, command: &mut ShellCommand, room: &mut usize) {
        let mut rest = Vec::new();
        command.unclear = self.open_once(command, 0, room, &mut rest);
        while let Some((inner, depth)) = rest.pop() {
            let why = self.open_once(&inner, depth, room, &mut rest);
            command.unclear = command.unclear.take().or(why);
            command.inner.push(inner);
        }
    }

    /// Finds the commands that the program of a command starts directly. Returns the reason if some stay
    /// unknown.
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
    /// Returns the text of a word.
    pub(super) fn word(&self, at: usize) -> Option<&str> {
        let word = self.words.get(at)?;
        self.text.get(word.start..word.end)
    }

    /// Returns the command without the assignments before it.
    pub(super) fn after_assignments(&self) -> &str {
        self.text_from(self.program)
    }

    /// Returns the command's text from a word on.
    pub(super) fn text_from(&self, at: usize) -> &str {
        self.words.get(at).and_then(|word| self.text.get(word.start..)).unwrap_or_default()
    }

    /// Returns the program's name without its folder, or as an error the word as written if the name is
    /// unknown.
    pub(super) fn name(&self) -> Option<Result<&str, &str>> {
        let (word, text) = (self.words.get(self.program)?, self.word(self.program)?);
        let folder = text.rfind('/').map_or(0, |at| at + 1);
        let is_known = match word.hole {
            None => true,
            Some((_, end)) => !word.splits && folder > 0 && word.start + folder >= end,
        };
        let name = text.get(folder..).unwrap_or_default();
        // zsh replaces `=rm` by the path of `rm`.
        let name = name.strip_prefix('=').unwrap_or(name);
        Some(if is_known || self.is_sum { Ok(name) } else { Err(text) })
    }

    /// Returns true if the command only prints a text of the line: `cat <<EOF`.
    pub(super) fn is_text(&self) -> bool {
        self.text == "cat" && matches!(self.input, InputSource::HereDocument(_) | InputSource::Text(_))
    }

    /// Sets the input. A second input makes it unknown, because shells differ in which one they read.
    fn read_from(&mut self, input: InputSource) {
        self.input = if self.input == InputSource::Inherited { input } else { InputSource::Unknown };
    }

    /// Returns a new command made of some of the words.
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

/// Returns true if a file name means an open descriptor.
fn is_descriptor(file: &str) -> bool {
    file == "-" || file == "/dev/stdin" || ["/dev/fd/", "/proc/"].iter().any(|start| file.starts_with(start))
}

#[cfg(test)]
mod tests;
