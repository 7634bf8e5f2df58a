//! Mistakes: each with a clear text, a hint and its exit code.

use windlass_testkit::env::{story, text};

use crate::stage::{Stage, assert_exit};

/// The command fails so, and says all of this on standard error alone.
fn assert_fails(stage: &Stage, args: &[&str], code: i32, says: &[&str]) {
    let output = stage.run(args);
    assert_exit(&output, code);
    assert!(output.stdout.is_empty(), "{}", story(&output));
    let said = text(&output.stderr);
    assert!(said.starts_with("error: "), "{said}");
    for part in says {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
}

#[test]
fn a_wrong_command_line_is_usage() {
    let stage = Stage::new();
    assert_fails(
        &stage,
        &["run"],
        2,
        &["INPUT is missing", "hint: say what to do, in quotes: windlass run \"fix the login\""],
    );
    assert_fails(&stage, &["run", "--", "x"], 2, &["INPUT is missing"]);
    assert_fails(
        &stage,
        &["loop"],
        2,
        &["PROMPT is missing", "hint: as in: windlass loop \"make the tests pass\""],
    );
    assert_fails(&stage, &["loop", ""], 2, &["the input is empty"]);
    assert_fails(
        &stage,
        &["rnu", "x"],
        2,
        &["there is no command `rnu`", "hint: did you mean `windlass run`?"],
    );
    assert_fails(
        &stage,
        &["ps", "--jsno"],
        2,
        &["there is no flag `--jsno`", "hint: did you mean `--json`?"],
    );
    assert_fails(
        &stage,
        &["run", "--dryrun"],
        2,
        &["there is no flag `--dryrun`", "hint: did you mean `--dry-run`?"],
    );
    assert_fails(&stage, &["run", "--odd-flag", "x"], 2, &["there is no flag `--odd-flag`"]);
    assert_fails(&stage, &["loop", "x", "--isolation", "loose"], 2, &["strict, minimal, permissive"]);
    assert_fails(&stage, &["loop", "x", "--timeout", "soon"], 2, &["write it like 90s, 30m, 2h or 1d"]);
    let number = "is no value for --max-iterations: it must be a whole number, and 0 means no limit";
    for value in ["many", "-1", "1.5", "99999999999"] {
        let said = format!("error: `{value}` {number}\n");
        assert_fails(&stage, &["loop", "x", "--max-iterations", value], 2, &[&said]);
    }
}

#[test]
fn a_near_miss_is_suggested_in_one_style() {
    let stage = Stage::new();
    stage.place.write("repo/.windlass/workflows/feature.yaml", "name: feature\nnodes:\n  - { prompt: x }\n");
    let cases: [(&[&str], i32, &str, &str); 17] = [
        (&["lop"], 2, "there is no command `lop`", "`windlass loop`?"),
        (&["stop"], 2, "there is no command `stop`", "`windlass cancel`?"),
        (&["revert"], 2, "there is no command `revert`", "`windlass undo`?"),
        (&["status"], 2, "there is no command `status`", "`windlass ps`?"),
        (&["rm"], 2, "there is no command `rm`", "`windlass gc`?"),
        (&["tasks", "rnu"], 2, "`windlass tasks` has no command `rnu`", "`windlass tasks run`?"),
        (&["help", "shwo"], 2, "there is no command `shwo`", "`windlass show`?"),
        (
            &["help", "workflow", "grap"],
            2,
            "`windlass workflow` has no command `grap`",
            "`windlass workflow graph`?",
        ),
        (
            &["loop", "--max-iteration", "3", "x"],
            2,
            "there is no flag `--max-iteration`",
            "`--max-iterations`?",
        ),
        (&["tasks", "run", "--job", "3"], 2, "there is no flag `--job`", "`--jobs`?"),
        (&["answer", "--questoin", "x"], 2, "there is no flag `--questoin`", "`--question`?"),
        (
            &["loop", "x", "--mode", "frsh"],
            2,
            "`frsh` is no value for --mode",
            "`fresh`? it is one of fresh, ",
        ),
        (&["run", "x", "--workflow", "featur"], 3, "no workflow `featur`", "`feature`? there are: "),
        (&["run", "x", "--skill", "comit"], 3, "skill not found: \"comit\"", "`commit`?"),
        (&["entities", "show", "comit"], 3, "no command, skill or agent is called \"comit\"", "`commit`?"),
        (&["hint", "comit"], 3, "no command, skill or agent is called \"comit\"", "`commit`?"),
        (&["loop", "x", "--driver", "cluade"], 3, "no driver `cluade`", "`claude`? there are: claude, "),
    ];
    for (args, code, error, near) in cases {
        assert_fails(&stage, args, code, &[&format!("error: {error}\n  hint: did you mean {near}")]);
    }
}

#[test]
fn no_mistake_is_told_in_claps_words() {
    let stage = Stage::new();
    let cases: [&[&str]; 12] = [
        &["ps", "x"],
        &["loop", "fix", "the", "tests"],
        &["fork", "x"],
        &["tasks", "set", "3"],
        &["tasks", "add", "x", "--priority", "a"],
        &["run", "x", "--jobs", "0"],
        &["run", "x", "--skill", "a", "--workflow", "b"],
        &["ps", "--json", "--json"],
        &["loop", "x", "--isolation"],
        &["loop", "x", "--model", "-y"],
        &["--bogus"],
        &["xyzzy"],
    ];
    for args in cases {
        let output = stage.run(args);
        assert_exit(&output, 2);
        let said = text(&output.stderr);
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines.len() == 2 && lines[0].starts_with("error: "), "{args:?}: {said}");
        assert!(lines[1].starts_with("  hint: "), "{args:?}: {said}");
        for clap in ["tip:", "Usage:", "invalid digit", "unexpected argument", "'"] {
            assert!(!said.contains(clap), "{args:?}: {said}");
        }
    }
}

