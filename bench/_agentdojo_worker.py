"""Play AgentDojo's ground truths, and print what each call was given and answered, as lines of JSON.

Runs in an environment of its own (`requirements/bench-agentdojo.txt`) and asks no model: the calls
are those that AgentDojo itself says solve a task, or carry out an attack. The attack's goal is put,
as it is, into every place that AgentDojo has for one.
"""

import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

warnings.filterwarnings("ignore")

VERSION = "v1.2.2"


def main() -> None:
    """Print each user task alone, and with each attack that it comes to read."""
    from agentdojo.task_suite.load_suites import get_suites  # ty: ignore

    for name, suite in get_suites(VERSION).items():
        for task, user in suite.user_tasks.items():
            for attack, injection in {"": None, **suite.injection_tasks}.items():
                played = {"suite": name, "task": task, "attack": attack, "asked": user.PROMPT}
                print(json.dumps(played | _play(suite, user, injection)))


def _play(suite: Any, user: Any, injection: Any) -> dict[str, Any]:
    from agentdojo.functions_runtime import FunctionsRuntime  # ty: ignore

    places = suite.get_injection_vector_defaults()
    goals = {} if injection is None else dict.fromkeys(places, injection.GOAL)
    world = user.init_environment(suite.load_and_inject_default_environment(goals))
    runtime = FunctionsRuntime(suite.tools)
    calls = list(_answered(runtime, world, user.ground_truth(world)))
    if injection is None:
        return {"calls": calls, "attacks": []}
    attacks = injection.ground_truth(world)
    return {"calls": calls, "attacks": list(_answered(runtime, world, attacks))}


def _answered(runtime: Any, world: Any, calls: Iterable[Any]) -> Iterator[dict[str, Any]]:
    from pydantic import TypeAdapter

    plain = TypeAdapter(Any)
    for call in calls:
        result, error = runtime.run_function(world, call.function, call.args)
        answer = str(error) if error else plain.dump_json(result, fallback=str).decode()
        text = json.loads(answer) if not error and isinstance(result, str) else answer
        args = json.loads(plain.dump_json(dict(call.args), fallback=str))
        yield {"tool": call.function, "args": args, "text": text}


if __name__ == "__main__":
    sys.exit(main())
