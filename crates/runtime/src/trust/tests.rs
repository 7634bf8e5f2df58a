//! Tests for decisions about one project. `windlass/tests/sim/trust.rs` has those of the command.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::crash::CrashCounter;

struct Place {
    folder: TempDir,
    home: Home,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("repo/.git")).unwrap();
        let home = Home {
            state: root.join("state"),
            config: root.join("config"),
            user: root.join("home"),
            temp: root.join("state"),
            env: Vec::new(),
            agents: Default::default(),
            binary: None,
            machine: "m".to_owned(),
            crash: CrashCounter::default(),
        };
        Place { folder, home }
    }

    fn repo(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("repo")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }

    fn settings(&self, text: &str) {
        self.write("repo/.windlass/config.toml", text);
    }

    fn review(&self) -> TrustReview {
        review(&self.home, &self.repo()).unwrap()
    }

    fn plugin(&self, hooks: &str) {
        self.settings("plugins = [\"../p\"]\n");
        self.write("repo/p/.claude-plugin/plugin.json", "{\"name\": \"p\"}");
        self.write("repo/p/hooks/hooks.json", hooks);
    }
}

const ALLOWS: &str = "on_permission = \"allow\"\n";

#[test]
fn what_a_person_saw_is_trusted_and_not_what_replaced_it() {
    let place = Place::new();
    place.settings(ALLOWS);
    let mut seen = place.review();
    assert!(!seen.is_trusted());
    // The repository changes its file while the person reads.
    place.settings("on_permission = \"allow\"\n[agents.claude]\nprogram = \"./evil\"\n");
    seen.grant(&place.home).unwrap();
    assert!(!place.review().is_trusted());
    place.settings(ALLOWS);
    assert!(place.review().is_trusted());
}

#[test]
fn reading_settings_creates_nothing() {
    let place = Place::new();
    place.settings(ALLOWS);
    assert!(!place.review().is_trusted());
    assert!(!place.home.state.exists());
    assert!(!revoke(&place.home, &place.repo()).unwrap());
    assert_eq!(trusted_projects(&place.home).unwrap(), []);
    assert!(!place.home.state.exists());
}

#[test]
fn the_settings_of_the_user_decide_what_needs_trust() {
    let place = Place::new();
    place.settings("isolation = \"minimal\"\n");
    assert!(place.review().requests.is_empty());
    place.write("config/config.toml", "isolation = \"strict\"\n");
    assert_eq!(place.review().requests.len(), 1);
    place.review().grant(&place.home).unwrap();
    assert!(place.review().is_trusted());
    let resolved = config::read(&place.home, &place.repo(), Vec::new()).unwrap();
    assert_eq!(resolved.settings.isolation, windlass_core::hook::permission::Isolation::Minimal);
}

#[test]
fn without_the_key_nothing_is_trusted() {
    let place = Place::new();
    place.settings(ALLOWS);
    place.review().grant(&place.home).unwrap();
    fs::remove_file(InboxKey::path(&place.home.state)).unwrap();
    assert!(!place.review().is_trusted());
    place.review().grant(&place.home).unwrap();
    assert!(place.review().is_trusted());
}

#[test]
fn a_trusted_project_that_is_gone_can_be_forgotten() {
    let place = Place::new();
    place.settings(ALLOWS);
    place.review().grant(&place.home).unwrap();
    let repo = place.repo();
    fs::remove_dir_all(&repo).unwrap();
    let listed = trusted_projects(&place.home).unwrap();
    assert_eq!((listed.len(), listed[0].state, &listed[0].project), (1, TrustState::Unused, &repo));
    assert!(revoke(&place.home, &repo).unwrap());
    assert_eq!(trusted_projects(&place.home).unwrap(), []);
}

#[test]
fn a_plugin_that_declares_too_much_to_compare_is_never_trusted() {
    let place = Place::new();
    place.plugin("{}");
    place.review().grant(&place.home).unwrap();
    assert!(place.review().is_trusted());
    place.write("repo/p/hooks/more.json", &"x".repeat(2 << 20));
    assert!(!place.review().is_trusted());
    let error = place.review().grant(&place.home).unwrap_err().text();
    assert!(error.contains("more.json cannot be read: it is larger than"), "{error}");
    fs::remove_file(place.repo().join("p/hooks/more.json")).unwrap();
    assert!(place.review().is_trusted());
    // Many files cannot hide the one that matters.
    for number in 0..600 {
        place.write(&format!("repo/p/.a{number:03}.json"), "{}");
    }
    let error = place.review().grant(&place.home).unwrap_err().text();
    assert!(error.contains("declares more than Windlass compares"), "{error}");
    assert!(!place.review().is_trusted());
}

#[test]
fn files_that_start_nothing_by_themselves_do_not_matter() {
    let place = Place::new();
    place.plugin("{}");
    place.write("repo/p/package.json", "{}");
    place.review().grant(&place.home).unwrap();
    place.write("repo/p/package.json", "{\"a\": 1}");
    place.write("repo/p/skills/s/SKILL.md", "x");
    assert!(place.review().is_trusted());
    place.write("repo/p/.mcp.json", "{\"mcpServers\": {\"s\": {\"url\": \"http://x\"}}}");
    let review = place.review();
    assert_eq!((review.is_trusted(), &review.requests[0].runs[..]), (false, &["http://x".to_owned()][..]));
}
