"""The `execute_bash` tool: shell commands under a policy, each with a person's consent."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from toolwright.backends import Executor, Finished, demand
from toolwright.builtin.bash import BashToolPolicy, BashVerdict
from toolwright.builtin.shell import BestExecutor, described_place, run_command
from toolwright.messages import ToolSpec
from toolwright.tools import (
    Args,
    BaseTool,
    Decision,
    Output,
    Tool,
    ToolContext,
    with_approval,
)

__all__ = ["ExecuteBashTool"]

_NO_STDOUT = "<no stdout captured>"
_DESCRIPTION = (
    "Runs a bash command in the workspace and returns its stdout, stderr and return code. "
    "A person is asked first. Nothing it starts keeps running afterwards."
)
_ENDED = {
    "timeout": "The command did not finish within {timeout} seconds and was killed.",
    "memory": "The command used more memory than allowed and was killed.",
    "processes": "The command started more processes than allowed and was killed.",
    "stopped": "The command was stopped.",
}


class ExecuteBashTool(BaseTool):
    """Runs commands that `policy` allows, in `workspace`, after a person has agreed.

    They run in the best sandbox that works on this machine, which can write to `workspace` only and
    has no network, or else on the machine itself; give another `executor` to decide. `require`
    names `Capabilities` that the executor must have. The workspace is made if it is not there.
    """

    effects = "destructive"
    sequential = True

    def __init__(
        self,
        *,
        workspace: str | Path | None = None,
        policy: BashToolPolicy | None = None,
        executor: Executor | None = None,
        require: Sequence[str] = (),
        name: str = "execute_bash",
    ) -> None:
        super().__init__(name=name, description=_DESCRIPTION)
        self.workspace = Path(workspace or ".").absolute()
        self.policy = policy or BashToolPolicy()
        self.executor: Executor = executor or BestExecutor(self.workspace, require=require)
        demand(self.executor, *require)
        self._place = described_place(self.executor.capabilities)

    def _get_declaration(self) -> ToolSpec:
        command = {"type": "string", "description": "The bash command to run."}
        return ToolSpec(
            name=self.name,
            description=f"{self.description} {self._place}{_allowed(self.policy)}",
            parameters={
                "type": "object",
                "properties": {"command": command},
                "required": ["command"],
                "additionalProperties": False,
            },
        )

    def as_tool(self) -> Tool:
        """The tool, which asks before it runs; a command that is not allowed is not asked about."""
        return with_approval(super().as_tool(), self._ask)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Output:
        """Judge the command again, since a person may have changed it, and run what was judged."""
        verdict = self._check(args)
        if not verdict.allowed:
            return _answer({"error": f"Command not allowed: {verdict.reason}."}, failed=True)
        await anyio.Path(self.workspace).mkdir(parents=True, exist_ok=True)
        finished = await run_command(
            self.executor, verdict.checked, tool_context, limits=self.policy.limits
        )
        return self._result(finished)

    def _check(self, args: Args) -> BashVerdict:
        sandboxed = self.executor.capabilities.filesystem_confined
        return self.policy.check(args["command"], sandboxed=sandboxed)

    async def _ask(self, tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        verdict = self._check(args)
        waived = verdict.read_only and not self.policy.confirm_read_only
        if not verdict.allowed or waived:
            return Decision(verdict="allow")
        return Decision(
            verdict="ask",
            reason=f"Run this command? {args['command']}",
            payload={"command": args["command"], "commands": [list(c) for c in verdict.commands]},
        )

    def _result(self, finished: Finished) -> Output:
        answer: dict[str, Any] = {
            "stdout": finished.stdout or _NO_STDOUT,
            "stderr": finished.stderr,
            "returncode": finished.exit_code,
        }
        if finished.ended != "exited":
            answer["error"] = _ENDED[finished.ended].format(timeout=self.policy.timeout_seconds)
        output = _answer(answer, failed=finished.ended != "exited")
        return replace(output, failed=not finished.ok)


def _answer(answer: dict[str, Any], *, failed: bool) -> Output:
    text = json.dumps(answer, ensure_ascii=False)
    return Output(text=text, data=answer, value=answer, status="error" if failed else "ok")


def _allowed(policy: BashToolPolicy) -> str:
    if policy.allows_all:
        return ""
    return f" Allowed commands: {', '.join(policy.allowed_command_prefixes)}."
