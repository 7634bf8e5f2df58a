//! Questions answered where the run is watched: what waits is shown, a line is read, and the
//! answer takes the same way as that of `windlass answer`.
//!
//! Whoever answers first is heard. When that was somebody elsewhere, the line is taken away.

use windlass_core::event::{Event, PersonReply, Record};
use windlass_core::id::{HookId, RunId};
use windlass_core::run::{Ask, News, Waiting};
use windlass_runtime::error::RunError;
use windlass_runtime::handle::Handle;

use super::feed::{Face, Point, Typed};
use super::keyboard::Keyboard;
use super::output::Out;
use super::plain::plain_short;
use super::report::{ask_for_line, note};
use super::screen::{Screen, Tone};

/// The longest answer that is shown again.
const ANSWER: usize = 200;

/// A person at the terminal.
pub(crate) struct Inline {
    handle: Handle,
    run: RunId,
    screen: Screen,
    keyboard: Keyboard,
    waiting: Asks,
    /// What is asked on the screen now.
    shown: Option<Point>,
    /// The call that was asked about last.
    last: Option<HookId>,
}

impl Inline {
    /// With what already waits.
    pub(crate) fn new(handle: &Handle, run: &RunId, screen: Screen, asks: &[Ask]) -> Inline {
        let (handle, run, waiting) = (handle.clone(), run.clone(), Asks(asks.to_vec()));
        Inline { handle, run, screen, keyboard: Keyboard::of_stdin(), waiting, shown: None, last: None }
    }

    /// A line that was typed; for ever none while nothing is asked.
    pub(crate) async fn line(&self) -> String {
        match self.shown {
            Some(_) => self.keyboard.line().await,
            None => std::future::pending().await,
        }
    }

    /// Sees what happened, and takes a question away that is none any more.
    pub(crate) fn see(&mut self, face: &mut Face, out: &mut Out, record: &Record) {
        self.waiting.see(record);
        let by_somebody = matches!(record.event, Event::PersonAnswered { .. });
        if self.shown.is_some() && self.shown != self.waiting.first() {
            self.shown = None;
            self.keyboard.forget();
            face.close_input(out);
            if by_somebody {
                self.write(face, out, "answered elsewhere");
            }
        }
    }

    /// Shows what waits, unless it is shown.
    pub(crate) fn ask(&mut self, face: &mut Face, out: &mut Out) {
        if self.shown.is_some() {
            return;
        }
        let Some(point) = self.waiting.first() else { return };
        if self.last.as_ref() != Some(&point.hook) {
            self.keyboard.forget();
        }
        self.last = Some(point.hook.clone());
        for line in point.lines(&self.run) {
            self.write(face, out, &line);
        }
        if self.is_in_feed() {
            face.open_input(out);
        } else {
            ask_for_line();
        }
        self.shown = Some(point);
    }

    /// Takes a line as the answer to what is shown.
    pub(crate) async fn take(&mut self, face: &mut Face, out: &mut Out, line: &str) {
        let Some(point) = self.shown.take() else { return };
        face.input_entered();
        match point.read(line) {
            Typed::Nothing => {
                self.waiting.drop(&point.hook);
                self.write(face, out, &format!("left waiting; {}", point.elsewhere(&self.run)));
            }
            Typed::Unclear(what) => self.write(face, out, what),
            Typed::Reply(reply) => {
                let told = self.reply(&point, reply).await;
                self.write(face, out, &told);
            }
        }
        self.ask(face, out);
    }

    /// Leaves the reply for the run, and says what came of it.
    async fn reply(&mut self, point: &Point, reply: PersonReply) -> String {
        let said = match &reply {
            PersonReply::Answers { answers } => {
                answers.first().map(|(_, answer)| answer.clone()).unwrap_or_default()
            }
            PersonReply::Approve => "allowed".to_owned(),
            PersonReply::Reject { .. } => "refused".to_owned(),
        };
        let (handle, run, hook, sent) =
            (self.handle.clone(), self.run.clone(), point.hook.clone(), reply.clone());
        // It waits for the owner to notice, and the owner lives in this thread.
        let sent = tokio::task::spawn_blocking(move || handle.answer(&run, Some(hook), sent)).await;
        match sent.unwrap_or(Err(RunError::Abandoned)) {
            Ok(()) => {
                self.waiting.answered(Some(&point.hook), &reply);
                format!("answered: {}", plain_short(&said, ANSWER))
            }
            Err(RunError::AlreadyAnswered(_) | RunError::NothingAsked(_)) => {
                self.waiting.drop(&point.hook);
                "answered elsewhere".to_owned()
            }
            Err(error) => {
                self.waiting.drop(&point.hook);
                format!("not answered: {error}; {}", point.elsewhere(&self.run))
            }
        }
    }

