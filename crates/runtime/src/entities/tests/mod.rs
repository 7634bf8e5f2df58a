//! Whole loads, from real folders.

mod cached;
mod found;
mod watched;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::load::{LoadedEntities, load};
use super::{Entity, EntityKind};
use crate::crash::CrashCounter;
use crate::home::Home;

/// A home and a repository.
struct Ground {
    folder: TempDir,
    home: Home,
}

impl Ground {
    fn new() -> Ground {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for part in ["home", "config/windlass", "state", "repo/.git"] {
            fs::create_dir_all(root.join(part)).unwrap();
        }
        let home = Home {
            state: root.join("state"),
            config: root.join("config/windlass"),
            user: root.join("home"),
            temp: root.join("state"),
            env: Vec::new(),
            agents: Default::default(),
            binary: None,
            machine: "m".into(),
            crash: CrashCounter::default(),
        };
        Ground { folder, home }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn repo(&self) -> PathBuf {
        self.root().join("repo")
    }

    fn put(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn set(&mut self, name: &str, value: &str) {
        self.home.env.push((name.into(), value.into()));
    }

    fn load(&self) -> LoadedEntities {
        self.load_in("repo", &[])
    }

    fn load_in(&self, cwd: &str, plugins: &[&str]) -> LoadedEntities {
        let plugins: Vec<PathBuf> = plugins.iter().map(|dir| self.root().join(dir)).collect();
        load(&self.home, &self.root().join(cwd), &plugins).unwrap()
    }

    /// Trusts what the settings of a folder ask for.
    fn trust(&self, cwd: &str) {
        let mut review = crate::trust::review(&self.home, &self.root().join(cwd)).unwrap();
        review.grant(&self.home).unwrap();
    }

    /// Loads until nothing has to be read: by then no file is fresh any more.
    fn load_warm(&self) -> LoadedEntities {
        let mut loaded = self.load();
        wait(|| {
            loaded = self.load();
            loaded.read == 0
        });
        loaded
    }

    fn cache(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root().join("state/cache")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

fn wait(mut until: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !until() {
        assert!(Instant::now() < deadline, "not in twenty seconds");
        std::thread::yield_now();
    }
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\nDo {name} with $ARGUMENTS.\n")
}

/// `kind name provider level distance`, without what is part of Windlass.
fn rows(loaded: &LoadedEntities) -> Vec<String> {
    let row = |entity: &Entity| {
        let source = &entity.source;
        let words = (entity.kind.word(), &entity.name, source.provider.word(), source.level.word());
        format!("{} {} {} {} {}", words.0, words.1, words.2, words.3, source.distance)
    };
    let found = loaded.registry.all().filter(|entity| entity.source.level != super::Level::Builtin);
    found.map(row).collect()
}

/// `path severity message`, the path from the ground on.
fn complaints(context: &Ground, loaded: &LoadedEntities) -> Vec<String> {
    let root = format!("{}/", context.root().display());
    let told = |d: &windlass_forms::diagnostic::Diagnostic| {
        let file = d.file.clone().unwrap_or_default();
        let place = d.place.as_ref().map(|p| format!(":{}:{}", p.line, p.column)).unwrap_or_default();
        let severity = if d.is_error() { "error" } else { "warning" };
        format!("{}{place} {severity}: {}", file.strip_prefix(&root).unwrap_or(&file), d.message)
    };
    loaded.diagnostics.iter().map(told).collect()
}

fn prompt(loaded: &LoadedEntities, kind: EntityKind, name: &str) -> Option<String> {
    loaded.registry.get(kind, name).map(|entity| entity.prompt.clone())
}

fn entities(loaded: &LoadedEntities) -> Vec<Entity> {
    loaded.registry.all().cloned().collect()
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap()
}
