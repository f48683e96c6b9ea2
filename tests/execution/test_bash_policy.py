"""Policies judge what a command line would run."""

import itertools
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.builtin.bash import BashToolPolicy
from toolwright.builtin.bash._syntax import read_script
from toolwright.builtin.bash._tokens import refuse_unread
from toolwright.builtin.bash._words import Refused
from toolwright.errors import UsageError

POLICY = BashToolPolicy(
    allowed_command_prefixes=(
        "echo",
        "date",
        "xargs",
        "cat",
        "sh",
        "ls",
        "head",
        "git",
        "sort",
        "test",
    )
)


def test_all_commands_that_were_found_are_listed() -> None:
    verdict = POLICY.check("echo \"$(date)\" | xargs -n 1 cat && sh -c 'ls -l'")
    assert verdict.commands == (
        ("echo", '"$(date)"'),
        ("date",),
        ("xargs", "-n", "1", "cat"),
        ("cat",),
        ("sh", "-c", "ls -l"),
        ("ls", "-l"),
    )


def test_what_runs_is_what_was_judged_with_every_word_quoted() -> None:
    checked = POLICY.check('cat a\\ b "c d" src/*.py | head -3 2>/dev/null').checked
    assert checked == "cat 'a b' 'c d' src/*.py | head -3 2> /dev/null"


def test_a_repository_cannot_make_git_run_its_programs() -> None:
    checked = POLICY.check("git log -3").checked
    assert "core.fsmonitor=false" in checked
    assert "core.hooksPath=/dev/null" in checked
    assert checked.endswith("log --no-ext-diff --no-textconv -3")


def test_a_prefix_of_several_words_allows_only_that() -> None:
    policy = BashToolPolicy(allowed_command_prefixes=("git log", "ls"))
    assert policy.check("git log -3").allowed
    assert not policy.check("git status").allowed
    assert not policy.check("git -C x log").allowed


def test_an_interpreter_that_is_listed_runs_any_code_with_or_without_a_sandbox() -> None:
    policy = BashToolPolicy(allowed_command_prefixes=("python3 -c", "make"))
    for sandboxed in (False, True):
        assert policy.check("python3 -c 'print(1)'", sandboxed=sandboxed).allowed
        assert policy.check("make test", sandboxed=sandboxed).allowed
        assert not policy.check("python3 x.py", sandboxed=sandboxed).allowed
        assert not policy.check("node -e 1", sandboxed=sandboxed).allowed
    assert not policy.check("make").read_only


def test_a_program_that_is_not_known_runs_only_in_a_sandbox() -> None:
    policy = BashToolPolicy(allowed_command_prefixes=("mytool", "sh", "ls"))
    assert "'mytool' is not a program that is known here" in policy.check("mytool x").reason
    assert policy.check("mytool x", sandboxed=True).allowed
    assert not policy.check("mytool x", sandboxed=True).read_only
    assert "runs a script that cannot be read here" in policy.check("sh x.sh").reason
    assert policy.check("sh x.sh", sandboxed=True).allowed
    assert not policy.check("sh -c id", sandboxed=True).allowed


def test_a_sandbox_lets_no_option_of_a_known_program_through() -> None:
    policy = BashToolPolicy(allowed_command_prefixes=("git", "sort", "find"))
    for command in ("git -c core.pager=id log", "sort --compress-program=id f", "find . -delete"):
        assert not policy.check(command, sandboxed=True).allowed, command


def test_a_refusal_names_the_word_and_what_it_would_do() -> None:
    assert POLICY.check("sort --outpu=x f").reason == (
        "the option '--outpu=x' of 'sort' is not known here; write '--output' out"
    )
    assert POLICY.check("sort -uo x f").reason == (
        "'--output' of 'sort' writes a file; redirect the output instead, or list it with this option"
    )
    assert POLICY.check("sort --compress-program=x f").reason == (
        "'--compress-program' of 'sort' runs another program"
    )
    sed = BashToolPolicy(("sed",))
    assert sed.check("sed s/a/b/e f").reason == "the flag 'e' of sed's 's' runs another program"
    assert sed.check("sed 1eid f").reason == "the command 'e' of 'sed' runs another program"
    assert "loads settings" in POLICY.check("git clone -c a.b=c x").reason


def test_an_option_that_the_prefix_spells_out_is_covered() -> None:
    policy = BashToolPolicy(allowed_command_prefixes=("sed -i", "sort -o"))
    assert policy.check("sed -i s/a/b/ f").allowed
    assert not policy.check("sed -i 's/a/id/e' f").allowed
    assert policy.check("sort -o f f").allowed
    assert not policy.check("sort -o f --compress-program=x f").allowed


