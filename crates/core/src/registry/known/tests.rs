//! Tests that a name means the same entity in whatever order the entities were found.

use std::sync::Arc;
use std::thread;

use super::*;
use crate::entity::EntitySource;

/// An entity of our own in the project.
pub(crate) fn found(kind: EntityKind, name: &str) -> Entity {
    Entity {
        kind,
        name: name.into(),
        description: String::new(),
        aliases: Vec::new(),
        prompt: String::new(),
        tools: None,
        limits: vec![],
        agents: vec![],
        roles: vec![],
        model: None,
        argument_hint: None,
        source: EntitySource {
            provider: Provider::Windlass,
            level: Level::Project,
            distance: 0,
            path: format!(".windlass/{kind}s/{name}.md"),
            line: 1,
            plugin: None,
        },
        extra: Default::default(),
    }
}

/// The same found elsewhere.
pub(crate) fn at(entity: Entity, provider: Provider, level: Level, path: &str) -> Entity {
    let source = EntitySource { provider, level, path: path.into(), ..entity.source };
    Entity { source, ..entity }
}

/// The same with aliases.
pub(crate) fn also(entity: Entity, aliases: &[&str]) -> Entity {
    Entity { aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(), ..entity }
}

fn paths<'e>(entities: impl IntoIterator<Item = &'e Entity>) -> Vec<&'e str> {
    entities.into_iter().map(|entity| entity.source.path.as_str()).collect()
}

/// One skill in four providers and two levels, and as a part of Windlass, the winner first.
fn commit_everywhere() -> Vec<Entity> {
    let skill = || found(EntityKind::Skill, "commit");
    let mut upper = at(skill(), Provider::Windlass, Level::Project, "/w/.windlass/up");
    upper.source.distance = 1;
    vec![
        at(skill(), Provider::Windlass, Level::Project, "/w/sub/.windlass/a"),
        at(found(EntityKind::Skill, "Commit"), Provider::Claude, Level::Project, "/w/sub/.claude/a"),
        at(skill(), Provider::Claude, Level::Project, "/w/sub/.claude/b"),
        at(skill(), Provider::Gemini, Level::Project, "/w/sub/.gemini/a"),
        at(skill(), Provider::Atomic, Level::Project, "/w/sub/.atomic/a"),
        upper,
        at(skill(), Provider::Windlass, Level::User, "/h/.windlass/a"),
        at(skill(), Provider::Atomic, Level::User, "/h/.atomic/a"),
        at(skill(), Provider::Windlass, Level::Builtin, "builtin/a"),
    ]
}

#[test]
fn the_nearest_wins_by_level_distance_provider_and_path() {
    let ordered = commit_everywhere();
    let expected = paths(&ordered).join("\n");
    for turn in 0..ordered.len() {
        for flip in [false, true] {
            let mut shuffled = ordered.clone();
            shuffled.rotate_left(turn);
            if flip {
                shuffled.reverse();
            }
            let registry = Registry::new(shuffled);
            assert_eq!(paths(registry.all()).join("\n"), expected);
            assert_eq!(registry.get(EntityKind::Skill, "commit"), ordered.first());
        }
    }
}

#[test]
fn what_is_hidden_stays_listed_beside_what_hides_it() {
    let ordered = commit_everywhere();
    let registry = Registry::new(ordered.clone());
    let (winner, hidden) = ordered.split_first().unwrap();
    assert_eq!(registry.shadows(winner), hidden.iter().collect::<Vec<_>>());
    assert_eq!(registry.shadowed_by(winner), None);
    for entity in hidden {
        assert_eq!(registry.shadowed_by(entity), Some(winner));
        assert!(registry.shadows(entity).is_empty());
    }
    assert_eq!(registry.winners(None).collect::<Vec<_>>(), [winner]);
    let stranger = found(EntityKind::Agent, "nobody");
    assert_eq!(registry.shadowed_by(&stranger), None);
    assert!(registry.shadows(&stranger).is_empty());
}

#[test]
fn kinds_have_names_of_their_own() {
    let registry = Registry::new(EntityKind::ALL.map(|kind| found(kind, "review")).to_vec());
    for kind in EntityKind::ALL {
        assert_eq!(registry.get(kind, "review").map(|entity| entity.kind), Some(kind));
        assert!(registry.shadows(registry.get(kind, "review").unwrap()).is_empty());
        assert_eq!(registry.winners(Some(kind)).count(), 1);
    }
}

#[test]
fn case_does_not_matter_in_any_alphabet() {
    let names = ["Commit", "ÜBERSETZE", "ПРОВЕРЬ", "ΟΔΥΣΣΕΥΣ", "front:Comp"];
    let registry = Registry::new(names.map(|name| found(EntityKind::Command, name)).to_vec());
    for typed in ["commit", "COMMIT", "übersetze", "Проверь", "οδυσσευσ", "FRONT:comp"] {
        assert!(registry.get(EntityKind::Command, typed).is_some(), "{typed}");
    }
    assert_eq!(registry.get(EntityKind::Command, " commit"), None);
    assert_eq!(registry.get(EntityKind::Command, ""), None);
}

