//! Pictures are well formed, whatever a workflow is called, and say what it does.

use proptest::prelude::*;

use super::*;
use crate::graph::builder::{Builder, LoopRounds, check_all, fail, prompt, shell, skill, task_loop, turns};
use crate::graph::random::any_text_workflow;
use crate::graph::workflow::{TurnLoop, Workflow};

fn sample() -> Workflow {
    Builder::new("sample")
        .start(skill("research").args("{{ input }}"))
        .if_("input", |b| b.then(prompt("Plan it").id("plan")), |b| b)
        .loop_(LoopRounds::until("not outputs.check.failed").max(3), |b| {
            b.then(prompt("Do it").id("do")).then(check_all())
        })
        .parallel(|lanes| lanes.branch("docs", |b| b.then(shell("make docs"))).branch("idle", |b| b))
        .then(
            task_loop()
                .before_each(|b| b.then(shell("git pull")))
                .each(|b| b.then(prompt("{{ task.name }}"))),
        )
        .end()
        .unwrap()
}

fn hostile() -> Workflow {
    let name = "a\"]\n%%{init: {}}%% <script>alert(1)</script>]]>&amp; \u{202e}\u{0}\\\" `x` #quot; click n0";
    let mut workflow = Builder::new(name).start(prompt(name).id("x")).end().unwrap();
    let branch = |name: &str| crate::graph::workflow::ParallelBranch {
        name: name.into(),
        body: workflow.body.clone(),
    };
    let act = crate::graph::workflow::NodeKind::Parallel(crate::graph::workflow::ParallelNode {
        limit: 0,
        join: Default::default(),
        branches: vec![branch(name), branch("</svg>")],
    });
    let mut step = workflow.body[0].clone();
    step.id = NodeId::new("\"><img src=x onerror=alert(1)>");
    step.kind = act;
    workflow.body.push(step);
    workflow
}

#[test]
fn a_node_says_how_often_and_how_many_at_once() {
    let workflow = Builder::new("w")
        .start(prompt("a").turns(TurnLoop::default()))
        .then(prompt("b").turns(turns(7)))
        .then(prompt("c").turns(turns(0)))
        .then(task_loop().jobs(4).each(|b| b.then(prompt("d"))))
        .end()
        .unwrap();
    let second = |step: &crate::graph::workflow::Node| label::lines(step, &States::new()).remove(1);
    assert_eq!(
        workflow.body.iter().map(second).collect::<Vec<_>>(),
        [
            "turns · prompt: a",
            "up to 7 turns · prompt: b",
            "unlimited turns · prompt: c",
            "each task ≤ 100×, 4 at once",
        ]
    );
}

#[test]
fn mermaid_shows_shapes_frames_and_ways() {
    let expected = r#"flowchart TD
  n0(["start"])
  n1["skill-research<br/>skill research"]
  n2{"if<br/>if input"}
  n3["plan<br/>prompt#58; Plan it"]
  subgraph c0["loop"]
    n4{{"loop<br/>loop #8804; 3#215; until not outputs.check.failed"}}
    n5["do<br/>prompt#58; Do it"]
    n6["check<br/>check all"]
  end
  n7[/"parallel<br/>parallel, all"/]
  subgraph c1["docs"]
    n8["shell<br/>#36; make docs"]
  end
  n9[/"join"/]
  subgraph c2["task_loop"]
    n10{{"task_loop<br/>each task #8804; 100#215;"}}
    n11["shell-2<br/>#36; git pull"]
    n12["prompt<br/>prompt#58; #123;#123; task.name #125;#125;"]
  end
  n13(["end"])
  n0 --> n1
  n1 --> n2
  n2 -->|yes| n3
  n3 --> n4
  n2 -->|no| n4
  n4 --> n5
  n5 --> n6
  n6 -->|again| n4
  n4 -->|done| n7
  n7 --> n8
  n8 --> n9
  n7 --> n9
  n9 --> n10
  n10 --> n11
  n11 --> n12
  n12 -->|again| n10
  n10 -->|done| n13
"#;
    assert_eq!(mermaid(&sample(), &States::new()), expected);
}

