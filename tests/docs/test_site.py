"""The pages as a whole: all are in the navigation, their snippets exist, the reference is complete."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType

import pytest
import yaml
from tests._units import UNITS
from tests.docs._snippets import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(
    path for path in DOCS.rglob("*.md") if "snippets" not in path.relative_to(DOCS).parts
)


def test_the_navigation_has_every_page_once() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1].split("\nmarkdown_extensions:")[0]
    listed = re.findall(r"([\w/-]+\.md)", nav)
    assert yaml.safe_load(nav)
    assert sorted(listed) == [str(path.relative_to(DOCS)) for path in PAGES]


def test_the_site_builds_without_a_warning() -> None:
    zensical = Path(sys.executable).with_name("zensical")
    done = subprocess.run(
        [zensical, "build", "--strict"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_what_a_page_includes_and_links_to_exists(path: Path) -> None:
    text = path.read_text()
    included = [ROOT / name for name in re.findall(r'--8<-- "([^"]+)"', text)]
    linked = [path.parent / name for name in re.findall(r"\]\(([^)#:]+\.\w+)[)#]", text)]
    assert [target for target in [*included, *linked] if not target.exists()] == []


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_has_a_reference_page(unit: str) -> None:
    assert f"::: toolwright.{unit}\n" in (DOCS / "reference" / f"{unit}.md").read_text()


@pytest.mark.parametrize("unit", UNITS)
def test_every_public_class_and_function_says_what_it_is(unit: str) -> None:
    module = import_module(f"toolwright.{unit}")
    things = {name: _loaded(module, name) for name in module.__all__}
    assert [name for name, thing in things.items() if _is_ours(thing) and not thing.__doc__] == []


def test_each_guide_has_a_test() -> None:
    tests = {path.name for path in (ROOT / "tests" / "docs").glob("test_*.py")}
    stems = [path.stem.replace("-", "_") for path in (DOCS / "guides").glob("*.md")]
    missing = [s for s in stems if not tests & {f"test_{s}.py", f"test_{s}_guide.py"}]
    assert missing == []


def _loaded(module: ModuleType, name: str) -> object:
    try:
        return getattr(module, name)
    except ImportError:  # another framework's tools, where that is not installed
        return None


def _is_ours(thing: object) -> bool:
    described = isinstance(thing, type | FunctionType)
    return described and thing.__module__.startswith("toolwright")
