//! Reads one file of a place into entities and diagnostics.

use std::path::Path;

use windlass_core::entity::EntityKind;
use windlass_forms::diagnostic::{Diagnostic, Severity};
use windlass_forms::entity::{Origin, ReadEntities, parse};
use windlass_peers::files::FileError;
use windlass_peers::files::read::read;
use windlass_peers::files::stamp::Stamp;
use windlass_peers::files::walk::FoundFile;
use windlass_peers::files::walk_error::{UnreadablePath, WalkError};

use super::roots::RootPlace;
use crate::error::chain;

/// The maximum size of a file.
const MAX: u64 = 1 << 20;

/// The entities of a file, and the stamp of the version that was read. No stamp means that it could not be
/// read.
#[derive(Debug, Default)]
pub(super) struct FileRead {
    pub(super) read: ReadEntities,
    pub(super) stamp: Option<Stamp>,
}

/// Reads a file that was found.
pub(super) fn read_file(spot: &RootPlace<'_>, found: &FoundFile) -> FileRead {
    let (bytes, stamp) = match read(found, spot.root.inside.as_deref(), MAX) {
        Ok(read) => read,
        // Removed since the walk: the same as never found.
        Err(error) if error.is_missing() => return FileRead::default(),
        Err(error) => return FileRead::only(unreadable(&found.path, &error)),
    };
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) => return FileRead::only(not_text(&found.path, &bytes, error.valid_up_to())),
    };
    if is_about_the_folder(spot, found, text) {
        return FileRead { read: ReadEntities::default(), stamp: Some(stamp) };
    }
    FileRead { read: parse(&origin(spot, found), text), stamp: Some(stamp) }
}

impl FileRead {
    fn only(diagnostic: Diagnostic) -> FileRead {
        FileRead {
            read: ReadEntities { diagnostics: vec![diagnostic], ..ReadEntities::default() },
            stamp: None,
        }
    }
}

fn origin<'a>(spot: &RootPlace<'a>, found: &'a FoundFile) -> Origin<'a> {
    Origin {
        provider: spot.place.provider,
        kind: spot.place.kind,
        level: spot.root.level,
        distance: spot.root.distance,
        path: &found.path,
        name: &found.name,
        plugin: spot.root.plugin.as_ref(),
    }
}

/// Decides whether a file is a README about its folder: it has no frontmatter.
fn is_about_the_folder(spot: &RootPlace<'_>, found: &FoundFile, text: &str) -> bool {
    let is_flat = matches!(spot.place.kind, Some(EntityKind::Agent | EntityKind::Command));
    let stem = Path::new(&found.path).file_stem().unwrap_or_default();
    is_flat
        && stem.eq_ignore_ascii_case("readme")
        && found.path.ends_with(".md")
        && !text.trim_start_matches('\u{feff}').trim_start().starts_with("---")
}

fn unreadable(path: &str, error: &FileError) -> Diagnostic {
    let (severity, text, hint) = match error {
        FileError::TooLarge { max, .. } => {
            let text = format!("larger than {} MB, so it is not read", max >> 20);
            (Severity::Error, text, None)
        }
        FileError::Outside { .. } => {
            let leads_out = WalkError::LeadsOut;
            (Severity::Warning, leads_out.to_string(), hint(leads_out))
        }
        FileError::NotPlain { .. } => (Severity::Warning, WalkError::NotPlain.to_string(), None),
        FileError::Io { source, .. } => (Severity::Error, format!("cannot be read: {}", chain(source)), None),
    };
    Diagnostic::new(severity, &text).in_file(Some(path)).hint(hint)
}

fn not_text(path: &str, bytes: &[u8], offset: usize) -> Diagnostic {
    // Up to the offset, the lossy text is the same.
    let text = String::from_utf8_lossy(bytes);
    Diagnostic::new(Severity::Error, &format!("not UTF-8 text: byte {offset} starts no character"))
        .in_file(Some(path))
        .at(&text, offset)
        .hint(Some("save it as UTF-8".to_owned()))
}

/// Converts an unreadable path to a diagnostic.
pub(super) fn diagnostic(finding: &UnreadablePath) -> Diagnostic {
    let severity = if finding.what.is_error() { Severity::Error } else { Severity::Warning };
    Diagnostic::new(severity, &finding.what.to_string())
        .in_file(Some(&finding.path.to_string_lossy()))
        .hint(hint(finding.what))
}

fn hint(trouble: WalkError) -> Option<String> {
    let text = match trouble {
        WalkError::LeadsOut => "copy its target into the project, or keep it in your home folder",
        WalkError::LeadsNowhere => "remove the link, or create its target",
        _ => return None,
    };
    Some(text.to_owned())
}
