//! Lets a person answer questions in the terminal that shows the run: shows the question, reads a line, and
//! hands the answer to the run as `windlass answer` does.
//!
//! The first answer counts. If somebody answers elsewhere first, the prompt disappears. An empty line never
//! discards a question: it takes the default, goes to the next question, or says what to type. Ctrl-D leaves the
//! run, and its questions, in the background.

use windlass_core::event::{PersonReply, Record};
use windlass_core::id::{HookId, RunId};
use windlass_core::run::Ask;
use windlass_runtime::error::RunError;
use windlass_runtime::handle::Handle;
use windlass_runtime::person::AnswerWay;
use windlass_runtime::view::{Family, OpenAsks};

use super::asks::asker;
use super::feed::{Asker, Face, OtherRequests, PersonPrompt, TypedAnswer, default_of, fold};
use super::keyboard::{Echo, Keyboard};
use super::output::OutputWriter;
use super::report::{ask_for_line, note};
use super::sanitize::plain_short;
use super::terminal::{Terminal, TextTone};
use super::typing::{PromptLine, Typing};

/// The longest answer that is shown again.
const ANSWER: usize = 200;

/// The line that says how to leave a question. The keys of the feed are text there.
const LEAVE: &str = "Ctrl-D leaves the run in the background";

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
    /// The requests that the person puts off: the others come first.
    later: Vec<(RunId, HookId)>,
}

impl TerminalPrompt {
    /// Creates the prompt with the open requests of the run and of the runs below it.
    pub(crate) fn new(handle: &Handle, family: Family, screen: Terminal) -> TerminalPrompt {
        let asker = asker(&family.root().spec);
        let keyboard = Keyboard::of_stdin(if screen.redraws { Echo::Feed } else { Echo::Terminal });
        let (handle, typing, waiting) = (handle.clone(), Typing::default(), OpenAsks::of(family));
        let (shown, last, later) = (None, None, Vec::new());
        TerminalPrompt { handle, screen, keyboard, typing, waiting, asker, shown, last, later }
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
        // The feed says who answered.
        if self.shown != self.first() && self.shown.take().is_some() {
            self.forget();
            face.close_input(out);
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
            self.write(face, out, &point.run, LEAVE);
            face.open_input(out);
        } else {
            ask_for_line();
        }
    }

    /// Returns whether the feed has scrolled the question off the screen.
    fn is_out_of_sight(&self, face: &Face, point: &PersonPrompt) -> bool {
        let below = face.lines_since_input() + point.lines(self.beside()).len() + 2;
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
        self.take_answer(face, out, keys).await
    }

    async fn take_answer(&mut self, face: &mut Face, out: &mut OutputWriter, keys: &[u8]) -> Option<FeedKey> {
        // A closed terminal gives nothing, again and again.
        if keys.is_empty() {
            self.leave(face, out);
            return None;
        }
        // An echoing terminal gives whole lines.
        if !self.is_in_feed() {
            let line = String::from_utf8_lossy(keys).into_owned();
            self.enter(face, out, &line).await;
            return None;
        }
        self.typing.add(keys);
        while self.shown.is_some()
            && let Some(line) = self.typing.line()
        {
            match line {
                PromptLine::Entered(line) => self.enter(face, out, &line).await,
                PromptLine::Leave => return Some(FeedKey::Leave),
            }
        }
        face.type_in(self.typing.text());
        None
    }

    /// Takes a line as the answer to the request on the screen.
    async fn enter(&mut self, face: &mut Face, out: &mut OutputWriter, line: &str) {
        let Some(point) = self.shown.take() else { return };
        face.input_entered(out, line);
        let told = match point.read(line) {
            TypedAnswer::Nothing(keys) if self.beside() == OtherRequests::Nothing => {
                return self.stay(face, out, point, &keys);
            }
            TypedAnswer::Nothing(_) => {
                self.put_off(&point);
                Some("not answered yet".to_owned())
            }
            TypedAnswer::Unclear(what) => Some(what),
            TypedAnswer::Reply(reply) => self.reply(&point, reply).await,
        };
        if let Some(told) = told {
            self.write(face, out, &point.run, &told);
        }
        self.ask(face, out);
    }

