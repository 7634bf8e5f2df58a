//! Carries out tools and builds their results.
//!
//! Tools use their input as the hooks left it. Paths and commands are not checked here, because the author of
//! the script chose them.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::event::CommandEnd;
use super::play::{PlayCut, Player};
use super::process::{self, ProgramEnd, SimProgram, Stderr};

/// The time limit of a shell command.
const SHELL_LIMIT: Duration = Duration::from_secs(600);
/// The limit of output that the model sees, in characters.
const SHOWN: usize = 30_000;
const FRESH: &str = "(file state is current in your context — no need to Read it back)";

/// The result of a tool.
pub(super) struct StepResult {
    pub(super) content: Value,
    pub(super) is_error: bool,
    pub(super) structured: Value,
    /// The end of a shell command.
    pub(super) shell: Option<CommandEnd>,
}

impl StepResult {
    /// Makes a result with only a text.
    pub(super) fn text(text: &str) -> StepResult {
        StepResult { content: json!(text), is_error: false, structured: json!(text), shell: None }
    }

    /// Makes the result of a failed tool.
    pub(super) fn failed(text: &str) -> StepResult {
        let structured = json!(format!("Error: {text}"));
        StepResult { content: json!(text), is_error: true, structured, shell: None }
    }
}

fn field<'v>(input: &'v Value, name: &str) -> &'v str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Creates a file or replaces its content.
pub(super) fn write(input: &Value) -> StepResult {
    let (path, content) = (field(input, "file_path"), field(input, "content"));
    let before = fs::read_to_string(path).ok();
    let made =
        Path::new(path).parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, content));
    if let Err(cause) = made {
        return StepResult::failed(&format!("{path}: {cause}"));
    }
    let (kind, text) = match before {
        None => ("create", format!("File created successfully at: {path} {FRESH}")),
        Some(_) => ("update", updated(path)),
    };
    let structured = json!({
        "type": kind, "filePath": path, "content": content, "structuredPatch": [], "originalFile": before,
        "userModified": false,
    });
    StepResult { content: json!(text), is_error: false, structured, shell: None }
}

fn updated(path: &str) -> String {
    format!("The file {path} has been updated successfully. {FRESH}")
}

/// Replaces the first occurrence of a text in a file.
pub(super) fn replace(input: &Value) -> StepResult {
    let (path, old, new) =
        (field(input, "file_path"), field(input, "old_string"), field(input, "new_string"));
    let before = match fs::read_to_string(path) {
        Ok(before) => before,
        Err(cause) => return StepResult::failed(&format!("{path}: {cause}")),
    };
    if old.is_empty() || !before.contains(old) {
        return StepResult::failed(&format!("String to replace not found in file.\nString: {old}"));
    }
    match fs::write(path, before.replacen(old, new, 1)) {
        Ok(()) => edited(path, old, new, &before),
        Err(cause) => StepResult::failed(&format!("{path}: {cause}")),
    }
}

fn edited(path: &str, old: &str, new: &str, before: &str) -> StepResult {
    let structured = json!({
        "filePath": path, "oldString": old, "newString": new, "originalFile": before, "structuredPatch": [],
        "userModified": false, "replaceAll": false,
    });
    StepResult { content: json!(updated(path)), is_error: false, structured, shell: None }
}

/// Builds an edit that appends to a file: it replaces the last line with the last line and more.
pub(super) fn append_input(path: &Path, content: &str) -> Value {
    let before = fs::read_to_string(path).unwrap_or_default();
    let last = before.split_inclusive('\n').next_back().unwrap_or_default();
    json!({
        "file_path": path, "old_string": last, "new_string": format!("{last}{content}"), "replace_all": false,
    })
}

/// Appends to a file as is. Creates a missing file.
pub(super) fn append(input: &Value, content: &str) -> StepResult {
    let path = field(input, "file_path");
    let before = fs::read_to_string(path).unwrap_or_default();
    let file = fs::OpenOptions::new().append(true).create(true).open(path);
    match file.and_then(|mut file| file.write_all(content.as_bytes())) {
        Ok(()) => edited(path, field(input, "old_string"), field(input, "new_string"), &before),
        Err(cause) => StepResult::failed(&format!("{path}: {cause}")),
    }
}

