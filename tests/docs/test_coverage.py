"""The coverage page is true: its names, arguments, tools and files are all there."""

import re
from collections.abc import Iterator
from functools import cache

import anyio
import pytest
from tests.docs._snippets import ROOT
from tests.docs._tables import Row, check_code, code_in, parameters_of, rows

import toolwright as tw
from toolwright.backends import LocalExecutor
from toolwright.builtin import SandboxToolset
from toolwright.tools import Tool, Toolset

PAGE = ROOT / "docs" / "coverage.md"
ROWS = [row for row in rows(PAGE) if "statement" not in row]


def _ids(row: Row) -> str:
    return row.get("there") or row.get("tool") or row["behaviour"]


@pytest.mark.row(
    "004-P:BaseTool",
    "004-P:BaseToolset",
    "004-P:FunctionTool",
    "004-P:LongRunningFunctionTool",
    "004-P:AgentTool",
    "004-P:ExampleTool",
    "004-P:AuthToolArguments",
    "004-P:TransferToAgentTool",
    "004-P:transfer_to_agent",
    "004-P:McpToolset",
    "004-P:MCPToolset",
    "004-P:APIHubToolset",
    "004-P:ApiRegistry",
    "004-P:ToolContext",
    "004-P:google_search",
    "004-P:url_context",
    "004-P:google_maps_grounding",
    "004-P:enterprise_web_search",
    "004-P:VertexAiSearchTool",
    "004-P:DiscoveryEngineSearchTool",
    "004-P:SearchResultMode",
    "004-P:load_memory",
    "004-P:preload_memory",
    "004-P:load_artifacts",
    "004-P:exit_loop",
)
@pytest.mark.parametrize("row", [row for row in ROWS if "here" in row], ids=_ids)
def test_each_feature_exists_with_its_arguments(row: Row) -> None:
    assert code_in(row["here"])
    for code in code_in(row["here"]):
        check_code(code)


@pytest.mark.row(
    "000-16",
    "000-19",
    "000-32",
    "000-39",
    "000-47",
    "002-08",
    "002-15",
    "002-16",
    "002-22",
    "002-29",
    "002-36",
    "002-44",
    "002-47",
    "004-CP1",
    "004-CS1",
)
@pytest.mark.parametrize("row", [row for row in ROWS if "tool" in row], ids=_ids)
def test_each_tool_has_its_parameters_and_defaults(row: Row) -> None:
    [code] = code_in(row["tool"])
    # `f(a=1, b)` is no Python, but a fair way to write down a schema's parameters.
    name, wanted, defaults = parameters_of(re.sub(r"(\w+)='?[^,)]*'?, (?=\w+[,)])", _plain, code))
    known = _families()[row["family"]][name].spec.parameters.get("properties", {})
    assert set(wanted) <= set(known)
    assert {key: known[key].get("default") for key in defaults} == defaults


def test_each_page_example_and_test_exists() -> None:
    missing = [
        path for row in ROWS for path in _paths(row) if not (ROOT / path.split("::")[0]).exists()
    ]
    assert missing == []


def test_every_example_is_in_the_table() -> None:
    text = PAGE.read_text()
    examples = [path.name for path in (ROOT / "examples").glob("*.py") if path.stem != "__init__"]
    assert [name for name in sorted(examples) if f"examples/{name}" not in text] == []


def _plain(match: re.Match[str]) -> str:
    return f"{match.group(1)}, "


def _paths(row: Row) -> Iterator[str]:
    for link in re.findall(r"\]\(([^)#]+)", row["page"]):
        yield f"docs/{link}"
    yield from code_in(row.get("example", ""))
    yield from code_in(row["test"])


@cache
def _families() -> dict[str, dict[str, Tool]]:
    async def listed(*toolsets: Toolset) -> list[Tool]:
        return [tool for toolset in toolsets for tool in await toolset.list_tools()]

    skill = tw.Skill.from_directory(ROOT / "docs/snippets/skills/library/word-count")
    registry = tw.SkillRegistry(ROOT / "docs/snippets/skills/library")
    skills = tw.SkillToolset([skill], registry=registry, code_executor=LocalExecutor())
    found: dict[str, list[Tool]] = {
        "deep": [
            *tw.file_tools(tw.FilesystemBackend(ROOT)),
            *tw.todo_tools(),
            tw.create_local_execute_tool(),
        ],
        "workspace": [*tw.workspace_tools(ROOT), *tw.web_tools()],
        "sandbox": anyio.run(listed, SandboxToolset(ROOT / "docs")),
        "skills": anyio.run(listed, skills),
        "cloud": anyio.run(listed, tw.PubSubToolset(), tw.SpannerToolset()),
        "single": [
            tw.load_memory,
            tw.load_artifacts,
            tw.get_user_choice,
            tw.exit_loop,
            tw.transfer_to_agent,
        ],
    }
    return {family: {tool.name: tool for tool in tools} for family, tools in found.items()}
