"""Confirmation: who is asked, what an approval covers, and that a rejection holds."""

from pathlib import Path
from typing import Any

import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    FunctionTool,
    Reject,
    Result,
    Runner,
    ToolContext,
    UsageError,
)
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

ran: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


def transfer(cents: int, to: str = "savings") -> str:
    """Transfer money."""
    ran.append((cents, to))
    return f"{cents} to {to}"


def wipe(scope: str, tool_context: ToolContext) -> dict[str, Any]:
    """Wipe a database."""
    confirmed = tool_context.tool_confirmation
    if confirmed is None:
        tool_context.request_confirmation(hint=f"Wipe {scope}?", payload={"scope": scope})
        return {"status": "awaiting_confirmation"}
    if confirmed.payload.get("scope") != scope:
        return {"error": "scope mismatch"}
    ran.append(scope)
    return {"wiped": True}


def runner_with(tool: Any, *script: Any, store: str = "memory://") -> Runner:
    return Runner(Agent(name="bank", model=ScriptedModel(*script), tools=[tool]), store=store)


async def answered(runner: Runner, paused: Result, value: Any) -> Result:
    (pending,) = paused.pending
    assert await runner.answer(paused.session_id, pending.call_id, value) == "accepted"
    return await runner.resume(paused.session_id)


def texts(result: Result) -> list[str]:
    return [r.text for m in result.history if m.kind == "tool" for r in m.results]


@pytest.mark.row("004-C1")
async def test_a_predicate_decides_by_the_arguments() -> None:
    tool = FunctionTool(transfer, require_confirmation=lambda cents: cents > 1000)
    runner = runner_with(tool, [call("transfer", cents=10), call("transfer", cents=5000)])
    paused = await runner.run("pay")

    assert ran == [(10, "savings")]
    assert [pending.arguments for pending in paused.pending] == [{"cents": 5000, "to": "savings"}]


async def test_an_async_predicate_may_look_at_the_context() -> None:
    async def unknown_user(tool_context: ToolContext) -> bool:
        return tool_context.user_id != "ada"

    tool = FunctionTool(transfer, require_confirmation=unknown_user)
    runner = runner_with(tool, call("transfer", cents=1), "done", call("transfer", cents=2))

    assert (await runner.run("pay", user_id="ada")).status == "done"
    assert (await runner.run("pay", user_id="eve")).status == "paused"


@pytest.mark.row("000-08", "004-C6")
async def test_a_function_that_asks_by_itself_runs_again_with_the_answer() -> None:
    runner = runner_with(wipe, call("wipe", scope="staging"), "Wiped.")
    paused = await runner.run("wipe it")
    (pending,) = paused.pending
    assert (pending.kind, pending.hint, pending.payload) == (
        "confirmation",
        "Wipe staging?",
        {"scope": "staging"},
    )

    done = await answered(runner, paused, Approve())

    assert ran == ["staging"]
    assert done.text == "Wiped."


async def test_an_approver_may_send_a_payload_of_their_own() -> None:
    runner = runner_with(wipe, call("wipe", scope="staging"), "No.")
    done = await answered(runner, await runner.run("go"), Approve(payload={"scope": "production"}))

    assert ran == []
    assert "scope mismatch" in texts(done)[0]


async def test_edited_arguments_are_validated_and_the_model_is_told() -> None:
    tool = FunctionTool(transfer, require_confirmation=True)
    runner = runner_with(tool, call("transfer", cents=500, to="eve"), "Done.")
    done = await answered(
        runner, await runner.run("pay"), Approve(arguments={"cents": "50", "to": "bob"})
    )

    assert ran == [(50, "bob")]
    assert "A person changed the arguments" in texts(done)[0]


async def test_arguments_that_a_person_left_as_they_were_are_not_told_as_changed() -> None:
    tool = FunctionTool(transfer, require_confirmation=True)
    runner = runner_with(tool, call("transfer", cents=500, to="eve"), "Done.")
    same = Approve(arguments={"to": "eve", "cents": 500})
    done = await answered(runner, await runner.run("pay"), same)

    assert ran == [(500, "eve")]
    assert "changed" not in texts(done)[0]


