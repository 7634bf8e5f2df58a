//! Tables of the words that a field accepts, and suggestions for misspelt ones.

/// A table of words and their meanings.
pub(crate) struct WordTable<T: 'static>(pub(crate) &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> WordTable<T> {
    pub(crate) fn meaning(&self, word: &str) -> Option<T> {
        self.0.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
    }

    pub(crate) fn word(&self, meaning: T) -> &'static str {
        self.0.iter().find(|(_, known)| *known == meaning).map_or("", |(word, _)| *word)
    }

    /// Returns the message for a word that is not in the table, and a hint with the nearest word.
    pub(crate) fn unknown(&self, word: &str) -> (String, Option<String>) {
        let known = self.0.iter().map(|(word, _)| *word);
        let listed: Vec<String> = known.clone().map(|word| format!("`{word}`")).collect();
        (format!("must be one of {}, found {}", listed.join(", "), quoted(word)), did_you_mean(word, known))
    }
}

/// The most characters of a user's word that a message repeats.
const SHOWN: usize = 60;

/// Quotes a user's text for a message, cut to a readable length.
pub(crate) fn quoted(text: &str) -> String {
    if text.chars().nth(SHOWN).is_none() {
        return format!("`{text}`");
    }
    let head: String = text.chars().take(SHOWN).collect();
    format!("`{head}…`")
}

/// Decides whether a name from a file fits on one line of a list.
pub(crate) fn is_label(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().nth(SHOWN).is_none() && !name.contains(char::is_control)
}

/// Returns a hint that names the known word nearest to an unknown one, if any is near.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|near| format!("did you mean `{near}`?"))
}

fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.chars().nth(SHOWN).is_some() {
        return None;
    }
    let plain = simplified(word);
    // One typo in a short word, more in a long one; swapped letters count as one.
    let allowed = (plain.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&plain, &simplified(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Counts the typos between two words, ignoring case and separators.
pub(crate) fn typos(word: &str, known: &str) -> usize {
    if word.chars().nth(SHOWN).is_some() {
        return usize::MAX;
    }
    let length = |word: &str| word.chars().filter(|c| !is_separator(*c)).count();
    let gap = length(word).abs_diff(length(known));
    // The length difference is a lower bound, and no caller distinguishes between counts above one.
    if gap > 1 { gap } else { strsim::osa_distance(&simplified(word), &simplified(known)) }
}

fn is_separator(c: char) -> bool {
    matches!(c, '_' | '-' | ' ')
}

/// Removes case and separators: `max_iterations` and `maxIterations` become the same word.
fn simplified(word: &str) -> String {
    word.chars().filter(|c| !is_separator(*c)).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_word_that_was_meant() {
        let known = ["maxIterations", "mode", "model", "enabled"];
        let cases = [
            ("max_iterations", Some("maxIterations")),
            ("maxIteration", Some("maxIterations")),
            ("enabeld", Some("enabled")),
            ("MODE", Some("mode")),
            ("modell", Some("model")),
            ("temperature", None),
            ("", None),
        ];
        for (typed, meant) in cases {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
        assert_eq!(nearest(&"m".repeat(1000), known), None);
    }

    #[test]
    fn an_unknown_word_is_answered_with_the_known_ones() {
        let words = WordTable(&[("deny", 1), ("allow", 2)]);
        let (message, hint) = words.unknown("alow");
        assert_eq!(message, "must be one of `deny`, `allow`, found `alow`");
        assert_eq!(hint.as_deref(), Some("did you mean `allow`?"));
        assert_eq!((words.meaning("deny"), words.word(2)), (Some(1), "allow"));
    }
}