@pytest.mark.row("004-B5b")
def test_operators_are_blocked_where_they_are_operators() -> None:
    policy = BashToolPolicy(blocked_operators=("|", ";", "&&", "||", "`"))
    assert policy.check("echo 'a;b' \"c|d\"").allowed
    for command in ("ls; id", "ls\nid", "ls | id", "ls |& id", "ls || id", "echo `id`", "echo $(id)",
                    "sh -c 'ls; id'", "eval 'ls | id'"):  # fmt: skip
        assert not policy.check(command).allowed, command
    assert not BashToolPolicy(blocked_operators=(">",)).check("ls >> f").allowed
    assert not BashToolPolicy(blocked_operators=("rm -rf",)).check("rm -rf /").allowed


OPERATORS = {
    ";": "ls ; ls", "&": "ls & ls", "&&": "ls && ls", "||": "ls || ls", "|": "ls | cat", "|&": "ls |& cat",
    "!": "! ls", "(": "( ls )", "{": "{ ls; }", "$(": "echo $(ls)", "`": "echo `ls`", "<": "cat < f",
    "<<": "cat <<'E'\nx\nE", "<<-": "cat <<-'E'\n\tx\n\tE", "<<<": "cat <<< x", ">": "ls > f", ">>": "ls >> f",
    ">|": "ls >| f", "&>": "ls &> f", "&>>": "ls &>> f", ">&": "ls >& f", "2>": "ls 2> f", "2>>": "ls 2>> f",
    "2>&1": "ls 2>&1", "1>&2": "ls 1>&2", "0<": "cat 0< f",
}  # fmt: skip


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_can_be_blocked_however_it_is_written(operator: str) -> None:
    line = OPERATORS[operator]
    continued = "\\\n".join(operator)
    inside = [f"( {line}\n)", f'echo "$( {line}\n)"', line.replace(operator, continued)]
    allowed = BashToolPolicy(("ls", "cat", "echo"), allow_redirects=True)
    blocking = BashToolPolicy(
        ("ls", "cat", "echo"), allow_redirects=True, blocked_operators=(operator,)
    )
    assert allowed.check(line).allowed
    for other in (line, *inside):
        assert not blocking.check(other).allowed, other
    if not operator[0].isdigit():  # Those are not looked for as operators alone.
        assert blocking.check("echo '{}'".format(line.replace("'", ""))).allowed


@pytest.mark.parametrize("operator", [name for name in OPERATORS if len(name) > 1])
def test_an_operator_over_two_lines_is_not_taken_for_two(operator: str) -> None:
    line = OPERATORS[operator]
    policy = BashToolPolicy(("ls", "cat", "echo"), allow_redirects=True)
    assert not policy.check(line.replace(operator, "\\\n".join(operator), 1)).allowed
    assert policy.check(line.replace(" ", " \\\n ", 1)).allowed


def test_everything_is_allowed_by_default_even_what_is_not_understood() -> None:
    policy = BashToolPolicy()
    for command in ("ls", "for x in *; do echo $x; done", "a | b > c", "if true; then ls; fi"):
        verdict = policy.check(command)
        assert (verdict.allowed, verdict.checked) == (True, command)


def test_redirects_can_be_allowed_below_the_working_directory() -> None:
    policy = BashToolPolicy(allowed_command_prefixes=("echo",), allow_redirects=True)
    assert policy.check("echo x > out/f.txt").allowed
    for target in ("/etc/x", "../x", ".git/config", "~/x", "a/../../x", ".bashrc"):
        assert not policy.check(f"echo x > {target}").allowed, target


def test_a_redirection_leaves_neither_by_a_link_nor_by_cd(tmp_path: Path) -> None:
    policy = BashToolPolicy(("echo", "cd", "ln", "sh", "env"), allow_redirects=True)
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "real").mkdir(parents=True)
    outside.mkdir()
    (outside / "f").write_text("untouched")
    (inside / "dir").symlink_to(outside)
    (inside / "file").symlink_to(outside / "f")
    (inside / "new").symlink_to(outside / "g")
    for command in ("echo x > dir/f", "echo x > file", "echo x >> file", "echo x > new", "echo x &> dir/g",
                    "cd dir && echo x > f", "cd real && cd ../dir; echo x > g", "sh -c 'echo x > file'",
                    "ln -s ../outside l && echo x > l/f", "ln -s ../outside/f m; echo x > m", "(cd dir; echo x > g)",
                    "env -i sh -c 'echo x > real/g'"):  # fmt: skip
        verdict = policy.check(command)
        if verdict.allowed:
            run_in(inside, verdict.checked)
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"f": "untouched"}
    assert list((inside / "real").iterdir()) == []
    for command in (
        "echo x > g",
        "echo x > real/g",
        "cd real && echo y > h",
        "sh -c 'echo z > real/i'",
    ):
        assert run_in(inside, policy.check(command).checked) == 0, command
    assert sorted(path.name for path in (inside / "real").iterdir()) == ["g", "h", "i"]