#[test]
fn what_was_typed_cannot_reach_the_terminal_as_escapes() {
    let output = Stage::new().run(&["\u{1b}[31mrun"]);
    assert_exit(&output, 2);
    assert!(
        text(&output.stderr).contains("^[[31mrun") && !output.stderr.contains(&0x1b),
        "{}",
        story(&output)
    );
}

#[test]
fn a_run_that_is_not_there_is_usage() {
    let stage = Stage::new();
    for args in
        [&["show", "zz"][..], &["logs", "zz"], &["cancel", "zz"], &["answer", "zz", "x"], &["resume", "zz"]]
    {
        assert_fails(&stage, args, 2, &["no run `zz`", "hint: `windlass ps`"]);
    }
    assert_fails(&stage, &["resume"], 2, &["no run of this folder can be resumed"]);
}

#[test]
fn an_ambiguous_run_lists_the_candidates() {
    let stage = Stage::playing(serde_json::json!([crate::stage::done()]));
    for _ in 0..2 {
        assert_exit(&stage.run(&["loop", "x", "--driver", "sim"]), 0);
    }
    let runs = stage.json(&["ps", "--json"]);
    let ids: Vec<&str> = runs.iter().map(|run| run["run"].as_str().unwrap()).collect();
    assert_fails(&stage, &["show", ""], 2, &[ids[0], ids[1]]);
}

#[test]
fn an_unknown_workflow_or_driver_is_configuration() {
    let stage = Stage::new();
    assert_fails(
        &stage,
        &["run", "x", "--workflow", "e2e", "--driver", "sim"],
        3,
        &["no workflow `e2e`", "hint: there are: loop"],
    );
    assert_fails(
        &stage,
        &["loop", "x", "--driver", "emacs"],
        3,
        &["no driver `emacs`", "there are: claude, "],
    );
    assert_fails(&stage, &["workflow", "show", "e2e"], 3, &["no workflow `e2e`"]);
}

#[test]
fn a_missing_agent_says_what_to_install() {
    let stage = Stage::new();
    let output =
        stage.command(&["loop", "x", "--driver", "claude"]).env("PATH", "/nowhere").output().unwrap();
    assert_exit(&output, 4);
    assert!(text(&output.stderr).contains("npm install -g @anthropic-ai/claude-code"), "{}", story(&output));
}

#[test]
fn what_the_settings_forbid_is_refused() {
    let stage = Stage::new();
    stage.place.write("config/windlass/config.toml", "isolation = \"strict\"\nmax_isolation = \"strict\"\n");
    let args = ["loop", "x", "--driver", "sim", "--isolation", "permissive"];
    assert_fails(&stage, &args, 5, &["max_isolation", "hint: "]);
}

#[test]
fn broken_settings_are_pointed_at() {
    let stage = Stage::new();
    stage.place.write("config/windlass/config.toml", "max_iterations = \"many\"\n");
    assert_fails(&stage, &["loop", "x", "--driver", "sim"], 3, &["config.toml:1:"]);
}

#[test]
fn a_state_folder_that_cannot_be_used_is_configuration() {
    let stage = Stage::playing(serde_json::json!([crate::stage::done()]));
    stage.place.write("state/windlass", "a file where a folder should be");
    assert_fails(&stage, &["ps"], 3, &["the store cannot be used", "because", "hint: "]);
    assert_fails(&stage, &["loop", "x", "--driver", "sim"], 3, &["the store cannot be used"]);
}

#[test]
fn a_damaged_database_is_left_alone() {
    let stage = Stage::new();
    let database = stage.place.write("state/windlass/windlass.db", "this is no database at all".repeat(100));
    let before = std::fs::read(&database).unwrap();
    assert_fails(&stage, &["ps"], 3, &["damaged or not a database"]);
    assert_eq!(std::fs::read(&database).unwrap(), before);
}

