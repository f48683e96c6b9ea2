"""Read a Chat Completions reply, whole or in chunks, from OpenAI and from all that copy it."""

import json
from collections.abc import Mapping
from typing import Any

from toolwright.messages import (
    FinishReason,
    ModelMessage,
    ModelPart,
    ReasoningPart,
    TextPart,
    ToolCall,
    Usage,
)
from toolwright.models._call_ids import new_call_id
from toolwright.models._errors import ended_early, model_error
from toolwright.models._model import Delta, OnDelta
from toolwright.models._openai.text_calls import TextCalls
from toolwright.models._openai.thoughts import Thoughts
from toolwright.models._sent_errors import refuse_error

__all__ = ["ChatReply"]

Wire = dict[str, Any]
_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "model_length": "length",
    "content_filter": "refused",
}
_FAILED = frozenset({"error", "insufficient_system_resource", "abort"})
"""Ends that are the server's failure: OpenRouter's, DeepSeek's, vLLM's."""
_REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put their reasoning; some in both, while they rename one. OpenAI keeps it back."""


class ChatReply:
    """One reply, as far as it was heard.

    Without `thoughts` a text that begins with `<think>` is left alone. With `tools`, calls to them
    that were written into the text are taken for calls.
    """

    def __init__(
        self,
        name: str,
        provider: str,
        listen: OnDelta | None = None,
        *,
        thoughts: bool = True,
        tools: frozenset[str] | None = None,
    ) -> None:
        self._name = name
        self._provider = provider
        self._listen = listen or (lambda delta: None)
        self._thoughts = Thoughts() if thoughts else None
        self._text_calls = None if tools is None else TextCalls(tools)
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._fields: dict[str, list[str]] = {}
        """Reasoning by the field that it came in, and is wanted back in."""
        self._details: list[Any] = []
        self._listed: list[Wire] = []
        """The content, where it came as a list; pieces of one kind joined."""
        self._calls = _Calls(self._listen)
        self._citations: list[Any] = []
        self._id: Any = None
        self._usage: Mapping[str, Any] = {}
        self._finish: str | None = None
        self._refused = False
        self._heard = False
        self._index: Any = None
        self._choices: bool | None = None
        """None before a chunk had the field at all; then whether one was filled."""

    def hear(self, chunk: Wire) -> None:
        """Take in one chunk; a reply that is not streamed is a single one."""
        self._heard = True
        self._id = chunk.get("id") or self._id
        self._usage = _usage_in(chunk) or self._usage
        choices = chunk.get("choices")
        if choices is not None:
            self._choices = bool(choices) or bool(self._choices)
        for choice in choices or ():
            # Of several replies, which only somebody's own settings ask for, the first is read.
            self._index = choice.get("index") if self._index is None else self._index
            if choice.get("index") != self._index:
                continue
            refuse_error(choice, self._name)
            delta = choice.get("delta")
            self._hear_message(delta or choice.get("message") or {}, whole=not delta)
            self._finish = choice.get("finish_reason") or self._finish

    def end(self, *, done: bool) -> ModelMessage:
        """The message; `ModelError` where the reply did not come to an end, or to a bad one.

        Not all servers say why a reply ends: `done` says that it did all the same.
        """
        if self._finish is None and not done:
            raise ended_early(self._name, strange=self._heard and self._choices is None)
        if self._choices is None:
            raise KeyError("choices")
        if not self._choices:
            raise model_error(
                self._name, "the server sent a completion without a choice", reason="server"
            )
        if self._finish in _FAILED:
            raise model_error(self._name, f"the reply ended as {self._finish!r}", reason="server")
        self._flush()
        parts = self._parts()
        meta: Wire = {"id": self._id}
        if self._citations:
            meta["citations"] = self._citations
        return ModelMessage(
            parts=parts,
            usage=_usage(self._usage),
            model=self._name,
            finish_reason=self._finish_reason(parts),
            meta=meta,
        )

    # -- pieces -------------------------------------------------------------------------------

    def _hear_message(self, message: Wire, *, whole: bool) -> None:
        self._hear_reasoning(message)
        content = message.get("content")
        if isinstance(content, list):
            for item in content:
                self._hear_item(item)
        elif content:
            self._hear_content(content)
        if refusal := message.get("refusal"):
            self._refused = True
            self._add_text(refusal)
        self._citations += message.get("annotations") or ()
        for call in message.get("tool_calls") or ():
            if whole:
                self._calls.begin()
            self._calls.hear({**call, "index": None} if whole else call)
        if function := message.get("function_call"):
            self._calls.hear({"index": 0, "function": function})

    def _hear_reasoning(self, message: Wire) -> None:
        found = {key: message[key] for key in _REASONING_FIELDS if message.get(key)}
        for key, text in found.items():
            self._fields.setdefault(key, []).append(text)
        if found:
            self._add_reasoning(next(iter(found.values())))
        self._details += message.get("reasoning_details") or ()

    def _hear_content(self, text: str) -> None:
        if self._thoughts is None:
            self._add_text(text)
            return
        for kind, piece in self._thoughts.hear(text):
            self._add(kind, piece)

    def _hear_item(self, item: Wire | str) -> None:
        """One piece of a content that is a list: Mistral's thoughts and texts, others' plain ones."""
        if isinstance(item, str):
            item = {"type": "text", "text": item}
        if item.get("type", "output_text") == "output_text":
            item = {**item, "type": "text"}
        if item["type"] == "thinking":
            inner = item["thinking"]
            text = inner if isinstance(inner, str) else "".join(one["text"] for one in inner)
            self._add_reasoning(text)
            self._list("thinking", [{"type": "text", "text": text}])
        elif item["type"] == "text":
            self._add_text(item["text"])
            self._list("text", item["text"])
        else:
            self._listed.append(item)

    def _list(self, kind: str, value: Any) -> None:
        last = self._listed[-1] if self._listed else {}
        if last.get("type") != kind:
            self._listed.append({"type": kind, kind: value})
        elif kind == "text":
            last["text"] += value
        else:
            last["thinking"][0]["text"] += value[0]["text"]

    def _add(self, kind: str, piece: str) -> None:
        if kind == "reasoning":
            self._add_reasoning(piece)
        else:
            self._add_text(piece)

    def _add_reasoning(self, text: str) -> None:
        self._reasoning.append(text)
        self._listen(Delta(kind="reasoning", text=text))

    def _add_text(self, text: str) -> None:
        for piece in (text,) if self._text_calls is None else self._text_calls.hear(text):
            self._text.append(piece)
            self._listen(Delta(kind="text", text=piece))

    def _flush(self) -> None:
        """Hand on what was held back because more could have followed."""
        for kind, piece in self._thoughts.end() if self._thoughts else ():
            self._add(kind, piece)
        if self._text_calls is None:
            return
        calls_in_text, self._text_calls = self._text_calls, None
        # What a model writes while it refuses, it does not want done.
        rest, calls = calls_in_text.end(believed=not self._refused)
        if rest:
            self._add_text(rest)
        for call in calls:
            self._calls.hear({"function": call._asdict()})

    # -- the message --------------------------------------------------------------------------

    def _parts(self) -> tuple[ModelPart, ...]:
        parts: list[ModelPart] = []
        if self._reasoning or self._details:
            text = "".join(self._reasoning)
            meta = {"fields": self._sent_back()}
            parts.append(ReasoningPart(text=text, provider=self._provider, meta=meta))
        if text := "".join(self._text):
            parts.append(TextPart(text))
        return (*parts, *self._calls.whole())

    def _sent_back(self) -> Wire:
        """The very fields that the server wants back; of thoughts in the text it wants none."""
        if self._listed:
            return {"content": self._listed}
        if self._details:
            # They hold signatures; with them the text need not be repeated.
            return {"reasoning_details": self._details}
        return {key: "".join(texts) for key, texts in self._fields.items()}

    def _finish_reason(self, parts: tuple[ModelPart, ...]) -> FinishReason:
        finish = _FINISH.get(self._finish or "stop", "stop")
        # Some servers say "stop" all the same.
        if finish == "stop" and any(isinstance(part, ToolCall) for part in parts):
            return "calls"
        return "refused" if self._refused else finish


def _id(piece: Wire) -> Any:
    """The id of a call; some servers count."""
    given = piece.get("id")
    return str(given) if isinstance(given, int) else given


class _Call:
    """One call that is being written."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.name = ""
        self.arguments: list[str] = []

    def is_whole(self) -> bool:
        try:
            return isinstance(json.loads("".join(self.arguments)), dict)
        except (ValueError, RecursionError):
            return False

    def is_told_again(self, arguments: Any) -> bool:
        """Whether all of the call has come before; some servers repeat it at the end."""
        return bool(arguments) and arguments == "".join(self.arguments) and self.is_whole()


