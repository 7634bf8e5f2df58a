//! Upcasts records from version 3 to version 4.
//!
//! A record contains an event, the effects planned for it, and the news for people. Each kind of
//! these whose form differs has a function here, named after its `type`.

mod asked;

use serde_json::{Map, Value, json};

/// The result of an upcast. The error describes the problem with the record.
type UpcastResult = Result<(), String>;

/// Returns a record of version 3 in the form of version 4. The caller sets the version number.
pub(super) fn step(mut record: Value) -> Result<Value, String> {
    event(record.get_mut("event").ok_or("it has no event")?)?;
    each(&mut record, "effects", effect)?;
    each(&mut record, "news", news)?;
    Ok(record)
}

fn event(event: &mut Value) -> UpcastResult {
    match kind(event)? {
        "run_started" => run_started(event),
        "prepared" => prepared(event),
        "hook_asked" => hook_asked(event),
        "session_ended" => session_ended(event),
        "worktree_made" => worktree_made(event),
        "landed" => landed(event),
        _ => Ok(()),
    }
}

fn effect(planned: &mut Value) -> UpcastResult {
    let effect = planned.get_mut("effect").ok_or("a planned effect has no `effect`")?;
    match kind(effect)? {
        "answer_hook" => answer_hook(effect),
        "start_run" => start_run(effect),
        _ => Ok(()),
    }
}

fn news(news: &mut Value) -> UpcastResult {
    match kind(news)? {
        "hook_decided" => hook_decided(news),
        "waiting" => waiting(news),
        _ => Ok(()),
    }
}

// Events

fn run_started(event: &mut Value) -> UpcastResult {
    event.get_mut("spec").map_or(Ok(()), spec)
}

/// Version 3 stored an error beside the result.
fn prepared(event: &mut Value) -> UpcastResult {
    let fields = fields_in(event)?;
    let (texts, fingerprint) = (fields.remove("texts"), fields.remove("fingerprint"));
    let end = match fields.remove("error") {
        Some(Value::String(why)) => json!({"failed": {"why": why}}),
        _ => {
            let fingerprint = fingerprint.ok_or("a `prepared` event has no `fingerprint`")?;
            let mut ready = json!({"fingerprint": fingerprint});
            if let Some(texts) = texts {
                fields_in(&mut ready)?.insert("texts".to_owned(), texts);
            }
            json!({"ready": ready})
        }
    };
    fields.insert("end".to_owned(), end);
    Ok(())
}

fn hook_asked(event: &mut Value) -> UpcastResult {
    event.pointer_mut("/call/kind").map_or(Ok(()), asked::hook_kind)
}

/// Version 3 called a successful turn `done` and described a failure in text alone.
fn session_ended(event: &mut Value) -> UpcastResult {
    let verdict = event.pointer_mut("/end/verdict").ok_or("a `session_ended` event has no verdict")?;
    if verdict.as_str() == Some("done") {
        *verdict = "completed".into();
    }
    if let Some(failed) = verdict.get_mut("failed").and_then(Value::as_object_mut) {
        failed.insert("cause".to_owned(), "other".into());
    }
    Ok(())
}

/// Version 3 stored the error as the branch if there was no folder.
fn worktree_made(event: &mut Value) -> UpcastResult {
    let fields = fields_in(event)?;
    let branch = fields.remove("branch").ok_or("a `worktree_made` event has no `branch`")?;
    let target = fields.remove("target").unwrap_or_default();
    let end = match fields.remove("workspace") {
        Some(Value::String(workspace)) => {
            json!({"made": {"workspace": workspace, "branch": branch, "target": target}})
        }
        _ => json!({"failed": {"why": branch}}),
    };
    fields.insert("end".to_owned(), end);
    Ok(())
}

/// Version 3 stored two flags beside the text.
fn landed(event: &mut Value) -> UpcastResult {
    let fields = fields_in(event)?;
    let what = fields.remove("what").ok_or("a `landed` event has no `what`")?;
    let is = |claim: Option<Value>| claim == Some(Value::Bool(true));
    let end = match (is(fields.remove("landed")), is(fields.remove("hindered"))) {
        (true, _) => json!({"landed": {"what": what}}),
        (false, true) => json!({"hindered": {"why": what}}),
        (false, false) => json!({"refused": {"why": what}}),
    };
    fields.insert("end".to_owned(), end);
    Ok(())
}

