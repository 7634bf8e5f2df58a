//! Finds the program that a command line starts first.

use super::ShellScript;

/// The words that a shell knows without a program.
const OF_THE_SHELL: &str = ". : ! [ [[ { alias bg break builtin case cd chdir command continue declare dirs do done echo \
    elif else esac eval exec exit export false fc fg fi for function getopts hash help history if in jobs kill let local \
    logout mapfile popd printf pushd pwd read readonly return select set shift shopt source suspend test then time times \
    trap true type typeset ulimit umask unalias unset until wait while";

/// Returns the name or path of the program that a command line starts first. Returns `None` if the shell itself
/// does the first command, or if only the shell knows the program.
pub fn first_program(line: &str) -> Option<String> {
    let line = line.trim_start();
    let script = ShellScript::read(line);
    // The commands of substitutions are in the list, too. The first command of the line contains them.
    let is_first = |command: &&super::ShellCommand| !command.raw.is_empty() && line.starts_with(&command.raw);
    let first = script.commands.iter().filter(is_first).max_by_key(|command| command.raw.len())?;
    let program = first.word(first.program)?;
    let is_expanded = first.words.get(first.program).is_none_or(|word| word.hole.is_some())
        || program.contains(['~', '*', '?', '[']);
    let is_own = OF_THE_SHELL.split_whitespace().any(|word| word == program);
    let has_own_path = (0..first.program)
        .filter_map(|at| first.word(at))
        .any(|word| word.split(['=', '+']).next() == Some("PATH"));
    let is_known = !is_expanded && !is_own && !has_own_path && !first.is_sum && !program.is_empty();
    is_known.then(|| program.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_of_a_line_is_found_whatever_follows() {
        for (line, program) in [
            ("nosuch", "nosuch"),
            ("  make test --all", "make"),
            ("./build/app --self-test", "./build/app"),
            ("'./my app' x", "./my app"),
            ("A=1 B=$(x y) nosuch", "nosuch"),
            ("nosuch \"$(date)\" `x`", "nosuch"),
            ("make \"$(m)\"; x", "make"),
            ("make && ./build/app", "make"),
            ("make | tee log", "make"),
            ("timeout 5 ./build/app", "timeout"),
            ("env ./build/app", "env"),
            ("sh -c './build/app'", "sh"),
            ("nosuch >log 2>&1", "nosuch"),
        ] {
            assert_eq!(first_program(line).as_deref(), Some(program), "{line}");
        }
    }

    #[test]
    fn a_line_that_begins_with_the_shell_or_an_expansion_names_no_program() {
        for line in [
            "",
            "cd . && ./x",
            "test -f x",
            "[ -f x ]",
            "! x",
            "if x; then y; fi",
            "$CARGO test",
            "\"$X\"",
            "`x`",
            "~/bin/x",
            "./b*/app",
            "PATH=.:$PATH x",
            "A=1",
            "((1))",
            ". ./x",
            "# x",
        ] {
            assert_eq!(first_program(line), None, "{line}");
        }
    }
}
