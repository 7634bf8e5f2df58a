//! No text makes the reader of workflow documents panic, and what is printed is read back.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_core::graph::workflow::{
    AskNode, Budget, CheckNode, CriteriaLoopNode, EachNode, Effort, Expression, FailNode, FinallyNode,
    IfNode, InputKind, InputRange, Join, LandNode, ListSource, ListenNode, LoopNode, Node, NodeKind,
    NodeNumber, OnFailure, ParallelBranch, ParallelNode, PromptSource, PullRequestNode, RetryPolicy,
    ReviewNode, Session, SessionOptions, SessionTools, ShellNode, ShellProgram, SleepNode, TaskLoopNode,
    Template, TryNode, TurnLoop, WaitUntil, Workflow, WorkflowInput, WorkflowNode,
};
use windlass_core::hook::permission::Isolation;
use windlass_core::id::NodeId;
use windlass_core::looping::{LoopMode, MarkerMatch};
use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::workflow::document::{print, read, read_for_check, starter};

const PIECES: &[&str] = &[
    "name: w\n",
    "nodes:\n",
    "  - ",
    "    ",
    "\n",
    "prompt: ",
    "a b",
    "id: ",
    "x",
    "turns: ",
    "{ max: 3 }",
    "loop: ",
    "do:\n",
    "if: ",
    "then:\n",
    "else: ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ": ",
    "- ",
    "|\n",
    ">-\n",
    "\"",
    "'",
    "#",
    "&a ",
    "*a",
    "!x ",
    "? ",
    "<<: ",
    "{{ input }}",
    "parallel: ",
    "branches: ",
    "task_loop: true",
    "wait: ",
    "5m",
    "-1",
    "1.5",
    "true",
    "~",
    "\t",
    "\r\n",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "é",
    "\u{feff}",
    "\u{1b}",
    "inputs:\n",
    "with: ",
    "schema: ",
    "continue: ",
    "tools: ",
    "from: ",
    "at_most: ",
    "forever: true\n",
    "land: false\n",
    "max: inputs.n\n",
    "check: all",
    "x-a: ",
    "\"id\"",
    "\\u",
    "0x",
    "@",
    "`",
    "retry: ",
];

fn any_text() -> impl Strategy<Value = String> {
    let pieces =
        prop::collection::vec(prop::sample::select(PIECES), 0..60).prop_map(|pieces| pieces.concat());
    let begun = pieces.clone().prop_map(|text| format!("name: w\nnodes:\n  - prompt: a\n  - {text}"));
    prop_oneof![any::<String>(), pieces, begun]
}

/// Text that says something, of every kind that is hard to write.
fn text() -> impl Strategy<Value = String> {
    let hard = prop::sample::select(vec![
        "a",
        "yes",
        "null",
        "12",
        "1e3",
        "true",
        "- a",
        "a: b",
        "a #b",
        "# a",
        "{{ input }}",
        "[x]",
        "\"q\"",
        "it's",
        "two\nlines",
        "two\nlines\n",
        "three\n\n  of\nthem\n\n",
        " begins",
        "ends ",
        "tab\there",
        "\ttab\nx",
        "\n\nx",
        "a\n \nb",
        "é😀",
        "\u{85}x",
        "\u{2028}\n",
        "\u{feff}a\nb",
        "a\\nb",
        "%x",
        "@x",
        "&x",
        "*x",
        "!x",
        "> x\ny",
        "| x",
        "\u{7}",
        "x\r\ny",
        "...",
        "---",
        "--- a\nb",
        "?",
        "a\n# b\nc: d",
        "<<",
        "=",
        "~",
        "\u{7f}",
        "\u{fffe}",
    ]);
    prop_oneof![hard.prop_map(str::to_owned), "[ -~\n]{1,40}", any::<String>()]
        .prop_filter("says nothing", |text| !text.trim().is_empty())
}

fn line() -> impl Strategy<Value = String> {
    "[!-~é][ -~]{0,20}".prop_map(|text| text.trim().to_owned())
}

fn template() -> impl Strategy<Value = Template> {
    text().prop_map(Template)
}

fn condition() -> impl Strategy<Value = Expression> {
    "[a-z][a-z.]{0,8}( == \"[a-z ]{0,5}\"| > 3| \\| length| and not x)?".prop_map(Expression)
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1.0e6..1.0e6).prop_map(Value::from),
        text().prop_map(Value::from),
        Just(json!("")),
    ];
    let inner = leaf.prop_recursive(3, 20, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        prop_oneof![
            list,
            prop::collection::btree_map("[a-w]{1,4}|\"|: ", inner, 0..4).prop_map(|map| json!(map))
        ]
    });
    prop::collection::btree_map("[a-w]{1,4}", inner, 0..4).prop_map(|map| json!(map))
}

