"""Turn an answer from outside into a typed one, or refuse it: the one check that every surface has."""

import json
import reprlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic_core import to_jsonable_python

from toolwright.errors import ArgumentError, UsageError
from toolwright.messages import (
    Approve,
    BlobPart,
    Given,
    Pending,
    Reject,
    RepeatedKeys,
    SignedIn,
    StoredAnswer,
    TextPart,
    each_once,
    jsonable,
)
from toolwright.tools._arguments import Args
from toolwright.tools._edits import has_marks, parse_edited
from toolwright.tools._fingerprint import ONCE
from toolwright.tools._json_schema import schema_parser
from toolwright.tools._output import to_output
from toolwright.tools._tool import Output

__all__ = ["accept_answer", "answer_from_text", "with_defaults"]

Parse = Callable[[str], Args]
_LEVELS = 200
"""Levels of nesting that an answer may have; readers of JSON refuse more."""
_SHOWN = 2000
"""How much of a refused answer, in characters, the refusal repeats."""


def accept_answer(pending: Pending, value: Any, parse: Parse | None = None) -> StoredAnswer:
    """`value` as the answer to what `pending` asks; `UsageError` with the reason when it is none.

    A confirmation takes `Approve`, `Reject`, True, False, or one of the first two as JSON. Every
    other call takes `Reject`, or a value, which is never read as anything else. `parse` is that of
    the tool: changed arguments are checked with it, and only with the schema where it is not known.
    """
    if isinstance(value, Reject):
        return _sound(pending, value)
    if pending.kind == "confirmation":
        return _decision(pending, value, parse)
    if isinstance(value, Approve | SignedIn):
        raise UsageError(
            f"Call {pending.call_id!r} waits for the {pending.kind}, which "
            f"{'an approval' if isinstance(value, Approve) else 'the mark of a sign-in'} is not; "
            "answer with the value itself, or Reject(reason=…)."
        )
    if pending.kind == "credential":
        raise UsageError(
            f"Call {pending.call_id!r} waits for a credential: answer it with a runner that has "
            "a credential store (Runner(agent, …, credentials='memory://'))."
        )
    if pending.kind == "result":
        given = _given(pending, value)
        if pending.schema is None:
            return given
        return Given(value=_fitting(pending, pending.schema, given.value))
    return Given(value=_fitting(pending, _schema(pending), _plain(pending, _bare(value))))


def answer_from_text(pending: Pending, text: str) -> Any:
    """What a person typed, as a value: JSON if it reads as JSON, else the text.

    Where a text is asked for it is the text as it is, so that "5" and "true" stay words; of a
    credential only an object is read, so that a key of digits stays a key.
    """
    if (_schema(pending) or {}).get("type") == "string":
        return text
    try:
        value = json.loads(text, object_pairs_hook=each_once)
    except RepeatedKeys as error:
        raise _refused(pending, str(error)) from error
    except (ValueError, RecursionError):
        return text
    return text if pending.kind == "credential" and not isinstance(value, dict) else value


# -- confirmations ---------------------------------------------------------------------------


def _decision(pending: Pending, value: Any, parse: Parse | None) -> StoredAnswer:
    is_one = isinstance(value, Approve)
    from toolwright.tools._yes_or_no import read_decision  # noqa: PLC0415 - only answers need it

    decision = value if is_one else read_decision(pending.call_id, value, "kind")
    decision = _sound(pending, decision)
    if isinstance(decision, Reject):
        return decision
    if decision.arguments is not None:
        _check_edited(pending, decision.arguments, parse)
    if decision.payload is not None:
        decision = replace(decision, payload=_fitting(pending, pending.schema, decision.payload))
    return decision


def _sound(pending: Pending, decision: Approve | Reject) -> Approve | Reject:
    """The decision, if each of its fields is what it should be: nothing is taken for a yes."""
    if isinstance(decision, Reject):
        if not isinstance(decision.reason, str) or decision.kind != "reject":
            raise _refused(pending, f"the reason is a text, not {reprlib.repr(decision.reason)}")
        return decision
    if decision.kind != "approve":
        raise _refused(pending, f"the kind is 'approve', not {reprlib.repr(decision.kind)}")
    _check_remember(pending, decision.remember)
    if not isinstance(decision.arguments, dict | None):
        raise _refused(
            pending, f"the arguments are an object, not {reprlib.repr(decision.arguments)}"
        )
    return replace(
        decision,
        arguments=_plain(pending, decision.arguments),
        payload=_plain(pending, decision.payload),
    )