class _Calls:
    """The calls of one reply, in the order in which they began."""

    def __init__(self, listen: OnDelta) -> None:
        self._listen = listen
        self._calls: list[_Call] = []
        self._at: dict[Any, int] = {}
        """The call that is being written at each of the server's indices."""

    def begin(self) -> None:
        """Begin another call: what comes next belongs to none of those before."""
        self._calls.append(_Call())

    def hear(self, piece: Wire) -> None:
        """Take in a piece of a call, or all of it."""
        function = piece.get("function") or {}
        arguments = function.get("arguments")
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments, ensure_ascii=False)
        position = self._position(piece, function.get("name"), arguments)
        call = self._calls[position]
        if piece.get("id") and function.get("name") and call.is_told_again(arguments):
            return
        call.id = call.id or _id(piece)
        if function.get("name") and not call.name:
            call.name = function["name"]
            self._listen(Delta(kind="call", index=position, name=call.name))
            for held in call.arguments:
                self._listen(Delta(kind="call", index=position, text=held))
        if arguments:
            call.arguments.append(arguments)
            if call.name:
                self._listen(Delta(kind="call", index=position, text=arguments))

    def whole(self) -> list[ToolCall]:
        """The calls; an empty piece that became none is left out."""
        calls = [call for call in self._calls if call.name or call.arguments]
        ids: set[Any] = set()
        for call in calls:
            # TGI calls all of them "0"; results are told apart by their ids.
            call.id = new_call_id() if not call.id or call.id in ids else call.id
            ids.add(call.id)
        return [
            ToolCall(
                call_id=call.id or "", name=call.name, arguments="".join(call.arguments) or "{}"
            )
            for call in calls
        ]

    def _position(self, piece: Wire, name: Any, arguments: Any) -> int:
        """Which call a piece belongs to, where servers leave the index out or use one for all."""
        index = piece.get("index")
        known = len(self._calls) - 1 if index is None else self._at.get(index, -1)
        if known < 0 or self._is_another(self._calls[known], piece, name, arguments):
            self._calls.append(_Call())
            known = len(self._calls) - 1
        if index is not None:
            self._at[index] = known
        return known

    @staticmethod
    def _is_another(call: _Call, piece: Wire, name: Any, arguments: Any) -> bool:
        if _id(piece) and call.id:
            if _id(piece) != call.id:
                return True
            if not arguments or (call.is_told_again(arguments) and name == call.name):
                return False
        if not name or not call.name:
            return False
        return name != call.name or bool(arguments and call.is_whole())


