//! A request that a person answers at the terminal, and the meaning of a typed line.

use windlass_core::event::PersonReply;
use windlass_core::hook::{Question, ToolCall};
use windlass_core::id::{HookId, RunId};
use windlass_core::run::Ask;

use super::ask::{self, Asker, OtherRequests};
use super::wants::wants;
use crate::cli::sanitize::{plain_line, plain_short};

/// The longest default that is shown.
const DEFAULT: usize = 40;

/// A question, or a tool to allow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PersonPrompt {
    /// The run that waits.
    pub(crate) run: RunId,
    /// The call that waits.
    pub(crate) hook: HookId,
    who: String,
    kind: PromptKind,
}

#[derive(Debug, Clone, PartialEq)]
enum PromptKind {
    Tool(ToolCall),
    Question {
        question: Question,
        /// Its number among the questions asked together, from 1, and how many there are.
        place: (usize, usize),
        /// The only answers; if empty, any text is an answer.
        choices: Vec<String>,
        /// The answer that an empty line gives.
        default: Option<String>,
    },
}

/// The meaning of a typed line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TypedAnswer {
    /// An empty line without a default: the request stays open, and this is what to type.
    Nothing(String),
    /// A line that is no valid answer, and why.
    Unclear(String),
    Reply(PersonReply),
}

impl PersonPrompt {
    /// Returns the tool, or the first question that is still open.
    pub(crate) fn first_of(
        run: &RunId,
        ask: &Ask,
        whose: Asker,
        default: Option<&str>,
    ) -> Option<PersonPrompt> {
        let (run, hook, who) = (run.clone(), ask.hook.clone(), ask::asker(ask, whose));
        let choices = ask::choices(ask);
        if let Some(tool) = &ask.tool {
            return Some(PersonPrompt { run, hook, who, kind: PromptKind::Tool(tool.clone()) });
        }
        let question = ask.open_questions().next()?.clone();
        let at = ask.questions.iter().position(|asked| *asked == question)?;
        let (place, default) = ((at + 1, ask.questions.len()), default.map(str::to_owned));
        let kind = PromptKind::Question { question, place, choices, default };
        Some(PersonPrompt { run, hook, who, kind })
    }

    /// Describes the request and what a person may type.
    pub(crate) fn lines(&self, beside: OtherRequests) -> Vec<String> {
        let mut lines = match &self.kind {
            PromptKind::Tool(call) => wants(&self.who, call),
            PromptKind::Question { question, place, default, .. } => {
                self.question(question, *place, default.as_deref())
            }
        };
        lines.push(self.how_to_type(beside));
        lines.push(format!("from elsewhere: {}", self.command(beside)));
        lines
    }

    fn question(
        &self,
        question: &Question,
        (place, of): (usize, usize),
        default: Option<&str>,
    ) -> Vec<String> {
        let who = &self.who;
        let mut lines = match of {
            1 => ask::asked(&format!("{who} asks"), question),
            _ => ask::asked(&format!("{who} asks ({place} of {of})"), question),
        };
        let options = ask::options(question, default);
        lines.extend(options.iter().zip(1..).map(|(option, number)| format!("  {number}. {option}")));
        lines
    }

    /// Says what a person may type, and what an empty line does.
    fn how_to_type(&self, beside: OtherRequests) -> String {
        let (keys, default) = match &self.kind {
            PromptKind::Tool(_) => ("type y to allow it, n or `n WHY` to refuse it", None),
            PromptKind::Question { question, choices, default, .. } => {
                (keys(question, choices), default.as_deref())
            }
        };
        match (default, beside) {
            (Some(default), _) => format!("{keys}, or press Enter for `{}`", plain_short(default, DEFAULT)),
            (None, OtherRequests::Others) => format!("{keys}, or press Enter for the next question"),
            (None, OtherRequests::Nothing) => keys.to_owned(),
        }
    }

    /// Says how to answer from another terminal.
    pub(crate) fn elsewhere(&self, beside: OtherRequests) -> String {
        format!("answer it: {}", self.command(beside))
    }

