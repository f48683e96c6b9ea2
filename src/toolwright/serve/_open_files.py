"""How many files and connections this process may have open."""

import sys

__all__ = ["raise_file_limit"]

_ENOUGH = 65_536
_OTHERS = 256
"""Files that are not connections: databases, tools' processes, what they read."""


def raise_file_limit() -> int:
    """Let this process have as many files open as it may; how many of them can be connections."""
    if sys.platform == "win32":
        return _ENOUGH
    import resource  # noqa: PLC0415 - not on every platform

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < most:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
        except (ValueError, OSError):
            pass  # Some systems promise more than they give.
    allowed = _ENOUGH if soft == resource.RLIM_INFINITY else soft
    return max(allowed - _OTHERS, allowed // 2)
