//! Probes: an entity of its own in every place that Windlass knows, in the words of whom it is for.
//!
//! Each has a name, a word in its description and one in its text that stand nowhere else, so that
//! whoever says them has read that very file.

use std::path::PathBuf;

use serde_json::json;
use windlass_core::entity::{EntityKind, Level, Provider};
use windlass_core::registry::places::{Base, EntityPlace, PLACES, PlaceShape};
use windlass_testkit::Sealed;

/// The plugin in whose folder the places of plugins lie.
pub(crate) const PLUGIN: &str = "probes";

/// An entity that was planted.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    pub(crate) provider: Provider,
    pub(crate) kind: EntityKind,
    pub(crate) base: Base,
    /// As a person calls it.
    pub(crate) name: String,
    /// Stands in its description alone.
    pub(crate) tale: String,
    /// Stands in its text alone, followed by its arguments.
    pub(crate) text: String,
    /// The path, with `*` for the name: `~/.codex/skills/*/SKILL.md`.
    pub(crate) spot: String,
    pub(crate) file: PathBuf,
}

impl Probe {
    /// The level it is found at; a plugin has none of its own.
    pub(crate) fn level(&self) -> Option<Level> {
        match self.base {
            Base::Project => Some(Level::Project),
            Base::Home | Base::Config => Some(Level::User),
            Base::Plugin => None,
        }
    }
}

/// A sealed place with probes everywhere.
pub(crate) struct Planted {
    pub(crate) sealed: Sealed,
    pub(crate) probes: Vec<Probe>,
}

impl Planted {
    /// A probe in every place, and one more in a folder below where folders are part of the name.
    pub(crate) fn everywhere() -> Planted {
        let mut planted = Planted { sealed: Sealed::new(), probes: Vec::new() };
        let manifest = json!({"name": PLUGIN, "version": "1.0.0", "description": "For tests"});
        planted.sealed.write(format!("{PLUGIN}/.claude-plugin/plugin.json"), manifest.to_string());
        PLACES.iter().for_each(|place| planted.plant(place));
        planted
    }

    /// The probes of a provider that are of a kind.
    pub(crate) fn of(&self, provider: Provider, kind: EntityKind) -> impl Iterator<Item = &Probe> {
        self.probes.iter().filter(move |probe| probe.provider == provider && probe.kind == kind)
    }

    pub(crate) fn plugin(&self) -> PathBuf {
        self.sealed.root().join(PLUGIN)
    }

    fn plant(&mut self, place: &EntityPlace) {
        let path = place.path;
        match place.shape {
            PlaceShape::Skills => self.plant_file(place, &format!("{path}/*/SKILL.md"), ""),
            PlaceShape::SkillTree => {
                self.plant_file(place, &format!("{path}/*/SKILL.md"), "");
                self.plant_file(place, &format!("{path}/front/*/SKILL.md"), "");
            }
            PlaceShape::Files(endings) => {
                endings.iter().for_each(|ending| self.plant_file(place, &format!("{path}/*{ending}"), ""));
            }
            PlaceShape::Tree(endings, joint) => {
                for ending in endings {
                    self.plant_file(place, &format!("{path}/*{ending}"), "");
                    self.plant_file(place, &format!("{path}/front/*{ending}"), &format!("front{joint}"));
                }
            }
            PlaceShape::Document => self.plant_document(place),
        }
    }

    /// The next probe, at this spot below its base; not written yet.
    fn probe(&self, place: &EntityPlace, kind: EntityKind, spot: &str, folder: &str) -> Probe {
        let number = self.probes.len();
        let own = format!("{kind}-{number}-x");
        let (root, sign) = match place.base {
            Base::Project => (self.sealed.repo(), "."),
            Base::Home => (self.sealed.home(), "~"),
            Base::Config => (self.sealed.config(), "$XDG_CONFIG_HOME"),
            Base::Plugin => (self.plugin(), "$PLUGIN"),
        };
        let plugin = if place.base == Base::Plugin { format!("{PLUGIN}:") } else { String::new() };
        Probe {
            provider: place.provider,
            kind,
            base: place.base,
            name: format!("{plugin}{folder}{own}"),
            tale: format!("tale-{number}-x"),
            text: format!("text-{number}-x"),
            spot: format!("{sign}/{spot}"),
            file: root.join(spot.replace('*', &own)),
        }
    }

    fn plant_file(&mut self, place: &EntityPlace, spot: &str, folder: &str) {
        let kind = place.kind.expect("a place of files says what lies in them");
        let named = names_itself(place, kind, folder);
        let mut probe = self.probe(place, kind, spot, folder);
        if named {
            probe.name = probe.name.replace(folder, "");
        }
        self.sealed.write(&probe.file, in_its_format(&probe, named));
        self.probes.push(probe);
    }

    /// A command and an agent in one document.
    fn plant_document(&mut self, place: &EntityPlace) {
        let command = self.probe(place, EntityKind::Command, place.path, "");
        self.probes.push(Probe { spot: format!("{}: command", command.spot), ..command.clone() });
        let agent = self.probe(place, EntityKind::Agent, place.path, "");
        self.probes.push(Probe { spot: format!("{}: agent", agent.spot), ..agent.clone() });
        let document = json!({
            "$schema": "https://opencode.ai/config.json",
            "autoupdate": false,
            "command": {command.name: {"description": command.tale, "template": command.text}},
            "agent": {agent.name: {"description": agent.tale, "prompt": agent.text, "mode": "subagent"}},
        });
        self.sealed.write(&agent.file, document.to_string());
    }
}

/// Decides whether the file states its own name. The file name is the name of a command, of an agent of
/// OpenCode, and of an agent in a subfolder of a plugin.
fn names_itself(place: &EntityPlace, kind: EntityKind, folder: &str) -> bool {
    let is_in_plugin_folder = place.base == Base::Plugin && !folder.is_empty();
    match kind {
        EntityKind::Command => false,
        EntityKind::Skill => true,
        EntityKind::Agent => place.provider != Provider::Opencode && !is_in_plugin_folder,
    }
}

fn in_its_format(probe: &Probe, named: bool) -> String {
    let Probe { provider, kind, tale, text, .. } = probe;
    let name = probe.name.rsplit(':').next().unwrap_or(&probe.name);
    if probe.file.extension().is_some_and(|ending| ending == "toml") {
        return match kind {
            EntityKind::Command => {
                format!("description = \"Knows {tale}\"\nprompt = \"{text} {{{{args}}}}\"\n")
            }
            EntityKind::Skill | EntityKind::Agent => {
                format!(
                    "name = \"{name}\"\ndescription = \"Knows {tale}\"\ndeveloper_instructions = \"{text}\"\n"
                )
            }
        };
    }
    let mut head = if named { format!("name: {name}\n") } else { String::new() };
    head.push_str(&format!("description: Knows {tale}\n"));
    if (*provider, *kind) == (Provider::Opencode, EntityKind::Agent) {
        head.push_str("mode: subagent\n");
    }
    format!("---\n{head}---\n{text} $ARGUMENTS\n")
}
