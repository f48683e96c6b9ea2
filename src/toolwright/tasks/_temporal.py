"""Tasks on Temporal: a workflow per task decides when its next segment runs, task queues where.

The journal stays in the store and is the truth. A worker holds a task there, as without Temporal, so that
whoever Temporal believes to be gone cannot write; a workflow that is missing is started by the sweep, and
one that is started twice, woken in vain or cancelled by an operator does no harm.
"""

import asyncio
import hashlib
import logging
import os
import time
import uuid
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, partial
from itertools import islice
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import anyio
from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, select

from toolwright.backends.sql import BEATS_PER_LEASE, Database
from toolwright.errors import StoreError, UsageError
from toolwright.messages import redact
from toolwright.tasks._engine import Codec, Offer, SegmentRunner, Take
from toolwright.tasks._queue import Queue, Standing
from toolwright.tasks._task import ENDED

try:
    from temporalio import activity
    from temporalio.client import Client
    from temporalio.common import (
        Priority,
        SearchAttributeKey,
        SearchAttributePair,
        TypedSearchAttributes,
        WorkflowIDConflictPolicy,
    )
    from temporalio.converter import DataConverter, DefaultFailureConverterWithEncodedAttributes
    from temporalio.envconfig import ClientConfig
    from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
    from temporalio.runtime import (
        LogForwardingConfig,
        LoggingConfig,
        Runtime,
        TelemetryConfig,
        TelemetryFilter,
    )
    from temporalio.service import RPCError
    from temporalio.worker import UnsandboxedWorkflowRunner, Worker

    from toolwright.tasks._temporal_workflow import Order, Outcome, TaskWorkflow
except ImportError as error:
    raise ImportError(
        "Tasks on Temporal need an extra: pip install 'toolwright[temporal]'"
    ) from error

__all__ = ["AGENT", "OWNER", "TemporalAddress", "TemporalEngine"]

logger = logging.getLogger("toolwright")

AGENT = SearchAttributeKey.for_keyword("ToolwrightAgent")
OWNER = SearchAttributeKey.for_keyword("ToolwrightOwner")
"""Search attributes that workflows have where the namespace defines them."""
_PORT = 7233
_LEVELS = 5
"""Of priority, 1 being the first."""
_AT_ONCE = 32
"""How many workflows are woken at the same time."""
_AWAY_SECONDS = 10.0
"""How long Temporal may take before a wake is left to the sweep."""
_SWEPT_AFTER = 10.0
"""From so many seconds in line on, a task may be one whose workflow was never started."""
_SWEPT_EVERY = 5.0
_SWEPT = 100
_SOON = 0.05
_TASK_SECONDS = timedelta(seconds=5)
"""How long a worker that was stopped may keep what it was to decide, which takes milliseconds."""
_BUILD = "toolwright"
"""Otherwise Temporal takes a second to read every file that is loaded, to make up a name. What a version can
go on with is said by `register(version=…)`."""
_LONG = timedelta(days=3650)

_METADATA = MetaData()
_STORE = Table(
    "toolwright_temporal",
    _METADATA,
    Column("key", Integer, primary_key=True),
    Column("store", Text, nullable=False),
)
"""The id by which this store is told from others that use the same namespace of Temporal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalAddress:
    """`temporal://host:7233/namespace`, and the address of the store."""

    target: str
    namespace: str
    store: str

    @classmethod
    def read(cls, url: str, store: str | None) -> "TemporalAddress":
        """`UsageError` unless it is one; the store may also be said in the address: `?store=…`."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or _PORT
        except ValueError as error:
            raise UsageError(f"{redact(url)!r} is not an address: {error}.") from error
        options = parse_qs(parts.query, keep_blank_values=True)
        stores = [*options.pop("store", []), *([] if store is None else [store])]
        namespace = unquote(parts.path.strip("/")) or "default"
        if parts.scheme != "temporal" or not host or "@" in parts.netloc or options:
            raise UsageError(
                f"Temporal's address is 'temporal://host:7233/namespace'; got {redact(url)!r}. "
                "Its API key and certificates are read from TEMPORAL_API_KEY, TEMPORAL_TLS_… and "
                "Temporal's own configuration file."
            )
        if len(stores) != 1:
            raise UsageError(
                "Tasks on Temporal are stored in a database: say which one, once, with "
                "Orchestrator('temporal://…', store='postgresql://…') or '?store=…' in the address."
            )
        at = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return cls(target=at, namespace=namespace, store=stores[0])

    def open_engine(self, queue: Queue, lease: float, codec: Codec | None) -> "TemporalEngine":
        """Connect on first use."""
        return TemporalEngine(self, queue, lease, codec)


