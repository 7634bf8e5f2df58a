//! `prompt`, `skill`, `command` and `agent`: the work of an agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeRole, NodeShape};
use crate::engine::{DecisionCx, output, work};
use crate::event::Event;
use crate::graph::check::lower_bound::LowerBound;
use crate::graph::check::outline::Text;
use crate::graph::ids::named;
use crate::graph::schema;
use crate::graph::upper_bound::{Unbounded, UpperBound};
use crate::graph::workflow::{Node, Template};
use crate::graph::{SessionPrompt, SessionPromptKind};
use crate::looping::{DEFAULT_MAX_ITERATIONS, LoopMode, LoopRules, MarkerMatch, prompt};
use crate::run::{Activity, EndReason, FinalStatus, Outcome, SessionPhase, SessionSignal, SessionWork};

/// A session: what the agent is told, and how many turns it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// What it is told, or who tells it.
    pub source: PromptSource,
    /// Turns until it is done; one turn where nothing is said.
    pub turns: Option<TurnLoop>,
    /// The JSON Schema of what it must answer; the value is `outputs.ID.value`.
    pub schema: Option<Value>,
}

/// What an agent is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptSource {
    /// This.
    Prompt {
        /// The text.
        prompt: Template,
    },
    /// A skill, by name.
    Skill {
        /// Which.
        name: String,
        /// Its arguments.
        args: Option<Template>,
    },
    /// A command, by name.
    Command {
        /// Which.
        name: String,
        /// Its arguments.
        args: Option<Template>,
    },
    /// An agent, by name.
    Agent {
        /// Which.
        name: String,
        /// What it is asked.
        prompt: Template,
    },
}

/// A loop of turns of one agent, with a tracker.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnLoop {
    /// Turns in total; 0 is without bound. As the settings say where it is not said.
    pub max: Option<u32>,
    /// How one follows another. As the settings say where it is not said.
    pub mode: Option<LoopMode>,
    /// Text in the tracker that completes it.
    pub marker: Option<String>,
    /// Where that text must stand.
    pub marker_match: MarkerMatch,
    /// Text in `<promise>` tags of the last words that completes it.
    pub promise: Option<String>,
    /// How the agent says that it is blocked, instead of the usual marker.
    pub blocked: Option<String>,
    /// What a turn after the first is told.
    pub continue_message: Option<String>,
    /// The tracker's first body.
    pub tracker: Option<String>,
    /// Turns without a change after which the agent is stuck; 0 is never.
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
            Some(Some(0)) => format!("turns without end · {told}"),
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
        // An answer that does not fit is asked for again, each time by a turn.
        let again = if self.schema.is_some() { schema::ASKED_AGAIN } else { 0 };
        // What the settings say is not known here, so it counts as what they say at first.
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

    /// An agent that is done and only has to stop is done.
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
    /// Begins the work of an agent: what it is told is made from the values of now.
    fn start(&self, cx: &mut DecisionCx<'_>, site: &NodeSite<'_>) -> Result<SessionWork, Outcome> {
        let (id, frame) = (&site.node.id, site.frame);
        let Some(session_settings) = cx.spec.sessions.get(id) else {
            let why = format!("there are no orders for the sessions of `{id}`");
            return Err(Outcome::new(FinalStatus::Failed, EndReason::NotYet).because(why));
        };
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
                prompt: text,
                tracker_path: rules.tracker_path.as_ref().map(|path| tracker(cx, site, path)),
                ..rules.clone()
            }),
        };
        let node = SessionPrompt { id: site.instance.clone(), kind, system: None };
        let mut work = work::new(node, id, &frame.workspace);
        work.schema.clone_from(&self.schema);
        // Between the nodes of a workflow its `check` nodes are the gates.
        work.checked = !cx.spec.checks.is_empty()
            && (session_settings.rules.is_some() || cx.spec.only_session().is_some());
        work.deadline = site.deadline;
        work::begin(cx, &mut work, args);
        Ok(work)
    }

    /// Adds what the agent must know of the answer that is wanted.
    fn with_notes(&self, site: &NodeSite<'_>, told: String) -> String {
        let mut parts = vec![told];
        match &self.schema {
            // Nothing else may stand beside such an answer, so that no word is asked for and none is heard.
            Some(schema) => parts.push(prompt::schema_note(&schema.to_string())),
            None => {
                parts.extend(site.frame.task.map(|_| prompt::task_note()));
                parts.extend(site.frame.signal.map(prompt::signal_note));
            }
        }
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// Where the loop of a node keeps its tracker: in a folder of the run's own below the workspace.
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

/// The last words of a session. One that only gave a value said that value, and one whose value is a text
/// said that text, without the quotes around it.
fn answer(work: &SessionWork) -> String {
    if let Some(Value::String(text)) = &work.value {
        return text.clone();
    }
    let words = work.last_message.clone().filter(|words| !words.is_empty());
    words.or_else(|| work.value.as_ref().map(Value::to_string)).unwrap_or_default()
}
