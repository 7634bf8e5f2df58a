//! Examples of each keyword, and properties for any schema and value.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn said(schema: &Value, value: &Value) -> Vec<String> {
    validate(schema, value).iter().map(ToString::to_string).collect()
}

#[track_caller]
fn fits(schema: Value, good: &[Value], bad: &[(Value, &str)]) {
    assert_eq!(schema_errors(&schema), [], "{schema}");
    for value in good {
        assert_eq!(said(&schema, value), Vec::<String>::new(), "{schema} {value}");
    }
    for (value, fault) in bad {
        assert_eq!(said(&schema, value), [*fault], "{schema} {value}");
    }
}

#[test]
fn a_type_is_one_or_one_of_several() {
    let bad = [(json!("a"), "$: must be an integer or null, not a string")];
    fits(json!({ "type": ["integer", "null"] }), &[json!(1), json!(1.0), json!(1e300), json!(null)], &bad);
    fits(json!({ "type": "integer" }), &[], &[(json!(1.5), "$: must be an integer, not a number")]);
    fits(
        json!({ "type": "number" }),
        &[json!(1), json!(1.5)],
        &[(json!([]), "$: must be a number, not an array")],
    );
    fits(
        json!({ "type": "boolean" }),
        &[json!(true)],
        &[(json!({}), "$: must be true or false, not an object")],
    );
}

#[test]
fn values_are_compared_as_json_means_them() {
    let schema = json!({ "enum": ["a", 1, [1.0, { "b": 2 }]] });
    let bad = [(json!("b"), "$: must be one of \"a\", 1, [1.0,{\"b\":2}], not \"b\"")];
    fits(schema, &[json!("a"), json!(1.0), json!([1, { "b": 2.0 }])], &bad);
    fits(json!({ "const": null }), &[json!(null)], &[(json!(0), "$: must be null, not 0")]);
}

#[test]
fn objects_have_properties() {
    let schema = json!({
        "type": "object",
        "properties": { "steps": { "type": "array", "items": { "type": "string" } }, "a b": true, "no": false },
        "required": ["steps"],
        "additionalProperties": { "type": "integer" },
        "maxProperties": 3,
    });
    let bad = [
        (json!({}), "$: has no `steps`"),
        (json!({ "steps": ["a", 2] }), "$.steps[1]: must be a string, not a number"),
        (json!({ "steps": [], "x y": "z" }), "$[\"x y\"]: must be an integer, not a string"),
        (json!({ "steps": [], "no": 1 }), "$.no: must not be there"),
        (json!({ "steps": [], "a": 1, "b": 1, "c": 1 }), "$: must have at most 3 properties, not 4"),
    ];
    fits(schema, &[json!({ "steps": [] }), json!({ "steps": ["a"], "a b": [], "n": 3 })], &bad);
    let closed = json!({ "properties": { "a": {} }, "additionalProperties": false, "minProperties": 1 });
    let bad = [
        (json!({ "a": 1, "b": 2 }), "$.b: must not be there: the properties are `a`"),
        (json!({}), "$: must have at least 1 properties, not 0"),
    ];
    fits(closed, &[json!({ "a": [] }), json!("no object")], &bad);
}

#[test]
fn arrays_have_items() {
    let schema = json!({ "prefixItems": [{ "const": 1 }], "items": { "type": "string" }, "minItems": 1, "maxItems": 3 });
    let bad = [
        (json!([]), "$: must have at least 1 items, not 0"),
        (json!([2, "a"]), "$[0]: must be 1, not 2"),
        (json!([1, 1]), "$[1]: must be a string, not a number"),
        (json!([1, "a", "b", "c"]), "$: must have at most 3 items, not 4"),
    ];
    fits(schema, &[json!([1]), json!([1, "a"])], &bad);
    let unique = json!({ "uniqueItems": true });
    fits(
        unique,
        &[json!([1, 2, "1", [1]])],
        &[(json!([{ "a": 1 }, 2, { "a": 1.0 }]), "$[2]: is there twice")],
    );
}

