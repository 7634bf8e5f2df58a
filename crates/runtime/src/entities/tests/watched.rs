//! Tests for watching entities: the changes that a listener receives.

use std::sync::Arc;

use tokio::sync::watch::Receiver;

use super::*;
use crate::entities::subscribe;

fn listen(context: &Ground) -> Receiver<Arc<LoadedEntities>> {
    subscribe(Arc::new(context.home.clone()), context.repo(), Vec::new()).unwrap()
}

/// Waits until what is told is as it should be.
async fn heard(from: &mut Receiver<Arc<LoadedEntities>>, mut is: impl FnMut(&LoadedEntities) -> bool) {
    let waiting = from.wait_for(|loaded| is(loaded));
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap().unwrap();
}

fn says(name: &'static str, text: &'static str) -> impl FnMut(&LoadedEntities) -> bool {
    move |loaded| prompt(loaded, EntityKind::Command, name).as_deref() == Some(text)
}

fn lacks(name: &'static str) -> impl FnMut(&LoadedEntities) -> bool {
    move |loaded| prompt(loaded, EntityKind::Command, name).is_none()
}

#[tokio::test]
async fn files_that_come_change_move_and_go_are_told() {
    let context = Ground::new();
    let path = context.put("repo/.claude/commands/a.md", "one");
    let mut told = listen(&context);
    assert!(says("a", "one")(&told.borrow()));
    context.put("repo/.claude/commands/b.md", "new");
    heard(&mut told, says("b", "new")).await;
    fs::write(&path, "two").unwrap();
    heard(&mut told, says("a", "two")).await;
    fs::rename(&path, path.with_file_name("c.md")).unwrap();
    heard(&mut told, says("c", "two")).await;
    assert!(lacks("a")(&told.borrow()));
    fs::remove_file(path.with_file_name("c.md")).unwrap();
    heard(&mut told, lacks("c")).await;
}

#[tokio::test]
async fn folders_that_were_not_there_are_noticed() {
    let context = Ground::new();
    let mut told = listen(&context);
    context.put("repo/.claude/commands/deep/er/a.md", "x");
    heard(&mut told, says("deep:er:a", "x")).await;
    context.put("repo/.claude/commands/deep/er/b.md", "x");
    heard(&mut told, says("deep:er:b", "x")).await;
    context.put("home/.codex/prompts/p.md", "x");
    heard(&mut told, says("p", "x")).await;
    fs::rename(context.repo().join(".claude"), context.repo().join("away")).unwrap();
    heard(&mut told, lacks("deep:er:a")).await;
    fs::rename(context.repo().join("away"), context.repo().join(".claude")).unwrap();
    heard(&mut told, says("deep:er:a", "x")).await;
    context.put("repo/opencode.json", r#"{"command": {"oc": {"template": "x"}}}"#);
    heard(&mut told, says("oc", "x")).await;
}

#[tokio::test]
async fn a_skill_and_a_linked_file_are_noticed_and_so_are_the_settings() {
    let context = Ground::new();
    fs::create_dir_all(context.repo().join(".claude/skills/s")).unwrap();
    let target = context.put("elsewhere.md", "one");
    fs::create_dir_all(context.root().join("home/.claude/commands")).unwrap();
    std::os::unix::fs::symlink(&target, context.root().join("home/.claude/commands/l.md")).unwrap();
    let mut told = listen(&context);
    context.put("repo/.claude/skills/s/SKILL.md", &skill("s"));
    heard(&mut told, |loaded| loaded.registry.get(EntityKind::Skill, "s").is_some()).await;
    fs::write(&target, "two").unwrap();
    heard(&mut told, says("l", "two")).await;
    context.put("config/windlass/config.toml", "[entities]\nproviders = [\"gemini\"]\n");
    heard(&mut told, lacks("l")).await;
}

#[tokio::test]
async fn what_looks_the_same_is_not_told() {
    let context = Ground::new();
    context.put("repo/.claude/commands/a.md", "one");
    let mut told = listen(&context);
    context.put("repo/.claude/commands/a.md", "one");
    context.put("repo/.claude/commands/note.txt", "nothing to us");
    context.put("repo/.claude/commands/b.md", "last");
    heard(&mut told, says("b", "last")).await;
    told.mark_unchanged();
    context.put("repo/.claude/commands/note.txt", "still nothing");
    context.put("repo/.claude/commands/a.md", "one");
    let quiet = tokio::time::timeout(Duration::from_millis(400), told.changed()).await;
    assert!(quiet.is_err());
}

#[tokio::test]
async fn it_ends_with_the_last_listener() {
    let context = Ground::new();
    let told = listen(&context);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert!(tasks() >= 1);
    drop(told);
    let ended = async {
        while tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ended).await.unwrap();
}
