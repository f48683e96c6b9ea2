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
_HERMES = re.compile(r"\s*<tool_call>\s*(.*?)\s*</tool_call>", re.S)
_FUNCTION = re.compile(r"\s*<function=([^>\s]+)>(.*?)</function>", re.S)
_PARAMETER = re.compile(r"\s*<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.S)
_MISTRAL = re.compile(r"\s*\[TOOL_CALLS\]\s*([\w.-]+)\s*(?:\[ARGS\])?\s*(?=\{)")
_FENCE = re.compile(r"\s*```(?:json|tool_call)?\s*\n(.*?)\n\s*```\s*", re.S)


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

    def hear(self, text: str) -> Iterator[str]:
        """What of the text so far is certainly none of a call's."""
        self._held += text
        if self._found:
            return
        safe, self._held = self._split()
        if safe:
            self._begun = True
            yield safe

    def end(self) -> tuple[str, list[WrittenCall]]:
        """What is still text, and the calls that follow it."""
        calls = _read(self._held, self._tools)
        return ("", calls) if calls else (self._held, [])

    def _split(self) -> tuple[str, str]:
        begin = self._begin()
        if begin is not None:
            self._found = True
            safe, rest = self._held[:begin], self._held[begin:]
        else:
            safe, rest = kept_back(self._held, _MARKS)
        # Blanks before a call are layout, and may be held as long as nothing follows.
        words = safe.rstrip()
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
    while text.strip():
        found = _HERMES.match(text) or _FUNCTION.match(text)
        if found is None:
            return []
        inner = found[1] if found.re is _HERMES else found[0]
        function = _FUNCTION.fullmatch(inner.strip())
        calls += [_from_parameters(function)] if function else _from_json(inner)
        text = text[found.end() :]
    return calls


def _from_parameters(function: re.Match[str]) -> WrittenCall:
    arguments = {name: _value(text) for name, text in _PARAMETER.findall(function[2])}
    return WrittenCall(function[1], json.dumps(arguments, ensure_ascii=False))


def _value(text: str) -> Any:
    """A number, a list and the like are written as JSON; everything else is a text."""
    try:
        value = json.loads(text)
    except ValueError:
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
    while text.strip():
        named = _MISTRAL.match(text)
        if named is None:
            return []
        try:
            _, end = json.JSONDecoder().raw_decode(text, named.end())
        except ValueError:
            return []
        calls.append(WrittenCall(named[1], text[named.end() : end]))
        text = text[end:]
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
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _from_python(call: ast.expr) -> WrittenCall:
    if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
        raise ValueError("not a call with named arguments")
    arguments = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    return WrittenCall(ast.unparse(call.func), json.dumps(arguments, ensure_ascii=False))


def _bare(text: str) -> list[WrittenCall]:
    """JSON alone, after `<|python_tag|>` (Llama 3) or in a fence (Qwen Coder)."""
    fenced = _FENCE.fullmatch(text)
    return _from_json(fenced[1] if fenced else text.strip().removeprefix("<|python_tag|>"))


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
