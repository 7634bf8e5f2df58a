//! One turn: it starts, reports what it does, uses tools, and its prompt arrives whole.

use std::fs;

use serde_json::{Value, json};
use windlass_testkit::{Model, say, shell};

use super::Behaviour;
use crate::cells::{Outcome, SceneCells};
use crate::drivers::{ReportedUsage, RolePlace};
use crate::stage::{Ended, assert_nobody_left};
use crate::subject::Subject;

/// Returns the input, output and cached tokens of a run.
pub(super) fn spent(ended: &Ended) -> [Option<u64>; 3] {
    let usage = &ended.of("run.finished")[0]["usage"];
    ["input_tokens", "output_tokens", "cache_read_tokens"].map(|key| usage[key].as_u64())
}

/// Checks the tokens of a run. A figure that is not exact must be marked as partial.
pub(super) fn assert_spent(subject: &Subject, ended: &Ended, expected: [u64; 3]) -> Outcome {
    let usage = &ended.of("run.finished")[0]["usage"];
    match subject.driver.usage {
        ReportedUsage::Exact => {
            assert_eq!(spent(ended), expected.map(Some), "{}", ended.story());
            assert_ne!(usage["is_partial"], true, "{}", ended.story());
            Outcome::Passed
        }
        ReportedUsage::Partial => {
            assert_eq!(usage["is_partial"], true, "{}", ended.story());
            Outcome::PassedBut(
                "the CLI does not report every token, and the sum is marked as partial".to_owned(),
            )
        }
    }
}

pub(super) fn one_turn(subject: &Subject, cells: &mut SceneCells) {
    let model = Model::script([
        shell("echo made > made.txt").tokens(1000, 30).cached(200),
        say("all done").tokens(70, 5).cached(3),
    ])
    .start();
    subject.write_recipe(&model);
    let before = subject.users_files();
    let started = subject.start_nodes(&model, "  - prompt: make it\n");
    cells.check(Behaviour::Start, || {
        started.wait_for("session.started");
    });
    let ended = started.end();

    cells.check(Behaviour::Stream, || {
        let kinds: Vec<Value> = ended.of("session.event").iter().map(|event| event["kind"].clone()).collect();
        for kind in ["tool_use", "tool_result", "text", "result"] {
            assert!(kinds.contains(&json!(kind)), "no `{kind}` in {kinds:?}");
        }
    });
    cells.check(Behaviour::Tool, || {
        ended.assert_ended(0, "completed", "turn_done", 1);
        assert_eq!(ended.decisions("tool"), ["allow"], "{}", ended.story());
        assert_eq!(fs::read_to_string(subject.repo("made.txt")).unwrap(), "made\n");
    });
    cells.check_with(Behaviour::UsageSum, || assert_spent(subject, &ended, [1070, 35, 203]));
    cells.check(Behaviour::NothingLeft, || {
        assert_nobody_left(&subject.stage);
        let after = subject.users_files();
        for file in before {
            assert!(after.contains(&file), "{} was changed", file.0.display());
        }
        assert_eq!(subject.stage.sealed.git(["status", "--porcelain"]), "?? made.txt");
    });
}

/// A text that would be an error of the service if a tool did not print it.
const LIMIT_IN_TEXT: &str = "429 Too Many Requests: rate limit exceeded, usage limit reached, try again in 3600 seconds\n\
    {\"error\":{\"type\":\"rate_limit_error\",\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"resets_in_seconds\":3600}}\n";

pub(super) fn refused(subject: &Subject, cells: &mut SceneCells) {
    subject.stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"shell(touch *)\"]\n");
    subject.stage.sealed.write("repo/limits.md", LIMIT_IN_TEXT);
    let model = Model::script([shell("cat limits.md"), shell("touch denied.txt"), say("then not")]).start();
    let ended = subject.run(&model, "  - prompt: go\n");

    cells.check(Behaviour::LimitInText, || {
        let requests = model.requests();
        assert!(requests[1].last_user_text().contains("rate limit exceeded"), "{}", ended.story());
        assert_eq!(ended.of("run.waiting").len(), 0, "{}", ended.story());
        ended.assert_ended(0, "completed", "turn_done", 1);
    });
    cells.check(Behaviour::DeniedTool, || {
        assert_eq!(ended.decisions("tool"), ["allow", "deny"], "{}", ended.story());
        assert!(!subject.repo("denied.txt").exists(), "the tool ran: {}", ended.story());
        let told = model.requests().get(2).map(|request| request.last_user_text()).unwrap_or_default();
        assert!(told.contains("denied by the rule") || model.requests().len() == 2, "{told}");
    });
}

pub(super) fn prompt(subject: &Subject, cells: &mut SceneCells) {
    let odd = "--help 'a' \"b\" $HOME `id` \\ \u{e9}\u{1f600}\n-\n\ttab";
    let long = "0123456789abcdef".repeat(6400);
    let role = "---\nname: pirate\ndescription: d\n---\nYou talk like a \"pirate\".";
    subject.stage.sealed.write("repo/.claude/agents/pirate.md", role);
    let model = Model::script([say("arr")]).start();
    let nodes = format!("  - agent: pirate\n    prompt: {}\n", json!(format!("{odd}\n{long}\nend")));
    let ended = subject.run(&model, &nodes);
    let requests = model.requests();
    let first = requests.first().unwrap_or_else(|| panic!("no request: {}", ended.story()));

    cells.check(Behaviour::OddPrompt, || assert!(first.last_user_text().contains(odd), "{}", ended.story()));
    cells.check(Behaviour::LongPrompt, || {
        ended.assert_ended(0, "completed", "turn_done", 1);
        assert!(first.last_user_text().contains(&format!("\n{long}\nend")), "{}", ended.story());
    });
    cells.check_with(Behaviour::Role, || {
        let role = "You talk like a \"pirate\".";
        match subject.driver.role {
            RolePlace::System => {
                assert!(first.system_text().contains(role), "{}", ended.story());
                Outcome::Passed
            }
            RolePlace::Prompt => {
                assert!(first.mentions(role) && !first.system_text().contains(role), "{}", ended.story());
                Outcome::PassedBut("the role is at the beginning of the prompt".to_owned())
            }
        }
    });
}
