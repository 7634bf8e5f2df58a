//! Plans of real files in a folder of their own; no agent is ever run.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where it stands"
)]

mod entities;
mod flags;
mod others;
mod refusals;
mod settings;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tempfile::TempDir;
use windlass_core::spec::SessionSettings;

use super::*;
use crate::crash::CrashCounter;

/// A project, and the program of an agent CLI that is never run.
struct Place {
    folder: TempDir,
    home: Home,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = root.join("bin").display().to_string();
        let home = Home {
            state: root.join("state"),
            config: root.join("config"),
            user: root.join("home"),
            temp: root.join("state"),
            env: vec![("PATH".to_owned(), path), ("WINDLASS_SIM_SCRIPT".to_owned(), "/script".to_owned())],
            agents: Default::default(),
            binary: None,
            machine: "m".to_owned(),
            crash: CrashCounter::default(),
        };
        let place = Place { folder, home };
        let program = place.write("bin/claude", "#!/bin/sh\n");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        place.write("repo/.git/HEAD", "");
        place
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The project is in a repository that git can be asked about.
    fn repository(&self) {
        let repo = self.folder.path().join("repo");
        fs::remove_dir_all(repo.join(".git")).unwrap();
        let git = |args: &[&str]| windlass_peers::git::git(&repo, args).unwrap();
        git(&["init", "--quiet"]);
        git(&["config", "user.name", "test"]);
        git(&["config", "user.email", "test@example.invalid"]);
    }

    /// A document of the project.
    fn document(&self, name: &str, rest: &str) {
        self.write(&format!("repo/.windlass/workflows/{name}.yaml"), &format!("name: {name}\n{rest}"));
    }

    fn settings(&self, text: &str) {
        self.write("config/config.toml", text);
    }

    fn variable(&mut self, name: &str, value: &str) {
        self.home.env.push((name.to_owned(), value.to_owned()));
    }

    fn request(&self, want: WantedWorkflow) -> RunRequest {
        RunRequest {
            cwd: self.folder.path().join("repo"),
            input: "the input".to_owned(),
            want,
            inputs: Vec::new(),
            plugins: Vec::new(),
            flags: PlanFlags::default(),
            agent_args: Vec::new(),
            interactive: false,
            detached: false,
            has_terminal: false,
            dry_run: false,
        }
    }

    fn run(&self, name: &str) -> RunRequest {
        self.request(WantedWorkflow::Workflow(Some(name.to_owned())))
    }

    fn plan(&self, request: &RunRequest) -> Plan {
        plan(&self.home, request).unwrap_or_else(|problem| panic!("{problem:?}"))
    }

    fn refusal(&self, request: &RunRequest) -> UserError {
        plan(&self.home, request).map(|plan| plan.spec).unwrap_err()
    }
}

fn session_settings<'a>(spec: &'a Spec, node: &str) -> &'a SessionSettings {
    spec.sessions.get(&windlass_core::id::NodeId::new(node)).unwrap_or_else(|| panic!("no {node}"))
}
