//! Snapshots with the real git: every kind of file and checkout, and what must stay untouched.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use windlass_core::snapshot::{FolderSnapshot, LeftOutReason};

use super::super::{git, head};
use super::*;

/// A repository and a folder of Windlass's own beside it.
struct Ground {
    dir: tempfile::TempDir,
}

impl Ground {
    fn empty() -> Ground {
        let ground = Ground { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(ground.repo()).unwrap();
        ground.git(&["init", "--quiet", "--initial-branch=main"]);
        ground.git(&["config", "user.name", "t"]);
        ground.git(&["config", "user.email", "t@example.invalid"]);
        ground
    }

    fn new() -> Ground {
        let ground = Ground::empty();
        ground.write("a", "one\n");
        ground.write("sub/b", "b\n");
        ground.write(".gitignore", "ignored\n");
        ground.commit("first");
        ground
    }

    fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.repo().join(name)
    }

    fn git(&self, args: &[&str]) -> String {
        let said = git(&self.repo(), args).unwrap();
        String::from_utf8_lossy(&said).trim_end().to_owned()
    }

    fn commit(&self, title: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", title]);
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn folder<'a>(&'a self, path: &'a Path, own: &'a Path) -> SnapshotFolder<'a> {
        SnapshotFolder { path, own, state: self.dir.path() }
    }

    fn with<T>(&self, act: impl FnOnce(SnapshotFolder<'_>) -> T) -> T {
        let (path, own) = (self.repo(), self.dir.path().join("own"));
        act(SnapshotFolder { path: &path, own: &own, state: Path::new("/none") })
    }

    fn take(&self, name: &str) -> FolderSnapshot {
        let reference = format!("refs/windlass/r/loop/{name}");
        let request = SnapshotRequest { reference: Some(&reference), title: "a title", also: &[] };
        self.with(|folder| take_snapshot(folder, request)).unwrap().unwrap()
    }

    /// The files of a snapshot with their contents.
    fn files(&self, snapshot: &FolderSnapshot) -> BTreeMap<String, String> {
        let names = self.git(&["ls-tree", "-r", "-z", "--name-only", &snapshot.tree]);
        let names = names.split('\0').filter(|name| !name.is_empty());
        names
            .map(|name| {
                let object = format!("{}:{name}", snapshot.tree);
                let said = git(&self.repo(), &["cat-file", "-p", &object]).unwrap();
                (name.to_owned(), String::from_utf8_lossy(&said).into_owned())
            })
            .collect()
    }

    fn names(&self, snapshot: &FolderSnapshot) -> Vec<String> {
        self.files(snapshot).into_keys().collect()
    }

    /// Saves the current state, then restores another one.
    fn undo(&self, to: &FolderSnapshot) -> (FolderSnapshot, RestorePlan, Vec<LeftAlone>) {
        let request =
            SnapshotRequest { reference: Some("refs/windlass/r/undo/1"), title: "before", also: &[] };
        self.with(|folder| {
            let now = save_before(folder, request, to).unwrap().unwrap();
            let plan = plan_restore(folder, &now, to).unwrap();
            let left = restore(folder, &plan, &mut || {}).unwrap();
            (now, plan, left)
        })
    }

    /// What undo must not touch: the index, HEAD, and every ref that is not ours.
    fn untouched(&self) -> (String, Option<String>, String) {
        let refs =
            self.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags"]);
        let staged = self.git(&["ls-files", "--stage", "--debug"]);
        (staged, head(&self.repo()).unwrap(), refs)
    }

    fn objects(&self) -> usize {
        let said = self.git(&["count-objects", "-v"]);
        let number = |line: &str| line.split(' ').nth(1).unwrap().parse::<usize>().unwrap();
        said.lines().filter(|line| line.starts_with("count") || line.starts_with("in-pack")).map(number).sum()
    }
}

