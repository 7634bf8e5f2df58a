//! A line of Claude Code's stream-json to our events, one function a message kind.
//!
//! Typed and borrowed, so that a line costs a microsecond or two. What we do not know is kept
//! as `Unknown`; what cannot be read is a `Warning`; nothing is fatal.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::time::Moment;
use windlass_core::usage::Usage;

use windlass_core::agent::{AgentEvent, RateLimit, ResultEvent, Retry};

/// How much of a tool's result is kept for people.
const SHOWN: usize = 4 * 1024;

/// Reads every line of a chunk.
pub fn parse_lines(chunk: &[u8], out: &mut Vec<AgentEvent>) {
    let mut rest = chunk;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        parse_line(line, out);
        rest = after.get(1..).unwrap_or_default();
    }
}

/// Reads one line; an empty one says nothing.
pub fn parse_line(line: &[u8], out: &mut Vec<AgentEvent>) {
    if line.trim_ascii().is_empty() {
        return;
    }
    if let Err(error) = try_line(line, out) {
        let start = String::from_utf8_lossy(line.get(..60).unwrap_or(line)).into_owned();
        out.push(AgentEvent::Warning { what: format!("unreadable line ({error}): {start}") });
    }
}

/// What is common to all messages, and the bodies of those we read further.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(default)]
    parent_tool_use_id: Option<&'a RawValue>,
    #[serde(default)]
    is_api_error_message: bool,
    #[serde(default)]
    api_error_status: Option<u16>,
    #[serde(default)]
    tool_result_meta: Option<&'a RawValue>,
    #[serde(default)]
    rate_limit_info: Option<&'a RawValue>,
}

fn try_line(line: &[u8], out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let envelope: Envelope<'_> = serde_json::from_slice(line)?;
    match envelope.kind.as_ref() {
        "assistant" => assistant(&envelope, line, out),
        "user" => user(&envelope, out),
        "system" => system(line, out),
        "result" => result(line, out),
        "rate_limit_event" => rate_limit(&envelope, out),
        other => {
            out.push(AgentEvent::Unknown { what: other.to_owned() });
            Ok(())
        }
    }
}

impl Envelope<'_> {
    fn is_side(&self) -> bool {
        self.parent_tool_use_id.is_some_and(|id| id.get() != "null")
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default)]
    id: String,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Tokens {
    fn usage(self) -> Usage {
        Usage {
            input_tokens: self.input_tokens.unwrap_or_default(),
            output_tokens: self.output_tokens.unwrap_or_default(),
            cache_read_tokens: self.cache_read_input_tokens.unwrap_or_default(),
            cache_write_tokens: self.cache_creation_input_tokens.unwrap_or_default(),
            cost_usd: None,
        }
    }
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(default)]
    tool_use_id: Option<String>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

/// A content is a list of blocks, or a text.
fn blocks(content: Option<&RawValue>) -> serde_json::Result<Vec<Block<'_>>> {
    match content.map(RawValue::get) {
        Some(list) if list.starts_with('[') => serde_json::from_str(list),
        _ => Ok(Vec::new()),
    }
}

fn assistant(envelope: &Envelope<'_>, line: &[u8], out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let Some(body) = envelope.message else { return Ok(()) };
    let message: Message<'_> = serde_json::from_str(body.get())?;
    let side = envelope.is_side();
    for block in blocks(message.content)? {
        if envelope.is_api_error_message {
            out.push(api_error(envelope, line, block.text.unwrap_or_default())?);
            continue;
        }
        out.push(assistant_block(block, &message.id, side));
    }
    if let Some(tokens) = message.usage {
        out.push(AgentEvent::Spent { message_id: message.id, usage: tokens.usage() });
    }
    Ok(())
}

fn assistant_block(block: Block<'_>, message_id: &str, side: bool) -> AgentEvent {
    match block.kind.as_ref() {
        "text" => {
            AgentEvent::Text { text: block.text.unwrap_or_default(), message_id: message_id.to_owned(), side }
        }
        "thinking" => AgentEvent::Thinking { text: block.thinking.unwrap_or_default(), side },
        "tool_use" => AgentEvent::ToolUse {
            id: block.id.unwrap_or_default(),
            name: block.name.unwrap_or_default(),
            summary: block.input.map(summarise).unwrap_or_default(),
            side,
        },
        other => AgentEvent::Unknown { what: format!("assistant/{other}") },
    }
}

