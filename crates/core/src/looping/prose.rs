//! Separates an agent's own words in Markdown from the code, quotations and comments that it shows.
//!
//! All searches for markers, signals, promises and task statuses use this module. It reads a text twice:
//! once by the rules of CommonMark, and once treating every fence as a fence, whatever its indentation or
//! list. Only words that are open in both readings count: one more turn costs less than a false end.

mod spans;

use std::ops::Range;

/// Returns the lines that are the agent's words, trimmed. Omits fenced lines and lines indented by four
/// columns, which are code or part of a list. Keeps code within a line, with its backticks.
pub fn open_lines(text: &str) -> impl Iterator<Item = &str> {
    let text = without_mark(text);
    let code = hidden(text, ProseTarget::Lines);
    let mut next = 0;
    lines(text).filter_map(move |line| {
        while code.get(next).is_some_and(|code| code.end < line.start) {
            next += 1;
        }
        let shown = text.get(line.clone()).unwrap_or_default().trim();
        let is_code = code.get(next).is_some_and(|code| code.start <= line.start && line.end <= code.end);
        (!is_code).then_some(shown)
    })
}

/// Returns the agent's words, with a backtick in place of each hidden part.
pub fn open_text(text: &str) -> String {
    let text = without_mark(text);
    let mut open = String::with_capacity(text.len());
    let mut at = 0;
    for code in hidden(text, ProseTarget::Text) {
        open.push_str(text.get(at..code.start).unwrap_or_default());
        open.push('`');
        at = code.end;
    }
    open.push_str(text.get(at..).unwrap_or_default());
    open
}

/// Removes emphasis around the whole line: `**done**` becomes `done`.
pub fn plain(line: &str) -> &str {
    let mut line = line.trim();
    while let Some(inner) = ["**", "__", "*", "_"]
        .into_iter()
        .find_map(|mark| line.strip_prefix(mark)?.strip_suffix(mark))
        .filter(|inner| !inner.is_empty())
    {
        line = inner.trim();
    }
    line
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns the range of each line without its line end.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        start..start + line.trim_end_matches('\n').trim_end_matches('\r').len()
    })
}

/// Returns the ranges that either reading hides, sorted and merged.
fn hidden(text: &str, wanted: ProseTarget) -> Vec<Range<usize>> {
    let mut all = ProseReader::of(text, Fences::AsCommonMark, wanted);
    all.extend(ProseReader::of(text, Fences::Everywhere, wanted));
    all.sort_by_key(|range| range.start);
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(all.len());
    for range in all {
        match apart.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

/// The kind of text that the caller searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProseTarget {
    /// Whole lines. A comment on one line may be a marker; an indented line may not.
    Lines,
    /// Any text.
    Text,
}

/// The rule for code fences and for the end of paragraphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fences {
    /// A fence is indented by less than four columns and ends with its list item.
    AsCommonMark,
    /// Any indentation is a fence, until it is closed. A paragraph ends only at a blank line.
    Everywhere,
}

/// The block that the lines so far leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenBlock {
    Text,
    /// Fenced code. It also ends with the list item that contains it.
    Fence {
        mark: char,
        length: usize,
        indent: usize,
    },
    /// `<pre>` and similar tags.
    Raw,
    /// A comment that `<!--` opened at the start of a line.
    Comment,
    /// A quoted paragraph, which may continue without `>`.
    Quote,
}

/// The classification of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProseLine {
    /// The agent's words.
    Open,
    /// Not the agent's words; ends the paragraph before it.
    Hidden,
    /// Treated as code, but the paragraph before it may continue.
    Within,
}

struct ProseReader<'t> {
    text: &'t str,
    fences: Fences,
    wanted: ProseTarget,
    block: OpenBlock,
    /// The start of the open paragraph.
    paragraph: Option<usize>,
    hidden: Vec<Range<usize>>,
}

impl<'t> ProseReader<'t> {
    fn of(text: &'t str, fences: Fences, wanted: ProseTarget) -> Vec<Range<usize>> {
        let mut reading =
            ProseReader { text, fences, wanted, block: OpenBlock::Text, paragraph: None, hidden: Vec::new() };
        for line in lines(text) {
            match reading.read(&line) {
                ProseLine::Open => continue,
                ProseLine::Hidden => reading.ends(line.start),
                ProseLine::Within if wanted == ProseTarget::Text && reading.paragraph.is_some() => continue,
                ProseLine::Within => {}
            }
            reading.hidden.push(line);
        }
        reading.ends(text.len());
        reading.hidden
    }

    /// Ends a paragraph and finds the code inside it.
    fn ends(&mut self, at: usize) {
        let Some(start) = self.paragraph.take() else { return };
        let inside = self.text.get(start..at).unwrap_or_default();
        let is_hidden = |span: &Range<usize>| {
            let shown = inside.get(span.clone()).unwrap_or_default();
            self.wanted == ProseTarget::Text || !shown.starts_with("<!--") || shown.contains('\n')
        };
        let spans = spans::of(inside).into_iter().filter(is_hidden);
        self.hidden.extend(spans.map(|span| start + span.start..start + span.end));
    }