def _check_remember(pending: Pending, remember: Any) -> None:
    if remember is False:
        return
    if remember is not True and remember not in ("arguments", "session", "user", "source"):
        raise _refused(
            pending,
            "'remember' is true, false, 'arguments', 'session', 'user' or 'source', "
            f"not {reprlib.repr(remember)}",
        )
    if remember == "arguments" and pending.question.rpartition(":")[2].startswith(ONCE):
        raise _refused(
            pending, "its arguments are not shown in full, so that they cannot be remembered"
        )
    if remember == "source":
        changed = isinstance(pending.payload, dict) and "source" in pending.payload
        if not changed:
            raise _refused(
                pending, "it is not about a server whose tools have changed: there is no 'source'"
            )
    if pending.question and not pending.rule:
        raise _refused(
            pending,
            "it asks a question of its own, which is asked every time; approve it without remembering",
        )


def _check_edited(pending: Pending, arguments: dict[str, Any], parse: Parse | None) -> None:
    if parse is None and not pending.parameters:
        return
    check = parse or schema_parser(pending.name, pending.parameters or {})
    try:
        parse_edited(pending.name, check, arguments)
    except ArgumentError as error:
        if has_marks(pending.arguments) and has_marks(arguments):
            # What they stand for is known where the call runs; what does not fit asks again there.
            return
        raise UsageError(
            f"The changed arguments of call {pending.call_id!r} do not fit: "
            f"{'; '.join(error.issues)[:_SHOWN]}. The call still waits."
        ) from error


# -- values ----------------------------------------------------------------------------------


def _given(pending: Pending, value: Any) -> Given:
    """A result as a tool may return one: a value, `(display, data)`, parts or an `Output`."""
    if isinstance(value, Given):
        parts = all(isinstance(part, BlobPart | TextPart) for part in value.content)
        if not parts or value.status not in ("ok", "error"):
            raise _refused(
                pending, f"a result has parts and is 'ok' or 'error': {reprlib.repr(value)}"
            )
        return replace(value, value=jsonable(value.value), data=jsonable(value.data))
    displayed = isinstance(value, tuple) and len(value) == 2
    if not displayed and not isinstance(value, Output | BlobPart | TextPart):
        return Given(value=jsonable(value))
    output = to_output(value)
    if output.status not in ("ok", "error"):
        raise _refused(pending, f"a result is 'ok' or 'error', not {output.status!r}")
    return Given(
        value=jsonable(output.value),
        content=output.content,
        data=jsonable(output.data),
        status=output.status,
    )


def _bare(value: Any) -> Any:
    return value.value if isinstance(value, Given) else value


def _plain(pending: Pending, value: Any) -> Any:
    """`value` as JSON values; what only its `repr` could stand for is no answer to a question."""
    if _is_json(value, _LEVELS):
        return value
    try:
        plain = to_jsonable_python(value, by_alias=True)
    except Exception:  # noqa: BLE001 - objects may raise anything when they are shown
        plain = value
    if isinstance(value, bytes | bytearray) or not _is_json(plain, _LEVELS):
        raise _refused(
            pending,
            f"a {type(value).__name__} that is not JSON, or has more than {_LEVELS} levels",
        )
    return plain


def _is_json(value: Any, levels: int) -> bool:
    if isinstance(value, float):
        return value - value == 0
    if value is None or isinstance(value, str | bool | int):
        return True
    if levels <= 0:
        return False
    if isinstance(value, dict):
        return all(isinstance(k, str) and _is_json(v, levels - 1) for k, v in value.items())
    return isinstance(value, list) and all(_is_json(item, levels - 1) for item in value)


def _schema(pending: Pending) -> dict[str, Any] | None:
    """What the answer must be; a choice is one of its options, whether it has a schema or not."""
    payload = pending.payload
    options = payload.get("options") if isinstance(payload, dict) else None
    if pending.schema is None and pending.kind == "choice" and isinstance(options, list):
        return {"enum": options}
    return pending.schema


def with_defaults(schema: dict[str, Any], value: Any) -> Any:
    """What a person sends of a form, with the defaults of the fields that they left alone."""
    fields = schema.get("properties", {})
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    return value | (defaults | value) if isinstance(value, dict) else value


def _fitting(pending: Pending, schema: dict[str, Any] | None, value: Any) -> Any:
    """The schema is checked as that of one argument, so that errors read the same everywhere."""
    if schema is None:
        return value
    if schema.get("type") == "string" and not isinstance(value, str):
        # Not mended as an argument would be: whoever sends a number has answered something else.
        raise _refused(pending, f"a text is wanted, not {reprlib.repr(value)}")
    shared = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    inner = {key: value for key, value in schema.items() if key not in ("$id", "$schema")}
    wrapped = {
        "type": "object", "properties": {"answer": inner}, "required": ["answer"], **shared
    }  # fmt: skip
    answer = {"answer": with_defaults(schema, value)}
    try:
        return schema_parser(pending.name, wrapped)(json.dumps(answer))["answer"]
    except ArgumentError as error:
        raise _refused(pending, "; ".join(error.issues)) from error


def _refused(pending: Pending, why: str) -> UsageError:
    return UsageError(
        f"The answer to call {pending.call_id!r} does not fit: {why[:_SHOWN]}. The call still waits."
    )
