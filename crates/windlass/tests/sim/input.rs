//! Tests for input and output: input byte for byte, a clean environment, parallel runs, long paths, and
//! no escape codes.

use crate::place::{Place, busy_turn, done, last_turn, say};
use serde_json::json;

/// Inputs that something on the way might take for its own.
const INPUTS: [&str; 12] = [
    "{input}",
    "$ARGUMENTS and $1 ${HOME} $(id)",
    "{{x}} {% if %} {tracker_path}",
    "a \"quoted\" 'word' \\ back\\nslash",
    "several\nlines\n\n  indented\n",
    "`id` ```\nfence\n```",
    "-leading dash",
    "--leading-dashes",
    "  blanks around  ",
    "@file #tag !cmd /slash ~ * ?",
    "ünïcödé \u{1f600} \u{202e}",
    "tab\tand\rreturn",
];

#[test]
fn an_input_arrives_byte_for_byte() {
    let place = Place::playing(json!([last_turn()]));
    for input in INPUTS {
        place.go(&["loop", input, "--json"]).assert_ended(0, "completed", "marker", 1);
    }
    let prompts = place.prompts();
    assert_eq!(prompts.len(), INPUTS.len());
    for (prompt, input) in prompts.iter().zip(INPUTS) {
        assert!(prompt.starts_with(&format!("{input}\n\n---\n")), "{input:?} became {prompt:?}");
    }
}

#[test]
fn an_input_is_put_into_a_template_once_and_never_expanded_again() {
    let place = Place::playing(json!([{"steps": [say("ok")]}]));
    place.workflow(
        json!({"name": "w", "promptTemplate": "Use /add {input} $ARGUMENTS {{input}}, then {input}"}),
    );
    for input in INPUTS {
        assert_eq!(place.go(&["run", input, "--workflow", "w", "--json"]).code, 0);
    }
    for (prompt, input) in place.prompts().iter().zip(INPUTS) {
        assert_eq!(*prompt, format!("Use /add {input} $ARGUMENTS {{{input}}}, then {input}"));
    }
}

#[test]
fn an_input_can_come_from_standard_input() {
    let place = Place::playing(json!([last_turn()]));
    let file = place.sealed.write("task.md", "from a file\nwith \"lines\"\n");
    let mut command = place.windlass(&["loop", "-", "--json"]);
    command.stdin(std::fs::File::open(file).unwrap());
    place.spawn(command).end().assert_ended(0, "completed", "marker", 1);
    assert!(place.prompts()[0].starts_with("from a file\nwith \"lines\"\n\n\n---\n"));
}

#[test]
fn a_large_input_arrives_whole() {
    let place = Place::playing(json!([last_turn()]));
    let input: String = (0..60_000).map(|n| format!("line {n} \"{{x}}\"\n")).collect();
    let file = place.sealed.write("task.md", &input);
    let mut command = place.windlass(&["loop", "-", "--json"]);
    command.stdin(std::fs::File::open(file).unwrap());
    place.spawn(command).end().assert_ended(0, "completed", "marker", 1);
    assert!(place.prompts()[0].starts_with(&input));
}

#[test]
fn arguments_behind_two_dashes_reach_the_agent_as_they_are() {
    let keep = json!({"bash": "tr '\\0' '\\n' < /proc/$PPID/cmdline > arguments"});
    let place = Place::playing(json!([{"steps": [keep, done()]}]));
    let ran = place.go(&["loop", "paint the fence", "--json", "--", "--add-dir", "a b", "--effort", "$HOME"]);
    ran.assert_ended(0, "completed", "marker", 1);
    let arguments = place.file("arguments");
    assert!(arguments.ends_with("--add-dir\na b\n--effort\n$HOME\n"), "{arguments}");
    assert!(!arguments.contains("fence"), "the prompt comes by standard input: {arguments}");
}

