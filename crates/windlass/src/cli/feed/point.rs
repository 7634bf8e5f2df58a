//! One thing that a person is asked at the terminal, and what a typed line means for it.

use serde_json::Value;
use windlass_core::event::PersonReply;
use windlass_core::id::{HookId, RunId};
use windlass_core::run::Ask;

use super::ask::{self, Beside, Whose};
use crate::cli::plain::plain_line;

/// A question, or a tool to permit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    /// The run that waits.
    pub(crate) run: RunId,
    /// The call that waits.
    pub(crate) hook: HookId,
    who: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Tool {
        name: String,
        input: String,
    },
    Question {
        question: Value,
        /// Its place among those asked together, from 1, and how many those are.
        place: (usize, usize),
        /// The only answers; any words where there are none.
        choices: Vec<String>,
    },
}

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// Nothing: it is left waiting.
    Nothing,
    /// Nothing that is understood, and what would be.
    Unclear(String),
    /// The reply.
    Reply(PersonReply),
}

impl Point {
    /// The first thing of an ask that is still open.
    pub(crate) fn first_of(run: &RunId, ask: &Ask, whose: Whose) -> Option<Point> {
        let (run, hook, who) = (run.clone(), ask.hook.clone(), ask::asker(ask, whose));
        let choices = ask::choices(ask);
        if let Some(tool) = &ask.tool {
            let kind = Kind::Tool { name: tool.clone(), input: ask.input.to_string() };
            return Some(Point { run, hook, who, kind });
        }
        let asked = ask.input.get("questions").and_then(Value::as_array);
        let asked = asked.map(Vec::as_slice).unwrap_or_default();
        if asked.is_empty() {
            let question = serde_json::json!({ "question": ask.input.to_string() });
            return Some(Point { run, hook, who, kind: Kind::Question { question, place: (1, 1), choices } });
        }
        let is_open = |question: &Value| {
            let text = question.get("question").and_then(Value::as_str);
            text.is_some_and(|text| ask.answers.iter().all(|(answered, _)| answered != text))
        };
        let at = asked.iter().position(is_open)?;
        let question = asked.get(at)?.clone();
        let kind = Kind::Question { question, place: (at + 1, asked.len()), choices };
        Some(Point { run, hook, who, kind })
    }

    /// What is asked, and what may be typed.
    pub(crate) fn lines(&self, beside: Beside) -> Vec<String> {
        match &self.kind {
            Kind::Tool { name, input } => vec![
                ask::wants(&self.who, name, input),
                format!(
                    "type y to allow it, n or `n WHY` to refuse it, nothing to leave it: {}",
                    self.command(beside)
                ),
            ],
            Kind::Question { question, place, choices } => {
                let mut lines = self.question(question, *place);
                lines.push(format!(
                    "{}, nothing to leave it: {}",
                    how_to_type(question, choices),
                    self.command(beside)
                ));
                lines
            }
        }
    }

    fn question(&self, question: &Value, (place, of): (usize, usize)) -> Vec<String> {
        let who = &self.who;
        let mut lines = match of {
            1 => ask::asked(&format!("{who} asks"), question),
            _ => ask::asked(&format!("{who} asks ({place} of {of})"), question),
        };
        let options = ask::options(question);
        lines.extend(options.iter().zip(1..).map(|(option, number)| format!("  {number}. {option}")));
        lines
    }

    /// How it is answered from another terminal.
    pub(crate) fn elsewhere(&self, beside: Beside) -> String {
        format!("answer it: {}", self.command(beside))
    }

    fn command(&self, beside: Beside) -> String {
        let (run, to) = (&self.run, ask::to(&self.hook, beside));
        match self.kind {
            Kind::Tool { .. } => format!("windlass approve {run}{to}"),
            Kind::Question { .. } => format!("windlass answer {run} \"TEXT\"{to}"),
        }
    }

    /// What a typed line means.
    pub(crate) fn read(&self, line: &str) -> Typed {
        let line = line.trim();
        if line.is_empty() {
            return Typed::Nothing;
        }
        match &self.kind {
            Kind::Tool { .. } => read_word(line),
            Kind::Question { question, place, choices } => {
                let chosen = chosen(question, line);
                let answer = match ask::choice(choices, &chosen) {
                    Some(choice) => choice.clone(),
                    None if choices.is_empty() => chosen,
                    None => return Typed::Unclear(none_of(choices)),
                };
                // A question that stands alone is answered as `windlass answer` does it, so that
                // the second of two answers is noticed.
                let name = if place.1 == 1 { String::new() } else { raw(question, "question") };
                Typed::Reply(PersonReply::Answers { answers: vec![(name, answer)] })
            }
        }
    }
}

/// What may be typed as an answer.
fn how_to_type(question: &Value, choices: &[String]) -> &'static str {
    match (ask::options(question).is_empty(), takes_several(question)) {
        (true, _) => "type your answer",
        (false, _) if !choices.is_empty() => "type a number or one of the words",
        (false, false) => "type a number or your own words",
        (false, true) => "type numbers (1,2) or your own words",
    }
}

