//! The temporary place of a scene: a home, the XDG folders, a git repository, and an environment that takes only the
//! `PATH` from the user.
//!
//! Its processes are those with its `HOME`, and those that name it in their arguments. Dropping it ends them all and
//! removes its files.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::suite::SuiteSurroundings;
use crate::os::{Process, processes};

/// The time for the processes of a place to end.
const ENDING: Duration = Duration::from_secs(20);
const GLANCE: Duration = Duration::from_millis(10);

/// A temporary folder with everything that a program may read or write.
pub(super) struct Place<'a> {
    root: PathBuf,
    around: &'a SuiteSurroundings<'a>,
}

/// A live process of a place.
pub(super) struct PlaceProcess {
    process: Process,
    arguments: Vec<String>,
}

impl<'a> Place<'a> {
    /// Makes a place with a repository of one commit. The folder must be new: somebody else may have prepared it.
    pub(super) fn new(root: PathBuf, around: &'a SuiteSurroundings<'a>) -> Result<Place<'a>, String> {
        let problem = |error| format!("cannot create {}: {error}", root.display());
        DirBuilder::new().mode(0o700).create(&root).map_err(problem)?;
        let place = Place { root, around };
        for part in ["home", "config", "state", "cache", "data", "run", "tmp", "repo"] {
            let folder = place.root.join(part);
            let made = DirBuilder::new().mode(0o700).create(&folder);
            made.map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        }
        place.make_repository()?;
        Ok(place)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn around(&self) -> &'a SuiteSurroundings<'a> {
        self.around
    }

    /// Returns a path in the repository, in which commands run.
    pub(super) fn repo(&self, file: &str) -> PathBuf {
        self.root.join("repo").join(file)
    }

    /// Writes a file below the root, with its folders, and returns its path.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<PathBuf, String> {
        self.write_with_mode(path, text, 0o600)
    }

    /// Writes a program below the root, and returns its path.
    pub(super) fn write_script(&self, path: &str, text: &str) -> Result<PathBuf, String> {
        self.write_with_mode(path, text, 0o700)
    }

    fn write_with_mode(&self, path: &str, text: &str, mode: u32) -> Result<PathBuf, String> {
        let path = self.root.join(path);
        let folders = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = folders.and_then(|()| {
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&path)?;
            file.write_all(text.as_bytes())?;
            file.set_permissions(fs::Permissions::from_mode(mode))
        });
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(path)
    }

    /// Makes a command that sees only this place.
    #[expect(clippy::disallowed_methods, reason = "the suite starts every program here and nowhere else")]
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.repo("")).stdin(Stdio::null());
        command.env("PATH", &self.around.path).env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
        for (name, part) in [
            ("HOME", "home"),
            ("TMPDIR", "tmp"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_RUNTIME_DIR", "run"),
        ] {
            command.env(name, self.root.join(part));
        }
        command
    }

    /// Runs `git` in the repository and returns its output without the last newline.
    pub(super) fn git(&self, arguments: &[&str]) -> Result<String, String> {
        let mut git = self.command("git");
        git.env("GIT_CONFIG_NOSYSTEM", "1").args(arguments);
        let output = git.output().map_err(|error| format!("cannot start git: {error}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(format!("git {}: {}", arguments.join(" "), text(&output.stderr))),
        }
    }

    fn make_repository(&self) -> Result<(), String> {
        self.git(&["init", "--quiet", "--initial-branch", "main"])?;
        let own = "[user]\n\tname = Suite\n\temail = suite@windlass.invalid\n[gc]\n\tauto = 0\n";
        let config = OpenOptions::new().append(true).open(self.repo(".git/config"));
        let added = config.and_then(|mut file| file.write_all(own.as_bytes()));
        added.map_err(|error| format!("cannot write the settings of the repository: {error}"))?;
        self.write("repo/README.md", "# A repository\n")?;
        self.git(&["add", "."])?;
        self.git(&["commit", "--quiet", "--message", "first"])?;
        Ok(())
    }

    /// Waits until there is an answer. Fails after the deadline, or when a person stops the suite.
    pub(super) fn wait_for<T>(
        &self,
        what: &str,
        deadline: Duration,
        mut ask: impl FnMut() -> Option<T>,
    ) -> Result<T, String> {
        let start = Instant::now();
        loop {
            if let Some(answer) = ask() {
                return Ok(answer);
            }
            if self.around.stop.load(Ordering::SeqCst) {
                return Err("interrupted".to_owned());
            }
            if start.elapsed() >= deadline {
                return Err(format!("{what}: not within {} s", deadline.as_secs()));
            }
            std::thread::sleep(GLANCE);
        }
    }

    /// Returns every live process of this place, wherever it was reparented to.
    pub(super) fn processes(&self) -> Vec<PlaceProcess> {
        let root = self.root.display().to_string();
        let home = format!("HOME={root}/home").into_bytes();
        let everybody = processes(0).into_iter().flatten();
        let own = everybody.filter_map(|process| {
            let arguments = process.arguments();
            let names_it = arguments.iter().any(|argument| argument.contains(&root));
            (names_it || process.carries(&home)).then_some(PlaceProcess { process, arguments })
        });
        own.collect()
    }

    /// Checks that no process of this place is left.
    pub(super) fn ensure_nobody_left(&self) -> Result<(), String> {
        let gone =
            self.wait_for("the end of every process", ENDING, || self.processes().is_empty().then_some(()));
        gone.map_err(|why| {
            let left: Vec<String> =
                self.processes().iter().map(|process| process.arguments.join(" ")).collect();
            format!("{why}; left behind: {left:?}")
        })
    }
}

impl PlaceProcess {
    /// Returns true for a `windlass host`.
    pub(super) fn is_host(&self) -> bool {
        self.arguments.get(1).is_some_and(|verb| verb == "host")
    }

    /// Returns true for a child of a `windlass host` that is not its guard: an agent CLI.
    pub(super) fn is_child_of(&self, host: &PlaceProcess) -> bool {
        let is_windlass = self.is_host() || self.arguments.get(1).is_some_and(|verb| verb == "keep");
        self.process.parent == host.process.pid.as_raw_nonzero().get() && !is_windlass
    }

    /// Returns the time of its start, for comparisons.
    pub(super) fn born(&self) -> u64 {
        self.process.start
    }

    pub(super) fn is_same_as(&self, other: &PlaceProcess) -> bool {
        (self.process.pid, self.process.start) == (other.process.pid, other.process.start)
    }

    pub(super) fn kill(&self) {
        self.process.signal(Signal::KILL);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let start = Instant::now();
        while start.elapsed() < ENDING {
            let left = self.processes();
            if left.is_empty() {
                break;
            }
            left.iter().for_each(PlaceProcess::kill);
            std::thread::sleep(GLANCE);
        }
        // What stays is removed with the folder of the suite.
        let _ = fs::remove_dir_all(&self.root);
    }
}
