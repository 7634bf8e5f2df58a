//! A document and the Rust builder make the same graph: skills, agents and commands by name, what
//! came before as arguments, task loops with and without an end of their own, the criteria loop, a
//! workflow in a workflow, a question, things at once.

use windlass_core::graph::builder::*;
use windlass_core::graph::workflow::{Join, Workflow};
use windlass_forms::workflow::document::read;

#[track_caller]
fn same(document: &str, built: Workflow) {
    let (document, said) = read(document, "w.yaml");
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(document.unwrap().workflow, built);
}

#[test]
fn skills_agents_and_commands_by_name_with_arguments_from_before() {
    same(
        "name: chain\nnodes:\n  - skill: research-codebase\n    args: '{{ input }}'\n  - agent: codebase-analyzer\n    prompt: 'Look at {{ outputs.skill_research_codebase.text }}'\n  - command: create-spec\n    args: '{{ outputs.agent_codebase_analyzer.text }}'\n",
        Builder::new("chain")
            .start(skill("research-codebase").args("{{ input }}"))
            .then(agent("codebase-analyzer").prompt("Look at {{ outputs.skill_research_codebase.text }}"))
            .then(command("create-spec").args("{{ outputs.agent_codebase_analyzer.text }}"))
            .end()
            .unwrap(),
    );
}

#[test]
fn task_loops_with_and_without_an_end_of_their_own() {
    same(
        "name: tasks\nnodes:\n  - task_loop: { path: tasks.json }\n    before_each:\n      - clear_context: true\n    do:\n      - command: implement-task\n        args: '{{ task.id }}'\n",
        Builder::new("tasks")
            .start(
                task_loop()
                    .path("tasks.json")
                    .before_each(|each| each.then(clear_context()))
                    .each(|each| each.then(command("implement-task").args("{{ task.id }}"))),
            )
            .end()
            .unwrap(),
    );
    same(
        "name: some\nnodes:\n  - task_loop: { until: iteration >= 3, select: task.priority < 3, max: 7, jobs: 2 }\n    do:\n      - prompt: '{{ task.name }}'\n",
        Builder::new("some")
            .start(
                task_loop()
                    .until("iteration >= 3")
                    .select("task.priority < 3")
                    .max(7)
                    .jobs(2)
                    .each(|each| each.then(prompt("{{ task.name }}"))),
            )
            .end()
            .unwrap(),
    );
}

#[test]
fn the_criteria_loop_a_workflow_in_a_workflow_a_question_and_things_at_once() {
    same(
        "name: all\nnodes:\n  - criteria_loop: { signal: COMPLETE, max: 20 }\n    do:\n      - prompt: '{{ input }}'\n  - parallel: { limit: 2, join: first_success }\n    branches:\n      quick:\n        - { id: quick, shell: make quick }\n      whole:\n        - { id: whole, prompt: Try it. }\n  - { id: ship, ask: 'Ship it?', choices: ['yes', 'no'], default: 'no' }\n  - { workflow: review, when: outputs.ship.text == 'yes', with: { branch: main } }\n",
        Builder::new("all")
            .start(criteria_loop("COMPLETE").max(20).each(|each| each.then(prompt("{{ input }}"))))
            .parallel(|lanes| {
                lanes
                    .branch("quick", |lane| lane.then(shell("make quick").id("quick")))
                    .branch("whole", |lane| lane.then(prompt("Try it.").id("whole")))
                    .limit(2)
                    .join(Join::FirstSuccess)
            })
            .then(ask("Ship it?").id("ship").choices(["yes", "no"]).default("no"))
            .then(workflow("review").with_input("branch", "main").when("outputs.ship.text == 'yes'"))
            .end()
            .unwrap(),
    );
}
