//! A run as an OpenTelemetry trace, by the conventions for generative AI: a span for each run, node, turn and
//! tool call.
//!
//! The ids come from the ids of the run, so that two exports of a run are the same trace.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_core::agent::AgentEvent;
use windlass_core::digest::fnv;
use windlass_core::effect::Effect;
use windlass_core::event::{Event, Record, SessionEnd, SessionVerdict};
use windlass_core::id::{EffectId, NodeId, RunId};
use windlass_core::run::{FinalStatus, News, Outcome};
use windlass_core::spec::Spec;
use windlass_core::time::Moment;
use windlass_core::usage::{Cost, Usage};

/// The trace while it is collected.
#[derive(Debug)]
pub(super) struct Trace {
    id: String,
    /// The spans, by the key of what they are about.
    spans: BTreeMap<String, Span>,
    specs: BTreeMap<RunId, Box<Spec>>,
    /// The driver and model of each planned turn that are not those of its node.
    plans: BTreeMap<(RunId, EffectId), (Option<String>, Option<String>)>,
    last: Moment,
}

#[derive(Debug)]
struct Span {
    parent: Option<String>,
    name: String,
    start: Moment,
    end: Option<Moment>,
    attributes: BTreeMap<&'static str, Value>,
    /// The failure, if it failed.
    error: Option<String>,
}

impl Trace {
    pub(super) fn new(run: &RunId) -> Trace {
        let id = format!("{:016x}{:016x}", fnv(run.as_str().as_bytes()), fnv(b"windlass"));
        Trace { id, spans: BTreeMap::new(), specs: BTreeMap::new(), plans: BTreeMap::new(), last: Moment(0) }
    }

    pub(super) fn record(&mut self, run: &RunId, record: &Record) {
        let at = record.at;
        self.last = at;
        if let Event::RunStarted { spec } = &record.event {
            self.run_started(run, spec, at);
        }
        for planned in &record.effects {
            if let Effect::StartSession(plan) = &planned.effect {
                let told = (plan.driver.clone(), plan.model.clone());
                self.plans.insert((run.clone(), planned.id.clone()), told);
            }
        }
        match &record.event {
            Event::SessionStarted { effect, session } => {
                self.turn_started(run, effect, session.as_str(), at);
            }
            Event::SessionEnded { effect, end } => self.turn_ended(run, effect, end, at),
            _ => {}
        }
        for news in &record.news {
            match news {
                News::NodeStarted { node, kind, .. } => self.node_started(run, node, kind, at),
                News::NodeFinished { node, outcome, .. } => self.close(&node_key(run, node), outcome, at),
                News::Finished { outcome, usage, .. } => {
                    if let Some(span) = self.find(&run_key(run)) {
                        cost(span, usage);
                    }
                    self.close(&run_key(run), outcome, at);
                }
                _ => {}
            }
        }
    }

    pub(super) fn agent(&mut self, run: &RunId, effect: &EffectId, event: &AgentEvent, at: Moment) {
        match event {
            AgentEvent::SessionInit { model, session, .. } => {
                if let Some(turn) = self.find(&turn_key(run, effect)) {
                    // Not every CLI names its model.
                    if !model.is_empty() {
                        turn.attributes.insert("gen_ai.response.model", json!(model));
                    }
                    turn.attributes.insert("gen_ai.conversation.id", json!(session));
                }
            }
            AgentEvent::ToolUse { id, name, .. } => {
                let (key, parent) = (tool_key(run, effect, id), turn_key(run, effect));
                let span = self.open(key, Some(parent), format!("execute_tool {name}"), at);
                span.attributes.insert("gen_ai.operation.name", json!("execute_tool"));
                span.attributes.insert("gen_ai.tool.name", json!(name));
                span.attributes.insert("gen_ai.tool.call.id", json!(id));
                span.attributes.insert("gen_ai.tool.type", json!("function"));
            }
            AgentEvent::ToolResult { id, is_error, .. } => {
                if let Some(span) = self.find(&tool_key(run, effect, id)) {
                    span.end = Some(at);
                    span.error = is_error.then(|| "tool_error".to_owned());
                }
            }
            _ => {}
        }
    }

