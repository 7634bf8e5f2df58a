//! A request that a person answers at the terminal, and the meaning of a typed line.

use windlass_core::event::PersonReply;
use windlass_core::hook::Question;
use windlass_core::id::{HookId, RunId};
use windlass_core::run::Ask;

use super::ask::{self, Asker, OtherRequests};
use crate::cli::sanitize::plain_line;

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
    Tool {
        name: String,
        input: String,
    },
    Question {
        question: Question,
        /// Its number among the questions asked together, from 1, and how many there are.
        place: (usize, usize),
        /// The only answers; if empty, any text is an answer.
        choices: Vec<String>,
    },
}

/// The meaning of a typed line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TypedAnswer {
    /// An empty line: the request stays open.
    Nothing,
    /// A line that is no valid answer, and why.
    Unclear(String),
    Reply(PersonReply),
}

impl PersonPrompt {
    /// Returns the tool, or the first question that is still open.
    pub(crate) fn first_of(run: &RunId, ask: &Ask, whose: Asker) -> Option<PersonPrompt> {
        let (run, hook, who) = (run.clone(), ask.hook.clone(), ask::asker(ask, whose));
        let choices = ask::choices(ask);
        if let Some(tool) = &ask.tool {
            let kind = PromptKind::Tool { name: tool.name.clone(), input: tool.input.to_string() };
            return Some(PersonPrompt { run, hook, who, kind });
        }
        let question = ask.open_questions().next()?.clone();
        let at = ask.questions.iter().position(|asked| *asked == question)?;
        let kind = PromptKind::Question { question, place: (at + 1, ask.questions.len()), choices };
        Some(PersonPrompt { run, hook, who, kind })
    }

    /// Describes the request and what a person may type.
    pub(crate) fn lines(&self, beside: OtherRequests) -> Vec<String> {
        match &self.kind {
            PromptKind::Tool { name, input } => vec![
                ask::wants(&self.who, name, input),
                format!(
                    "type y to allow it, n or `n WHY` to refuse it; press Enter to answer later: {}",
                    self.command(beside)
                ),
            ],
            PromptKind::Question { question, place, choices } => {
                let mut lines = self.question(question, *place);
                lines.push(format!(
                    "{}; press Enter to answer later: {}",
                    how_to_type(question, choices),
                    self.command(beside)
                ));
                lines
            }
        }
    }

    fn question(&self, question: &Question, (place, of): (usize, usize)) -> Vec<String> {
        let who = &self.who;
        let mut lines = match of {
            1 => ask::asked(&format!("{who} asks"), question),
            _ => ask::asked(&format!("{who} asks ({place} of {of})"), question),
        };
        let options = ask::options(question);
        lines.extend(options.iter().zip(1..).map(|(option, number)| format!("  {number}. {option}")));
        lines
    }

    /// Says how to answer from another terminal.
    pub(crate) fn elsewhere(&self, beside: OtherRequests) -> String {
        format!("answer it: {}", self.command(beside))
    }

    fn command(&self, beside: OtherRequests) -> String {
        let (run, to) = (&self.run, ask::to(&self.hook, beside));
        match self.kind {
            PromptKind::Tool { .. } => format!("windlass approve {run}{to}"),
            PromptKind::Question { .. } => format!("windlass answer {run} \"TEXT\"{to}"),
        }
    }

    /// Reads a typed line.
    pub(crate) fn read(&self, line: &str) -> TypedAnswer {
        let line = line.trim();
        if line.is_empty() {
            return TypedAnswer::Nothing;
        }
        match &self.kind {
            PromptKind::Tool { .. } => read_word(line),
            PromptKind::Question { question, place, choices } => {
                let chosen = chosen(question, line);
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
}

/// Says what a person may type.
fn how_to_type(question: &Question, choices: &[String]) -> &'static str {
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
fn chosen(question: &Question, line: &str) -> String {
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
        PersonPrompt::first_of(&RunId::new("k3f9"), ask, Asker::Only).unwrap()
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
                "type a number or a choice; press Enter to answer later: windlass answer k3f9 \"TEXT\""
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
            "type a number or your own answer; press Enter to answer later: windlass answer k3f9 \"TEXT\"",
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
        assert_eq!(point.read(" \n"), TypedAnswer::Nothing);
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
    }
}
