//! Runs every git command: controlled environment, arguments as a list, a deadline, bounded output.
//!
//! No other file starts git. The callers choose the commands and interpret the answers.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use crate::process::{ProgramOutput, ShortEnv, ShortInput, ShortProgram, SpawnError, run_short_fed};

/// An error from running git.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error(transparent)]
    Start(#[from] SpawnError),
    #[error("`git {verb}` did not finish within {limit:?}")]
    TimedOut { verb: String, limit: Duration },
    #[error("`git {verb}` {how}: {said}", how = how_it_ended(*.code))]
    Failed {
        verb: String,
        code: Option<i32>,
        /// The standard error of git.
        said: String,
    },
    #[error("`git {verb}` printed more than {max} bytes")]
    TooLong { verb: String, max: usize },
    /// git reported success, but a lock of another process kept it from finishing.
    #[error("`git {verb}` reported success, but left {of} unfinished")]
    Unfinished { verb: &'static str, of: &'static str },
}

impl GitError {
    /// Decides whether git was killed, took too long or met a lock. That says nothing about the request, so it
    /// can be repeated.
    pub fn is_cut_off(&self) -> bool {
        match self {
            GitError::TimedOut { .. } | GitError::Unfinished { .. } | GitError::Failed { code: None, .. } => {
                true
            }
            // A wrapper script reports the death of the git it started with these codes; git itself uses
            // neither.
            GitError::Failed { code: Some(code), .. } => [128 + 9, 128 + 15].contains(code),
            GitError::Start(_) | GitError::TooLong { .. } => false,
        }
    }

    fn itself(&self) -> Option<&GitError> {
        Some(self)
    }
}

fn how_it_ended(code: Option<i32>) -> String {
    code.map_or_else(|| "was killed".to_owned(), |code| format!("ended with code {code}"))
}

const LIMIT: Duration = Duration::from_secs(60);
const MAX_OUTPUT: usize = 64 * 1024 * 1024;
/// The maximum number of attempts when git is killed.
const TRIES: u32 = 6;
/// The maximum number of attempts when git times out.
const SLOW_TRIES: u32 = 2;

/// The identity variables. No other `GIT_*` variable is inherited.
const IDENTITY: [&str; 4] =
    ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];

/// The commands that change nothing and can be repeated.
const QUESTIONS: [&str; 17] = [
    "cat-file",
    "check-attr",
    "check-ref-format",
    "diff",
    "diff-files",
    "diff-tree",
    "for-each-ref",
    "hash-object",
    "ls-files",
    "ls-tree",
    "merge-base",
    "rev-list",
    "rev-parse",
    "show-ref",
    "status",
    "symbolic-ref",
    "var",
];

/// The variables that every call gets. A file system monitor is a program named by the repository's
/// configuration, which an agent can write, so it is off. Housekeeping would continue in the background
/// after the call, so it is off too.
const ENV: [(&str, &str); 12] = [
    ("GIT_CONFIG_COUNT", "3"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "maintenance.auto"),
    ("GIT_CONFIG_VALUE_1", "false"),
    ("GIT_CONFIG_KEY_2", "gc.auto"),
    ("GIT_CONFIG_VALUE_2", "0"),
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
];

/// The variables that disable the hooks of the repository.
const NO_HOOKS: [(&str, &str); 3] =
    [("GIT_CONFIG_COUNT", "4"), ("GIT_CONFIG_KEY_3", "core.hooksPath"), ("GIT_CONFIG_VALUE_3", "/dev/null")];

/// Runs git in a folder and returns its standard output, which is bounded.
pub fn git(dir: &Path, args: &[&str]) -> Result<Vec<u8>, GitError> {
    GitCall::at(dir).run(args)
}

/// A call with special options.
#[derive(Debug, Clone, Copy)]
pub(super) struct GitCall<'a> {
    dir: &'a Path,
    limit: Duration,
    env: &'a [(&'a str, &'a str)],
    hooks: &'a [(&'a str, &'a str)],
    input: Option<&'a Path>,
    /// The output must be whole. Otherwise the end of a long output is dropped.
    is_whole: bool,
}

impl<'a> GitCall<'a> {
    pub(super) fn at(dir: &'a Path) -> GitCall<'a> {
        GitCall { dir, limit: LIMIT, env: &[], hooks: &[], input: None, is_whole: false }
    }

    pub(super) fn within(self, limit: Duration) -> GitCall<'a> {
        GitCall { limit, ..self }
    }

