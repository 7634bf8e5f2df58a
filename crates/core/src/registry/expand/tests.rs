//! Tests for the expansion of arguments in a text.

use super::super::known::tests::found;
use super::*;
use crate::entity::PluginSource;

fn entity(provider: Provider, kind: EntityKind, prompt: &str) -> Entity {
    let mut entity = found(kind, "x");
    entity.source.provider = provider;
    Entity { prompt: prompt.into(), ..entity }
}

fn command(provider: Provider, prompt: &str, args: &str) -> String {
    expand(&entity(provider, EntityKind::Command, prompt), args).text()
}

fn pieces(provider: Provider, prompt: &str, args: &str) -> Vec<Piece> {
    expand(&entity(provider, EntityKind::Command, prompt), args).pieces
}

fn commands(provider: Provider, prompt: &str, args: &str) -> Vec<String> {
    let shell = |piece| match piece {
        Piece::Shell { command, .. } => Some(command),
        Piece::Text(_) | Piece::File { .. } => None,
    };
    pieces(provider, prompt, args).into_iter().filter_map(shell).collect()
}

fn files(provider: Provider, prompt: &str, args: &str) -> Vec<String> {
    let file = |piece| match piece {
        Piece::File { path, .. } => Some(path),
        Piece::Text(_) | Piece::Shell { .. } => None,
    };
    pieces(provider, prompt, args).into_iter().filter_map(file).collect()
}

const DOLLARS: [Provider; 7] = [
    Provider::Windlass,
    Provider::Claude,
    Provider::Opencode,
    Provider::Copilot,
    Provider::Codex,
    Provider::Shared,
    Provider::Atomic,
];

#[test]
fn the_arguments_arrive_as_they_were_given() {
    let args =
        "  $1 `date` \"two words\" $ARGUMENTS {{args}}\n!`rm -rf /` @/etc/passwd ${CLAUDE_PLUGIN_ROOT}\\ ";
    for provider in DOLLARS {
        assert_eq!(command(provider, "<$ARGUMENTS>", args), format!("<{args}>"));
        assert_eq!(pieces(provider, "<$ARGUMENTS>", args).len(), 1);
    }
    assert_eq!(command(Provider::Gemini, "<{{args}}>", args), format!("<{args}>"));
}

#[test]
fn no_arguments_are_said_to_a_skill_and_nothing_to_a_command() {
    for blank in ["", " \n"] {
        assert_eq!(command(Provider::Claude, "do: $ARGUMENTS.", blank), "do: .");
        let skill = entity(Provider::Shared, EntityKind::Skill, "do: $ARGUMENTS.");
        assert_eq!(expand(&skill, blank).text(), "do: [no arguments].");
        assert_eq!(command(Provider::Gemini, "do: {{args}}.", blank), "do: .");
        assert_eq!(command(Provider::Claude, "just do it", blank), "just do it");
    }
}

#[test]
fn words_are_counted_as_their_format_counts() {
    let args = "'the first' second third";
    let zero = "$0|$1|$ARGUMENTS[0]|$ARGUMENTS[2]|$ARGUMENTS[3]|";
    assert_eq!(command(Provider::Claude, zero, args), "the first|second|the first|third|$ARGUMENTS[3]|");
    for provider in
        [Provider::Windlass, Provider::Copilot, Provider::Codex, Provider::Shared, Provider::Atomic]
    {
        assert_eq!(command(provider, "$0|$1|$3|$4|", args), "$0|the first|third||");
    }
    assert_eq!(command(Provider::Gemini, "$1 $ARGUMENTS {{args}}", "a"), "$1 $ARGUMENTS a");
    let ten = "a b c d e f g h i j k";
    assert_eq!(command(Provider::Windlass, "$10", ten), "j");
    assert_eq!(command(Provider::Claude, "$10", ten), "k");
}

#[test]
fn in_opencode_the_last_number_takes_the_rest() {
    assert_eq!(command(Provider::Opencode, "$1, then $2", "a b 'c d' e"), "a, then b c d e");
    assert_eq!(command(Provider::Opencode, "$1", "a b"), "a b");
    assert_eq!(command(Provider::Opencode, "$1 $3 $2", "a b"), "a  b");
}

#[test]
fn what_only_looks_like_a_place_is_text() {
    let texts = [
        "$$",
        "$$1",
        "$$ARGUMENTS",
        r"\$1",
        r"\$ARGUMENTS",
        "$1.50",
        "$1,000",
        "$100",
        "$05",
        "$5M",
        "$1st",
        "$HOME",
        "$ARGUMENTSX",
        "$ARGUMENTS_",
        "$arguments",
        "$",
        "${1}",
        "{{args}}",
        "$-1",
        "${CLAUDE_PLUGIN_ROOT}",
    ];
    for text in texts {
        for provider in DOLLARS {
            let expanded = command(provider, text, "x y");
            // Claude Code takes the backslash away.
            let shown = if provider == Provider::Claude { text.trim_start_matches('\\') } else { text };
            assert_eq!(expanded, format!("{shown}\n\nARGUMENTS: x y"), "{provider}");
        }
    }
    assert_eq!(command(Provider::Windlass, r"\\$1", "x"), r"\\x");
    assert_eq!(command(Provider::Windlass, "请看$1文件、$ARGUMENTS吧", "x"), "请看x文件、x吧");
    assert_eq!(command(Provider::Windlass, "$1.", "x"), "x.");
    assert_eq!(command(Provider::Windlass, "$ARGUMENTS[0]", "x"), "x[0]");
    assert_eq!(command(Provider::Gemini, r"C:\{{args}} {{ args }} {{args}", "x"), r"C:\x {{ args }} {{args}");
}

