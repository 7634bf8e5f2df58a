//! Shows what the agent says and does, as lines for people.

use windlass_core::agent::AgentEvent;
use windlass_core::registry::tools::label;

use super::face::Style;
use super::human::repeats::{notice, warning};
use super::words::span;
use super::wrap::{first, wrap};
use crate::cli::sanitize::{columns, padded, plain, plain_line, plain_short};
use crate::cli::terminal::{Terminal, TextTone};

/// The most lines of one text in a live feed.
const LINES: usize = 12;
/// The longest hook message that is shown.
const HOOK_ERROR: usize = 1000;
/// The width of a tool's name, so that most summaries line up.
const NAME: usize = 5;

/// Returns the lines of one event. Most events have none.
pub(super) fn lines(screen: Terminal, style: Style, workspace: &str, event: &AgentEvent) -> Vec<String> {
    match event {
        AgentEvent::Text { text, side, .. } => speech(screen, style, text, *side),
        AgentEvent::Thinking { text, side } if style.thinking => thought(screen, style, text, *side),
        // The question itself is shown, and not the tool that asks it.
        AgentEvent::ToolUse { asks: true, .. } => Vec::new(),
        AgentEvent::ToolUse { tool, name, summary, side, .. } => {
            vec![tool_line(screen, label(*tool, name), within(workspace, summary), *side)]
        }
        AgentEvent::ToolResult { is_error: true, text, side, .. } => vec![tool_error(screen, text, *side)],
        AgentEvent::ApiError { text, error, .. } => {
            let text = if text.is_empty() { error } else { text };
            vec![screen.paint(TextTone::Bad, &format!("  error: {}", plain_short(text, 200)))]
        }
        AgentEvent::Retry(retry) => {
            let wait = span(retry.delay_ms);
            let (what, number, most) = (plain_line(&retry.error), retry.attempt, retry.max_retries);
            vec![screen.paint(
                TextTone::Careful,
                &format!("  {what}: the agent CLI retries in {wait} ({number} of {most})"),
            )]
        }
        // The CLI reports a blocked Stop hook as an error, but that is how the loop works.
        AgentEvent::Notice { about, .. } if about == "stop-hook-error" => Vec::new(),
        AgentEvent::Notice { text, .. } if !text.is_empty() => {
            vec![screen.paint(TextTone::Faint, &notice(text))]
        }
        AgentEvent::Warning { what } => {
            vec![screen.paint(TextTone::Careful, &warning(what))]
        }
        AgentEvent::SessionInit { .. }
        | AgentEvent::Thinking { .. }
        | AgentEvent::ToolResult { .. }
        | AgentEvent::Spent { .. }
        | AgentEvent::RateLimit(_)
        // The run shows the question.
        | AgentEvent::Asks(_)
        | AgentEvent::AskWithdrawn { .. }
        | AgentEvent::Notice { .. }
        | AgentEvent::Result(_)
        | AgentEvent::Unknown { .. } => Vec::new(),
    }
}

/// Returns the indentation of a line; a subagent's lines are indented further.
fn indent(side: bool) -> &'static str {
    if side { "    | " } else { "  " }
}

fn speech(screen: Terminal, style: Style, text: &str, side: bool) -> Vec<String> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    bounded(style, wrap(&plain(text), indent(side), screen.width), side)
}

fn thought(screen: Terminal, style: Style, text: &str, side: bool) -> Vec<String> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let lines = bounded(style, wrap(&plain(text), &format!("{}~ ", indent(side)), screen.width), side);
    lines.iter().map(|line| screen.paint(TextTone::Faint, line)).collect()
}

fn bounded(style: Style, lines: Vec<String>, side: bool) -> Vec<String> {
    if style.whole {
        return lines;
    }
    let (mut shown, hidden) = first(lines, LINES);
    if hidden > 0 {
        shown.push(format!("{}... ({hidden} more lines)", indent(side)));
    }
    shown
}

/// Makes a path in the workspace relative to it.
fn within<'a>(workspace: &str, summary: &'a str) -> &'a str {
    let inside = summary.strip_prefix(workspace).and_then(|rest| rest.strip_prefix('/'));
    inside.filter(|_| !workspace.is_empty()).unwrap_or(summary)
}

fn tool_line(screen: Terminal, name: &str, summary: &str, side: bool) -> String {
    let name = plain_line(name);
    let padded = padded(&name, NAME);
    let room = screen.width.saturating_sub(indent(side).len() + columns(&padded) + 2).max(10);
    let summary = plain_short(summary, room);
    format!("{}{}  {summary}", indent(side), screen.paint(TextTone::Strong, &padded)).trim_end().to_owned()
}

