"""The command line."""

from toolwright.cli._main import main

__all__ = ["main"]
