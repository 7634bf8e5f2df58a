//! Everything that people, and hostile repositories, put into such folders.

use super::*;
use crate::files::FileError;
use crate::files::read::read;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

const FILES: PlaceShape = PlaceShape::Files(&[".agent.md", ".md"]);
const TREE: PlaceShape = PlaceShape::Tree(&[".md"], ":");

/// A real folder with these files in it.
fn folder(files: &[&str]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for file in files {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }
    (dir, root)
}

fn names(walked: &FoundFiles) -> Vec<&str> {
    walked.files.iter().map(|found| found.name.as_str()).collect()
}

fn troubles(walked: &FoundFiles, root: &Path) -> Vec<(String, WalkError)> {
    let told = |finding: &UnreadablePath| {
        (finding.path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), finding.what)
    };
    walked.findings.iter().map(told).collect()
}

#[test]
fn files_of_one_folder_are_named_without_their_ending() {
    let (_dir, root) =
        folder(&["b.md", "a.agent.md", "c.txt", "sub/d.md", ".hidden.md", ".b.md.swp", "b.md~", ".md"]);
    let walked = walk(&root, FILES, None);
    assert_eq!(names(&walked), ["a", "b"]);
    assert_eq!(walked.files[1].path, root.join("b.md").to_str().unwrap());
    assert_eq!(walked.files[1].stamp.size, 4);
    assert_eq!(walked.findings, []);
}

#[test]
fn folders_below_are_part_of_a_name() {
    let (_dir, root) = folder(&["a.md", "front/comp.md", "front/deep/x.md", "front/not.txt"]);
    assert_eq!(names(&walk(&root, TREE, None)), ["a", "front:comp", "front:deep:x"]);
    let slashes = PlaceShape::Tree(&[".md"], "/");
    assert_eq!(names(&walk(&root, slashes, None)), ["a", "front/comp", "front/deep/x"]);
}

#[test]
fn a_skill_is_a_folder() {
    let (_dir, root) = folder(&["b/SKILL.md", "a/SKILL.md", "c/README.md", "SKILL.md", "d/e/SKILL.md"]);
    let (walked, watched) = walk_to_watch(&root, PlaceShape::Skills, None);
    assert_eq!(names(&walked), ["a", "b"]);
    assert_eq!(walked.files[0].path, root.join("a/SKILL.md").to_str().unwrap());
    assert_eq!(
        watched,
        ["", "a", "b", "c", "d"].map(|name| match name {
            "" => root.clone(),
            name => root.join(name),
        })
    );
}

#[test]
fn a_document_is_itself() {
    let (_dir, root) = folder(&["opencode.json"]);
    assert_eq!(names(&walk(&root.join("opencode.json"), PlaceShape::Document, Some(&root))), ["opencode"]);
    assert_eq!(walk(&root.join("opencode.jsonc"), PlaceShape::Document, Some(&root)), FoundFiles::default());
}

#[test]
fn what_is_missing_is_empty() {
    let (_dir, root) = folder(&["file"]);
    for shape in [FILES, TREE, PlaceShape::Skills, PlaceShape::Document] {
        assert_eq!(walk(&root.join("no/such"), shape, None), FoundFiles::default());
    }
    assert_eq!(walk(&root.join("file"), FILES, None), FoundFiles::default());
}

#[test]
fn links_to_files_and_folders_are_followed() {
    let (_dir, root) = folder(&["real/x/SKILL.md", "real/a.md", "place/own.md"]);
    let place = root.join("place");
    symlink("../real/a.md", place.join("linked.md")).unwrap();
    symlink("../real", place.join("far")).unwrap();
    assert_eq!(names(&walk(&place, TREE, Some(&root))), ["far:a", "far:x:SKILL", "linked", "own"]);
    symlink("../real/x", place.join("skill")).unwrap();
    assert_eq!(names(&walk(&place, PlaceShape::Skills, Some(&root))), ["skill"]);
}

#[test]
fn a_loop_of_links_is_left_and_told() {
    let (_dir, root) = folder(&["a.md", "sub/b.md"]);
    symlink("..", root.join("sub/up")).unwrap();
    symlink("self", root.join("self")).unwrap();
    symlink("x.md", root.join("x.md")).unwrap();
    let walked = walk(&root, TREE, None);
    assert_eq!(names(&walked), ["a", "sub:b"]);
    let expected = ["self", "sub/up", "x.md"].map(|path| (path.to_owned(), WalkError::Loop));
    assert_eq!(troubles(&walked, &root), expected);
    let skills = walk(&root, PlaceShape::Skills, Some(&root));
    assert_eq!(
        troubles(&skills, &root),
        [("self".to_owned(), WalkError::Loop), ("x.md".to_owned(), WalkError::Loop)]
    );
}