    fn command(&self, beside: OtherRequests) -> String {
        let (run, to) = (&self.run, ask::to(&self.hook, beside));
        match self.kind {
            PromptKind::Tool(_) => format!("windlass approve {run}{to}"),
            PromptKind::Question { .. } => format!("windlass answer {run} \"TEXT\"{to}"),
        }
    }

    /// Reads a typed line.
    pub(crate) fn read(&self, line: &str) -> TypedAnswer {
        let line = line.trim();
        match &self.kind {
            PromptKind::Tool(_) if line.is_empty() => self.nothing(),
            PromptKind::Tool(_) => read_word(line),
            PromptKind::Question { default: None, .. } if line.is_empty() => self.nothing(),
            PromptKind::Question { question, place, choices, default } => {
                let chosen = match default {
                    Some(default) if line.is_empty() => default.clone(),
                    _ => chosen(question, line),
                };
                let answer = match ask::choice(choices, &chosen) {
                    Some(choice) => choice.clone(),
                    None if choices.is_empty() => chosen,
                    None => return TypedAnswer::Unclear(none_of(choices)),
                };
                // A single question is answered without its text, as `windlass answer` does. Then the run
                // notices a second answer.
                let name = if place.1 == 1 { String::new() } else { question.text.clone() };
                TypedAnswer::Reply(PersonReply::Answers { answers: vec![(name, answer)] })
            }
        }
    }

    fn nothing(&self) -> TypedAnswer {
        TypedAnswer::Nothing(self.how_to_type(OtherRequests::Nothing))
    }
}

/// Says what a person may type at a question.
fn keys(question: &Question, choices: &[String]) -> &'static str {
    match (question.options.is_empty(), question.several) {
        (true, _) => "type your answer",
        (false, _) if !choices.is_empty() => "type a number or a choice",
        (false, false) => "type a number or your own answer",
        (false, true) => "type numbers (1,2) or your own answer",
    }
}

/// Says that an answer is not one of the choices, and lists them.
pub(crate) fn none_of(choices: &[String]) -> String {
    let names: Vec<String> = choices.iter().map(|choice| plain_line(choice)).collect();
    format!("that is not one of the choices: {}", names.join(", "))
}

fn read_word(line: &str) -> TypedAnswer {
    let (word, why) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word.to_lowercase().as_str(), why.trim()) {
        ("y" | "yes", "") => TypedAnswer::Reply(PersonReply::Approve),
        ("n" | "no", "") => {
            TypedAnswer::Reply(PersonReply::Reject { reason: "a person refused it".to_owned() })
        }
        ("n" | "no", why) => TypedAnswer::Reply(PersonReply::Reject { reason: why.to_owned() }),
        _ => TypedAnswer::Unclear("that is neither y nor n".to_owned()),
    }
}

