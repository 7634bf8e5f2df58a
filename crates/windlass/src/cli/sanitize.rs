//! Foreign text made harmless: whatever an agent, a repository or a file says, it cannot move
//! the cursor, change a colour or turn the direction of writing.
//!
//! The one place for that: everything shown that we did not write ourselves passes here, and is
//! measured here, in columns of the terminal.

use unicode_width::UnicodeWidthChar;

/// The text with every control character made visible; lines stay lines.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => shown.push('\n'),
            '\t' => shown.push_str("    "),
            '\r' if rest.peek() == Some(&'\n') => {}
            c if is_harmful(c) => shown.push_str(&visible(c)),
            c => shown.push(c),
        }
    }
    shown
}

/// The same on one line: any run of white space is one blank.
pub(crate) fn plain_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// On one line and no wider than that.
pub(crate) fn plain_short(text: &str, most: usize) -> String {
    shorten(&plain_line(text), most)
}

/// The beginning of a text that is too wide, with `...` at its end.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if fitting(text, most) == text.len() {
        return text.to_owned();
    }
    let kept = text.get(..fitting(text, most.saturating_sub(3))).unwrap_or_default();
    format!("{}...", kept.trim_end())
}

/// How many bytes of a text fit into so many columns.
pub(crate) fn fitting(text: &str, most: usize) -> usize {
    let mut used = 0;
    let too_wide = |(_, c): &(usize, char)| {
        used += width(*c);
        used > most
    };
    text.char_indices().find(too_wide).map_or(text.len(), |(at, _)| at)
}

/// The columns a text takes on a terminal: some writing is twice as wide.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// The text, and blanks up to so many columns.
pub(crate) fn padded(text: &str, to: usize) -> String {
    format!("{text}{:1$}", "", to.saturating_sub(columns(text)))
}

fn width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// JSON in which no such character stands as it is. JSON itself only escapes the oldest of them.
pub(crate) fn plain_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if !is_harmful(c) {
            shown.push(c);
            continue;
        }
        // They can only stand inside a string, where the escape means the same.
        let mut units = [0; 2];
        shown.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
    }
    shown
}

/// Control characters, and the invisible ones that reorder or hide text.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// `^[` for Escape as terminals write it, `\u{202e}` for what has no such name.
fn visible(c: char) -> String {
    match u8::try_from(c) {
        Ok(byte @ 0..=31) => format!("^{}", char::from(byte + 64)),
        Ok(127) => "^?".to_owned(),
        _ => format!("\\u{{{:x}}}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_escape_sequence_survives() {
        assert_eq!(plain("a\u{1b}[31mred\u{7}\u{7f}"), "a^[[31mred^G^?");
        assert_eq!(plain("\u{9b}2J\u{202e}evil\u{200b}"), "\\u{9b}2J\\u{202e}evil\\u{200b}");
        assert_eq!(plain("\u{1b}]8;;http://x\u{1b}\\link"), "^[]8;;http://x^[\\link");
    }

    #[test]
    fn lines_stay_lines_and_a_bare_return_is_seen() {
        assert_eq!(plain("a\r\nb\tc\rd\n"), "a\nb    c^Md\n");
        assert_eq!(plain_line("a\n  b\t\tc "), "a b c");
    }

    #[test]
    fn json_means_the_same_and_is_harmless() {
        let text = "a\u{9b}31m\u{7f}\u{202e}\u{e0041}é";
        let json = plain_json(&serde_json::to_string(text).unwrap());
        assert_eq!(json, "\"a\\u009b31m\\u007f\\u202e\\udb40\\udc41é\"");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn other_writing_is_left_alone() {
        assert_eq!(plain("Grüße, 世界 🙂"), "Grüße, 世界 🙂");
    }

    #[test]
    fn a_long_text_is_cut_with_dots() {
        assert_eq!(plain_short("abcdef", 6), "abcdef");
        assert_eq!(plain_short("abcdefg", 6), "abc...");
        assert_eq!(plain_short("ääääääg", 6), "äää...");
    }

    #[test]
    fn every_character_below_a_blank_is_made_visible() {
        for c in (0..32u8).map(char::from).filter(|c| *c != '\n') {
            let shown = plain(&format!("x{c}y"));
            assert!(shown.chars().all(|c| !c.is_control()), "{shown:?}");
        }
    }

    #[test]
    fn wide_writing_takes_two_columns() {
        assert_eq!([columns("ab"), columns("世界"), columns("🙂"), columns("e\u{301}")], [2, 4, 2, 1]);
        assert_eq!(plain_short("世界世界", 8), "世界世界");
        assert_eq!(plain_short("世界世界世", 8), "世界...");
        assert_eq!(padded("世", 4) + "|", "世  |");
    }
}
