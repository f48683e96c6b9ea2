"""Nothing gets out of a sandbox: every attempt, by sandbox and way in, as root and as a user.

The table in docs/security.md is made from what is found here.
"""

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.execution.escape_attempts import ATTEMPTS
from tests.execution.escape_outside import SECRET
from tests.execution.escape_probes import KINDS, LIMITS, OWN

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("escape_probes.py")
PAGE = ROOT / "docs" / "security.md"
BEGIN, END = "<!-- sandboxes: begin -->", "<!-- sandboxes: end -->"
NOBODY = 65534
KNOWN = {
    ("landlock", "see whether a file exists, and its size"),
    ("landlock", "see who owns a file, and its mode"),
    ("landlock", "see where a link leads"),
    ("landlock", "see the machine's name"),
    ("landlock", "see a process's session and priority"),
}
"""What is not held; the page says so, and `open_sandbox` takes Landlock only if asked."""
NOT_HERE = {"go around filters by x32", "go around filters by 32-bit calls",
            "open a socket to the machine's own host"}  # fmt: skip
"""What only some kernels offer at all."""
ONLY_WALLS = {"keep more in memory that no process has than allowed",
              "kill what watches it and leave a process running"}  # fmt: skip
"""Limits that only a sandbox enforces."""
ROOT_ONLY = {
    "change a file's owner", "make a device",
    "listen to all packets", "mount a file system", "enter a process's namespaces",
    "change the root directory", "load a program into the kernel", "read the kernel's log",
    "watch the processor's counters", "handle page faults", "make a user namespace",
    "make a user namespace by fork", "open a setting of the kernel to write",
    "read the kernel's tables",
}  # fmt: skip
"""What an ordinary user is not allowed anyway, on this machine or on others."""
Findings = dict[tuple[str, str], dict[str, list[str]]]


@pytest.fixture(scope="module")
def findings() -> Findings:
    if os.geteuid() != 0:
        pytest.skip("the table compares root with an ordinary user, so it must be made by root")
    with ThreadPoolExecutor(2) as pool:
        root, user = pool.map(probe, ("root", "user"))
    return {
        (kind, who): found[kind]
        for kind in KINDS
        for who, found in (("root", root), ("user", user))
    }


def probe(who: str) -> dict[str, dict[str, list[str]]]:
    home = Path(tempfile.mkdtemp(prefix="escapes-"))
    user = 0 if who == "root" else NOBODY
    os.chown(home, user, user)
    home.chmod(0o755)
    try:
        done = subprocess.run(
            [python_for(who), str(SCRIPT), str(home)],
            user=user, group=user, cwd="/", capture_output=True, text=True, timeout=110,
            env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp",
                 "PROBE_SECRET": SECRET,
                 "MONTY_BIN": str(Path(sys.executable).with_name("monty")),
                 "PYTHONPATH": ":".join([str(ROOT / "src"), str(ROOT), *site_packages()])},
        )  # fmt: skip
    finally:
        shutil.rmtree(home, ignore_errors=True)
    assert done.returncode == 0, f"as {who}: {done.stderr[-3000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def python_for(who: str) -> str:
    """An interpreter that the user may execute; ours may be in root's home."""
    own = Path(sys.executable).resolve()
    private = own.is_relative_to(pwd.getpwuid(0).pw_dir)
    return "/usr/bin/python3" if private and who != "root" else str(own)


def site_packages() -> list[str]:
    return [path for path in sys.path if path.endswith("site-packages")]


def test_no_attempt_gets_out_of_a_sandbox(findings: Findings) -> None:
    escaped = [
        f"{kind} as {who}: {name} ({', '.join(ways)})"
        for (kind, who), found in findings.items()
        for name, ways in found.items()
        if kind != "none" and ways and (kind, name) not in KNOWN
    ]
    assert escaped == []


def test_what_is_said_not_to_be_held_is_not(findings: Findings) -> None:
    for kind, name in KNOWN:
        assert findings[kind, "root"][name] or findings[kind, "user"][name]


def test_there_are_at_least_forty_attempts_by_each_way_in() -> None:
    assert len(ATTEMPTS) >= 68
    assert sum(bool(attempt.bash) for attempt in ATTEMPTS) >= 40


def test_the_attempts_are_real_without_a_sandbox_they_succeed(findings: Findings) -> None:
    for who, allowed in (("root", set()), ("user", ROOT_ONLY)):
        found = findings["none", who]
        held = {attempt.name for attempt in ATTEMPTS if not found[attempt.name]}
        assert held - allowed - NOT_HERE == set(), who
        by_all = {"command", "MCP server", "plugin"}
        apart = {*LIMITS, *OWN}
        ways_in = {name: set(ways) for name, ways in found.items() if name not in apart}
        assert [name for name, ways in ways_in.items() if ways and not by_all <= ways] == []
        in_bash = {attempt.name for attempt in ATTEMPTS if attempt.bash}
        assert [name for name in in_bash - held if "bash" not in found[name]] == []
        assert {name for name in LIMITS if found[name]} == ONLY_WALLS
        assert [name for name in OWN if not found[name]] == []


def test_the_table_in_the_docs_is_what_was_found(findings: Findings) -> None:
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    made = f"{head}{BEGIN}\n\n{table(findings)}\n\n{END}{tail}"
    PAGE.write_text(made, encoding="utf-8")
    assert made == page, "docs/security.md was out of date; it has been made again, commit it"


def table(findings: Findings) -> str:
    titles = ["no sandbox" if kind == "none" else kind for kind in KINDS]
    rows = ["| attempt | " + " | ".join(titles) + " |", "|---" * (len(titles) + 1) + "|"]
    for name in (*(attempt.name for attempt in ATTEMPTS), *OWN, *LIMITS):
        cells = [cell([findings[kind, who][name] for who in ("root", "user")]) for kind in KINDS]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def cell(ways: list[list[str]]) -> str:
    """For root and for an ordinary user together, where they do not differ."""
    said = ["**open**" if found else "held" for found in ways]
    return said[0] if said[0] == said[1] else f"{said[0]} as root"