class TemporalEngine:
    """Starts and wakes workflows, and runs their segments in workers."""

    # What is dispatched at once does not wait for what comes behind it and is more urgent; and
    # Temporal has no order among task queues.
    offers: Collection[Offer] = ()

    def __init__(
        self, address: TemporalAddress, queue: Queue, lease: float, codec: Codec | None
    ) -> None:
        queue.database.add("temporal", 1, _METADATA)
        self._address = address
        self._queue = queue
        self._lease = lease
        self._codec = codec
        self._connecting = anyio.Lock()
        self._connected: _Connected | None = None
        self._unwoken: set[str] = set()
        """Of which Temporal was to be told, and has not been yet."""

    # -- waking ------------------------------------------------------------------------------

    async def wake(self, task_ids: Collection[str]) -> None:
        """Start the workflows of these tasks, or signal them to look again."""
        self._unwoken.update(task_ids)
        try:
            # Not all at once: there may be as many as somebody enqueues.
            while some := set(islice(self._unwoken, _SWEPT)):
                self._unwoken -= some
                try:
                    await self._start(await self._queue.standing(some))
                except BaseException:
                    self._unwoken |= some
                    raise
        except (StoreError, RPCError, TimeoutError) as error:
            logger.warning("Temporal was not told of %d tasks: %r", len(self._unwoken), error)

    async def _sweep(self, pause: float) -> None:
        """Now and then start workflows for the next tasks in line that may have none.

        A process may die between storing a task and starting its workflow, Temporal may be away, a
        workflow may be terminated, and a queue may have been moved here from another engine.
        """
        last = (0.0, "")
        told, still = dict[str, float](), dict[str, float]()
        while True:
            try:
                found = await self._queue.ready(last, time.time() - _SWEPT_AFTER, _SWEPT)
                # Signalled once only since they are in line: each time adds to the history.
                await self._start(
                    found, but={t.id for t in found if told.get(t.id) == t.updated_at}
                )
                still |= {task.id: task.updated_at for task in found}
                if len(found) == _SWEPT:
                    last = (found[-1].start_at, found[-1].id)
                else:
                    last, told, still = (0.0, ""), still, {}
            except (StoreError, RPCError, TimeoutError) as error:
                logger.warning("a worker could not look for tasks without a workflow: %r", error)
            await asyncio.sleep(pause)

    async def _start(self, tasks: Sequence[Standing], *, but: Collection[str] = ()) -> None:
        """Start the workflows of these, and signal those that are running but for some."""
        if not tasks:
            return
        limit = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.timeout(_AWAY_SECONDS):
            connected = await self._connect()

            async def start(task: Standing) -> None:
                async with limit:
                    await connected.start(task, self._lease, signal=task.id not in but)

            await asyncio.gather(*map(start, tasks))

    # -- connecting --------------------------------------------------------------------------

    async def _connect(self) -> "_Connected":
        async with self._connecting:
            # A connection does not survive a fork.
            if self._connected is None or self._connected.process != os.getpid():
                self._connected = await self._connect_anew()
            return self._connected

    async def _connect_anew(self) -> "_Connected":
        database = self._queue.database
        store = await database.write(partial(_store_id, database))
        return await _connect(self._address, store, self._codec)

    async def close(self) -> None:
        """Let go of the connection."""
        self._connected = None

    # -- working -----------------------------------------------------------------------------

    @asynccontextmanager
    async def feed(self, runner: SegmentRunner) -> AsyncIterator[Take]:
        """Poll Temporal's task queues until the worker drains."""
        # Of two workers of one process, each needs a connection of its own.
        connected = await self._connect_anew()
        pollers = [connected.workflow_worker()]
        for agent, registered in runner.agents.items():
            rate = None if registered.rate is None else registered.rate[0] / registered.rate[1]
            for queue in runner.queues:
                segments = _Segments(self._queue, runner, agent, queue, self._lease)
                pollers.append(
                    connected.activity_worker(
                        connected.task_queue(agent, queue), segments, registered.workers, rate
                    )
                )
        polling = [asyncio.create_task(poller.run()) for poller in pollers]
        for task in polling:
            task.add_done_callback(lambda _: runner.look())
        closing = asyncio.create_task(_shut_down(pollers, runner.draining))
        sweeping = asyncio.create_task(self._sweep(min(_SWEPT_EVERY, self._lease)))

        async def take() -> bool:
            for task in polling:
                if task.done() and not runner.draining.is_set():
                    why = None if task.cancelled() else task.exception()
                    raise StoreError(f"Temporal gives this worker nothing to do: {why}") from why
            return False

        try:
            yield take
        finally:
            runner.draining.set()
            sweeping.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.gather(sweeping, closing, *polling, return_exceptions=True)