/// That an answer is no choice, and what the choices are.
pub(crate) fn none_of(choices: &[String]) -> String {
    let names: Vec<String> = choices.iter().map(|choice| plain_line(choice)).collect();
    format!("that is none of the choices: {}", names.join(", "))
}

fn read_word(line: &str) -> Typed {
    let (word, why) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word.to_lowercase().as_str(), why.trim()) {
        ("y" | "yes", "") => Typed::Reply(PersonReply::Approve),
        ("n" | "no", "") => Typed::Reply(PersonReply::Reject { reason: "a person refused it".to_owned() }),
        ("n" | "no", why) => Typed::Reply(PersonReply::Reject { reason: why.to_owned() }),
        _ => Typed::Unclear("that is neither y nor n".to_owned()),
    }
}

/// A label by its number, several where several may be chosen, or the words themselves. Words
/// that are a label are that label, also where they look like a number.
fn chosen(question: &Value, line: &str) -> String {
    let options = question.get("options").and_then(Value::as_array).into_iter().flatten();
    let labels: Vec<String> = options.map(|option| raw(option, "label")).collect();
    if labels.iter().any(|label| label == line) {
        return line.to_owned();
    }
    let by_number = |text: &str| {
        let number: usize = text.trim().parse().ok()?;
        labels.get(number.checked_sub(1)?).cloned()
    };
    let picked: Option<Vec<String>> = match takes_several(question) {
        true => line.split(',').map(by_number).collect(),
        false => by_number(line).map(|label| vec![label]),
    };
    picked.map_or_else(|| line.to_owned(), |labels| labels.join(", "))
}

fn takes_several(question: &Value) -> bool {
    question.get("multiSelect").and_then(Value::as_bool).unwrap_or(false)
}

/// As it was written.
fn raw(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::id::NodeId;

    use super::*;

    fn point(tool: Option<&str>, input: Value) -> Point {
        asked("h", tool, input)
    }

    fn asked(hook: &str, tool: Option<&str>, input: Value) -> Point {
        let (node, hook) = (NodeId::new("ship"), HookId::new(hook));
        let ask = Ask { node, hook, tool: tool.map(str::to_owned), input, answers: Vec::new() };
        Point::first_of(&RunId::new("k3f9"), &ask, Whose::Only).unwrap()
    }

    #[test]
    fn where_only_choices_count_anything_else_is_asked_again() {
        let options = json!([{ "label": "Yes" }, { "label": "no" }]);
        let point =
            asked("ask/ship", None, json!({ "questions": [{ "question": "Ship it?", "options": options }] }));
        assert_eq!(
            point.lines(Beside::Nothing),
            [
                "`ship` asks: Ship it?",
                "  1. Yes",
                "  2. no",
                "type a number or one of the words, nothing to leave it: windlass answer k3f9 \"TEXT\""
            ]
        );
        assert_eq!([answer(&point, "yes"), answer(&point, "2")], ["Yes", "no"]);
        let unclear = Typed::Unclear("that is none of the choices: Yes, no".to_owned());
        assert_eq!(point.read("maybe\n"), unclear);
        assert_eq!(point.read("3\n"), unclear);
    }

    fn port(several: bool) -> Point {
        let options = json!([{ "label": "80", "description": "the usual" }, { "label": "8\u{7}080" }, { "label": "1" }]);
        let question =
            json!({ "question": "Which\u{1b}[2J port?", "options": options, "multiSelect": several });
        point(None, json!({ "questions": [question] }))
    }

    fn answer(point: &Point, line: &str) -> String {
        match point.read(line) {
            Typed::Reply(PersonReply::Answers { answers }) => answers[0].1.clone(),
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
            "type a number or your own words, nothing to leave it: windlass answer k3f9 \"TEXT\"",
        ];
        assert_eq!(port(false).lines(Beside::Nothing), expected);
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
        assert_eq!(point.read(" \n"), Typed::Nothing);
    }

    #[test]
    fn several_numbers_are_several_labels_where_that_may_be() {
        assert_eq!(answer(&port(true), "2, 3\n"), "8\u{7}080, 1");
        assert_eq!(answer(&port(true), "2, none\n"), "2, none");
    }

    #[test]
    fn a_tool_is_allowed_or_refused_by_a_word() {
        let point = point(Some("WebFetch"), json!({}));
        assert_eq!(point.read("Yes\n"), Typed::Reply(PersonReply::Approve));
        let refused = |reason: &str| Typed::Reply(PersonReply::Reject { reason: reason.to_owned() });
        assert_eq!(point.read("n\n"), refused("a person refused it"));
        assert_eq!(point.read("n not here\n"), refused("not here"));
        assert!(matches!(point.read("yes please\n"), Typed::Unclear(_)));
        assert!(matches!(point.read("1\n"), Typed::Unclear(_)));
    }

    #[test]
    fn questions_without_a_list_can_be_answered_too() {
        assert_eq!(answer(&point(None, json!({ "what": 1 })), "go on\n"), "go on");
    }
}
