"""Defects that this code has had, or could have, put back one at a time: the simulator must find each.

Each is a small patch that replaces a function by what it once was, or leaves out a precaution.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar
from sqlalchemy import bindparam, update
from tests.simulation.scenarios import SCENARIOS

from toolwright.agent import _credentials, _dispatch, _graph, _log, _runner, _start
from toolwright.agent._log import Log
from toolwright.agent._runner import Runner
from toolwright.backends.sql import Roll, SqlStore, _database, _statements
from toolwright.backends.sql import _roll as sql_roll
from toolwright.backends.sql import _store as _sql_store
from toolwright.backends.sql._holds import LEASE_SECONDS, Holds
from toolwright.backends.sql._roll import Standing
from toolwright.backends.sql._schema import PENDING
from toolwright.errors import StoreConflict, StoreError
from toolwright.messages import SignedIn
from toolwright.serve.live._feed import Feed
from toolwright.tasks import _queue, _roll, _store, _worker
from toolwright.testing.simulation import Scenario, _seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """What is wrong, how it is put back, and how it shows."""

    name: str
    scenario: Scenario
    patch: Callable[[], AbstractContextManager[Any]]
    shows: str
    """A regular expression for what the simulator says."""
    seed: int
    """The first seed that has shown it, tried before the others: searching takes seconds."""
    within: int
    """After how many seeds it must have been found."""


# -- the journal -----------------------------------------------------------------------------


def forget_failed_batches() -> AbstractContextManager[Any]:
    """A failed append forgets what it was to store; who comes next believes that it was stored."""

    async def flush(self: Log) -> None:
        if self.store is None:
            return
        with anyio.CancelScope(shield=True):
            async with self._flushing:
                if self._unsaved:
                    batch, self._unsaved = self._unsaved, []
                    await self.store.append(self.scope, batch)

    return patch.object(_log.Log, "flush", flush)


class _OldGroupWriter:
    """Takes the batch out of the list before it can be sure that it will be done."""

    def __init__(self, transact: Callable[[Any, bool], Any]) -> None:
        self._transact = transact
        self._groups: RunVar[Any] = RunVar("old group writer")

    async def run(self, work: Callable[[Any], Any], *, synced: bool = False) -> Any:
        group: Any = self._groups.get(None)
        if group is None:
            group = {"lock": anyio.Lock(), "waiting": []}
            self._groups.set(group)
        job: dict[str, Any] = {"work": work, "done": False, "value": None, "error": None}
        group["waiting"].append(job)
        try:
            async with group["lock"]:
                if not job["done"]:
                    batch, group["waiting"] = group["waiting"], []
                    await anyio.to_thread.run_sync(self._do, batch)
        except anyio.get_cancelled_exc_class():
            if job in group["waiting"]:
                group["waiting"].remove(job)
            raise
        if job["error"] is not None:
            raise job["error"]
        return job["value"]

    def _do(self, batch: list[dict[str, Any]]) -> None:
        def attempt(connection: Any, job: dict[str, Any]) -> None:
            try:
                with connection.begin_nested():
                    job["value"] = job["work"](connection)
            except Exception as error:
                job["error"] = error

        try:
            self._transact(lambda connection: [attempt(connection, job) for job in batch], False)
        except BaseException as error:
            for job in batch:
                job["error"] = job["error"] or error
        for job in batch:
            job["done"] = True


def drop_neighbours() -> AbstractContextManager[Any]:
    """A cancelled caller drops the writes of those who wait beside it, and they are told 'done'."""
    return patch.object(_database, "GroupWriter", _OldGroupWriter)


def run_before_the_start_is_stored() -> AbstractContextManager[Any]:
    """A tool with effects runs although its start is not stored."""
    return patch.object(Log, "flush", _flush_unless_started)


async def _flush_unless_started(self: Log) -> None:
    if self.store is None or not self._unsaved:
        return
    if type(self._unsaved[-1]).__name__ == "ToolStarted":
        return
    with anyio.CancelScope(shield=True):
        async with self._flushing:
            batch = list(self._unsaved)
            await self.store.append(self.scope, batch)
            del self._unsaved[: len(batch)]


def repeat_interrupted_calls() -> AbstractContextManager[Any]:
    """An interrupted call is repeated as if nothing had been started."""

    def record(self: Log, call_id: str) -> Any:
        found = _RECORD(self, call_id)
        found.started = False
        return found

    return patch.object(Log, "record", record)


_RECORD = Log.record


def accept_any_writer() -> AbstractContextManager[Any]:
    """A store takes events that do not follow on: two runs of one session both write."""
    append = SqlStore.append

    async def numbered_anew(
        self: SqlStore, scope: Any, events: Sequence[Any], hold: Any = None
    ) -> None:
        last = (await self.load(scope)).row.last_seq
        for offset, event in enumerate(events, 1):
            object.__setattr__(event, "seq", last + offset)
        await append(self, scope, events)

    return patch.object(SqlStore, "append", numbered_anew)


# -- held sessions ---------------------------------------------------------------------------


def hold_nothing() -> AbstractContextManager[Any]:
    """Nothing holds a session: who comes second learns it only when both have written."""
    append = SqlStore.append

    async def without_hold(self: SqlStore, scope: Any, events: Any, hold: Any = None) -> None:
        await append(self, scope, events)

    return patch.object(SqlStore, "append", without_hold)


def take_from_the_living() -> AbstractContextManager[Any]:
    """A hold is taken over although its process is alive."""
    return _everybody_is(Standing(lease=LEASE_SECONDS, is_gone=True))


def never_take_over() -> AbstractContextManager[Any]:
    """The hold of a process that has died lasts for ever."""
    return _everybody_is(Standing(lease=LEASE_SECONDS))


def _everybody_is(standing: Standing) -> AbstractContextManager[Any]:
    return patch.object(Roll, "standing", lambda self, connection, name: standing)


def wait_for_the_dead() -> AbstractContextManager[Any]:
    """That a process of the same machine has ended is not looked at: its lease must run out."""
    return patch.object(sql_roll, "_is_running", lambda row: True)


def bury_the_silent() -> AbstractContextManager[Any]:
    """Whoever looks takes a process off the list before its lease is over."""
    return patch.object(Roll, "_is_dead", lambda self, row: self._silence(row) >= row.lease * 2 / 3)


def show_no_life() -> AbstractContextManager[Any]:
    """Nothing is heard of a process while its tool takes long."""
    return patch.object(Holds, "_begin_to_beat", lambda self: None)


def release_only_at_the_end() -> AbstractContextManager[Any]:
    """A run that could not store its end keeps its session."""

    async def release(self: Log) -> None:
        return

    return patch.object(Log, "release", release)


def forget_to_release_at_the_end() -> AbstractContextManager[Any]:
    """The last append of a run keeps the session, and what follows it releases nothing."""
    append = SqlStore.append

    async def keep(self: SqlStore, scope: Any, events: Any, hold: Any = None) -> None:
        await append(self, scope, events, hold and replace(hold, last=False))

    return patch.object(SqlStore, "append", keep)


def forget_what_is_owed() -> AbstractContextManager[Any]:
    """A session that the database has refused to release is not released later."""
    release = Holds._release

    async def once(self: Holds, where: Any, hold_id: str) -> None:
        self._owed.pop(hold_id, None)
        await release(self, where, hold_id)

    return patch.object(Holds, "_release", once)


def begin_again_after_a_loss() -> AbstractContextManager[Any]:
    """A run that has lost its session in the middle begins again, as if nothing had happened."""
    run_to_end = _runner.run_to_end

    async def unaware(job: Any, on_open: Any = None) -> Any:
        try:
            return await run_to_end(job, on_open)
        except StoreConflict:
            job.is_open = False
            raise

    return patch.object(_runner, "run_to_end", unaware)


# -- answers ---------------------------------------------------------------------------------


def keep_refused_credentials() -> AbstractContextManager[Any]:
    """The credential of an answer is kept before it is known whether the answer counts."""

    async def answer(self: Runner, session_id: str, call_id: str, value: Any) -> Any:
        [row] = await self.store.open_calls(self.app_name, session_id)
        answer = SignedIn(key=f"answer:{session_id}:{call_id}")
        assert self.services.credentials is not None
        await self.services.credentials.save(row.scope, answer.key, value)
        return await self.store.answer(self.app_name, session_id, call_id, answer)

    return patch.object(Runner, "answer", answer)


def accept_every_answer() -> AbstractContextManager[Any]:
    """Of two answers to one call both are accepted, and the later one counts."""
    is_it = PENDING.c.call_id == bindparam("call")
    is_mine = PENDING.c.session_key == bindparam("of")
    values = {"answered_at": bindparam("now"), "answer": bindparam("given")}
    always = update(PENDING).where(is_mine, is_it, _statements.IS_OPEN)
    return patch.object(_statements, "ANSWER", always.values(**values))


def keep_every_secret() -> AbstractContextManager[Any]:
    """The secret of an answer that was refused is not used, but kept for ever."""

    async def bring(store: Any, credentials: Any, row: Any, brought: Any) -> Any:
        answer = SignedIn(key=f"answer:{uuid.uuid4().hex}")
        await credentials.save(row.scope, answer.key, brought)
        return await _credentials._accept(store, credentials, row, answer)

    return patch.object(_credentials, "_bring", bring)


def mix_up_answers() -> AbstractContextManager[Any]:
    """Answers are handed out by kind of question, not by question."""

    take = Log.take_answers

    def take_answers(self: Log, calls: Sequence[Any]) -> bool:
        answered = [row for row in calls if row.answer is not None]
        pairs = zip(answered, reversed(answered), strict=True)
        return take(self, [replace(to, answer=of.answer) for to, of in pairs])

    return patch.object(Log, "take_answers", take_answers)


def answer_whatever_session_there_is() -> AbstractContextManager[Any]:
    """An answer that was checked is taken for a session that was begun anew in between."""
    return patch.object(_sql_store, "_is_born", lambda session, born: session is not None)


def answer_by_id_alone() -> AbstractContextManager[Any]:
    """A person's answer is taken for whatever waits under the id of what they were shown."""

    async def nowhere(*_: Any) -> set[str]:
        return set()

    return patch.object(Runner, "_asked_elsewhere", nowhere)