/// Adds line breaks, so that the text gets its own lines at the end of the file.
pub(super) fn on_own_line(path: &Path, text: &str) -> String {
    let before = fs::read(path).unwrap_or_default();
    let lead = if before.is_empty() || before.ends_with(b"\n") { "" } else { "\n" };
    let tail = if text.ends_with('\n') { "" } else { "\n" };
    format!("{lead}{text}{tail}")
}

/// Reads a person's answer from the input as the hooks left it. Returns the tool result and the plain answer.
pub(super) fn answered(input: &Value, question: &str) -> (StepResult, String) {
    let answers = input.get("answers").and_then(Value::as_object);
    let Some(answers) = answers.filter(|answers| !answers.is_empty()) else {
        return (StepResult::failed("The user did not answer the question."), String::new());
    };
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pairs: Vec<String> =
        answers.iter().map(|(question, answer)| format!("\"{question}\"=\"{}\"", word(answer))).collect();
    let text = format!(
        "Your questions have been answered: {}. You can now continue with these answers in mind.",
        pairs.join(", ")
    );
    let answer = answers.get(question).or(answers.values().next()).map(word).unwrap_or_default();
    let structured = json!({"questions": input.get("questions"), "answers": answers});
    (StepResult { content: json!(text), is_error: false, structured, shell: None }, answer)
}

impl Player<'_> {
    /// Runs a command in a shell, in the session's folder.
    pub(super) fn run_shell(&mut self, input: &Value) -> Result<StepResult, PlayCut> {
        let command = field(input, "command");
        let argv = ["sh", "-c", command].map(OsString::from);
        let mut env = self.env.clone();
        env.extend(
            self.words.mentioned(command).into_iter().map(|(name, value)| (name.into(), value.into())),
        );
        for (name, value) in GIT_IDENTITY {
            if !env.iter().any(|(key, _)| key == name) {
                env.push((name.into(), value.into()));
            }
        }
        let cwd = &self.words.cwd;
        let job = SimProgram {
            argv: &argv,
            env: &env,
            cwd,
            stdin: b"",
            limit: SHELL_LIMIT,
            stderr: Stderr::Merged,
        };
        match process::run(&job) {
            Ok(ProgramEnd::Ended { code, stdout, .. }) => Ok(ended(code, &stdout)),
            Ok(ProgramEnd::TimedOut) => Ok(StepResult::failed("Command timed out")),
            Ok(ProgramEnd::Cut(asked)) => Err(PlayCut::Asked(asked)),
            Err(cause) => Ok(StepResult::failed(&format!("cannot run a shell: {cause}"))),
        }
    }
}

/// The sim commits under its own name, because the machine may have none set.
const GIT_IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Windlass sim"),
    ("GIT_AUTHOR_EMAIL", "sim@windlass.invalid"),
    ("GIT_COMMITTER_NAME", "Windlass sim"),
    ("GIT_COMMITTER_EMAIL", "sim@windlass.invalid"),
];

fn ended(code: Option<i32>, output: &str) -> StepResult {
    let shown: String = output.trim_end().chars().take(SHOWN).collect();
    let shell = Some(CommandEnd { code, output: output.chars().take(SHOWN).collect() });
    if code != Some(0) {
        let code = code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        let failed = StepResult::failed(format!("Exit code {code}\n{shown}").trim_end());
        return StepResult { shell, ..failed };
    }
    let structured = json!({
        "stdout": shown, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false,
    });
    StepResult { content: json!(shown), is_error: false, structured, shell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_addition_stands_on_its_own_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.md");
        assert_eq!(on_own_line(&path, "x"), "x\n");
        fs::write(&path, "no newline").unwrap();
        assert_eq!(on_own_line(&path, "x\n"), "\nx\n");
    }

    #[test]
    fn an_answer_is_found_by_its_question() {
        let input = json!({"questions": [], "answers": {"other": "no", "Which?": "Blue"}});
        let (done, answer) = answered(&input, "Which?");
        assert_eq!(answer, "Blue");
        assert!(done.content.as_str().unwrap().contains("\"Which?\"=\"Blue\""));
        assert!(answered(&json!({}), "Which?").0.is_error);
    }

    #[test]
    fn replacing_what_is_not_there_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "abc").unwrap();
        let edit = |old: &str| json!({"file_path": path, "old_string": old, "new_string": "z"});
        assert!(replace(&edit("x")).is_error);
        assert!(!replace(&edit("b")).is_error);
        assert_eq!(fs::read_to_string(&path).unwrap(), "azc");
    }
}
