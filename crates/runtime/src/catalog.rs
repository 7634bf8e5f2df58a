//! Lists everything that can run: plugins and the workflows of plugins, project, user and Windlass itself.
//!
//! A workflow is a `workflow.json` (one agent, perhaps in a loop) or a document; both become a graph.
//! [`World`] holds what the checks of a document know about the machine.

mod begin;
mod beside;
mod builtin;
mod check;
mod file;
mod looping;
mod named;
mod world;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use windlass_core::graph::upper_bound::worst;
use windlass_core::graph::workflow::Workflow;
use windlass_core::looping::DEFAULT_MAX_ITERATIONS;
pub use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::diagnostic::Severity;
use windlass_forms::plugin::{PluginFile, mcp_server_names, parse_plugin_json};
use windlass_forms::settings::Resolved;
pub use windlass_forms::workflow::TASKS;
use windlass_forms::workflow::document::{self, WorkflowDocument};
use windlass_forms::workflow::{WorkflowFile, compile, parse_workflow_json};

use crate::config::{self, base_of, text_of, try_text};
use crate::home::Home;
use crate::trust;
use crate::user_error::{UserError, UserErrorKind};
pub use begin::{begin_document, document_schema, eject_document};
pub use check::check_workflow;
pub(crate) use check::look_into_broken;
use file::NamedFile;
pub(crate) use looping::is_public_name;
pub(crate) use world::World;

/// The source of the workflows in the project's `.windlass`.
const PROJECT: &str = "project";

/// A loaded plugin.
#[derive(Debug, Clone)]
pub struct PluginEntry {
    pub name: String,
    /// The absolute path of its folder.
    pub dir: PathBuf,
    pub version: Option<String>,
    pub description: Option<String>,
    pub has_workflow: bool,
    /// The MCP servers that it brings.
    pub mcp_servers: Vec<String>,
    /// True if its Stop hook loops on the state file that Windlass writes in `plugin` mode.
    pub loops: bool,
}

/// A workflow that can run.
#[derive(Debug, Clone)]
pub struct WorkflowEntry {
    pub name: String,
    pub description: Option<String>,
    /// `plugin NAME`, `project`, `user`, `built-in`, or `file` for one that was named by its path.
    pub source: String,
    pub path: Option<PathBuf>,
    /// The loop mode, `once`, or `graph` for a document.
    pub mode: String,
    /// The maximum number of turns; 0 means unlimited or unknown.
    pub max_iterations: u32,
    /// The most turns that a document can take, in words. Set only in a list of all workflows.
    pub worst: Option<String>,
    /// The plugins that it needs.
    pub required: Vec<String>,
    pub is_builtin: bool,
    pub(crate) body: Body,
    pub(crate) from_plugin: bool,
    /// The text of its file, as it was read.
    pub(crate) file_text: String,
}

/// The content of a workflow.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    File(Box<WorkflowFile>),
    Document(Box<WorkflowDocument>),
}

impl WorkflowEntry {
    pub fn graph(&self) -> Cow<'_, Workflow> {
        match &self.body {
            Body::Document(document) => Cow::Borrowed(&document.workflow),
            Body::File(file) => Cow::Owned(compile(file)),
        }
    }

    /// Returns the owner: the name of a plugin, else `project`, `user` or `built-in`.
    pub fn owner_name(&self) -> &str {
        self.source.strip_prefix("plugin ").unwrap_or(&self.source)
    }

    /// Decides whether the workflow comes with the project.
    pub(crate) fn is_of_project(&self) -> bool {
        self.source == PROJECT
    }

    /// Returns the text, if the workflow is a document.
    pub fn text(&self) -> Option<&str> {
        self.document().map(WorkflowDocument::text)
    }

    fn document(&self) -> Option<&WorkflowDocument> {
        match &self.body {
            Body::Document(document) => Some(document),
            Body::File(_) => None,
        }
    }
}