#[test]
fn a_snapshot_has_dirty_staged_and_untracked_files_and_no_ignored_ones() {
    let ground = Ground::new();
    ground.write("a", "two\n");
    ground.write("staged", "s\n");
    ground.git(&["add", "staged"]);
    ground.write("staged", "s again\n");
    ground.write("new/deep", "n\n");
    ground.write("ignored", "i\n");
    fs::remove_file(ground.path("sub/b")).unwrap();
    let before = ground.untouched();
    let snapshot = ground.take("1");
    assert_eq!(ground.untouched(), before);
    let expected =
        [(".gitignore", "ignored\n"), ("a", "two\n"), ("new/deep", "n\n"), ("staged", "s again\n")];
    let files = ground.files(&snapshot);
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(files, expected);
    assert_eq!(snapshot.head, head(&ground.repo()).unwrap());
    assert_eq!(ground.git(&["rev-parse", "refs/windlass/r/loop/1"]), snapshot.commit);
    let log = ground.git(&["log", "--format=%an <%ae> %s", "-1", &snapshot.commit]);
    assert_eq!(log, "windlass <windlass@invalid> a title");
}

#[test]
fn each_snapshot_has_what_changed_since_the_one_before() {
    let ground = Ground::new();
    let mut last = ground.take("0");
    let steps: [(&str, &dyn Fn()); 8] = [
        ("a was edited", &|| ground.write("a", "two\n")),
        ("edited to the same size, at once", &|| ground.write("a", "six\n")),
        ("a new file", &|| ground.write("new", "x")),
        ("removed", &|| fs::remove_file(ground.path("new")).unwrap()),
        ("committed, and another file", &|| {
            ground.commit("second");
            ground.write("other", "y");
        }),
        ("a tracked file removed", &|| fs::remove_file(ground.path("sub/b")).unwrap()),
        ("a folder in the place of a file", &|| {
            fs::remove_file(ground.path("a")).unwrap();
            ground.write("a/x", "x");
        }),
        ("a file in the place of a folder", &|| {
            fs::remove_dir_all(ground.path("a")).unwrap();
            ground.write("a", "back\n");
        }),
    ];
    for (number, (what, act)) in steps.iter().enumerate() {
        act();
        let next = ground.take(&(number + 1).to_string());
        assert_ne!(next.tree, last.tree, "{what}");
        assert_eq!(ground.git(&["rev-parse", &format!("{}^", next.commit)]), last.commit, "{what}");
        last = next;
    }
    let names = ground.names(&last);
    assert_eq!(names, [".gitignore", "a", "other"]);
    assert_eq!(ground.files(&last)["a"], "back\n");
}

#[test]
fn without_a_change_there_is_no_new_commit_and_no_new_object() {
    let ground = Ground::new();
    ground.write("a", "two\n");
    ground.write("new", "x\n");
    let first = ground.take("1");
    let objects = ground.objects();
    let second = ground.take("2");
    assert_eq!((&second, ground.objects()), (&first, objects));
    assert_eq!(ground.git(&["rev-parse", "refs/windlass/r/loop/2"]), first.commit);
    // A commit of the same content, and a file that is only touched, change nothing either.
    ground.commit("second");
    ground.write("a", "two\n");
    ground.write("sub/b", "b\n");
    assert_eq!(ground.take("3").commit, first.commit);
}

#[test]
fn a_deleted_snapshot_does_not_hinder_the_next() {
    let ground = Ground::new();
    ground.write("a", "two\n");
    ground.take("1");
    let forget = || {
        let refs = ground.git(&["for-each-ref", "--format=%(refname)", "refs/windlass"]);
        refs.lines().for_each(|name| drop(ground.git(&["update-ref", "-d", name])));
        ground.git(&["prune", "--expire=now"]);
    };
    forget();
    assert_eq!(ground.files(&ground.take("2"))["a"], "two\n");
    forget();
    ground.write("a", "three\n");
    assert_eq!(ground.files(&ground.take("3"))["a"], "three\n");
    let left: Vec<_> = fs::read_dir(ground.path(".git")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.as_bytes().starts_with(b"fast_import")), "{left:?}");
}

