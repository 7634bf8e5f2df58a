//! The syntax of bash that `sh` does not have. Debian's `sh` is dash, and macOS has others.

use super::shell_text::{HIDDEN, Word};

/// Commands that only bash has.
const COMMANDS: [(&str, &str); 11] = [
    ("source", "`source`"),
    ("let", "`let`"),
    ("declare", "`declare`"),
    ("typeset", "`typeset`"),
    ("shopt", "`shopt`"),
    ("mapfile", "`mapfile`"),
    ("readarray", "`readarray`"),
    ("pushd", "`pushd`"),
    ("popd", "`popd`"),
    ("function", "`function`"),
    ("coproc", "`coproc`"),
];

/// Variables that only bash sets.
const VARIABLES: [(&str, &str); 5] = [
    ("RANDOM", "`$RANDOM`"),
    ("PIPESTATUS", "`$PIPESTATUS`"),
    ("BASH_SOURCE", "`$BASH_SOURCE`"),
    ("BASH_REMATCH", "`$BASH_REMATCH`"),
    ("FUNCNAME", "`$FUNCNAME`"),
];

/// Returns the name of a variable that only bash sets.
pub(super) fn variable(name: &str) -> Option<&'static str> {
    VARIABLES.iter().find(|(variable, _)| *variable == name).map(|(_, what)| *what)
}

/// Returns what is special in the words of a command.
pub(super) fn command(words: &[Word]) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut rest = words;
    while let [word, others @ ..] = rest {
        let Some(assignment) = assignment(&word.text) else { break };
        found.extend(assignment.map(|what| (word.start, what)));
        rest = others;
    }
    let [program, args @ ..] = rest else { return found };
    let text = |word: &Word| word.text.clone();
    let args: Vec<(usize, String)> = args.iter().map(|word| (word.start, text(word))).collect();
    let option = |letters: &str| {
        let has = |text: &str| {
            text.strip_prefix('-').is_some_and(|options| {
                !options.starts_with('-') && options.chars().any(|letter| letters.contains(letter))
            })
        };
        args.iter().take_while(|(_, text)| text.starts_with('-')).any(|(_, text)| has(text))
    };
    let start = program.start;
    match program.text.as_str() {
        "set" => {
            let pairs = args.windows(2).find(|pair| {
                matches!(pair, [(_, one), (_, two)] if one.starts_with('-') && one.ends_with('o') && two == "pipefail")
            });
            found.extend(pairs.map(|_| (start, "`set -o pipefail`")));
        }
        "[" | "test" => {
            let equals = args.iter().find(|(_, text)| text == "==" || text == "=~");
            found.extend(
                equals.map(|(at, text)| {
                    (*at, if text == "==" { "`==` in `[ … ]`" } else { "`=~` in `[ … ]`" })
                }),
            );
        }
        "read" if option("adeinNstu") => found.push((start, "this option of `read`")),
        "echo" if option("eE") => found.push((start, "`echo -e`")),
        "printf" if args.first().is_some_and(|(_, text)| text == "-v") => found.push((start, "`printf -v`")),
        "export" if option("f") => found.push((start, "`export -f`")),
        "wait" if option("n") => found.push((start, "`wait -n`")),
        "trap"
            if args.iter().skip(1).any(|(_, text)| matches!(text.as_str(), "ERR" | "DEBUG" | "RETURN")) =>
        {
            found.push((start, "`trap … ERR`"));
        }
        "select" if args.get(1).is_some_and(|(_, text)| text == "in") => found.push((start, "`select`")),
        name => found.extend(COMMANDS.iter().find(|(only, _)| *only == name).map(|(_, what)| (start, *what))),
    }
    found
}

/// Returns whether a word is an assignment, and what is special about it.
#[expect(clippy::option_option, reason = "whether it is one, and whether that is special")]
fn assignment(text: &str) -> Option<Option<&'static str>> {
    let (name, _) = text.split_once('=')?;
    if let Some(name) = name.strip_suffix('+').filter(|name| is_name(name)) {
        return Some((!name.is_empty()).then_some("`a+=b`"));
    }
    if let Some((array, _)) = name.split_once('[') {
        return (is_name(array) && name.ends_with(']')).then_some(Some("`a[0]=b`"));
    }
    is_name(name).then_some(None)
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    text.chars().all(is_part) && text.chars().next().is_some_and(|first| !first.is_ascii_digit())
}

