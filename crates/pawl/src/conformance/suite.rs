//! Plays every scene with every chosen driver, two at a time, and reports each cell as soon as it is known.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::cells::{CellOutcome, ConformanceCell, SceneCells};
use super::drivers::{SUITE_DRIVERS, SuiteDriver};
use super::place::Place;
use super::scenes::{SCENES, Scene};
use super::stage::SceneStage;

/// The most scenes at a time.
const AT_ONCE: usize = 2;

/// An agent CLI as installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledCli {
    /// The name of its driver.
    pub name: String,
    pub program: PathBuf,
}

/// The suite with everything that it needs.
pub struct ConformanceSuite {
    /// The `windlass` program.
    pub windlass: PathBuf,
    /// A private folder of the caller, which the caller removes.
    pub folder: PathBuf,
    /// The `PATH` of every program.
    pub path: OsString,
    pub clis: Vec<InstalledCli>,
    /// The drivers to play. Those whose CLI is not in `clis` are left out.
    pub drivers: Vec<&'static SuiteDriver>,
}

/// The progress of the suite.
#[derive(Debug)]
pub enum SuiteProgress<'a> {
    /// A scene starts: the title of its driver, and the titles of its behaviours.
    Starts(&'static str, Vec<&'static str>),
    Ended(&'a ConformanceCell),
}

/// The surroundings of every scene.
pub(super) struct SuiteSurroundings<'a> {
    pub(super) windlass: PathBuf,
    pub(super) path: OsString,
    pub(super) folder: PathBuf,
    /// A person has stopped the suite.
    pub(super) stop: &'a AtomicBool,
}

impl SuiteSurroundings<'_> {
    /// Returns the folder in which a CLI unpacks itself, once for all scenes.
    pub(super) fn unpacked(&self, cli: &str) -> PathBuf {
        self.folder.join("unpacked").join(cli)
    }
}

/// A scene with one driver.
struct Job {
    number: usize,
    driver: &'static SuiteDriver,
    program: PathBuf,
    scene: Scene,
}

impl ConformanceSuite {
    /// Plays everything, or until `stop` is set. Returns the cells in the order of the drivers and behaviours.
    pub fn play(&self, stop: &AtomicBool, tell: &(dyn Fn(SuiteProgress<'_>) + Sync)) -> Vec<ConformanceCell> {
        let around = SuiteSurroundings {
            windlass: self.windlass.clone(),
            path: self.path.clone(),
            folder: self.folder.clone(),
            stop,
        };
        let jobs = Mutex::new(self.jobs());
        let cells = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while !stop.load(Ordering::SeqCst) {
                        let Some(job) = lock(&jobs).pop_front() else { return };
                        tell(SuiteProgress::Starts(job.driver.title, job.scene.titles()));
                        let played = job.play(&around);
                        if stop.load(Ordering::SeqCst) {
                            return;
                        }
                        played.iter().for_each(|cell| tell(SuiteProgress::Ended(cell)));
                        lock(&cells).extend(played);
                    }
                });
            }
        });
        let _ = fs::remove_dir_all(self.folder.join("unpacked"));
        let mut cells = cells.into_inner().unwrap_or_else(PoisonError::into_inner);
        cells.sort_by_key(|cell| {
            let driver = SUITE_DRIVERS.iter().position(|driver| driver.title == cell.driver);
            (driver, super::Behaviour::ALL.iter().position(|behaviour| *behaviour == cell.behaviour))
        });
        cells
    }

    /// Lists the scenes, each with all drivers, so that no driver is played at the very end alone.
    fn jobs(&self) -> VecDeque<Job> {
        let program = |driver: &SuiteDriver| {
            let cli = self.clis.iter().find(|cli| cli.name == driver.cli);
            cli.map(|cli| cli.program.clone())
        };
        let all = SCENES.iter().flat_map(|scene| self.drivers.iter().map(move |driver| (*scene, *driver)));
        let able = all.filter_map(|(scene, driver)| Some((scene, driver, program(driver)?)));
        let jobs =
            able.enumerate().map(|(number, (scene, driver, program))| Job { number, driver, program, scene });
        jobs.collect()
    }
}

impl Job {
    fn play(self, around: &SuiteSurroundings<'_>) -> Vec<ConformanceCell> {
        let mut cells = SceneCells::default();
        let ended = self.perform(around, &mut cells);
        let cell = |behaviour| {
            let outcome: CellOutcome = cells.outcome(behaviour, &ended);
            ConformanceCell { driver: self.driver.title, behaviour, outcome }
        };
        self.scene.shows.iter().map(|behaviour| cell(*behaviour)).collect()
    }

    fn perform(&self, around: &SuiteSurroundings<'_>, cells: &mut SceneCells) -> Result<(), String> {
        // A short name, because socket paths have a small limit.
        let place = Place::new(around.folder.join(self.number.to_string()), around)?;
        let mut stage = SceneStage::new(self.driver, place, self.program.clone())?;
        (self.scene.play)(&mut stage, cells)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
