"""Names that models and providers accept, made from whatever a document calls things."""

import re
from collections.abc import Container

__all__ = ["snake_case", "unique_name"]

_MAX_LENGTH = 60
_ACRONYM_END = re.compile(r"([A-Z]+)([A-Z][a-z])")
_WORD_END = re.compile(r"([a-z0-9])([A-Z])")
_OTHER = re.compile(r"[^A-Za-z0-9]+")


def snake_case(text: str) -> str:
    """`listPets`, `list-pets` and `list/pets` as `list_pets`; empty when no letter or digit is left."""
    text = _ACRONYM_END.sub(r"\1_\2", text)
    text = _WORD_END.sub(r"\1_\2", text)
    name = _OTHER.sub("_", text).strip("_").lower()
    # Some providers want a letter or an underscore first.
    return f"_{name}" if name[:1].isdigit() else name


def unique_name(wanted: str, taken: Container[str]) -> str:
    """`wanted`, cut to 60 characters, with a number at the end where it is taken already."""
    name = wanted[:_MAX_LENGTH].rstrip("_")
    number = 2
    while name in taken:
        ending = f"_{number}"
        name = wanted[: _MAX_LENGTH - len(ending)].rstrip("_") + ending
        number += 1
    return name
