//! Folds an agent's events into its last message, its usage and the verdict on its turn.
//!
//! The verdict depends on typed fields of the CLI's own messages and on the exit, never on words in a
//! transcript.

use std::collections::VecDeque;

use windlass_core::event::{SessionEnd, SessionFailure, SessionVerdict};
use windlass_core::id::SessionId;
use windlass_core::launch::{EndedBy, ExitFile};
use windlass_core::time::Moment;
use windlass_core::usage::{ModelUsage, Usage};

use windlass_core::agent::{AgentEvent, ApiTrouble, FailureCause, TurnFailure, TurnResult};

use super::lines::{TEXT_MAX, cut_text};
use crate::tail::MAX_LINE;

/// The number of conversations that usually run at once. With more, a message may count twice until the
/// result corrects the sum.
const OPEN_MESSAGES: usize = 8;

/// The most models of a turn whose usage is counted by name.
const MOST_MODELS: usize = 32;

/// The end of a turn's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd<'a> {
    /// The host recorded the exit.
    Exited(&'a ExitFile),
    /// The host died.
    Lost,
}

/// The fold over a turn's events.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    last_text: Option<String>,
    last_message_id: String,
    last_result: Option<TurnResult>,
    results: u32,
    /// The id of the conversation, as the CLI reported it.
    session: Option<String>,
    usage_is_cumulative: bool,
    finished: Usage,
    /// The usage of the results by model.
    finished_models: Vec<ModelUsage>,
    /// The model that the CLI reported last.
    model: String,
    cumulative_cost: Option<f64>,
    /// The latest messages that no result covers yet. Their parts repeat the usage.
    open: VecDeque<(String, Usage)>,
    /// The usage of older messages, which no part will repeat.
    open_before: Usage,
    tool_calls: u32,
    spoke: bool,
    resets_at: Option<Moment>,
    is_rejected: bool,
    api_error: Option<(ApiTrouble, String)>,
    /// Set if an event came after the last result: another turn has started.
    is_mid_turn: bool,
    /// Set if a line was too long to read.
    has_gap: bool,
}