#[test]
fn arguments_without_a_place_follow_after_a_blank_line() {
    assert_eq!(command(Provider::Claude, "do it", "now $1"), "do it\n\nARGUMENTS: now $1");
    assert_eq!(command(Provider::Claude, "do it\n", "now"), "do it\n\nARGUMENTS: now");
    assert_eq!(command(Provider::Claude, "do it\n\n", "now"), "do it\n\nARGUMENTS: now");
    assert_eq!(command(Provider::Gemini, "do it", "now"), "do it\n\nARGUMENTS: now");
    assert_eq!(command(Provider::Claude, "", "now"), "ARGUMENTS: now");
    assert_eq!(command(Provider::Claude, "see @a/b", "now"), "see @a/b\n\nARGUMENTS: now");
}

#[test]
fn an_agents_text_is_left_alone_but_for_the_plugins_folder() {
    let text = "You know $ARGUMENTS, $1, {{args}}, !`ls` and @a/b.";
    for provider in Provider::ALL {
        let mut agent = entity(provider, EntityKind::Agent, text);
        assert_eq!(expand(&agent, "x").pieces, [Piece::Text(text.into())]);
        agent.prompt = "run ${CLAUDE_PLUGIN_ROOT}/x $1".into();
        agent.source.plugin = Some(PluginSource { name: "p".into(), root: "/p $1".into() });
        assert_eq!(expand(&agent, "x").text(), "run /p $1/x $1");
    }
}

#[test]
fn a_plugins_folder_is_put_in_and_quoted_in_a_command() {
    let mut entity = entity(
        Provider::Claude,
        EntityKind::Command,
        "${CLAUDE_PLUGIN_ROOT} !`\"${CLAUDE_PLUGIN_ROOT}/a.sh\" ${CLAUDE_PLUGIN_ROOT}/b` @${CLAUDE_PLUGIN_ROOT}/c.md",
    );
    entity.source.plugin = Some(PluginSource { name: "p".into(), root: "/my 'p'".into() });
    let quoted = r"'/my '\''p'\'''";
    let command = format!("\"\"{quoted}\"/a.sh\" {quoted}/b");
    assert_eq!(
        expand(&entity, "").pieces,
        [
            Piece::Text("/my 'p' ".into()),
            Piece::Shell { written: format!("!`{command}`"), command },
            Piece::Text(" ".into()),
            Piece::File { path: "/my 'p'/c.md".into(), written: "@/my 'p'/c.md".into() },
        ]
    );
}

#[test]
fn commands_are_found_where_their_format_has_them() {
    let text = "Status: !`git status`\n!`git diff` (!`pwd`) wow!`no` `!`, `x` !` ` !`open";
    for provider in [Provider::Claude, Provider::Windlass] {
        assert_eq!(commands(provider, text, ""), ["git status", "git diff", "pwd"]);
        assert_eq!(command(provider, text, ""), text);
    }
    assert_eq!(commands(Provider::Opencode, "Diff:!`git diff` `!`, `x`", ""), ["git diff"]);
    for provider in [Provider::Codex, Provider::Copilot, Provider::Shared, Provider::Atomic, Provider::Gemini]
    {
        assert!(commands(provider, text, "").is_empty());
    }
    let gemini = "!{git log {a,b}} !{open !{pwd} `!{}";
    assert_eq!(commands(Provider::Gemini, gemini, ""), ["git log {a,b}", "pwd"]);
    assert!(commands(Provider::Claude, r"\!`ls`", "").is_empty());
}

