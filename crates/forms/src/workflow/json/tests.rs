//! Tests for `workflow.json`: the accepted forms, and the message for each mistake.

use super::*;

fn read(text: &str) -> WorkflowFile {
    let (workflow, diagnostics) = parse_workflow_json(text, "workflow.json");
    assert_eq!(diagnostics, [], "{text}");
    workflow.unwrap()
}

/// `line:column severity message`, one a diagnostic, and the hint.
fn complaints(text: &str) -> Vec<String> {
    let (workflow, diagnostics) = parse_workflow_json(text, "workflow.json");
    assert_eq!(workflow.is_none(), diagnostics.iter().any(Diagnostic::is_error), "{text}");
    diagnostics
        .into_iter()
        .map(|d| {
            let place = d.place.unwrap();
            let hint = d.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            let mark = if d.severity == crate::diagnostic::Severity::Error { "" } else { "warning: " };
            format!("{}:{} {mark}{}{hint}", place.line, place.column, d.message)
        })
        .collect()
}

/// A workflow that is fine but for its loop.
fn with_loop(body: &str) -> String {
    format!(
        "{{\"name\": \"x\", \"promptTemplate\": \"{{input}}\", \"loop\": {{\"enabled\": true,\n{body}}}}}"
    )
}

#[test]
fn reads_the_example_of_document_000() {
    let workflow = read(
        r#"{
  "name": "e2e-test-builder",
  "description": "Iterative E2E test coverage builder",
  "promptTemplate": "Use /add-e2e-tests {input}",
  "loop": {
    "enabled": true,
    "completionPromise": "E2E COMPLETE",
    "maxIterations": 15
  },
  "isolation": "minimal",
  "requiredPlugins": ["ralph-loop"]
}"#,
    );
    let expected = WorkflowFile {
        name: "e2e-test-builder".into(),
        description: Some("Iterative E2E test coverage builder".into()),
        prompt_template: "Use /add-e2e-tests {input}".into(),
        looping: Some(LoopPart {
            completion_promise: Some("E2E COMPLETE".into()),
            max_iterations: Some(15),
            ..LoopPart::default()
        }),
        isolation: Some(Isolation::Minimal),
        plugins: vec![PluginRef { name: "ralph-loop".into(), source: None }],
        model: None,
        checks: vec![],
    };
    assert_eq!(workflow, expected);
}

#[test]
fn reads_the_example_of_document_001() {
    let workflow = read(
        r##"{
  "name": "e2e-testing",
  "plugins": ["e2e-test-builder@owner/repo"],
  "promptTemplate": "Use /add-e2e-tests {input}",
  "loop": {
    "enabled": true,
    "completionMarker": "E2E_COMPLETE",
    "maxIterations": 15,
    "trackerTemplate": "# E2E Test Progress\n\n## Criteria\n- [ ] All tests passing\n\n## Status\n_pending_"
  }
}"##,
    );
    let looping = workflow.looping.unwrap();
    assert_eq!(looping.completion_marker.as_deref(), Some("E2E_COMPLETE"));
    assert!(looping.tracker_template.unwrap().starts_with("# E2E Test Progress\n\n## Criteria"));
    assert_eq!(
        workflow.plugins,
        [PluginRef { name: "e2e-test-builder".into(), source: Some("owner/repo".into()) }]
    );
}

#[test]
fn reads_everything_else_a_workflow_may_say() {
    let workflow = read(
        "\u{feff}{\"name\": \"x\", \"promptTemplate\": \"{input}\", \"model\": \"opus\",
        \"checks\": {\"test\": \"cargo test\", \"a\": \"true\"},
        \"plugins\": [\"a\", \"b\"], \"requiredPlugins\": [\"b@o/r\", \"c\"],
        \"loop\": {\"enabled\": true, \"completionMarker\": \" DONE \", \"completionPromise\": \"ALL DONE\",
        \"maxIterations\": 0, \"continueMessage\": \"go on\", \"mode\": \"in_session\",
        \"markerMatch\": \"last_line\", \"blockedMarker\": \"STUCK\", \"stuckAfter\": 0}}",
    );
    let expected = LoopPart {
        completion_marker: Some("DONE".into()),
        completion_promise: Some("ALL DONE".into()),
        max_iterations: Some(0),
        continue_message: Some("go on".into()),
        tracker_template: None,
        mode: Some(LoopMode::InSession),
        marker_match: MarkerMatch::LastLine,
        blocked_marker: Some("STUCK".into()),
        stuck_after: Some(0),
    };
    assert_eq!(workflow.looping, Some(expected));
    let names: Vec<&str> = workflow.checks.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["test", "a"]);
    let plugins: Vec<(&str, Option<&str>)> =
        workflow.plugins.iter().map(|p| (p.name.as_str(), p.source.as_deref())).collect();
    assert_eq!(plugins, [("a", None), ("b", Some("o/r")), ("c", None)]);
}

