//! A driver on its stage: how a test runs `windlass` with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_testkit::programs::cache_folder;
use windlass_testkit::{Model, Request, Sealed};

use crate::drivers::RealDriver;
use crate::stage::{Stage, Started, path};

/// A driver with a place of its own.
pub(crate) struct Subject {
    pub(crate) driver: RealDriver,
    pub(crate) stage: Stage,
    bin: PathBuf,
}

impl Subject {
    pub(crate) fn new(driver: RealDriver, bin: PathBuf) -> Subject {
        Subject::on(Stage::new(bin.clone()), driver, bin)
    }

    /// Makes a subject outside of the temporary folder, in which even a session in `strict` may write.
    pub(crate) fn outside_temporary(driver: RealDriver, bin: PathBuf) -> Subject {
        let sealed = Sealed::within(Path::new(env!("CARGO_TARGET_TMPDIR")));
        Subject::on(Stage::in_place(sealed, bin.clone()), driver, bin)
    }

    fn on(stage: Stage, driver: RealDriver, bin: PathBuf) -> Subject {
        if let Some((file, text)) = driver.own_file {
            stage.sealed.write(file, text);
        }
        Subject { driver, stage, bin }
    }

    /// Makes a command of `windlass` in the environment of the model.
    pub(crate) fn windlass(&self, model: &Model, words: &[&str]) -> Command {
        let mut command = self.stage.sealed.windlass_with_agent(self.driver.cli, model);
        if self.driver.cli == "claude" {
            command.env("CLAUDE_CONFIG_DIR", self.stage.sealed.claude_config());
        }
        let unpacks = self.driver.unpacks;
        command.envs(unpacks.and_then(|(name, folder)| Some((name, cache_folder()?.join(folder)))));
        command.args(words);
        command
    }

    /// Starts a command that runs the agent, with JSON output.
    pub(crate) fn start(&self, model: &Model, words: &[&str]) -> Started {
        let mut command = self.windlass(model, words);
        let bin = match self.driver.words {
            "" => path(&self.bin),
            words => format!("'{}'{words}", self.bin.display()),
        };
        command.args(["--json", "--driver", self.driver.name, "--agent-bin", &bin]);
        self.stage.start(command)
    }

    pub(crate) fn repo(&self, file: &str) -> PathBuf {
        self.stage.sealed.repo().join(file)
    }

    /// Returns every file of the user's home and configuration, with its bytes.
    pub(crate) fn users_files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for folder in [self.stage.sealed.home(), self.stage.sealed.config()] {
            add_files(&folder, &mut found);
        }
        found
    }

    /// Checks that the user's files are those of before, and that it added only what it may.
    #[track_caller]
    pub(crate) fn assert_users_files(&self, before: &BTreeMap<PathBuf, Vec<u8>>, story: &str) {
        let after = self.users_files();
        for (file, bytes) in before {
            assert!(after.get(file) == Some(bytes), "{} was changed\n{story}", file.display());
        }
        let added = after.keys().filter(|file| !before.contains_key(*file) && !self.may_add(file));
        let added: Vec<&PathBuf> = added.collect();
        assert!(added.is_empty(), "files were added: {added:#?}\n{story}");
    }

    fn may_add(&self, file: &Path) -> bool {
        let below = file.strip_prefix(self.stage.sealed.root()).unwrap().to_string_lossy();
        self.driver.may_add.iter().any(|start| below.starts_with(start))
    }
}

fn add_files(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            add_files(&path, found);
        } else if let Ok(bytes) = fs::read(&path) {
            found.insert(path, bytes);
        }
    }
}

/// Returns the path of the tracker that the conversation mentions.
pub(crate) fn tracker_of(request: &Request) -> String {
    const NAME: &str = "loop-tracker.md";
    let text = request.body.to_string();
    let end = text.find(NAME).unwrap_or_else(|| panic!("no tracker in {text}")) + NAME.len();
    let start = text[..end].rfind(' ').map_or(0, |space| space + 1);
    text[start..end].to_owned()
}