#[test]
fn nothing_follows_a_node_that_always_fails_but_finally() {
    let workflow = Builder::new("w")
        .start(shell("make").id("make"))
        .if_("input", |b| b.then(fail("no").id("stop")), |b| b)
        .then(fail("perhaps").id("may").when("input"))
        .then(fail("never mind").id("mind").continue_on_failure())
        .end()
        .unwrap();
    let drawn = mermaid(&workflow, &States::new());
    let from = |number: usize| drawn.matches(&format!("  n{number} --")).count();
    // `stop` is n3, `may` n4 and `mind` n5.
    assert_eq!([3, 4, 5].map(from), [0, 1, 1], "{drawn}");
    let end = Workflow { body: workflow.body[..2].to_vec(), ..workflow };
    let last = crate::engine::node::FinallyNode { body: vec![end.body[0].clone()] };
    let mut body = end.body.clone();
    body.push(crate::graph::workflow::Node {
        id: NodeId::new("last"),
        kind: crate::graph::workflow::NodeKind::Finally(last),
        ..end.body[0].clone()
    });
    let drawn = mermaid(&Workflow { body, ..end }, &States::new());
    assert!(drawn.contains("  n3 -->|failed| n4\n"), "{drawn}");
}

#[test]
fn a_tree_shows_blocks_branches_and_states_on_lines_of_their_own() {
    let mut states = States::new();
    let word = "completed".to_owned();
    states.insert(NodeId::new("do"), DrawnState { word, time: Some("3 s".to_owned()), cost: None });
    let shown = tree(&sample(), &states, TreeCharacters::Ascii);
    let expected = "\
sample
|- skill-research  skill research
|- if  if input
|  `- then
|     `- plan  prompt: Plan it
|- loop  loop ≤ 3× until not outputs.check.failed
|  |- do  completed · 3 s; prompt: Do it
|  `- check  check all
|- parallel  parallel, all
|  |- docs
|  |  `- shell  $ make docs
|  `- idle
`- task_loop  each task ≤ 100×
   |- before_each
   |  `- shell-2  $ git pull
   `- do
      `- prompt  prompt: {{ task.name }}
";
    assert_eq!(shown, expected);
    let drawn = tree(&hostile(), &States::new(), TreeCharacters::Unicode);
    assert!(drawn.contains("├─ ") && drawn.contains("└─ "), "{drawn}");
    assert!(!drawn.contains(['\u{202e}', '\u{0}']), "{drawn:?}");
}

#[test]
fn dot_shows_the_same() {
    let text = dot(&sample(), &States::new());
    assert!(text.starts_with("digraph \"sample\" {\n"));
    assert!(text.contains("  n3 [label=\"plan\\nprompt: Plan it\", shape=box, style=rounded];\n"));
    assert!(text.contains("  subgraph cluster_0 { label=\"loop\"; style=dashed;\n"));
    assert!(text.contains("  n6 -> n4 [label=\"again\"];\n"));
    assert!(text.ends_with("}\n"));
}

#[test]
fn how_a_run_fared_is_shown_with_time_and_cost() {
    let state = DrawnState { word: "failed".into(), time: Some("2 min".into()), cost: Some("$0.12".into()) };
    let states = States::from([(NodeId::new("plan"), state)]);
    let picture = mermaid(&sample(), &states);
    assert!(picture.contains("n3[\"plan<br/>prompt#58; Plan it<br/>failed · 2 min · #36;0.12\"]:::failed"));
    assert!(picture.contains("classDef failed stroke:#e5534b"));
    assert!(
        dot(&sample(), &states)
            .contains("failed · 2 min · $0.12\", shape=box, style=rounded, color=\"#e5534b\"")
    );
    let picture = svg(&sample(), &states);
    assert!(picture.contains("class=\"box failed\"") && picture.contains("failed · 2 min · $0.12"));
}

#[test]
fn hostile_names_stay_text_in_mermaid() {
    let text = mermaid(&hostile(), &States::new());
    for line in text.lines() {
        assert!(line.matches('"').count().is_multiple_of(2), "{line}");
        let bare = line.replace("<br/>", "");
        assert!(!bare.contains(['<', '`', '%', '\\', '&', '\u{202e}']), "{line}");
    }
    assert!(!text.contains("%%{") && !text.contains("script>"));
}