@pytest.mark.parametrize(
    "command",
    [
        "xargs -P 8 -a list -I{} sh -c 'mv -T l s; echo x > s/q'",
        "xargs --max-procs=2 -a list -I{} sh -c 'mv -T l s; echo x > s/q'",
        "xargs -rP2 -a list -I{} sh -c 'mv -T l s; echo x > s/q'",
        "setsid -f mv -T l s; echo x > s/q",
        "setsid --fork mv -T l s; echo x > s/q",
        "mv -T l s & echo x > s/q",
    ],
)
def test_no_redirection_while_another_command_may_change_where_it_leads(command: str) -> None:
    policy = BashToolPolicy(("xargs", "sh", "mv", "echo", "setsid"), allow_redirects=True)
    verdict = policy.check(command)
    assert not verdict.allowed
    assert "may change where it leads" in verdict.reason
    assert policy.check("xargs -a list -I{} sh -c 'echo x > s/q'").allowed


EVERY_SHELL = (
    "ls f none &> g; echo x", "ls f none &>> f; echo x", "ls f none >& g", "ls none |& cat", "{ ls f; ls none; } |& cat",
    "ls none > g |& cat", "echo x >| f", "ls none 2>&1 | cat", "! ls none 2>> f", "( echo x ) >> f", "ls f none &> g |& cat",
    "echo x & ls none &> g", "echo x >&2", "ls f none 2> g && echo x || echo y", "ls f none >& /dev/null",
)  # fmt: skip


@pytest.mark.parametrize("shell", ["bash", "dash", "sh"])
def test_what_runs_is_what_was_judged_whichever_shell_reads_it(tmp_path: Path, shell: str) -> None:
    policy = BashToolPolicy((shell, "ls", "cat", "echo"), allow_redirects=True)
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")

    def outcome(command: str) -> tuple[str, dict[str, str]]:
        work = tmp_path / "work"
        work.mkdir()
        (work / "f").write_text("f\n")
        done = subprocess.run(["bash", "-c", command], cwd=work, capture_output=True, text=True, check=False,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})  # fmt: skip
        files = {path.name: path.read_text() for path in work.iterdir()}
        shutil.rmtree(work)
        return done.stdout, files

    for line in EVERY_SHELL:
        verdict = policy.check(f"{shell} -c {shlex.quote(line)}")
        assert outcome(verdict.checked) == outcome(line), verdict


@pytest.mark.parametrize("shell", ["sh", "dash", "env sh"])
def test_input_in_the_code_of_a_shell_that_may_not_know_it_is_refused(shell: str) -> None:
    policy = BashToolPolicy(("sh", "dash", "bash", "cat", "eval", "env", "true"))
    for code in (
        "cat <<< x",
        "cat <<E\nx\nE\n",
        "cat <<-E\nx\nE\n",
        'eval "cat <<< x"',
        "bash -c true; cat <<< x",
    ):
        verdict = policy.check(f"{shell} -c {shlex.quote(code)}")
        assert (verdict.allowed, "use 'bash -c'" in verdict.reason) == (False, True), verdict
    for line in ("bash -c 'cat <<< x'", f"{shell} -c 'cat f' <<< x", f"{shell} -c \"bash -c 'cat <<< x'\"",
                 f"{shell} -c true; cat <<< x", f"{shell} -c true; eval 'cat <<< x'"):  # fmt: skip
        assert policy.check(line).allowed, line


def run_in(directory: Path, command: str) -> int:
    return subprocess.run(
        ["bash", "-c", command], cwd=directory, check=False, stderr=subprocess.DEVNULL
    ).returncode


def test_read_only_commands_are_known_as_such() -> None:
    policy = BashToolPolicy()
    for command in ("ls -la", "cat a | grep b | wc -l", "git status", "git log -p", "find . -name x",
                    "echo \"$(date)\"", "ls 2> /dev/null"):  # fmt: skip
        assert policy.check(command).read_only, command
    for command in ("rm x", "ls > f", "git commit -m x", "find . -delete", "sort -o f f", "ls; rm x",
                    "xargs ls", "echo $(rm x)", "python3 -c 1", "cat $x", "git -c a.b=c log",
                    "uniq a b", "date -s now", "tee f", "find . -exec rm {} +", "sort -uo f f", "xxd f g",
                    "xxd f -a", "sort --outpu=f f", "uniq - f", "test x = -- -o -v 'a[$(id)]'"):  # fmt: skip
        assert not policy.check(command).read_only, command


