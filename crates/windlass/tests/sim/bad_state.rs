//! A state folder that cannot be used: unwritable, full, damaged, of a newer build. Each gets a
//! clear error, a hint and the right exit code, and nothing is lost.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::place::{Place, Ran, busy_turn, done, last_turn, say};
use serde_json::json;
use windlass_testkit::skip;

const CONFIGURATION: i32 = 3;

fn place() -> Place {
    Place::playing(json!([last_turn()]))
}

fn with_state(place: &Place, state: &Path, arguments: &[&str]) -> Ran {
    let mut command = place.windlass(arguments);
    command.env("XDG_STATE_HOME", state);
    place.spawn(command).end()
}

#[test]
fn a_state_folder_that_cannot_be_written_is_named() {
    let place = place();
    let file = place.sealed.write("a-file", "kept");
    for state in [file.clone(), PathBuf::from("/proc/windlass-state")] {
        let ran = with_state(&place, &state, &["loop", "work", "--json"]);
        ran.assert_refused(CONFIGURATION, &[state.to_str().unwrap()]);
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "kept");
    assert!(place.requests().is_empty());
}

#[test]
fn a_corrupt_database_is_refused_and_left_untouched() {
    let place = place();
    let db = place
        .sealed
        .write("state/windlass/windlass.db", "this is no database, but somebody's text".repeat(100));
    let before = fs::read(&db).unwrap();
    for arguments in [&["loop", "work", "--json"][..], &["ps"], &["resume"]] {
        place.go(arguments).assert_refused(CONFIGURATION, &["windlass.db", "damaged"]);
    }
    assert_eq!(fs::read(&db).unwrap(), before);
    assert!(place.requests().is_empty());
}

#[test]
fn a_database_of_a_newer_windlass_is_refused_and_left_untouched() {
    let place = place();
    assert_eq!(place.go(&["loop", "work", "--json"]).code, 0);
    let db = place.sealed.state().join("windlass/windlass.db");
    // The version of a schema stands at byte 60, and the last one to close it left no journal.
    fs::File::options().write(true).open(&db).unwrap().write_all_at(&999_u32.to_be_bytes(), 60).unwrap();
    let before = fs::read(&db).unwrap();
    place.go(&["ps"]).assert_refused(CONFIGURATION, &["schema 999", "newer windlass"]);
    place.go(&["loop", "work", "--json"]).assert_refused(CONFIGURATION, &["schema 999"]);
    assert_eq!(fs::read(&db).unwrap(), before);
    assert_eq!(place.requests().len(), 1);
}

#[test]
fn a_log_of_another_version_is_named_as_such_and_left_as_it_is() {
    let place = Place::playing(json!([busy_turn(), last_turn()]));
    let ran = place.go(&["loop", "work", "--json"]);
    let run = ran.run();
    let db = place.sealed.state().join("windlass/windlass.db");
    let written = fs::read(&db).unwrap();
    // Every record begins with its version, packed or not.
    let stamp = |version: u8| [br#"{"v":"#.as_slice(), &[version], b","].concat();
    let places: Vec<usize> =
        written.windows(7).enumerate().filter(|(_, bytes)| *bytes == stamp(b'4')).map(|(at, _)| at).collect();
    assert!(places.len() > 5, "{}", places.len());
    for version in ["1", "7"] {
        let mut bytes = written.clone();
        for at in &places {
            bytes[*at..*at + 7].copy_from_slice(&stamp(version.as_bytes()[0]));
        }
        fs::write(&db, &bytes).unwrap();
        let said = format!("the log of run {run} has version {version}; this windlass reads versions 3 to 4");
        let words = [said.as_str(), "`windlass ps` still lists it", "with the windlass that recorded it"];
        for arguments in [
            &["show", run][..],
            &["logs", run],
            &["logs", "-f", run],
            &["resume", run],
            &["replay", run],
            &["fork", run, "--at", "loop"],
            &["pause", run],
            &["answer", run, "yes"],
        ] {
            place.go(arguments).assert_refused(CONFIGURATION, &words);
        }
        place.go(&["cancel", run]).assert_refused(2, &["already over"]);
        let listed = place.ps();
        assert_eq!((listed.len(), &listed[0]["run"]), (1, &json!(run)));
        assert_eq!(listed[0]["data"]["status"], "completed");
    }
    assert_eq!(place.requests().len(), 2, "no agent was asked");
}

/// A small file system in memory, gone at the end.
struct Disk<'a> {
    place: &'a Place,
    folder: PathBuf,
}

