//! Tests for telling an agent's own words in Markdown from quoted text and code.

use proptest::prelude::*;

use super::*;

fn is_open(text: &str) -> bool {
    open_lines(text).any(|line| line == "S")
}

#[test]
fn words_are_open_wherever_they_stand_alone() {
    let texts = [
        "S",
        "\u{feff}S",
        "  S  \r\n",
        "text\nS\ntext",
        "- item\n  S",
        "- item\n\n  S",
        "```\ncode\n```\nS",
        "- ```\n  code\n  ```\nS",
        "1. ```sh\n   code\n   ```\n\nS",
        "> quoted\n\nS",
        "> ```\n> code\n> ```\nS",
        "<pre>\ncode\n</pre>\nS",
        "<!-- a comment -->\nS",
        "<!--\nS\n-->\nS",
        "a stray ` tick\nS",
        "`code`\nS\n`code`",
        "`` a ` b ``\nS",
        "\\`no code\nS\nno code\\`",
        "`code\n\nS\n\ncode`",
        "I use the <pre> tag\nS",
        "text <!-- never closed\nS",
        "```not a fence```\nS",
        "<div>\nS\n</div>",
        "---\nS",
    ];
    for text in texts {
        assert!(is_open(text), "{text:?}");
    }
}

#[test]
fn what_is_shown_is_not() {
    let texts = [
        "`S`",
        "**`S`**",
        "`\nS\n`",
        "a `code\nS\ncode` b",
        "`` a\nS\n` b ``",
        "```\nS\n```",
        "```md\n~~~\nS\n~~~\n```",
        "~~~\nS\n~~~",
        "````\n```\nS\n```\n````",
        "```\nnever closed\nS",
        "    S",
        "\tS",
        "  \tS",
        "- ```\n  S\n  ```",
        "-\t```\n\tS\n\t```",
        "* 1. ```\n     S\n     ```",
        "12) ~~~\n    S\n    ~~~",
        "- ```\nS\n```",
        "- ```\n  x\n\ntext\n```\nS\n```",
        "1. like so:\n    ```\n  S\n    ```",
        "- a\n\n    ```\n  S\n    ```",
        "> S",
        "> ```\n> S\n> ```",
        "> quoted\nS",
        "> quoted\n```\ntext\n\nS\n```",
        "`a\n    b\nS\n`",
        "- > S",
        "<pre>\nS\n</pre>",
        "<PRE class=\"x\">\n\nS\n\n</PRE>",
        "<code>\nS\n</code>",
        "text <code>\nS\n</code>",
        "<script>\nS\n</script>",
        "<!--\nS\n-->",
        "<!-- a\n\nS\n\n-->",
        "text <!-- a\nS\n-->",
        "<!-- never closed\nS",
        "- <pre>\n  S\n  </pre>",
    ];
    for text in texts {
        assert!(!is_open(text), "{text:?}");
    }
}

#[test]
fn the_open_text_has_no_code_in_it() {
    let cases = [
        ("a `b` c", "a ` c"),
        ("a\n```\nb\n```\nc", "a\n`\n`\n`\nc"),
        ("a <!-- b --> c", "a ` c"),
        ("a \\` b ` c", "a \\` b ` c"),
    ];
    for (text, open) in cases {
        assert_eq!(open_text(text), open, "{text:?}");
    }
}

#[test]
fn a_comment_on_one_line_is_a_line_like_any_other() {
    assert_eq!(
        open_lines("text\n<!-- DONE -->\ntext").collect::<Vec<_>>(),
        ["text", "<!-- DONE -->", "text"]
    );
    assert_eq!(open_lines("```\n<!-- DONE -->\n```").count(), 0);
    assert_eq!(open_lines("<!--\n<!-- DONE -->").count(), 0);
}

#[test]
fn emphasis_around_a_whole_line_is_not_a_part_of_it() {
    for line in ["S", "**S**", "__S__", "*S*", "_S_", "***S***", " **_S_** "] {
        assert_eq!(plain(line), "S");
    }
    for line in ["**S", "S**", "*S_", "`S`", "**`S`**"] {
        assert_ne!(plain(line), "S");
    }
    assert_eq!((plain("****"), plain("*"), plain("")), ("****", "*", ""));
}

#[test]
fn a_long_text_takes_no_long_time() {
    let runs: String = (0..1_500).map(|length| format!("{} ", "`".repeat(length % 700))).collect();
    let texts = [
        "`".repeat(1 << 20),
        "` `` ".repeat(1 << 18),
        "<!-- ".repeat(1 << 18),
        "<code>".repeat(1 << 18),
        "- ".repeat(1 << 19),
        "<pre\n".repeat(1 << 18),
        "\\`".repeat(1 << 19),
        runs,
    ];
    let begun = std::time::Instant::now();
    for text in &texts {
        open_lines(text).for_each(drop);
        open_text(text);
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
}

/// Texts of the pieces that Markdown is made of.
fn markdown() -> impl Strategy<Value = String> {
    let pieces = [
        "S", "\n", "\n\n", " ", "    ", "\t", "`", "``", "```", "~~~", "- ", "1. ", "> ", "#", "<pre>",
        "</pre>", "<code>", "</code>", "<!--", "-->", "\\", "*", "\r\n", "é", "text",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn every_text_can_be_read(text in any::<String>()) {
        open_lines(&text).for_each(drop);
        open_text(&text);
    }

    #[test]
    fn an_open_line_is_a_line_of_the_text(text in markdown()) {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        prop_assert!(open_lines(&text).all(|line| lines.contains(&line)), "{:?}", text);
    }

    #[test]
    fn nothing_in_a_fence_is_open(text in markdown()) {
        let fence = "~".repeat(200);
        let fenced = format!("{fence}\n{text}\n{fence}\n");
        prop_assert_eq!(open_lines(&fenced).count(), 0, "{:?}", fenced);
    }

    #[test]
    fn what_follows_changes_nothing_after_a_blank_line(text in "[a-zS \n]{0,40}", after in markdown()) {
        let open: Vec<&str> = open_lines(&text).collect();
        let whole = format!("{text}\n\n{after}");
        prop_assert!(open_lines(&whole).collect::<Vec<_>>().starts_with(&open), "{:?}", whole);
    }
}