#[test]
fn modes_links_and_odd_names_come_back() {
    let ground = Ground::new();
    let odd = std::ffi::OsString::from_vec(b"bytes \xff\n\"quoted\"\\ \t ".to_vec());
    let odd = ground.repo().join(odd);
    fs::write(&odd, b"\0\r\n\xff").unwrap();
    ground.write("-dash", "d");
    ground.write("git~1", "n");
    ground.write("run", "#!/bin/sh\n");
    fs::set_permissions(ground.path("run"), fs::Permissions::from_mode(0o755)).unwrap();
    ground.write("secret", "s");
    fs::set_permissions(ground.path("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("a", ground.path("link")).unwrap();
    symlink("/no/where", ground.path("dangling")).unwrap();
    let start = ground.take("0");
    fs::write(&odd, "other").unwrap();
    fs::remove_file(ground.path("git~1")).unwrap();
    fs::remove_file(ground.path("-dash")).unwrap();
    fs::set_permissions(ground.path("run"), fs::Permissions::from_mode(0o644)).unwrap();
    ground.write("secret", "changed");
    fs::remove_file(ground.path("link")).unwrap();
    ground.write("link", "a file now");
    fs::remove_file(ground.path("dangling")).unwrap();
    symlink("elsewhere", ground.path("dangling")).unwrap();
    ground.write("made/by/the/run", "x");
    let (_, _, left) = ground.undo(&start);
    assert_eq!(left, []);
    assert_eq!(fs::read(&odd).unwrap(), b"\0\r\n\xff");
    assert_eq!(fs::read_to_string(ground.path("-dash")).unwrap(), "d");
    assert_eq!(fs::read_to_string(ground.path("git~1")).unwrap(), "n");
    let mode = |name: &str| fs::metadata(ground.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("run"), mode("secret")), (0o755, 0o600));
    assert_eq!(fs::read_link(ground.path("link")).unwrap(), Path::new("a"));
    assert_eq!(fs::read_link(ground.path("dangling")).unwrap(), Path::new("/no/where"));
    assert!(!ground.path("made").exists());
    assert_eq!(ground.take("1").tree, start.tree);
}

#[test]
fn an_undo_touches_neither_index_nor_head_nor_ignored_files_and_can_be_undone() {
    let ground = Ground::new();
    ground.write("a", "mine, not committed\n");
    ground.write("notes", "mine, not tracked\n");
    ground.write("ignored", "i\n");
    ground.write("staged", "s\n");
    ground.git(&["add", "staged"]);
    let start = ground.take("0");
    ground.write("a", "the agent's\n");
    ground.commit("the agent's commit");
    ground.write("made", "m\n");
    fs::remove_file(ground.path("notes")).unwrap();
    ground.write("ignored", "changed\n");
    let end = ground.take("1");
    ground.write("made", "and a person's\n");
    let before = ground.untouched();
    let (now, plan, left) = ground.undo(&start);
    assert_eq!((ground.untouched(), left), (before, vec![]));
    assert_eq!(
        (plan.written(), plan.removed()),
        (vec!["a".to_owned(), "notes".to_owned()], vec!["made".to_owned()])
    );
    assert_eq!(fs::read_to_string(ground.path("a")).unwrap(), "mine, not committed\n");
    assert_eq!(fs::read_to_string(ground.path("notes")).unwrap(), "mine, not tracked\n");
    assert_eq!(fs::read_to_string(ground.path("ignored")).unwrap(), "changed\n");
    assert!(!ground.path("made").exists() && ground.path("staged").exists());
    let since = changed_files(&ground.repo(), &end.tree, &now.tree).unwrap();
    assert_eq!(since, [ChangedFile { path: "made".to_owned(), lines: Some((1, 1)) }]);
    assert_eq!(commits_since(&ground.repo(), start.head.as_deref()).unwrap(), (1, Some("main".to_owned())));
    ground.undo(&now);
    assert_eq!(fs::read_to_string(ground.path("made")).unwrap(), "and a person's\n");
    assert_eq!(fs::read_to_string(ground.path("a")).unwrap(), "the agent's\n");
    assert!(!ground.path("notes").exists());
}

#[test]
fn what_is_ignored_by_now_is_saved_before_it_is_overwritten() {
    let ground = Ground::new();
    ground.write("notes", "mine\n");
    let start = ground.take("0");
    // Another folder of our own: nothing remembers that the file was once in a snapshot.
    fs::remove_dir_all(ground.dir.path().join("own")).unwrap();
    ground.write(".gitignore", "ignored\nnotes\n");
    ground.write("notes", "changed since\n");
    let (now, _, _) = ground.undo(&start);
    assert_eq!(ground.files(&now)["notes"], "changed since\n");
    assert_eq!(fs::read_to_string(ground.path("notes")).unwrap(), "mine\n");
}

#[test]
fn a_large_file_is_left_out_and_left_alone() {
    let ground = Ground::new();
    let start = ground.take("0");
    let large = fs::File::create(ground.path("large")).unwrap();
    large.set_len(MAX_FILE + 1).unwrap();
    let grown = fs::File::create(ground.path("a")).unwrap();
    grown.set_len(MAX_FILE + 1).unwrap();
    ground.write("small", "s");
    let snapshot = ground.take("1");
    let left: Vec<_> = snapshot.left_out.iter().map(|file| (file.path.as_str(), file.why)).collect();
    assert_eq!(left, [("a", LeftOutReason::TooLarge), ("large", LeftOutReason::TooLarge)]);
    assert_eq!(ground.files(&snapshot)["a"], "one\n", "as it was last saved");
    let (_, plan, _) = ground.undo(&start);
    assert_eq!(plan.removed(), ["small"]);
    assert_eq!(fs::metadata(ground.path("a")).unwrap().len(), MAX_FILE + 1);
    assert!(ground.path("large").exists());
}

#[test]
fn a_file_that_cannot_be_read_and_a_pipe_are_left_out() {
    if rustix::process::geteuid().is_root() {
        // Root reads everything.
        let ground = Ground::new();
        let pipe = ground.path("a");
        fs::remove_file(&pipe).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let snapshot = ground.take("1");
        assert_eq!(snapshot.left_out[0].why, LeftOutReason::Special);
        return;
    }
    let ground = Ground::new();
    ground.write("closed", "x");
    fs::set_permissions(ground.path("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(ground.take("1").left_out[0].why, LeftOutReason::Unreadable);
}

#[test]
fn submodules_stay_as_recorded_and_nested_repositories_are_left_out() {
    let ground = Ground::new();
    let other = Ground::new();
    let url = other.repo().to_string_lossy().into_owned();
    ground.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "module"]);
    ground.commit("with a module");
    let recorded = ground.git(&["rev-parse", "HEAD:module"]);
    let start = ground.take("0");
    ground.write("module/a", "changed in the module\n");
    git(&ground.path("module"), &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "x"])
        .unwrap();
    ground.write("nested/x", "x");
    git(&ground.path("nested"), &["init", "--quiet"]).unwrap();
    let snapshot = ground.take("1");
    assert_eq!(ground.git(&["rev-parse", &format!("{}:module", snapshot.commit)]), recorded);
    let left: Vec<_> = snapshot.left_out.iter().map(|file| (file.path.as_str(), file.why)).collect();
    assert_eq!(left, [("nested", LeftOutReason::Repository)]);
    fs::remove_dir_all(ground.path("module")).unwrap();
    ground.undo(&start);
    assert!(ground.path("nested/x").exists());
    assert!(!ground.path("module/a").exists(), "a submodule is nobody's to restore");
}

