//! Every example in the repository runs: with the script beside it, and with the stub. An example that cannot
//! run says so in its first line.

use std::fs;
use std::path::PathBuf;

use crate::docs_workflows::{TASKS, finish, root};
use crate::place::{Place, Ran};
use serde_json::{Value, json};

const CONFIGURATION: i32 = 3;
const EXHAUSTED: i32 = 9;

/// An example document.
struct Example {
    file: PathBuf,
    name: String,
    text: String,
}

impl Example {
    /// The script beside the document.
    fn script(&self) -> PathBuf {
        self.file.with_extension("sim.json")
    }

    fn says_that_it_cannot_run(&self) -> bool {
        self.text.lines().next().is_some_and(|line| line.starts_with("# This workflow cannot run yet: "))
    }

    fn has_a_session(&self) -> bool {
        let words = ["prompt:", "skill:", "command:", "agent:", "workflow:"];
        let is_one = |line: &str| {
            let key = line.trim_start().trim_start_matches("- ");
            words.iter().any(|word| key.starts_with(word))
        };
        self.text.lines().any(is_one)
    }
}

fn examples() -> Vec<Example> {
    let folder = root().join("examples/workflows");
    let folders = [folder.join("nodes"), folder.join("ports"), folder];
    let entries = folders.into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let is_document = |name: &str| name.ends_with(".yaml") && !name.ends_with(".test.yaml");
    files.retain(|file| file.to_str().is_some_and(is_document));
    files.sort();
    assert!(files.len() > 30, "{}", files.len());
    let example = |file: PathBuf| {
        let text = fs::read_to_string(&file).unwrap();
        let name = text.lines().find_map(|line| line.strip_prefix("name: ")).unwrap().to_owned();
        Example { file, name, text }
    };
    files.into_iter().map(example).collect()
}

/// A place with all examples and their scripts, as somebody would copy them.
fn place(examples: &[Example]) -> Place {
    let place = Place::with_settings("");
    // Some workflows begin only in a clean checkout.
    place.sealed.write("repo/.git/info/exclude", "tasks.json\n.windlass/\n");
    for Example { name, text, .. } in examples {
        place.sealed.write(format!("repo/.windlass/workflows/{name}.yaml"), text);
    }
    for example in examples.iter().filter(|example| example.script().exists()) {
        let script = fs::read(example.script()).unwrap();
        place.sealed.write(format!("repo/.windlass/workflows/{}.sim.json", example.name), script);
    }
    place
}

/// Runs an example with its script, or with the stub.
fn run(place: &Place, example: &Example, script: Option<PathBuf>) -> Ran {
    place.sealed.write("repo/tasks.json", TASKS);
    let mut command =
        place.windlass(&["run", "--workflow", &example.name, "the parser", "--driver", "sim", "--json"]);
    match script {
        Some(script) => command.env("WINDLASS_SIM_SCRIPT", script),
        None => command.env_remove("WINDLASS_SIM_SCRIPT"),
    };
    // A program in this folder plays GitHub.
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", root().join("examples/workflows/ports/bin").display()));
    finish(place, place.spawn(command), &example.text)
}

#[test]
fn every_example_runs_with_its_script_and_with_the_stub() {
    let examples = examples();
    let place = place(&examples);
    for example in examples.iter().filter(|example| !example.says_that_it_cannot_run()) {
        let name = &example.name;
        let checked = place.go(&["workflow", "check", name]);
        assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{name}: {checked}");
        assert_eq!(example.script().exists(), example.has_a_session(), "{name} and its script");
        for script in [Some(example.script()).filter(|script| script.exists()), None] {
            let ran = run(&place, example, script.clone());
            let found = (ran.code, &ran.finished()["status"]);
            assert_eq!(found, (0, &json!("completed")), "{name} with {script:?}: {ran}");
        }
    }
}