    /// Returns the trace as the body of an OTLP request. A span without an end lasts until the last record.
    pub(super) fn end(self) -> Value {
        let mut spans: Vec<(&String, &Span)> = self.spans.iter().collect();
        spans.sort_by_key(|(_, span)| span.start);
        let spans: Vec<Value> = spans.iter().map(|(key, span)| self.written(key, span)).collect();
        json!({"resourceSpans": [{
            "resource": {"attributes": [attribute("service.name", &json!("windlass"))]},
            "scopeSpans": [{
                "scope": {"name": "windlass", "version": env!("CARGO_PKG_VERSION")},
                "spans": spans,
            }],
        }]})
    }

    fn run_started(&mut self, run: &RunId, spec: &Spec, at: Moment) {
        let parent = spec.parent.as_ref().map(|parent| node_key(&parent.run, &parent.node));
        let name = format!("invoke_workflow {}", spec.workflow);
        let span = self.open(run_key(run), parent, name, at);
        span.attributes.insert("gen_ai.operation.name", json!("invoke_workflow"));
        span.attributes.insert("gen_ai.workflow.name", json!(spec.workflow));
        span.attributes.insert("windlass.run.id", json!(run.as_str()));
        self.specs.insert(run.clone(), Box::new(spec.clone()));
    }

    fn node_started(&mut self, run: &RunId, node: &NodeId, kind: &str, at: Moment) {
        let span = self.open(node_key(run, node), Some(run_key(run)), format!("{kind} {node}"), at);
        span.attributes.insert("windlass.node.id", json!(node.as_str()));
        span.attributes.insert("windlass.node.kind", json!(kind));
    }

    fn turn_started(&mut self, run: &RunId, effect: &EffectId, session: &str, at: Moment) {
        let node = node_key(run, &effect.node);
        let parent = if self.spans.contains_key(&node) { node } else { run_key(run) };
        let (driver, model) = self.plans.get(&(run.clone(), effect.clone())).cloned().unwrap_or_default();
        let own = self.specs.get(run).and_then(|spec| spec.sessions.get(&effect.node.in_workflow()));
        let own = own.map(|own| own.with_driver(driver.as_deref()).driver.clone());
        let driver = driver.or_else(|| own.as_ref().map(|own| own.name.clone())).unwrap_or_default();
        let model = model.or_else(|| own.and_then(|own| own.model));
        let span = self.open(turn_key(run, effect), Some(parent), format!("invoke_agent {driver}"), at);
        span.attributes.insert("gen_ai.operation.name", json!("invoke_agent"));
        span.attributes.insert("gen_ai.agent.name", json!(driver));
        span.attributes.insert("gen_ai.provider.name", json!(provider(&driver)));
        span.attributes.insert("gen_ai.conversation.id", json!(session));
        span.attributes.insert("windlass.turn", json!(effect.iteration));
        span.attributes.insert("windlass.attempt", json!(effect.attempt));
        if let Some(model) = model {
            span.attributes.insert("gen_ai.request.model", json!(model));
        }
    }

