//! No text makes a reader of entities panic, and what is written is read back.

use proptest::prelude::*;
use windlass_core::entity::{Entity, EntityKind, Level, PluginSource, Provider};
use windlass_forms::entity::{Origin, ReadEntities, parse, print};

const PIECES: &[&str] = &[
    "---\n",
    "---",
    "\n",
    "\r\n",
    "\n\n",
    " ",
    "  ",
    "\t",
    "name",
    "description",
    "tools",
    "allowed-tools",
    "model",
    "aliases",
    "argument-hint",
    "permission",
    "disable",
    "prompt",
    "template",
    "command",
    "agent",
    "developer_instructions",
    ": ",
    ":",
    " = ",
    "- ",
    "\n- ",
    "\n  - ",
    "\n  ",
    "[",
    "]",
    "{",
    "}",
    ",",
    ", ",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "\\",
    "\\u",
    "\\ud800",
    "\\e",
    "|",
    "|\n  ",
    ">",
    ">-\n  ",
    "#",
    " # ",
    "//",
    "/*",
    "*/",
    "&a",
    "*a",
    "*",
    "@",
    "`",
    "%",
    "!",
    "!!str ",
    "?",
    "~",
    "true",
    "false",
    "null",
    "1",
    "1.10",
    "0x1f",
    "1e999",
    "opus",
    "Bash(git:*)",
    "Bash(",
    "Read",
    "edit",
    "mcp__x",
    "{git *: ask}",
    "é",
    "—",
    "\u{feff}",
    "\u{2028}",
    "\u{85}",
    "\u{1b}[2J",
    "\u{0}",
    "\u{ffff}",
    "\u{202e}",
    "../",
    "/",
    "...",
    "text with words",
    "Use this: when",
    "{{args}}",
    "$ARGUMENTS",
    "<<",
    "deny",
    "allow",
    "2020-01-01",
];

fn text() -> impl Strategy<Value = String> {
    let pieces = |most| {
        prop::collection::vec(prop::sample::select(PIECES), 0..most).prop_map(|pieces| pieces.concat())
    };
    let lines = prop::collection::vec(
        (
            prop::sample::select(vec![
                "name: ",
                "description: ",
                "tools: ",
                "tools: {bash: ",
                "permission: ",
                "permission:\n  bash: ",
                "disallowed-tools: ",
                "model: ",
                "aliases: ",
                "argument-hint: ",
                "x: ",
                "hooks:",
                "",
                "  ",
            ]),
            pieces(5),
        ),
        0..8,
    )
    .prop_map(|lines| lines.into_iter().map(|(key, value)| format!("{key}{value}\n")).collect::<String>());
    let file = (lines, pieces(8)).prop_map(|(head, body)| format!("---\n{head}---\n{body}"));
    prop_oneof![any::<String>(), pieces(40), file]
}

fn origins<'a>(name: &'a str, plugin: Option<&'a PluginSource>) -> impl Iterator<Item = Origin<'a>> {
    let kinds = [None, Some(EntityKind::Command), Some(EntityKind::Skill), Some(EntityKind::Agent)];
    Provider::ALL.into_iter().flat_map(move |provider| {
        kinds.into_iter().map(move |kind| Origin {
            provider,
            kind,
            level: Level::User,
            distance: 2,
            path: "some/file",
            name,
            plugin,
        })
    })
}

fn is_sound(read: &ReadEntities, text: &str) -> bool {
    let shown = |c: char| c == '\n' || !c.is_control();
    let harmless = read.diagnostics.iter().all(|diagnostic| diagnostic.to_string().chars().all(shown));
    let is_placed = read.diagnostics.iter().all(|diagnostic| diagnostic.file.is_some());
    let whole = read.entities.iter().all(|entity| is_whole(entity, text));
    harmless && is_placed && whole
}

fn is_whole(entity: &Entity, text: &str) -> bool {
    let lines = u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX - 1) + 1;
    let named = !entity.name.trim().is_empty() && !entity.name.contains(char::is_control);
    named && (1..=lines).contains(&entity.source.line)
}

proptest! {
    // A failure is kept as a test with a name, not as a seed in a file.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_a_reader_panic(text in text(), name in prop_oneof![Just("x".to_owned()), any::<String>()]) {
        let plugin = PluginSource { name: "p".into(), root: "/p".into() };
        for origin in origins(&name, None).chain(origins(&name, Some(&plugin))) {
            let read = parse(&origin, &text);
            prop_assert!(is_sound(&read, &text), "{origin:?}: {read:?}");
            let files = origin.kind.is_some();
            let has_error = read.diagnostics.iter().any(windlass_forms::diagnostic::Diagnostic::is_error);
            prop_assert!(!files || !has_error || read.entities.is_empty(), "an error and an entity: {read:?}");
        }
    }

    #[test]
    fn what_is_read_is_written_and_read_again(text in text()) {
        for kind in EntityKind::ALL {
            let origin = Origin {
                provider: Provider::Windlass, kind: Some(kind), level: Level::Project, distance: 0, path: "f", name: "x", plugin: None,
            };
            let first = parse(&origin, &text);
            for entity in first.entities {
                let written = print(&entity);
                let second = parse(&origin, &written);
                prop_assert_eq!(&second.entities, &[entity], "{}", written);
                prop_assert_eq!(print(&second.entities[0]), written);
            }
        }
    }

    #[test]
    fn what_others_wrote_is_stable_once_it_is_ours(text in text()) {
        for origin in origins("x", None) {
            let ours = Origin { provider: Provider::Windlass, ..origin };
            for entity in parse(&origin, &text).entities {
                let ours = Origin { kind: Some(entity.kind), name: &entity.name, ..ours };
                let once = parse(&ours, &print(&entity)).entities;
                prop_assert_eq!(once.len(), 1, "{}", print(&entity));
                let once = &once[0];
                prop_assert_eq!(&once.prompt, entity.prompt.trim_end().trim_start_matches('\n'), "{}", print(&entity));
                let twice = parse(&ours, &print(once)).entities;
                prop_assert_eq!(twice.first(), Some(once));
            }
        }
    }
}
