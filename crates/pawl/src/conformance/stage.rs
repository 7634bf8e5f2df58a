//! A driver in a place: how a scene runs `windlass` with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::command::{EndedCommand, StartedCommand};
use super::drivers::SuiteDriver;
use super::place::Place;
use crate::model::{ModelScript, ScriptedModel};
use crate::recipe;

/// A driver with a place of its own for one scene.
pub(super) struct SceneStage<'a> {
    pub(super) driver: &'static SuiteDriver,
    pub(super) place: Place<'a>,
    /// The agent CLI, or a program that stands in for it.
    agent: PathBuf,
}

impl<'a> SceneStage<'a> {
    pub(super) fn new(
        driver: &'static SuiteDriver,
        place: Place<'a>,
        agent: PathBuf,
    ) -> Result<Self, String> {
        if let Some((file, text)) = driver.own_file {
            place.write(file, text)?;
        }
        Ok(SceneStage { driver, place, agent })
    }

    /// Starts a model, and writes the files with which the CLI uses it.
    pub(super) fn model(&self, script: ModelScript) -> Result<ScriptedModel, String> {
        let model = script.start().map_err(|error| format!("cannot start the scripted model: {error}"))?;
        let recipe = recipe::for_agent(self.driver.cli, &model.url()).unwrap_or_default();
        let home = recipe.home.iter().map(|(path, text)| (format!("home/{path}"), text));
        let config = recipe.config.iter().map(|(path, text)| (format!("config/{path}"), text));
        for (path, text) in home.chain(config) {
            self.place.write(&path, text)?;
        }
        Ok(model)
    }

    /// Puts a script in front of the CLI, which prints these lines and then becomes the CLI.
    pub(super) fn print_before(&mut self, lines: &[&str]) -> Result<(), String> {
        let lines: String = lines.iter().map(|line| format!("printf '%s\\n' {}\n", quoted(line))).collect();
        // Windlass asks for the version before a run.
        let text = format!(
            "#!/bin/sh\ncase \" $* \" in *\" --version \"*) ;; *)\n{lines};;\nesac\nexec {} \"$@\"\n",
            quoted(&path_text(&self.agent))
        );
        self.agent = self.place.write_script("wrapped.sh", &text)?;
        Ok(())
    }

    /// Makes a command of `windlass` in which the CLI uses the model.
    fn windlass(&self, model: &ScriptedModel, words: &[&str]) -> Command {
        let mut command = self.place.command(&self.place.around().windlass);
        command.envs(recipe::for_agent(self.driver.cli, &model.url()).unwrap_or_default().env);
        command.envs(self.driver.env.iter().map(|(name, below)| (name, self.place.root().join(below))));
        command
            .envs(self.driver.unpacks_to.map(|name| (name, self.place.around().unpacked(self.driver.cli))));
        command.args(words);
        command
    }

    /// Starts a command that runs the agent, with JSON output.
    pub(super) fn start(
        &self,
        model: &ScriptedModel,
        words: &[&str],
    ) -> Result<StartedCommand<'_, 'a>, String> {
        let mut command = self.windlass(model, words);
        let agent = match self.driver.words {
            "" => path_text(&self.agent),
            words => format!("{} {words}", quoted(&path_text(&self.agent))),
        };
        command.args(["--json", "--driver", self.driver.name, "--agent-bin", &agent]);
        StartedCommand::start(&self.place, command)
    }

    /// Starts a workflow of these nodes.
    pub(super) fn start_nodes(
        &self,
        model: &ScriptedModel,
        nodes: &str,
        flags: &[&str],
    ) -> Result<StartedCommand<'_, 'a>, String> {
        let file = self.place.write("flow.yaml", &format!("name: flow\nnodes:\n{nodes}"))?;
        let file = path_text(&file);
        self.start(model, &[&["run", "--workflow", &file], flags].concat())
    }

    /// Runs a workflow of these nodes to its end.
    pub(super) fn run_nodes(&self, model: &ScriptedModel, nodes: &str) -> Result<EndedCommand, String> {
        self.start_nodes(model, nodes, &[])?.end()
    }

    /// Runs another command of `windlass` to its end.
    pub(super) fn call(&self, model: &ScriptedModel, words: &[&str]) -> Result<EndedCommand, String> {
        StartedCommand::start(&self.place, self.windlass(model, words))?.end()
    }

    /// Returns the user's own files, with their bytes: the recipe's and those of the driver.
    pub(super) fn users_files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        ["home", "config"].map(|part| files_below(&self.place.root().join(part))).concat()
    }
}

fn files_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = paths.partition(|path| path.is_dir());
    let own = files.into_iter().filter_map(|file| Some((file.clone(), fs::read(&file).ok()?)));
    own.chain(folders.iter().flat_map(|folder| files_below(folder))).collect()
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}

/// Quotes a text for a shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
