"""Check an answer from outside before it is taken."""

import json
from typing import Any

from toolwright.errors import ArgumentError, UsageError
from toolwright.messages import Approve, Pending, Reject, jsonable
from toolwright.tools._json_schema import schema_parser

__all__ = ["check_answer"]


def check_answer(pending: Pending, value: Any) -> None:
    """`UsageError` when `value` is no answer to what `pending` asks."""
    if isinstance(value, Reject):
        return
    if pending.kind == "confirmation":
        if not isinstance(value, Approve | bool) and not _is_encoded(value):
            raise UsageError(
                f"Call {pending.call_id!r} waits for a confirmation; answer with Approve() or "
                f"Reject(reason=…), not {value!r}."
            )
    elif isinstance(value, Approve):
        raise UsageError(
            f"Call {pending.call_id!r} waits for a {pending.kind}, which an approval is not; "
            "answer with the value itself, or Reject(reason=…)."
        )
    elif pending.schema is not None:
        _check_schema(pending, value)


def _is_encoded(value: Any) -> bool:
    return isinstance(value, dict) and value.get("kind") in ("approve", "reject")


def _check_schema(pending: Pending, value: Any) -> None:
    """The schema is checked as that of one argument, so that errors read the same everywhere."""
    wrapped = {"type": "object", "properties": {"answer": pending.schema}, "required": ["answer"]}
    try:
        schema_parser(pending.name, wrapped)(json.dumps({"answer": jsonable(value)}))
    except ArgumentError as error:
        raise UsageError(
            f"The answer to call {pending.call_id!r} does not fit: {'; '.join(error.issues)}."
        ) from error
