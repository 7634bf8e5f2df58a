//! The runs, and the behaviours that each of them shows. A file for each kind of scene.

mod ends;
mod faults;
mod limits;
mod loops;
mod tools;
mod turns;

use super::behaviour::Behaviour;
use super::cells::SceneCells;
use super::stage::SceneStage;

/// A run with one driver, which shows some behaviours.
#[derive(Clone, Copy)]
pub(super) struct Scene {
    pub(super) shows: &'static [Behaviour],
    pub(super) play: fn(&mut SceneStage<'_>, &mut SceneCells) -> Result<(), String>,
}

impl Scene {
    pub(super) fn titles(&self) -> Vec<&'static str> {
        self.shows.iter().map(|behaviour| behaviour.title()).collect()
    }
}

/// Every scene. Those that wait come first, so that none of them runs alone at the end.
pub(super) const SCENES: &[Scene] = &[
    Scene { shows: &[Behaviour::Silence], play: faults::silence },
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
    Scene {
        shows: &[Behaviour::MalformedLine, Behaviour::McpTool, Behaviour::Question],
        play: tools::beyond_the_cli,
    },
    Scene { shows: &[Behaviour::Resume, Behaviour::UsageAfterResume], play: loops::resume },
    Scene { shows: &[Behaviour::StopBlock], play: loops::in_session },
    Scene { shows: &[Behaviour::Quota], play: limits::quota },
    Scene { shows: &[Behaviour::Crash], play: faults::crash },
    Scene { shows: &[Behaviour::Cancel], play: ends::cancel },
    Scene { shows: &[Behaviour::Kill], play: ends::kill },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_behaviour_is_shown_once() {
        for behaviour in Behaviour::ALL {
            let shown = SCENES.iter().filter(|scene| scene.shows.contains(&behaviour)).count();
            assert_eq!(shown, 1, "{behaviour:?}");
        }
    }
}