/// All plugins and workflows that were found, with their diagnostics.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// In the order of the command line and the settings.
    pub plugins: Vec<PluginEntry>,
    /// The plugins' first, then the project's, the user's and the built-in ones.
    pub workflows: Vec<WorkflowEntry>,
    pub problems: Vec<Diagnostic>,
    /// The document files, including broken ones.
    pub(crate) documents: Vec<PathBuf>,
    /// All workflow files.
    pub(crate) files: Vec<PathBuf>,
    /// The workflow files of plugins, including broken ones.
    pub(crate) of_plugins: Vec<PathBuf>,
    /// The names of broken workflows, as far as they are known.
    broken: Vec<(String, PathBuf)>,
    /// Broken files whose workflow name is unknown.
    nameless: Vec<PathBuf>,
    /// The file that a person named by its path.
    named_file: Option<NamedFile>,
}

impl Catalog {
    /// Returns the names of all workflows, each once.
    pub fn names(&self) -> Vec<&str> {
        names_of(&self.workflows)
    }

    /// Returns the errors that make a workflow of this name unusable.
    pub fn diagnostics(&self, name: &str) -> Vec<Diagnostic> {
        self.about(&self.problems, name).into_iter().filter(Diagnostic::is_error).collect()
    }

    /// Returns the diagnostics of all files that contain, or should contain, a workflow.
    pub(crate) fn about(&self, problems: &[Diagnostic], name: &str) -> Vec<Diagnostic> {
        let files = self.files_of(name).into_iter().map(|path| path.display().to_string());
        let files: Vec<String> = files.collect();
        let is_its = |problem: &&Diagnostic| files.iter().any(|file| problem.is_in(file));
        problems.iter().filter(is_its).cloned().collect()
    }

    /// Records a workflow file that cannot be read.
    fn lose(&mut self, path: &Path, why: &str) {
        self.problems.push(unreadable(path, why));
        self.nameless.push(path.to_owned());
    }

    /// Returns the files with the workflow's name, in the file name or inside.
    fn files_of(&self, name: &str) -> Vec<PathBuf> {
        if let Some(path) = self.file_at(name) {
            return vec![path.to_owned()];
        }
        let said = self.workflows.iter().map(|entry| (&entry.name, entry.path.as_ref()));
        let broken = self.broken.iter().map(|(name, path)| (name, Some(path)));
        let named = said.chain(broken).filter(|(own, _)| *own == name).filter_map(|(_, path)| path);
        let stem = |path: &&PathBuf| self.has_stem(path, name);
        named.chain(self.files.iter().filter(stem)).cloned().collect()
    }

    /// Decides whether a file is called as a workflow.
    fn has_stem(&self, path: &Path, name: &str) -> bool {
        // Every plugin's root file is called `workflow.json`, so its file name says nothing.
        let is_root =
            path.ends_with("workflow.json") && self.of_plugins.iter().any(|of_plugin| of_plugin == path);
        path.file_stem().is_some_and(|stem| stem == name) && !is_root
    }
}

/// Returns the names of workflows, each once.
pub(crate) fn names_of<'a>(workflows: impl IntoIterator<Item = &'a WorkflowEntry>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for entry in workflows {
        if !names.contains(&entry.name.as_str()) {
            names.push(&entry.name);
        }
    }
    names
}

/// Reads all plugins and workflows.
pub fn catalog(home: &Home, cwd: &Path, plugins: &[PathBuf]) -> Result<Catalog, UserError> {
    catalog_with(home, cwd, plugins, None)
}

/// Reads all plugins and workflows, and the workflow that a person names by its path.
pub fn catalog_with(
    home: &Home,
    cwd: &Path,
    plugins: &[PathBuf],
    wanted: Option<&str>,
) -> Result<Catalog, UserError> {
    let resolved = config::read(home, cwd, Vec::new())?;
    let mut catalog = collect(home, cwd, plugins, &resolved)?;
    if let Some(wanted) = wanted {
        catalog.add_file(cwd, wanted)?;
    }
    look_into_broken(&mut catalog, home, cwd, plugins, &resolved);
    // The first of two workflows with the same name runs.
    let first = catalog.workflows.iter().rev();
    let others = first.map(|entry| (entry.name.clone(), Some(entry.graph().into_owned()))).collect();
    for entry in &mut catalog.workflows {
        if let Body::Document(document) = &entry.body {
            entry.worst = Some(worst(&document.workflow, &others).to_string());
        }
    }
    Ok(catalog)
}

