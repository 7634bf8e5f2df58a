//! Rings the bell or shows a notification of the terminal when a watched run needs a person or has ended.
//!
//! Both are settings and off by default. The command that notifies belongs to `runtime::notify`.

use std::collections::BTreeSet;
use std::io::IsTerminal;

use windlass_core::event::Record;
use windlass_core::id::{HookId, RunId};
use windlass_core::run::{News, RunState, Waiting};
use windlass_core::spec::NotifySettings;
use windlass_runtime::view::Family;

use super::feed::Face;
use super::invocation::Invocation;
use super::output::OutputWriter;
use super::report::send_to_terminal;
use super::sanitize::plain_short;

/// The longest text of a notification.
const LONGEST: usize = 120;

/// The terminal to alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AlertTarget {
    /// Standard output, in turn with the feed.
    Feed,
    StandardError,
}

/// Alerts the person at the terminal, once for each question and once at the end.
pub(crate) struct Alert {
    settings: NotifySettings,
    root: RunId,
    target: AlertTarget,
    seen: BTreeSet<(RunId, HookId)>,
}

impl Alert {
    /// Returns the alert for a run, if its settings ask for one and there is a terminal.
    pub(crate) fn of(state: &RunState, face: &Face, invocation: &Invocation) -> Option<Alert> {
        let settings = state.spec.notify.clone();
        let target = match face {
            Face::Human(_) if invocation.screen.redraws => AlertTarget::Feed,
            Face::Human(_) | Face::Json(_) => AlertTarget::StandardError,
            Face::Timed(..) | Face::Quiet => return None,
        };
        let is_there = target == AlertTarget::Feed || std::io::stderr().is_terminal();
        let is_wanted = settings.bell || settings.osc9;
        (is_there && is_wanted).then(|| Alert {
            settings,
            root: state.run.clone(),
            target,
            seen: BTreeSet::new(),
        })
    }

    /// Leaves out the questions that were open before.
    pub(crate) fn skip(&mut self, family: &Family) {
        for state in std::iter::once(family.root()).chain(family.below()) {
            let asks = state.bookkeeping.asks.iter();
            self.seen.extend(asks.map(|ask| (state.run.clone(), ask.hook.clone())));
        }
    }

    /// Alerts the person if a record asks for one or ends the run.
    pub(crate) fn see(&mut self, out: &mut OutputWriter, run: &RunId, record: &Record) {
        for news in &record.news {
            match news {
                News::Waiting(Waiting::Person(ask)) if self.seen.insert((run.clone(), ask.hook.clone())) => {
                    let first = ask.open_questions().next().map_or("", |question| question.text.as_str());
                    self.send(out, &format!("run {run} needs you: {first}"));
                }
                News::Finished { outcome, .. } if *run == self.root => {
                    self.send(out, &format!("run {run} {}", outcome.status.word()));
                }
                _ => {}
            }
        }
    }

    fn send(&self, out: &mut OutputWriter, text: &str) {
        let sequence = sequence(&self.settings, text);
        match self.target {
            AlertTarget::Feed => out.text(&sequence),
            AlertTarget::StandardError => send_to_terminal(&sequence),
        }
    }
}

/// Returns the bytes for the terminal. No control character of the text survives: one could end the sequence
/// and start another.
fn sequence(settings: &NotifySettings, text: &str) -> String {
    let osc9 = format!("\u{1b}]9;windlass: {}\u{7}", plain_short(text, LONGEST));
    let bell = "\u{7}";
    format!("{}{}", if settings.osc9 { &osc9 } else { "" }, if settings.bell { bell } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(bell: bool, osc9: bool) -> NotifySettings {
        NotifySettings { command: Vec::new(), bell, osc9 }
    }

    #[test]
    fn each_way_has_its_bytes() {
        assert_eq!(sequence(&settings(false, false), "x"), "");
        assert_eq!(sequence(&settings(true, false), "x"), "\u{7}");
        assert_eq!(sequence(&settings(false, true), "x"), "\u{1b}]9;windlass: x\u{7}");
        assert_eq!(sequence(&settings(true, true), "x"), "\u{1b}]9;windlass: x\u{7}\u{7}");
    }

    #[test]
    fn no_text_ends_the_sequence_or_starts_another() {
        for text in ["a\u{7}\u{1b}]52;c;evil\u{7}", "a\u{1b}\\b", "\u{9c}x\u{9d}52;c;y", "one\ntwo\r\0"] {
            let sent = sequence(&settings(false, true), text);
            let inner = sent.strip_prefix("\u{1b}]9;").unwrap().strip_suffix('\u{7}').unwrap();
            assert!(!inner.contains(char::is_control), "{inner:?}");
        }
        assert!(sequence(&settings(false, true), &"x".repeat(5000)).len() < 200);
    }
}
