//! The ways in which an agent tries to act as the person, as shell scripts for its Bash tool.

use std::path::Path;

/// An agent works while a person is asked, and while an event is waited for.
pub(crate) const GATES: &str = r#"
name: gates
nodes:
  - id: both
    parallel: { join: all }
    branches:
      work:
        - { id: work, prompt: try it }
      asked:
        - { id: ship, ask: "Ship it?", choices: ["yes", "no"] }
        - { id: deploy, when: outputs.ship.text == "yes", shell: touch DEPLOYED }
      told:
        - { id: review, wait: { event: reviewed } }
        - { id: publish, shell: touch PUBLISHED }
"#;

/// The shell code that all ways share. `tell NAME COMMAND…` runs a command and records its output and
/// exit code.
const SHELL: &str = r#"
W=@WINDLASS@
export W STATE="$XDG_STATE_HOME" R="$WINDLASS_RUN" HOME_="$HOME" PATH_="$PATH" TRIES="$PWD/tries" SOCK="$WINDLASS_SOCKET"
mkdir -p tries
until grep -q '@OPEN@' @OUT@; do sleep 0.02; done
BARE="env -i HOME=$HOME XDG_STATE_HOME=$XDG_STATE_HOME PATH=$PATH"
tell() { name=$1; shift; "$@" >"tries/$name.out" 2>&1 </dev/null; echo $? >"tries/$name.tmp"; mv "tries/$name.tmp" "tries/$name.code"; }
came() { n=0; until [ -e "tries/$1.code" ] || [ $n -gt 1000 ]; do sleep 0.02; n=$((n+1)); done; }
"#;

/// A command that keeps its end by itself, for those that nobody waits for.
fn kept(name: &str, command: &str) -> String {
    format!("{command} >$T/{name}.out 2>&1; echo $? >$T/{name}.tmp; mv $T/{name}.tmp $T/{name}.code")
}

/// Each way with its name. Every one ends with 5 and a sentence.
fn ways() -> Vec<(&'static str, String)> {
    let later = |name: &'static str, how: &str| {
        let script = kept(name, "$W answer $R yes");
        let file = format!("cat >$TRIES/{name}.sh <<'S'\n{script}\nS");
        let how = how.replace("RUN", &format!("$BARE W=$W R=$R T=$TRIES sh $TRIES/{name}.sh"));
        (name, format!("{file}\n{how}\ncame {name}"))
    };
    let plain = |name: &'static str, how: &str| (name, format!("tell {name} {how}"));
    vec![
        plain("plain", "$W answer $R yes"),
        plain("unset", "env -u WINDLASS_RUN -u WINDLASS_SESSION -u WINDLASS_SOCKET $W answer $R yes"),
        plain("bare", "$BARE $W answer $R yes"),
        plain("setsid", "setsid -w $BARE $W answer $R yes"),
        later("double_fork", "( ( setsid RUN & ) & )"),
        later("nohup", "nohup RUN >/dev/null 2>&1 &"),
        later("daemon", "mkfifo tries/cron; $BARE setsid sh -c 'read line <tries/cron; sh -c \"$line\"' & echo \"RUN\" >tries/cron"),
        plain("kept_binary", "$BARE sh -c \"$STATE/windlass/bin/*/windlass answer $R yes\""),
        ("copy", "cp $W tries/claude; tell copy $BARE tries/claude answer $R yes".into()),
        ("hard_link", "ln $W tries/sshd 2>/dev/null || cp $W tries/sshd; tell hard_link $BARE tries/sshd answer $R yes".into()),
        ("renamed", "tell renamed bash -c \"exec -a init $BARE $W answer $R yes\"".into()),
        plain("approve", "$BARE $W approve $R"),
        plain("deny", "$BARE $W approve $R --deny no"),
        plain("send", "$BARE $W send $R --event reviewed"),
        plain("resume", "$BARE $W resume $R"),
        plain("pause", "$BARE $W pause $R"),
        plain("cancel", "$BARE $W cancel $R"),
        plain("fork", "$BARE $W fork $R --at ship --on-question empty"),
        plain("detach", "$BARE $W run x --detach"),
        plain("trust", "$BARE $W trust --yes"),
        ("trust_hidden", format!(
            "UNSHARE='unshare --user --map-root-user --pid --fork --mount-proc'\nif $UNSHARE true 2>/dev/null; then {}; else {}; fi",
            "tell trust_hidden $BARE $UNSHARE $W trust --yes",
            "tell trust_hidden sh -c 'echo only a person may: no namespaces here; exit 5'",
        )),
        plain("pty", "$BARE TERM=xterm script -qec \"$W answer $R yes\" /dev/null"),
        later("tmux", "tmux -f /dev/null -S tries/tmux.sock new-session -d \"RUN\""),
        // Another process id space hides the parents from the client; the owner sees them.
        ("namespace", format!(
            "UNSHARE='unshare --user --map-root-user --pid --fork --mount-proc'\nif $UNSHARE true 2>/dev/null; then {}; else {}; fi",
            "tell namespace $BARE $UNSHARE $W answer $R yes",
            "tell namespace sh -c 'echo only a person may: no namespaces here; exit 5'",
        )),
        ("socket", "tell socket python3 tries/../line.py \"$SOCK\" request '{\"id\":\"reply//\",\"message\":{\"ask\":\"reply\",\"hook\":null,\"reply\":\"approve\"}}'".into()),
        ("row", "tell row python3 row.py \"$STATE/windlass/windlass.db\" \"$R\" \"$SOCK\"".into()),
    ]
}

