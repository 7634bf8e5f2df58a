//! Tests of workflows: finds the files, plans the workflow of each test, and compares a rehearsal with what the
//! test expects. Starts no agent and no command.

use std::path::{Path, PathBuf};

use windlass_core::engine::rehearsal::{
    Rehearsal, RehearsalOptions, RehearsedLoops, WaysWalked, check_stubs,
};
use windlass_core::spec::Spec;
use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::rehearsal::{WorkflowTest, read_tests};

use crate::config::{project_dir, text_of};
use crate::home::Home;
use crate::plan::{PlanFlags, RunRequest, WantedWorkflow, plan};
use crate::rehearse::rehearse;
use crate::user_error::{ProblemPart, UserError, UserErrorKind};

/// The ends of the names of test files.
const ENDS: [&str; 2] = [".test.yaml", ".test.yml"];
/// The deepest folder below the given one that is searched.
const DEEPEST: usize = 16;

/// The tests that a person wants.
#[derive(Debug, Clone)]
pub struct WantedTests<'a> {
    /// The folder of the project.
    pub cwd: &'a Path,
    pub plugins: &'a [PathBuf],
    /// Files and folders. Empty means the workflows of the project.
    pub places: &'a [PathBuf],
    /// Only tests with this in their names.
    pub filter: Option<&'a str>,
}

/// A test with its file.
#[derive(Debug, Clone)]
pub struct FoundTest {
    /// The file, as it is shown.
    pub file: String,
    folder: PathBuf,
    test: WorkflowTest,
}

impl FoundTest {
    pub fn name(&self) -> &str {
        &self.test.name
    }

    pub fn workflow(&self) -> &str {
        &self.test.workflow
    }
}

/// A test that is ready to be walked.
struct PlannedTest<'t> {
    found: &'t FoundTest,
    spec: Spec,
}

/// The result of a test.
#[derive(Debug, Clone)]
pub struct TestResult {
    pub file: String,
    pub name: String,
    pub workflow: String,
    /// The differences from the expectations. Empty if the test passed.
    pub unmet: Vec<String>,
    pub rehearsal: Rehearsal,
}

/// Finds the tests. Refuses a file with mistakes.
pub fn find_tests(wanted: &WantedTests<'_>) -> Result<Vec<FoundTest>, UserError> {
    let mut tests = Vec::new();
    let mut problems: Vec<Diagnostic> = Vec::new();
    for file in files(wanted)? {
        let shown = file.strip_prefix(wanted.cwd).unwrap_or(&file).display().to_string();
        let text = text_of(&file)?.unwrap_or_default();
        let (read, found) = read_tests(&text, &shown);
        problems.extend(found);
        let folder = file.parent().unwrap_or(wanted.cwd);
        tests.extend(read.into_iter().map(|test| FoundTest {
            file: shown.clone(),
            folder: folder.to_owned(),
            test,
        }));
    }
    if let Some(problem) = UserError::of(&problems) {
        return Err(problem);
    }
    let Some(filter) = wanted.filter else { return Ok(tests) };
    let names: Vec<String> = tests.iter().map(|test| test.name().to_owned()).collect();
    tests.retain(|test| test.name().contains(filter));
    if tests.is_empty() {
        let text = format!("no test has `{filter}` in its name");
        let hint = format!("the tests are: {}", names.join(", "));
        return Err(UserError::new(UserErrorKind::Usage, text).hint(hint));
    }
    Ok(tests)
}

/// Walks every test. Refuses all of them if one has a mistake.
pub fn run_tests(
    home: &Home,
    wanted: &WantedTests<'_>,
    tests: &[FoundTest],
) -> Result<Vec<TestResult>, UserError> {
    let mut planned = Vec::new();
    let mut mistakes: Vec<ProblemPart> = Vec::new();
    for found in tests {
        match ready(home, wanted, found) {
            Ok(test) => planned.push(test),
            Err(parts) => mistakes.extend(parts),
        }
    }
    if !mistakes.is_empty() {
        return Err(UserError { class: UserErrorKind::Configuration, parts: mistakes, hint: None });
    }
    Ok(planned.iter().map(walk).collect())
}

