//! Remembers which repositories a person trusts with more rights.
//!
//! The settings of a cloned repository may ask for rights, such as allow rules, or name programs.
//! `forms::settings` knows which values need trust. This module decides whether a person has trusted exactly
//! these values for exactly this project, and keeps the decision in the state folder. The decision is a keyed
//! digest of both: if a value changes, nobody has trusted the new one. [`replacements`] does the same for the
//! workflows of a repository that run without being named.

mod identity;
mod plugin_programs;
mod replacements;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::time::Moment;
use windlass_forms::diagnostic::{Diagnostic, Severity};
use windlass_forms::settings::{Layer, LayerKind, ProjectTrust, Resolved, TrustRequest, resolve};
use windlass_peers::files::{self, FileMode};

use crate::clock::now;
use crate::config::{self, ProjectFile, base_of};
use crate::home::Home;
use crate::person;
use crate::seal::InboxKey;
use crate::user_error::{ProblemPart, UserError, UserErrorKind};
use identity::ProjectIdentity;
use plugin_programs::PluginPrograms;
pub(crate) use replacements::leave_out;
pub use replacements::{ReplacingWorkflow, WorkflowText};

/// The folder of the decisions, in the state folder.
const FOLDER: &str = "trust";
/// The size limit of a decision.
const MAX: u64 = 4 << 20;
const VERSION: u32 = 1;
/// The action that only a person may do.
const WHAT: &str = "trust the settings of a repository";

/// The values in a project's settings and the workflows that need trust, and whether they have it.
#[derive(Debug, Clone)]
pub struct TrustReview {
    /// The folder that has the project's `.windlass`, or the folder asked about if there is none.
    pub project: PathBuf,
    /// The settings file, if there is one.
    pub file: Option<PathBuf>,
    pub requests: Vec<RequestedRight>,
    /// True if no value needs trust, too.
    pub are_settings_trusted: bool,
    pub workflows: Vec<ReplacingWorkflow>,
    /// Set if a value needs trust. An error if Windlass could not notice a change of it.
    content: Option<Result<TrustContent, String>>,
}

/// A value that needs trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedRight {
    pub key: String,
    /// The value, as TOML.
    pub value: String,
    /// The reason, as a clause.
    pub why: &'static str,
    pub line: usize,
    /// The programs that the hooks and MCP servers of its plugins run.
    pub runs: Vec<String>,
}

/// A project that a person trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedProject {
    pub project: PathBuf,
    pub at: Moment,
    /// The keys and values that the person saw.
    pub settings: Vec<(String, String)>,
    pub state: TrustState,
}

/// The meaning of a decision today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustState {
    Trusted,
    /// The project asks for something else now.
    Changed,
    /// The project is gone, or asks for nothing any more.
    Unused,
}

impl TrustState {
    pub fn word(self) -> &'static str {
        match self {
            TrustState::Trusted => "trusted",
            TrustState::Changed => "changed",
            TrustState::Unused => "unused",
        }
    }

    /// Returns the meaning of two decisions about one project.
    fn with(self, other: TrustState) -> TrustState {
        match (self, other) {
            (TrustState::Changed, _) | (_, TrustState::Changed) => TrustState::Changed,
            (TrustState::Trusted, _) | (_, TrustState::Trusted) => TrustState::Trusted,
            (TrustState::Unused, TrustState::Unused) => TrustState::Unused,
        }
    }
}

/// The file of a decision.
#[derive(Debug, Serialize, Deserialize)]
struct TrustFile {
    v: u32,
    project: String,
    trusted_ms: i64,
    settings: Vec<TrustedSetting>,
    /// The workflow that the decision is about; otherwise it is about the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workflow: Option<String>,
    seal: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct TrustedSetting {
    key: String,
    value: String,
}

/// The part of a project that a decision is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TrustSubject {
    Settings,
    /// The workflow of this name.
    Workflow(String),
}

impl TrustSubject {
    fn workflow(&self) -> Option<&str> {
        match self {
            TrustSubject::Settings => None,
            TrustSubject::Workflow(name) => Some(name),
        }
    }
}

/// Everything that a decision is about.
#[derive(Debug, Clone)]
struct TrustContent {
    subject: TrustSubject,
    identity: ProjectIdentity,
    /// Keys and values, in the order of the keys, and the files of plugins. Or the texts of workflows.
    parts: Vec<Vec<u8>>,
}

impl TrustContent {
    fn seal(&self, key: InboxKey) -> String {
        let head = match &self.subject {
            TrustSubject::Settings => vec![b"trust".as_slice(), self.identity.bytes()],
            TrustSubject::Workflow(name) => {
                vec![b"trust workflow".as_slice(), self.identity.bytes(), name.as_bytes()]
            }
        };
        key.digest(head.into_iter().chain(self.parts.iter().map(Vec::as_slice)))
    }