def follow_by_id_alone() -> AbstractContextManager[Any]:
    """Whoever follows a session goes on with the next of its id, where the old one ended."""
    return patch.object(Feed, "note_born", lambda *_: None)


# -- tasks -----------------------------------------------------------------------------------


def answer_forgotten_tasks() -> AbstractContextManager[Any]:
    """A task that is forgotten takes answers until its session is gone."""
    return patch.object(_store.TaskStore, "may_answer", lambda *_: True)


def forget_claims_that_failed() -> AbstractContextManager[Any]:
    """A claim whose acknowledgement was lost is held for ever by a worker that does not know it."""

    async def claim(self: Any) -> list[Any]:
        try:
            return await self._queue.claim(self._lines, self.name)
        except StoreError:
            return []

    return patch.object(_worker.Worker, "_claim", claim)


def stop_at_a_failed_node() -> AbstractContextManager[Any]:
    """A workflow that stopped at a node never tries it again, whoever wants it to."""
    return patch.object(_graph, "_may_go_on", lambda *_: False)


def drop_answers_at_a_cancel() -> AbstractContextManager[Any]:
    """A task that is cancelled closes the calls that were answered together with the others."""

    async def abandon(job: Any, reason: str, *, keep_open: bool = False) -> None:
        for address, call in _start._open_calls(job.run):
            _start._give_up(job.run, address, call, f"This call was not answered: {reason}.")
        _start.settle_turn(job.run.log, job.run.path)
        await _start._close(job.run, _start.Outcome(status="stopped", reason=reason))
        await job.run.log.release()

    return patch.object(_runner, "abandon", abandon)


