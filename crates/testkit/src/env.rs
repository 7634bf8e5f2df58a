//! An isolated place for a test: a home, the XDG folders, a git repository, and an environment that takes
//! only the `PATH` from the machine.
//!
//! Processes started in it are identified by their `HOME`, and killed when the place is dropped.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::model::Model;
use crate::procs::{self, Proc};
use crate::recipe::{self, Recipe};

/// A temporary folder with everything that a program may read or write.
pub struct Sealed {
    folder: TempDir,
}

impl Default for Sealed {
    fn default() -> Sealed {
        Sealed::new()
    }
}

impl Sealed {
    /// Makes a place with a repository of one commit.
    pub fn new() -> Sealed {
        Sealed::within(&std::env::temp_dir())
    }

    /// Makes a place in memory, if the machine supports it, for tests that write a lot.
    pub fn in_memory() -> Sealed {
        let memory = Path::new("/dev/shm");
        let usable = tempfile::Builder::new().prefix("wl").tempfile_in(memory).is_ok();
        if usable { Sealed::within(memory) } else { Sealed::new() }
    }

    /// Makes a place below a folder, for tests in which the temporary folder is special.
    pub fn within(parent: &Path) -> Sealed {
        // A short name, because socket paths have a small limit.
        let folder = tempfile::Builder::new().prefix("wl").tempdir_in(parent).expect("a temporary folder");
        let sealed = Sealed { folder };
        for part in ["home", "config", "state", "cache", "data", "run", "repo"] {
            fs::create_dir(sealed.root().join(part)).expect("a folder of the sealed place");
        }
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(sealed.root().join("run"), private).expect("a private runtime folder");
        sealed.make_repository(&sealed.repo());
        sealed
    }

    /// Returns the folder that contains all others.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Returns `HOME`.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Returns the git repository, in which commands run.
    pub fn repo(&self) -> PathBuf {
        self.root().join("repo")
    }

    /// Returns `XDG_STATE_HOME`.
    pub fn state(&self) -> PathBuf {
        self.root().join("state")
    }

    /// Returns `XDG_CONFIG_HOME`.
    pub fn config(&self) -> PathBuf {
        self.root().join("config")
    }

    /// Returns `CLAUDE_CONFIG_DIR`.
    pub fn claude_config(&self) -> PathBuf {
        self.home().join(".claude")
    }

