//! Which lines of an agent's Markdown are its own words, and not code that it shows.
//!
//! Every mark that an agent leaves is looked for here: markers in a tracker, a signal, how a task is.

/// The lines outside code, trimmed. A line indented by four spaces or a tab is code in
/// Markdown, or lies within a list, and is left out like a fenced one.
pub fn open_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<Fence> = None;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().filter_map(move |line| {
        let content = unindented(line)?;
        match &fence {
            Some(open) if open.is_closed_by(content) => fence = None,
            Some(_) => {}
            None => {
                fence = Fence::opened_by(content);
                return fence.is_none().then(|| content.trim());
            }
        }
        None
    })
}

/// A line without its indentation, unless that is four columns or more.
fn unindented(line: &str) -> Option<&str> {
    let content = line.trim_start_matches(' ');
    (line.len() - content.len() < 4 && !content.starts_with('\t')).then_some(content)
}

/// A code fence that is open; an unclosed one runs to the end.
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(content: &str) -> Option<Fence> {
        let mark = content.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = content.trim_start_matches(mark);
        let length = content.len() - info.len();
        // A backtick after backticks is code within a line, not a fence.
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Fence { mark, length })
    }

    fn is_closed_by(&self, content: &str) -> bool {
        let rest = content.trim_start_matches(self.mark);
        content.len() - rest.len() >= self.length && rest.trim().is_empty()
    }
}
