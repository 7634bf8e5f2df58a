//! Merges the layers into the settings.

use std::collections::BTreeMap;

use serde::Serialize;

use super::key::{self, TakenValue};
use super::layer::{Layer, LayerKind, ProjectTrust, SettingSource};
use super::pairs::{Variable, flag_name, variable};
use super::prices;
use super::project::{TrustRequest, needs_trust};
use super::setting_value::SettingValue;
use super::table::{self, TableEntry};
use super::value::Settings;
use super::words::ISOLATIONS;
use crate::diagnostic::{Diagnostic, Severity};
use crate::diagnostics::Diagnostics;
use crate::words::quoted;

/// The built-in layer, as a commented TOML file.
pub const DEFAULT_SETTINGS: &str = include_str!("default.toml");

/// The settings, with the source of each and the problems found.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// An invalid value leaves the value of the layer below in place.
    pub settings: Settings,
    /// The problems, layer by layer.
    pub diagnostics: Vec<Diagnostic>,
    /// The source of each key (`driver`, `checks.test`, `agents.claude.program`). For a list, the
    /// highest layer that added to it.
    pub sources: BTreeMap<String, SettingSource>,
    /// The values of the project's file that need trust, in the order of the file.
    pub requests: Vec<TrustRequest>,
}

/// One line of `windlass config show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownSetting {
    /// The dotted key.
    pub key: String,
    /// The value, as TOML.
    pub value: String,
    pub source: SettingSource,
    /// Set if the value comes from a project's file and needs trust. False if it is left out.
    pub trusted: Option<bool>,
}

impl Resolved {
    /// Returns every key that has a value, and the values that are left out because nobody trusts them.
    pub fn show(&self) -> Vec<ShownSetting> {
        let with_source = |(key, value): (String, String)| {
            let source = self.sources.get(&key)?.clone();
            let is_granted = self.requests.iter().any(|request| request.key == key && request.is_granted);
            Some(ShownSetting { key, value, source, trusted: is_granted.then_some(true) })
        };
        let mut shown: Vec<ShownSetting> =
            key::show(&self.settings).into_iter().filter_map(with_source).collect();
        for TrustRequest { key, value, source, .. } in self.withheld() {
            let after = shown.iter().rposition(|line| line.key == *key).map_or(shown.len(), |at| at + 1);
            let (key, value, source) = (key.clone(), value.clone(), source.clone());
            shown.insert(after, ShownSetting { key, value, source, trusted: Some(false) });
        }
        shown
    }

    /// Returns the values that are left out because nobody trusts them.
    pub fn withheld(&self) -> impl Iterator<Item = &TrustRequest> {
        self.requests.iter().filter(|request| !request.is_granted)
    }

    /// Decides whether a variable or a flag set a key, that is, a person for this run only.
    pub fn is_asked_for(&self, key: &str) -> bool {
        self.sources.get(key).is_some_and(|source| source.layer >= LayerKind::Environment)
    }

    /// Decides whether a key still has its built-in value.
    pub fn is_builtin(&self, key: &str) -> bool {
        self.sources.get(key).is_none_or(|source| source.layer == LayerKind::Builtin)
    }
}

/// Merges the built-in layer and the given layers, in the order of their kinds.
pub fn resolve(mut layers: Vec<Layer>) -> Resolved {
    layers.sort_by_key(Layer::kind);
    let mut resolving = Resolving {
        resolved: Resolved {
            settings: Settings::blank(),
            diagnostics: Vec::new(),
            sources: BTreeMap::new(),
            requests: Vec::new(),
        },
        trust: ProjectTrust::Untrusted,
    };
    resolving.take_file(LayerKind::Builtin, "default.toml", DEFAULT_SETTINGS);
    for layer in layers {
        match layer {
            Layer::User { file, text } => resolving.take_file(LayerKind::User, &file, &text),
            Layer::Project { file, text, trust } => {
                resolving.trust = trust;
                resolving.take_file(LayerKind::Project, &file, &text);
            }
            Layer::Environment(pairs) => resolving.take_environment(&pairs),
            Layer::Flags(pairs) => resolving.take_flags(&pairs),
        }
    }
    resolving.limit_isolation();
    let Resolved { settings, sources, .. } = &resolving.resolved;
    // Another mistake may be the reason that a price lacks a part.
    if !resolving.resolved.diagnostics.iter().any(Diagnostic::is_error) {
        let incomplete = prices::incomplete(settings, sources);
        resolving.resolved.diagnostics.extend(incomplete);
    }
    resolving.resolved
}

struct Resolving {
    resolved: Resolved,
    trust: ProjectTrust,
}