#[test]
fn a_web_of_links_ends() {
    let (_dir, root) = folder(&[]);
    for from in 0..9 {
        fs::create_dir(root.join(from.to_string())).unwrap();
        fs::write(root.join(format!("{from}/f.md")), "").unwrap();
    }
    for from in 0..9 {
        for to in (0..9).filter(|to| *to != from) {
            symlink(format!("../{to}"), root.join(format!("{from}/to{to}"))).unwrap();
        }
    }
    let walked = walk(&root, TREE, None);
    assert!(walked.findings.iter().any(|finding| finding.what == WalkError::TooMany(FOLDERS)));
    assert!(walked.files.len() <= FOLDERS);
}

#[test]
fn no_deeper_than_the_bound() {
    let (_dir, root) = folder(&["1/2/3/4/5/6/7/in.md", "1/2/3/4/5/6/7/8/out.md"]);
    let walked = walk(&root, TREE, None);
    assert_eq!(names(&walked), ["1:2:3:4:5:6:7:in"]);
    assert_eq!(troubles(&walked, &root), [("1/2/3/4/5/6/7/8".to_owned(), WalkError::TooDeep(DEPTH))]);
}

#[test]
fn no_link_leads_out_of_a_project() {
    let (_out, out) = folder(&["secret", "skills/s/SKILL.md", "secret.json"]);
    let (_dir, root) = folder(&["skills/good/SKILL.md", "skills/evil/note", "agents/good.md"]);
    symlink(out.join("secret"), root.join("skills/evil/SKILL.md")).unwrap();
    symlink(out.join("skills/s"), root.join("skills/far")).unwrap();
    symlink(out.join("secret"), root.join("agents/evil.md")).unwrap();
    symlink(&out, root.join("agents/far")).unwrap();
    symlink(&out, root.join("place")).unwrap();

    let skills = walk(&root.join("skills"), PlaceShape::Skills, Some(&root));
    assert_eq!(names(&skills), ["good"]);
    let out_of = |paths: &[&str]| -> Vec<(String, WalkError)> {
        paths.iter().map(|path| ((*path).to_owned(), WalkError::LeadsOut)).collect()
    };
    assert_eq!(troubles(&skills, &root), out_of(&["skills/evil/SKILL.md", "skills/far"]));
    let agents = walk(&root.join("agents"), TREE, Some(&root));
    assert_eq!(names(&agents), ["good"]);
    assert_eq!(troubles(&agents, &root), out_of(&["agents/evil.md", "agents/far"]));
    let place = walk(&root.join("place/skills"), PlaceShape::Skills, Some(&root));
    assert_eq!((place.files.len(), troubles(&place, &root)), (0, out_of(&["place/skills"])));
    let document = walk(&root.join("place/secret.json"), PlaceShape::Document, Some(&root));
    assert_eq!((document.files.len(), troubles(&document, &root)), (0, out_of(&["place/secret.json"])));

    // Where everything is the user's own, links lead where they want.
    assert_eq!(names(&walk(&root.join("skills"), PlaceShape::Skills, None)), ["evil", "far", "good"]);
}

#[test]
fn a_file_swapped_for_a_link_after_it_was_found_is_not_read() {
    let (_out, out) = folder(&["secret"]);
    let (_dir, root) = folder(&["a.md", "b.md"]);
    let walked = walk(&root, FILES, Some(&root));
    fs::remove_file(root.join("a.md")).unwrap();
    symlink(out.join("secret"), root.join("a.md")).unwrap();
    let refused = read(&walked.files[0], Some(&root), 1 << 20);
    assert!(matches!(refused, Err(FileError::Outside { .. })), "{refused:?}");
    // An editor that saves by renaming makes a new file: that one is read.
    fs::write(root.join("b.tmp"), "new").unwrap();
    fs::rename(root.join("b.tmp"), root.join("b.md")).unwrap();
    let (bytes, stamp) = read(&walked.files[1], Some(&root), 1 << 20).unwrap();
    assert_eq!(bytes, b"new");
    assert_ne!(stamp, walked.files[1].stamp);
}

#[test]
fn a_link_to_nothing_is_told() {
    let (_dir, root) = folder(&["a.md"]);
    symlink("nowhere", root.join("b.md")).unwrap();
    symlink("nowhere", root.join("c")).unwrap();
    let walked = walk(&root, TREE, Some(&root));
    assert_eq!(names(&walked), ["a"]);
    assert_eq!(troubles(&walked, &root), [("b.md".to_owned(), WalkError::LeadsNowhere)]);
}