def _cost(cost: Any) -> Any:
    """Some servers write it as a text, to lose no digit."""
    return float(cost) if isinstance(cost, str) else cost or 0.0


def _usage_in(chunk: Wire) -> Mapping[str, Any] | None:
    """The usage, wherever it is: Groq has a field of its own, Moonshot has it in the choice."""
    choices = chunk.get("choices") or ({},)
    own = chunk.get("x_groq") or {}
    return chunk.get("usage") or own.get("usage") or choices[0].get("usage")


def _usage(usage: Mapping[str, Any]) -> Usage:
    into = usage.get("prompt_tokens_details") or {}
    out = usage.get("completion_tokens_details") or {}
    # DeepSeek counts what came from its cache beside the details, Moonshot and Together too.
    cached = usage.get("prompt_cache_hit_tokens") or usage.get("cached_tokens")
    return Usage(
        input_tokens=usage.get("prompt_tokens") or usage.get("input_tokens") or 0,
        output_tokens=usage.get("completion_tokens") or usage.get("output_tokens") or 0,
        cached_tokens=into.get("cached_tokens") or cached or 0,
        cache_write_tokens=into.get("cache_write_tokens") or 0,
        reasoning_tokens=out.get("reasoning_tokens") or usage.get("reasoning_tokens") or 0,
        cost=_cost(usage.get("cost")),
        requests=1,
    )
