//! Model checking: random small workflows in a random world, and laws that hold after every step.
//!
//! - [`draw`]: workflows. - [`world`]: what happens to a run: what it wants is done ([`perform`]), and
//!   much comes unasked ([`bother`]). - [`laws`]: what must hold.
//!
//! A case is a workflow and a list of dice. The world answers as the dice say; once they are used
//! up it answers plainly, and the run must come to its end.

mod bother;
mod draw;
mod laws;
mod perform;
mod world;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm};

use draw::{Case, any_case};
use world::{Event, World};

/// Steps after which a run that is answered plainly must be over.
const PLAIN_STEPS: usize = 3_000;

fn config() -> Config {
    let config = Config::default();
    // Dice that were found wanting are many: shrinking takes a while, and may.
    let cases = config.cases.max(1_050);
    // A fast one: dice need no good randomness.
    Config { cases, max_shrink_iters: 20_000, rng_algorithm: RngAlgorithm::XorShift, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_run_keeps_the_laws_and_can_always_come_to_its_end(case in any_case()) {
        through(case, &[]);
    }

    #[test]
    fn a_run_keeps_the_laws_and_can_always_be_cancelled(case in any_case()) {
        // Who lets a run go on after that begins nothing.
        through(case, &[Event::CancelAsked { inbox: None }, Event::UnpauseAsked { inbox: None }]);
    }

    #[test]
    fn a_run_that_was_interrupted_keeps_the_laws_and_can_continue(case in any_case()) {
        let mut world = through(case, &[Event::InterruptAsked { inbox: None }]);
        for _ in 0..3 {
            if !world.goes_on() {
                return Ok(());
            }
            to_the_end(&mut world);
        }
    }

    #[test]
    fn a_run_that_ended_keeps_the_laws_and_can_continue(case in any_case()) {
        let mut world = through(case, &[]);
        if world.goes_on() {
            world.tell(Event::InterruptAsked { inbox: None });
            to_the_end(&mut world);
        }
        if world.goes_on() {
            to_the_end(&mut world);
        }
    }
}

fn through(case: Case, then: &[Event]) -> World {
    let mut world = World::begin(case);
    while !world.state.is_done() && world.has_dice() {
        world.anything();
    }
    for event in then {
        world.tell(event.clone());
    }
    to_the_end(&mut world);
    world
}

fn to_the_end(world: &mut World) {
    for _ in 0..PLAIN_STEPS {
        if world.state.is_done() {
            return world.after_the_end();
        }
        world.plainly();
    }
    panic!("it does not end: {:?} open, {}", world.open_names(), world.told_so_far());
}
