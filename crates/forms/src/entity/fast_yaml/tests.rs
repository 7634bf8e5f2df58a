//! Tests for the texts that the fast reader accepts or declines, and that the full reader gives the same
//! results.

use proptest::prelude::*;

use super::*;
use crate::entity::yaml::read_all;

const SIMPLE: &str = "name: review\ndescription: Looks at what changed, and why\nallowed-tools:\n  - Read\n  - \
                      Bash(git diff:*)\nmodel: 'opus'\nversion: 1.10\nempty: ~\nlist: [a, 2, true]\nhooks:\n  Stop:\n    - \
                      matcher: \"*\"\n      hooks:\n        - type: command\n          timeout: 30\n    - plain\nkeys:\n- \
                      a\n- b: c\n  d: e\n\nnotes: |\n  First.\n    Second: # no comment\n  Third.\nlast: |-\n  One.\n# A comment.\nfold: >-\n  One\n  two.\n  # no comment\nend: 1\n";

#[test]
fn most_frontmatter_is_read_here() {
    let node = read(SIMPLE, 7);
    assert!(node.is_some());
    assert_eq!(node, read_all(SIMPLE, 7).ok());
}

#[test]
fn what_is_not_plainly_simple_is_declined() {
    for text in [
        "",
        "a",
        "a:\n",
        "a: b: c\n",
        "a: b #c\n",
        "a: &x b\n",
        "a: *x\n",
        "a: >\n  b\n    c\n",
        "a: >\n  b\n\n  c\n",
        "a: |\n  b\n\n  c\n",
        "a: \"x\\ty\"\n",
        "a: b\n  c\n",
        "- a\n",
        " a: b\n",
        "a:\tb\n",
        "a: b\r\n",
        "a: [x\n",
        "a: {}\n",
        "? a\n",
        "a: - b\n",
        "'a': b\n",
        "a: b \n",
        "a: |\n  b",
    ] {
        assert_eq!(read(text, 0), None, "{text:?}");
    }
}

const PIECES: &[&str] = &[
    "a",
    "b-c",
    "name",
    ": ",
    ":",
    "\n",
    "\n  ",
    "\n    ",
    "\n- ",
    "\n  - ",
    "- ",
    " ",
    "  ",
    "|",
    "|-",
    ">",
    "\n\n",
    "\"",
    "'",
    "\"x y\"",
    "'z'",
    "[a, b]",
    "[",
    "]",
    ", ",
    "{",
    "}",
    "#",
    " #",
    "1",
    "1.5",
    "0x1f",
    "true",
    "null",
    "~",
    "é",
    "—",
    "\u{2028}",
    "\u{a0}",
    "\u{85}",
    "&x",
    "*x",
    "!",
    "%",
    "@",
    "`",
    "\\",
    "-",
    "?",
    "? ",
    "text with words",
    "(x)",
    "<x>",
    "...",
    "---",
    "=",
    "\t",
    "\r\n",
];

fn line() -> impl Strategy<Value = String> {
    let indent =
        prop::sample::select(vec!["", "", "  ", "  ", "    ", "   ", "- ", "  - ", "    - ", "# ", "  # "]);
    let key = prop::sample::select(vec!["", "a: ", "b-c: ", "name: ", "d:", "hooks:", "e:f: "]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "",
            "|",
            "|-",
            ">",
            ">-",
            "x",
            "two words",
            "\"q\"",
            "'q'",
            "[a, b]",
            "[]",
            "3",
            "no: w",
            "a:b",
            "x #y",
            "x#y",
            "Bash(git:*)"
        ])
        .prop_map(str::to_owned),
        prop::collection::vec(prop::sample::select(PIECES), 0..4).prop_map(|pieces| pieces.concat()),
    ];
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\n", "\n\n", ""]);
    (indent, key, value, end).prop_map(|(indent, key, value, end)| format!("{indent}{key}{value}{end}"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn reads_the_very_same_as_the_whole_reader(lines in prop::collection::vec(line(), 1..8)) {
        let text = lines.concat();
        if let Some(node) = read(&text, 3) {
            prop_assert_eq!(Ok(node), read_all(&text, 3), "{}", text);
        }
    }

    #[test]
    fn and_so_it_does_on_rubbish(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24)) {
        let text = pieces.concat();
        if let Some(node) = read(&text, 3) {
            prop_assert_eq!(Ok(node), read_all(&text, 3), "{}", text);
        }
    }
}
