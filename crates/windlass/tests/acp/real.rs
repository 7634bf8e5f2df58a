//! The real CLIs of other makers, over the protocol and on a scripted model.

use std::fs;
use std::path::PathBuf;

use windlass_testkit::{Model, Request, Turn, hang, reply, require_agent, say, shell, unauthorized};

use crate::stage::{Ended, LIMIT, Stage};

/// An agent CLI, and the argument with which it speaks the protocol.
#[derive(Clone)]
struct Cli {
    name: &'static str,
    bin: PathBuf,
    flag: &'static str,
    /// It reports the tokens of the whole prompt.
    counts_all: bool,
}

impl Cli {
    fn stage(&self, model: &Model) -> Stage {
        Stage::with_real(self.name, &self.bin, self.flag, model)
    }
}

fn opencode(bin: PathBuf) -> Cli {
    Cli { name: "opencode", bin, flag: "acp", counts_all: false }
}

fn gemini(bin: PathBuf) -> Cli {
    Cli { name: "gemini", bin, flag: "--acp", counts_all: false }
}

fn copilot(bin: PathBuf) -> Cli {
    Cli { name: "copilot", bin, flag: "--acp", counts_all: true }
}

/// The model says in the tracker that everything is done.
fn completes() -> Turn {
    reply(|request: &Request| {
        let prompt = request.body.to_string();
        let end = prompt.find("loop-tracker.md").unwrap() + "loop-tracker.md".len();
        let start = prompt[..end].rfind(' ').unwrap() + 1;
        shell(format!("echo '<!-- WORKFLOW_COMPLETE -->' >> {}", &prompt[start..end]))
    })
}

fn spent(turn: Turn) -> Turn {
    turn.tokens(100, 20)
}

/// A tool call, a stop that Windlass does not allow, and the end, in one process.
fn in_session(cli: &Cli) -> Ended {
    let script =
        [shell("echo one > made.txt"), say("More is left."), completes(), say("All done.")].map(spent);
    let model = Model::script(script).start();
    let stage = cli.stage(&model);
    let settings = [stage.sealed.home(), stage.sealed.config()].map(|folder| texts(&folder));
    let ended = stage.run(&["--mode", "in_session"]);
    ended.assert_ended(0, "completed", "marker", 2);
    assert_eq!(ended.decisions("stop"), ["block", "pass"], "{}", ended.story());
    assert_eq!(ended.decisions("tool"), ["allow", "allow"], "{}", ended.story());
    assert_eq!(fs::read_to_string(stage.sealed.repo().join("made.txt")).unwrap(), "one\n");
    let last = model.requests().pop().unwrap();
    assert!(last.body.to_string().contains("More is left."), "it remembers: {}", last.body);
    if cli.counts_all {
        assert_eq!(ended.tokens(), [400, 80, 0], "{}", ended.story());
    }
    // The files of the user that were there are as they were.
    for (folder, before) in [stage.sealed.home(), stage.sealed.config()].iter().zip(settings) {
        let after = texts(folder);
        for (file, text) in before {
            assert!(after.contains(&(file.clone(), text)), "{}", file.display());
        }
    }
    stage.assert_nobody_left();
    ended
}

/// Every file below a folder, with its bytes.
fn texts(folder: &std::path::Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let (folders, files): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_dir());
    let own = files.into_iter().filter_map(|file| Some((file.clone(), fs::read(file).ok()?)));
    own.chain(folders.iter().flat_map(|folder| texts(folder))).collect()
}

/// A second process that loads the conversation of the first, and a tool that a rule refuses.
fn resumed_and_refused(cli: &Cli) {
    let script = [shell("echo no > made.txt"), say("I may not."), completes(), say("All done.")].map(spent);
    let model = Model::script(script).start();
    let stage = cli.stage(&model);
    stage.settings("[permissions]\ndeny = [\"shell(*made.txt*)\"]\n");
    let ended = stage.run(&["--mode", "resume"]);
    // Some agents end the prompt when a tool is refused, without another word of the model.
    let iterations = ended.of("run.finished")[0]["iterations"].as_u64().unwrap();
    assert!((2..=3).contains(&iterations), "{}", ended.story());
    ended.assert_ended(0, "completed", "marker", u32::try_from(iterations).unwrap());
    assert_eq!(ended.decisions("tool"), ["deny", "allow"], "{}", ended.story());
    assert!(!stage.sealed.repo().join("made.txt").exists());
    let first = ended.of("session.event").into_iter().find(|event| event["kind"] == "session_init").unwrap();
    let later: Vec<_> =
        ended.of("session.started").into_iter().skip(1).map(|turn| &turn["session"]).collect();
    assert!(
        !later.is_empty() && later.iter().all(|session| **session == first["session"]),
        "{}",
        ended.story()
    );
    stage.assert_nobody_left();
}

/// A person cancels while the model is silent.
fn cancelled(cli: &Cli) {
    let model = Model::script([]).default(hang()).start();
    let stage = cli.stage(&model);
    let started = stage.start(&[]);
    let run = started.wait_for("run.started")["run"].as_str().unwrap().to_owned();
    model.wait_for_requests(1, LIMIT);
    let cancel = stage.call(&["cancel", &run], &[]).end();
    assert_eq!(cancel.code, Some(0), "{}", cancel.story());
    let ended = started.end();
    assert_eq!(ended.of("run.finished")[0]["status"], "cancelled", "{}", ended.story());
    stage.assert_nobody_left();
}

#[test]
fn opencode_is_kept_from_stopping_in_one_conversation() {
    let cli = opencode(require_agent!("opencode"));
    in_session(&cli);
}

#[test]
fn opencode_loads_a_conversation_and_is_refused_a_tool() {
    resumed_and_refused(&opencode(require_agent!("opencode")));
}

#[test]
fn opencode_is_cancelled_and_nothing_is_left() {
    cancelled(&opencode(require_agent!("opencode")));
}

#[test]
fn gemini_is_kept_from_stopping_in_one_conversation() {
    in_session(&gemini(require_agent!("gemini")));
}

/// Version 0.61.0 offers to load conversations, and does not find its own.
#[test]
fn gemini_does_not_find_its_conversation_again_and_the_run_says_so() {
    let cli = gemini(require_agent!("gemini"));
    let model = Model::script([]).default(say("More is left.")).start();
    let ended = cli.stage(&model).run(&["--mode", "resume"]);
    ended.assert_ended(4, "failed", "agent_failed", 1);
    let detail = ended.of("run.finished")[0]["detail"].as_str().unwrap().to_owned();
    assert!(detail.starts_with("session: Internal error: "), "{detail}");
}

#[test]
fn gemini_is_cancelled_and_nothing_is_left() {
    cancelled(&gemini(require_agent!("gemini")));
}

#[test]
fn gemini_without_a_valid_key_fails_the_run() {
    let cli = gemini(require_agent!("gemini"));
    let model = Model::script([]).default(unauthorized()).start();
    let ended = cli.stage(&model).run(&[]);
    ended.assert_ended(4, "failed", "agent_failed", 0);
}

#[test]
fn copilot_is_kept_from_stopping_in_one_conversation() {
    in_session(&copilot(require_agent!("copilot")));
}

#[test]
fn copilot_loads_a_conversation_and_is_refused_a_tool() {
    resumed_and_refused(&copilot(require_agent!("copilot")));
}

#[test]
fn copilot_is_cancelled_and_nothing_is_left() {
    cancelled(&copilot(require_agent!("copilot")));
}
