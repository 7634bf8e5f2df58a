//! Writes a file of stub results for a person to fill in.

use windlass_core::engine::rehearsal::{Stub, StubField, StubTarget};

use crate::workflow::document::yaml::{YamlOutput, write};

const HEAD: &str = "\
# Stub results of the nodes of `WORKFLOW`, for:
#   windlass run --workflow WORKFLOW INPUT --dry-run --stubs FILE
# Change what a node gives, and see where the run goes. Leave out the nodes that do not matter.
# A list gives one result for each start of the node, and the last one repeats:
#   review: [{ status: failed }, { status: completed }]
";

/// Returns the text of a file with a fitting result for each node.
pub fn stub_file_text(workflow: &str, targets: &[StubTarget<'_>]) -> String {
    let mut text = HEAD.replace("WORKFLOW", workflow);
    for target in targets {
        let stub = target.example();
        text.push('\n');
        text.push_str(&comment(target, &stub));
        let map = YamlOutput::Map(vec![(target.path.clone(), result(&stub))]);
        match stub.fields().is_empty() {
            // A node without a result of its own choice stays a comment.
            true => text.push_str(&format!("# {}:\n", target.path)),
            false => text.push_str(&write(&map)),
        }
    }
    text
}

/// Describes a node: its kind, and the other fields that its result may have.
fn comment(target: &StubTarget<'_>, stub: &Stub) -> String {
    let has = stub.fields();
    let others = target.offers().into_iter().filter(|field| !has.contains(field));
    let others: Vec<&str> = others.map(about).collect();
    let kind = target.node.kind.word();
    let also = if others.is_empty() { String::new() } else { format!("; also: {}", others.join(", ")) };
    format!("# {} ({kind}){also}\n", target.path)
}

fn about(field: StubField) -> &'static str {
    match field {
        StubField::Text => "text",
        StubField::Value => "value",
        StubField::ExitCode => "exit_code: NUMBER",
        StubField::Stdout => "stdout: TEXT",
        StubField::Status => "status: completed or failed",
        StubField::Answer => "answer: TEXT",
        StubField::Tasks => "tasks: a list, each with id, name, description",
    }
}

fn result(stub: &Stub) -> YamlOutput {
    let text = |text: &Option<String>| text.as_ref().map(YamlOutput::text);
    let fields = [
        (StubField::Text, text(&stub.text)),
        (StubField::Value, stub.value.as_ref().map(YamlOutput::json)),
        (StubField::ExitCode, stub.exit_code.map(YamlOutput::plain)),
        (StubField::Stdout, text(&stub.stdout)),
        (StubField::Status, stub.status.map(|status| YamlOutput::text(status.word()))),
        (StubField::Answer, text(&stub.answer)),
    ];
    let given = fields.into_iter().filter_map(|(field, value)| Some((field.word().to_owned(), value?)));
    YamlOutput::Map(given.collect())
}
