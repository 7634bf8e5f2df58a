//! Names, commands, paths and addresses: what a rule means, and what it does not.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn touches(rule: &str, tool: &str, input: Value) -> bool {
    CheckedCall::new(&ToolCall::named(tool, input), "/w".into()).touched_by(rule).is_some()
}

fn grants(rules: &[&str], tool: &str, input: Value) -> bool {
    let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
    CheckedCall::new(&ToolCall::named(tool, input), "/w".into()).is_granted_by(&rules)
}

fn line(line: &str) -> Value {
    json!({"command": line})
}

fn file(path: &str) -> Value {
    json!({"file_path": path})
}

#[test]
fn a_tool_goes_by_every_name_it_has() {
    for (rule, tool, expected) in [
        ("Read", "Read", true),
        ("read", "Read", true),
        ("read_file", "Read", true),
        ("Read", "read_file", true),
        ("shell", "Bash", true),
        ("Agent", "Task", true),
        ("Task", "Agent", true),
        ("Read", "ReadMore", false),
        ("Read", "Write", false),
        ("Web*", "WebFetch", true),
        ("web*", "WebFetch", true),
        ("*", "Brand_new", true),
        ("Edit", "MultiEdit", true),
        ("Edit", "NotebookEdit", true),
        ("Edit", "Write", false),
        ("mcp__db__*", "mcp__db__query", true),
        ("mcp__db", "mcp__db__query", true),
        ("mcp__db", "mcp__dbx__query", false),
        ("mcp__db__*", "mcp__dbx__query", false),
        ("mcp_*", "mcp__db__query", true),
        ("mcp_db_*", "mcp__db__query", true),
        ("db_query", "mcp__db__query", true),
        ("db_*", "mcp__db__query", true),
        ("db_*", "Bash", false),
    ] {
        assert_eq!(touches(rule, tool, json!({})), expected, "{rule} {tool}");
    }
    assert!(!grants(&["Edit"], "NotebookEdit", json!({})), "to permit one is not to permit the other");
}

