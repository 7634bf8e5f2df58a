//! Lines as agents write them, and lines that are written to get past a rule.

use proptest::prelude::*;

use super::*;

/// Every command a line starts, without assignments, sorted.
fn started(line: &str) -> Vec<String> {
    let script = ShellScript::read(line);
    let all = script.commands.iter().flat_map(|command| std::iter::once(command).chain(&command.inner));
    let mut all: Vec<String> = all.map(|command| command.after_assignments().to_owned()).collect();
    all.sort();
    all
}

#[test]
fn a_line_is_the_commands_it_starts() {
    for (line, expected) in [
        ("", &[][..]),
        (" ; \n # x\n", &[]),
        ("a b;c", &["a b", "c"]),
        ("X=1 a 'b c' \"d\"e\\ f", &["a b c de f"]),
        ("a 2>&1 >x <y b", &["a b"]),
        ("a $(b \"$(c)\") `d`", &["a $(b \"$(c)\") `d`", "b $(c)", "c", "d"]),
        ("sudo -u x timeout 5 a b", &["a b", "sudo -u x timeout 5 a b", "timeout 5 a b"]),
        ("bash -c 'a; b'", &["a", "b", "bash -c a; b"]),
        ("a <<E; b\nc\nE\nd", &["a", "b", "d"]),
        ("for x in 1 2; do a; done", &["a", "for x in 1 2"]),
        ("case x in b) a;; esac", &["a"]),
        ("a $'\\x62\\t\\'c\\101'", &["a b\t'cA"]),
        ("a \"\\b\\$\\\"\"", &["a \\b$\""]),
    ] {
        assert_eq!(started(line), expected, "{line:?}");
    }
}

#[test]
fn what_is_nested_too_deeply_is_not_passed_over() {
    for (open, close) in [
        ("echo $(", ")"),
        ("(", ")"),
        ("{ ", "; }"),
        ("echo \"$(", ")\""),
        ("echo ${x:-$(", ")}"),
        ("cat <(", ")"),
        ("a=($(", "))"),
        ("case x in x) ", ";; esac"),
        ("if ", "; then :; fi"),
        ("eval ", ""),
        ("sudo ", ""),
        ("time -p ", ""),
        ("! ", ""),
        ("A=1 ", ""),
        ("a;", ""),
        ("find . -exec ", ""),
    ] {
        for count in [1, 3, 30, 300, 3_000] {
            let line = format!("{}rm x{}", open.repeat(count), close.repeat(count));
            let script = ShellScript::read(&line);
            let all =
                || script.commands.iter().flat_map(|command| std::iter::once(command).chain(&command.inner));
            let is_unclear = script.unclear.is_some() || all().any(|command| command.unclear.is_some());
            let is_found = all().any(|command| command.after_assignments().starts_with("rm x"));
            assert!(is_found || is_unclear && count > 3, "{open} {count}");
            assert!(all().count() <= 2 * MOST_COMMANDS, "{open} {count}");
        }
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "rm",
        " ",
        "x",
        ";",
        "\n",
        "'",
        "\"",
        "\\",
        "$",
        "(",
        ")",
        "{",
        "}",
        "`",
        "<",
        ">",
        "<<E",
        "\nE\n",
        "&",
        "|",
        "[[",
        "]]",
        "((",
        "))",
        "case ",
        " in ",
        ";;",
        "esac",
        "if ",
        "then ",
        "fi",
        "do ",
        "done",
        "for ",
        "=",
        "A=",
        "#",
        "$'",
        "${",
        "$((",
        "eval ",
        "bash -c ",
        "sudo -u ",
        "xargs -I",
        "env -S",
        "find -exec ",
        "é",
        "\t",
        "*",
        "[",
        "]",
        ",",
        "..",
        "-c",
        "--",
        "time ",
        "\\x",
        "\\u12",
        "\0",
        "~",
        "!",
        "2>&1",
        "alias a=",
        "trap ",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_to_its_end(text in pieces()) {
        let script = ShellScript::read(&text);
        for command in script.commands.iter().flat_map(|command| std::iter::once(command).chain(&command.inner)) {
            let _ = command.name();
            for (at, word) in command.words.iter().enumerate() {
                prop_assert!(command.word(at).is_some(), "{:?} {:?}", text, command);
                prop_assert!(word.hole.is_none_or(|(from, to)| word.start <= from && to <= word.end), "{:?} {:?}", text, command);
            }
        }
    }

    #[test]
    fn any_characters_are_read_to_their_end(text in any::<String>()) {
        ShellScript::read(&text);
    }

    #[test]
    fn a_quoted_text_starts_nothing(text in "[^']{0,40}") {
        prop_assert_eq!(started(&format!("echo '{text}'; ls")), vec![format!("echo {text}"), "ls".to_owned()]);
    }

    #[test]
    fn a_command_on_its_own_line_is_found_behind_any_that_can_be_read(text in pieces()) {
        let line = format!("{text}\nrm x");
        let is_whole = ShellScript::read(&text).unclear.is_none() && !text.contains("<<") && !text.ends_with(['\\', '#']);
        let script = ShellScript::read(&line);
        let mut all = script.commands.iter().flat_map(|command| std::iter::once(command).chain(&command.inner));
        // Within brackets, a condition or the patterns of `case`, a line break ends nothing.
        let is_open = ["(", "[[", "case", ";;"].iter().any(|open| text.contains(open));
        prop_assert!(!is_whole || is_open || all.any(|command| command.after_assignments() == "rm x"), "{:?} {:?}", line, script);
    }
}
