//! Finds and reads all entities.
//!
//! It uses one thread, because two took just as long for ten thousand files.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use windlass_core::entity::{Entity, EntityKind, EntitySource, Provider};
use windlass_core::registry::Registry;
use windlass_core::registry::roles::{RoleError, cast};
use windlass_forms::diagnostic::{Diagnostic, Severity};
use windlass_forms::entity::{DefaultLimits, builtin};
use windlass_forms::settings::Resolved;
use windlass_peers::files::read_bounded;
use windlass_peers::files::walk::{FoundFile, FoundFiles, walk, walk_to_watch};
use windlass_peers::files::watch::{WatchPoint, approach};

use super::cache::{Cache, CachedFile, source};
use super::read::{FileRead, diagnostic, read_file};
use super::roots::{self, RootPlace, Roots};
use crate::config;
use crate::home::Home;
use crate::user_error::UserError;

/// All entities that were found, with their diagnostics.
#[derive(Debug, Default)]
pub struct LoadedEntities {
    pub registry: Registry,
    /// Sorted by file and line.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of entity files.
    pub files: usize,
    /// The number of files that were read; the others came from the cache.
    pub read: usize,
}

/// Returns one line per provider with the number of its entities.
pub fn start_up_lines(registry: &Registry) -> Vec<String> {
    registry.counts().iter().map(|counts| format!("[entities] {counts}")).collect()
}

impl LoadedEntities {
    /// Returns the error in the file that should contain an entity of this name.
    pub fn broken(&self, name: &str) -> Option<&Diagnostic> {
        broken(&self.diagnostics, name)
    }

    /// Returns the errors of broken files, by the name of the entity they should contain.
    pub(crate) fn broken_names(&self) -> BTreeMap<String, String> {
        let errors = self.diagnostics.iter().rev().filter(|problem| problem.is_error());
        errors.filter_map(|problem| Some((name_of(problem)?, why(problem)))).collect()
    }

    /// Decides whether a person would see no difference.
    pub(super) fn says_the_same(&self, other: &LoadedEntities) -> bool {
        self.diagnostics == other.diagnostics && self.registry.all().eq(other.registry.all())
    }
}

/// Returns the error in the file that should contain an entity of this name.
fn broken<'d>(diagnostics: &'d [Diagnostic], name: &str) -> Option<&'d Diagnostic> {
    let name = name.rsplit([':', '/']).next().unwrap_or(name).to_lowercase();
    // An `opencode.json` contains the limits of many entities.
    let is_its = |problem: &&Diagnostic| name_of(problem).is_none_or(|held| held == name);
    diagnostics.iter().filter(|problem| problem.is_error()).find(is_its)
}

/// Returns the name of the entity that a broken file should contain; `None` for a file with many.
fn name_of(problem: &Diagnostic) -> Option<String> {
    let path = Path::new(problem.file.as_deref().unwrap_or_default());
    let text =
        |part: Option<&OsStr>| part.map(|part| part.to_string_lossy().to_lowercase()).unwrap_or_default();
    let file = text(path.file_name());
    match file.as_str() {
        "skill.md" => Some(text(path.parent().and_then(Path::file_name))),
        "opencode.json" | "opencode.jsonc" => None,
        // `x.agent.md` contains `x`.
        _ => Some(file.split('.').next().unwrap_or_default().to_owned()),
    }
}

/// Describes a diagnostic and its position on one line.
pub fn why(problem: &Diagnostic) -> String {
    let Diagnostic { file, place, message, .. } = problem;
    match (file, place) {
        (Some(file), Some(place)) => format!("{message} ({file}:{}:{})", place.line, place.column),
        (Some(file), None) => format!("{message} ({file})"),
        (None, _) => message.clone(),
    }
}

/// Reports a command or skill that cannot be used, because the limits of its agent are unknown.
fn miscast(lost: &RoleError, diagnostics: &[Diagnostic]) -> Diagnostic {
    let RoleError { entity, agent, near } = lost;
    let what = format!("{} `{}` is done by agent `{agent}`", entity.kind, entity.name);
    let (message, hint) = match broken(diagnostics, agent) {
        Some(Diagnostic { file: Some(file), message, .. }) => {
            (format!("{what}, which cannot be used: {message}"), format!("correct {file}"))
        }
        _ => {
            let near = near.as_ref().map(|near| format!("did you mean `{near}`?"));
            let hint = near
                .unwrap_or_else(|| "name an agent that `windlass entities --type agent` lists".to_owned());
            (format!("{what}, and there is no such agent"), hint)
        }
    };
    let path = &entity.source.path;
    let diagnostic = Diagnostic::new(Severity::Error, &message).in_file(Some(path)).hint(Some(hint));
    let text = read_bounded(Path::new(path), MOST_READ).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.unwrap_or_default();
    match place_of(&text, entity.source.line, agent) {
        Some(at) => diagnostic.at(&text, at),
        None => diagnostic,
    }
}