async def _shut_down(pollers: Sequence[Worker], draining: anyio.Event) -> None:
    await draining.wait()
    await asyncio.gather(*(poller.shutdown() for poller in pollers))


class _Segments:
    """The activities by which Temporal has a worker run segments of an agent's tasks."""

    def __init__(
        self, queue: Queue, runner: SegmentRunner, agent: str, name: str, lease: float
    ) -> None:
        self._queue = queue
        self._runner = runner
        self._agent = agent
        self._name = name
        self._pause = lease / BEATS_PER_LEASE

    @activity.defn(name="segment")
    async def segment(self, task_id: str) -> Outcome:
        """Run a task until it has ended or waits."""
        beating = asyncio.create_task(_beat(self._pause))
        try:
            has_run = await self._runner.run_segment(self._agent, self._name, task_id)
            found = await self._queue.standing([task_id])
        except StoreError as error:
            raise _not_now("The store is away.") from error
        finally:
            beating.cancel()
        return _outcome(found[0], has_run) if found else Outcome(ended=True, seconds=None)

    @activity.defn(name="cancel")
    async def cancel(self, task_id: str) -> Outcome:
        """Note that a task is to end; the next segment ends it."""
        try:
            await self._queue.request_cancel(task_id)
        except UsageError:
            return Outcome(ended=True, seconds=None)  # It is forgotten.
        except StoreError as error:
            raise _not_now("The store is away.") from error
        return Outcome(ended=False, seconds=0)


async def _beat(pause: float) -> None:
    """Show Temporal that the segment is being run.

    A tool that holds up the loop holds this up as well: then Temporal offers the segment to another
    worker, which finds the task held until this one has shown no life in the store either.
    """
    while True:
        activity.heartbeat()
        await asyncio.sleep(pause)


def _outcome(task: Standing, has_run: bool) -> Outcome:
    is_in_line = task.status == "QUEUED"
    moment = task.start_at if is_in_line else task.wake_at
    # By this machine's clock alone, so that it is compared with no other.
    seconds = None if moment is None else max(0.0, moment - time.time())
    if task.status == "ACTIVE" or (is_in_line and not seconds and not has_run):
        raise _not_now(
            "The task is held by another worker, at a limit, or left to another version."
        )
    if seconds is not None and not is_in_line:
        seconds = max(_SOON, seconds)
    return Outcome(ended=task.status in ENDED, seconds=seconds)


def _not_now(why: str) -> ApplicationError:
    return ApplicationError(why, type="NotNow", category=ApplicationErrorCategory.BENIGN)