impl Disk<'_> {
    fn of_bytes(place: &Place, size: u64) -> Option<Disk<'_>> {
        let folder = place.sealed.root().join("disk");
        fs::create_dir(&folder).unwrap();
        let mut mount = place.sealed.command("mount");
        let options = format!("size={size},mode=0700");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&folder);
        mount.output().is_ok_and(|mount| mount.status.success()).then_some(Disk { place, folder })
    }

    /// Writes until nothing more fits.
    fn fill(&self) -> PathBuf {
        let path = self.folder.join("filler");
        let file = fs::File::create(&path).unwrap();
        let mut at = 0;
        for size in [65_536, 4_096, 512, 1] {
            let block = vec![b'x'; size];
            while let Ok(written @ 1..) = file.write_at(&block, at) {
                at += written as u64;
            }
        }
        path
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        for process in self.place.sealed.processes() {
            self.place.sealed.kill9(process.pid);
        }
        let _ = self.place.sealed.command("umount").arg("-l").arg(&self.folder).status();
    }
}

#[test]
fn a_full_disk_is_said_before_a_run() {
    let place = place();
    let Some(disk) = Disk::of_bytes(&place, 1 << 20) else { skip!("no file system can be mounted here") };
    let ran = with_state(&place, &disk.folder, &["loop", "work", "--json"]);
    ran.assert_refused(CONFIGURATION, &["space"]);
    let left = with_state(&place, &disk.folder, &["ps", "--json"]);
    assert_eq!((left.code, left.lines.len()), (0, 0), "no run was begun: {left}");
    disk.fill();
    let ran = with_state(&place, &disk.folder, &["loop", "work", "--json"]);
    ran.assert_refused(CONFIGURATION, &["space"]);
    assert!(place.requests().is_empty());
}

#[test]
fn a_disk_that_fills_up_during_a_run_loses_nothing() {
    let waiting = json!({"steps": [say("Hm."), {"write": {"path": "sign", "content": "x"}}, {"wait_for": "go"}, done()]});
    let place = Place::playing(json!([busy_turn(), waiting, last_turn()]));
    let binary = fs::metadata(env!("CARGO_BIN_EXE_windlass")).unwrap().len();
    let Some(disk) = Disk::of_bytes(&place, binary + (2 << 20)) else {
        skip!("no file system can be mounted here")
    };
    let mut command = place.windlass(&["loop", "work", "--json"]);
    command.env("XDG_STATE_HOME", &disk.folder);
    let mut going = place.spawn(command);
    let run = going.run();
    place.file("sign");
    let filler = disk.fill();
    fs::write(place.repo().join("go"), "x").unwrap();
    let ran = going.end();
    assert_eq!(ran.code, CONFIGURATION, "{ran}");
    assert!(ran.stderr.contains("space") && ran.stderr.contains("windlass resume"), "{ran}");
    fs::remove_file(filler).unwrap();
    let ran = with_state(&place, &disk.folder, &["resume", &run, "--json"]);
    ran.assert_ended(0, "completed", "marker", 2);
}

#[test]
fn output_that_cannot_be_written_ends_no_run_and_has_its_own_code() {
    let place = place();
    let mut command = place.sealed.command("sh");
    command.args(["-c", "exec \"$0\" loop work --json > /dev/full", env!("CARGO_BIN_EXE_windlass")]);
    command.env("WINDLASS_SIM_SCRIPT", place.sealed.root().join("script.json"));
    let ran = place.spawn(command).end();
    assert_eq!(ran.code, 7, "{ran}");
    assert_eq!(place.ps()[0]["data"]["status"], "completed");
}