pub(crate) fn collect(
    home: &Home,
    cwd: &Path,
    plugins: &[PathBuf],
    resolved: &Resolved,
) -> Result<Catalog, UserError> {
    let problems = trust::warnings_about(resolved, &["plugins"]);
    let mut catalog = Catalog { problems, ..Catalog::default() };
    let given = plugins.iter().map(|dir| cwd.join(dir));
    let configured = resolved.settings.plugins.iter().map(|dir| base_of(&dir.source, cwd).join(&dir.path));
    for dir in given.chain(configured) {
        let dir = dir.canonicalize().unwrap_or(dir);
        if !catalog.plugins.iter().any(|plugin| plugin.dir == dir) {
            load_plugin(&mut catalog, &dir)?;
        }
    }
    collisions(&mut catalog);
    load_project(&mut catalog, cwd);
    load_folder(&mut catalog, &home.config.join("workflows"), "user", Of::Person);
    namesakes(&mut catalog);
    catalog.workflows.extend(builtin::entries());
    Ok(catalog)
}

/// Reads the workflows of the project and no others.
pub(crate) fn project_workflows(cwd: &Path) -> Catalog {
    let mut catalog = Catalog::default();
    load_project(&mut catalog, cwd);
    catalog
}

fn load_project(catalog: &mut Catalog, cwd: &Path) {
    if let Some(project) = config::project_dir(cwd, "workflows") {
        load_folder(catalog, &project.join("workflows"), PROJECT, Of::Person);
    }
}

fn load_plugin(catalog: &mut Catalog, dir: &Path) -> Result<(), UserError> {
    let manifest = dir.join(".claude-plugin/plugin.json");
    let Some(text) = text_of(&manifest)? else {
        let what = if dir.is_dir() {
            "is not a plugin: it has no .claude-plugin/plugin.json"
        } else {
            "does not exist"
        };
        return Err(UserError::new(
            UserErrorKind::Configuration,
            format!("plugin folder {} {what}", dir.display()),
        )
        .hint(if dir.components().any(|part| part.as_os_str() == "~") {
            "Windlass does not expand `~`: write the whole path"
        } else {
            "give the folder of a Claude Code plugin: --plugin DIR"
        }));
    };
    let (plugin, mut problems) = parse_plugin_json(&text, &manifest.display().to_string());
    catalog.problems.append(&mut problems);
    let Some(plugin) = plugin else { return Ok(()) };
    let has_workflow = load_workflows(catalog, dir, &plugin.name);
    let loops = looping::loops(dir, &plugin.name, &text);
    let mcp_servers = servers_of(catalog, dir, &plugin)?;
    let PluginFile { name, version, description, .. } = plugin;
    catalog.plugins.push(PluginEntry {
        name,
        dir: dir.to_owned(),
        version,
        description,
        has_workflow,
        mcp_servers,
        loops,
    });
    Ok(())
}

/// Loads the workflows of a plugin: its `workflow.json` and the files in its `workflows/`. Returns whether
/// there is any, even a broken one.
fn load_workflows(catalog: &mut Catalog, dir: &Path, plugin: &str) -> bool {
    let before = catalog.of_plugins.len();
    let source = format!("plugin {plugin}");
    let root = dir.join("workflow.json");
    if std::fs::symlink_metadata(&root).is_ok() {
        let known = catalog.workflows.len();
        catalog.files.push(root.clone());
        catalog.of_plugins.push(root.clone());
        match try_text(&root) {
            Ok(Some(text)) => add_workflow(catalog, &text, &root, source.clone(), Of::Plugin),
            Ok(None) => {}
            Err(why) => catalog.lose(&root, &why),
        }
        if catalog.workflows.len() == known {
            // A plugin's root workflow usually has the plugin's name.
            catalog.broken.push((plugin.to_owned(), root));
        }
    }
    load_folder(catalog, &dir.join("workflows"), &source, Of::Plugin);
    catalog.of_plugins.len() > before
}

