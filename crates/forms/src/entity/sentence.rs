//! Extracts the first sentence of a text, for an entity without a description.

/// The most characters of the sentence.
const LONGEST: usize = 160;

/// Returns the first sentence of the first line with words in it, without Markdown marks.
pub(super) fn first(text: &str) -> String {
    let line =
        text.lines().map(words).find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or_default();
    let end = end(line);
    shortened(line.get(..end).unwrap_or(line).trim())
}

fn words(line: &str) -> &str {
    line.trim().trim_start_matches(['#', '>', '-', '*', '`', ' ', '\t']).trim_end_matches(['*', '`', ' '])
}

/// Returns the end of the sentence: after a mark that a space follows.
fn end(line: &str) -> usize {
    let mut marks = line.match_indices(['.', '!', '?']);
    let is_end = |at: usize| line.get(at + 1..).is_some_and(|rest| rest.starts_with(' '));
    marks.find(|(at, _)| is_end(*at)).map_or(line.len(), |(at, _)| at + 1)
}

fn shortened(sentence: &str) -> String {
    if sentence.chars().nth(LONGEST).is_none() {
        return sentence.to_owned();
    }
    let head: String = sentence.chars().take(LONGEST - 1).collect();
    format!("{}…", head.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_taken_from_the_first_line_with_words() {
        assert_eq!(first("# Fix the bug\n\nmore"), "Fix the bug");
        assert_eq!(first("\n---\n**Look** at 1.2. Then stop."), "Look** at 1.2.");
        assert_eq!(first("Why? Because.\n"), "Why?");
        assert_eq!(first("```\n"), "");
        assert_eq!(first(&"é".repeat(500)).chars().count(), LONGEST);
    }
}
