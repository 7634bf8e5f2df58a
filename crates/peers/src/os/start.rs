//! Starts a program without copying this process.
//!
//! The owner of a run starts several programs in every turn. `fork` copies the page tables of the owner, and
//! every page that either side writes afterwards. Here the new process borrows the memory until it executes
//! the program, as in `posix_spawn`, which cannot set limits.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use libc::{c_char, c_int, c_void};
use rustix::process::{Pid, WaitOptions, waitpid};

/// A program to start, in its own process group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewProgram<'a> {
    /// A path, or a name to find on the `PATH` of `env`.
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [&'a OsStr],
    /// The whole environment.
    pub(crate) env: &'a [(OsString, OsString)],
    pub(crate) cwd: &'a Path,
    /// Standard input, output and error.
    pub(crate) streams: [BorrowedFd<'a>; 3],
    /// Set for a program that may run code of an agent.
    pub(crate) is_marked: bool,
}

/// More than the new process needs before it executes the program.
const STACK: usize = 64 * 1024;
const STACK_ALIGNMENT: usize = 16;
/// The path to search without a `PATH`.
const USUAL_PATH: &str = "/bin:/usr/bin";
const SHELL: &str = "/bin/sh";
const LAST_SIGNAL: c_int = 64;
/// The exit code of a process that cannot execute its program. Nobody sees it.
const FAILED: c_int = 127;

/// Starts a program. Returns when it runs, or the error that prevents it.
pub(crate) fn start(new: &NewProgram<'_>) -> io::Result<Pid> {
    let words = [new.program.as_os_str()].into_iter().chain(new.args.iter().copied());
    let argv = words.map(text).collect::<io::Result<Vec<_>>>()?;
    let envp = new.env.iter().map(variable).collect::<io::Result<Vec<_>>>()?;
    let candidates: io::Result<Vec<_>> =
        paths_of(new).into_iter().map(|path| text(path.as_os_str())).collect();
    let (candidates, cwd) = (candidates?, text(new.cwd.as_os_str())?);
    let (candidates, argv, envp) = (pointers(&candidates), pointers(&argv), pointers(&envp));
    let mut birth = Birth {
        candidates: candidates.as_ptr(),
        argv: argv.as_ptr(),
        envp: envp.as_ptr(),
        cwd: cwd.as_ptr(),
        streams: new.streams.map(|stream| stream.as_raw_fd()),
        is_marked: new.is_marked,
        error: 0,
    };
    let pid = borrow_memory(&mut birth)?;
    if birth.error == 0 {
        return Ok(pid);
    }
    let _ = waitpid(Some(pid), WaitOptions::empty());
    match birth.error {
        libc::ENOEXEC => start_script(new),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Starts a script that does not name its shell.
fn start_script(new: &NewProgram<'_>) -> io::Result<Pid> {
    let script = paths_of(new).into_iter().find(|path| path.is_file());
    let script = script.filter(|_| new.program != Path::new(SHELL));
    let script = script.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOEXEC))?;
    let args = [&[script.as_os_str()], new.args].concat();
    start(&NewProgram { program: Path::new(SHELL), args: &args, ..*new })
}

fn text(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

fn variable((name, value): &(OsString, OsString)) -> io::Result<CString> {
    let bytes = [name.as_bytes(), b"=", value.as_bytes()].concat();
    text(&OsString::from_vec(bytes))
}

/// Returns the paths at which the program may be, in order.
fn paths_of(new: &NewProgram<'_>) -> Vec<PathBuf> {
    if new.program.as_os_str().as_bytes().contains(&b'/') {
        return vec![new.program.to_owned()];
    }
    let set = new.env.iter().find(|(name, _)| name == "PATH");
    let path = set.map_or(OsStr::new(USUAL_PATH), |(_, path)| path);
    std::env::split_paths(path).map(|folder| folder.join(new.program)).collect()
}

/// Returns the pointers to some texts, ended by a null pointer.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Everything that the new process needs. It must allocate nothing.
struct Birth {
    candidates: *const *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
    cwd: *const c_char,
    streams: [c_int; 3],
    is_marked: bool,
    /// The error that prevented the program, or 0.
    error: c_int,
}

/// Makes the new process, which borrows the memory of this one until it executes its program or exits. This
/// thread waits for that.
#[expect(unsafe_code, reason = "no library starts a process with limits and without a copy")]
fn borrow_memory(birth: &mut Birth) -> io::Result<Pid> {
    let mut stack: Vec<u8> = Vec::with_capacity(STACK);
    // SAFETY: the stack lives until the call returns, and the new process no longer uses it then
    // (CLONE_VFORK). It grows down from its aligned end. `birth` and everything that it points to live as
    // long, and nobody else uses them meanwhile. All signals are blocked: no handler of this process runs
    // in the new one, which removes the handlers before it accepts signals.
    let pid = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let end = stack.as_mut_ptr().add(STACK);
        let end = end.sub(end as usize % STACK_ALIGNMENT);
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let pid = libc::clone(become_program, end.cast(), flags, (&raw mut *birth).cast());
        let outcome = if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) };
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        outcome?
    };
    Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Runs in the new process: prepares it and executes the program.