#[test]
fn what_cannot_run_says_so_at_its_top_and_to_whoever_checks_it() {
    let examples = examples();
    let place = place(&examples);
    let not_yet: Vec<&Example> =
        examples.iter().filter(|example| example.says_that_it_cannot_run()).collect();
    let names: Vec<&str> = not_yet.iter().map(|example| example.name.as_str()).collect();
    let expected = ["backlog", "coding", "example-land", "example-pull-request", "example-review", "review"];
    assert_eq!(names.len(), expected.len(), "{names:?}");
    assert!(expected.iter().all(|name| names.contains(name)), "{names:?}");
    for example in not_yet.iter().filter(|example| example.name != "backlog") {
        let checked = place.go(&["workflow", "check", &example.name]);
        assert_eq!(checked.code, CONFIGURATION, "{checked}");
        let place_in_file = format!("{}.yaml:", example.name);
        for part in ["error: node `", "cannot run yet", "hint: leave it out", place_in_file.as_str()] {
            assert!(checked.stderr.contains(part), "{part}: {checked}");
        }
        let refused = run(&place, example, None);
        refused.assert_refused(CONFIGURATION, &["cannot run yet"]);
        let drawn = place.go(&["workflow", "graph", &example.name]);
        assert_eq!(drawn.code, 0, "{drawn}");
    }
}

/// Rehearses an example where no agent is installed, and returns the rehearsal.
fn rehearse(place: &Place, example: &Example, flags: &[&str]) -> Value {
    let arguments = ["run", "--workflow", &example.name, "the parser", "--driver", "claude", "--json"];
    let mut command = place.windlass(&[&arguments, flags].concat());
    command.env_remove("WINDLASS_SIM_SCRIPT");
    let ran = place.spawn(command).end();
    let [line] = ran.lines.as_slice() else { panic!("{}: {ran}", example.name) };
    line["data"]["rehearsal"].clone()
}

#[test]
fn a_dry_run_of_every_example_reaches_its_end_and_all_ways_reach_every_node() {
    let examples = examples();
    let place = place(&examples);
    for example in &examples {
        let name = &example.name;
        let plain = rehearse(&place, example, &["--dry-run", "--all-ways"]);
        assert_eq!(plain["outcome"]["status"], "completed", "{name}: {plain}");
        assert_eq!(plain["missed"], json!([]), "{name}: {plain}");
        for way in plain["ways"].as_array().unwrap() {
            let is_meant = way["outcome"]["reason"] == "fail_node";
            assert!(is_meant || way["outcome"]["status"] == "completed", "{name}: {way}");
        }
    }
}

#[test]
fn every_example_has_tests_and_they_pass() {
    let place = Place::with_settings("");
    let folders = [("nodes", ".windlass/workflows"), ("ports", ".windlass/workflows"), ("", "sketches")];
    for (from, to) in folders {
        let folder = root().join("examples/workflows").join(from);
        for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().is_some_and(|extension| extension == "yaml") {
                let name = file.file_name().unwrap().to_str().unwrap();
                place.sealed.write(format!("repo/{to}/{name}"), fs::read(&file).unwrap());
            }
        }
    }
    for example in examples() {
        assert!(example.file.with_extension("test.yaml").exists(), "{} has no test", example.file.display());
    }
    let mut command = place.windlass(&["workflow", "test", ".windlass/workflows", "sketches"]);
    command.env_remove("WINDLASS_SIM_SCRIPT");
    let ran = place.spawn(command).end();
    assert!(ran.code == 0 && ran.stdout.ends_with(": all ok\n"), "{ran}");
}

