"""`toolwright chat`: talk to an agent, watch its calls, approve them."""

import signal

import anyio
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from toolwright.agent import Runner
from toolwright.cli._ask import Left, ask_person
from toolwright.cli._go import go
from toolwright.cli._lines import line_reader
from toolwright.cli._places import find_scope, new_scope
from toolwright.cli._show_rich import RichShow
from toolwright.cli._state import history_file
from toolwright.cli._terminal import Terminal
from toolwright.cli._tools import all_tools
from toolwright.errors import ToolwrightError, UsageError
from toolwright.messages import Scope, visible

__all__ = ["chat_loop"]

_HELP = """\
/help            this text
/sessions        the sessions there are; /resume ID goes on with one
/answer          asks again what still waits for an answer
/tools           the agent's tools
/new             a new session
/exit            leave (or Ctrl-D)
Ctrl-C           stops the turn; the session is kept"""
_STOPPED = "stopped; the session is kept"


async def chat_loop(runner: Runner, scope: Scope) -> None:
    """Read messages until the person leaves."""
    terminal = Terminal()
    chat = _Chat(runner, scope, terminal)
    terminal.say((runner.agent.name, "bold"), (f" session {chat.session_id} · /help", "dim"))
    lines = line_reader(history=_history())
    await chat.answer_waiting()
    while not chat.left:
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


def _history() -> History:
    try:
        return FileHistory(str(history_file()))
    except OSError:
        return InMemoryHistory()  # nowhere to write: the lines are known until the end


class _Chat:
    def __init__(self, runner: Runner, scope: Scope, terminal: Terminal) -> None:
        self.runner = runner
        self.scope = scope
        self.say = terminal.say
        self.show = RichShow(terminal)
        self.left = False
        """The person has left at a question."""

    @property
    def session_id(self) -> str:
        return self.scope.session_id

    async def take(self, text: str) -> None:
        """A command, or a message for the agent."""
        command, _, rest = text.partition(" ")
        match command:
            case "/help":
                self.say(_HELP)
            case "/sessions":
                for row in await self.runner.sessions():
                    self.say(visible(f"{row.scope.session_id}  {row.title}", lines=False))
            case "/resume" if rest:
                await self._resume(rest.strip())
            case "/answer":
                await self.answer_waiting()
            case "/new":
                self.scope = new_scope(self.runner)
                self.say(f"session {self.session_id}", style="dim")
            case "/tools":
                await self._show_tools()
            case _ if command.startswith("/"):
                self.say(f"There is no command {command!r}; /help lists them.")
            case _:
                await self._turn(text)

    async def _resume(self, session_id: str) -> None:
        try:
            self.scope = await find_scope(self.runner, session_id)
        except UsageError as error:
            self.say(str(error))
            return
        self.say(f"session {session_id}", style="dim")
        await self.answer_waiting()

    async def answer_waiting(self) -> None:
        """Answer what the session still waits for, and go on with what was answered."""
        if await self.runner.store.open_calls(self.runner.app_name, self.session_id):
            await self._turn(None)

    async def _turn(self, prompt: str | None) -> None:
        """One message and all that follows from it; Ctrl-C ends it and keeps the session."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._stop_on_interrupt, group.cancel_scope)
            try:
                await self._run(prompt)
            except (KeyboardInterrupt, EOFError) as stop:
                self.left = isinstance(stop, Left)
                self.say(_STOPPED, style="yellow")
            except Exception as error:  # noqa: BLE001 - the chat goes on, whatever broke the turn
                self.say(_message(error), style="red")
            group.cancel_scope.cancel()

    async def _run(self, prompt: str | None) -> None:
        late = prompt is None
        result = await go(self.runner, self.scope, prompt, self.show, ask_person, late=late)
        if result.status == "paused" or (late and result.pending):
            self.say("still waiting for an answer; /answer asks again", style="dim")
        if result.reason:
            self.say(("stopped:", "red"), f" {result.reason}")

    async def _stop_on_interrupt(self, scope: anyio.CancelScope) -> None:
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            async for _ in signals:
                self.runner.cancel(self.session_id)
                self.say(f"\n{_STOPPED}", style="yellow")
                scope.cancel()

    async def _show_tools(self) -> None:
        for tool in await all_tools(self.runner):
            self.say((tool.name, "bold"), (f" {tool.description}", "dim"))


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, ToolwrightError) else f"{type(error).__name__}: {error}"
