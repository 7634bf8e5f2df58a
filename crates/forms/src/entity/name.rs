//! Validates the names of entities.

use windlass_core::entity::PluginSource;

/// The most characters in a name.
const LONGEST: usize = 128;

/// Returns what is wrong with a name that is written in a file.
pub(super) fn name_error(name: &str) -> Option<&'static str> {
    if name.contains('/') { Some("has a `/` in it") } else { nested_name_error(name) }
}

/// Does the same for a name that comes from folders, which may contain `/`.
pub(super) fn nested_name_error(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        return Some("is empty");
    }
    if name.chars().nth(LONGEST).is_some() {
        return Some("is longer than 128 characters");
    }
    if name.contains(is_hidden) {
        return Some("has a control character in it");
    }
    if name.contains('\\') {
        return Some("has a `\\` in it");
    }
    let is_way = |part: &str| part.is_empty() || part == "." || part == "..";
    name.split('/').any(is_way).then_some("is a path")
}

/// Decides whether a screen does not show a character, or shows others differently because of it.
pub(super) fn is_hidden(c: char) -> bool {
    let is_format = matches!(
        c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    );
    c.is_control() || is_format
}

/// Returns the name with the plugin's name before it.
pub(super) fn full(name: &str, plugin: Option<&PluginSource>) -> String {
    match plugin {
        Some(plugin) => format!("{}:{name}", plugin.name),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_not_paths() {
        for name in ["commit", "Code Reviewer", "front:comp", "größe", "v1.2", "a-b_c"] {
            assert_eq!(name_error(name), None, "{name}");
        }
        let rows = [
            ("", "is empty"),
            (" \t", "is empty"),
            ("a/b", "has a `/` in it"),
            ("a\\b", "has a `\\` in it"),
            ("..", "is a path"),
            ("a\u{1b}[2J", "has a control character in it"),
            ("a\u{202e}b", "has a control character in it"),
        ];
        for (name, wrong) in rows {
            assert_eq!(name_error(name), Some(wrong), "{name:?}");
        }
        assert_eq!(name_error(&"é".repeat(128)), None);
        assert_eq!(name_error(&"é".repeat(129)), Some("is longer than 128 characters"));
    }

    #[test]
    fn folders_may_be_part_of_a_name() {
        assert_eq!(nested_name_error("front/comp"), None);
        for name in ["/comp", "front//comp", "../comp", "front/."] {
            assert_eq!(nested_name_error(name), Some("is a path"));
        }
    }
}