#[test]
fn numbers_have_bounds_and_steps() {
    let bad = [
        (json!(0), "$: must be at least 1, not 0"),
        (json!(9007199254740994_u64), "$: must be at most 9007199254740993, not 9007199254740994"),
    ];
    fits(
        json!({ "minimum": 1, "maximum": 9007199254740993_u64 }),
        &[json!(1), json!(9007199254740993_u64)],
        &bad,
    );
    let bad = [(json!(0), "$: must be more than 0, not 0"), (json!(1), "$: must be less than 1.0, not 1")];
    fits(json!({ "exclusiveMinimum": 0, "exclusiveMaximum": 1.0 }), &[json!(0.5)], &bad);
    fits(
        json!({ "multipleOf": 0.1 }),
        &[json!(0.3), json!(7), json!(-0.7)],
        &[(json!(0.35), "$: must be a multiple of 0.1, not 0.35")],
    );
    fits(json!({ "multipleOf": 3 }), &[json!(9.0)], &[(json!(10), "$: must be a multiple of 3, not 10")]);
}

#[test]
fn texts_are_as_long_as_they_have_characters() {
    let bad = [
        (json!(""), "$: must have at least 1 characters, not 0"),
        (json!("äöü"), "$: must have at most 2 characters, not 3"),
    ];
    fits(json!({ "minLength": 1, "maxLength": 2.0, "format": "email" }), &[json!("äö"), json!(12345)], &bad);
}

#[test]
fn schemas_are_put_together() {
    let any = json!({ "anyOf": [{ "type": "string" }, { "type": "object", "required": ["a"] }] });
    let fault = "$: fits nothing of `anyOf`: $: must be a string, not an object; $: has no `a`";
    fits(any, &[json!("x"), json!({ "a": 1 })], &[(json!({}), fault)]);
    let bad = [
        (json!(15), "$: must fit one of `oneOf`, but fits 2"),
        (
            json!(1),
            "$: fits nothing of `oneOf`: $: must be a multiple of 3, not 1; $: must be a multiple of 5, not 1",
        ),
    ];
    fits(json!({ "oneOf": [{ "multipleOf": 3 }, { "multipleOf": 5 }] }), &[json!(3), json!(10)], &bad);
    let all = json!({ "allOf": [{ "minimum": 3 }, { "maximum": 5 }], "not": { "const": 4 } });
    let bad = [(json!(2), "$: must be at least 3, not 2"), (json!(4), "$: must not fit the schema in `not`")];
    fits(all, &[json!(3), json!(5)], &bad);
}

/// A tree, by way of a definition.
fn tree() -> Value {
    json!({
        "$ref": "#/$defs/tree",
        "$defs": { "tree": {
            "type": "object",
            "required": ["name"],
            "properties": { "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#/$defs/tree" } } },
        } },
    })
}

#[test]
fn a_reference_is_followed_as_deep_as_the_value_goes() {
    let good = json!({ "name": "a", "children": [{ "name": "b", "children": [] }] });
    let bad = json!({ "name": "a", "children": [{ "name": "b", "children": [{ "name": 3 }] }] });
    fits(tree(), &[good], &[(bad, "$.children[0].children[0].name: must be a string, not a number")]);
    let old =
        json!({ "items": { "$ref": "#/definitions/a~1b" }, "definitions": { "a/b": { "type": "null" } } });
    fits(old, &[json!([null])], &[(json!([0]), "$[0]: must be null, not a number")]);
    let whole = json!({ "type": "object", "additionalProperties": { "$ref": "#" } });
    fits(
        whole,
        &[json!({ "a": { "b": {} } })],
        &[(json!({ "a": 1 }), "$.a: must be an object, not a number")],
    );
}

