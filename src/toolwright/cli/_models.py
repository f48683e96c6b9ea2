"""Choose the model: a flag, the file, the environment, or a person."""

import os
import socket

from toolwright.cli._me import PersonModel
from toolwright.errors import UsageError
from toolwright.models import Model, resolve_model

__all__ = ["choose_model"]

_BY_KEY = {
    "OPENAI_API_KEY": "openai:gpt-5-mini",
    "ANTHROPIC_API_KEY": "anthropic:claude-sonnet-4-5",
    "GEMINI_API_KEY": "google:gemini-2.5-flash",
    "GOOGLE_API_KEY": "google:gemini-2.5-flash",
    "OPENROUTER_API_KEY": "openrouter:openai/gpt-5-mini",
}
_OLLAMA = ("127.0.0.1", 11434)

_NO_MODEL = """\
No model is set, no API key was found and no local model server is running. Do one of these:
  export OPENAI_API_KEY=…            (or ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY)
  ollama serve                       and then  --model ollama:qwen3
  --model provider:name              or a line `model: provider:name` in agent.yaml
  --model me                         you play the model and choose the tools by hand"""


def choose_model(flag: str | None, from_file: str | None) -> Model:
    """The model that is to be used; `UsageError` with everything one can do when there is none."""
    name = flag or os.environ.get("TOOLWRIGHT_MODEL") or from_file or _by_key()
    if name == "me":
        return PersonModel()
    if name is None and _listens(*_OLLAMA):
        name = f"ollama:{os.environ.get('OLLAMA_MODEL', 'qwen3')}"
    if name is None:
        raise UsageError(_NO_MODEL)
    return resolve_model(name)


def _by_key() -> str | None:
    return next((model for key, model in _BY_KEY.items() if os.environ.get(key)), None)


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=0.2):
            return True
    except OSError:
        return False
