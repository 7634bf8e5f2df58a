//! Where the places of entities start: the project's folders, the user's, and plugins'.

use std::path::{Path, PathBuf};

use windlass_core::entity::{Level, PluginSource, Provider};
use windlass_core::registry::places::{Base, EntityPlace, PLACES};
use windlass_forms::diagnostic::{Diagnostic, Severity};
use windlass_forms::plugin::parse_plugin_json;
use windlass_forms::settings::{LayerKind, Resolved};

use crate::config::{base_of, text_of};
use crate::home::Home;

/// A folder that places start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    pub(super) base: Base,
    pub(super) path: PathBuf,
    pub(super) level: Level,
    /// How many folders above the work.
    pub(super) distance: u16,
    /// The real folder that no link may lead out of.
    pub(super) inside: Option<PathBuf>,
    pub(super) plugin: Option<PluginSource>,
    /// Folders of the user that a variable moved: `.claude`, and where it is instead.
    moved: Vec<(&'static str, PathBuf)>,
}

/// All of them, the nearest first, and what is wrong with the settings about them.
#[derive(Debug, Default)]
pub(super) struct Roots {
    pub(super) roots: Vec<Root>,
    pub(super) providers: Vec<Provider>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Files that have a say in all this, to be watched.
    pub(super) settings: Vec<PathBuf>,
}

/// A place of a root.
#[derive(Debug, Clone)]
pub(super) struct RootPlace<'a> {
    pub(super) root: &'a Root,
    pub(super) root_number: u16,
    pub(super) place: &'static EntityPlace,
    pub(super) place_number: u16,
    /// Where it starts from, and where it is.
    pub(super) start: PathBuf,
    pub(super) path: PathBuf,
}

impl Roots {
    /// Every place there is to look at.
    pub(super) fn spots(&self) -> impl Iterator<Item = RootPlace<'_>> {
        (0..).zip(&self.roots).flat_map(|(root_number, root)| {
            let ours = (0..)
                .zip(PLACES)
                .filter(|(_, place)| place.base == root.base && self.providers.contains(&place.provider));
            ours.map(move |(place_number, place)| {
                let (start, path) = root.locate(place);
                RootPlace { root, root_number, place, place_number, start, path }
            })
        })
    }

    /// What tells this set of roots from all others.
    pub(super) fn describe(&self) -> String {
        format!("{:?} {:?}", self.providers, self.roots)
    }
}

impl Root {
    fn user(base: Base, path: PathBuf) -> Root {
        Root { base, path, level: Level::User, distance: 0, inside: None, plugin: None, moved: Vec::new() }
    }

    fn locate(&self, place: &EntityPlace) -> (PathBuf, PathBuf) {
        let (first, rest) = place.path.split_once('/').unwrap_or((place.path, ""));
        match self.moved.iter().find(|(name, _)| *name == first) {
            Some((_, folder)) => (folder.clone(), folder.join(rest)),
            None => (self.path.clone(), self.path.join(place.path)),
        }
    }
}

/// Finds the roots for work in a folder.
pub(super) fn find(home: &Home, cwd: &Path, plugins: &[PathBuf], resolved: &Resolved) -> Roots {
    let cwd = &real(cwd);
    let entities = &resolved.settings.entities;
    let mut roots = Roots { providers: entities.providers.clone(), ..Roots::default() };
    // In the order of the table, however it was written.
    roots.providers.sort();
    let about_us =
        |diagnostic: &&Diagnostic| diagnostic.is_error() || diagnostic.message.contains("`entities");
    roots.diagnostics.extend(resolved.diagnostics.iter().filter(about_us).cloned());
    roots.settings.push(home.config.join("config.toml"));
    let project = project(home, cwd, resolved, &mut roots.diagnostics);
    for root in &project {
        roots.settings.push(root.path.join(".windlass/config.toml"));
    }
    roots.roots.extend(project);
    add_plugins(&mut roots, cwd, plugins, resolved);
    roots.roots.extend(user(home, cwd, resolved));
    roots
}

/// The path without links; as it is where there is none.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The folder, and those above it up to the repository's own; without a repository the folder
/// alone. The user's home is nobody's project.
fn project(home: &Home, cwd: &Path, resolved: &Resolved, diagnostics: &mut Vec<Diagnostic>) -> Vec<Root> {
    let repository = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd);
    let root = |path: &Path, distance: usize, inside: &Path| Root {
        base: Base::Project,
        path: path.to_owned(),
        level: Level::Project,
        distance: u16::try_from(distance).unwrap_or(u16::MAX),
        inside: Some(inside.to_owned()),
        plugin: None,
        moved: Vec::new(),
    };
    if let Some(path) = project_path(cwd, repository, home, resolved, diagnostics) {
        return vec![root(&path, 0, &path)];
    }
    let home = real(&home.user);
    let mut found = Vec::new();
    for (distance, folder) in cwd.ancestors().enumerate() {
        if folder != home {
            found.push(root(folder, distance, repository));
        }
        if folder == repository {
            break;
        }
    }
    found
}

