"""Answers to pending calls, as requests spell them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from toolwright.backends import OpenCall
from toolwright.errors import ArgumentError, UsageError
from toolwright.messages import Answered, Given, Pending, Remember
from toolwright.serve._endpoint import Fields
from toolwright.serve._problems import ProblemError
from toolwright.tools import read_decision

__all__ = [
    "AnswerOutcome",
    "GiveAnswer",
    "OpenCallInfo",
    "answer_value",
    "call_info",
    "refusal_is_a_problem",
    "refuse_unless_accepted",
]


class _Exact(Fields):
    """A part of an answer: 1 is not true, and no field is there that nobody reads."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ApproveCall(_Exact):
    """Yes; with `arguments`, run it with these instead."""

    kind: Literal["approve"]
    arguments: dict[str, JsonValue] | None = None
    payload: JsonValue = None
    remember: Remember = False
    """`arguments`: not again for these; `session` or true: not again for this tool in this
    session; `user`: not again for this tool and user until the tool changes; `source`: accept all
    tools of a server that has changed."""


class RejectCall(_Exact):
    """No; the model is told the reason."""

    kind: Literal["reject"]
    reason: str = ""


class GiveValue(_Exact):
    """The result, the choice, the input or the credential that was asked for."""

    kind: Literal["value"]
    value: JsonValue


class GiveAnswer(Fields):
    """An answer to one pending call."""

    call_id: str
    key: str = ""
    """The `key` of the question that was shown: what waits under its id in a session that was made
    anew meanwhile is another question."""
    answer: Annotated[ApproveCall | RejectCall | GiveValue, Field(discriminator="kind")]


class AnswerOutcome(Fields):
    """What became of an answer."""

    outcome: Answered


class OpenCallInfo(Fields):
    """A call that waits, and where."""

    place: Literal["session", "task"]
    id: str
    title: str
    pending: Pending
    problem: str = ""
    """Why it cannot be read, nor answered here: then all that is known of `pending` is the id."""


def call_info(
    place: Literal["session", "task"], call: OpenCall, titles: Mapping[str, str]
) -> OpenCallInfo:
    """An open call as the list of all shows it."""
    of = call.scope.session_id
    return OpenCallInfo(
        place=place, id=of, title=titles.get(of, ""), pending=call.pending, problem=call.problem
    )


def answer_value(body: GiveAnswer) -> Any:
    """The answer as the runner takes it; a value stays one, whatever it looks like."""
    given = body.answer
    if isinstance(given, GiveValue):
        return Given(value=given.value)
    return read_decision(body.call_id, given.model_dump(exclude_unset=True), "kind")


_REFUSED: dict[Answered, tuple[int, str]] = {
    "duplicate": (409, "This call has already been answered; the first answer holds."),
    "finished": (409, "The run this call belongs to has ended."),
    "unknown": (404, "No such call is waiting."),
    "expired": (410, "The deadline of this call has passed."),
}


@contextmanager
def refusal_is_a_problem() -> Iterator[None]:
    """An answer that does not fit its call is a 422 with the reason; the call waits on."""
    try:
        yield
    except ArgumentError as error:
        raise ProblemError(422, str(error), list(error.issues)) from error
    except UsageError as error:
        raise ProblemError(422, str(error)) from error


def refuse_unless_accepted(outcome: Answered) -> AnswerOutcome:
    """The outcome, or the problem it is."""
    if outcome == "accepted":
        return AnswerOutcome(outcome=outcome)
    status, detail = _REFUSED.get(outcome, (422, "The answer was refused."))
    raise ProblemError(status, detail, [f"outcome: {outcome}"])
