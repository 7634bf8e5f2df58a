//! Tests for finding entities: the folders searched, precedence, and broken files.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn what_is_part_of_windlass_is_always_there() {
    let context = Ground::new();
    let loaded = context.load();
    assert_eq!(rows(&loaded), Vec::<String>::new());
    assert_eq!(loaded.diagnostics, []);
    assert!(
        loaded
            .registry
            .get(EntityKind::Skill, "commit")
            .or(loaded.registry.get(EntityKind::Command, "commit"))
            .is_some()
    );
}

#[test]
fn every_folder_up_to_the_repository_is_looked_into_and_the_nearest_wins() {
    let context = Ground::new();
    context.put("repo/.claude/commands/go.md", "top");
    context.put("repo/a/.claude/commands/go.md", "middle");
    context.put("repo/a/b/.claude/commands/go.md", "near");
    context.put(".claude/commands/go.md", "above the repository");
    context.put("home/.claude/commands/go.md", "mine");
    let loaded = context.load_in("repo/a/b", &[]);
    assert_eq!(
        rows(&loaded),
        [
            "command go claude project 0",
            "command go claude project 1",
            "command go claude project 2",
            "command go claude user 0"
        ]
    );
    assert_eq!(prompt(&loaded, EntityKind::Command, "go").as_deref(), Some("near"));
    assert_eq!(rows(&context.load_in("repo/a", &[])).len(), 3);
}

#[test]
fn without_a_repository_the_folder_alone_is_the_project() {
    let context = Ground::new();
    context.put("plain/.claude/commands/no.md", "x");
    context.put("plain/sub/.claude/commands/yes.md", "x");
    assert_eq!(rows(&context.load_in("plain/sub", &[])), ["command yes claude project 0"]);
}

#[test]
fn home_is_no_project() {
    let context = Ground::new();
    context.put("home/.claude/commands/go.md", "x");
    fs::create_dir(context.root().join("home/.git")).unwrap();
    assert_eq!(rows(&context.load_in("home", &[])), ["command go claude user 0"]);
    context.put("home/work/.claude/commands/on.md", "x");
    assert_eq!(
        rows(&context.load_in("home/work", &[])),
        ["command go claude user 0", "command on claude project 0"]
    );
}

#[test]
fn the_users_folders_are_where_the_variables_say() {
    let mut context = Ground::new();
    context.put("config/windlass/skills/w/SKILL.md", &skill("w"));
    context.put("config/opencode/command/o.md", "x");
    context.put("home/.claude/commands/no.md", "x");
    context.put("home/.agents/skills/s/SKILL.md", &skill("s"));
    context.put("claude/commands/c.md", "x");
    context.put("codex/prompts/p.md", "x");
    let root = context.root();
    context.set("CLAUDE_CONFIG_DIR", root.join("claude").to_str().unwrap());
    context.set("CODEX_HOME", root.join("codex").to_str().unwrap());
    let expected = [
        "command c claude user 0",
        "command o opencode user 0",
        "command p codex user 0",
        "skill s shared user 0",
        "skill w windlass user 0",
    ];
    assert_eq!(rows(&context.load()), expected);
}

#[test]
fn settings_choose_the_providers_the_project_and_the_home() {
    let context = Ground::new();
    context.put("repo/.claude/commands/a.md", "x");
    context.put("repo/.gemini/commands/b.toml", "prompt = \"x\"\n");
    context.put("repo/other/.claude/commands/c.md", "x");
    context.put("mine/.claude/commands/d.md", "x");
    context.put("mine/.config/opencode/command/e.md", "x");
    context.put("home/.claude/commands/f.md", "x");
    context.put("repo/.windlass/config.toml", "[entities]\nproviders = [\"gemini\"]\n");
    assert_eq!(rows(&context.load()), ["command b gemini project 0"]);
    context.put("repo/.windlass/config.toml", "[entities]\nproject_path = \"other\"\n");
    assert_eq!(rows(&context.load()), ["command c claude project 0", "command f claude user 0"]);
    fs::remove_file(context.root().join("repo/.windlass/config.toml")).unwrap();
    context.put("config/windlass/config.toml", "[entities]\nuser_path = \"../../mine\"\n");
    let loaded = context.load();
    assert!(rows(&loaded).contains(&"command d claude user 0".to_owned()), "{:?}", rows(&loaded));
    assert!(rows(&loaded).contains(&"command e opencode user 0".to_owned()));
    assert!(!rows(&loaded).contains(&"command f claude user 0".to_owned()));
}

