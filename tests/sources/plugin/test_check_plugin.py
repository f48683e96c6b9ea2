"""The conformance suite for plugins finds good ones good and bad ones bad."""

from pathlib import Path

import pytest

from toolwright.testing import PLUGIN_CHECKS, PluginUnderTest, check_plugin, plugin_report

pytestmark = pytest.mark.anyio
EXAMPLES = Path(__file__).parents[3] / "examples" / "plugins"
ROGUE = Path(__file__).parent / "rogue.py"


@pytest.mark.row("002-75")
async def test_our_examples_pass_every_check(tmp_path: Path) -> None:
    await check_plugin(EXAMPLES / "notes.py", calls={"add_note": {"text": "hi"}, "list_notes": {}})
    await check_plugin(EXAMPLES / "disk.sh", calls={"disk_free": {"path": str(tmp_path)}})


@pytest.mark.parametrize(
    ("how", "check", "said"),
    [
        ("garbage", "check_init_is_answered_with_tools", "not JSON: b'this is no plugin"),
        ("sametool", "check_init_is_answered_with_tools", "two tools have the same name"),
        ("unknown", "check_every_call_is_answered", "the result is for 'nobody-asked'"),
        ("crash", "check_every_call_is_answered", "the plugin ended instead of sending 'result'"),
        ("silent", "check_every_call_is_answered", "no 'result' within 2 s"),
    ],
)
async def test_a_rule_that_is_broken_is_named(
    how: str, check: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    timeout = 2 if how == "silent" else 20
    plugin = PluginUnderTest(path=str(ROGUE), args=[how, "always"], timeout=timeout)
    (broken,) = [found for found in PLUGIN_CHECKS if found.__name__ == check]
    with pytest.raises(AssertionError) as failure:
        await broken(plugin)
    assert said in str(failure.value)


async def test_the_report_names_every_check_and_its_problem(tmp_path: Path) -> None:
    report = await plugin_report(PluginUnderTest(path=str(tmp_path / "nothing")))
    assert [check.name for check in report] == [check.__name__ for check in PLUGIN_CHECKS]
    assert all("cannot be started" in check.problem for check in report)


async def test_a_program_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="cannot be started"):
        await check_plugin(tmp_path / "nothing")
