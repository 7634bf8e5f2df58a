//! Plays every scene with every driver, two at a time, and keeps what came of each behaviour.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use windlass_testkit::agents::Agent;

use crate::drivers::{DRIVERS, DriverCase};
use crate::scenes::{Behaviour, SCENES, Scene};
use crate::subject::Subject;

/// The most scenes at a time.
const AT_ONCE: usize = 2;

/// Names the drivers to play (`codex,gemini`), so that one can be looked at alone.
const ONLY: &str = "WINDLASS_TEST_DRIVERS";

/// What came of one behaviour with one driver.
pub(crate) struct Cell {
    pub(crate) driver: &'static str,
    pub(crate) behaviour: Behaviour,
    pub(crate) outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// Passed, with what is different.
    PassedBut(String),
    Skipped(String),
    Failed(String),
}

impl Cell {
    /// Returns what failed.
    pub(crate) fn failure(&self) -> Option<String> {
        let Outcome::Failed(why) = &self.outcome else { return None };
        Some(format!("{}, {}: {why}", self.driver, self.behaviour.title()))
    }

    pub(crate) fn was_played(&self) -> bool {
        !matches!(self.outcome, Outcome::Skipped(_))
    }
}

/// The cells of one scene with one driver, as they are checked.
#[derive(Default)]
pub(crate) struct SceneCells {
    outcomes: Vec<(Behaviour, Outcome)>,
}

impl SceneCells {
    /// Checks a behaviour. It passes if no assertion fails.
    pub(crate) fn check(&mut self, behaviour: Behaviour, assertions: impl FnOnce()) {
        self.check_with(behaviour, || {
            assertions();
            Outcome::Passed
        });
    }

    /// Checks a behaviour that says what is different.
    pub(crate) fn check_with(&mut self, behaviour: Behaviour, assertions: impl FnOnce() -> Outcome) {
        let outcome = catch_unwind(AssertUnwindSafe(assertions));
        self.outcomes.push((behaviour, outcome.unwrap_or_else(|panic| Outcome::Failed(message(&*panic)))));
    }
}

/// Plays every scene with every driver.
pub(crate) fn play_all() -> Vec<Cell> {
    let all = SCENES.iter().flat_map(|scene| DRIVERS.iter().map(move |driver| (*driver, *scene)));
    let todo: Mutex<VecDeque<(DriverCase, Scene)>> = Mutex::new(all.collect());
    let cells = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some((driver, scene)) = todo.lock().unwrap().pop_front() else { return };
                    let played = play(driver, scene);
                    cells.lock().unwrap().extend(played);
                }
            });
        }
    });
    cells.into_inner().unwrap()
}

fn play(driver: DriverCase, scene: Scene) -> Vec<Cell> {
    let cell = |behaviour: Behaviour, outcome| Cell { driver: driver.title, behaviour, outcome };
    let agent = Agent::named(driver.cli);
    let only = std::env::var(ONLY).unwrap_or_default();
    let is_left_out = !only.is_empty() && !only.split(',').any(|name| name == driver.title);
    let bin = match agent.bin() {
        _ if is_left_out => Err(format!("left out by {ONLY}")),
        None => Err(agent.why_not()),
        Some(bin) => Ok(bin),
    };
    let bin = match bin {
        Ok(bin) => bin,
        Err(why) => {
            let skipped = scene.shows.iter().map(|shown| cell(*shown, Outcome::Skipped(why.clone())));
            return skipped.collect();
        }
    };
    let mut cells = SceneCells::default();
    let subject = Subject::new(driver, bin);
    let ended = catch_unwind(AssertUnwindSafe(|| (scene.play)(&subject, &mut cells)));
    let stopped = ended.err().map(|panic| message(&*panic));
    let outcome = |shown: Behaviour| {
        let found = cells.outcomes.iter().find(|(behaviour, _)| *behaviour == shown);
        let missing = || stopped.clone().unwrap_or_else(|| "the scene does not check it".to_owned());
        found.map_or_else(|| Outcome::Failed(missing()), |(_, outcome)| outcome.clone())
    };
    scene.shows.iter().map(|shown| cell(*shown, outcome(*shown))).collect()
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}
