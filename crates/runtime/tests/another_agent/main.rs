//! A driver that Windlass does not ship: everything about it is in one file, and a run needs nothing else.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it stands")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test stops where it stands")]

mod teletype;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use teletype::Teletype;
use windlass_core::event::PersonReply;
use windlass_core::hook::permission::Isolation;
use windlass_core::run::{EndReason, FinalStatus, RunState};
use windlass_core::spec::OnQuestion;
use windlass_peers::agent::Agents;
use windlass_runtime::crash::CrashCounter;
use windlass_runtime::handle::{Handle, OwnedRun};
use windlass_runtime::home::Home;
use windlass_runtime::person::AnswerWay;
use windlass_runtime::plan::{PlanFlags, RunRequest, WantedWorkflow, plan};
use windlass_store::Durability;
use windlass_testkit::{Sealed, eventually, windlass_bin};

const LIMIT: Duration = Duration::from_secs(30);

/// The start of the agent: it finds its tracker in the prompt, and asks before it uses a tool.
const PRELUDE: &str = r#"#!/bin/sh
tracker=$(grep -o '[^ `]*loop-tracker.md' | head -1)
may() { printf '{"kit":"%s","what":"%s"}' "$1" "$2" | "$TELETYPE_HOOK" hook may_i --closed 2>/dev/null; }
tool() {
    echo "DO $1"
    answer=$(may "$1" "$2")
    if [ "$answer" = YES ]; then sh -c "$2"; echo "DID $1"; else echo "DID not $1"; fi
}
done_now() { echo '<!-- WORKFLOW_COMPLETE -->' >> "$tracker"; echo "SAY All done."; echo BYE; }
"#;

struct Place {
    sealed: Sealed,
}

