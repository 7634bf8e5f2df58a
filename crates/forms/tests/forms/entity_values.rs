//! Values of the wrong type, names that are none, limits that cannot be understood: what is made
//! of each, and exactly what is said about it.

use crate::entity::{clean, line, only, origin, refused, said};
use windlass_core::entity::{Kind, PluginSource};
use windlass_forms::entity::{Origin, parse};

#[test]
fn of_a_key_that_is_there_twice_the_last_wins() {
    let read = line("name: a\ndescription: d\nname: b\nextra: 1\nextra: 2");
    assert_eq!(only(&read).name, "b");
    assert_eq!(only(&read).extra["extra"], 2);
    insta::assert_snapshot!(said(&read), @"
    warning: this says again what `name` says above; this one is used
      at .claude/x.md:4:1
         4 | name: b
           | ^
      hint: remove one of the two
    warning: this says again what `extra` says above; this one is used
      at .claude/x.md:6:1
         6 | extra: 2
           | ^
      hint: remove one of the two
    ");
}

#[test]
fn a_value_of_the_wrong_type_is_used_where_that_is_safe() {
    let read = line("name: 1.10\ndescription: true");
    assert_eq!((clean(&read).name.as_str(), clean(&read).description.as_str()), ("1.10", "true"));
    let read = line("description: [a, b]\nmodel: {a: 1}");
    assert_eq!((only(&read).description.as_str(), &only(&read).model), ("[a, b]", &None));
    insta::assert_snapshot!(said(&read), @"
    warning: `description` is a list as it stands; it is read as text
      at .claude/x.md:2:14
         2 | description: [a, b]
           |              ^
      hint: put it in quotes
    warning: `model` must be text, found an object; it is passed over
      at .claude/x.md:3:8
         3 | model: {a: 1}
           |        ^
      hint: write it in quotes
    ");
    insta::assert_snapshot!(refused(&line("name: [a]\ndescription:\n  - a")), @"
    error: `name` must be text, found a list
      at .claude/x.md:2:7
         2 | name: [a]
           |       ^
      hint: write it in quotes
    warning: `description` must be text, found a list; it is passed over
      at .claude/x.md:4:3
         4 |   - a
           |   ^
      hint: write it in quotes
    ");
}

#[test]
fn a_limit_of_tools_that_cannot_be_understood_is_never_no_limit() {
    insta::assert_snapshot!(refused(&line("description: d\nallowed-tools: true")), @"
    error: `allowed-tools` must name tools, found true or false
      at .claude/x.md:3:16
         3 | allowed-tools: true
           |                ^
      hint: write it as `allowed-tools: Read, Bash(git:*)`, or as a list
    ");
    insta::assert_snapshot!(refused(&line("description: d\ntools:\n  bash: maybe")), @"
    error: `tools.bash` must be true or false, found a string
      at .claude/x.md:4:9
         4 |   bash: maybe
           |         ^
    ");
    let read = line("description: d\ntools: [Read, Grep\nmodel: opus");
    let names: Vec<&str> =
        only(&read).tools.as_ref().unwrap().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["read", "grep"]);
    insta::assert_snapshot!(said(&read), @"
    warning: the `[` is never closed
      at .claude/x.md:3:8
         3 | tools: [Read, Grep
           |        ^
      hint: close it, or put the whole value in quotes
    ");
    let read = line("description: d\ntools: Read, Bash(git");
    insta::assert_snapshot!(said(&read), @"
    warning: a bracket in `tools` is never closed
      at .claude/x.md:3:8
         3 | tools: Read, Bash(git
           |        ^
      hint: close it, so that no tool is lost
    ");
}

#[test]
fn a_name_is_neither_a_path_nor_a_trick() {
    for (name, wrong) in [
        ("../x", "has a `/` in it"),
        ("a\\\\b", "has a `\\` in it"),
        ("a\\e[2J", "has a control character in it"),
        (" ", "is empty"),
        ("a\u{202e}b", "has a control character in it"),
    ] {
        let shown = refused(&line(&format!("name: \"{name}\"\ndescription: d")));
        let first = shown.lines().next().unwrap();
        assert!(first.starts_with("error: the name `") && first.ends_with(wrong), "{shown}");
        assert!(shown.contains("at .claude/x.md:2:7") && !shown.contains('\u{1b}'), "{shown}");
    }
    let long = "n".repeat(129);
    assert!(refused(&line(&format!("name: {long}"))).contains("is longer than 128 characters"));
    let read = parse(&Origin { name: "a\u{1b}b", ..origin(Kind::Command) }, "Do it.");
    insta::assert_snapshot!(refused(&read), @"
    error: the name `a�b` has a control character in it
      at .claude/x.md:1:1
         1 | Do it.
           | ^
      hint: rename the file, or give it a `name`
    ");
}

#[test]
fn a_name_in_the_file_wins_and_the_file_s_own_is_an_alias() {
    let read = line("name: Other\ndescription: d\naliases: one, two other\n");
    assert_eq!(clean(&read).name, "Other");
    assert_eq!(clean(&read).aliases, ["one", "two", "x"]);
    let read = line("name: X\ndescription: d");
    assert_eq!(clean(&read).aliases, [""; 0], "case makes no other name");
    let read = line("description: d\naliases:\n  - ok\n  - ../no");
    assert_eq!(only(&read).aliases, ["ok"]);
    assert!(
        said(&read).starts_with(
            "warning: the alias `../no` has a `/` in it; it is left out\n  at .claude/x.md:5:5\n"
        )
    );
}

#[test]
fn what_a_plugin_brings_has_the_plugin_s_name() {
    let plugin = PluginSource { name: "e2e".into(), root: "/p".into() };
    let origin = Origin { plugin: Some(&plugin), ..origin(Kind::Command) };
    let read = parse(&origin, "---\nname: run\naliases: [go]\n---\nDo it.\n");
    let entity = clean(&read);
    assert_eq!((entity.name.as_str(), entity.source.plugin.as_ref()), ("e2e:run", Some(&plugin)));
    assert_eq!(entity.aliases, ["e2e:go", "e2e:x"]);
}

#[test]
fn a_bomb_is_refused_and_not_repaired() {
    let mut bomb = "description: d\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..8 {
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(", ")));
    }
    assert!(refused(&line(&bomb)).starts_with("error: this means far more than it says\n"));
    let deep = refused(&line(&format!("description: d\na: {}", "[".repeat(5000))));
    assert!(deep.starts_with("error: nested more than 32 levels deep\n  at .claude/x.md:3:36\n"), "{deep}");
    let long = refused(&line(&format!("description: {}", "x".repeat(64 * 1024))));
    assert!(
        long.starts_with("error: the frontmatter is longer than 64 KB\n  at .claude/x.md:1:1\n"),
        "{long}"
    );
}

#[test]
fn unknown_keys_are_kept_as_they_were_read() {
    let read = line(
        "description: d\nlicense: MIT\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          timeout: 30\nratio: 0.5\nnone:",
    );
    let expected = serde_json::json!({
        "license": "MIT",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "timeout": 30}]}]},
        "ratio": 0.5,
        "none": null,
    });
    assert_eq!(serde_json::to_value(&clean(&read).extra).unwrap(), expected);
}

#[test]
fn what_people_see_is_harmless_on_a_screen() {
    let read = line(
        "description: \"a\\e[31mb\\u202ec\"\nargument-hint: \"\\a[x]\"\nmodel: \"m\\e\"\ntools: [\"T\\e\"]",
    );
    let entity = clean(&read);
    assert_eq!(entity.description, "a\u{fffd}[31mb\u{fffd}c");
    assert_eq!(entity.argument_hint.as_deref(), Some("\u{fffd}[x]"));
    assert_eq!(entity.model.as_ref().unwrap().original, "m\u{fffd}");
    assert_eq!(entity.tools.as_ref().unwrap()[0].name, "t\u{fffd}");
}
