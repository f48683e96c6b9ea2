"""Who is refused when it is made holds and hides nothing, and leaves nothing open."""

import json
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from toolwright import Agent, Orchestrator, Runner, _temporary
from toolwright.backends import PortableSandbox
from toolwright.backends import _own_paths as own
from toolwright.backends.auth import SqliteCredentials
from toolwright.backends.sandboxes import Bubblewrap, OsSandbox, _os_sandbox, open_sandbox
from toolwright.backends.sandboxes._allowed_hosts import AllowedHosts
from toolwright.backends.sandboxes._proxy import HostProxy
from toolwright.builtin import BestExecutor, ExecuteBashTool, SandboxToolset
from toolwright.builtin.shell import _best_executor
from toolwright.errors import StoreError, UsageError
from toolwright.kits import create_deep_agent, load_agent_file, read_agent_file
from toolwright.serve.mcp._desk import Desk
from toolwright.sources import (
    McpToolset,
    PluginToolset,
    StdioConnectionParams,
    StdioServerParameters,
    mcp_toolsets,
)

pytestmark = pytest.mark.anyio


def registered() -> list[object]:
    """All that is known of programs, records and guests."""
    return [
        [dict(said) for said in own._said],
        list(own._relied_on),
        list(_temporary._guests),
        dict(_temporary._were_guests),
    ]


def directories() -> set[str]:
    """This process's temporary directories; those of tests before may go at any time."""
    names = os.listdir(_temporary.temporary_root())
    return {name for name in names if name.startswith(f"toolwright-{os.getpid():x}-")}


def server(*args: str) -> StdioConnectionParams:
    return StdioConnectionParams(
        server_params=StdioServerParameters(command="python3", args=list(args))
    )


async def a_sandbox_with_a_variable_of_the_loader(place: Path) -> None:
    await open_sandbox(place, env={"LD_PRELOAD": "x"}, readable=[place.parent])


async def a_sandbox_without_what_is_required(place: Path) -> None:
    await open_sandbox(place, network=True, require=["network_confined"])


async def a_sandbox_whose_variables_come_after_its_proxy(place: Path) -> None:
    await open_sandbox(place, allow_hosts=["localhost"], env={"LD_PRELOAD": "x"})


async def the_portable_sandbox(place: Path) -> None:
    settings: Any = {"env": 5}
    await PortableSandbox.open(place, **settings)


async def an_executor_with_settings_that_are_none(place: Path) -> None:
    settings: Any = {"allow_hosts": 5}
    BestExecutor(place, **settings)


async def a_tool_without_what_is_required(place: Path) -> None:
    ExecuteBashTool(workspace=place, require=["installs_packages", "nothing_like_it"])


async def tools_whose_sandbox_is_refused(place: Path) -> None:
    tools = SandboxToolset(place, env={"LD_PRELOAD": "x"})
    try:
        await tools.get_tools()
    finally:
        await tools.close()


async def a_plugin_with_a_time_that_is_none(place: Path) -> None:
    settings: Any = {"handshake_timeout": "soon"}
    PluginToolset("/bin/cat", [str(place)], **settings)


async def servers_in_a_file_of_which_one_is_wrong(place: Path) -> None:
    first, second = {"command": "cat", "args": [str(place)]}, {"command": "cat", "nobody": "knows"}
    servers = {"mcpServers": {"first": first, "second": second}}
    (place / "mcp.json").write_text(json.dumps(servers))
    mcp_toolsets(place / "mcp.json")


async def servers_in_a_file_with_a_setting_that_is_none(place: Path) -> None:
    servers = {"mcpServers": {"first": {"command": "cat", "args": [str(place)]}}}
    (place / "mcp.json").write_text(json.dumps(servers))
    mcp_toolsets(place / "mcp.json", nobody="knows")


async def credentials_with_a_key_that_is_none(place: Path) -> None:
    SqliteCredentials(place / "records" / "c.db", keys=["short"])


def server_file(place: Path, **more: Any) -> Path:
    """An agent that is described in a file, with a server and a store."""
    server = {"command": "cat", "args": [str(place)]}
    agent = {
        "store": f"sqlite:///{place}/s.db",
        "tools": {"preset": "none", "mcp": [server]},
    } | more
    (place / "agent.yaml").write_text(json.dumps(agent))
    return place / "agent.yaml"


