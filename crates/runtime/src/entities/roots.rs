//! Finds the root folders of entities: the project's folders, the user's, and the plugins'.

use std::path::{Path, PathBuf};

use windlass_core::entity::{Level, PluginSource, Provider};
use windlass_core::registry::places::{Base, EntityPlace, PLACES};
use windlass_forms::diagnostic::{Diagnostic, Severity};
use windlass_forms::plugin::parse_plugin_json;
use windlass_forms::settings::{LayerKind, Resolved};

use crate::config::{base_of, text_of};
use crate::home::Home;
use crate::trust;

/// A folder that contains entity places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    pub(super) base: Base,
    pub(super) path: PathBuf,
    pub(super) level: Level,
    /// The number of folders above the working folder.
    pub(super) distance: u16,
    /// The real folder that no link may lead out of.
    pub(super) inside: Option<PathBuf>,
    pub(super) plugin: Option<PluginSource>,
    /// Folders of the user that a variable moved, such as `.claude`, with their new paths.
    moved: Vec<(&'static str, PathBuf)>,
}

/// All roots, the nearest first, with diagnostics about their settings.
#[derive(Debug, Default)]
pub(super) struct Roots {
    pub(super) roots: Vec<Root>,
    pub(super) providers: Vec<Provider>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Files to watch because they determine the roots.
    pub(super) settings: Vec<PathBuf>,
}

/// A place below a root.
#[derive(Debug, Clone)]
pub(super) struct RootPlace<'a> {
    pub(super) root: &'a Root,
    pub(super) root_number: u16,
    pub(super) place: &'static EntityPlace,
    pub(super) place_number: u16,
    /// The folder it starts from, and its own path.
    pub(super) start: PathBuf,
    pub(super) path: PathBuf,
}

impl Roots {
    /// Returns every place to search.
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

    /// Returns a text that identifies this set of roots.
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
    // In the order of the table, whatever the settings say.
    roots.providers.sort();
    let about_us =
        |diagnostic: &&Diagnostic| diagnostic.is_error() || diagnostic.message.contains("`entities");
    roots.diagnostics.extend(resolved.diagnostics.iter().filter(about_us).cloned());
    roots.diagnostics.extend(trust::warnings_about(resolved, &["plugins", "entities.user_path"]));
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

/// Returns the path without links, or the path itself if it does not exist.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the folder and those above it, up to the root of its repository. Without a repository, returns the
/// folder alone. The user's home is never part of a project.
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

/// Returns the project path from the settings. If the repository's own settings name it, it must be inside
/// the repository, which may be a stranger's.
fn project_path(
    cwd: &Path,
    repository: &Path,
    home: &Home,
    resolved: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<PathBuf> {
    let written = resolved.settings.entities.project_path.as_deref()?;
    let source = resolved.sources.get("entities.project_path")?;
    // A path in a repository's settings is relative to the repository; any other is relative to the working
    // folder.
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
        let text = format!("`entities.project_path` is not a folder: {}", path.display());
        diagnostics.push(Diagnostic::new(Severity::Error, &text).in_file(Some(&source.to_string())));
    }
    Some(path)
}

/// Expands a leading `~`.
fn expanded(home: &Home, written: &str) -> PathBuf {
    match written.strip_prefix('~') {
        Some("") => home.user.clone(),
        Some(rest) if rest.starts_with('/') => home.user.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(written),
    }
}

/// Returns the roots of the user's home and configuration.
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

/// Returns the root of a plugin, with the name from its manifest.
fn plugin(roots: &mut Roots, dir: PathBuf, level: Level) -> Option<Root> {
    let manifest = dir.join(".claude-plugin/plugin.json");
    roots.settings.push(manifest.clone());
    let wrong = |text: &str| Diagnostic::new(Severity::Error, text).in_file(manifest.to_str());
    let text = match text_of(&manifest) {
        Ok(Some(text)) => text,
        Ok(None) => {
            roots.diagnostics.push(wrong("this is not a plugin: it has no .claude-plugin/plugin.json"));
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
    // A project's plugin may be a stranger's, so its links are confined. The user's own plugins may link
    // anywhere.
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

/// Returns the folder that a plugin's links may not leave: its project if it is part of one, else itself.
fn enclosing(roots: &Roots, dir: &Path) -> PathBuf {
    let projects = roots.roots.iter().filter_map(|root| root.inside.clone());
    projects.into_iter().find(|project| dir.starts_with(project)).unwrap_or_else(|| dir.to_owned())
}
