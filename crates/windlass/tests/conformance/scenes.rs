//! The runs, and the behaviours that each of them shows. A file for each kind of scene.

mod ends;
mod limits;
mod loops;
mod turns;

use crate::cells::SceneCells;
use crate::subject::Subject;

/// A run with one driver, which shows some behaviours.
#[derive(Clone, Copy)]
pub(crate) struct Scene {
    pub(crate) shows: &'static [Behaviour],
    pub(crate) play: fn(&Subject, &mut SceneCells),
}

/// A behaviour that every driver must show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Start,
    Stream,
    Tool,
    UsageSum,
    NothingLeft,
    DeniedTool,
    LimitInText,
    OddPrompt,
    LongPrompt,
    Role,
    Resume,
    UsageAfterResume,
    StopBlock,
    Quota,
    Cancel,
    Kill,
}

impl Behaviour {
    /// Returns the head of its line in the table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Behaviour::Start => "start",
            Behaviour::Stream => "stream",
            Behaviour::Tool => "tool",
            Behaviour::UsageSum => "usage sum",
            Behaviour::NothingLeft => "no process left, the user's files as they were",
            Behaviour::DeniedTool => "denied tool",
            Behaviour::LimitInText => "\"rate limit\" in a file causes no wait",
            Behaviour::OddPrompt => "odd bytes in the prompt",
            Behaviour::LongPrompt => "prompt of 100 KB",
            Behaviour::Role => "entity as system prompt",
            Behaviour::Resume => "resume",
            Behaviour::UsageAfterResume => "usage sum after resume",
            Behaviour::StopBlock => "kept from stopping",
            Behaviour::Quota => "limit with reset: wait, do not count, continue",
            Behaviour::Cancel => "cancel leaves no process",
            Behaviour::Kill => "killed Windlass: resume leaves no process",
        }
    }
}

/// Every scene.
pub(crate) const SCENES: [Scene; 8] = [
    Scene {
        shows: &[
            Behaviour::Start,
            Behaviour::Stream,
            Behaviour::Tool,
            Behaviour::UsageSum,
            Behaviour::NothingLeft,
        ],
        play: turns::one_turn,
    },
    Scene { shows: &[Behaviour::DeniedTool, Behaviour::LimitInText], play: turns::refused },
    Scene { shows: &[Behaviour::OddPrompt, Behaviour::LongPrompt, Behaviour::Role], play: turns::prompt },
    Scene { shows: &[Behaviour::Resume, Behaviour::UsageAfterResume], play: loops::resume },
    Scene { shows: &[Behaviour::StopBlock], play: loops::in_session },
    Scene { shows: &[Behaviour::Quota], play: limits::quota },
    Scene { shows: &[Behaviour::Cancel], play: ends::cancel },
    Scene { shows: &[Behaviour::Kill], play: ends::kill },
];