#[test]
fn a_name_beats_an_alias_and_nearer_aliases_beat_farther_ones() {
    let far = at(
        also(found(EntityKind::Skill, "aaa"), &["ci", "Save"]),
        Provider::Windlass,
        Level::User,
        "/h/.windlass/aaa",
    );
    let near = also(found(EntityKind::Skill, "zzz"), &["CI"]);
    let named = at(found(EntityKind::Skill, "save"), Provider::Atomic, Level::Builtin, "builtin/save");
    let registry = Registry::new(vec![far, named, near]);
    let name = |typed| registry.get(EntityKind::Skill, typed).map(|entity| entity.name.as_str());
    assert_eq!(name("ci"), Some("zzz"));
    assert_eq!(name("save"), Some("save"));
    assert_eq!(name("aaa"), Some("aaa"));
}

#[test]
fn an_alias_reaches_an_entity_whose_name_is_hidden() {
    let hidden = at(
        also(found(EntityKind::Skill, "commit"), &["git-commit", "ci"]),
        Provider::Copilot,
        Level::Project,
        ".github/skills/git-commit/SKILL.md",
    );
    let other =
        at(also(found(EntityKind::Skill, "check"), &["ci"]), Provider::Atomic, Level::User, "/h/check");
    let registry = Registry::new(vec![hidden.clone(), other.clone(), found(EntityKind::Skill, "commit")]);
    assert_eq!(registry.get(EntityKind::Skill, "git-commit"), Some(&hidden));
    assert_eq!(registry.get(EntityKind::Skill, "ci"), Some(&other));
}

#[test]
fn one_file_found_twice_counts_once_and_as_the_nearer() {
    let near =
        at(found(EntityKind::Skill, "a"), Provider::Claude, Level::Project, "/h/.claude/skills/a/SKILL.md");
    let far =
        at(found(EntityKind::Skill, "a"), Provider::Claude, Level::User, "/h/.claude/skills/a/SKILL.md");
    let between =
        at(found(EntityKind::Skill, "a"), Provider::Gemini, Level::Project, "/h/.gemini/skills/a/SKILL.md");
    let registry = Registry::new(vec![far, between.clone(), near.clone(), near.clone()]);
    assert_eq!(registry.all().collect::<Vec<_>>(), [&near, &between]);
}

#[test]
fn two_readings_of_one_file_do_not_depend_on_which_came_first() {
    let older = found(EntityKind::Skill, "a");
    let newer = Entity { prompt: "changed meanwhile".into(), ..older.clone() };
    let one = Registry::new(vec![older.clone(), newer.clone()]);
    let other = Registry::new(vec![newer, older]);
    assert_eq!(one.all().collect::<Vec<_>>(), other.all().collect::<Vec<_>>());
}

#[test]
fn two_hundred_threads_see_the_same() {
    let mut entities = commit_everywhere();
    for name in ["alpha", "beta", "Gamma", "delta"] {
        for kind in EntityKind::ALL {
            entities.push(also(found(kind, name), &["ci", name]));
            entities.push(at(also(found(kind, name), &["x"]), Provider::Shared, Level::User, name));
        }
    }
    let seen = |entities: Vec<Entity>| {
        let registry = Registry::new(entities);
        let typed = ["commit", "ci", "x", "gamma"];
        let meant: Vec<_> = typed
            .map(|name| EntityKind::ALL.map(|kind| registry.get(kind, name).map(in_full)))
            .into_iter()
            .collect();
        let found: Vec<_> = registry.search(None, "a", 10).into_iter().map(in_full).collect();
        (registry.all().map(in_full).collect::<Vec<_>>(), meant, found)
    };
    let expected = Arc::new(seen(entities.clone()));
    let entities = Arc::new(entities);
    let threads: Vec<_> = (0..200)
        .map(|turn| {
            let (entities, expected) = (Arc::clone(&entities), Arc::clone(&expected));
            thread::spawn(move || {
                let mut shuffled = Vec::clone(&entities);
                let len = shuffled.len();
                shuffled.rotate_left(turn % len);
                for at in 0..len {
                    shuffled.swap(at, (at * 7 + turn) % len);
                }
                assert_eq!(seen(shuffled), *expected);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn every_one_of_ten_thousand_is_found_by_name_and_alias() {
    let numbered = |n: usize| also(found(EntityKind::Skill, &format!("Skill-{n}")), &[&format!("s{n}")]);
    let registry = Registry::new((0..10_000).map(numbered).collect());
    for n in 0..10_000 {
        let by_name = registry.get(EntityKind::Skill, &format!("skill-{n}"));
        assert!(by_name.is_some() && by_name == registry.get(EntityKind::Skill, &format!("S{n}")));
    }
    assert_eq!(registry.get(EntityKind::Skill, "skill-10000"), None);
}