#[test]
fn a_rule_about_some_files_is_about_every_tool_that_reaches_them() {
    let changing =
        ["Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "str_replace_based_edit_tool"];
    for rule in changing {
        let rule = format!("{rule}(.env)");
        for tool in changing {
            assert!(touches(&rule, tool, json!({"path": ".env", "command": "create"})), "{rule} {tool}");
            assert!(!touches(&rule, tool, file("a")), "{rule} {tool}");
        }
        assert!(!touches(&rule, "Read", file(".env")), "{rule}");
    }
    for tool in ["Read", "Grep", "Glob", "LS", "NotebookRead"] {
        assert!(touches("Read(.env)", tool, json!({"path": ".env"})), "{tool}");
        assert!(!touches("Read(.env)", tool, json!({"path": "src"})), "{tool}");
    }
    assert!(touches("Read(.env)", "Grep", json!({"pattern": "KEY", "glob": ".env"})));
    assert!(touches("Read(conf/.env)", "Grep", json!({"pattern": "KEY", "path": "conf", "glob": ".env"})));
    assert!(touches("Read(.env)", "Glob", json!({"pattern": "**/.env"})));
    assert!(!touches("Read(.env)", "Grep", json!({"pattern": ".env"})), "it looks for that text");
    assert!(!touches("Read(.env)", "Write", file(".env")));
    for tool in changing {
        assert!(touches("apply_patch", tool, file("a")), "{tool}");
    }
    assert!(!touches("Write", "Edit", file("a")) && !touches("Read", "Grep", json!({"path": "a"})));
    for (rule, tool) in
        [("Edit(a)", "Write"), ("Write(a)", "Edit"), ("apply_patch", "Write"), ("Read(a)", "Grep")]
    {
        assert!(!grants(&[rule], tool, json!({"path": "a"})), "{rule} permits no {tool}");
    }
}

#[test]
fn a_rule_about_a_folder_is_about_what_is_in_it() {
    for rule in ["Write(src)", "Write(src/)", "Write(./src)", "Write(/w/src)", "Write(s?c)"] {
        for path in ["src/a.rs", "/w/src/deep/a.rs"] {
            assert!(touches(rule, "Write", file(path)), "{rule} {path}");
            assert!(grants(&[rule], "Write", file(path)), "{rule} {path}");
        }
        assert!(
            !touches(rule, "Write", file("srcs/a.rs")) && !grants(&[rule], "Write", file("a/src.rs")),
            "{rule}"
        );
    }
    assert!(touches("Write(~/.ssh)", "Write", file("/home/me/.ssh/id")));
}

#[test]
fn a_tool_of_a_server_may_be_written_with_a_slash() {
    assert!(
        touches("db/query", "mcp__db__query", json!({}))
            && grants(&["db/query"], "mcp__db__query", json!({}))
    );
    assert!(touches("db/*", "mcp__db__query", json!({})));
    assert!(!touches("db/query", "mcp__db__drop", json!({})) && !touches("db/query", "Read", json!({})));
    assert!(touches("edit/editFiles", "Write", file("a")), "a set of Copilot's");
}

#[test]
fn a_host_needs_no_word_before_it() {
    let url = |url: &str| json!({"url": url});
    for (rule, address, expected) in [
        ("WebFetch(x.com)", "https://x.com/a", true),
        ("WebFetch(x.com)", "https://API.X.com:80/a", true),
        ("WebFetch(*.x.com)", "https://a.x.com/b", true),
        ("WebFetch(x.com/docs/*)", "https://x.com/docs/a", true),
        ("WebFetch(x.com/docs/*)", "https://x.com/a", false),
        ("WebFetch(x.com)", "https://ax.com/", false),
        ("WebFetch(x.com)", "https://evil.org/x.com", false),
        ("WebFetch(x.com)", "https://x.com@evil.org/", false),
    ] {
        assert_eq!(touches(rule, "WebFetch", url(address)), expected, "{rule} {address}");
        assert_eq!(grants(&[rule], "WebFetch", url(address)), expected, "{rule} {address}");
    }
}

#[test]
fn a_pattern_is_a_command_with_anything_after_it() {
    let git = || line("git log --oneline");
    for rule in ["Bash(git *)", "Bash(git:*)", "Bash(git log*)", "shell(git *)"] {
        assert!(touches(rule, "Bash", git()), "{rule}");
        assert!(grants(&[rule], "Bash", git()), "{rule}");
    }
    assert!(touches("Bash(git *)", "Bash", line("git")));
    for other in ["gitk", "rm git", "agit log"] {
        assert!(!grants(&["Bash(git:*)"], "Bash", line(other)), "{other}");
        assert!(!grants(&["Bash(git *)"], "Bash", line(other)), "{other}");
    }
    assert!(grants(&["Bash(*)"], "Bash", line("rm -rf / > x")), "the whole tool");
}

#[test]
fn every_command_of_a_line_must_be_granted_and_one_is_enough_to_touch_it() {
    let rules = ["Bash(git status:*)", "Bash(git diff:*)"];
    for granted in [
        "git status && git diff",
        "git status 2>/dev/null | git diff --stat",
        "git diff HEAD 2>&1",
        "git diff > /dev/null 2>&1; git status",
        "git status &>/dev/null",
    ] {
        assert!(grants(&rules, "Bash", line(granted)), "{granted}");
    }
    for refused in [
        "git status; rm x",
        "git status > x",
        "git status >> /dev/nullx",
        "git status 2>x",
        "git status2>&1",
        "git diff $(rm x)",
        "git diff `rm x`",
        "git status &",
        "git status & rm x",
        "git status >&x",
        "",
        ";",
    ] {
        let is_granted = grants(&rules, "Bash", line(refused));
        // A line that only ends in the background still is that command.
        assert_eq!(is_granted, refused == "git status &", "{refused}");
    }
    assert!(touches("Bash(rm *)", "Bash", line("git status 2>&1 && rm -rf x")));
    assert!(touches("Bash(rm *)", "Bash", line("git status >/dev/null; rm x")));
}

#[test]
fn a_path_is_what_it_leads_to() {
    for (rule, path, touched, granted) in [
        ("Edit(docs/*)", "/w/docs/a.md", true, true),
        ("Edit(docs/*)", "docs/a.md", true, true),
        ("Edit(./docs/*)", "/w/docs/a.md", true, true),
        ("Edit(docs/*)", "/w/docs/../src/a.rs", false, false),
        ("Edit(src/*)", "/w/docs/../src/a.rs", true, true),
        ("Edit(docs/*)", "/etc/docs/a.md", true, false),
        ("Edit(docs/*)", "../other/docs/a.md", true, false),
        ("Edit(.env)", "/w/.env", true, true),
        ("Edit(.env)", "/w/deep/.env", true, false),
        ("Edit(**/*.md)", "/w/a.md", true, true),
        ("Edit(*.md)", "/w/x/a.md", true, true),
        ("Edit(*.md)", "/etc/a.md", true, false),
        ("Edit(/etc/*)", "/etc/passwd", true, true),
        ("Edit(//etc/*)", "/etc/passwd", true, true),
        ("Edit(~/.ssh/*)", "/home/me/.ssh/id", true, false),
        ("Edit($HOME/.ssh/*)", "/home/me/.ssh/id", true, false),
        ("Edit(a?c)", "abc", true, true),
        ("Edit(*)", "/etc/passwd", true, true),
        ("Edit(./**)", "/w/a/b", true, true),
        ("Edit(./**)", "/etc/passwd", true, false),
    ] {
        assert_eq!(touches(rule, "Edit", file(path)), touched, "{rule} touches {path}");
        assert_eq!(grants(&[rule], "Edit", file(path)), granted, "{rule} grants {path}");
    }
    assert!(touches("Edit(x.ipynb)", "NotebookEdit", json!({"notebook_path": "/w/x.ipynb"})));
}

#[test]
fn a_tool_with_a_name_that_nobody_knows_goes_by_what_it_does() {
    let call = |tool, name: &str, input| ToolCall { tool, name: name.to_owned(), input };
    let terminal = call(ToolName::Shell, "terminal9", line("git push"));
    let finder = call(ToolName::Search, "finder9", json!({}));
    let odd = call(ToolName::Other, "odd9", json!({}));
    for (rule, tool, touched, granted) in [
        ("Bash(git *)", &terminal, true, true),
        ("shell", &terminal, true, true),
        ("run_shell_command(git push)", &terminal, true, true),
        ("Bash(ls *)", &terminal, false, false),
        ("Read", &terminal, false, false),
        ("search", &finder, true, true),
        // One of two tools that search refuses both, and permits neither.
        ("Grep", &finder, true, false),
        ("Glob", &finder, true, false),
        ("other", &odd, true, true),
        ("Bash", &odd, false, false),
    ] {
        let call = CheckedCall::new(tool, "/w".into());
        assert_eq!(call.touched_by(rule).is_some(), touched, "{rule} touches {}", tool.name);
        assert_eq!(call.is_granted_by(&[rule.to_owned()]), granted, "{rule} grants {}", tool.name);
    }
    assert!(touches("search", "Glob", json!({})) && grants(&["search"], "Grep", json!({})));
    assert!(!touches("Grep", "Glob", json!({})));
}

#[test]
fn a_link_permits_only_what_it_leads_to_and_forbids_both() {
    let write = ToolCall::named("Write", file("/w/docs/link/a.md"));
    for (rule, leads_to, touched, granted) in [
        ("Write(docs/**)", &["/w/src/a.md"][..], true, false),
        ("Write(src/**)", &["/w/src/a.md"], true, true),
        ("Write(docs/**)", &["/w/docs/deep/a.md"], true, true),
        ("Write(docs/**)", &["/w/docs/a.md", "/w/src/a.md"], true, false),
        ("Write(./**)", &["/etc/a.md"], true, false),
        ("Write(/etc/*)", &["/etc/a.md"], true, true),
        ("Write(other/**)", &["/w/src/a.md"], false, false),
        ("Write(other/**)", &[], true, false),
        ("Write", &[], true, true),
        ("Write(**)", &[], true, true),
    ] {
        let files: Vec<String> = leads_to.iter().map(|file| (*file).to_owned()).collect();
        let real = super::super::RealPath { workspace: "/w".to_owned(), files };
        let call = CheckedCall::new(&write, CallSite { workspace: "/w", real: Some(&real) });
        assert_eq!(call.touched_by(rule).is_some(), touched, "{rule} touches {leads_to:?}");
        assert_eq!(call.is_granted_by(&[rule.to_owned()]), granted, "{rule} grants {leads_to:?}");
    }
    let real = super::super::RealPath {
        workspace: "/data/w".to_owned(),
        files: vec!["/data/w/docs/a.md".to_owned()],
    };
    let call = CheckedCall::new(&write, CallSite { workspace: "/w", real: Some(&real) });
    assert!(call.is_granted_by(&["Write(docs/**)".to_owned()]), "the workspace itself is behind a link");
    assert!(!call.is_outside());
}

#[test]
fn a_search_in_a_folder_reaches_the_files_below_it() {
    let search = |folder: &str| json!({"path": folder, "pattern": "secret"});
    for (rule, folder, expected) in [
        ("Read(src/**)", "src", true),
        ("Read(src/**)", "/w/src/deep", true),
        ("read(src/**)", "src/", true),
        ("Read(src/**)", "docs", false),
        ("Read(src/**)", ".", false),
        ("Read(src/**)", "/", false),
        ("Read(/v/**)", "/v", true),
    ] {
        assert_eq!(touches(rule, "Grep", search(folder)), expected, "{rule} in {folder}");
    }
    // The name of the workspace begins like that of the folder, which is not above it.
    let call = ToolCall::named("Grep", search("/w"));
    let call = CheckedCall::new(&call, CallSite { workspace: "/work", real: None });
    assert!(call.touched_by("Read(/w/**)").is_some());
}

#[test]
fn a_rule_about_one_way_to_search_applies_to_a_tool_for_every_search() {
    let search = |name: &str| ToolCall {
        tool: ToolName::Search,
        name: name.to_owned(),
        input: json!({"pattern": "x"}),
    };
    let touches = |rule: &str, name: &str| {
        let call = search(name);
        CheckedCall::new(&call, CallSite { workspace: "/w", real: None }).touched_by(rule).is_some()
    };
    for rule in ["Glob", "Grep", "search"] {
        assert!(touches(rule, "search"), "{rule}");
    }
    assert!(touches("Glob", "Glob") && !touches("Glob", "Grep"));
}

#[test]
fn a_domain_is_a_host_and_those_below_it() {
    for (url, expected) in [
        ("https://example.com/x", true),
        ("https://docs.example.com:8080", true),
        ("https://notexample.com", false),
        ("https://evil.com/example.com", false),
        ("https://example.com@evil.com/", false),
    ] {
        assert_eq!(
            touches("WebFetch(domain:example.com)", "WebFetch", json!({"url": url})),
            expected,
            "{url}"
        );
    }
    assert!(touches("WebFetch(https://x.org/*)", "WebFetch", json!({"url": "https://x.org/a"})));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_rule_grants_it_also_touches(
        rule in prop::sample::select(vec!["Bash(git:*)", "Bash(git *)", "Bash(*x*)", "Edit(docs/*)", "Edit(**)", "Edit(/a/*)"]),
        text in "[a-z./ ;&>|*?~-]{0,12}",
    ) {
        for input in [line(&text), line(&format!("git {text}")), file(&text), file(&format!("/w/docs/{text}"))] {
            let tool = if rule.starts_with("Bash") { "Bash" } else { "Edit" };
            prop_assert!(!grants(&[rule], tool, input.clone()) || touches(rule, tool, input.clone()), "{} {}", rule, input);
        }
    }
}
