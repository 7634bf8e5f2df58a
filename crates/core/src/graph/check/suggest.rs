//! The name that was probably meant.

/// Longer names are not compared.
const COMPARED: usize = 60;
/// More names than this are not compared.
const ASKED: usize = 2_000;

/// The nearest of the names, as a hint, if one is near.
pub(super) fn did_you_mean<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    nearest(written, names).map(|name| format!("did you mean `{name}`?"))
}

/// The nearest of the names, if one is near.
pub(super) fn nearest<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let length = written.chars().count();
    if length > COMPARED {
        return None;
    }
    // One slip in a short name, more in a long one, but never all of it.
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

/// Case and separators aside.
fn plain(name: &str) -> String {
    name.chars().map(|letter| if letter == '-' { '_' } else { letter }).flat_map(char::to_lowercase).collect()
}

/// A stranger's name as it is repeated in a message: short and harmless.
pub(in crate::graph) fn shown(name: &str) -> String {
    let short: String = name.chars().take(COMPARED).flat_map(char::escape_debug).collect();
    let more = if name.chars().nth(COMPARED).is_some() { "…" } else { "" };
    format!("`{short}{more}`")
}