fn api_error(envelope: &Envelope<'_>, line: &[u8], text: String) -> serde_json::Result<AgentEvent> {
    #[derive(Deserialize)]
    struct Error {
        #[serde(default)]
        error: Option<String>,
    }
    let error: Error = serde_json::from_slice(line)?;
    Ok(AgentEvent::ApiError {
        status: envelope.api_error_status,
        error: error.error.unwrap_or_default(),
        text,
    })
}

/// The one field of a tool's input that tells most, else its whole text, shortened.
fn summarise(input: &RawValue) -> String {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Telling {
        command: Option<String>,
        file_path: Option<String>,
        path: Option<String>,
        url: Option<String>,
        query: Option<String>,
        pattern: Option<String>,
        skill: Option<String>,
        description: Option<String>,
    }
    let told: Telling = serde_json::from_str(input.get()).unwrap_or_default();
    let told = [told.command, told.file_path, told.path, told.url, told.query, told.pattern, told.skill];
    let text = told.into_iter().flatten().next();
    let text = text.map_or_else(|| Cow::Borrowed(input.get()), Cow::Owned);
    shorten(&text, 200)
}

fn user(envelope: &Envelope<'_>, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let Some(body) = envelope.message else { return Ok(()) };
    let message: Message<'_> = serde_json::from_str(body.get())?;
    let decided = decided_calls(envelope.tool_result_meta);
    for block in blocks(message.content)? {
        if block.kind != "tool_result" {
            continue;
        }
        let id = block.tool_use_id.unwrap_or_default();
        let is_error = block.is_error.unwrap_or_default();
        out.push(AgentEvent::ToolResult {
            was_decided: !is_error || decided.contains(&id),
            id,
            is_error,
            text: shorten(&result_text(block.content), SHOWN),
            side: envelope.is_side(),
        });
    }
    Ok(())
}

/// The calls for which the CLI says that a permission decision was made.
fn decided_calls(meta: Option<&RawValue>) -> Vec<String> {
    #[derive(Deserialize)]
    struct Meta<'a> {
        id: String,
        #[serde(borrow, default)]
        permission_decision: Option<&'a RawValue>,
    }
    let list: Vec<Meta<'_>> = meta.and_then(|m| serde_json::from_str(m.get()).ok()).unwrap_or_default();
    list.into_iter().filter(|m| m.permission_decision.is_some()).map(|m| m.id).collect()
}

fn result_text(content: Option<&RawValue>) -> String {
    let Some(content) = content else { return String::new() };
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        return text;
    }
    let parts = blocks(Some(content)).unwrap_or_default();
    let texts: Vec<String> = parts.into_iter().filter_map(|block| block.text).collect();
    texts.join("\n")
}

#[derive(Deserialize)]
struct System {
    #[serde(default)]
    subtype: String,
    #[serde(default)]
    session_id: String,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    attempt: u32,
    #[serde(default)]
    max_retries: u32,
    #[serde(default)]
    retry_delay_ms: f64,
    #[serde(default)]
    error_status: Option<u16>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    content: Option<String>,
}

fn system(line: &[u8], out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let system: System = serde_json::from_slice(line)?;
    out.push(match system.subtype.as_str() {
        "init" => AgentEvent::SessionInit {
            session: system.session_id,
            model: system.model.unwrap_or_default(),
            tools: system.tools,
        },
        "api_retry" => AgentEvent::Retry(Retry {
            attempt: system.attempt,
            max_retries: system.max_retries,
            // Whole milliseconds are enough; a negative or absurd delay saturates.
            delay_ms: system.retry_delay_ms as u64,
            status: system.error_status,
            error: system.error.unwrap_or_default(),
        }),
        "notification" | "informational" => AgentEvent::Notice {
            about: system.key.unwrap_or(system.subtype),
            text: system.text.or(system.content).unwrap_or_default(),
        },
        other => AgentEvent::Unknown { what: format!("system/{other}") },
    });
    Ok(())
}

fn rate_limit(envelope: &Envelope<'_>, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Info {
        #[serde(default)]
        status: String,
        #[serde(default)]
        resets_at: Option<f64>,
        #[serde(default)]
        rate_limit_type: Option<String>,
    }
    let Some(info) = envelope.rate_limit_info else { return Ok(()) };
    let info: Info = serde_json::from_str(info.get())?;
    out.push(AgentEvent::RateLimit(RateLimit {
        rejected: info.status == "rejected",
        resets_at: info.resets_at.map(|seconds| Moment((seconds * 1000.0) as i64)),
        limit: info.rate_limit_type,
    }));
    Ok(())
}