def kept_in(place: Path) -> dict[str, Any]:
    """Where a runner keeps everything."""
    return {
        "store": f"sqlite:///{place}/s.db",
        "artifacts": f"file://{place}/artifacts",
        "memory": f"sqlite:///{place}/m.db",
    }


async def a_runner_with_a_store_that_is_none(place: Path) -> None:
    Runner(Agent(name="a"), **(kept_in(place) | {"store": "nonsense://"}))


async def a_runner_with_artifacts_that_are_none(place: Path) -> None:
    Runner(Agent(name="a"), **(kept_in(place) | {"artifacts": "nonsense://"}))


async def a_runner_with_credentials_that_are_none(place: Path) -> None:
    Runner(Agent(name="a"), **(kept_in(place) | {"credentials": "nonsense://"}))


async def a_runner_with_a_memory_that_is_none(place: Path) -> None:
    Runner(Agent(name="a"), **(kept_in(place) | {"memory": "nonsense://"}))


async def a_runner_with_a_memory_of_another_kind(place: Path) -> None:
    Runner(Agent(name="a"), **(kept_in(place) | {"memory": 5}))


async def a_server_with_a_policy_that_is_none(place: Path) -> None:
    settings: Any = {"policy": 5}
    Desk(Agent(name="a"), store=f"sqlite:///{place}/s.db", **settings)


async def an_agent_in_a_file_with_a_limit_that_is_none(place: Path) -> None:
    load_agent_file(server_file(place, limits={"turns": -1}))


async def an_agent_in_a_file_with_skills_that_are_none(place: Path) -> None:
    server = {"command": "cat", "args": [str(place)]}
    load_agent_file(server_file(place, tools={"preset": "none", "mcp": [server], "skills": ["no"]}))


async def a_deep_agent_with_a_setting_that_is_none(place: Path) -> None:
    settings: Any = {"nobody": "knows"}
    execution = {"command": "cat", "args": [str(place)]}
    create_deep_agent(execution=execution, **settings)


async def a_deep_agent_with_a_sub_agent_that_is_none(place: Path) -> None:
    execution = {"command": "cat", "args": [str(place)]}
    create_deep_agent(execution=execution, subagents=[Agent(name="a"), Agent(name="a")])


REFUSED: list[Callable[[Path], Awaitable[None]]] = [
    a_sandbox_with_a_variable_of_the_loader,
    a_sandbox_without_what_is_required,
    a_sandbox_whose_variables_come_after_its_proxy,
    the_portable_sandbox,
    an_executor_with_settings_that_are_none,
    a_tool_without_what_is_required,
    tools_whose_sandbox_is_refused,
    a_plugin_with_a_time_that_is_none,
    servers_in_a_file_of_which_one_is_wrong,
    servers_in_a_file_with_a_setting_that_is_none,
    credentials_with_a_key_that_is_none,
    a_runner_with_a_store_that_is_none,
    a_runner_with_artifacts_that_are_none,
    a_runner_with_credentials_that_are_none,
    a_runner_with_a_memory_that_is_none,
    a_runner_with_a_memory_of_another_kind,
    a_server_with_a_policy_that_is_none,
    an_agent_in_a_file_with_a_limit_that_is_none,
    an_agent_in_a_file_with_skills_that_are_none,
    a_deep_agent_with_a_setting_that_is_none,
    a_deep_agent_with_a_sub_agent_that_is_none,
]


@pytest.mark.parametrize("refused", REFUSED)
async def test_who_is_refused_holds_nothing(
    tmp_path: Path, refused: Callable[[Path], Awaitable[None]]
) -> None:
    _best_executor._capabilities()  # Found out once, by opening a sandbox.
    before, known = registered(), directories()
    with pytest.raises((UsageError, TypeError)) as told:
        await refused(tmp_path)
    if refused is not a_sandbox_without_what_is_required:  # It was there, and has gone.
        assert registered() == before, told.value
    assert registered()[:3] == before[:3]
    assert directories() - known == set()


