"""Nothing gets out of a sandbox: every attempt, by sandbox, as root and as an ordinary user.

The table in docs/security.md is made from what is found here.
"""

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.execution.escape_probes import CANARY, PROBES

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("escape_probes.py")
PAGE = ROOT / "docs" / "security.md"
BEGIN, END = "<!-- sandboxes: begin -->", "<!-- sandboxes: end -->"
NOBODY = 65534
COLUMNS = (
    ("none", "root"), ("none", "user"), ("bubblewrap", "root"), ("bubblewrap", "user"),
    ("landlock", "root"), ("landlock", "user"), ("portable bash", "user"), ("portable python", "user"),
)  # fmt: skip
LIMITS_ONLY = tuple(PROBES)[-5:]
"""What even no sandbox at all holds: the launcher's own work."""


@pytest.fixture(scope="module")
def findings() -> Iterator[dict[tuple[str, str], dict[str, str]]]:
    if os.geteuid() != 0:
        pytest.skip("the table compares root with an ordinary user, so it must be made by root")
    with ThreadPoolExecutor(4) as pool:
        yield dict(zip(COLUMNS, pool.map(lambda column: probe(*column), COLUMNS), strict=True))


def probe(kind: str, who: str) -> dict[str, str]:
    outside = Path(tempfile.mkdtemp(prefix="outside-"))
    (outside / "canary").write_text(CANARY)
    os.chmod(outside, 0o777)
    workspace = Path(tempfile.mkdtemp(prefix="workspace-"))
    user = 0 if who == "root" else NOBODY
    os.chown(workspace, user, user)
    try:
        done = subprocess.run(
            [python_for(who), str(SCRIPT), kind, str(workspace), str(outside)],
            user=user, group=user, cwd="/", capture_output=True, text=True, timeout=110,
            env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp",
                 "MONTY_BIN": str(Path(sys.executable).with_name("monty")),
                 "PYTHONPATH": ":".join([str(ROOT / "src"), *site_packages()])},
        )  # fmt: skip
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
        shutil.rmtree(outside, ignore_errors=True)
    assert done.returncode == 0, f"{kind} as {who}: {done.stderr[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def python_for(who: str) -> str:
    """An interpreter that the user may execute; ours may be in root's home."""
    own = Path(sys.executable).resolve()
    private = own.is_relative_to(pwd.getpwuid(0).pw_dir)
    return "/usr/bin/python3" if private and who != "root" else str(own)


def site_packages() -> list[str]:
    return [path for path in sys.path if path.endswith("site-packages")]


def test_no_attempt_gets_out_of_a_sandbox(
    findings: dict[tuple[str, str], dict[str, str]],
) -> None:
    escaped = [
        f"{kind} as {who}: {name}"
        for (kind, who), verdicts in findings.items()
        for name, verdict in verdicts.items()
        if kind != "none" and verdict == "open" and (kind, name) not in KNOWN
    ]
    assert escaped == []


KNOWN = {
    ("portable bash", "write a larger file than allowed"),
    ("portable python", "write a larger file than allowed"),
}
"""What the interpreters cannot limit; the page says so."""


def test_the_attempts_are_real_without_a_sandbox_they_succeed(
    findings: dict[tuple[str, str], dict[str, str]],
) -> None:
    for who in ("root", "user"):
        verdicts = findings["none", who]
        assert {n for n, v in verdicts.items() if v == "open"} >= {
            "read a file outside", "write a file outside", "connect over TCP", "send over UDP",
            "connect to a unix socket", "connect to an abstract socket", "see other processes",
            "signal other processes", "read it through a link in the workspace",
        }  # fmt: skip
        assert {verdicts[name] for name in LIMITS_ONLY} == {"held"}


def test_the_table_in_the_docs_is_what_was_found(
    findings: dict[tuple[str, str], dict[str, str]],
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    made = f"{head}{BEGIN}\n\n{table(findings)}\n\n{END}{tail}"
    PAGE.write_text(made, encoding="utf-8")
    assert made == page, "docs/security.md was out of date; it has been made again, commit it"


def table(findings: dict[tuple[str, str], dict[str, str]]) -> str:
    titles = [f"{kind if kind != 'none' else 'no sandbox'}, {who}" for kind, who in findings]
    rows = ["| attempt | " + " | ".join(titles) + " |", "|---" * (len(titles) + 1) + "|"]
    for name in PROBES:
        cells = ["**open**" if v[name] == "open" else "held" for v in findings.values()]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)
