//! Draws the tasks as a graph, with an edge from each task to those that depend on it.
//!
//! Task names are untrusted text, so they are quoted and escaped.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::tasks::{Task, TaskId, TaskStatus};

/// The most characters of a name in a label.
const NAME: usize = 60;

/// The tasks, their missing dependencies, and the edges between them.
struct Graph<'a> {
    tasks: &'a [Task],
    missing: Vec<&'a TaskId>,
    /// From a dependency to the task that waits for it.
    edges: Vec<(usize, usize)>,
}

impl<'a> Graph<'a> {
    fn of(tasks: &'a [Task]) -> Graph<'a> {
        let mut places: BTreeMap<&TaskId, usize> = BTreeMap::new();
        for (place, task) in tasks.iter().enumerate() {
            places.entry(&task.id).or_insert(place);
        }
        let (mut missing, mut edges, mut drawn) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (place, task) in tasks.iter().enumerate() {
            for dependency in &task.dependencies {
                let from = *places.entry(dependency).or_insert_with(|| {
                    missing.push(dependency);
                    tasks.len() + missing.len() - 1
                });
                if drawn.insert((from, place)) {
                    edges.push((from, place));
                }
            }
        }
        Graph { tasks, missing, edges }
    }
}

fn label(id: &TaskId, name: &str) -> String {
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = name.chars().filter(|c| !c.is_control()).take(NAME).collect();
    let dots = if name.chars().nth(NAME).is_some() { "…" } else { "" };
    format!("{id}: {short}{dots}")
}

/// Draws a flowchart for Mermaid.
pub fn mermaid(tasks: &[Task]) -> String {
    let graph = Graph::of(tasks);
    let mut lines = vec!["flowchart TD".to_owned()];
    for (place, task) in graph.tasks.iter().enumerate() {
        let label = mermaid_text(&label(&task.id, &task.name));
        lines.push(format!("  t{place}[\"{label}\"]:::{}", task.status.word()));
    }
    for (place, id) in graph.missing.iter().enumerate() {
        let label = mermaid_text(&label(id, "not in the file"));
        lines.push(format!("  t{}[\"{label}\"]:::missing", graph.tasks.len() + place));
    }
    lines.extend(graph.edges.iter().map(|(from, to)| format!("  t{from} --> t{to}")));
    for status in TaskStatus::ALL {
        lines.push(format!("  classDef {} fill:{},color:#111111", status.word(), colour(status)));
    }
    lines.push("  classDef missing stroke-dasharray:4".to_owned());
    lines.join("\n") + "\n"
}

fn mermaid_text(text: &str) -> String {
    let escape = |c: char| match c {
        '#' => "#35;".to_owned(),
        '"' => "#quot;".to_owned(),
        '<' => "#lt;".to_owned(),
        '>' => "#gt;".to_owned(),
        '&' => "#amp;".to_owned(),
        '`' => "#96;".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

/// Draws a digraph for Graphviz.
pub fn dot(tasks: &[Task]) -> String {
    let graph = Graph::of(tasks);
    let mut lines = vec!["digraph tasks {".to_owned(), "  node [shape=box, style=filled];".to_owned()];
    for (place, task) in graph.tasks.iter().enumerate() {
        let label = dot_text(&label(&task.id, &task.name));
        lines.push(format!("  t{place} [label=\"{label}\", fillcolor=\"{}\"];", colour(task.status)));
    }
    for (place, id) in graph.missing.iter().enumerate() {
        let label = dot_text(&label(id, "not in the file"));
        lines.push(format!("  t{} [label=\"{label}\", style=dashed];", graph.tasks.len() + place));
    }
    lines.extend(graph.edges.iter().map(|(from, to)| format!("  t{from} -> t{to};")));
    lines.push("}".to_owned());
    lines.join("\n") + "\n"
}

fn dot_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn colour(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "#eeeeee",
        TaskStatus::InProgress => "#cfe3ff",
        TaskStatus::Passing => "#c8efc8",
        TaskStatus::Failing => "#f6c6c6",
        TaskStatus::Skipped => "#dddddd",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, name: &str, dependencies: &[&str]) -> Task {
        let dependencies = dependencies.iter().map(|id| id.parse().unwrap()).collect();
        Task { dependencies, ..Task::named(id.parse().unwrap(), name) }
    }

    #[test]
    fn a_task_points_at_who_waits_for_it() {
        let tasks = [task("1", "parse", &[]), task("2", "print", &["1", "9"])];
        let drawn = mermaid(&tasks);
        let expected = "flowchart TD
  t0[\"1: parse\"]:::pending
  t1[\"2: print\"]:::pending
  t2[\"9: not in the file\"]:::missing
  t0 --> t1
  t2 --> t1
";
        assert!(drawn.starts_with(expected), "{drawn}");
        let expected = "digraph tasks {
  node [shape=box, style=filled];
  t0 [label=\"1: parse\", fillcolor=\"#eeeeee\"];
  t1 [label=\"2: print\", fillcolor=\"#eeeeee\"];
  t2 [label=\"9: not in the file\", style=dashed];
  t0 -> t1;
  t2 -> t1;
}
";
        assert_eq!(dot(&tasks), expected);
    }

    #[test]
    fn a_name_cannot_break_out_of_its_quotes() {
        let tasks = [task("1", "a\"]\n click t0 \"x\" <b> \\ \u{1b}", &[])];
        let drawn = mermaid(&tasks);
        let line = drawn.lines().nth(1).unwrap();
        assert_eq!(line, "  t0[\"1: a#quot;] click t0 #quot;x#quot; #lt;b#gt; \\ \"]:::pending");
        assert!(dot(&tasks).contains("label=\"1: a\\\"] click t0 \\\"x\\\" <b> \\\\ \""), "{}", dot(&tasks));
    }
}
