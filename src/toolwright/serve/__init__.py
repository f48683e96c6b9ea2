"""The HTTP service: an API over a runner and its tasks, and the web page that uses it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.serve._links import LinkError, Links
from toolwright.serve._settings import ServeSettings

if TYPE_CHECKING:
    from toolwright.serve._app import create_app
    from toolwright.serve._model_choice import ModelChoice, ModelOffer
    from toolwright.serve._serve import serve_app
    from toolwright.serve._workbench import Suggestion, Welcome

_LAZY = {
    "ModelChoice": "_model_choice",
    "ModelOffer": "_model_choice",
    "Suggestion": "_workbench",
    "Welcome": "_workbench",
    "create_app": "_app",
    "serve_app": "_serve",
}
"""Names that need the `serve` extra, and the file each is in."""

__all__ = [
    "LinkError",
    "Links",
    "ModelChoice",
    "ModelOffer",
    "ServeSettings",
    "Suggestion",
    "Welcome",
    "create_app",
    "serve_app",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name in ("starlette", "uvicorn"):
            hint = "The server needs an extra: pip install 'toolwright[serve]'"
            raise ImportError(hint) from error
        raise
