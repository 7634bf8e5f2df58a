//! Splits arguments into words as a shell would.

/// Splits at white space. Quotes group words. A backslash escapes a quote, a backslash or white space;
/// inside single quotes it is literal. Never fails: a quote that is not closed is literal, as in `it's`.
pub fn split(args: &str) -> Vec<String> {
    let mut words = Vec::new();
    // `Some("")` is a word, as in `""`. `None` means that no word has started.
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = args.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '"' | '\'') if is_closed(c, chars.clone()) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (None, '\\') => {
                let next = chars.next_if(|next| matches!(next, '"' | '\'' | '\\') || next.is_whitespace());
                word.get_or_insert_default().push(next.unwrap_or('\\'));
            }
            (Some('"'), '\\') => {
                let next = chars.next_if(|next| matches!(next, '"' | '\\'));
                word.get_or_insert_default().push(next.unwrap_or('\\'));
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Returns true if the text after an opening quote contains its closing quote.
fn is_closed(quote: char, mut rest: impl Iterator<Item = char>) -> bool {
    while let Some(c) = rest.next() {
        match c {
            c if c == quote => return true,
            '\\' if quote == '"' => drop(rest.next()),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_split_as_a_shell_would() {
        let rows: &[(&str, &[&str])] = &[
            ("", &[]),
            (" \t\n", &[]),
            ("one two\nthree", &["one", "two", "three"]),
            (r#"a "b c" 'd e'"#, &["a", "b c", "d e"]),
            (r#"--title="a b"c"#, &["--title=a bc"]),
            (r#""" ''"#, &["", ""]),
            (r#""say \"hi\" \n""#, &[r#"say "hi" \n"#]),
            (r"'a\b' a\ b c\\", &[r"a\b", "a b", r"c\"]),
            ("\"it's\"", &["it's"]),
            ("don't stop now", &["don't", "stop", "now"]),
            ("a \"b c", &["a", "\"b", "c"]),
            ("it's \"q r\"", &["it's", "q r"]),
            (r"c:\new x", &[r"c:\new", "x"]),
            ("end\\", &["end\\"]),
            ("$1 `x` $ARGUMENTS", &["$1", "`x`", "$ARGUMENTS"]),
            ("ünï\u{3000}日本", &["ünï", "日本"]),
        ];
        for (args, words) in rows {
            assert_eq!(split(args), *words, "{args}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_split(args in any::<String>()) {
            split(&args);
        }

        #[test]
        fn what_was_quoted_comes_back(words in prop::collection::vec("[^']*", 0..5)) {
            let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            prop_assert_eq!(split(&quoted.join(" ")), words);
        }
    }
}
