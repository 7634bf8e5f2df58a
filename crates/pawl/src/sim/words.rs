//! Replaces `${NAME}` in a script, and finds the path of the tracker in a prompt.
//!
//! Pure, except that it checks which of several paths in a prompt exists.

use std::path::{Path, PathBuf};

use super::choose::ScriptPlace;

/// The variables of a turn.
#[derive(Debug, Clone, Default)]
pub(super) struct ScriptVariables {
    pub(super) tracker: Option<PathBuf>,
    pub(super) place: ScriptPlace,
    pub(super) session: String,
    pub(super) prompt: String,
    pub(super) cwd: PathBuf,
    /// The last answer of a person.
    pub(super) answer: String,
}

const NAMES: [&str; 9] =
    ["TRACKER", "ITERATION", "ATTEMPT", "SESSION", "PROMPT", "FIRST_LINE", "CWD", "ANSWER", "TASK"];

/// The longest first line, in characters.
const FIRST_LINE: usize = 60;

impl ScriptVariables {
    /// Replaces the variables in a text, in one pass: variables inside a value are not replaced.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let known = after.split_once('}').and_then(|(name, tail)| Some((self.value(name)?, tail)));
            rest = match known {
                Some((value, tail)) => {
                    out.push_str(&value);
                    tail
                }
                None => {
                    out.push_str("${");
                    after
                }
            };
        }
        out.push_str(rest);
        out
    }

    /// Returns the variables that a shell command mentions, for its environment. They are not replaced in the
    /// command, because a prompt must not become shell code.
    pub(super) fn mentioned(&self, command: &str) -> Vec<(&'static str, String)> {
        let named = NAMES.into_iter().filter(|name| command.contains(&format!("${{{name}}}")));
        named.filter_map(|name| Some((name, self.value(name)?))).collect()
    }

    fn value(&self, name: &str) -> Option<String> {
        Some(match name {
            "TRACKER" => self.tracker.as_ref()?.display().to_string(),
            "ITERATION" => self.place.iteration.to_string(),
            "ATTEMPT" => self.place.attempt.to_string(),
            "SESSION" => self.session.clone(),
            "PROMPT" => self.prompt.clone(),
            "FIRST_LINE" => first_line(&self.prompt),
            "CWD" => self.cwd.display().to_string(),
            "ANSWER" => self.answer.clone(),
            "TASK" => self.place.task.as_ref().map(|task| task.id.clone()).unwrap_or_default(),
            _ => return None,
        })
    }
}

/// Returns the first line of a prompt that has words, shortened.
fn first_line(prompt: &str) -> String {
    let has_words = |line: &&str| line.chars().any(char::is_alphanumeric);
    let line = prompt.lines().map(str::trim).find(has_words).unwrap_or_default();
    match line.char_indices().nth(FIRST_LINE) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default().trim_end()),
        None => line.to_owned(),
    }
}

const TRACKER_NAME: &str = "tracker.md";

/// Finds the tracker's path in a prompt: absolute, ending in `tracker.md`. Prefers a path that exists, then
/// the first one.
pub(super) fn find_tracker(prompt: &str) -> Option<PathBuf> {
    let found: Vec<PathBuf> = prompt.lines().flat_map(paths_in).collect();
    found.iter().find(|path| path.is_file()).or(found.first()).cloned()
}

fn paths_in(line: &str) -> Vec<PathBuf> {
    let ends = line.match_indices(TRACKER_NAME).map(|(at, name)| at + name.len());
    ends.filter(|end| ends_a_path(line.get(*end..).unwrap_or_default()))
        .filter_map(|end| path_before(line.get(..end)?))
        .collect()
}

fn ends_a_path(rest: &str) -> bool {
    let mut chars = rest.chars();
    match chars.next() {
        Some('.') => !chars.next().is_some_and(char::is_alphanumeric),
        Some(c) => !(c.is_alphanumeric() || matches!(c, '/' | '-' | '_')),
        None => true,
    }
}

/// Finds the start of a path, which may contain spaces: tries the longest candidate first. If no such file
/// exists, returns the shortest.
fn path_before(head: &str) -> Option<PathBuf> {
    let starts: Vec<&str> = head
        .match_indices('/')
        .filter(|(at, _)| head.get(..*at).is_some_and(begins_here))
        .filter_map(|(at, _)| head.get(at..))
        .collect();
    let existing = starts.iter().find(|path| Path::new(path).is_file());
    existing.or(starts.last()).map(PathBuf::from)
}

fn begins_here(before: &str) -> bool {
    !before
        .chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> ScriptVariables {
        ScriptVariables {
            tracker: Some("/t/tracker.md".into()),
            place: ScriptPlace { iteration: 3, ..ScriptPlace::default() },
            prompt: "say ${CWD}".into(),
            cwd: "/w".into(),
            ..ScriptVariables::default()
        }
    }

    #[test]
    fn words_are_filled_in_once() {
        assert_eq!(words().fill("${TRACKER} ${ITERATION} ${PROMPT} ${CWD}"), "/t/tracker.md 3 say ${CWD} /w");
    }

    #[test]
    fn the_first_line_is_one_with_words_and_short() {
        let first = |prompt: &str| ScriptVariables { prompt: prompt.into(), ..words() }.fill("${FIRST_LINE}");
        assert_eq!(first("\n---\n  Fix the parser.  \nThen stop."), "Fix the parser.");
        assert_eq!(first(&"ab ".repeat(40)), format!("{}…", "ab ".repeat(20).trim_end()));
        assert_eq!(first("---"), "");
    }

    #[test]
    fn what_is_no_word_stays() {
        assert_eq!(words().fill("${HOME} $ITERATION ${ITER ${"), "${HOME} $ITERATION ${ITER ${");
    }

    #[test]
    fn a_command_gets_the_words_it_mentions() {
        assert_eq!(words().mentioned("echo ${ITERATION} $PATH"), vec![("ITERATION", "3".to_owned())]);
    }

    #[test]
    fn the_tracker_is_found_however_it_is_written() {
        let cases = [
            ("Read /r/.windlass/runs/x/loop-tracker.md first.", Some("/r/.windlass/runs/x/loop-tracker.md")),
            ("the tracker (`/r/tracker.md`)", Some("/r/tracker.md")),
            ("tracker=/r/tracker.md", Some("/r/tracker.md")),
            ("at \"/r/e2e-tracker.md\".", Some("/r/e2e-tracker.md")),
            ("see docs/tracker.md and /r/tracker.md.bak", None),
            ("nothing", None),
        ];
        for (prompt, expected) in cases {
            assert_eq!(find_tracker(prompt), expected.map(PathBuf::from), "{prompt}");
        }
    }

    #[test]
    fn a_tracker_that_exists_is_preferred_even_with_spaces_in_its_path() {
        let folder = tempfile::Builder::new().prefix("a folder").tempdir().unwrap();
        let path = folder.path().join("loop-tracker.md");
        std::fs::write(&path, "x").unwrap();
        let prompt = format!("not /r/tracker.md\nbut the file {} is it", path.display());
        assert_eq!(find_tracker(&prompt), Some(path));
    }
}
