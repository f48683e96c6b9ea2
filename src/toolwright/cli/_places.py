"""Which session a command works in: a new one, or one that is known."""

import uuid
from collections import Counter
from difflib import get_close_matches

from toolwright.agent import Runner
from toolwright.cli._options import USER
from toolwright.cli._state import default_store, has_tables
from toolwright.cli._target import Target, open_runner, open_stored
from toolwright.errors import UsageError
from toolwright.messages import Scope

__all__ = ["find_scope", "new_scope", "open_for", "scope_of", "sessions_of_others"]

_SHOWN = 10


def new_scope(runner: Runner) -> Scope:
    """A session that is not there yet."""
    return Scope(app_name=runner.app_name, user_id=USER, session_id=uuid.uuid4().hex[:8])


async def find_scope(runner: Runner, session_id: str) -> Scope:
    """A session that is there, whoever's it is; `UsageError` names those that are."""
    row = await runner.store.find(runner.app_name, session_id)
    if row is not None:
        return row.scope
    known = [row.scope.session_id for row in await runner.sessions()]
    raise _unknown_session(session_id, known, await sessions_of_others(runner))


async def scope_of(runner: Runner, session_id: str | None) -> Scope:
    """A new session, or the one that is named."""
    return new_scope(runner) if session_id is None else await find_scope(runner, session_id)


async def open_for(target: Target, session_id: str | None) -> Runner:
    """A runner for a new session, or for one that must be there."""
    if session_id is None:
        return open_runner(target)
    runner = open_stored(target)
    if runner is None:
        raise _unknown_session(session_id, [], await sessions_of_others(None))
    return runner


def _unknown_session(session_id: str, known: list[str], others: str) -> UsageError:
    near = get_close_matches(session_id, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
    there = f"Known: {shown}." if known else "This agent has none."
    return UsageError(f"There is no session {session_id!r}.{hint} {there}{others}")


async def sessions_of_others(runner: Runner | None) -> str:
    """What there is besides the sessions of `runner`: a sentence after a space, or nothing.

    Looked for where they are kept, and where those of agents are that say nothing about a store.
    """
    from toolwright.backends.sql import SqlStore  # noqa: PLC0415 - slow to load, and seldom needed

    found: Counter[str] = Counter()
    own = runner.store if runner is not None else None
    if isinstance(own, SqlStore):
        found.update(await own.apps())
        del found[runner.app_name if runner else ""]
    address = default_store()
    if has_tables(address, "sessions") and str(getattr(own, "database", "")) != address:
        usual = SqlStore(address)
        found.update(await usual.apps())
        await usual.close()
    if not found:
        return ""
    names = ", ".join(f"{name!r} ({count})" for name, count in sorted(found.items()))
    return f" Other agents have sessions: {names}; name one of them with --agent."