#[test]
fn a_pipe_is_told_and_never_waited_for() {
    let (_dir, root) = folder(&["a.md", "s/note"]);
    let pipe = |name: &str| rustix::fs::mkfifoat(CWD, root.join(name), Mode::RUSR | Mode::WUSR).unwrap();
    pipe("pipe.md");
    pipe("s/SKILL.md");
    symlink("pipe.md", root.join("linked.md")).unwrap();
    symlink("/dev/tty", root.join("tty.md")).unwrap();
    let walked = walk(&root, FILES, None);
    assert_eq!(names(&walked), ["a"]);
    let not_plain = |path: &str| (path.to_owned(), WalkError::NotPlain);
    assert_eq!(troubles(&walked, &root), ["linked.md", "pipe.md", "tty.md"].map(not_plain));
    assert_eq!(troubles(&walk(&root, PlaceShape::Skills, None), &root), [not_plain("s/SKILL.md")]);
    // Put in place of a file after that was found.
    fs::remove_file(root.join("a.md")).unwrap();
    pipe("a.md");
    assert!(matches!(read(&walked.files[0], None, 9), Err(FileError::NotPlain { .. })));
}

#[test]
fn a_large_file_is_refused() {
    let (_dir, root) = folder(&["a.md", "b.md"]);
    fs::write(root.join("a.md"), vec![b'x'; 10 << 20]).unwrap();
    let walked = walk(&root, FILES, None);
    assert!(matches!(read(&walked.files[0], None, 1 << 20), Err(FileError::TooLarge { .. })));
    // Grown since it was found.
    fs::write(root.join("b.md"), vec![b'x'; 2 << 20]).unwrap();
    assert!(matches!(read(&walked.files[1], None, 1 << 20), Err(FileError::TooLarge { .. })));
    assert_eq!(read(&walked.files[1], None, 2 << 20).unwrap().0.len(), 2 << 20);
}

#[test]
fn a_name_that_is_no_text_is_told() {
    let (_dir, root) = folder(&["a.md"]);
    fs::write(root.join(OsStr::from_bytes(b"b\xff.md")), "").unwrap();
    let walked = walk(&root, FILES, None);
    assert_eq!(names(&walked), ["a"]);
    assert_eq!(troubles(&walked, &root), [("b\u{fffd}.md".to_owned(), WalkError::OddName)]);
    let odd = root.join(OsStr::from_bytes(b"\xff"));
    fs::create_dir(&odd).unwrap();
    assert_eq!(walk(&odd, FILES, None).findings, [UnreadablePath { path: odd, what: WalkError::OddName }]);
}

/// Does something as a user whom permissions bind, which they do not bind root.
fn without_privilege<T: Send>(root: &Path, work: impl FnOnce() -> T + Send) -> T {
    if !rustix::process::geteuid().is_root() {
        return work();
    }
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // Of this thread alone, which ends with the work.
            rustix::thread::set_thread_uid(rustix::fs::Uid::from_raw(65_534)).unwrap();
            work()
        });
        thread.join().unwrap()
    })
}

#[test]
fn a_folder_without_permission_is_told_and_hides_nothing_else() {
    let (_dir, root) = folder(&["a.md", "closed/b.md", "open/c.md", "s/SKILL.md", "dark/SKILL.md"]);
    let mode = |name: &str, mode: u32| {
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("closed", 0);
    mode("dark", 0);
    let (tree, skills, place) = without_privilege(&root, || {
        let tree = walk(&root, TREE, None);
        (tree, walk(&root, PlaceShape::Skills, Some(&root)), walk(&root.join("closed"), FILES, None))
    });
    let closed = |paths: &[&str]| -> Vec<(String, WalkError)> {
        paths.iter().map(|path| ((*path).to_owned(), WalkError::NoPermission)).collect()
    };
    assert_eq!(names(&tree), ["a", "open:c", "s:SKILL"]);
    assert_eq!(troubles(&tree, &root), closed(&["closed", "dark"]));
    assert_eq!(names(&skills), ["s"]);
    assert_eq!(troubles(&skills, &root), closed(&["closed", "dark"]));
    assert_eq!(troubles(&place, &root), closed(&["closed"]));
    mode("closed", 0o700);
    mode("dark", 0o700);
    mode("a.md", 0);
    let refused = without_privilege(&root, || read(&walk(&root, FILES, None).files[0], None, 9));
    assert!(matches!(refused, Err(FileError::Io { .. })), "{refused:?}");
}

#[test]
fn too_many_names_end_the_look() {
    let (_dir, root) = folder(&[]);
    let mut walk = FolderWalk { names: NAMES - 2, ..FolderWalk::default() };
    for name in ["a.md", "b.md", "c.md", "d.md"] {
        fs::write(root.join(name), "").unwrap();
    }
    walk.place(&root, FILES);
    assert_eq!(troubles(&walk.out, &root), [(String::new(), WalkError::TooMany(NAMES))]);
    assert!(walk.out.files.len() <= 2);
}