#[test]
fn every_example_script_plays_to_the_end_that_its_name_promises() {
    let place = Place::with_settings("");
    let play = |script: &str, flags: &[&str]| {
        let mut command = place.windlass(&[&["loop", "x", "--json"], flags].concat());
        command.env("WINDLASS_SIM_SCRIPT", root().join("examples/sim").join(script));
        place.spawn(command).end()
    };
    play("demo.json", &["--check", "test=sh ./test.sh"]).assert_ended(0, "completed", "marker", 2);
    play("question.json", &["--on-question", "empty"]).assert_ended(0, "completed", "marker", 1);
    play("never-done.json", &["--max-iterations", "3"]).assert_ended(
        EXHAUSTED,
        "exhausted",
        "max_iterations",
        3,
    );
    let ran = play("rate-limit.json", &[]);
    ran.assert_ended(0, "completed", "marker", 1);
    let waited: Vec<&Value> = ran.all("session.retrying");
    assert!(ran.stdout.contains("rate_limit") || !waited.is_empty(), "{ran}");
    let scripts = fs::read_dir(root().join("examples/sim")).unwrap().count();
    assert_eq!(scripts, 4, "every script is played here");
}

/// The scripts that the README and the page about sim show: each is whole, fixes a test, and is undone.
#[test]
fn the_scripts_that_the_pages_show_fix_a_test_and_are_undone() {
    for name in ["README.md", "docs/sim.md"] {
        let place = Place::with_settings("");
        let page = fs::read_to_string(root().join(name)).unwrap();
        let block = page.split("```sh\n").find(|block| block.starts_with("cat > fix.sim.json")).unwrap();
        let block = block.split("```").next().unwrap();
        let wrong = "echo $(( $1 + $2 / 2 ))\n";
        place.sealed.write("repo/calc.sh", wrong);
        place.sealed.write("repo/test.sh", "test \"$(sh calc.sh 2 4)\" = 3\n");
        let bin = place.sealed.root().join("bin");
        fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(windlass_testkit::windlass_bin(), bin.join("windlass")).unwrap();
        let shell = |text: &str| {
            let mut command = place.sealed.command("sh");
            let path = std::env::var("PATH").unwrap();
            command.args(["-ec", text]).current_dir(place.repo());
            command.env("PATH", format!("{}:{path}", bin.display()));
            place.spawn(command).end()
        };
        let (commands, undo) = block.split_once("windlass undo").unwrap_or((block, ""));
        let fixed = shell(commands);
        assert!(fixed.code == 0 && fixed.stdout.contains("all checks pass"), "{name}: {fixed}");
        assert!(place.file("calc.sh").contains("($1 + $2) / 2"), "{name}");
        let undone = shell(&format!("windlass undo{undo}"));
        assert_eq!((undone.code, place.file("calc.sh").as_str()), (0, wrong), "{name}: {undone}");
    }
}

