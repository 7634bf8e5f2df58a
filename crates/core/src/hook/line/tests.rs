//! One long table: what rules about commands hold, what they let pass, and what nobody can tell.

use serde_json::json;

use crate::hook::permission::{Isolation, Rules, Ruling, decide};

fn ruling(rules: &Rules, line: &str) -> Ruling {
    decide(Isolation::Minimal, rules, "/w", "Bash", &json!({ "command": line }))
}

fn denying(rules: &[&str]) -> Rules {
    Rules { deny: rules.iter().map(|rule| (*rule).to_owned()).collect(), ..Rules::default() }
}

fn reason(rules: &Rules, line: &str) -> String {
    match ruling(rules, line) {
        Ruling::Deny { reason } => reason,
        other => panic!("{line:?} is {other:?}"),
    }
}

const DENY: [&str; 2] = ["Bash(rm *)", "Bash(git push *)"];

#[test]
fn a_denied_command_is_denied_however_it_is_written() {
    let lines = [
        "rm x",
        "rm",
        "FOO=1 rm x",
        "A=1 B='x y' rm x",
        "a[0]=1 rm x",
        "git  push",
        "git\tpush origin",
        "git push",
        "  rm x",
        "\trm x",
        "if true; then rm x; fi",
        "if rm x; then :; fi",
        "if false; then :; elif rm x; then :; else :; fi",
        "if false; then :; else rm x; fi",
        "! rm x",
        "time rm x",
        "time -p rm x",
        "time -p -- rm x",
        "time ! rm x",
        "\\rm x",
        "'rm' x",
        "\"rm\" x",
        "r''m x",
        "r\"\"m x",
        "r\\m x",
        "$'rm' x",
        "$'\\x72m' x",
        "$'\\162m' x",
        "$'\\u0072m' x",
        "$\"rm\" x",
        "=rm x",
        "command rm x",
        "command -p rm x",
        "env rm x",
        "env A=1 rm x",
        "env -i A=1 rm x",
        "env -u B -C / rm x",
        "env -uB rm x",
        "env --unset=B rm x",
        "env --unset B rm x",
        "env -S 'rm x'",
        "env -S'rm x'",
        "env --split-string='rm x'",
        "/bin/rm x",
        "./rm x",
        "../bin/rm x",
        "~/bin/rm x",
        "$HOME/bin/rm x",
        "\"$DIR\"/rm x",
        "\"$(pwd)/rm\" x",
        "echo x | xargs rm",
        "xargs -n 1 -P4 rm < list",
        "xargs -I{} rm {}",
        "xargs -I {} sh -c 'rm {}'",
        "echo push | xargs git push",
        "nohup rm x &",
        "exec rm x",
        "exec -a ls rm x",
        "exec -c rm x",
        "sudo rm x",
        "sudo -u root rm x",
        "sudo -nu root rm x",
        "sudo --user=root -- rm x",
        "sudo -E A=1 rm x",
        "doas rm x",
        "timeout 5 rm x",
        "timeout -s KILL 5 rm x",
        "timeout -sKILL --kill-after=1 5 rm x",
        "timeout --foreground 5s sudo nice -n 5 rm x",
        "gtimeout 5 rm x",
        "nice rm x",
        "nice -n 10 rm x",
        "nice -10 rm x",
        "ionice -c 3 rm x",
        "stdbuf -oL rm x",
        "setsid -w rm x",
        "taskset -c 0 rm x",
        "flock /tmp/l rm x",
        "flock /tmp/l -c 'rm x'",
        "watch -n 1 rm x",
        "watch 'ls; rm x'",
        "parallel rm ::: x",
        "parallel 'rm {}' ::: x",
        "busybox rm x",
        "chroot / rm x",
        "strace -f -o log rm x",
        "builtin rm x",
        "builtin command rm x",
        "eval rm x",
        "eval \"rm x\"",
        "eval 'if true; then rm x; fi'",
        "eval eval rm x",
        "bash -c 'rm x'",
        "bash -lc 'rm x'",
        "bash -euo pipefail -c 'rm x'",
        "bash -o errexit -c 'rm x' name arg",
        "sh -c \"rm x\"",
        "/bin/sh -c 'ls && rm x'",
        "sh -c 'sh -c \"rm x\"'",
        "sudo bash -c 'rm x'",
        "zsh --no-rcs -c 'rm x'",
        "su - me -c 'rm x'",
        "script -qc 'rm x' log",
        "bash <<'EOF'\nrm x\nEOF",
        "bash -s <<EOF\nrm x\nEOF",
        "bash <<< 'rm x'",
        "sudo sh - <<EOF\nls\nrm x\nEOF",
        ". /dev/stdin <<EOF\nrm x\nEOF",
        "alias ll='rm x'",
        "trap 'rm x' EXIT",
        "trap -- 'rm x' EXIT",
        "(rm x)",
        "( rm x )",
        "((rm x) )",
        "((rm x))",
        "{ rm x; }",
        "echo $(rm x)",
        "echo \"$(rm x)\"",
        "echo \"a $(echo \"$(rm x)\") b\"",
        "x=$(rm x)",
        "x=\"$(rm x)\" ls",
        "echo `rm x`",
        "echo \"`rm x`\"",
        "echo `echo \\`rm x\\``",
        "echo $((1 + $(rm x)))",
        "echo $[1 + $(rm x)]",
        "((i = $(rm x)))",
        "echo ${x:-$(rm x)}",
        "echo \"${x:-`rm x`}\"",
        "echo ${x:-\"$(rm x)\"}",
        "a=(1 $(rm x))",
        "echo ${x:-<(rm x)}",
        "for f in $(rm x); do :; done",
        "for ((i=0; i<$(rm x); i++)); do :; done",
        "case $(rm x) in *) :;; esac",
        "[[ -f $(rm x) ]]",
        "cat <(rm x)",
        "tee >(rm x)",
        "ls > $(rm x)",
        "cat <<< $(rm x)",
        "cat <<EOF\n$(rm x)\nEOF",
        "cat <<EOF\n`rm x`\nEOF",
        "cat <<EOF\nx\nEOF\nrm x",
        "cat <<'EOF'\nit's\nEOF\nrm x",
        "cat <<-EOF\n\tx\n\tEOF\nrm x",
        "cat <<A <<B\na\nA\nb\nB\nrm x",
        "cat <<EOF; rm x\nhello\nEOF",
        "cat <<EOF\nx\\\nEOF\n'\nEOF\nrm x\n: '",
        "cat <<\"E O\"\nx\nE O\nrm x",
        "cat <<$X\n$(rm x)\n$X",
        "ls\nrm x",
        "ls\r\nrm x",
        "rm x &",
        "ls & rm x",
        "ls | rm x",
        "ls |& rm x",
        "ls && rm x",
        "ls || rm x",
        "ls; rm x",
        "ls;rm x",
        "ls 2>&1;rm x",
        "while true; do rm x; done",
        "until rm x; do :; done",
        "for f in a b; do rm \"$f\"; done",
        "for f do rm x; done",
        "for f\ndo\nrm x\ndone",
        "for f (a b) rm x",
        "select f in a; do rm x; done",
        "case x in x) rm x;; esac",
        "case x in (x|y) ls ;& z) rm x;; esac",
        "case x in\n  a) ls ;;\n  *)\n    rm x\n    ;;\nesac",
        "case x in x) case y in y) ls;; esac; rm x;; esac",
        "case x in esac; rm x",
        "f() { rm x; }; f",
        "f () { rm x; }",
        "function f { rm x; }; f",
        "f() ( rm x )",
        "coproc rm x",
        "coproc N { rm x; }",
        "if [[ -f x ]] { rm x }",
        "[[ -f x && ! -d y ]] && rm x",
        "[[ $x =~ ^(a|b)$ ]] || rm x",
        "(( i++ )) || rm x",
        "git -C dir push",
        "git -c k=v push origin",
        "git --no-pager push",
        "git --git-dir=x --work-tree y -C z push -f",
        "sudo git -C dir push",
        "/usr/bin/git push",
        "git \\\n  push",
        "r\\\nm x",
        "git push\\\n",
        "find . -exec rm {} \\;",
        "find . -name '*.o' -exec ls {} \\; -exec rm {} +",
        "find . -execdir sh -c 'rm \"$1\"' _ {} \\;",
        "fd -e o -x rm",
        "find . -exec$x rm {} \\;",
        "find . $x rm {} \\;",
        "nice -n$x 5 rm y",
        "<x rm y",
        ">/dev/null rm x",
        "2>&1 rm x",
        "&>/dev/null rm x",
        "{fd}>x rm y",
        "ls # c\nrm x",
        "echo a#b; rm x",
        "echo \\# ; rm x",
        "echo 'a'\\''b' ; rm x",
        "echo \"a\\\"b\" ; rm x",
        "echo $'a\\'b' ; rm x",
        "echo \"$x\" \"${y}\" ; rm x",
        "echo \"${x:-'}\" ; rm x",
        "echo $# ; rm x",
        "echo ${#x} ; rm x",
        "echo {a; rm x; }",
        "x=(a b); rm x",
        "x=(a\n# )\nb); rm x",
        "ls *(.) ; rm x",
        "repeat 3 rm x",
        "noglob rm x",
    ];
    let rules = denying(&DENY);
    for line in lines {
        let reason = match ruling(&rules, line) {
            Ruling::Deny { reason } => reason,
            other => panic!("{line:?} is {other:?}"),
        };
        assert!(reason.starts_with("Bash is denied by the rule `Bash("), "{line:?}: {reason}");
        // An entity's own limits hold in the same way.
        let limits = Rules { only: Some(vec!["Bash(ls:*)".to_owned()]), ..Rules::default() };
        assert!(matches!(ruling(&limits, line), Ruling::Deny { .. }), "{line:?}");
    }
    assert!(lines.len() > 150);
}

