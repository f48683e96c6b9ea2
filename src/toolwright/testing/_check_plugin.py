"""What every plugin executable must do, as checks that its author can run.

They speak to the plugin only through its stdin and stdout, and never call one of its tools unless
they are told with which parameters: a tool of somebody else's may do anything.
"""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

__all__ = ["PLUGIN_CHECKS", "PluginCheck", "PluginUnderTest", "check_plugin", "plugin_report"]

_INIT = {
    "type": "init",
    "tools": [],
    "version": 2,
    "features": ["parallel", "progress", "cancel", "log"],
}
_MOST = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginCheck:
    """How one check went."""

    name: str
    about: str
    problem: str = ""
    """What was wrong; empty when nothing was."""

    @property
    def ok(self) -> bool:
        """Whether it passed."""
        return not self.problem


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginUnderTest:
    """The plugin, and the calls it may be tried with (parameters by tool name)."""

    path: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    timeout: float = 10.0
    """Seconds for each answer."""

    @asynccontextmanager
    async def started(self) -> AsyncIterator["_Talk"]:
        """A fresh process of it, ended with the block."""
        command = [os.path.abspath(self.path), *self.args]  # noqa: ASYNC240
        async with await anyio.open_process(
            command, stderr=None, env={**os.environ, **self.env}
        ) as process:
            try:
                yield _Talk(process, self.timeout)
            finally:
                with suppress(ProcessLookupError):
                    process.kill()