def test_what_only_reads_runs_as_it_was_understood_even_where_everything_is_allowed() -> None:
    policy = BashToolPolicy(confirm_read_only=False)
    assert "core.hooksPath=/dev/null" in policy.check("git status").checked
    assert policy.check("git commit -m x").checked == "git commit -m x"


def test_prefixes_must_be_a_tuple_of_words() -> None:
    with pytest.raises(UsageError, match="takes a list"):
        BashToolPolicy(allowed_command_prefixes="git")  # pyrefly: ignore
    with pytest.raises(UsageError, match="empty prefix"):
        BashToolPolicy(allowed_command_prefixes=("",))


def test_a_mistake_in_the_judge_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(source: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("toolwright.builtin.bash._judge.read_script", broken)
    assert not POLICY.check("ls").allowed


@given(st.text(alphabet="ls id;&|$(){}<>`'\"\\\n\t#~*?[]=!-/.x", max_size=40))
def test_judging_never_fails_whatever_the_text(command: str) -> None:
    verdict = POLICY.check(command)
    assert verdict.allowed or verdict.reason


@pytest.mark.parametrize("action", ["-ok", "-okdir"])
def test_a_command_that_find_asks_about_ends_at_a_semicolon_only(action: str) -> None:
    policy = BashToolPolicy(allowed_command_prefixes=("find", "sort", "ls"))
    assert policy.check(f"find . {action} ls {{}} ';'").allowed
    for rest in ("", " -uid --output=x -uid ';'", " -uid 0 ';'", " ';'", " -exec ls {} +"):
        verdict = policy.check(f"find . {action} sort {{}} +{rest}")
        assert (verdict.allowed, "does not end it" in verdict.reason) == (False, True), rest


def test_xargs_does_not_replace_a_mark_where_it_is_given_a_number_too() -> None:
    policy = BashToolPolicy(("xargs", "sort", "sed", "git", "find", "env", "cat"))
    marks = ("-I{}", "-I {}", "-i", "--replace", "--replace={}")
    numbers = ("-n 2", "-n2", "--max-args=2", "--max-args 2", "-L 1", "-L1", "-l", "-l1", "--max-lines",
               "--max-lines=1", "-rn1", "-tL 1")  # fmt: skip
    commands = ("sort", "cat", "sed -n 1p", "git log", "find .", "env")
    for mark, number, command in itertools.product(marks, numbers, commands):
        for options in (f"{mark} {number}", f"{number} {mark}"):
            verdict = policy.check(f"xargs {options} {command}")
            assert (verdict.allowed, "both together" in verdict.reason) == (False, True), verdict


AMBIGUOUS = [
    "cat a\\\nb", "cat 'a'\\\n'b'", "cat a\\\n\\\nb", "cat a\\\n'b'", "cat \"a\"\\\nb", "ca\\\nt a", "cat -\\\nn a",
    "cat a\\\n# | touch x", "cat a \\\n\\\n#\\\n| cat b", "!\\\ncat a", "{\\\ncat a; }", "cat a\\\n(b)", "echo $(\\\n(cat a))",
    "cat <<E\"O\"F\nx\nEOF\ntouch x | cat\nE\"O\"F\n", "cat <<E'O'F\nx\nEOF\n", "cat <<$'EOF'\nx\nEOF\n", 'cat <<$"EOF"\nx\nEOF\n',
    "cat <<E\\OF\nx\nEOF\n", "cat <<'EOF '\nx\nEOF \n", "cat <<EO\\\nF\nx\nEOF\n", "cat <<''\nx\n\n", "cat <<E{O}F\nx\nE{O}F\n",
    "cat <<EOF\nx\n", "cat <<EOF\nx\nEOF ", "echo $(cat <<EOF)\nx\nEOF\n", "cat 3<<EOF\nx\nEOF\n", "cat 3<<< x", "cat < a b", "cat > a b", "cat <<EOF b\nx\nEOF\n",
]  # fmt: skip
"""What the shell reads otherwise than the parser does, or might."""
CERTAIN = [
    "cat a \\\nb", "cat a\\\n b", "cat \\\n a \\\n b", "cat a |\\\ncat", "cat a &&\\\ncat b", "cat a;\\\ncat b", "cat \"a\\\nb\" b",
    "cat a \\\n# b", "cat <<EOF\nx\nEOF", "cat <<'EOF'\n$x `id` \\\nE\nEOF\ncat a", "cat <<\"EOF\" | cat\n'$x'\nEOF\n",
    "cat <<\\EOF\n$x\nEOF\ncat b", "cat <<-EOF\n\tx\n\t\ty\n\tEOF\ncat a", "cat <<EOF\nEOF\ncat a", "cat <<EOF\n\nEOF\n", "cat <<EOF\n\n  x\n y\n\nEOF\n", "cat <<-E | cat \n\n\t x\n\tE\n", "(cat <<E-1.x\nx E\nE-1.x\n)",
    "{ cat a & }; wait", "{ cat a & wait; }", "{ cat a &\n}; wait", "{ cat a & # b\n}; wait", "( cat a & wait )", "{ cat a; cat b & }; wait",
]  # fmt: skip


@pytest.mark.parametrize("command", AMBIGUOUS)
@pytest.mark.parametrize("prefix", ["cat", "*"])
def test_what_could_be_read_in_two_ways_is_refused_with_the_reason(
    command: str, prefix: str
) -> None:
    policy = BashToolPolicy((prefix, "echo", "touch"), blocked_operators=("||",))
    verdict = policy.check(command)
    assert not verdict.allowed, verdict.checked
    assert not verdict.reason.startswith("'touch' is not allowed")
    assert verdict.commands == ()


HERE = {
    "python3 - <<'EOF'\nx\nEOF": "python3 - <<< x",
    "git apply - <<'EOF'\nx\nEOF": "apply - <<< x",
    "git commit -F - <<EOF\nx\nEOF": "commit -F - <<< x",
    "git commit -m \"$(cat <<'EOF'\nit's $x\nEOF\n)\"": """commit -m ''"$( cat <<< 'it'"'"'s $x' )"''""",
    "diff a - <<'EOF'\nx\nEOF": "diff a - <<< x",
    "python3 - 2>&1 <<'EOF' | wc -l\nx\nEOF": "python3 - 2>&1 <<< x | wc -l",
    "python3 <<'EOF' 2>&1 | wc -l\nx\nEOF": "python3 <<< x 2>&1 | wc -l",
    "python3 <<'EOF' && wc -l f\nx\nEOF": "python3 <<< x && wc -l f",
    "cat > /dev/null <<'EOF'\nx\nEOF\nwc f": "cat > /dev/null <<< x ; wc f",
    "cat <<A; cat <<B\nx\nA\ny\nB": "cat <<< x ; cat <<< y",
    "cat <<A <<B\nx\nA\ny\nB": "cat <<< x <<< y",
    "cat <<A |\nx\nA\nwc -l": "cat <<< x | wc -l",
    "cat <<'EOF'\nEOF2\nEOF": "cat <<< EOF2",
    "cat <<EOF\nEOF \n EOF\n\tEOF\nEOF#\nEOF": "cat <<< 'EOF \n EOF\n\tEOF\nEOF#'",
    "cat <<-EOF\n \tEOF\n\tEOF": "cat <<< ' \tEOF'",
    "cat <<'EOF'\n|\\\n| here0 < here1\nEOF": "cat <<< '|\\\n| here0 < here1'",
    "cat here <<E # it's\nx\nE": "cat here <<< x",
    "wc '<<A' \"<<B\" \\<\\< # <<D\nwc f": "wc '<<A' '<<B' '<<' ; wc f",
}  # fmt: skip


@pytest.mark.parametrize("command", HERE)
def test_a_here_document_is_read_as_the_shell_does_wherever_it_stands(command: str) -> None:
    policy = BashToolPolicy(("python3", "git", "diff", "cat", "wc"))
    verdict = policy.check(command, sandboxed=True)
    assert verdict.allowed, verdict.reason
    assert verdict.checked.endswith(HERE[command])


@pytest.mark.parametrize("command", CERTAIN)
def test_continued_lines_and_here_documents_run_as_the_shell_reads_them(
    tmp_path: Path, command: str
) -> None:
    (tmp_path / "a").write_text("A\n")
    (tmp_path / "b").write_text("B\n")
    verdict = BashToolPolicy(("cat", "wait")).check(command, sandboxed=True)
    assert verdict.allowed, verdict.reason
    outputs = [
        subprocess.run(["bash", "-c", text], cwd=tmp_path, capture_output=True, text=True)
        for text in (command, verdict.checked)
    ]
    assert outputs[0].stdout == outputs[1].stdout
    assert "syntax error" not in outputs[1].stderr


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("grep -r x --include=*.txt .", "grep -r x '--include=*.txt' ."),
        ("grep -r x --include=[a-z]*.py .", "grep -r x '--include=[a-z]*.py' ."),
        ("ls -I*.pyc", "ls '-I*.pyc'"),
        ("ls [a-z]*", "ls [a-z]*"),
        ("ls [A-Za-z0-9_.]x", "ls [A-Za-z0-9_.]x"),
        ("ls -- *.py -x*", "ls -- *.py '-x*'"),
        ("ls -- -* ?", "ls -- -* ?"),
        ("ls src/[!a]*", "ls src/[!a]*"),
        ("ls \\*[a-z]", "ls '*'[a-z]"),
        ("tr [a-z] [A-Z]", "tr [a-z] [A-Z]"),
        ("env LC_ALL=C ls -- *", "env LC_ALL=C ls -- *"),
    ],
)
def test_a_pattern_that_cannot_become_another_option_is_allowed(command: str, runs: str) -> None:
    verdict = BashToolPolicy(("grep", "ls", "tr", "env")).check(command)
    assert (verdict.read_only, verdict.checked) == (True, runs), verdict.reason


