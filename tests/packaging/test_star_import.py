"""Every public name can be imported and looked at, whatever is installed; using it asks for the extra."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import toolwright
from toolwright import sources
from toolwright._stand_in import stand_in

LOOK = """
import inspect, pydoc, sys
import toolwright
from toolwright import *
assert all(hasattr(toolwright, name) for name in toolwright.__all__)
assert len(inspect.getmembers(toolwright)) >= len(toolwright.__all__)
assert "create_deep_agent" in pydoc.render_doc(toolwright)
names = dir()
import toolwright.sources
from toolwright.sources import *
assert "from_adk" in pydoc.render_doc(toolwright.sources)
assert not [name for name in toolwright.__all__ if name not in names]
print("looked")
"""


def test_the_package_can_be_looked_at_and_imported_whole(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "looked\n", done.stderr


def test_a_name_whose_package_is_missing_says_so_when_it_is_used() -> None:
    from toolwright import from_adk

    for name in (from_adk, sources.from_adk):
        with pytest.raises(ImportError, match="pip install google-adk"):
            name(print)


def missing() -> Any:
    return stand_in("McpToolset", ImportError("MCP needs an extra: pip install 'toolwright[mcp]'"))


def test_a_stand_in_can_be_asked_about_but_not_used() -> None:
    name = missing()
    assert not isinstance(3, name)
    assert not hasattr(name, "__wrapped__")
    assert name.__doc__ == "Not installed. MCP needs an extra: pip install 'toolwright[mcp]'"
    for use in (
        lambda: name("x", y=1),
        lambda: name.from_server,
        lambda: type("Mine", (name,), {}),
    ):
        with pytest.raises(ImportError, match=r"toolwright\[mcp\]") as caught:
            use()
        assert isinstance(caught.value.__cause__, ImportError)


def test_a_stand_in_is_not_kept_so_that_the_package_is_found_once_it_is_there() -> None:
    assert hasattr(toolwright, "from_adk")
    assert "from_adk" not in vars(toolwright)


def test_the_package_says_its_version() -> None:
    assert toolwright.__version__ == version("toolwright")
