//! Says who answered a request, from where, and what.

use serde_json::{Value, json};
use windlass_core::engine::explain::{AnsweredBy, GivenAnswer};
use windlass_core::event::{AnswerOrigin, PersonReply};

use super::json::rfc3339;
use crate::cli::sanitize::{plain_line, plain_short};

/// The longest answer that is shown.
const ANSWER: usize = 200;

/// Describes an answer: `answered by anna (windlass answer, pts/3): yes`. An answer from this process
/// names nobody: the person has just typed it.
pub(crate) fn answered(given: &GivenAnswer) -> String {
    match &given.by {
        AnsweredBy::Default { why } => format!("not answered: {}", plain_short(why, ANSWER)),
        AnsweredBy::Person(origin) => {
            let by = origin.as_ref().filter(|origin| origin.pid != std::process::id());
            let by = by.map(|origin| format!(" by {}", author(origin))).unwrap_or_default();
            said(given, &by)
        }
    }
}

/// Says what the answer is.
fn said(given: &GivenAnswer, by: &str) -> String {
    let tool = given.ask.tool_name().map(plain_line);
    match (&given.reply, tool) {
        (PersonReply::Reject { reason }, Some(_)) => {
            format!("refused{by}: {}", plain_short(reason, ANSWER))
        }
        (PersonReply::Approve | PersonReply::Answers { .. }, Some(tool)) => format!("allowed{by}: {tool}"),
        (reply, None) => {
            let why = reply.reason().map(|why| format!(" ({})", plain_short(why, ANSWER)));
            format!("answered{by}: {}{}", plain_short(&text(reply), ANSWER), why.unwrap_or_default())
        }
    }
}

/// Returns the text of an answer to a question.
fn text(reply: &PersonReply) -> String {
    match reply {
        PersonReply::Approve => "yes".to_owned(),
        PersonReply::Reject { .. } => "no".to_owned(),
        PersonReply::Answers { answers } => {
            answers.iter().map(|(_, answer)| answer.as_str()).collect::<Vec<_>>().join(", ")
        }
    }
}

/// Names a person and the place of the answer: `anna (windlass answer, pts/3)`.
fn author(origin: &AnswerOrigin) -> String {
    let AnswerOrigin { user, way, pid, tty } = origin;
    let place = tty.as_ref().map_or_else(|| format!("process {pid}"), |tty| plain_line(tty));
    match way.as_str() {
        AnswerOrigin::TERMINAL => format!("{} ({place})", plain_line(user)),
        way => format!("{} ({}, {place})", plain_line(user), plain_line(way)),
    }
}

/// Returns an answer as JSON.
pub(crate) fn object(given: &GivenAnswer) -> Value {
    let mut data = json!({
        "node": given.ask.node,
        "hook": given.ask.hook,
        "at": rfc3339(given.at),
        "by": by(&given.by),
    });
    let Value::Object(map) = &mut data else { return data };
    match &given.ask.tool {
        Some(call) => {
            let decision = if matches!(given.reply, PersonReply::Reject { .. }) { "deny" } else { "allow" };
            map.insert("on".to_owned(), "permission".into());
            map.insert("tool".to_owned(), call.name.as_str().into());
            map.insert("decision".to_owned(), decision.into());
        }
        None => {
            let questions: Vec<&str> =
                given.ask.questions.iter().map(|question| question.text.as_str()).collect();
            map.insert("on".to_owned(), "question".into());
            map.insert("question".to_owned(), asked(&given.reply).or(questions.first().copied()).into());
            map.insert("answer".to_owned(), text(&given.reply).into());
        }
    }
    map.extend(given.reply.reason().map(|reason| ("reason".to_owned(), reason.into())));
    data
}

/// Returns the question that a reply names.
fn asked(reply: &PersonReply) -> Option<&str> {
    let PersonReply::Answers { answers } = reply else { return None };
    answers.first().map(|(question, _)| question.as_str()).filter(|question| !question.is_empty())
}

fn by(by: &AnsweredBy) -> Value {
    match by {
        AnsweredBy::Person(Some(origin)) => json!(origin),
        AnsweredBy::Person(None) => Value::Null,
        AnsweredBy::Default { why } => json!({"way": "default", "why": why}),
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::hook::{Question, ToolCall, ToolName};
    use windlass_core::id::{HookId, NodeId};
    use windlass_core::run::Ask;
    use windlass_core::time::Moment;

    use super::*;

    fn given(ask: Ask, reply: PersonReply, origin: Option<AnswerOrigin>) -> GivenAnswer {
        GivenAnswer { at: Moment(0), ask, reply, by: AnsweredBy::Person(origin) }
    }

    fn question() -> Ask {
        let question = Question::of_workflow("Ship it?", &["yes".to_owned(), "no".to_owned()]);
        Ask::question(NodeId::new("ship"), HookId::new("ask/ship"), vec![question])
    }

    fn anna(way: &str, tty: Option<&str>) -> Option<AnswerOrigin> {
        let (user, way) = ("anna".to_owned(), way.to_owned());
        Some(AnswerOrigin { user, way, pid: 7, tty: tty.map(str::to_owned) })
    }

    fn yes() -> PersonReply {
        PersonReply::Answers { answers: vec![(String::new(), "yes\u{1b}[2J".to_owned())] }
    }

    #[test]
    fn an_answer_says_who_gave_it_and_from_where() {
        let line = |reply, origin| answered(&given(question(), reply, origin));
        assert_eq!(
            line(yes(), anna("windlass answer", Some("pts/3"))),
            "answered by anna (windlass answer, pts/3): yes^[[2J"
        );
        assert_eq!(line(yes(), anna("terminal", Some("pts/3"))), "answered by anna (pts/3): yes^[[2J");
        let reject = PersonReply::Reject { reason: "not today".to_owned() };
        assert_eq!(
            line(reject, anna("windlass approve", None)),
            "answered by anna (windlass approve, process 7): no (not today)"
        );
        assert_eq!(line(PersonReply::Approve, None), "answered: yes", "an older log does not say who");
    }

    #[test]
    fn a_permission_is_allowed_or_refused() {
        let call = ToolCall { tool: ToolName::Shell, name: "Bash".to_owned(), input: json!({}) };
        let ask = Ask::permission(NodeId::new("ship"), HookId::new("h"), call);
        let line = |reply| answered(&given(ask.clone(), reply, anna("terminal", Some("pts/3"))));
        assert_eq!(line(PersonReply::Approve), "allowed by anna (pts/3): Bash");
        let reject = PersonReply::Reject { reason: "not\nhere".to_owned() };
        assert_eq!(line(reject.clone()), "refused by anna (pts/3): not here");
        let data = object(&given(ask, reject, None));
        assert_eq!(
            (&data["decision"], &data["reason"], &data["by"]),
            (&json!("deny"), &json!("not\nhere"), &json!(null))
        );
    }

    #[test]
    fn the_answer_of_this_process_names_nobody() {
        let mut origin = anna("terminal", Some("pts/3")).unwrap();
        origin.pid = std::process::id();
        assert_eq!(answered(&given(question(), yes(), Some(origin))), "answered: yes^[[2J");
    }
}