def say_that_cancelled_calls_have_ended() -> AbstractContextManager[Any]:
    """A call that is cancelled gets an end, whatever its function has done by then."""
    run_tool = _dispatch._run_tool

    async def ended(run: Any, record: Any, box: Any, ctx: Any) -> Any:
        try:
            return await run_tool(run, record, box, ctx)
        except anyio.get_cancelled_exc_class():
            if run.log.broken is None:
                text = "This call was cancelled before it finished."
                output = _dispatch.Output(text=text, status="error")
                _dispatch._conclude(run, ctx, output, (output.content, None), 0.0, None)
            raise

    return patch.object(_dispatch, "_run_tool", ended)


def write_without_holding() -> AbstractContextManager[Any]:
    """A worker that was taken for dead still writes to its tasks, until another one has begun."""
    on_append = _store.TaskStore.on_append

    def unfenced(self: Any, connection: Any, scope: Any, events: Any, *, waits: bool) -> None:
        task, kept = self._lock(connection, scope.session_id), dict(self.holders)
        if task is not None:
            self.holders[task.id] = task.worker
        try:
            on_append(self, connection, scope, events, waits=waits)
        finally:
            self.holders.clear()
            self.holders.update(kept)

    return patch.object(_store.TaskStore, "on_append", unfenced)