#[test]
fn a_repository_without_commits_and_one_without_an_index_have_snapshots() {
    let ground = Ground::empty();
    let nothing = ground.take("0");
    assert_eq!((ground.names(&nothing), &nothing.head), (vec![], &None));
    ground.write("first", "1\n");
    let snapshot = ground.take("1");
    assert_eq!(ground.names(&snapshot), ["first"]);
    ground.undo(&nothing);
    assert!(!ground.path("first").exists() && ground.repo().is_dir());
    assert_eq!(ground.take("2").tree, nothing.tree);
}

#[test]
fn a_detached_head_and_a_merge_in_progress_change_nothing() {
    let ground = Ground::new();
    ground.git(&["checkout", "--quiet", "-b", "other"]);
    ground.write("a", "theirs\n");
    ground.commit("theirs");
    ground.git(&["checkout", "--quiet", "main"]);
    ground.write("a", "ours\n");
    ground.commit("ours");
    ground.git(&["checkout", "--quiet", "--detach"]);
    git(&ground.repo(), &["merge", "--quiet", "other"]).unwrap_err();
    let (text, before) = (fs::read_to_string(ground.path("a")).unwrap(), ground.untouched());
    assert!(text.contains("<<<<<<<"), "{text}");
    let start = ground.take("0");
    assert_eq!(ground.files(&start)["a"], text);
    ground.write("a", "merged\n");
    ground.take("1");
    ground.undo(&start);
    assert_eq!(fs::read_to_string(ground.path("a")).unwrap(), text);
    assert_eq!(ground.untouched(), before);
    assert!(ground.path(".git/MERGE_HEAD").exists());
}

