//! Hooks in the form that Claude Code, Codex and Gemini share: groups with a matcher, by event.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::sim::hook_call::{HookOutput, HookProgram, HookRoom};
use crate::sim::signals::StopRequest;

#[derive(Debug, Default, Deserialize)]
struct HookSettings {
    #[serde(default)]
    hooks: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct HookGroup {
    #[serde(default)]
    matcher: String,
    #[serde(default)]
    hooks: Vec<HookEntry>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct HookEntry {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    command: String,
    /// With arguments, the command is a program. Without, it is shell code.
    #[serde(default)]
    args: Option<Vec<String>>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    env: Map<String, Value>,
    /// The folder of the plugin that brings the hook.
    #[serde(skip)]
    plugin: Option<PathBuf>,
}

/// The hooks of one session.
#[derive(Debug)]
pub(super) struct HookTable {
    groups: Vec<(String, HookGroup)>,
    /// The length of a timeout of 1.
    unit: Duration,
}

impl HookTable {
    /// Makes a table without hooks. A timeout of 1 is this long.
    pub(super) fn with_unit(unit: Duration) -> HookTable {
        HookTable { groups: Vec::new(), unit }
    }

    /// Adds the `hooks` of settings. A hook that is there already stays the only one.
    pub(super) fn add(&mut self, settings: &[u8], plugin: Option<&Path>) -> Result<(), serde_json::Error> {
        let settings: HookSettings = serde_json::from_slice(settings)?;
        for (event, groups) in settings.hooks {
            let groups: Vec<HookGroup> = serde_json::from_value(groups)?;
            for mut group in groups {
                group.hooks.retain(|entry| entry.kind == "command");
                for entry in &mut group.hooks {
                    entry.plugin = plugin.map(Path::to_owned);
                }
                let group = (event.clone(), group);
                if !self.groups.contains(&group) {
                    self.groups.push(group);
                }
            }
        }
        Ok(())
    }

    /// Calls every hook of this event whose matcher matches the subject. Returns the command and the output of
    /// each.
    pub(super) fn call(
        &self,
        event: &str,
        subject: &str,
        payload: &Value,
        room: &HookRoom<'_>,
        default_limit: Duration,
    ) -> Result<Vec<(String, HookOutput)>, StopRequest> {
        let due = self.groups.iter().filter(|(name, group)| name == event && fits(&group.matcher, subject));
        let payload = payload.to_string().into_bytes();
        let entries = due.flat_map(|(_, group)| &group.hooks);
        entries
            .map(|entry| {
                let program = entry.program(self.unit, default_limit);
                Ok((entry.command.clone(), program.call(&payload, room)?))
            })
            .collect()
    }
}

impl HookEntry {
    fn program(&self, unit: Duration, default_limit: Duration) -> HookProgram {
        let root = self.plugin.as_ref().map(|root| root.display().to_string()).unwrap_or_default();
        let fill = |text: &String| OsString::from(text.replace("${CLAUDE_PLUGIN_ROOT}", &root));
        let argv = match &self.args {
            Some(args) => std::iter::once(&self.command).chain(args).map(fill).collect(),
            None => vec!["sh".into(), "-c".into(), fill(&self.command)],
        };
        let own = self.env.iter().filter_map(|(name, value)| Some((name.into(), value.as_str()?.into())));
        let root = self.plugin.as_ref().map(|root| ("CLAUDE_PLUGIN_ROOT".into(), root.into()));
        let set = self.timeout.map(|timeout| timeout * unit.as_secs_f64());
        let limit = set.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        HookProgram { argv, env: own.chain(root).collect(), limit: limit.unwrap_or(default_limit) }
    }
}

/// Matches a subject: `""` and `*` match everything, `A|B` either, `mcp__x__.*` any suffix.
fn fits(matcher: &str, subject: &str) -> bool {
    matches!(matcher, "" | "*") || matcher.split('|').any(|one| fits_one(one.trim(), subject))
}

fn fits_one(pattern: &str, subject: &str) -> bool {
    let pattern = pattern.trim_start_matches('^');
    match pattern.strip_suffix(".*").or_else(|| pattern.strip_suffix('*')) {
        Some(prefix) => subject.starts_with(prefix),
        None => pattern.trim_end_matches('$') == subject,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_matcher_is_everything_an_alternation_or_a_prefix() {
        for (matcher, subject, expected) in [
            ("", "Bash", true),
            ("*", "Bash", true),
            ("Edit|Write", "Write", true),
            ("Edit|Write", "WriteX", false),
            ("mcp__db__.*", "mcp__db__query", true),
            ("Bash", "BashOutput", false),
        ] {
            assert_eq!(fits(matcher, subject), expected, "{matcher} {subject}");
        }
    }

    #[test]
    fn a_hook_brings_its_own_variables_and_is_called_once() {
        let entry = json!({"type": "command", "command": "printf %s \"$OWN\"", "env": {"OWN": "x"}});
        let settings = json!({"hooks": {"Stop": [{"hooks": [entry]}]}}).to_string();
        let mut table = HookTable::with_unit(Duration::from_secs(1));
        table.add(settings.as_bytes(), None).unwrap();
        table.add(settings.as_bytes(), None).unwrap();
        let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
        let room = HookRoom { env: &env, cwd: Path::new("/"), limit: None };
        let said = table.call("Stop", "", &Value::Null, &room, Duration::from_secs(60)).unwrap();
        assert_eq!(said.iter().map(|(_, said)| said.stdout.as_str()).collect::<Vec<_>>(), ["x"]);
    }
}
