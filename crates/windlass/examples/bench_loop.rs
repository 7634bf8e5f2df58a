//! `windlass loop` with each real agent CLI on a scripted model, compared with a bare shell loop; CPU per turn.
//!
//! `cargo xtask bench loop`, or `cargo run --release -p windlass --example bench_loop [TURNS] [ROUNDS] [CLI ...]`
//! after `cargo build --release`. Without a CLI, all that are installed take part, and then runs that wait.
//!
//! Both loops run the same turns: the agent appends a line to a file by its shell tool and stops. They take
//! turns in being first. The bare loop takes no snapshots and has no log and no hooks.
//!
//! A third loop measures the CPU of Windlass's own processes: that of everything below `windlass loop`, without
//! the agent and git. These run below this program under their own names, which writes down what they used. This
//! takes time, so the second loop starts them directly. The agent starts
//! hooks, whose CPU would count as the agent's, so they are measured one by one.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a measuring program, run by hand"
)]

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_testkit::agents::Agent;
use windlass_testkit::programs::{cache_folder, on_path};
use windlass_testkit::{Model, Sealed, eventually, procs, reply, say, shell};

/// The file to which the agent and git add what they used.
const USED: &str = "BENCH_USED";
/// The programs to start in their place.
const REAL: &str = "BENCH_REAL_";
/// The `PATH` without them.
const PATH: &str = "BENCH_PATH";
const STARTS: u32 = 100;
const WAITING: usize = 20;
const WATCHED: Duration = Duration::from_secs(20);
const PROMPT: &str = "Append a line to progress.txt and stop.";

/// An agent CLI under measurement.
#[derive(Clone, Copy)]
struct Cli {
    name: &'static str,
    /// The words of one turn in a bare loop, before the prompt. Nobody is asked for a permission.
    bare: &'static [&'static str],
}

const CLIS: [Cli; 5] = [
    Cli { name: "claude", bare: &["--permission-mode", "bypassPermissions", "-p"] },
    Cli { name: "codex", bare: &["exec", "--json", "--dangerously-bypass-approvals-and-sandbox"] },
    Cli { name: "opencode", bare: &["run", "--format", "json"] },
    Cli { name: "copilot", bare: &["--allow-all-tools", "-p"] },
    Cli { name: "gemini", bare: &["--yolo", "-p"] },
];

/// A CLI with its program.
#[derive(Clone)]
struct Subject {
    cli: Cli,
    bin: PathBuf,
}

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let name = args.next().map(PathBuf::from).unwrap_or_default();
    let name = name.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    if let Some(real) = std::env::var_os(format!("{REAL}{name}")) {
        return measured(&name, real, args);
    }
    let args: Vec<String> = args.map(|arg| arg.into_string().unwrap()).collect();
    let (numbers, names): (Vec<_>, Vec<_>) = args.iter().partition(|arg| arg.parse::<usize>().is_ok());
    let number = |nth: usize, default| numbers.get(nth).map_or(default, |text| text.parse().unwrap());
    let (turns, rounds) = (number(0, 8), number(1, 3));
    // What an owner leaves behind ends below this process.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let hook = hook_cpu();
    println!("CPU of one `windlass hook` {:.2} ms", ms(hook));
    for cli in CLIS.into_iter().filter(|cli| names.is_empty() || names.iter().any(|name| *name == cli.name)) {
        let agent = Agent::named(cli.name);
        match agent.bin() {
            Some(bin) => compare(&Subject { cli, bin }, hook, turns, rounds),
            None => println!("{}, so there is no comparison with a bare loop", agent.why_not()),
        }
    }
    if names.is_empty() {
        wait_for_people();
    }
    ExitCode::SUCCESS
}

/// Runs the program whose name this process has, and writes down its CPU time and that of all below it.
fn measured(name: &str, real: OsString, args: impl Iterator<Item = OsString>) -> ExitCode {
    // What they start themselves is already counted.
    let path = std::env::var_os(PATH).unwrap();
    let status = Command::new(real).args(args).env("PATH", path).status().unwrap();
    let used = cpu(libc::RUSAGE_SELF) + cpu(libc::RUSAGE_CHILDREN);
    let mut file = OpenOptions::new().append(true).open(std::env::var_os(USED).unwrap()).unwrap();
    file.write_all(format!("{name} {}\n", used.as_micros()).as_bytes()).unwrap();
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    ExitCode::from(u8::try_from(code).unwrap())
}

