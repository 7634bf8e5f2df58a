//! A driver on its stage: how a scene runs `windlass` with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_testkit::Model;
use windlass_testkit::programs::cache_folder;

use crate::drivers::DriverCase;
use crate::stage::{Ended, Stage, Started, path};

/// A driver with a place of its own for one scene.
pub(crate) struct Subject {
    pub(crate) driver: DriverCase,
    pub(crate) stage: Stage,
    bin: PathBuf,
}

impl Subject {
    pub(crate) fn new(driver: DriverCase, bin: PathBuf) -> Subject {
        let stage = Stage::new(bin.clone());
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

    /// Runs a workflow of these nodes to its end.
    pub(crate) fn run(&self, model: &Model, nodes: &str) -> Ended {
        self.start_nodes(model, nodes).end()
    }

    /// Starts a workflow of these nodes.
    pub(crate) fn start_nodes(&self, model: &Model, nodes: &str) -> Started {
        let file = self.stage.sealed.write("flow.yaml", format!("name: flow\nnodes:\n{nodes}"));
        self.start(model, &["run", "--workflow", &path(&file)])
    }

    pub(crate) fn repo(&self, file: &str) -> PathBuf {
        self.stage.sealed.repo().join(file)
    }

    /// Writes the files with which the CLI uses the model, as every command does.
    pub(crate) fn write_recipe(&self, model: &Model) {
        drop(self.windlass(model, &[]));
    }

    /// Returns the user's own files, with their bytes: the recipe's and those of the driver.
    pub(crate) fn users_files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = [self.stage.sealed.home(), self.stage.sealed.config()]
            .map(|folder| files_below(&folder))
            .concat();
        found.sort();
        found
    }
}

fn files_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = paths.partition(|path| path.is_dir());
    let own = files.into_iter().filter_map(|file| Some((file.clone(), fs::read(file).ok()?)));
    own.chain(folders.iter().flat_map(|folder| files_below(folder))).collect()
}
