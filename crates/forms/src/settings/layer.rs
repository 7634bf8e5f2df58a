//! The layers that settings come from.

use std::fmt;

use serde::Serialize;

/// A layer of settings, as the caller read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// The user's file.
    User {
        /// The path, for messages and as the base of relative paths.
        file: String,
        /// The contents; empty if the file does not exist. Hints name the path even then.
        text: String,
    },
    /// The project's file, which may come from a stranger.
    Project { file: String, text: String, trust: ProjectTrust },
    /// Variables as full names (`WINDLASS_DRIVER`) with values. Unrelated variables are ignored.
    Environment(Vec<(String, String)>),
    /// Keys (`driver`, `permissions.deny`) with the values of their flags. A repeated key adds to a
    /// list.
    Flags(Vec<(String, String)>),
}

/// The trust of a person in the values of a project's file that need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectTrust {
    Trusted,
    Untrusted,
}

/// A kind of layer. The order of the variants is the precedence, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// `default.toml`, shipped in the binary.
    Builtin,
    User,
    Project,
    /// Variables that start with `WINDLASS_`.
    Environment,
    Flag,
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingSource {
    pub layer: LayerKind,
    /// The file path, variable or flag.
    pub name: String,
    /// The line in the file, counted from 1.
    pub line: Option<usize>,
}

impl Layer {
    pub fn kind(&self) -> LayerKind {
        match self {
            Layer::User { .. } => LayerKind::User,
            Layer::Project { .. } => LayerKind::Project,
            Layer::Environment(_) => LayerKind::Environment,
            Layer::Flags(_) => LayerKind::Flag,
        }
    }
}

/// Writes `built-in`, `~/config.toml:3`, `WINDLASS_DRIVER` or `--driver`.
impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.layer == LayerKind::Builtin {
            return f.write_str("built-in");
        }
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