    fn turn_ended(&mut self, run: &RunId, effect: &EffectId, end: &SessionEnd, at: Moment) {
        let spec = self.specs.get(run);
        let settings = spec.and_then(|spec| spec.sessions.get(&effect.node.in_workflow()));
        let plan = self.plans.get(&(run.clone(), effect.clone()));
        let wanted = plan.and_then(|(_, model)| model.clone());
        let driver = plan.and_then(|(driver, _)| driver.as_deref());
        let wanted = wanted.or_else(|| settings?.with_driver(driver).driver.model.clone());
        let priced = spec.map(|spec| spec.prices.settle(end.usage, &end.models, wanted.as_deref()));
        let Some(span) = self.find(&turn_key(run, effect)) else { return };
        span.end = Some(at);
        // The usage of a whole conversation is not the usage of this turn.
        if !end.usage_is_cumulative {
            let usage = &end.usage;
            // The conventions count cached tokens as input, too.
            let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
            for (name, tokens) in [
                ("gen_ai.usage.input_tokens", usage.input_tokens.saturating_add(cached)),
                ("gen_ai.usage.output_tokens", usage.output_tokens),
                ("gen_ai.usage.cache_read.input_tokens", usage.cache_read_tokens),
                ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write_tokens),
            ] {
                span.attributes.insert(name, json!(tokens));
            }
            cost(span, &priced.unwrap_or(*usage));
        }
        span.error = failure(&end.verdict).map(str::to_owned);
    }

    fn close(&mut self, key: &str, outcome: &Outcome, at: Moment) {
        let Some(span) = self.find(key) else { return };
        span.end = Some(at);
        span.attributes.insert("windlass.status", json!(outcome.status.word()));
        span.attributes.insert("windlass.reason", json!(outcome.reason.word()));
        span.error = (outcome.status != FinalStatus::Completed).then(|| outcome.reason.word().to_owned());
    }

    fn find(&mut self, key: &str) -> Option<&mut Span> {
        self.spans.get_mut(key)
    }

    /// Adds a span, or continues the one with this key.
    fn open(&mut self, key: String, parent: Option<String>, name: String, start: Moment) -> &mut Span {
        let attributes = BTreeMap::new();
        self.spans.entry(key).or_insert(Span { parent, name, start, end: None, attributes, error: None })
    }

    fn written(&self, key: &str, span: &Span) -> Value {
        let mut attributes: Vec<Value> =
            span.attributes.iter().map(|(name, value)| attribute(name, value)).collect();
        attributes.extend(span.error.as_ref().map(|error| attribute("error.type", &json!(error))));
        let parent = span.parent.as_ref().filter(|parent| self.spans.contains_key(*parent));
        // OTLP leaves the parent of a root empty.
        let parent = parent.map_or_else(String::new, |parent| span_id(parent));
        json!({
            "traceId": self.id,
            "spanId": span_id(key),
            "parentSpanId": parent,
            "name": span.name,
            "kind": 1,
            "startTimeUnixNano": nanoseconds(span.start),
            "endTimeUnixNano": nanoseconds(span.end.unwrap_or(self.last).max(span.start)),
            "attributes": attributes,
            "status": if span.error.is_some() { json!({"code": 2}) } else { json!({}) },
        })
    }
}

fn run_key(run: &RunId) -> String {
    format!("run {run}")
}

fn node_key(run: &RunId, node: &NodeId) -> String {
    format!("node {run} {node}")
}

fn turn_key(run: &RunId, effect: &EffectId) -> String {
    format!("turn {run} {effect}")
}

fn tool_key(run: &RunId, effect: &EffectId, id: &str) -> String {
    format!("tool {run} {effect} {id}")
}

fn span_id(key: &str) -> String {
    format!("{:016x}", fnv(key.as_bytes()).max(1))
}

fn nanoseconds(moment: Moment) -> String {
    format!("{}000000", moment.0.max(0))
}

fn attribute(name: &str, value: &Value) -> Value {
    let value = match value {
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        // OTLP writes whole numbers as text.
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": text}),
        Value::Bool(yes) => json!({"boolValue": yes}),
        other => json!({"stringValue": other.to_string()}),
    };
    json!({"key": name, "value": value})
}

/// Returns the conventional name of the provider behind a driver. Some drivers work with many providers.
fn provider(driver: &str) -> &str {
    match driver {
        "claude" => "anthropic",
        "codex" => "openai",
        "gemini" => "gcp.gemini",
        other => other,
    }
}

/// Adds the cost to a span, and what is known about it.
fn cost(span: &mut Span, usage: &Usage) {
    let Cost { usd, is_computed, is_partial } = usage.cost();
    span.attributes.extend(usd.map(|usd| ("windlass.cost_usd", json!(usd))));
    span.attributes.extend(is_computed.then_some(("windlass.cost_is_computed", json!(true))));
    span.attributes.extend(is_partial.then_some(("windlass.cost_is_partial", json!(true))));
}

fn failure(verdict: &SessionVerdict) -> Option<&'static str> {
    match verdict {
        SessionVerdict::Completed => None,
        SessionVerdict::NothingSaid { .. } => Some("nothing_said"),
        SessionVerdict::RateLimited { .. } => Some("rate_limited"),
        SessionVerdict::Transient { .. } => Some("transient"),
        SessionVerdict::Interrupted { .. } => Some("interrupted"),
        SessionVerdict::TimedOut => Some("timed_out"),
        SessionVerdict::Failed { .. } => Some("failed"),
    }
}