#[test]
fn arguments_in_a_command_are_words_and_never_a_command() {
    let hostile = "; rm -rf / $(reboot) `halt` 'x' \"";
    let words = r#"';' 'rm' '-rf' '/' '$(reboot)' '`halt`' 'x' '""#;
    let whole = r#"'; rm -rf / $(reboot) `halt` '\''x'\'' "'"#;
    let rows = [
        ("git diff $ARGUMENTS", format!("git diff {words}'")),
        ("git diff \"$ARGUMENTS\"", format!("git diff \"\"{whole}\"\"")),
        ("git diff 'a $ARGUMENTS b'", format!("git diff 'a '{whole}' b'")),
        ("echo \\\"$0 $3$9", "echo \\\"';' '/'".into()),
        ("x=$(git log $4)", "x=$(git log '$(reboot)')".into()),
        ("cd a && git log -- $ARGUMENTS | wc -l", format!("cd a && git log -- {words}' | wc -l")),
        ("x=$ARGUMENTS", format!("x={whole}")),
        ("git log --author=$ARGUMENTS", format!("git log --author={whole}")),
        ("cat > $ARGUMENTS", format!("cat > {whole}")),
        ("x=1 $ARGUMENTS", format!("x=1 {whole}")),
        ("if $ARGUMENTS; then $ARGUMENTS", format!("if {whole}; then {whole}")),
        ("$ARGUMENTS", whole.to_owned()),
        ("x=$(date)y $ARGUMENTS", format!("x=$(date)y {whole}")),
        ("cat >| a $ARGUMENTS", format!("cat >| a {whole}")),
        ("a 2>&1 | git log $ARGUMENTS", format!("a 2>&1 | git log {words}'")),
        ("a 2>&1; [ -d $0 ]", "a 2>&1; [ -d ';' ]".into()),
    ];
    for (template, expected) in rows {
        assert_eq!(commands(Provider::Claude, &format!("!`{template}`"), hostile), [expected]);
    }
    assert_eq!(commands(Provider::Gemini, "!{grep {{args}} .}", hostile), [format!("grep {whole} .")]);
    assert_eq!(commands(Provider::Gemini, "!{ls {{args}}}", " "), ["ls "]);
    assert_eq!(commands(Provider::Opencode, "!`ls $1 $2`", "a b c"), ["ls 'a' 'b' 'c'"]);
    let skill = entity(Provider::Claude, EntityKind::Skill, "!`ls $ARGUMENTS \"$ARGUMENTS\"`");
    assert_eq!(expand(&skill, "").text(), "!`ls  \"\"`");
}

#[test]
fn where_quoting_is_unsure_nothing_is_put_and_nothing_lost() {
    let unsure = [
        "cat <<E\n$0\nE",
        "ls # $0",
        "echo $(($0))",
        "echo \"$(ls $0)\"",
        "echo \"${x:-$0}\"",
        "echo ${x:-$0}",
        "echo $'a' $0",
        "echo $[$0]",
        "(( $0 ))",
        "echo \"$\\\n(ls $0)\"",
        "awk '{print $0}' f",
        "echo $\"a\" $0",
    ];
    for template in unsure {
        let text = command(Provider::Claude, &format!("!`{template}`"), "$(reboot)");
        assert_eq!(text, format!("!`{template}`\n\nARGUMENTS: $(reboot)"));
    }
    for template in ["echo `ls {{args}}`", "echo ${{args}}", r"echo \{{args}}", r#"echo "\{{args}}""#] {
        let text = command(Provider::Gemini, &format!("!{{{template}}}"), "$(reboot)");
        assert_eq!(text, format!("!{{{template}}}\n\nARGUMENTS: $(reboot)"));
    }
}

#[test]
fn files_are_mentioned_by_something_like_a_path() {
    let text = "@src/main.rs, see (@docs/a-b.md) and @~/x/ or @a.txt. @ünï/日本.md\n@b.rs:10\n@./c";
    let expected = ["src/main.rs", "docs/a-b.md", "~/x/", "a.txt", "ünï/日本.md", "b.rs:10", "./c"];
    assert_eq!(files(Provider::Claude, text, ""), expected);
    assert_eq!(command(Provider::Claude, text, ""), text);
    let none = "me@example.com @everyone @you. @app.route(\"/x\") `@a/b` @user@host.org @ @. @/ @$HOME/x \\@a/b @a/b*c";
    assert_eq!(files(Provider::Claude, none, ""), Vec::<String>::new());
    assert_eq!(files(Provider::Gemini, "@{a b/{c}.md} @d/e.md @{} @{open", ""), ["a b/{c}.md"]);
    assert!(files(Provider::Codex, text, "").is_empty());
}

#[test]
fn a_file_may_be_named_by_an_argument() {
    let text = "Compare @$0 with @src/$ARGUMENTS[1], not @$2.";
    assert_eq!(files(Provider::Claude, text, "a.rs b.rs"), ["a.rs", "src/b.rs"]);
    assert_eq!(command(Provider::Claude, text, "a.rs b.rs"), "Compare @a.rs with @src/b.rs, not @.");
    assert_eq!(files(Provider::Gemini, "@{{{args}}}", "a b.md"), ["a b.md"]);
    assert_eq!(files(Provider::Claude, "$ARGUMENTS", "@a.rs"), Vec::<String>::new());
    assert_eq!(files(Provider::Claude, "@ $ARGUMENTS", "a.rs"), Vec::<String>::new());
}

#[test]
fn a_large_hostile_text_is_read_in_one_go() {
    for unit in ["!{", "@{", "(@", "!`", "$ARGUMENTS[", "@$1", "{{args", "\\", "$1", "<@a/"] {
        let text = unit.repeat(20_000);
        for provider in Provider::ALL {
            assert!(command(provider, &text, "x").len() < 1_000_000);
        }
    }
}

mod properties;
