//! Ignored files that come along.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use windlass_peers::git::{create, is_clean};

use crate::ground::{Ground, commit, files, read, write};

#[test]
fn ignored_files_that_are_listed_come_along_and_no_others() {
    let ground = Ground::new();
    let repo = &ground.repo;
    commit(repo, ".gitignore", ".env*\nnode_modules/\nout/\n*.log\n");
    commit(
        repo,
        ".worktreeinclude",
        "# what a build needs\n.env*\n!.env.example\nnode_modules/\nnotes.txt\n",
    );
    write(repo, ".env", "KEY=1");
    write(repo, "sub dir/.env.local", "é");
    write(repo, ".env.example", "no");
    write(repo, "node_modules/p/index.js", "js");
    write(repo, "out/big", "no");
    write(repo, "x.log", "no");
    write(repo, "notes.txt", "listed, but not ignored");
    fs::set_permissions(repo.join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("p/index.js", repo.join("node_modules/link")).unwrap();
    symlink("/etc/passwd", repo.join("node_modules/out")).unwrap();
    let worktree = ground.worktree("w");
    let there: Vec<String> = files(&worktree.path)
        .iter()
        .map(|(path, _)| path.strip_prefix(&worktree.path).unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        there,
        [
            ".env",
            ".gitignore",
            ".worktreeinclude",
            "a.txt",
            "node_modules/link",
            "node_modules/out",
            "node_modules/p/index.js",
            "sub dir/.env.local"
        ]
    );
    assert_eq!(
        (read(&worktree.path, ".env"), read(&worktree.path, "sub dir/.env.local")),
        ("KEY=1".into(), "é".into())
    );
    let mode = fs::metadata(worktree.path.join(".env")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let link = |name: &str| fs::read_link(worktree.path.join(name)).unwrap();
    assert_eq!(link("node_modules/link"), std::path::Path::new("p/index.js"));
    assert_eq!(link("node_modules/out"), std::path::Path::new("/etc/passwd"));
    assert!(is_clean(&worktree).unwrap());
}

#[test]
fn what_the_branch_has_is_not_overwritten_and_its_links_are_not_followed_out() {
    let ground = Ground::new();
    let repo = &ground.repo;
    commit(repo, ".gitignore", "conf\nkeep\n");
    commit(repo, ".worktreeinclude", "conf\nkeep\n");
    let outside = ground.path("outside");
    fs::create_dir(&outside).unwrap();
    // The branch has a link and a file where the checkout has ignored ones.
    symlink(&outside, repo.join("conf")).unwrap();
    write(repo, "keep", "of the branch");
    crate::ground::run(repo, &["add", "--force", "conf", "keep"]);
    crate::ground::run(repo, &["commit", "--quiet", "-m", "hostile"]);
    crate::ground::run(repo, &["branch", "base"]);
    crate::ground::run(repo, &["rm", "--quiet", "--cached", "conf", "keep"]);
    crate::ground::run(repo, &["commit", "--quiet", "-m", "gone"]);
    fs::remove_file(repo.join("conf")).unwrap();
    write(repo, "conf/secret", "x");
    write(repo, "keep", "of the checkout");
    let worktree = create(repo, &ground.path("w"), "w", "base").unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(read(&worktree.path, "keep"), "of the branch");
}

#[test]
fn a_list_that_is_no_plain_file_is_refused() {
    let ground = Ground::new();
    symlink("/dev/zero", ground.repo.join(".worktreeinclude")).unwrap();
    assert!(create(&ground.repo, &ground.path("w"), "w", "main").is_err());
}