/// Writes a line to the run's socket and ends as the reply says.
const LINE: &str = r#"
import json, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
s.sendall(json.dumps({"v": 1, "id": "x", "event": sys.argv[2], "payload": json.loads(sys.argv[3])}).encode() + b"\n")
reply = json.loads(s.makefile().readline())
print(reply["stdout"], reply["stderr"]); sys.exit(reply["exit"])
"#;

/// Writes answers of every form into the database, and asks the owner to look. It ends with 5 where nothing
/// came of them.
const ROW: &str = r#"
import sqlite3, sys, time, json, socket
db = sqlite3.connect(sys.argv[1], timeout=20)
no, = db.execute("SELECT run_no FROM run WHERE id = ?", (sys.argv[2],)).fetchone()
reply = {"ask": "reply", "hook": None, "reply": {"answers": {"answers": [["", "yes"]]}}}
rows = {"reply//": reply, "x": reply, "e": {"ask": "tell", "name": "reviewed", "text": ""}, "c": {"ask": "cancel"},
        "s": {"seal": "0" * 16, "body": json.dumps(reply)}}
for key, value in rows.items():
    db.execute("INSERT OR REPLACE INTO inbox (run_no, id, body) VALUES (?, ?, ?)", (no, key, json.dumps(value).encode()))
db.commit()
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[3])
s.sendall(b'{"v":1,"id":"poke","event":"poke"}\n'); s.makefile().readline()
for _ in range(1000):
    if not db.execute("SELECT 1 FROM inbox WHERE run_no = ? AND taken IS NULL", (no,)).fetchall():
        taken = db.execute("SELECT count(*) FROM inbox WHERE run_no = ?", (no,)).fetchone()[0]
        print("only a person may: rows taken", taken); sys.exit(5 if taken == 0 else 0)
    time.sleep(0.02)
sys.exit("the rows stay")
"#;

/// The programs that the ways need.
pub(crate) const PROGRAMS: [&str; 6] = ["python3", "tmux", "script", "setsid", "unshare", "bash"];

/// The files that the ways need, with their paths below the repository.
pub(crate) const FILES: [(&str, &str); 3] =
    [(".windlass/workflows/gates.yaml", GATES), ("line.py", LINE), ("row.py", ROW)];

/// A script that tries once this is in what the run has printed.
pub(crate) fn shell(windlass: &Path, printed: &Path, open: &str, body: &str) -> String {
    let shell = SHELL.replace("@WINDLASS@", &windlass.display().to_string());
    format!("{}\n{body}\n", shell.replace("@OUT@", &printed.display().to_string()).replace("@OPEN@", open))
}

/// All ways one after the other; `tries/all` is there when they are through.
pub(crate) fn all() -> String {
    let body: Vec<String> = ways().into_iter().map(|(_, script)| script).collect();
    format!("{}\ntouch tries/all\n", body.join("\n"))
}

/// Whom an agent kills to get away from its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Killed {
    /// Its host and the guard of it.
    Host,
    /// The owner of the run as well.
    Owner,
}

/// Kills everybody above the agent, out of its cgroup, without its environment and in a session of its own; then tries,
/// and stays, also when it is asked to end: `orphan.pid`. Only in the first turn. `tries/all` is there when it is through.
pub(crate) fn orphan(killed: Killed) -> String {
    let commands = ["answer $R yes", "approve $R", "send $R --event reviewed", "resume $R", "cancel $R"];
    let tries: Vec<String> = commands
        .iter()
        .map(|command| {
            kept(
                &format!("orphan_{}", command.split(' ').next().unwrap_or_default()),
                &format!("$W {command}"),
            )
        })
        .collect();
    let whom = if killed == Killed::Owner { "$HOST $GUARD $OWNER" } else { "$HOST $GUARD" };
    format!(
        r#"
[ -e orphan.sh ] && exit
cat >orphan.sh <<'S'
trap '' TERM
echo $$ >orphan.tmp; mv orphan.tmp orphan.pid
for mount in $(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts); do echo $$ >$mount/cgroup.procs; done 2>/dev/null
kill -STOP $GUARD $HOST
kill -KILL {whom}
for pid in {whom}; do while [ -e /proc/$pid ] && ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.02; done; done
{tries}
touch $T/all
exec sleep 300
S
above() {{ awk '/^PPid/ {{ print $2 }}' /proc/$1/status; }}
HOST=$$; until tr '\0' ' ' </proc/$HOST/cmdline | grep -q ' host /'; do HOST=$(above $HOST); done
GUARD=$(above $HOST); OWNER=$(above $GUARD)
( ( $BARE W=$W R=$R T=$TRIES HOST=$HOST GUARD=$GUARD OWNER=$OWNER setsid sh orphan.sh >/dev/null 2>&1 </dev/null & ) & )
sleep 600
"#,
        tries = tries.join(
            "
"
        )
    )
}

/// Returns the names of the attempts that the orphan completed.
pub(crate) fn orphaned(repo: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(repo.join("tries")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_suffix(".code")?.to_owned())).collect()
}

/// The ways that were not refused as they should be, with what came of them.
pub(crate) fn not_refused(repo: &Path) -> Vec<String> {
    let names: Vec<String> = ways().into_iter().map(|(name, _)| name.to_owned()).collect();
    not_refused_of(repo, &names)
}

/// The same of these.
pub(crate) fn not_refused_of(repo: &Path, names: &[String]) -> Vec<String> {
    let tried = |name: &str, end: &str| {
        std::fs::read_to_string(repo.join(format!("tries/{name}.{end}"))).unwrap_or_default()
    };
    let is_refused =
        |name: &str| tried(name, "code") == "5\n" && tried(name, "out").contains("only a person may");
    let wrong = names.iter().filter(|name| !is_refused(name));
    wrong.map(|name| format!("{name}: {} {}", tried(name, "code"), tried(name, "out"))).collect()
}
