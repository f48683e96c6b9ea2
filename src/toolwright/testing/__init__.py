"""For tests, ours and yours: scripted and recorded models, and conformance suites."""

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

__all__ = [
    "ARTIFACT_CHECKS",
    "CREDENTIAL_CHECKS",
    "EXECUTOR_CHECKS",
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
    "check_memory",
    "check_plugin",
    "check_store",
    "plugin_report",
]