    /// Writes a file below the root, with its folders, and returns its path.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folders of a file");
        fs::write(&path, text).expect("a file of the sealed place");
        path
    }

    /// Makes a command that sees only this place.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.repo());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home()).env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
        for (name, part) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_RUNTIME_DIR", "run"),
        ] {
            command.env(name, self.root().join(part));
        }
        command
    }

    /// Makes a command for the `windlass` binary in this place.
    pub fn windlass(&self) -> Command {
        self.command(crate::windlass_bin())
    }

    /// Makes a command for the `windlass` binary whose Claude Code uses this model.
    pub fn windlass_with(&self, model: &Model) -> Command {
        let mut command = self.windlass();
        command.envs(self.claude_env(model));
        command
    }

    /// Makes a command for the `windlass` binary in which an agent CLI uses this model.
    pub fn windlass_with_agent(&self, name: &str, model: &Model) -> Command {
        let mut command = self.windlass();
        command.envs(self.agent_env(name, model));
        command
    }

    /// Makes a command for the real Claude Code with this model.
    pub fn claude(&self, bin: &Path, model: &Model) -> Command {
        let mut command = self.command(bin);
        command.envs(self.claude_env(model));
        command
    }

    /// Returns the variables with which Claude Code uses only the scripted model.
    pub fn claude_env(&self, model: &Model) -> Vec<(&'static str, String)> {
        let mut env = self.prepare(recipe::claude(&model.url()));
        env.push(("CLAUDE_CONFIG_DIR", self.claude_config().display().to_string()));
        env
    }

    /// Writes the files of a recipe, and returns its variables.
    pub fn prepare(&self, recipe: Recipe) -> Vec<(&'static str, String)> {
        for (path, text) in &recipe.home {
            self.write(Path::new("home").join(path), text);
        }
        for (path, text) in &recipe.config {
            self.write(Path::new("config").join(path), text);
        }
        recipe.env
    }

    /// Makes a command for an agent CLI that uses only the scripted model.
    pub fn agent(&self, name: &str, bin: &Path, model: &Model) -> Command {
        let mut command = self.command(bin);
        command.envs(self.agent_env(name, model));
        command
    }

    /// Returns the variables with which an agent CLI uses only the scripted model, and writes its files.
    pub fn agent_env(&self, name: &str, model: &Model) -> Vec<(&'static str, String)> {
        let mut env = self.prepare(recipe::for_agent(name, &model.url()));
        // Some leave reports of their errors there.
        let temporary = self.root().join("tmp");
        fs::create_dir_all(&temporary).expect("a folder of the sealed place");
        env.push(("TMPDIR", temporary.display().to_string()));
        env
    }

    /// Returns Claude Code's transcript of a session, if there is one.
    pub fn claude_transcript(&self, session: &str) -> Option<PathBuf> {
        let projects = fs::read_dir(self.claude_config().join("projects")).ok()?;
        let mut files =
            projects.filter_map(|project| Some(project.ok()?.path().join(format!("{session}.jsonl"))));
        files.find(|file| fs::metadata(file).is_ok_and(|file| file.len() > 0))
    }

    /// Runs `git` in the repository and returns its output without the last newline.
    #[track_caller]
    pub fn git<const N: usize>(&self, arguments: [&str; N]) -> String {
        self.git_in(&self.repo(), &arguments)
    }

    #[track_caller]
    fn git_in(&self, folder: &Path, arguments: &[&str]) -> String {
        let mut git = self.command("git");
        git.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(folder).args(arguments);
        let output = git.output().expect("git starts");
        assert!(output.status.success(), "git {arguments:?}: {}", text(&output.stderr));
        text(&output.stdout).trim_end().to_owned()
    }

    /// Makes a repository of one commit, with its own identity.
    pub fn make_repository(&self, folder: &Path) {
        fs::create_dir_all(folder).expect("the folder of a repository");
        self.git_in(folder, &["init", "--quiet", "--initial-branch", "main"]);
        for (key, value) in [
            ("user.name", "Test"),
            ("user.email", "test@example.invalid"),
            ("commit.gpgsign", "false"),
            ("gc.auto", "0"),
        ] {
            self.git_in(folder, &["config", key, value]);
        }
        fs::write(folder.join("README.md"), "# A repository\n").expect("the first file");
        self.git_in(folder, &["add", "."]);
        self.git_in(folder, &["commit", "--quiet", "--message", "first"]);
    }

    /// Returns every live process that was started in this place, even if it was reparented.
    pub fn processes(&self) -> Vec<Proc> {
        procs::with_variable("HOME", &self.home().display().to_string())
    }

    /// Kills a process of this place. Panics for any other process.
    #[track_caller]
    pub fn kill9(&self, pid: i32) {
        let home = format!("HOME={}", self.home().display());
        // A process that is ending, or is just executing another program, has no environment for a moment.
        let ours = procs::environment(pid).is_none_or(|entries| entries.contains(&home.into_bytes()));
        assert!(ours, "process {pid} was not started by this test");
        procs::kill(pid);
    }
}

impl Drop for Sealed {
    fn drop(&mut self) {
        for process in self.processes() {
            procs::kill(process.pid);
        }
    }
}

/// Converts the output of a program to text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Removes the times at the left of the lines of `windlass logs`, and the dates.
pub fn untimed(logs: &str) -> String {
    let rest = |line: &str| {
        let is_time =
            |text: &str| text.bytes().filter(|byte| *byte == b':').count() == 2 && text.ends_with(' ');
        let is_date = line.len() == 10 && line.bytes().filter(|byte| *byte == b'-').count() == 2;
        match line.split_at_checked(9) {
            _ if is_date => None,
            Some((time, rest)) if is_time(time) => Some(rest.to_owned()),
            _ => Some(line.to_owned()),
        }
    };
    logs.lines().filter_map(rest).map(|line| line + "\n").collect()
}

/// Describes the output and the end of a program, for the message of an assertion.
pub fn story(output: &Output) -> String {
    format!("{}\n--- stdout\n{}\n--- stderr\n{}", output.status, text(&output.stdout), text(&output.stderr))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn a_command_sees_nothing_of_the_machine_but_its_path() {
        let sealed = Sealed::new();
        let output = sealed.command("env").output().unwrap();
        let mut names: Vec<String> =
            text(&output.stdout).lines().map(|line| line.split('=').next().unwrap().to_owned()).collect();
        names.sort();
        let expected = [
            "HOME",
            "LANG",
            "PATH",
            "TERM",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_RUNTIME_DIR",
            "XDG_STATE_HOME",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_repository_has_one_commit_and_is_clean() {
        let sealed = Sealed::new();
        assert_eq!(sealed.git(["rev-list", "--count", "HEAD"]), "1");
        assert_eq!(sealed.git(["status", "--porcelain"]), "");
    }

    #[test]
    fn what_was_started_in_it_is_gone_with_it() {
        let sealed = Sealed::new();
        let mut child = sealed.command("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        crate::wait::until(crate::soon(), || sealed.processes().len() == 1);
        drop(sealed);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    #[should_panic(expected = "was not started by this test")]
    fn a_stranger_is_not_killed() {
        Sealed::new().kill9(i32::try_from(std::process::id()).unwrap());
    }
}
