"""What a pending call asks of a person, as an elicitation, and the person's answer back."""

from collections.abc import Iterator, Mapping
from typing import Any

import mcp_types as types

from toolwright.errors import UsageError
from toolwright.messages import (
    Approve,
    Pending,
    Reject,
    SignedIn,
    pretences,
    shown_json,
    shown_text,
    visible,
)
from toolwright.tools import answer_from_text, read_decision

__all__ = ["answer_from", "can_be_asked", "question_for"]

_ELSEWHERE = "elsewhere"
"""In place of a secret: where the provider sent the person back to, the sign-in was finished."""
_PRIMITIVES = {"string", "number", "integer", "boolean"}
_CONFIRM: dict[str, Any] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Allow it"}},
    "required": ["approve"],
}


def can_be_asked(pending: Pending) -> bool:
    """Whether the person in front of the client can answer; a deferred result comes from elsewhere."""
    return pending.kind in ("confirmation", "choice", "input") or _sign_in_url(pending) is not None


def question_for(pending: Pending, problem: str = "") -> types.ElicitRequestParams:
    """The question as the client shows it, after the `problem` with an answer to it."""
    url = _sign_in_url(pending)
    if url is not None:
        hint = pending.hint or f"Sign in so that {pending.name!r} can go on."
        message = _after(problem, "\n".join([shown_text(hint), *_careful(hint)]))
        return types.ElicitRequestURLParams(
            message=message, url=url, elicitation_id=pending.call_id
        )
    message = _after(problem, _message(pending))
    form = _form(pending)
    shown = _spelled(form, _spellings(form))
    return types.ElicitRequestFormParams(message=message, requested_schema=shown)


def _after(problem: str, message: str) -> str:
    return f"{shown_text(problem)}\n{message}" if problem else message


def answer_from(pending: Pending, said: types.ElicitResult) -> Any:
    """What the runner is told; whoever declines or looks away has said no.

    `UsageError` for a form that is not filled in as it was shown, and for what is no clear yes or no.
    """
    if said.action != "accept":
        return Reject(reason=f"the person chose to {said.action}")
    if pending.kind == "credential":
        return SignedIn(key=_ELSEWHERE)
    form = _form(pending)
    content = _as_meant(form, said.content or {})
    _refuse_unknown(pending, form, content)
    if pending.kind == "confirmation":
        return _decision(pending, content)
    return content if form is pending.schema else _only_answer(pending, content)


def _decision(pending: Pending, content: dict[str, Any]) -> Approve | Reject:
    """What `approve` says, whatever the fields beside it say; they are the payload of a yes."""
    said = {name: value for name, value in content.items() if name == "approve"}
    decision = read_decision(pending.call_id, said, "approve")
    if isinstance(decision, Reject) or pending.schema is None:
        return decision
    filled = {name: value for name, value in content.items() if name != "approve"}
    return Approve(payload=filled if _is_beside(pending.schema) else _only_answer(pending, filled))


def _only_answer(pending: Pending, content: dict[str, Any]) -> Any:
    answer = content.get("answer")
    if answer is None:
        raise _does_not_fit(pending, "'answer' is missing")
    return answer_from_text(pending, answer) if isinstance(answer, str) else answer


def _refuse_unknown(pending: Pending, form: dict[str, Any], content: dict[str, Any]) -> None:
    """A field that was not asked for may be where the person said what they really want."""
    fields = form.get("properties", {})
    unknown = [name for name in content if name not in fields]
    if unknown:
        given, asked = ", ".join(map(repr, unknown)), ", ".join(map(repr, fields))
        raise _does_not_fit(pending, f"it has {given}, and was asked for {asked}")


def _does_not_fit(pending: Pending, why: str) -> UsageError:
    return UsageError(
        f"The answer to call {pending.call_id!r} does not fit: {why}. The call still waits."
    )


def _message(pending: Pending) -> str:
    """The question with all that it is about, for clients that show nothing else."""
    lines = [shown_text(pending.hint) or f"{visible(pending.name)!r} needs an answer."]
    shown: list[Any] = [pending.hint, _form(pending)]
    if pending.rule:
        lines.append(visible(f"Asked by {pending.rule}.", lines=False))
    if pending.kind == "confirmation" and pending.arguments:
        lines.append(f"{visible(pending.name)}({shown_json(pending.arguments)})")
        shown.append(pending.arguments)
    # The options of a choice are in the form.
    if pending.payload is not None and pending.payload != {"options": _options(pending)}:
        lines.append(shown_json(pending.payload))
        shown.append(pending.payload)
    return "\n".join([*lines, *_careful(*shown)])