#[test]
fn a_schema_without_end_fits_nothing() {
    let giving_up =
        "$: takes too much work to check: it is too large, or the schema refers to itself without end";
    let round = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } });
    assert_eq!(said(&round, &json!(1)), [giving_up]);
    let two = json!({ "$ref": "#" });
    for wide in [
        json!({ "anyOf": [two, two] }),
        json!({ "allOf": [two, two] }),
        json!({ "oneOf": [two, two] }),
        json!({ "not": two }),
    ] {
        assert_eq!(said(&wide, &json!(1)).last().map(String::as_str), Some(giving_up), "{wide}");
        example(&wide);
    }
}

#[test]
fn only_the_first_faults_are_said() {
    let value: Value = (0..1000).collect();
    let faults = said(&json!({ "items": { "type": "string" } }), &value);
    assert_eq!(faults.len(), MAX_VALIDATION_ERRORS);
    assert_eq!(faults[19], "$[19]: must be a string, not a number");
}

#[test]
fn what_a_stranger_wrote_is_repeated_short_and_harmless() {
    let value = json!({ "\u{1b}[2Jx": format!("\u{9b}{}", "y".repeat(500)) });
    let faults = said(&json!({ "additionalProperties": { "const": 1 } }), &value);
    assert_eq!(faults, [format!("$[\"\\u{{1b}}[2Jx\"]: must be 1, not \"\\u{{9b}}{}…", "y".repeat(58))]);
}

#[test]
fn what_nobody_would_hold_an_answer_to_is_named() {
    let schema = json!({
        "type": "object",
        "properties": { "name": { "type": "string", "pattern": "^a" }, "pattern": {} },
        "if": { "anything": 1 },
        "anyOf": [true, { "items": { "contains": {} } }],
    });
    let expected = [("$.anyOf[1].items", "contains"), ("$", "if"), ("$.properties.name", "pattern")];
    assert_eq!(unsupported(&schema), expected.map(|(path, keyword)| (path.to_owned(), keyword.to_owned())));
}

#[test]
fn a_keyword_must_be_of_its_shape() {
    let wrong = |schema: Value| {
        let flaws = schema_errors(&schema);
        let [SchemaError { path, keyword, kind: SchemaErrorKind::Shape(wanted), .. }] = flaws.as_slice()
        else {
            panic!("{schema}: {flaws:?}");
        };
        format!("{path} {keyword}: {wanted}")
    };
    let types = "object, array, string, number, integer, boolean or null, or a list of these";
    assert_eq!(wrong(json!({ "type": "text" })), format!("$ type: {types}"));
    assert_eq!(wrong(json!({ "type": [] })), format!("$ type: {types}"));
    assert_eq!(wrong(json!({ "enum": {} })), "$ enum: a list of values, each once");
    assert_eq!(wrong(json!({ "enum": [1, 1.0] })), "$ enum: a list of values, each once");
    assert_eq!(wrong(json!({ "required": true })), "$ required: a list of names, each once");
    assert_eq!(wrong(json!({ "required": ["a", "a"] })), "$ required: a list of names, each once");
    assert_eq!(wrong(json!({ "title": 1 })), "$ title: text");
    assert_eq!(wrong(json!({ "examples": 1 })), "$ examples: a list");
    assert_eq!(wrong(json!({ "exclusiveMinimum": true })), "$ exclusiveMinimum: a number");
    assert_eq!(wrong(json!({ "multipleOf": 0 })), "$ multipleOf: a number above 0");
    assert_eq!(wrong(json!({ "minItems": -1 })), "$ minItems: a whole number from 0");
    assert_eq!(wrong(json!({ "uniqueItems": "yes" })), "$ uniqueItems: true or false");
    assert_eq!(wrong(json!({ "properties": [] })), "$ properties: a mapping of names to schemas");
    assert_eq!(wrong(json!({ "anyOf": [] })), "$ anyOf: a list of schemas");
    let schema = "a schema: a mapping, true or false";
    assert_eq!(wrong(json!({ "properties": { "a": "string" } })), format!("$.properties.a : {schema}"));
    assert_eq!(wrong(json!({ "items": [] })), format!("$.items : {schema}"));
    assert_eq!(wrong(json!("string")), format!("$ : {schema}"));
    for to in ["#/$defs/none", "#/properties/a", "other.json", "https://example.invalid/x"] {
        let reference = "$ $ref: `#/$defs/NAME` of a schema that is there";
        assert_eq!(wrong(json!({ "$ref": to, "properties": { "a": true } })), reference, "{to}");
    }
}

