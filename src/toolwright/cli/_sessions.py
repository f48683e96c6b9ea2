"""`toolwright sessions`: list, show, answer and delete the sessions of an agent."""

import json as json_text
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from textwrap import indent
from typing import Annotated, Any, TypeGuard

import anyio
from cyclopts import Parameter

from toolwright.agent import Runner
from toolwright.backends import SessionRow, is_expired, waited_for
from toolwright.cli import _exit as exits
from toolwright.cli._answer import RejectOption, answer_value
from toolwright.cli._by_hand import HAND
from toolwright.cli._go import LOST
from toolwright.cli._me import PersonModel
from toolwright.cli._options import AgentOption, JsonOption, ModelOption, StoreOption
from toolwright.cli._out import note, say, say_line
from toolwright.cli._parts import all_parts, named_files
from toolwright.cli._places import find_scope, open_for, sessions_of_others
from toolwright.cli._run import answer_command, chat_command, finish
from toolwright.cli._shorten import shorten
from toolwright.cli._show import outcome
from toolwright.cli._target import Target, open_stored
from toolwright.cli._words import find_call, how_to_answer, question
from toolwright.errors import UsageError
from toolwright.kits import hand_runner
from toolwright.messages import (
    Event,
    Message,
    ModelMessage,
    Steered,
    ToolMessage,
    ToolResult,
    call_of,
    encode_event,
    visible,
)

__all__ = ["sessions_answer", "sessions_delete", "sessions_list", "sessions_show"]

_LINE = 200


def sessions_list(
    agent: AgentOption = None, *, store: StoreOption = None, json: JsonOption = False
) -> int:
    """List the sessions, the latest first, and which of them wait for an answer."""

    async def main() -> None:
        runner = open_stored(Target(agent=agent, model="me", store=store))
        if runner is None:
            note(f"no sessions: none was ever stored here{await _others(None)}")
            return
        async with runner:
            await _list(runner, json)

    anyio.run(main)
    return exits.DONE


async def _list(runner: Runner, json: bool) -> None:
    rows = await runner.sessions()
    calls = await runner.store.open_calls(runner.app_name)
    waiting = {call.scope.session_id for call in waited_for(calls) if not is_expired(call.pending)}
    if not rows:
        note(f"no sessions of {runner.app_name!r}{await _others(runner)}")
    for row in rows:
        shown = _row(row, waits=row.scope.session_id in waiting)
        say_line(json_text.dumps(shown) if json else _line(shown))


async def _others(runner: Runner | None) -> str:
    told = await sessions_of_others(runner)
    return f".{told}" if told else ""


def _row(row: SessionRow, *, waits: bool) -> dict[str, Any]:
    moment = datetime.fromtimestamp(row.updated_at).astimezone()
    return {
        "id": row.scope.session_id,
        "user": row.scope.user_id,
        "updated": moment.isoformat(timespec="seconds"),
        "waits": waits,
        "title": row.title,
    }


def _line(row: dict[str, Any]) -> str:
    waits = "waits" if row["waits"] else ""
    return f"{row['id']:<16} {row['updated'][:16]}  {waits:<5}  {row['title']}"


