//! Any workflow at all, and very large ones.

use proptest::prelude::*;

use super::*;
use crate::graph::random::{any_text_workflow, any_workflow};
use crate::graph::workflow::Workflow;

proptest! {
    #[test]
    fn no_workflow_makes_a_check_panic(workflow in any_text_workflow()) {
        let registry = registry();
        let _ = check(&workflow, &known(&registry));
    }

    #[test]
    fn a_check_says_the_same_each_time_and_in_the_order_of_the_text(workflow in any_workflow()) {
        let registry = registry();
        let known = known(&registry);
        let findings = check(&workflow, &known);
        prop_assert_eq!(&findings, &check(&workflow, &known));
        let outline = Outline::of(&workflow);
        let place = |finding: &GraphDiagnostic| {
            let node = finding.node.as_ref();
            node.map_or(0, |id| 1 + outline.nodes.iter().position(|node| node.node.id == *id).unwrap())
        };
        prop_assert!(findings.is_sorted_by_key(place));
    }
}

fn large(nodes: usize) -> Workflow {
    let mut builder = Builder::new("large").start(prompt("begin").id("n0"));
    for number in 1..nodes / 2 {
        let text = format!("{{{{ outputs.n{}.text }}}} {{{{ input }}}}", number - 1);
        builder = builder.then(prompt(text).id(format!("n{number}")));
    }
    let lanes = nodes - nodes / 2;
    builder
        .parallel(|lanes_so_far| {
            (0..lanes).fold(lanes_so_far, |all, number| {
                let step =
                    prompt(format!("{{{{ outputs.n{number}.text }}}} {{{{ outputs.nobody{number} }}}}"));
                all.branch(format!("b{number}"), |b| b.then(step))
            })
        })
        .end()
        .unwrap()
}

#[test]
fn ten_thousand_nodes_are_checked_at_once() {
    let workflow = large(10_000);
    let registry = registry();
    let known = known(&registry);
    let begun = std::time::Instant::now();
    let findings = check(&workflow, &known);
    let took = begun.elapsed();
    println!("10,000 nodes, {} findings: {took:?}", findings.len());
    assert!(findings.len() > 4_000);
    // Well under a second where it is optimised; here only that it is not quadratic.
    assert!(took.as_secs() < 20, "{took:?}");
}

/// A loop with commands and conditions on the iteration, each of which uses the output of another node.
fn looping(nodes: usize) -> Workflow {
    let node = |number: usize| {
        let other = (number + 1) % nodes;
        let text = format!(
            "set -e; echo \"{{% if iteration > 1 %}}{{{{ outputs.n{other}.text }}}}{{% endif %}}\" [["
        );
        let node = crate::graph::builder::shell(text).id(format!("n{number}"));
        if number.is_multiple_of(2) { node.when("iteration != 1") } else { node }
    };
    let rounds = crate::graph::builder::LoopRounds::times(3);
    let body = |round| {
        (0..nodes).fold(round, |round: crate::graph::builder::Steps, number| round.then(node(number)))
    };
    Builder::new("looping").start(prompt("begin")).loop_(rounds, body).end().unwrap()
}

#[test]
fn ten_thousand_commands_in_a_loop_are_checked_at_once() {
    let workflow = looping(10_000);
    let registry = registry();
    let known = known(&registry);
    let begun = std::time::Instant::now();
    let findings = check(&workflow, &known);
    let took = begun.elapsed();
    println!("10,000 commands, {} findings: {took:?}", findings.len());
    assert!(took.as_secs() < 20, "{took:?}");
}