#[test]
fn an_example_is_small_and_fits() {
    let cases = [
        (json!({}), json!("text")),
        (json!(true), json!("text")),
        (json!({ "type": "object" }), json!({})),
        (json!({ "type": "string", "default": "d" }), json!("d")),
        (json!({ "type": "integer", "default": "no integer", "minimum": 3 }), json!(3)),
        (json!({ "enum": ["low", "high"] }), json!("low")),
        (json!({ "enum": ["low", "high"], "not": { "const": "low" } }), json!("high")),
        (json!({ "const": { "a": 1 } }), json!({ "a": 1 })),
        (json!({ "type": "string", "minLength": 6 }), json!("textte")),
        (json!({ "type": "string", "maxLength": 2 }), json!("te")),
        (json!({ "type": "integer", "exclusiveMinimum": 2, "multipleOf": 5 }), json!(5)),
        (json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }), json!(0.5)),
        (json!({ "type": "integer", "maximum": -7 }), json!(-7)),
        (json!({ "type": ["null", "string"] }), json!(null)),
        (json!({ "type": "array", "items": { "type": "boolean" }, "minItems": 2 }), json!([false, false])),
        (json!({ "type": "array", "items": { "type": "integer", "minimum": 4 } }), json!([4])),
        (json!({ "type": "array", "maxItems": 0 }), json!([])),
        (json!({ "type": "array", "items": false }), json!([])),
        (
            json!({ "type": "array", "items": { "type": "boolean" }, "minItems": 2, "uniqueItems": true }),
            json!([false, true]),
        ),
        (json!({ "items": { "enum": [7, 8, 9] }, "minItems": 3, "uniqueItems": true }), json!([7, 8, 9])),
        (
            json!({ "items": { "type": "string", "maxLength": 4 }, "minItems": 2, "uniqueItems": true }),
            json!(["text", "tex1"]),
        ),
        (
            json!({ "properties": { "a": { "type": "null" }, "b": {} }, "required": ["a", "c"], "type": "object" }),
            json!({ "a": null, "c": "text" }),
        ),
        (
            json!({ "properties": { "a": {}, "b": {} }, "required": ["b"], "minProperties": 3 }),
            json!({ "a": "text", "b": "text", "property2": "text" }),
        ),
        (json!({ "anyOf": [{ "type": "null" }, { "type": "string" }] }), json!(null)),
        (json!({ "anyOf": [false, { "type": "integer" }] }), json!(0)),
        (
            json!({ "allOf": [
                { "type": "object", "properties": { "a": { "type": "number" } }, "required": ["a"] },
                { "properties": { "a": { "minimum": 2 }, "b": { "type": "null" } }, "required": ["b"] },
            ] }),
            json!({ "a": 2, "b": null }),
        ),
        (tree(), json!({ "name": "text" })),
    ];
    for (schema, expected) in cases {
        assert_eq!(example(&schema), expected, "{schema}");
        assert_eq!(said(&schema, &expected), Vec::<String>::new(), "{schema}");
    }
}

