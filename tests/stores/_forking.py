"""A program that has used its store and forks; its child uses it too, at the same time."""

import asyncio
import os
import sys

from toolwright import Agent, Runner
from toolwright.backends import SqlStore
from toolwright.testing import ScriptedModel

store = SqlStore(sys.argv[1])
runner = Runner(Agent(name="a", model=ScriptedModel(*["hi"] * 20)), store=store)


def talk(who: str) -> None:
    for number in range(5):
        run = runner.run("x", session_id=f"{who}{number % 2}")
        assert asyncio.run(asyncio.wait_for(run, 20)).text == "hi"


talk("before")
store._holds._name = store._holds._name or "parent"
name = store._holds._name
child = os.fork()
if not child:
    try:
        talk("child")
        assert store._holds._name != name
    except BaseException as error:
        print(type(error).__name__, error, file=sys.stderr)
        os._exit(1)
    os._exit(0)
talk("parent")
assert store._holds._name == name
_, status = os.waitpid(child, 0)
found = sorted(row.scope.session_id for row in asyncio.run(runner.sessions()))
assert found == [f"{who}{n}" for who in ("before", "child", "parent") for n in (0, 1)], found
sys.exit(os.waitstatus_to_exitcode(status))
