//! Counts repeated warnings, so that the feed shows each only once.

use std::collections::BTreeMap;

use windlass_core::agent::AgentEvent;
use windlass_core::run::News;

use crate::cli::sanitize::plain_short;

/// The most different warnings that are counted. Others are shown every time.
const DIFFERENT: usize = 200;
/// The longest warning that is shown.
const LONGEST: usize = 1000;

/// The count of each warning since the counts were last shown.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    seen: BTreeMap<String, u32>,
}

impl Repeats {
    /// Returns whether an event is a warning that was shown before, and counts it.
    pub(super) fn has(&mut self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::Warning { what } => self.comes_again(&warning(what)),
            AgentEvent::Notice { text, .. } if !text.is_empty() => self.comes_again(&notice(text)),
            _ => false,
        }
    }

    /// Returns the line of a warning by Windlass, or `None` if it was shown before.
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

    /// Returns the warnings that came more than once, with their counts, and starts counting again.
    pub(super) fn counted(&mut self) -> Vec<String> {
        let seen = std::mem::take(&mut self.seen).into_iter().filter(|(_, times)| *times > 1);
        seen.map(|(line, times)| format!("{line} ({times} times)")).collect()
    }

    /// Decides whether the counts are shown after this news.
    pub(super) fn ends_with(news: &News) -> bool {
        matches!(news, News::IterationFinished { .. } | News::NodeFinished { .. } | News::Finished { .. })
    }
}

/// Formats a warning.
pub(in crate::cli::feed) fn warning(what: &str) -> String {
    format!("  warning: {}", plain_short(what, LONGEST))
}

/// Formats a notice of the agent CLI.
pub(in crate::cli::feed) fn notice(text: &str) -> String {
    format!("  note: {}", plain_short(text, LONGEST))
}
