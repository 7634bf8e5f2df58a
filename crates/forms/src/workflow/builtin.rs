//! The workflows that come with Windlass, as ordinary documents.

/// The workflow of `windlass tasks run`.
pub const TASKS: &str = "tasks";

macro_rules! document {
    ($name:literal) => {
        ($name, include_str!(concat!("builtin/", $name, ".yaml")))
    };
}

/// Returns the name and text of each workflow that comes with Windlass.
pub fn builtin() -> Vec<(&'static str, &'static str)> {
    vec![document!("loop"), document!("tasks")]
}

#[cfg(test)]
mod tests {
    use windlass_core::graph::check::{CheckContext, check};
    use windlass_core::graph::template::{Scope, render};
    use windlass_core::graph::workflow::{Node, NodeKind, PromptSource, Session, TaskLoopNode, TurnLoop};
    use windlass_core::registry::Registry;

    use super::*;
    use crate::entity;
    use crate::workflow::document::{WorkflowDocument, read};

    fn documents() -> Vec<(&'static str, WorkflowDocument)> {
        builtin().into_iter().map(|(name, text)| (name, read(text, name).0.unwrap())).collect()
    }

    #[test]
    fn every_one_is_called_as_its_file_and_has_no_mistake() {
        let registry = Registry::new(entity::builtin());
        let mut known = CheckContext::new(&registry);
        known.checks.insert("test".to_owned());
        for (name, text) in builtin() {
            let (document, said) = read(text, name);
            let document = document.unwrap();
            assert_eq!((document.workflow.name.as_str(), said), (name, Vec::new()));
            assert!(document.workflow.description.is_some(), "{name}");
            assert_eq!(check(&document.workflow, &known), Vec::new(), "{name}");
        }
    }

    #[test]
    fn the_loop_leaves_its_turns_to_the_settings() {
        let documents = documents();
        let (_, document) = documents.iter().find(|(name, _)| *name == "loop").unwrap();
        let [Node { id, kind: NodeKind::Session(session), .. }] = document.workflow.body.as_slice() else {
            panic!("{document:?}")
        };
        assert_eq!((id.as_str(), &session.turns), ("loop", &Some(TurnLoop::default())));
    }

    #[test]
    fn a_task_is_told_whole_and_with_what_was_wrong() {
        let documents = documents();
        let (_, document) = documents.iter().find(|(name, _)| *name == "tasks").unwrap();
        let NodeKind::TaskLoop(TaskLoopNode { path, body, .. }) = &document.workflow.body[0].kind else {
            panic!("{document:?}")
        };
        let NodeKind::Session(Session { source: PromptSource::Command { args, .. }, .. }) = &body[0].kind
        else {
            panic!("{body:?}")
        };
        let mut scope = Scope::new("", &[("path".to_owned(), "".into())].into());
        scope.set_task(Some(&serde_json::json!({ "id": "7", "name": "Parse it" })));
        assert_eq!(render(path.as_ref().unwrap(), &scope), Ok(String::new()));
        assert_eq!(render(args.as_ref().unwrap(), &scope), Ok("7: Parse it\n".to_owned()));
        let mut scope = Scope::new("be brief", &Default::default());
        let task = serde_json::json!({ "id": "7", "name": "Parse it", "description": "All of {{ it }}." });
        scope.set_task(Some(&task));
        scope.set_feedback("test: 1 failed");
        let told = "7: Parse it\n\nAll of {{ it }}.\n\nWhat holds for every task: be brief\n\n\
                    The last try failed:\ntest: 1 failed\n";
        assert_eq!(render(args.as_ref().unwrap(), &scope), Ok(told.to_owned()));
        let task = serde_json::json!({ "id": "7", "name": "Parse it", "metadata": { "steps": ["numbers"] } });
        let mut scope = Scope::new("", &Default::default());
        scope.set_task(Some(&task));
        let told = render(args.as_ref().unwrap(), &scope).unwrap();
        assert_eq!(told, "7: Parse it\n\nMetadata: {\"steps\": [\"numbers\"]}\n");
    }
}
