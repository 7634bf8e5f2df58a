//! How a workflow names a plugin it needs: `name` or `name@owner/repo`.

use crate::words::quoted;

/// A plugin a workflow needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginRef {
    /// Matched against the names of the loaded plugins.
    pub name: String,
    /// Where it can be had: `owner/repo`, or a marketplace.
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

/// Why a text names no plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PluginRefError {
    /// There is nothing before the `@`.
    #[error("the plugin has no name")]
    NoName,
    /// The name is not one word.
    #[error("{} is not a plugin name", quoted(.0))]
    BadName(String),
    /// What follows the `@` is no place.
    #[error("{} is not a place a plugin can be had from", quoted(.0))]
    BadSource(String),
}

/// Reads `name` or `name@owner/repo`.
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

/// One word that is safe in a path, in an argument and in the name of a tool.
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
