"""What labels, and rules about where values come from, add to a turn: microseconds of processor time.

python -m bench.labels

Each turn reads a text and sends a mail. Without such a rule there are only the labels; with one, and
the address known, each text is read once and each mail judged; so it is with new addresses, words and
dates in every text, which is the most that there can be to take in.
"""

import time
from typing import Any

from toolwright import Agent, Limits, Rule, rules, tool
from toolwright.testing import ScriptedModel, call

TURNS = 100
REPEATS = 7
POLICIES = {
    "no rules": None,
    "rules about names": rules(Rule.deny("wipe", optional=True), otherwise="allow"),
    "from_untrusted": rules(Rule.deny(from_untrusted=True), otherwise="allow"),
}


def text(number: int, letters: int, new: bool) -> str:
    """A text of a turn."""
    stamp = number if new else 0
    words = f"Order {stamp}47 of word{stamp}x costs {stamp + 10}.50, see ref-{stamp}. "
    return (words * (letters // len(words) + 1))[:letters]


def seconds(policy: Any, letters: int, *, new: bool) -> float:
    """The least that a turn took."""
    least = float("inf")
    for _ in range(REPEATS):
        agent = _agent(policy, letters, new)
        began = time.process_time()
        result = agent.run_sync("Write to ada@corp.example about everything")
        least = min(least, time.process_time() - began)
        assert result.text == "Done.", result.reason
    return least / (2 * TURNS)


def _agent(policy: Any, letters: int, new: bool) -> Agent:
    @tool(effects="read", trust="untrusted")
    async def read(number: int) -> str:
        """Read a text."""
        return text(number, letters, new)

    @tool
    async def send(to: str, body: str) -> str:
        """Send a mail."""
        return "sent"

    turns = [
        made
        for number in range(TURNS)
        for made in (
            call("read", number=number),
            call("send", to="ada@corp.example", body="It is done."),
        )
    ]
    limits = Limits(turns=2 * TURNS + 1)
    model = ScriptedModel(*turns, "Done.")
    return Agent(name="a", model=model, tools=[read, send], policy=policy, limits=limits)


def main() -> None:
    """Print the table."""
    sizes = [(200, False), (200, True), (3000, False), (3000, True)]
    heads = [f"{size:,} letters{', new' if new else ''}" for size, new in sizes]
    print(f"| µs per turn | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    for name, policy in POLICIES.items():
        cells = [f"{seconds(policy, size, new=new) * 1e6:.0f}" for size, new in sizes]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
