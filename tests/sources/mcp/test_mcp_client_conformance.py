"""Our client in all scenarios of the official conformance suite."""

import os
import re
import sys
from pathlib import Path

import anyio
import pytest
from tests._npm import npm_program

pytestmark = [pytest.mark.anyio, pytest.mark.npm, pytest.mark.timeout(300)]
HERE = Path(__file__).parent
SUITE = ("@modelcontextprotocol/conformance", "0.1.16")
SIGN_IN = "../../../docs/snippets/mcp/sign_in.py"
SIGN_INS = [
    "auth/metadata-default",
    "auth/metadata-var3",
    "auth/scope-from-www-authenticate",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
]


async def test_every_client_scenario_passes_but_those_explained_in_the_baseline(
    tmp_path: Path,
) -> None:
    listed = await anyio.run_process([*npm_program(*SUITE), "list", "--client"])
    scenarios = re.findall(r"- (\S+) \[", listed.stdout.decode())
    failed: dict[str, str] = {}
    # The suite would start all clients at once; one scenario measures time, so it runs by itself.
    few = anyio.CapacityLimiter(2)

    async def check(scenario: str) -> None:
        async with few:
            failed.update(await _run(scenario, "conformance_client.py", tmp_path))

    async with anyio.create_task_group() as tasks:
        for scenario in scenarios:
            if scenario != "sse-retry":
                tasks.start_soon(check, scenario)
    await check("sse-retry")
    assert len(scenarios) >= 26
    assert failed == {}


@pytest.mark.parametrize("scenario", SIGN_INS)
async def test_an_agents_user_signs_in_through_a_pending_call(
    scenario: str, tmp_path: Path
) -> None:
    assert await _run(scenario, SIGN_IN, tmp_path) == {}


async def _run(scenario: str, client: str, folder: Path) -> dict[str, str]:
    """What went wrong in this scenario; nothing, if all is as the baseline says."""
    baseline = str(HERE / "conformance_baseline.yml")
    command = f"{sys.executable} {HERE / client}"
    options = ["--scenario", scenario, "--timeout", "60000", "--expected-failures", baseline]
    done = await anyio.run_process(
        [*npm_program(*SUITE), "client", "--command", command, *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(HERE.parents[2])},
        check=False,
    )
    return {scenario: done.stdout.decode()[-2000:]} if done.returncode else {}
