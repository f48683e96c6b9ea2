"""Shorten a long history: a summary of the old part, then the newest messages as they are."""

from collections.abc import Sequence
from dataclasses import replace

from toolwright.agent._limits import Compaction
from toolwright.agent._log import Thread
from toolwright.agent._run import Run
from toolwright.agent._server_tools import with_allowed_server_tools
from toolwright.errors import ModelError
from toolwright.messages import (
    BlobPart,
    History,
    HistoryCompacted,
    Message,
    ModelMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
    user_message,
)
from toolwright.models import Model, ModelRequest

__all__ = ["compact", "safe_cut"]

_ASK = (
    "Summarise the conversation so far for yourself, so that you can go on without it. Keep: the "
    "person's goals and wishes, decisions, facts and names that matter, files and their state, what "
    "is done, what is still to do. Be complete but brief."
)
_ASK_HERE = f"{_ASK} Answer with the summary alone, and call no tool."
_HEAD = "[Summary of the earlier conversation]\n"
_CLEARED = "[This result of {:,} letters was cleared; call the tool again if you need it.]"
_SHORT = 500
"""Letters of results that are not worth clearing."""
_BYTES_PER_TOKEN = 4
_STEP = 4
"""What is compacted at once is this part of what may be there, so that it is not done each turn."""


async def compact(run: Run, settings: Compaction, request: ModelRequest) -> bool:
    """Compact the history when it is due; what it becomes is recorded, so it lasts.

    `request` is what the model would be asked next.
    """
    if not _is_due(run.thread, settings):
        return False
    cut = safe_cut(run.history, settings.keep_messages)
    if cut <= 1:
        return False
    old, kept = run.history[:cut], run.history[cut:]
    before = _cleared(old, settings.max_tokens // _STEP) if settings.clear_results else None
    usage = Usage()
    if before is None:
        summary, usage = await _summary(run, settings, request, old)
        before = [user_message(_HEAD + summary), *_searches(old)]
    messages = (*before, *kept)
    run.emit(HistoryCompacted, messages=messages, usage=usage)
    run.thread.compacted(messages)
    # It was paid for: whoever goes on after a crash has it.
    await run.flush()
    return True


def _is_due(thread: Thread, settings: Compaction) -> bool:
    """Whether it is long, and has become so since it was last compacted."""
    tokens = _last_input(thread.history)
    after = thread.after_compaction or 0
    return tokens > settings.max_tokens and tokens > after + after // _STEP


def _cleared(old: Sequence[Message], least: int) -> list[Message] | None:
    """The messages with notes in the place of long results; None when that frees too few tokens."""
    freed = 0
    messages: list[Message] = []
    for message in old:
        if isinstance(message, ToolMessage):
            sizes = [_clearable(result) for result in message.results]
            freed += sum(sizes)
            pairs = zip(message.results, sizes, strict=True)
            message = ToolMessage(tuple(_without(one, size) for one, size in pairs))
        messages.append(message)
    return messages if freed >= least * _BYTES_PER_TOKEN and freed else None


def _clearable(result: ToolResult) -> int:
    """Bytes that clearing it would free; none for what a search for tools has found."""
    if result.found is not None:
        return 0
    blobs = sum(len(p.data or b"") for p in result.content if isinstance(p, BlobPart))
    size = len(result.text) + blobs
    return size if size > _SHORT else 0


def _without(result: ToolResult, size: int) -> ToolResult:
    return replace(result, content=(TextPart(_CLEARED.format(size)),)) if size else result


def _searches(old: Sequence[Message]) -> tuple[Message, ...]:
    """The searches that have found tools, so that these can still be called, as one turn."""
    calls = {call.call_id: call for m in old if isinstance(m, ModelMessage) for call in m.calls}
    known: set[str] = set()
    kept: list[ToolResult] = []
    for result in (one for m in old if isinstance(m, ToolMessage) for one in m.results):
        if known.issuperset(result.found or ()) or result.call_id not in calls:
            continue
        known.update(result.found or ())
        kept.append(result)
    if not kept:
        return ()
    # Without what belongs to the turns that they were a part of, such as reasoning.
    made = tuple(replace(calls[result.call_id], meta={}) for result in kept)
    return ModelMessage(parts=made, finish_reason="calls"), ToolMessage(tuple(kept))


def safe_cut(messages: Sequence[Message], keep: int) -> int:
    """The latest position, at least `keep` messages from the end, that no call spans."""
    cut = max(0, len(messages) - keep)
    while cut > 0 and isinstance(messages[cut], ToolMessage):
        cut -= 1
    return cut


def _last_input(history: Sequence[Message]) -> int:
    for message in reversed(history):
        if isinstance(message, ModelMessage):
            return message.usage.input_tokens
    return 0


async def _summary(
    run: Run, settings: Compaction, request: ModelRequest, old: Sequence[Message]
) -> tuple[str, Usage]:
    """A summary by another model of a transcript, or by the same one of all that it has before it, and
    what it has cost."""
    if settings.model is not None:
        return await _of_transcript(run, settings.model, old)
    begins = run.thread.begins
    asked = replace(
        request,
        history=History([*run.history, user_message(_ASK_HERE)]).view(),
        instructions=request.instructions if begins is None else "".join(begins),
        output_schema=None,
    )
    if asked.server_tools and run.rules:
        asked = await with_allowed_server_tools(run, asked)
    try:
        reply = await run.model.respond(asked)
    except ModelError as error:
        if error.reason != "bad_request":
            raise
        return await _of_transcript(run, run.model, old)  # such as for its length
    run.meter.spend(reply.usage)
    if reply.text.strip():
        return reply.text, reply.usage
    text, more = await _of_transcript(run, run.model, old)
    return text, reply.usage + more


async def _of_transcript(run: Run, model: Model, old: Sequence[Message]) -> tuple[str, Usage]:
    transcript = "\n\n".join(_line(message) for message in old)
    request = ModelRequest(
        history=History([user_message(f"{transcript}\n\n{_ASK}")]).view(),
        instructions="You summarise conversations between a person and an assistant with tools.",
    )
    reply = await model.respond(request)
    run.meter.spend(reply.usage)
    return reply.text, reply.usage


def _line(message: Message) -> str:
    match message:
        case UserMessage():
            return f"Person: {message.text}"
        case ToolMessage():
            return "\n".join(f"Result of {r.name}: {r.text[:2000]}" for r in message.results)
        case ModelMessage():
            said = [p.text for p in message.parts if isinstance(p, TextPart)]
            called = [
                f"calls {p.name}({p.arguments[:500]})"
                for p in message.parts
                if isinstance(p, ToolCall)
            ]
            return "Assistant: " + " ".join(said + called)