#[test]
fn a_folder_of_a_repository_is_kept_without_its_neighbours() {
    let ground = Ground::new();
    ground.write("sub/new", "n\n");
    ground.write("outside", "o\n");
    let own = ground.dir.path().join("own-of-sub");
    let sub = ground.path("sub");
    let take = |also| {
        let request = SnapshotRequest { reference: None, title: "t", also };
        take_snapshot(ground.folder(&sub, &own), request).unwrap().unwrap()
    };
    let start = take(&[]);
    assert_eq!(ground.names(&start), ["b", "new"]);
    ground.write("sub/b", "changed\n");
    ground.write("a", "changed\n");
    fs::remove_file(ground.path("sub/new")).unwrap();
    let now = take(&[]);
    let plan = plan_restore(ground.folder(&sub, &own), &now, &start).unwrap();
    assert_eq!(plan.written(), ["b", "new"]);
    restore(ground.folder(&sub, &own), &plan, &mut || {}).unwrap();
    assert_eq!(fs::read_to_string(ground.path("sub/b")).unwrap(), "b\n");
    assert_eq!(fs::read_to_string(ground.path("a")).unwrap(), "changed\n");
    fs::remove_dir_all(&sub).unwrap();
    fs::create_dir(&sub).unwrap();
    assert_eq!(ground.names(&take(&[])), Vec::<String>::new());
}

#[test]
fn line_endings_and_filters_change_nothing_and_run_nothing() {
    let ground = Ground::new();
    let ran = ground.dir.path().join("ran");
    ground.write(".gitattributes", "*.txt text eol=crlf\n*.x filter=mine\n*.id ident\n");
    ground.write("crlf.txt", "one\r\ntwo\r\n");
    ground.write("mixed.txt", "one\r\ntwo\n");
    ground.write("f.x", "clear");
    ground.write("v.id", "$Id$\n");
    ground.git(&["config", "filter.mine.clean", "tr a-z A-Z | cat - /dev/stdin"]);
    ground.git(&["config", "filter.mine.smudge", "tr A-Z a-z"]);
    ground.git(&["config", "core.safecrlf", "false"]);
    ground.commit("converted");
    ground.git(&["config", "filter.mine.clean", &format!("touch {}; cat", ran.display())]);
    ground.git(&["config", "filter.mine.required", "true"]);
    ground.git(&["config", "core.hooksPath", ".hooks"]);
    for hook in ["post-index-change", "reference-transaction", "pre-auto-gc"] {
        ground.write(&format!(".hooks/{hook}"), &format!("#!/bin/sh\ntouch {}\n", ran.display()));
        fs::set_permissions(ground.path(&format!(".hooks/{hook}")), fs::Permissions::from_mode(0o755))
            .unwrap();
    }
    let start = ground.take("0");
    assert_eq!(ground.files(&start)["crlf.txt"], "one\r\ntwo\r\n");
    assert_eq!(ground.files(&start)["f.x"], "clear");
    for name in ["crlf.txt", "mixed.txt", "f.x", "v.id"] {
        ground.write(name, "changed\n");
    }
    ground.take("1");
    ground.undo(&start);
    let text = |name: &str| fs::read_to_string(ground.path(name)).unwrap();
    assert_eq!(text("crlf.txt"), "one\r\ntwo\r\n");
    assert_eq!(text("mixed.txt"), "one\r\ntwo\n");
    assert_eq!(text("f.x"), "clear");
    assert_eq!(text("v.id"), "$Id$\n");
    assert!(!ran.exists());
}

