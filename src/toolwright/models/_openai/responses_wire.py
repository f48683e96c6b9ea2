"""Messages as items of OpenAI's Responses API, and its responses as messages."""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from toolwright.messages import (
    BlobPart,
    Content,
    FinishReason,
    Message,
    ModelMessage,
    ModelPart,
    ReasoningPart,
    ServerToolPart,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from toolwright.models._call_ids import CallRules, new_call_id
from toolwright.models._depth import as_object
from toolwright.models._dialects import strict_schema
from toolwright.models._errors import model_error
from toolwright.models._media import MADE, as_data_url, as_note, as_text, is_text
from toolwright.models._prices import priced
from toolwright.models._sendable import sendable
from toolwright.models._sent_errors import refuse_error

__all__ = [
    "CLIENT_SEARCH",
    "REASONING_GAP",
    "converter",
    "read_call",
    "read_response",
    "to_function",
    "to_search",
    "with_loaded",
]

PROVIDER = "openai"
CLIENT_SEARCH = "tool_search"
"""The tool that answers when a model searches for tools and leaves the search to its client."""
Item = dict[str, Any]
REASONING_GAP = "\n\n"
_FOUND = "found"
"""The names of the tools that a search has found, until `with_loaded` puts the tools there."""
_RULES = CallRules(longest_id=64, name_characters=r"a-zA-Z0-9_\-", longest_name=64)
_INTERPRETER = "code_interpreter_call"
_CALL = frozenset({"type", "id", "call_id", "name", "arguments", "status"})
"""The fields of a call that are read; the others are kept and sent back."""


def to_function(spec: ToolSpec) -> Item:
    """A tool as the API wants it; strict where that keeps the schema's meaning."""
    strict = strict_schema(spec.parameters)
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description_with_examples,
        "parameters": strict or spec.parameters,
        "strict": strict is not None,
    }


def to_search(spec: ToolSpec) -> Item:
    """A tool that finds others, as the API's own search that is left to the client."""
    parameters = {"additionalProperties": False, **spec.parameters}
    described = {"description": spec.description_with_examples, "parameters": parameters}
    return {"type": CLIENT_SEARCH, "execution": "client", **described}


@cache
def converter(server: str, *, loads_tools: bool = False) -> Callable[[Message], list[Item]]:
    """How a message is sent. The same function each time, so the work is done once.

    With `loads_tools`, `with_loaded` makes a request's items of these.
    """

    @sendable(server, _RULES, loads_tools=loads_tools)
    def to_items(message: Message) -> list[Item]:
        """One message as input items, in order."""
        if isinstance(message, UserMessage):
            return [{"type": "message", "role": "user", "content": _contents(message.parts)}]
        if isinstance(message, ModelMessage):
            return _model_items(message, loads_tools)
        return [_output_item(result, loads_tools) for result in message.results]

    return to_items


def with_loaded(items: Iterable[Item], search: str, known: Mapping[str, Item]) -> Iterator[Item]:
    """The items, in which the calls of `search` are the API's own searches, with what they found.

    `known` are the tools that are there, by name. What a search without tools says follows it.
    """
    searches: set[str] = set()
    for item in items:
        match item["type"]:
            case "function_call" if item["name"] == search:
                searches.add(item["call_id"])
                yield _search_call(item["call_id"], as_object(item["arguments"]))
            case "tool_search_call":
                searches.add(item["call_id"])
                yield item
            case "function_call_output" if item["call_id"] in searches:
                found = item.get(_FOUND, ())
                yield _found(item["call_id"], [known[name] for name in found if name in known])
                if not found:
                    yield {"type": "message", "role": "developer", "content": item["output"]}
            case "function_call_output" if _FOUND in item:
                yield {key: value for key, value in item.items() if key != _FOUND}
            case _:
                yield item


def _search_call(call_id: str, arguments: Any) -> Item:
    made = {"type": "tool_search_call", "call_id": call_id, "arguments": arguments}
    return {**made, "execution": "client", "status": "completed"}


def _contents(parts: tuple[Content, ...]) -> list[Item]:
    return [_content(part) for part in parts]


def _content(part: Content) -> Item:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    if part.media_type.startswith("image/"):
        return {"type": "input_image", "image_url": as_data_url(part), "detail": "auto"}
    if is_text(part):
        return {"type": "input_text", "text": as_text(part)}
    if part.media_type.startswith(("audio/", "video/")):
        return {"type": "input_text", "text": as_note(part)}
    if part.url:
        return {"type": "input_file", "file_url": part.url}
    return {
        "type": "input_file",
        "filename": part.name or "file",
        "file_data": as_data_url(part),
    }


