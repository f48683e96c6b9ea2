"""What a person has changed in a call's arguments; what they were not shown stays as it was."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolwright.errors import ArgumentError
from toolwright.messages import REDACTED
from toolwright.tools._arguments import Args, load_object
from toolwright.tools._exact import (
    HIDDEN,
    IN_PART,
    Derived,
    Exact,
    Fields,
    Opaque,
    Secret,
    Typed,
    Unordered,
    canonical,
    exact,
    is_same,
    reads_the_same,
    shown_form,
)

__all__ = [
    "apply_edit",
    "differences",
    "has_marks",
    "parse_edited",
    "read_again",
    "says",
    "writable",
]

Parse = Callable[[str], Args]
_MISSING = object()


class _Unwritable(Exception):
    """There is no JSON that the tool would read this value from."""


def apply_edit(
    name: str, parse: Parse, edited: Mapping[str, Any], shown: Mapping[str, Any], args: Args
) -> Args:
    """The arguments that a person wants, who was `shown` those in `args`.

    Where they changed nothing, the values are those of `args`: a secret, say, of which they saw a
    mark. An argument that they left alone is not read again, but stays the same object.
    `ArgumentError` when `parse` refuses them, when it would make something else of a value that was
    kept, or when it cannot be said which value a mark stands for.
    """
    before, unwritten = exact(dict(args)), ""
    same = [part for part in edited if part in args and _is_untouched(edited[part], shown, part)]
    wanted: dict[str, Any] = {}
    for part, value in edited.items():
        try:
            was = before.get(part, _MISSING)
            wanted[part] = _kept(value, shown.get(part), was, f"arguments.{part}")
        except _Unwritable as error:
            if part not in same:
                raise ArgumentError(name, [str(error)]) from None
            unwritten = unwritten or str(error)
    try:
        made = parse_edited(name, parse, wanted)
    except ArgumentError as error:
        raise ArgumentError(name, [unwritten]) if unwritten else error from None
    made = {**made, **{part: args[part] for part in same}}
    for place in _changed_unseen(edited, shown, before, exact(made), "arguments"):
        raise ArgumentError(name, [f"{place!r} was not changed, and would not be as it was"])
    return made


def _is_untouched(edited: Any, shown: Mapping[str, Any], name: str) -> bool:
    """Whether an argument is as it was shown, the order of keys included."""
    return name in shown and json.dumps(edited) == json.dumps(shown[name])


def read_again(name: str, parse: Parse, raw: str, shown: Mapping[str, Any], card: "Card") -> Args:
    """The arguments of a call whose question has `shown` them, as they were then.

    What a call leaves out may be made when it is read, such as an id or a time. It is then as it was
    shown, where it was shown in full, and not made once more. What is not shown, or cannot be given,
    is as it is made now.
    """
    args = parse(raw)
    if is_same(card(args), dict(shown)):
        return args
    try:
        kept = parse_edited(name, parse, _filled(load_object(name, raw), shown, exact(args)))
    except (ArgumentError, _Unwritable):
        return args
    # What has no type is read as plain JSON, and a secret in it would be shown.
    return args if Exact(kept).secrets < Exact(args).secrets else kept


def _filled(given: Any, shown: Any, tree: Any) -> Any:
    """What was given, and for what was not, what was shown."""
    if isinstance(given, dict) and isinstance(shown, dict) and isinstance(tree, dict):
        made = {
            name: _as_shown(shown[name], part)
            for name, part in tree.items()
            if name not in given and name in shown and not isinstance(part, Derived)
            and not is_same(shown[name], shown_form(part))
        }  # fmt: skip
        kept = {
            name: _filled(part, shown.get(name), tree.get(name)) for name, part in given.items()
        }
        return {**made, **kept}
    if isinstance(given, list) and isinstance(shown, list) and isinstance(tree, list):
        is_whole = len(given) == len(shown) == len(tree)
        return (
            [_filled(*parts) for parts in zip(given, shown, tree, strict=True)]
            if is_whole
            else given
        )
    return given


def _as_shown(shown: Any, tree: Any) -> Any:
    """JSON for a value that was left out, like the one that was shown; marked parts as in `tree`."""
    if isinstance(shown, dict) and isinstance(tree, Fields):
        return {
            name: _as_shown(shown[name], part)
            for name, part in tree.items()
            if name in shown and not isinstance(part, Derived)
        }
    if isinstance(shown, list) and isinstance(tree, list) and len(shown) == len(tree):
        return [_as_shown(*parts) for parts in zip(shown, tree, strict=True)]
    return _written(tree) if has_marks(shown) else shown


def differences(one: Any, other: Any, place: str = "") -> list[str]:
    """The places where arguments, as `exact` reads them or as a card shows them, are not the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = {name: f"{place}.{name}" if place else name for name in (*one, *other)}
        both = (
            (one.get(name, _MISSING), other.get(name, _MISSING), at) for name, at in names.items()
        )
        return [found for parts in both for found in differences(*parts)]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [found for at, pair in pairs for found in differences(*pair, f"{place}[{at}]")]
    if one is _MISSING or other is _MISSING:
        return [place]
    return [] if json.dumps(canonical(one)) == json.dumps(canonical(other)) else [place]


