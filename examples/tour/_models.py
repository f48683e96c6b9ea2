"""The models that the tour offers: the recording first, and real ones only for those who choose them."""

import os
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from examples.tour._model import TourModel
from examples.tour._project import write_project
from examples.tour._story import AFTERWARDS, FIX, NOTICE, OTHERWISE, chapters
from toolwright import models
from toolwright.models import Model
from toolwright.serve import ModelChoice, ModelOffer

__all__ = ["RECORDING", "offered_models", "recording"]

RECORDING = "A recording (free, needs no key)"
_BY_KEY: dict[str, tuple[str, Callable[[str], Model]]] = {
    "OPENAI_API_KEY": (
        "openai:gpt-5-mini",
        lambda key: models.OpenAIModel("gpt-5-mini", api_key=key),
    ),
    "ANTHROPIC_API_KEY": (
        "anthropic:claude-sonnet-4-5",
        lambda key: models.AnthropicModel("claude-sonnet-4-5", api_key=key),
    ),
    "GEMINI_API_KEY": (
        "google:gemini-2.5-flash",
        lambda key: models.GeminiModel("gemini-2.5-flash", api_key=key, vertex=False),
    ),
}
"""What each key is offered with: the model is handed that key, whatever else the environment holds."""
_OLLAMA = ("127.0.0.1", 11434)
_PAID = (
    "A real model answers: what you write, and what its tools read in the tour's folder, is sent "
    "to its provider, and your {key} pays for it."
)
_LOCAL = "A real model answers, on this machine."


def recording(folder: Path, *, shell: bool = True, pause: float = 0.02) -> TourModel:
    """The recorded model, with a pause after each word; without a shell it runs no commands."""
    return TourModel(
        chapters(shell=shell),
        OTHERWISE,
        afterwards=AFTERWARDS,
        before={FIX: partial(write_project, folder)},
        pause=pause,
    )


def offered_models(folder: Path, *, shell: bool, recorded_only: bool) -> ModelChoice:
    """The recording, and a real model for each key in the environment and a local Ollama.

    The recording is about the project in `folder`. Nothing is made, and no key is used, before
    somebody chooses it on the page.
    """
    notice = NOTICE if shell else f"{NOTICE} No sandbox works here, so there is no shell."
    first = ModelOffer(title=RECORDING, make=partial(recording, folder, shell=shell), notice=notice)
    return ModelChoice(first, *(() if recorded_only else _real()))


def _real() -> Iterator[ModelOffer]:
    for variable, (name, make) in _BY_KEY.items():
        if (key := os.environ.get(variable, "")).strip():
            yield ModelOffer(
                title=f"{name}, with your {variable}",
                make=partial(make, key),
                notice=_PAID.format(key=variable),
            )
    if _listens(*_OLLAMA):
        name = f"ollama:{os.environ.get('OLLAMA_MODEL', 'qwen3')}"
        yield ModelOffer(title=name, make=partial(models.resolve_model, name), notice=_LOCAL)


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=0.2):
            return True
    except OSError:
        return False
