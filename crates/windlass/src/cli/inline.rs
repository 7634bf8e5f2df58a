//! Questions answered where the run is watched: what waits is shown, a line is read, and the
//! answer takes the same way as that of `windlass answer`.
//!
//! Whoever answers first is heard. When that was somebody elsewhere, the line is taken away.

use windlass_core::event::{Event, PersonReply, Record};
use windlass_core::id::{HookId, NodeId, RunId};
use windlass_core::run::{Ask, News, State, Waiting};
use windlass_runtime::error::RunError;
use windlass_runtime::handle::Handle;

use super::asks::{open_asks, whose};
use super::feed::{Beside, Face, Point, Typed, Whose, choice, choices};
use super::keyboard::{Echo, Keyboard};
use super::output::Out;
use super::plain::plain_short;
use super::report::{ask_for_line, note};
use super::screen::{Screen, Tone};
use super::typing::Typing;

/// The longest answer that is shown again.
const ANSWER: usize = 200;

/// A person at the terminal.
pub(crate) struct Inline {
    handle: Handle,
    run: RunId,
    screen: Screen,
    keyboard: Keyboard,
    typing: Typing,
    waiting: Asks,
    whose: Whose,
    /// What is asked on the screen now.
    shown: Option<Point>,
    /// The call that was asked about last, and its run.
    last: Option<(RunId, HookId)>,
}

impl Inline {
    /// With what already waits, in the run and in those that were started from it.
    pub(crate) fn new(handle: &Handle, state: &State, screen: Screen) -> Inline {
        let whose = whose(&state.spec);
        let waiting = Asks(open_asks(handle, state));
        let keyboard = Keyboard::of_stdin(if screen.redraws { Echo::Feed } else { Echo::Terminal });
        let (handle, run, typing) = (handle.clone(), state.run.clone(), Typing::default());
        Inline { handle, run, screen, keyboard, typing, waiting, whose, shown: None, last: None }
    }

    /// What is typed next. Where the terminal echoes, for ever nothing while nothing is asked.
    pub(crate) async fn keys(&mut self) -> Vec<u8> {
        if self.shown.is_none() && !self.is_in_feed() {
            return std::future::pending().await;
        }
        self.keyboard.read().await
    }

    /// Sees what happened, and takes a question away that is none any more.
    pub(crate) fn see(&mut self, face: &mut Face, out: &mut Out, child: Option<&RunId>, record: &Record) {
        self.waiting.see(child.unwrap_or(&self.run), record);
        let by_somebody = matches!(record.event, Event::PersonAnswered { .. });
        if self.shown != self.waiting.first(self.whose)
            && let Some(point) = self.shown.take()
        {
            self.forget();
            face.close_input(out);
            if by_somebody {
                self.write(face, out, &point.run, "answered elsewhere");
            }
        }
    }

    /// Shows what waits, unless it can be seen.
    pub(crate) fn ask(&mut self, face: &mut Face, out: &mut Out) {
        if let Some(point) = &self.shown {
            if self.is_out_of_sight(face, point) {
                self.show(face, out, point);
            }
            return;
        }
        let Some(point) = self.waiting.first(self.whose) else { return };
        let call = Some((point.run.clone(), point.hook.clone()));
        if self.last != call {
            self.forget();
        }
        self.last = call;
        self.show(face, out, &point);
        self.shown = Some(point);
        face.type_in(self.typing.text());
    }

    fn show(&self, face: &mut Face, out: &mut Out, point: &Point) {
        for line in point.lines(self.waiting.beside()) {
            self.write(face, out, &point.run, &line);
        }
        if self.is_in_feed() {
            face.open_input(out);
        } else {
            ask_for_line();
        }
    }

    /// Whether the feed has moved the question off the screen.
    fn is_out_of_sight(&self, face: &Face, point: &Point) -> bool {
        let below = face.lines_since_input() + point.lines(self.waiting.beside()).len() + 1;
        self.is_in_feed() && below > self.screen.rows()
    }

    /// What was typed so far is meant for nothing any more.
    fn forget(&mut self) {
        self.keyboard.forget();
        self.typing = Typing::default();
    }

