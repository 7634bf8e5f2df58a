//! Errors in the files and folders of a place.

use std::io;
use std::path::PathBuf;

/// A path that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadablePath {
    pub path: PathBuf,
    pub what: WalkError,
}

/// A reason that a path could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    #[error("no permission to read it")]
    NoPermission,
    /// A link that leads back to one of its own parents.
    #[error("a link leads in a circle")]
    Loop,
    #[error("folders nested more than {0} deep are not read")]
    TooDeep(usize),
    /// A link to something outside the project.
    #[error("a link leads out of the project and is not followed")]
    LeadsOut,
    #[error("a link leads nowhere")]
    LeadsNowhere,
    /// A pipe, a socket or a device.
    #[error("it is not a plain file")]
    NotPlain,
    #[error("its name is not UTF-8")]
    OddName,
    #[error("there are more than {0} files and folders here; the rest is not read")]
    TooMany(usize),
    /// Any other error of the system.
    #[error("{0}")]
    Io(io::ErrorKind),
}

impl WalkError {
    /// Decides whether the problem is an error; the others are warnings.
    pub fn is_error(self) -> bool {
        matches!(self, WalkError::NoPermission | WalkError::TooMany(_) | WalkError::Io(_))
    }
}
