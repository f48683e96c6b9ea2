"""Run in an environment with the core alone: every public name loads, or says what to install."""

import importlib
import json
import sys
from typing import Any

from toolwright._stand_in import is_stand_in

UNITS = sys.argv[1:]


def _told(module: Any, name: str) -> str | None:
    try:
        value = getattr(module, name)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return value.__doc__ if is_stand_in(value) else None


def main() -> None:
    said: dict[str, str] = {}
    for unit in UNITS:
        try:
            module = importlib.import_module(f"toolwright.{unit}")
        except Exception as error:
            said[unit] = f"{type(error).__name__}: {error}"
            continue
        for name in module.__all__:
            if told := _told(module, name):
                said[f"{unit}.{name}"] = told
    print(json.dumps(said))


if __name__ == "__main__":
    main()
