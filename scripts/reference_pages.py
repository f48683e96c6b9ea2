"""Write one reference page for each unit, listing its public names; the text is their docstrings."""

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
UNITS = (
    "errors",
    "messages",
    "tools",
    "models",
    "backends",
    "agent",
    "builtin",
    "sources",
    "tasks",
    "kits",
    "serve",
    "testing",
)


def page(unit: str) -> str:
    """The page of a unit: what it is for, then every public name."""
    module = import_module(f"toolwright.{unit}")
    first, _, rest = (module.__doc__ or "").partition("\n")
    about = f"{first}\n\n```text\n{rest.strip()}\n```" if rest.strip() else first
    entries = [f"::: toolwright.{unit}.{name}" for name in module.__all__ if _is_ours(module, name)]
    return "\n\n".join([f"# toolwright.{unit}", about, *entries]) + "\n"


def _is_ours(module: ModuleType, name: str) -> bool:
    """Whether it is defined here, rather than passed on from another package."""
    try:
        value = getattr(module, name)
    except ImportError:  # its framework is not installed; the name is ours
        return True
    return not inspect.isclass(value) or value.__module__.startswith("toolwright")


def main() -> None:
    """Write them all."""
    for unit in UNITS:
        (FOLDER / f"{unit}.md").write_text(page(unit))


if __name__ == "__main__":
    main()