impl Resolving {
    fn take_file(&mut self, layer: LayerKind, file: &str, text: &str) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut findings = Diagnostics::in_text(text, Some(file));
        let entries = table::read(text, &mut findings);
        let (mut line, mut counted) = (1, 0);
        for entry in entries {
            // Entries come in the order of the text, so this reads each byte once.
            line += text.get(counted..entry.key_at).unwrap_or_default().matches('\n').count();
            counted = counted.max(entry.key_at);
            let source = SettingSource { layer, name: file.to_owned(), line: Some(line) };
            self.take(&entry, &source, &mut findings);
        }
        self.resolved.diagnostics.extend(findings.finish());
    }

    fn take_environment(&mut self, pairs: &[(String, String)]) {
        for (name, value) in pairs {
            let mut findings = Diagnostics::in_pair(name);
            match variable(name, value) {
                Variable::Key(path, given) => {
                    self.take_pair(LayerKind::Environment, name, path, given, &mut findings)
                }
                Variable::Unknown(hint) => {
                    findings.warn(0, "this variable is not a setting and is ignored", hint)
                }
                Variable::Refused(hint) => {
                    findings.error(0, "this variable is not a setting: ignoring it could drop a limit", hint)
                }
                Variable::Foreign => {}
            }
            self.resolved.diagnostics.extend(findings.finish());
        }
    }

    fn take_flags(&mut self, pairs: &[(String, String)]) {
        for (key, value) in pairs {
            let path: Vec<&str> = path_of_flag(key);
            let name = flag_name(&path);
            let path = path.into_iter().map(str::to_owned).collect();
            let mut findings = Diagnostics::in_pair(&name);
            self.take_pair(LayerKind::Flag, &name, path, SettingValue::Typed(value.clone()), &mut findings);
            self.resolved.diagnostics.extend(findings.finish());
        }
    }

    fn take_pair(
        &mut self,
        layer: LayerKind,
        name: &str,
        path: Vec<String>,
        given: SettingValue,
        findings: &mut Diagnostics<'_>,
    ) {
        let source = SettingSource { layer, name: name.to_owned(), line: None };
        self.take(&TableEntry { path, key_at: 0, value_at: 0, given }, &source, findings);
    }

    fn take(&mut self, entry: &TableEntry, source: &SettingSource, findings: &mut Diagnostics<'_>) {
        let path: Vec<&str> = entry.path.iter().map(String::as_str).collect();
        let key = key::dotted(&path);
        if source.layer == LayerKind::Project && self.is_left_out(entry, &path, source, findings) {
            return;
        }
        match key::take(&mut self.resolved.settings, &path, &entry.given, source) {
            TakenValue::Yes => {
                self.resolved.sources.insert(key, source.clone());
            }
            TakenValue::Refused(hint) => {
                let message = format!("unknown key {}: ignoring it could drop a limit", quoted(&key));
                findings.error(entry.key_at, &message, hint);
            }
            TakenValue::Unknown(hint) => {
                findings.warn(entry.key_at, &format!("unknown key {} is ignored", quoted(&key)), hint)
            }
            TakenValue::Wrong(wrong) => {
                let at = wrong.at.unwrap_or(entry.value_at);
                findings.error(at, &format!("{} {}", quoted(&key), wrong.message), wrong.hint);
            }
        }
    }

    /// Records a value of a project's file that needs trust. Returns true if nobody has trusted it. An invalid
    /// value is an error like any other.
    fn is_left_out(
        &mut self,
        entry: &TableEntry,
        path: &[&str],
        source: &SettingSource,
        findings: &Diagnostics<'_>,
    ) -> bool {
        let settings = &self.resolved.settings;
        let Some(why) = needs_trust(path, &entry.given, settings) else { return false };
        let is_valid =
            matches!(key::take(&mut settings.clone(), path, &entry.given, source), TakenValue::Yes);
        if !is_valid {
            return false;
        }
        let (key, is_granted) = (key::dotted(path), self.trust == ProjectTrust::Trusted);
        let message = format!("{} needs your trust: {why}", quoted(&key));
        let warning = findings.warning(entry.key_at, &message);
        let (value, source) = (entry.given.as_toml(), source.clone());
        self.resolved.requests.push(TrustRequest { key, value, why, source, is_granted, warning });
        !is_granted
    }

    /// Lowers `isolation` to `max_isolation`. A higher value is an error if the user set it, a warning
    /// in a project's file, and silent for the built-in value.
    fn limit_isolation(&mut self) {
        let Resolved { settings, diagnostics, sources, .. } = &mut self.resolved;
        if settings.isolation <= settings.max_isolation {
            return;
        }
        let (wanted, most) = (ISOLATIONS.word(settings.isolation), ISOLATIONS.word(settings.max_isolation));
        settings.isolation = settings.max_isolation;
        let asked = sources.get("isolation").cloned();
        if let Some(limit) = sources.get("max_isolation").cloned() {
            sources.insert("isolation".to_owned(), limit);
        }
        let severity = match asked.as_ref().map(|source| source.layer) {
            None | Some(LayerKind::Builtin) => return,
            Some(LayerKind::Project) => Severity::Warning,
            Some(LayerKind::User | LayerKind::Environment | LayerKind::Flag) => Severity::Error,
        };
        let message = format!("`isolation` `{wanted}` is above `max_isolation`, which is `{most}`");
        let place = asked.map(|source| source.to_string());
        diagnostics.push(Diagnostic::new(severity, &message).in_file(place.as_deref()));
    }
}

/// Splits the key of a flag. Only tables have levels, so `checks.my.test` is the check `my.test`.
fn path_of_flag(key: &str) -> Vec<&str> {
    match key.split_once('.') {
        Some(("agents", rest)) => std::iter::once("agents").chain(rest.splitn(2, '.')).collect(),
        Some((table, rest)) => vec![table, rest],
        None => vec![key],
    }
}
