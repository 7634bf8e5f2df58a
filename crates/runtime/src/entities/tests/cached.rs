//! Tests for the cache of entities: when Windlass reuses it and when it reads the files again.

use std::fs::{File, FileTimes};
use std::os::unix::fs::PermissionsExt;

use super::*;

fn filled() -> Ground {
    let context = Ground::new();
    for name in 0..20 {
        context.put(&format!("repo/.claude/agents/a{name}.md"), &skill(&format!("a{name}")));
    }
    context
}

fn times(path: &Path) -> FileTimes {
    FileTimes::new().set_modified(fs::metadata(path).unwrap().modified().unwrap())
}

#[test]
fn warm_is_the_same_as_cold_and_reads_nothing() {
    let context = filled();
    context.put(
        "home/.claude/skills/s/SKILL.md",
        "---\nname: S\ndescription: d\nmodel: opus\nallowed-tools: Bash(git:*), Edit\nhooks:\n  Stop:\n  - n: 1\n---\nx\n",
    );
    let cold = context.load();
    let warm = context.load_warm();
    assert_eq!((cold.files, warm.files, warm.read), (21, 21, 0));
    assert_eq!(entities(&cold), entities(&warm));
    assert_eq!(cold.diagnostics, warm.diagnostics);
    let [file] = context.cache().try_into().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn what_changed_is_read_again_and_nothing_else() {
    let context = filled();
    let path = context.put("repo/.claude/commands/b.md", "one");
    context.load_warm();
    let before = times(&path);
    // The same size and the same time of its content: the system still knows.
    fs::write(&path, "two").unwrap();
    File::options().write(true).open(&path).unwrap().set_times(before).unwrap();
    let loaded = context.load();
    assert_eq!((loaded.read, prompt(&loaded, EntityKind::Command, "b").as_deref()), (1, Some("two")));
    fs::write(&path, "three").unwrap();
    assert_eq!(prompt(&context.load(), EntityKind::Command, "b").as_deref(), Some("three"));
    // Replaced by another file.
    let other = context.put("repo/other", "threX");
    fs::rename(other, &path).unwrap();
    assert_eq!(prompt(&context.load(), EntityKind::Command, "b").as_deref(), Some("threX"));
    assert_eq!(context.load_warm().files, 21);
}

#[test]
fn what_is_gone_is_forgotten() {
    let context = filled();
    let path = context.put("repo/.claude/commands/b.md", "one");
    context.load_warm();
    let size = || fs::metadata(&context.cache()[0]).unwrap().len();
    let with = size();
    fs::remove_file(path).unwrap();
    let loaded = context.load();
    assert_eq!((loaded.read, loaded.files, prompt(&loaded, EntityKind::Command, "b")), (0, 20, None));
    assert!(size() < with);
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    let context = filled();
    context.load_warm();
    let written = || fs::metadata(&context.cache()[0]).unwrap().modified().unwrap();
    let before = written();
    context.load();
    assert_eq!(written(), before);
}

#[test]
fn a_file_that_just_changed_is_not_trusted() {
    let context = filled();
    context.load_warm();
    let path = context.put("repo/.claude/commands/b.md", "one");
    assert_eq!(context.load().read, 1);
    // As large as before, and within the step of a coarse clock.
    fs::write(&path, "two").unwrap();
    assert_eq!(prompt(&context.load(), EntityKind::Command, "b").as_deref(), Some("two"));
}

#[test]
fn a_file_with_diagnostics_is_looked_at_each_time() {
    let context = filled();
    context.put("repo/.claude/agents/colon.md", "---\ndescription: Use this: when foo\n---\nx\n");
    wait(|| context.load().read == 1);
    let first = context.load();
    assert_eq!((first.read, first.diagnostics.len()), (1, 1));
    assert_eq!(context.load().diagnostics, first.diagnostics);
}

#[test]
fn a_broken_cache_is_made_again() {
    let context = filled();
    let good = context.load_warm();
    let file = context.cache().remove(0);
    let bytes = fs::read(&file).unwrap();
    let mut broken: Vec<Vec<u8>> = vec![Vec::new(), b"junk".to_vec(), bytes[..bytes.len() / 2].to_vec()];
    for at in (0..bytes.len()).step_by(97) {
        let mut one = bytes.clone();
        one[at] ^= 0x55;
        broken.push(one);
    }
    broken.push(vec![0; bytes.len()]);
    for broken in broken {
        fs::write(&file, &broken).unwrap();
        assert_eq!(entities(&context.load()), entities(&good));
        assert_eq!(fs::read(&file).unwrap(), bytes, "and it is whole again");
    }
    // A folder in its place cannot be written: nobody minds.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(entities(&context.load()), entities(&good));
}

#[test]
fn a_cache_that_cannot_be_written_is_done_without() {
    let context = filled();
    fs::write(context.root().join("state/cache"), "a file where the folder should be").unwrap();
    assert_eq!(context.load().files, 20);
    assert_eq!(context.load().read, 20);
}

#[test]
fn other_roots_have_another_cache() {
    let context = filled();
    context.put("repo/sub/.claude/agents/near.md", &skill("near"));
    context.load_warm();
    assert_eq!(context.load_in("repo/sub", &[]).read, 21);
    wait(|| context.load_in("repo/sub", &[]).read == 0);
    assert_eq!((context.load().read, context.cache().len()), (0, 2));
}

#[test]
fn only_so_many_caches_are_kept() {
    let context = filled();
    for number in 0..70 {
        context.put(&format!("state/cache/entities-{number}"), "old");
    }
    context.load_warm();
    assert_eq!(context.cache().len(), 50);
    assert_eq!(context.load().read, 0);
}

#[test]
fn writers_at_once_leave_a_whole_cache() {
    let context = filled();
    let good = context.load_warm();
    let changing = context.put("repo/.claude/commands/b.md", "x");
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (context, changing, good) = (&context, &changing, &good);
            scope.spawn(move || {
                for round in 0..40 {
                    if worker == 0 {
                        let next = changing.with_extension("next");
                        fs::write(&next, "x".repeat(round + 1)).unwrap();
                        fs::rename(&next, changing).unwrap();
                    } else if round % 4 == 0 {
                        // Nobody's fault, and somebody else is writing right now.
                        let _ = context.cache().first().map(fs::remove_file);
                    }
                    let loaded = context.load();
                    assert_eq!(entities(&loaded).len(), entities(good).len() + 1);
                }
            });
        }
    });
    let after = context.load_warm();
    assert_eq!((after.files, after.read), (21, 0));
    assert_eq!(context.cache().len(), 1, "no half-written file is left");
}

#[test]
fn a_cache_of_an_older_format_is_no_error_and_is_replaced() {
    let context = filled();
    context.load_warm();
    let [file] = context.cache().try_into().unwrap();
    let now = fs::read(&file).unwrap();
    let old = [b"windlass entities 2\n", now.get(20..).unwrap()].concat();
    fs::write(&file, old).unwrap();
    let loaded = context.load();
    assert_eq!((loaded.files, loaded.read, loaded.diagnostics), (20, 20, vec![]));
    assert!(fs::read(&file).unwrap().starts_with(b"windlass entities 3\n"));
    assert_eq!(context.load().read, 0);
}
