//! Starts programs repeatedly, in turn, and compares their times.
//!
//! The programs take turns because the load of a machine changes every second. Only times of the same
//! round are comparable.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program to measure.
pub(crate) struct Contestant<'a> {
    pub(crate) name: &'a str,
    /// Builds the command for one start.
    pub(crate) command: Box<dyn Fn() -> Result<Command, String> + 'a>,
    /// The program runs in every `every`-th round.
    pub(crate) every: usize,
}

/// Starts the programs in turn, `rounds` times, and prints a table. The first program is the baseline.
pub(crate) fn compare(contestants: &[Contestant<'_>], rounds: usize) -> Result<(), String> {
    let mut times: Vec<Vec<Duration>> = contestants.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for (contestant, times) in contestants.iter().zip(&mut times) {
            if round % contestant.every == 0 {
                times.push(once(contestant)?);
            }
        }
    }
    print(contestants, &mut times);
    Ok(())
}

fn once(contestant: &Contestant<'_>) -> Result<Duration, String> {
    let mut command = (contestant.command)()?;
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().map_err(|error| format!("{}: {error}", contestant.name))?;
    let took = start.elapsed();
    if !status.success() {
        return Err(format!("{} ended with {status}", contestant.name));
    }
    Ok(took)
}

fn print(contestants: &[Contestant<'_>], times: &mut [Vec<Duration>]) {
    println!(
        "{:26} {:>6} {:>10} {:>10} {:>9} {:>9}",
        "", "starts", "median ms", "min ms", "x median", "x min"
    );
    let mut floor = None;
    for (contestant, times) in contestants.iter().zip(times) {
        times.sort();
        let (Some(min), Some(median)) = (times.first(), times.get(times.len() / 2)) else { continue };
        let (min, median) = (min.as_secs_f64() * 1e3, median.as_secs_f64() * 1e3);
        let (floor_median, floor_min) = *floor.get_or_insert((median, min));
        println!(
            "{:26} {:>6} {median:>10.3} {min:>10.3} {:>9.2} {:>9.2}",
            contestant.name,
            times.len(),
            median / floor_median,
            min / floor_min
        );
    }
}
