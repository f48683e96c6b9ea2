"""For tests, ours and yours: scripted and recorded models, and conformance suites."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.testing._check_artifacts import ARTIFACT_CHECKS, check_artifacts
from toolwright.testing._check_credentials import CREDENTIAL_CHECKS, check_credentials
from toolwright.testing._check_executor import EXECUTOR_CHECKS, check_executor
from toolwright.testing._check_memory import MEMORY_CHECKS, check_memory
from toolwright.testing._check_plugin import (
    PLUGIN_CHECKS,
    PluginCheck,
    PluginUnderTest,
    check_plugin,
    plugin_report,
)
from toolwright.testing._check_store import STORE_CHECKS, check_store
from toolwright.testing._recorded import RecordedModel
from toolwright.testing._scripted import ScriptedModel, Turn, call

if TYPE_CHECKING:
    from toolwright.testing._check_files import FILES_CHECKS, check_files

_LAZY = {"FILES_CHECKS": "_check_files", "check_files": "_check_files"}
"""Names that need an optional dependency, and the file each is in."""

__all__ = [
    "ARTIFACT_CHECKS",
    "CREDENTIAL_CHECKS",
    "EXECUTOR_CHECKS",
    "FILES_CHECKS",
    "MEMORY_CHECKS",
    "PLUGIN_CHECKS",
    "STORE_CHECKS",
    "PluginCheck",
    "PluginUnderTest",
    "RecordedModel",
    "ScriptedModel",
    "Turn",
    "call",
    "check_artifacts",
    "check_credentials",
    "check_executor",
    "check_files",
    "check_memory",
    "check_plugin",
    "check_store",
    "plugin_report",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
