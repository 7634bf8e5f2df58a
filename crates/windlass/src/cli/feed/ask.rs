//! Describes the requests that only a person can answer, and the commands that answer them.

use windlass_core::graph::walk::find;
use windlass_core::graph::workflow::{AskNode, NodeKind};
use windlass_core::hook::{Question, QuestionOption};
use windlass_core::id::{HookId, RunId};
use windlass_core::run::Ask;
use windlass_core::spec::Spec;

use super::nodes::named;
use super::wants::wants;
use crate::cli::sanitize::{plain, plain_line, plain_short, shorten};

/// The longest request on one line.
const GIST: usize = 120;
/// The longest line of a question, and the most lines that are shown.
const LINE: usize = 400;
const LINES: usize = 20;

/// The asking agent among the agents of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// The only agent of the run.
    Only,
    /// One of several agents, so that messages must name it.
    OneOfSeveral,
}

/// The other open requests. If there are some, a command must name the request that it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherRequests {
    Nothing,
    Others,
}

impl OtherRequests {
    /// Decides from the number of open requests.
    pub(crate) fn of(waiting: usize) -> OtherRequests {
        if waiting > 1 { OtherRequests::Others } else { OtherRequests::Nothing }
    }
}

/// Describes the question or the tool, with the command that answers it. `default` is the answer that an
/// `ask` node takes if nobody answers.
pub(crate) fn describe(
    run: &RunId,
    ask: &Ask,
    whose: Asker,
    beside: OtherRequests,
    default: Option<&str>,
) -> Vec<String> {
    let to = to(&ask.hook, beside);
    let Some(tool) = &ask.tool else { return question(run, ask, &asker(ask, whose), &to, default) };
    let mut lines = wants(&asker(ask, whose), tool);
    lines.push(format!("allow it:  windlass approve {run}{to}"));
    lines.push(format!("refuse it: windlass approve {run}{to} --deny \"why\""));
    lines
}

/// Returns the default of the `ask` node that asks.
pub(crate) fn default_of<'s>(spec: &'s Spec, ask: &Ask) -> Option<&'s str> {
    if !is_of_workflow(ask) {
        return None;
    }
    match &find(&spec.body, &ask.node.in_workflow())?.kind {
        NodeKind::Ask(AskNode { default, .. }) => default.as_deref(),
        _ => None,
    }
}

/// Describes a request on one line.
pub(crate) fn gist(ask: &Ask) -> String {
    let who = asker(ask, Asker::OneOfSeveral);
    let Some(tool) = &ask.tool else {
        let texts: Vec<&str> = ask.questions.iter().map(|question| question.text.as_str()).collect();
        return plain_short(&format!("{who} asks: {}", texts.join(" ")), GIST);
    };
    let first = wants(&who, tool).into_iter().next().unwrap_or_default();
    plain_short(&first, GIST)
}

/// Returns the command that answers exactly this request.
pub(crate) fn naming(run: &RunId, ask: &Ask) -> String {
    let to = to(&ask.hook, OtherRequests::Others);
    match &ask.tool {
        Some(_) => format!("windlass approve {run}{to}"),
        None => format!("windlass answer {run} \"TEXT\"{to}"),
    }
}

/// Returns the flag that names the request, if it is needed.
pub(super) fn to(hook: &HookId, beside: OtherRequests) -> String {
    match beside {
        OtherRequests::Nothing => String::new(),
        OtherRequests::Others => format!(" --to {}", plain_line(hook.as_str())),
    }
}

/// Names the asker: an agent, or a node of the workflow.
pub(super) fn asker(ask: &Ask, whose: Asker) -> String {
    let node = plain_line(named(&ask.node));
    match whose {
        _ if is_of_workflow(ask) => format!("`{node}`"),
        Asker::Only => "the agent".to_owned(),
        Asker::OneOfSeveral => format!("the agent of `{node}`"),
    }
}

/// Returns whether the request comes from an `ask` node. Such a node names its question after itself; the
/// hooks of agents have other names.
pub(crate) fn is_of_workflow(ask: &Ask) -> bool {
    ask.tool.is_none() && ask.hook.as_str().strip_prefix("ask/") == Some(ask.node.as_str())
}

/// Returns the only answers that a question accepts, or none if it accepts any text.
pub(crate) fn choices(ask: &Ask) -> Vec<String> {
    let closed = ask.questions.first().filter(|question| ask.tool.is_none() && !question.free_text);
    closed
        .map(|question| question.options.iter().map(|option| option.label.clone()).collect())
        .unwrap_or_default()
}

/// Finds the choice that a text means. Ignores case and surrounding blanks.
pub(crate) fn choice<'a>(choices: &'a [String], text: &str) -> Option<&'a String> {
    choices.iter().find(|choice| is_same(choice, text))
}

fn question(run: &RunId, ask: &Ask, who: &str, to: &str, default: Option<&str>) -> Vec<String> {
    let one = |question| one(question, who, default);
    let mut lines: Vec<String> = ask.questions.iter().flat_map(one).collect();
    lines.push(match ask.questions.as_slice() {
        [_, _, ..] => format!("answer each: windlass answer {run} \"TEXT\" --question \"QUESTION\"{to}"),
        _ => format!("answer it: windlass answer {run} \"TEXT\"{to}"),
    });
    lines
}

/// Describes a question and its choices.
fn one(question: &Question, who: &str, default: Option<&str>) -> Vec<String> {
    let mut lines = asked(&format!("{who} asks"), question);
    lines.extend(options(question, default).iter().map(|option| format!("  - {option}")));
    let unlisted = default.filter(|_| question.options.is_empty());
    lines.extend(unlisted.map(|default| format!("  default: {}", plain_short(default, LINE))));
    lines
}

