//! No process is left behind, also when the host itself is killed, or everything at once.

use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use windlass_core::launch::cgroup_name;
use windlass_testkit::{procs, skip, wait::until};

use crate::place::{LIMIT, Place, assert_gone, done};

/// An agent that leaves daemons without a trace of itself, and hangs in its first turn.
fn daemons() -> Place {
    daemons_after(":")
}

/// Leaves the cgroup, where one may.
const LEAVE: &str =
    "while read what at kind more; do [ $kind = cgroup2 ] && echo $$ >$at/cgroup.procs; done </proc/mounts";

/// The same, each of which does this first.
fn daemons_after(first: &str) -> Place {
    let hide = "env -i PATH=$PATH setsid sh -c '@; echo $$ > one.tmp; mv one.tmp one; exec sleep 300' & \
        ( ( env -i PATH=$PATH setsid sh -c '@; echo $$ > two.tmp; mv two.tmp two; exec sleep 300' & ) & )";
    let hide = hide.replace('@', first);
    let hang = "[ -e again ] || { touch again; while :; do sleep 0.05; done; }";
    Place::playing(json!([{"steps": [{"bash": hide}, {"bash": hang}, done()]}]))
}

/// The daemons, once the agent hangs.
fn pids(place: &Place) -> Vec<i32> {
    place.file_exists("again");
    ["one", "two"].map(|name| place.file(name).trim().parse().unwrap()).to_vec()
}

fn kill(pid: i32) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
}

/// The groups of every child that a run has had, as far as they are there.
fn groups(place: &Place, run: &str) -> Vec<PathBuf> {
    let folder = place.sealed.state().join("windlass/runs").join(run);
    let children = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name());
    let names: Vec<String> = children.map(|name| cgroup_name(&format!("{run}.{}", name.display()))).collect();
    let mut found = Vec::new();
    let mut next = vec![Path::new("/sys/fs/cgroup").to_owned()];
    while let Some(folder) = next.pop() {
        let inner = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        next.extend(
            inner.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()),
        );
        if names.iter().any(|name| folder.ends_with(name)) {
            found.push(folder);
        }
    }
    found
}

#[test]
fn a_daemon_without_a_trace_is_gone_when_the_host_is_killed() {
    let place = daemons();
    let mut going = place.start(&["loop", "x", "--json"]);
    let run = going.run();
    let hidden = pids(&place);
    place.kill_hosts();
    // The turn is done again, and nothing of the first try is there.
    going.end().assert_ended(0, "completed", "marker", 1);
    hidden.into_iter().for_each(assert_gone);
    place.assert_nothing_is_left();
    assert_eq!((place.guards(), groups(&place, &run)), (Vec::new(), Vec::new()));
}

#[test]
fn a_daemon_is_gone_when_the_host_is_killed_and_nobody_owns_the_run() {
    let place = daemons();
    let mut going = place.start(&["loop", "x", "--json"]);
    let run = going.run();
    let hidden = pids(&place);
    place.sealed.kill9(going.pid());
    going.end();
    place.kill_hosts();
    hidden.into_iter().for_each(assert_gone);
    until(LIMIT, || place.guards().is_empty());
    assert_eq!(groups(&place, &run), Vec::<PathBuf>::new());
    place.go(&["resume", &run, "--json"]).assert_ended(0, "completed", "marker", 1);
    place.assert_nothing_is_left();
}

#[test]
fn a_daemon_is_gone_after_everything_was_killed_at_once_and_the_run_went_on_or_was_cancelled() {
    for (verb, first) in [("resume", ":"), ("cancel", ":"), ("resume", LEAVE), ("cancel", LEAVE)] {
        let place = daemons_after(first);
        let mut going = place.start(&["loop", "x", "--json"]);
        let run = going.run();
        let hidden = pids(&place);
        // Stopped first, so that no guard sees the death of its host.
        let all: Vec<i32> = place.guards().iter().chain(&place.hosts()).map(|process| process.pid).collect();
        for pid in &all {
            let _ = kill_process(Pid::from_raw(*pid).unwrap(), Signal::STOP);
        }
        place.sealed.kill9(going.pid());
        all.into_iter().for_each(kill);
        going.end();
        assert!(hidden.iter().all(|pid| procs::is_alive(*pid)), "the test shows nothing");
        let ran = place.go(&[verb, &run, "--json"]);
        assert_eq!(ran.code, 0, "{ran}");
        hidden.into_iter().for_each(assert_gone);
        place.assert_nothing_is_left();
        assert_eq!(groups(&place, &run), Vec::<PathBuf>::new(), "{verb}");
    }
}

