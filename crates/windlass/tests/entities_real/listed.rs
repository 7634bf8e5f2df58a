//! Tests that `windlass entities list --all --json` lists every probe with its kind and origin.

use serde_json::{Value, json};
use windlass_testkit::env::{story, text};

use crate::probe::{Planted, Probe};

/// That every probe is listed with its kind, name, provider, level and file.
#[track_caller]
pub(crate) fn assert_listed(planted: &Planted) {
    let mut command = planted.sealed.windlass();
    command.args(["entities", "list", "--all", "--json", "--plugin"]).arg(planted.plugin());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", story(&output));
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["v"] == 1 && line["type"] == "entity"), "{}", story(&output));
    let wrong: Vec<String> = planted.probes.iter().filter_map(|probe| difference(probe, &lines)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the first difference between a probe and its line in the list, if any.
fn difference(probe: &Probe, lines: &[Value]) -> Option<String> {
    let file = probe.file.display().to_string();
    let same_file = |data: &&Value| data["path"] == *file && data["kind"] == probe.kind.word();
    let Some(data) = lines.iter().map(|line| &line["data"]).find(same_file) else {
        return Some(format!("{}: no {} is listed", probe.spot, probe.kind));
    };
    let mut expected = json!({"name": probe.name, "provider": probe.provider.word(), "shadowed": false});
    if let Some(level) = probe.level() {
        expected["level"] = json!(level.word());
    }
    let differs = |(key, value): (&String, &Value)| {
        (data[key] != *value).then(|| format!("{}: `{key}` is {}, not {value}", probe.spot, data[key]))
    };
    expected.as_object()?.iter().find_map(differs)
}

#[test]
fn every_place_is_listed() {
    assert_listed(&Planted::everywhere());
}
