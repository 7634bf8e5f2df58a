//! `prompt`, `skill`, `command` and `agent`: the work of an agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeRole, NodeShape};
use crate::engine::rehearsal::StubField;
use crate::engine::{DecisionCx, output, work};
use crate::entity::EntityTool;
use crate::event::Event;
use crate::graph::check::lower_bound::LowerBound;
use crate::graph::check::outline::Text;
use crate::graph::ids::named;
use crate::graph::schema;
use crate::graph::upper_bound::{Unbounded, UpperBound};
use crate::graph::workflow::{Node, NodeNumber, Template};
use crate::graph::{SessionPrompt, SessionPromptKind};
use crate::id::{NodeId, SessionId, Verb};
use crate::looping::{DEFAULT_MAX_ITERATIONS, LoopMode, LoopRules, MarkerMatch, prompt};
use crate::registry::tools;
use crate::run::{
    Activity, EndReason, FinalStatus, HandOver, KeptSession, News, Outcome, SessionClosing, SessionPhase,
    SessionSignal, SessionWork, Waiting,
};

/// The work of an agent: its prompt and its number of turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub source: PromptSource,
    /// The loop of turns. `None` means a single turn.
    pub turns: Option<TurnLoop>,
    /// The JSON Schema of the answer. The value is `outputs.ID.value`.
    pub schema: Option<Value>,
    /// The node whose last session this one continues. It may be the node itself.
    #[serde(default, rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continues: Option<NodeId>,
    /// The only tools that the session may use. An entity may limit them further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<SessionTools>,
}

/// The only tools that a session may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionTools {
    /// The tools that read files and search in them.
    Read,
    /// These tools, each with an optional pattern: `Bash(git diff:*)`.
    These(Vec<String>),
}

impl SessionTools {
    /// The word for the tools that only read.
    pub const READ: &'static str = "read";

    /// Returns the tools as an entity would list them.
    pub fn listed(&self) -> Vec<EntityTool> {
        match self {
            SessionTools::Read => tools::READERS.iter().map(|name| EntityTool::named(name)).collect(),
            SessionTools::These(tools) => tools.iter().map(|tool| EntityTool::named(tool)).collect(),
        }
    }
}

/// The source of the agent's prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptSource {
    Prompt {
        prompt: Template,
    },
    /// A skill, by name.
    Skill {
        name: String,
        args: Option<Template>,
    },
    /// A command, by name.
    Command {
        name: String,
        args: Option<Template>,
    },
    /// An agent, by name.
    Agent {
        name: String,
        prompt: Template,
    },
}

/// A loop of turns of one agent, with a tracker.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnLoop {
    /// The maximum number of turns. 0 means no limit. `None` means the value from the settings.
    pub max: Option<u32>,
    /// The way in which one turn follows another. `None` means the value from the settings.
    pub mode: Option<LoopMode>,
    /// The text in the tracker that completes the loop.
    pub marker: Option<String>,
    /// The required position of that text.
    pub marker_match: MarkerMatch,
    /// The text in `<promise>` tags of the last message that completes the loop.
    pub promise: Option<String>,
    /// The text with which the agent reports that it is blocked, instead of the default marker.
    pub blocked: Option<String>,
    /// The prompt of every turn after the first.
    pub continue_message: Option<String>,
    /// The initial text of the tracker.
    pub tracker: Option<String>,
    /// The number of turns without a change after which the agent is stuck. 0 means never.
    pub stuck_after: Option<u32>,
}