#[test]
fn a_project_leads_nobody_elsewhere_without_saying() {
    let context = Ground::new();
    context.put("evil/.claude/commands/a.md", "x");
    context.put("home/.claude/commands/mine.md", "x");
    context.put(
        "repo/.windlass/config.toml",
        "[entities]\nproject_path = \"../evil\"\nuser_path = \"../../evil\"\n",
    );
    let loaded = context.load();
    assert_eq!(rows(&loaded), ["command mine claude user 0"]);
    let told = complaints(&context, &loaded);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().any(|text| text.contains("`entities.project_path` leads out of the repository")));
    assert!(told.iter().any(|text| text.contains("`entities.user_path` needs your trust")));
}

#[test]
fn plugins_bring_theirs_at_the_level_of_whoever_names_them() {
    let context = Ground::new();
    for (dir, name) in [("p1", "one"), ("repo/p2", "two"), ("p3", "three")] {
        context.put(&format!("{dir}/.claude-plugin/plugin.json"), &format!("{{\"name\": \"{name}\"}}"));
        context.put(&format!("{dir}/commands/go.md"), "x");
        context.put(&format!("{dir}/skills/s/SKILL.md"), &skill("s"));
    }
    context.put("repo/.windlass/config.toml", "plugins = [\"../p2\"]\n");
    context.put("config/windlass/config.toml", "plugins = [\"../../p3\"]\n");
    let untrusted = context.load_in("repo", &[]);
    assert!(!rows(&untrusted).iter().any(|row| row.contains("two:")), "{:?}", rows(&untrusted));
    context.trust("repo");
    let loaded = context.load_in("repo", &["p1", "p1"]);
    let expected = [
        "command one:go claude project 0",
        "command three:go claude user 0",
        "command two:go claude project 0",
        "skill one:s claude project 0",
        "skill three:s claude user 0",
        "skill two:s claude project 0",
    ];
    assert_eq!(rows(&loaded), expected);
    let source = &loaded.registry.get(EntityKind::Command, "one:go").unwrap().source;
    assert_eq!(source.plugin.as_ref().unwrap().root, context.root().join("p1").to_str().unwrap());
    let loaded = context.load_in("repo", &["nowhere"]);
    assert_eq!(
        complaints(&context, &loaded),
        [
            "nowhere/.claude-plugin/plugin.json error: this is not a plugin: it has no .claude-plugin/plugin.json"
        ]
    );
    assert_eq!(rows(&loaded).len(), 4);
}

#[test]
fn a_file_that_is_reached_twice_is_one_and_two_names_of_it_are_two() {
    let context = Ground::new();
    context.put("repo/.agents/skills/a/SKILL.md", &skill("a"));
    context.put("repo/.claude/commands/c.md", "x");
    symlink("../.agents/skills", context.repo().join(".claude/skills")).unwrap();
    symlink("c.md", context.repo().join(".claude/commands/d.md")).unwrap();
    fs::hard_link(context.repo().join(".claude/commands/c.md"), context.repo().join(".claude/commands/e.md"))
        .unwrap();
    let expected = [
        "command c claude project 0",
        "command d claude project 0",
        "command e claude project 0",
        "skill a claude project 0",
    ];
    assert_eq!(rows(&context.load()), expected);
}

#[test]
fn a_file_that_cannot_be_used_is_told_and_shadows_nothing() {
    let context = Ground::new();
    context.put("home/.claude/skills/big/SKILL.md", &skill("big"));
    context.put("repo/.claude/skills/big/SKILL.md", &"x".repeat(10 << 20));
    context.put("home/.claude/commands/odd.md", "good");
    fs::create_dir_all(context.repo().join(".claude/commands")).unwrap();
    fs::write(context.repo().join(".claude/commands/odd.md"), b"one\ntwo \xff three").unwrap();
    symlink("/etc/passwd", context.repo().join(".claude/commands/evil.md")).unwrap();
    let loaded = context.load();
    assert_eq!(rows(&loaded), ["command odd claude user 0", "skill big claude user 0"]);
    assert_eq!(
        complaints(&context, &loaded),
        [
            "repo/.claude/commands/evil.md warning: a link leads out of the project and is not followed",
            "repo/.claude/commands/odd.md:2:5 error: not UTF-8 text: byte 8 starts no character",
            "repo/.claude/skills/big/SKILL.md error: larger than 1 MB, so it is not read",
        ]
    );
}

