//! The feed as JSON, one versioned object per line: `{"v":1,"type","ts","run","data"}`.
//!
//! Foreign text keeps its meaning: control characters become JSON escapes.

mod nodes;
mod seen;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};
use windlass_core::agent::AgentEvent;
use windlass_core::effect::{Effect, Planned};
use windlass_core::event::{Event, Record};
use windlass_core::hook::HookAnswer;
use windlass_core::id::{EffectId, RunId};
use windlass_core::run::{ConflictStep, ListItem, News, RunState, Waiting};
use windlass_core::spec::Spec;
use windlass_core::time::Moment;

use super::answers;
use super::face::Style;
use super::words;
use crate::cli::sanitize::plain_json;
use crate::exit::Exit;
use seen::SeenRuns;
pub(crate) use seen::add_output;

/// The version of every line.
const VERSION: u32 = 1;

/// The feed of a run for a program.
pub(crate) struct JsonFeed {
    run: RunId,
    style: Style,
    /// The run is more than one session, so lines must name the node.
    is_many: bool,
    /// The time of the last line. No line is older than the one above it, even if its event was decided
    /// earlier.
    last: Moment,
    seen: SeenRuns,
}

impl JsonFeed {
    /// Creates the feed of one run.
    pub(crate) fn new(run: RunId, style: Style) -> JsonFeed {
        JsonFeed { run, style, is_many: false, last: Moment(0), seen: SeenRuns::default() }
    }

    /// Makes sure that no line is older than `at`.
    pub(crate) fn not_before(&mut self, at: Moment) {
        self.last = self.last.max(at);
    }

    /// Takes in the state of a run that is shown from the middle on.
    pub(crate) fn see(&mut self, state: &RunState) {
        self.seen.see(state);
    }

    /// Returns the lines of a record of this run, or of a run below it; `from` is the path to that run.
    pub(crate) fn record(&mut self, from: &[RunId], record: &Record) -> Vec<String> {
        let run = from.last().unwrap_or(&self.run).clone();
        let given = self.seen.record(&run, record);
        let first = match &record.event {
            Event::RunStarted { spec } => {
                self.is_many |= spec.only_session().is_none();
                Some(("run.started", started(spec)))
            }
            _ => None,
        };
        let mut all: Vec<(&str, Value)> = first.into_iter().collect();
        all.extend(given.iter().map(|given| ("run.answered", answers::object(given))));
        for news in &record.news {
            let (kind, mut data) = news_line(news);
            if let Value::Object(map) = &mut data {
                self.seen.add_results(&run, news, record, map);
                self.add_default(&run, news, map);
            }
            if self.is_many {
                self::nodes::name(&mut data, news, record);
            }
            all.push((kind, data));
        }
        all.extend(record.effects.iter().filter_map(child));
        if record.news.iter().any(|news| matches!(news, News::Finished { .. })) {
            self.seen.forget(&run);
        }
        all.into_iter().map(|(kind, data)| self.line(from, kind, record.at, data)).collect()
    }

    /// Adds the default of the `ask` node that asks.
    fn add_default(&self, run: &RunId, news: &News, map: &mut Map<String, Value>) {
        if let News::Waiting(Waiting::Person(ask)) = news
            && let Some(default) = self.seen.default_of(run, ask)
        {
            map.insert("default".to_owned(), default.into());
        }
    }

    /// Returns the line of an agent event. Thoughts are left out unless they are wanted.
    pub(crate) fn agent(
        &mut self,
        from: &[RunId],
        effect: &EffectId,
        event: &AgentEvent,
        at: Moment,
    ) -> Option<String> {
        if matches!(event, AgentEvent::Thinking { .. }) && !self.style.thinking {
            return None;
        }
        let mut data = serde_json::to_value(event).unwrap_or_default();
        if let Value::Object(map) = &mut data {
            map.insert("iteration".to_owned(), effect.iteration.into());
            map.insert("attempt".to_owned(), effect.attempt.into());
            if self.is_many {
                map.insert("node".to_owned(), effect.node.as_str().into());
            }
        }
        Some(self.line(from, "session.event", at, data))
    }

    /// Returns the line that replaces agent events that nobody read in time.
    pub(crate) fn left_out(&mut self, from: &[RunId], count: u64, at: Moment) -> String {
        self.line(from, "session.left_out", at, json!({"events": count}))
    }

    fn line(&mut self, from: &[RunId], kind: &str, at: Moment, data: Value) -> String {
        self.last = self.last.max(at);
        envelope(kind, self.last, Some(from.last().unwrap_or(&self.run)), data)
    }
}

