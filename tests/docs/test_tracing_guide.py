"""What the page on tracing shows, works; in a process of its own, since a provider is set once."""

import subprocess
import sys

from tests.docs._snippets import ROOT


def test_a_run_is_traced_by_the_conventions() -> None:
    snippet = ROOT / "docs" / "snippets" / "tracing" / "spans.py"
    done = subprocess.run([sys.executable, snippet], capture_output=True, text=True, check=True)
    names = [line.split(" [")[0] for line in done.stdout.splitlines()]
    assert names == [
        "chat scripted:model",
        "execute_tool add",
        "chat scripted:model",
        "invoke_agent maths",
    ]
    page = (ROOT / "docs" / "guides" / "tracing.md").read_text()
    for attribute in ("gen_ai.tool.call.id", "gen_ai.usage.input_tokens", "gen_ai.conversation.id"):
        assert attribute in done.stdout
        assert attribute in page