/// Replaces numbers by their labels, several if the question allows it. Any other text stays as it is. A
/// text that equals a label is that label, even if it looks like a number.
pub(crate) fn chosen(question: &Question, line: &str) -> String {
    let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
    if labels.contains(&line) {
        return line.to_owned();
    }
    let by_number = |text: &str| {
        let number: usize = text.trim().parse().ok()?;
        labels.get(number.checked_sub(1)?).copied()
    };
    let picked: Option<Vec<&str>> = match question.several {
        true => line.split(',').map(by_number).collect(),
        false => by_number(line).map(|label| vec![label]),
    };
    picked.map_or_else(|| line.to_owned(), |labels| labels.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::hook::{QuestionOption, ToolCall, ToolName};
    use windlass_core::id::NodeId;

    use super::*;

    fn point(ask: &Ask) -> PersonPrompt {
        PersonPrompt::first_of(&RunId::new("k3f9"), ask, Asker::Only, None).unwrap()
    }

    fn asked(hook: &str, question: Question) -> PersonPrompt {
        point(&Ask::question(NodeId::new("ship"), HookId::new(hook), vec![question]))
    }

    #[test]
    fn where_only_choices_count_anything_else_is_asked_again() {
        let question = Question::of_workflow("Ship it?", &["Yes".to_owned(), "no".to_owned()]);
        let point = asked("ask/ship", question);
        assert_eq!(
            point.lines(OtherRequests::Nothing),
            [
                "`ship` asks: Ship it?",
                "  1. Yes",
                "  2. no",
                "type a number or a choice",
                "from elsewhere: windlass answer k3f9 \"TEXT\""
            ]
        );
        assert_eq!([answer(&point, "yes"), answer(&point, "2")], ["Yes", "no"]);
        let unclear = TypedAnswer::Unclear("that is not one of the choices: Yes, no".to_owned());
        assert_eq!(point.read("maybe\n"), unclear);
        assert_eq!(point.read("3\n"), unclear);
    }

    fn port(several: bool) -> PersonPrompt {
        let option = |label: &str, description: Option<&str>| QuestionOption {
            label: label.to_owned(),
            description: description.map(str::to_owned),
        };
        let options = vec![option("80", Some("the usual")), option("8\u{7}080", None), option("1", None)];
        asked("h", Question { options, several, ..Question::open("Which\u{1b}[2J port?") })
    }

    fn answer(point: &PersonPrompt, line: &str) -> String {
        match point.read(line) {
            TypedAnswer::Reply(PersonReply::Answers { answers }) => answers[0].1.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_is_shown_with_numbers_and_nothing_of_it_reaches_the_terminal_as_it_is() {
        let expected = [
            "the agent asks: Which^[[2J port?",
            "  1. 80: the usual",
            "  2. 8^G080",
            "  3. 1",
            "type a number or your own answer",
            "from elsewhere: windlass answer k3f9 \"TEXT\"",
        ];
        assert_eq!(port(false).lines(OtherRequests::Nothing), expected);
    }

    #[test]
    fn a_number_stands_for_its_label_and_anything_else_for_itself() {
        let point = port(false);
        assert_eq!(answer(&point, "2\n"), "8\u{7}080");
        assert_eq!(answer(&point, " 80 \n"), "80");
        assert_eq!(answer(&point, "1\n"), "1");
        assert_eq!(answer(&point, "4\n"), "4");
        assert_eq!(answer(&point, "0\n"), "0");
        assert_eq!(answer(&point, "2,3\n"), "2,3");
        let nothing = TypedAnswer::Nothing("type a number or your own answer".to_owned());
        assert_eq!(point.read(" \n"), nothing, "the question stays");
    }

    #[test]
    fn an_empty_line_takes_the_default_and_the_list_marks_it() {
        let question = Question::of_workflow("Ship it?", &["yes".to_owned(), "no".to_owned()]);
        let ask = Ask::question(NodeId::new("ship"), HookId::new("ask/ship"), vec![question]);
        let run = RunId::new("k3f9");
        let point = PersonPrompt::first_of(&run, &ask, Asker::Only, Some("NO")).unwrap();
        let lines = point.lines(OtherRequests::Nothing);
        assert_eq!(lines[2..4], ["  2. no (default)", "type a number or a choice, or press Enter for `NO`"]);
        assert_eq!(answer(&point, "\n"), "no");
        assert_eq!(answer(&point, "1\n"), "yes");
    }

    #[test]
    fn several_numbers_are_several_labels_where_that_may_be() {
        assert_eq!(answer(&port(true), "2, 3\n"), "8\u{7}080, 1");
        assert_eq!(answer(&port(true), "2, none\n"), "2, none");
    }

    #[test]
    fn a_tool_is_allowed_or_refused_by_a_word() {
        let call = ToolCall { tool: ToolName::WebFetch, name: "WebFetch".to_owned(), input: json!({}) };
        let point = point(&Ask::permission(NodeId::new("ship"), HookId::new("h"), call));
        assert_eq!(point.read("Yes\n"), TypedAnswer::Reply(PersonReply::Approve));
        let refused = |reason: &str| TypedAnswer::Reply(PersonReply::Reject { reason: reason.to_owned() });
        assert_eq!(point.read("n\n"), refused("a person refused it"));
        assert_eq!(point.read("n not here\n"), refused("not here"));
        assert!(matches!(point.read("yes please\n"), TypedAnswer::Unclear(_)));
        assert!(matches!(point.read("1\n"), TypedAnswer::Unclear(_)));
        assert!(matches!(point.read("\n"), TypedAnswer::Nothing(_)));
    }
}
