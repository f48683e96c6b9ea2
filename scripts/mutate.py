"""Change lines of the code one at a time and see whether a test notices; list the changes that none did.

The tests that run for a change are those that reach its line, those first that are most about its
file. Which they are is found out by tracing each test file, and kept in `.cache/mutate.json` until
the code or that test file changes; so it can be stopped and started again. Test files that fail as
the code is are left out, and named. A change is noticed when a test fails; one whose tests do not end
in time is neither noticed nor a survivor, and is counted apart.
"""

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).parents[1]
UNITS = ("agent", "tools", "tasks", "backends/sql")
TESTS = (
    "tests/agent",
    "tests/tools",
    "tests/tasks",
    "tests/stores",
    "tests/pending",
    "tests/simulation",
)
CACHE = ROOT / ".cache" / "mutate.json"
SECONDS = 120.0
"""How long the tests of one change may take, or three times as long as they took as the code is."""

Verdict = Literal["noticed", "survived", "timed out"]

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip
PLACES = (
    ast.Compare,
    ast.BoolOp,
    ast.BinOp,
    ast.Constant,
    ast.If,
    ast.Return,
    ast.Expr,
    ast.Assign,
)


def places(tree: ast.AST) -> list[ast.AST]:
    """What can be changed: comparisons, logic, sums, constants, conditions and whole statements."""
    annotations = {
        id(inner)
        for node in ast.walk(tree)
        for field in ("annotation", "returns")
        if (found := getattr(node, field, None)) is not None
        for inner in ast.walk(found)
    }
    inside = (n for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef)
              for b in f.body for n in ast.walk(b))  # fmt: skip
    unique = {id(node): node for node in inside if isinstance(node, PLACES)}
    return [node for key, node in unique.items() if key not in annotations and changeable(node)]


def changeable(node: ast.AST) -> bool:
    """Whether there is a mistake to be made here."""
    match node:
        case ast.Compare(ops=[op]) | ast.BoolOp(op=op) | ast.BinOp(op=op):
            return type(op) in SWAPS
        case ast.Constant(value=bool() | int()) | ast.If() | ast.Assign():
            return True
        case ast.Return(value=value):
            return value is not None
        case ast.Expr(value=ast.Constant()):
            return False
        case _:
            return isinstance(node, ast.Expr)


def change(node: Any) -> ast.AST:
    """The node as it might have been written by mistake."""
    match node:
        case ast.Compare():
            node.ops = [SWAPS[type(node.ops[0])]()]
        case ast.BoolOp() | ast.BinOp():
            node.op = SWAPS[type(node.op)]()
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant():
            node.value += 1
        case ast.If():
            node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
        case ast.Return():
            node.value = ast.Constant(value=None)
        case _:
            return ast.copy_location(ast.Pass(), node)
    return node


class _Changer(ast.NodeTransformer):
    def __init__(self, wanted: ast.AST) -> None:
        self.wanted = wanted

    def visit(self, node: ast.AST) -> Any:
        return change(node) if node is self.wanted else super().generic_visit(node)


def mutants() -> Iterator[tuple[Path, int]]:
    """Every place of every file, by its number."""
    for unit in UNITS:
        for path in sorted((ROOT / "src/toolwright" / unit).rglob("*.py")):
            for number in range(len(places(ast.parse(path.read_text())))):
                yield path.relative_to(ROOT), number


def mutate(source: str, number: int) -> tuple[str, int, str]:
    """The changed file, the line that was changed, and what stands there now."""
    tree = ast.parse(source)
    node: Any = places(tree)[number]
    line, changed = node.lineno, _Changer(node).visit(tree)
    text = ast.unparse(ast.fix_missing_locations(changed))
    before, after = (set(ast.unparse(ast.parse(source)).splitlines()), text.splitlines())
    return text, line, next((new.strip() for new in after if new not in before), "(left out)")


# -- which tests reach a line ------------------------------------------------------------------

_TRACER = """
import json, sys, threading
roots, out = tuple(json.loads(sys.argv[1])), sys.argv[2]
seen, left = set(), {}
def trace(frame, event, arg):
    code = frame.f_code
    lines = left.get(code)
    if lines is None:
        wanted = code.co_filename.startswith(roots)
        lines = left[code] = {n for *_, n in code.co_lines() if n} if wanted else set()
    if not lines:
        return None
    def inside(frame, event, arg):
        if frame.f_lineno in lines:
            lines.discard(frame.f_lineno)
            seen.add((code.co_filename, frame.f_lineno))
        return inside if lines else None
    return inside(frame, event, arg)
threading.settrace(trace); sys.settrace(trace)
import pytest
status = pytest.main([*sys.argv[3:], "-q", "-n", "0", "-x", "-p", "no:randomly"])
sys.settrace(None)
json.dump(sorted(seen), open(out, "w"))
sys.exit(status)
"""


