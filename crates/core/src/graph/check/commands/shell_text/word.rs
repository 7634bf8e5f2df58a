//! Reads the pieces of a word: quotes, escapes and expansions, and the commands inside them.

use super::super::bashisms;
use super::{DEEPEST, HIDDEN, ListEnd, Reader, ShellQuotes, Silence, Word};
use crate::graph::template::command::VALUE;

impl Reader<'_> {
    /// Reads the next piece of a word.
    pub(super) fn piece(&mut self, word: &mut Word) {
        match self.rest().chars().next() {
            Some('\\') => {
                self.skip_two();
                word.text.push(HIDDEN);
            }
            Some('\'') => self.single(word),
            Some('"') => self.double(word),
            Some('$' | '`') => self.expansion(word, ShellQuotes::None),
            Some(VALUE) => self.take(word, ShellQuotes::None),
            Some(plain) => {
                word.text.push(plain);
                self.at += plain.len_utf8();
            }
            None => {}
        }
    }

    fn single(&mut self, word: &mut Word) {
        let begin = self.at + 1;
        let Some(length) = self.text.get(begin..).and_then(|rest| rest.find('\'')) else {
            return self.give_up_in(ShellQuotes::Single);
        };
        self.quote_values(begin, begin + length, ShellQuotes::Single);
        word.text.push(HIDDEN);
        self.at = begin + length + 1;
    }

    fn double(&mut self, word: &mut Word) {
        self.at += 1;
        word.text.push(HIDDEN);
        loop {
            match self.rest().chars().next() {
                None => return self.read.is_open = true,
                Some('"') => {
                    self.at += 1;
                    return;
                }
                Some('\\') => self.skip_two(),
                Some('$' | '`') => self.expansion(word, ShellQuotes::Double),
                Some(_) => self.take(word, ShellQuotes::Double),
            }
        }
    }

    /// Reads `$…` or a command in backquotes.
    pub(super) fn expansion(&mut self, word: &mut Word, quoting: ShellQuotes) {
        let start = self.at;
        word.text.push(HIDDEN);
        if self.rest().starts_with('`') {
            self.at += 1;
            return self.list(ListEnd::Backquote, Silence::No);
        }
        self.at += 1;
        let rest = self.rest();
        match rest.chars().next() {
            Some('(') if rest.starts_with("((") && self.sum(start + 3).is_some() => {
                self.at += 2;
                self.arithmetic();
            }
            Some('(') => {
                self.at += 1;
                if bashisms::is_file_alone(self.rest()) {
                    self.found(start, "`$(<…)`");
                }
                self.list(ListEnd::Bracket, Silence::No);
            }
            Some('{') => self.parameter(start, quoting),
            Some('\'') if quoting == ShellQuotes::None => {
                self.found(start, "`$'…'`");
                self.escaped();
            }
            Some(first) if first == '_' || first.is_ascii_alphabetic() => {
                let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
                let name = rest.split(|c| !is_part(c)).next().unwrap_or_default();
                self.at += name.len();
                bashisms::variable(name).into_iter().for_each(|what| self.found(start, what));
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => self.at += 1,
            _ => {}
        }
    }

    /// Reads `$((…))` after its brackets.
    fn arithmetic(&mut self) {
        let start = self.at;
        let length = self.sum(start).map_or(0, str::len);
        let (inside, end) = (self.text.get(start..start + length).unwrap_or_default(), start + length);
        bashisms::sum(inside).into_iter().for_each(|what| self.found(start, what));
        let mut scratch = Word::default();
        while self.at < end {
            match self.rest().chars().next() {
                Some('$' | '`') => self.expansion(&mut scratch, ShellQuotes::None),
                _ => self.take(&mut scratch, ShellQuotes::None),
            }
        }
        self.at = self.at.max(end + 2);
    }

    /// Reads `${…}` from its brace on.
    fn parameter(&mut self, start: usize, quoting: ShellQuotes) {
        self.at += 1;
        bashisms::parameter(self.rest()).into_iter().for_each(|what| self.found(start, what));
        let mut scratch = Word::default();
        self.depth += 1;
        while self.depth <= DEEPEST {
            match self.rest().chars().next() {
                None => {
                    self.read.is_open = true;
                    break;
                }
                Some('}') => {
                    self.at += 1;
                    break;
                }
                Some('\\') => self.skip_two(),
                Some('\'') if quoting == ShellQuotes::None => self.single(&mut scratch),
                Some('"') if quoting != ShellQuotes::Document => self.double(&mut scratch),
                Some('$' | '`') => self.expansion(&mut scratch, quoting),
                Some(_) => self.take(&mut scratch, quoting),
            }
        }
        if self.depth > DEEPEST {
            self.give_up();
        }
        self.depth -= 1;
    }

    /// Reads `'…'` of `$'…'`, in which a backslash escapes.
    fn escaped(&mut self) {
        self.at += 1;
        let mut scratch = Word::default();
        loop {
            match self.rest().chars().next() {
                None => return self.read.is_open = true,
                Some('\'') => {
                    self.at += 1;
                    return;
                }
                Some('\\') => self.skip_two(),
                Some(_) => self.take(&mut scratch, ShellQuotes::Single),
            }
        }
    }
}
