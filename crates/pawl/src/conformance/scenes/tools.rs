//! A turn with what does not come from the CLI itself: lines that Windlass does not know, an MCP server of the project,
//! and a person who answers a question.

use serde_json::{Value, json};

use super::super::cells::{CellOutcome, Checked, SceneCells};
use super::super::command::EndedCommand;
use super::super::drivers::{McpNames, McpPlace, QUESTION, QuestionCase};
use super::super::ensure::{ensure, ensure_eq};
use super::super::mcp_server::{ALLOWED, DENIED, RESULT, SERVER};
use super::super::stage::SceneStage;
use super::Behaviour;
use crate::model::{ModelTurn, ScriptedModel, WireRequest, reply, say, tool};

/// A line that is not JSON, and a line of a kind that no CLI prints.
const STRANGE: [&str; 2] = [
    "Warning: this line is { not JSON",
    r#"{"jsonrpc":"2.0","type":"windlass_unheard_of","method":"windlass/unheard_of"}"#,
];
const ANSWER: &str = "Neither, use 9090";

pub(super) fn beyond_the_cli(stage: &mut SceneStage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    stage.print_before(&STRANGE)?;
    let prefix = stage.driver.mcp_prefix;
    let script = ScriptedModel::script([
        call(ALLOWED, prefix),
        call(DENIED, prefix),
        question(stage.driver.question),
        say("all done"),
    ]);
    let model = stage.model(script.default(say("all done")))?;
    add_server(stage)?;
    let ended = play(stage, &model)?;
    let requests = model.requests();

    cells.check(Behaviour::MalformedLine, || {
        ended.ensure_completed()?;
        let kinds = ended.event_kinds();
        for kind in ["warning", "unknown"] {
            ensure!(kinds.contains(&kind), "no `{kind}` in {kinds:?}: {}", ended.story());
        }
        Ok(())
    });
    cells.check_with(Behaviour::McpTool, || mcp(stage, &ended, &requests));
    cells.check_with(Behaviour::Question, || asked(stage, &ended, &requests));
    Ok(())
}

/// The model calls a tool of the server by whatever name the CLI offers it.
fn call(name: &'static str, prefix: Option<&'static str>) -> ModelTurn {
    reply(move |request: &WireRequest| {
        let offered = request.tool_names();
        let found = offered.iter().find(|offered| offered.ends_with(name)).cloned();
        match found.or_else(|| Some(format!("{}{name}", prefix?))) {
            Some(name) => tool(&name, json!({"harbour": "north"})),
            None => say(format!("no tool is named {name}, there are: {}", offered.join(", "))),
        }
    })
}

fn question(case: QuestionCase) -> ModelTurn {
    match case {
        QuestionCase::Answered(ask) => ask(),
        QuestionCase::NotOffered { tool: name, .. } => tool(name, json!({"question": QUESTION})),
    }
}

/// Adds the server to the project's settings, and a rule about its tools to the user's.
fn add_server(stage: &SceneStage<'_>) -> Result<(), String> {
    let program = stage.place.around().windlass.display().to_string();
    let place = McpPlace {
        program,
        repo: stage.place.repo("").display().to_string().trim_end_matches('/').to_owned(),
    };
    for file in stage.driver.mcp_files {
        let known = std::fs::read_to_string(stage.place.root().join(file.path)).unwrap_or_default();
        stage.place.write(file.path, &format!("{known}{}", (file.text)(&place)))?;
    }
    let rule = format!("[permissions]\ndeny = [\"mcp__{SERVER}__{DENIED}\"]\n");
    stage.place.write("config/windlass/config.toml", &rule)?;
    Ok(())
}

/// Runs the turn, and answers a question that reaches a person.
fn play(stage: &SceneStage<'_>, model: &ScriptedModel) -> Result<EndedCommand, String> {
    let mut started = stage.start_nodes(model, "  - prompt: go\n", &["--on-question", "wait"])?;
    if let QuestionCase::Answered(_) = stage.driver.question {
        let waiting = started.wait_for("run.waiting")?;
        let asked = waiting.pointer("/data/question").and_then(Value::as_str);
        ensure_eq!(asked, Some(QUESTION), "{waiting}");
        let answer = stage.call(model, &["answer", &started.run_id()?, ANSWER])?;
        ensure_eq!(answer.code, Some(0), "{}", answer.story());
    }
    started.end()
}

fn mcp(stage: &SceneStage<'_>, ended: &EndedCommand, requests: &[WireRequest]) -> Checked {
    let decided: Vec<[&str; 2]> = ended
        .of("hook.decision")
        .into_iter()
        .filter_map(|data| Some([data.get("tool")?.as_str()?, data.get("decision")?.as_str()?]))
        .collect();
    let result = requests.get(1).is_some_and(|request| request.last_user_text().contains(RESULT));
    ensure!(result, "the result did not reach the model: {}", ended.story());
    let wiped = requests.iter().any(|request| request.mentions("everything is gone"));
    let (allowed, denied) = (format!("mcp__{SERVER}__{ALLOWED}"), format!("mcp__{SERVER}__{DENIED}"));
    match stage.driver.mcp {
        McpNames::Canonical => {
            for expected in [[&*allowed, "allow"], [&*denied, "deny"]] {
                ensure!(decided.contains(&expected), "no {expected:?} in {decided:?}: {}", ended.story());
            }
            ensure!(!wiped, "the denied tool ran: {}", ended.story());
            Ok(CellOutcome::Passed)
        }
        McpNames::Unasked(what) => {
            ensure!(wiped && decided.is_empty(), "the CLI asks after all: {}", ended.story());
            Ok(CellOutcome::PassedBut(what.to_owned()))
        }
    }
}

fn asked(stage: &SceneStage<'_>, ended: &EndedCommand, requests: &[WireRequest]) -> Checked {
    let told = requests.get(3).map(WireRequest::last_user_text).unwrap_or_default();
    match stage.driver.question {
        QuestionCase::Answered(_) => {
            ensure!(told.contains(ANSWER), "the answer did not reach the model: {told}");
            Ok(CellOutcome::Passed)
        }
        QuestionCase::NotOffered { tool, why } => {
            let offered = requests.first().map(WireRequest::tool_names).unwrap_or_default();
            ensure!(!offered.iter().any(|name| name == tool), "the CLI offers `{tool}`: {offered:?}");
            ensure!(ended.of("run.waiting").is_empty(), "the run waits: {}", ended.story());
            ensure!(!told.is_empty() || requests.len() == 3, "the model is not told: {}", ended.story());
            Ok(CellOutcome::NotPossible(why.to_owned()))
        }
    }
}
