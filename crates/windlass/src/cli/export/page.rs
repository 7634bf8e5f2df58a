//! A run as a Markdown page: its nodes and turns as headings, the words of the agents as text, their tools as
//! lists.

use std::fmt::Write as _;

use windlass_core::agent::AgentEvent;
use windlass_core::event::{Event, Record};
use windlass_core::id::RunId;
use windlass_core::registry::tools::label;
use windlass_core::run::{News, Waiting};

use super::super::feed::{rfc3339, words};
use super::super::sanitize::{plain, plain_line, plain_short};

/// The most columns of one line about a tool.
const TOOL: usize = 200;
/// The most characters of a tool's output.
const RESULT: usize = 2_000;

/// The page while it is written.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The last line was an item of a list.
    is_list: bool,
}

impl Page {
    /// Returns the text of a record.
    pub(super) fn record(&mut self, run: &RunId, record: &Record) -> String {
        let mut text = String::new();
        if let Event::RunStarted { spec } = &record.event {
            self.paragraph(&mut text, &format!("# Run {run}: {}", plain_line(&spec.workflow)));
            let _ = writeln!(text, "\n- Started: {}", rfc3339(record.at));
            let _ = writeln!(text, "- Folder: `{}`", plain_line(&spec.workspace));
            if !spec.input.is_empty() {
                let _ = writeln!(text, "\n{}", quoted(&spec.input));
            }
        }
        for news in &record.news {
            self.news(&mut text, news);
        }
        text
    }

    fn news(&mut self, text: &mut String, news: &News) {
        match news {
            News::NodeStarted { node, kind, .. } => {
                self.paragraph(text, &format!("## `{node}` ({})", plain_line(kind)));
            }
            News::SessionStarted { node, iteration, attempt, .. } => {
                let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
                self.paragraph(text, &format!("### Turn {iteration} of `{node}`{again}"));
            }
            News::IterationFinished { checks, feedback, .. } => {
                for (name, passed) in checks {
                    let mark = if *passed { "x" } else { " " };
                    self.item(text, &format!("[{mark}] check `{}`", plain_line(name)));
                }
                if let Some(feedback) = feedback {
                    self.paragraph(text, &quoted(feedback));
                }
            }
            News::HandedOver { from, to, why, .. } => {
                self.paragraph(text, &format!("**{from} hands over to {to}**: {}", plain_line(why)));
            }
            News::Waiting(Waiting::RateLimit { until }) => {
                self.paragraph(text, &format!("*Waits for a usage limit until {}.*", rfc3339(*until)));
            }
            News::Waiting(Waiting::Person(ask)) => {
                for question in &ask.questions {
                    self.paragraph(text, &format!("**Asks:** {}", plain_line(&question.text)));
                }
                if let Some(tool) = &ask.tool {
                    let name = plain_line(&tool.name.to_string());
                    self.paragraph(text, &format!("**Asks for permission:** `{name}`"));
                }
            }
            News::Retrying { what, .. } | News::Odd { what, .. } => {
                self.paragraph(text, &format!("*{}*", plain_line(what)));
            }
            News::NodeFinished { node, outcome, .. } => {
                self.paragraph(text, &format!("`{node}`: {}", plain_line(&words::outcome(outcome))));
            }
            News::NodeSkipped { node, why } => {
                self.paragraph(text, &format!("`{node}` was skipped: {}", plain_line(why)));
            }
            News::Finished { outcome, usage, .. } => {
                self.paragraph(text, &format!("## {}", plain_line(&words::outcome(outcome))));
                self.item(text, &words::tokens(usage));
                self.item(text, &words::cost(usage.cost()));
            }
            _ => {}
        }
    }

    /// Returns the text of an agent's message or action.
    pub(super) fn agent(&mut self, event: &AgentEvent) -> String {
        let mut text = String::new();
        match event {
            AgentEvent::Text { text: said, side: false, .. } => {
                self.paragraph(&mut text, plain(said).trim_end());
            }
            AgentEvent::Thinking { text: said, side: false } => {
                self.paragraph(&mut text, &folded("Thinking", said));
            }
            AgentEvent::ToolUse { tool, name, summary, .. } => {
                let call = code(&plain_short(summary, TOOL));
                self.item(&mut text, &format!("**{}** {call}", plain_line(label(*tool, name))));
            }
            AgentEvent::ToolResult { is_error: true, text: said, .. } => {
                self.paragraph(&mut text, &fenced(said));
            }
            AgentEvent::Notice { about, text: said } => {
                self.paragraph(&mut text, &format!("*{}: {}*", plain_line(about), plain_line(said)));
            }
            AgentEvent::ApiError { error, text: said, .. } => {
                self.paragraph(&mut text, &format!("*{}: {}*", plain_line(error), plain_line(said)));
            }
            _ => {}
        }
        text
    }

    fn paragraph(&mut self, text: &mut String, paragraph: &str) {
        if !paragraph.trim().is_empty() {
            let _ = writeln!(text, "\n{paragraph}");
            self.is_list = false;
        }
    }

    fn item(&mut self, text: &mut String, item: &str) {
        let before = if self.is_list { "" } else { "\n" };
        let _ = writeln!(text, "{before}- {item}");
        self.is_list = true;
    }
}

fn quoted(text: &str) -> String {
    plain(text).trim_end().lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// Writes a text as code. No text can end the code early, whatever marks it contains.
fn code(text: &str) -> String {
    let marks = "`".repeat(longest_run(text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    if text.is_empty() { String::new() } else { format!("{marks}{pad}{text}{pad}{marks}") }
}

fn fenced(text: &str) -> String {
    let text: String = plain(text).chars().take(RESULT).collect();
    let marks = "`".repeat((longest_run(&text) + 1).max(3));
    format!("{marks}\n{}\n{marks}", text.trim_end())
}

fn folded(title: &str, text: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{}\n\n</details>", fenced(text))
}

/// Returns the length of the longest sequence of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_an_agent_ends_its_code_early() {
        assert_eq!(code("ls"), "`ls`");
        assert_eq!(code("echo `date`"), "`` echo `date` ``");
        assert_eq!(fenced("a\n```\nb\u{1b}[31m"), format!("````\n{}\n````", plain("a\n```\nb\u{1b}[31m")));
        assert!(!fenced("\u{1b}[31m").contains('\u{1b}'));
    }
}
