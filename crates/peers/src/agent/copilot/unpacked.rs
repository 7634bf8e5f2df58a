//! The folder into which the CLI unpacks itself when a new version starts for the first time.
//!
//! A session that may not write there would fail, and one that may could change the program that the user starts
//! next. So where this version is not unpacked yet, such a session unpacks it into the folder of the run.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::turn::TurnPaths;
use crate::files::read_bounded;

/// The variable that moves the folder.
const VARIABLE: &str = "COPILOT_CACHE_HOME";
/// The folder in it with a folder for each platform, in which each version has one.
const PACKAGES: &str = "pkg";
/// The largest description of the package.
const LARGEST: u64 = 1 << 20;

/// Chooses the folder for a session that may not write into the user's.
pub(super) fn choose(env: &mut Vec<(String, String)>, program: &str, paths: &TurnPaths<'_>) {
    let is_there =
        users(env).is_some_and(|folder| has_version(&folder, version(Path::new(program)).as_deref()));
    if !is_there {
        env.retain(|(name, _)| name != VARIABLE);
        env.push((VARIABLE.to_owned(), paths.home.join("unpacked").to_string_lossy().into_owned()));
    }
}

/// Returns the user's folder.
fn users(env: &[(String, String)]) -> Option<PathBuf> {
    let value = |name: &str| env.iter().find(|(key, value)| key == name && !value.is_empty());
    let of = |name: &str, below: &str| value(name).map(|(_, folder)| Path::new(folder).join(below));
    of(VARIABLE, "").or_else(|| of("XDG_CACHE_HOME", "copilot")).or_else(|| of("HOME", ".cache/copilot"))
}

/// Decides whether a version is unpacked. Of a program that does not tell its version, any version is.
fn has_version(folder: &Path, version: Option<&str>) -> bool {
    let below = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut versions = below(folder.join(PACKAGES)).flat_map(|platform| below(platform.path()));
    versions.any(|entry| version.is_none_or(|version| entry.file_name() == version))
}

/// Returns the version in the package that the program belongs to.
fn version(program: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Package {
        version: String,
    }
    let program = program.canonicalize().ok()?;
    let text = read_bounded(&program.parent()?.join("package.json"), LARGEST).ok()?;
    serde_json::from_slice::<Package>(&text).ok().map(|package| package.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_not_unpacked_is_unpacked_into_the_folder_of_the_run() {
        let place = tempfile::tempdir().unwrap();
        let package = place.path().join("package");
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("loader.js"), "").unwrap();
        std::fs::write(package.join("package.json"), r#"{"version": "1.2.3"}"#).unwrap();
        let home = place.path().join("home");
        let paths = TurnPaths { dir: &home, home: &home, socket: &home, windlass_exe: &home };
        let chosen = |unpacked: &str| {
            std::fs::create_dir_all(place.path().join("cache/copilot/pkg/linux-x64").join(unpacked)).unwrap();
            let cache = place.path().join("cache").to_string_lossy().into_owned();
            let mut env = vec![("XDG_CACHE_HOME".to_owned(), cache)];
            choose(&mut env, &package.join("loader.js").to_string_lossy(), &paths);
            env.into_iter().find(|(name, _)| name == VARIABLE).map(|(_, folder)| PathBuf::from(folder))
        };
        assert_eq!(chosen("1.2.2"), Some(home.join("unpacked")));
        assert_eq!(chosen("1.2.3"), None, "the user's own");
    }
}