fn tool_error(screen: Terminal, text: &str, side: bool) -> String {
    // A hook's message tells a person what to do, so it is not cut in the middle of a sentence.
    let room = if is_of_hook(text) { HOOK_ERROR } else { screen.width.saturating_sub(12).max(10) };
    screen.paint(TextTone::Bad, &format!("{}  error: {}", indent(side), plain_short(text, room)))
}

/// Decides whether the text is the message of a hook: `PreToolUse:Bash hook error: …`.
fn is_of_hook(text: &str) -> bool {
    let begin = text.split_once(" hook error").map(|(begin, _)| begin);
    begin.is_some_and(|begin| begin.len() < 100 && !begin.contains('\n'))
}

#[cfg(test)]
mod tests {
    use windlass_core::hook::ToolName;

    use super::*;

    fn show(event: &AgentEvent) -> Vec<String> {
        lines(Terminal::plain(), Style::default(), "/w", event)
    }

    #[test]
    fn a_tool_call_is_one_line() {
        let event = AgentEvent::ToolUse {
            id: "t".to_owned(),
            tool: ToolName::Shell,
            name: "Bash".to_owned(),
            asks: false,
            summary: format!("cargo test\n&& echo {}", "x".repeat(200)),
            side: false,
        };
        let lines = show(&event);
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].starts_with("  Bash   cargo test && echo xxx") && lines[0].ends_with("..."),
            "{lines:?}"
        );
        assert!(lines[0].chars().count() <= 80);
    }

    #[test]
    fn a_tool_has_the_same_name_whatever_the_agent_cli_calls_it() {
        let show_tool = |tool, name: &str| {
            let event = AgentEvent::ToolUse {
                id: "t".to_owned(),
                tool,
                name: name.to_owned(),
                asks: false,
                summary: "x".to_owned(),
                side: false,
            };
            show(&event)
        };
        for name in ["Bash", "bash", "run_shell_command", "exec_command"] {
            assert_eq!(show_tool(ToolName::Shell, name), ["  Bash   x"]);
        }
        assert_eq!(show_tool(ToolName::Mcp, "mcp__docs__find"), ["  mcp__docs__find  x"]);
    }

    #[test]
    fn what_a_hook_says_is_shown_to_its_end() {
        let said = "Windlass did not answer this call: nobody runs it; ".repeat(6);
        let error = |text: &str| AgentEvent::ToolResult {
            id: "t".to_owned(),
            is_error: true,
            text: text.to_owned(),
            was_decided: true,
            side: false,
        };
        let lines = show(&error(&format!("PreToolUse:Bash hook error: [windlass hook]: {said}the end")));
        assert!(lines[0].ends_with("the end"), "{lines:?}");
        let lines = show(&error(&format!("Exit code 1\n{said}")));
        assert!(lines[0].chars().count() <= 80, "{lines:?}");
    }

    #[test]
    fn a_path_is_shown_as_seen_from_the_workspace() {
        assert_eq!(within("/w", "/w/src/main.rs"), "src/main.rs");
        assert_eq!(within("/w", "/wide/a"), "/wide/a");
        assert_eq!(within("", "/a"), "/a");
    }

    #[test]
    fn thoughts_are_shown_only_when_asked_for() {
        let event = AgentEvent::Thinking { text: "hm".to_owned(), side: false };
        assert!(show(&event).is_empty());
        let style = Style { thinking: true, ..Style::default() };
        assert_eq!(lines(Terminal::plain(), style, "", &event), ["  ~ hm"]);
    }

    #[test]
    fn a_long_text_is_cut_while_watching_and_whole_in_the_logs() {
        let text = "line\n".repeat(40);
        let event = AgentEvent::Text { text, message_id: "m".to_owned(), side: false };
        assert_eq!(show(&event).len(), LINES + 1);
        let whole = Style { whole: true, ..Style::default() };
        assert_eq!(lines(Terminal::plain(), whole, "", &event).len(), 40);
    }

    #[test]
    fn no_control_character_of_an_agent_is_printed() {
        let evil = "\u{1b}]0;title\u{7}\u{1b}[2J\r".to_owned();
        let events = [
            AgentEvent::Text { text: evil.clone(), message_id: evil.clone(), side: true },
            AgentEvent::ToolUse {
                id: evil.clone(),
                tool: ToolName::Other,
                name: evil.clone(),
                asks: false,
                summary: evil.clone(),
                side: false,
            },
            AgentEvent::Warning { what: evil.clone() },
            AgentEvent::Notice { about: evil.clone(), text: evil },
        ];
        for line in events.iter().flat_map(show) {
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
}