Card = Callable[[Args], dict[str, Any]]
"""Arguments as people see them."""


def says(
    edited: Mapping[str, Any], seen: Mapping[str, Any], wanted: Args, args: Args, card: Card
) -> bool:
    """Whether `args` are what a person has written, and has made `wanted` of what they have `seen`.

    What they could see must read as they wrote it, a secret in full or as its mark; what they could
    not see must be as it is in `wanted`. An argument that they left out must be as they saw it.
    """
    # Nothing to ask about, whatever is taken for a secret by now.
    kept = [part for part in edited if _is_untouched(edited[part], seen, part)]
    kept = [part for part in kept if part in args and not _differ(args, wanted, part)]
    edited, seen, wanted, args = (
        {part: value for part, value in some.items() if part not in kept}
        for some in (edited, seen, wanted, args)
    )
    read, before = exact(dict(args)), exact(dict(wanted))
    shown = card(args)
    return _says({**seen, **edited}, shown, read) and (
        list(_unseen(shown, read)) == list(_unseen(card(wanted), before))
    )


def _differ(one: Args, other: Args, name: str) -> bool:
    return canonical(exact(one[name])) != canonical(exact(other.get(name, _MISSING)))


def _unseen(shown: Any, tree: Any) -> Iterator[Any]:
    """The values for which people see something else, in order."""
    match tree:
        case dict() if isinstance(shown, dict) and shown.keys() == tree.keys():
            for name in sorted(tree):
                yield from _unseen(shown[name], tree[name])
        case list() if isinstance(shown, list) and len(shown) == len(tree):
            for part, inner in zip(shown, tree, strict=True):
                yield from _unseen(part, inner)
        case _:
            if _hides(shown, tree):
                yield canonical(tree)


def _says(edited: Any, shown: Any, tree: Any) -> bool:
    if reads_the_same(edited, shown):
        return True
    if isinstance(edited, dict) and isinstance(shown, dict) and isinstance(tree, dict):
        return edited.keys() == tree.keys() and all(
            _says(part, shown.get(name), tree[name]) for name, part in edited.items()
        )
    if isinstance(edited, list) and isinstance(shown, list) and isinstance(tree, list):
        triples = zip(edited, shown, tree, strict=False)
        return len(edited) == len(tree) and all(_says(*parts) for parts in triples)
    return isinstance(tree, Secret) and reads_the_same(edited, _written(tree))


def parse_edited(name: str, parse: Parse, arguments: Mapping[str, Any]) -> Args:
    """Arguments that a person has changed; `ArgumentError` when `parse` refuses them in any way."""
    try:
        return parse(json.dumps(arguments))
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(name, [f"{type(error).__name__}: {error}"]) from error


def has_marks(value: Any) -> bool:
    """Whether JSON that came from a person may still have marks in place of what they did not see."""
    return any(mark in text for text in _texts(value) for mark in (HIDDEN, REDACTED, IN_PART))


def writable(args: Mapping[str, Any]) -> dict[str, Any]:
    """JSON that a tool reads the same arguments from; `ArgumentError` when there is none."""
    written: dict[str, Any] = {}
    for name, value in args.items():
        try:
            written[name] = _written(exact(value))
        except _Unwritable as error:
            raise ArgumentError("arguments", [f"{name!r}: {error}"]) from None
    return written


