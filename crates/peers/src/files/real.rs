//! Resolves the links of a path, even if the target does not exist yet.
//!
//! Only reads links and opens nothing, so that no device or pipe can block it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The kernel's own limit.
const MOST_LINKS: usize = 40;
/// The maximum length in bytes. No tool can use a longer path.
const LONGEST: usize = 64 * 1024;

/// Resolves an absolute path. Returns `None` if that is impossible: links in a circle, too many links,
/// or a folder without search permission.
pub fn real(path: &Path) -> Option<PathBuf> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.len() > LONGEST || bytes.contains(&0) {
        return None;
    }
    let mut left = parts(path);
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(part);
        let target = match fs::read_link(&next) {
            Ok(target) => target,
            // Not a link, or nothing exists there yet.
            Err(error) if is_no_link(error.kind()) => {
                at = next;
                continue;
            }
            Err(_) => return None,
        };
        links += 1;
        if links > MOST_LINKS {
            return None;
        }
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        for part in parts(&target).into_iter().rev() {
            left.push_front(part);
        }
    }
    Some(at)
}

fn is_no_link(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidInput | ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |part: Component<'_>| match part {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}

/// Returns every path that a path in a tool call can mean, with links resolved. Programs differ: some
/// remove `..` before they follow links and some after, some trim white space, some expand `~`. Empty if
/// one of the paths cannot be resolved.
pub fn readings(written: &str, cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let texts = [Some(written), Some(written.trim()).filter(|trimmed| *trimmed != written)];
    for text in texts.into_iter().flatten() {
        let below_home = (text == "~").then_some("").or_else(|| text.strip_prefix("~/"));
        let of_home = below_home.and_then(|below| Some(home?.join(below)));
        for path in [Some(cwd.join(text)), of_home].into_iter().flatten() {
            let Some((first, second)) = real(&path).zip(real(&without_dots(&path))) else {
                return Vec::new();
            };
            found.extend([first, second]);
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Removes `..` and `.` from a path without following links.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for part in parts(path) {
        match part == ".." {
            true => drop(plain.pop()),
            false => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Ground {
        _dir: tempfile::TempDir,
        root: PathBuf,
    }

    /// `docs/`, `src/`, `docs/link -> ../src`, and a link for each row.
    fn ground(links: &[(&str, &str)]) -> Ground {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["docs/deep", "src"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (at, target) in links {
            symlink(target, root.join(at)).unwrap();
        }
        Ground { _dir: dir, root }
    }

    #[test]
    fn a_path_leads_where_its_links_do_and_need_not_be_there() {
        let ground = ground(&[
            ("docs/link", "../src"),
            ("docs/chain", "link"),
            ("docs/whole", "/etc"),
            ("docs/ahead", "../none/yet"),
        ]);
        for (path, expected) in [
            ("docs/a.md", "docs/a.md"),
            ("docs/new/deep/a.md", "docs/new/deep/a.md"),
            ("docs/link", "src"),
            ("docs/link/a.rs", "src/a.rs"),
            ("docs/link/new/a.rs", "src/new/a.rs"),
            ("docs/chain/./a.rs", "src/a.rs"),
            ("docs/ahead/a", "none/yet/a"),
            ("docs/link/../x", "x"),
            ("docs/deep/../../src/x", "src/x"),
        ] {
            assert_eq!(real(&ground.root.join(path)), Some(ground.root.join(expected)), "{path}");
        }
        assert_eq!(real(&ground.root.join("docs/whole/passwd")), Some("/etc/passwd".into()));
        assert_eq!(real(Path::new("/../../..")), Some("/".into()));
    }

    #[test]
    fn what_cannot_be_told_is_not_guessed() {
        let ground = ground(&[("docs/a", "b"), ("docs/b", "a"), ("docs/me", "me")]);
        for path in ["docs/a", "docs/b/x", "docs/me/x"] {
            assert_eq!(real(&ground.root.join(path)), None, "{path}");
        }
        assert_eq!(real(&ground.root.join("x".repeat(300))), None);
        assert_eq!(real(&ground.root.join("a/../".repeat(20_000))), None);
        assert_eq!(real(Path::new("/a\0b")), None);
        assert_eq!(readings("docs/me/x", &ground.root, None), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn a_path_means_whatever_some_program_takes_it_for() {
        let ground = ground(&[("docs/link", "../src/deep")]);
        let root = &ground.root;
        let read = |written: &str| readings(written, &root.join("docs"), Some(Path::new("/home/me")));
        assert_eq!(read("a.md"), [root.join("docs/a.md")]);
        assert_eq!(read("../src/a.rs"), [root.join("src/a.rs")]);
        assert_eq!(read("link/../a.rs"), [root.join("docs/a.rs"), root.join("src/a.rs")]);
        assert_eq!(
            read(" /etc/passwd"),
            [Path::new("/etc/passwd").to_owned(), root.join("docs/ /etc/passwd")]
        );
        assert_eq!(read("~/x"), [Path::new("/home/me/x").to_owned(), root.join("docs/~/x")]);
        assert_eq!(read("/etc/passwd"), [Path::new("/etc/passwd")]);
    }
}