/// A line of JSON. The order of the fields is part of the format.
#[derive(Serialize)]
struct JsonLine<'a> {
    v: u32,
    #[serde(rename = "type")]
    kind: &'a str,
    ts: String,
    run: Option<&'a str>,
    data: Value,
}

/// Formats one line.
pub(crate) fn envelope(kind: &str, at: Moment, run: Option<&RunId>, data: Value) -> String {
    let line = JsonLine { v: VERSION, kind, ts: rfc3339(at), run: run.map(RunId::as_str), data };
    // Serializing text, numbers and lists of them never fails.
    plain_json(&serde_json::to_string(&line).unwrap_or_default())
}

/// Formats a time in UTC, with milliseconds.
pub(crate) fn rfc3339(at: Moment) -> String {
    let stamp = Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{stamp:.3}")
}

fn started(spec: &Spec) -> Value {
    let session_settings = spec.first_session();
    let only = spec.only_session().map(|(_, session_settings)| session_settings.rules.as_ref());
    let mut data = json!({
        "workflow": spec.workflow,
        "description": spec.description,
        "driver": session_settings.map(|session_settings| session_settings.driver.name.as_str()),
        "model": session_settings.and_then(|session_settings| session_settings.driver.model.as_deref()),
        "workspace": spec.workspace,
        "input": spec.input,
        "max_iterations": only.map(|rules| rules.map_or(1, |rules| rules.max_iterations)),
        "mode": only.flatten().map(|rules| rules.mode.word()),
        "isolation": session_settings.map(|session_settings| session_settings.isolation.word()),
        "checks": spec.checks.iter().map(|check| check.name.as_str()).collect::<Vec<_>>(),
    });
    if let (Value::Object(map), None) = (&mut data, only) {
        map.insert("nodes".to_owned(), nodes::list(&spec.body).into());
    }
    if let (Value::Object(map), Some(fork)) = (&mut data, &spec.fork_of) {
        map.insert("fork_of".to_owned(), words::fork_object(fork));
    }
    if let (Value::Object(map), Some(own)) = (&mut data, &spec.worktree) {
        map.insert("worktree".to_owned(), json!(own));
    }
    if let (Value::Object(map), Some(parent)) = (&mut data, &spec.parent) {
        map.insert("parent".to_owned(), json!({"run": parent.run, "node": parent.node}));
    }
    data
}

/// Returns the line about a sub-run that starts.
fn child(planned: &Planned) -> Option<(&'static str, Value)> {
    let Effect::StartRun { run, spec, .. } = &planned.effect else { return None };
    Some(("run.child", json!({"child": run, "node": planned.id.node, "workflow": spec.workflow})))
}