fn turns() -> impl Strategy<Value = TurnLoop> {
    let mode =
        prop::sample::select(vec![LoopMode::Fresh, LoopMode::InSession, LoopMode::Resume, LoopMode::Plugin]);
    let place = prop::sample::select(vec![MarkerMatch::Line, MarkerMatch::LastLine, MarkerMatch::Anywhere]);
    let maybe = || prop::option::of(text());
    (
        prop::option::of(0..1000_u32),
        prop::option::of(mode),
        prop::option::of(line()),
        place,
        (maybe(), prop::option::of(line()), maybe(), maybe()),
        prop::option::of(0..9_u32),
    )
        .prop_map(
            |(
                max,
                mode,
                marker,
                marker_match,
                (promise, blocked, continue_message, tracker),
                stuck_after,
            )| TurnLoop {
                max,
                mode,
                marker,
                marker_match,
                promise,
                blocked,
                continue_message,
                tracker,
                stuck_after,
            },
        )
}

fn session() -> BoxedStrategy<NodeKind> {
    let source = prop_oneof![
        template().prop_map(|prompt| PromptSource::Prompt { prompt }),
        (line(), template()).prop_map(|(name, prompt)| PromptSource::Agent { name, prompt }),
        (line(), prop::option::of(template())).prop_map(|(name, args)| PromptSource::Skill { name, args }),
        (line(), prop::option::of(template())).prop_map(|(name, args)| PromptSource::Command { name, args }),
    ];
    let other = prop::option::of(prop::sample::select(vec!["prompt", "a-1"]).prop_map(NodeId::new));
    let tool = prop::sample::select(vec!["Read", "Bash(git diff:*)", "mcp__x__*"]).prop_map(str::to_owned);
    let tools = prop::option::of(prop_oneof![
        Just(SessionTools::Read),
        prop::collection::vec(tool, 0..3).prop_map(SessionTools::These),
    ]);
    (source, prop::option::of(turns()), prop::option::of(schema()), other, tools)
        .prop_map(|(source, turns, schema, continues, tools)| {
            NodeKind::Session(Session { source, turns, schema, continues, tools })
        })
        .boxed()
}

fn leaf() -> BoxedStrategy<NodeKind> {
    let ms = || 1..100_000_000_u64;
    let names = || prop::collection::vec(line(), 0..3);
    prop_oneof![
        4 => session(),
        1 => (template(), any::<bool>(), prop::option::of(template()), prop::option::of(schema())).prop_map(|(command, idempotent, stdin, schema)| NodeKind::Shell(ShellNode { command, idempotent, stdin, schema })),
        1 => template().prop_map(|reason| NodeKind::Fail(FailNode { reason })),
        1 => names().prop_map(|names| NodeKind::Check(CheckNode { names })),
        1 => (line(), prop::collection::btree_map("[a-w]{1,5}", template(), 0..3)).prop_map(|(name, inputs)| NodeKind::Workflow(WorkflowNode { name, inputs })),
        1 => (template(), names(), any::<bool>()).prop_map(|(question, mut choices, has_default)| {
            // A choice that is listed twice is a mistake.
            let mut seen = std::collections::BTreeSet::new();
            choices.retain(|choice: &String| seen.insert(choice.trim().to_ascii_lowercase()));
            let default = choices.first().cloned().filter(|_| has_default);
            NodeKind::Ask(AskNode { question, choices, default })
        }),
        1 => ms().prop_map(|ms| NodeKind::Wait(WaitUntil::Elapsed(SleepNode { ms }))),
        1 => (line(), prop::option::of(ms())).prop_map(|(name, timeout_ms)| NodeKind::Wait(WaitUntil::Event(ListenNode { name, timeout_ms }))),
        1 => (prop::option::of(line()), 0..9_u32, prop::option::of(0.0..=1.0)).prop_map(|(agent, max_cycles, threshold)| NodeKind::Review(ReviewNode { agent, max_cycles, threshold })),
        1 => prop::option::of(template()).prop_map(|target| NodeKind::Land(LandNode { target })),
        1 => (template(), prop::option::of(template())).prop_map(|(title, body)| NodeKind::PullRequest(PullRequestNode { title, body })),
        1 => Just(NodeKind::ClearContext),
    ].boxed()
}

fn settings() -> BoxedStrategy<SessionOptions> {
    let isolation = prop::sample::select(vec![Isolation::Strict, Isolation::Minimal, Isolation::Permissive]);
    let maybe = || prop::option::of(line());
    let models = prop::collection::vec(line(), 0..3);
    let effort = prop::option::of(prop::sample::select(Effort::ALL.to_vec()));
    (maybe(), models, effort, prop::option::of(isolation), prop::option::of(1..10_000_000_u64))
        .prop_map(|(driver, models, effort, isolation, timeout_ms)| {
            let mut models = models.into_iter();
            let (model, fallbacks) = (models.next(), models.collect());
            SessionOptions {
                driver,
                model,
                fallbacks,
                effort,
                isolation,
                timeout_ms,
                shell: None,
                timeout_from: None,
            }
        })
        .boxed()
}

