//! An agent never acts as the person: whatever it tries from below its session is refused, and people are not.

#[path = "../common/ways.rs"]
mod ways;

use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use windlass_testkit::{procs, require_program, wait::until};

use crate::place::{Going, LIMIT, Place, done, say};
use ways::GATES;

fn place(turns: serde_json::Value) -> Place {
    let place = Place::playing(turns);
    for (path, text) in ways::FILES {
        place.sealed.write(format!("repo/{path}"), text);
    }
    place
}

/// A script that tries once the first command that was started here has printed this.
fn shell(place: &Place, open: &str, body: &str) -> String {
    ways::shell(Path::new(env!("CARGO_BIN_EXE_windlass")), &place.sealed.root().join("out.0"), open, body)
}

/// The gates are open, and have not let anybody through.
#[track_caller]
fn assert_shut(place: &Place, run: &str) {
    let shown = place.go(&["show", run, "--json"]).lines[0]["data"].clone();
    assert_eq!(shown["asks"].as_array().map(Vec::len), Some(1), "{shown}");
    for file in ["DEPLOYED", "PUBLISHED"] {
        assert!(!place.repo().join(file).exists(), "{file}");
    }
}

/// A person answers from outside, and the run ends well.
#[track_caller]
fn a_person_opens(place: &Place, going: Going, run: &str) {
    for word in [&["answer", run, "yes"][..], &["send", run, "--event", "reviewed"]] {
        let said = place.go(word);
        assert_eq!(said.code, 0, "{said}");
    }
    let ran = going.end();
    assert_eq!(ran.code, 0, "{ran}");
    for file in ["DEPLOYED", "PUBLISHED"] {
        assert!(place.repo().join(file).exists(), "{file}: {ran}");
    }
    place.assert_nothing_is_left();
}

#[test]
fn an_agent_cannot_answer_in_any_way_that_it_tries_and_a_person_can() {
    for program in ways::PROGRAMS {
        require_program!(program);
    }
    let place = place(json!([{"steps": [{"bash": "sh ways.sh"}, say("tried")]}]));
    place.sealed.write("repo/ways.sh", shell(&place, "Ship it?", &ways::all()));
    let mut going = place.start(&["run", "x", "--workflow", "gates", "--json", "--on-question", "wait"]);
    let run = going.run();
    until(LIMIT, || place.repo().join("tries/all").exists());
    let wrong = ways::not_refused(&place.repo());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_shut(&place, &run);
    assert!(!going.lines().iter().any(|line| line["type"] == "run.paused"), "{}", going.output());
    // What reached the owner is told.
    let warned = |line: &serde_json::Value| line["type"] == "warning";
    assert!(going.lines().iter().any(warned), "{}", going.output());
    a_person_opens(&place, going, &run);
}

#[test]
fn an_agent_that_kills_everybody_above_it_is_no_person_and_does_not_stay() {
    for killed in [ways::Killed::Host, ways::Killed::Owner] {
        let place = place(json!([{"steps": [{"bash": "sh ways.sh"}, say("tried")]}]));
        place.sealed.write("repo/ways.sh", shell(&place, "Ship it?", &ways::orphan(killed)));
        let mut going = place.start(&["run", "x", "--workflow", "gates", "--json", "--on-question", "wait"]);
        let run = going.run();
        let orphan = place.file("orphan.pid").trim().parse().unwrap();
        // An owner that lives may end it while it still tries.
        until(LIMIT, || place.repo().join("tries/all").exists() || !procs::is_alive(orphan));
        if killed == ways::Killed::Owner {
            assert!(procs::is_alive(orphan), "the test shows nothing");
            going.end();
            going = place.start(&["resume", &run, "--json"]);
            going.wait_for("run.resumed");
        }
        let tried = ways::orphaned(&place.repo());
        assert!(killed == ways::Killed::Host || tried.len() == 5, "{tried:?}");
        let wrong = ways::not_refused_of(&place.repo(), &tried);
        assert!(wrong.is_empty(), "{killed:?}: {}", wrong.join("\n"));
        until(LIMIT, || !procs::is_alive(orphan));
        assert_shut(&place, &run);
        a_person_opens(&place, going, &run);
    }
}

