"""Find the calls that a model wrote into its text, where its server does not.

Only the end of a text is looked at, and only tools that were offered count: what a model writes
about calls, in prose or in an example, stays text.
"""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from toolwright.models._openai.thoughts import kept_back

__all__ = ["TextCalls", "WrittenCall"]

_MARKS = ("<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>", "<|tool_call_start|>")
_FIRST_MARKS = ("{", "[", "```")
"""What a text that is nothing but calls may begin with."""
_HERMES = ("<tool_call>", "</tool_call>")
_FUNCTION = ("<function=", "</function>")
_PARAMETER = ("<parameter=", "</parameter>")
# What was matched is never given back: a text of blanks would take the third power of its length.
_MISTRAL = re.compile(r"\s*+\[TOOL_CALLS\]\s*+([\w.-]++)\s*+(?:\[ARGS\]\s*+)?(?=\{)")
_BLANKS = re.compile(r"\s*+")
_FENCE = "```"
_FENCED = ("", "json", "tool_call")
_MOST_BLANKS = 1_000
"""Held back before a call, where they are layout."""


class WrittenCall(NamedTuple):
    """A call as it was found."""

    name: str
    arguments: str


class TextCalls:
    """Hands on a text up to where a call may begin, and holds the rest until the end."""

    def __init__(self, tools: frozenset[str]) -> None:
        self._tools = tools
        self._held = ""
        self._begun = False
        """Whether some of the text was handed on."""
        self._found = False
        self._after: list[str] = []
        """What came after the beginning of a call was found."""

    def hear(self, text: str) -> Iterator[str]:
        """What of the text so far is certainly none of a call's."""
        if self._found:
            self._after.append(text)
            return
        self._held += text
        safe, self._held = self._split()
        if safe:
            self._begun = True
            yield safe

    def end(self, *, believed: bool = True) -> tuple[str, list[WrittenCall]]:
        """What is still text, and the calls that follow it; none where the text is not believed."""
        held = "".join((self._held, *self._after))
        calls = _read(held, self._tools) if believed else []
        return ("", calls) if calls else (held, [])

    def _split(self) -> tuple[str, str]:
        begin = self._begin()
        if begin is not None:
            self._found = True
            safe, rest = self._held[:begin], self._held[begin:]
        else:
            safe, rest = kept_back(self._held, _MARKS)
        # Blanks before a call are layout, and may be held as long as nothing follows.
        words = safe.rstrip()
        if len(safe) - len(words) > _MOST_BLANKS:
            return safe, rest
        return words, safe[len(words) :] + rest

    def _begin(self) -> int | None:
        places = [place for mark in _MARKS if (place := self._held.find(mark)) >= 0]
        if not self._begun and self._held.lstrip().startswith(_FIRST_MARKS):
            places.append(0)
        return min(places, default=None)


def _read(text: str, tools: frozenset[str]) -> list[WrittenCall]:
    """The calls that make up all of `text`, in whichever of the formats; none if anything else does."""
    for read in (_tagged, _bracketed, _pythonic, _bare):
        calls = read(text)
        if calls and all(call.name in tools for call in calls):
            return calls
    return []


def _tagged(text: str) -> list[WrittenCall]:
    """`<tool_call>{…}</tool_call>` (Hermes, Qwen), and `<function=…>` inside or alone (Qwen Coder)."""
    calls: list[WrittenCall] = []
    at = _after_blanks(text, 0)
    while at < len(text):
        found = _enclosed(text, at, _HERMES)
        if found is not None:
            inner, at = found
            calls += _from_function(inner.strip()) or _from_json(inner)
        elif (found := _enclosed(text, at, _FUNCTION)) is not None:
            _, end = found
            calls += _from_function(text[at:end])
            at = end
        else:
            return []
        at = _after_blanks(text, at)
    return calls


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _enclosed(text: str, at: int, tags: tuple[str, str]) -> tuple[str, int] | None:
    """What stands between the tags that begin at `at`, and where they end."""
    begin, end = tags
    if not text.startswith(begin, at):
        return None
    close = text.find(end, at)
    return None if close < 0 else (text[at + len(begin) : close], close + len(end))