impl NodeShape for Session {
    fn word(&self) -> &'static str {
        match self.source {
            PromptSource::Prompt { .. } => "prompt",
            PromptSource::Skill { .. } => "skill",
            PromptSource::Command { .. } => "command",
            PromptSource::Agent { .. } => "agent",
        }
    }

    fn about(&self) -> Option<String> {
        Some(match &self.source {
            PromptSource::Prompt { .. } => "prompt".to_owned(),
            PromptSource::Skill { name, .. } => format!("skill {name}"),
            PromptSource::Command { name, .. } => format!("command {name}"),
            PromptSource::Agent { name, .. } => format!("agent {name}"),
        })
    }

    fn default_id(&self) -> String {
        match &self.source {
            PromptSource::Prompt { .. } => "prompt".to_owned(),
            PromptSource::Skill { name, .. } => named("skill", name),
            PromptSource::Command { name, .. } => named("command", name),
            PromptSource::Agent { name, .. } => named("agent", name),
        }
    }

    fn label(&self) -> String {
        let told = match &self.source {
            PromptSource::Prompt { prompt } => format!("prompt: {}", prompt.0),
            PromptSource::Skill { name, .. } => format!("skill {name}"),
            PromptSource::Command { name, .. } => format!("command {name}"),
            PromptSource::Agent { name, .. } => format!("agent {name}"),
        };
        match self.turns.as_ref().map(|turns| turns.max) {
            None => told,
            Some(None) => format!("turns · {told}"),
            Some(Some(0)) => format!("unlimited turns · {told}"),
            Some(Some(max)) => format!("up to {max} turns · {told}"),
        }
    }

    fn texts(&self) -> Vec<Text> {
        match &self.source {
            PromptSource::Prompt { prompt } | PromptSource::Agent { prompt, .. } => {
                vec![Text::template("prompt", prompt)]
            }
            PromptSource::Skill { args, .. } | PromptSource::Command { args, .. } => {
                args.iter().map(|args| Text::template("args", args)).collect()
            }
        }
    }

    fn role(&self) -> NodeRole {
        NodeRole::Work
    }

    fn most_turns(&self, node: &Node) -> UpperBound {
        // Each further request for an answer that fits the schema takes a turn.
        let again = if self.schema.is_some() { schema::ASKED_AGAIN } else { 0 };
        // The settings are not known here, so their default applies.
        let most = self.turns.as_ref().map_or(1, |turns| turns.max.unwrap_or(DEFAULT_MAX_ITERATIONS));
        match most {
            0 => UpperBound::without(node, Unbounded::Turns),
            most => UpperBound::AtMost(u64::from(most) + u64::from(again)),
        }
    }

    fn least(&self) -> LowerBound {
        LowerBound { turns: 1, ms: 0 }
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::Answer(self.schema.as_ref())
    }

    fn names_entity(&self) -> bool {
        !matches!(self.source, PromptSource::Prompt { .. })
    }

    fn stub_fields(&self) -> &'static [StubField] {
        &[StubField::Text, StubField::Value, StubField::Status]
    }
}

impl ActiveState for SessionWork {
    fn word(&self) -> &'static str {
        "a session"
    }

    fn waits(&self, site: &WaitSite<'_>, into: &mut Vec<Waiting>) -> bool {
        match &self.phase {
            SessionPhase::Pausing { waiting, .. } => {
                into.push(waiting.clone());
                false
            }
            SessionPhase::InTurn => site.is_open(Verb::Session),
            _ => true,
        }
    }

    fn is_waiting(&self) -> bool {
        matches!(self.phase, SessionPhase::Pausing { .. })
    }
}

impl NodeRun for Session {
    type State<'s> = &'s mut SessionWork;

