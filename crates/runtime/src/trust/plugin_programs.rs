//! Reads what a plugin runs by itself: the files that declare its hooks and its servers.
//!
//! The programs that these files name are not read: a trusted command may run anything in the repository.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use windlass_peers::files;

/// The most plugins of a project, and the most commands to show.
pub(super) const MOST: usize = 64;
/// The most files of one plugin, the largest file, and the most bytes of all files.
const MOST_FILES: usize = 512;
const LARGEST: u64 = 1 << 20;
const LARGEST_SUM: usize = 8 << 20;

const MANIFEST: &str = ".claude-plugin/plugin.json";

/// The declarations of one plugin.
#[derive(Debug, Clone, Default)]
pub(super) struct PluginPrograms {
    /// The names of the files, each followed by its content.
    parts: Vec<Vec<u8>>,
    /// The command lines and addresses in them, for people.
    pub(super) commands: Vec<String>,
}

impl PluginPrograms {
    /// Reads the plugin in a folder. Fails if a declaration cannot be read: a change of it would not be
    /// noticed.
    pub(super) fn read(dir: &Path) -> Result<PluginPrograms, String> {
        let mut found = PluginPrograms::default();
        let manifest = content(dir, MANIFEST)?.unwrap_or_default();
        let mut names = BTreeSet::from([MANIFEST.to_owned()]);
        each_text(&serde_json::from_slice(&manifest).unwrap_or_default(), &mut |named| {
            if named.ends_with(".json") {
                names.insert(named.trim_start_matches("./").to_owned());
            }
        });
        for (folder, start) in [("", "."), (".claude-plugin", ""), ("hooks", "")] {
            names.extend(json_files(dir, folder, start));
        }
        let mut size = 0;
        for name in &names {
            let content = content(dir, name)?;
            size += content.as_ref().map_or(0, Vec::len);
            if names.len() > MOST_FILES || size > LARGEST_SUM {
                return Err(format!("{} declares more than Windlass compares", dir.display()));
            }
            let text = content.as_deref().unwrap_or_default();
            add_commands(&serde_json::from_slice(text).unwrap_or_default(), &mut found.commands);
            let is_there: &[u8] = if content.is_some() { b"file" } else { b"none" };
            found.parts.extend([name.as_bytes(), is_there, text].map(<[u8]>::to_vec));
        }
        Ok(found)
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().map(Vec::as_slice)
    }
}

/// Reads a file of the plugin. Returns `None` if it does not exist or is outside, where the agent CLI does not
/// look.
fn content(dir: &Path, name: &str) -> Result<Option<Vec<u8>>, String> {
    let Ok(path) = files::inside(dir, Path::new(name)) else { return Ok(None) };
    match files::read_bounded(&path, LARGEST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {}", path.display(), error.why())),
    }
}

/// Returns the JSON files of a folder whose names begin with `start`. One more than the most is enough to know.
fn json_files(dir: &Path, folder: &str, start: &str) -> Vec<String> {
    let entries = std::fs::read_dir(dir.join(folder)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names = names.filter(|name| name.starts_with(start) && name.ends_with(".json"));
    let path = |name: String| if folder.is_empty() { name } else { format!("{folder}/{name}") };
    names.take(MOST_FILES + 1).map(path).collect()
}

fn each_text(value: &Value, act: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => act(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, act)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, act)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Adds the command lines of hooks and servers, and the addresses of servers elsewhere.
fn add_commands(value: &Value, commands: &mut Vec<String>) {
    if let Value::Array(items) = value {
        items.iter().for_each(|item| add_commands(item, commands));
    }
    let Value::Object(fields) = value else { return };
    let args = fields.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let line = match (fields.get("command"), fields.get("url")) {
        (Some(Value::String(command)), _) => {
            Some(std::iter::once(command.as_str()).chain(args).collect::<Vec<_>>().join(" "))
        }
        (_, Some(Value::String(url))) => Some(url.clone()),
        _ => None,
    };
    if let Some(line) = line.filter(|line| commands.len() < MOST && !commands.contains(line)) {
        commands.push(line);
    }
    fields.values().for_each(|field| add_commands(field, commands));
}
