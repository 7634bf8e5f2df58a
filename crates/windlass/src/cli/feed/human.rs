//! The feed for people: a header, iterations, what the agent does, checks, waits.
//!
//! Readable without colour. A line at the bottom says how far the run is, on a terminal only.

use windlass_core::agent::AgentEvent;
use windlass_core::event::{Event, Record, SessionEnd};
use windlass_core::hook::Answer;
use windlass_core::id::RunId;
use windlass_core::looping::verdict::CheckResult;
use windlass_core::run::{News, Waiting};
use windlass_core::spec::Spec;
use windlass_core::time::Moment;
use windlass_core::usage::Usage;

use super::agent;
use super::ask;
use super::bottom::Bottom;
use super::face::Style;
use super::words::{self, span};
use super::wrap::{first, wrap};
use crate::cli::plain::{plain, plain_line, plain_short, shorten};
use crate::cli::screen::{Screen, Tone};

/// How many lines of a failed check are shown.
const CHECK_LINES: usize = 10;
/// How many refusals are remembered until their results come.
const REFUSALS: usize = 32;
/// How much of a reason tells it from others.
const REASON: usize = 80;

/// A person who looks at a run.
pub(crate) struct Human {
    screen: Screen,
    style: Style,
    run: RunId,
    started: Option<Moment>,
    workspace: String,
    most: u32,
    iteration: u32,
    /// An iteration that began and has no line yet.
    heading: Option<u32>,
    phase: &'static str,
    usage: Usage,
    /// Why tools were denied whose results have not been seen yet.
    denied: Vec<String>,
    /// Questions are asked where they are answered, and not told here.
    answers_here: bool,
    pub(super) bottom: Bottom,
}

impl Human {
    /// Nothing is shown yet.
    pub(crate) fn new(screen: Screen, style: Style, run: RunId) -> Human {
        Human {
            screen,
            style,
            run,
            started: None,
            workspace: String::new(),
            most: 0,
            iteration: 0,
            heading: None,
            phase: "preparing",
            usage: Usage::default(),
            denied: Vec::new(),
            answers_here: false,
            bottom: Bottom::default(),
        }
    }

    /// The lines of a record.
    pub(crate) fn record(&mut self, record: &Record) -> Vec<String> {
        let mut lines = self.event(record);
        for news in &record.news {
            lines.extend(self.news(news, record.at));
        }
        lines
    }

    fn event(&mut self, record: &Record) -> Vec<String> {
        match &record.event {
            Event::RunStarted { spec } => {
                self.started = Some(record.at);
                self.workspace.clone_from(&spec.workspace);
                self.header(spec)
            }
            Event::SessionEnded { end, .. } => {
                self.ended(end);
                Vec::new()
            }
            Event::ChecksFinished { results, .. } => {
                results.iter().flat_map(|result| self.check(result)).collect()
            }
            Event::CancelAsked { .. } => {
                vec!["cancelling: the agent is ended, then everything is put away".to_owned()]
            }
            Event::OwnerChanged
            | Event::Prepared { .. }
            | Event::SessionStarted { .. }
            | Event::HookAsked { .. }
            | Event::Inspected { .. }
            | Event::WaitOver { .. }
            | Event::RunTimedOut
            | Event::PersonAnswered { .. }
            | Event::CleanedUp => Vec::new(),
        }
    }

    fn ended(&mut self, end: &SessionEnd) {
        self.denied.clear();
        self.usage.add(&end.usage);
        self.phase = "judging";
    }

    /// What is run, on what, where and within which bounds.
    fn header(&mut self, spec: &Spec) -> Vec<String> {
        let dot = self.screen.dot();
        let title = format!(
            "{} on {}{dot}run {}",
            plain_line(&spec.workflow),
            plain_line(&spec.driver.name),
            self.run
        );
        let mut facts = vec![format!("isolation {}", spec.isolation.word())];
        if let Some(rules) = spec.node.rules() {
            self.most = rules.max_iterations;
            facts.insert(0, format!("{} mode", rules.mode.word()));
            facts.insert(1, bound(rules.max_iterations));
        }
        if !spec.checks.is_empty() {
            let names: Vec<String> = spec.checks.iter().map(|check| plain_line(&check.name)).collect();
            facts.push(format!("checks: {}", names.join(", ")));
        }
        vec![
            self.screen.paint(Tone::Strong, &title),
            format!("  in {}", plain_line(&spec.workspace)),
            format!("  {}", facts.join(dot)),
        ]
    }

