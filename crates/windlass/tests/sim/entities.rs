//! One session with a command, a skill or an agent, whichever folder it lives in.

use crate::place::{LIMIT, Place, say};
use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::eventually;

fn place() -> Place {
    Place::playing(json!([{"steps": [say("Done.")]}]))
}

/// Arguments that something on the way might take for its own.
const ARGUMENTS: [&str; 8] = [
    "$1 $ARGUMENTS $0 ${CLAUDE_PLUGIN_ROOT}",
    "`id` !`touch pwned` $(touch pwned)",
    "a \"quoted\" 'word' \\ back",
    "several\nlines\n\n  indented\n",
    "{{args}} {input} {{x}}",
    "--dashes -x",
    "@repo/secret.txt",
    "ünïcödé \u{1f600}",
];

#[test]
fn arguments_arrive_unexpanded() {
    let place = place();
    place.sealed.write("repo/.claude/commands/say.md", "Say [$ARGUMENTS] now");
    for args in ARGUMENTS {
        let ran = place.go(&["run", "--command", "say", args, "--json"]);
        ran.assert_ended(0, "completed", "turn_done", 1);
    }
    for (prompt, args) in place.prompts().iter().zip(ARGUMENTS) {
        assert_eq!(*prompt, format!("Say [{args}] now"));
    }
    assert!(!place.repo().join("pwned").exists());
}

#[test]
fn single_arguments_follow_the_format_they_are_written_in() {
    let place = place();
    place.sealed.write("repo/.claude/commands/zero.md", "0=$0 1=$1 2=$2.");
    place.sealed.write("repo/.windlass/commands/one.md", "1=$1 2=$2 3=$3.");
    place.sealed.write("repo/.gemini/commands/g/all.toml", "prompt = \"all={{args}} $1.\"\n");
    for name in ["zero", "one", "g:all"] {
        place.go(&["run", "--command", name, "a", "b c", "--json"]);
    }
    // Claude Code leaves a place alone that there is no argument for.
    assert_eq!(place.prompts(), ["0=a 1=b c 2=$2.", "1=a 2=b c 3=.", "all=a \"b c\" $1."]);
}

#[test]
fn words_of_the_command_line_stay_words() {
    let place = place();
    place.sealed.write("repo/.claude/commands/say.md", "0=[$0] 1=[$1]");
    for (args, expected) in [
        (&["it's", "b"][..], "0=[it's] 1=[b]"),
        (&["it's b"], "0=[it's] 1=[b]"),
        (&["a b", "c d"], "0=[a b] 1=[c d]"),
        (&["it's \"q\"", "b"], "0=[it's \"q\"] 1=[b]"),
        (&["a\\", "b"], "0=[a\\] 1=[b]"),
    ] {
        place.go(&[&["run", "--command", "say", "--json"][..], args].concat());
        assert_eq!(place.prompts().last().unwrap(), expected, "{args:?}");
    }
}

#[test]
fn a_skill_without_arguments_says_so_and_a_command_says_nothing() {
    let place = place();
    place.sealed.write("repo/.agents/skills/tidy/SKILL.md", "---\ndescription: d\n---\nTidy $ARGUMENTS.");
    place.sealed.write("repo/.windlass/commands/tidy.md", "Tidy $ARGUMENTS.");
    place.go(&["run", "--skill", "tidy", "--json"]);
    place.go(&["run", "--command", "/TIDY", "--json"]);
    assert_eq!(place.prompts(), ["Tidy [no arguments].", "Tidy ."]);
}

#[test]
fn a_command_in_the_text_becomes_what_it_prints() {
    let place = place();
    place.sealed.write("repo/.claude/commands/look.md", "Head: !`echo one; echo $0`\nEnd");
    let ran = place.go(&["run", "--command", "look", "x'; touch pwned; '", "--json"]);
    ran.assert_ended(0, "completed", "turn_done", 1);
    // One word of the arguments stays one word of the shell, whatever is in it.
    assert_eq!(place.prompts(), ["Head: one\nx; touch pwned; \nEnd"]);
    assert!(!place.repo().join("pwned").exists());
}