    /// Decides whether a person trusted exactly this.
    fn is_trusted(&self, home: &Home) -> bool {
        let folder = home.state.join(FOLDER);
        // Without a decision there may be no key yet, and reading settings must not create one.
        if !folder.exists() {
            return false;
        }
        let Ok(key) = InboxKey::of(&home.state) else { return false };
        read_file(&path_of(home, key, &self.identity, &self.subject))
            .is_some_and(|file| file.seal == self.seal(key))
    }
}

/// The settings with or without the values that need trust, and these values.
pub(crate) struct JudgedSettings {
    pub(crate) resolved: Resolved,
    content: Option<Result<TrustContent, String>>,
    requests: Vec<RequestedRight>,
}

/// Resolves the layers together with a project's file. Leaves out what nobody has trusted.
pub(crate) fn judge(home: &Home, cwd: &Path, layers: &[Layer], file: &ProjectFile) -> JudgedSettings {
    let with = |trust| {
        let (file, text) = (file.path.display().to_string(), file.text.clone());
        resolve([layers, &[Layer::Project { file, text, trust }]].concat())
    };
    let withheld = with(ProjectTrust::Untrusted);
    if withheld.requests.is_empty() {
        return JudgedSettings { resolved: withheld, content: None, requests: Vec::new() };
    }
    let granted = with(ProjectTrust::Trusted);
    let plugins = programs(cwd, &granted);
    let commands = plugins.iter().flatten().flat_map(|plugin| plugin.commands.clone()).collect::<Vec<_>>();
    let requests = granted.requests.iter().map(|request| right(request, &commands)).collect();
    let content = plugins.map(|plugins| content(file, &granted.requests, &plugins));
    let is_trusted = content.as_ref().is_ok_and(|content| content.is_trusted(home));
    let resolved = if is_trusted { granted } else { withheld };
    JudgedSettings { resolved, content: Some(content), requests }
}

/// Reads what the project's plugins run by themselves.
fn programs(cwd: &Path, granted: &Resolved) -> Result<Vec<PluginPrograms>, String> {
    let plugins = granted.settings.plugins.iter().filter(|plugin| plugin.source.layer == LayerKind::Project);
    let dirs: Vec<PathBuf> = plugins.map(|plugin| base_of(&plugin.source, cwd).join(&plugin.path)).collect();
    if dirs.len() > plugin_programs::MOST {
        return Err(format!("`plugins` names more than {} folders", plugin_programs::MOST));
    }
    dirs.iter().map(|dir| PluginPrograms::read(dir)).collect()
}

fn content(file: &ProjectFile, requests: &[TrustRequest], plugins: &[PluginPrograms]) -> TrustContent {
    let mut values: Vec<(&str, &str)> =
        requests.iter().map(|request| (request.key.as_str(), request.value.as_str())).collect();
    values.sort_unstable();
    let values = values.iter().flat_map(|(key, value)| [key.as_bytes().to_vec(), value.as_bytes().to_vec()]);
    let files = plugins.iter().flat_map(|plugin| plugin.parts().map(<[u8]>::to_vec));
    TrustContent {
        subject: TrustSubject::Settings,
        identity: ProjectIdentity::of(&file.path),
        parts: values.chain(files).collect(),
    }
}

fn right(request: &TrustRequest, commands: &[String]) -> RequestedRight {
    RequestedRight {
        key: request.key.clone(),
        value: request.value.clone(),
        why: request.why,
        line: request.source.line.unwrap_or_default(),
        runs: if request.key == "plugins" { commands.to_vec() } else { Vec::new() },
    }
}

/// Returns the values of a project's settings and the workflows that need trust, for work in a folder.
pub fn review(home: &Home, cwd: &Path) -> Result<TrustReview, UserError> {
    let workflows = replacements::of_project(home, cwd);
    let Some(file) = config::project_file(cwd)? else {
        let project = workflows.first().map_or_else(|| cwd.to_owned(), |workflow| workflow.project.clone());
        let requests = Vec::new();
        return Ok(TrustReview {
            project,
            file: None,
            requests,
            are_settings_trusted: true,
            workflows,
            content: None,
        });
    };
    let JudgedSettings { resolved, content, requests } =
        judge(home, cwd, &config::layers(home, Vec::new())?, &file);
    if let Some(problem) = UserError::of(&resolved.diagnostics) {
        return Err(problem);
    }
    let are_settings_trusted = resolved.withheld().next().is_none();
    let project = identity::folder_of(&file.path);
    let file = Some(file.path);
    Ok(TrustReview { project, file, requests, are_settings_trusted, workflows, content })
}