fn servers_of(catalog: &mut Catalog, dir: &Path, plugin: &PluginFile) -> Result<Vec<String>, UserError> {
    let mut names = plugin.mcp_servers.clone();
    let listed = plugin.mcp_files.iter().map(String::as_str);
    for file in listed.chain([".mcp.json"]) {
        // A path out of the plugin's folder is not followed.
        if Path::new(file).components().any(|part| matches!(part, std::path::Component::ParentDir)) {
            continue;
        }
        let path = dir.join(file.trim_start_matches('/'));
        let Some(text) = text_of(&path)? else { continue };
        let (mut found, mut problems) = mcp_server_names(&text, &path.display().to_string());
        names.append(&mut found);
        catalog.problems.append(&mut problems);
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Reports plugins that bring an MCP server of the same name: the agent would see only one of them.
fn collisions(catalog: &mut Catalog) {
    let mut found = Vec::new();
    for (place, plugin) in catalog.plugins.iter().enumerate() {
        for other in catalog.plugins.iter().skip(place + 1) {
            if plugin.name == other.name {
                let text = format!("two plugins are named `{}`", plugin.name);
                let hint = format!("load one of {} and {}", plugin.dir.display(), other.dir.display());
                found.push(Diagnostic::new(Severity::Error, &text).hint(Some(hint)));
            }
            for server in plugin.mcp_servers.iter().filter(|server| other.mcp_servers.contains(server)) {
                let text = format!(
                    "MCP server `{server}` is brought by two plugins, `{}` and `{}`",
                    plugin.name, other.name
                );
                let hint = "rename it in one of their .mcp.json files, or load only one of them".to_owned();
                found.push(Diagnostic::new(Severity::Error, &text).hint(Some(hint)));
            }
        }
        for server in plugin.mcp_servers.iter().filter(|server| *server == "windlass") {
            let text =
                format!("MCP server `{server}` of plugin `{}` has the name of Windlass's own", plugin.name);
            found.push(
                Diagnostic::new(Severity::Error, &text).hint(Some("rename it in its .mcp.json".to_owned())),
            );
        }
    }
    catalog.problems.append(&mut found);
}

/// Warns about two workflows with the same name in one place: only the first ever runs.
fn namesakes(catalog: &mut Catalog) {
    let mut found = Vec::new();
    for (at, entry) in catalog.workflows.iter().enumerate() {
        let before = catalog.workflows.iter().take(at);
        let first =
            before.filter(|other| other.source == entry.source).find(|other| other.name == entry.name);
        if let (Some(first), Some(path)) = (first.and_then(|first| first.path.as_ref()), &entry.path) {
            let text = format!("another workflow is named `{}`, and Windlass runs that one", entry.name);
            found.push(
                Diagnostic::new(Severity::Warning, &text)
                    .in_file(Some(&path.display().to_string()))
                    .hint(Some(format!("rename it; the other is {}", first.display()))),
            );
        }
    }
    catalog.problems.append(&mut found);
}

/// The owner of a workflow file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Plugin,
    /// The project or the user.
    Person,
}

fn load_folder(catalog: &mut Catalog, dir: &Path, source: &str, of: Of) {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let is_workflow = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("json" | "yaml" | "yml")) && !is_beside(path)
    };
    files.retain(is_workflow);
    files.sort();
    catalog.files.extend(files.iter().cloned());
    if of == Of::Plugin {
        catalog.of_plugins.extend(files.iter().cloned());
    }
    for file in files {
        add(catalog, &file, source, of);
    }
}

