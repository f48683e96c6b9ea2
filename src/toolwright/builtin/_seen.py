"""Remember which version of a file an agent has seen, to refuse changes based on an older one."""

from collections import OrderedDict

from toolwright.backends.files import FileChanged
from toolwright.tools import ToolContext

__all__ = ["SeenVersions"]

_MAX = 10_000


class SeenVersions:
    """The versions that each agent of each session has read or written, the latest ones."""

    def __init__(self) -> None:
        self._versions: OrderedDict[tuple[str, ...], str] = OrderedDict()

    def note(self, ctx: ToolContext, path: str, version: str) -> None:
        """The agent now knows this version."""
        key = _key(ctx, path)
        self._versions[key] = version
        self._versions.move_to_end(key)
        if len(self._versions) > _MAX:
            self._versions.popitem(last=False)

    def demand_current(self, ctx: ToolContext, path: str, version: str) -> None:
        """Raise `FileChanged` if the agent knows another version of the file than this."""
        seen = self._versions.get(_key(ctx, path))
        if seen is not None and seen != version:
            raise FileChanged(f"{path} was changed since it was read.")


def _key(ctx: ToolContext, path: str) -> tuple[str, ...]:
    session = ctx.session
    return session.app_name, session.user_id, session.id, ctx.agent_name, path
