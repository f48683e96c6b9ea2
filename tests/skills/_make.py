"""Skills on disk, for tests."""

from pathlib import Path

__all__ = ["GOOD", "make_skill"]

GOOD = """---
name: {name}
description: Fills in PDF forms. Use it when a form has to be filled in.
license: MIT
compatibility: Needs Python 3.
allowed-tools: Bash(git add:*) stamp
metadata:
  author: ada
---

# PDF forms

1. Read `references/fields.md`.
"""


def make_skill(parent: Path, name: str = "pdf-forms", text: str = GOOD, **files: str) -> Path:
    """A skill's folder; in the names of `files`, `__` stands for `/` and `_DOT_` for `.`."""
    folder = parent / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text.replace("{name}", name))
    for path, content in files.items():
        file = folder / path.replace("__", "/").replace("_DOT_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return folder
