"""For tests, ours and yours: scripted and recorded models, and conformance suites."""

from toolwright.testing._scripted import ScriptedModel, Turn, call

__all__ = ["ScriptedModel", "Turn", "call"]