impl TrustReview {
    /// Decides whether a person trusts everything that needs trust.
    pub fn is_trusted(&self) -> bool {
        self.are_settings_trusted && self.workflows.iter().all(|workflow| workflow.is_trusted)
    }

    /// Trusts the values and workflows of this review. If a file has changed since, the new content is not
    /// trusted.
    pub fn grant(&mut self, home: &Home) -> Result<(), UserError> {
        refuse_agents()?;
        self.grant_settings(home)?;
        self.are_settings_trusted = true;
        for workflow in &mut self.workflows {
            let shown = |part: &WorkflowText| TrustedSetting {
                key: format!("workflow {}", workflow.name),
                value: part.file.display().to_string(),
            };
            let files = workflow.files.iter().map(shown).collect();
            keep(home, &workflow.content, &workflow.project, files)?;
            workflow.is_trusted = true;
        }
        Ok(())
    }

    fn grant_settings(&self, home: &Home) -> Result<(), UserError> {
        let content = match &self.content {
            None => return Ok(()),
            Some(Ok(content)) => content,
            Some(Err(why)) => {
                let text =
                    format!("the settings cannot be trusted, because Windlass would miss changes: {why}");
                return Err(UserError::new(UserErrorKind::Configuration, text));
            }
        };
        let setting = |request: &RequestedRight| TrustedSetting {
            key: request.key.clone(),
            value: request.value.clone(),
        };
        keep(home, content, &self.project, self.requests.iter().map(setting).collect())
    }
}

/// Writes a decision.
fn keep(
    home: &Home,
    content: &TrustContent,
    project: &Path,
    settings: Vec<TrustedSetting>,
) -> Result<(), UserError> {
    let folder = home.state.join(FOLDER);
    files::make_private_dir(&folder).map_err(|error| unwritable(&folder, &error.why()))?;
    let key = key(home)?;
    let file = TrustFile {
        v: VERSION,
        project: project.to_string_lossy().into_owned(),
        trusted_ms: now().0,
        settings,
        workflow: content.subject.workflow().map(str::to_owned),
        seal: content.seal(key),
    };
    let path = path_of(home, key, &content.identity, &content.subject);
    let bytes = serde_json::to_vec(&file).map_err(|error| unwritable(&path, &error.to_string()))?;
    files::write_atomic(&path, &bytes, FileMode::Private).map_err(|error| unwritable(&path, &error.why()))
}

/// Takes back the trust in the project of a folder. Returns false if nobody trusted it.
pub fn revoke(home: &Home, cwd: &Path) -> Result<bool, UserError> {
    refuse_agents()?;
    let folder = home.state.join(FOLDER);
    if !folder.exists() {
        return Ok(false);
    }
    let key = key(home)?;
    // A broken file must not keep anybody from taking back trust.
    let identity =
        |name: &str| config::project_dir(cwd, name).map(|dir| ProjectIdentity::of(&dir.join(name)));
    let path = |identity: &ProjectIdentity, subject| path_of(home, key, identity, &subject);
    let mut own: Vec<PathBuf> = Vec::new();
    own.extend(identity("config.toml").map(|identity| path(&identity, TrustSubject::Settings)));
    if let Some(identity) = identity("workflows") {
        let names = replacements::UNNAMED.iter().map(|name| TrustSubject::Workflow((*name).to_owned()));
        own.extend(names.map(|subject| path(&identity, subject)));
    }
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let named = decisions(home)?.into_iter().filter(|(_, file)| Path::new(&file.project) == real);
    let mut was_trusted = false;
    for path in own.into_iter().chain(named.map(|(path, _)| path)) {
        match std::fs::remove_file(&path) {
            Ok(()) => was_trusted = true,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(unwritable(&path, &error.to_string())),
        }
    }
    Ok(was_trusted)
}

/// Returns the projects that a person trusted, in the order of their paths.
pub fn trusted_projects(home: &Home) -> Result<Vec<TrustedProject>, UserError> {
    let project = |(_, file): (PathBuf, TrustFile)| {
        let project = PathBuf::from(&file.project);
        let settings = file.settings.into_iter().map(|setting| (setting.key, setting.value)).collect();
        let state = match &file.workflow {
            Some(name) => state_of_workflow(home, &project, name),
            None => state_of_settings(home, &project),
        };
        TrustedProject { project, at: Moment(file.trusted_ms), settings, state }
    };
    let mut projects: Vec<TrustedProject> = decisions(home)?.into_iter().map(project).collect();
    projects.sort_by(|one, other| one.project.cmp(&other.project));
    // The decisions about the settings and the workflows of a project are one for people.
    projects.dedup_by(|next, first| {
        let is_same = next.project == first.project;
        if is_same {
            first.settings.append(&mut next.settings);
            first.at = first.at.max(next.at);
            first.state = first.state.with(next.state);
        }
        is_same
    });
    Ok(projects)
}

