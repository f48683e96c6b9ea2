"""One tool in place of many: the model writes Python that calls them."""

import inspect
import logging
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from toolwright.backends import Limits, OsSandbox
from toolwright.builtin.codemode._calls import Calls, CodeRejected, Paused, Ran
from toolwright.builtin.codemode._cpython import run_on_cpython
from toolwright.builtin.codemode._monty import run_on_monty
from toolwright.builtin.codemode._stubs import Stub, make_stub, stub_module
from toolwright.errors import ToolError, UsageError
from toolwright.messages import ToolCall, ToolSpec, jsonable
from toolwright.tools import (
    Args,
    FunctionTool,
    Output,
    ReadonlyContext,
    SessionInfo,
    Tool,
    ToolContext,
    ToolLike,
    Toolset,
    combined,
    schema_parser,
    to_output,
)

__all__ = ["code_mode"]

_log = logging.getLogger("toolwright.sources")

_INTRODUCTION = """\
Runs Python that calls the functions below. Await each call; use asyncio.gather for calls that do \
not depend on each other. Loop, filter and join results in the code, and end with an expression, or \
print, only for what is needed: nothing else is seen. A call that fails raises RuntimeError. There \
are no files, no network, no third-party packages and no generators. Code that does not fit the \
signatures is not run."""
_ON_DEMAND = """\
The functions are listed by name only; `await describe(["name", …])` returns their signatures."""
_LARGE = 12_000
"""Characters of signatures beyond which they are given on demand."""
_MEMORY = 256 * 1024 * 1024
_CLOCK = re.compile(r"\b(datetime|time)\b")


def code_mode(
    toolset: Toolset | Sequence[ToolLike],
    *,
    name: str = "run_code",
    limits: Limits | None = None,
    stubs: typing.Literal["auto", "all", "on_demand"] = "auto",
    sandbox: OsSandbox | None = None,
) -> Toolset:
    """A toolset with one tool, which runs Python that calls the tools of `toolset`.

    Every call in the code is an ordinary call: validated, approved, limited, recorded. When one
    waits for a person, the whole waits; afterwards the code runs again from the start, and calls
    that have their result are not repeated. `limits` are for the code itself, calls not counted;
    arguments and results may have a quarter of its memory together.
    With a `sandbox`, code that the small interpreter cannot run, and that has made no call yet, runs
    there on CPython.
    """
    inner = toolset if isinstance(toolset, Toolset) else combined(toolset)
    engine = _Engine(limits or Limits(timeout=30.0, memory=_MEMORY), sandbox)
    return _CodeMode(inner, name, engine, stubs)


class _CodeMode(Toolset):
    def __init__(self, inner: Toolset, name: str, engine: "_Engine", stubs: str) -> None:
        super().__init__()
        self._inner = inner
        self._name = name
        self._engine = engine
        self._stubs = stubs
        # Which tools are enabled may change from turn to turn.
        self.cache_listing = False

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> Sequence[Tool]:
        tools = await self._inner.list_tools(readonly_context)
        if readonly_context is not None:
            tools = [t for t in tools if t.is_enabled is None or t.is_enabled(readonly_context)]
        return [_code_tool(self._name, _by_function(tools), self._engine, self._stubs)]

    async def all_tools(self, context: ReadonlyContext | None = None) -> list[Tool] | None:
        """The tool that runs code, and those that the code may call."""
        inner = await self._inner.all_tools(context)
        return None if inner is None else [*await self.list_tools(context), *inner]

    async def hidden_tools(self, context: ReadonlyContext | None = None) -> list[Tool]:
        """Those of the toolset behind; what the code may call stands in the tool itself."""
        return await self._inner.hidden_tools(context)

    async def file_digests(self) -> dict[str, dict[str, str]]:
        """Those of the tools that the code may call."""
        return await self._inner.file_digests()

    async def close(self) -> None:
        await self._inner.close()

    async def end_session(self, session: SessionInfo) -> None:
        await self._inner.end_session(session)


@dataclass(frozen=True, slots=True)
class _Engine:
    """What runs the code: Monty, and CPython in a sandbox for what Monty cannot."""

    limits: Limits
    sandbox: OsSandbox | None

    @property
    def room(self) -> int:
        """Bytes that may cross: each is here several times, as a value, an event and on its way."""
        return (self.limits.memory or _MEMORY) // 4

    async def run(self, code: str, calls: Calls, stubs: str) -> Ran:
        seed = calls.ctx.idempotency_key
        now = await _moment(calls.ctx) if _CLOCK.search(code) else None
        try:
            return await run_on_monty(
                code, calls, stubs=stubs, limits=self.limits, seed=seed, now=now
            )
        except CodeRejected as rejected:
            if not rejected.gap or calls.made or self.sandbox is None:
                raise
            return await run_on_cpython(code, calls, self.sandbox, self.limits)