def _written(tree: Any) -> Any:
    match tree:
        case dict():
            parts = {name: part for name, part in tree.items() if not isinstance(part, Derived)}
            return {name: _written(part) for name, part in parts.items()}
        case list():
            return [_written(part) for part in tree]
        case Unordered():
            return [_written(part) for part in tree.members]
        case Secret():
            return _written(tree.inside)
        case Typed(kind="bytes"):
            return _utf8(tree.value)
        case Typed():
            return tree.text
        case Derived():
            raise _Unwritable("what an object makes itself cannot be given to it")
        case Opaque():
            raise _Unwritable(f"a value of type {tree.kind} cannot be written as JSON")
        case _:
            return tree


def _utf8(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise _Unwritable("bytes that are no text cannot be written as JSON") from None


def _kept(edited: Any, shown: Any, tree: Any, place: str) -> Any:
    """`edited`, with the values in `tree` wherever it is as `shown`."""
    if tree is _MISSING or not _hides(shown, tree):
        return edited
    if is_same(edited, shown):
        try:
            return _written(tree)
        except _Unwritable as error:
            raise _Unwritable(f"{place!r} cannot be kept: {error}") from None
    if (parts := _parts(edited, shown, tree, place)) is not None:
        kept = {key: _kept(*part) for key, part in parts.items() if not _is_left_out(*part)}
        return kept if isinstance(edited, dict) else list(kept.values())
    if isinstance(tree, Derived):
        raise _Unwritable(f"{place!r} cannot be changed: its object makes it itself")
    if has_marks(edited):
        raise _Unwritable(
            f"{place!r} has a mark for something that is not shown, and it cannot be said what it "
            "stands for now; write that in full"
        )
    return edited


def _is_left_out(edited: Any, shown: Any, tree: Any, place: str) -> bool:
    """Whether it is what an object makes itself, and whoever saw it has left it alone."""
    return isinstance(tree, Derived) and is_same(edited, shown)


def _parts(
    edited: Any, shown: Any, tree: Any, place: str
) -> dict[Any, tuple[Any, Any, Any, str]] | None:
    """The parts that belong together, of two objects, or of two lists whose members have not moved."""
    if isinstance(edited, dict) and isinstance(shown, dict) and isinstance(tree, dict):
        if has_marks([name for name in edited if name not in tree]):
            return None
        return {
            name: (part, shown.get(name), tree.get(name, _MISSING), f"{place}.{name}")
            for name, part in edited.items()
        }
    if not (isinstance(edited, list) and isinstance(shown, list) and isinstance(tree, list)):
        return None
    if len(edited) != len(shown) or _has_moved(edited, shown):
        return None
    triples = zip(edited, shown, tree, strict=True)
    return {index: (*parts, f"{place}[{index}]") for index, parts in enumerate(triples)}


def _has_moved(edited: list[Any], shown: list[Any]) -> bool:
    return any(
        not is_same(part, shown[index]) and any(is_same(part, other) for other in shown)
        for index, part in enumerate(edited)
    )


def _changed_unseen(edited: Any, shown: Any, before: Any, after: Any, place: str) -> Iterator[str]:
    """The places that the person left alone without seeing them, and that are different now."""
    if before is _MISSING or not _hides(shown, before):
        return
    if is_same(edited, shown):
        if canonical(before) != canonical(after):
            yield place
        return
    parts = _parts(edited, shown, before, place) or {}
    for key, (part, was_shown, was, where) in parts.items():
        yield from _changed_unseen(part, was_shown, was, _at(after, key), where)


def _at(tree: Any, key: Any) -> Any:
    """The part of an object or a list; None when it has none there."""
    if isinstance(tree, list):
        return tree[key] if key < len(tree) else None
    return tree.get(key) if isinstance(tree, dict) else None


def _hides(shown: Any, tree: Any) -> bool:
    """Whether people were shown something else than what there is."""
    try:
        return not is_same(shown, _written(tree))
    except _Unwritable:
        return True


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, part in value.items():
                yield str(name)
                yield from _texts(part)
        case list():
            for part in value:
                yield from _texts(part)