#[test]
fn a_loop_that_is_off_is_no_loop() {
    for part in ["", ", \"loop\": {}", ", \"loop\": {\"enabled\": false, \"completionMarker\": \"X\"}"] {
        let text = format!("{{\"name\": \"x\", \"promptTemplate\": \"{{input}}\"{part}}}");
        assert_eq!(read(&text).looping, None, "{part}");
    }
    let forgot = "{\"name\": \"x\", \"promptTemplate\": \"{input}\",\n\"loop\": {\"maxIterations\": 3}}";
    let expected = "2:9 warning: `loop` is off: `loop.enabled` is not given (add `\"enabled\": true`)";
    assert_eq!(complaints(forgot), [expected]);
}

#[test]
fn broken_json_is_refused_with_line_and_column() {
    assert_eq!(
        complaints("{\n  \"name\": \"x\",\n}"),
        ["2:14 a comma with nothing after it (remove the comma)"]
    );
    assert_eq!(complaints("[]"), ["1:1 the document must be an object, found a list"]);
    assert_eq!(complaints("\u{feff}"), ["1:1 the file is empty"]);
}

#[test]
fn all_mistakes_are_found_at_once() {
    let text = r#"{
  "nmae": "x",
  "promptTemplate": 7,
  "isolation": "minmal",
  "loop": {
    "enabled": "true",
    "maxIterations": "15",
    "mode": "forever",
    "mode": "fresh"
  },
  "plugins": ["ok", 3, "../x"],
  "checks": {"test": ""}
}"#;
    let expected = [
        "1:1 the field `name` is missing",
        "2:3 warning: unknown field `nmae` is ignored (did you mean `name`?)",
        "3:21 `promptTemplate` must be a string, found a number",
        "4:16 `isolation` must be one of `strict`, `minimal`, `permissive`, found `minmal` (did you mean `minimal`?)",
        "6:16 `loop.enabled` must be true or false, found a string (write it without quotes)",
        "7:22 `loop.maxIterations` must be a whole number, found a string (write it without quotes)",
        "8:13 `loop.mode` must be one of `fresh`, `in_session`, `resume`, `plugin`, found `forever`",
        "9:5 `loop.mode` is given twice (remove one of them)",
        "11:21 `plugins[1]` must be a string, found a number",
        "11:24 `plugins[2]`: `../x` is not a plugin name (a plugin is named `name` or `name@owner/repo`)",
        "12:22 `checks.test` is empty",
    ];
    assert_eq!(complaints(text), expected);
}

#[test]
fn a_number_of_turns_is_a_whole_number_in_reason() {
    let cases = [
        ("-1", "must not be negative, found `-1`"),
        ("1.5", "must be a whole number, found `1.5`"),
        ("15.0", "must be a whole number, found `15.0`"),
        ("1e3", "must be a whole number, found `1e3`"),
        ("1000001", "must be at most 1000000, found `1000001`"),
        ("99999999999999999999", "must be at most 1000000, found `99999999999999999999`"),
        ("null", "must be a whole number, found null (leave the field out instead)"),
        ("[]", "must be a whole number, found a list"),
    ];
    for (value, message) in cases {
        for field in ["maxIterations", "stuckAfter"] {
            let text = with_loop(&format!("\"{field}\": {value}"));
            let column = field.len() + 5;
            assert_eq!(complaints(&text), [format!("2:{column} `loop.{field}` {message}")], "{value}");
        }
    }
}

#[test]
fn an_unlimited_loop_needs_another_end() {
    let hint = "add `completionMarker`, `completionPromise` or `checks`, or a number of turns";
    let message = "`loop.maxIterations` is 0, which is unlimited, and nothing else ends the loop";
    assert_eq!(complaints(&with_loop("\"maxIterations\": 0")), [format!("2:18 {message} ({hint})")]);
    for end in ["\"completionMarker\": \"X\"", "\"completionPromise\": \"X\""] {
        assert_eq!(complaints(&with_loop(&format!("\"maxIterations\": 0, {end}"))), Vec::<String>::new());
    }
}

