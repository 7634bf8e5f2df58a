//! A person at a real terminal (tmux): questions are answered where the run is watched.

use std::process::Command;

use serde_json::{Value, json};
use windlass_testkit::env::{story, text};
use windlass_testkit::wait::{eventually, soon};
use windlass_testkit::{require_program, windlass_bin};

use crate::stage::{Stage, assert_exit, done};

/// A terminal of its own server, which ends with it.
pub(crate) struct Terminal<'a> {
    stage: &'a Stage,
    /// The name of its server, unique in the stage.
    name: &'static str,
}

impl<'a> Terminal<'a> {
    /// Runs a shell command in a new terminal; its exit code is in the file `code` at the end.
    pub(crate) fn open(stage: &'a Stage, command: &str) -> Terminal<'a> {
        Terminal::named("tmux", stage, command)
    }

    fn named(name: &'static str, stage: &'a Stage, command: &str) -> Terminal<'a> {
        let terminal = Terminal { stage, name };
        let script = stage.place.root().join("script.json");
        let line = format!(
            "trap : INT; export WINDLASS_SIM_SCRIPT={}; PATH={}:$PATH; {command}; echo $? > {}; sleep 600",
            script.display(),
            windlass_bin().parent().unwrap().display(),
            terminal.code_file().display(),
        );
        let args = ["-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "50", "sh", "-c", &line];
        terminal.tmux(&args);
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command: Command = self.stage.place.command("tmux");
        let output =
            command.arg("-S").arg(self.stage.place.root().join(self.name)).args(args).output().unwrap();
        text(&output.stdout)
    }

    fn code_file(&self) -> std::path::PathBuf {
        let file = if self.name == "tmux" { "code".to_owned() } else { format!("code.{}", self.name) };
        self.stage.place.root().join(file)
    }

    pub(crate) fn types(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Waits until the screen shows this text, and returns the screen.
    pub(crate) fn shows(&self, wanted: &str) -> String {
        let begun = std::time::Instant::now();
        loop {
            let screen = self.tmux(&["capture-pane", "-p"]);
            if screen.contains(wanted) {
                return screen;
            }
            assert!(begun.elapsed() < soon(), "no {wanted:?} on the screen:\n{screen}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    pub(crate) fn code(&self) -> String {
        let file = self.code_file();
        let read = || std::fs::read_to_string(&file).ok().filter(|text| text.ends_with('\n'));
        eventually(soon(), read).trim().to_owned()
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Returns what a command shows on a terminal of 80 columns.
fn at_80(stage: &Stage, script: &std::path::Path, command: &str) -> String {
    let windlass = windlass_bin().display().to_string();
    let line = format!("stty cols 80 rows 24; {windlass} {command}");
    let mut shell = stage.place.command(script);
    shell.args(["-qec", &line, "/dev/null"]).stdin(std::process::Stdio::null()).env("NO_COLOR", "1");
    text(&shell.output().unwrap().stdout).replace('\r', "")
}

/// Returns the lines that are too wide although they have blanks to break them at.
fn too_wide(shown: &str) -> Vec<&str> {
    let is_wide = |line: &&str| line.chars().count() > 80 && line.split_whitespace().count() > 1;
    shown.lines().filter(is_wide).collect()
}

#[test]
fn what_is_listed_and_shown_fits_a_terminal_of_80_columns() {
    let script = require_program!("script");
    let said = json!({ "say": "I have done everything that you asked for, and more. ".repeat(5) });
    let stage = Stage::playing(json!([said]));
    let document = r#"
name: a-workflow-with-a-long-name
description: Does many things, one after another, until nothing is left that anybody could want to have done.
nodes:
  - { id: the-first-node-of-many-nodes, prompt: "Do {{ input }}" }
  - id: the-second-node-that-is-left-out
    when: "input == 'a long condition that nobody would ever write down like this, or would they?'"
    shell: "true"
"#;
    stage.place.write("repo/.windlass/workflows/long.yaml", document);
    stage.place.write(
        "repo/.claude/skills/long/SKILL.md",
        format!("---\ndescription: {}\n---\nX", "word ".repeat(40)),
    );
    let input = "a long input that says in many words what could be said in a few, and goes on";
    let workflow = ["run", input, "--workflow", "a-workflow-with-a-long-name", "--driver", "sim"];
    assert_exit(&stage.run(&workflow), 0);
    stage.place.write("script.json", json!({ "turns": [{ "steps": [said, done()] }] }).to_string());
    assert_exit(
        &stage.run(&["loop", input, "--driver", "sim", "--max-iterations", "1", "--check", "false"]),
        9,
    );
    let runs = stage.json(&["ps", "--json"]);
    let run = runs[1]["run"].as_str().unwrap();
    let commands = [
        "ps".to_owned(),
        "show".to_owned(),
        format!("show {run}"),
        format!("show {run} --explain the-second-node-that-is-left-out"),
        "doctor".to_owned(),
        "config show".to_owned(),
        "workflow list".to_owned(),
        "entities".to_owned(),
        "show nothing-of-this-name-is-anywhere-in-this-log-or-in-any-other-log-of-the-machine".to_owned(),
    ];
    for command in commands {
        let shown = at_80(&stage, &script, &command);
        assert!(!shown.is_empty(), "{command}");
        assert_eq!(too_wide(&shown), [""; 0], "{command}:\n{shown}");
    }
    let listed = at_80(&stage, &script, "ps");
    assert!(listed.contains("exhausted (max_iterations)") && listed.contains("  a long input"), "{listed}");
    let cut = |shown: &str| shown.lines().filter(|line| line.ends_with("...")).count();
    for line in listed.lines().filter_map(|line| line.strip_suffix("...")) {
        assert!(input.contains(line.rsplit("  ").next().unwrap()), "cut inside a word: {line}");
    }
    assert_eq!(cut(&listed), 2, "{listed}");
    // Programs get whole lines.
    for command in [&["ps"][..], &["workflow", "list"], &["entities"]] {
        let output = stage.run(command);
        assert_eq!(cut(&text(&output.stdout)), 0, "{}", story(&output));
    }
    assert!(text(&stage.run(&["ps"]).stdout).contains(input));
}

#[test]
fn a_workflow_is_a_tree_on_a_terminal_and_mermaid_elsewhere() {
    let script = require_program!("script");
    let stage = Stage::new();
    let shown = at_80(&stage, &script, "workflow graph tasks");
    assert!(shown.starts_with("tasks\n") && shown.contains("task_loop  each task"), "{shown}");
    let document = format!(
        "name: w\nnodes:\n  - when: input != '{}'\n    shell: echo {}\n",
        "x".repeat(60),
        "y".repeat(60)
    );
    stage.place.write("repo/w.yaml", document);
    assert_eq!(too_wide(&at_80(&stage, &script, "workflow graph w.yaml")), Vec::<&str>::new());
    let shown = at_80(&stage, &script, "workflow graph tasks --format mermaid");
    assert!(shown.starts_with("flowchart TD\n"), "{shown}");
    assert!(text(&stage.run(&["workflow", "graph", "tasks"]).stdout).starts_with("flowchart TD\n"));
}

#[test]
fn a_terminal_gets_one_line_about_the_providers_of_entities() {
    let script = require_program!("script");
    let stage = Stage::playing(json!([{ "say": "hello" }]));
    for folder in [".claude", ".opencode", ".github", ".codex"] {
        stage
            .place
            .write(format!("repo/{folder}/skills/s{}/SKILL.md", &folder[1..]), "---\ndescription: d\n---\nX");
    }
    let about = |shown: &str| shown.lines().filter(|line| line.starts_with("[entities] ")).count();
    let shown = at_80(&stage, &script, "entities");
    assert_eq!(about(&shown), 1, "{shown}");
    assert!(shown.contains("[entities] 11 from windlass, 1 from claude, 1 from opencode, "), "{shown}");
    let sim = format!("run --skill sclaude --driver sim --agent-bin {} --dry-run", windlass_bin().display());
    let shown = at_80(&stage, &script, &sim);
    assert_eq!(about(&shown), 1, "{shown}");
    let output = stage.run(&["entities"]);
    assert_eq!(about(&text(&output.stderr)), 5, "{}", story(&output));
}

#[test]
fn a_terminal_lists_the_newest_twenty_runs() {
    let script = require_program!("script");
    let stage = Stage::new();
    stage.place.write("repo/.windlass/workflows/w.yaml", "name: w\nnodes:\n  - { id: a, shell: 'true' }\n");
    stage.place.write("config/windlass/config.toml", "durability = \"normal\"\n");
    for _ in 0..22 {
        assert_exit(&stage.run(&["run", "--workflow", "w"]), 0);
    }
    let count = |shown: &str| shown.lines().filter(|line| line.contains(" completed")).count();
    let shown = at_80(&stage, &script, "ps");
    assert_eq!(count(&shown), 20, "{shown}");
    assert!(shown.ends_with("and 2 older: --all, or --limit N\n"), "{shown}");
    for (command, listed) in
        [("ps --all", 22), ("ps --limit 0", 22), ("ps --limit 3", 3), ("ps --limit 21", 21)]
    {
        assert_eq!(count(&at_80(&stage, &script, command)), listed, "{command}");
    }
    assert_eq!(count(&text(&stage.run(&["ps"]).stdout)), 22, "without a terminal there is no limit");
    assert_eq!(stage.json(&["ps", "--json"]).len(), 22);
    assert_eq!(stage.json(&["ps", "--json", "--limit", "2"]).len(), 2);
    assert_exit(&stage.run(&["ps", "--limit", "few"]), 2);
}

fn port() -> Value {
    json!({ "ask": { "question": "Which port?", "options": ["80", "8080"] } })
}

#[test]
fn a_question_is_answered_by_its_number_where_the_run_is_watched() {
    require_program!("tmux");
    let stage = Stage::playing(json!([{ "say": "hello" }, port(), { "say": "on ${ANSWER} then" }, done()]));
    let terminal = Terminal::open(&stage, "windlass loop x --driver sim");
    let screen = terminal.shows("  >");
    assert!(screen.contains("the agent asks: Which port?\n    1. 80\n    2. 8080\n"), "{screen}");
    terminal.types(&["2", "Enter"]);
    let screen = terminal.shows("on 8080 then");
    assert!(screen.contains("  > 2\n  answered: 8080\n"), "{screen}");
    assert_eq!(terminal.code(), "0");
    terminal.shows("completed: ");
}

#[test]
fn what_was_typed_before_the_question_is_no_answer_to_it() {
    require_program!("tmux");
    let stage = Stage::playing(
        json!([{ "say": "hello" }, { "wait_for": "go" }, port(), { "say": "on ${ANSWER} then" }, done()]),
    );
    let terminal = Terminal::open(&stage, "windlass loop x --driver sim");
    terminal.shows("hello");
    terminal.types(&["1", "Enter"]);
    terminal.shows("1");
    std::fs::write(stage.place.repo().join("go"), "").unwrap();
    terminal.shows("  >");
    terminal.types(&["my own", "Enter"]);
    terminal.shows("on my own then");
    assert_eq!(terminal.code(), "0");
}

#[test]
fn a_question_that_somebody_answers_elsewhere_is_withdrawn() {
    require_program!("tmux");
    let stage = Stage::playing(json!([port(), { "say": "on ${ANSWER} then" }, done()]));
    let terminal = Terminal::open(&stage, "windlass loop x --driver sim");
    terminal.shows("  >");
    terminal.types(&["half an answ"]);
    terminal.shows("half an answ");
    let run = stage.newest("waiting");
    assert_exit(&stage.run(&["answer", &run, "80"]), 0);
    let screen = terminal.shows("on 80 then");
    let said = screen.lines().find(|line| line.contains("answered by")).expect(&screen);
    assert!(said.contains("(windlass answer, process ") && said.ends_with("): 80"), "{screen}");
    assert!(!screen.contains("half an answ"), "{screen}");
    assert_eq!(terminal.code(), "0");
}

#[test]
fn a_question_is_answered_from_a_second_terminal_and_the_first_shows_by_whom() {
    require_program!("tmux");
    let stage = Stage::playing(json!([port(), { "say": "on ${ANSWER} then" }, done()]));
    let first = Terminal::open(&stage, "windlass loop x --driver sim");
    first.shows("  >");
    let run = stage.newest("waiting");
    let second = Terminal::named("second", &stage, "sh");
    second.types(&[&format!("tty; windlass answer {run} 8080; echo $? > ../code.second"), "Enter"]);
    assert_eq!(second.code(), "0");
    let screen = second.shows(&format!("answered run {run}: "));
    let tty =
        screen.split_whitespace().find_map(|word| word.strip_prefix("/dev/")).expect(&screen).to_owned();
    let screen = first.shows("on 8080 then");
    let said = screen.lines().find(|line| line.contains("answered by")).expect(&screen);
    assert!(said.ends_with(&format!("(windlass answer, {tty}): 8080")), "{tty}: {screen}");
    first.shows("completed: the agent marked it done");
    assert_eq!(first.code(), "0");
    // The log has the time as well.
    let logged = stage.json(&["logs", &run, "--json"]);
    let answer = logged.iter().find(|line| line["type"] == "run.answered").expect("it is logged");
    let data = &answer["data"];
    assert!(data["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{answer}");
    assert_eq!((&data["by"]["tty"], &data["answer"]), (&json!(tty), &json!("8080")), "{answer}");
    let told = text(&stage.run(&["logs", &run]).stdout);
    let line = told.lines().find(|line| line.contains("answered by")).expect(&told);
    assert!(line.split(' ').next().is_some_and(|time| time.contains(':')), "{line}");
}

#[test]
fn an_empty_line_says_what_to_type_and_the_question_stays() {
    require_program!("tmux");
    let stage = Stage::playing(json!([port(), { "say": "on ${ANSWER} then" }, done()]));
    let terminal = Terminal::open(&stage, "windlass loop x --driver sim");
    terminal.shows("  >");
    terminal.types(&["Enter"]);
    let screen = terminal.shows("  >\n  type a number or your own answer\n  >");
    assert_eq!(screen.matches("Which port?").count(), 1, "it is not asked again: {screen}");
    terminal.types(&["2", "Enter"]);
    terminal.shows("on 8080 then");
    assert_eq!(terminal.code(), "0");
}

/// A workflow with two questions at once, the first with a default.
const TWO: &str = "name: two
nodes:
  - parallel: {}
    branches:
      a: [ { id: ship, ask: 'Ship it?', choices: [yes, no], default: no } ]
      b: [ { id: name, ask: 'Which name?' } ]
  - { id: end, shell: 'echo {{ outputs.ship.text }} \"{{ outputs.name.text }}\"' }
";

#[test]
fn an_empty_line_takes_the_default_or_goes_to_the_next_question() {
    require_program!("tmux");
    let stage = Stage::playing(json!([{ "say": "hello" }]));
    stage.place.write("repo/.windlass/workflows/two.yaml", TWO);
    let terminal = Terminal::open(&stage, "windlass run --workflow two --driver sim");
    let screen = terminal.shows("or press Enter for `no`");
    assert!(screen.contains("    1. yes\n    2. no (default)\n"), "{screen}");
    terminal.types(&["Enter"]);
    terminal.shows("answered: no");
    terminal.shows("`name` asks: Which name?");
    terminal.types(&["Enter"]);
    terminal.shows("  >\n  type your answer\n  >");
    terminal.types(&["v2", "Enter"]);
    terminal.shows("no v2");
    assert_eq!(terminal.code(), "0");
}

#[test]
fn a_question_is_asked_on_the_terminal_also_when_the_feed_goes_to_a_file() {
    require_program!("tmux");
    let stage = Stage::playing(json!([port(), { "say": "on ${ANSWER} then" }, done()]));
    let terminal = Terminal::open(&stage, "windlass loop x --driver sim > ../feed");
    terminal.shows("    2. 8080");
    terminal.shows("  >");
    terminal.types(&["1", "Enter"]);
    assert_eq!(terminal.code(), "0");
    let feed = std::fs::read_to_string(stage.place.root().join("feed")).unwrap();
    assert!(feed.contains("on 80 then") && feed.contains("windlass answer"), "{feed}");
}

#[test]
fn an_interrupt_at_a_question_stops_the_run() {
    require_program!("tmux");
    let stage = Stage::playing(json!([port(), done()]));
    let terminal = Terminal::open(&stage, "windlass loop x --driver sim");
    terminal.shows("  >");
    terminal.types(&["C-c"]);
    terminal.shows("interrupted: by the user");
}

#[test]
fn a_question_that_waited_through_a_crash_is_asked_by_the_next_owner() {
    require_program!("tmux");
    let stage = Stage::playing(json!([port(), { "say": "on ${ANSWER} then" }, done()]));
    let mut child = stage.spawn(&["loop", "x", "--driver", "sim", "--on-question", "wait"]);
    stage.newest("waiting");
    child.kill().unwrap();
    child.wait().unwrap();
    let terminal = Terminal::open(&stage, "windlass resume");
    terminal.shows("the agent asks: Which port?");
    terminal.shows("  >");
    terminal.types(&["2", "Enter"]);
    terminal.shows("on 8080 then");
    assert_eq!(terminal.code(), "0");
}

#[test]
fn a_fork_that_is_watched_asks_what_nobody_could_be_asked_before() {
    require_program!("tmux");
    let stage = Stage::playing(json!([{ "say": "hello" }]));
    let document = "name: gated\nnodes:\n  - { id: one, prompt: hi }\n  - { id: q, ask: 'ok?' }\n";
    stage.place.write("repo/.windlass/workflows/gated.yaml", document);
    assert_exit(&stage.run(&["run", "--workflow", "gated", "--driver", "sim"]), 8);
    let run = stage.newest("blocked");
    let terminal = Terminal::open(&stage, &format!("windlass fork {run} --at q"));
    terminal.shows("`q` asks: ok?");
    terminal.shows("  >");
    terminal.types(&["fine", "Enter"]);
    terminal.shows("answered: fine");
    assert_eq!(terminal.code(), "0");
}

#[test]
fn a_tool_is_refused_where_the_run_is_watched() {
    require_program!("tmux");
    let stage = Stage::playing(json!([{ "bash": "touch made" }, done()]));
    stage.place.write("config/windlass/config.toml", "[permissions]\nask = [\"Bash(touch *)\"]\n");
    let terminal = Terminal::open(&stage, "windlass loop x --driver sim");
    terminal.shows("the agent wants to run: touch made");
    terminal.shows("  >");
    terminal.types(&["what", "Enter"]);
    terminal.shows("that is neither y nor n");
    terminal.types(&["n not today", "Enter"]);
    terminal.shows("refused: not today");
    assert_eq!(terminal.code(), "0");
    assert!(!stage.place.repo().join("made").exists());
}

#[test]
fn what_is_typed_stays_at_the_bottom_while_others_work_and_the_question_comes_back() {
    require_program!("tmux");
    let stage = Stage::playing(json!([{ "say": "hello" }, done()]));
    let inner = "name: inner\nnodes:\n  - { id: kq, ask: Which?, choices: [one, two] }\n";
    let document = "name: outer\nnodes:\n  - id: par\n    parallel: {}\n    branches:\n      a: [ { id: a, workflow: inner } ]\n      \
         b:\n        - { id: b1, shell: 'until test -e go1; do sleep 0.05; done; echo first' }\n        \
         - { id: b2, loop: { max: 40 }, do: [ { id: more, shell: 'echo line' } ] }\n        \
         - { id: b3, shell: 'until test -e go2; do sleep 0.05; done' }\n";
    for (name, text) in [("inner", inner), ("outer", document)] {
        let folder = stage.place.repo().join(".windlass/workflows");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.yaml")), text).unwrap();
    }
    let terminal = Terminal::open(&stage, "windlass run --workflow outer --driver sim");
    let screen = terminal.shows("  >");
    assert!(screen.contains("[a]   `kq` asks: Which?"), "it is said whose question it is: {screen}");
    terminal.types(&["tw"]);
    terminal.shows("  > tw");
    std::fs::write(stage.place.repo().join("go1"), "").unwrap();
    terminal.shows("b2 ");
    let screen = terminal.shows("b3 (shell)");
    let typed = screen.lines().filter(|line| line.starts_with("  >")).collect::<Vec<_>>();
    assert_eq!(typed, ["  > tw"], "one line to type on, with what was typed: {screen}");
    assert!(screen.contains("`kq` asks: Which?"), "the question is seen: {screen}");
    terminal.types(&["x", "BSpace", "o", "Enter"]);
    terminal.shows("answered: two");
    terminal.types(&["lost"]);
    std::fs::write(stage.place.repo().join("go2"), "").unwrap();
    assert_eq!(terminal.code(), "0");
    assert!(!terminal.shows("completed: ").contains("lost"));
}

#[test]
fn an_interrupted_run_continues_in_the_same_terminal() {
    require_program!("tmux");
    let stage = Stage::playing(json!([{ "say": "hello" }, { "wait_for": "go" }, done()]));
    let terminal = Terminal::open(&stage, "windlass loop x --driver sim; windlass resume");
    terminal.shows("hello");
    let screen = terminal.shows("d background, Ctrl-C interrupt");
    assert!(screen.contains("iteration 1 of 15"), "{screen}");
    terminal.types(&["C-c"]);
    terminal.shows("interrupted: by the user");
    terminal.shows("continue: windlass resume");
    terminal.shows("continued by");
    std::fs::write(stage.place.repo().join("go"), "").unwrap();
    terminal.shows("completed: the agent marked it done");
    assert_eq!(terminal.code(), "0");
}

#[test]
fn a_run_left_in_the_background_is_attached_to_and_answered_there() {
    require_program!("tmux");
    let stage = Stage::playing(
        json!([{ "say": "hello" }, { "wait_for": "go" }, port(), { "say": "on ${ANSWER} then" }, done()]),
    );
    let terminal = Terminal::open(&stage, "windlass loop x --driver sim; sh");
    terminal.shows("hello");
    terminal.types(&["d"]);
    let screen = terminal.shows("stays in the background; to return: windlass attach");
    assert!(!screen.contains("d background"), "the keys are gone: {screen}");
    stage.newest("running");
    terminal.types(&["clear; windlass attach", "Enter"]);
    terminal.shows("d background, Ctrl-C interrupt");
    terminal.types(&["d"]);
    let screen = terminal.shows("stays in the background; to return: windlass attach");
    assert!(!screen.contains("d background"), "the keys are gone: {screen}");
    terminal.types(&["clear; windlass attach; echo $? > ../code", "Enter"]);
    terminal.shows("d background, Ctrl-C interrupt");
    std::fs::write(stage.place.repo().join("go"), "").unwrap();
    terminal.shows("the agent asks: Which port?");
    terminal.types(&["2", "Enter"]);
    terminal.shows("on 8080 then");
    terminal.shows("completed: the agent marked it done");
    assert_eq!(terminal.code(), "0");
    let output = stage.run(&["attach"]);
    assert_exit(&output, 2);
    assert!(
        text(&output.stderr).contains("no run of this folder is in progress"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_run_is_left_in_the_background_at_a_question_and_answered_later() {
    require_program!("tmux");
    let stage = Stage::playing(json!([port(), { "say": "on ${ANSWER} then" }, done()]));
    let terminal = Terminal::open(&stage, "windlass loop x --driver sim; sh");
    terminal.shows("the agent asks: Which port?");
    terminal.shows("Ctrl-D leaves the run in the background");
    // A letter is a part of the answer there.
    terminal.types(&["d"]);
    terminal.shows("> d");
    terminal.types(&["C-u"]);
    terminal.types(&["C-d"]);
    terminal.shows("stays in the background; to return: windlass attach");
    stage.newest("waiting");
    terminal.types(&["clear; windlass attach; echo $? > ../code", "Enter"]);
    eventually(soon(), || {
        let screen = terminal.shows("Ctrl-D leaves the run in the background");
        (!screen.contains("stays in the background")).then_some(())
    });
    terminal.types(&["C-d"]);
    assert_eq!(terminal.code(), "0");
    stage.newest("waiting");
    assert_exit(&stage.run(&["answer", "2"]), 0);
    stage.newest("completed");
}

#[test]
fn an_exhausted_run_gets_two_more_iterations_and_completes() {
    require_program!("tmux");
    let idle = json!({ "steps": [{ "append": { "path": "a", "content": "x" } }, { "say": "not yet" }] });
    let last = json!({ "steps": [done()] });
    let stage = Stage::scripted(json!({ "turns": [idle, idle, idle, last] }));
    let terminal = Terminal::open(
        &stage,
        "windlass loop x --driver sim --max-iterations 2; windlass resume --max-iterations +2",
    );
    terminal.shows("exhausted: used all 2 iterations");
    terminal.shows("--max-iterations +10");
    terminal.shows("with 2 more iterations");
    terminal.shows("iteration 4 of 4");
    terminal.shows("completed: the agent marked it done");
    assert_eq!(terminal.code(), "0");
}

#[test]
fn an_attached_terminal_interrupts_the_run() {
    require_program!("tmux");
    let stage = Stage::playing(json!([{ "say": "hello" }, { "wait_for": "go" }, done()]));
    assert_exit(&stage.run(&["loop", "x", "--driver", "sim", "--detach"]), 0);
    let terminal = Terminal::open(&stage, "windlass attach");
    terminal.shows("d background, Ctrl-C interrupt");
    terminal.types(&["C-c"]);
    terminal.shows("interrupted: by the user");
    assert_eq!(terminal.code(), "130");
    stage.newest("interrupted");
}

#[test]
fn a_repository_that_asks_for_rights_runs_without_them_until_a_person_trusts_it() {
    require_program!("tmux");
    let stage = Stage::playing(json!([{ "bash": "touch made" }, done()]));
    stage.place.write("config/windlass/config.toml", "[permissions]\ndeny = [\"Write\"]\n");
    stage.place.write("repo/.windlass/config.toml", "max_iterations = 1\nisolation = \"permissive\"\n");
    let ask = |number: &str| format!("windlass trust; echo {number} said $?");
    let commands =
        ["windlass loop x --driver sim", &ask("1"), &ask("2"), &ask("3"), "windlass loop y --driver sim"];
    let terminal = Terminal::open(&stage, &commands.join("; "));
    let screen = terminal.shows("Trust this? [y/N]");
    assert!(screen.contains("warning: `isolation` needs your trust: it lets agents do more"), "{screen}");
    assert!(
        screen.contains(".windlass/config.toml:2:1") && screen.contains("hint: left out; `windlass trust`"),
        "{screen}"
    );
    assert!(screen.contains("  isolation = \"permissive\"\n    line 2: it lets agents do more"), "{screen}");
    let isolation = |run: &str| stage.json(&["logs", run, "--json"])[0]["data"]["isolation"].clone();
    assert_eq!(isolation(&stage.newest("completed")), "minimal");
    // Keys that come before the question do not count.
    let asks_after = |said: &str| {
        let is_asked = |screen: String| screen.split(said).nth(1)?.contains("[y/N]").then_some(());
        eventually(soon(), || is_asked(terminal.tmux(&["capture-pane", "-p"])));
    };
    terminal.types(&["Enter"]);
    asks_after("1 said 5");
    terminal.types(&["yesterday", "Enter"]);
    asks_after("2 said 5");
    terminal.types(&["y", "Enter"]);
    terminal.shows("3 said 0");
    assert_eq!(terminal.code(), "0");
    assert_eq!(isolation(&stage.newest("completed")), "permissive");
}

#[test]
fn a_person_is_asked_once_before_old_runs_are_removed() {
    require_program!("tmux");
    let stage = Stage::playing(json!([done()]));
    assert_exit(&stage.run(&["loop", "paint it", "--driver", "sim"]), 0);
    let run = stage.newest("completed");
    let ask = |number: &str| format!("windlass gc --older-than 1ms; echo {number} said $?");
    let terminal = Terminal::open(&stage, &[ask("1"), ask("2"), ask("3")].join("; "));
    let screen = terminal.shows("Remove this? [y/N]");
    for words in ["to remove, ", "runs that ended more than 1ms ago", &run, "paint it"] {
        assert!(screen.contains(words), "`{words}`: {screen}");
    }
    terminal.types(&["Enter"]);
    terminal.shows("1 said 0");
    assert_eq!(stage.newest("completed"), run, "nothing is removed without a yes");
    let is_asked_again = || {
        let screen = terminal.tmux(&["capture-pane", "-p"]);
        screen.split("1 said 0").nth(1)?.contains("[y/N]").then_some(())
    };
    eventually(soon(), is_asked_again);
    terminal.types(&["y", "Enter"]);
    let screen = terminal.shows("3 said 0");
    assert!(screen.contains("removed 1 of 1") && screen.contains("nothing to remove"), "{screen}");
    assert_eq!(stage.json(&["ps", "--json"]).len(), 0);
}

#[test]
fn the_terminal_rings_and_notifies_if_the_settings_say_so_and_no_text_of_an_agent_rings_it() {
    require_program!("script");
    let ask =
        json!({ "ask": { "question": "Which \u{7}\u{1b}]9;evil\u{7}port?", "options": ["80", "8080"] } });
    let stage = Stage::playing(json!([ask, done()]));
    let log = stage.place.root().join("screen");
    let watch = |settings: &str| {
        stage.place.write("config/windlass/config.toml", settings);
        let line = format!("{} loop x --driver sim", windlass_bin().display());
        let mut command = stage.place.command("script");
        command
            .args(["-qefc", &line])
            .arg(&log)
            .env("WINDLASS_SIM_SCRIPT", stage.place.root().join("script.json"));
        let mut child =
            command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).spawn().unwrap();
        let run = stage.newest("waiting");
        assert_exit(&stage.run(&["answer", &run, "80"]), 0);
        child.wait().unwrap();
        (run, std::fs::read_to_string(&log).unwrap())
    };
    let (_, screen) = watch("");
    assert!(!screen.contains('\u{7}') && !screen.contains("\u{1b}]9;"), "{screen:?}");
    let (run, screen) = watch("[notify]\nbell = true\nosc9 = true\n");
    let sent: Vec<&str> =
        screen.split("\u{1b}]9;").skip(1).map(|rest| rest.split('\u{7}').next().unwrap()).collect();
    assert_eq!(
        sent,
        [
            format!("windlass: run {run} needs you: Which ^G^[]9;evil^Gport?"),
            format!("windlass: run {run} completed")
        ]
    );
    assert_eq!(screen.matches('\u{7}').count(), 4, "{screen:?}");
}