/// Plans the workflow of a test, and checks the test against it.
fn ready<'t>(
    home: &Home,
    wanted: &WantedTests<'_>,
    found: &'t FoundTest,
) -> Result<PlannedTest<'t>, Vec<ProblemPart>> {
    let test = &found.test;
    let planned = plan(home, &request(wanted, found)).map_err(|problem| {
        let text = format!("the workflow of test `{}` cannot be planned", test.name);
        // A hint for the command line would not help in a test.
        let is_of_command_line = |hint: &String| hint.contains("windlass run") || hint.contains("--input");
        let hint = match problem.hint.filter(|hint| !is_of_command_line(hint)) {
            Some(hint) => hint,
            None => {
                "give the test what the workflow needs: `input: TEXT`, `inputs: { NAME: VALUE }`".to_owned()
            }
        };
        let hint = (problem.class == UserErrorKind::Usage).then_some(hint);
        let mut parts = vec![ProblemPart::from(test.error(&text, hint))];
        parts.extend(problem.parts);
        parts
    })?;
    let spec = planned.spec;
    let stubs = check_stubs(&spec, &test.nodes.stubs);
    let mut mistakes: Vec<Diagnostic> = stubs.iter().map(|problem| test.nodes.diagnose(problem)).collect();
    mistakes.extend(test.expect.check(&spec).iter().map(|problem| test.diagnose(problem)));
    match mistakes.is_empty() {
        true => Ok(PlannedTest { found, spec }),
        false => Err(mistakes.into_iter().map(ProblemPart::from).collect()),
    }
}

fn walk(planned: &PlannedTest<'_>) -> TestResult {
    let FoundTest { file, test, .. } = planned.found;
    let options = RehearsalOptions {
        stubs: test.nodes.stubs.clone(),
        loops: RehearsedLoops::AsWritten,
        ways: WaysWalked::Taken,
        ..RehearsalOptions::default()
    };
    let rehearsal = rehearse(&planned.spec, &options);
    TestResult {
        file: file.clone(),
        name: test.name.clone(),
        workflow: planned.spec.workflow.clone(),
        unmet: test.expect.unmet(&rehearsal),
        rehearsal,
    }
}

/// Returns the request that plans the workflow of a test, as a dry run would.
fn request(wanted: &WantedTests<'_>, found: &FoundTest) -> RunRequest {
    let test = &found.test;
    RunRequest {
        cwd: wanted.cwd.to_owned(),
        input: test.input.clone(),
        want: WantedWorkflow::Workflow(Some(named(&found.folder, &test.workflow))),
        inputs: test.inputs.clone(),
        plugins: wanted.plugins.iter().map(|dir| wanted.cwd.join(dir)).collect(),
        flags: PlanFlags::default(),
        agent_args: Vec::new(),
        interactive: false,
        detached: false,
        // Nothing starts, so rights that nobody trusts do no harm.
        has_terminal: true,
        dry_run: true,
    }
}

/// Returns the workflow by name, or by its full path if the test gives a path from its own folder.
fn named(folder: &Path, written: &str) -> String {
    let beside = folder.join(written);
    match beside.is_file() {
        true => beside.display().to_string(),
        false => written.to_owned(),
    }
}

/// Returns the test files of the wanted places, in order and each once.
fn files(wanted: &WantedTests<'_>) -> Result<Vec<PathBuf>, UserError> {
    let own = project_dir(wanted.cwd, "workflows").map(|dir| dir.join("workflows"));
    let places: Vec<PathBuf> = match wanted.places {
        [] => own.iter().cloned().collect(),
        places => places.iter().map(|place| wanted.cwd.join(place)).collect(),
    };
    let mut files: Vec<PathBuf> = Vec::new();
    for place in &places {
        let mut found = Vec::new();
        if place.is_dir() {
            search(place, DEEPEST, &mut found);
            found.sort();
        } else if place.is_file() {
            found.push(place.clone());
        } else {
            let text = format!("there is no file or folder `{}`", place.display());
            return Err(UserError::new(UserErrorKind::Usage, text));
        }
        found.retain(|file| !files.contains(file));
        files.append(&mut found);
    }
    if files.is_empty() {
        let shown = places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", ");
        let text = match places.is_empty() {
            true => "the project has no workflows, and so no tests".to_owned(),
            false => format!("there are no tests in {shown}"),
        };
        return Err(UserError::new(UserErrorKind::Usage, text)
            .hint("a test file is called NAME.test.yaml; `windlass workflow test --help` shows one"));
    }
    Ok(files)
}

fn search(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let is_test = path.to_str().is_some_and(|path| ENDS.iter().any(|end| path.ends_with(end)));
        // A link to a folder may lead back here.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth > 0 {
            search(&path, depth - 1, found);
        } else if is_test && path.is_file() {
            found.push(path);
        }
    }
}
