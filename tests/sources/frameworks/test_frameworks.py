"""Other frameworks' tools, each checked with the real package in an environment of its own."""

import os
import subprocess
from pathlib import Path

import pytest
from tests._venvs import venv_python

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


@pytest.mark.row("001-09")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("environment", "checks"),
    [
        ("frameworks", ["langchain", "pydantic_ai", "openai_agents", "adk", "smolagents"]),
        ("crewai", ["crewai"]),
    ],
)
def test_tools_come_and_go_with_schema_context_and_errors(
    environment: str, checks: list[str]
) -> None:
    files = [str(HERE / f"check_{name}.py") for name in checks]
    # Compiled on first use and kept with the environment: their packages take seconds each time.
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [venv_python(environment), "-m", "pytest", "-c", HERE / "checks.ini", *files],
        cwd=ROOT,
        env={**os.environ, **compiled},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize("name", ["from_langchain", "from_crewai", "from_smolagents", "to_adk"])
def test_a_framework_that_is_not_installed_says_how_to_install_it(name: str) -> None:
    from toolwright import sources

    with pytest.raises(ImportError, match="pip install"):
        getattr(sources, name)(print)