/// The maximum size of an entity file.
const MOST_READ: u64 = 1 << 20;

/// Returns the position where a file names the agent, from the line of its entity on.
fn place_of(text: &str, line: u32, agent: &str) -> Option<usize> {
    let mut at = 0;
    for (number, written) in (1_u32..).zip(text.split_inclusive('\n')) {
        let is_named = number >= line && (written.contains("agent") || written.contains("mode"));
        if let Some(column) = written.rfind(agent).filter(|_| is_named) {
            return Some(at + column);
        }
        at += written.len();
    }
    None
}

/// Loads all entities for work in a folder. A file that cannot be used becomes a diagnostic.
pub fn load(home: &Home, cwd: &Path, plugins: &[PathBuf]) -> Result<LoadedEntities, UserError> {
    Ok(load_with(home, cwd, plugins, &config::read(home, cwd, Vec::new())?))
}

/// Loads all entities with settings that are already resolved.
pub(crate) fn load_with(home: &Home, cwd: &Path, plugins: &[PathBuf], resolved: &Resolved) -> LoadedEntities {
    let roots = roots::find(home, cwd, plugins, resolved);
    let walk = |spot: &RootPlace<'_>| walk(&spot.path, spot.place.shape, spot.root.inside.as_deref());
    look(home, &roots, walk)
}

/// Loads all entities, and returns the paths to watch for changes.
pub(super) fn load_and_points(
    home: &Home,
    cwd: &Path,
    plugins: &[PathBuf],
) -> Result<(LoadedEntities, Vec<WatchPoint>), UserError> {
    let resolved = config::read(home, cwd, Vec::new())?;
    let roots = roots::find(home, cwd, plugins, &resolved);
    let mut points = Vec::new();
    let loaded = look(home, &roots, |spot| {
        // Before the walk, so that changes during the walk are noticed.
        points.extend(approach(&spot.start, &spot.path));
        let (walked, watched) = walk_to_watch(&spot.path, spot.place.shape, spot.root.inside.as_deref());
        points.extend(watched.into_iter().map(|path| WatchPoint { path, name: None }));
        walked
    });
    for file in &roots.settings {
        points.extend(file.parent().map(|base| approach(base, file)).unwrap_or_default());
    }
    Ok((loaded, points))
}

/// A file in an entity place.
pub(super) struct PlaceFile<'a> {
    pub(super) spot: &'a RootPlace<'a>,
    pub(super) found: FoundFile,
}