@dataclass(frozen=True, slots=True)
class _Connected:
    """A connection, and the names that this store has there."""

    client: Client
    store: str
    process: int
    attributes: frozenset[str]
    """The search attributes that the namespace defines."""

    def task_queue(self, agent: str, queue: str) -> str:
        """One for each agent, so that each has its number of slots."""
        return f"toolwright:{self.store}:{queue}:{agent}"

    async def start(self, task: Standing, lease: float, *, signal: bool) -> None:
        """Start a task's workflow unless it is running, and if so signal it."""
        await self.client.start_workflow(
            TaskWorkflow.run,
            Order(task.id, self.task_queue(task.agent, task.queue), lease),
            id=f"toolwright:{self.store}:{task.id}",
            task_queue=f"toolwright:{self.store}",
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            start_signal="wake" if signal else None,
            task_timeout=_TASK_SECONDS,
            search_attributes=self._attributes(task),
            priority=_priority(task),
        )

    def _attributes(self, task: Standing) -> TypedSearchAttributes:
        said = ((AGENT, task.agent), (OWNER, task.owner_id))
        known = [(key, value) for key, value in said if key.name in self.attributes]
        return TypedSearchAttributes([SearchAttributePair(key, value) for key, value in known])

    def workflow_worker(self) -> Worker:
        """Decides what is next for any task of the store."""
        return Worker(
            self.client,
            task_queue=f"toolwright:{self.store}",
            workflows=[TaskWorkflow],
            # The sandbox would load the whole package anew for every task. The workflow is ours.
            workflow_runner=UnsandboxedWorkflowRunner(),
            # What a worker remembers of a workflow holds it up for ten seconds when that has died.
            max_cached_workflows=0,
            # Few, so that what is to be decided waits in Temporal, where it cannot time out.
            max_concurrent_workflow_tasks=8,
            max_concurrent_workflow_task_polls=2,
            build_id=_BUILD,
        )

    def activity_worker(
        self, task_queue: str, segments: _Segments, slots: int, rate: float | None
    ) -> Worker:
        """Runs segments of an agent's tasks."""
        return Worker(
            self.client,
            task_queue=task_queue,
            activities=[segments.segment, segments.cancel],
            max_concurrent_activities=slots,
            max_concurrent_activity_task_polls=min(2, slots),
            max_task_queue_activities_per_second=rate,
            build_id=_BUILD,
            # How long it takes to drain is the worker's to decide.
            graceful_shutdown_timeout=_LONG,
        )


def _priority(task: Standing) -> Priority:
    middle = (_LEVELS + 1) // 2
    owner = hashlib.sha256(task.owner_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return Priority(priority_key=min(_LEVELS, max(1, middle - task.priority)), fairness_key=owner)


def _store_id(database: Database, connection: Connection) -> str:
    """The store's id, made up by whoever first asks for it."""
    new = database.insert(_STORE).values(key=1, store=uuid.uuid4().hex)
    connection.execute(new.on_conflict_do_nothing(index_elements=["key"]))
    return connection.execute(select(_STORE.c.store)).scalar_one()


async def _connect(address: TemporalAddress, store: str, codec: Codec | None) -> _Connected:
    said = ClientConfig.load_client_connect_config()
    where: Any = {**said, "target_host": address.target, "namespace": address.namespace}
    try:
        client = await Client.connect(
            **where, data_converter=_converter(codec), runtime=_runtime(os.getpid())
        )
    except RuntimeError as error:
        raise StoreError(f"Temporal at {address.target} cannot be reached: {error}") from error
    return _Connected(client, store, os.getpid(), await _defined(client))


@cache
def _runtime(process: int) -> Runtime:
    """Of Temporal's, in a process; it would write to standard output."""
    logs = LogForwardingConfig(logger=logging.getLogger("toolwright.temporal"))
    warnings = TelemetryFilter(core_level="WARN", other_level="ERROR")
    return Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(warnings, forwarding=logs)))


def _converter(codec: Codec | None) -> DataConverter:
    if codec is None:
        return DataConverter.default
    encoded = DefaultFailureConverterWithEncodedAttributes
    coded: Any = codec
    return replace(DataConverter.default, payload_codec=coded, failure_converter_class=encoded)


async def _defined(client: Client) -> frozenset[str]:
    from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest  # noqa: PLC0415

    request = ListSearchAttributesRequest(namespace=client.namespace)
    try:
        found = await client.operator_service.list_search_attributes(request)
    except RPCError:
        return frozenset()  # Not everybody may ask; tasks are searched in the store all the same.
    return frozenset(found.custom_attributes)
