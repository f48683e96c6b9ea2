"""`toolwright plugin test`."""

import anyio

from toolwright.cli import _exit as exits
from toolwright.cli._out import say
from toolwright.testing import PluginUnderTest, plugin_report

__all__ = ["plugin_test"]


def plugin_test(path: str, /, *args: str) -> int:
    """Run the conformance suite against a plugin executable.

    Parameters
    ----------
    path
        The executable.
    args
        Its arguments, after `--`.
    """
    checks = anyio.run(lambda: plugin_report(PluginUnderTest(path=path, args=args)))
    for check in checks:
        say(f"ok    {check.about}" if check.ok else f"FAIL  {check.about}\n      {check.problem}")
    return exits.DONE if all(check.ok for check in checks) else exits.FAILED
