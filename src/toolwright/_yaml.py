"""YAML read in one way everywhere: YAML 1.2, no key twice, and nothing that blows up."""

import math
import re
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from toolwright._yaml_text import YamlText

__all__ = ["Lines", "YamlError", "load_yaml"]

_Parser: Any = yaml.cyaml.CParser if yaml.__with_libyaml__ else yaml.SafeLoader
_DEEPEST = 200
"""As deep as the JSON reader goes."""
_MOST_NODES = 1_000_000
_LONGEST_NUMBER = 500
"""Python writes no numbers that are much longer."""
_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS = frozenset("-+.0123456789")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITY = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NOT_A_NUMBER = re.compile(r"\.(?:nan|NaN|NAN)")
_TEXTS = frozenset({"!", f"{_TAG}str"})
_TYPED: dict[str, Any] = {"null": type(None), "bool": bool, "int": int, "float": (int, float)}
_MERGE = object()
"""The key `<<`, whose value is a mapping to take the missing keys from."""

Lines = dict[tuple[str, ...], int]
"""By the steps to a value, its line from 1; of an entry of a mapping, that of its key."""


class YamlError(ValueError):
    """The text is not YAML, or not YAML that is taken; `line` counts from 1, if it is known."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem if line is None else f"{problem} (line {line})")
        self.problem = problem
        self.line = line


def load_yaml(
    text: str | bytes,
    *,
    text_keys: bool = False,
    aliases: bool = True,
    lines: Lines | None = None,
) -> Any:
    """The value in `text`, or a `YamlError`; `lines` is filled with where each value stands.

    `text_keys` makes every key a text, as in JSON. An alias may neither contain itself nor multiply
    beyond reason; with `aliases=False` there is none.
    """
    try:
        written = YamlText(text)
        while True:
            if lines is not None:
                lines.clear()
            try:
                return _Builder(written, text_keys, aliases, lines).build()
            except yaml.MarkedYAMLError as error:
                problem, line = _told(error)
                if not written.mend(problem, line):
                    raise YamlError(problem, line + 1) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise YamlError(f"this is not {error.encoding}: {error.reason}", line) from error
    except UnicodeEncodeError as error:
        line = error.object[: error.start].count("\n") + 1
        character = ord(error.object[error.start])
        raise YamlError(f"the character U+{character:04X} is not allowed", line) from error
    except yaml.reader.ReaderError as error:
        raise _unreadable(text, error) from error
    except YamlError:
        raise
    except (yaml.YAMLError, ValueError) as error:
        raise YamlError(str(error)) from error


def _told(error: yaml.MarkedYAMLError) -> tuple[str, int]:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or error.context or "it cannot be read"
    return problem, 0 if mark is None else mark.line


def _unreadable(text: str | bytes, error: yaml.reader.ReaderError) -> YamlError:
    """The parser tells the character, and where it is in a count of its own."""
    character = chr(error.character) if isinstance(error.character, int) else ""
    written = text.decode(errors="replace") if isinstance(text, bytes) else text
    before, found, _ = written.partition(character) if character else ("", "", "")
    problem = f"the character U+{ord(character or '?'):04X} is not allowed"
    return YamlError(problem, before.count("\n") + 1 if found else None)


class _Frame:
    """A mapping or list that is being read."""

    __slots__ = ("anchor", "items", "key", "key_line", "place", "seen", "size")

    def __init__(self, items: Any, anchor: str | None, place: tuple[str, ...]) -> None:
        self.items = items
        self.anchor = anchor
        self.place = place
        self.key: Any = _NO_KEY
        self.key_line = 0
        self.size = 1
        self.seen: dict[Any, int] | None = {} if isinstance(items, dict) else None
        """The keys so far, with their lines."""


_NO_KEY = object()


class _Builder:
    """Makes the value of the parser's events, one after the other."""

    def __init__(
        self, written: YamlText, text_keys: bool, aliases: bool, lines: Lines | None
    ) -> None:
        self._written = written
        self._text_keys = text_keys
        self._aliases = aliases
        self._lines = lines
        self._anchors: dict[str, tuple[Any, int]] = {}
        """What an anchor stands for, and of how many nodes that is; 0 while it is being read."""
        self._repeated = False
        self._stack: list[_Frame] = []
        self._root: Any = None

    def build(self) -> Any:
        """The value of the only document."""
        parser = _Parser(self._written.text)
        documents = 0
        try:
            while (event := parser.get_event()) is not None:
                kind = type(event)
                if kind is ScalarEvent:
                    self._add(self._scalar(event), 1, event)
                elif kind is MappingStartEvent or kind is SequenceStartEvent:
                    self._open(event, {} if kind is MappingStartEvent else [])
                elif kind is MappingEndEvent or kind is SequenceEndEvent:
                    self._close(event)
                elif kind is AliasEvent:
                    self._add(*self._repeat(event), event)
                elif kind is DocumentStartEvent:
                    documents += 1
                    if documents > 1:
                        raise YamlError("there is a second document", event.start_mark.line + 1)
        finally:
            parser.dispose()
        return self._root

    # -- containers ---------------------------------------------------------------------------

    def _open(self, event: Any, items: Any) -> None:
        wanted = "map" if isinstance(items, dict) else "seq"
        if event.tag not in (None, "!", _TAG + wanted):
            raise _unknown_tag(event)
        if len(self._stack) >= _DEEPEST:
            raise YamlError(f"more than {_DEEPEST} levels deep", event.start_mark.line + 1)
        if self._stack and self._is_key():
            raise YamlError("a key must be a single value", event.start_mark.line + 1)
        if event.anchor is not None:
            self._anchors[event.anchor] = (items, 0)
        self._stack.append(_Frame(items, event.anchor, self._place(event)))

    def _close(self, event: Any) -> None:
        frame = self._stack.pop()
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.items, frame.size)
        self._put(frame.items, frame.size, event)

    def _is_key(self) -> bool:
        frame = self._stack[-1]
        return frame.seen is not None and frame.key is _NO_KEY

    def _add(self, value: Any, size: int, event: Any) -> None:
        """Take in a value that is whole: a key, or what belongs to one."""
        if self._stack and self._is_key():
            self._take_key(value, event)
            return
        if self._lines is not None:
            self._place(event)
        self._put(value, size, event)

    def _take_key(self, value: Any, event: Any) -> None:
        frame = self._stack[-1]
        line = event.start_mark.line + 1
        if value == "<<" and type(event) is ScalarEvent and event.implicit[0]:
            frame.key, frame.key_line = _MERGE, line
            return
        key = _as_text(value) if self._text_keys and not isinstance(value, str) else value
        if isinstance(key, list | dict):
            raise YamlError("a key must be a single value", line)
        assert frame.seen is not None
        if key in frame.seen:
            first = frame.seen[key]
            raise YamlError(f"{_as_text(key)!r} is there twice, first in line {first}", line)
        frame.seen[key] = line
        frame.key = key
        frame.key_line = line

    def _put(self, value: Any, size: int, event: Any) -> None:
        if not self._stack:
            self._root = value
            return
        frame = self._stack[-1]
        frame.size += size
        if self._repeated and frame.size > _MOST_NODES:
            line = event.start_mark.line + 1
            raise YamlError(f"its aliases make more than {_MOST_NODES:,} values of it", line)
        if frame.seen is None:
            frame.items.append(value)
            return
        if frame.key is _MERGE:
            _merge(frame, value, event)
        else:
            frame.items[frame.key] = value
        frame.key = _NO_KEY

    def _place(self, event: Any) -> tuple[str, ...]:
        """The steps to the value that begins here, whose line is noted."""
        if self._lines is None:
            return ()
        line = event.start_mark.line + 1
        if not self._stack:
            place: tuple[str, ...] = ()
        elif (frame := self._stack[-1]).seen is None:
            place = (*frame.place, str(len(frame.items)))
        else:
            step = "<<" if frame.key is _MERGE else _as_text(frame.key)
            place, line = (*frame.place, step), frame.key_line
        self._lines[place] = line
        return place

    # -- single values ------------------------------------------------------------------------

    def _scalar(self, event: Any) -> Any:
        text = event.value
        if event.implicit[0] and event.tag is None:
            value = _plain(event) if text in _WORDS or text[0] in _NUMBER_STARTS else text
        elif event.implicit[1] or event.tag in _TEXTS:
            value = text
        else:
            value = _tagged(event)
        if isinstance(value, str):
            value = self._written.shown(value)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        return value

    def _repeat(self, event: Any) -> tuple[Any, int]:
        line = event.start_mark.line + 1
        if not self._aliases:
            raise YamlError("aliases are not allowed", line)
        if event.anchor not in self._anchors:
            raise YamlError(f"nothing is called {event.anchor!r} before this alias", line)
        value, size = self._anchors[event.anchor]
        if size == 0:
            raise YamlError("an alias contains itself", line)
        self._repeated = True
        return value, size