    /// Takes what was typed. While nothing is asked it is no answer.
    pub(crate) async fn take(&mut self, face: &mut Face, out: &mut Out, keys: &[u8]) {
        if self.shown.is_none() {
            return;
        }
        // The terminal gives whole lines, and an empty one when it is gone.
        if !self.is_in_feed() || keys.is_empty() {
            let line = String::from_utf8_lossy(keys).into_owned();
            return self.enter(face, out, &line).await;
        }
        self.typing.add(keys);
        while self.shown.is_some()
            && let Some(line) = self.typing.line()
        {
            self.enter(face, out, &line).await;
        }
        face.type_in(self.typing.text());
    }

    /// Takes a line as the answer to what is shown.
    async fn enter(&mut self, face: &mut Face, out: &mut Out, line: &str) {
        let Some(point) = self.shown.take() else { return };
        face.input_entered(out, line);
        let told = match point.read(line) {
            Typed::Nothing => {
                let elsewhere = point.elsewhere(self.waiting.beside());
                self.waiting.drop(&point.run, &point.hook);
                format!("left waiting; {elsewhere}")
            }
            Typed::Unclear(what) => what,
            Typed::Reply(reply) => self.reply(&point, reply).await,
        };
        self.write(face, out, &point.run, &told);
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
            (self.handle.clone(), point.run.clone(), point.hook.clone(), reply.clone());
        // It waits for the owner to notice, and the owner lives in this thread.
        let sent = tokio::task::spawn_blocking(move || handle.answer(&run, Some(hook), sent)).await;
        match sent.unwrap_or(Err(RunError::Abandoned)) {
            Ok(()) => {
                self.waiting.answered(&point.run, Some(&point.hook), &reply);
                format!("answered: {}", plain_short(&said, ANSWER))
            }
            Err(RunError::AlreadyAnswered(_) | RunError::NothingAsked(_)) => {
                self.waiting.drop(&point.run, &point.hook);
                "answered elsewhere".to_owned()
            }
            Err(error) => {
                let elsewhere = point.elsewhere(self.waiting.beside());
                self.waiting.drop(&point.run, &point.hook);
                format!("not answered: {error}; {elsewhere}")
            }
        }
    }

    /// Whether the terminal shows the feed as well, or standard error alone.
    fn is_in_feed(&self) -> bool {
        self.screen.redraws
    }

    /// Says something about what a run asks; of one within the run, with the node that started it.
    fn write(&self, face: &mut Face, out: &mut Out, run: &RunId, line: &str) {
        let line = format!("  {line}");
        if self.is_in_feed() {
            let lines = face.labelled(run, vec![self.screen.paint(Tone::Careful, &line)]);
            face.write(out, &lines);
        } else {
            face.labelled(run, vec![line]).iter().for_each(|line| note(line));
        }
    }
}

/// What waits for the person here and in which run, oldest first.
struct Asks(Vec<(RunId, Ask)>);

impl Asks {
    fn see(&mut self, run: &RunId, record: &Record) {
        match &record.event {
            Event::PersonAnswered { hook, reply, .. } => self.answered(run, hook.as_ref(), reply),
            // Nobody is left to hear an answer.
            Event::SessionEnded { effect, .. } => self.forget(run, &effect.node),
            _ => {}
        }
        for news in &record.news {
            match news {
                News::Waiting(Waiting::Person(ask)) => self.add(run, ask),
                News::HookDecided { hook, .. } => self.drop(run, hook),
                News::NodeFinished { node, .. } => self.forget(run, node),
                News::Finished { .. } => self.0.retain(|(other, _)| other != run),
                _ => {}
            }
        }
    }

    fn add(&mut self, run: &RunId, ask: &Ask) {
        let is_known = |(other, known): &(RunId, Ask)| other == run && known.hook == ask.hook;
        if !self.0.iter().any(is_known) {
            self.0.push((run.clone(), ask.clone()));
        }
    }

    /// Some of several questions may still be open after an answer, and what is none of the
    /// choices is no answer.
    fn answered(&mut self, run: &RunId, hook: Option<&HookId>, reply: &PersonReply) {
        let is_meant =
            |(other, ask): &&mut (RunId, Ask)| other == run && hook.is_none_or(|hook| ask.hook == *hook);
        let Some((_, ask)) = self.0.iter_mut().find(is_meant) else { return };
        let choices = choices(ask);
        match reply {
            PersonReply::Answers { answers }
                if !choices.is_empty()
                    && answers.iter().all(|(_, text)| choice(&choices, text).is_none()) => {}
            PersonReply::Answers { answers } if answers.iter().all(|(question, _)| !question.is_empty()) => {
                ask.answers.extend(answers.iter().cloned());
            }
            _ => {
                let hook = ask.hook.clone();
                self.drop(run, &hook);
            }
        }
    }