def _by_function(tools: Sequence[Tool]) -> dict[str, Stub]:
    stubs: dict[str, Stub] = {}
    for tool in tools:
        stub = make_stub(tool, _returns(tool))
        if stub.function in stubs or stub.function == "describe":
            if tool.source:
                _log.error(
                    "Tool %r of %s is left out of code: there is a function %r already.",
                    tool.name, tool.source, stub.function,
                )  # fmt: skip
                continue
            raise UsageError(
                f"Tool {tool.name!r} would be the function {stub.function!r} in code, and there is "
                "one already; rename it with renamed(toolset, {…})."
            )
        stubs[stub.function] = stub
    return stubs


def _returns(tool: Tool) -> Mapping[str, Any] | None:
    """The schema of a Python function's return value, where its annotation says."""
    if not isinstance(tool, FunctionTool) or tool.is_long_running:
        return tool.spec.returns
    try:
        annotation = _returned(tool.func)
        return None if annotation is None else TypeAdapter(annotation).json_schema()
    except Exception:  # noqa: BLE001  (an annotation that has no schema only costs us the hint)
        return None


def _returned(func: Callable[..., Any]) -> Any:
    """What code gets from a function: of `(display, data)` the data, of a generator who knows what."""
    if inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func):
        return None
    annotation = typing.get_type_hints(func).get("return")
    parts = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else ()
    return parts[1] if len(parts) == 2 and parts[0] is str else annotation


def _code_tool(name: str, stubs: Mapping[str, Stub], engine: _Engine, mode: str) -> Tool:
    listing = stub_module(list(stubs.values()))
    on_demand = mode == "on_demand" or (mode == "auto" and len(listing) > _LARGE)
    functions = _with_describe(stubs) if on_demand else stubs
    checked_against = stub_module(list(functions.values()))
    spec = ToolSpec(
        name=name,
        description=_description(stubs, listing, on_demand),
        parameters={
            "type": "object",
            "properties": {"code": {"type": "string", "description": "The Python code."}},
            "required": ["code"],
            "additionalProperties": False,
        },
    )

    async def run(args: Args, ctx: ToolContext) -> Output:
        calls = Calls(ctx, functions, engine.room)
        try:
            ran = await engine.run(args["code"], calls, checked_against)
        except Paused:
            return Output(status="pending")
        except CodeRejected as rejected:
            raise ToolError("\n".join([*calls.notes, _advice(rejected)])) from rejected
        return _output(ran, calls.notes)

    # Repeating it is safe: calls inside that have finished are known and do not run again.
    return Tool(
        spec=spec,
        parse=schema_parser(name, spec.parameters),
        run=run,
        idempotent=True,
        inside=tuple(stub.tool for stub in stubs.values()),
    )


def _description(stubs: Mapping[str, Stub], listing: str, on_demand: bool) -> str:
    if not on_demand:
        return f"{_INTRODUCTION}\n\n```python\n{listing}\n```"
    lines = [f"- {function}: {_first_line(stub.tool)}" for function, stub in stubs.items()]
    return "\n".join([_INTRODUCTION, _ON_DEMAND, "", *lines])


def _first_line(tool: Tool) -> str:
    return tool.description.strip().split("\n", 1)[0][:120]


def _with_describe(stubs: Mapping[str, Stub]) -> dict[str, Stub]:
    """The functions and one more, which shows their signatures."""

    async def run(args: Args, ctx: ToolContext) -> Output:
        unknown = [name for name in args["names"] if name not in stubs]
        if unknown:
            raise ToolError(f"No such functions: {unknown}.")
        return Output(text="\n\n".join(stubs[name].text for name in args["names"]))

    schema = {
        "type": "object",
        "properties": {"names": {"type": "array", "items": {"type": "string"}}},
        "required": ["names"],
    }
    spec = ToolSpec(name="describe", parameters=schema, returns={"type": "string"})
    tool = Tool(spec=spec, parse=schema_parser("describe", schema), run=run, effects="read")
    return {**stubs, "describe": replace(make_stub(tool), is_ours=True)}


async def _moment(ctx: ToolContext) -> datetime:
    """When this code first ran; the same each time it runs again, so that it does the same."""

    async def run(args: Args, ctx: ToolContext) -> Output:
        return Output(text=datetime.now(UTC).isoformat())

    spec = ToolSpec(name="clock")
    tool = Tool(spec=spec, parse=schema_parser("clock", spec.parameters), run=run, effects="read")
    call = ToolCall(call_id="clock", name="clock")
    [result] = await ctx.run.answer_inside(ctx, [call], {"clock": tool}, free=["clock"])
    return datetime.fromisoformat(result.text)


def _advice(rejected: CodeRejected) -> str:
    if not rejected.gap:
        return str(rejected)
    return f"{rejected}\nThis interpreter runs only a part of Python; write it without that."


def _output(ran: Ran, notes: Sequence[str]) -> Output:
    value = jsonable(ran.value)
    if value is None:
        said = ran.printed or "The code ran; it printed nothing and returned None."
        return Output(text="\n".join([*notes, said]))
    printed = [ran.printed.rstrip()] if ran.printed else []
    text = "\n".join([*notes, *printed, to_output(value).text])
    return Output(text=text, data=value, value=value)