def never_look_for_the_dead() -> AbstractContextManager[Any]:
    """Nobody gives back the tasks of a worker that has died."""

    async def cross_out_dead(self: Any, me: str = "") -> int:
        return 0

    return patch.object(_roll.WorkerRoll, "cross_out_dead", cross_out_dead)


@contextmanager
def forget_early_children() -> Iterator[None]:
    """A parent that parks after its children have ended is not told."""

    def park(self: Any, connection: Any, task: Any, calls: Any) -> None:
        wake = _store._first_deadline(calls)
        self._settle(connection, task, "PENDING_CHILD_TASKS", wake=wake)

    # It looks again and again, each time through a longer journal: two minutes of it are enough.
    patience = patch.object(_seed, "QUIET_SECONDS", 120.0)
    with patience, patch.object(_store.TaskStore, "_park", park):
        yield


def lose_messages() -> AbstractContextManager[Any]:
    """What was left for a task is thrown away when it is read, not when the journal has it."""
    mail = _queue._mail

    def read(connection: Any, task_ids: Any) -> Any:
        found = mail(connection, task_ids)
        for task_id in task_ids:
            connection.execute(_queue.INBOX.delete().where(_queue.INBOX.c.task_id == task_id))
        return found

    return patch.object(_queue, "_mail", read)


def never_repeat_deferred_calls() -> AbstractContextManager[Any]:
    """A deferred call whose process died before its function had returned only waits."""
    step = _dispatch.next_step

    def wait(record: Any) -> Any:
        pending = record.pending
        waits = pending is not None and record.answer is None and pending.deadline is None
        return None if waits else step(record)

    return patch.object(_dispatch, "next_step", wait)