@pytest.mark.parametrize(
    "command",
    [
        "ls *", "ls *$?", "ls ''*$?", "ls -*", "ls ?x", "ls [!a]*", "ls [^a]*", "ls [a-]*", "ls [-a]", "ls [+--]x", "ls ''*",
        "ls '-'*", "ls [a-Z]x", "echo *", "python3 *", "mytool *", "mytool -- *", "ls * -- x",
        "env -- *", "sort -o* f", "sort --output=* f", "sort --compress-program=* f", "ls --unknown=*",
        "dd if=~/x", "echo a=~", "echo PATH=a:~/bin", "find . -name *.py", "find -- *", "uniq -- *", "date -- *", "git add -- *", "printf -- *", "tar -- *",
        "less -- *", "strings -- *", "rsync -- * x", "sed -- *", "ls *[[:alpha:]]",
    ],
)  # fmt: skip
def test_what_could_become_an_option_or_more_is_refused(command: str) -> None:
    allowed = ("dd", "ls", "echo", "python3", "mytool", "env", "sort", "find", "uniq", "date", "git", "printf",
               "tar", "less", "strings", "rsync", "sed")  # fmt: skip
    assert not BashToolPolicy(allowed).check(command, sandboxed=True).allowed
    assert not BashToolPolicy().check(command).read_only