impl Transcript {
    /// Adds one event.
    pub fn add(&mut self, event: &AgentEvent) {
        self.spoke |= matches!(
            event,
            AgentEvent::Text { side: false, .. }
                | AgentEvent::ToolUse { side: false, .. }
                | AgentEvent::Thinking { .. }
        );
        match event {
            AgentEvent::Text { text, message_id, side: false } => self.add_text(text, message_id),
            AgentEvent::ToolUse { side: false, .. } | AgentEvent::Thinking { side: false, .. } => {
                self.is_mid_turn = true;
            }
            AgentEvent::ToolResult { was_decided: true, .. } => self.tool_calls += 1,
            AgentEvent::Spent { message_id, usage } => self.add_spent(message_id, usage),
            AgentEvent::ApiError { trouble, text, .. } => self.api_error = Some((*trouble, text.clone())),
            AgentEvent::RateLimit(limit) => {
                self.is_rejected = limit.rejected;
                self.resets_at = limit.resets_at;
            }
            AgentEvent::Result(result) => self.add_result(result),
            AgentEvent::SessionInit { session, model, .. } => {
                self.session = Some(session.clone());
                model.clone_into(&mut self.model);
            }
            AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolUse { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Retry(_)
            | AgentEvent::Notice { .. }
            | AgentEvent::Asks(_)
            | AgentEvent::AskWithdrawn { .. }
            | AgentEvent::Unknown { .. }
            | AgentEvent::Warning { .. } => {}
        }
    }

    /// Records that another turn has started, of which the agent has said nothing yet.
    pub(super) fn begin_turn(&mut self) {
        self.is_mid_turn = true;
    }

    /// Records that bytes of the stream were skipped because their lines were too long.
    pub fn skip(&mut self, bytes: u64) {
        self.has_gap |= bytes > 0;
    }

    /// Adds a text. Several parts of one message form one text.
    fn add_text(&mut self, text: &str, message_id: &str) {
        self.is_mid_turn = true;
        self.api_error = None;
        match &mut self.last_text {
            Some(last) if !message_id.is_empty() && self.last_message_id == message_id => {
                last.push('\n');
                last.push_str(text);
                // Each part is bounded; of very many parts, the first and the last are kept.
                if last.len() > 2 * TEXT_MAX {
                    cut_text(last);
                }
            }
            // Reuses the allocation.
            Some(last) => text.clone_into(last),
            None => self.last_text = Some(text.to_owned()),
        }
        message_id.clone_into(&mut self.last_message_id);
    }

    /// Adds the usage of a message. The parts of a message arrive together, except that parts of
    /// subagents may come in between.
    fn add_spent(&mut self, message_id: &str, usage: &Usage) {
        if let Some((_, known)) = self.open.iter_mut().rev().find(|(id, _)| id == message_id) {
            *known = *usage;
            return;
        }
        self.open.push_back((message_id.to_owned(), *usage));
        if self.open.len() > OPEN_MESSAGES
            && let Some((_, settled)) = self.open.pop_front()
        {
            self.open_before.add(&settled);
        }
    }

    fn add_result(&mut self, result: &TurnResult) {
        self.results += 1;
        self.is_mid_turn = false;
        self.open.clear();
        self.open_before = Usage::default();
        let mut usage = result.usage;
        if result.cost_is_cumulative {
            self.cumulative_cost = usage.cost_usd.or(self.cumulative_cost);
            usage.cost_usd = None;
        }
        if result.usage_is_cumulative {
            self.usage_is_cumulative = true;
            self.finished = usage;
            self.finished_models.clone_from(&result.models);
        } else {
            self.finished.add(&usage);
            add_models(&mut self.finished_models, &result.models);
        }
        self.last_result = Some(result.clone());
    }

    /// Returns the number of results so far.
    pub fn results(&self) -> u32 {
        self.results
    }

    /// Returns the usage so far, counting each message once.
    pub fn usage(&self) -> Usage {
        let mut sum = self.finished;
        if self.cumulative_cost.is_some() {
            sum.cost_usd = self.cumulative_cost;
        }
        let has_cost = sum.cost_usd.is_some();
        let open = self.open();
        sum.add(&open);
        // The CLI reports the cost of a message with the result that never came.
        sum.is_cost_partial |= has_cost && open.cost_usd.is_none() && open.may_cost();
        sum
    }

    /// Returns the usage of the messages that no result covers.
    fn open(&self) -> Usage {
        let mut sum = self.open_before;
        self.open.iter().for_each(|(_, usage)| sum.add(usage));
        sum
    }

    /// Returns the usage by model, if the CLI reports its models. With a cost, nobody needs it.
    fn models(&self) -> Vec<ModelUsage> {
        if self.usage().cost_usd.is_some() {
            return Vec::new();
        }
        let mut models = self.finished_models.clone();
        let rest = if models.is_empty() { self.usage() } else { self.open() };
        if !self.model.is_empty() && rest.may_cost() {
            add_models(&mut models, &[ModelUsage { model: self.model.clone(), usage: rest }]);
        }
        models
    }

    /// Returns the agent's last message in the main conversation.
    pub fn last_message(&self) -> Option<&str> {
        self.last_text.as_deref()
    }

    /// Summarises the turn, once its process is over and `offset` bytes of its stream were read.
    pub fn end(&self, verdict: SessionVerdict, offset: u64) -> SessionEnd {
        SessionEnd {
            verdict,
            last_message: self.last_text.clone(),
            value: self.last_result.as_ref().and_then(|result| result.structured.clone()),
            usage: self.usage(),
            tool_calls: self.tool_calls,
            spoke: self.spoke,
            offset,
            unanswered: Vec::new(),
            session: self.session.as_deref().filter(|id| is_session_id(id)).map(SessionId::new),
            usage_is_cumulative: self.usage_is_cumulative,
            models: self.models(),
            took_ms: 0,
        }
    }

    /// Judges how the turn went, once its process is over. `stderr` is the end of its standard error,
    /// used only for the text of a failure.
    pub fn judge(&self, over: ProcessEnd<'_>, stderr: &str) -> SessionVerdict {
        let exit = match over {
            // A successful result with nothing after it: the turn was over before its host died.
            ProcessEnd::Lost if self.is_whole() => return SessionVerdict::Completed,
            ProcessEnd::Lost => return interrupted("its host died"),
            ProcessEnd::Exited(exit) => exit,
        };
        if let Some(error) = &exit.spawn_error {
            return failed(SessionFailure::NotStarted, format!("could not be started: {error}"));
        }
        match exit.ended_by {
            Some(EndedBy::Deadline) => return SessionVerdict::TimedOut,
            Some(EndedBy::Request) if !self.is_whole() => return interrupted("ended on request"),
            Some(EndedBy::Request | EndedBy::Linger) | None => {}
        }
        // The agent had nothing left to do, so the way it ended says nothing about its result.
        let lingered = ExitFile { code: Some(0), signal: None, ..exit.clone() };
        let exit = if exit.ended_by == Some(EndedBy::Linger) { &lingered } else { exit };
        match (&self.last_result, exit.signal) {
            (Some(result), None) => self.judge_result(result, exit, stderr),
            (Some(_), Some(_)) if self.is_whole() => SessionVerdict::Completed,
            (_, Some(signal)) => interrupted(&format!("ended by signal {signal}")),
            (None, None) => self.judge_without_result(exit, stderr),
        }
    }

    /// Decides whether the last turn succeeded and no other started.
    fn is_whole(&self) -> bool {
        !self.is_mid_turn && self.last_result.as_ref().is_some_and(|result| result.failure.is_none())
    }

    fn judge_result(&self, result: &TurnResult, exit: &ExitFile, stderr: &str) -> SessionVerdict {
        // Nothing after a successful turn undoes it, not even an exit code.
        if self.is_whole() {
            return SessionVerdict::Completed;
        }
        if is_cut_off(exit) {
            return interrupted(&format!("ended with code {}", exit.code.unwrap_or_default()));
        }
        let Some(failure) = &result.failure else { return interrupted("ended in the middle of a turn") };
        match failure.cause {
            FailureCause::Api(trouble) => {
                // The message before the result may give a more precise cause.
                let trouble = self.api_error.as_ref().map_or(trouble, |(trouble, _)| *trouble);
                self.judge_api_error(trouble, &describe(failure, stderr))
            }
            FailureCause::CutOff => interrupted(&failure.word),
            FailureCause::OwnLimit => failed(SessionFailure::OwnLimit, describe(failure, stderr)),
            FailureCause::NoConversation => failed(SessionFailure::NoConversation, describe(failure, stderr)),
            FailureCause::Other => failed(SessionFailure::Other, describe(failure, stderr)),
        }
    }

    fn judge_api_error(&self, trouble: ApiTrouble, what: &str) -> SessionVerdict {
        match trouble {
            ApiTrouble::RateLimit => SessionVerdict::RateLimited { resets_at: self.resets_at },
            _ if self.is_rejected => SessionVerdict::RateLimited { resets_at: self.resets_at },
            ApiTrouble::Transient => SessionVerdict::Transient { what: what.to_owned() },
            ApiTrouble::Login => failed(SessionFailure::Login, what.to_owned()),
            ApiTrouble::Model => failed(SessionFailure::Model, what.to_owned()),
            ApiTrouble::Lasting => failed(SessionFailure::Refused, what.to_owned()),
        }
    }

    fn judge_without_result(&self, exit: &ExitFile, stderr: &str) -> SessionVerdict {
        let code = exit.code.unwrap_or_default();
        if is_cut_off(exit) {
            return interrupted(&format!("ended with code {code}"));
        }
        if let Some((trouble, text)) = &self.api_error {
            return self.judge_api_error(*trouble, text);
        }
        if code == 0 && self.has_gap {
            let most = MAX_LINE >> 20;
            let what = format!(
                "printed a line of more than {most} MB, which Windlass skipped: the result may be in it"
            );
            return failed(SessionFailure::Unreadable, what);
        }
        if code == 0 {
            return SessionVerdict::NothingSaid { what: "ended without a result".to_owned() };
        }
        let what = match last_lines(stderr) {
            "" => format!("ended with code {code} and no result"),
            said => format!("ended with code {code}: {said}"),
        };
        failed(SessionFailure::Process, what)
    }
}

/// Adds usage by model. A CLI may report any number of models, and prices tell only the first ones apart.
fn add_models(sum: &mut Vec<ModelUsage>, added: &[ModelUsage]) {
    for new in added {
        let is_known = |known: &ModelUsage| known.model == new.model;
        let at = sum
            .iter()
            .position(is_known)
            .or_else(|| sum.len().checked_sub(1).filter(|_| sum.len() >= MOST_MODELS));
        match at.and_then(|at| sum.get_mut(at)) {
            Some(known) if is_known(known) => known.usage.add(&new.usage),
            // The usage of the last entry is that of several models, which have no one price.
            Some(last) => {
                last.model.clear();
                last.usage.add(&new.usage);
            }
            None => sum.push(new.clone()),
        }
    }
}

/// Decides whether a text can be an id of a conversation. It becomes an argument of the CLI, so it may not look
/// like a flag.
fn is_session_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=128).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(is_plain)
}

/// Decides whether a signal ended the process. CLIs report that with an exit code above 128.
fn is_cut_off(exit: &ExitFile) -> bool {
    exit.code.is_some_and(|code| code > 128) || exit.signal.is_some()
}

fn describe(failure: &TurnFailure, stderr: &str) -> String {
    let said = failure.said.as_deref().filter(|said| !said.is_empty());
    match said.unwrap_or_else(|| last_lines(stderr)) {
        "" => failure.word.clone(),
        said => format!("{}: {said}", failure.word),
    }
}

/// Returns the last 600 bytes, from the start of a character.
fn last_lines(text: &str) -> &str {
    let text = text.trim();
    let from = text.len().saturating_sub(600);
    let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(from..).unwrap_or_default()
}

fn interrupted(what: &str) -> SessionVerdict {
    SessionVerdict::Interrupted { what: what.to_owned() }
}

fn failed(cause: SessionFailure, what: String) -> SessionVerdict {
    SessionVerdict::Failed { cause, what }
}
