//! The line at the bottom of a terminal: how far the run is, or where a person types.
//!
//! The terminal itself echoes what is typed, so a line that is typed on is neither drawn again nor
//! taken away before it is entered.

/// Goes to the first column and empties the line.
pub(super) const CLEAR: &str = "\r\u{1b}[K";
/// What stands before what a person types.
const INPUT: &str = "  > ";

/// What stands there.
#[derive(Default)]
pub(super) struct Bottom {
    typing: bool,
    drawn: bool,
}

impl Bottom {
    /// What draws it, given how far the run is; nothing while somebody types.
    pub(super) fn draw(&mut self, progress: impl FnOnce() -> String) -> Option<String> {
        let was_drawn = std::mem::replace(&mut self.drawn, true);
        match (self.typing, was_drawn) {
            (true, true) => None,
            (true, false) => Some(INPUT.to_owned()),
            (false, _) => Some(format!("{CLEAR}{}", progress())),
        }
    }

    /// What makes room for other lines; empty when nothing stands there. What somebody has typed
    /// so far stays to be seen: the terminal still holds it.
    pub(super) fn clear(&mut self) -> &'static str {
        match (std::mem::take(&mut self.drawn), self.typing) {
            (true, true) => "\n",
            (true, false) => CLEAR,
            (false, _) => "",
        }
    }

    /// From now on it is a line to type on.
    pub(super) fn open_input(&mut self) {
        self.typing = true;
    }

    /// Nobody is asked any more: the line goes, with what stands on it.
    pub(super) fn close_input(&mut self) -> &'static str {
        self.typing = false;
        self.clear()
    }

    /// A line was typed to its end: the terminal stands on the next.
    pub(super) fn input_entered(&mut self) {
        *self = Bottom::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(bottom: &mut Bottom) -> Option<String> {
        bottom.draw(|| "working".to_owned())
    }

    #[test]
    fn what_is_being_typed_is_neither_drawn_over_nor_taken_away() {
        let mut bottom = Bottom::default();
        assert_eq!(draw(&mut bottom).as_deref(), Some("\r\u{1b}[Kworking"));
        assert_eq!(bottom.clear(), CLEAR);
        bottom.open_input();
        assert_eq!(draw(&mut bottom).as_deref(), Some("  > "));
        assert_eq!(draw(&mut bottom), None);
        assert_eq!(bottom.clear(), "\n");
        assert_eq!(draw(&mut bottom).as_deref(), Some("  > "));
        assert_eq!(bottom.close_input(), CLEAR);
        bottom.open_input();
        draw(&mut bottom);
        bottom.input_entered();
        assert_eq!(bottom.clear(), "");
    }
}