@pytest.mark.parametrize(
    "command",
    [
        "cat ''\\#", 'cat a"b"\\;c', "cat 'a'\\|b", "cat [a]\\nb", "cat a$?\\;b",
        "cat \\\\\t\n\\\n^", "cat a\n\\\nb", "cat a \\\n\n\\\n | cat", "cat a\n\\\n && cat", "cat \\ \n", "cat a \\ ", "cat \n\\#", "cat a\\", "[ a=b ]", "[ a ]b",
        "cat a\\\nb", "! \\\ncat f \\ ",
    ],
)  # fmt: skip
def test_words_that_the_parser_tears_apart_are_refused(command: str) -> None:
    policy = BashToolPolicy(("cat", "["))
    assert not policy.check(command).allowed, policy.check(command).checked


REDIRECTIONS = [">f", ">>f", ">&1", ">&f", "<f", "<<'E'\nx\nE", "<<<x", ">|f", "&>f", "&>>f", ">&-"]


@pytest.mark.parametrize("redirection", REDIRECTIONS)
@pytest.mark.parametrize("word", ["-ox2", "-2", "x2", "22x", "2x", "é2", "'q'2", "q\\2"])
def test_a_word_that_touches_a_redirection_is_an_argument(word: str, redirection: str) -> None:
    policy = BashToolPolicy(("show", "bash", "eval"), allow_redirects=True)
    for line in ("{}", "show $({}\n)", 'show "$({}\n)"', "( {}\n)", 'bash -c "{}"', "eval '{}'"):
        inner = f"show f {word}{redirection}"
        if "'" in inner and line[-1] in "\"'":
            continue
        verdict = policy.check(line.format(inner), sandboxed=True)
        argv = ("show", "f", word.replace("'", "").replace("\\", ""))
        assert verdict.allowed, verdict.reason
        assert argv in verdict.commands, (line, verdict.commands)


@pytest.mark.parametrize(
    "command",
    [
        "show {fd}>f", "show {fd}<f", "show {fd}>&1", "show {fd[0]}>f", "show 12>f", "show 12>&1", "show ;0<f", "show 2<<<x",
        "show >& -1", "show 2>& -1", "show >&1-", "show >& '2'", "show >& \\2", "show 2>&f", "show >&12", "show >&f$?",
        "show >''", "show <''", "show <>f", "show <&3", "show 3<&-", "show ${a2>f}", "show a 2>&-x", "show >&1x", "[ a > b ]",
        "[ a 2> b ]", "show $((1>2))", "show 2>f(a)", "show $(show 12>f)", "$(show {fd}>f)", "show $(show {fd}<f)", "show 1\\\n2>f",
    ],
)  # fmt: skip
def test_what_could_be_a_descriptor_or_a_word_is_refused(command: str) -> None:
    policy = BashToolPolicy(("show", "["), allow_redirects=True)
    assert not policy.check(command, sandboxed=True).allowed, policy.check(command).checked