#[test]
fn a_marker_says_something_on_one_line() {
    assert_eq!(
        complaints(&with_loop("\"completionMarker\": \" \"")),
        ["2:21 `loop.completionMarker` is empty"]
    );
    assert_eq!(
        complaints(&with_loop("\"completionPromise\": \"\"")),
        ["2:22 `loop.completionPromise` is empty"]
    );
    let broken = complaints(&with_loop("\"completionMarker\": \"A\\nB\""));
    assert_eq!(broken, ["2:21 `loop.completionMarker` must be on one line"]);
}

#[test]
fn what_ends_a_loop_can_be_read() {
    for (field, text) in [
        ("completionPromise", "`A`"),
        ("completionPromise", "A</promise>"),
        ("completionPromise", "<!-- A -->"),
        ("completionMarker", "> DONE"),
        ("completionMarker", "`DONE`"),
        ("blockedMarker", "`STUCK`"),
    ] {
        for bound in ["0", "5"] {
            let found =
                complaints(&with_loop(&format!("\"{field}\": \"{text}\", \"maxIterations\": {bound}")));
            let start = format!("2:{} `loop.{field}`: no agent can", field.len() + 5);
            assert!(found[0].starts_with(&start) && found[0].contains("plain words"), "{found:?}");
        }
    }
}

#[test]
fn a_marker_that_is_there_from_the_start_is_warned_of() {
    let template = "\"trackerTemplate\": \"write DONE\", \"completionMarker\": \"DONE\"";
    let found = complaints(&with_loop(&format!("\"markerMatch\": \"anywhere\", {template}")));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("complete at once"), "{found:?}");
    assert_eq!(complaints(&with_loop(template)), Vec::<String>::new());
}

#[test]
fn a_template_without_a_place_for_the_input_is_warned_of() {
    let found = complaints("{\"name\": \"x\", \"promptTemplate\": \"do it\"}");
    let expected = "1:33 warning: `promptTemplate` has no `{input}`: the input is appended to it \
                    (write `{input}` where the input belongs)";
    assert_eq!(found, [expected]);
}

#[test]
fn a_name_is_one_that_can_be_typed() {
    for name in ["", "../x", "-x", ".hidden", "a/b", "a\\\\b", "a\\nb", "\\u001b[2J"] {
        let found = complaints(&format!("{{\"name\": \"{name}\", \"promptTemplate\": \"{{input}}\"}}"));
        assert_eq!(found.len(), 1, "{name}");
    }
}

#[test]
fn a_plugins_loop_needs_a_promise() {
    let hint = "add `completionPromise`, or choose another `mode`";
    let none = "in `plugin` mode only a promise completes the loop, and there is none";
    assert_eq!(complaints(&with_loop("\"mode\": \"plugin\"")), [format!("2:9 {none} ({hint})")]);
    let marker = "`loop.completionMarker` completes nothing in `plugin` mode, where there is no tracker";
    for bound in ["0", "5"] {
        let text = with_loop(&format!(
            "\"completionMarker\": \"X\", \"mode\": \"plugin\", \"maxIterations\": {bound}"
        ));
        assert_eq!(complaints(&text), [format!("2:21 {marker} ({hint})")], "{bound}");
    }
    let both = with_loop("\"completionMarker\": \"X\", \"completionPromise\": \"Y\", \"mode\": \"plugin\"");
    let found = complaints(&both);
    assert!(
        found.len() == 1 && found[0].starts_with("2:21 warning: in `plugin` mode there is no tracker"),
        "{found:?}"
    );
    let promise = with_loop("\"completionPromise\": \"Y\", \"mode\": \"plugin\", \"maxIterations\": 0");
    assert_eq!(complaints(&promise), Vec::<String>::new());
}

#[test]
fn every_field_is_on_the_page_about_plugins() {
    let page = include_str!("../../../../../docs/plugins.md");
    let is_missing = |field: &&&str| {
        !page.lines().any(|line| line.starts_with('|') && line.contains(&format!("`{field}`")))
    };
    let missing: Vec<_> = FIELDS.iter().chain(LOOP_FIELDS).filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
