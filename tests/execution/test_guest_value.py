"""What code on Monty makes is small there and may be huge here: it is measured before it is written."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright import Agent, code_mode
from toolwright.backends import Limits, PortableSandbox
from toolwright.backends.sandboxes._guest_value import check_guest_value
from toolwright.messages import ToolResult
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

WIDE = "a = 'x' * 10000\nb = [a] * 1000\nc = [b] * 1000\n"
"""Ten gigabytes, written out."""
HUGE = {
    "aliases in a list": f"{WIDE}c",
    "aliases in a tuple": f"{WIDE}(c, c)",
    "aliases in a mapping": f"{WIDE}{{'k': c}}",
    "aliases in an object": f"{WIDE}class A:\n  def __init__(self): self.x = c\nA()",
    "many small values": "a = [0] * 1000\nb = [a] * 1000\n[b] * 1000",
    "many empty values": "a = []\nb = [a] * 1000\n[b] * 1000",
    "doubled at each level": "x = [1]\nfor i in range(60): x = [x, x]\nx",
    "deep": "x = []\nfor i in range(100000): x = [x]\nx",
    "deep in tuples": "x = ()\nfor i in range(100000): x = (x,)\nx",
    "deep in mappings": "x = {}\nfor i in range(5000): x = {'k': x}\nx",
    "long texts": "['x' * 20_000_000] * 4",
    "a long number": "10 ** 5000",
}
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(PLAIN, st.integers(1, 400))
def test_no_value_passes_that_is_written_with_many_times_what_is_allowed(
    value: Any, most: int
) -> None:
    try:
        check_guest_value(value, most)
    except ValueError:
        # What is refused is not much smaller than the limit.
        assert len(repr(value)) * 4 + 4 > most
    else:
        assert len(repr(value)) <= most * 10


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Any:
    limits = Limits(timeout=10, memory=100 * 2**20, output=100_000)
    async with await PortableSandbox.open(tmp_path_factory.mktemp("w"), limits=limits) as opened:
        yield opened


@pytest.mark.parametrize("code", HUGE.values(), ids=HUGE)
async def test_a_value_that_is_too_much_is_not_shown_and_the_names_stay(
    sandbox: PortableSandbox, code: str
) -> None:
    await sandbox.run_code("kept = 7")
    done = await sandbox.run_code(code)
    assert (done.exit_code, done.ended, done.value) == (1, "exited", None)
    assert "The value of the last expression cannot be shown: it " in done.stderr
    assert (await sandbox.run_code("kept")).value == "7"


async def test_the_output_limit_is_for_values_and_errors_too(sandbox: PortableSandbox) -> None:
    limits = Limits(output=1000)
    assert (await sandbox.run_code("'x' * 900", limits=limits)).value == repr("x" * 900)
    assert (await sandbox.run_code("'x' * 1100", limits=limits)).value is None
    raised = await sandbox.run_code("raise ValueError('x' * 100000)", limits=limits)
    assert raised.exit_code == 1
    assert len(raised.stderr) <= 1001


@pytest.mark.parametrize(
    "code",
    ["x = []\nwhile True: x.append('a' * 1000)", "'a' * 10**10", "while True: pass",
     "x = [1]\nfor i in range(25): x = [x, x]\n{'a': x}.items()", "def f(): return f()\nf()",
     "x = []\nfor i in range(100000): x = [x]\nx", "raise MemoryError", "raise TimeoutError", "1 +"],
)  # fmt: skip
async def test_python_works_again_after_any_failure(tmp_path: Path, code: str) -> None:
    limits = Limits(timeout=1, memory=32 * 2**20)
    async with await PortableSandbox.open(tmp_path, limits=limits) as sandbox:
        assert not (await sandbox.run_code(code)).ok
        assert (await sandbox.run_code("1 + 1")).value == "2"


async def count(items: Any) -> int:
    """Count."""
    return len(items)


async def answer(code: str) -> ToolResult:
    model = ScriptedModel(call("run_code", code=code), "Done.")
    result = await Agent(name="a", model=model, tools=[code_mode([count])]).run("go")
    return next(r for m in result.history if m.kind == "tool" for r in m.results)


@pytest.mark.parametrize("kind", ["aliases in an object", "many empty values", "deep"])
async def test_code_mode_hands_over_no_value_that_is_too_much(kind: str) -> None:
    given = await answer(HUGE[kind])
    assert given.status == "error"
    assert "The value of the last expression cannot be handed over: it " in given.text


@pytest.mark.parametrize("kind", ["aliases in an object", "many empty values", "deep"])
async def test_code_mode_makes_no_call_with_arguments_that_are_too_much(kind: str) -> None:
    *before, last = HUGE[kind].split("\n")
    given = await answer("\n".join([*before, f"await count([{last}] * 2)"]))
    assert given.status == "error"
    assert "The arguments of count() cannot be handed over: it " in given.text