#[test]
fn a_template_without_a_place_for_the_input_gets_it_at_its_end_with_a_warning() {
    let place = Place::playing(json!([{"steps": [say("ok")]}]));
    place.workflow(json!({"name": "w", "promptTemplate": "Do the usual"}));
    let ran = place.go(&["run", "on xyz.com", "--workflow", "w", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("warning:") && ran.stderr.contains("{input}"), "{ran}");
    let prompt = &place.prompts()[0];
    assert!(prompt.starts_with("Do the usual") && prompt.ends_with("on xyz.com"), "{prompt}");
}

#[test]
fn two_runs_of_one_workflow_at_once_do_not_touch_each_other() {
    let meet = "touch \"here.$WINDLASS_RUN\"; while [ \"$(ls here.* | wc -l)\" -lt 2 ]; do sleep 0.01; done";
    let place = Place::playing(json!([
        {"steps": [{"tracker": {"append": "- begun by ${SESSION}"}}, {"bash": meet}]},
        busy_turn(),
        {"steps": [{"bash": "cat \"${TRACKER}\" > \"seen.$WINDLASS_RUN\""}, done()]},
    ]));
    let both = ["first", "second"].map(|input| place.start(&["loop", input, "--json", "--beside"]));
    let both = both.map(crate::place::Going::end);
    for ran in &both {
        ran.assert_ended(0, "completed", "marker", 3);
    }
    let [one, other] = both.each_ref().map(|ran| ran.run().to_owned());
    assert_ne!(one, other);
    for (own, foreign) in [(&both[0], &both[1]), (&both[1], &both[0])] {
        let seen = place.file(&format!("seen.{}", own.run()));
        let session =
            |ran: &crate::place::Ran| ran.all("session.started")[0]["session"].as_str().unwrap().to_owned();
        assert!(seen.contains(&session(own)) && !seen.contains(&session(foreign)), "{seen}");
    }
}

#[test]
fn many_runs_share_one_store_from_its_first_moment() {
    let place = Place::playing(json!([busy_turn(), last_turn()]));
    let all: Vec<_> =
        (0..6).map(|n| place.start(&["loop", &format!("job {n}"), "--json", "--beside"])).collect();
    for going in all {
        going.end().assert_ended(0, "completed", "marker", 2);
    }
    assert_eq!(place.ps().len(), 6);
    assert_eq!(place.requests().len(), 12);
}

#[test]
fn an_agent_inherits_no_nesting_no_token_and_no_git_variable() {
    let place = Place::playing(json!([{"steps": [{"bash": "env > env.txt"}, done()]}]));
    let mut command = place.windlass(&["loop", "work", "--json", "--check", "env > check-env.txt"]);
    let withheld =
        ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "GITHUB_TOKEN", "GH_TOKEN", "GIT_DIR", "GIT_INDEX_FILE"];
    for name in withheld {
        command.env(name, "from-outside");
    }
    command.env("MY_OWN", "kept");
    place.spawn(command).end().assert_ended(0, "completed", "marker", 1);
    for file in ["env.txt", "check-env.txt"] {
        let env = place.file(file);
        assert!(env.lines().any(|line| line == "MY_OWN=kept"), "{file}:\n{env}");
        assert!(env.lines().any(|line| line.starts_with("WINDLASS_RUN=")), "{file}:\n{env}");
        assert!(!env.contains("from-outside"), "{file}:\n{env}");
    }
}

#[test]
fn a_state_folder_with_a_path_longer_than_a_socket_may_have_works() {
    let place = Place::playing(json!([busy_turn(), last_turn()]));
    let state = place.sealed.root().join("d".repeat(150)).join("e".repeat(60));
    let mut command = place.windlass(&["loop", "work", "--json"]);
    command.env("XDG_STATE_HOME", &state);
    place.spawn(command).end().assert_ended(0, "completed", "marker", 2);
    assert!(state.join("windlass/windlass.db").exists());
}

#[test]
fn paths_with_blanks_and_quotes_work() {
    let place = Place::playing(json!([busy_turn(), last_turn()]));
    let odd = place.sealed.root().join("it's \"odd\" $HOME `id`; \u{fc}");
    std::fs::create_dir(&odd).unwrap();
    let mut command = place.windlass(&["loop", "work", "--json", "--check", "test -d ."]);
    command.env("XDG_STATE_HOME", &odd).current_dir(&odd);
    place.spawn(command).end().assert_ended(0, "completed", "marker", 2);
}

#[test]
fn a_folder_that_is_no_repository_will_do() {
    let place = Place::playing(json!([busy_turn(), last_turn()]));
    let folder = place.sealed.root().join("plain folder");
    std::fs::create_dir(&folder).unwrap();
    let mut command = place.windlass(&["loop", "work", "--json"]);
    command.current_dir(&folder);
    place.spawn(command).end().assert_ended(0, "completed", "marker", 2);
}

#[test]
fn output_that_is_no_terminal_has_no_escape_codes_whatever_the_agent_prints() {
    let evil = "\u{1b}[31mred\u{1b}]0;title\u{7} \u{1b}[2J\u{9b}31m\rover";
    let place = Place::playing(json!([
        {"steps": [
            say(evil),
            {"garbage": evil},
            {"bash": "printf '\\033[31mred\\007\\n'; exit 1"},
            {"tracker": {"append": "- one"}},
        ]},
        {"steps": [{"tracker": {"append": format!("<!-- WORKFLOW_BLOCKED: {evil} -->")}}, say(evil)]},
    ]));
    let check = format!("colours=printf '\\033[31mred\\033[0m\\n{}\\n'; exit 1", "\u{1b}[1m");
    let ran = place.go(&["loop", evil, "--check", &check, "--show-thinking"]);
    assert_eq!(ran.code, 8, "{ran}");
    let run = place.ps()[0]["run"].as_str().unwrap().to_owned();
    let more = [place.go(&["show", &run]), place.go(&["logs", &run]), place.go(&["ps"])];
    for ran in more.iter().chain([&ran]) {
        let control = |c: char| c.is_control() && c != '\n';
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!printed.contains(control), "{:?}", printed.lines().find(|line| line.contains(control)));
        assert!(!ran.stdout.is_empty());
    }
    assert!(ran.stdout.contains("iteration 2"), "{ran}");
}
