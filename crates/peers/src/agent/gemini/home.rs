//! The private home of a turn: the files and links that the CLI finds where it looks for the user's own.
//!
//! The settings differ from turn to turn, but the conversations stay for the whole run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::json;
use windlass_core::hook::permission::Isolation;

use super::super::turn::TurnPaths;

/// The CLI's folder in a home.
pub(super) const FOLDER: &str = ".gemini";
/// Moves that folder.
pub(super) const VARIABLE: &str = "GEMINI_CLI_HOME";

/// The files with the login, which the CLI also renews.
const LOGIN: &[&str] =
    &["oauth_creds.json", "google_accounts.json", "gemini-credentials.json", "installation_id"];
/// The files that belong to the user's own settings.
const OWN: &[&str] =
    &["GEMINI.md", "acknowledgments", "agents", "commands", "mcp-oauth-tokens.json", "skills"];

/// The paths in a turn's private home.
#[derive(Debug)]
pub(super) struct GeminiHome {
    pub(super) dir: PathBuf,
    /// The folder of conversations, which outlives the turn.
    kept: PathBuf,
}

impl GeminiHome {
    pub(super) fn of(paths: &TurnPaths<'_>) -> GeminiHome {
        GeminiHome { dir: paths.dir.join("home"), kept: paths.home.join("tmp") }
    }

    pub(super) fn settings(&self) -> PathBuf {
        self.dir.join(FOLDER).join("settings.json")
    }

    pub(super) fn policy(&self) -> PathBuf {
        self.dir.join(FOLDER).join("policies/windlass.toml")
    }

    pub(super) fn unignored(&self) -> PathBuf {
        self.dir.join("unignored")
    }

    fn extension(&self) -> PathBuf {
        self.dir.join(FOLDER).join("extensions/windlass")
    }

    /// Returns the files of the extension that brings our hooks and the role of the agent. The CLI loads an
    /// extension's hooks even where it trusts nothing of the project.
    pub(super) fn extension_files(&self, hooks: &str, role: Option<&str>) -> Vec<(PathBuf, Vec<u8>)> {
        let extension = self.extension();
        let manifest = match role {
            Some(_) => json!({ "name": "windlass", "version": "1.0.0", "contextFileName": "ROLE.md" }),
            None => json!({ "name": "windlass", "version": "1.0.0" }),
        };
        let role = role.map(|role| (extension.join("ROLE.md"), fenced(role).into_bytes()));
        let files = [
            (extension.join("gemini-extension.json"), manifest.to_string().into_bytes()),
            (extension.join("hooks/hooks.json"), hooks.to_owned().into_bytes()),
            // Makes the folder, to which a link leads.
            (self.kept.join(".windlass"), Vec::new()),
        ];
        files.into_iter().chain(role).collect()
    }

    /// Returns the links to the conversations and to files of the user.
    pub(super) fn links(&self, isolation: Isolation, user: &Path) -> Vec<(PathBuf, PathBuf)> {
        let (own, theirs) = (self.dir.join(FOLDER), user.join(FOLDER));
        let mut links = vec![
            (own.join("tmp"), self.kept.clone()),
            (own.join(".env"), theirs.join(".env")),
            // Where the project is not trusted, the CLI reads only this one.
            (self.dir.join(".env"), theirs.join(".env")),
            (self.dir.join(".env"), user.join(".env")),
        ];
        links.extend(LOGIN.iter().map(|name| (own.join(name), theirs.join(name))));
        if isolation == Isolation::Permissive {
            links.extend(OWN.iter().map(|name| (own.join(name), theirs.join(name))));
            links.push((self.dir.join(".agents"), user.join(".agents")));
            for part in ["extensions", "policies"] {
                links.extend(names(&theirs.join(part)).into_iter().map(|name| {
                    let name = Path::new(part).join(name);
                    (own.join(&name), theirs.join(name))
                }));
            }
        }
        links
    }
}

/// Returns the files of the user that the CLI renews even in `strict`.
pub(super) fn login_files(user: &Path) -> impl Iterator<Item = PathBuf> {
    LOGIN.iter().map(move |name| user.join(FOLDER).join(name))
}

/// Lists the names in a folder of the user.
fn names(folder: &Path) -> Vec<OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.file_name()).collect()
}

/// Returns the home in which the user's own folder of the CLI is.
pub(super) fn user_home(env: &[(String, String)]) -> PathBuf {
    moved(env).or_else(|| value(env, "HOME")).map(PathBuf::from).unwrap_or_default()
}

/// Returns the home to which the user moved that folder.
pub(super) fn moved(env: &[(String, String)]) -> Option<&str> {
    value(env, VARIABLE)
}

fn value<'a>(env: &'a [(String, String)], name: &str) -> Option<&'a str> {
    env.iter().find(|(other, value)| other == name && !value.is_empty()).map(|(_, value)| value.as_str())
}

/// Puts a role that contains `@` into a code block, in which the CLI does not look for files to import.
fn fenced(role: &str) -> String {
    if !role.contains('@') {
        return role.to_owned();
    }
    let longest = role.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{role}\n{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_with_an_at_sign_is_kept_as_it_is() {
        assert_eq!(fenced("You test."), "You test.");
        assert_eq!(fenced("Read @a.md"), "```\nRead @a.md\n```\n");
        assert_eq!(fenced("````x```` @a"), "`````\n````x```` @a\n`````\n");
    }

    #[test]
    fn the_users_home_may_be_moved() {
        let env = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
        };
        assert_eq!(user_home(&env(&[("HOME", "/u")])), Path::new("/u"));
        assert_eq!(user_home(&env(&[("HOME", "/u"), (VARIABLE, "/g")])), Path::new("/g"));
        assert_eq!(user_home(&env(&[("HOME", "/u"), (VARIABLE, "")])), Path::new("/u"));
    }
}
