//! Lets a person answer questions in the terminal that shows the run: shows the question, reads a line, and
//! hands the answer to the run as `windlass answer` does.
//!
//! The first answer counts. If somebody answers elsewhere first, the prompt disappears.

use windlass_core::event::{Event, PersonReply, Record};
use windlass_core::id::{HookId, RunId};
use windlass_core::run::Ask;
use windlass_runtime::error::RunError;
use windlass_runtime::handle::Handle;
use windlass_runtime::view::{Family, OpenAsks};

use super::asks::asker;
use super::feed::{Asker, Face, OtherRequests, PersonPrompt, TypedAnswer};
use super::keyboard::{Echo, Keyboard};
use super::output::OutputWriter;
use super::report::{ask_for_line, note};
use super::sanitize::plain_short;
use super::terminal::{Terminal, TextTone};
use super::typing::Typing;

/// The longest answer that is shown again.
const ANSWER: usize = 200;

/// A key that controls the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedKey {
    /// Leave the run in the background.
    Leave,
}

/// The prompt for a person at the terminal.
pub(crate) struct TerminalPrompt {
    handle: Handle,
    screen: Terminal,
    keyboard: Keyboard,
    typing: Typing,
    waiting: OpenAsks,
    asker: Asker,
    /// The request on the screen.
    shown: Option<PersonPrompt>,
    /// The last request that was shown, and its run.
    last: Option<(RunId, HookId)>,
}

impl TerminalPrompt {
    /// Creates the prompt with the open requests of the run and of the runs below it.
    pub(crate) fn new(handle: &Handle, family: Family, screen: Terminal) -> TerminalPrompt {
        let asker = asker(&family.root().spec);
        let keyboard = Keyboard::of_stdin(if screen.redraws { Echo::Feed } else { Echo::Terminal });
        let (handle, typing, waiting) = (handle.clone(), Typing::default(), OpenAsks::of(family));
        TerminalPrompt { handle, screen, keyboard, typing, waiting, asker, shown: None, last: None }
    }

    /// Waits for keys. If the terminal itself echoes and no question is open, waits for ever.
    pub(crate) async fn keys(&mut self) -> Vec<u8> {
        if self.shown.is_none() && !self.is_in_feed() {
            return std::future::pending().await;
        }
        self.keyboard.read().await
    }

    /// Takes a record into account, and removes the prompt if its request is no longer open.
    pub(crate) fn see(
        &mut self,
        face: &mut Face,
        out: &mut OutputWriter,
        run: &RunId,
        seq: u64,
        record: &Record,
    ) {
        self.waiting.see(run, seq, record);
        let by_somebody = matches!(record.event, Event::PersonAnswered { .. });
        if self.shown != self.first()
            && let Some(point) = self.shown.take()
        {
            self.forget();
            face.close_input(out);
            if by_somebody {
                self.write(face, out, &point.run, "answered elsewhere");
            }
        }
    }

    /// Shows the first open request, unless it is visible already.
    pub(crate) fn ask(&mut self, face: &mut Face, out: &mut OutputWriter) {
        if let Some(point) = &self.shown {
            if self.is_out_of_sight(face, point) {
                self.show(face, out, point);
            }
            return;
        }
        let Some(point) = self.first() else { return };
        let call = Some((point.run.clone(), point.hook.clone()));
        if self.last != call {
            self.forget();
        }
        self.last = call;
        self.show(face, out, &point);
        self.shown = Some(point);
        face.type_in(self.typing.text());
    }

    fn show(&self, face: &mut Face, out: &mut OutputWriter, point: &PersonPrompt) {
        for line in point.lines(self.beside()) {
            self.write(face, out, &point.run, &line);
        }
        if self.is_in_feed() {
            face.open_input(out);
        } else {
            ask_for_line();
        }
    }

    /// Returns whether the feed has scrolled the question off the screen.
    fn is_out_of_sight(&self, face: &Face, point: &PersonPrompt) -> bool {
        let below = face.lines_since_input() + point.lines(self.beside()).len() + 1;
        self.is_in_feed() && below > self.screen.rows()
    }

    /// Drops what was typed so far.
    fn forget(&mut self) {
        self.keyboard.forget();
        self.typing = Typing::default();
    }

    /// Takes typed keys: an answer if a question is open, and a key of the feed otherwise.
    pub(crate) async fn take(
        &mut self,
        face: &mut Face,
        out: &mut OutputWriter,
        keys: &[u8],
    ) -> Option<FeedKey> {
        if self.shown.is_none() {
            return keys.contains(&b'd').then_some(FeedKey::Leave);
        }
        self.take_answer(face, out, keys).await;
        None
    }