    fn state(activity: &mut Activity) -> Option<&mut SessionWork> {
        if let Activity::Session(work) = activity { Some(work) } else { None }
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        match self.start(cx, site) {
            Ok(work) => NodeOpening::UnderWay(Activity::Session(Box::new(work))),
            Err(outcome) => NodeOpening::NotBegun(outcome),
        }
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        work: &mut SessionWork,
        event: &Event,
    ) -> Delivered {
        work::apply(cx, site, work, event)
    }

    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        _site: &mut NodeSite<'_>,
        work: &mut SessionWork,
        outcome: &Outcome,
    ) -> Option<Outcome> {
        if !matches!(work.phase, SessionPhase::Ending { .. }) {
            work::ending::end(work, cx, outcome.clone());
        }
        None
    }

    fn can_reopen(&self, work: &mut SessionWork, _before: Option<&Outcome>) -> bool {
        work::reopening::can_continue(work)
    }

    fn reopen(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        work: &mut SessionWork,
        before: Option<&Outcome>,
    ) -> Option<Outcome> {
        work::reopening::reopen(cx, site, work, before)
    }

    /// Completes an agent that is done and only has to stop.
    fn out_of_time(
        &self,
        cx: &mut DecisionCx<'_>,
        _site: &mut NodeSite<'_>,
        work: &mut SessionWork,
    ) -> Option<Delivered> {
        let SessionPhase::Closing { outcome } = work.phase.clone() else { return None };
        work::ending::end(work, cx, outcome);
        Some(Delivered::UnderWay)
    }

    fn said(&self, site: &NodeSite<'_>, work: Option<&mut SessionWork>) -> Option<String> {
        match work {
            Some(work) => Some(answer(work)).filter(|answer| !answer.is_empty()),
            None => site.last_message.clone(),
        }
    }

    fn last_word(
        &self,
        _site: &NodeSite<'_>,
        work: Option<&mut SessionWork>,
        outcome: &Outcome,
    ) -> Option<SessionSignal> {
        let asked = self.schema.is_none();
        if outcome.status != FinalStatus::Completed {
            let how = outcome.detail.clone().unwrap_or_else(|| outcome.reason.word().to_owned());
            return Some(SessionSignal::Broken { broken: how, asked });
        }
        let work = work.filter(|_| asked)?;
        Some(SessionSignal::Said(work.last_message.clone().unwrap_or_default()))
    }

    fn output(
        &self,
        cx: &DecisionCx<'_>,
        site: &NodeSite<'_>,
        work: Option<&mut SessionWork>,
    ) -> (String, Option<Value>) {
        match work {
            Some(work) => (answer(work), work.value.clone()),
            None => output::put_down(cx, &site.node.id),
        }
    }
}

impl Session {
    /// Makes a session of one turn without options.
    pub fn new(source: PromptSource) -> Session {
        Session { source, turns: None, schema: None, continues: None, tools: None }
    }

    /// Starts the work of an agent with a prompt rendered from the current values.
    fn start(&self, cx: &mut DecisionCx<'_>, site: &NodeSite<'_>) -> Result<SessionWork, Outcome> {
        let (id, frame) = (&site.node.id, site.frame);
        let Some(session_settings) = cx.spec.sessions.get(id) else {
            let why = format!("the run has no settings for the sessions of `{id}`");
            return Err(Outcome::new(FinalStatus::Failed, EndReason::NotYet).because(why));
        };
        let own = session_settings;
        let driver = work::hand_over::choose(own, cx);
        let session_settings = own.with_driver(driver);
        let (told, args) = match &self.source {
            PromptSource::Prompt { prompt } => (frame.render(cx, prompt)?, None),
            PromptSource::Skill { args, .. } | PromptSource::Command { args, .. } => {
                let args = args.as_ref().map(|args| frame.render(cx, args)).transpose()?;
                (String::new(), Some(args.unwrap_or_default()))
            }
            PromptSource::Agent { prompt, .. } => (String::new(), Some(frame.render(cx, prompt)?)),
        };
        let text = self.with_notes(site, told);
        let kind = match &session_settings.rules {
            None => SessionPromptKind::Prompt { prompt: text },
            Some(rules) => SessionPromptKind::Loop(LoopRules {
                max_iterations: site.number(NodeNumber::Turns, rules.max_iterations),
                prompt: text,
                tracker_path: rules.tracker_path.as_ref().map(|path| tracker(cx, site, path)),
                ..rules.clone()
            }),
        };
        let node = SessionPrompt { id: site.instance.clone(), kind, system: None };
        let mut work = work::new(node, id, &frame.workspace);
        work.driver = driver.map(str::to_owned);
        work.schema.clone_from(&self.schema);
        // Between the nodes of a workflow, only `check` nodes run checks.
        work.checked = !cx.spec.checks.is_empty()
            && (session_settings.rules.is_some() || cx.spec.only_session().is_some());
        work.deadline = site.deadline;
        work.env = frame.env(cx, site.node)?;
        for model in &own.models {
            let model = frame.render(cx, model)?;
            work.models.extend(Some(model.trim().to_owned()).filter(|model| !model.is_empty()));
        }
        let resumed = frame.resumed.filter(|_| site.tries == 1).and_then(|sessions| sessions.get(id));
        if let Some(session) = resumed {
            work.resumes = Some(self.with_notes(site, frame.feedback.clone()));
            match driver {
                None => work.session = Some(session.clone()),
                // The session is one of the node's own driver.
                Some(_) => {
                    work.hand_over = Some(Box::new(HandOver { from: own.driver.name.clone(), work: None }));
                }
            }
        } else if let Some(session) = self.continued(cx, site, &session_settings.driver.name) {
            work.session = Some(session);
            work.is_continuing = true;
        }
        if let Some(to) = driver {
            let (node, from, to) = (site.instance.clone(), own.driver.name.clone(), to.to_owned());
            let why = "it is at its usage limit".to_owned();
            cx.decision.news.push(News::HandedOver { node, from, to, why });
        }
        work::begin(cx, &mut work, args);
        Ok(work)
    }