fn compare(subject: &Subject, hook: Duration, turns: usize, rounds: usize) {
    let (mut ratios, mut bare, mut ours, mut own, mut git, mut agent) =
        (vec![], vec![], vec![], vec![], vec![], vec![]);
    // The first start of a program reads it from the disk.
    measure_bare(subject, 1);
    for round in 0..rounds {
        let (mut is_bare, mut took) = (round % 2 == 0, [0.0; 2]);
        for _ in 0..2 {
            if is_bare {
                took[0] = measure_bare(subject, turns).as_secs_f64();
            } else {
                took[1] = measure_windlass(subject, turns).as_secs_f64();
                let loop_time = measure_cpu(subject, turns);
                let per_turn = |cpu: Duration| ms(cpu) / turns as f64;
                let beside = hook * loop_time.hooks;
                own.push(per_turn(loop_time.own + beside));
                git.push(per_turn(loop_time.git));
                agent.push(per_turn(loop_time.agent.saturating_sub(beside)));
            }
            is_bare = !is_bare;
        }
        ratios.push(took[1] / took[0]);
        bare.push(took[0]);
        ours.push(took[1]);
    }
    println!("{turns} turns of {}, {rounds} rounds: median (range)", subject.cli.name);
    print("bare shell loop, seconds", &mut bare);
    print("windlass loop, seconds", &mut ours);
    print("ratio (goal: at most 1.05)", &mut ratios);
    print("CPU per turn, Windlass itself, ms (goal: at most 10)", &mut own);
    print("CPU per turn, git for snapshots, ms", &mut git);
    print("CPU per turn, the agent, ms", &mut agent);
}

/// The agent appends a line in every turn, then it stops.
fn model() -> Model {
    let turn = reply(|request| match request.last_user_text().contains("appended") {
        true => say("I appended a line."),
        false => shell("echo line >> progress.txt; echo appended"),
    });
    Model::script([]).default(turn).start()
}

/// Returns the variables with which the CLI uses the model.
fn variables(sealed: &Sealed, model: &Model, subject: &Subject) -> Vec<(&'static str, String)> {
    let mut env = match subject.cli.name {
        "claude" => sealed.claude_env(model),
        name => sealed.agent_env(name, model),
    };
    // It unpacks itself once, and not in each place.
    let unpacked = cache_folder().map(|folder| folder.join("copilot-unpacked").display().to_string());
    env.extend(unpacked.map(|folder| ("COPILOT_CACHE_HOME", folder)));
    env
}

fn measure_bare(subject: &Subject, turns: usize) -> Duration {
    let (sealed, model) = (Sealed::new(), model());
    let mut shell = sealed.command("/bin/sh");
    shell.envs(variables(&sealed, &model, subject));
    let text = "n=$1; shift; i=0; while [ $i -lt $n ]; do \"$@\" || exit 1; i=$((i+1)); done";
    shell.args(["-c", text, "sh", &turns.to_string()]).arg(&subject.bin).args(subject.cli.bare).arg(PROMPT);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    assert!(shell.status().unwrap().success());
    let took = begin.elapsed();
    assert_eq!(lines(&sealed), turns);
    took
}

fn windlass_loop(sealed: &Sealed, model: &Model, subject: &Subject, bin: &Path, turns: usize) -> Command {
    let mut windlass = sealed.windlass();
    windlass.envs(variables(sealed, model, subject));
    windlass.args(["loop", PROMPT, "--driver", subject.cli.name, "--agent-bin"]).arg(bin);
    windlass.args(["--max-iterations", &turns.to_string()]);
    windlass.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    windlass
}

fn measure_windlass(subject: &Subject, turns: usize) -> Duration {
    let (sealed, model) = (Sealed::new(), model());
    let mut windlass = windlass_loop(&sealed, &model, subject, &subject.bin, turns);
    let begin = Instant::now();
    let status = windlass.status().unwrap();
    let took = begin.elapsed();
    reap_all();
    assert_eq!(status.code(), Some(9), "the loop uses up its turns");
    assert_eq!(lines(&sealed), turns);
    took
}

/// Waits for everything that an owner left behind, such as its last host, so that its CPU counts for no other loop.
fn reap_all() {
    while rustix::process::wait(rustix::process::WaitOptions::empty()).is_ok() {}
}

/// The CPU times of one `windlass loop`.
struct LoopCpu {
    own: Duration,
    git: Duration,
    agent: Duration,
    hooks: u32,
}

fn measure_cpu(subject: &Subject, turns: usize) -> LoopCpu {
    let (sealed, model) = (Sealed::new(), model());
    let (bin, used) = (sealed.root().join("bin"), sealed.write("used", ""));
    fs::create_dir(&bin).unwrap();
    let this = std::env::current_exe().unwrap();
    let name = subject.cli.name;
    let mut windlass = windlass_loop(&sealed, &model, subject, &bin.join(name), turns);
    for (name, real) in [("git", on_path("git").unwrap()), (name, subject.bin.clone())] {
        symlink(&this, bin.join(name)).unwrap();
        windlass.env(format!("{REAL}{name}"), real);
    }
    let path = std::env::join_paths([bin.clone()].into_iter().chain(paths())).unwrap();
    windlass.env("PATH", path).env(USED, &used).env(PATH, std::env::var_os("PATH").unwrap());
    let before = cpu(libc::RUSAGE_CHILDREN);
    assert_eq!(windlass.status().unwrap().code(), Some(9), "the loop uses up its turns");
    reap_all();
    let all = cpu(libc::RUSAGE_CHILDREN) - before;
    assert_eq!(lines(&sealed), turns);
    let used = fs::read_to_string(&used).unwrap();
    let sum = |name: &str| {
        let of = |line: &str| line.strip_prefix(name).map(|micros| micros.trim().parse::<u64>().unwrap());
        Duration::from_micros(used.lines().filter_map(of).sum())
    };
    let (git, agent) = (sum("git"), sum(name));
    LoopCpu { own: all.saturating_sub(git + agent), git, agent, hooks: hooks(&sealed) }
}