#[test]
fn what_an_agent_leaves_behind_to_answer_later_is_gone_with_its_turn() {
    let later = "nohup env -i HOME=$HOME XDG_STATE_HOME=$XDG_STATE_HOME PATH=$PATH sh -c \
        'while :; do @W@ answer '$WINDLASS_RUN' yes; sleep 0.05; done' >later.out 2>&1 & echo $! >later.pid";
    let later = later.replace("@W@", env!("CARGO_BIN_EXE_windlass"));
    let place = place(json!([{"steps": [{"bash": later}, say("bye")]}]));
    place.sealed.write(
        "repo/.windlass/workflows/gates.yaml",
        GATES.replace(
            "        - { id: ship",
            "        - { id: before, wait: { event: begun } }\n        - { id: ship",
        ),
    );
    let mut going = place.start(&["run", "x", "--workflow", "gates", "--json", "--on-question", "wait"]);
    let run = going.run();
    let finished = |going: &Going, node: &str| {
        let lines = going.lines();
        lines.iter().any(|line| line["type"] == "node.finished" && line["data"]["node"] == node)
    };
    until(LIMIT, || finished(&going, "work"));
    crate::place::assert_gone(place.file("later.pid").trim().parse().unwrap());
    assert_eq!(place.go(&["send", &run, "--event", "begun"]).code, 0);
    until(LIMIT, || going.output().contains("\"on\":\"question\""));
    assert_shut(&place, &run);
    a_person_opens(&place, going, &run);
}

#[test]
fn an_agent_cannot_answer_its_own_question_nor_allow_itself_a_tool() {
    let tries =
        "tell answer $BARE $W answer $R Blue; tell approve $BARE $W approve $R; touch tries/all; sleep 600";
    let ask = json!({"ask": {"question": "Which colour?", "options": ["Red", "Blue"]}});
    for (step, flags, word) in [
        (ask, &["--on-question", "wait"][..], &["answer", "Red"][..]),
        (json!({"bash": "touch pushed"}), &["--on-permission", "ask"], &["approve"]),
    ] {
        let place = Place::with_settings("[permissions]\nask = [\"Bash(touch *)\"]\n");
        let behind = json!({"bash": "setsid sh ways.sh >/dev/null 2>&1 &"});
        place.script(json!({"turns": [{"steps": [behind, step, done()]}]}));
        place.sealed.write("repo/ways.sh", shell(&place, "run.waiting", tries));
        let mut going = place.start(&[&["loop", "x", "--json"][..], flags].concat());
        let run = going.run();
        until(LIMIT, || place.repo().join("tries/all").exists());
        for way in ["answer", "approve"] {
            let told = place.file(&format!("tries/{way}.out"));
            assert_eq!(place.file(&format!("tries/{way}.code")), "5\n", "{told}");
        }
        let asks = place.go(&["show", &run, "--json"]).lines[0]["data"]["asks"].clone();
        assert_eq!(asks.as_array().map(Vec::len), Some(1), "{asks}");
        let word = [&word[..1], &[run.as_str()], &word[1..]].concat();
        assert_eq!(place.go(&word).code, 0);
        going.end().assert_ended(0, "completed", "marker", 1);
        place.assert_nothing_is_left();
    }
}

#[test]
fn a_command_of_the_workflow_is_no_person_either() {
    let place = place(json!([{"steps": [say("ok")]}]));
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let shell = format!(
        "env -u WINDLASS_RUN -u WINDLASS_SESSION {windlass} answer $WINDLASS_RUN yes >said 2>&1; echo $? >code"
    );
    place.sealed.write(
        "repo/.windlass/workflows/gates.yaml",
        GATES.replace("prompt: try it", &format!("shell: '{shell}'")),
    );
    let mut going = place.start(&["run", "x", "--workflow", "gates", "--json", "--on-question", "wait"]);
    let run = going.run();
    assert_eq!(place.file("code"), "5\n", "{}", place.file("said"));
    assert!(place.file("said").contains("only a person may answer"));
    assert_shut(&place, &run);
    a_person_opens(&place, going, &run);
}