#[test]
fn an_example_of_what_refers_to_itself_ends() {
    let schema = json!({
        "$ref": "#/$defs/list",
        "$defs": { "list": { "anyOf": [
            { "type": "object", "required": ["next"], "properties": { "next": { "$ref": "#/$defs/list" } } },
            { "type": "null" },
        ] } },
    });
    assert_eq!(said(&schema, &example(&schema)), Vec::<String>::new());
    let endless =
        json!({ "type": "object", "required": ["next"], "properties": { "next": { "$ref": "#" } } });
    assert!(example(&endless).is_object());
    let vast = json!({ "type": ["object", "array", "string"], "minLength": u64::MAX, "minItems": u64::MAX, "minProperties": u64::MAX });
    assert_eq!(example(&vast).as_object().map(serde_json::Map::len), Some(100));
}

#[test]
fn the_value_the_cli_gave_comes_before_the_text() {
    let given = json!({ "a": 1 });
    assert_eq!(answer(Some(&given), Some("{\"a\": 2}")), Ok(given));
    assert_eq!(answer(None, Some("{\"a\": 2}")), Ok(json!({ "a": 2 })));
    assert_eq!(answer(None, Some("I am done.")), Err(NoValue::NoJson));
    assert_eq!(answer(None, None), Err(NoValue::NoJson));
}

#[test]
fn the_value_in_a_text_is_found_and_never_guessed() {
    let found = [
        ("  {\"a\": 1}\n", json!({ "a": 1 })),
        ("\u{feff}[1]", json!([1])),
        ("true", json!(true)),
        ("Here it is:\n\n```json\n{\"a\": [1]}\n```\n\nAnything else?", json!({ "a": [1] })),
        ("```rust\nfn main() { }\n```\nso\n  ```JSON\n  {\"a\": \"```\"}\n  ```", json!({ "a": "```" })),
        ("````json\n{\"a\":\n\"``` no end\"}\n````", json!({ "a": "``` no end" })),
        ("```\n{\"a\": 1}\n```", json!({ "a": 1 })),
        ("```json\n3\n```", json!(3)),
        (
            "I looked at [1] and {x}, fn f() {} and came to {\"verdict\": \"pass\"}.",
            json!({ "verdict": "pass" }),
        ),
        ("The list: [{\"a\": 1}, {\"a\": 2}] in all", json!([{ "a": 1 }, { "a": 2 }])),
        ("Cut off: ```json\n{\"a\": 1}\n", json!({ "a": 1 })),
    ];
    for (text, value) in found {
        assert_eq!(find_value(text), Ok(value), "{text}");
    }
    let not_found = [
        ("", NoValue::NoJson),
        ("done", NoValue::NoJson),
        ("It was {} in [1] and [x].", NoValue::NoJson),
        ("Either {\"a\": 1} or {\"a\": 2}.", NoValue::Several),
        ("{\"a\": 1}\n{\"a\": 2}", NoValue::Several),
        ("```json\n{\"a\": 1}\n```\nor\n```json\n{\"a\": 2}\n```", NoValue::Several),
        ("```json\n{\"a\": 1,}\n```", NoValue::Broken),
        ("So: {\"a\": {\"b\": 1}, oops", NoValue::Broken),
        ("So: [{\"a\": {\"b\": 1}}, {\"a\": ", NoValue::Broken),
    ];
    for (text, why) in not_found {
        assert_eq!(find_value(text), Err(why), "{text}");
    }
    let unseen = format!("{{\"a\": 1}} {} ", "{ ".repeat(1_000));
    assert_eq!(find_value(&unseen), Err(NoValue::Several));
}