// Effects

fn answer_hook(effect: &mut Value) -> UpcastResult {
    effect.get_mut("answer").into_iter().for_each(asked::answer);
    Ok(())
}

fn start_run(effect: &mut Value) -> UpcastResult {
    effect.get_mut("spec").map_or(Ok(()), spec)
}

// News

fn hook_decided(news: &mut Value) -> UpcastResult {
    news.get_mut("answer").into_iter().for_each(asked::answer);
    Ok(())
}

fn waiting(news: &mut Value) -> UpcastResult {
    if news.get("on").and_then(Value::as_str) == Some("person") {
        asked::ask(news);
    }
    Ok(())
}

// Parts

fn spec(_spec: &mut Value) -> UpcastResult {
    Ok(())
}

/// Applies a function to every value of a list, if there is one.
fn each(record: &mut Value, list: &str, change: fn(&mut Value) -> UpcastResult) -> UpcastResult {
    let values = record.get_mut(list).and_then(Value::as_array_mut);
    values.into_iter().flatten().try_for_each(change)
}

fn fields_in(value: &mut Value) -> Result<&mut Map<String, Value>, String> {
    value.as_object_mut().ok_or_else(|| "a part of it is not an object".to_owned())
}

fn kind(value: &Value) -> Result<&str, String> {
    value.get("type").and_then(Value::as_str).ok_or_else(|| "a part of it has no `type`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EntityTexts, Event, LandingEnd, PrepareEnd, WorktreeEnd};

    /// The event of a record of version 3, as it is read today.
    fn read(fields: &Value) -> Event {
        let id = json!({"node": "n", "iteration": 1, "attempt": 1, "verb": "land"});
        let mut event = fields.clone();
        event["effect"] = id;
        let record = step(json!({"v": 3, "at": 5, "event": event})).unwrap();
        serde_json::from_value(record["event"].clone()).unwrap()
    }

    #[test]
    fn a_landing_says_by_its_name_how_it_went() {
        let landed = |fields: Value| match read(&fields) {
            Event::Landed { end, .. } => end,
            other => panic!("{other:?}"),
        };
        let so = || "so".to_owned();
        assert_eq!(
            landed(json!({"type": "landed", "landed": true, "what": "so"})),
            LandingEnd::Landed { what: so(), is_empty: false }
        );
        assert_eq!(
            landed(json!({"type": "landed", "landed": false, "what": "so"})),
            LandingEnd::Refused { why: so(), checks: Default::default() }
        );
        assert_eq!(
            landed(json!({"type": "landed", "landed": false, "hindered": true, "what": "so"})),
            LandingEnd::Hindered { why: so() }
        );
    }

    #[test]
    fn a_worktree_without_a_folder_has_no_branch() {
        let made = |fields: Value| match read(&fields) {
            Event::WorktreeMade { end, .. } => end,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            made(json!({"type": "worktree_made", "workspace": "/w", "branch": "b", "target": "main"})),
            WorktreeEnd::Made {
                workspace: "/w".into(),
                branch: "b".into(),
                target: Some("main".into()),
                commit: None
            }
        );
        assert_eq!(
            made(json!({"type": "worktree_made", "workspace": null, "branch": "the disk is full"})),
            WorktreeEnd::Failed { why: "the disk is full".into() }
        );
    }

    #[test]
    fn what_could_not_be_prepared_has_no_texts() {
        let prepared = |fields: Value| match read(&fields) {
            Event::Prepared { end, base, .. } => (end, base),
            other => panic!("{other:?}"),
        };
        let texts = json!({"prompt": "p", "system": null});
        let (end, base) = prepared(
            json!({"type": "prepared", "texts": texts, "fingerprint": "f", "base": "c", "error": null}),
        );
        let texts = EntityTexts { prompt: "p".into(), system: None, odd: Vec::new() };
        assert_eq!(end, PrepareEnd::Ready { texts: Some(texts), fingerprint: "f".into(), work: None });
        assert_eq!(base.as_deref(), Some("c"));
        let (end, _) = prepared(json!({"type": "prepared", "fingerprint": "f", "error": "no space"}));
        assert_eq!(end, PrepareEnd::Failed { why: "no space".into() });
    }
}