#[expect(unsafe_code, reason = "runs between the birth of a process and its program")]
extern "C" fn become_program(birth: *mut c_void) -> c_int {
    // SAFETY: only system calls, on data that the waiting parent keeps alive; nothing allocates, takes a lock
    // or panics. `_exit` leaves the shared memory alone.
    unsafe {
        let birth = &mut *birth.cast::<Birth>();
        birth.error = prepare(birth).unwrap_or_else(|| execute(birth));
        libc::_exit(FAILED)
    }
}

/// Applies the settings of the new process. Returns the error, if there is one.
#[expect(unsafe_code, reason = "runs between the birth of a process and its program")]
unsafe fn prepare(birth: &Birth) -> Option<c_int> {
    // SAFETY: as in `become_program`.
    unsafe {
        let [input, output, error] = birth.streams;
        let is_done = stream(input, 0)
            && stream(output, 1)
            && stream(error, 2)
            && libc::setpgid(0, 0) == 0
            && libc::chdir(birth.cwd) == 0
            && (!birth.is_marked || mark() == 0);
        if !is_done {
            return Some(*libc::__errno_location());
        }
        for signal in 1..=LAST_SIGNAL {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
                && (action.sa_sigaction != libc::SIG_IGN || signal == libc::SIGPIPE)
                && action.sa_sigaction != libc::SIG_DFL
            {
                let usual: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &raw const usual, std::ptr::null_mut());
            }
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        None
    }
}

/// Gives a descriptor to the program under a standard number.
#[expect(unsafe_code, reason = "runs between the birth of a process and its program")]
unsafe fn stream(from: c_int, number: c_int) -> bool {
    // SAFETY: plain system calls.
    unsafe {
        match from == number {
            true => libc::fcntl(from, libc::F_SETFD, 0) == 0,
            false => libc::dup2(from, number) == number,
        }
    }
}

/// Sets the limit that marks a program that no person started, see [`super::limits`].
#[expect(unsafe_code, reason = "runs between the birth of a process and its program")]
unsafe fn mark() -> c_int {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a plain system call on a local value.
    unsafe { libc::setrlimit(libc::RLIMIT_LOCKS, &raw const none) }
}

/// Executes the first candidate that is there. Returns the error if there is none.
#[expect(unsafe_code, reason = "runs between the birth of a process and its program")]
unsafe fn execute(birth: &Birth) -> c_int {
    let mut error = libc::ENOENT;
    let mut next = birth.candidates;
    // SAFETY: the list ends with a null pointer.
    unsafe {
        while !(*next).is_null() {
            libc::execve(*next, birth.argv, birth.envp);
            match *libc::__errno_location() {
                libc::ENOENT | libc::ENOTDIR => {}
                // A later folder may have one that may be executed.
                libc::EACCES => error = libc::EACCES,
                other => return other,
            }
            next = next.add(1);
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    fn run(program: &str, args: &[&str], env: &[(&str, &str)], cwd: &str) -> io::Result<String> {
        let (reader, writer) = io::pipe().unwrap();
        let null = File::open("/dev/null").unwrap();
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let env: Vec<_> = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let pid = start(&NewProgram {
            program: Path::new(program),
            args: &args,
            env: &env,
            cwd: Path::new(cwd),
            streams: [null.as_fd(), writer.as_fd(), null.as_fd()],
            is_marked: true,
        })?;
        drop(writer);
        let mut said = String::new();
        (&reader).read_to_string(&mut said).unwrap();
        waitpid(Some(pid), WaitOptions::empty()).unwrap();
        Ok(said)
    }

    #[test]
    fn a_program_gets_its_arguments_folder_environment_group_and_mark() {
        let script = "echo \"$0 $1 $PWD $A\"; set -- $(cat /proc/$$/stat); \
                      test $1 = $5 && grep locks /proc/$$/limits";
        let env = [("A", "b"), ("PATH", "/no:/usr/bin:/bin")];
        let said = run("sh", &["-c", script, "x", "y z"], &env, "/tmp");
        let said = said.unwrap();
        let (first, limits) = said.split_once('\n').unwrap();
        assert_eq!(first, "x y z /tmp b");
        assert_eq!(limits.split_whitespace().skip(3).take(2).collect::<Vec<_>>(), ["0", "0"], "{limits}");
    }

    #[test]
    fn it_accepts_every_signal() {
        let said = run("/bin/cat", &["/proc/self/status"], &[], "/").unwrap();
        let mask = |name: &str| {
            let mask = said.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            u64::from_str_radix(mask.trim(), 16).unwrap()
        };
        assert_eq!((mask("SigBlk:"), mask("SigIgn:") & 1 << (libc::SIGPIPE - 1)), (0, 0), "{said}");
    }

    #[test]
    fn a_program_or_folder_that_is_not_there_is_an_error() {
        let kind = |program, cwd| run(program, &[], &[("PATH", "/usr/bin")], cwd).unwrap_err().kind();
        assert_eq!(kind("no-such-program", "/"), io::ErrorKind::NotFound);
        assert_eq!(kind("/bin/sh", "/no/such/folder"), io::ErrorKind::NotFound);
        assert_eq!(kind("/etc/passwd", "/"), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_script_without_a_first_line_is_run_by_the_shell() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().unwrap();
        let script = temp.path().join("script");
        std::fs::write(&script, "echo \"ran $1\"\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = temp.path().to_str().unwrap();
        assert_eq!(run("script", &["a"], &[("PATH", path)], "/").unwrap(), "ran a\n");
    }
}