fn paths() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// Counts the hook calls in the log of the only run.
fn hooks(sealed: &Sealed) -> u32 {
    let run = only_run(sealed);
    let output = sealed.windlass().args(["logs", &run, "--json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let is_hook = |line: &&str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["type"].as_str().is_some_and(|kind| kind.starts_with("hook."))
    };
    u32::try_from(text.lines().filter(is_hook).count()).unwrap()
}

fn only_run(sealed: &Sealed) -> String {
    let output = sealed.windlass().args(["ps", "--all", "--json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let run = text.lines().find_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        Some(line["run"].as_str().or(line["id"].as_str())?.to_owned())
    });
    run.unwrap()
}

fn lines(sealed: &Sealed) -> usize {
    fs::read_to_string(sealed.repo().join("progress.txt")).unwrap().lines().count()
}

/// Measures a hook whose run answers at once.
fn hook_cpu() -> Duration {
    let sealed = Sealed::new();
    let socket = sealed.root().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let call: Value = serde_json::from_str(&line).unwrap();
            let answer = json!({"v": 1, "id": call["id"], "exit": 0, "stdout": "{}", "stderr": ""});
            stream.write_all(format!("{answer}\n").as_bytes()).unwrap();
        }
    });
    let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "x".repeat(600)}});
    let input = sealed.write("payload", payload.to_string());
    cpu_of_one(|| {
        let mut hook = sealed.windlass();
        hook.args(["hook", "PreToolUse", "--closed"]).env("WINDLASS_SOCKET", &socket);
        (hook, File::open(&input).unwrap())
    })
}

fn cpu_of_one(make: impl Fn() -> (Command, File)) -> Duration {
    let before = cpu(libc::RUSAGE_CHILDREN);
    for _ in 0..STARTS {
        let (mut command, input) = make();
        let status = command.stdin(input).stdout(Stdio::null()).stderr(Stdio::inherit()).status().unwrap();
        assert!(status.success());
    }
    (cpu(libc::RUSAGE_CHILDREN) - before) / STARTS
}

/// Measures runs that wait for a person, with their agents. The agents are not counted.
fn wait_for_people() {
    let sealed = Sealed::new();
    let script = json!({"default": {"steps": [{"ask": {"question": "Which?", "options": ["a", "b"]}}]}});
    let script = sealed.write("ask.json", script.to_string());
    for _ in 0..WAITING {
        let mut windlass = sealed.windlass();
        windlass
            .args(["loop", "ask me", "--driver", "sim", "--detach", "--beside"])
            .env("WINDLASS_SIM_SCRIPT", &script);
        assert!(windlass.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    }
    let waiting = || {
        let output = sealed.windlass().args(["ps"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().matches(" waiting ").count()
    };
    eventually(Duration::from_secs(60), || (waiting() == WAITING).then_some(()));
    // The longer a run waits, the rarer it looks around.
    std::thread::sleep(WATCHED);
    let ours: Vec<i32> = sealed
        .processes()
        .into_iter()
        .filter(|process| !process.command.contains(" sim "))
        .map(|process| process.pid)
        .collect();
    let hosts = procs::all().into_iter().filter(|process| {
        let is_host =
            process.command.contains("windlass host ") || process.command.contains("windlass keep ");
        is_host && process.command.contains(&sealed.root().display().to_string())
    });
    let ours: Vec<i32> = ours.into_iter().chain(hosts.map(|process| process.pid)).collect();
    let before: Duration = ours.iter().map(|pid| run_time(*pid)).sum();
    std::thread::sleep(WATCHED);
    let used = ours.iter().map(|pid| run_time(*pid)).sum::<Duration>() - before;
    let share = used.as_secs_f64() / WATCHED.as_secs_f64() * 100.0;
    let seconds = WATCHED.as_secs();
    println!(
        "{WAITING} waiting runs, {} processes: {:.1} ms of CPU in {seconds} s, {share:.4} % of a core (goal: none)",
        ours.len(),
        ms(used)
    );
}

/// Returns the CPU time of a live process, from all its threads.
fn run_time(pid: i32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let nanos = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// Returns the CPU time of this process or of its children that were waited for, in user and system mode.
#[expect(unsafe_code, reason = "no safe function gives it in microseconds")]
fn cpu(of: i32) -> Duration {
    // SAFETY: the kernel fills the structure, of which every bit pattern is valid.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(of, &raw mut usage), 0);
        usage
    };
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.cast_unsigned()) + Duration::from_micros(time.tv_usec.cast_unsigned())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn print(what: &str, numbers: &mut [f64]) {
    numbers.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (numbers.first(), numbers.last()) else { return };
    println!("{what:52} {:8.3} ({least:.3} to {most:.3})", numbers[numbers.len() / 2]);
}
