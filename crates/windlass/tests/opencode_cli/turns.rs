//! Single turns: the prompt reaches the model as it is written, and everything that is spent counts once.

use windlass_testkit::{Model, require_agent, say, shell};

use crate::stage::Stage;

#[test]
fn a_turn_shows_its_tools_as_they_run_and_counts_every_step_once() {
    let stage = Stage::new(require_agent!("opencode"));
    let model = Model::script([
        shell("echo \"$PWD $XDG_CONFIG_HOME $npm_config_offline\" > made.txt")
            .thinking("a thought")
            .tokens(1000, 30)
            .cached(200)
            .reasoning(7),
        say("all done").tokens(70, 5).cached(3),
    ])
    .start();
    let ended = stage.run_once(&model, "- \"work\" on it\n$HOME @README.md", &["--show-thinking"]);

    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(model.requests()[0].last_user_text(), "- \"work\" on it\n$HOME @README.md");
    let made = std::fs::read_to_string(stage.sealed.repo().join("made.txt")).unwrap();
    let expected = format!("{} {}", stage.sealed.repo().display(), stage.sealed.config().display());
    assert_eq!(made.trim_end(), expected, "a command has the user's own variables");
    let kinds: Vec<_> = ended.of("session.event").iter().filter_map(|event| event["kind"].as_str()).collect();
    let expected = ["session_init", "tool_use", "thinking", "tool_result", "spent", "text", "result"];
    assert_eq!(kinds, expected, "{}", ended.story());
    assert_eq!(ended.events("session_init")[0]["model"], "scripted/scripted-model");
    let usage = &ended.finished()["usage"];
    let counts = ["input_tokens", "output_tokens", "cache_read_tokens"].map(|name| usage[name].as_u64());
    assert_eq!(counts, [Some(1070), Some(35), Some(203)], "{usage}");
    // The recipe's prices for a million tokens: 3 for those read, 15 for those written, 0.3 for cached ones.
    let cost = (1070.0 * 3.0 + 35.0 * 15.0 + 203.0 * 0.3) / 1e6;
    assert!((ended.finished()["cost_usd"].as_f64().unwrap() - cost).abs() < 1e-9, "{}", ended.finished());
    assert_eq!(stage.changes(), ["?? made.txt"]);
    stage.assert_nobody_left();
}

#[test]
fn a_prompt_of_100_kilobytes_arrives_whole() {
    let stage = Stage::new(require_agent!("opencode"));
    let prompt = format!("--start {} é\u{1f600}\t\\ end", "words and \"words\"\n".repeat(6_000));
    let model = Model::script([say("read")]).start();
    let ended = stage.run_once(&model, &prompt, &[]);
    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(model.requests()[0].last_user_text(), prompt);
}

#[test]
fn a_resumed_session_remembers_and_counts_only_what_is_new() {
    let stage = Stage::new(require_agent!("opencode"));
    let model = Model::script([say("the first turn"), say("the second turn")]).start();
    let flags = ["--workflow", "loop", "--mode", "resume", "--max-iterations", "2"];
    let ended = stage.run(&model, "work", &flags);

    ended.assert_ended(9, "exhausted", "max_iterations", 2);
    let started = ended.of("session.started");
    let session = &ended.events("session_init")[0]["session"];
    assert_eq!(
        (&started[1]["session"], &started[1]["resumed"]),
        (session, &true.into()),
        "{}",
        ended.story()
    );
    assert_eq!(model.sessions(), [session.as_str().unwrap()]);
    assert!(model.requests()[1].mentions("the first turn"));
    let usage = &ended.finished()["usage"];
    assert_eq!((usage["input_tokens"].as_u64(), usage["output_tokens"].as_u64()), (Some(200), Some(40)));
}

#[test]
fn an_agent_gets_its_role_beside_opencodes_own_and_a_model_by_its_name() {
    let stage = Stage::new(require_agent!("opencode"));
    let role = "---\nname: looker\ndescription: d\n---\nYou are the LOOKER.";
    stage.sealed.write("repo/.claude/agents/looker.md", role);
    let model = Model::script([say("looked")]).start();
    let flags = ["--agent", "looker", "--model", "scripted/scripted-model"];
    let ended = stage.run(&model, "look", &flags);
    ended.assert_ended(0, "completed", "turn_done", 1);
    let system = model.requests()[0].system_text();
    assert!(system.contains("You are the LOOKER.") && system.contains("opencode"), "{system}");
}