#[test]
fn the_first_hour_goes_as_its_page_says() {
    let place = Place::with_settings("");
    let page = fs::read_to_string(root().join("docs/first-hour.md")).unwrap();
    let make = root().join("examples/first-hour/make.sh");
    let made = |folder: &str| {
        let mut command = place.sealed.command("sh");
        command.arg(&make).arg(place.sealed.root().join(folder));
        place.spawn(command).end()
    };
    let first = made("slug");
    assert!(first.code == 0 && first.stdout.contains("is ready"), "{first}");
    assert_eq!(made("slug").code, 1, "it overwrites nothing");
    let folder = place.sealed.root().join("slug");
    let run = |arguments: &[&str]| {
        let mut command = place.windlass(arguments);
        command.current_dir(&folder).env("WINDLASS_SIM_SCRIPT", folder.join("fix.sim.json"));
        place.spawn(command).end()
    };
    let test = |says: &[&str]| {
        let mut command = place.sealed.command("sh");
        command.arg("test.sh").current_dir(&folder);
        let ran = place.spawn(command).end();
        for line in says {
            assert!(page.contains(line) && ran.stdout.contains(line), "{line}: {ran}");
        }
        ran.code
    };
    assert_eq!(test(&["FAIL: 'Two  Blanks' must become 'two-blanks', not 'two--blanks'"]), 1);

    let looped = ["loop", "Make the tests pass", "--check", "test=sh test.sh", "--driver", "sim"];
    assert!(page.contains("windlass loop \"Make the tests pass\" --check test=\"sh test.sh\" --driver sim"));
    let once = run(&[&looped[..], &["--max-iterations", "1"]].concat());
    assert_eq!(once.code, EXHAUSTED, "{once}");
    for line in
        ["  slug.sh squeezes blanks now, so the tests must pass.", "exhausted: used the only iteration"]
    {
        assert!(page.contains(line) && once.stdout.contains(line), "{line}: {once}");
    }
    assert_eq!(test(&["FAIL: 'What now?' must become 'what-now', not 'what-now?'"]), 1);

    // A fresh start, as after `undo`.
    let git = |arguments: &[&str]| {
        let mut command = place.sealed.command("git");
        command.args(arguments).current_dir(&folder);
        place.spawn(command).end()
    };
    git(&["checkout", "--quiet", "."]);
    let whole = run(&looped);
    assert_eq!(whole.code, 0, "{whole}");
    for line in
        ["  All three titles become the right slug.", "completed: the agent marked it done, all checks pass"]
    {
        assert!(page.contains(line) && whole.stdout.contains(line), "{line}: {whole}");
    }
    assert_eq!(test(&[]), 0);

    git(&["checkout", "--quiet", "."]);
    let (_, document) = page.split_once("careful.yaml <<'END'\n").unwrap();
    let (document, _) = document.split_once("END\n").unwrap();
    place.sealed.write("slug/.windlass/workflows/careful.yaml", document);
    let checked = run(&["workflow", "check", "careful"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{checked}");
    let dry = run(&["run", "--workflow", "careful", "Make the tests pass.", "--dry-run"]);
    assert!(dry.stdout.contains("the rehearsal ends as completed"), "{dry}");
    let ran = run(&["run", "--workflow", "careful", "Make the tests pass.", "--driver", "sim", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(git(&["log", "--oneline"]).stdout.lines().count(), 1, "nobody said yes");

    git(&["checkout", "--quiet", "."]);
    let flags = ["--on-question", "wait", "--json"];
    let arguments =
        [&["run", "--workflow", "careful", "Make the tests pass.", "--driver", "sim"], &flags[..]];
    let mut command = place.windlass(&arguments.concat());
    command.current_dir(&folder).env("WINDLASS_SIM_SCRIPT", folder.join("fix.sim.json"));
    let mut going = place.spawn(command);
    going.wait_for("run.waiting");
    let id = going.run();
    let answered = run(&["answer", &id, "yes"]);
    assert_eq!(answered.code, 0, "{answered}");
    going.end().assert_ended(0, "completed", "all_done", 3);
    assert_eq!(git(&["log", "-1", "--format=%s"]).stdout, "Make every title a good slug\n");
}

#[test]
fn the_page_about_the_simulated_agent_opens_with_a_command_that_works_as_pasted() {
    let page = fs::read_to_string(root().join("docs/sim.md")).unwrap();
    let (_, rest) = page.split_once("```sh\n").unwrap();
    let (command, _) = rest.split_once("```").unwrap();
    let place = Place::with_settings("");
    let mut shell = place.sealed.command("sh");
    let folder = PathBuf::from(env!("CARGO_BIN_EXE_windlass")).parent().unwrap().to_owned();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    shell.arg("-c").arg(command).env("PATH", path).current_dir(place.repo());
    let ran = place.spawn(shell).end();
    assert!(ran.code == 0 && ran.stdout.contains("completed: "), "{ran}");
    let checked = place.go(&["sim", "--check", root().join("examples/sim/demo.json").to_str().unwrap()]);
    assert!(checked.stdout.contains("turns: 2 and a default, steps: 17"), "{checked}");
}

/// The ports of workflows of other tools pass values as values.
#[test]
fn no_port_passes_a_value_through_a_file_or_a_here_document() {
    let ports: Vec<Example> =
        examples().into_iter().filter(|example| example.name.starts_with("port-")).collect();
    assert!(ports.len() >= 6, "{}", ports.len());
    for port in ports {
        for way in ["<<", "task_loop", "tasks.json"] {
            assert!(!port.text.contains(way), "{} has {way}", port.name);
        }
    }
}