#[test]
fn a_command_in_the_text_that_fails_is_said() {
    let place = place();
    place.sealed.write("repo/.claude/commands/look.md", "!`echo out; echo err >&2; exit 3`");
    let ran = place.go(&["run", "--command", "look", "--json"]);
    assert_eq!(place.prompts(), ["out\nerr\n[`echo out; echo err >&2; exit 3` ended with exit code 3]"]);
    let said = ran.all("warning");
    assert!(said.iter().any(|odd| odd["text"].as_str().unwrap().contains("ended with exit code 3")), "{ran}");
}

#[test]
fn a_command_in_the_text_keeps_to_the_rules_of_the_run() {
    let place = Place::with_settings("[permissions]\ndeny = [\"Bash(touch *)\"]\nask = [\"Bash(date*)\"]\n");
    place.script(json!({"turns": [{"steps": [say("Done.")]}]}));
    for (text, why) in [
        (
            "A !`true && touch pwned` B",
            "may not run `true && touch pwned` in its text: shell is denied by the rule",
        ),
        ("A !`date` B", "may not run `date` in its text: a person must permit it first"),
    ] {
        place.sealed.write("repo/.claude/commands/look.md", text);
        let ran = place.go(&["run", "--command", "look", "--json"]);
        assert_eq!(ran.code, 5, "{ran}");
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
        assert!(ran.stderr.contains("look.md:1:3"), "{}", ran.stderr);
    }
    assert!(!place.repo().join("pwned").exists());
    assert!(place.requests().is_empty(), "no agent ran");
}

