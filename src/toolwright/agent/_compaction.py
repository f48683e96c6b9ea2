"""Shorten a long history: a summary of the old part, then the newest messages as they are."""

from collections.abc import Sequence
from dataclasses import replace

from toolwright.agent._run import Run
from toolwright.messages import (
    History,
    HistoryCompacted,
    Message,
    ModelMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolResult,
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
_HEAD = "[Summary of the earlier conversation]\n"


async def compact(run: Run) -> None:
    """Compact the history when it is due; what it becomes is recorded, so it lasts."""
    settings = run.agent.compaction
    if settings is None or _last_input(run.history) <= settings.max_tokens:
        return
    cut = safe_cut(run.history, settings.keep_messages)
    if cut <= 1:
        return
    old, kept = run.history[:cut], run.history[cut:]
    summary = await _summarise(run, settings.model or run.model, old)
    messages = (user_message(_HEAD + summary), *_searches(old), *kept)
    run.emit(HistoryCompacted, messages=messages)
    run.thread.history, run.thread.begins = History(messages), None


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


async def _summarise(run: Run, model: Model, old: Sequence[Message]) -> str:
    transcript = "\n\n".join(_line(message) for message in old)
    request = ModelRequest(
        history=History([user_message(f"{transcript}\n\n{_ASK}")]).view(),
        instructions="You summarise conversations between a person and an assistant with tools.",
    )
    reply = await model.respond(request)
    run.meter.spend(reply.usage)
    return reply.text


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
