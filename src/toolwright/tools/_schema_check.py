"""Values judged by a JSON Schema that anybody may have written: what it costs is known before it is paid."""

import hashlib
import itertools
import json
import math
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from toolwright._sealed import Sealed
from toolwright.concurrency import check_wanted
from toolwright.errors import UsageError

__all__ = ["SHORT", "SchemaCheck", "TooMuchWork"]

_MOST_BYTES = 512 * 1024
_MOST_VALUES = 20_000
_DEEPEST = 50
_MOST_WORK = 1_000_000
"""Schemas tried on values, alternatives multiplied; the validator does a million in some 0.05 s."""
_MOST_PLAIN_WORK = 20 * _MOST_WORK
"""The same by a bound that is quick to know: every part on every letter."""
_STEPS_PER_LETTER = 10
_FREE_STEPS = 20_000
"""Pairs of a schema and a value that are looked at beforehand, at some 0.001 ms each."""
_DEEPEST_PAIR = 200
_MOST_ERRORS = 1_000
_TOLD = 100
"""Errors that a process tells."""
_MOST_ERROR_BYTES = 20_000_000
"""Each error is made with a copy of the value that it is about."""
_UNEVALUATED = 4
"""How much more work it is to know what the rest of a schema has looked at already."""
_LONGEST_LIST = 1_000
"""Of names that each error about them repeats."""
_PATTERNS_SIZE = 20_000_000
_PATTERN_SIZE = 5_000_000
"""Bytes that expressions may take when they are made, all of a schema and each."""
_BACKTRACKS = 10_000
"""What an expression that looks around may try on one text, however short that is."""
_SIZES = {10_000: 30, 100_000: 320, 1_000_000: 2_000, 5_000_000: 5_000}
"""Work for each letter, by the bytes that an expression takes: all of its states may have to be tried."""
_MOST_SIZED = 100
"""Expressions whose sizes are looked for one by one."""
_JUDGE = Path(__file__).with_name("_schema_judge.py").read_text(encoding="utf-8")
SHORT = 1_024
"""Letters of a value that plain expressions judge here: so few keep none of them busy for long."""
_SECONDS = 5.0
_MOST_JUDGED = 32
_LOOK = 0.05
"""Seconds after which it is looked whether anybody still waits."""
_AT_ONCE = threading.BoundedSemaphore(4)
"""Processes that judge values: so much memory each can take."""
_LANGUAGES = re.compile(
    r"https?://json-schema\.org/(draft/2020-12/|draft/2019-09/|draft-0[4-7]/)?schema#?"
)
_TOO_OFTEN = "the schema would have to be tried too many times on them"

_UNIONS = ("anyOf", "oneOf")
_LISTS = (*_UNIONS, "allOf", "prefixItems")
_SINGLES = (
    "not", "if", "then", "else", "contains", "additionalProperties", "additionalItems",
    "propertyNames", "unevaluatedItems", "unevaluatedProperties", "items",
)  # fmt: skip
_NAMED = (
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "$defs",
    "definitions",
)
_ELSEWHERE = ("$dynamicRef", "$recursiveRef")
_LOOKING_AROUND = (
    "(?=",
    "(?!",
    "(?<=",
    "(?<!",
    "(?>",
    "\\k",
    *(f"\\{digit}" for digit in range(1, 10)),
)


class TooMuchWork(ValueError):
    """A value that would take too long to judge, or whose faults would take too long to tell."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong in one place, with the fields of the validator's own errors."""

    message: str
    instance_path: list[str | int]
    schema_path: list[str | int]
    types: list[str]

    @property
    def kind(self) -> "Fault":
        return self


