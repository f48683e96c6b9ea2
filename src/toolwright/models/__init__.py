"""The `Model` protocol and its providers, one file each."""

from toolwright.models._model import Delta, Model, ModelRequest, ModelSettings, OnDelta

__all__ = ["Delta", "Model", "ModelRequest", "ModelSettings", "OnDelta"]
