//! The part of the user's own settings that every turn needs: the providers and the default models.
//!
//! OpenCode reads JSON with comments and commas at the end of lists.

use std::path::Path;

use serde_json::{Map, Value};

/// The settings without which no model can be reached.
const LOGIN: &[&str] = &["provider", "enabled_providers", "disabled_providers", "model", "small_model"];
/// The beginning of a text that OpenCode replaces with the content of a file.
const FILE: &str = "{file:";

/// Returns the login part of the user's settings. `folder` is the folder of their file.
pub(super) fn login(settings: &str, folder: &Path, home: Option<&str>) -> Map<String, Value> {
    let all = read(settings);
    let kept = LOGIN.iter().filter_map(|key| Some(((*key).to_owned(), all.get(*key)?.clone())));
    let mut kept: Map<String, Value> = kept.collect();
    let home = home.map_or(folder, Path::new);
    kept.values_mut().for_each(|value| locate_files(value, folder, home));
    kept
}

/// Reads settings. Settings that OpenCode could not read either are empty.
pub(super) fn read(settings: &str) -> Map<String, Value> {
    serde_json::from_str(&plain_json(settings)).unwrap_or_default()
}

/// Makes the paths of files absolute, because the copy of the settings is in another folder.
fn locate_files(value: &mut Value, folder: &Path, home: &Path) {
    match value {
        Value::String(text) if text.contains(FILE) => {
            let mut parts = text.split(FILE);
            let mut located = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let part = match part.strip_prefix("~/") {
                    Some(below) => home.join(below),
                    None => folder.join(part),
                };
                located.push_str(FILE);
                located.push_str(&part.to_string_lossy());
            }
            *text = located;
        }
        Value::Array(list) => list.iter_mut().for_each(|value| locate_files(value, folder, home)),
        Value::Object(map) => map.values_mut().for_each(|value| locate_files(value, folder, home)),
        _ => {}
    }
}

/// Removes comments, and commas at the end of lists.
fn plain_json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (piece, after) = rest.split_at(piece_length(rest, first));
        match first {
            '/' if piece.len() > 1 => {}
            '}' | ']' => {
                let end = plain.trim_end();
                if end.ends_with(',') {
                    plain.truncate(end.len() - 1);
                }
                plain.push_str(piece);
            }
            _ => plain.push_str(piece),
        }
        rest = after;
    }
    plain
}

/// Returns the length of the text's first piece: a string, a comment or a character.
fn piece_length(text: &str, first: char) -> usize {
    let until = |end: &str| text.find(end).map_or(text.len(), |at| at + end.len());
    match first {
        '"' => string_length(text),
        '/' if text.starts_with("//") => text.find('\n').unwrap_or(text.len()),
        '/' if text.starts_with("/*") => until("*/"),
        other => other.len_utf8(),
    }
}

fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped => return at + 1,
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_commas_at_the_end_are_read_as_opencode_does() {
        let text = r#"{
            // the "model" of the team
            "model": "a/b", /* "model": "c" */
            "provider": { "a": { "options": { "baseURL": "http://x//y", "quote": "\\\"//" }, }, },
            "plugin": ["evil"],
        }"#;
        let expected = json!({
            "model": "a/b",
            "provider": { "a": { "options": { "baseURL": "http://x//y", "quote": "\\\"//" } } },
        });
        assert_eq!(Value::Object(login(text, Path::new("/c"), None)), expected);
    }

    #[test]
    fn broken_settings_are_empty() {
        for text in ["", "{", "[1]", "\"", "/*", "{\"model\": \"a", "é"] {
            assert_eq!(login(text, Path::new("/c"), None), Map::new(), "{text}");
        }
    }

    #[test]
    fn files_are_found_from_another_folder() {
        let key = |written: &str| {
            let settings = json!({ "provider": { "a": [written] } }).to_string();
            login(&settings, Path::new("/c"), Some("/h"))["provider"]["a"][0].clone()
        };
        assert_eq!(key("{file:./key}"), "{file:/c/./key}");
        assert_eq!(key("{file:~/key}"), "{file:/h/key}");
        assert_eq!(key("a {file:/key} b {file:key}"), "a {file:/key} b {file:/c/key}");
        assert_eq!(key("{env:KEY}"), "{env:KEY}");
    }
}