/// Any JSON at all, with the words of schemas in it.
fn any_json() -> impl Strategy<Value = Value> {
    let words: Vec<&str> = KEYWORDS
        .iter()
        .map(|(word, _)| *word)
        .chain(keywords::TYPES)
        .chain(["#", "#/$defs/a", "a"])
        .collect();
    let word = prop::sample::select(words).prop_map(str::to_owned);
    let key = prop_oneof![4 => word.clone(), 1 => any::<String>()];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3..4_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A schema that something fits.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({ "$ref": "#/$defs/shared" })),
        Just(json!({ "enum": ["a", 2, null], "default": "nonsense" })),
        Just(json!({ "type": ["boolean", "null"] })),
        (-50..50_i64, 0..9_i64, 1..5_i64).prop_map(|(low, more, step)| {
            json!({ "type": "integer", "minimum": low, "maximum": low + more + step, "multipleOf": step })
        }),
        (-5.0..5.0_f64, 0.001..3.0_f64).prop_map(|(low, more)| {
            json!({ "type": "number", "exclusiveMinimum": low, "exclusiveMaximum": low + more })
        }),
        (0..9_u32, 0..9_u32).prop_map(|(low, more)| json!({ "type": "string", "minLength": low, "maxLength": low + more })),
        (0..5_u32).prop_map(|least| json!({
            "type": "array", "items": { "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] },
            "minItems": least, "uniqueItems": true,
        })),
    ];
    let schema = leaf.prop_recursive(4, 30, 4, |inner| {
        let named = prop::collection::btree_map("[a-d]", inner.clone(), 0..4);
        let object = (named, any::<[bool; 4]>(), any::<bool>()).prop_map(|(properties, needed, is_open)| {
            let required: Vec<_> = properties.keys().zip(needed).filter(|(_, needed)| *needed).map(|(name, _)| name.clone()).collect();
            let least = required.len() + usize::from(is_open);
            json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": is_open, "minProperties": least })
        });
        prop_oneof![
            2 => object,
            1 => (inner.clone(), 0..4_u32).prop_map(|(items, least)| json!({ "type": "array", "items": items, "minItems": least })),
            1 => prop::collection::vec(inner.clone(), 1..4).prop_map(|all| json!({ "anyOf": all })),
            1 => prop::collection::vec(inner.clone(), 1..4).prop_map(|all| {
                let case = |(index, schema)| json!({
                    "type": "object", "properties": { "case": { "const": index }, "of": schema }, "required": ["case", "of"],
                });
                json!({ "oneOf": all.into_iter().enumerate().map(case).collect::<Vec<_>>() })
            }),
            1 => (inner.clone(), inner).prop_map(|(one, other)| json!({ "allOf": [
                { "type": "object", "properties": { "one": one }, "required": ["one"] },
                { "properties": { "other": other }, "required": ["other"] },
            ] })),
        ]
    });
    schema.prop_map(|schema| {
        json!({ "allOf": [schema], "$defs": { "shared": { "type": "array", "prefixItems": [{ "const": 1 }], "minItems": 2 } } })
    })
}

proptest! {
    #[test]
    fn an_example_fits_its_schema(schema in any_schema()) {
        prop_assert_eq!(schema_errors(&schema), []);
        let example = example(&schema);
        prop_assert_eq!(said(&schema, &example), Vec::<String>::new(), "{}", example);
    }

    #[test]
    fn nothing_panics_on_any_json(schema in any_json(), value in any_json()) {
        schema_errors(&schema);
        prop_assert!(validate(&schema, &value).len() <= MAX_VALIDATION_ERRORS);
        validate(&schema, &example(&schema));
    }

    #[test]
    fn any_value_is_found_again(value in any_json(), before in "[a-z .]{0,20}") {
        let text = value.to_string();
        // Not the value itself: a float may change when it is written and read.
        let read: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(find_value(&text), Ok(read.clone()));
        prop_assert_eq!(find_value(&format!("{before}\n```json\n{text}\n```\n{before}")), Ok(read));
    }

    #[test]
    fn any_text_is_looked_through(text in "[\\[\\]{}\"a:1, `json\n]{0,80}|.{0,80}") {
        let _any = find_value(&text);
    }

    #[test]
    fn a_value_fits_itself_and_its_absence_is_seen(value in any_json()) {
        prop_assert_eq!(validate(&json!({ "const": value, "enum": [value] }), &value), []);
        prop_assert_eq!(validate(&json!({ "not": { "const": value } }), &value).len(), 1);
    }
}