impl Place {
    fn new(agent: &str) -> Place {
        let sealed = Sealed::new();
        let place = Place { sealed };
        let program = place.path("teletype");
        fs::write(&program, format!("{PRELUDE}{agent}")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sealed.root().join(name)
    }

    fn home(&self) -> Home {
        let mut env: Vec<(String, String)> = vec![
            ("HOME".to_owned(), self.sealed.home().display().to_string()),
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("WINDLASS_HOOK_PATIENCE_MS".to_owned(), "300".to_owned()),
        ];
        env.push(("PLACE".to_owned(), self.sealed.root().display().to_string()));
        Home {
            state: self.sealed.state().join("windlass"),
            config: self.sealed.config().join("windlass"),
            user: self.sealed.home(),
            temp: std::env::temp_dir(),
            env,
            agents: Agents::default().with(Arc::new(Teletype)),
            binary: Some(windlass_bin()),
            machine: "here".to_owned(),
            crash: CrashCounter::from_text(None),
        }
    }

    fn handle(&self) -> Handle {
        Handle::open(self.home(), Durability::Full).unwrap()
    }

    /// Begins the built-in loop on this agent.
    async fn begin(&self, handle: &Handle, flags: PlanFlags) -> OwnedRun {
        let driver = Some("teletype".to_owned());
        let flags = PlanFlags { driver, agent_bin: Some(self.path("teletype")), ..flags };
        let request = RunRequest {
            cwd: self.sealed.repo(),
            input: "work".to_owned(),
            want: WantedWorkflow::Loop,
            inputs: Vec::new(),
            plugins: Vec::new(),
            flags,
            agent_args: Vec::new(),
            interactive: false,
            detached: false,
            has_terminal: false,
            dry_run: false,
        };
        let plan = plan(&self.home(), &request).unwrap_or_else(|problem| panic!("{}", problem.text()));
        handle.start(plan.spec).await.unwrap()
    }

    fn run(&self, flags: PlanFlags) -> RunState {
        runtime().block_on(async {
            let handle = self.handle();
            finish(self.begin(&handle, flags).await).await
        })
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn finish(mut running: OwnedRun) -> RunState {
    while running.next().await.is_some() {}
    running.finish().await.unwrap()
}

fn ended(state: &RunState) -> (FinalStatus, EndReason) {
    let outcome = state.outcome().unwrap();
    (outcome.status, outcome.reason)
}

fn strict() -> PlanFlags {
    PlanFlags { isolation: Some(Isolation::Strict), max_iterations: Some(4), ..PlanFlags::default() }
}

#[test]
fn it_runs_the_loop_until_the_work_is_done() {
    let place = Place::new(
        r#"if [ ! -e first ]; then touch first; echo "SAY More is left."; echo BYE; exit; fi
tool terminal "echo made > made"
done_now
"#,
    );
    let state = place.run(strict());
    assert_eq!(ended(&state), (FinalStatus::Completed, EndReason::Marker));
    assert_eq!(state.turns(), 2);
    assert_eq!(fs::read_to_string(place.sealed.repo().join("made")).unwrap(), "made\n");
}

#[test]
fn a_tool_that_the_preset_does_not_have_is_refused_whatever_it_is_called() {
    let place = Place::new(
        r#"tool internet "touch fetched"
echo "$answer" > "$PLACE/answer"
tool teleport "touch teleported"
tool terminal "touch ran"
done_now
"#,
    );
    assert_eq!(ended(&place.run(strict())), (FinalStatus::Completed, EndReason::Marker));
    let answer = fs::read_to_string(place.path("answer")).unwrap();
    assert_eq!(
        answer,
        "NO internet is not allowed under the `strict` isolation of this run; do without it\n"
    );
    let made = |name: &str| place.sealed.repo().join(name).exists();
    assert_eq!(["fetched", "teleported", "ran"].map(made), [false, false, true]);
}

#[test]
fn rules_in_any_accepted_spelling_hold_for_its_tools() {
    for rule in ["Bash(git push *)", "shell(git push *)", "run_shell_command(git push *)"] {
        let place = Place::new(
            r#"tool terminal "git push origin"
echo "$answer" > "$PLACE/answer"
done_now
"#,
        );
        fs::create_dir_all(place.sealed.config().join("windlass")).unwrap();
        let settings = format!("[permissions]\ndeny = [\"{rule}\"]\n");
        fs::write(place.sealed.config().join("windlass/config.toml"), settings).unwrap();
        assert_eq!(ended(&place.run(strict())), (FinalStatus::Completed, EndReason::Marker));
        let answer = fs::read_to_string(place.path("answer")).unwrap();
        assert_eq!(answer, format!("NO terminal is denied by the rule `{rule}` of this run\n"));
    }
}

#[test]
fn its_question_reaches_a_person_and_the_answer_comes_back() {
    let place = Place::new(
        r#"printf '{"what":"Which port?","of":"80 8080"}' | "$TELETYPE_HOOK" hook tell_me --closed > "$PLACE/answer"
done_now
"#,
    );
    let state = runtime().block_on(async {
        let handle = place.handle();
        let running =
            place.begin(&handle, PlanFlags { on_question: Some(OnQuestion::Wait), ..strict() }).await;
        let run = running.run.clone();
        let person = tokio::spawn(async move {
            let asked = || handle.view(&run).unwrap().state.bookkeeping.asks.first().cloned();
            let deadline = tokio::time::Instant::now() + LIMIT;
            while asked().is_none() {
                assert!(tokio::time::Instant::now() < deadline, "it asks nobody");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let question = asked().unwrap().questions.remove(0);
            assert_eq!((question.text.as_str(), question.options.len()), ("Which port?", 2));
            let answers = vec![(String::new(), "8080".to_owned())];
            let reply = PersonReply::Answers { answers };
            handle.answer(&run, None, reply, AnswerWay::AnswerCommand).await.unwrap();
        });
        let state = finish(running).await;
        person.await.unwrap();
        state
    });
    assert_eq!(ended(&state), (FinalStatus::Completed, EndReason::Marker));
    assert_eq!(fs::read_to_string(place.path("answer")).unwrap(), "8080");
}

#[test]
fn when_nobody_answers_its_hook_the_tool_does_not_run_and_the_turn_is_repeated() {
    let place = Place::new(
        r#"if [ ! -e "$PLACE/begun" ]; then
    touch "$PLACE/begun"
    while [ ! -e "$PLACE/alone" ]; do sleep 0.02; done
    tool terminal "touch unasked"
    echo "$answer" > "$PLACE/answer"
    done_now
    exit
fi
tool terminal "touch asked"
done_now
"#,
    );
    let run = {
        let first = runtime();
        let run = first.block_on(async {
            let handle = place.handle();
            let running = place.begin(&handle, strict()).await;
            let begun = place.path("begun");
            tokio::task::spawn_blocking(move || eventually(LIMIT, || begun.exists().then_some(())))
                .await
                .unwrap();
            running.run.clone()
        });
        // The owner is gone with its runtime, as in a crash.
        drop(first);
        run
    };
    fs::write(place.path("alone"), "").unwrap();
    eventually(LIMIT, || place.path("answer").exists().then_some(()));
    assert_eq!(fs::read_to_string(place.path("answer")).unwrap(), "\n", "it was not told yes");
    assert!(!place.sealed.repo().join("unasked").exists());
    let state = runtime().block_on(async {
        let handle = place.handle();
        let family = handle.family(&handle.view(&run).unwrap());
        finish(handle.resume(family).await.unwrap()).await
    });
    assert_eq!(ended(&state), (FinalStatus::Completed, EndReason::Marker));
    assert!(place.sealed.repo().join("asked").exists());
}