def _from_function(text: str) -> list[WrittenCall]:
    """The call that is all of `text`: a name, and each parameter in tags of its own."""
    found = _enclosed(text, 0, _FUNCTION)
    if found is None or found[1] != len(text):
        return []
    name, closed, body = found[0].partition(">")
    if not closed or not _is_name(name):
        return []
    arguments = dict(_parameters(body))
    return [WrittenCall(name, json.dumps(arguments, ensure_ascii=False))]


def _parameters(body: str) -> Iterator[tuple[str, Any]]:
    at = body.find(_PARAMETER[0])
    while at >= 0 and (found := _enclosed(body, at, _PARAMETER)) is not None:
        inner, end = found
        name, closed, text = inner.partition(">")
        if closed and _is_name(name):
            yield name, _value(text.removeprefix("\n").removesuffix("\n"))
        at = body.find(_PARAMETER[0], end)


def _is_name(name: str) -> bool:
    return name.split() == [name]


def _value(text: str) -> Any:
    """A number, a list and the like are written as JSON; everything else is a text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, str) else value


def _bracketed(text: str) -> list[WrittenCall]:
    """`[TOOL_CALLS][{…}]` and `[TOOL_CALLS]name{…}` (Mistral)."""
    if _MISTRAL.match(text):
        return _named(text)
    head, found, rest = text.partition("[TOOL_CALLS]")
    return _from_json(rest) if found and not head.strip() else []


def _named(text: str) -> list[WrittenCall]:
    calls: list[WrittenCall] = []
    at = 0
    while _after_blanks(text, at) < len(text):
        named = _MISTRAL.match(text, at)
        if named is None:
            return []
        try:
            _, at = json.JSONDecoder().raw_decode(text, named.end())
        except (ValueError, RecursionError):
            return []
        calls.append(WrittenCall(named[1], text[named.end() : at]))
    return calls


def _pythonic(text: str) -> list[WrittenCall]:
    """`[f(a=1), g(b="x")]` (Llama 4), with tags around it (LFM)."""
    text = text.strip().removeprefix("<|tool_call_start|>").removesuffix("<|tool_call_end|>")
    text = text.removeprefix("<|python_tag|>").strip()
    if not text.startswith("[") or len(text) > 100_000:
        return []
    try:
        listed = ast.parse(text, mode="eval").body
        calls = listed.elts if isinstance(listed, ast.List) else []
        return [_from_python(call) for call in calls]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return []


def _from_python(call: ast.expr) -> WrittenCall:
    if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
        raise ValueError("not a call with named arguments")
    arguments = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    return WrittenCall(ast.unparse(call.func), json.dumps(arguments, ensure_ascii=False))


def _bare(text: str) -> list[WrittenCall]:
    """JSON alone, after `<|python_tag|>` (Llama 3) or in a fence (Qwen Coder)."""
    text = text.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        tag, _, inner = text.removeprefix(_FENCE).removesuffix(_FENCE).partition("\n")
        return _from_json(inner) if tag.strip() in _FENCED else []
    return _from_json(text.removeprefix("<|python_tag|>"))


def _from_json(text: str) -> list[WrittenCall]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    calls = [_from_object(one) for one in (value if isinstance(value, list) else [value])]
    return [call for call in calls if call] if all(calls) else []


def _from_object(value: Any) -> WrittenCall | None:
    """`{"name": …, "arguments": {…}}`; Llama calls them parameters, others nest it in a function."""
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    if value.keys() - {"name", "arguments", "parameters", "id", "type"}:
        return None
    arguments = value.get("arguments", value.get("parameters", {}))
    if isinstance(arguments, str):
        return WrittenCall(value["name"], arguments or "{}")
    return WrittenCall(value["name"], json.dumps(arguments, ensure_ascii=False))