#[test]
fn words_that_are_no_commands_are_not_denied() {
    for line in [
        "ls",
        "git pushx",
        "git log push",
        "git log --grep push",
        "git stash push",
        "git config push.default simple",
        "echo rm x",
        "echo 'rm x'; ls",
        "rmdir x",
        "arm x",
        "cat rm",
        "git commit -m \"fix: a; b\"",
        "git commit -m 'rm x; rm y'",
        "git commit -m \"a && rm x | rm y & rm z\"",
        "git commit -m \"$(cat <<'EOF'\nIt's done (at last); rm x\nrm y\nEOF\n)\"",
        "git commit -F - <<'EOF'\nrm x\n$(rm y) `rm z`\nEOF",
        "git commit -F - <<\\EOF\n$(rm y)\nEOF",
        "cat > notes.md <<EOF\n- don't rm x\n- git push\nEOF",
        "git log --format='%h; %s'",
        "git log --format='%h > %s' 2>&1 | head",
        "echo \"a & b\"",
        "make 2>&1",
        "make >/dev/null 2>&1 && ls",
        "ls # ; rm x",
        "# rm x",
        "echo a \\; rm x",
        "echo a\\\nrm x",
        "x='rm x' ls",
        "x=rm",
        "FILES=(rm x); ls",
        "for rm in a b; do ls; done",
        "case $1 in rm) ls;; push|rm) ls;; esac",
        "[[ $x == rm || $x < rm ]]",
        "command -v rm",
        "command -V rm",
        "type rm",
        "which rm",
        "man rm",
        "trap - EXIT",
        "find . -name rm",
        "find . -name '*.rs' -exec grep -l rm {} +",
        "grep -rn 'rm -rf' .",
        "grep -E 'a|rm x' file",
        "sed -e 's/a;rm x/b/' f",
        "awk '{ print $1; rm }' f",
        "awk 'BEGIN { x = 1 } $1 > 3 { print }' f",
        "python3 -c 'import os; print(os.name)'",
        "python3 - <<'EOF'\nrm = 1\nprint(rm)\nEOF",
        "npm run build -- --rm",
        "docker run --rm image ls",
        "git -C dir status",
        "git -C \"$DIR\" status",
        "git -c core.pager=cat log -p",
        "git --no-pager diff",
        "git add -A && git commit -m 'x' && git status",
        "git branch $BRANCH",
        "cargo test 2>&1 | tail -n 20",
        "cargo test -- --nocapture | grep -v '^$'",
        "RUST_LOG=debug cargo run",
        "for f in *.rs; do echo \"$f\"; done",
        "for i in $(seq 1 3); do echo $i; done",
        "for ((i=0;i<3;i++)); do echo $i; done",
        "while read -r line; do echo \"$line\"; done < file",
        "while (( $i < 3 )); do ((i++)); done",
        "(( (a+b)*c > 2 )) && echo yes",
        "if [ -f x ]; then cat x; fi",
        "if [[ -n \"$x\" ]]; then cat x; fi",
        "[ \"$x\" = rm ] && ls",
        "test -f x || touch x",
        "echo $((1 + 2 * 3))",
        "echo ${x:-rm} ${y//rm/x} ${#z}",
        "a[$i]=3",
        "x+=1",
        "export PATH=\"$HOME/bin:$PATH\"",
        "cd \"$(git rev-parse --show-toplevel)\" && ls",
        "\"$HOME/.cargo/bin/cargo\" build",
        "$HOME/.cargo/bin/cargo build",
        "\"$(git rev-parse --show-toplevel)/run\" x",
        "./node_modules/.bin/tsc --noEmit",
        "~/bin/tool x",
        "bash script.sh",
        "bash -x ./script.sh rm",
        "bash \"$SCRIPT\"",
        "bash \"$SCRIPT\" x",
        "find $DIR \"$OTHER\" -name x",
        "ls | xargs -P$(nproc) -n1 wc",
        "bash --version",
        "sh < script.sh",
        "bash -c 'cd \"$1\" && ls' _ x",
        "bash -c \"cargo test\"",
        "source .venv/bin/activate && pytest",
        "ls *.md | xargs wc -l",
        "ls | xargs -I{} sh -c 'cd {} && echo $PWD && ls'",
        "timeout 60 cargo test",
        "env A=1 cargo test",
        "sudo apt install x",
        "nohup npm start > log 2>&1 &",
        "curl -s 'https://x.org/?a=1&b=2' | jq '.a | .b'",
        "curl -d '{\"a\": \"rm x; b\"}' https://x.org",
        "echo {a,b}.txt",
        "cp x{,.bak}",
        "git diff HEAD@{1} stash@{0}",
        "ls -la; pwd",
        "diff <(ls a) <(ls b)",
        "f() { ls; }; f",
        "time cargo build",
        "! grep -q x y",
        "{ ls; pwd; } > out",
        "(cd x && ls)",
        "echo \"it's\" 'a \"b\"'",
        "echo don\\'t",
        "jq -r '.[] | \"\\(.a) \\(.b)\"' x.json",
        "printf '%s\\n' \"$@\"",
        "gh pr create --title 'x' --body \"$(cat <<'EOF'\n## A\n- `rm x`\nEOF\n)\"",
        "echo é ü ≥ 'ñ; rm x'",
        "",
        ";",
    ] {
        assert_eq!(ruling(&denying(&DENY), line), Ruling::Allow, "{line:?}");
    }
}