    /// Whether the terminal shows the feed as well, or standard error alone.
    fn is_in_feed(&self) -> bool {
        self.screen.redraws
    }

    fn write(&self, face: &mut Face, out: &mut Out, line: &str) {
        let line = format!("  {line}");
        if self.is_in_feed() {
            face.write(out, &[self.screen.paint(Tone::Careful, &line)]);
        } else {
            note(&line);
        }
    }
}

/// What waits for the person here, oldest first.
struct Asks(Vec<Ask>);

impl Asks {
    fn see(&mut self, record: &Record) {
        match &record.event {
            Event::PersonAnswered { hook, reply, .. } => self.answered(hook.as_ref(), reply),
            // Nobody is left to hear an answer.
            Event::SessionEnded { .. } => self.0.clear(),
            _ => {}
        }
        for news in &record.news {
            match news {
                News::Waiting(Waiting::Person(ask)) if self.0.iter().all(|other| other.hook != ask.hook) => {
                    self.0.push(ask.clone());
                }
                News::HookDecided { hook, .. } => self.drop(hook),
                _ => {}
            }
        }
    }

    /// Some of several questions may still be open after an answer.
    fn answered(&mut self, hook: Option<&HookId>, reply: &PersonReply) {
        let mut asks = self.0.iter_mut();
        let Some(ask) = asks.find(|ask| hook.is_none_or(|hook| ask.hook == *hook)) else { return };
        match reply {
            PersonReply::Answers { answers } if answers.iter().all(|(question, _)| !question.is_empty()) => {
                ask.answers.extend(answers.iter().cloned());
            }
            _ => {
                let hook = ask.hook.clone();
                self.drop(&hook);
            }
        }
    }

    fn drop(&mut self, hook: &HookId) {
        self.0.retain(|ask| ask.hook != *hook);
    }

    /// The oldest that is open.
    fn first(&self) -> Option<Point> {
        self.0.iter().find_map(Point::first_of)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::event::RECORD_VERSION;
    use windlass_core::hook::Answer;
    use windlass_core::id::InboxId;
    use windlass_core::time::Moment;

    use super::*;

    fn record(event: Event, news: Vec<News>) -> Record {
        Record { v: RECORD_VERSION, at: Moment(0), event, effects: Vec::new(), news }
    }

    fn asked(hook: &str, questions: Value) -> Record {
        let input = json!({ "questions": questions });
        let ask = Ask { hook: HookId::new(hook), tool: None, input, answers: Vec::new() };
        record(Event::CleanedUp, vec![News::Waiting(Waiting::Person(ask))])
    }

    fn answered(hook: &str, question: &str) -> Record {
        let reply = PersonReply::Answers { answers: vec![(question.to_owned(), "x".to_owned())] };
        let (inbox, hook) = (InboxId::new("i"), Some(HookId::new(hook)));
        record(Event::PersonAnswered { inbox, hook, reply }, Vec::new())
    }

    fn first(asks: &Asks) -> Option<String> {
        asks.first().map(|point| point.lines(&RunId::new("k3f9"))[0].clone())
    }

    #[test]
    fn questions_are_asked_one_after_the_other_and_withdrawn_when_answered_elsewhere() {
        let mut asks = Asks(Vec::new());
        asks.see(&asked("a", json!([{ "question": "One?" }, { "question": "Two?" }])));
        asks.see(&asked("b", json!([{ "question": "Three?" }])));
        assert_eq!(first(&asks).as_deref(), Some("the agent asks (1 of 2): One?"));
        asks.see(&answered("a", "One?"));
        assert_eq!(first(&asks).as_deref(), Some("the agent asks (2 of 2): Two?"));
        asks.see(&answered("a", "Two?"));
        assert_eq!(first(&asks).as_deref(), Some("the agent asks: Three?"));
        asks.see(&answered("b", ""));
        assert_eq!(first(&asks), None);
    }

    #[test]
    fn what_the_run_decided_itself_is_asked_no_more() {
        let mut asks = Asks(Vec::new());
        asks.see(&asked("a", json!([{ "question": "One?" }])));
        asks.see(&asked("a", json!([{ "question": "One?" }])));
        let (hook, answer) = (HookId::new("a"), Answer::Deny { reason: "this run is over".to_owned() });
        let decided = News::HookDecided { hook, asked: "question".to_owned(), tool: None, answer };
        asks.see(&record(Event::CancelAsked { inbox: None }, vec![decided]));
        assert_eq!(first(&asks), None);
    }
}
