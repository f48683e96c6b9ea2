"""`POST /agui`: run the agent and stream AG-UI events."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from ag_ui.core import BaseEvent, RunAgentInput, UserMessage
from ag_ui.encoder import EventEncoder
from pydantic_core import PydanticSerializationError

from toolwright.backends import SessionRow
from toolwright.messages import Pending, Reject, RunEnded, Scope, jsonable, sendable_json
from toolwright.serve._answers import refusal_is_a_problem, refuse_unless_accepted
from toolwright.serve._endpoint import Ask, Nothing, Routes, route
from toolwright.serve._problems import ProblemError
from toolwright.serve._workbench import Workbench
from toolwright.serve.agui._repeated import Past
from toolwright.serve.agui._translate import Translator, interrupt_id
from toolwright.serve.live import EventStream
from toolwright.tools import read_decision

__all__ = ["AguiRoutes"]


class AguiRoutes(Routes):
    """The protocol's one operation. Threads are sessions; interrupts are pending calls.

    The server keeps the history: of the messages sent, only a last one from the user is new.
    Tools that a front end declares are not offered to the model.
    """

    tag = "ag-ui"

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench

    @route(
        "POST",
        "/agui",
        body=RunAgentInput,
        media_type="text/event-stream",
        errors=(404, 409, 410, 502, 503),
    )
    async def run_agui(self, ask: Ask[RunAgentInput, Nothing]) -> EventStream:
        """Run the agent, as the AG-UI protocol asks."""
        asked = ask.body
        row = await self._session(asked.thread_id)
        translator = Translator(asked.thread_id, asked.run_id)
        since = row.last_seq
        if asked.resume:
            since = await self._resume(row, asked.resume)
        else:
            await self.bench.runs.start(row.scope.session_id, row.scope.user_id, _last_words(asked))
        return self.bench.streams.response(self._frames(row, translator, since))

    async def _resume(self, row: SessionRow, entries: Sequence[Any]) -> int:
        """Answer the calls that wait; after which event the run goes on.

        An answer that was given before and is sent again changes nothing, and shows the run that
        went on with it.
        """
        store, session_id = self.bench.runner.store, row.scope.session_id
        waiting = _by_interrupt(await self.bench.runner.pending(session_id))
        past = Past()
        if any(entry.interrupt_id not in waiting for entry in entries):
            past = await Past.of(store, row)
        calls = _by_interrupt(past.calls.values()) | waiting
        with refusal_is_a_problem():
            answers = {calls[at].call_id: value for at, value in _answers(calls, entries).items()}
        keys = {pending.call_id: pending.key for pending in waiting.values()}
        new = {call_id: value for call_id, value in answers.items() if call_id in keys}
        for call_id in answers.keys() - new.keys():
            past.refuse_unless_same(call_id, answers[call_id])
        if not new:
            return min(past.at.get(call_id, row.last_seq) for call_id in answers)
        for call_id, outcome in (await self.bench.runs.answer_all(row, new, keys)).items():
            if outcome == "duplicate":  # By somebody who was quicker.
                (await Past.of(store, row)).refuse_unless_same(call_id, new[call_id])
            else:
                refuse_unless_accepted(outcome)
        return row.last_seq

    async def _session(self, thread_id: str) -> SessionRow:
        runner = self.bench.runner
        found = await runner.store.find(runner.app_name, thread_id)
        if found is not None:
            return found
        scope = Scope(
            app_name=runner.app_name, user_id=self.bench.settings.user_id, session_id=thread_id
        )
        return await runner.store.open(scope)

    async def _frames(
        self, row: SessionRow, translator: Translator, since: int
    ) -> AsyncGenerator[bytes, None]:
        """The run's frames, after the event `since`."""
        encoder = EventEncoder()
        if since == row.last_seq and not self.bench.runs.is_running(row.scope.session_id):
            waiting = await self.bench.runner.pending(row.scope.session_id)
            if waiting:
                for shown in translator.paused(waiting):
                    yield _frame(encoder, shown)
                return
        async with aclosing(self.bench.runs.follow(row, since)) as batches:
            async for batch in batches:
                if batch is None:
                    for shown in translator.lost():
                        yield _frame(encoder, shown)
                    return
                for event in (shown.event for shown in batch):
                    for translated in translator.translate(event):
                        yield _frame(encoder, translated)
                    if isinstance(event, RunEnded) and not event.path:
                        return


def _frame(encoder: EventEncoder, event: BaseEvent) -> bytes:
    """The event as it is sent; its readers take valid Unicode only."""
    try:
        return encoder.encode(event).encode()
    except PydanticSerializationError:
        return encoder.encode(type(event)(**sendable_json(jsonable(event.model_dump())))).encode()


def _last_words(asked: RunAgentInput) -> str:
    last = asked.messages[-1] if asked.messages else None
    if not isinstance(last, UserMessage):
        raise ProblemError(422, "The last message must be the user's, or 'resume' must be given.")
    if isinstance(last.content, str):
        return last.content
    return "\n".join(getattr(part, "text", "") for part in last.content)


def _by_interrupt(calls: Iterable[Pending]) -> dict[str, Pending]:
    return {interrupt_id(pending): pending for pending in calls}


def _answers(calls: Mapping[str, Pending], entries: Sequence[Any]) -> dict[str, Any]:
    """The resume entries as answers, by the interrupts' ids; all are read before any is taken."""
    answers: dict[str, Any] = {}
    for entry in entries:
        if entry.interrupt_id in answers:
            raise ProblemError(
                422,
                f"Interrupt {entry.interrupt_id!r} is answered more than once in this request; "
                "send one answer. None of the answers was taken, and all calls still wait.",
            )
        answers[entry.interrupt_id] = _value(calls, entry)
    return answers


def _value(calls: Mapping[str, Pending], entry: Any) -> Any:
    """A resume entry as an answer to the call that it names."""
    pending = calls.get(entry.interrupt_id)
    if pending is None:
        raise ProblemError(404, f"No interrupt {entry.interrupt_id!r} is open in this thread.")
    if entry.model_extra:
        raise ProblemError(
            422,
            f"The answer to interrupt {entry.interrupt_id!r} has fields that nobody reads: "
            f"{', '.join(map(repr, entry.model_extra))}; what is answered stands in 'payload'. "
            "The call still waits.",
        )
    given = entry.payload
    if entry.status != "cancelled":
        if pending.kind == "confirmation":
            return read_decision(pending.call_id, given, "approved")
        return given
    if given is not None:
        raise ProblemError(
            422,
            f"Interrupt {entry.interrupt_id!r} is cancelled and answered with {given!r} at once; "
            "send a payload with the status 'resolved' only. The call still waits.",
        )
    return Reject(reason="The user cancelled.")
