//! The cells of the table: what came of one behaviour with one driver.

use super::behaviour::Behaviour;

/// The result of a check: its outcome, or what is wrong.
pub(super) type Checked = Result<CellOutcome, String>;

/// A cell of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConformanceCell {
    /// The title of the driver.
    pub driver: &'static str,
    pub behaviour: Behaviour,
    pub outcome: CellOutcome,
}

/// The result of a behaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellOutcome {
    Passed,
    /// Passed, with what is different.
    PassedBut(String),
    /// The driver cannot do it, with the reason. The scene showed that Windlass refuses or replaces it.
    NotPossible(String),
    /// With what is wrong.
    Failed(String),
}

impl CellOutcome {
    /// Returns the word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            CellOutcome::Passed | CellOutcome::PassedBut(_) => "passed",
            CellOutcome::NotPossible(_) => "not_possible",
            CellOutcome::Failed(_) => "failed",
        }
    }

    /// Returns the difference, the reason, or what is wrong.
    pub fn note(&self) -> Option<&str> {
        match self {
            CellOutcome::Passed => None,
            CellOutcome::PassedBut(note) | CellOutcome::NotPossible(note) | CellOutcome::Failed(note) => {
                Some(note)
            }
        }
    }
}

/// The outcomes of one scene, as the scene checks them.
#[derive(Default)]
pub(super) struct SceneCells {
    checked: Vec<(Behaviour, CellOutcome)>,
}

impl SceneCells {
    /// Checks a behaviour that passes if nothing is wrong.
    pub(super) fn check(&mut self, behaviour: Behaviour, check: impl FnOnce() -> Result<(), String>) {
        self.check_with(behaviour, || check().map(|()| CellOutcome::Passed));
    }

    /// Checks a behaviour that says what is different.
    pub(super) fn check_with(&mut self, behaviour: Behaviour, check: impl FnOnce() -> Checked) {
        self.checked.push((behaviour, check().unwrap_or_else(CellOutcome::Failed)));
    }

    /// Returns the outcome of a behaviour of a scene that ended like this.
    pub(super) fn outcome(&self, behaviour: Behaviour, ended: &Result<(), String>) -> CellOutcome {
        let found = self.checked.iter().find(|(checked, _)| *checked == behaviour);
        let missing = || {
            let why = ended.as_ref().err().cloned();
            CellOutcome::Failed(why.unwrap_or_else(|| "the scene does not check it".to_owned()))
        };
        found.map_or_else(missing, |(_, outcome)| outcome.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_behaviour_that_a_broken_scene_did_not_reach_has_failed_with_its_reason() {
        let mut cells = SceneCells::default();
        cells.check(Behaviour::Start, || Ok(()));
        cells.check(Behaviour::Tool, || Err("no file".to_owned()));
        let ended = Err("it did not end".to_owned());
        assert_eq!(cells.outcome(Behaviour::Start, &ended), CellOutcome::Passed);
        assert_eq!(cells.outcome(Behaviour::Tool, &ended), CellOutcome::Failed("no file".to_owned()));
        let unreached = CellOutcome::Failed("it did not end".to_owned());
        assert_eq!(cells.outcome(Behaviour::Stream, &ended), unreached);
    }
}
