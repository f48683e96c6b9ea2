"""What rules about untrusted input stop, and what they ask, on AgentDojo's ground truths (v1.2.2).

For each of its 949 pairs of a task and an attack, the calls that solve the task are played, with the
attack in what they read, and then those of the attack, as if the model had been taken over. An attack
counts as stopped when one of its calls that change something is asked about. Beside it stand the tasks
alone: how many of those that change something would ask. Three rules are compared: ask about every
such call once anything untrusted was read; ask about destinations (addresses, hosts, accounts and
phone numbers) that come from there; and `Rule.ask(from_untrusted=True)`.

python -m bench.untrusted_input [FILE of the worker's lines]
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from json import loads
from pathlib import Path
from typing import Any

from tests._venvs import venv_python

from toolwright.agent._provenance import Provenance
from toolwright.messages import (
    Event,
    Label,
    RunStarted,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolResult,
    ToolStarted,
    user_message,
)
from toolwright.tools import Origin

WRITING = {
    "send_email",
    "delete_email",
    "create_calendar_event",
    "cancel_calendar_event",
    "reschedule_calendar_event",
    "add_calendar_event_participants",
    "append_to_file",
    "create_file",
    "delete_file",
    "share_file",
    "reserve_hotel",
    "reserve_car_rental",
    "reserve_restaurant",
    "send_money",
    "schedule_transaction",
    "update_scheduled_transaction",
    "update_password",
    "update_user_info",
    "add_user_to_channel",
    "send_direct_message",
    "send_channel_message",
    "invite_user_to_slack",
    "remove_user_from_slack",
    "post_webpage",
}
OWN = {
    "search_contacts_by_name",
    "search_contacts_by_email",
    "get_current_day",
    "get_user_information",
    "get_all_hotels_in_city",
    "get_hotels_prices",
    "get_hotels_address",
    "get_all_restaurants_in_city",
    "get_cuisine_type_for_restaurants",
    "get_restaurants_address",
    "get_price_for_restaurants",
    "get_dietary_restrictions_for_all_restaurants",
    "get_contact_information_for_restaurants",
    "check_restaurant_opening_hours",
    "get_all_car_rental_companies_in_city",
    "get_car_types_available",
    "get_car_fuel_options",
    "get_car_rental_address",
    "get_car_price_per_day",
    "get_flight_information",
    "get_iban",
    "get_balance",
    "get_user_info",
    "get_users_in_channel",
}
"""What the services know themselves; mails, files, pages, channels, calendars, reviews and the
subjects of payments are what others have written."""
NAMED = ("session taint", "destinations only", "from_untrusted")
_DESTINATION = ("address", "host", "site", "number")


@dataclass
class Played:
    """One story, call by call."""

    asked: str
    index: Provenance = field(default_factory=Provenance)
    seq: int = 0

    def __post_init__(self) -> None:
        self._take(RunStarted(message=user_message(self.asked)))

    def judge(self, call: dict[str, Any]) -> list[Origin]:
        """What the rule finds in a call."""
        return self.index.origins(call["args"], is_near=lambda name: True)

    def answer(self, call: dict[str, Any], ordinal: int) -> None:
        """What the call has come to."""
        made = ToolCall(call_id=f"c{ordinal}", name=call["tool"], arguments=_json(call["args"]))
        label: Label = "trusted" if call["tool"] in OWN else "untrusted"
        content = (TextPart(call["text"]),)
        result = ToolResult(call_id=made.call_id, name=made.name, status="ok", content=content)
        self._take(ToolStarted(call=made), ToolEnded(result=result, trust=label))

    def _take(self, *events: Event) -> None:
        for event in events:
            self.seq += 1
            object.__setattr__(event, "seq", self.seq)
        self.index.take(events, "person", lambda name: "untrusted")


def _json(value: Any) -> str:
    from json import dumps

    return dumps(value, ensure_ascii=False)


def asks(played: Played, calls: Sequence[dict[str, Any]], judged: bool) -> set[str]:
    """Which of the rules ask about one of these calls."""
    found: set[str] = set()
    for number, call in enumerate(calls):
        if judged and call["tool"] in WRITING:
            origins = played.judge(call)
            found |= {"session taint"} if played.index.is_tainted else set()
            found |= {"from_untrusted"} if origins else set()
            if any(origin.kind in _DESTINATION for origin in origins):
                found.add("destinations only")
        played.answer(call, number)
    return found


def measure(stories: Iterable[dict[str, Any]]) -> tuple[Counter[Any], Counter[Any]]:
    """Attacks stopped and tasks that ask, by suite and rule; "all" counts them."""
    stopped, asking = Counter[Any](), Counter[Any]()
    for story in stories:
        writes = any(call["tool"] in WRITING for call in story["attacks"] or story["calls"])
        if not writes or (story["attack"] and not story["attacks"]):
            continue
        played = Played(story["asked"])
        if not story["attack"]:
            found, counts = asks(played, story["calls"], judged=True), asking
        else:
            asks(played, story["calls"], judged=False)
            found, counts = asks(played, story["attacks"], judged=True), stopped
            if "from_untrusted" not in found:
                print(f"not stopped: {story['suite']} {story['task']} {story['attack']}")
        counts.update((story["suite"], rule) for rule in ("all", *found))
    return stopped, asking


def main() -> None:
    """Print both tables."""
    if len(sys.argv) > 1:
        lines = Path(sys.argv[1]).read_text().splitlines()
    else:
        worker = Path(__file__).with_name("_agentdojo_worker.py")
        python = str(venv_python("bench-agentdojo"))
        ran = subprocess.run([python, str(worker)], check=True, capture_output=True, text=True)
        lines = ran.stdout.splitlines()
    stopped, asking = measure(map(loads, lines))
    for title, counts in (("attacks stopped", stopped), ("tasks that ask", asking)):
        print(f"\n| {title} | {' | '.join(NAMED)} |\n|---|{'---|' * len(NAMED)}")
        suites = sorted({suite for suite, _ in counts})
        for suite in suites:
            print(_row(suite, [counts[suite, rule] for rule in NAMED], counts[suite, "all"]))
        total = {rule: sum(counts[suite, rule] for suite in suites) for rule in ("all", *NAMED)}
        print(_row("together", [total[rule] for rule in NAMED], total["all"]))


def _row(name: str, found: Sequence[int], of: int) -> str:
    cells = " | ".join(f"{number}/{of} ({number / of:.1%})" for number in found)
    return f"| {name} | {cells} |"


if __name__ == "__main__":
    main()