/// Returns whether a bracket after this text starts an array.
pub(super) fn is_array(text: &str) -> bool {
    let name = text.strip_suffix('=').map(|name| name.strip_suffix('+').unwrap_or(name));
    name.is_some_and(is_name)
}

/// Returns whether a substitution is nothing but a file, `$(<file)`, by the text after its bracket. `sh` prints
/// nothing for it.
pub(super) fn is_file_alone(inside: &str) -> bool {
    let file = inside.trim_start_matches([' ', '\t']).strip_prefix('<').map(str::trim_start);
    let Some((file, _)) = file.and_then(|file| file.split_once(')')) else { return false };
    !file.is_empty() && !file.trim_end().contains([' ', '\t', '\n', ';', '<', '>', '&', '|', '(', '`'])
}

/// Returns whether the inside of `((…))` is arithmetic, and not a command in two brackets.
pub(super) fn is_arithmetic(inside: &str) -> bool {
    if ["++", "--", "+=", "-=", "*=", "==", "<=", ">=", "!=", "%="].iter().any(|sign| inside.contains(sign)) {
        return !inside.contains([';', '"', '\'', '/']);
    }
    let sides: Vec<&str> = inside.split(['<', '>', '=']).map(str::trim).collect();
    matches!(sides.as_slice(), [one, other] if is_name(one.trim_start_matches('$')) && other.parse::<i64>().is_ok())
}

/// Returns what is special in the inside of `$((…))`.
pub(super) fn sum(inside: &str) -> Option<&'static str> {
    let has_step = |sign: &str| {
        let mut around = inside.match_indices(sign).map(|(at, _)| {
            let before = inside.get(..at).unwrap_or_default().trim_end();
            let after = inside.get(at + 2..).unwrap_or_default().trim_start();
            (before, after)
        });
        around.any(|(before, after)| {
            let ends =
                |text: &str| text.is_empty() || text.ends_with(['(', ',']) || text.starts_with([')', ',']);
            ends(before) != ends(after)
        })
    };
    if has_step("++") || has_step("--") {
        return Some("`$((i++))`");
    }
    inside.contains("**").then_some("`$((a ** b))`")
}

/// Returns what is special in `${…}`, by the text after its brace.
pub(super) fn parameter(inside: &str) -> Option<&'static str> {
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    if let Some(name) = inside.strip_prefix('!') {
        return name.starts_with(is_part).then_some("`${!name}`");
    }
    // `${#}` and `${#name}`
    let inside = inside.strip_prefix('#').filter(|name| name.starts_with(is_part)).unwrap_or(inside);
    let name = inside.split(|c| !is_part(c)).next().unwrap_or_default();
    if name.is_empty() {
        return None;
    }
    let mut after = inside.get(name.len()..).unwrap_or_default().chars();
    match (after.next(), after.next()) {
        (Some('['), _) => Some("`${a[…]}`"),
        (Some(','), _) => Some("`${x,,}`"),
        (Some('^'), _) => Some("`${x^^}`"),
        (Some('/'), _) => Some("`${x/a/b}`"),
        (Some('@'), _) => Some("`${x@Q}`"),
        (Some(':'), Some(next)) if !"-=+?".contains(next) => Some("`${x:0:1}`"),
        _ => variable(name),
    }
}

/// Returns whether bash makes several words of a word with braces: `{a,b}`, `{1..3}`.
pub(super) fn has_braces(text: &str) -> bool {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        if let Some((inside, _)) = after.split_once('}') {
            let is_word = |c: char| c.is_ascii_alphanumeric() || "_./-,+*".contains(c) || c == HIDDEN;
            let inside = inside.rsplit('{').next().unwrap_or_default();
            let ends = inside.split_once("..");
            let is_end = |text: &str| {
                !text.is_empty() && (text.len() == 1 || text.trim_start_matches('-').parse::<u32>().is_ok())
            };
            let is_range = ends.is_some_and(|(one, other)| is_end(one) && is_end(other));
            if inside.chars().all(is_word) && (inside.contains(',') || is_range) {
                return true;
            }
        }
        rest = after;
    }
    false
}