class SchemaCheck(Sealed):
    """Whether values fit one schema. Nothing is fetched for it, and neither time nor memory run away.

    The constructor raises `UsageError` for a schema that is too large, leads elsewhere, or is none.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = _plain(schema)
        _check_language(self._schema)
        self._targets: dict[str, Any] = {}
        parts = self._parts()
        _refuse_endless(parts, self._targets)
        _refuse_long_lists(parts)
        # In a plain one no part is tried more than once on one value.
        self._is_plain = not self._targets and not any(_multiplies(part) for part in parts)
        self._count = sum(_own_work(part) for part in parts)
        patterns = sum(
            ("pattern" in part) + len(_named(part, "patternProperties")) for part in parts
        )
        self._options = _options(patterns)
        self._validator = _compiled(self._schema, self._options)
        self._judged: dict[bytes, list[Any]] = {}
        """What processes have said of values: arguments are read several times, also on the loop."""
        self._per_letter = sum(_letter_work(part, patterns) for part in parts)

    def errors(self, value: Any, size: int) -> list[Any]:
        """What is wrong with a value that has `size` letters as JSON, place by place.

        Raises `TooMuchWork` when that cannot be found out in time. A value of more than `SHORT`
        letters, or one with many texts for expressions that look around, may be judged by a process,
        which is waited for: not on an event loop.
        """
        work = _Work(self._targets, _FREE_STEPS + _STEPS_PER_LETTER * size)
        if not self._is_plain or self._count * size > _MOST_PLAIN_WORK:
            work.of(self._schema, value)
        is_long = size > SHORT and self._per_letter * size > _MOST_WORK
        if is_long or work.backtracks(self._schema, value) > _MOST_WORK:
            return self._judged_elsewhere(value)
        try:
            if self._validator.is_valid(value):
                return []
        except ValueError as error:
            raise TooMuchWork(
                f"there is something in them that cannot be judged: {error}"
            ) from None
        most = max(20, min(_MOST_ERRORS, _MOST_ERROR_BYTES // (size or 1)))
        if work.in_unions(self._schema, value) > most:
            raise TooMuchWork("they fit none of the alternatives, which are too many to be told")
        return list(itertools.islice(self._validator.iter_errors(value), most))

    def _judged_elsewhere(self, value: Any) -> list[Any]:
        """The same by a process that is ended when it takes too long: here, nothing could end it."""
        import jsonschema_rs  # noqa: PLC0415 - as below

        from toolwright._own_program import own_program  # noqa: PLC0415 - seldom needed

        library = str(Path(jsonschema_rs.__file__).parents[1])
        asked = {"schema": self._schema, "options": self._options, "value": value, "most": _TOLD}
        written = json.dumps(asked).encode()
        mark = hashlib.sha256(written).digest()
        found = self._judged.get(mark)
        if found is None:
            command = own_program(_JUDGE, library, str(math.ceil(_SECONDS)))
            try:
                told = _answer(command, written)
            except (subprocess.SubprocessError, OSError):
                raise TooMuchWork(f"they could not be judged within {_SECONDS:g} s") from None
            found = self._judged[mark] = [Fault(*fields) for fields in json.loads(told)]
            for oldest in list(self._judged)[:-_MOST_JUDGED]:
                self._judged.pop(oldest, None)
        return list(found)

    def _parts(self) -> list[dict[str, Any]]:
        """Every schema in it, once; what leads elsewhere is refused."""
        todo: list[Any] = [self._schema]
        parts: dict[int, dict[str, Any]] = {}
        while todo:
            schema = todo.pop()
            if not isinstance(schema, dict) or id(schema) in parts:
                continue
            parts[id(schema)] = schema
            if schema is not self._schema:
                _refuse_name(schema)
            for key in _ELSEWHERE:
                if key in schema:
                    raise UsageError(f"it uses {key!r}, which is not supported")
            if "$ref" in schema:
                todo.append(self._target(schema["$ref"]))
            todo.extend(sub for _, sub in _subschemas(schema))
        return list(parts.values())

    def _target(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise UsageError(
                f"it refers to {reference!r:.200}; only references into itself ('#/…') are followed"
            )
        if reference not in self._targets:
            self._targets[reference] = _at(self._schema, reference)
        return self._targets[reference]


def _answer(command: list[str], asked: bytes) -> bytes:
    """What a process answers. It is ended when it takes too long or nobody waits for it any more."""
    # Without it, Python does not start on Windows.
    env = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    while not _AT_ONCE.acquire(timeout=_LOOK):
        check_wanted()
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
        ) as process:
            try:
                return _waited_for(process, asked)
            finally:
                process.kill()
    finally:
        _AT_ONCE.release()


def _waited_for(process: subprocess.Popen[bytes], asked: bytes) -> bytes:
    sent: bytes | None = asked
    ends = time.monotonic() + _SECONDS
    while True:
        check_wanted()
        try:
            answer, _ = process.communicate(sent, timeout=_LOOK)
        except subprocess.TimeoutExpired:
            sent = None
            if time.monotonic() > ends:
                raise
            continue
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, "judge")
        return answer


class _Work:
    """How much there is to do for one value: schemas tried on values, counted before it is done."""

    def __init__(self, targets: Mapping[str, Any], steps: int) -> None:
        self._targets = targets
        self._steps = steps
        self._known: dict[tuple[int, int], tuple[float, int]] = {}
        self._looks: dict[tuple[int, int], float] = {}
        self._unions: dict[tuple[int, int], float] = {}
        self._owns: dict[int, int] = {}

    def of(self, schema: Any, value: Any) -> float:
        """The number of times that any schema is tried on any value; `TooMuchWork` if it is too high."""
        return self._of(schema, value, 0)[0]

    def _of(self, schema: Any, value: Any, depth: int) -> tuple[float, int]:
        """The work, and how many steps it goes down."""
        if not isinstance(schema, dict):
            return 1, 0
        pair = (id(schema), id(value))
        known = self._known.get(pair)
        if known is None:
            # Found by a schema that leads to itself on the same value.
            self._known[pair] = (float("inf"), 0)
            if depth > _DEEPEST_PAIR or len(self._known) > self._steps:
                raise TooMuchWork(_TOO_OFTEN)
            below = [self._of(sub, inner, depth + 1) for _, sub, inner in self._next(schema, value)]
            own = self._own(schema) + _pattern_work(schema, value) + _length_work(schema, value)
            work = own + sum(part for part, _ in below)
            if "unevaluatedProperties" in schema or "unevaluatedItems" in schema:
                work *= _UNEVALUATED
            known = (work, 1 + max((height for _, height in below), default=0))
            self._known[pair] = known
        if known[0] > _MOST_WORK or known[1] > _DEEPEST_PAIR:
            raise TooMuchWork(_TOO_OFTEN)
        return known

    def _own(self, schema: dict[str, Any]) -> int:
        own = self._owns.get(id(schema))
        if own is None:
            own = self._owns[id(schema)] = _own_work(schema)
        return own

    def backtracks(self, schema: Any, value: Any) -> float:
        """What expressions that look around may try; after `of`, which knows that this has an end."""
        if not self._known or not isinstance(schema, dict):
            return 0  # In a plain schema there are none.
        pair = (id(schema), id(value))
        known = self._looks.get(pair)
        if known is None:
            known = self._looks[pair] = _look_work(schema, value) + sum(
                self.backtracks(sub, inner) for _, sub, inner in self._next(schema, value)
            )
        return known

    def in_unions(self, schema: Any, value: Any) -> float:
        """The part of the work that is done inside alternatives."""
        if not isinstance(schema, dict):
            return 0
        pair = (id(schema), id(value))
        known = self._unions.get(pair)
        if known is None:
            if len(self._unions) > self._steps:
                raise TooMuchWork(_TOO_OFTEN)
            known = self._unions[pair] = sum(
                (self.of if key in _UNIONS else self.in_unions)(sub, inner)
                for key, sub, inner in self._next(schema, value)
            )
        return known

    def _next(self, schema: dict[str, Any], value: Any) -> Iterator[tuple[str, Any, Any]]:
        """What the validator goes on with: which schema, on which value, and by what keyword."""
        if "$ref" in schema:
            yield "$ref", self._targets.get(schema["$ref"]), value
        for key, sub in _subschemas(schema):
            match key:
                case "anyOf" | "oneOf" | "allOf" | "not" | "if" | "then" | "else":
                    yield key, sub, value
                case "dependentSchemas" | "dependencies" if isinstance(value, dict):
                    yield key, sub, value
                case "propertyNames" if isinstance(value, dict):
                    yield from ((key, sub, name) for name in value)
                case "items" | "prefixItems" | "contains" | "additionalItems" | "unevaluatedItems":
                    if isinstance(value, list):
                        yield from ((key, sub, inner) for inner in value)
                case "patternProperties" | "additionalProperties" | "unevaluatedProperties":
                    if isinstance(value, dict):
                        yield from ((key, sub, inner) for inner in value.values())
        if isinstance(value, dict):
            properties = _named(schema, "properties")
            for name in value.keys() & properties.keys():
                yield "properties", properties[name], value[name]


def _subschemas(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The schemas right below one, each with the keyword that it stands under."""
    for key in _LISTS:
        if isinstance(found := schema.get(key), list):
            yield from ((key, sub) for sub in found)
    for key in _SINGLES:
        match schema.get(key):
            case dict() | bool() as found:
                yield key, found
            case list() as several if key == "items":
                yield from ((key, sub) for sub in several)
    for key in _NAMED:
        yield from ((key, sub) for sub in _named(schema, key).values())