class _Talk:
    """A conversation with a plugin, line by line."""

    def __init__(self, process: Process, timeout: float) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._in = process.stdin
        self._out = BufferedByteReceiveStream(process.stdout)
        self._timeout = timeout

    async def say(self, message: dict[str, Any] | str) -> None:
        """Write one line."""
        text = message if isinstance(message, str) else json.dumps(message)
        try:
            await self._in.send(text.encode() + b"\n")
        except (anyio.BrokenResourceError, OSError):
            raise AssertionError("the plugin has stopped reading its input") from None

    async def hear(self, kind: str) -> dict[str, Any]:
        """The next message of this kind; progress and log lines may come before it."""
        try:
            with anyio.fail_after(self._timeout):
                while True:
                    message = _parsed(await self._out.receive_until(b"\n", _MOST))
                    if message["type"] == kind:
                        return message
                    assert message["type"] in ("progress", "log"), f"{message} came instead"
        except TimeoutError:
            raise AssertionError(f"no {kind!r} within {self._timeout:g} s") from None
        except (anyio.IncompleteRead, anyio.EndOfStream):
            raise AssertionError(f"the plugin ended instead of sending {kind!r}") from None

    async def greeted(self) -> dict[str, Any]:
        """The answer to `init`."""
        await self.say(_INIT)
        return await self.hear("init")

    async def called(self, call_id: str, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a call."""
        await self.say({"type": "call", "name": name, "call_id": call_id, "params": params})
        return await self.hear("result")

    async def leave(self) -> None:
        """Close its input."""
        await self._in.aclose()


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        raise AssertionError(f"a line on stdout is not JSON: {line[:200]!r}") from None
    assert isinstance(message, dict), f"a line is not a JSON object: {line[:200]!r}"
    assert isinstance(message.get("type"), str), f'a message has no "type": {line[:200]!r}'
    return message


async def check_init_is_answered_with_tools(plugin: PluginUnderTest) -> None:
    """`init` is answered with at least one tool; each has a name of its own and a JSON Schema."""
    async with plugin.started() as talk:
        tools = (await talk.greeted()).get("tools")
    assert isinstance(tools, list), f'"tools" is not a list: {tools!r}'
    assert tools, '"tools" is empty'
    names = [tool.get("name") for tool in tools]
    assert all(isinstance(name, str) and name for name in names), f"a tool has no name: {names}"
    assert len(set(names)) == len(names), f"two tools have the same name: {names}"
    for tool in tools:
        parameters = tool.get("parameters", {"type": "object"})
        assert parameters.get("type") == "object", (
            f"{tool['name']}: parameters are no object schema"
        )
        assert tool.get("description"), f"{tool['name']} has no description for the model"


async def check_every_call_is_answered(plugin: PluginUnderTest) -> None:
    """A call of a tool that is not there gets a result with its own `call_id`, not silence."""
    async with plugin.started() as talk:
        await talk.greeted()
        result = await talk.called("check-1", "no_such_tool", {})
        assert result.get("call_id") == "check-1", f"the result is for {result.get('call_id')!r}"
        _check_result(result)


async def check_it_goes_on_after_a_failed_call(plugin: PluginUnderTest) -> None:
    """One failed call does not stop the next."""
    async with plugin.started() as talk:
        await talk.greeted()
        for number in (1, 2, 3):
            result = await talk.called(f"check-{number}", "no_such_tool", {})
            assert result.get("call_id") == f"check-{number}"


async def check_unknown_messages_are_skipped(plugin: PluginUnderTest) -> None:
    """Empty lines and messages of an unknown type are skipped: later versions may send them."""
    async with plugin.started() as talk:
        await talk.greeted()
        await talk.say("")
        await talk.say({"type": "from_the_future"})
        await talk.called("check-1", "no_such_tool", {})


async def check_long_lines_are_read(plugin: PluginUnderTest) -> None:
    """A call with a megabyte of parameters is answered."""
    async with plugin.started() as talk:
        await talk.greeted()
        await talk.called("check-1", "no_such_tool", {"text": "x" * 1_000_000})


async def check_it_leaves_when_its_input_ends(plugin: PluginUnderTest) -> None:
    """It ends by itself when its stdin is closed, so that no plugin outlives its agent."""
    async with plugin.started() as talk:
        await talk.greeted()
        await talk.leave()
        with anyio.move_on_after(plugin.timeout) as scope:
            await talk.process.wait()
        assert not scope.cancelled_caught, f"it still runs after {plugin.timeout:g} s"


async def check_promised_features_work(plugin: PluginUnderTest) -> None:
    """What it promises in `features` works: calls side by side, cancelling one that is over."""
    async with plugin.started() as talk:
        features = (await talk.greeted()).get("features") or []
        if "cancel" in features:
            await talk.say({"type": "cancel", "call_id": "nobody-knows-it"})
        if "parallel" in features:
            for number in (1, 2, 3):
                call = {"type": "call", "call_id": f"check-{number}", "name": "no_such_tool"}
                await talk.say({**call, "params": {}})
            answered = {(await talk.hear("result")).get("call_id") for _ in range(3)}
            assert answered == {"check-1", "check-2", "check-3"}, f"answered were {answered}"
        else:
            await talk.called("check-1", "no_such_tool", {})


async def check_given_calls_give_content(plugin: PluginUnderTest) -> None:
    """The calls it was given to be tried with succeed."""
    async with plugin.started() as talk:
        await talk.greeted()
        for name, params in plugin.calls.items():
            result = await talk.called(f"check-{name}", name, params)
            _check_result(result)
            assert not result.get("is_error"), f"{name} failed: {result.get('content')}"


def _check_result(result: dict[str, Any]) -> None:
    content = result.get("content")
    assert isinstance(content, list), f'"content" is not a list: {content!r}'
    for part in content:
        kinds = ("text", "image", "audio", "file")
        assert part.get("type") in kinds, f"content of unknown type: {part!r}"
        wanted = "text" if part["type"] == "text" else "data"
        assert isinstance(part.get(wanted), str), f"content without {wanted!r}: {part!r}"
    assert isinstance(result.get("is_error", False), bool), '"is_error" is not true or false'


PLUGIN_CHECKS: tuple[Callable[[PluginUnderTest], Awaitable[None]], ...] = (
    check_init_is_answered_with_tools,
    check_every_call_is_answered,
    check_it_goes_on_after_a_failed_call,
    check_unknown_messages_are_skipped,
    check_long_lines_are_read,
    check_it_leaves_when_its_input_ends,
    check_promised_features_work,
    check_given_calls_give_content,
)


async def plugin_report(plugin: PluginUnderTest) -> list[PluginCheck]:
    """How each check went, on a fresh process each."""
    return [await _outcome(check, plugin) for check in PLUGIN_CHECKS]


async def check_plugin(path: str | Path, args: Sequence[str] = (), **settings: Any) -> None:
    """Run every check; the failures are raised together. `settings` are `PluginUnderTest`'s."""
    plugin = PluginUnderTest(path=str(path), args=args, **settings)
    failed = [check for check in await plugin_report(plugin) if not check.ok]
    if failed:
        lines = "\n".join(f"- {check.name}: {check.problem} ({check.about})" for check in failed)
        raise AssertionError(f"{Path(path).name} is not a good plugin:\n{lines}")


async def _outcome(
    check: Callable[[PluginUnderTest], Awaitable[None]], plugin: PluginUnderTest
) -> PluginCheck:
    result = partial(PluginCheck, name=check.__name__, about=check.__doc__ or "")
    try:
        await check(plugin)
    except AssertionError as error:
        return result(problem=str(error) or "it failed")
    except OSError as error:
        return result(problem=f"the plugin cannot be started: {error}")
    return result()