fn budget() -> BoxedStrategy<Budget> {
    let cost = prop::option::of(0.0..1000.0);
    (
        prop::option::of(1..99_u32),
        prop::option::of(0..9_999_999_u64),
        cost,
        prop::option::of(1..9_999_999_u64),
    )
        .prop_map(|(turns, tokens, cost_usd, time_ms)| Budget { turns, tokens, cost_usd, time_ms })
        .boxed()
}

fn env() -> BoxedStrategy<BTreeMap<String, Template>> {
    prop::collection::btree_map("[A-Z][A-Z_]{0,5}", template(), 0..3).boxed()
}

fn step(act: impl Strategy<Value = NodeKind> + 'static) -> BoxedStrategy<Node> {
    let retry = prop_oneof![
        Just(RetryPolicy::default()),
        (1..9_u32, 0..99_999_u64).prop_map(|(times, delay_ms)| RetryPolicy { times, delay_ms }),
    ];
    let on_failure = prop::sample::select(vec![OnFailure::Fail, OnFailure::Continue]);
    let computed = prop::sample::subsequence(NodeNumber::ALL.to_vec(), 0..3);
    (act, prop::option::of(condition()), settings(), retry, budget(), on_failure, (computed, env()))
        .prop_map(|(act, when, settings, retry, budget, on_failure, (computed, env))| {
            let mut node = Node {
                id: NodeId::new(""),
                kind: act,
                when,
                settings,
                retry,
                budget,
                on_failure,
                computed: Default::default(),
                env,
            };
            let numbers =
                computed.into_iter().filter(|number| node.bound(*number).is_some_and(|most| most > 0));
            node.computed = numbers.map(|number| (number, Expression("inputs.n + 1".into()))).collect();
            node
        })
        .boxed()
}

fn list() -> BoxedStrategy<ListSource> {
    prop_oneof![
        condition().prop_map(ListSource::Expression),
        prop::collection::vec(schema(), 0..3).prop_map(ListSource::Literal),
    ]
    .boxed()
}

/// The block that runs at the end, if there is one.
fn finally() -> impl Strategy<Value = Option<Node>> {
    let last = (prop::collection::vec(step(leaf()), 1..3), 1..9_999_999_u64).prop_map(|(body, ms)| Node {
        env: BTreeMap::new(),
        computed: BTreeMap::new(),
        id: NodeId::new("finally"),
        kind: NodeKind::Finally(FinallyNode { body }),
        when: None,
        settings: SessionOptions { timeout_ms: Some(ms), ..SessionOptions::default() },
        retry: RetryPolicy::default(),
        budget: Budget::default(),
        on_failure: OnFailure::Fail,
    });
    prop::option::of(last)
}

fn body() -> impl Strategy<Value = Vec<Node>> {
    let leaves = prop::collection::vec(step(leaf()), 1..4);
    leaves.prop_recursive(3, 12, 3, |inner| {
        let some = || inner.clone();
        let maybe = || prop_oneof![Just(Vec::new()), inner.clone()];
        let join = prop::sample::select(vec![Join::All, Join::Any, Join::FirstSuccess, Join::Some]);
        let branches = prop::collection::btree_map("[a-z][a-z0-9_-]{0,5}", some(), 1..3);
        let block = prop_oneof![
            (condition(), some(), maybe()).prop_map(|(condition, then, otherwise)| NodeKind::If(IfNode { condition, then, otherwise })),
            (prop::collection::vec(condition(), 0..3), 0..99_u32, any::<bool>(), some()).prop_map(|(until, max, forever, body)| NodeKind::Loop(LoopNode { until, max, forever, body })),
            (prop::option::of(template()), prop::option::of(condition()), prop::option::of(condition()), (0..99_u32, 1..9_u32, 1..9_u32, any::<bool>()), maybe(), some())
                .prop_map(|(path, until, select, (max, jobs, attempts, keeps_branches), before_each, body)| NodeKind::TaskLoop(TaskLoopNode { path, until, select, max, jobs, attempts, keeps_branches, before_each, body })),
            (some(), maybe()).prop_map(|(body, catch)| NodeKind::Try(TryNode { body, catch })),
            (list(), "[a-w]{1,5}", 1..9_u32, join.clone(), any::<bool>(), 1..99_u32, some()).prop_map(|(items, name, jobs, join, worktree, max, body)| NodeKind::Each(EachNode { items, name, jobs, join, worktree, max, body })),
            (line(), 0..99_u32, some()).prop_map(|(signal, max, body)| NodeKind::CriteriaLoop(CriteriaLoopNode { signal, max, body })),
            (0..5_u32, join, branches).prop_map(|(limit, join, branches)| {
                let branches = branches.into_iter().filter(|(name, _)| !name.starts_with("x-"));
                let mut branches: Vec<ParallelBranch> = branches.map(|(name, body)| ParallelBranch { name, body }).collect();
                if branches.is_empty() {
                    branches.push(ParallelBranch { name: "only".into(), body: Vec::new() });
                }
                NodeKind::Parallel(ParallelNode { limit, join, branches })
            }).prop_filter("empty", |act| matches!(act, NodeKind::Parallel(ParallelNode { branches, .. }) if branches.iter().all(|b| !b.body.is_empty()))),
        ];
        prop::collection::vec(step(block), 1..3)
    })
}