@pytest.mark.parametrize("edit", [{"cents": "lots"}, {}, {"cents": 1, "whom": "eve"}])
async def test_a_wrong_edit_is_refused_with_the_reason_and_the_call_still_waits(
    edit: dict[str, Any],
) -> None:
    tool = FunctionTool(transfer, require_confirmation=True)
    runner = runner_with(tool, call("transfer", cents=500), "Paid.")
    paused = await runner.run("pay", session_id="s")
    with pytest.raises(UsageError, match=r"do not fit: .*(cents|whom).* The call still waits"):
        await answered(runner, paused, Approve(arguments=edit))
    assert await runner.pending("s") == list(paused.pending)

    done = await answered(runner, paused, Approve(arguments={"cents": 100}))
    assert (done.text, ran) == ("Paid.", [(100, "savings")])


@pytest.mark.parametrize("no", [Reject(reason="too much"), False, {"kind": "reject"}])
@pytest.mark.parametrize("tool", [FunctionTool(transfer, require_confirmation=True), wipe])
async def test_a_rejection_holds_whatever_the_function_does(tool: Any, no: Any) -> None:
    name = "wipe" if tool is wipe else "transfer"
    arguments = {"scope": "production"} if tool is wipe else {"cents": 1}
    runner = runner_with(tool, call(name, **arguments), "I see.")
    done = await answered(runner, await runner.run("go"), no)

    assert ran == []
    assert done.history[-2].results[0].status == "denied"  # type: ignore[union-attr]
    if isinstance(no, Reject):
        assert "too much" in texts(done)[0]


async def test_an_approval_covers_one_call_only() -> None:
    tool = FunctionTool(transfer, require_confirmation=True)
    runner = runner_with(tool, call("transfer", cents=1), call("transfer", cents=2))
    paused = await runner.run("pay")
    again = await answered(runner, paused, Approve())

    assert again.status == "paused"
    assert ran == [(1, "savings")]


async def test_replaying_an_approval_runs_nothing_twice(tmp_path: Path) -> None:
    tool = FunctionTool(transfer, require_confirmation=True)
    store = f"sqlite:///{tmp_path}/s.db"
    runner = runner_with(tool, call("transfer", cents=1), "Paid.", store=store)
    paused = await runner.run("pay", session_id="s")
    await answered(runner, paused, Approve())

    assert await runner.answer("s", paused.pending[0].call_id, Approve()) == "duplicate"
    assert (await runner.resume("s")).text == "Paid."
    assert ran == [(1, "savings")]
    await runner.close()


async def test_a_confirmation_inside_a_nested_agent_pauses_the_outer_run() -> None:
    tool = FunctionTool(transfer, require_confirmation=True)
    clerk = Agent(
        name="clerk", model=ScriptedModel(call("transfer", cents=7), "Paid 7."), tools=[tool]
    )
    runner = runner_with(AgentTool(clerk), call("clerk", request="pay"), "All done.")
    paused = await runner.run("pay")
    assert paused.pending[0].agent == "clerk"
    assert "/" in paused.pending[0].call_id

    done = await answered(runner, paused, Approve())

    assert done.text == "All done."
    assert ran == [(7, "savings")]


async def test_a_confirmation_after_a_transfer_comes_back_to_the_agent_that_asked() -> None:
    tool = FunctionTool(transfer, require_confirmation=True)
    clerk = Agent(
        name="clerk", model=ScriptedModel(call("transfer", cents=7), "Paid 7."), tools=[tool]
    )
    first = ScriptedModel(call("transfer_to_agent", agent_name="clerk"))
    runner = Runner(Agent(name="desk", model=first, sub_agents=[clerk]))
    paused = await runner.run("pay")
    done = await answered(runner, paused, Approve())

    assert (done.text, done.agent) == ("Paid 7.", "clerk")


async def test_without_a_runner_a_paused_result_can_be_resumed() -> None:
    tool = FunctionTool(transfer, require_confirmation=True)
    agent = Agent(
        name="bank", model=ScriptedModel(call("transfer", cents=3), "Paid."), tools=[tool]
    )
    paused = await agent.run("pay")
    done = await agent.resume(paused, {paused.pending[0].call_id: Approve()})

    assert (done.text, ran) == ("Paid.", [(3, "savings")])