#[test]
fn a_readme_without_frontmatter_is_for_people() {
    let context = Ground::new();
    context.put("repo/.claude/agents/README.md", "# Our agents\n");
    context.put("repo/.claude/commands/readme.md", "# Our commands\n");
    context.put("repo/.claude/agents/sub/README.md", "---\ndescription: An agent.\n---\nBe one.\n");
    let loaded = context.load();
    assert_eq!(rows(&loaded), ["agent sub:README claude project 0"]);
    assert_eq!(complaints(&context, &loaded), Vec::<String>::new());
}

#[test]
fn two_hundred_loads_at_once_are_always_equal() {
    let context = Ground::new();
    for (number, place) in
        ["repo/.claude", "repo/.windlass", "home/.claude", "repo/.atomic"].iter().enumerate()
    {
        for name in 0..80 {
            context.put(
                &format!("{place}/agents/a{name}.md"),
                &format!("{}{number}", skill(&format!("a{name}"))),
            );
        }
        context.put(&format!("{place}/agents/bad.md"), "---\nname: [\n---\nx\n");
        context.put(&format!("{place}/agents/colon.md"), "---\ndescription: Use this: when foo\n---\nx\n");
    }
    let first = context.load();
    assert_eq!(rows(&first).iter().filter(|row| row.starts_with("agent a7 ")).count(), 4);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let again = context.load();
                    assert_eq!(entities(&again), entities(&first));
                    assert_eq!(again.diagnostics, first.diagnostics);
                }
            });
        }
    });
}

#[test]
fn paths_are_those_that_people_know() {
    let context = Ground::new();
    let path = context.put("repo/.claude/commands/a.md", "x");
    symlink(context.repo(), context.root().join("linked")).unwrap();
    let loaded = context.load_in("linked", &[]);
    let source = &loaded.registry.get(EntityKind::Command, "a").unwrap().source;
    assert_eq!(source.path, real(&path).to_str().unwrap());
}

#[test]
fn what_names_no_agent_has_the_limits_of_the_default_agent() {
    let context = Ground::new();
    context.put("repo/.opencode/command/c.md", "x");
    context.put("repo/.opencode/command/own.md", "---\nagent: build\n---\nx");
    context.put("repo/.opencode/agent/ro.md", "---\ndescription: d\npermission: {edit: deny}\n---\nx");
    context.put("home/.config/opencode/opencode.json", r#"{"default_agent": "gone"}"#);
    context.put("repo/opencode.json", r#"{"default_agent": "ro"}"#);
    let roles = |loaded: &LoadedEntities, name: &str| -> Vec<String> {
        let entity = loaded.registry.get(EntityKind::Command, name).unwrap();
        entity.roles.iter().map(|role| role.name.clone()).collect()
    };
    let loaded = context.load();
    assert_eq!(complaints(&context, &loaded), [""; 0]);
    assert_eq!(roles(&loaded, "c"), ["ro"]);
    assert_eq!(roles(&loaded, "own"), [""; 0]);
    let loaded = context.load();
    assert_eq!(roles(&loaded, "c"), ["ro"], "also where the files are remembered");
    context.put("repo/opencode.json", r#"{"default_agent": "rwo"}"#);
    let loaded = context.load();
    assert!(loaded.registry.get(EntityKind::Command, "c").is_none(), "nobody knows its limits");
    assert!(complaints(&context, &loaded).iter().any(|text| text.contains("rwo")));
    context.put("repo/opencode.json", r#"{"default_agent": 3}"#);
    let told = complaints(&context, &context.load());
    assert!(told.iter().any(|text| text.contains("`default_agent` must name an agent")), "{told:?}");
}