def _multiplies(part: dict[str, Any]) -> bool:
    """Whether it takes more than one look at each value."""
    patterns = [part.get("pattern"), *_named(part, "patternProperties")]
    return (
        "unevaluatedProperties" in part
        or "unevaluatedItems" in part
        or "multipleOf" in part
        or any(isinstance(pattern, str) and _looks_around(pattern) for pattern in patterns)
    )


def _own_work(schema: dict[str, Any]) -> int:
    """What there is to look at in one schema, the schemas below it aside."""
    lists = [schema.get("required"), *_named(schema, "dependentRequired").values()]
    own = 1 + sum(len(found) for found in lists if isinstance(found, list))
    choices = schema.get("enum")
    own += sum(map(_leaves, choices)) if isinstance(choices, list) else 0
    return own + (_leaves(schema["const"]) if "const" in schema else 0)


def _refuse_long_lists(parts: list[dict[str, Any]]) -> None:
    for part in parts:
        for name in ("required", "patternProperties", "dependentRequired"):
            found = part.get(name)
            if isinstance(found, list | dict) and len(found) > _LONGEST_LIST:
                raise UsageError(f"it has {len(found):,} of {name!r}, more than {_LONGEST_LIST:,}")


def _refuse_name(schema: Any) -> None:
    """References would lead elsewhere from inside such a part."""
    if isinstance(schema, dict) and any(isinstance(schema.get(key), str) for key in ("$id", "id")):
        raise UsageError("a part of it has a name of its own ('$id'), which is not supported")