@pytest.mark.parametrize(
    ("read", "shell"),
    [
        ("a -b 2>f", "a -b2>f"), ("a -b2 >f", "a -b 2>f"), ("a >f", "a 2>f"), ("a b", "a 'b'"), ("a b", "a"),
        ("a", "a b"), ("a; b", "a b"), ("a b", "a\nb"), ("a $(b)", "a '$(b)'"), ("a b c", "a 'b c'"),
        ("a > f", "a >> f"), ("a | b", "a || b"), ("{ a; }", "( a; )"), ("a # b", "a '#' b"), ("A=1 b", "b"), ("a >&- ; b", "a >&- b"),
    ],
)  # fmt: skip
def test_what_was_not_read_as_the_shell_reads_it_is_refused(read: str, shell: str) -> None:
    """Whatever the parser makes of a command line, the words and operators judged are those in it."""
    tokens = read_script(read).tokens()
    refuse_unread(read, tokens)
    with pytest.raises(Refused, match="read differently"):
        refuse_unread(shell, tokens)


@pytest.mark.parametrize("text", ["'a", '"a', '"$(a"', "`a", "$(a", "$('a)", "$'a"])
def test_a_word_that_does_not_end_is_not_understood(text: str) -> None:
    with pytest.raises(Refused, match="is not understood"):
        refuse_unread(text, [])


def test_a_stream_may_be_closed() -> None:
    line = "ls f 2>&- >&- ; ls"
    verdict = BashToolPolicy(("ls",)).check(line)
    assert (verdict.checked, verdict.read_only) == (line, True)
    for operator in ("2>&-", ">&-", ">"):
        assert not BashToolPolicy(("ls",), blocked_operators=(operator,)).check(line).allowed


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        ("ls *.py", "'./*.py' for files"),
        ("find . -name *.py", "quote a pattern that find is to match"),
        ("for f in a; do ls; done", "use plain commands, pipes, lists and redirections"),
        ("if ls; then ls; fi", "use plain commands, pipes, lists and redirections"),
        ("ls $HOME", "write the value itself"),
        ("A=1 ls", "leave it out, or have it listed with the program"),
        ("source x", "changes what later commands do"),
        ("[ -f [a-z]* ]", "write 'test …' without them"),
        ("ls; [ -f a[bc] ] && ls", "quote the pattern with ''"),
        ("ls )", "not well-formed shell"),
        ("bash -lc ls", "loads settings that could run another program"),
        ("find -- -delete", "'-delete' of 'find' writes a file"),
        ("find -- -- .", "is not known as a part"),
        ("tail -20F x", "is not known here"),
    ],
)
def test_a_refusal_says_what_works_instead(command: str, instead: str) -> None:
    assert instead in BashToolPolicy(("ls", "find", "source", "bash", "tail")).check(command).reason


@pytest.mark.parametrize(
    "command",
    [
        "tail -20f x", "tail -5 x", "tail -5lf x", "find -- .", "find -L -- . -name x", "find -- . -exec ls {} +", "find --",
        "test -f [a-z]*", "[ -f '[a-z]*' ]", "bash --noprofile -c ls",
    ],
)  # fmt: skip
def test_what_only_reads_is_allowed_however_it_is_written(command: str) -> None:
    verdict = BashToolPolicy(("ls", "find", "tail", "test", "[", "bash")).check(command)
    assert (verdict.allowed, verdict.read_only) == (True, True), verdict.reason


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("ls; echo $?", 'ls ; echo "$?"'),
        ('echo "rc=$?"', "echo rc=\"$?\"''"),
        ("[ $? -eq 0 ]", "'[' \"$?\" -eq 0 ']'"),
        ("sh -c 'exit $?'", "sh -c 'exit \"$?\"'"),
    ],
)
def test_how_a_command_ended_can_be_asked_for(command: str, runs: str) -> None:
    policy = BashToolPolicy(("ls", "echo", "[", "sh", "exit", "printf", "eval", "find", "env"))
    assert (policy.check(command).checked, policy.check(command).read_only) == (runs, True)
    for other in ("$?", "printf $?", "eval $?", "env $?", "find $? -delete", "ls > $?", "echo $??$x",
                  "find . -maxdepth $?"):  # fmt: skip
        assert not policy.check(other).allowed, other
    assert not BashToolPolicy(("echo",), blocked_operators=("$",)).check("echo $?").allowed