    /// Classifies a line.
    fn read(&mut self, line: &Range<usize>) -> ProseLine {
        let whole = self.text.get(line.clone()).unwrap_or_default();
        let (indent, content) = unindented(whole);
        let is_blank = content.trim().is_empty();
        match self.block {
            OpenBlock::Fence { mark, length, indent: least } => {
                let is_left = self.fences == Fences::AsCommonMark && indent < least && !is_blank;
                if !is_left {
                    let may_close = self.fences == Fences::Everywhere || indent < least + 4;
                    if may_close && closes(content, mark, length) {
                        self.block = OpenBlock::Text;
                    }
                    return ProseLine::Hidden;
                }
            }
            OpenBlock::Raw => {
                if RAW.iter().any(|tag| contains_ignoring_case(content, &format!("</{tag}>"))) {
                    self.block = OpenBlock::Text;
                }
                return ProseLine::Hidden;
            }
            OpenBlock::Comment => {
                if content.contains("-->") {
                    self.block = OpenBlock::Text;
                }
                return ProseLine::Hidden;
            }
            OpenBlock::Quote if !is_blank => {
                self.block = OpenBlock::Text;
                let begun = self.begins(line, indent, content, is_blank);
                if begun == ProseLine::Open {
                    // The line starts no new block, so it continues the quotation.
                    (self.block, self.paragraph) = (OpenBlock::Quote, None);
                }
                return ProseLine::Hidden;
            }
            OpenBlock::Text | OpenBlock::Quote => {}
        }
        self.block = OpenBlock::Text;
        self.begins(line, indent, content, is_blank)
    }

    /// Classifies a line outside all blocks, and opens the block that it starts.
    fn begins(&mut self, line: &Range<usize>, indent: usize, content: &str, is_blank: bool) -> ProseLine {
        let (inner, item) = after_list_marks(indent, content);
        if let Some((mark, length)) = opened(inner)
            && (indent < 4 || self.fences == Fences::Everywhere)
        {
            self.block = OpenBlock::Fence { mark, length, indent: item };
            return ProseLine::Hidden;
        }
        if indent >= 4 && !is_blank {
            return ProseLine::Within;
        }
        if let Some(quoted) = inner.strip_prefix('>') {
            let is_paragraph = !quoted.trim().is_empty() && opened(quoted.trim_start()).is_none();
            self.block = if is_paragraph { OpenBlock::Quote } else { OpenBlock::Text };
            return ProseLine::Hidden;
        }
        if let Some(tag) = RAW.iter().find(|tag| is_tag(inner, tag)) {
            if !contains_ignoring_case(inner, &format!("</{tag}>")) {
                self.block = OpenBlock::Raw;
            }
            return ProseLine::Hidden;
        }
        if inner.strip_prefix("<!--").is_some_and(|rest| !rest.contains("-->")) {
            self.block = OpenBlock::Comment;
            return ProseLine::Hidden;
        }
        let starts_anew = item > 0 || inner.starts_with('#');
        if is_blank || (starts_anew && self.fences == Fences::AsCommonMark) {
            self.ends(line.start);
        }
        if !is_blank && self.paragraph.is_none() {
            self.paragraph = Some(line.start);
        }
        ProseLine::Open
    }
}

/// Tags whose content is shown literally.
const RAW: [&str; 4] = ["pre", "script", "style", "textarea"];

/// Returns the columns of indentation, and the rest of the line.
fn unindented(line: &str) -> (usize, &str) {
    let content = line.trim_start_matches([' ', '\t']);
    let blanks = line.get(..line.len() - content.len()).unwrap_or_default();
    let columns =
        blanks.chars().fold(0, |column, c| if c == '\t' { column - column % 4 + 4 } else { column + 1 });
    (columns, content)
}

/// Removes the list markers at the start of a line. Also returns the column of the last item, or 0 without
/// one.
fn after_list_marks(indent: usize, content: &str) -> (&str, usize) {
    let (mut rest, mut column, mut item) = (content, indent, 0);
    loop {
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        let mark = match rest.chars().nth(digits) {
            Some('-' | '*' | '+') if digits == 0 => 1,
            Some('.' | ')') if (1..=9).contains(&digits) => digits + 1,
            _ => return (rest, item),
        };
        let after = rest.get(mark..).unwrap_or_default();
        if !after.starts_with([' ', '\t']) {
            return (rest, item);
        }
        let (blanks, content) = unindented(after);
        // With more than four blanks, the item starts after the first blank and the rest is indented code.
        item = column + mark + if blanks > 4 { 1 } else { blanks };
        column = item;
        rest = content;
    }
}

/// Returns the fence that a line opens.
fn opened(content: &str) -> Option<(char, usize)> {
    let mark = content.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = content.trim_start_matches(mark);
    let length = content.len() - info.len();
    // A backtick after the opening backticks means inline code, not a fence.
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length))
}

fn closes(content: &str, mark: char, length: usize) -> bool {
    let rest = content.trim_start_matches(mark);
    content.len() - rest.len() >= length && rest.trim().is_empty()
}

/// Returns true if a line starts with an opening tag.
fn is_tag(line: &str, tag: &str) -> bool {
    let Some(rest) = line.strip_prefix('<') else { return false };
    let is_it = rest.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
    is_it && rest.get(tag.len()..).is_some_and(|rest| rest.is_empty() || rest.starts_with(['>', ' ', '\t']))
}

fn contains_ignoring_case(line: &str, part: &str) -> bool {
    line.as_bytes().windows(part.len()).any(|piece| piece.eq_ignore_ascii_case(part.as_bytes()))
}

#[cfg(test)]
mod tests;
