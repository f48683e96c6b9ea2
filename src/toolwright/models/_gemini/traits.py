"""What Gemini models differ in. A name without a number is taken for one of the newest."""

import re
from typing import Literal

from google.genai import types

__all__ = ["generation_of", "thinking_config"]

Reasoning = Literal["none", "low", "medium", "high"] | None

_BUDGETS = {"none": 0, "low": 1_024, "medium": 8_192, "high": 24_576}
"""Thinking tokens, for models that are told a number."""
_LEAST_BUDGET_OF_PRO = 128
_LEVELS = {
    "low": types.ThinkingLevel.LOW,
    "medium": types.ThinkingLevel.MEDIUM,
    "high": types.ThinkingLevel.HIGH,
}
_CAN_ALMOST_STOP = re.compile(r"gemini-3(\.[0-6])?-flash")
"""Newer models that know a level below low."""


def generation_of(model: str) -> float:
    """2.5 for `gemini-2.5-flash`."""
    found = re.search(r"gemini-(\d+(?:\.\d+)?)", model)
    if found:
        return float(found[1])
    return 3.0 if "gemini" in model else 2.0


def thinking_config(model: str, reasoning: Reasoning) -> types.ThinkingConfig | None:
    """How the model is told to think as much as was asked for; thoughts are shown if it does."""
    generation = generation_of(model)
    if reasoning is None or generation < 2.5 or "2.5-flash-image" in model:
        return None
    shown = reasoning != "none"
    if generation < 3:
        budget = _BUDGETS[reasoning]
        least = _LEAST_BUDGET_OF_PRO if "pro" in model else 0
        return types.ThinkingConfig(include_thoughts=shown, thinking_budget=max(budget, least))
    level = _LEVELS.get(reasoning) or _least_level(model)
    return types.ThinkingConfig(include_thoughts=shown, thinking_level=level)


def _least_level(model: str) -> types.ThinkingLevel:
    if _CAN_ALMOST_STOP.match(model):
        return types.ThinkingLevel.MINIMAL
    return types.ThinkingLevel.LOW