#[test]
fn what_cannot_be_told_is_denied_only_where_a_rule_denies_commands() {
    for (line, word) in [
        ("$CMD x", "`$CMD`"),
        ("\"$CMD\" x", "`$CMD`"),
        ("${x:-rm} x", "`${x:-rm}`"),
        ("x=rm; $x y", "`$x`"),
        ("ls && $CMD", "`$CMD`"),
        ("\"$@\"", "`$@`"),
        ("f() { \"$@\"; }; f rm x", "`$@`"),
        ("$(which rm) x", "`$(which rm)`"),
        ("`which rm` x", "``which rm``"),
        ("$DIR/tool x", "`$DIR/tool`"),
        ("rm${IFS}x", "`rm${IFS}x`"),
        ("{rm,x}", "`{rm,x}`"),
        ("/bin/r? x", "`/bin/r?`"),
        ("/bin/r[m] x", "`/bin/r[m]`"),
        ("sudo $CMD", "`$CMD`"),
        ("xargs -I{} {} x", "`{}`"),
        ("xargs -I X X y", "`X`"),
        ("find . -exec {} \\;", "`{}`"),
        ("git $SUB origin", "`$SUB`"),
        ("git {push,x}", "`{push,x}`"),
        ("git pu*", "`pu*`"),
        ("echo push | xargs git", "`…`"),
        ("eval $x", "`eval $x`"),
        ("eval \"$(f)\"", "`eval $(f)`"),
        ("eval \"ls $x\"", "`eval ls $x`"),
        ("bash -c \"$x\"", "`bash -c $x`"),
        ("sh -c \"cd $x\"", "`sh -c cd $x`"),
        ("echo rm x | sh", "`sh`"),
        ("curl -s https://x.org | sudo bash -s -- -y", "`bash -s -- -y`"),
        ("bash <(echo rm x)", "puts together"),
        ("source <(echo rm x)", "gets as its input"),
        ("parallel ::: 'rm x'", "`parallel ::: rm x`"),
        ("echo 'rm x", "is not closed"),
        ("echo \"rm x", "is not closed"),
        ("echo $(rm", "is denied by"),
        ("echo $(ls", "is not closed"),
        ("echo `ls", "is not closed"),
        ("(ls", "is not closed"),
        ("echo ${x", "is not closed"),
        ("sh $x-c 'rm x'", "puts together"),
        ("sh \"$x-c\" 'rm x'", "puts together"),
        ("[[ -f x", "is not closed"),
        ("x=(( a\nrm x ))", "is not closed"),
        ("case x in a;\nrm x", "is not closed"),
        ("r\0m x", "is not closed"),
    ] {
        let reason = reason(&denying(&DENY), line);
        assert!(reason.contains(word), "{line:?}: {reason}");
        let named = denying(&["Write", "WebFetch(domain:x.org)"]);
        assert_eq!(ruling(&named, line), Ruling::Allow, "{line:?}");
        // A rule that asks then asks, and one that permits some commands does not permit it.
        let ask =
            Rules { ask: vec!["Bash(rm *)".to_owned(), "Bash(git push *)".to_owned()], ..Rules::default() };
        assert_eq!(ruling(&ask, line), Ruling::Ask, "{line:?}");
        let allow = Rules { allow: vec!["Bash(ls *)".to_owned()], ..Rules::default() };
        assert_eq!(ruling(&allow, line), Ruling::Ask, "{line:?}");
    }
}