#[test]
fn files_of_git_lfs_are_neither_copied_nor_replaced_by_their_pointers() {
    let ground = Ground::new();
    ground.write(".gitattributes", "*.bin filter=lfs\n");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
    ground.git(&["config", "filter.lfs.clean", &format!("printf '{}'", pointer.replace('\n', "\\n"))]);
    ground.write("x.bin", "content 1");
    // Not in the same moment as the index, in which git trusts no time.
    let file = fs::File::options().write(true).open(ground.path("x.bin")).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    ground.commit("large files");
    let start = ground.take("0");
    assert_eq!(ground.files(&start)["x.bin"], pointer);
    ground.write("x.bin", "content 2");
    ground.write("a", "two\n");
    let (_, _, left) = ground.undo(&start);
    assert_eq!(left.len(), 1);
    assert!(left[0].path == "x.bin" && left[0].why.contains("LFS"), "{left:?}");
    assert_eq!(fs::read_to_string(ground.path("x.bin")).unwrap(), "content 2");
    assert_eq!(fs::read_to_string(ground.path("a")).unwrap(), "one\n");
}

#[test]
fn nothing_is_written_through_a_link() {
    let ground = Ground::new();
    let start = ground.take("0");
    let outside = ground.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("b"), "mine").unwrap();
    fs::remove_dir_all(ground.path("sub")).unwrap();
    symlink(&outside, ground.path("sub")).unwrap();
    let snapshot = ground.take("1");
    assert_eq!(ground.names(&snapshot), [".gitignore", "a", "sub"]);
    // An ignored link stays, and nothing goes through it.
    ground.write(".git/info/exclude", "sub\n");
    fs::remove_dir_all(ground.dir.path().join("own")).unwrap();
    let (now, _, left) = ground.undo(&start);
    assert_eq!(fs::read_to_string(outside.join("b")).unwrap(), "mine");
    assert_eq!(left.len(), 1, "{left:?} {:?}", ground.names(&now));
    assert!(left[0].why.contains("link"), "{left:?}");
}

#[test]
fn an_interrupted_restore_is_finished_by_the_next() {
    let ground = Ground::new();
    for number in 0..20 {
        ground.write(&format!("f{number}"), "start\n");
    }
    let start = ground.take("0");
    for number in 0..20 {
        ground.write(&format!("f{number}"), "end\n");
        ground.write(&format!("made/{number}"), "x\n");
    }
    let request = SnapshotRequest { reference: None, title: "t", also: &[] };
    let mut done = 0;
    let cut = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        ground.with(|folder| {
            let now = save_before(folder, request, &start).unwrap().unwrap();
            let plan = plan_restore(folder, &now, &start).unwrap();
            restore(folder, &plan, &mut || {
                done += 1;
                assert!(done < 30, "cut off");
            })
        })
    }));
    assert!(cut.is_err());
    ground.undo(&start);
    assert_eq!(ground.take("2").tree, start.tree);
    assert!(!ground.path("made").exists());
}

#[test]
fn outside_of_a_repository_and_in_a_git_folder_there_is_no_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let ground = Ground::new();
    let (own, git_dir) = (dir.path().join("own"), ground.path(".git"));
    for path in [dir.path(), &git_dir] {
        let request = SnapshotRequest { reference: None, title: "t", also: &[] };
        assert_eq!(take_snapshot(ground.folder(path, &own), request).unwrap(), None);
    }
}

#[test]
fn the_state_folder_is_no_part_of_a_snapshot_that_contains_it() {
    let ground = Ground::new();
    ground.write("st[a]te/own/x", "x");
    let (path, state) = (ground.repo(), ground.path("st[a]te"));
    let folder = SnapshotFolder { path: &path, own: &state.join("own"), state: &state };
    let request = SnapshotRequest { reference: None, title: "t", also: &[] };
    let snapshot = take_snapshot(folder, request).unwrap().unwrap();
    assert_eq!(ground.names(&snapshot), [".gitignore", "a", "sub/b"]);
}

