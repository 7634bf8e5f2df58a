//! Warnings that say the same again and again: shown once, and counted.

use std::collections::BTreeMap;

use windlass_core::agent::AgentEvent;
use windlass_core::run::News;

use crate::cli::sanitize::plain_short;

/// How many different warnings are remembered; the first of each further one is shown every time.
const DIFFERENT: usize = 200;
/// How much of a warning is shown.
const LONGEST: usize = 1000;

/// How often each warning came since it was last counted aloud.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    seen: BTreeMap<String, u32>,
}

impl Repeats {
    /// Whether an event is a warning that was shown before.
    pub(super) fn has(&mut self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::Warning { what } => self.comes_again(&warning(what)),
            AgentEvent::Notice { text, .. } if !text.is_empty() => self.comes_again(&notice(text)),
            _ => false,
        }
    }

    /// The line of a warning of Windlass's own; nothing where it was shown before.
    pub(super) fn warning(&mut self, what: &str) -> Option<String> {
        let line = warning(what);
        (!self.comes_again(&line)).then_some(line)
    }

    fn comes_again(&mut self, line: &str) -> bool {
        if let Some(times) = self.seen.get_mut(line) {
            *times += 1;
            return true;
        }
        if self.seen.len() < DIFFERENT {
            self.seen.insert(line.to_owned(), 1);
        }
        false
    }

    /// What came more than once, with how often; from here on it is counted anew.
    pub(super) fn counted(&mut self) -> Vec<String> {
        let seen = std::mem::take(&mut self.seen).into_iter().filter(|(_, times)| *times > 1);
        seen.map(|(line, times)| format!("{line} ({times} times)")).collect()
    }

    /// Whether what happened ends a stretch in which warnings are counted together.
    pub(super) fn ends_with(news: &News) -> bool {
        matches!(news, News::IterationFinished { .. } | News::NodeFinished { .. } | News::Finished { .. })
    }
}

/// A warning, as it is shown.
pub(in crate::cli::feed) fn warning(what: &str) -> String {
    format!("  warning: {}", plain_short(what, LONGEST))
}

/// A note of the agent CLI, as it is shown.
pub(in crate::cli::feed) fn notice(text: &str) -> String {
    format!("  note: {}", plain_short(text, LONGEST))
}