def _plain(event: Any) -> Any:
    """What a text without quotes means: `no` and `22:22` are texts, and so is a date."""
    text = event.value
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        if len(text) > _LONGEST_NUMBER:
            problem = f"a number has {len(text)} digits; at most {_LONGEST_NUMBER} are read"
            raise YamlError(problem, event.start_mark.line + 1)
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if infinity := _INFINITY.fullmatch(text):
        return -math.inf if infinity[1] == "-" else math.inf
    return math.nan if _NOT_A_NUMBER.fullmatch(text) else text


def _tagged(event: Any) -> Any:
    kind = event.tag.removeprefix(_TAG)
    if kind not in _TYPED:
        raise _unknown_tag(event)
    value: Any = _plain(event)
    try:
        if isinstance(value, _TYPED[kind]):
            return float(value) if kind == "float" else value
    except OverflowError:
        pass  # A whole number beyond all floats.
    raise YamlError(f"{event.value!r} is no {kind}", event.start_mark.line + 1)


def _unknown_tag(event: Any) -> YamlError:
    tag = event.tag.replace(_TAG, "!!")
    return YamlError(f"the tag {tag!r} is not known here", event.start_mark.line + 1)


def _merge(frame: _Frame, value: Any, event: Any) -> None:
    """Take the keys that are not given beside; of several mappings, the first that has one."""
    assert frame.seen is not None
    for mapping in value if isinstance(value, list) else [value]:
        if not isinstance(mapping, dict):
            raise YamlError("'<<' takes a mapping, or a list of them", event.start_mark.line + 1)
        for key, one in mapping.items():
            if key not in frame.seen:
                frame.items.setdefault(key, one)


def _as_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)
