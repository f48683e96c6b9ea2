"""Three nested agents that wait for two people and a sign-in, killed after every step.

Called with the provider's address and a folder. Each step runs in a process of its own, which
ends itself with SIGKILL; what each order of answers came to is printed as one line of JSON.
"""

import itertools
import json
import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
from tests._oauth import Provider

from toolwright import Agent, AgentTool, Approve, FunctionTool, Runner
from toolwright.backends import AuthlibFlows, SqliteCredentials, SqlStore, new_key
from toolwright.messages import AuthCredential, ToolMessage
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call
from toolwright.tools import AuthenticatedFunctionTool

KEY = new_key()
LOADED = AuthlibFlows, SqlStore
"""Imported once, so that the sixty processes that are forked from this one need not."""
WAITING = ("transfer_funds", "wipe_database", "list_events")


def plan(*calls: Any) -> ScriptedModel:
    """A model that makes `calls`, then says what came of them; the same in every process."""

    def think(request: ModelRequest) -> Any:
        last = request.history[-1]
        if isinstance(last, ToolMessage):
            return " + ".join(result.text for result in last.results)
        return list(calls)

    return ScriptedModel(*[think] * 20)


def agents(provider: Provider, folder: Path) -> Agent:
    def ran(line: str) -> str:
        with (folder / "ran.txt").open("a") as file:
            file.write(f"{line}\n")
        return line

    def transfer_funds(cents: int) -> str:
        """Transfer money."""
        return ran(f"transferred {cents}")

    def wipe_database(scope: str) -> str:
        """Wipe a database."""
        return ran(f"wiped {scope}")

    async def list_events(credential: AuthCredential | None = None) -> str:
        """List events."""
        assert credential is not None
        headers = {"Authorization": f"Bearer {credential.bearer_token}"}
        async with httpx2.AsyncClient() as client:
            answer = await client.get(f"{provider.address}/calendar", headers=headers)
        return ran(f"listed {len(answer.raise_for_status().json()['events'])}")

    calendar = AuthenticatedFunctionTool(list_events, provider.oidc())
    wipe = FunctionTool(wipe_database, require_confirmation=True)
    pay = FunctionTool(transfer_funds, require_confirmation=lambda cents: cents > 100)
    inner = Agent(name="inner", model=plan(call("list_events")), tools=[calendar])
    middle_calls = call("inner", request="look"), call("wipe_database", scope="staging")
    middle = Agent(name="middle", model=plan(*middle_calls), tools=[AgentTool(inner), wipe])
    outer_calls = call("transfer_funds", cents=500), call("middle", request="tidy up")
    return Agent(name="outer", model=plan(*outer_calls), tools=[pay, AgentTool(middle)])


def runner_in(folder: Path, provider: Provider) -> Runner:
    return Runner(
        agents(provider, folder),
        store=f"sqlite:///{folder}/sessions.db",
        credentials=SqliteCredentials(folder / "credentials.db", keys=[KEY]),
    )


async def begin(folder: Path, provider: Provider) -> None:
    result = await runner_in(folder, provider).run("Go", session_id="s")
    assert result.status == "paused", result
    assert sorted(pending.name for pending in result.pending) == sorted(WAITING), result.pending


async def answer(folder: Path, provider: Provider, name: str) -> None:
    runner = runner_in(folder, provider)
    (pending,) = [p for p in await runner.pending("s") if p.name == name]
    signs_in = pending.kind == "credential"
    value = provider.sign_in(pending.payload["auth_uri"]) if signs_in else Approve()
    assert await runner.answer("s", pending.call_id, value) == "accepted"


async def resume(folder: Path, provider: Provider) -> None:
    result = await runner_in(folder, provider).resume("s")
    ended = {"status": result.status, "text": result.text}
    (folder / "end.json").write_text(json.dumps(ended))


def in_killed_process(step: Callable[..., Awaitable[None]], *args: Any) -> None:
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, f"{step.__name__}{args} failed"
        return
    try:
        anyio.run(step, *args)
        os.kill(os.getpid(), signal.SIGKILL)
    finally:
        sys.stderr.flush()
        os._exit(1)


def play(order: tuple[str, ...], resumes: str, folder: Path, provider: Provider) -> dict[str, Any]:
    """Answer in this order, and go on after each answer or only after the last one."""
    for position, name in enumerate(order):
        in_killed_process(answer, folder, provider, name)
        if resumes == "each" or position == len(order) - 1:
            in_killed_process(resume, folder, provider)
    ran = (folder / "ran.txt").read_text().splitlines()
    end = json.loads((folder / "end.json").read_text())
    return {"order": order, "resumes": resumes, "ran": sorted(ran), **end}


def main(address: str, folder: Path) -> None:
    provider = Provider(address)
    begun = folder / "begun"
    begun.mkdir()
    in_killed_process(begin, begun, provider)
    orders = [(order, "each") for order in itertools.permutations(WAITING)]
    for number, (order, resumes) in enumerate([*orders, (WAITING, "last")]):
        copy = shutil.copytree(begun, folder / str(number))
        sys.stdout.write(json.dumps(play(order, resumes, copy, provider)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