@dataclass(slots=True)
class Traced:
    """What one test file does as the code is."""

    digest: str
    seconds: float = 0.0
    passes: bool = False
    lines: list[str] = field(default_factory=list)
    """As `file:line`."""

    def share(self, path: Path) -> float:
        """How much of what it reaches is in one file."""
        return sum(line.startswith(f"{path}:") for line in self.lines) / max(1, len(self.lines))


def test_files(wanted: Sequence[str]) -> list[str]:
    """All that may run for a change, in these folders or files."""
    found = [p for at in wanted for p in sorted((ROOT / at).rglob("test_*.py")) or [ROOT / at]]
    return [str(path.relative_to(ROOT)) for path in found]


def digest(test: str) -> str:
    """Changes when the code that is changed here does, or the test file."""
    code = [p for unit in UNITS for p in sorted((ROOT / "src/toolwright" / unit).rglob("*.py"))]
    parts = (path.read_bytes() for path in [*code, ROOT / test])
    return hashlib.sha256(b"".join(parts)).hexdigest()


def trace(tests: Sequence[str], copy: Path) -> dict[str, Traced]:
    """What each test file reaches in the copy; what is known already is not asked for again."""
    kept = json.loads(CACHE.read_text()) if CACHE.exists() else {}
    found: dict[str, Traced] = {}
    for test in tests:
        known, now = kept.get(test), digest(test)
        if known is None or known["digest"] != now:
            found[test] = _traced(test, copy, now)
            kept[test] = asdict(found[test])
            CACHE.parent.mkdir(exist_ok=True)
            CACHE.write_text(json.dumps(kept))
            say(f"{test}: {len(found[test].lines)} lines, {found[test].seconds:.0f} s")
        else:
            found[test] = Traced(**known)
    return found


def _traced(test: str, copy: Path, now: str) -> Traced:
    roots = json.dumps([str(copy / "src/toolwright" / unit) + "/" for unit in UNITS])
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        words = [sys.executable, "-c", _TRACER, roots, out.name, test]
        began = time.monotonic()
        status = run(words, copy, 900)
        seconds = time.monotonic() - began
        lines = json.loads(Path(out.name).read_text() or "[]")
    named = [f"{Path(name).relative_to(copy)}:{line}" for name, line in lines]
    return Traced(now, seconds, status == 0, named)


def tests_for(traced: Mapping[str, Traced], path: Path, line: int) -> list[str]:
    """The test files that reach a line and pass, those first that are most about its file."""
    here = [t for t, one in traced.items() if one.passes and f"{path}:{line}" in one.lines]
    return sorted(here, key=lambda test: -traced[test].share(path))


# -- running -----------------------------------------------------------------------------------


def run(words: list[str], where: Path, seconds: float) -> int | None:
    """What a command said at its end; None when it took too long."""
    environment = {**os.environ, "PYTHONPATH": f"{where / 'src'}:{where}"}
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(
        words, cwd=where, env=environment, start_new_session=True, **quiet
    ) as child:
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return None


def judge(
    copy: Path, path: Path, text: str, tests: Sequence[str], seconds: float = SECONDS
) -> Verdict:
    """What the tests that reach a change make of it."""
    original = (copy / path).read_text()
    (copy / path).write_text(text)
    try:
        words = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "--inline-snapshot=disable"]
        status = run([*words, *tests], copy, seconds)
    finally:
        (copy / path).write_text(original)
    if status is None:
        return "timed out"
    return "survived" if status == 0 else "noticed"


def say(text: str) -> None:
    """Show a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Change, test, change back; then tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="how many changes")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", default="", help="only files whose path contains this")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="only these folders or files")
    given = parser.parse_args()
    chosen = [m for m in mutants() if given.only in str(m[0])]
    random.Random(given.seed).shuffle(chosen)
    counted: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        kept = shutil.ignore_patterns(".venv", ".venvs", ".git", ".cache", "node_modules", "site")
        shutil.copytree(ROOT, copy, ignore=kept, symlinks=True)
        traced = trace(test_files(given.tests), copy.resolve())
        told = [f"left out, fails: {test}" for test, one in traced.items() if not one.passes]
        for path, number in chosen[: given.count]:
            text, line, now = mutate((ROOT / path).read_text(), number)
            tests = tests_for(traced, path, line)
            seconds = max(SECONDS, 3 * sum(traced[test].seconds for test in tests))
            verdict = judge(copy, path, text, tests, seconds) if tests else "not reached"
            counted[verdict] += 1
            if verdict != "noticed":
                told.append(f"{verdict}: {path}:{line}: {now}")
            say(", ".join(f"{counted[what]} {what}" for what in sorted(counted)))
    say("\n".join(["", *told]))
    judged = counted.total() - counted["timed out"]
    say(f"{counted['noticed'] / max(1, judged):.0%} of {judged} changes were noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
