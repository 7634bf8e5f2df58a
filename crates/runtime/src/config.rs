//! Reads the layers of settings from their files. `forms::settings` interprets them.

use std::path::{Path, PathBuf};

use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::settings::{self, Layer, LayerKind, Resolved, SettingSource, Settings, resolve};
use windlass_peers::files;
use windlass_store::Durability;

use crate::home::Home;
use crate::trust;
use crate::user_error::{UserError, UserErrorKind};

/// The size limit of a settings file.
const MAX: u64 = 1 << 20;

/// One line of `windlass config show`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingLine {
    pub key: String,
    /// Its value, as TOML.
    pub value: String,
    /// The file, variable or flag that set it.
    pub source: String,
    /// Set if the value needs trust, because it comes with the repository. False if it is left out.
    pub trusted: Option<bool>,
}

/// Returns every setting with its source, and the errors in the files.
pub fn show(home: &Home, cwd: &Path) -> Result<(Vec<SettingLine>, Vec<Diagnostic>), UserError> {
    let resolved = read(home, cwd, Vec::new())?;
    let line = |shown: windlass_forms::settings::ShownSetting| SettingLine {
        key: shown.key,
        value: shown.value,
        source: shown.source.to_string(),
        trusted: shown.trusted,
    };
    Ok((resolved.show().into_iter().map(line).collect(), resolved.diagnostics))
}

/// Returns the durability setting, or the safest one if the settings cannot be read.
pub fn durability(home: &Home, cwd: &Path) -> Durability {
    match read(home, cwd, Vec::new()) {
        Ok(resolved) => durability_of(&resolved.settings),
        Err(_) => Durability::Full,
    }
}

pub(crate) fn durability_of(settings: &Settings) -> Durability {
    match settings.durability {
        settings::DurabilitySetting::Full => Durability::Full,
        settings::DurabilitySetting::Normal => Durability::Normal,
    }
}

/// Reads the settings. Leaves out the project's values that need trust and do not have it.
pub(crate) fn read(home: &Home, cwd: &Path, flags: Vec<(String, String)>) -> Result<Resolved, UserError> {
    let layers = layers(home, flags)?;
    Ok(match project_file(cwd)? {
        Some(file) => trust::judge(home, cwd, &layers, &file).resolved,
        None => resolve(layers),
    })
}

/// Reads every layer except the project's.
pub(crate) fn layers(home: &Home, flags: Vec<(String, String)>) -> Result<Vec<Layer>, UserError> {
    let user = home.config.join("config.toml");
    let text = text_of(&user)?.unwrap_or_default();
    Ok(vec![
        Layer::User { file: user.display().to_string(), text },
        Layer::Environment(home.env.clone()),
        Layer::Flags(flags),
    ])
}

/// A project's settings file, read once: the same bytes are judged and used.
pub(crate) struct ProjectFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// Reads `.windlass/config.toml` of this folder or the nearest one above it.
pub(crate) fn project_file(cwd: &Path) -> Result<Option<ProjectFile>, UserError> {
    let Some(dir) = project_dir(cwd, "config.toml") else { return Ok(None) };
    let path = dir.join("config.toml");
    Ok(text_of(&path)?.map(|text| ProjectFile { path, text }))
}

/// Finds the nearest `.windlass` folder that has a file of this name. Searches upwards, no farther than the
/// repository.
pub(crate) fn project_dir(cwd: &Path, name: &str) -> Option<PathBuf> {
    for dir in cwd.ancestors() {
        let ours = dir.join(".windlass");
        if ours.join(name).exists() {
            return Some(ours);
        }
        if dir.join(".git").exists() {
            break;
        }
    }
    None
}

/// Reads a file. Returns `None` if it does not exist.
pub(crate) fn text_of(file: &Path) -> Result<Option<String>, UserError> {
    try_text(file).map_err(|why| {
        UserError::new(UserErrorKind::Configuration, format!("{} cannot be read: {why}", file.display()))
    })
}

/// Reads a file. Returns `None` if it does not exist, or an error without the file name.
pub(crate) fn try_text(file: &Path) -> Result<Option<String>, String> {
    let bytes = match files::read_bounded(file, MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(error.why()),
    };
    String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// Returns the folder that relative paths in a setting start from.
pub(crate) fn base_of(source: &SettingSource, cwd: &Path) -> PathBuf {
    match source.layer {
        LayerKind::User | LayerKind::Project => Path::new(&source.name).parent().unwrap_or(cwd).to_owned(),
        LayerKind::Builtin | LayerKind::Environment | LayerKind::Flag => cwd.to_owned(),
    }
}
