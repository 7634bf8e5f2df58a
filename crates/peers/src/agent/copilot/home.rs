//! The home folder of the CLI, one per turn, so that the user's own stays as it is.
//!
//! Only the conversations are shared by the turns of a run. The rest of the home is gone or worthless after the
//! turn: the login, the settings that the isolation allows, logs, and the CLI's index of conversations.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use windlass_core::hook::permission::Isolation;

use super::super::turn::{TurnPaths, UserEnvironment};
use crate::files::read_bounded;

/// The variable that moves the home folder.
pub(super) const VARIABLE: &str = "COPILOT_HOME";
/// The file with the login, and with the folders that the user trusts.
pub(super) const LOGIN: &str = "config.json";
const SETTINGS: &str = "settings.json";
/// The maximum size of the settings in bytes.
const LARGEST: u64 = 1 << 20;
/// The folder in the turn's folder.
const FOLDER: &str = "copilot";
/// The folder with one folder per conversation.
const CONVERSATIONS: &str = "session-state";

/// Files that may contain keys or the whole conversation.
pub(super) const SECRETS: &[&str] = &[
    "copilot/config.json",
    "copilot/settings.json",
    "copilot/session-store.db",
    "copilot/session-store.db-wal",
    "copilot/session-store.db-shm",
];

/// The files and folders that `permissive` adds to the settings: all that the user set up, but not what the user once allowed.
const USERS_OWN: &[&str] = &[
    "mcp-config.json",
    "mcp-oauth-config",
    "lsp-config.json",
    "copilot-instructions.md",
    "instructions",
    "agents",
    "skills",
    "hooks",
    "installed-plugins",
];

/// Parts of the names of settings that belong to the login.
const LOGIN_WORDS: &[&str] = &["logged", "token", "auth", "firstlaunch"];

/// Returns the user's home folder of the CLI.
pub(super) fn users(home: Option<&Path>, env: &[(String, String)]) -> Option<PathBuf> {
    let value = |name: &str| env.iter().find(|(key, value)| key == name && !value.is_empty());
    let moved = value(VARIABLE).map(|(_, folder)| PathBuf::from(folder));
    let home = home.map(Path::to_owned).or_else(|| value("HOME").map(|(_, home)| PathBuf::from(home)));
    moved.or_else(|| Some(home?.join(".copilot")))
}

/// Returns the home folder of a turn.
pub(super) fn folder(paths: &TurnPaths<'_>) -> PathBuf {
    paths.dir.join(FOLDER)
}

/// Returns the files of the home folder.
pub(super) fn files(
    isolation: Isolation,
    paths: &TurnPaths<'_>,
    outside: &UserEnvironment<'_>,
) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = folder(paths);
    let mut files = vec![
        // So that the folder exists: a link to a missing one is left out.
        (paths.home.join(CONVERSATIONS).join("README"), b"The conversations of this run.\n".to_vec()),
        (folder.join(LOGIN), login(isolation, outside.user_settings)),
    ];
    files.push((folder.join(SETTINGS), settings(isolation, outside)));
    files
}

/// Returns the links of the home folder.
pub(super) fn links(
    isolation: Isolation,
    paths: &TurnPaths<'_>,
    outside: &UserEnvironment<'_>,
) -> Vec<(PathBuf, PathBuf)> {
    let folder = folder(paths);
    let mut links = vec![(folder.join(CONVERSATIONS), paths.home.join(CONVERSATIONS))];
    if let (Isolation::Permissive, Some(users)) = (isolation, users(None, outside.env)) {
        links.extend(USERS_OWN.iter().map(|name| (folder.join(name), users.join(name))));
    }
    links
}

/// Returns the text of the settings: the user's for `permissive`. A copy, because the CLI would put its locks and
/// its changes where a link leads.
fn settings(isolation: Isolation, outside: &UserEnvironment<'_>) -> Vec<u8> {
    let users = users(None, outside.env).filter(|_| isolation == Isolation::Permissive);
    let users = users.and_then(|users| read_bounded(&users.join(SETTINGS), LARGEST).ok());
    // An update in the middle of a run would change the agent.
    users.unwrap_or_else(|| json!({ "autoUpdate": false }).to_string().into_bytes())
}

/// Returns the text of the login file: all of the user's for `permissive`, else only the login, because a
/// folder that the user trusts loads its hooks and servers.
fn login(isolation: Isolation, users: Option<&str>) -> Vec<u8> {
    let text = users.unwrap_or("{}");
    if isolation == Isolation::Permissive {
        return text.as_bytes().to_vec();
    }
    let all: Map<String, Value> = serde_json::from_str(&without_comments(text)).unwrap_or_default();
    let is_login = |name: &str| {
        let name = name.to_lowercase();
        LOGIN_WORDS.iter().any(|word| name.contains(word))
    };
    let kept: Map<String, Value> = all.into_iter().filter(|(name, _)| is_login(name)).collect();
    Value::Object(kept).to_string().into_bytes()
}

/// Removes the lines that are comments. The CLI writes some at the top of its files.
fn without_comments(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &str = r#"// User settings belong in settings.json.
// This file is managed automatically.
{
  "firstLaunchAt": "2026-11-19T04:16:26.826Z",
  "trustedFolders": ["/repo"],
  "loggedInUsers": [{ "host": "https://github.com", "login": "me" }],
  "copilotTokens": { "https://github.com:me": "gho_1" }
}
"#;

    #[test]
    fn only_the_login_of_the_user_is_kept() {
        let kept: Value = serde_json::from_slice(&login(Isolation::Minimal, Some(USERS))).unwrap();
        let expected = json!({
            "firstLaunchAt": "2026-11-19T04:16:26.826Z",
            "loggedInUsers": [{ "host": "https://github.com", "login": "me" }],
            "copilotTokens": { "https://github.com:me": "gho_1" },
        });
        assert_eq!(kept, expected);
        assert_eq!(login(Isolation::Strict, Some("not json")), b"{}");
        assert_eq!(login(Isolation::Permissive, Some(USERS)), USERS.as_bytes());
    }

    #[test]
    fn the_users_home_may_be_elsewhere() {
        let env = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let home = Some(Path::new("/home/me"));
        assert_eq!(users(home, &[]), Some(PathBuf::from("/home/me/.copilot")));
        assert_eq!(users(home, &env(VARIABLE, "/else")), Some(PathBuf::from("/else")));
        assert_eq!(users(None, &env("HOME", "/h")), Some(PathBuf::from("/h/.copilot")));
        assert_eq!(users(None, &[]), None);
    }
}