    fn news(&mut self, news: &News, at: Moment) -> Vec<String> {
        match news {
            News::SessionStarted { iteration, attempt, resumed, .. } => {
                self.session(*iteration, *attempt, *resumed)
            }
            News::HookDecided { tool, answer, .. } => self.decision(tool.as_deref(), answer),
            News::IterationFinished { iteration, goes_on, .. } => {
                self.heading = goes_on.then_some(iteration + 1);
                Vec::new()
            }
            News::Waiting(waiting) => self.waiting(waiting, at),
            News::WaitOver => {
                self.phase = "working";
                vec![self.screen.paint(Tone::Careful, "  going on")]
            }
            News::TakenOver => vec![format!("  taken over: going on where it stood")],
            News::Retrying { what, attempt } => {
                let text = format!("  {}: trying again (attempt {attempt})", plain_short(what, 200));
                vec![self.screen.paint(Tone::Careful, &text)]
            }
            // The summary is made where the changed files are known.
            News::Finished { .. } => Vec::new(),
        }
    }

    fn session(&mut self, iteration: u32, attempt: u32, resumed: bool) -> Vec<String> {
        self.phase = "working";
        self.heading = (iteration != self.iteration).then_some(iteration);
        let lines = self.heading();
        if attempt == 1 || !lines.is_empty() {
            return lines;
        }
        let how = if resumed { "the session goes on" } else { "a new session begins" };
        vec![self.screen.paint(Tone::Faint, &format!("  {how} (attempt {attempt})"))]
    }

    /// The line that opens an iteration, once.
    fn heading(&mut self) -> Vec<String> {
        let Some(iteration) = self.heading.take() else { return Vec::new() };
        self.iteration = iteration;
        self.phase = "working";
        vec![String::new(), self.screen.paint(Tone::Strong, &self.place())]
    }

    fn place(&self) -> String {
        match self.most {
            0 => format!("iteration {}", self.iteration),
            most => format!("iteration {} of {most}", self.iteration),
        }
    }

    /// Only refusals are told: what is allowed is seen being done.
    fn decision(&mut self, tool: Option<&str>, answer: &Answer) -> Vec<String> {
        let Answer::Deny { reason } = answer else { return Vec::new() };
        self.denied.push(reason.clone());
        self.denied.drain(..self.denied.len().saturating_sub(REFUSALS));
        let tool = plain_line(tool.unwrap_or("question"));
        vec![self.screen.paint(Tone::Bad, &format!("  denied {tool}: {}", plain_short(reason, 200)))]
    }

    fn waiting(&mut self, waiting: &Waiting, at: Moment) -> Vec<String> {
        self.phase = "waiting";
        let text = match waiting {
            Waiting::RateLimit { until } => {
                let (clock, wait) = (words::clock(*until), span(until.since(at)));
                vec![format!("usage limit reached: waiting until {clock} (in {wait})")]
            }
            Waiting::Retry { until, what } => {
                vec![format!("{}: trying again in {}", plain_short(what, 200), span(until.since(at)))]
            }
            Waiting::Person(ask) => {
                self.phase = "waiting for you";
                if self.answers_here { Vec::new() } else { ask::describe(&self.run, ask) }
            }
        };
        text.iter().map(|line| self.screen.paint(Tone::Careful, &format!("  {line}"))).collect()
    }

    fn check(&self, result: &CheckResult) -> Vec<String> {
        let sign = self.screen.check(result.passed);
        let name = plain_line(&result.name);
        if result.passed {
            return vec![format!("  {sign} {name}")];
        }
        let mut lines = vec![format!("  {sign} {name}: {}", plain_short(&result.how, 100))];
        // The end of the output is where a failure is told.
        let mut output = wrap(&plain(&result.output), "      ", self.screen.width);
        let skipped = if self.style.whole { 0 } else { output.len().saturating_sub(CHECK_LINES) };
        output.drain(..skipped);
        let (output, _) = first(output, usize::MAX);
        lines.extend(output.into_iter().filter(|line| !line.trim().is_empty()));
        lines
    }

    /// Whether this is a refusal, which was told when it was decided.
    fn is_told(&mut self, event: &AgentEvent) -> bool {
        let AgentEvent::ToolResult { is_error: true, text, .. } = event else { return false };
        let told = self.denied.iter().position(|reason| is_about(text, reason));
        told.map(|at| self.denied.remove(at)).is_some()
    }

    /// The lines of what the agent said or did.
    pub(crate) fn agent(&mut self, event: &AgentEvent) -> Vec<String> {
        if self.is_told(event) {
            return Vec::new();
        }
        let lines = agent::lines(self.screen, self.style, &self.workspace, event);
        if lines.is_empty() {
            return lines;
        }
        let mut all = self.heading();
        all.extend(lines);
        all
    }

