"""An answer from the words after `sessions answer` and `tasks answer`."""

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from toolwright.cli._go import is_interactive
from toolwright.cli._words import choices, parse_answer
from toolwright.errors import UsageError
from toolwright.messages import Pending, Reject

__all__ = ["RejectOption", "answer_value"]

RejectOption = Annotated[
    str | None, Parameter(help="Refuse whatever is asked, for this reason, instead of an answer.")
]


async def answer_value(pending: Pending, words: Sequence[str], reject: str | None) -> Any:
    """The answer as a runner takes it; `edit` alone lets a person at a terminal edit."""
    if reject is not None:
        if words:
            raise UsageError(f"Either an answer or --reject; got {' '.join(words)!r} as well.")
        return Reject(reason=reject)
    if not words:
        raise UsageError(f"Answer call {pending.call_id!r} with: {choices(pending)}.")
    if pending.kind == "confirmation" and list(words) == ["edit"] and is_interactive():
        from toolwright.cli._ask import edit_arguments  # noqa: PLC0415 - slow to load

        return parse_answer(pending, f"edit {await edit_arguments(pending)}")
    return parse_answer(pending, " ".join(words))