#[test]
fn an_answer_nobody_waits_for_is_usage() {
    let stage = Stage::playing(serde_json::json!([crate::stage::done()]));
    assert_exit(&stage.run(&["loop", "x", "--driver", "sim"]), 0);
    let run = stage.newest("completed");
    assert_fails(&stage, &["answer", &run, "yes"], 2, &["already over"]);
    assert_fails(&stage, &["approve", &run], 2, &["already over"]);
    assert_fails(&stage, &["cancel", &run], 2, &["already over"]);
    assert_fails(&stage, &["resume", &run], 2, &["already over"]);
}

#[test]
fn a_last_message_without_a_place_is_found_out_before_the_run() {
    let stage = Stage::playing(serde_json::json!([crate::stage::done()]));
    let args = ["loop", "x", "--driver", "sim", "--output-last-message", "/nowhere/last.txt"];
    assert_fails(&stage, &args, 7, &["/nowhere/last.txt"]);
    assert!(stage.json(&["ps", "--json"]).is_empty());
}

#[test]
fn a_check_that_could_not_mean_anything_is_refused() {
    let stage = Stage::new();
    stage.place.write("script.json", r#"{"turns":[{"steps":[]}]}"#);
    let looped = |checks: &[&'static str]| [&["loop", "x", "--driver", "sim", "--dry-run"], checks].concat();
    assert_fails(&stage, &looped(&["--check", ""]), 2, &["--check needs a command"]);
    assert_fails(
        &stage,
        &looped(&["--check", "a=false", "--check", "a=true"]),
        2,
        &["two checks are named `a`"],
    );
    let variable = stage.run(&[&looped(&["--check", "LEVEL=1 true"])[..], &["--json"]].concat());
    assert_exit(&variable, 0);
    assert!(text(&variable.stdout).contains("LEVEL=1 true"), "{}", story(&variable));
}

#[test]
fn empty_names_and_checks_without_a_name_are_refused() {
    let stage = Stage::playing(serde_json::json!([crate::stage::done()]));
    let looped = |flags: &[&'static str]| [&["loop", "x", "--driver", "sim", "--dry-run"], flags].concat();
    assert_fails(&stage, &looped(&["--model", ""]), 2, &["error: the value of --model is empty\n  hint: "]);
    assert_fails(&stage, &looped(&["--model", " "]), 2, &["the value of --model is empty"]);
    let nameless = "error: --check `=x` has no name before the `=`\n  hint: write --check NAME=COMMAND";
    assert_fails(&stage, &looped(&["--check", "=x"]), 2, &[nameless]);
    for (check, name) in
        [("tést=grep -q 4 a", "tést"), ("Te-st=true", "Te-st"), ("a.b=true", "a.b"), ("1A=true", "1A")]
    {
        let refused = format!(
            "error: --check `{check}`: `{name}` cannot be the name of a check\n  hint: a name has lowercase letters a to z, digits, `-` and `_`"
        );
        assert_fails(&stage, &[&looped(&["--check"])[..], &[check]].concat(), 2, &[&refused]);
    }
    for command in ["LEVEL=1 true", "./x.sh=1", "grep -q a=b tést", "test \"$tést=1\"", "t=grep ä=1"] {
        assert_exit(&stage.run(&[&looped(&["--check"])[..], &[command]].concat()), 0);
    }
    assert_exit(&stage.run(&looped(&["--timeout", "1d"])), 0);
    assert_exit(&stage.run(&looped(&["--timeout", "1h30m"])), 0);
}

#[test]
fn times_in_settings_may_have_days() {
    let stage = Stage::playing(serde_json::json!([crate::stage::done()]));
    stage.place.write("config/windlass/config.toml", "timeout = \"1d\"\n");
    let shown = text(&stage.run(&["config", "show"]).stdout);
    assert!(shown.contains("timeout = \"24h\""), "{shown}");
}

#[test]
fn an_input_of_more_than_a_megabyte_is_refused_with_a_way_out() {
    let stage = Stage::playing(serde_json::json!([crate::stage::done()]));
    let large = "x".repeat((1 << 20) + 1);
    let output = stage.run_with_input(&["loop", "-", "--driver", "sim"], &large);
    assert_exit(&output, 2);
    let said = text(&output.stderr);
    assert!(
        said.starts_with("error: the input is larger than 1 MB\n  hint: put the text in a file"),
        "{said}"
    );
    let output = stage.run_with_input(&["loop", "-", "--driver", "sim", "--dry-run"], &large[1..]);
    assert_exit(&output, 0);
    stage.place.write("repo/more.yaml", "name: more\nnodes:\n  - { id: a, prompt: 'Do {{ input }}' }\n");
    let more = ["run", "-", "--workflow", "more.yaml", "--driver", "sim"];
    let output = stage.run_with_input(&more, &large[1..]);
    assert_exit(&output, 3);
    let said = text(&output.stderr);
    assert!(
        said.contains("with its values filled in, the text is longer than 1048576 bytes\n  hint: put"),
        "{said}"
    );
}

#[test]
fn a_folder_that_may_not_be_written_has_a_hint() {
    let stage = Stage::playing(serde_json::json!([crate::stage::done()]));
    // Nobody can create a file here, not even root.
    let read_only = |args: &[&str]| stage.command(args).current_dir("/sys").output().unwrap();
    for args in [&["workflow", "new", "x"][..], &["entities", "eject", "commit"]] {
        let output = read_only(args);
        assert_exit(&output, 3);
        let said = text(&output.stderr);
        assert!(said.contains("\n  hint: make the folder writable, or use --user\n"), "{said}");
    }
    let output = read_only(&["tasks", "init"]);
    assert_exit(&output, 3);
    assert!(
        text(&output.stderr).contains("\n  hint: make the file and its folder writable, "),
        "{}",
        story(&output)
    );
    let output = read_only(&["loop", "x", "--driver", "sim"]);
    assert_exit(&output, 4);
    assert!(
        text(&output.stdout).contains("; make the folder writable, or run in another one\n"),
        "{}",
        story(&output)
    );
}

#[test]
fn a_format_that_sim_does_not_know_is_said_before_a_run() {
    let stage = Stage::playing(serde_json::json!([crate::stage::done()]));
    let format = |format: &str| {
        stage.command(&["loop", "x", "--driver", "sim"]).env("WINDLASS_SIM_FORMAT", format).output().unwrap()
    };
    let output = format("plian");
    assert_exit(&output, 2);
    let said = text(&output.stderr);
    assert!(said.starts_with("error: WINDLASS_SIM_FORMAT is `plian`"), "{said}");
    assert!(said.contains("\n  hint: did you mean `plain`? it is one of claude, plain, codex, opencode, copilot, gemini, acp\n"), "{said}");
    for known in ["", "plain", "claude"] {
        assert_exit(&format(known), 0);
    }
}

#[test]
fn a_file_of_tasks_that_exists_names_the_flag_that_chooses_another() {
    let stage = Stage::new();
    assert_exit(&stage.run(&["tasks", "init"]), 0);
    let hint = |flag: &str| format!("  hint: Windlass left it as it is; choose another with {flag} PATH\n");
    assert_fails(&stage, &["tasks", "init"], 3, &["tasks.json already exists", &hint("--file")]);
    stage.place.write(
        "repo/features.json",
        r#"[{"category": "c", "description": "d", "steps": [], "passes": false}]"#,
    );
    assert_fails(&stage, &["tasks", "migrate", "features.json"], 3, &["already exists", &hint("--out")]);
}

#[test]
fn a_script_that_is_not_there_is_said_before_a_run() {
    let stage = Stage::new();
    assert_fails(
        &stage,
        &["loop", "x", "--driver", "sim"],
        3,
        &["cannot read the script", "WINDLASS_SIM_SCRIPT"],
    );
    assert!(stage.json(&["ps", "--json"]).is_empty());
}

#[test]
fn a_projects_workflows_are_found_from_a_folder_below() {
    let stage = Stage::new();
    let workflow = r#"{"name":"deep","promptTemplate":"{input}"}"#;
    stage.place.write("repo/.windlass/workflows/deep.json", workflow);
    std::fs::create_dir_all(stage.place.repo().join("below")).unwrap();
    let mut command = stage.command(&["workflow", "list"]);
    let output = command.current_dir(stage.place.repo().join("below")).output().unwrap();
    assert!(text(&output.stdout).contains("deep"), "{}", story(&output));
}

#[test]
fn several_scripts_are_checked_at_once() {
    let stage = Stage::new();
    let script = |text: &str, name: &str| {
        stage.place.write(name, text);
        stage.place.root().join(name).display().to_string()
    };
    let good = script(r#"{"turns": [{"steps": [{"say": "x"}]}]}"#, "good.json");
    let bad = script(r#"{"turns": [,]}"#, "bad.json");
    let output = stage.run(&["sim", "--check", &good, &good]);
    assert_exit(&output, 0);
    assert_eq!(text(&output.stdout).matches("good.json: ok").count(), 2, "{}", story(&output));
    let output = stage.run(&["sim", "--check", &bad, &good]);
    assert_exit(&output, 1);
    assert!(text(&output.stderr).contains("bad.json:1:") && text(&output.stdout).contains("good.json: ok"));
}
