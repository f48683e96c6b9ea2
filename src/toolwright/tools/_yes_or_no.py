"""Read a yes or a no that came as JSON; what is not clearly one of them is refused with what is."""

import reprlib
from typing import Any, Literal

from toolwright.errors import UsageError
from toolwright.messages import Approve, Reject

__all__ = ["Spelling", "is_decision", "read_decision"]

Spelling = Literal["kind", "approved", "approve"]
"""The field that says yes or no: the HTTP API and Python's `kind`, AG-UI's `approved`, the
`approve` of an MCP form."""
_YES = frozenset({"arguments", "payload", "remember"})
_NO = frozenset({"reason"})
_ALSO: dict[Spelling, dict[str, str]] = {
    "kind": {},
    "approved": {"editedArgs": "arguments"},
    "approve": {},
}
"""What a protocol calls one of these fields."""
_VERDICTS: dict[Spelling, tuple[Any, Any]] = {
    "kind": ("approve", "reject"),
    "approved": (True, False),
    "approve": (True, False),
}
_ACCEPTED: dict[Spelling, str] = {
    "kind": 'Approve(), Reject(reason=…), true, false, {"kind": "approve", "arguments": {…}, '
    '"payload": …, "remember": …} and {"kind": "reject", "reason": "…"}',
    "approved": 'true, false, {"approved": true, "editedArgs": {…}, "payload": …, "remember": …} '
    'and {"approved": false, "reason": "…"}',
    "approve": 'true, false, {"approve": true} and {"approve": false}',
}


def read_decision(call_id: str, given: Any, spelling: Spelling) -> Approve | Reject:
    """The decision in `given`, which is a bool or has the field `spelling`.

    `UsageError` for anything else: an unknown field, or one that speaks against the verdict, may
    be where the person said what they really want. What a field holds is checked with the call.
    """
    if isinstance(given, bool):
        return Approve() if given else Reject()
    if not isinstance(given, dict) or spelling not in given:
        raise _unclear(call_id, f"{reprlib.repr(given)} is neither", spelling)
    yes, no = _VERDICTS[spelling]
    said = given[spelling]
    # 1 and "true" are no verdict: nothing is taken for a yes.
    if type(said) is not type(yes) or said not in (yes, no):
        raise _unclear(call_id, f"{spelling!r} is {reprlib.repr(said)}", spelling)
    fields = _fields(call_id, given, spelling)
    wrong = sorted(fields.keys() - (_YES if said == yes else _NO), key=str)
    if wrong:
        verdict = "a yes" if said == yes else "a no"
        raise _unclear(call_id, f"{verdict} has no {', '.join(map(repr, wrong))}", spelling)
    return Approve(**fields) if said == yes else Reject(**fields)


def is_decision(value: Any) -> bool:
    """Whether a confirmation would take `value` as its answer."""
    if isinstance(value, Approve | Reject):
        return True
    try:
        read_decision("", value, "kind")
    except UsageError:
        return False
    return True


def _fields(call_id: str, given: dict[str, Any], spelling: Spelling) -> dict[str, Any]:
    """What stands beside the verdict, by the names that it has here."""
    fields = {name: value for name, value in given.items() if name != spelling}
    for name, ours in _ALSO[spelling].items():
        if name in fields and ours in fields:
            raise _unclear(call_id, f"{name!r} and {ours!r} are the same, send one", spelling)
        if name in fields:
            fields[ours] = fields.pop(name)
    return fields


def _unclear(call_id: str, why: str, spelling: Spelling) -> UsageError:
    return UsageError(
        f"Call {call_id!r} waits for a confirmation, a yes or a no: {why}. "
        f"Accepted are {_ACCEPTED[spelling]}. The call still waits."
    )
