"""Tools from OpenAPI documents: one for each operation."""

try:
    import httpx2  # noqa: F401 (whether it is there; every file below uses it)
    import yaml  # noqa: F401
except ImportError as error:
    raise ImportError("OpenAPI tools need an extra: pip install 'toolwright[openapi]'") from error

from toolwright.backends.auth import (
    openid_url_to_scheme_credential,
    service_account_dict_to_scheme_credential,
    service_account_scheme_credential,
    token_to_scheme_credential,
)
from toolwright.sources.openapi._client import CallLimits
from toolwright.sources.openapi._filters import operations
from toolwright.sources.openapi._operations import Operation
from toolwright.sources.openapi._registry import ApiRegistry
from toolwright.sources.openapi._tool import RestApiTool
from toolwright.sources.openapi._toolset import OpenAPIToolset

__all__ = [
    "ApiRegistry",
    "CallLimits",
    "OpenAPIToolset",
    "Operation",
    "RestApiTool",
    "openid_url_to_scheme_credential",
    "operations",
    "service_account_dict_to_scheme_credential",
    "service_account_scheme_credential",
    "token_to_scheme_credential",
]
