"""Ways to touch the world: files, processes, the network, and stores for what must be kept."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.backends._store import Loaded, OpenCall, SessionRow, Store

if TYPE_CHECKING:
    from toolwright.backends._fetch import Fetch, Fetched
    from toolwright.backends._memory_store import MemoryStore
    from toolwright.backends._network import Reachable, guarded_client, guarded_transport
    from toolwright.backends._open_store import open_store
    from toolwright.backends._truncate import Truncated, format_size, truncate_head, truncate_tail
    from toolwright.backends.artifacts import (
        BlobArtifacts,
        DirectoryArtifacts,
        MemoryArtifacts,
        ObjectArtifacts,
        open_artifacts,
    )
    from toolwright.backends.auth import (
        AuthlibFlows,
        CredentialStore,
        KeyringCredentials,
        MemoryCredentials,
        SignInRefused,
        SqliteCredentials,
        encryption_key,
        key_from_file,
        new_key,
        open_credentials,
        openid_url_to_scheme_credential,
        service_account_dict_to_scheme_credential,
        service_account_scheme_credential,
        token_to_scheme_credential,
    )
    from toolwright.backends.executors import (
        Capabilities,
        Command,
        Ended,
        Executor,
        Finished,
        Job,
        Limits,
        LocalExecutor,
        OnOutput,
        Sandbox,
        demand,
    )
    from toolwright.backends.files import (
        CompositeBackend,
        Files,
        FilesystemBackend,
        StateBackend,
        StoreBackend,
    )
    from toolwright.backends.memory import Embedder, SqlMemory, open_memory
    from toolwright.backends.sandboxes import (
        OsSandbox,
        PortableSandbox,
        SshExecutor,
        open_executor,
        open_sandbox,
    )
    from toolwright.backends.sql import SqlStore

_LAZY = {
    "MemoryStore": "_memory_store",
    "open_store": "_open_store",
    "Truncated": "_truncate",
    "format_size": "_truncate",
    "truncate_head": "_truncate",
    "truncate_tail": "_truncate",
    "Capabilities": "executors",
    "Command": "executors",
    "Ended": "executors",
    "Executor": "executors",
    "Finished": "executors",
    "Job": "executors",
    "Limits": "executors",
    "OnOutput": "executors",
    "Sandbox": "executors",
    "demand": "executors",
    "Embedder": "memory",
    "SqlMemory": "memory",
    "open_memory": "memory",
    "BlobArtifacts": "artifacts",
    "DirectoryArtifacts": "artifacts",
    "MemoryArtifacts": "artifacts",
    "ObjectArtifacts": "artifacts",
    "open_artifacts": "artifacts",
    "AuthlibFlows": "auth",
    "CredentialStore": "auth",
    "KeyringCredentials": "auth",
    "MemoryCredentials": "auth",
    "SignInRefused": "auth",
    "SqliteCredentials": "auth",
    "encryption_key": "auth",
    "key_from_file": "auth",
    "new_key": "auth",
    "open_credentials": "auth",
    "openid_url_to_scheme_credential": "auth",
    "service_account_dict_to_scheme_credential": "auth",
    "service_account_scheme_credential": "auth",
    "token_to_scheme_credential": "auth",
    "CompositeBackend": "files",
    "Files": "files",
    "FilesystemBackend": "files",
    "StateBackend": "files",
    "StoreBackend": "files",
    "LocalExecutor": "executors",
    "OsSandbox": "sandboxes",
    "PortableSandbox": "sandboxes",
    "SshExecutor": "sandboxes",
    "open_executor": "sandboxes",
    "open_sandbox": "sandboxes",
    "Fetch": "_fetch",
    "Fetched": "_fetch",
    "Reachable": "_network",
    "SqlStore": "sql",
    "guarded_client": "_network",
    "guarded_transport": "_network",
}
"""Names that need an optional dependency or are slow to import, and the file each is in."""

__all__ = [
    "AuthlibFlows",
    "BlobArtifacts",
    "Capabilities",
    "Command",
    "CompositeBackend",
    "CredentialStore",
    "DirectoryArtifacts",
    "Embedder",
    "Ended",
    "Executor",
    "Fetch",
    "Fetched",
    "Files",
    "FilesystemBackend",
    "Finished",
    "Job",
    "KeyringCredentials",
    "Limits",
    "Loaded",
    "LocalExecutor",
    "MemoryArtifacts",
    "MemoryCredentials",
    "MemoryStore",
    "ObjectArtifacts",
    "OnOutput",
    "OpenCall",
    "OsSandbox",
    "PortableSandbox",
    "Reachable",
    "Sandbox",
    "SessionRow",
    "SignInRefused",
    "SqlMemory",
    "SqlStore",
    "SqliteCredentials",
    "SshExecutor",
    "StateBackend",
    "Store",
    "StoreBackend",
    "Truncated",
    "demand",
    "encryption_key",
    "format_size",
    "guarded_client",
    "guarded_transport",
    "key_from_file",
    "new_key",
    "open_artifacts",
    "open_credentials",
    "open_executor",
    "open_memory",
    "open_sandbox",
    "open_store",
    "openid_url_to_scheme_credential",
    "service_account_dict_to_scheme_credential",
    "service_account_scheme_credential",
    "token_to_scheme_credential",
    "truncate_head",
    "truncate_tail",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
