//! Must show 4 and 5: `windlass run` gives an entity to the real Claude Code, and the scripted model
//! is asked for exactly what its text says, whatever stands in the arguments.

use std::path::Path;

use windlass_testkit::{Model, Request, require_claude, say};

use crate::stage::Stage;

/// Text that a shell or a template might expand. It has no `@file`, because Claude Code itself reads the
/// files that a message mentions in that way.
const HOSTILE: &str = "$1 $0 $ARGUMENTS {{args}} ${HOME} `id` !`id` $(id) \"double\" 'single' \\n \\\n\
    second\tline\r\n  $2 /compact <x>&amp; \u{1F9F6} %s {input}";

/// Runs an entity to the end of its only session, and says what the model was asked.
#[track_caller]
fn asked(claude: &Path, file: &str, text: &str, entity: [&str; 2], input: &str) -> Request {
    let stage = Stage::new(claude.to_owned());
    stage.sealed.write(format!("repo/{file}"), text);
    let model = Model::script([say("done")]).start();
    let mut command = stage.sealed.windlass_with(&model);
    command.args(["run", "--json", "--driver", "claude", "--agent-bin"]).arg(claude);
    command.args(entity).arg(input);
    let ended = stage.start(command).end();
    assert_eq!(ended.code, Some(0), "{}", ended.story());
    let requests = model.requests();
    assert_eq!(requests.len(), 1, "{}", ended.story());
    requests.into_iter().next().unwrap()
}

#[track_caller]
fn assert_says(request: &Request, expected: &str) {
    let blocks = request.last_user_blocks();
    assert!(blocks.iter().any(|block| block.trim() == expected), "not `{expected}` in {blocks:#?}");
}

#[test]
fn a_skill_reaches_the_model_as_its_text_with_the_arguments_in_it() {
    let claude = require_claude!();
    let text = "---\nname: greet\ndescription: Greets\n---\nGreet $0, then $1.\nAll of them: $ARGUMENTS.\n";
    let skill = ["--skill", "greet"];
    let request = asked(&claude, ".claude/skills/greet/SKILL.md", text, skill, "ann \"bob and cy\"");
    assert_says(&request, "Greet ann, then bob and cy.\nAll of them: ann \"bob and cy\".");
}

#[test]
fn a_command_of_another_cli_reaches_the_model_as_its_text_with_the_arguments_in_it() {
    let claude = require_claude!();
    let text = "description = \"Compares\"\nprompt = \"Compare {{args}}, and $1 stays.\"\n";
    let command = ["--command", "front:comp"];
    let request = asked(&claude, ".gemini/commands/front/comp.toml", text, command, "red with blue");
    assert_says(&request, "Compare red with blue, and $1 stays.");
}

#[test]
fn an_agents_text_is_in_the_system_prompt_and_the_prompt_is_the_users() {
    let claude = require_claude!();
    let text = "---\nname: judge\ndescription: Judges\n---\nYou judge kindly, even $ARGUMENTS and `$1`.\n";
    let request = asked(&claude, ".claude/agents/judge.md", text, ["--agent", "judge"], "Judge this.");
    let system = request.system_text();
    assert!(system.contains("You judge kindly, even $ARGUMENTS and `$1`."), "{system}");
    assert_says(&request, "Judge this.");
}

#[test]
fn whatever_stands_in_the_arguments_arrives_byte_for_byte() {
    let claude = require_claude!();
    let head = "---\ndescription: Says it\n---\n";
    let marked = format!("{head}Say <<$ARGUMENTS>> twice.\n");
    let expected = format!("Say <<{HOSTILE}>> twice.");
    for (file, flag) in
        [(".claude/skills/tell/SKILL.md", "--skill"), (".claude/commands/tell.md", "--command")]
    {
        let request = asked(&claude, file, &marked, [flag, "tell"], HOSTILE);
        assert_says(&request, &expected);
    }
    let agent = format!("{head}You tell.\n");
    let request = asked(&claude, ".claude/agents/tell.md", &agent, ["--agent", "tell"], HOSTILE);
    assert_says(&request, HOSTILE);
}

#[test]
fn a_text_that_begins_with_a_slash_is_no_command_of_claude_code() {
    let claude = require_claude!();
    let text = "---\ndescription: Says it\n---\n$ARGUMENTS";
    let request = asked(&claude, ".claude/commands/tell.md", text, ["--command", "tell"], "/cost of it");
    assert_says(&request, "/cost of it");
    let agent = "---\ndescription: Tells\n---\nYou tell.\n";
    let request = asked(&claude, ".claude/agents/tell.md", agent, ["--agent", "tell"], "/tell x");
    assert_says(&request, "/tell x");
}