def _length_work(schema: dict[str, Any], value: Any) -> float:
    """Long numbers are divided digit by digit, and the letters of a text counted."""
    divisor = schema.get("multipleOf")
    if isinstance(value, int | float) and isinstance(divisor, int | float):
        if isinstance(value, int) and isinstance(divisor, int):
            return _digits(value) ** 2 / 20
        # Exact fractions, whose digits are as many as their exponents say.
        return 10 + (_digits(value) + _digits(divisor)) ** 2 / 20
    if isinstance(value, str) and ("minLength" in schema or "maxLength" in schema):
        return len(value) / 50
    return 0


def _digits(number: float) -> float:
    bits = number.bit_length() if isinstance(number, int) else abs(math.frexp(number)[1])
    return bits / 3.3


def _pattern_work(schema: dict[str, Any], value: Any) -> float:
    work = 0.0
    if isinstance(value, str) and isinstance(pattern := schema.get("pattern"), str):
        work += _matching(pattern, len(value))
    if isinstance(value, dict):
        for pattern in _named(schema, "patternProperties"):
            work += sum(_matching(pattern, len(name)) for name in value)
    return work


def _look_work(schema: dict[str, Any], value: Any) -> float:
    """As often as an expression may go back, it may read the text again."""
    texts: list[str] = []
    if isinstance(value, str) and _looks_around(str(schema.get("pattern"))):
        texts.append(value)
    if isinstance(value, dict):
        looking = sum(map(_looks_around, _named(schema, "patternProperties")))
        texts += [name for name in value for _ in range(looking)]
    return sum(_BACKTRACKS * (1 + len(text) / 100) for text in texts)


def _matching(pattern: str, length: int) -> float:
    """Plain expressions read a text once; those that look around may begin anew at every letter."""
    return 1 + length * length / 10 if _looks_around(pattern) else 1 + length / 10


def _letter_work(part: dict[str, Any], patterns: int) -> int:
    """The work that the expressions of one schema are for each letter."""
    found = [part.get("pattern"), *_named(part, "patternProperties")]
    if patterns > _MOST_SIZED:  # Each of them is small, then.
        return sum(_SIZES[100_000] for pattern in found if isinstance(pattern, str))
    return sum(_work_of(pattern) for pattern in found if isinstance(pattern, str))


