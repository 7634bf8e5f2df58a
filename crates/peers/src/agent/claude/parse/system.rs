//! Messages of the CLI about itself: the start of a conversation, retries, notices, limits.

use serde::Deserialize;
use windlass_core::agent::{AgentEvent, ApiRetry, RateLimit};
use windlass_core::time::Moment;

use super::content::Blocks;

#[derive(Deserialize)]
struct System {
    #[serde(default)]
    subtype: String,
    #[serde(default)]
    session_id: String,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    tools: Blocks<String>,
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

pub(super) fn read(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let system: System = serde_json::from_str(line)?;
    out.push(match system.subtype.as_str() {
        "init" => AgentEvent::SessionInit {
            session: system.session_id,
            model: system.model.unwrap_or_default(),
            tools: system.tools.0,
        },
        "api_retry" => AgentEvent::Retry(ApiRetry {
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

pub(super) fn read_rate_limit(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    #[derive(Deserialize)]
    struct SystemLine {
        #[serde(default)]
        rate_limit_info: Option<Info>,
    }
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
    let SystemLine { rate_limit_info } = serde_json::from_str(line)?;
    let Some(info) = rate_limit_info else { return Ok(()) };
    out.push(AgentEvent::RateLimit(RateLimit {
        rejected: info.status == "rejected",
        resets_at: info.resets_at.map(|seconds| Moment((seconds * 1000.0) as i64)),
        limit: info.rate_limit_type,
    }));
    Ok(())
}