DEFECTS = [
    Defect(
        name="a failed append forgets its batch",
        scenario=SCENARIOS["parallel_payments"],
        patch=forget_failed_batches,
        shows="though no process was lost|happened 2 times|ExceptionGroup|StoreError|stuck",
        seed=2,
        within=60,
    ),
    Defect(
        name="a cancelled caller drops its neighbours' writes",
        scenario=SCENARIOS["group_commit"],
        patch=drop_neighbours,
        shows="was told|wrote|ExceptionGroup|NoneType",
        seed=1,
        within=200,
    ),
    Defect(
        name="a tool runs before its start is stored",
        scenario=SCENARIOS["parallel_payments"],
        patch=run_before_the_start_is_stored,
        shows="happened 2 times",
        seed=57,
        within=200,
    ),
    Defect(
        name="an interrupted call is repeated",
        scenario=SCENARIOS["parallel_payments"],
        patch=repeat_interrupted_calls,
        shows="happened 2 times",
        seed=115,
        within=200,
    ),
    Defect(
        name="two runs of a session may both write",
        scenario=SCENARIOS["rival_runs"],
        patch=accept_any_writer,
        shows="happened 2 times|has 2 results|results",
        seed=1,
        within=20,
    ),
    Defect(
        name="nothing holds a session",
        scenario=SCENARIOS["held_session"],
        patch=hold_nothing,
        shows="though no process was lost|happened 2 times|has 2 results|began without",
        seed=3,
        within=60,
    ),
    Defect(
        name="a session is taken from a living run",
        scenario=SCENARIOS["held_session"],
        patch=take_from_the_living,
        shows="though no process was lost|refused, but",
        seed=3,
        within=60,
    ),
    Defect(
        name="the hold of a dead process is never taken over",
        scenario=SCENARIOS["held_session"],
        patch=never_take_over,
        shows="stuck",
        seed=18,
        within=100,
    ),
    Defect(
        name="a process that has ended is waited for",
        scenario=SCENARIOS["held_session"],
        patch=wait_for_the_dead,
        shows="which is gone",
        seed=18,
        within=150,
    ),
    Defect(
        name="a silent process is taken for dead before its lease is over",
        scenario=SCENARIOS["silent_holder"],
        patch=bury_the_silent,
        shows="lost within its lease",
        seed=11,
        within=60,
    ),
    Defect(
        name="a process that holds a session shows no life",
        scenario=SCENARIOS["held_session"],
        patch=show_no_life,
        shows="though no process was lost",
        seed=3,
        within=60,
    ),
    Defect(
        name="a run that fails keeps its session",
        scenario=SCENARIOS["held_session"],
        patch=release_only_at_the_end,
        shows="stuck|still held",
        seed=8,
        within=100,
    ),
    Defect(
        name="a run that ends keeps its session",
        scenario=SCENARIOS["held_session"],
        patch=forget_to_release_at_the_end,
        shows="stuck|still held",
        seed=0,
        within=20,
    ),
    Defect(
        name="a release that was refused is forgotten",
        scenario=SCENARIOS["busy_holder"],
        patch=forget_what_is_owed,
        shows="stuck",
        seed=4,
        within=60,
    ),
    Defect(
        name="a run that has lost its session begins again",
        scenario=SCENARIOS["told_once"],
        patch=begin_again_after_a_loss,
        shows="is in the session 2 times",
        seed=0,
        within=40,
    ),
    Defect(
        name="two answers to one call are accepted",
        scenario=SCENARIOS["approvals_elsewhere"],
        patch=accept_every_answer,
        shows="answers to .* were accepted",
        seed=7,
        within=60,
    ),
    Defect(
        name="the secret of a refused answer is kept",
        scenario=SCENARIOS["credential_race"],
        patch=keep_every_secret,
        shows="a secret that nobody uses",
        seed=111,
        within=80,
    ),
    Defect(
        name="a worker writes to a task that it does not hold",
        scenario=SCENARIOS["stopped_worker"],
        patch=write_without_holding,
        shows="has written to a task that",
        seed=2,
        within=60,
    ),
    Defect(
        name="the credential of a refused answer is used",
        scenario=SCENARIOS["credential_race"],
        patch=keep_refused_credentials,
        shows="was accepted, but used by",
        seed=20,
        within=100,
    ),
    Defect(
        name="a call gets the answer to another question",
        scenario=SCENARIOS["deferred_answers"],
        patch=mix_up_answers,
        shows="was answered|reads",
        seed=1,
        within=20,
    ),
    Defect(
        name="a claim whose acknowledgement was lost is forgotten",
        scenario=SCENARIOS["tasks_on_workers"],
        patch=forget_claims_that_failed,
        shows="stuck",
        seed=105,
        within=150,
    ),
    Defect(
        name="a deferred call whose process died is never repeated",
        scenario=SCENARIOS["deferred_death"],
        patch=never_repeat_deferred_calls,
        shows="stuck",
        seed=219,
        within=200,
    ),
    Defect(
        name="a cancelled task forgets the answers that were accepted",
        scenario=SCENARIOS["cancelled_while_answered"],
        patch=drop_answers_at_a_cancel,
        shows="was accepted, and read 0 times",
        seed=5,
        within=60,
    ),
    Defect(
        name="a failed step of a workflow is never tried again",
        scenario=SCENARIOS["workflow_tasks"],
        patch=stop_at_a_failed_node,
        shows="the task is FAILED",
        seed=3,
        within=60,
    ),
    Defect(
        name="nobody looks for dead workers",
        scenario=SCENARIOS["tasks_on_workers"],
        patch=never_look_for_the_dead,
        shows="stuck",
        seed=25,
        within=60,
    ),
    Defect(
        name="a parent that parks late misses its children's end",
        scenario=SCENARIOS["child_tasks"],
        patch=forget_early_children,
        shows="stuck",
        seed=69,
        within=60,
    ),
    Defect(
        name="a message for a task is lost with its worker",
        scenario=SCENARIOS["steering_and_cancel"],
        patch=lose_messages,
        shows="heard 0 times",
        seed=12,
        within=150,
    ),
    Defect(
        name="a cancelled call is said to have ended",
        scenario=SCENARIOS["restarted_workers"],
        patch=say_that_cancelled_calls_have_ended,
        shows="the model reads of a payment",
        seed=4,
        within=60,
    ),
    Defect(
        name="an answer is taken for a session begun anew while it was checked",
        scenario=SCENARIOS["begun_anew"],
        patch=answer_whatever_session_there_is,
        shows="though rejected|the last payment reads",
        seed=0,
        within=20,
    ),
    Defect(
        name="an answer is taken for what waits under the same id later",
        scenario=SCENARIOS["begun_anew"],
        patch=answer_by_id_alone,
        shows="though rejected|the last payment reads",
        seed=15,
        within=60,
    ),
    Defect(
        name="a follower goes on in a session begun anew",
        scenario=SCENARIOS["begun_anew"],
        patch=follow_by_id_alone,
        shows="whoever follows",
        seed=0,
        within=10,
    ),
    Defect(
        name="a task that is forgotten takes an answer",
        scenario=SCENARIOS["pruned_while_answered"],
        patch=answer_forgotten_tasks,
        shows="read by nobody",
        seed=7,
        within=60,
    ),
]