@lru_cache(maxsize=4096)
def _work_of(pattern: str) -> int:
    for size, work in _SIZES.items():
        try:
            _compiled({"pattern": pattern}, {**_options(1), "size_limit": size})
        except UsageError:
            continue
        return work
    return _SIZES[_PATTERN_SIZE]


def _leaves(value: Any) -> int:
    """The work of comparing with a value, all that is inside it included."""
    count, todo = 1, list(_inside(value))
    while todo:
        count += 4
        todo += _inside(todo.pop())
    return count


def _looks_around(pattern: str) -> bool:
    return any(sign in pattern for sign in _LOOKING_AROUND)


def _named(schema: dict[str, Any], key: str) -> dict[str, Any]:
    found = schema.get(key)
    return found if isinstance(found, dict) else {}


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy, of JSON alone; `UsageError` when it is too large."""
    values, level = 0, [dict(schema)]
    for depth in itertools.count(1):
        if not level:
            break
        values += len(level)
        if depth > _DEEPEST:
            raise UsageError(f"it is nested more than {_DEEPEST} levels deep")
        if values > _MOST_VALUES:
            raise UsageError(f"it has more than {_MOST_VALUES:,} values")
        level = [inner for outer in level for inner in _inside(outer)]
    try:
        text = json.dumps(dict(schema))
    except (TypeError, ValueError) as error:
        raise UsageError(f"it cannot be written as JSON: {error}") from None
    if len(text) > _MOST_BYTES:
        raise UsageError(f"it has {len(text):,} letters, more than {_MOST_BYTES:,}")
    copied: dict[str, Any] = json.loads(text)
    return copied


def _check_language(schema: dict[str, Any]) -> None:
    language = schema.get("$schema", "")
    if not isinstance(language, str) or (language and not _LANGUAGES.fullmatch(language)):
        raise UsageError(f"it is written in {language!r:.200}, which is no known JSON Schema")


def _refuse_endless(parts: list[dict[str, Any]], targets: Mapping[str, Any]) -> None:
    """Alternatives that multiply, or lead to themselves, do so for the smallest value too."""
    work, nothing = _Work(targets, 2 * _MOST_VALUES), dict[str, Any]()
    try:
        for part in parts:
            work.of(part, nothing)
    except TooMuchWork:
        raise UsageError(
            "its references lead to themselves without end, or to too many alternatives"
        ) from None


def _inside(value: Any) -> Any:
    match value:
        case dict():
            return value.values()
        case list() | tuple():
            return value
    return ()


def _at(schema: Any, reference: str) -> Any:
    found = schema
    for step in reference.split("/")[1:]:
        if found is not schema:
            _refuse_name(found)
        name = _unquoted(step)
        try:
            found = found[int(name)] if isinstance(found, list) else found[name]
        except (LookupError, ValueError, TypeError):
            raise UsageError(f"it refers to {reference!r:.200}, which is not there") from None
    return found


def _unquoted(step: str) -> str:
    from urllib.parse import unquote  # noqa: PLC0415 - few schemas refer to anything

    return unquote(step).replace("~1", "/").replace("~0", "~")


def _fetch(address: str) -> Any:
    raise ValueError(f"{address} is not fetched")


def _options(patterns: int) -> dict[str, int]:
    size = min(_PATTERN_SIZE, _PATTERNS_SIZE // (patterns or 1))
    return {"backtrack_limit": _BACKTRACKS, "size_limit": size, "dfa_size_limit": size}


def _compiled(schema: dict[str, Any], options: dict[str, int]) -> Any:
    # Imported here: most agents have only function tools, which do not need it.
    import jsonschema_rs  # noqa: PLC0415

    limits = jsonschema_rs.FancyRegexOptions(**options)
    try:
        return jsonschema_rs.validator_for(schema, retriever=_fetch, pattern_options=limits)
    except jsonschema_rs.ValidationError as error:
        where = "/".join(str(step) for step in error.instance_path)
        raise UsageError(f"{where}: {error.message}".removeprefix(": ")[:500]) from error
    except ValueError as error:
        raise UsageError(str(error)[:500]) from error
