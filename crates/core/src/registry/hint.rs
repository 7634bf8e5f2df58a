//! Hints about the arguments of a command, and the parser for a line that a person is typing.
//!
//! Pure text. The interfaces display it.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Registry;
use super::known::fold;
use crate::entity::{Entity, EntityKind};

/// The width of the hint column in a list of suggestions.
pub const SUGGESTION_COLUMNS: usize = 23;

/// A hint about the arguments that follow a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hint<'r> {
    /// The hint; empty if the command takes no arguments.
    pub text: &'r str,
    /// The kind of the entity that has the hint; `None` if the hint is built in.
    pub kind: Option<EntityKind>,
}

/// Hints for names without an entity.
const BUILTIN: &[(&str, &str)] = &[
    ("commit", "[message] | --amend"),
    ("research-codebase", "<question or topic>"),
    ("create-spec", "<research-doc-path>"),
    ("create-tasks", "<spec-path>"),
    ("implement-task", "[task-id]"),
    ("create-pr", "[title]"),
    ("explain-code", "<file-path> [function-name]"),
    ("review-code", "[file-path | commit | branch]"),
    ("debug", "<what goes wrong>"),
    ("run", "<input> | --skill <name> [args] | --command <name> [args] | --agent <name> <prompt>"),
    ("loop", "<prompt> [--check <command>] [--max-iterations <n>]"),
    ("resume", "[run]"),
    ("ps", "[--here] [--all] [--limit <n>]"),
    ("show", "[run] [--graph | --explain <node>]"),
    ("logs", "[run] [-f]"),
    ("answer", "[run] <text>"),
    ("approve", "[run] [--deny <reason>]"),
    ("send", "[run] --event <name> [text]"),
    ("pause", "[run]"),
    ("cancel", "[run]"),
    ("replay", "[run] [--what-if <key>=<value>]"),
    ("fork", "[run] --at <node>[:<iteration>]"),
    (
        "workflow",
        "list | show <name | file> | check [name | file] | graph <name | file> | new <name> | eject <name | file> | schema",
    ),
    (
        "tasks",
        "init | list | add <name> | next | set <id> <status> | run [--jobs <n>] | check | graph | migrate <file>",
    ),
    ("plugin", "list"),
    ("config", "show"),
    ("entities", "[list] | show <name> | check | eject <name>"),
    ("hint", "<name>"),
    ("doctor", ""),
    ("demo", "[--keep] [--fast]"),
    ("completions", "<shell>"),
    ("sim", "--check <script>"),
    ("help", "[command]"),
    ("version", ""),
];

/// Returns the hint for a name, with or without a slash before it. Prefers the hint of an entity with this name
/// to a built-in one, and that to the hint of an entity with this alias.
pub fn hint<'r>(registry: &'r Registry, name: &str) -> Option<Hint<'r>> {
    let name = name.strip_prefix('/').unwrap_or(name);
    let own = |entity: &'r Entity| {
        let text = entity.argument_hint.as_deref()?.trim();
        (!text.is_empty()).then_some(Hint { text, kind: Some(entity.kind) })
    };
    let (named, aliased): (Vec<&Entity>, Vec<&Entity>) =
        registry.find(name).into_iter().partition(|entity| fold(&entity.name) == fold(name));
    let built_in = || builtin(&fold(name)).map(|text| Hint { text, kind: None });
    named.into_iter().find_map(own).or_else(built_in).or_else(|| aliased.into_iter().find_map(own))
}

fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, hint)| *hint)
}

/// Shortens a text to a number of terminal columns. A shortened text ends with `…`.
pub fn truncate(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    if columns == 0 {
        return Cow::Borrowed("");
    }
    let fits = |cut: &usize| text.get(..*cut).is_some_and(|head| head.width() < columns);
    let cut = cuts(text).take_while(fits).last().unwrap_or(0);
    Cow::Owned(format!("{}…", text.get(..cut).unwrap_or_default()))
}

/// Returns the positions where a text can be cut without splitting a visible character.
fn cuts(text: &str) -> impl Iterator<Item = usize> {
    let mut before = None;
    let mut flags = 0;
    text.char_indices().filter_map(move |(at, c)| {
        flags = if is_flag_letter(c) { flags + 1 } else { 0 };
        let joins = before == Some(JOINER)
            || c.width() == Some(0)
            || is_skin_tone(c)
            || (flags > 0 && flags % 2 == 0);
        before = Some(c);
        (!joins).then_some(at)
    })
}

const JOINER: char = '\u{200d}';

fn is_skin_tone(c: char) -> bool {
    ('\u{1f3fb}'..='\u{1f3ff}').contains(&c)
}

/// Returns true for regional indicators. Two of them make a flag.
fn is_flag_letter(c: char) -> bool {
    ('\u{1f1e6}'..='\u{1f1ff}').contains(&c)
}

/// A command line that a person is typing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedInput<'i> {
    /// The name after the slash; empty without a slash.
    pub name: &'i str,
    /// True if the name is complete and arguments may follow.
    pub has_args: bool,
    /// The arguments as typed.
    pub args: &'i str,
}

