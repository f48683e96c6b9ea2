"""The file tools of a deep agent."""

from toolwright.builtin.files._backend import Backend, backend_for
from toolwright.builtin.files._tools import file_tools

__all__ = ["Backend", "backend_for", "file_tools"]
