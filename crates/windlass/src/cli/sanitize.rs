//! Makes foreign text harmless: no text of an agent, a repository or a file can move the cursor, change a
//! colour or reverse the direction of writing.
//!
//! Everything shown that Windlass did not write itself passes through this file. It also measures text in
//! columns of the terminal.

use unicode_width::UnicodeWidthChar;

/// Makes every control character visible; lines stay lines.
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

/// Makes the text harmless and joins it into one line, with single blanks.
pub(crate) fn plain_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Makes the text harmless, on one line of at most `most` columns.
pub(crate) fn plain_short(text: &str, most: usize) -> String {
    shorten(&plain_line(text), most)
}

/// Cuts a text that is wider than `most` columns and ends it with `...`.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if fitting(text, most) == text.len() {
        return text.to_owned();
    }
    let kept = text.get(..fitting(text, most.saturating_sub(3))).unwrap_or_default();
    format!("{}...", kept.trim_end())
}

/// Returns how many bytes of the text fit into `most` columns.
pub(crate) fn fitting(text: &str, most: usize) -> usize {
    let mut used = 0;
    let too_wide = |(_, c): &(usize, char)| {
        used += width(*c);
        used > most
    };
    text.char_indices().find(too_wide).map_or(text.len(), |(at, _)| at)
}

/// Returns the columns that a text takes on a terminal. Some characters take two.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Pads a text with blanks to `to` columns.
pub(crate) fn padded(text: &str, to: usize) -> String {
    format!("{text}{:1$}", "", to.saturating_sub(columns(text)))
}

fn width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Escapes all harmful characters in JSON. JSON itself only requires that for some of them.
pub(crate) fn plain_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if !is_harmful(c) {
            shown.push(c);
            continue;
        }
        // They can only be inside a string, where the escape means the same.
        let mut units = [0; 2];
        shown.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
    }
    shown
}

/// Decides whether a character is a control character or an invisible one that reorders or hides text.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// Returns `^[` for Escape, as terminals write it, or an escape such as `\u{202e}`.
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