#[test]
fn an_ordinary_run_leaves_neither_guards_nor_groups() {
    let place = Place::playing(json!([{"steps": [{"bash": "true"}, done()]}]));
    let ran = place.go(&["loop", "x", "--json", "--check", "true"]);
    ran.assert_ended(0, "completed", "marker", 1);
    until(LIMIT, || place.guards().is_empty());
    assert_eq!(groups(&place, ran.run()), Vec::<PathBuf>::new());
}

#[test]
fn a_host_whose_guard_was_killed_goes_on_and_its_group_is_gone_with_the_run() {
    let wait = "touch waits; until [ -e go ]; do sleep 0.02; done";
    let place = Place::playing(json!([{"steps": [{"bash": wait}, done()]}]));
    let mut going = place.start(&["loop", "x", "--json"]);
    let run = going.run();
    place.file_exists("waits");
    let hosts = place.hosts();
    place.kill_guards();
    until(LIMIT, || place.guards().is_empty());
    // The owner adopts the host, looks at it several times, and lets it be.
    let host = procs::read(hosts[0].pid).expect("the host lives");
    assert_eq!(host.parent, going.pid());
    let begun = std::time::Instant::now();
    until(LIMIT, || begun.elapsed() > std::time::Duration::from_secs(3));
    assert!(procs::is_alive(host.pid), "the owner ended the host");
    place.sealed.write("repo/go", "");
    let ran = going.end();
    ran.assert_ended(0, "completed", "marker", 1);
    assert_eq!(ran.all("warning").len(), 0, "{ran}");
    place.assert_nothing_is_left();
    assert_eq!(groups(&place, &run), Vec::<PathBuf>::new());
}

#[test]
fn groups_that_nobody_removed_are_removed_by_doctor_and_by_the_next_run() {
    let place = Place::playing(json!([{"steps": [done()]}]));
    let told = place.go(&["doctor", "--json"]);
    let Some(folder) = told.all("keeping")[0]["cgroup"].as_str().map(PathBuf::from) else {
        skip!("no cgroup can be made here");
    };
    let group = |of: &str| folder.join(cgroup_name(&format!("{}.{of}", place.sealed.root().display())));
    let [old, young, other] = [group("old"), group("young"), folder.join("windlass.session.other")];
    let make = |group: &PathBuf| {
        std::fs::create_dir(group).unwrap();
        let mut touch = place.sealed.command("touch");
        let is_young = *group == young;
        assert!(is_young || touch.args(["-d", "1 hour ago"]).arg(group).status().unwrap().success());
    };
    [&young, &other].into_iter().for_each(make);
    for arguments in [&["doctor"][..], &["loop", "x", "--json"]] {
        make(&old);
        place.go(arguments);
        let left = [&old, &young, &other].map(|group| group.exists());
        let expected = [false, true, true];
        if left != expected {
            [&old, &young, &other].into_iter().for_each(|group| drop(std::fs::remove_dir(group)));
        }
        assert_eq!(left, expected, "{arguments:?}");
    }
    [young, other].iter().for_each(|group| std::fs::remove_dir(group).unwrap());
}

#[test]
fn doctor_says_how_processes_are_kept() {
    let place = Place::playing(json!([]));
    let told = place.go(&["doctor", "--json"]);
    let keeping = told.all("keeping");
    assert_eq!(keeping.len(), 1, "{told}");
    assert_eq!(keeping[0]["guard"], true);
    let has_group = keeping[0]["cgroup"].is_string();
    assert_eq!(has_group, keeping[0]["cgroup_missing"].is_null(), "{told}");
    let told = place.go(&["doctor"]);
    let words = if has_group { "a guard and a cgroup" } else { "a guard, but no cgroup" };
    assert!(told.stdout.contains(words), "{told}");
}

#[test]
fn a_host_that_somebody_stopped_keeps_nobody_from_ending_its_run() {
    for ends_by_itself in [false, true] {
        let place = Place::playing(json!([{"steps": [{"bash": "echo 1 > began"}, {"hang": true}]}]));
        let limit = if ends_by_itself { "3s" } else { "1h" };
        let mut going = place.start(&["loop", "x", "--max-iterations", "1", "--timeout", limit, "--json"]);
        let run = going.run();
        place.file("began");
        for host in place.hosts() {
            kill_process(Pid::from_raw(host.pid).unwrap(), Signal::STOP).unwrap();
        }
        if !ends_by_itself {
            let cancelled = place.go(&["cancel", &run]);
            assert_eq!(cancelled.code, 0, "{cancelled}");
        }
        let ended = going.end();
        let status = if ends_by_itself { "failed" } else { "cancelled" };
        assert_eq!(ended.finished()["status"], status, "{ended}");
        place.assert_nothing_is_left();
    }
}
