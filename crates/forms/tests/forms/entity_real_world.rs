//! Files as people really write them: what is made of each, and exactly what is said about it.

use crate::entity::{clean, line, only, origin, refused, said, skill};
use windlass_core::entity::{EntityKind, Provider};
use windlass_forms::entity::{Origin, parse};

#[test]
fn a_colon_in_a_description_is_read_as_it_was_meant() {
    let read = line("name: x\ndescription: Use this: when foo");
    assert_eq!(only(&read).description, "Use this: when foo");
    insta::assert_snapshot!(said(&read), @r#"
    warning: a value with `: ` in it must be in quotes
      at .claude/x.md:3:22
         3 | description: Use this: when foo
           |                      ^
      hint: write it as `description: "Use this: when foo"`
    "#);
}

#[test]
fn a_long_description_with_colons_over_several_lines_is_one_text() {
    let read = line(
        "description: Use it when: tests fail. Example: the build is red and nobody knows why\n  and so: on\nmodel: opus",
    );
    let entity = only(&read);
    let expected = "Use it when: tests fail. Example: the build is red and nobody knows why and so: on";
    assert_eq!(entity.description, expected);
    assert_eq!(entity.model.as_ref().unwrap().original, "opus");
    insta::assert_snapshot!(said(&read), @"
    warning: a value with `: ` in it must be in quotes
      at .claude/x.md:2:25
         2 | description: Use it when: tests fail. Example: the build is red and nobody knows why
           |                         ^
      hint: put the whole value in quotes
    ");
}

#[test]
fn tabs_are_taken_for_spaces() {
    let read =
        parse(&origin(EntityKind::Agent), "---\ndescription: d\ntools:\n\t- Read\n\t- Edit\n---\nDo it.\n");
    let names: Vec<&str> =
        only(&read).tools.as_ref().unwrap().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["read", "edit"]);
    insta::assert_snapshot!(said(&read), @"
    warning: this line is indented with a tab
      at .claude/x.md:4:1
         4 |  - Read
           | ^
      hint: use spaces
    ");
}

#[test]
fn a_hint_in_brackets_means_itself() {
    let command = |line: &str| parse(&origin(EntityKind::Command), &format!("---\n{line}\n---\nDo it.\n"));
    for hint in ["[message]", "[a, b]", "<file> [name]", "{json}"] {
        let read = command(&format!("argument-hint: {hint}"));
        assert_eq!(clean(&read).argument_hint.as_deref(), Some(hint));
    }
    let read = command("argument-hint: [text] | --amend");
    assert_eq!(only(&read).argument_hint.as_deref(), Some("[text] | --amend"));
    insta::assert_snapshot!(said(&read), @r#"
    warning: a value that starts with `[` must be in quotes
      at .claude/x.md:2:16
         2 | argument-hint: [text] | --amend
           |                ^
      hint: write it as `argument-hint: "[text] | --amend"`
    "#);
}

#[test]
fn a_value_that_starts_with_a_special_character_is_read_as_it_is_written() {
    for value in [
        "@mention people",
        "*important* things",
        "%50 faster",
        "[Beta] tool",
        "{{x}} and y",
        ", comma",
        "| table",
    ] {
        let read = line(&format!("description: {value}"));
        assert_eq!(only(&read).description, value);
        let first = value.chars().next().unwrap();
        let expected = format!("a value that starts with `{first}` must be in quotes");
        assert_eq!(read.diagnostics[0].message, expected, "{}", said(&read));
        assert_eq!(read.diagnostics[0].hint, Some(format!("write it as `description: \"{value}\"`")));
        let place = read.diagnostics[0].place.clone().unwrap();
        assert_eq!((place.line, place.column, read.diagnostics.len()), (2, 14, 1));
    }
    let read = line("description: `git` things");
    assert_eq!(only(&read).description, "`git` things");
    insta::assert_snapshot!(said(&read), @r#"
    warning: a value that starts with a backtick must be in quotes
      at .claude/x.md:2:14
         2 | description: `git` things
           |              ^
      hint: write it as `description: "`git` things"`
    "#);
}

#[test]
fn quotes_that_do_not_match_are_put_right() {
    let rows = [
        ("\"never closed", "never closed", "the quote is never closed"),
        ("'never closed", "never closed", "the quote is never closed"),
        ("'it's good'", "it's good", "there are quotes inside of quotes"),
        ("\"say \"hi\" now\"", "say \"hi\" now", "there are quotes inside of quotes"),
        ("\"a\" and \"b\"", "\"a\" and \"b\"", "there are quotes inside of quotes"),
    ];
    for (written, meant, message) in rows {
        let read = line(&format!("description: {written}\nmodel: opus"));
        assert_eq!(only(&read).description, meant);
        assert!(only(&read).model.is_some(), "one mistake costs one value");
        assert_eq!(read.diagnostics[0].message, message);
        assert_eq!(read.diagnostics.len(), 1);
    }
}

#[test]
fn a_description_that_goes_on_at_the_margin_is_one_text() {
    let read = line("description: a long text that\ngoes on here\nmodel: opus");
    assert_eq!(only(&read).description, "a long text that goes on here");
    insta::assert_snapshot!(said(&read), @r#"
    warning: this line is not `key: value`; it is read as part of `description`
      at .claude/x.md:3:1
         3 | goes on here
           | ^
      hint: write it as `description: "a long text that goes on here"`
    "#);
}

#[test]
fn a_space_that_is_missing_or_too_much_is_forgiven() {
    let read = line("name:foo\ndescription:does things");
    assert_eq!((only(&read).name.as_str(), only(&read).description.as_str()), ("foo", "does things"));
    insta::assert_snapshot!(said(&read), @r#"
    warning: a space is missing after `name:`
      at .claude/x.md:2:6
         2 | name:foo
           |      ^
      hint: write it as `name: "foo"`
    warning: a space is missing after `description:`
      at .claude/x.md:3:13
         3 | description:does things
           |             ^
      hint: write it as `description: "does things"`
    "#);
    let read = line("name: foo\n description: does things");
    assert_eq!((only(&read).name.as_str(), only(&read).description.as_str()), ("foo", "does things"));
    insta::assert_snapshot!(said(&read), @"
    warning: this key is indented and belongs to no other
      at .claude/x.md:3:1
         3 |  description: does things
           | ^
      hint: remove the spaces before it
    ");
}

#[test]
fn a_mistake_deep_inside_costs_only_its_own_value() {
    let read = line("description: d\nmetadata:\n  note: a: b\n  list:\n    - x: y: z\n    - ok\n  good: 1");
    let expected = serde_json::json!({"note": "a: b", "list": ["x: y: z", "ok"], "good": 1});
    assert_eq!(only(&read).extra["metadata"], expected);
    let places: Vec<_> =
        read.diagnostics.iter().map(|d| d.place.clone().unwrap()).map(|p| (p.line, p.column)).collect();
    assert_eq!(places, [(4, 10), (6, 8)]);
}

#[test]
fn a_key_in_quotes_is_not_drawn_into_a_mistake_above() {
    let read = line("description: Use: this\n\"model\": opus");
    assert_eq!(only(&read).description, "Use: this");
    assert!(only(&read).model.is_some());
}

#[test]
fn line_ends_and_marks_make_no_difference() {
    let unix = "---\nname: foo\ndescription: d\ntools:\n  - Read\n---\n\nOne.\n\nTwo.\n";
    let expected = skill(unix);
    clean(&expected);
    assert_eq!(skill(&unix.replace('\n', "\r\n")), expected);
    assert_eq!(skill(&format!("\u{feff}{unix}")), expected);
    assert_eq!(skill(&format!("\n\n{unix}")), expected);
    let read = skill("---\r\ndescription: Use: this\r\n---\r\nDo it.\r\n");
    assert_eq!((only(&read).description.as_str(), only(&read).prompt.as_str()), ("Use: this", "Do it."));
}

#[test]
fn without_frontmatter_the_whole_file_is_the_prompt() {
    let text = "# Fix it. Now\n\nLook at $ARGUMENTS\n";
    let read = parse(&origin(EntityKind::Command), text);
    let entity = clean(&read);
    assert_eq!(
        (entity.name.as_str(), entity.description.as_str(), entity.prompt.as_str()),
        ("x", "Fix it.", text.trim_end())
    );
    let read = skill(text);
    assert_eq!(only(&read).prompt, text.trim_end());
    insta::assert_snapshot!(said(&read), @"
    warning: this skill has no description
      at .claude/x.md:1:1
         1 | # Fix it. Now
           | ^
      hint: add a line `description: what it is for, and when to use it`
    ");
}

#[test]
fn an_empty_file_says_nothing() {
    for text in ["", "\n \n", "\u{feff}", "\u{feff}\r\n"] {
        assert!(
            refused(&skill(text)).starts_with("error: the file is empty\n  at .claude/x.md:1:1\n"),
            "{text:?}"
        );
    }
    insta::assert_snapshot!(refused(&skill("---\nname: foo\ndescription: d\n---\n \n")), @"
    error: this skill has no text
      at .claude/x.md:1:1
         1 | ---
           | ^
      hint: write what it should do
    ");
    let read = parse(&origin(EntityKind::Agent), "---\ndescription: d\nmodel: opus\n---\n");
    assert_eq!(only(&read).prompt, "");
    assert!(said(&read).starts_with("warning: this agent has no text\n"));
}

#[test]
fn a_line_across_the_page_is_part_of_the_body() {
    let read = line("description: d").entities.remove(0);
    assert_eq!(read.prompt, "Do it.");
    let read = skill("---\ndescription: d\n---\nOne.\n\n---\n\nname: y\n---\n");
    assert_eq!(clean(&read).prompt, "One.\n\n---\n\nname: y\n---");
    let read = parse(&origin(EntityKind::Command), "---\n\n# Title\n");
    assert_eq!(clean(&read).prompt, "---\n\n# Title");
    let read = parse(&origin(EntityKind::Command), "---\nJust text.\n---\nMore.\n");
    assert_eq!(only(&read).prompt, "---\nJust text.\n---\nMore.");
    insta::assert_snapshot!(said(&read), @"
    warning: expected `key: value` between the `---` lines, found a string; it is read as text
      at .claude/x.md:2:1
         2 | Just text.
           | ^
      hint: write `key: value`, or use `***` for a horizontal rule
    ");
}

#[test]
fn frontmatter_that_is_never_closed_ends_with_its_keys() {
    let read = skill("---\nname: foo\ndescription: d\ntools:\n  - Read\n\nDo: it.\n");
    let entity = only(&read);
    assert_eq!((entity.name.as_str(), entity.prompt.as_str()), ("foo", "Do: it."));
    assert_eq!(entity.tools.as_ref().unwrap().len(), 1, "a limit is not lost");
    insta::assert_snapshot!(said(&read), @"
    warning: the frontmatter is never closed
      at .claude/x.md:1:1
         1 | ---
           | ^
      hint: add a line `---` where the text begins
    ");
}

#[test]
fn what_no_second_try_understands_is_an_error() {
    insta::assert_snapshot!(refused(&line(": : :\n- a")), @"
    error: not YAML: while parsing a block mapping, did not find expected key
      at .claude/x.md:3:3
         3 | - a
           |   ^
      hint: a value with `: `, `#`, quotes or brackets in it goes into quotes
    ");
}

/// Lists of tools as they are found in public repositories.
#[test]
fn limits_as_people_write_them_are_understood() {
    let agent = |provider, line: &str| {
        let origin = Origin { provider, ..origin(EntityKind::Agent) };
        parse(&origin, &format!("---\nname: x\ndescription: d\n{line}\n---\nDo it.\n"))
    };
    for (provider, line) in [
        (
            Provider::Claude,
            "tools: Read, Write, Edit, MultiEdit, Bash, Glob, Grep, LS, WebFetch, WebSearch, Task, TodoWrite, NotebookRead, NotebookEdit, ExitPlanMode",
        ),
        (
            Provider::Claude,
            "tools: Bash, Read, Skill, SlashCommand, AskUserQuestion, KillShell, BashOutput, mcp__ide__getDiagnostics, ListMcpResourcesTool, ReadMcpResourceTool",
        ),
        (
            Provider::Claude,
            "tools: mcp__playwright__*, mcp__context7, Task(explore), Agent(a, b), Skill(pdf)",
        ),
        (
            Provider::Claude,
            "tools: Glob, Grep, LS, Read, WebFetch, TodoWrite, WebSearch, KillShell, BashOutput\nmodel: sonnet\ncolor: yellow\nhooks:\n  Stop: []\nskills: [a]",
        ),
        (
            Provider::Claude,
            "allowed-tools: Bash(git checkout --branch:*), Bash(git add:*), Bash(gh pr create:*), Edit(**/*.md), WebFetch(domain:docs.rs)",
        ),
        (Provider::Claude, "tools: '*'"),
        (Provider::Claude, "tools:\n  - Read\n  - Bash(npm run test:*)"),
        (
            Provider::Opencode,
            "mode: subagent\ntools:\n  write: false\n  edit: false\n  bash: false\n  todowrite: false\n  todoread: false",
        ),
        (
            Provider::Opencode,
            "tools:\n  \"*\": false\n  read: true\n  grep: true\n  glob: true\n  list: true\n  \"context7_*\": true",
        ),
        (
            Provider::Opencode,
            "permission:\n  edit: deny\n  bash:\n    \"*\": ask\n    \"git diff*\": allow\n    \"git log*\": allow\n  webfetch: deny\n  task:\n    \"*\": deny\n    \"explore\": allow\n  skill:\n    \"*\": allow\n  lsp: allow\n  codesearch: allow\n  question: allow",
        ),
        (
            Provider::Copilot,
            "tools: ['changes', 'codebase', 'editFiles', 'extensions', 'fetch', 'findTestFiles', 'githubRepo', 'new', 'openSimpleBrowser', 'problems', 'runCommands', 'runTasks', 'runTests', 'search', 'searchResults', 'terminalLastCommand', 'terminalSelection', 'testFailure', 'todos', 'think', 'usages', 'vscodeAPI']",
        ),
        (
            Provider::Copilot,
            "tools: [\"read\", \"edit\", \"search\", \"execute\", \"agent\", \"web\", \"todo\", \"github/*\", \"playwright/browser_click\"]",
        ),
        (
            Provider::Copilot,
            "tools: ['vscode/extensions', 'vscode/vscodeAPI', 'execute/runInTerminal', 'read/readFile', 'read/problems', 'edit/editFiles', 'search/codebase', 'search/usages', 'web/fetch', 'web/githubRepo', 'agent/runSubagent', 'azure.some-extension/tool']",
        ),
        (Provider::Copilot, "tools: []"),
        (
            Provider::Gemini,
            "tools:\n  - read_file\n  - read_many_files\n  - write_file\n  - replace\n  - run_shell_command\n  - run_shell_command(git status)\n  - glob\n  - grep_search\n  - search_file_content\n  - list_directory\n  - web_fetch\n  - google_web_search\n  - save_memory\n  - write_todos\n  - activate_skill\n  - ask_user\n  - mcp_github_*\n  - codebase_investigator",
        ),
        (Provider::Atomic, "tools: [bash, read, write, edit, grep, glob, ls]"),
    ] {
        clean(&agent(provider, line));
    }
    let read = agent(Provider::Copilot, "tools: ['edit', 'microsoft-docs', 'wit_get_work_item']");
    let names: Vec<&str> =
        only(&read).tools.as_ref().unwrap().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["edit"], "what Copilot would pass over permits nothing");
    let passed_over: Vec<&str> = read.diagnostics.iter().map(|odd| odd.message.as_str()).collect();
    let odd = |name: &str| format!("no agent CLI has a tool `{name}`; it is left out");
    assert_eq!(passed_over, [odd("microsoft-docs"), odd("wit_get_work_item")]);
    assert!(refused(&agent(Provider::Copilot, "tools: ['edt']")).contains("did you mean `Edit`?"));
}