def _output_item(result: ToolResult, loads_tools: bool) -> Item:
    if result.name == CLIENT_SEARCH:
        return _search_output(result)
    only_text = all(isinstance(part, TextPart) for part in result.content)
    output = result.text if only_text else _contents(result.content)
    found = {_FOUND: result.found} if loads_tools and result.found else {}
    return {"type": "function_call_output", "call_id": result.call_id, "output": output, **found}


def _search_output(result: ToolResult) -> Item:
    """What a search by the client has found: the tools themselves, or none."""
    try:
        found = json.loads(result.text)
    except ValueError:
        found = []
    tools = [tool for tool in found if isinstance(tool, dict)] if isinstance(found, list) else []
    return _found(result.call_id, tools)


def _found(call_id: str, tools: Sequence[Any]) -> Item:
    output = {"type": "tool_search_output", "call_id": call_id, "tools": list(tools)}
    return {**output, "execution": "client", "status": "completed"}


def _model_items(message: ModelMessage, loads_tools: bool) -> list[Item]:
    # Ids and phases are this provider's own; another one's turn is told in plain words.
    own = message.meta.get("provider") == PROVIDER
    details = iter(message.meta.get("messages", ()) if own else ())
    items = []
    for part in message.parts:
        detail = next(details, None) if isinstance(part, TextPart) else None
        item = _model_item(part, detail, loads_tools)
        if item is not None:
            items.append(item)
    # The API refuses reasoning that nothing follows.
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    # What its interpreter drew goes back with the interpreter's own item.
    drawn = {item.get("id") for item in items if item["type"] == _INTERPRETER}
    images = [
        part for part in message.parts if isinstance(part, BlobPart) and part.name not in drawn
    ]
    return [*items, _made_images(images)] if images else items


def _made_images(images: list[BlobPart]) -> Item:
    """Images of the model's own cannot be sent back as such, so they are shown to it."""
    told: Item = {"type": "input_text", "text": MADE}
    return {"type": "message", "role": "user", "content": [told, *map(_content, images)]}


def _model_item(
    part: ModelPart, detail: Mapping[str, Any] | None, loads_tools: bool
) -> Item | None:
    match part:
        case TextPart():
            return _text_item(part, detail)
        case ToolCall():
            return _call_item(part, loads_tools)
        case ReasoningPart(provider="openai", signature=str()):
            return _reasoning_item(part)
        case ServerToolPart(provider="openai"):
            return part.payload
        case _:
            return None


def _call_item(call: ToolCall, loads_tools: bool) -> Item:
    if "openai_item" in call.meta and (loads_tools or call.name == CLIENT_SEARCH):
        return {**call.meta["openai_item"], "call_id": call.call_id}
    item_id = {"id": call.meta["openai_id"]} if "openai_id" in call.meta else {}
    return {
        **call.meta.get("openai_more", {}),
        "type": "function_call",
        **item_id,
        "call_id": call.call_id,
        "name": call.name,
        "arguments": call.arguments,
    }


def _text_item(part: TextPart, detail: Mapping[str, Any] | None) -> Item | None:
    if not part.text:
        return None
    if detail is None:
        return {"type": "message", "role": "assistant", "content": part.text}
    text = {"type": "output_text", "text": part.text, "annotations": []}
    return {"type": "message", "role": "assistant", **detail, "content": [text]}


def _reasoning_item(part: ReasoningPart) -> Item:
    return {
        "type": "reasoning",
        "id": part.meta["id"],
        "summary": part.meta.get("summary", []),
        "encrypted_content": part.signature,
    }


def read_response(
    response: Mapping[str, Any], name: str, search: str = CLIENT_SEARCH
) -> ModelMessage:
    """The whole reply, from a response as JSON; raises `ModelError` when it says that it failed.

    A search for tools that is left to the client is a call of `search`.
    """
    if response.get("status") in ("failed", "cancelled"):
        refuse_error(response, name)
        what = f"the response ended as {response['status']!r}"
        raise model_error(name, what, reason="server")
    reader = _Reader(search)
    for item in response["output"]:
        reader.read(item)
    meta = {"provider": PROVIDER, "id": response.get("id"), "messages": reader.messages}
    if reader.citations:
        meta["citations"] = reader.citations
    return ModelMessage(
        parts=tuple(reader.parts),
        usage=priced(name, _usage(response.get("usage") or {})),
        model=name,
        finish_reason=_finish_reason(response, reader),
        meta=meta,
    )


