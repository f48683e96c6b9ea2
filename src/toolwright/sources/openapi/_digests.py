"""Digests of parts of a document and of all that their references lead to, each worked out once.

They say whether an operation is as it was without working out its schema, so that large documents
stay lazy.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from toolwright.sources.openapi._document import BrokenRef, Document

__all__ = ["Digests"]

_MAX_DEPTH = 100
"""Schemas that are deeper are not shown to a model, either."""
_Place = tuple[int, str]
"""A reference and the document that it stands in."""


class Digests:
    """Those of one document and the files that it refers to."""

    def __init__(self) -> None:
        self._homes: dict[int, Document] = {}
        self._parts: dict[_Place, tuple[bytes, list[_Place]]] = {}
        """What a reference leads to: a digest of it as it stands there, and its own references."""
        self._whole: dict[_Place, bytes] = {}
        """The same together with all that it leads to in turn."""

    def of(self, part: Any, home: Document) -> str:
        """A digest of `part`, whose references start in `home`, and of all that these lead to."""
        own, places = self._read(part, home)
        for place in places:
            if place not in self._whole:
                self._follow(place)
        led_to = sorted({self._whole[place] for place in places})
        return hashlib.sha256(b"".join([own, *led_to])).hexdigest()

    def _read(self, part: Any, home: Document) -> tuple[bytes, list[_Place]]:
        refs: dict[str, None] = {}
        digest = _digest(part, refs, {}, _MAX_DEPTH)
        self._homes[id(home)] = home
        return digest, [(id(home), ref) for ref in refs]

    def _part(self, place: _Place) -> tuple[bytes, list[_Place]]:
        if place not in self._parts:
            home, ref = self._homes[place[0]], place[1]
            try:
                found = home.look_up(ref)
            except BrokenRef:
                found = None
            # What is not there is told by the reference itself.
            self._parts[place] = (
                (ref.encode("utf-8", "surrogatepass"), []) if found is None else self._read(*found)
            )
        return self._parts[place]

    def _follow(self, start: _Place) -> None:
        """Work out `_whole` for `start` and all that it leads to.

        Schemas that contain each other have one digest together, whichever of them comes first:
        the strongly connected components of Tarjan, each after those it leads to.
        """
        number: dict[_Place, int] = {}
        lowest: dict[_Place, int] = {}
        open_: list[_Place] = []
        begins: dict[_Place, int] = {}
        way: list[tuple[_Place, Iterator[_Place]]] = []

        def enter(place: _Place) -> None:
            number[place] = lowest[place] = len(number)
            begins[place] = len(open_)
            open_.append(place)
            way.append((place, iter(self._part(place)[1])))

        enter(start)
        while way:
            place, ahead = way[-1]
            for other in ahead:
                if other in self._whole:
                    continue
                if other not in number:
                    enter(other)
                    break
                lowest[place] = min(lowest[place], number[other])
            else:
                way.pop()
                if way:
                    lowest[way[-1][0]] = min(lowest[way[-1][0]], lowest[place])
                if lowest[place] == number[place]:
                    self._close(open_[begins[place] :])
                    del open_[begins[place] :]

    def _close(self, together: list[_Place]) -> None:
        """Give those that lead to each other their digest."""
        parts = [self._parts[one] for one in together]
        beyond = {self._whole[o] for _, others in parts for o in others if o in self._whole}
        told = [*sorted(own for own, _ in parts), b"|", *sorted(beyond)]
        digest = hashlib.sha256(b"".join(told)).digest()
        self._whole |= dict.fromkeys(together, digest)


def _digest(node: Any, refs: dict[str, None], seen: dict[int, bytes], depth: int) -> bytes:
    """A digest of JSON values; `refs` gets the references in it, which are not followed.

    Each object counts once however often it is met: aliases in YAML can make a small file
    endlessly large.
    """
    if isinstance(node, str):
        return b"s%d:%s" % (len(node), node.encode("utf-8", "surrogatepass"))
    if not isinstance(node, Mapping | list):
        return b"%s:" % repr(node).encode()
    known = seen.get(id(node))
    if known is not None or depth <= 0:
        return known or b"deep:"
    seen[id(node)] = b"inside:"
    if isinstance(node, list):
        told = [b"[", *(_digest(item, refs, seen, depth - 1) for item in node)]
    else:
        ref = node.get("$ref")
        if isinstance(ref, str):
            refs[ref] = None
        told = [b"{"]
        for key in sorted(node, key=str):
            told += (_digest(str(key), refs, seen, 0), _digest(node[key], refs, seen, depth - 1))
    seen[id(node)] = digest = hashlib.sha256(b"".join(told)).digest()
    return digest