    async fn take_answer(&mut self, face: &mut Face, out: &mut OutputWriter, keys: &[u8]) {
        // An echoing terminal gives whole lines, and a closed one gives nothing.
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

    /// Takes a line as the answer to the request on the screen.
    async fn enter(&mut self, face: &mut Face, out: &mut OutputWriter, line: &str) {
        let Some(point) = self.shown.take() else { return };
        face.input_entered(out, line);
        let told = match point.read(line) {
            TypedAnswer::Nothing => {
                let elsewhere = point.elsewhere(self.beside());
                self.waiting.leave(&point.run, &point.hook);
                format!("not answered yet; {elsewhere}")
            }
            TypedAnswer::Unclear(what) => what,
            TypedAnswer::Reply(reply) => self.reply(&point, reply).await,
        };
        self.write(face, out, &point.run, &told);
        self.ask(face, out);
    }

    /// Hands the reply to the run and returns a message about the result.
    async fn reply(&mut self, point: &PersonPrompt, reply: PersonReply) -> String {
        let said = match &reply {
            PersonReply::Answers { answers } => {
                answers.first().map(|(_, answer)| answer.clone()).unwrap_or_default()
            }
            PersonReply::Approve => "allowed".to_owned(),
            PersonReply::Reject { .. } => "refused".to_owned(),
        };
        match self.handle.answer(&point.run, Some(point.hook.clone()), reply).await {
            Ok(()) => {
                self.waiting.answered(&point.run, &point.hook);
                format!("answered: {}", plain_short(&said, ANSWER))
            }
            Err(RunError::AlreadyAnswered(_) | RunError::NothingAsked(_)) => {
                self.waiting.leave(&point.run, &point.hook);
                "answered elsewhere".to_owned()
            }
            Err(error) => {
                let elsewhere = point.elsewhere(self.beside());
                self.waiting.leave(&point.run, &point.hook);
                format!("not answered: {error}; {elsewhere}")
            }
        }
    }

    /// Returns the first open request.
    fn first(&self) -> Option<PersonPrompt> {
        first(self.waiting.list(), self.asker)
    }

    /// Returns whether other requests are open too.
    fn beside(&self) -> OtherRequests {
        OtherRequests::of(self.waiting.list().len())
    }

    /// Returns whether the terminal also shows the feed, and not only standard error.
    fn is_in_feed(&self) -> bool {
        self.screen.redraws
    }

    /// Writes a line about a request. For a run below, adds the node that started it.
    fn write(&self, face: &mut Face, out: &mut OutputWriter, run: &RunId, line: &str) {
        let line = format!("  {line}");
        if self.is_in_feed() {
            let lines = face.labelled(run, vec![self.screen.paint(TextTone::Careful, &line)]);
            face.write(out, &lines);
        } else {
            face.labelled(run, vec![line]).iter().for_each(|line| note(line));
        }
    }
}

/// Returns the oldest open question.
fn first(open: &[(RunId, Ask)], whose: Asker) -> Option<PersonPrompt> {
    open.iter().find_map(|(run, ask)| PersonPrompt::first_of(run, ask, whose))
}

#[cfg(test)]
mod tests {
    use windlass_core::hook::Question;
    use windlass_core::id::NodeId;

    use super::*;

    fn asked(hook: &str, questions: &[&str]) -> (RunId, Ask) {
        let questions = questions.iter().map(|text| Question::open((*text).to_owned()));
        (RunId::new("k3f9"), Ask::question(NodeId::new("loop"), HookId::new(hook), questions.collect()))
    }

    fn first_line(open: &[(RunId, Ask)]) -> Option<String> {
        first(open, Asker::Only).map(|point| point.lines(OtherRequests::Nothing)[0].clone())
    }

    #[test]
    fn questions_are_asked_one_after_the_other() {
        let mut open = vec![asked("a", &["One?", "Two?"]), asked("b", &["Three?"])];
        assert_eq!(first_line(&open).as_deref(), Some("the agent asks (1 of 2): One?"));
        open[0].1.answers.push(("One?".to_owned(), "x".to_owned()));
        assert_eq!(first_line(&open).as_deref(), Some("the agent asks (2 of 2): Two?"));
        open.remove(0);
        assert_eq!(first_line(&open).as_deref(), Some("the agent asks: Three?"));
        assert_eq!(first_line(&[]), None);
    }

    #[test]
    fn a_question_of_the_workflow_names_its_node() {
        let open = [asked("ask/loop", &["Ship it?"])];
        assert_eq!(first_line(&open).as_deref(), Some("`loop` asks: Ship it?"));
    }
}