/// Returns the type and the data of one piece of news.
fn news_line(news: &News) -> (&'static str, Value) {
    match news {
        News::SessionStarted { session, iteration, attempt, resumed, .. } => (
            "session.started",
            json!({"session": session, "iteration": iteration, "attempt": attempt, "resumed": resumed}),
        ),
        News::HookDecided { hook, asked, tool, answer } => {
            let (decision, reason) = decided(answer);
            let data =
                json!({"hook": hook, "asked": asked, "tool": tool, "decision": decision, "reason": reason});
            ("hook.decision", data)
        }
        News::IterationFinished { iteration, checks, goes_on, feedback, .. } => {
            let check = |(name, passed): &(String, bool)| json!({"name": name, "passed": passed});
            let checks: Vec<Value> = checks.iter().map(check).collect();
            let data =
                json!({"iteration": iteration, "checks": checks, "goes_on": goes_on, "feedback": feedback});
            ("iteration.finished", data)
        }
        News::Waiting(waiting) => ("run.waiting", waits(waiting)),
        News::WaitOver => ("run.resumed", json!({"after": "wait"})),
        News::TakenOver => ("run.resumed", json!({"after": "crash"})),
        News::Continued { by, with } => ("run.resumed", json!({"after": "end", "by": by, "with": with})),
        News::GoesOn => ("run.resumed", json!({"after": "pause"})),
        News::Paused => ("run.paused", json!({})),
        News::Odd { node, what } => ("warning", json!({"node": node, "text": what})),
        News::Retrying { what, attempt, of, until, .. } => {
            let until = until.map(rfc3339);
            ("run.retrying", json!({"what": what, "attempt": attempt, "of": of, "until": until}))
        }
        News::HandedOver { from, to, why, .. } => {
            ("run.handed_over", json!({"from": from, "to": to, "why": why}))
        }
        News::NodeStarted { node, kind, about } => {
            ("node.started", json!({"node": node, "kind": kind, "about": about}))
        }
        News::NodeFinished { node, outcome, spent, took_ms } => (
            "node.finished",
            json!({
                "node": node,
                "status": outcome.status.word(),
                "reason": outcome.reason.word(),
                "detail": outcome.detail,
                "turns": spent.turns,
                "usage": spent.usage,
                "cost_usd": spent.usage.cost_usd,
                "took_ms": took_ms,
            }),
        ),
        News::NodeHeld { node } => ("node.held", json!({"node": node})),
        News::NodeSkipped { node, why } => ("node.skipped", json!({"node": node, "why": why})),
        News::Round { node, round, task, item } => {
            let mut data = json!({"node": node, "round": round, "task": task});
            if let (Value::Object(map), Some(ListItem { place, of, label, .. })) = (&mut data, item) {
                map.insert("item".to_owned(), json!({"place": place, "of": of, "label": label}));
            }
            ("round.started", data)
        }
        News::Conflict { node, task, target, files, next } => {
            let (next, time) = match next {
                ConflictStep::Agent { time, .. } => ("agent", Some(time)),
                ConflictStep::Alone => ("alone", None),
            };
            let about = json!({"node": node, "task": task, "target": target, "files": files, "next": next, "time": time});
            ("task.conflict", about)
        }
        News::Task { node, task, status, why } => {
            ("task.settled", json!({"node": node, "task": task, "status": status.word(), "why": why}))
        }
        News::Finished { outcome, iterations, usage } => (
            "run.finished",
            json!({
                "status": outcome.status.word(),
                "reason": outcome.reason.word(),
                "detail": outcome.detail,
                "iterations": iterations,
                "usage": usage,
                "cost_usd": usage.cost_usd,
                "exit_code": Exit::of_outcome(outcome).code(),
            }),
        ),
    }
}

fn decided(answer: &HookAnswer) -> (&'static str, Option<&str>) {
    match answer {
        HookAnswer::Pass => ("pass", None),
        HookAnswer::Allow | HookAnswer::Reply { .. } => ("allow", None),
        HookAnswer::Deny { reason } => ("deny", Some(reason)),
        HookAnswer::Block { reason } => ("block", Some(reason)),
    }
}