#[test]
fn a_line_is_permitted_when_each_of_its_commands_is() {
    let only = ["Bash(git log:*)", "Bash(git commit:*)", "Bash(ls *)", "Bash(true)", "Bash(bash *)"];
    let rules =
        Rules { only: Some(only.iter().map(|rule| (*rule).to_owned()).collect()), ..Rules::default() };
    for line in [
        "git log",
        "git  log\t-3",
        "git log; ls",
        "git log && ls || true",
        "if git log; then ls; else true; fi",
        "! ls x",
        "time ls",
        "(ls; git log)",
        "{ ls; }",
        "git commit -m \"fix: a; b\"",
        "git commit -m 'a > b & c | d'",
        "git commit -m \"$(cat <<'EOF'\nIt's (done); rm x\nEOF\n)\"",
        "git commit -F - <<'EOF'\n$(rm x) > y\nEOF",
        "git log --format='%h; %s'",
        "git log $(ls)",
        "ls 2>&1 >/dev/null | ls",
        "ls &",
        "'git' log",
        "case $x in a) ls;; *) git log;; esac",
        "bash -c 'rm x'",
        "ls \"$x\" *.md {a,b}",
    ] {
        assert_eq!(ruling(&rules, line), Ruling::Allow, "{line:?}");
    }
    for (line, refused) in [
        ("git log; rm x", "`rm x` is none of these"),
        ("git log $(rm x)", "`rm x`"),
        ("git log \"`rm x`\"", "`rm x`"),
        ("git log <<EOF\n$(rm x)\nEOF", "`rm x`"),
        ("ls <(rm x)", "`rm x`"),
        ("A=1 git log", "`A=1 git log`"),
        ("PATH=/x ls", "`PATH=/x ls`"),
        ("PATH=/x; ls", "`PATH=/x`"),
        ("for PATH in /x; do ls; done", "`for PATH in /x`"),
        ("./git log", "`./git log`"),
        ("/tmp/ls x", "`/tmp/ls x`"),
        ("git -c core.pager=x log", "`git -c core.pager=x log`"),
        ("sudo ls", "`sudo ls`"),
        ("xargs ls", "`xargs ls`"),
        ("$x ls", "`$x ls`"),
        ("'git log' x", "`git log x`"),
        ("ls() { rm x; }", "`rm x`"),
        ("cat x", "`cat x`"),
        ("ls > x", "its output may not go into a file"),
        ("ls >> x", "its output"),
        ("ls &> x", "its output"),
        ("ls >& x", "its output"),
        ("ls >| x", "its output"),
        ("ls 2> x", "its output"),
        ("ls <> x", "its output"),
        ("ls > $x", "its output"),
        ("ls > /dev/null/../x", "its output"),
        ("bash -c 'ls > x'", "its output"),
        ("ls 'x", "this is none of these"),
        ("# ls", "this is none of these"),
    ] {
        let reason = reason(&rules, line);
        assert!(reason.starts_with("this agent may use Bash only as Bash(git log:*), Bash("), "{reason}");
        assert!(reason.contains(refused), "{line:?}: {reason}");
    }
    let none = Rules { only: Some(vec!["Read".to_owned()]), ..Rules::default() };
    assert_eq!(
        reason(&none, "cat <<EOF\nx\nEOF"),
        "Bash is not among the tools that this agent may use; do without it"
    );
}

