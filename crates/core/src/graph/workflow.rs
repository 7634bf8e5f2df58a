//! A workflow: inputs, settings, and nodes in structured blocks.
//!
//! Templates and conditions are kept as they were written; what they mean is decided when a
//! run gets there. Ids are unique in the whole workflow, nested blocks included.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hook::permission::Isolation;
use crate::id::NodeId;
use crate::looping::{MarkerMatch, Mode};

/// A workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What it is told.
    pub inputs: Vec<Input>,
    /// How its sessions are run, where a node says nothing else.
    pub settings: Settings,
    /// What all of it may spend.
    pub budget: Budget,
    /// Plugins it needs, by name.
    pub plugins: Vec<String>,
    /// Commands that must succeed, by name; beside those of the settings.
    pub checks: BTreeMap<String, String>,
    /// What is done, one after the other.
    pub body: Vec<Step>,
}

/// Something a workflow is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name in templates: `inputs.NAME`.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What it is.
    pub kind: InputKind,
    /// A run without it is refused.
    pub required: bool,
    /// What it is when nothing is said.
    pub default: Option<Value>,
    /// The only values it may have; any where there are none.
    pub choices: Vec<Value>,
}

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// Text.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
    /// A list of texts.
    List,
}

/// A node and what is common to all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its name; what it gives is `outputs.ID`.
    pub id: NodeId,
    /// What it does.
    pub act: Act,
    /// It is left out where this does not hold.
    pub when: Option<Expression>,
    /// How its sessions are run.
    pub settings: Settings,
    /// How often it is tried again.
    pub retry: Retry,
    /// What it may spend.
    pub budget: Budget,
    /// What becomes of the run when it fails.
    pub on_failure: OnFailure,
}

/// A text with `{{ … }}` in it, rendered once when its node begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template(pub String);

/// A condition, or a value that is computed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Expression(pub String);

/// What a node does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// A session.
    Session(Session),
    /// A command line of the workflow's author.
    Shell {
        /// What is run by `sh -c`.
        command: Template,
        /// It may be run again when nobody knows whether it was.
        idempotent: bool,
    },
    /// Checks that must be green.
    Check {
        /// Which; all of them where none is named.
        names: Vec<String>,
    },
    /// One of two ways.
    If {
        /// Which.
        condition: Expression,
        /// Where it holds.
        then: Vec<Step>,
        /// Where it does not.
        otherwise: Vec<Step>,
    },
    /// The same again, until something holds.
    Loop {
        /// Looked at after each round; the loop is over when one holds.
        until: Vec<Expression>,
        /// Rounds at most; 0 is without bound.
        max: u32,
        /// What is done in each round.
        body: Vec<Step>,
    },
    /// Once for each task of a file, as the tasks become ready.
    TaskLoop {
        /// The file; the usual places where nothing is said, or it says nothing.
        path: Option<Template>,
        /// The loop is over when it holds, whatever tasks are left.
        until: Option<Expression>,
        /// Which of the ready tasks may be taken; `task` is each of them.
        select: Option<Expression>,
        /// Rounds at most; 0 is without bound.
        max: u32,
        /// How many tasks at once, each in a worktree of its own where there are several.
        jobs: u32,
        /// How often a task is tried before it counts as failed; each try is a round.
        attempts: u32,
        /// Done before each task.
        before_each: Vec<Step>,
        /// Done for each task.
        body: Vec<Step>,
    },
    /// The same again, until the last words of a session hold a signal.
    CriteriaLoop {
        /// The signal.
        signal: String,
        /// Rounds at most; 0 is without bound.
        max: u32,
        /// What is done in each round.
        body: Vec<Step>,
    },
    /// Several things at once.
    Parallel {
        /// How many at most; 0 is all.
        limit: u32,
        /// When it is over.
        join: Join,
        /// What is done, by name.
        branches: Vec<Branch>,
    },
    /// A run of another workflow.
    Workflow {
        /// Which.
        name: String,
        /// What it is told.
        inputs: BTreeMap<String, Template>,
    },
    /// A question to a person.
    Ask {
        /// What is asked.
        question: Template,
        /// The only answers; any text where there are none.
        choices: Vec<String>,
        /// The answer where nobody is asked.
        default: Option<String>,
    },
    /// A wait.
    Wait(Until),
    /// A review of what was done so far, by a session of its own.
    Review {
        /// The agent that reviews, by name.
        agent: Option<String>,
        /// Rejections after which a person is asked.
        max_cycles: u32,
        /// The confidence an approval needs, from 0 to 1.
        threshold: Option<f64>,
    },
    /// The commits of the worktree onto the target branch.
    Land {
        /// The branch; the one the run began on where nothing is said.
        target: Option<Template>,
    },
    /// A pull request for the branch of the run.
    PullRequest {
        /// Its title.
        title: Template,
        /// Its text.
        body: Option<Template>,
    },
    /// The next session begins anew.
    ClearContext,
}

/// A branch of a parallel block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// Its name.
    pub name: String,
    /// What is done.
    pub body: Vec<Step>,
}

/// When a parallel block is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// When all branches are; it fails when one does.
    #[default]
    All,
    /// When one branch is over, however it ended.
    Any,
    /// When one branch succeeded; it fails when none does.
    FirstSuccess,
}

/// What a node waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Time.
    Elapsed {
        /// In milliseconds.
        ms: u64,
    },
    /// Something that is told to the run.
    Event {
        /// What it is called.
        name: String,
        /// The wait fails after this many milliseconds.
        timeout_ms: Option<u64>,
    },
}

/// A session: what the agent is told, and how many turns it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// What it is told, or who tells it.
    pub source: Source,
    /// Turns until it is done; one turn where nothing is said.
    pub turns: Option<Turns>,
    /// The JSON Schema of what it must answer; the value is `outputs.ID.value`.
    pub schema: Option<Value>,
}

/// What an agent is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
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
pub struct Turns {
    /// Turns in total; 0 is without bound. As the settings say where it is not said.
    pub max: Option<u32>,
    /// How one follows another. As the settings say where it is not said.
    pub mode: Option<Mode>,
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

/// How sessions are run. What is not said is said farther out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Which agent CLI.
    pub driver: Option<String>,
    /// Which model.
    pub model: Option<String>,
    /// What it may use and load.
    pub isolation: Option<Isolation>,
    /// How long a node may take, in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// How often something is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Retry {
    /// Beside the first try.
    pub times: u32,
    /// The first pause, in milliseconds; it doubles.
    pub delay_ms: u64,
}

/// What may be spent. What is not said has no bound of its own.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Turns of agents.
    pub turns: Option<u32>,
    /// Tokens, in and out.
    pub tokens: Option<u64>,
    /// Money, in US dollars.
    pub cost_usd: Option<f64>,
    /// Time, in milliseconds.
    pub time_ms: Option<u64>,
}

impl Budget {
    /// What keeps both.
    pub fn least(&self, other: &Budget) -> Budget {
        Budget {
            turns: self.turns.into_iter().chain(other.turns).min(),
            tokens: self.tokens.into_iter().chain(other.tokens).min(),
            cost_usd: self.cost_usd.into_iter().chain(other.cost_usd).reduce(f64::min),
            time_ms: self.time_ms.into_iter().chain(other.time_ms).min(),
        }
    }
}

/// What becomes of the run when a node fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// It fails, too.
    #[default]
    Fail,
    /// It goes on; `outputs.ID.failed` is true.
    Continue,
}
