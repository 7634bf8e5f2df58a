//! Suggests the name that the author probably meant.

/// The longest name that is compared, in characters.
const COMPARED: usize = 60;
/// The most names that are compared.
const ASKED: usize = 2_000;

/// Returns a hint with the most similar name, if one is similar enough.
pub(super) fn did_you_mean<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    nearest(written, names).map(|name| format!("did you mean `{name}`?"))
}

/// Returns the most similar name, if one is similar enough.
pub fn nearest<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let length = written.chars().count();
    if length > COMPARED {
        return None;
    }
    // Allow one typo in a short name and more in a long one, but never a change of every character.
    let allowed = (length / 3).clamp(1, 3).min(length.saturating_sub(1));
    let plain_written = plain(written);
    let slips = |name: &str| {
        if name.len().abs_diff(written.len()) > 4 * allowed {
            return None;
        }
        Some(strsim::osa_distance(&plain_written, &plain(name))).filter(|slips| *slips <= allowed)
    };
    let scored = names.into_iter().take(ASKED).filter_map(|name| Some((slips(name)?, name)));
    scored.min().map(|(_, name)| name)
}

/// Normalizes case and separators.
fn plain(name: &str) -> String {
    name.chars().map(|letter| if letter == '-' { '_' } else { letter }).flat_map(char::to_lowercase).collect()
}

/// Formats an untrusted name for a message: short and escaped.
pub(in crate::graph) fn shown(name: &str) -> String {
    let mut short = String::new();
    for letter in name.chars().take(COMPARED) {
        match letter {
            '"' | '\'' => short.push(letter),
            _ => short.extend(letter.escape_debug()),
        }
    }
    let more = if name.chars().nth(COMPARED).is_some() { "…" } else { "" };
    format!("`{short}{more}`")
}