    fn drop(&mut self, run: &RunId, hook: &HookId) {
        self.0.retain(|(other, ask)| other != run || ask.hook != *hook);
    }

    /// A node is no longer there to hear an answer.
    fn forget(&mut self, run: &RunId, node: &NodeId) {
        self.0.retain(|(other, ask)| other != run || ask.node != *node);
    }

    /// Whether the oldest is not the only one.
    fn beside(&self) -> Beside {
        Beside::of(self.0.len())
    }

    /// The oldest that is open.
    fn first(&self, whose: Whose) -> Option<Point> {
        self.0.iter().find_map(|(run, ask)| Point::first_of(run, ask, whose))
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
        let (node, hook) = (NodeId::new("loop"), HookId::new(hook));
        let ask = Ask { node, hook, tool: None, input, answers: Vec::new() };
        record(Event::OwnerChanged, vec![News::Waiting(Waiting::Person(ask))])
    }

    fn answered(hook: &str, question: &str) -> Record {
        says(hook, question, "x")
    }

    fn says(hook: &str, question: &str, text: &str) -> Record {
        let reply = PersonReply::Answers { answers: vec![(question.to_owned(), text.to_owned())] };
        let (inbox, hook) = (InboxId::new("i"), Some(HookId::new(hook)));
        record(Event::PersonAnswered { inbox, hook, reply }, Vec::new())
    }

    fn first(asks: &Asks) -> Option<String> {
        asks.first(Whose::Only).map(|point| point.lines(Beside::Nothing)[0].clone())
    }

    fn see(asks: &mut Asks, record: &Record) {
        asks.see(&RunId::new("k3f9"), record);
    }

    #[test]
    fn questions_are_asked_one_after_the_other_and_withdrawn_when_answered_elsewhere() {
        let mut asks = Asks(Vec::new());
        see(&mut asks, &asked("a", json!([{ "question": "One?" }, { "question": "Two?" }])));
        see(&mut asks, &asked("b", json!([{ "question": "Three?" }])));
        assert_eq!(first(&asks).as_deref(), Some("the agent asks (1 of 2): One?"));
        see(&mut asks, &answered("a", "One?"));
        assert_eq!(first(&asks).as_deref(), Some("the agent asks (2 of 2): Two?"));
        see(&mut asks, &answered("a", "Two?"));
        assert_eq!(first(&asks).as_deref(), Some("the agent asks: Three?"));
        see(&mut asks, &answered("b", ""));
        assert_eq!(first(&asks), None);
    }

    #[test]
    fn what_the_run_decided_itself_is_asked_no_more() {
        let mut asks = Asks(Vec::new());
        see(&mut asks, &asked("a", json!([{ "question": "One?" }])));
        see(&mut asks, &asked("a", json!([{ "question": "One?" }])));
        let (hook, answer) = (HookId::new("a"), Answer::Deny { reason: "this run is over".to_owned() });
        let decided = News::HookDecided { hook, asked: "question".to_owned(), tool: None, answer };
        see(&mut asks, &record(Event::CancelAsked { inbox: None }, vec![decided]));
        assert_eq!(first(&asks), None);
    }

    #[test]
    fn a_question_of_the_workflow_stays_until_it_is_answered_with_a_choice() {
        let mut asks = Asks(Vec::new());
        let options = json!([{ "label": "yes" }, { "label": "no" }]);
        see(&mut asks, &asked("ask/loop", json!([{ "question": "Ship it?", "options": options }])));
        see(&mut asks, &says("ask/loop", "", "perhaps"));
        assert_eq!(first(&asks).as_deref(), Some("`loop` asks: Ship it?"));
        see(&mut asks, &says("ask/loop", "", "Yes"));
        assert_eq!(first(&asks), None);
    }

    #[test]
    fn each_run_has_its_own_questions() {
        let mut asks = Asks(Vec::new());
        let (one, two) = (RunId::new("one"), RunId::new("two"));
        asks.see(&one, &asked("a", json!([{ "question": "One?" }])));
        asks.see(&two, &asked("a", json!([{ "question": "Two?" }])));
        assert_eq!(asks.first(Whose::Only).map(|point| point.run), Some(one.clone()));
        asks.see(&one, &answered("a", ""));
        assert_eq!(asks.first(Whose::Only).map(|point| point.run), Some(two));
    }
}
