//! Places, bounds, and that frontmatter means what serde-saphyr says it means.

use proptest::prelude::*;
use serde_saphyr::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};

use super::*;
use crate::json::JsonValue;

#[test]
fn every_key_and_value_knows_its_place() {
    let text = "a: &x 'é'\nb:\n  - *x\n  - {c: 1}\n";
    let node = read_all(text, 100).unwrap();
    let JsonValue::Object(members) = &node.value else { panic!("{node:?}") };
    assert_eq!(members[1].key_at, 100 + text.find("b:").unwrap());
    let JsonValue::List(items) = &members[1].node.value else { panic!("{node:?}") };
    assert_eq!(items[0], JsonNode { at: 100 + text.find("*x").unwrap(), value: JsonValue::Text("é".into()) });
    assert_eq!(items[1].at, 100 + text.find('{').unwrap());
}

fn excess(text: &str) -> String {
    match read_all(text, 0) {
        Err(YamlRefusal::Excess(broken)) => broken.message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_small_text_that_means_a_large_value_is_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert_eq!(excess(&bomb), "there are too many values, aliases included");
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(10_000), vec!["*a"; 100].join(", "));
    assert_eq!(excess(&long), "there are too many values, aliases included");
    assert_eq!(excess(&format!("a: {}", "[".repeat(60_000))), "nested more than 32 levels deep");
    let deep: String = (0..200).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    assert_eq!(excess(&deep), "nested more than 32 levels deep");
    assert_eq!(excess(&"a:\n".repeat(20_000)), "there are too many values, aliases included");
}

#[test]
fn an_alias_inside_the_value_it_repeats_is_refused() {
    assert!(matches!(read_all("a: &a [*a]\n", 0), Err(YamlRefusal::Broken(_))));
}

const PIECES: &[&str] = &[
    "a",
    "b",
    "name",
    ": ",
    ":\n",
    "\n",
    "\n  ",
    "\n    ",
    "\n- ",
    "\n  - ",
    "- ",
    " ",
    "|\n  ",
    ">\n  ",
    ">-\n  ",
    "\"x y\"",
    "'z'",
    "[a, b]",
    "[",
    "]",
    ", ",
    "{a: b}",
    "{",
    "}",
    " # c",
    "1",
    "1.5",
    "-3",
    "true",
    "null",
    "~",
    "é",
    "text with words",
    "\\",
    "!!str 1",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2048, ..ProptestConfig::default() })]

    #[test]
    fn means_what_serde_saphyr_says_it_means(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..16)) {
        let text = format!("key: {}", pieces.concat());
        let options = serde_saphyr::options! {
            strict_booleans: true,
            duplicate_keys: DuplicateKeyPolicy::LastWins,
            merge_keys: MergeKeyPolicy::AsOrdinary,
            non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        };
        let theirs = serde_saphyr::from_str_with_options::<serde_json::Value>(&text, options);
        if let (Ok(ours), Ok(theirs)) = (read(&text, 0), &theirs) {
            prop_assert_eq!(&yaml::to_json(ours), theirs, "{}", text);
        }
    }
}
