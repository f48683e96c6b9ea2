"""For tests, ours and yours: scripted and recorded models, and conformance suites."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.testing._scripted import ScriptedModel, Turn, call

if TYPE_CHECKING:
    from toolwright.testing._check_artifacts import ARTIFACT_CHECKS, check_artifacts
    from toolwright.testing._check_credentials import CREDENTIAL_CHECKS, check_credentials
    from toolwright.testing._check_executor import EXECUTOR_CHECKS, check_executor
    from toolwright.testing._check_files import FILES_CHECKS, check_files
    from toolwright.testing._check_memory import MEMORY_CHECKS, check_memory
    from toolwright.testing._check_plugin import (
        PLUGIN_CHECKS,
        PluginCheck,
        PluginUnderTest,
        check_plugin,
        plugin_report,
    )
    from toolwright.testing._check_store import STORE_CHECKS, check_store
    from toolwright.testing._check_tasks import TASK_CHECKS, check_tasks
    from toolwright.testing._prompt_cache import CachedRequest, prompt_cache
    from toolwright.testing._recorded import RecordedModel
    from toolwright.testing.simulation import Simulation, SimulationFailed, simulate

_LAZY = {
    "ARTIFACT_CHECKS": "_check_artifacts",
    "check_artifacts": "_check_artifacts",
    "CREDENTIAL_CHECKS": "_check_credentials",
    "check_credentials": "_check_credentials",
    "EXECUTOR_CHECKS": "_check_executor",
    "check_executor": "_check_executor",
    "MEMORY_CHECKS": "_check_memory",
    "check_memory": "_check_memory",
    "PLUGIN_CHECKS": "_check_plugin",
    "PluginCheck": "_check_plugin",
    "PluginUnderTest": "_check_plugin",
    "check_plugin": "_check_plugin",
    "plugin_report": "_check_plugin",
    "STORE_CHECKS": "_check_store",
    "check_store": "_check_store",
    "TASK_CHECKS": "_check_tasks",
    "check_tasks": "_check_tasks",
    "CachedRequest": "_prompt_cache",
    "prompt_cache": "_prompt_cache",
    "RecordedModel": "_recorded",
    "FILES_CHECKS": "_check_files",
    "check_files": "_check_files",
    "Simulation": "simulation",
    "SimulationFailed": "simulation",
    "simulate": "simulation",
}
"""Names that most tests do not need, and the file each is in."""

__all__ = [
    "ARTIFACT_CHECKS",
    "CREDENTIAL_CHECKS",
    "EXECUTOR_CHECKS",
    "FILES_CHECKS",
    "MEMORY_CHECKS",
    "PLUGIN_CHECKS",
    "STORE_CHECKS",
    "TASK_CHECKS",
    "CachedRequest",
    "PluginCheck",
    "PluginUnderTest",
    "RecordedModel",
    "ScriptedModel",
    "Simulation",
    "SimulationFailed",
    "Turn",
    "call",
    "check_artifacts",
    "check_credentials",
    "check_executor",
    "check_files",
    "check_memory",
    "check_plugin",
    "check_store",
    "check_tasks",
    "plugin_report",
    "prompt_cache",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
