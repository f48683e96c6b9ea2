"""Code mode: the model writes Python that calls the agent's tools."""

from toolwright.builtin.codemode._code_mode import code_mode

__all__ = ["code_mode"]
