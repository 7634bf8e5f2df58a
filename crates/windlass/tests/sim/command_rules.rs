//! Rules about shell commands, on a shell that would really run them.

use serde_json::{Value, json};

use crate::place::{Place, say};

/// Ways to run `touch made…`, each of which makes a file of its own.
const DENIED: &[&str] = &[
    "touch made-plain",
    "A=1 touch made-assigned",
    "touch\tmade-tab",
    "if true; then touch made-if; fi",
    "! touch made-not",
    "\\touch made-escaped",
    "'touch' made-quoted",
    "to''uch made-empty",
    "command touch made-command",
    "env A=1 touch made-env",
    "/usr/bin/touch made-path || /bin/touch made-path",
    "echo made-xargs | xargs touch",
    "nohup touch made-nohup",
    "exec touch made-exec",
    "timeout 5 touch made-timeout",
    "nice -n 1 touch made-nice",
    "eval 'touch made-eval'",
    "sh -c 'touch made-sh'",
    "sh <<'EOF'\ntouch made-here\nEOF",
    "echo touch made-piped | sh",
    "(touch made-group)",
    "{ touch made-braces; }",
    "echo $(touch made-substitution)",
    "echo \"`touch made-backquotes`\"",
    "cat <<EOF\n$(touch made-in-here)\nEOF",
    "cat <<'EOF'\nit's\nEOF\ntouch made-after-here",
    "true\ntouch made-line",
    "touch made-background & wait",
    "true | touch made-pipe",
    "while true; do touch made-loop; break; done",
    "case a in b) ;; a) touch made-case;; esac",
    "f() { touch made-function; }; f",
    "find . -maxdepth 0 -exec touch made-find \\;",
    "tou\\\nch made-continued",
    "C=touch; $C made-variable",
    "${NONE:-touch} made-default",
    "trap 'touch made-trap' EXIT",
];

/// Commands that look like denied ones but are harmless.
const ALLOWED: &[&str] = &[
    "echo 'a; touch made-x' > kept-quotes",
    "echo \"a & touch made-y\" 2>&1 > kept-both",
    "cat > kept-here <<'EOF'\n$(touch made-z); it's; touch made-z\nEOF",
    "for f in touch made; do echo \"$f\"; done > kept-loop # ; touch made-c",
];

fn turns() -> Value {
    let mut steps: Vec<Value> = DENIED.iter().chain(ALLOWED).map(|line| json!({ "bash": line })).collect();
    steps.push(say("Done."));
    json!([{ "steps": steps }])
}

#[test]
fn a_command_that_a_rule_denies_is_never_run_however_it_is_written() {
    let held =
        "---\ndescription: d\npermission:\n  bash:\n    \"*\": allow\n    \"touch *\": deny\n---\nYou try.";
    for (settings, flags) in [
        ("[permissions]\ndeny = [\"Bash(touch *)\"]\n", &["--agent", "free", "hi"][..]),
        ("", &["--agent", "held", "hi"]),
    ] {
        let place = Place::with_settings(settings);
        place.script(json!({ "turns": turns() }));
        place.sealed.write("repo/.opencode/agent/free.md", "---\ndescription: d\n---\nYou try.");
        place.sealed.write("repo/.opencode/agent/held.md", held);
        let ran = place.go(&[&["run"], flags, &["--json"]].concat());

        ran.assert_ended(0, "completed", "turn_done", 1);
        let files = std::fs::read_dir(place.repo()).unwrap();
        let mut files: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        files.retain(|name| name.starts_with("made") || name.starts_with("kept"));
        files.sort();
        assert_eq!(files, ["kept-both", "kept-here", "kept-loop", "kept-quotes"], "{ran}");
        let decisions: Vec<&Value> =
            ran.lines.iter().filter(|line| line["type"] == "hook.decision").collect();
        let reasons: Vec<&str> =
            decisions.iter().filter_map(|decision| decision["data"]["reason"].as_str()).collect();
        assert_eq!(reasons.len(), DENIED.len(), "{reasons:?}");
        for words in [": the command line runs `touch made-if`", "cannot tell what `$C` stands for"] {
            assert!(reasons.iter().any(|reason| reason.contains(words)), "{words}: {reasons:?}");
        }
    }
}