/// Splits `/name args`. The name ends at any white space, line breaks included.
pub fn parse_input(input: &str) -> TypedInput<'_> {
    let Some(rest) = input.strip_prefix('/') else {
        return TypedInput { name: "", has_args: false, args: "" };
    };
    match rest.split_once(char::is_whitespace) {
        None => TypedInput { name: rest, has_args: false, args: "" },
        // `\r\n` is one line break.
        Some((name, args)) if rest.get(name.len()..).is_some_and(|rest| rest.starts_with("\r\n")) => {
            TypedInput { name, has_args: true, args: args.strip_prefix('\n').unwrap_or(args) }
        }
        Some((name, args)) => TypedInput { name, has_args: true, args },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::known::tests::{also, found};
    use super::*;

    fn hinted(kind: EntityKind, name: &str, hint: &str) -> Entity {
        Entity { argument_hint: Some(hint.into()), ..found(kind, name) }
    }

    fn shown(registry: &Registry, name: &str) -> Option<(String, Option<EntityKind>)> {
        hint(registry, name).map(|hint| (hint.text.to_owned(), hint.kind))
    }

    #[test]
    fn an_entity_speaks_for_itself_and_a_command_first() {
        let registry = Registry::new(vec![
            hinted(EntityKind::Agent, "commit", "<as agent>"),
            hinted(EntityKind::Skill, "commit", "<as skill>"),
            hinted(EntityKind::Command, "Commit", "<as command>"),
            hinted(EntityKind::Skill, "show", "  "),
            found(EntityKind::Command, "debug"),
            hinted(EntityKind::Skill, "debug", "<as skill>"),
            found(EntityKind::Skill, "mine"),
        ]);
        assert_eq!(shown(&registry, "/COMMIT"), Some(("<as command>".into(), Some(EntityKind::Command))));
        assert_eq!(shown(&registry, "debug"), Some(("<as skill>".into(), Some(EntityKind::Skill))));
        assert_eq!(shown(&registry, "show"), Some(("[run] [--graph | --explain <node>]".into(), None)));
        assert_eq!(shown(&registry, "mine"), None);
    }

    #[test]
    fn a_verb_comes_before_an_alias_and_an_alias_before_nothing() {
        let aliased = also(hinted(EntityKind::Command, "create-tasks", "<spec-path>"), &["tasks", "cut"]);
        let registry = Registry::new(vec![aliased]);
        let (text, kind) = shown(&registry, "tasks").unwrap();
        assert!(text.starts_with("init | list | add <name>") && kind.is_none(), "{text}");
        assert_eq!(shown(&registry, "cut"), Some(("<spec-path>".into(), Some(EntityKind::Command))));
    }

    #[test]
    fn what_nobody_says_the_table_knows() {
        let registry = Registry::default();
        assert_eq!(shown(&registry, "Commit"), Some(("[message] | --amend".into(), None)));
        assert_eq!(shown(&registry, "explain-code"), Some(("<file-path> [function-name]".into(), None)));
        assert_eq!(shown(&registry, "doctor"), Some((String::new(), None)));
        assert_eq!(shown(&registry, "unheard-of"), None);
        for (at, (name, _)) in BUILTIN.iter().enumerate() {
            assert!(BUILTIN.iter().skip(at + 1).all(|(other, _)| other != name), "{name} twice");
        }
    }

    #[test]
    fn a_text_is_cut_by_the_columns_it_takes() {
        let rows = [
            ("<question or topic>", 23, "<question or topic>"),
            ("<file-path> [function-name]", SUGGESTION_COLUMNS, "<file-path> [function-…"),
            ("12345", 5, "12345"),
            ("123456", 5, "1234…"),
            ("日本語の説明", 7, "日本語…"),
            ("日本語の説明", 8, "日本語…"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("ab👩‍👩‍👧cd", 5, "ab👩‍👩‍👧…"),
            ("ab👩‍👩‍👧cd", 4, "ab…"),
            ("👍🏽👍🏽", 3, "👍🏽…"),
            ("🇩🇪🇫🇷x", 4, "🇩🇪…"),
            ("한국어", 3, "한…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
            ("", 0, ""),
        ];
        for (text, columns, expected) in rows {
            assert_eq!(truncate(text, columns), expected, "{text} in {columns}");
        }
    }

    #[test]
    fn a_typed_line_is_a_name_and_its_arguments() {
        let rows = [
            ("/commit", ("commit", false, "")),
            ("/commit ", ("commit", true, "")),
            ("/commit fix the bug", ("commit", true, "fix the bug")),
            ("/commit  two", ("commit", true, " two")),
            ("/commit\nfix\nit", ("commit", true, "fix\nit")),
            ("/commit\r\nfix", ("commit", true, "fix")),
            ("/commit\r\n\nfix", ("commit", true, "\nfix")),
            ("/demo:greet you", ("demo:greet", true, "you")),
            ("/", ("", false, "")),
            ("commit x", ("", false, "")),
            (" /commit", ("", false, "")),
            ("", ("", false, "")),
        ];
        for (typed, (name, has_args, args)) in rows {
            assert_eq!(parse_input(typed), TypedInput { name, has_args, args }, "{typed:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_cut_fits_and_is_a_beginning(text in any::<String>(), columns in 0usize..30) {
            let cut = truncate(&text, columns);
            prop_assert!(cut.width() <= columns || cut == "…" && columns > 0);
            prop_assert!(text.starts_with(cut.strip_suffix('…').unwrap_or(&cut)));
        }
    }
}