/// The project that the settings name. One that is named by a stranger's repository has to lie
/// in it.
fn project_path(
    cwd: &Path,
    repository: &Path,
    home: &Home,
    resolved: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<PathBuf> {
    let written = resolved.settings.entities.project_path.as_deref()?;
    let source = resolved.sources.get("entities.project_path")?;
    // A repository's own settings speak of the repository, all others of where the work is.
    let base = match source.layer {
        LayerKind::Project => base_of(source, cwd).parent().unwrap_or(cwd).to_owned(),
        LayerKind::Builtin | LayerKind::User | LayerKind::Environment | LayerKind::Flag => cwd.to_owned(),
    };
    let path = real(&base.join(expanded(home, written)));
    if source.layer == LayerKind::Project && !path.starts_with(repository) {
        let text = format!("`entities.project_path` leads out of the repository, to {}", path.display());
        diagnostics.push(
            Diagnostic::new(Severity::Warning, &text)
                .in_file(Some(&source.to_string()))
                .hint(Some("it is ignored; set it in your own settings if you want it".to_owned())),
        );
        return None;
    }
    if !path.is_dir() {
        let text = format!("`entities.project_path` is no folder: {}", path.display());
        diagnostics.push(Diagnostic::new(Severity::Error, &text).in_file(Some(&source.to_string())));
    }
    Some(path)
}

/// `~` as people write it.
fn expanded(home: &Home, written: &str) -> PathBuf {
    match written.strip_prefix('~') {
        Some("") => home.user.clone(),
        Some(rest) if rest.starts_with('/') => home.user.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(written),
    }
}

/// The user's home and configuration, wherever they are.
fn user(home: &Home, cwd: &Path, resolved: &Resolved) -> [Root; 2] {
    let written = resolved.settings.entities.user_path.as_deref();
    let source = resolved.sources.get("entities.user_path");
    if let (Some(written), Some(source)) = (written, source) {
        let path = base_of(source, cwd).join(expanded(home, written));
        return [Root::user(Base::Config, path.join(".config")), Root::user(Base::Home, path)];
    }
    let config = home.config.parent().unwrap_or(&home.config).to_owned();
    let moved = [(".claude", "CLAUDE_CONFIG_DIR"), (".codex", "CODEX_HOME")];
    let moved = moved.into_iter().filter_map(|(folder, variable)| {
        let path = home.var(variable).filter(|path| !path.is_empty())?;
        Some((folder, cwd.join(path)))
    });
    let own = Root { moved: moved.collect(), ..Root::user(Base::Home, home.user.clone()) };
    [Root::user(Base::Config, config), own]
}

fn add_plugins(roots: &mut Roots, cwd: &Path, plugins: &[PathBuf], resolved: &Resolved) {
    let given = plugins.iter().map(|dir| (cwd.join(dir), Level::Project));
    let configured = resolved.settings.plugins.iter().map(|dir| {
        let level = match dir.source.layer {
            LayerKind::User | LayerKind::Builtin => Level::User,
            LayerKind::Project | LayerKind::Environment | LayerKind::Flag => Level::Project,
        };
        (base_of(&dir.source, cwd).join(&dir.path), level)
    });
    for (dir, level) in given.chain(configured) {
        let dir = real(&dir);
        let is_known = roots.roots.iter().any(|root| root.plugin.is_some() && root.path == dir);
        if !is_known && let Some(root) = plugin(roots, dir, level) {
            roots.roots.push(root);
        }
    }
}

/// A plugin's folder, named as its manifest says.
fn plugin(roots: &mut Roots, dir: PathBuf, level: Level) -> Option<Root> {
    let manifest = dir.join(".claude-plugin/plugin.json");
    roots.settings.push(manifest.clone());
    let wrong = |text: &str| Diagnostic::new(Severity::Error, text).in_file(manifest.to_str());
    let text = match text_of(&manifest) {
        Ok(Some(text)) => text,
        Ok(None) => {
            roots.diagnostics.push(wrong("this plugin is not there: it has no .claude-plugin/plugin.json"));
            return None;
        }
        Err(problem) => {
            roots.diagnostics.push(wrong(&problem.text()));
            return None;
        }
    };
    let (file, diagnostics) = parse_plugin_json(&text, &manifest.display().to_string());
    roots.diagnostics.extend(diagnostics);
    let Some(root) = dir.to_str().map(str::to_owned) else {
        roots.diagnostics.push(wrong("the path of this plugin is not UTF-8"));
        return None;
    };
    // A plugin is a stranger's too, but who links its folders together owns them.
    let inside = (level == Level::Project).then(|| enclosing(roots, &dir));
    let source = PluginSource { name: file?.name, root };
    Some(Root {
        base: Base::Plugin,
        path: dir,
        level,
        distance: 0,
        inside,
        plugin: Some(source),
        moved: Vec::new(),
    })
}

/// What a plugin's links may lead to: its project where it is part of one, else itself.
fn enclosing(roots: &Roots, dir: &Path) -> PathBuf {
    let projects = roots.roots.iter().filter_map(|root| root.inside.clone());
    projects.into_iter().find(|project| dir.starts_with(project)).unwrap_or_else(|| dir.to_owned())
}
