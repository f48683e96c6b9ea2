"""The command lines of `commands.toml`, each with the policy that judges it and what it should say."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from toolwright.builtin.bash import BashToolPolicy, BashVerdict

Says = Literal["read", "write", "refused"]


@dataclass(frozen=True, slots=True)
class Group:
    """Command lines under one policy."""

    name: str
    policy: BashToolPolicy
    commands: dict[Says, tuple[str, ...]]

    def lines(self) -> Iterator[tuple[Says, str]]:
        for says, commands in self.commands.items():
            for command in commands:
                yield says, command


@cache
def groups() -> tuple[Group, ...]:
    data = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
    return tuple(
        Group(
            name=group["name"],
            policy=BashToolPolicy(
                tuple(group["allowed"]), allow_redirects=group.get("allow_redirects", False)
            ),
            commands={says: tuple(group.get(says, ())) for says in ("read", "write", "refused")},
        )
        for group in data["group"]
    )


def says(verdict: BashVerdict) -> Says:
    if not verdict.allowed:
        return "refused"
    return "read" if verdict.read_only else "write"