#[test]
fn worktrees_sparse_split_and_newer_repositories_have_snapshots_too() {
    let ground = Ground::new();
    let tree = ground.dir.path().join("tree");
    ground.git(&["worktree", "add", "--quiet", tree.to_str().unwrap(), "-b", "work"]);
    fs::write(tree.join("a"), "in the worktree\n").unwrap();
    let own = ground.dir.path().join("own-of-tree");
    let request = SnapshotRequest { reference: Some("refs/windlass/r/t/1"), title: "t", also: &[] };
    let snapshot = take_snapshot(ground.folder(&tree, &own), request).unwrap().unwrap();
    assert_eq!(ground.files(&snapshot)["a"], "in the worktree\n");

    ground.git(&["update-index", "--split-index"]);
    ground.write("a", "split\n");
    assert_eq!(ground.files(&ground.take("1"))["a"], "split\n");

    let sparse = Ground::new();
    sparse.git(&["sparse-checkout", "set", "--sparse-index", "none"]);
    assert!(!sparse.path("sub/b").exists());
    let start = sparse.take("0");
    assert_eq!(sparse.names(&start), [".gitignore", "a", "sub/b"]);
    sparse.write("a", "two\n");
    sparse.undo(&start);
    assert!(!sparse.path("sub/b").exists() && fs::read_to_string(sparse.path("a")).unwrap() == "one\n");

    let newer = Ground { dir: tempfile::tempdir().unwrap() };
    fs::create_dir(newer.repo()).unwrap();
    newer.git(&["init", "--quiet", "--object-format=sha256"]);
    newer.write("a", "one\n");
    let start = newer.take("0");
    assert_eq!((start.tree.len(), newer.names(&start)), (64, vec!["a".to_owned()]));
    newer.write("a", "two\n");
    newer.undo(&start);
    assert_eq!(fs::read_to_string(newer.path("a")).unwrap(), "one\n");

    let tables = Ground { dir: tempfile::tempdir().unwrap() };
    fs::create_dir(tables.repo()).unwrap();
    // A git before 2.45 does not know them.
    if git(&tables.repo(), &["init", "--quiet", "--ref-format=reftable"]).is_ok() {
        tables.write("a", "one\n");
        let start = tables.take("0");
        assert_eq!(tables.git(&["rev-parse", "refs/windlass/r/loop/0"]), start.commit);
    }
}

#[test]
fn two_at_once_wait_for_each_other() {
    let ground = Ground::new();
    ground.write("new", "x\n");
    let taken: Vec<FolderSnapshot> = std::thread::scope(|scope| {
        let both: Vec<_> =
            ["1", "2", "3"].map(|name| scope.spawn(|| ground.take(name))).into_iter().collect();
        both.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(taken.iter().all(|one| one == &taken[0]), "{taken:?}");
}

#[test]
fn a_comparison_shows_names_stats_and_patches() {
    let ground = Ground::new();
    let start = ground.take("0");
    ground.write("a", "one\ntwo\n");
    fs::write(ground.path("binary"), b"\0\0").unwrap();
    let end = ground.take("1");
    let diff = |form| {
        let said = diff_trees(&ground.repo(), &start.tree, &end.tree, form).unwrap();
        String::from_utf8_lossy(&said).into_owned()
    };
    let patch = diff(DiffForm::Patch);
    assert!(patch.contains("+two\n") && patch.contains("Binary files"), "{patch}");
    assert!(diff(DiffForm::Exact).contains("GIT binary patch"));
    let stat = diff(DiffForm::Stat { columns: 80 });
    assert!(stat.contains(" a      |   1 +\n") && stat.contains("2 files changed, 1 insertion(+)"), "{stat}");
    let files = changed_files(&ground.repo(), &start.tree, &end.tree).unwrap();
    let expected = [("a", Some((1, 0))), ("binary", None)];
    let expected = expected.map(|(path, lines)| ChangedFile { path: path.to_owned(), lines });
    assert_eq!(files, expected);
}

#[test]
fn the_drafts_of_a_restore_are_where_nobody_commits_them() {
    let ground = Ground::new();
    let start = ground.take("0");
    ground.write("a", "two\n");
    ground.undo(&start);
    let left: Vec<_> = fs::read_dir(ground.repo())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.as_bytes().starts_with(b".windlass"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(ground.git(&["status", "--porcelain"]), "");
}
