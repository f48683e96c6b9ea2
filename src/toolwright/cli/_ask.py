"""Ask the person at the terminal what a pending call wants to know."""

import json
from typing import Any

import anyio.to_thread
from rich.console import Console
from rich.markup import escape

from toolwright.messages import Approve, Pending, Reject

__all__ = ["ask_person"]

_CHOICES = (
    "[bold]y[/]es / [bold]n[/]o / [bold]a[/]lways in this session / [bold]e[/]dit the arguments"
)


async def ask_person(pending: Pending, console: Console) -> Any:
    """The answer, as `runner.answer` takes it."""
    console.print(f"\n[cyan bold]{escape(pending.name)}[/] {escape(pending.hint)}")
    if pending.kind == "confirmation":
        console.print(
            f"[dim]{escape(json.dumps(pending.arguments, ensure_ascii=False, indent=2))}[/]"
        )
        return await _confirmation(pending, console)
    if pending.payload is not None:
        console.print(
            f"[dim]{escape(json.dumps(pending.payload, ensure_ascii=False, indent=2))}[/]"
        )
    text = await _line(console, "answer (empty to refuse)> ")
    return _as_value(text) if text else Reject(reason="no answer was given")


async def _confirmation(pending: Pending, console: Console) -> Any:
    while True:
        console.print(_CHOICES)
        match (await _line(console, "> ")).strip().lower():
            case "y" | "yes":
                return Approve()
            case "a" | "always":
                return Approve(remember=True)
            case "n" | "no":
                return Reject(reason=await _line(console, "reason (told to the model)> "))
            case "e" | "edit":
                edited = _as_value(await _line(console, "arguments as JSON> "))
                if isinstance(edited, dict):
                    return Approve(arguments=edited)
                console.print("[red]That is not a JSON object.[/]")
            case _:
                console.print("[red]Please answer y, n, a or e.[/]")


def _as_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


async def _line(console: Console, prompt: str) -> str:
    return await anyio.to_thread.run_sync(lambda: console.input(prompt), abandon_on_cancel=True)