    pub(super) fn with(self, env: &'a [(&'a str, &'a str)]) -> GitCall<'a> {
        GitCall { env, ..self }
    }

    /// Disables hooks, for Windlass's own records.
    pub(super) fn without_hooks(self) -> GitCall<'a> {
        GitCall { hooks: &NO_HOOKS, ..self }
    }

    /// Gives git the content of a file as its input.
    pub(super) fn reading(self, input: &'a Path) -> GitCall<'a> {
        GitCall { input: Some(input), ..self }
    }

    /// Fails if the output is too long to be kept whole.
    pub(super) fn whole(self) -> GitCall<'a> {
        GitCall { is_whole: true, ..self }
    }

    /// Runs a command that answers with code 0 or 1. Returns its output either way.
    pub(super) fn run_or_no(self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let verb = args.first().copied().unwrap_or_default();
        let output = self.output(verb, args)?;
        match output.code {
            Some(1) => Ok(output.stdout),
            _ => finished(verb, output),
        }
    }

    pub(super) fn run(self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let verb = args.iter().find(|arg| !arg.starts_with('-')).copied().unwrap_or_default();
        let is_question = QUESTIONS.contains(&verb) || args.starts_with(&["worktree", "list"]);
        match is_question {
            true => again(GitError::itself, || self.run_once(verb, args)),
            false => self.run_once(verb, args),
        }
    }

    fn run_once(self, verb: &str, args: &[&str]) -> Result<Vec<u8>, GitError> {
        finished(verb, self.output(verb, args)?)
    }

    fn output(self, verb: &str, args: &[&str]) -> Result<ProgramOutput, GitError> {
        let env = [&ENV, self.env, self.hooks].concat();
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let program = Path::new("git");
        let input = match self.input.map(File::open) {
            None => ShortInput::Nothing,
            Some(Ok(file)) => ShortInput::File(file),
            Some(Err(source)) => return Err(SpawnError::Start { program: program.to_owned(), source }.into()),
        };
        let short = ShortProgram {
            program,
            args: &args,
            cwd: self.dir,
            env: ShortEnv::Inherit { without: &["GIT_", "LC_", "LANGUAGE"], but: &IDENTITY, with: &env },
            deadline: self.limit,
            max_output: MAX_OUTPUT,
        };
        let output = run_short_fed(&short, input)?;
        if output.timed_out {
            return Err(GitError::TimedOut { verb: verb.to_owned(), limit: self.limit });
        }
        if output.truncated && self.is_whole && output.succeeded() {
            return Err(GitError::TooLong { verb: verb.to_owned(), max: MAX_OUTPUT });
        }
        Ok(output)
    }
}

fn finished(verb: &str, output: ProgramOutput) -> Result<Vec<u8>, GitError> {
    if !output.succeeded() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(GitError::Failed { verb: verb.to_owned(), code: output.code, said });
    }
    Ok(output.stdout)
}

/// Repeats an action in which git was cut off, a few times. The action must first check how far the
/// previous attempt came.
pub(super) fn again<T, E>(
    git_error: impl Fn(&E) -> Option<&GitError>,
    mut act: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let mut done = 1;
    loop {
        let result = act();
        let most = match result.as_ref().err().and_then(&git_error) {
            Some(GitError::TimedOut { .. }) => SLOW_TRIES,
            Some(error) if error.is_cut_off() => TRIES,
            _ => return result,
        };
        if done >= most {
            return result;
        }
        done += 1;
    }
}

/// Returns git's output as one line.
pub(super) fn line(said: &[u8]) -> String {
    String::from_utf8_lossy(said).trim_end_matches('\n').to_owned()
}

/// Splits git's NUL-terminated names.
pub(super) fn names(said: &[u8]) -> Vec<String> {
    let names = said.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// Converts the exit code of a yes-or-no question: 0 is true, 1 is false.
pub(super) fn yes_or_no(said: Result<Vec<u8>, GitError>) -> Result<bool, GitError> {
    match said {
        Ok(_) => Ok(true),
        Err(GitError::Failed { code: Some(1), .. }) => Ok(false),
        Err(e) => Err(e),
    }
}