@pytest.mark.parametrize("kind", ["mcp", "plugin"])
async def test_a_server_of_which_a_sandbox_cannot_hold_all_holds_nothing(
    tmp_path: Path, kind: str
) -> None:
    good, project = tmp_path / "good", tmp_path / "project"
    for directory in (good, project):
        directory.mkdir()
    (good / "server.py").write_text("#!/bin/sh\n")
    (good / "server.py").chmod(0o755)
    (project / "inner").symlink_to(good)
    async with await open_sandbox(project):
        before = registered()
        args = [str(good / "server.py"), "-m", "x", f"--data={project}/inner/server.py"]
        made = {
            "mcp": lambda: McpToolset(server(*args)),
            "plugin": lambda: PluginToolset(good / "server.py", args),
        }
        with pytest.raises(UsageError, match="commands could replace"):
            made[kind]()
        assert registered() == before


async def test_what_was_said_before_stays_where_a_later_one_is_refused(tmp_path: Path) -> None:
    own.hide_directory(tmp_path / "records")
    own.hold_program(tmp_path / "bin" / "tool", alone=True)
    before = registered()

    @own.unless_refused()
    def refused() -> None:
        own.hide_directory(tmp_path / "records")
        own.hold_program(tmp_path / "bin" / "tool")
        own.hide_directory(tmp_path / "others")
        own.searched_for_modules(tmp_path)
        with own.unless_refused():
            own.hide_database(tmp_path / "inner.db")
        raise UsageError("no")

    with pytest.raises(UsageError, match="no"):
        refused()
    assert registered() == before


async def test_what_another_thread_says_meanwhile_is_not_taken_back(tmp_path: Path) -> None:
    begun = threading.Event()

    def say() -> None:
        begun.set()
        own.hide_directory(tmp_path / "theirs")

    other = threading.Thread(target=say)

    @own.unless_refused()
    def refused() -> None:
        other.start()
        assert begun.wait(30)
        raise UsageError("no")

    with pytest.raises(UsageError, match="no"):
        refused()
    other.join(30)
    assert tmp_path / "theirs" in own._directories


async def test_a_sandbox_whose_proxy_does_not_listen_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deaf(*args: object) -> None:
        raise StoreError("It cannot listen.")

    monkeypatch.setattr(_os_sandbox, "HostProxy", deaf)
    await Bubblewrap().probe()
    before, known = registered(), directories()
    with pytest.raises(StoreError):
        await OsSandbox.open(tmp_path, Bubblewrap(), allow_hosts=["localhost"])
    assert registered() == before
    assert directories() - known == set()


async def test_the_proxy_of_a_sandbox_that_is_refused_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxies: list[HostProxy] = []

    def started(socket: Path, allowed: AllowedHosts) -> HostProxy:
        proxies.append(HostProxy(socket, allowed))
        return proxies[-1]

    monkeypatch.setattr(_os_sandbox, "HostProxy", started)
    with pytest.raises(UsageError, match="LD_PRELOAD"):
        await a_sandbox_whose_variables_come_after_its_proxy(tmp_path)
    assert [proxy._thread.is_alive() for proxy in proxies] == [False]


async def test_an_executor_that_is_closed_lets_records_be_kept_where_it_was(
    tmp_path: Path,
) -> None:
    executor = BestExecutor(tmp_path)
    async with executor:
        with pytest.raises(UsageError, match=r"records|replace"):
            own.hide_directory(tmp_path)
    own.hide_directory(tmp_path)


async def test_a_runner_that_was_refused_leaves_its_files_to_commands(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nonsense"):
        await a_runner_with_a_memory_that_is_none(tmp_path)
    await (await open_sandbox(tmp_path)).close()


async def test_an_agent_of_tasks_that_is_refused_holds_no_more_than_the_tasks(
    tmp_path: Path,
) -> None:
    async with Orchestrator(f"sqlite:///{tmp_path}/tasks.db") as tasks:
        before = registered()
        refused: list[dict[str, Any]] = [
            {"workers": 0},
            {"credentials": "nonsense://"},
            {"retention": "long"},
        ]
        for setting in refused:
            given = kept_in(tmp_path) | setting
            given.pop("store")
            with pytest.raises((UsageError, TypeError)):
                tasks.register(Agent(name="a"), **given)
        assert registered() == before


async def test_reading_the_file_of_an_agent_holds_nothing(tmp_path: Path) -> None:
    before = registered()
    read_agent_file(server_file(tmp_path))
    assert registered() == before
