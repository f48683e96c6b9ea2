"""Names that models and providers accept, made from whatever a document calls things."""

import re

__all__ = ["Names", "snake_case"]

_ACRONYM_END = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])")
_WORD_END = re.compile(r"([a-z0-9])([A-Z])")
_OTHER = re.compile(r"[^A-Za-z0-9]+")


def snake_case(text: str) -> str:
    """`listPets`, `list-pets` and `list/pets` as `list_pets`; empty when no letter or digit is left."""
    text = _ACRONYM_END.sub("_", text)
    text = _WORD_END.sub(r"\1_\2", text)
    name = _OTHER.sub("_", text).strip("_").lower()
    # Some providers want a letter or an underscore first.
    return f"_{name}" if name[:1].isdigit() else name


class Names:
    """Gives each thing a name of its own; of many that want the same, each as quickly as the first."""

    def __init__(self, longest: int | None = None) -> None:
        self._longest = longest
        self._taken: set[str] = set()
        self._next: dict[tuple[str, int], int] = {}
        """The lowest number that may be free, for each beginning and number of digits."""

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def take(self, wanted: str) -> str:
        """`wanted`, cut to the longest length, with a number at the end where it is taken already."""
        name, digits = self._cut(wanted, 0), 0
        while name in self._taken:
            digits += 1
            name = self._numbered(self._cut(wanted, 1 + digits), digits)
        self._taken.add(name)
        return name

    def _numbered(self, stem: str, digits: int) -> str:
        """With the lowest number of so many digits that is free; with the highest if none is."""
        number = self._next.get((stem, digits), max(2, 10 ** (digits - 1)))
        while f"{stem}_{number}" in self._taken and number < 10**digits - 1:
            number += 1
        self._next[stem, digits] = number
        return f"{stem}_{number}"

    def _cut(self, wanted: str, ending: int) -> str:
        return wanted if self._longest is None else wanted[: self._longest - ending].rstrip("_")