fn state_of_settings(home: &Home, project: &Path) -> TrustState {
    match review(home, project) {
        Ok(TrustReview { content: None, .. }) => TrustState::Unused,
        Ok(review) if review.are_settings_trusted => TrustState::Trusted,
        Ok(_) | Err(_) => TrustState::Changed,
    }
}

fn state_of_workflow(home: &Home, project: &Path, name: &str) -> TrustState {
    match replacements::of_project(home, project).iter().find(|workflow| workflow.name == name) {
        None => TrustState::Unused,
        Some(workflow) if workflow.is_trusted => TrustState::Trusted,
        Some(_) => TrustState::Changed,
    }
}

/// Returns all decisions with their files.
fn decisions(home: &Home) -> Result<Vec<(PathBuf, TrustFile)>, UserError> {
    let folder = home.state.join(FOLDER);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(&folder, &error.to_string())),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter_map(|path| read_file(&path).map(|file| (path, file))).collect())
}

/// Reads a decision. An unreadable one is none: a person can trust the project again.
fn read_file(path: &Path) -> Option<TrustFile> {
    let bytes = files::read_bounded(path, MAX).ok()?;
    serde_json::from_slice::<TrustFile>(&bytes).ok().filter(|file| file.v == VERSION)
}

fn path_of(home: &Home, key: InboxKey, identity: &ProjectIdentity, subject: &TrustSubject) -> PathBuf {
    let name = match subject {
        TrustSubject::Settings => key.digest([b"project".as_slice(), identity.bytes()]),
        TrustSubject::Workflow(name) => {
            key.digest([b"workflow".as_slice(), identity.bytes(), name.as_bytes()])
        }
    };
    home.state.join(FOLDER).join(format!("{name}.json"))
}

fn key(home: &Home) -> Result<InboxKey, UserError> {
    let path = InboxKey::path(&home.state);
    InboxKey::of(&home.state).map_err(|error| unreadable(&path, &error.to_string()))
}

/// Refuses every process below a session, whatever face it uses.
fn refuse_agents() -> Result<(), UserError> {
    match person::refusal(WHAT) {
        None => Ok(()),
        Some(why) => Err(UserError::new(UserErrorKind::Refused, why)),
    }
}

fn unwritable(path: &Path, why: &str) -> UserError {
    UserError::new(UserErrorKind::Configuration, format!("{} cannot be written: {why}", path.display()))
}

fn unreadable(path: &Path, why: &str) -> UserError {
    UserError::new(UserErrorKind::Configuration, format!("{} cannot be read: {why}", path.display()))
}

const LEFT_OUT: &str = "left out; `windlass trust` shows it and lets you trust it";

/// Returns a warning for each value that is left out. The last one says what to do.
pub(crate) fn warnings(resolved: &Resolved) -> Vec<Diagnostic> {
    with_hint(resolved.withheld().map(|request| request.warning.clone()).collect())
}

/// Returns the warnings about some keys.
pub(crate) fn warnings_about(resolved: &Resolved, keys: &[&str]) -> Vec<Diagnostic> {
    let about = resolved.withheld().filter(|request| keys.contains(&request.key.as_str()));
    with_hint(about.map(|request| request.warning.clone()).collect())
}

fn with_hint(mut warnings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if let Some(last) = warnings.pop() {
        warnings.push(last.hint(Some(LEFT_OUT.to_owned())));
    }
    warnings
}

/// Returns the refusal of a run that nobody watches, if its settings ask for rights that nobody trusts.
pub(crate) fn refusal(resolved: &Resolved) -> Option<UserError> {
    let parts: Vec<ProblemPart> = resolved
        .withheld()
        .map(|request| Diagnostic { severity: Severity::Error, ..request.warning.clone() }.into())
        .collect();
    let first = ProblemPart::from("these settings need your trust, and nobody is at a terminal".to_owned());
    let hint = "`windlass trust` shows and trusts them; a script of yours can use --trust";
    let problem = UserError { class: UserErrorKind::Refused, parts, hint: Some(hint.to_owned()) };
    (!problem.parts.is_empty()).then(|| problem.after(vec![first]))
}

/// Adds to an error that the project's plugins are left out, because they may be the reason for it.
pub(crate) fn explain(problem: UserError, resolved: &Resolved) -> UserError {
    if problem.class != UserErrorKind::Configuration {
        return problem;
    }
    problem.after(warnings_about(resolved, &["plugins"]).into_iter().map(ProblemPart::from).collect())
}
