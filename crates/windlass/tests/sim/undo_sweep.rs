//! `windlass undo` dies at every point, and before and after each of its calls of git. The next undo finishes it,
//! and everything that was in the folder before is still saved.

#![allow(clippy::print_stdout, reason = "says how many points there were")]

use std::fs;

use serde_json::Value;

use crate::deaths::Death;
use crate::kill_sweep::half_written;
use crate::place::Place;
use crate::undo::{files, of_git, place};

/// The number of points after which a sweep stops. Far more than there are.
const MOST: u64 = 200;

/// The numbers of the states that undos have saved.
fn undos(place: &Place, run: &str) -> Vec<u32> {
    let shown = place.go(&["show", run, "--json"]);
    let kept = shown.all("run")[0]["snapshots"].as_array().unwrap_or_else(|| panic!("{shown}"));
    kept.iter().filter_map(|one| one["name"].as_str()?.strip_prefix("undo-")?.parse().ok()).collect()
}

fn undo(place: &Place, arguments: &[&str]) -> Value {
    let ran = place.go(&[&["undo", "--json"], arguments].concat());
    assert_eq!(ran.code, 0, "{ran}");
    ran.all("undo")[0].clone()
}

fn sweep(name: &str, death: impl Fn(u64) -> Death) {
    let place = place();
    let before = files(&place.repo());
    let ran = place.go(&["loop", "work", "--json"]);
    let (run, after, git) = (ran.run(), files(&place.repo()), of_git(&place));
    let later = place.repo().join("later");
    let mut newest = 0;
    for at in 1..MOST {
        let mut command = place.windlass(&["undo", run]);
        // Each sweep counts from one.
        let _ = fs::remove_dir_all(place.sealed.root().join("deadly"));
        death(at).strikes(&place, &mut command);
        let died = place.spawn(command).end();
        assert_eq!(of_git(&place), git, "{name} {at}: index, HEAD and branches stay");
        if died.code == 0 {
            assert_eq!(files(&place.repo()), before, "{name} {at}");
            assert!(at > 6, "only {at} points");
            println!("sweep: undo, {name}: {} points", at - 1);
            return;
        }
        assert!(died.code < 0, "{name} {at}: {died}");
        // A person works on between the two undos.
        fs::write(&later, "a person's\n").unwrap();
        let undone = undo(&place, &[run]);
        let mut now = files(&place.repo());
        assert_eq!(now.remove("later"), Some((b"a person's\n".to_vec(), false)), "{name} {at}: {undone}");
        assert_eq!(now, before, "{name} {at}: {undone}");
        if let Some(saved) = undone["saved"]["ref"].as_str() {
            assert_eq!(place.sealed.git(["show", &format!("{saved}:later")]), "a person's", "{name} {at}");
        }
        assert_eq!(half_written(&place), Vec::<std::path::PathBuf>::new(), "{name} {at}");
        // Nothing is left of the first one to warn of.
        assert!(undo(&place, &[run])["unfinished"].is_null(), "{name} {at}");
        // The files before the first of the two are all there.
        let first = undos(&place, run).into_iter().find(|number| *number > newest).unwrap();
        let back = undo(&place, &[run, "--to", &format!("undo-{first}")]);
        let _ = fs::remove_file(&later);
        assert_eq!(files(&place.repo()), after, "{name} {at}: {back}");
        assert_eq!(of_git(&place), git, "{name} {at}: index, HEAD and branches stay");
        newest = *undos(&place, run).last().unwrap();
    }
    panic!("it never came to its end");
}

#[test]
fn an_undo_may_die_at_any_point_and_the_next_one_finishes_it() {
    sweep("crash points", Death::Point);
}

#[test]
fn an_undo_may_die_before_any_call_of_git_and_the_next_one_finishes_it() {
    sweep("before git", Death::BeforeGit);
}

#[test]
fn an_undo_may_die_after_any_call_of_git_and_the_next_one_finishes_it() {
    sweep("after git", Death::AfterGit);
}
