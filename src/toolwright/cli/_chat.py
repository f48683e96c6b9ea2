"""`toolwright chat`: talk to an agent, watch its calls, approve them."""

import signal
import uuid
from pathlib import Path

import anyio
from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory
from rich.console import Console
from rich.markup import escape

from toolwright.agent import Runner
from toolwright.cli._go import go
from toolwright.cli._show import RichShow
from toolwright.cli._tools import all_tools
from toolwright.errors import ToolwrightError

__all__ = ["chat_loop"]

_HELP = """\
/help            this text
/sessions        the sessions there are; /resume ID goes on with one
/tools           the agent's tools
/new             a new session
/exit            leave (or Ctrl-D)
Ctrl-C           stops the turn; the session is kept"""


async def chat_loop(runner: Runner, session_id: str | None) -> None:
    """Read messages until the person leaves."""
    console = Console(highlight=False)
    chat = _Chat(runner, session_id or uuid.uuid4().hex[:8], console)
    console.print(f"[bold]{runner.agent.name}[/] [dim]session {chat.session_id} · /help[/]")
    history = Path.home() / ".cache" / "toolwright" / "chat-history"
    history.parent.mkdir(parents=True, exist_ok=True)
    lines: PromptSession[str] = PromptSession(history=FileHistory(str(history)))
    await chat.go_on_if_waiting()
    while True:
        try:
            text = (await lines.prompt_async("> ")).strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if text == "/exit":
            return
        if text:
            await chat.take(text)


class _Chat:
    def __init__(self, runner: Runner, session_id: str, console: Console) -> None:
        self.runner = runner
        self.session_id = session_id
        self.console = console

    async def take(self, text: str) -> None:
        """A command, or a message for the agent."""
        command, _, rest = text.partition(" ")
        match command:
            case "/help":
                self.console.print(_HELP, markup=False)
            case "/sessions":
                for row in await self.runner.sessions():
                    self.console.print(f"{row.scope.session_id}  {row.title}", markup=False)
            case "/resume" if rest:
                await self._resume(rest.strip())
            case "/new":
                self.session_id = uuid.uuid4().hex[:8]
                self.console.print(f"[dim]session {self.session_id}[/]")
            case "/tools":
                await self._show_tools()
            case _ if command.startswith("/"):
                self.console.print(
                    f"There is no command {command!r}; /help lists them.", markup=False
                )
            case _:
                await self._turn(text)

    async def _resume(self, session_id: str) -> None:
        known = [row.scope.session_id for row in await self.runner.sessions()]
        if session_id not in known:
            self.console.print(f"There is no session {session_id!r}; /sessions lists them.")
            return
        self.session_id = session_id
        self.console.print(f"[dim]session {escape(session_id)}[/]")
        await self.go_on_if_waiting()

    async def go_on_if_waiting(self) -> None:
        """Answer what a resumed session still waits for."""
        if await self.runner.pending(self.session_id):
            await self._turn(None)

    async def _turn(self, prompt: str | None) -> None:
        """One message and all that follows from it; Ctrl-C ends it and keeps the session."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._stop_on_interrupt, group.cancel_scope)
            try:
                await go(
                    self.runner, self.session_id, prompt, RichShow(self.console), interactive=True
                )
            except Exception as error:  # noqa: BLE001 - the chat goes on, whatever broke the turn
                self.console.print(_told(error), style="red", markup=False)
            group.cancel_scope.cancel()

    async def _stop_on_interrupt(self, scope: anyio.CancelScope) -> None:
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            async for _ in signals:
                self.runner.cancel(self.session_id)
                self.console.print("\n[yellow]stopped; the session is kept[/]")
                scope.cancel()

    async def _show_tools(self) -> None:
        for tool in await all_tools(self.runner):
            self.console.print(f"[bold]{tool.name}[/] [dim]{escape(tool.description)}[/]")


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, ToolwrightError) else f"{type(error).__name__}: {error}"
