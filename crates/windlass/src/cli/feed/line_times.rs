//! The times at the left of the lines of a log, and the date where the day changes.

use windlass_core::time::Moment;

use super::words;
use crate::cli::terminal::{Terminal, TextTone};

/// The width of a time and the blank after it.
pub(super) const WIDTH: usize = 9;

/// Puts the time before each line.
#[derive(Debug, Default)]
pub(crate) struct LineTimes {
    /// The time of the last line. No line is older than the one above it.
    last: Moment,
    day: String,
}

impl LineTimes {
    /// Puts a time before lines, and the date above the first lines of a day.
    pub(super) fn stamp(&mut self, screen: Terminal, at: Moment, lines: Vec<String>) -> Vec<String> {
        if lines.is_empty() {
            return lines;
        }
        self.last = self.last.max(at);
        let (day, time) = (words::day(self.last), words::time(self.last));
        let mut stamped = Vec::new();
        if day != self.day {
            stamped.push(screen.paint(TextTone::Faint, &day));
            self.day = day;
        }
        let time = screen.paint(TextTone::Faint, &time);
        let put = |line: String| if line.is_empty() { line } else { format!("{time} {line}") };
        stamped.extend(lines.into_iter().map(put));
        stamped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_time_and_each_day_its_date() {
        let mut times = LineTimes::default();
        let hour = 3_600_000;
        let mut stamp = |at: i64, line: &str| {
            let lines = times.stamp(Terminal::plain(), Moment(at), vec![String::new(), line.to_owned()]);
            lines.iter().map(String::len).collect::<Vec<_>>()
        };
        assert_eq!(stamp(1_000 * hour, "  x"), [10, 0, 12], "the date, and no time before an empty line");
        assert_eq!(stamp(1_000 * hour + 1, "y"), [0, 10]);
        assert_eq!(stamp(999 * hour, "y"), [0, 10], "time does not run back");
        assert_eq!(stamp(1_030 * hour, "y"), [10, 0, 10], "another day");
    }
}