def sessions_show(
    session: str,
    /,
    *,
    agent: AgentOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> int:
    """Show what was said and done in a session, and what it waits for; with --json its events."""
    target = Target(agent=agent, model="me", store=store)

    async def main() -> None:
        async with await open_for(target, session) as runner:
            await find_scope(runner, session)
            if json:
                for event in await runner.events(session):
                    say_line(encode_event(event))
                return
            history, waiting = await runner.history(session), await runner.pending(session)
            updates = [e.message for e in await runner.events(session) if _is_update(e)]
            open_ids = {call_of(pending.call_id) for pending in waiting}
            for message in history:
                say(_said(message, open_ids, updates))
            words = _words(target, history)
            for pending in waiting:
                say(f"\n{question(pending)}")
                command = answer_command(session, pending, words)
                say(how_to_answer(pending, command, chat_command(session, words)))

    anyio.run(main)
    return exits.DONE


def _words(target: Target, history: Sequence[Message]) -> str:
    """The options that answer the session with the model it was run with."""
    played = any(isinstance(m, ModelMessage) and m.model == PersonModel.name for m in history)
    return replace(target, model=PersonModel.name if played else None).words()


def _is_update(event: Event) -> TypeGuard[Steered]:
    """Whether it tells the outcome of a call that the run did not wait for."""
    return isinstance(event, Steered) and bool(event.call_id)


def _said(
    message: Message, waiting: Collection[str] = (), updates: Collection[Message] = ()
) -> str:
    """What a message says; `waiting` are the ids of the calls whose outcome is still to come."""
    if isinstance(message, ToolMessage):
        ends = [(r, "waits" if r.call_id in waiting else outcome(r)) for r in message.results]
        return "\n".join(f"  {r.name} → {end}: {_shown(r)}" for r, end in ends)
    if isinstance(message, ModelMessage):
        calls = [f"[{call.name}] {_short(call.arguments)}" for call in message.calls]
        return "\n".join([*filter(None, [message.text]), *named_files(message.parts), *calls])
    text = all_parts(message.parts)
    # The model reads an update as a message, but no person has said it.
    return indent(text, "  ") if message in updates else f"> {text}"


def _shown(result: ToolResult) -> str:
    return " ".join([_short(result.text), *named_files(result.content)]).strip()


def _short(text: str) -> str:
    first, _, more = text.strip().partition("\n")
    return shorten(visible(first, lines=False), _LINE) + (" …" if more else "")


def sessions_answer(
    session: str,
    call: str,
    /,
    *answer: str,
    reject: RejectOption = None,
    agent: AgentOption = None,
    model: ModelOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> int:
    """Answer a call that a session waits for, and go on with it when nothing else is open.

    Parameters
    ----------
    session
        The session's id.
    call
        The call's id.
    answer
        approve, reject REASON, always [WHAT] or edit '{…}' for a confirmation; for other calls the value,
        as JSON or as text.
    """
    # A call made by hand is answered without a model.
    asked = "me" if model is None and session.startswith(HAND) else model
    target = Target(agent=agent, model=asked, store=store)

    async def main() -> int:
        async with await open_for(target, session) as opened:
            scope = await find_scope(opened, session)
            runner = _made_by(opened, session)
            waiting = await runner.pending(session)
            pending = find_call(waiting, call)
            if pending is None:
                ids = ", ".join(pending.call_id for pending in waiting)
                known = f"these wait: {ids}" if ids else "nothing waits there"
                raise UsageError(f"Session {session!r} has no call {call!r} that waits; {known}.")
            value = await answer_value(pending, answer, reject)
            outcome = await runner.answer(session, pending.call_id, value, key=pending.key)
            if outcome != "accepted":
                note(LOST.get(outcome, outcome))
            if outcome not in ("accepted", "expired"):
                return exits.FAILED
            # Too late is news too: the agent is told that nobody answered.
            return await finish(runner, scope, None, target, json=json, yes=False)

    return anyio.run(main)


def _made_by(runner: Runner, session: str) -> Runner:
    """The runner that the session began with: `tools call` has the person in the model's place."""
    return (hand_runner(runner) or runner) if session.startswith(HAND) else runner


def sessions_delete(
    *sessions: Annotated[str, Parameter(name="SESSION")],
    agent: AgentOption = None,
    store: StoreOption = None,
) -> int:
    """Delete sessions, with the long outputs that were kept for them.

    Parameters
    ----------
    sessions
        Their ids.
    """
    if not sessions:
        raise UsageError("Name the sessions to delete; `toolwright sessions list` has them.")

    async def main() -> None:
        async with await open_for(
            Target(agent=agent, model="me", store=store), sessions[0]
        ) as runner:
            # Named twice, it is deleted once.
            found = [await find_scope(runner, session) for session in dict.fromkeys(sessions)]
            for session in (scope.session_id for scope in found):
                await runner.delete(session)
                say(f"deleted {session}")

    anyio.run(main)
    return exits.DONE