class _Reader:
    """Reads the output items of one response into parts."""

    def __init__(self, search: str) -> None:
        self._search = search
        self.parts: list[ModelPart] = []
        self.messages: list[Item] = []
        """For each text part, what must be sent back with it."""
        self.citations: list[Any] = []
        self.refused = False

    def read(self, item: Item) -> None:
        match item["type"]:
            case "message":
                self._message(item)
            case "reasoning":
                self.parts.append(_read_reasoning(item))
            case "function_call":
                self.parts.append(read_call(item))
            case "tool_search_call" if item.get("execution") == "client":
                self.parts.append(_read_search(item, self._search))
            case "image_generation_call" if item.get("result"):
                self.parts.append(_read_image(item))
            case kind:
                name = kind.removesuffix("_call")
                self.parts.append(ServerToolPart(provider=PROVIDER, name=name, payload=item))
                if kind == _INTERPRETER:
                    self.parts += _drawn(item)

    def _message(self, item: Item) -> None:
        contents = item.get("content", ())
        self.refused |= any(content["type"] == "refusal" for content in contents)
        text = "".join(content.get("text") or content.get("refusal") or "" for content in contents)
        self.parts.append(TextPart(text))
        kept = {key: item[key] for key in ("id", "status", "phase") if item.get(key)}
        self.messages.append(kept)
        self.citations += [
            note for content in contents for note in content.get("annotations") or ()
        ]


def _read_reasoning(item: Item) -> ReasoningPart:
    summary = item.get("summary") or []
    shown = summary or item.get("content") or []
    return ReasoningPart(
        text=REASONING_GAP.join(piece["text"] for piece in shown),
        signature=item.get("encrypted_content"),
        provider=PROVIDER,
        meta={"id": item.get("id"), "summary": summary},
    )


def read_call(item: Item) -> ToolCall:
    """The call that an item is."""
    meta = {"openai_id": item["id"]} if item.get("id") else {}
    # A namespace, a caller, and what comes to the API later.
    more = {key: value for key, value in item.items() if key not in _CALL and value is not None}
    if more:
        meta["openai_more"] = more
    arguments = item.get("arguments") or "{}"
    return ToolCall(
        call_id=item.get("call_id") or item.get("id") or new_call_id(),
        name=item["name"],
        arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
        meta=meta,
    )


def _read_search(item: Item, name: str) -> ToolCall:
    """A search for tools that is ours to make: a call, to the tool that makes it."""
    arguments = item.get("arguments") or {}
    return ToolCall(
        call_id=item.get("call_id") or item["id"],
        name=name,
        arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
        meta={"openai_item": item},
    )


def _drawn(item: Item) -> list[BlobPart]:
    """The images that the interpreter made, under the name of its call."""
    images = [one["url"] for one in item.get("outputs") or () if one["type"] == "image"]
    return [_image_at(url, item.get("id")) for url in images]


def _image_at(url: str, name: str | None) -> BlobPart:
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        media_type = head.removeprefix("data:").removesuffix(";base64")
        return BlobPart(media_type=media_type, data=base64.b64decode(data), name=name)
    return BlobPart(media_type="image/png", url=url, name=name)


def _read_image(item: Item) -> BlobPart:
    kind = item.get("output_format") or "png"
    data = base64.b64decode(item["result"])
    return BlobPart(media_type=f"image/{kind}", data=data, name=item.get("id"))


def _finish_reason(response: Mapping[str, Any], reader: _Reader) -> FinishReason:
    if response.get("status") == "incomplete":
        why = (response.get("incomplete_details") or {}).get("reason")
        return "refused" if why == "content_filter" else "length"
    if any(isinstance(part, ToolCall) for part in reader.parts):
        return "calls"
    return "refused" if reader.refused else "stop"


def _usage(usage: Mapping[str, Any]) -> Usage:
    into = usage.get("input_tokens_details") or {}
    out = usage.get("output_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("input_tokens", 0),
        output_tokens=usage.get("output_tokens", 0),
        cached_tokens=into.get("cached_tokens") or 0,
        cache_write_tokens=into.get("cache_write_tokens") or 0,
        reasoning_tokens=out.get("reasoning_tokens") or 0,
        requests=1,
    )