#[test]
fn a_reason_names_the_command_and_the_rule() {
    let rules = denying(&DENY);
    assert_eq!(reason(&rules, "rm x"), "Bash is denied by the rule `Bash(rm *)` of this run");
    assert_eq!(
        reason(&rules, "ls && sudo -n rm 'x y' &"),
        "Bash is denied by the rule `Bash(rm *)` of this run: the command line runs `rm x y`"
    );
    assert_eq!(
        reason(&rules, "ls; $CMD x"),
        "Bash is denied because of the rule `Bash(rm *)` of this run: Windlass cannot tell what `$CMD` stands for; \
         write the name itself"
    );
    // A rule that certainly means the line is named before one that may.
    assert!(reason(&rules, "$CMD x; git push").contains("`Bash(git push *)`"));
    let long = format!("ls; rm {}", "x".repeat(500));
    assert!(reason(&rules, &long).len() < 250);
}

#[test]
fn patterns_of_every_form_are_held() {
    for (rule, line, is_denied) in [
        ("Bash(git push:*)", "git -C x push", true),
        ("Bash(git push*)", "FOO=1 git push -f", true),
        ("Bash(git  push *)", "git push", true),
        ("Bash(git push)", "git push", true),
        ("Bash(git push)", "git push origin", false),
        ("Bash(git * --force*)", "git -C x push origin --force", true),
        ("Bash(git push * --force)", "git -C x push origin --force", true),
        ("Bash(* --force*)", "ls; git push --force", true),
        ("Bash(*secret*)", "cat 'my secrets'", true),
        ("Bash(sudo *)", "A=1 sudo ls", true),
        ("Bash(sudo *)", "timeout 5 sudo ls", true),
        ("Bash(/bin/rm *)", "/bin/rm x", true),
        ("Bash(rm -rf *)", "rm  -rf x", true),
        ("Bash(rm -rf *)", "rm \"$x\"", false),
        ("Bash(npm run deploy)", "cd x && npm run deploy", true),
        ("Bash(npm run deploy)", "npm --prefix x run deploy", true),
        ("Bash(kubectl delete *)", "kubectl -n prod --context=x delete pod y", true),
        ("Bash(cargo publish*)", "cargo +nightly publish", true),
        ("Bash(cat .env*)", "cat *.md", false),
        ("Bash(* > /etc/*)", "cd x; echo a > /etc/b", true),
        ("Bash(echo * > *)", "cd x; echo a > b", true),
        ("run_shell_command(rm:*)", "sudo rm x", true),
        ("shell(git push)", "! git push", true),
        ("Bash(é *)", "A=1 é x", true),
    ] {
        assert_eq!(
            matches!(ruling(&denying(&[rule]), line), Ruling::Deny { .. }),
            is_denied,
            "{rule} {line:?}"
        );
    }
}