fn workflow() -> impl Strategy<Value = Workflow> {
    let input = |(index, (description, required)): (usize, (Option<String>, bool))| {
        let (kind, value) = match index % 5 {
            0 => (InputKind::Text, json!("a: b")),
            1 => (InputKind::Number, json!(1.5)),
            2 => (InputKind::Integer, json!(-3)),
            3 => (InputKind::Boolean, json!(true)),
            _ => (InputKind::List, json!(["a", "2"])),
        };
        let default = (!required).then(|| value.clone());
        WorkflowInput {
            name: format!("in{index}"),
            description,
            kind,
            required,
            default,
            choices: vec![value],
            range: InputRange {
                minimum: matches!(kind, InputKind::Integer | InputKind::Number).then_some(-7.0),
                maximum: (kind == InputKind::Integer).then_some(9.0),
            },
        }
    };
    let inputs = prop::collection::vec((prop::option::of(text()), any::<bool>()), 0..6)
        .prop_map(move |list| list.into_iter().enumerate().map(input).collect::<Vec<_>>());
    let checks = prop::collection::btree_map("[a-w][a-z ]{0,8}[a-z]", text(), 0..3);
    let shell = prop::option::of(prop::sample::select(ShellProgram::ALL.to_vec()));
    let plugins = prop::collection::vec("[a-z]{1,5}(@[a-z]{1,5}/[a-z]{1,5})?", 0..3);
    (
        "[a-z0-9\"#:{][ -.0-\\[a-~]{0,20}[a-z]",
        prop::option::of(text()),
        inputs,
        settings(),
        budget(),
        plugins,
        checks,
        (body(), finally(), env(), prop::option::of(condition()), shell),
    )
        .prop_map(
            |(
                name,
                description,
                inputs,
                settings,
                budget,
                plugins,
                checks,
                (body, last, env, gives, shell),
            )| {
                let body = body.into_iter().chain(last).collect();
                let computed = settings.timeout_ms.filter(|ms| ms % 2 == 0);
                let timeout_from = computed.map(|_| Expression("inputs.n * 60".to_owned()));
                let settings = SessionOptions { shell, timeout_from, ..settings };
                let mut workflow = Workflow {
                    name,
                    description,
                    inputs,
                    settings,
                    budget,
                    plugins,
                    checks,
                    env,
                    gives,
                    body,
                };
                number(&mut workflow.body, &mut 0);
                workflow
            },
        )
}

/// Every node gets an id of its own.
fn number(body: &mut [Node], count: &mut u32) {
    for step in body {
        *count += 1;
        if step.id.as_str().is_empty() {
            step.id = NodeId::new(format!("n{count}"));
        }
        step.kind.blocks_mut().into_iter().for_each(|block| number(block, count));
    }
}

proptest! {
    // A failure is kept as a test with a name, not as a seed in a file.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics_and_a_document_is_there_unless_an_error_is(text in any_text()) {
        let (document, said) = read(&text, "w.yaml");
        prop_assert_eq!(document.is_none(), said.iter().any(Diagnostic::is_error));
        let shown: Vec<String> = said.iter().map(Diagnostic::to_string).collect();
        prop_assert!(shown.iter().all(|text| text.chars().all(|c| c == '\n' || !c.is_control())));
        if let (Some(document), _) = read_for_check(&text, "w.yaml") {
            print(&document.workflow);
        }
        starter(&text);
    }

    #[test]
    fn what_is_printed_is_read_back(workflow in workflow()) {
        let printed = print(&workflow);
        let (document, said) = read(&printed, "printed.yaml");
        let said: Vec<String> = said.iter().map(Diagnostic::to_string).collect();
        prop_assert_eq!(said, Vec::<String>::new(), "{}", printed);
        prop_assert_eq!(document.unwrap().workflow, workflow, "{}", printed);
    }
}
