"""All that the routes work with."""

from dataclasses import dataclass, field

from toolwright._sealed import sealed
from toolwright.agent import Runner
from toolwright.backends.files import Files
from toolwright.serve._model_choice import ModelChoice
from toolwright.serve._sessions import Sessions
from toolwright.serve._settings import ServeSettings
from toolwright.serve._tasks import Tasks
from toolwright.serve.guard import Door
from toolwright.serve.live import LiveRuns, Notices, Streams

__all__ = ["Suggestion", "Welcome", "Workbench"]


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Something to try, offered before the first message."""

    title: str
    prompt: str
    detail: str = ""


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """What the page says before the first message."""

    notice: str = ""
    """Something everyone must know, such as that the model is a recording."""
    suggestions: tuple[Suggestion, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Workbench:
    """One server's parts."""

    runner: Runner
    settings: ServeSettings
    notices: Notices
    runs: LiveRuns
    sessions: Sessions
    streams: Streams
    files: Files | None = None
    tasks: Tasks | None = None
    models: ModelChoice | None = None
    welcome: Welcome = field(default_factory=Welcome)
    door: Door | None = None
    """Who may come in, where there is a token."""