/// Every step of the reader takes a part of the line, so that ten times the line takes ten times as long and not
/// a hundred times. The bound is far above what a debug build needs, and far below what a square would.
#[test]
fn a_long_line_is_decided_at_once() {
    let rules = denying(&["Bash(rm *)", "Bash(git push *)", "Bash(git push*x)", "Bash(*a*b*)"]);
    for piece in [
        "x",
        "word ",
        "'w' ",
        "\"w\" ",
        "$a ",
        "ls -l;",
        "echo $(ls) ",
        "a <<E\nx\nE\n",
        "(",
        "((",
        "$((",
        "$(",
        "${",
        "`",
        "{",
        "{}",
        "[",
        "]",
        "[[ ",
        "git -c push ",
        "sudo ",
        "eval ",
        "case x in ",
        ";;",
        "A=1 ",
        "a[",
        "<(",
        "<<E ",
        "\\\n",
        "*",
        "find -exec ",
        "bash -c ",
        "\n",
    ] {
        for line in
            [piece.repeat(100_000 / piece.len()), format!("git {}", piece.repeat(100_000 / piece.len()))]
        {
            let begin = std::time::Instant::now();
            ruling(&rules, &line);
            assert!(begin.elapsed().as_secs() < 2, "{piece:?} took {:?}", begin.elapsed());
        }
    }
}