    /// Returns the session that this one continues. Tells people if there is none although another node
    /// should have left one.
    fn continued(&self, cx: &mut DecisionCx<'_>, site: &NodeSite<'_>, driver: &str) -> Option<SessionId> {
        let node = self.continues.as_ref()?;
        let scope = site.frame.session_scope();
        let kept = cx.bookkeeping.sessions.get(node).into_iter().flatten();
        let kept = kept.into_iter().find(|kept| kept.scope == scope);
        let why = match kept {
            None if *node == site.node.id => return None,
            None => format!("`{node}` has no session to continue"),
            Some(KeptSession { closed: Some(SessionClosing::Cleared), .. }) => return None,
            Some(KeptSession { closed: Some(SessionClosing::Forked), .. }) => {
                format!("the session of `{node}` belongs to the run that this one was forked from")
            }
            Some(kept) if kept.driver != driver => {
                format!("the session of `{node}` is one of `{}`, not of `{driver}`", kept.driver)
            }
            Some(kept) if kept.workspace != site.frame.workspace => {
                format!("the session of `{node}` was in another folder, {}", kept.workspace)
            }
            Some(kept) => return Some(kept.session.clone()),
        };
        let what = format!("{why}, so a new one starts");
        cx.decision.news.push(News::Odd { node: site.instance.clone(), what });
        None
    }

    /// Adds the notes about the expected answer.
    fn with_notes(&self, site: &NodeSite<'_>, told: String) -> String {
        let mut parts = vec![told];
        match &self.schema {
            // Such an answer contains nothing but JSON, so no signal is asked for or read.
            Some(schema) => parts.push(prompt::schema_note(&schema.to_string())),
            None => {
                parts.extend(site.frame.task.map(|_| prompt::task_note()));
                parts.extend(site.frame.signal.map(prompt::signal_note));
            }
        }
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// Returns the path of the tracker. The default is in a folder of the run below the workspace.
fn tracker(cx: &DecisionCx<'_>, site: &NodeSite<'_>, given: &str) -> String {
    if !given.is_empty() {
        return given.to_owned();
    }
    let name = match cx.spec.only_session() {
        Some(_) => "loop",
        None => site.instance.as_str(),
    };
    format!("{}/.windlass/runs/{}/{name}-tracker.md", site.frame.workspace, cx.run)
}

/// Returns the last message of a session. If it only gave a value, this is the value; if the value
/// is a text, this is the text without quotes.
fn answer(work: &SessionWork) -> String {
    if let Some(Value::String(text)) = &work.value {
        return text.clone();
    }
    let words = work.last_message.clone().filter(|words| !words.is_empty());
    words.or_else(|| work.value.as_ref().map(Value::to_string)).unwrap_or_default()
}