#[test]
fn hostile_names_stay_text_in_dot() {
    let text = dot(&hostile(), &States::new());
    for line in text.lines() {
        assert_eq!(quotes(line) % 2, 0, "{line}");
    }
    assert!(!text.contains(['\u{202e}', '\u{0}']));
}

/// Quotes that are not escaped.
fn quotes(line: &str) -> usize {
    let mut count = 0;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '"' => count += 1,
            _ => {}
        }
    }
    count
}

#[test]
fn hostile_names_stay_text_in_svg() {
    let text = svg(&hostile(), &States::new());
    assert!(!text.contains("<script") && !text.contains("<img") && !text.contains('\u{202e}'));
    assert_eq!(text.matches("</svg>").count(), 1);
    assert_balanced(&text);
}

#[test]
fn a_picture_of_nothing_is_a_picture() {
    let empty = Workflow { body: Vec::new(), ..sample() };
    assert_eq!(
        mermaid(&empty, &States::new()),
        "flowchart TD\n  n0([\"start\"])\n  n1([\"end\"])\n  n0 --> n1\n"
    );
    assert_balanced(&svg(&empty, &States::new()));
}

/// Tags nest, attributes are quoted, and text has no signs of its own.
fn assert_balanced(svg: &str) {
    let mut open = Vec::new();
    let mut rest = svg;
    while let Some(begin) = rest.find('<') {
        assert!(!rest[..begin].contains('>'), "{}", &rest[..begin]);
        let end = begin + rest[begin..].find('>').expect("a tag ends");
        let tag = &rest[begin + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = |tag: &str| tag.split([' ', '/']).next().unwrap_or_default().to_owned();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed.to_owned())),
            None if tag.ends_with('/') => {}
            None => open.push(name(tag)),
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
    for entity in svg.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
        assert!(known.iter().any(|known| entity.starts_with(known)), "{entity}");
    }
}

/// Every box of the picture lies inside of it.
fn assert_inside(svg: &str) {
    let number = |tag: &str, key: &str| -> usize {
        let key = format!(" {key}=\"");
        let Some(at) = tag.find(&key) else { return 0 };
        let rest = &tag[at + key.len()..];
        rest[..rest.find('"').unwrap()].parse().unwrap()
    };
    let whole = &svg[..svg.find('>').unwrap()];
    let (width, height) = (number(whole, "width"), number(whole, "height"));
    for tag in svg.split("<rect").skip(1).filter_map(|rest| rest.split('>').next()) {
        assert!(number(tag, "x") + number(tag, "width") <= width, "{tag}");
        assert!(number(tag, "y") + number(tag, "height") <= height, "{tag}");
    }
}

proptest! {
    #[test]
    fn every_picture_is_well_formed(workflow in any_text_workflow()) {
        let states = States::from([(NodeId::new(""), DrawnState { word: "running".into(), ..DrawnState::default() })]);
        let picture = svg(&workflow, &states);
        assert_balanced(&picture);
        assert_inside(&picture);
        let text = mermaid(&workflow, &states);
        let frames = text.lines().filter(|line| line.trim_start().starts_with("subgraph ")).count();
        prop_assert_eq!(frames, text.lines().filter(|line| line.trim() == "end").count());
        prop_assert!(text.lines().all(|line| line.matches('"').count().is_multiple_of(2)));
        let text = dot(&workflow, &states);
        prop_assert!(text.lines().all(|line| quotes(line).is_multiple_of(2)));
    }
}