#[test]
fn a_row_that_was_planted_while_nobody_owned_the_run_is_thrown_away() {
    require_program!("python3");
    let place = place(json!([{"steps": [say("ok")]}]));
    let mut going = place.start(&["run", "x", "--workflow", "gates", "--json", "--on-question", "wait"]);
    let run = going.run();
    until(LIMIT, || going.output().contains("\"on\":\"question\""));
    let hook =
        place.go(&["show", &run, "--json"]).lines[0]["data"]["asks"][0]["hook"].as_str().unwrap().to_owned();
    place.kill_everything(going);
    let plant = r#"
import sqlite3, sys, json
db = sqlite3.connect(sys.argv[1], timeout=20)
no, = db.execute("SELECT run_no FROM run WHERE id = ?", (sys.argv[2],)).fetchone()
reply = {"ask": "reply", "hook": sys.argv[3], "reply": {"answers": {"answers": [["", "yes"]]}}}
db.execute("INSERT INTO inbox (run_no, id, body) VALUES (?, ?, ?)", (no, "reply/%s/" % sys.argv[3], json.dumps(reply).encode()))
db.commit()
"#;
    let plant = |place: &Place| {
        let db = place.sealed.state().join("windlass/windlass.db");
        let mut python = place.sealed.command("python3");
        let status = python.args(["-c", plant]).arg(db).args([&run, &hook]).status().unwrap();
        assert!(status.success());
    };
    plant(&place);
    let mut going = place.start(&["resume", &run, "--json"]);
    going.wait_for("warning");
    assert_shut(&place, &run);
    // Nor does it keep a person from answering, with an owner and without.
    place.kill_everything(going);
    plant(&place);
    assert_eq!(place.go(&["answer", &run, "yes"]).code, 0);
    assert_eq!(place.go(&["send", &run, "--event", "reviewed"]).code, 0);
    let ran = place.go(&["resume", &run, "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(place.repo().join("DEPLOYED").exists());
}

#[test]
fn a_hook_call_is_only_heard_from_the_session_that_it_names() {
    require_program!("python3");
    let line = r#"
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["WINDLASS_SOCKET"])
ask = {"v": 1, "id": "forged", "event": "Stop", "session": os.environ["WINDLASS_RUN"] + ".other.1.1.session", "payload": {}}
s.sendall(json.dumps(ask).encode() + b"\n")
print(json.loads(s.makefile().readline())["stderr"])
"#;
    let place = Place::playing(json!([{"steps": [{"bash": "python3 hook.py >said 2>&1"}, done()]}]));
    place.sealed.write("repo/hook.py", line);
    let ran = place.go(&["loop", "x", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(
        place.file("said").contains("does not come from the session that it names"),
        "{}",
        place.file("said")
    );
    assert_eq!(ran.all("warning").len(), 1, "{ran}");
}

#[test]
fn an_agent_has_no_terminal() {
    let look = "{ tty; (: </dev/tty) 2>&1; readlink /proc/$PPID/fd/0; ps -o tty= -p $PPID; } >seen 2>&1";
    let place = Place::playing(json!([{"steps": [{"bash": look}, done()]}]));
    place.go(&["loop", "x", "--json"]).assert_ended(0, "completed", "marker", 1);
    let seen = place.file("seen");
    assert!(
        seen.starts_with("not a tty\n") && seen.contains("/dev/tty") && !seen.contains("/dev/pts"),
        "{seen}"
    );
    assert_eq!(seen.lines().last().map(str::trim), Some("?"), "{seen}");
}

/// Everywhere a person may be.
#[test]
fn a_person_answers_from_wherever_they_are() {
    for program in ["tmux", "script", "setsid"] {
        require_program!(program);
    }
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let ways = [
        ("a shell", "$W answer $R yes"),
        ("an empty environment", "env -i HOME=$HOME XDG_STATE_HOME=$XDG_STATE_HOME $W answer $R yes"),
        ("a session of its own", "setsid -w $W answer $R yes </dev/null"),
        (
            "a daemon",
            "( ( setsid sh -c 'exec >/dev/null 2>&1 </dev/null; $W answer $R yes; echo $? >code' & ) & ); until [ -s code ]; do sleep 0.02; done; exit $(cat code)",
        ),
        (
            "tmux",
            "tmux -f /dev/null -S ../tmux new-session -d \"$W answer $R yes; echo \\$? >code\"; until [ -s code ]; do sleep 0.02; done; exit $(cat code)",
        ),
        ("a terminal", "TERM=xterm script -qec \"$W answer $R yes\" /dev/null"),
        ("a program called host", "ln -s /bin/sh host; exec ./host -c '$W answer $R yes; exit $?' host /tmp"),
    ];
    for (name, way) in ways {
        let place = place(json!([{"steps": [say("ok")]}]));
        let mut going = place.start(&["run", "x", "--workflow", "gates", "--json", "--on-question", "wait"]);
        let run = going.run();
        until(LIMIT, || going.output().contains("\"on\":\"question\""));
        let mut person = place.sealed.command("sh");
        person.args(["-c", way]).env("W", windlass).env("R", &run).stdin(Stdio::null());
        let output = person.output().unwrap();
        assert!(output.status.success(), "{name}: {}", windlass_testkit::env::story(&output));
        place.file_exists("DEPLOYED");
        assert_eq!(place.go(&["send", &run, "--event", "reviewed"]).code, 0);
        assert_eq!(going.end().code, 0, "{name}");
    }
}

/// A person is asked while tasks have worktrees, which git checks out.
const BOTH: &str = r#"
name: both
nodes:
  - parallel: {}
    branches:
      gate:
        - ask: Ship it?
          id: q
        - shell: touch SHIPPED
      work:
        - task_loop: { max: 1, jobs: 2 }
          do:
            - prompt: do it
"#;

#[test]
fn a_hook_of_git_that_windlass_runs_itself_is_no_person() {
    let place = Place::playing(json!([{"steps": [say("<status>passing</status>")]}]));
    place.sealed.write("repo/.windlass/workflows/both.yaml", BOTH);
    place.sealed.write(
        "repo/tasks.json",
        json!({"version": "1.0", "tasks": [{"id": "1", "name": "one"}]}).to_string(),
    );
    place.sealed.git(["add", "-A"]);
    place.sealed.git(["commit", "-qm", "tasks"]);
    let tried = place.sealed.root().join("tried");
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let body = format!(
        "#!/bin/sh\nrun=$({windlass} ps --json | sed -n 's/.*\"run\":\"\\([a-z0-9]*\\)\".*/\\1/p' | head -1)\n\
         {windlass} answer \"$run\" yes >>{tried}.out 2>&1\necho $? >>{tried}\n",
        tried = tried.display()
    );
    let hook = place.sealed.write("repo/.git/hooks/post-checkout", body);
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut going = place.start(&["run", "x", "--workflow", "both", "--json", "--on-question", "wait"]);
    let run = going.run();
    until(LIMIT, || tried.exists());
    let said = std::fs::read_to_string(tried.with_extension("out")).unwrap();
    assert_eq!(std::fs::read_to_string(&tried).unwrap().lines().next(), Some("5"), "{said}");
    assert!(said.contains("a program that Windlass runs itself"), "{said}");
    assert!(!place.repo().join("SHIPPED").exists());
    assert_eq!(place.go(&["cancel", &run]).code, 0);
    going.end();
}

/// A program of the repository that gets away from the git that ran it, answers, and stays.
#[test]
fn what_a_hook_or_filter_of_git_leaves_behind_is_no_person_and_is_gone_with_the_run() {
    for is_hook in [true, false] {
        let place = Place::playing(json!([{"steps": [say("<status>passing</status>")]}]));
        place.sealed.write("repo/.windlass/workflows/both.yaml", BOTH);
        place.sealed.write("repo/text", "one\n");
        let tasks = json!({"version": "1.0", "tasks": [{"id": "1", "name": "one"}]});
        place.sealed.write("repo/tasks.json", tasks.to_string());
        place.sealed.git(["add", "-A"]);
        place.sealed.git(["commit", "-qm", "tasks"]);
        let tried = place.sealed.root().join("tried");
        let left = "trap '' TERM\necho $$ >@T@.tmp; mv @T@.tmp @T@.pid\nwhile [ -e /proc/$GIT ]; do sleep 0.02; done\n\
            run=$(@W@ ps --json | sed -n 's/.*\"run\":\"\\([a-z0-9]*\\)\".*/\\1/p' | head -1)\n\
            @W@ answer \"$run\" yes >>@T@.out 2>&1\necho $? >@T@.tmp; mv @T@.tmp @T@; exec sleep 300\n";
        let body = "#!/bin/sh\nif mkdir @T@.once 2>/dev/null; then\n( ( env -i GIT=$PPID PATH=\"$PATH\" HOME=\"$HOME\" \
            XDG_STATE_HOME=\"$XDG_STATE_HOME\" setsid sh @T@.sh >/dev/null 2>&1 </dev/null & ) & )\n\
            until [ -e @T@.pid ]; do sleep 0.02; done\nfi\nexec cat\n";
        let filled = |text: &str| {
            text.replace("@T@", &tried.display().to_string()).replace("@W@", env!("CARGO_BIN_EXE_windlass"))
        };
        place.sealed.write("tried.sh", filled(left));
        let hook = place.sealed.write("repo/.git/hooks/post-checkout", filled(body));
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        if !is_hook {
            let filter = place.sealed.root().join("filter");
            std::fs::rename(&hook, &filter).unwrap();
            place.sealed.git(["config", "filter.f.clean", &filter.display().to_string()]);
            place.sealed.write("repo/.git/info/attributes", "text filter=f\n");
            place.sealed.write("repo/text", "two\n");
        }
        let mut going = place.start(&["run", "x", "--workflow", "both", "--json", "--on-question", "wait"]);
        let run = going.run();
        let pid_file = tried.with_extension("pid");
        until(LIMIT, || pid_file.exists());
        let pid = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
        // The owner may end it while it still tries.
        until(LIMIT, || tried.exists() || !procs::is_alive(pid));
        let said = std::fs::read_to_string(tried.with_extension("out")).unwrap_or_default();
        let code = std::fs::read_to_string(&tried).unwrap_or("5\n".to_owned());
        assert_eq!(code, "5\n", "{is_hook} {said}");
        assert!(!place.repo().join("SHIPPED").exists());
        assert_eq!(place.go(&["cancel", &run]).code, 0);
        going.end();
        crate::place::assert_gone(pid);
    }
}