fn waits(waiting: &Waiting) -> Value {
    match waiting {
        Waiting::RateLimit { until } => json!({"on": "rate_limit", "until": rfc3339(*until)}),
        Waiting::Retry { until, what } => json!({"on": "retry", "until": rfc3339(*until), "what": what}),
        Waiting::Person(ask) => match &ask.tool {
            Some(call) => json!({"on": "permission", "hook": ask.hook, "tool": call.name, "does": call.tool,
                "input": call.input}),
            None => {
                let texts: Vec<&str> = ask.questions.iter().map(|question| question.text.as_str()).collect();
                json!({"on": "question", "hook": ask.hook, "question": texts.first(), "questions": texts,
                    "asked": ask.questions})
            }
        },
        Waiting::Time { until } => json!({"on": "time", "until": rfc3339(*until)}),
        Waiting::Event { name } => json!({"on": "event", "event": name}),
        Waiting::Paused => json!({"on": "pause"}),
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::hook::Question;
    use windlass_core::id::{HookId, NodeId, Verb};
    use windlass_core::run::{Ask, EndReason, FinalStatus, Outcome};
    use windlass_core::usage::Usage;

    use super::*;

    fn one(news: News) -> Value {
        let record = Record {
            v: 1,
            at: Moment(1_700_000_000_123),
            event: Event::OwnerChanged,
            effects: vec![],
            news: vec![news],
        };
        let lines = JsonFeed::new(RunId::new("k3f9"), Style::default()).record(&[], &record);
        assert_eq!(lines.len(), 1);
        serde_json::from_str(&lines[0]).unwrap()
    }

    #[test]
    fn the_end_of_a_run_is_complete() {
        let outcome = Outcome::new(FinalStatus::Exhausted, EndReason::MaxIterations);
        let usage = Usage { output_tokens: 5, cost_usd: Some(0.5), ..Usage::default() };
        let line = one(News::Finished { outcome, iterations: 3, usage });
        assert_eq!(
            line,
            json!({"v": 1, "type": "run.finished", "ts": "2023-11-14T22:13:20.123Z", "run": "k3f9", "data": {
                "status": "exhausted", "reason": "max_iterations", "detail": null, "iterations": 3,
                "usage": {"input_tokens": 0, "output_tokens": 5, "cache_read_tokens": 0, "cache_write_tokens": 0,
                    "cost_usd": 0.5},
                "cost_usd": 0.5, "exit_code": 9}})
        );
    }

    #[test]
    fn a_decision_names_what_was_asked_and_what_was_told() {
        let answer = HookAnswer::Deny { reason: "not in strict".to_owned() };
        let line = one(News::HookDecided {
            hook: HookId::new("h"),
            asked: "tool".to_owned(),
            tool: Some("WebFetch".to_owned()),
            answer,
        });
        let data = json!({"hook": "h", "asked": "tool", "tool": "WebFetch", "decision": "deny", "reason": "not in strict"});
        assert_eq!((line["type"].as_str(), &line["data"]), (Some("hook.decision"), &data));
    }

    #[test]
    fn a_wait_for_a_person_carries_the_question() {
        let question = Question::open("Which port?");
        let ask = Ask::question(NodeId::new("loop"), HookId::new("h"), vec![question]);
        let line = one(News::Waiting(Waiting::Person(ask)));
        assert_eq!(line["data"]["on"], "question");
        assert_eq!(line["data"]["question"], "Which port?");
        assert_eq!(
            line["data"]["asked"],
            json!([{"text": "Which port?", "options": [], "several": false, "free_text": true}])
        );
    }

    #[test]
    fn what_an_agent_says_is_one_line_whatever_it_contains() {
        let effect = EffectId { node: NodeId::new("loop"), iteration: 2, attempt: 1, verb: Verb::Session };
        let text = "a\nb\u{1b}[31m\u{2028}".to_owned();
        let event = AgentEvent::Text { text: text.clone(), message_id: "m".to_owned(), side: false };
        let line =
            JsonFeed::new(RunId::new("r"), Style::default()).agent(&[], &effect, &event, Moment(0)).unwrap();
        assert!(!line.chars().any(char::is_control));
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["data"]["text"], Value::String(text));
        assert_eq!((&line["data"]["kind"], &line["data"]["iteration"]), (&json!("text"), &json!(2)));
    }

    #[test]
    fn no_line_is_older_than_the_one_above_it() {
        let mut lines = JsonFeed::new(RunId::new("r"), Style::default());
        let effect = EffectId { node: NodeId::new("loop"), iteration: 1, attempt: 1, verb: Verb::Session };
        let event = AgentEvent::Text { text: "x".to_owned(), message_id: "m".to_owned(), side: false };
        let record =
            |at| Record { v: 1, at, event: Event::OwnerChanged, effects: vec![], news: vec![News::WaitOver] };
        let mut shown = vec![lines.agent(&[], &effect, &event, Moment(7_000)).unwrap()];
        shown.extend(lines.record(&[], &record(Moment(6_990))));
        shown.extend(lines.record(&[], &record(Moment(7_001))));
        let ts = |line: &String| {
            serde_json::from_str::<Value>(line).unwrap()["ts"].as_str().unwrap()[17..].to_owned()
        };
        assert_eq!(shown.iter().map(ts).collect::<Vec<_>>(), ["07.000Z", "07.000Z", "07.001Z"]);
    }

    #[test]
    fn a_node_that_is_over_is_told_with_what_it_spent() {
        let usage = Usage { output_tokens: 5, cost_usd: Some(0.5), ..Usage::default() };
        let line = one(News::NodeFinished {
            node: NodeId::new("fix@2"),
            outcome: Outcome::new(FinalStatus::Failed, EndReason::ChecksFailed).because("red"),
            spent: windlass_core::run::Spent { turns: 2, usage, ..Default::default() },
            took_ms: 1500,
        });
        assert_eq!(line["type"], "node.finished");
        assert_eq!(
            line["data"],
            json!({"node": "fix@2", "status": "failed", "reason": "checks_failed", "detail": "red", "turns": 2,
                "usage": usage, "cost_usd": 0.5, "took_ms": 1500, "text": null, "value": null})
        );
    }

    #[test]
    fn what_a_run_within_a_run_tells_carries_its_own_id() {
        let event = Event::OwnerChanged;
        let record = Record { v: 1, at: Moment(0), event, effects: vec![], news: vec![News::WaitOver] };
        let mut lines = JsonFeed::new(RunId::new("k3f9"), Style::default());
        let line = lines.record(&[RunId::new("c1"), RunId::new("c2")], &record).remove(0);
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["run"], "c2");
    }
}