/// Decides whether a file belongs to a workflow and is none: a script of the simulated agent, a test or stub
/// results.
fn is_beside(path: &Path) -> bool {
    let ends = [".sim.json", ".test.yaml", ".test.yml", ".stubs.yaml", ".stubs.yml", ".stubs.json"];
    path.to_str().is_some_and(|path| ends.iter().any(|end| path.ends_with(end)))
}

/// Adds the workflow of a file. A broken file affects only the commands that use it.
fn add(catalog: &mut Catalog, path: &Path, source: &str, of: Of) {
    let text = match try_text(path) {
        Ok(Some(text)) => text,
        Ok(None) => return,
        Err(why) => return catalog.lose(path, &why),
    };
    if is_document(&text, path) {
        return add_document(catalog, &text, path, source.to_owned(), of);
    }
    add_workflow(catalog, &text, path, source.to_owned(), of);
}

fn unreadable(path: &Path, why: &str) -> Diagnostic {
    Diagnostic::new(Severity::Error, &format!("the file cannot be read: {why}"))
        .in_file(Some(&path.display().to_string()))
        .hint(Some("fix it, or move it away".to_owned()))
}

/// Decides whether a file is a document: it has `nodes`, while a `workflow.json` has a `promptTemplate`.
fn is_document(text: &str, path: &Path) -> bool {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    !is_json || (text.contains("\"nodes\"") && !text.contains("\"promptTemplate\""))
}

fn add_document(catalog: &mut Catalog, text: &str, path: &Path, source: String, of: Of) {
    let (read, mut problems) = document::read_for_check(text, &path.display().to_string());
    let has_mistakes = problems.iter().any(Diagnostic::is_error);
    catalog.problems.append(&mut problems);
    catalog.documents.push(path.to_owned());
    match read.filter(|_| !has_mistakes) {
        Some(read) => {
            let entry = of_document(read, source);
            let from_plugin = of == Of::Plugin;
            catalog.workflows.push(WorkflowEntry { path: Some(path.to_owned()), from_plugin, ..entry });
        }
        None => match document::said_name(text) {
            Some(name) => catalog.broken.push((name, path.to_owned())),
            None => catalog.nameless.push(path.to_owned()),
        },
    }
}

/// Makes an entry of a document, wherever its text is from.
fn of_document(read: WorkflowDocument, source: String) -> WorkflowEntry {
    let workflow = &read.workflow;
    WorkflowEntry {
        name: workflow.name.clone(),
        description: workflow.description.clone(),
        source,
        path: None,
        mode: "graph".to_owned(),
        max_iterations: 0,
        worst: None,
        required: workflow.plugins.clone(),
        is_builtin: false,
        file_text: read.text().to_owned(),
        body: Body::Document(Box::new(read)),
        from_plugin: false,
    }
}

fn add_workflow(catalog: &mut Catalog, text: &str, path: &Path, source: String, of: Of) {
    let (file, mut problems) = parse_workflow_json(text, &path.display().to_string());
    catalog.problems.append(&mut problems);
    let Some(file) = file else {
        match said_name(text) {
            Some(name) => catalog.broken.push((name, path.to_owned())),
            None => catalog.nameless.push(path.to_owned()),
        }
        return;
    };
    let looping = file.looping.as_ref();
    catalog.workflows.push(WorkflowEntry {
        name: file.name.clone(),
        description: file.description.clone(),
        source,
        path: Some(path.to_owned()),
        mode: looping.map_or("once", |part| part.mode.unwrap_or_default().word()).to_owned(),
        max_iterations: looping.map_or(1, |part| part.max_iterations.unwrap_or(DEFAULT_MAX_ITERATIONS)),
        required: file.plugins.iter().map(ToString::to_string).collect(),
        worst: None,
        is_builtin: false,
        file_text: text.to_owned(),
        body: Body::File(Box::new(file)),
        from_plugin: of == Of::Plugin,
    });
}

/// Reads the name of a broken workflow, if its JSON can be parsed.
fn said_name(text: &str) -> Option<String> {
    let root: serde_json::Value = serde_json::from_str(text).ok()?;
    root.get("name")?.as_str().map(str::to_owned)
}