    /// The progress line, drawn in place; nothing where lines cannot be redrawn.
    pub(crate) fn progress(&mut self, now: Moment) -> Option<String> {
        if !self.screen.redraws {
            return None;
        }
        self.screen.measure();
        let elapsed = self.started.map_or(0, |started| now.since(started));
        let mut facts = vec![self.phase.to_owned(), span(elapsed / 1000 * 1000)];
        if self.iteration > 0 {
            facts.insert(0, self.place());
        }
        if let Some(cost) = self.usage.cost_usd {
            facts.push(format!("${cost:.2}"));
        }
        let text = shorten(&facts.join(self.screen.dot()), self.screen.width.saturating_sub(1));
        self.bottom.draw(|| self.screen.paint(Tone::Faint, &text))
    }

    /// Leaves questions to whoever asks them at the terminal.
    pub(crate) fn answer_here(&mut self) {
        self.answers_here = true;
    }
}

/// Whether a tool's result says this reason. The result may be shortened.
fn is_about(result: &str, reason: &str) -> bool {
    let reason: String = reason.trim().chars().take(REASON).collect();
    !reason.is_empty() && result.contains(reason.as_str())
}

fn bound(most: u32) -> String {
    match most {
        0 => "no limit of iterations".to_owned(),
        most => format!("at most {}", words::count(u64::from(most), "iteration")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::bottom::CLEAR;
    use windlass_core::event::RECORD_VERSION;
    use windlass_core::id::SessionId;

    use super::*;

    fn feed() -> Human {
        Human::new(Screen::plain(), Style::default(), RunId::new("k3f9"))
    }

    fn told(human: &mut Human, news: News) -> Vec<String> {
        let at = Moment(1_000);
        let event = Event::OwnerChanged;
        human.record(&Record { v: RECORD_VERSION, at, event, effects: Vec::new(), news: vec![news] })
    }

    fn session(iteration: u32, attempt: u32) -> News {
        News::SessionStarted { session: SessionId::new("s"), iteration, attempt, resumed: attempt > 1 }
    }

    #[test]
    fn an_iteration_has_one_heading_however_often_it_is_tried() {
        let mut human = feed();
        assert_eq!(told(&mut human, session(1, 1)), ["", "iteration 1"]);
        assert_eq!(told(&mut human, session(1, 2)), ["  the session goes on (attempt 2)"]);
        assert_eq!(told(&mut human, session(2, 1)), ["", "iteration 2"]);
    }

    #[test]
    fn within_one_session_the_next_iteration_begins_with_the_next_words() {
        let mut human = feed();
        told(&mut human, session(1, 1));
        let finished =
            News::IterationFinished { iteration: 1, checks: Vec::new(), goes_on: true, feedback: None };
        assert!(told(&mut human, finished).is_empty());
        let event = AgentEvent::Text { text: "on it".to_owned(), message_id: "m".to_owned(), side: false };
        assert_eq!(human.agent(&event), ["", "iteration 2", "  on it"]);
    }

    #[test]
    fn only_refusals_are_told() {
        let mut human = feed();
        let decided = |answer| News::HookDecided {
            hook: windlass_core::id::HookId::new("h"),
            asked: "tool".to_owned(),
            tool: Some("WebFetch".to_owned()),
            answer,
        };
        assert!(told(&mut human, decided(Answer::Allow { input: None })).is_empty());
        let denied = told(&mut human, decided(Answer::Deny { reason: "not in\n\u{1b}[1mstrict".to_owned() }));
        assert_eq!(denied, ["  denied WebFetch: not in ^[[1mstrict"]);
    }

    #[test]
    fn a_refusal_is_told_once() {
        let mut human = feed();
        let reason = "not in strict".to_owned();
        let (hook, tool) = (windlass_core::id::HookId::new("h"), Some("WebFetch".to_owned()));
        let answer = Answer::Deny { reason };
        assert_eq!(
            told(&mut human, News::HookDecided { hook, asked: "tool".to_owned(), tool, answer }).len(),
            1
        );
        let result = |text: &str| AgentEvent::ToolResult {
            id: "t".to_owned(),
            is_error: true,
            text: text.to_owned(),
            was_decided: true,
            side: false,
        };
        assert_eq!(human.agent(&result("no such file")).len(), 1);
        assert!(human.agent(&result("Hook said: not in strict")).is_empty());
        assert_eq!(human.agent(&result("Hook said: not in strict")).len(), 1);
    }

    #[test]
    fn a_wait_says_how_long() {
        let waiting = Waiting::Retry { until: Moment(5_000), what: "overloaded".to_owned() };
        assert_eq!(told(&mut feed(), News::Waiting(waiting)), ["  overloaded: trying again in 4 s"]);
    }

    #[test]
    fn without_a_terminal_there_is_no_progress_line() {
        let mut human = feed();
        assert_eq!((human.progress(Moment(0)), human.bottom.clear()), (None, ""));
        human.screen.redraws = true;
        assert_eq!(human.progress(Moment(0)).as_deref(), Some("\r\u{1b}[Kpreparing, 0 s"));
        assert_eq!((human.bottom.clear(), human.bottom.clear()), (CLEAR, ""));
    }
}
