"""What must not be in this repository: unfinished work, silent skips, dead names, traces of a machine."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from importlinter import configuration
from importlinter.application.use_cases import lint_imports
from tests._units import UNITS

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "docs", "examples", "bench", "scripts", "web/src", "requirements")
LOOSE = ("Makefile", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml", "mkdocs.yml")
SUFFIXES = (".py", ".md", ".txt", ".toml", ".yml", ".yaml", ".ts", ".tsx", ".css", ".sh", ".go")

UNFINISHED = re.compile(r"(#|//|<!--|/\*)\s*.*\b(TODO|FIXME|XXX|HACK)\b")
MACHINE = re.compile(rf"{re.escape(str(ROOT))}\b|/home/\w+/|/Users/\w+/|[A-Z]:\\\\Users")
"""Paths that only this machine, or somebody's, has."""
DOWNLOADS = re.compile(
    r"(index-url|find-links|trusted-host)[ =]+\S+\.\w|https?://[\w.-]+(:\d+)?/(simple|repository)/|"
    r'"resolved": "http'
)


def _texts() -> Iterator[tuple[str, str]]:
    """Every text file of the repository with its content, but for this one."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    for path in [*files, *(ROOT / name for name in LOOSE)]:
        name = str(path.relative_to(ROOT))
        if path.is_file() and path.suffix in {*SUFFIXES, ""} and path != Path(__file__):
            yield name, path.read_text(encoding="utf-8", errors="replace")


TEXTS = dict(_texts())
WORDS = {
    path: Counter(re.findall(r"\w+", text))
    for path, text in TEXTS.items()
    if not path.endswith("__init__.py") and not path.startswith("docs/reference/")
}


def _lines(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in TEXTS.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_nothing_is_marked_as_unfinished() -> None:
    assert _lines(UNFINISHED) == []


def test_no_path_of_a_machine_and_no_download_address_is_kept() -> None:
    assert [*_lines(MACHINE), *_lines(DOWNLOADS)] == []


def test_nothing_raises_that_it_is_not_implemented() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, tree in _trees("src/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and "NotImplementedError" in ast.unparse(node)
    ]
    assert found == []


def test_every_skip_says_why() -> None:
    found = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, tree in _trees("tests/")
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and _skips(node) and not _has_reason(node)
    ]
    assert found == []


@pytest.mark.parametrize("unit", UNITS)
def test_every_public_name_is_used_somewhere(unit: str) -> None:
    names = import_module(f"toolwright.{unit}").__all__
    assert [name for name in names if not _used(name)] == []


def test_imports_point_down_only() -> None:
    configuration.configure()
    assert lint_imports(config_filename=str(ROOT / ".importlinter"), cache_dir=None)


def _trees(folder: str) -> Iterator[tuple[str, ast.Module]]:
    for name, text in TEXTS.items():
        if name.startswith(folder) and name.endswith(".py"):
            yield name, ast.parse(text)


def _skips(node: ast.AST) -> bool:
    """A call of, or a bare, skip, skipif or xfail of pytest."""
    thing = node.func if isinstance(node, ast.Call) else node
    if not isinstance(thing, ast.Attribute) or thing.attr not in ("skip", "skipif", "xfail"):
        return False
    owner = ast.unparse(thing.value)
    bare = isinstance(node, ast.Attribute) and owner == "pytest.mark"
    return bare or (isinstance(node, ast.Call) and owner in ("pytest", "pytest.mark"))


def _has_reason(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):  # the inside of a call, which is looked at by itself
        return f"{ast.unparse(node)}(" in "".join(TEXTS.values())
    assert isinstance(node, ast.Call)
    wanted = 2 if ast.unparse(node.func).endswith("skipif") else 1
    return len(node.args) >= wanted or any(word.arg == "reason" for word in node.keywords)


def _used(name: str) -> bool:
    """Whether a file besides its own and the front doors mentions it, or its own file uses it."""
    for path, words in WORDS.items():
        own = path.startswith("src/") and f'"{name}"' in TEXTS[path]
        # Its own file has it in `__all__` and where it is defined.
        if words[name] > (2 if own else 0):
            return True
    return False
