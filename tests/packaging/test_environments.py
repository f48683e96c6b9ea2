"""The core works with the lowest versions that are allowed; `make lowest` tries everything."""

import subprocess
import sys
from pathlib import Path

import pytest
from scripts import environments
from tests.docs._snippets import ROOT

pytestmark = pytest.mark.xdist_group("packaging")


@pytest.mark.timeout(600)
def test_the_core_and_its_cheap_extras_work_with_the_lowest_versions_that_are_allowed() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "environments.py"), "lowest", "--core"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode == environments.UNREACHABLE:
        pytest.skip("packages cannot be fetched from here")
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]


def test_an_interpreter_is_only_used_if_it_runs_and_is_the_version_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = {
        "python3.12": "exit 127",
        "python3.13": "echo Python 3.12.9",
        "python3.14": "echo Python 3.14.1",
    }
    for name, does in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert environments._interpreter("3.12") is None
    assert environments._interpreter("3.13") is None
    assert environments._interpreter("3.11") is None
    assert environments._interpreter("3.14") == str(tmp_path / "python3.14")


def test_a_python_that_is_not_there_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "_interpreter", lambda version: None)
    assert environments.main(["pythons"]) == 0
    told = capsys.readouterr().out
    for version in environments.PYTHONS:
        assert f"Python {version}: skipped, there is none on this machine" in told


def test_the_tests_that_are_run_elsewhere_exist() -> None:
    for path in (*environments.CORE_TESTS, *environments.LEFT_OUT):
        assert (ROOT / path).exists(), path


def test_the_tools_of_the_tests_keep_their_locked_versions() -> None:
    names = {line.partition("==")[0] for line in environments._pins()}
    assert {"pytest", "hypothesis", "flask"} <= names
    assert not names & {"anyio", "pydantic", "opentelemetry-sdk"}


def test_a_lower_bound_that_is_never_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    for name, version in {"pyyaml": "6.0", "httpx2": "2.7.0", "Rich_Rst": "1.4"}.items():
        folder = packages / f"{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    project = {
        "dependencies": ["pyyaml>=6"],
        "optional-dependencies": {
            "a": ["httpx2>=2", "rich-rst>=1.4.0,<2"],
            "all": ["toolwright[a]"],
        },
    }
    monkeypatch.setattr(environments, "_pyproject", lambda: {"project": project})
    assert [*environments._untried(tmp_path, ["a"])] == ["httpx2>=2 (installed: 2.7.0)"]
    assert [*environments._untried(tmp_path, ["all"])] == ["httpx2>=2 (installed: 2.7.0)"]
    project["dependencies"] = ["pyyaml>=5"]
    assert len([*environments._untried(tmp_path, ["a"])]) == 2
    assert len([*environments._untried(tmp_path, ["all"])]) == 1
