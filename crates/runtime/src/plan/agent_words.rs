//! Reads the command of an agent CLI: a program, or a program with arguments.
//!
//! The words are separated as a shell does it, with quotes and backslashes, but no shell runs and nothing is expanded.
//! The path of a file that exists is the program as a whole, whatever characters it has. A name without a slash is
//! looked up on the `PATH` only, so that a repository cannot put its own program in place of the agent.

use std::path::{Path, PathBuf};

/// A quote that is never closed, or a backslash at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnclosedQuote;

/// Reads the command of an agent CLI. A program with a slash is relative to `base`, and any other is looked up.
pub(super) fn read(given: &Path, base: &Path) -> Result<(PathBuf, Vec<String>), UnclosedQuote> {
    let whole = base.join(given);
    let Some(text) = given.to_str() else { return Ok((whole, Vec::new())) };
    if text.contains('/') && whole.is_file() {
        return Ok((whole, Vec::new()));
    }
    let mut words = split(text)?.into_iter();
    let program = match words.next() {
        Some(name) if name.contains('/') => base.join(name),
        Some(name) => PathBuf::from(name),
        None => whole,
    };
    Ok((program, words.collect()))
}

/// Splits a text into words.
fn split(text: &str) -> Result<Vec<String>, UnclosedQuote> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            letter if letter.is_ascii_whitespace() => words.extend(word.take()),
            '\'' | '"' => quoted(&mut rest, letter, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(rest.next().ok_or(UnclosedQuote)?),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Adds the text up to the closing quote. In double quotes, a backslash keeps a quote or a backslash.
fn quoted(rest: &mut std::str::Chars<'_>, quote: char, word: &mut String) -> Result<(), UnclosedQuote> {
    loop {
        match rest.next().ok_or(UnclosedQuote)? {
            letter if letter == quote => return Ok(()),
            '\\' if quote == '"' => match rest.next().ok_or(UnclosedQuote)? {
                letter @ ('"' | '\\' | '$' | '`') => word.push(letter),
                letter => word.extend(['\\', letter]),
            },
            letter => word.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_in(base: &Path, given: &str) -> (String, Vec<String>) {
        let (program, args) = read(Path::new(given), base).unwrap();
        (program.display().to_string(), args)
    }

    #[test]
    fn a_command_has_words() {
        let base = Path::new("/repo");
        let rows: [(&str, &str, &[&str]); 7] = [
            ("opencode acp", "opencode", &["acp"]),
            ("  gemini   --acp ", "gemini", &["--acp"]),
            ("bin/agent --name 'two words' ''", "/repo/bin/agent", &["--name", "two words", ""]),
            (r#"/opt/agent "a \"b\" \n $HOME" c\ d"#, "/opt/agent", &[r#"a "b" \n $HOME"#, "c d"]),
            ("'/opt/my agents/one' acp", "/opt/my agents/one", &["acp"]),
            ("agent $(touch x); rm *", "agent", &["$(touch", "x);", "rm", "*"]),
            ("claude", "claude", &[]),
        ];
        for (given, program, args) in rows {
            let args = args.iter().map(|arg| (*arg).to_owned()).collect();
            assert_eq!(read_in(base, given), (program.to_owned(), args), "{given}");
        }
    }

    #[test]
    fn an_existing_file_is_the_program_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let name = "my 'agent --acp";
        std::fs::write(dir.path().join(name), "").unwrap();
        let path = dir.path().join(name).display().to_string();
        assert_eq!(read_in(Path::new("/"), &path), (path, Vec::new()));
        std::fs::write(dir.path().join("agent --acp"), "").unwrap();
        assert_eq!(read_in(dir.path(), "agent --acp"), ("agent".to_owned(), vec!["--acp".to_owned()]));
    }

    #[test]
    fn an_open_quote_is_an_error() {
        for given in ["agent 'x", "agent \"x\\\"", "agent \\"] {
            assert_eq!(read(Path::new(given), Path::new("/")), Err(UnclosedQuote), "{given}");
        }
    }
}