/// Keeps the lines of a question and puts the asker before the first.
pub(super) fn asked(who: &str, question: &Question) -> Vec<String> {
    let text = plain(&question.text);
    let all: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let is_more = all.len() > LINES;
    let mut texts = all.into_iter().take(LINES).map(|line| shorten(line, LINE));
    let mut lines = vec![format!("{who}: {}", texts.next().unwrap_or_default().trim_start())];
    lines.extend(texts.map(|line| format!("    {line}")));
    lines.extend(is_more.then(|| "    ...".to_owned()));
    lines
}

/// Returns the choices, one per line, and marks the default.
pub(super) fn options(question: &Question, default: Option<&str>) -> Vec<String> {
    let is_default = |label: &str| default.is_some_and(|default| is_same(default, label));
    let line = |QuestionOption { label, description }: &QuestionOption| {
        let mark = if is_default(label) { " (default)" } else { "" };
        match description {
            Some(description) if description != label => {
                format!("{}{mark}: {}", plain_line(label), plain_line(description))
            }
            Some(_) | None => format!("{}{mark}", plain_line(label)),
        }
    };
    question.options.iter().map(line).collect()
}

/// Compares two answers. Ignores case and surrounding blanks.
fn is_same(one: &str, other: &str) -> bool {
    one.trim().eq_ignore_ascii_case(other.trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::hook::{ToolCall, ToolName};
    use windlass_core::id::NodeId;

    use super::*;

    fn lines(ask: &Ask) -> Vec<String> {
        describe(&RunId::new("k3f9"), ask, Asker::Only, OtherRequests::Nothing, None)
    }

    fn asked(hook: &str, question: Question) -> Ask {
        Ask::question(NodeId::new("ship@2"), HookId::new(hook), vec![question])
    }

    fn wanted(name: &str, input: serde_json::Value) -> Ask {
        let call = ToolCall { tool: ToolName::Other, name: name.to_owned(), input };
        Ask::permission(NodeId::new("ship@2"), HookId::new("h1"), call)
    }

    #[test]
    fn a_node_of_the_workflow_asks_in_its_own_name_and_takes_only_its_choices() {
        let question = Question::of_workflow("Ship it?", &["Yes".to_owned(), "no".to_owned()]);
        let ask = asked("ask/ship@2", question.clone());
        let (run, none) = (RunId::new("k3f9"), OtherRequests::Nothing);
        let lines = describe(&run, &ask, Asker::OneOfSeveral, none, Some("NO"));
        assert_eq!(
            lines,
            [
                "`ship` asks: Ship it?",
                "  - Yes",
                "  - no (default)",
                "answer it: windlass answer k3f9 \"TEXT\""
            ]
        );
        let choices = choices(&ask);
        assert_eq!(choices, ["Yes", "no"]);
        assert_eq!(choice(&choices, " yes ").map(String::as_str), Some("Yes"));
        assert_eq!(choice(&choices, "maybe"), None);
        let of_agent = asked("h1", Question { free_text: true, ..question });
        assert!(super::choices(&of_agent).is_empty(), "an agent takes any words");
        assert_eq!(asker(&of_agent, Asker::OneOfSeveral), "the agent of `ship`");
    }

    #[test]
    fn a_question_shows_its_choices_and_how_to_answer() {
        let option = |label: &str, description: Option<&str>| QuestionOption {
            label: label.to_owned(),
            description: description.map(str::to_owned),
        };
        let options = vec![option("80", Some("the usual")), option("8080", None)];
        let question = Question { options, ..Question::open("Which \u{1b}[1mport?") };
        let expected = [
            "the agent asks: Which ^[[1mport?",
            "  - 80: the usual",
            "  - 8080",
            "answer it: windlass answer k3f9 \"TEXT\"",
        ];
        assert_eq!(lines(&asked("h1", question)), expected);
    }

    #[test]
    fn a_question_of_several_lines_keeps_them() {
        let question = Question::open("Work on these?\n\n- the cart\n- the \u{1b}[2Jtill\n");
        let lines = lines(&asked("h1", question));
        assert_eq!(lines[..3], ["the agent asks: Work on these?", "    - the cart", "    - the ^[[2Jtill"]);
    }

    #[test]
    fn where_several_things_wait_each_command_says_which_it_answers() {
        let run = RunId::new("k3f9");
        let last =
            |ask: &Ask| describe(&run, ask, Asker::OneOfSeveral, OtherRequests::Others, None).pop().unwrap();
        let node = asked("ask/ship@2", Question::open("Ship it?"));
        assert_eq!(last(&node), "answer it: windlass answer k3f9 \"TEXT\" --to ask/ship@2");
        assert_eq!(gist(&node), "`ship` asks: Ship it?");
        let tool = wanted("Bash", json!({}));
        assert_eq!(last(&tool), "refuse it: windlass approve k3f9 --to h1 --deny \"why\"");
        assert_eq!(naming(&run, &tool), "windlass approve k3f9 --to h1");
    }

    #[test]
    fn a_huge_question_is_shortened() {
        let long = lines(&asked("h1", Question::open("x".repeat(1_000_000))));
        assert!(long[0].len() < 500 && long[0].ends_with("..."), "{}", long[0].len());
        let many = lines(&asked("h1", Question::open("line\n".repeat(1000))));
        assert_eq!((many.len(), many[20].as_str()), (22, "    ..."));
    }

    #[test]
    fn a_tool_is_allowed_or_refused() {
        let lines = lines(&wanted("WebFetch", json!({"url": "http://x"})));
        assert_eq!(lines[0], "the agent wants to use WebFetch");
        assert_eq!(lines[1], "    url: http://x");
        assert_eq!(lines[3], "refuse it: windlass approve k3f9 --deny \"why\"");
    }
}
