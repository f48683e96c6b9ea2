"""What the model gets of an output: no secrets, not too much; long ones are read beside the loop."""

from collections.abc import Callable
from functools import partial
from typing import Any

from toolwright.agent._bounds import bounded, bounded_data, letters_of
from toolwright.agent._run import Run
from toolwright.concurrency import in_stoppable_thread
from toolwright.messages import Content, TextPart, jsonable
from toolwright.tools import MaxOutput, Output, Tool

__all__ = ["Parts", "presented"]

_LONG = 16_384
"""Letters from which on they are searched beside the loop: some hundredths of a second at most."""
_MOST_SEARCHED = 10_000_000
"""Letters of an output that are searched for secrets; no more is kept, for nobody would know."""
_NOT_KEPT = "[Only the first {kept:,} of {all:,} letters were searched for secrets and kept.]"
_LOST = "it is too long to be searched for secrets"
Parts = tuple[tuple[Content, ...], Any]


async def presented(run: Run, output: Output, tool: Tool | None) -> Parts:
    """Content and data of a result, bounded and without secrets; so is what is kept of them whole."""
    limit = MaxOutput() if tool is None else tool.max_output
    if not _is_longer(output, _LONG):
        return _made(run, limit, output)
    return await in_stoppable_thread(partial(_made, run, limit, output))


def _made(
    run: Run, limit: MaxOutput, output: Output, between: Callable[[], None] | None = None
) -> Parts:
    content, data = output.content, output.data
    if run.redactor:
        content = _without_secrets(run, content, between)
        if between is not None and letters_of(data, _MOST_SEARCHED) > _MOST_SEARCHED:
            data = {"lost": _LOST}
        else:
            data = run.redactor.inside(jsonable(data), between)
    spill = run.shared.spill
    return bounded(content, limit, spill), bounded_data(data, limit, spill)


def _without_secrets(
    run: Run, content: tuple[Content, ...], between: Callable[[], None] | None
) -> tuple[Content, ...]:
    parts: list[Content] = []
    left = _MOST_SEARCHED
    for part in content:
        if not isinstance(part, TextPart):
            parts.append(part)
            continue
        text = run.redactor.beginning(part.text, left, between)
        if len(part.text) > left:
            text += "\n" + _NOT_KEPT.format(kept=left, all=len(part.text))
        left -= min(left, len(part.text))
        parts.append(TextPart(text))
    return tuple(parts)


def _is_longer(output: Output, letters: int) -> bool:
    size = sum(len(part.text) for part in output.content if isinstance(part, TextPart))
    return size > letters or (
        output.data is not None and size + letters_of(output.data, letters) > letters
    )