#[derive(Deserialize)]
struct ResultLine {
    #[serde(default)]
    subtype: String,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    terminal_reason: Option<String>,
    #[serde(default)]
    api_error_status: Option<u16>,
    #[serde(default)]
    result: Option<String>,
    #[serde(default)]
    errors: Option<Vec<String>>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    total_cost_usd: Option<f64>,
    #[serde(default)]
    model_usage_since_last_result: Option<BTreeMap<String, ModelUsage>>,
    #[serde(default)]
    num_turns: u32,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ModelUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    #[serde(rename = "costUSD")]
    cost_usd: f64,
}

fn result(line: &[u8], out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let line: ResultLine = serde_json::from_slice(line)?;
    let (usage, cost_is_cumulative) = result_usage(&line);
    out.push(AgentEvent::Result(Box::new(ResultEvent {
        subtype: line.subtype,
        is_error: line.is_error,
        terminal_reason: line.terminal_reason,
        api_error_status: line.api_error_status,
        text: line.result,
        errors: line.errors.unwrap_or_default(),
        usage,
        cost_is_cumulative,
        num_turns: line.num_turns,
    })));
    Ok(())
}

/// The usage by model since the last result counts subagents and only this process. Where a CLI
/// does not say it, there is `usage` (the main conversation alone) and the cost so far, which in
/// a resumed conversation includes what was paid before.
fn result_usage(line: &ResultLine) -> (Usage, bool) {
    let Some(models) = line.model_usage_since_last_result.as_ref().filter(|models| !models.is_empty()) else {
        let tokens = line.usage.unwrap_or_default().usage();
        return (Usage { cost_usd: line.total_cost_usd, ..tokens }, true);
    };
    let mut sum = Usage::default();
    for model in models.values() {
        sum.add(&Usage {
            input_tokens: model.input_tokens,
            output_tokens: model.output_tokens,
            cache_read_tokens: model.cache_read_input_tokens,
            cache_write_tokens: model.cache_creation_input_tokens,
            cost_usd: Some(model.cost_usd),
        });
    }
    (sum, false)
}

/// At most `max` bytes, cut at a character.
pub(crate) fn shorten(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = (0..=max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Vec<AgentEvent> {
        let mut out = Vec::new();
        parse_line(line.as_bytes(), &mut out);
        out
    }

    #[test]
    fn an_unknown_kind_is_kept_and_garbage_is_a_warning() {
        assert_eq!(
            parse(r#"{"type":"brand_new","x":1}"#),
            [AgentEvent::Unknown { what: "brand_new".into() }]
        );
        for garbage in ["{\"type\":", "hello", "[1]", "{}", "\u{0}"] {
            assert!(matches!(&parse(garbage)[..], [AgentEvent::Warning { .. }]), "{garbage}");
        }
        let mut out = Vec::new();
        parse_line(b"\xff\xfe{\"type\":1}", &mut out);
        assert!(matches!(&out[..], [AgentEvent::Warning { .. }]));
        assert_eq!(parse("  "), []);
    }

    #[test]
    fn a_rate_limit_says_when_it_ends() {
        let line = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794794541,"rateLimitType":"five_hour"}}"#;
        let expected = RateLimit {
            rejected: true,
            resets_at: Some(Moment(1_794_794_541_000)),
            limit: Some("five_hour".into()),
        };
        assert_eq!(parse(line), [AgentEvent::RateLimit(expected)]);
    }

    #[test]
    fn a_call_that_never_reached_a_decision_is_told_from_one_that_was_refused() {
        let refused = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"no"}]},"tool_result_meta":[{"id":"a","permission_decision":{"decision":"reject"}}]}"#;
        let wrong = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"no such tool"}]}]}}"#;
        assert!(matches!(&parse(refused)[..], [AgentEvent::ToolResult { was_decided: true, .. }]));
        assert!(
            matches!(&parse(wrong)[..], [AgentEvent::ToolResult { was_decided: false, text, .. }] if text == "no such tool")
        );
    }

    #[test]
    fn text_is_cut_at_a_character() {
        assert_eq!(shorten("aé", 2), "a…");
        assert_eq!(shorten("aé", 3), "aé");
    }
}
