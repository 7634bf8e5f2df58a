//! Parses a workflow's reference to a plugin: `name` or `name@owner/repo`.

use crate::words::quoted;

/// A plugin that a workflow needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginRef {
    /// Compared with the names of the loaded plugins.
    pub name: String,
    /// The origin of the plugin: `owner/repo`, or a marketplace.
    pub source: Option<String>,
}

impl std::fmt::Display for PluginRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{}@{source}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The reason that a text is not a plugin reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PluginRefError {
    /// Nothing before the `@`.
    #[error("the plugin has no name")]
    NoName,
    /// A name that is not one plain word.
    #[error("{} is not a plugin name", quoted(.0))]
    BadName(String),
    /// Text after the `@` that is not a repository or marketplace.
    #[error("{} is not a plugin source", quoted(.0))]
    BadSource(String),
}

pub fn parse_plugin_ref(text: &str) -> Result<PluginRef, PluginRefError> {
    let text = text.trim();
    let (name, source) = match text.split_once('@') {
        Some((name, source)) => (name, Some(source)),
        None => (text, None),
    };
    if name.is_empty() {
        return Err(PluginRefError::NoName);
    }
    if !is_plugin_name(name) {
        return Err(PluginRefError::BadName(name.to_owned()));
    }
    if let Some(source) = source.filter(|source| !source.split('/').all(is_plugin_name)) {
        return Err(PluginRefError::BadSource(source.to_owned()));
    }
    Ok(PluginRef { name: name.to_owned(), source: source.map(str::to_owned) })
}

/// Decides whether a name is one word that is safe in a path, an argument and a tool name.
pub(crate) fn is_plugin_name(name: &str) -> bool {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    starts_well && name.len() <= 100 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_a_name_and_perhaps_a_source() {
        let cases = [
            ("ralph-loop", "ralph-loop", None),
            ("e2e-test-builder@owner/repo", "e2e-test-builder", Some("owner/repo")),
            (" x@market ", "x", Some("market")),
        ];
        for (text, name, source) in cases {
            let expected = PluginRef { name: name.into(), source: source.map(str::to_owned) };
            assert_eq!(parse_plugin_ref(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        assert_eq!(parse_plugin_ref(""), Err(PluginRefError::NoName));
        assert_eq!(parse_plugin_ref("@owner/repo"), Err(PluginRefError::NoName));
        for text in ["../up", "a b", "-x", ".", "..", "a/b", "é"] {
            assert_eq!(parse_plugin_ref(text), Err(PluginRefError::BadName(text.into())), "{text}");
        }
        for source in ["", "owner/", "/repo", "a@b", "../x", "a b"] {
            let error = parse_plugin_ref(&format!("x@{source}"));
            assert_eq!(error, Err(PluginRefError::BadSource(source.into())), "{source}");
        }
    }
}