    /// Says what to type, and leaves the question on the screen.
    fn stay(&mut self, face: &mut Face, out: &mut OutputWriter, point: PersonPrompt, keys: &str) {
        self.write(face, out, &point.run, keys);
        if self.is_in_feed() {
            face.open_input(out);
        } else {
            ask_for_line();
        }
        self.shown = Some(point);
    }

    /// Puts the other open requests first.
    fn put_off(&mut self, point: &PersonPrompt) {
        self.later.retain(|(run, hook)| (run, hook) != (&point.run, &point.hook));
        self.later.push((point.run.clone(), point.hook.clone()));
    }

    /// Leaves the request to somebody at another terminal.
    fn leave(&mut self, face: &mut Face, out: &mut OutputWriter) {
        let Some(point) = self.shown.take() else { return };
        face.close_input(out);
        let elsewhere = point.elsewhere(self.beside());
        self.waiting.leave(&point.run, &point.hook);
        self.write(face, out, &point.run, &format!("not answered yet; {elsewhere}"));
        self.ask(face, out);
    }

    /// Hands the reply to the run. Returns a message, unless the feed on this terminal shows the answer.
    async fn reply(&mut self, point: &PersonPrompt, reply: PersonReply) -> Option<String> {
        let said = match &reply {
            PersonReply::Answers { answers } => {
                answers.first().map(|(_, answer)| answer.clone()).unwrap_or_default()
            }
            PersonReply::Approve => "allowed".to_owned(),
            PersonReply::Reject { .. } => "refused".to_owned(),
        };
        let (run, hook) = (&point.run, &point.hook);
        match self.handle.answer(run, Some(hook.clone()), reply, AnswerWay::Terminal).await {
            Ok(()) => {
                self.waiting.answered(run, hook);
                (!self.is_in_feed()).then(|| format!("answered: {}", plain_short(&said, ANSWER)))
            }
            Err(RunError::AlreadyAnswered(_) | RunError::NothingAsked(_)) => {
                self.waiting.leave(run, hook);
                Some("answered elsewhere".to_owned())
            }
            Err(error) => {
                let elsewhere = point.elsewhere(self.beside());
                self.waiting.leave(run, hook);
                Some(format!("not answered: {error}; {elsewhere}"))
            }
        }
    }

    /// Returns the first open request. Requests that the person put off come last.
    fn first(&self) -> Option<PersonPrompt> {
        let place = |run: &RunId, hook: &HookId| self.later.iter().position(|(r, h)| (r, h) == (run, hook));
        let mut open: Vec<&(RunId, Ask)> = self.waiting.list().iter().collect();
        open.sort_by_key(|(run, ask)| place(run, &ask.hook).map_or(0, |at| at + 1));
        first(&open, self.asker, |run, ask| {
            self.waiting.spec_of(run).and_then(|spec| default_of(spec, ask)).map(str::to_owned)
        })
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
            let mut screen = self.screen;
            screen.measure();
            let lines = fold(&line, screen.width.saturating_sub(1));
            let lines = lines.iter().map(|line| self.screen.paint(TextTone::Careful, line)).collect();
            face.write(out, &face.labelled(run, lines));
        } else {
            face.labelled(run, vec![line]).iter().for_each(|line| note(line));
        }
    }
}

/// Returns the first question that can be asked.
fn first(
    open: &[&(RunId, Ask)],
    whose: Asker,
    default: impl Fn(&RunId, &Ask) -> Option<String>,
) -> Option<PersonPrompt> {
    open.iter().find_map(|(run, ask)| PersonPrompt::first_of(run, ask, whose, default(run, ask).as_deref()))
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
        let open: Vec<_> = open.iter().collect();
        let first = first(&open, Asker::Only, |_, _| None);
        first.map(|point| point.lines(OtherRequests::Nothing)[0].clone())
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