#[test]
fn a_plan_runs_no_command_of_a_text() {
    let place = place();
    place.sealed.write("repo/.claude/commands/look.md", "A !`touch pwned` B");
    let ran = place.go(&["run", "--command", "look", "--dry-run", "--json"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("A !`touch pwned` B"), "{}", ran.stdout);
    assert!(!place.repo().join("pwned").exists());
}

#[test]
fn a_mentioned_file_is_put_at_the_end_and_never_one_from_outside() {
    let place = place();
    place.sealed.write("repo/notes/plan.md", "the plan");
    place.sealed.write("secret.txt", "the secret");
    place.sealed.write("repo/.claude/commands/look.md", "See @notes/plan.md and @../secret.txt and a@b.c");
    let ran = place.go(&["run", "--command", "look", "--json"]);
    let expected =
        "See @notes/plan.md and @../secret.txt and a@b.c\n\nContents of notes/plan.md:\n\nthe plan";
    assert_eq!(place.prompts(), [expected]);
    assert!(ran.stderr.contains("`@../secret.txt` in its text stays as it is"), "{}", ran.stderr);
}

#[test]
fn an_agent_is_who_works_and_its_arguments_are_the_task() {
    let place = place();
    let text = "---\nname: looker\ndescription: d\ntools: Read, Bash(git log:*)\nmodel: opus\n---\nYou look. $ARGUMENTS";
    place.sealed.write("repo/.claude/agents/looker.md", text);
    let ran = place.go(&["run", "--agent", "looker", "look at $1", "--json"]);
    ran.assert_ended(0, "completed", "turn_done", 1);
    let request = place.requests().remove(0);
    assert_eq!(request["prompt"], "look at $1");
    assert_eq!(request["system"], "You look. $ARGUMENTS");
    let plan = place.go(&["run", "--agent", "looker", "x", "--dry-run", "--json"]);
    let spec: Value = serde_json::from_str(plan.stdout.trim()).unwrap();
    assert_eq!(spec["data"]["driver"]["model"], "opus");
    assert_eq!(spec["data"]["permissions"]["only"], json!(["Read", "Bash(git log:*)"]));
}

#[test]
fn an_agent_may_use_only_the_tools_it_names() {
    let place = Place::playing(json!([{"steps": [
        {"bash": "git log --oneline"},
        {"bash": "git log; touch pwned"},
        {"write": {"path": "made.txt", "content": "x"}},
        say("Done."),
    ]}]));
    let text = "---\ndescription: d\ntools: [Bash(git log:*)]\n---\nYou look.";
    place.sealed.write("repo/.opencode/agents/looker.md", text);
    let ran = place.go(&["run", "--agent", "looker", "look", "--json"]);
    ran.assert_ended(0, "completed", "turn_done", 1);
    assert!(!place.repo().join("pwned").exists());
    assert!(!place.repo().join("made.txt").exists());
    let decisions: Vec<String> = ran
        .lines
        .iter()
        .filter(|line| line["type"] == "hook.decision" && line["data"]["tool"].is_string())
        .map(|line| line["data"].to_string())
        .collect();
    assert_eq!(decisions.len(), 3, "{decisions:?}");
    let told = ["may use Bash only as Bash(git log:*)", "Write is not among the tools"];
    for words in told {
        assert!(decisions.iter().any(|text| text.contains(words)), "{words} in {decisions:?}");
    }
}

#[test]
fn an_agent_that_is_asked_nothing_is_a_mistake() {
    let place = place();
    place.sealed.write("repo/.claude/agents/a.md", "---\ndescription: d\n---\nYou look.");
    let ran = place.go(&["run", "--agent", "a", "  "]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("error: agent `a` needs a task"), "{}", ran.stderr);
    assert_eq!(place.go(&["run", "--agent", "a"]).code, 2);
}

#[test]
fn a_name_that_nothing_has_says_what_was_meant() {
    let place = place();
    let ran = place.go(&["run", "--skill", "comit", "x"]);
    assert_eq!(ran.code, 3);
    let expected = "error: skill not found: \"comit\"\n  hint: did you mean `commit`? ";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert!(place.requests().is_empty());
}

#[test]
fn a_skill_with_scripts_is_told_where_they_are() {
    let place = place();
    place.sealed.write("repo/.claude/skills/pack/SKILL.md", "---\ndescription: d\n---\nRun scripts/pack.sh");
    place.sealed.write("repo/.claude/skills/pack/scripts/pack.sh", "echo");
    place.go(&["run", "--skill", "pack", "--json"]);
    let folder = place.repo().join(".claude/skills/pack");
    let expected = format!(
        "Base directory for this skill: {}\n\nRun scripts/pack.sh",
        folder.canonicalize().unwrap().display()
    );
    assert_eq!(place.prompts(), [expected]);
}

#[test]
fn a_start_says_what_each_provider_brought() {
    let place = place();
    for name in ["a", "b"] {
        place.sealed.write(format!("repo/.claude/skills/{name}/SKILL.md"), "---\ndescription: d\n---\nX");
    }
    place.sealed.write("repo/.claude/agents/c.md", "---\ndescription: d\n---\nX");
    let ran = place.go(&["run", "--skill", "a", "--json"]);
    assert!(ran.stderr.contains("[entities] 3 from claude (2 skills, 1 agent)\n"), "{}", ran.stderr);
    for (name, node, is_told) in [("one", "skill: a", true), ("two", "shell: echo a", false)] {
        let document = format!("name: {name}\nnodes:\n  - {node}\n");
        place.sealed.write(format!("repo/.windlass/workflows/{name}.yaml"), document);
        let ran = place.go(&["run", "--workflow", name, "--json"]);
        assert_eq!((ran.code, ran.stderr.contains("[entities] 3 from claude")), (0, is_told), "{ran}");
    }
}

#[test]
fn a_run_with_an_entity_survives_like_any_other() {
    let place = Place::playing(json!([{"attempts": [
        {"steps": [{"crash": "SIGKILL"}]},
        {"steps": [say("Done.")]},
    ]}]));
    place.sealed.write("repo/.claude/commands/say.md", "Say $ARGUMENTS");
    place.go(&["run", "--command", "say", "hello", "--json"]).assert_ended(0, "completed", "turn_done", 1);
}

#[test]
fn a_signal_while_a_command_of_a_text_runs_ends_both() {
    let place = place();
    let text = "A !`echo $$ > began; sleep 4321 & wait` B !`touch second` C";
    place.sealed.write("repo/.claude/commands/slow.md", text);
    for (signal, name) in [(Signal::INT, "INT"), (Signal::TERM, "TERM"), (Signal::HUP, "HUP")] {
        let going = place.start(&["run", "--command", "slow", "--json"]);
        place.file("began");
        going.signal(signal);
        let ran = going.end();
        assert_eq!(ran.code, 130, "{name}: {ran}");
        // Killed, and perhaps not yet gone.
        eventually(LIMIT, || place.sealed.processes().is_empty().then_some(()));
        std::fs::remove_file(place.repo().join("began")).unwrap();
    }
    assert!(!place.repo().join("second").exists());
    assert!(place.requests().is_empty());
}

#[test]
fn a_command_of_a_text_has_no_more_time_than_the_run() {
    let place = place();
    place.sealed.write("repo/.claude/commands/slow.md", "A !`sleep 4321` B");
    let ran = place.go(&["run", "--command", "slow", "--timeout", "300ms", "--json"]);
    ran.assert_ended(6, "failed", "timeout", 0);
    place.assert_nothing_is_left();
}

#[test]
fn a_command_of_a_text_that_needs_a_person_ends_a_run_that_may_not_ask() {
    let place = Place::with_settings("[permissions]\nask = [\"Bash(date*)\"]\n");
    place.script(json!({"turns": [{"steps": [say("Done.")]}]}));
    place.sealed.write("repo/.claude/commands/look.md", "A !`date` B");
    let ran = place.go(&["run", "--command", "look", "--on-permission", "fail", "--json"]);
    assert_eq!(ran.code, 5, "{ran}");
    assert!(place.requests().is_empty());
}

#[test]
fn what_an_agent_forbids_itself_is_denied_and_models_are_what_they_mean() {
    let place = place();
    let text =
        "---\ndescription: d\ndisallowedTools: Bash, WebFetch\nmodel: anthropic/claude-opus-4-5\n---\nX";
    place.sealed.write("repo/.claude/agents/a.md", text);
    place.sealed.write("repo/.claude/agents/b.md", "---\ndescription: d\nmodel: claude-opus-4-5\n---\nX");
    let spec = |name: &str| -> Value {
        let plan = place.go(&["run", "--agent", name, "x", "--dry-run", "--json"]);
        serde_json::from_str::<Value>(plan.stdout.trim()).unwrap()["data"].clone()
    };
    assert_eq!(spec("a")["permissions"]["deny"], json!(["Bash", "WebFetch"]));
    assert_eq!(spec("a")["driver"]["model"], "opus");
    assert_eq!(spec("b")["driver"]["model"], "claude-opus-4-5");
}

/// Returns the steps of a read-only agent that tries every way to change a file, and two ways to read.
fn attempts() -> Value {
    json!([{"steps": [
        {"write": {"path": "made.txt", "content": "x"}},
        {"append": {"path": "README.md", "content": "x"}},
        {"bash": "echo x > made.txt"},
        {"tool": {"name": "MultiEdit", "input": {"file_path": "README.md", "edits": []}}},
        {"tool": {"name": "NotebookEdit", "input": {"notebook_path": "a.ipynb", "new_source": "x"}}},
        {"tool": {"name": "Read", "input": {"file_path": "README.md"}}},
        {"tool": {"name": "Grep", "input": {"pattern": "x"}}},
        say("Done."),
    ]}])
}

/// The tools of a run that were allowed, and those that were not.
fn decided(ran: &crate::place::Ran) -> (Vec<String>, Vec<String>) {
    let decisions = ran.lines.iter().filter(|line| line["type"] == "hook.decision");
    let tools = decisions.filter(|line| line["data"]["tool"].is_string());
    let (allowed, denied): (Vec<&Value>, Vec<&Value>) =
        tools.partition(|line| line["data"]["decision"] == "allow");
    let name = |line: &Value| line["data"]["tool"].as_str().unwrap().to_owned();
    (allowed.into_iter().map(name).collect(), denied.into_iter().map(name).collect())
}

#[test]
fn a_read_only_agent_of_opencode_reads_and_changes_nothing_whatever_the_run_allows() {
    let agent = |head: &str| format!("---\ndescription: d\n{head}\n---\nYou look.");
    let inline = |limits: &str| {
        format!(r#"{{"agent": {{"looker": {{"description": "d", "prompt": "You look.", {limits}}}}}}}"#)
    };
    for (file, text) in [
        (".opencode/agent/looker.md", agent("tools:\n  write: false\n  edit: false\n  bash: false")),
        (".opencode/agent/looker.md", agent("permission:\n  edit: deny\n  bash: deny")),
        (".opencode/agent/looker.md", agent("permission:\n  \"*\": deny\n  read: allow\n  grep: allow")),
        ("opencode.json", inline(r#""permission": {"edit": "deny", "bash": "deny"}"#)),
        ("opencode.jsonc", inline(r#""tools": {"write": false, "bash": false}"#)),
        (
            ".codex/agents/looker.toml",
            "description = 'd'\nsandbox_mode = 'read-only'\ndeveloper_instructions = 'x'\n".to_owned(),
        ),
        (".claude/agents/looker.md", agent("disallowedTools: Write, Edit, Bash")),
    ] {
        let place = Place::playing(attempts());
        place.sealed.write("repo/README.md", "# Hi\n");
        place.sealed.write(format!("repo/{file}"), &text);
        let flags = ["--isolation", "permissive", "--on-permission", "allow", "--json"];
        let ran = place.go(&[&["run", "--agent", "looker", "look"][..], &flags].concat());
        ran.assert_ended(0, "completed", "turn_done", 1);
        let (allowed, denied) = decided(&ran);
        assert_eq!(allowed, ["Read", "Grep"], "{text}");
        assert_eq!(denied, ["Write", "Edit", "Bash", "MultiEdit", "NotebookEdit"], "{text}");
        assert!(!place.repo().join("made.txt").exists());
    }
}

#[test]
fn limits_of_a_document_of_opencode_hold_for_agents_in_files() {
    for (document, denied) in [
        (r#"{"permission": {"edit": "deny", "bash": "deny"}}"#, vec!["Write", "Edit", "Bash"]),
        (
            r#"{"agent": {"looker": {"permission": {"bash": "deny"}}, "other": {"permission": "deny"}}}"#,
            vec!["Bash"],
        ),
        (
            r#"{"permission": "deny", "agent": {"looker": {"permission": {"*": "allow", "edit": "deny"}}}}"#,
            vec!["Write", "Edit"],
        ),
    ] {
        let place = Place::playing(json!([{"steps": [
            {"write": {"path": "made.txt", "content": "x"}},
            {"append": {"path": "README.md", "content": "x"}},
            {"bash": "true"},
            say("Done."),
        ]}]));
        place.sealed.write("repo/README.md", "# Hi\n");
        place.sealed.write("repo/opencode.json", document);
        place.sealed.write("repo/.opencode/agent/looker.md", "---\ndescription: d\n---\nYou look.");
        let ran = place.go(&["run", "--agent", "looker", "look", "--json"]);
        ran.assert_ended(0, "completed", "turn_done", 1);
        assert_eq!(decided(&ran).1, denied, "{document}");
    }
    let place = place();
    place.sealed.write("repo/opencode.json", r#"{"permission": {"edt": "deny"}}"#);
    place.sealed.write("repo/.opencode/agent/looker.md", "---\ndescription: d\n---\nYou look.");
    let ran = place.go(&["run", "--agent", "looker", "look"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("agent `looker` cannot be used: no agent CLI has a tool `edt`"),
        "{}",
        ran.stderr
    );
    assert!(place.requests().is_empty());
}

#[test]
fn a_switch_for_one_tool_leaves_the_others_as_they_are() {
    let place = Place::playing(attempts());
    place.sealed.write("repo/README.md", "# Hi\n");
    let text = "---\ndescription: d\ntools:\n  write: false\n  bash: true\n---\nYou look.";
    place.sealed.write("repo/.opencode/agent/looker.md", text);
    let ran = place.go(&["run", "--agent", "looker", "look", "--json"]);
    assert_eq!(decided(&ran).0, ["Bash", "Read", "Grep"]);
}

#[test]
fn a_question_of_a_permission_is_put_to_a_person_or_the_policy() {
    let text = "---\ndescription: d\npermission:\n  bash:\n    \"*\": ask\n    \"git *\": allow\n    \"git push *\": deny\n---\nYou look.";
    for (policy, allowed) in [("deny", vec!["git log"]), ("allow", vec!["git log", "ls"])] {
        let place = Place::playing(json!([{"steps": [
            {"bash": "git log"}, {"bash": "ls"}, {"bash": "git push"}, {"bash": "git log; git push"}, say("Done."),
        ]}]));
        place.sealed.write("repo/.opencode/agent/looker.md", text);
        let ran = place.go(&["run", "--agent", "looker", "look", "--on-permission", policy, "--json"]);
        assert_eq!(decided(&ran).0.len(), allowed.len(), "{policy}: {ran}");
    }
}

#[test]
fn tools_of_skills_and_commands_are_limits_too() {
    for (file, flag) in
        [("repo/.atomic/skills/s/SKILL.md", "--skill"), ("repo/.claude/commands/s.md", "--command")]
    {
        let place = Place::playing(attempts());
        place.sealed.write("repo/README.md", "# Hi\n");
        place.sealed.write(file, "---\ndescription: d\nallowed-tools: [Read]\n---\nLook.");
        let ran = place.go(&["run", flag, "s", "--json"]);
        ran.assert_ended(0, "completed", "turn_done", 1);
        assert_eq!(decided(&ran).0, ["Read"]);
    }
}

#[test]
fn an_entity_whose_limits_are_not_understood_is_not_used_and_says_why() {
    let place = place();
    place
        .sealed
        .write("repo/.claude/agents/looker.md", "---\ndescription: d\ntools: Read, Wrte\n---\nYou look.");
    let ran = place.go(&["run", "--agent", "looker", "look"]);
    assert_eq!(ran.code, 3, "{ran}");
    let why = "agent `looker` cannot be used: no agent CLI has a tool `Wrte`";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
    assert!(place.requests().is_empty());
    let checked = place.go(&["entities", "check"]);
    assert_eq!(checked.code, 3);
    for words in ["error: no agent CLI has a tool `Wrte`", "looker.md:3:8", "hint: did you mean `Write`?"] {
        assert!(checked.stdout.contains(words), "{words} in {}", checked.stdout);
    }
    // It hides none that can be used.
    place.sealed.write("repo/.opencode/agent/looker.md", "---\ndescription: good\n---\nYou look.");
    place.go(&["run", "--agent", "looker", "look", "--json"]).assert_ended(0, "completed", "turn_done", 1);
}

#[test]
fn limits_are_shown_as_they_are_enforced() {
    let place = place();
    let head = "permission:\n  edit: deny\n  bash:\n    \"*\": ask\n    \"git *\": allow\n  webfetch: ask";
    place
        .sealed
        .write("repo/.opencode/agent/looker.md", format!("---\ndescription: d\n{head}\n---\nYou look."));
    let tools = "Bash(git add:*), Bash(git commit:*), Read";
    place.sealed.write("repo/.claude/commands/c.md", format!("---\nallowed-tools: {tools}\n---\nDo it."));
    for command in [&["entities", "show", "looker"][..], &["run", "--agent", "looker", "x", "--dry-run"]] {
        let shown = place.go(command).stdout;
        for line in ["allow       Bash(git *)\n", "deny        Edit, Write\n", "ask         WebFetch, Bash\n"]
        {
            assert!(shown.contains(line), "{line} in {shown}");
        }
    }
    let shown = place.go(&["entities", "show", "c"]).stdout;
    assert!(shown.contains("tools       Bash(git add:*), Bash(git commit:*), Read\n"), "{shown}");
    let listed = place.go(&["entities", "--json"]);
    let entity = |name: &str| {
        let found = listed.lines.iter().find(|line| line["data"]["name"] == name).unwrap();
        found["data"].clone()
    };
    assert_eq!(entity("c")["tools"], json!(["bash", "read"]));
    assert_eq!(entity("c")["limits"]["only"], json!(["Bash(git add:*)", "Bash(git commit:*)", "Read"]));
    let limits = &entity("looker")["limits"];
    assert_eq!(limits["only"], Value::Null);
    assert_eq!(limits["deny"], json!(["Edit", "Write"]));
    assert_eq!((&limits["allow"], &limits["ask"]), (&json!(["Bash(git *)"]), &json!(["WebFetch", "Bash"])));
}

#[test]
fn a_mistyped_permission_of_the_settings_stops_the_run() {
    for (settings, words) in [
        ("[permissions]\ndenny = [\"Write\"]\n", "config.toml:7:1"),
        ("[permissions]\ndeny = [\"Wrte\"]\n", "did you mean `Write`?"),
        ("[permission]\ndeny = [\"Write\"]\n", "did you mean `permissions`?"),
    ] {
        let place = Place::with_settings(settings);
        place.script(
            json!({"turns": [{"steps": [{"write": {"path": "made.txt", "content": "x"}}, say("Done.")]}]}),
        );
        let ran = place.go(&["run", "go"]);
        assert_eq!(ran.code, 3, "{ran}");
        assert!(ran.stderr.contains(words), "{words} in {}", ran.stderr);
        assert!(!place.repo().join("made.txt").exists());
    }
}

/// Plays every way to change a file with one command, skill or agent, and says what was allowed.
fn allowed_with(files: &[(&str, &str)], what: &[&str]) -> Vec<String> {
    let place = Place::playing(attempts());
    place.sealed.write("repo/README.md", "# Hi\n");
    for (file, text) in files {
        place.sealed.write(format!("repo/{file}"), text);
    }
    let flags = ["--isolation", "permissive", "--on-permission", "allow", "--json"];
    let ran = place.go(&[&["run"][..], what, &flags].concat());
    ran.assert_ended(0, "completed", "turn_done", 1);
    decided(&ran).0
}

#[test]
fn a_command_is_held_to_the_limits_of_the_agent_it_is_done_by() {
    let reader = "---\ndescription: d\ntools: [Read, Grep]\n---\nYou look.";
    let denied = "---\ndescription: d\npermission:\n  edit: deny\n  bash: deny\n---\nYou look.";
    let reads = ["Read", "Grep"];
    let all = ["Write", "Edit", "Bash", "MultiEdit", "NotebookEdit", "Read", "Grep"];
    let command = ["--command", "c"];
    for (files, expected) in [
        (
            vec![
                (".opencode/command/c.md", "---\nagent: looker\n---\nDo."),
                (".opencode/agent/looker.md", denied),
            ],
            &reads[..],
        ),
        (
            vec![(
                "opencode.json",
                r#"{"command": {"c": {"template": "Do.", "agent": "looker"}}, "agent": {"looker": {"description": "d", "prompt": "p", "permission": {"edit": "deny", "bash": "deny"}}}}"#,
            )],
            &reads,
        ),
        (vec![(".opencode/command/c.md", "---\nagent: plan\n---\nDo.")], &["Bash", "Read", "Grep"]),
        (
            vec![
                (".opencode/command/c.md", "---\nagent: plan\n---\nDo."),
                ("opencode.json", r#"{"agent": {"plan": {"permission": {"bash": "deny"}}}}"#),
            ],
            &reads,
        ),
        (
            vec![(".opencode/command/c.md", "---\nagent: explore\nsubtask: true\n---\nDo.")],
            &["Bash", "Read", "Grep"],
        ),
        (
            vec![
                (".opencode/command/c.md", "Do."),
                ("opencode.json", r#"{"permission": {"edit": "deny", "bash": "deny"}}"#),
            ],
            &reads,
        ),
        (vec![(".opencode/command/c.md", "Do.")], &all),
        (vec![(".github/prompts/c.prompt.md", "---\nmode: ask\n---\nDo.")], &reads),
        (vec![(".github/prompts/c.prompt.md", "---\nagent: plan\n---\nDo.")], &reads),
        (
            vec![(".github/prompts/c.prompt.md", "---\nmode: edit\n---\nDo.")],
            &["Write", "Edit", "MultiEdit", "NotebookEdit", "Read", "Grep"],
        ),
        (vec![(".github/prompts/c.prompt.md", "---\nmode: agent\n---\nDo.")], &all),
        (
            vec![
                (".github/prompts/c.prompt.md", "---\nagent: looker\ntools: [read, edit]\n---\nDo."),
                (".github/agents/looker.md", reader),
            ],
            &["Read"],
        ),
        (
            vec![
                (".claude/commands/c.md", "---\nagent: looker\ncontext: fork\n---\nDo."),
                (".claude/agents/looker.md", reader),
            ],
            &reads,
        ),
        (
            vec![(".claude/commands/c.md", "---\nagent: Explore\ncontext: fork\n---\nDo.")],
            &["Bash", "Read", "Grep"],
        ),
    ] {
        assert_eq!(allowed_with(&files, &command), expected, "{files:?}");
    }
    let skill = [
        (".claude/skills/s/SKILL.md", "---\ndescription: d\nagent: looker\ncontext: fork\n---\nDo."),
        (".claude/agents/looker.md", reader),
    ];
    assert_eq!(allowed_with(&skill, &["--skill", "s"]), reads);
}

#[test]
fn a_command_whose_agent_is_not_there_is_an_error_with_a_place() {
    for (file, text, more, words) in [
        (
            ".opencode/command/c.md",
            "---\nagent: loker\n---\nDo.",
            None,
            ["is done by agent `loker`, and there is no such agent", "c.md:2:8"],
        ),
        (
            ".opencode/command/c.md",
            "---\nagent: 3\n---\nDo.",
            None,
            ["`agent` must name an agent, found a number", "c.md:2:8"],
        ),
        (
            ".opencode/command/c.md",
            "---\nsubtask: \"yes\"\n---\nDo.",
            None,
            ["`subtask` must be true or false, found `yes`", "c.md:2:10"],
        ),
        (
            ".github/prompts/c.prompt.md",
            "---\nmode: aks\n---\nDo.",
            None,
            ["is done by agent `aks`, and there is no such agent", "c.prompt.md:2:7"],
        ),
        (
            ".claude/commands/c.md",
            "---\nagent: x\ncontext: forked\n---\nDo.",
            None,
            ["`context` must be `fork`", "c.md:2:1"],
        ),
        (
            ".opencode/command/c.md",
            "---\nagent: looker\n---\nDo.",
            Some("---\ndescription: d\ntools: Wrte\n---\nX"),
            ["is done by agent `looker`, which cannot be used: no agent CLI has a tool `Wrte`", "c.md:2:8"],
        ),
    ] {
        let place = place();
        place.sealed.write(format!("repo/{file}"), text);
        if let Some(agent) = more {
            place.sealed.write("repo/.opencode/agent/looker.md", agent);
        }
        let ran = place.go(&["run", "--command", "c", "--json"]);
        assert_eq!(ran.code, 3, "{text}: {ran}");
        assert!(words.iter().all(|words| ran.stderr.contains(words)), "{words:?} in {}", ran.stderr);
        assert!(place.requests().is_empty());
        let check = place.go(&["entities", "check"]);
        assert_eq!(check.code, 3, "{check}");
        assert!(check.stdout.contains(words[1]) || check.stderr.contains(words[1]), "{check}");
    }
}

#[test]
fn a_refusal_names_the_file_whose_limit_it_is() {
    for (file, text, what, words) in [
        (
            ".claude/agents/a.md",
            "---\ndescription: d\ndisallowedTools: Bash\n---\nX",
            ["--agent", "a"],
            "Bash is denied by the rule `Bash` of agent `a` (",
        ),
        (
            ".claude/skills/a/SKILL.md",
            "---\ndescription: d\nallowed-tools: Read\n---\nX",
            ["--skill", "a"],
            "Bash is not among the tools that skill `a` (",
        ),
        (
            ".claude/commands/a.md",
            "---\nallowed-tools: Bash(ls:*)\n---\nX",
            ["--command", "a"],
            "may use Bash only as Bash(ls:*); `git log` matches none of these",
        ),
        (
            ".opencode/command/a.md",
            "---\nagent: explore\npermission: {bash: {\"*\": deny, \"ls\": allow}}\n---\nX",
            ["--command", "a"],
            "Bash is denied by the rule `Bash` of command `a` (",
        ),
    ] {
        let place = Place::playing(json!([{"steps": [{"bash": "git log"}, say("Done.")]}]));
        place.sealed.write(format!("repo/{file}"), text);
        let told: &[&str] = if what[0] == "--agent" { &["x"] } else { &[] };
        let ran = place.go(&[&["run"][..], &what, told, &["--json"]].concat());
        ran.assert_ended(0, "completed", "turn_done", 1);
        assert!(ran.stdout.contains(words), "{words} in {ran}");
        assert!(ran.stdout.contains(file), "{file} in {ran}");
    }
}

#[test]
fn a_document_that_names_a_broken_agent_says_what_is_wrong_with_it() {
    let place = place();
    place.sealed.write("repo/.claude/agents/looker.md", "---\ndescription: d\ntools: {}\n---\nX");
    place
        .sealed
        .write("repo/.windlass/workflows/w.yaml", "name: w\nsteps:\n  - agent: looker\n    prompt: Look.\n");
    for what in [
        &["run", "--workflow", "w"][..],
        &["workflow", "check", "w"],
        &["run", "--agent", "looker", "x"],
        &["entities", "show", "looker"],
    ] {
        let ran = place.go(what);
        assert_eq!(ran.code, 3, "{what:?}: {ran}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        for words in ["`looker` cannot be used: `tools` must name tools, found an object", "looker.md:3:8"] {
            assert!(said.contains(words), "{words} for {what:?} in {said}");
        }
        assert!(!said.contains("not found") && !said.contains("there is no"), "{said}");
    }
    assert!(place.requests().is_empty());
}
