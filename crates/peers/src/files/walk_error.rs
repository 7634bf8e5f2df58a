//! What can be wrong with a file or folder of a place, in words.

use std::io;
use std::path::PathBuf;

/// Something that could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadablePath {
    /// What.
    pub path: PathBuf,
    /// Why not.
    pub what: WalkError,
}

/// Why something could not be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// The system does not let us.
    #[error("there is no permission to read it")]
    NoPermission,
    /// A link that leads back to where it came from.
    #[error("a link leads in a circle")]
    Loop,
    /// Folders in folders in folders.
    #[error("what is more than {0} folders deep is not looked at")]
    TooDeep(usize),
    /// A link that would read what does not belong to the project.
    #[error("a link leads out of the project and is not followed")]
    LeadsOut,
    /// A link to nothing.
    #[error("a link leads nowhere")]
    LeadsNowhere,
    /// A pipe, a socket or a device.
    #[error("it is not a plain file")]
    NotPlain,
    /// A name that is not text.
    #[error("its name is not UTF-8")]
    OddName,
    /// More than anybody means.
    #[error("there are more than {0} names here; the rest is not looked at")]
    TooMany(usize),
    /// The system said something else.
    #[error("{0}")]
    Io(io::ErrorKind),
}

impl WalkError {
    /// Whether something that was meant to be there cannot be used.
    pub fn is_error(self) -> bool {
        matches!(self, WalkError::NoPermission | WalkError::TooMany(_) | WalkError::Io(_))
    }
}
