//! Where settings come from.

use std::fmt;

use serde::Serialize;

/// One layer, as the caller found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// The user's file.
    User {
        /// Its path, for messages and for relative paths in it.
        file: String,
        /// What it holds; empty when it does not exist (its path is still worth naming).
        text: String,
    },
    /// The project's file, which may be a stranger's.
    Project {
        /// Its path.
        file: String,
        /// What it holds.
        text: String,
    },
    /// Variables, whole names (`WINDLASS_DRIVER`) with their values; others are passed over.
    Environment(Vec<(String, String)>),
    /// Keys (`driver`, `permissions.deny`) with their values, as flags gave them; a list may
    /// be given by repeating its key.
    Flags(Vec<(String, String)>),
}

/// Which layer, from lowest to highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// `default.toml`, shipped in the binary.
    Builtin,
    /// The user's file.
    User,
    /// The project's file.
    Project,
    /// `WINDLASS_*`.
    Environment,
    /// The command line.
    Flag,
}

/// Where one value came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingSource {
    /// The layer.
    pub layer: LayerKind,
    /// The file, the variable or the flag.
    pub name: String,
    /// The line in the file, from 1.
    pub line: Option<usize>,
}

impl Layer {
    /// Which layer it is.
    pub fn kind(&self) -> LayerKind {
        match self {
            Layer::User { .. } => LayerKind::User,
            Layer::Project { .. } => LayerKind::Project,
            Layer::Environment(_) => LayerKind::Environment,
            Layer::Flags(_) => LayerKind::Flag,
        }
    }
}

/// `built-in`, `~/config.toml:3`, `WINDLASS_DRIVER`, `--driver`.
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