HARMLESS = [
    "LC_ALL=C", "LC_ALL=", "LANG=en_US.UTF-8", "LC_COLLATE=POSIX", "LANGUAGE=en:de_DE", "TZ=UTC",
    "TZ=Europe/Berlin", "TZ=CET-1CEST", "NO_COLOR=1", "FORCE_COLOR=0", "COLUMNS=120", "TERM=dumb",
    "PAGER=cat", "GIT_PAGER=cat", "GIT_PAGER=", "GIT_EDITOR=true", "GIT_AUTHOR_NAME='Ada L; $(id)'",
    "GIT_COMMITTER_DATE='2024-01-01 00:00'", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1",
    "PYTHONHASHSEED=0", "PYTHONIOENCODING=utf-8", "PYTHONWARNINGS=error", "PIP_NO_INPUT=1", "CI=true",
    "NODE_ENV=test", "RUST_BACKTRACE=full", "SOURCE_DATE_EPOCH=0", "TIME_STYLE=long-iso",
]  # fmt: skip
HARMFUL = [
    "A=1", "PATH=.", "LD_PRELOAD=x", "LC_ALL=../x", "LC_ALL=ja_JP.SJIS", "LC_ALL=zh_TW", "LC_ALL=x/y",
    "LANG=C.GBK", "LANGUAGE=../x", "TZ=/etc/x", "TZ=:x", "TZ=a/../../x", "TERM=../x", "COLUMNS=a", "PAGER=id",
    "GIT_PAGER='cat; id'", "GIT_EDITOR=id", "GIT_DIR=x", "GIT_TRACE=/tmp/x", "PYTHONPATH=.",
    "PYTHONSTARTUP=x", "PYTHONIOENCODING=x", "PYTHONWARNINGS=error::evil.X", "PYTHONINSPECT=1",
    "NODE_OPTIONS=x", "LESS=+!id", "LESSOPEN='|id'", "POSIXLY_CORRECT=1", "TAR_OPTIONS=x", "BASH_ENV=x",
    "ENV=x", "PS4=x", "IFS=x", "TMPDIR=.", "HOME=.", "DEBUG=../x", "LC_ALL='C\nx'", "lc_all=C", "XLC_ALL=C",
    "LC_ALL=$(ls)", "LC_ALL=`ls`", "LC_ALL=~", "LC_ALL=C*", "LC_ALL+=C", "LC_ALL[0]=C", "LC_ALL=(C)",
    "LC_ALL=C\\\nX", "LC_ALL=$?",
]  # fmt: skip


@pytest.mark.parametrize("variable", HARMLESS)
def test_a_variable_that_is_known_to_be_harmless_may_be_set(variable: str) -> None:
    policy = BashToolPolicy(("ls", "env", "git"))
    for command in (f"{variable} ls", f"env {variable} TZ=UTC ls", f"{variable} git log"):
        assert policy.check(command).read_only, command
    assert not policy.check(f"{variable} id").allowed
    assert not policy.check(f"{variable}").allowed


@pytest.mark.parametrize("variable", HARMFUL)
def test_any_other_variable_is_refused(variable: str) -> None:
    policy = BashToolPolicy(("ls", "env", "sh"))
    for command in (
        f"{variable} ls",
        f"TZ=UTC {variable} ls",
        f"env {variable} ls",
        f"env TZ=UTC {variable} ls",
        f"sh -c '{variable.replace(chr(39), '')} ls'",
    ):
        assert not policy.check(command, sandboxed=True).allowed, command
        assert not BashToolPolicy().check(command).read_only, command


def test_a_prefix_may_spell_out_a_variable() -> None:
    policy = BashToolPolicy(("PYTHONPATH=src pytest -q", "A=1 B=2 ls", "cat"))
    assert (
        policy.check("PYTHONPATH=src pytest -q tests").checked == "PYTHONPATH=src pytest -q tests"
    )
    assert policy.check("A=1 B=2 ls -l").allowed
    for other in ("pytest -q", "PYTHONPATH=. pytest -q", "PYTHONPATH=src pytest", "PYTHONPATH=src cat f",
                  "PYTHONPATH=src A=1 pytest -q", "A=1 ls", "B=2 A=1 ls", "A=1 B=2 cat f",
                  "A=1 B=2 id", "PYTHONPATH=src"):  # fmt: skip
        assert not policy.check(other).allowed, other


@pytest.mark.parametrize("unit", ["<<<", "a|", ")", "a=(", "@a", "}|"])
def test_what_the_parser_takes_long_for_is_not_given_to_it(unit: str) -> None:
    begun = time.thread_time()
    verdict = POLICY.check(unit * (64 * 1024 // len(unit)))
    assert "write what is long to a file first" in verdict.reason
    assert time.thread_time() - begun < 0.1