def _careful(*shown: Any) -> list[str]:
    return [f"(careful: {line})" for line in pretences(*shown)]


def _form(pending: Pending) -> dict[str, Any]:
    if pending.kind == "confirmation":
        return _confirmation_form(pending)
    if pending.schema is not None and _is_flat(pending.schema):
        return pending.schema
    return _one_answer(_field(pending))


def _confirmation_form(pending: Pending) -> dict[str, Any]:
    """The yes or no, which is always asked for, and what a tool's own schema asks for beside it."""
    if pending.schema is None:
        return _CONFIRM
    own = pending.schema if _is_beside(pending.schema) else _one_answer(_field(pending))
    return {
        **own,
        "properties": {**_CONFIRM["properties"], **own["properties"]},
        "required": [*_CONFIRM["required"], *own.get("required", [])],
    }


def _is_beside(schema: dict[str, Any]) -> bool:
    """Whether its fields can stand beside `approve`."""
    return _is_flat(schema) and "approve" not in schema.get("properties", {"approve": None})


def _field(pending: Pending) -> dict[str, Any]:
    options = _options(pending)
    return {"type": "string", "enum": options} if options else {"type": "string"}


def _spellings(form: dict[str, Any]) -> dict[str, str]:
    """How the texts of a form are shown that have something unseen in them: each in its own way."""
    texts = list(dict.fromkeys(_texts(form)))
    taken = {text for text in texts if shown_text(text, lines=False) == text}
    spelled: dict[str, str] = {}
    for text in texts:
        if text in taken:
            continue
        shown = first = shown_text(text, lines=False)
        number = 1
        while shown in taken or shown in spelled.values():
            number += 1
            shown = f"{first} ({number})"
        spelled[text] = shown
    return spelled


def _spelled(value: Any, spellings: dict[str, str]) -> Any:
    match value:
        case str():
            return spellings.get(value, value)
        case dict():
            return {
                spellings.get(name, name): _spelled(part, spellings) for name, part in value.items()
            }
        case list():
            return [_spelled(part, spellings) for part in value]
        case _:
            return value


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, part in value.items():
                yield name
                yield from _texts(part)
        case list():
            for part in value:
                yield from _texts(part)


def _as_meant(form: dict[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields and options that a person has chosen, as they are; what they wrote stays."""
    meant = {shown: text for text, shown in _spellings(form).items()}
    fields = form.get("properties", {})
    named = {meant.get(name, name): value for name, value in content.items()}
    return {
        name: _option(value, meant, set(_choices(fields.get(name, {}))))
        for name, value in named.items()
    }


def _choices(field: dict[str, Any]) -> Iterator[str]:
    """The values that a field offers."""
    yield from _texts(field.get("enum", []))
    for option in [*field.get("oneOf", []), *field.get("anyOf", [])]:
        yield from _texts(option.get("const", []))
    if isinstance(items := field.get("items"), dict):
        yield from _choices(items)


def _option(value: Any, meant: dict[str, str], options: set[str]) -> Any:
    if isinstance(value, list):
        return [_option(part, meant, options) for part in value]
    text = meant.get(value) if isinstance(value, str) else None
    return text if text in options else value


def _options(pending: Pending) -> list[str]:
    options = (pending.schema or {}).get("enum") or []
    return options if all(isinstance(option, str) for option in options) else []


def _one_answer(field: dict[str, Any]) -> dict[str, Any]:
    """A form with one field, for what is no form itself."""
    properties = {"answer": {**field, "title": "Answer"}}
    return {"type": "object", "properties": properties, "required": ["answer"]}


def _is_flat(schema: dict[str, Any]) -> bool:
    """Elicitation forms have plain fields and lists of choices only."""
    fields = schema.get("properties", {}).values()
    return schema.get("type") == "object" and all(_is_plain(field) for field in fields)


def _is_plain(field: dict[str, Any]) -> bool:
    if field.get("type") == "array":
        return "enum" in field.get("items", {}) or "anyOf" in field.get("items", {})
    return field.get("type") in _PRIMITIVES


def _sign_in_url(pending: Pending) -> str | None:
    if pending.kind != "credential" or not isinstance(pending.payload, dict):
        return None
    return pending.payload.get("auth_uri")
