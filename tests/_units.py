"""The units of the package, each with a front door of its own."""

__all__ = ["UNITS"]

UNITS = (
    "agent",
    "backends",
    "builtin",
    "errors",
    "kits",
    "messages",
    "models",
    "serve",
    "sources",
    "tasks",
    "testing",
    "tools",
)