fn look(home: &Home, roots: &Roots, mut walk: impl FnMut(&RootPlace<'_>) -> FoundFiles) -> LoadedEntities {
    let spots: Vec<RootPlace<'_>> = roots.spots().collect();
    let mut diagnostics = roots.diagnostics.clone();
    let mut items = Vec::new();
    for spot in &spots {
        let walked = walk(spot);
        diagnostics.extend(walked.findings.iter().map(diagnostic));
        items.extend(walked.files.into_iter().map(|found| PlaceFile { spot, found }));
    }
    keep_each_once(&mut items);
    let mut cache = Cache::open(&home.state, &roots.describe());
    let mut entities = Vec::with_capacity(items.len() + 64);
    let (mut known, mut read) = (Vec::with_capacity(items.len()), 0);
    let (mut grounds, mut defaults) = (Vec::new(), Vec::new());
    let now = now();
    for (number, item) in items.iter_mut().enumerate() {
        let before = entities.len();
        if !cache.take(item, &mut entities) {
            read += 1;
            let outcome = read_file(item.spot, &item.found);
            let is_lasting = is_lasting(item, &outcome, now);
            item.found.stamp = outcome.stamp.unwrap_or(item.found.stamp);
            let place = (item.spot.root.level, item.spot.root.distance);
            let (provider, of_file) = (item.spot.place.provider, outcome.read.default_limits);
            grounds.extend(of_file.into_iter().map(|context| (place, provider, context)));
            defaults.extend(outcome.read.default_agent.map(|agent| (place, provider, agent)));
            entities.extend(outcome.read.entities);
            diagnostics.extend(outcome.read.diagnostics);
            if !is_lasting {
                continue;
            }
        }
        known.push(CachedFile { item: number, entities: before..entities.len() });
    }
    cache.renew(&items, &known, &entities);
    // The farthest first: of two rules that match a call, the last one counts.
    grounds.sort_by_key(|(place, ..)| std::cmp::Reverse(*place));
    for (_, provider, context) in grounds.iter().rev() {
        lay(context, *provider, &mut entities);
    }
    // The nearest first: an entity keeps the first agent that is named for it.
    defaults.sort_by_key(|(place, ..)| *place);
    for (_, provider, agent) in &defaults {
        name_agent(agent, *provider, &mut entities);
    }
    let said = |provider: Provider, name: &str| {
        let is_meant =
            |agent: &Option<String>| agent.as_ref().is_none_or(|agent| agent.to_lowercase() == name);
        let meant =
            grounds.iter().filter(|(_, other, context)| *other == provider && is_meant(&context.agent));
        meant
            .map(|(.., context)| context.rules.clone())
            .collect::<Option<Vec<_>>>()
            .map(|rules| rules.concat())
    };
    for lost in cast(&mut entities, &said) {
        let diagnostic = miscast(&lost, &diagnostics);
        diagnostics.push(diagnostic);
    }
    entities.extend(builtin());
    sort(&mut diagnostics);
    LoadedEntities { registry: Registry::new(entities), diagnostics, files: items.len(), read }
}

/// Names an agent for all commands and skills of a provider that name none.
fn name_agent(agent: &str, provider: Provider, entities: &mut [Entity]) {
    let is_meant = |entity: &&mut Entity| {
        entity.source.provider == provider && entity.kind != EntityKind::Agent && entity.agents.is_empty()
    };
    for entity in entities.iter_mut().filter(is_meant) {
        entity.agents.push(agent.to_owned());
    }
}

/// Puts default limits before the agents' own limits, or removes agents that are disabled.
fn lay(context: &DefaultLimits, provider: Provider, entities: &mut Vec<Entity>) {
    let is_meant = |entity: &Entity| {
        let is_named = |name: &String| name.to_lowercase() == entity.name.to_lowercase();
        entity.source.provider == provider
            && entity.kind == EntityKind::Agent
            && context.agent.as_ref().is_none_or(is_named)
    };
    match &context.rules {
        None => entities.retain(|entity| !is_meant(entity)),
        Some(rules) => {
            for entity in entities.iter_mut().filter(|entity| is_meant(entity)) {
                entity.limits.splice(0..0, rules.iter().cloned());
            }
        }
    }
}

/// Decides whether the entities of a file may be cached: it has no diagnostics, did not change just now, and
/// its entities have the usual source.
fn is_lasting(item: &PlaceFile<'_>, outcome: &FileRead, now: i64) -> bool {
    let FileRead { read, stamp: Some(stamp) } = outcome else { return false };
    let expected = source(item);
    let is_plain =
        |entity: &Entity| entity.source == EntitySource { line: entity.source.line, ..expected.clone() };
    read.diagnostics.is_empty()
        && read.default_limits.is_empty()
        && read.default_agent.is_none()
        && !stamp.is_fresh(now)
        && read.entities.iter().all(is_plain)
}

/// Keeps a file that is reached by two paths under the same name only once, at the nearer path.
fn keep_each_once(items: &mut Vec<PlaceFile<'_>>) {
    let mut inodes: Vec<u64> = items.iter().map(|item| item.found.stamp.inode).collect();
    inodes.sort_unstable();
    let is_alone = |inode: u64| {
        let at = inodes.partition_point(|other| *other < inode);
        inodes.get(at + 1) != Some(&inode)
    };
    let mut first: HashMap<_, PathBuf> = HashMap::new();
    items.retain(|PlaceFile { spot, found }| {
        if is_alone(found.stamp.inode) {
            return true;
        }
        let Ok(real) = Path::new(&found.path).canonicalize() else { return true };
        let plugin = spot.root.plugin.as_ref().map(|plugin| plugin.root.as_str());
        let key = (found.device, found.stamp.inode, found.name.clone(), spot.place.kind, plugin);
        // A hard link has its own path and counts as another file.
        match first.entry(key) {
            Entry::Occupied(one) => *one.get() != real,
            Entry::Vacant(place) => {
                place.insert(real);
                true
            }
        }
    });
}

/// Returns nanoseconds since 1970. Called before anything is read, so that later changes count as fresh.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|a, b| {
        let place = |d: &Diagnostic| d.place.as_ref().map(|place| (place.line, place.column));
        (&a.file, place(a), &a.message).cmp(&(&b.file, place(b), &b.message))
    });
}
