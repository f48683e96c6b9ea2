"""Change lines of the code one at a time and see whether a test notices; list the changes that none did.

The tests that run for a change are those that reach its line: which they are is found out once, by
tracing each test file, and kept in `.cache/mutate.json` until the code or the tests change.
"""

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
SECONDS = 120
"""How long the tests of one change may take; a change that hangs them is noticed too."""

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
root, out = sys.argv[1], sys.argv[2]
seen = set()
def trace(frame, event, arg):
    name = frame.f_code.co_filename
    if not name.startswith(root):
        return None
    seen.add((name[len(root) + 1:], frame.f_lineno))
    return trace
threading.settrace(trace); sys.settrace(trace)
import pytest
status = pytest.main([*sys.argv[3:], "-q", "-n", "0", "-x", "-p", "no:randomly"])
sys.settrace(None)
json.dump(sorted(seen), open(out, "w"))
sys.exit(status)
"""


def test_files() -> list[str]:
    """All that may run for a change."""
    found = [p for folder in TESTS for p in sorted((ROOT / folder).rglob("test_*.py"))]
    return [str(path.relative_to(ROOT)) for path in found]


def digest() -> str:
    """Changes when the code or the tests do."""
    files = [*(ROOT / "src/toolwright").rglob("*.py"), *(ROOT / name for name in test_files())]
    parts = (path.read_bytes() for path in sorted(files))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def reach() -> dict[str, list[str]]:
    """The test files that run each line, as `file:line`."""
    if CACHE.exists() and (kept := json.loads(CACHE.read_text()))["digest"] == digest():
        return kept["reach"]
    found: dict[str, list[str]] = {}
    for test in test_files():
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            words = [sys.executable, "-c", _TRACER, str(ROOT / "src"), out.name, test]
            run(words, ROOT, 900)
            lines = json.loads(Path(out.name).read_text() or "[]")
        say(f"{test}: {len(lines)} lines")
        for name, line in lines:
            found.setdefault(f"src/{name}:{line}", []).append(test)
    CACHE.parent.mkdir(exist_ok=True)
    CACHE.write_text(json.dumps({"digest": digest(), "reach": found}))
    return found


# -- running -----------------------------------------------------------------------------------


def run(words: list[str], where: Path, seconds: float) -> bool:
    """Whether a command ended well and in time."""
    environment = {**os.environ, "PYTHONPATH": f"{where / 'src'}:{where}"}
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(
        words, cwd=where, env=environment, start_new_session=True, **quiet
    ) as child:
        timer = threading.Timer(seconds, lambda: os.killpg(child.pid, 9))
        timer.start()
        status = child.wait()
        timer.cancel()
    return status == 0


def survives(copy: Path, path: Path, text: str, tests: list[str]) -> bool:
    """Whether the tests that reach a change are content with it."""
    original = (copy / path).read_text()
    (copy / path).write_text(text)
    try:
        words = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "--inline-snapshot=disable"]
        return run([*words, *tests], copy, SECONDS)
    finally:
        (copy / path).write_text(original)


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
    given = parser.parse_args()
    reached = reach()
    chosen = [m for m in mutants() if given.only in str(m[0])]
    random.Random(given.seed).shuffle(chosen)
    noticed, survivors = 0, []
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        kept = shutil.ignore_patterns(".venv", ".venvs", ".git", ".cache", "node_modules", "site")
        shutil.copytree(ROOT, copy, ignore=kept, symlinks=True)
        for path, number in chosen[: given.count]:
            text, line, now = mutate((ROOT / path).read_text(), number)
            tests = reached.get(f"{path}:{line}", [])
            if tests and not survives(copy, path, text, tests):
                noticed += 1
            else:
                survivors.append(
                    f"{path}:{line}: {now}" + ("" if tests else "  (no test gets there)")
                )
            say(f"{noticed} noticed, {len(survivors)} not")
    say("\n".join(["", *survivors]))
    say(f"{noticed / max(1, noticed + len(survivors)):.0%} of {given.count} changes were noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
