"""Function tools that get a credential, which the model neither sees nor sets."""

import inspect
from collections.abc import Callable
from typing import Any

from toolwright.errors import UsageError
from toolwright.messages import AuthConfig, AuthCredential, as_auth_config
from toolwright.tools._arguments import Args
from toolwright.tools._confirmation import Require, with_confirmation
from toolwright.tools._context import ToolContext
from toolwright.tools._copies import kept
from toolwright.tools._function import FunctionTool, P, R
from toolwright.tools._services import AuthFlows
from toolwright.tools._sign_in import ask_to_sign_in
from toolwright.tools._tool import Output, Tool

__all__ = ["AuthenticatedFunctionTool", "with_credential"]

_PARAMETER = "credential"
_UNAUTHORIZED = 401


class AuthenticatedFunctionTool(FunctionTool[P, R]):
    """A function tool whose `credential` parameter is filled with a credential ready to use.

    When there is none yet, the call waits until the user has signed in; `response_for_auth_required`
    is what they are told meanwhile. A function that raises an HTTP error with status 401 is run
    once more, with a renewed credential. Other settings are those of `FunctionTool`.
    """

    def __init__(
        self,
        func: Callable[P, R],
        auth_config: AuthConfig | dict[str, Any],
        response_for_auth_required: str | dict[str, Any] | None = None,
        *,
        require_confirmation: Require = False,
        **settings: Any,
    ) -> None:
        super().__init__(func, hidden=(_PARAMETER,), **settings)
        auth_config = as_auth_config(auth_config)
        _refuse_shared_secret(self.name, auth_config)
        made = self.replace()
        made = _with_parameter(made) if _takes_credential(func) else made
        made = with_credential(made, auth_config, response_for_auth_required)
        # Outermost: nobody should sign in for a call that is then rejected.
        self._become(with_confirmation(made, require_confirmation))
        self.auth_config = auth_config


def with_credential(
    tool: Tool,
    auth_config: AuthConfig,
    response_for_auth_required: str | dict[str, Any] | None = None,
) -> Tool:
    """Run the tool with `ctx.auth_response` set; when there is no credential, the user is asked.

    A tool that raises an HTTP error with status 401 is run once more, with a renewed credential and
    the arguments as they were approved, whatever the first attempt has done to them.
    """
    hint = _hint(response_for_auth_required)

    async def run(args: Args, ctx: ToolContext) -> Output:
        credential = ctx.get_auth_response(auth_config) or await _find(ctx, auth_config)
        if credential is None:
            return ask_to_sign_in(ctx, auth_config, hint)
        ctx.accept_credential(auth_config, credential)
        before = kept(args, None)
        try:
            return await tool.run(args, ctx)
        except Exception as error:
            if _status_of(error) != _UNAUTHORIZED:
                raise
            renewed = await _flows(ctx).renew(ctx.run.scope, auth_config, credential)
        if renewed is None:
            return ask_to_sign_in(ctx, auth_config, hint, before=False)
        ctx.accept_credential(auth_config, renewed)
        return await tool.run(before()[0], ctx)

    return tool.replace(run=run)


def _with_parameter(tool: Tool) -> Tool:
    async def run(args: Args, ctx: ToolContext) -> Output:
        return await tool.run({**args, _PARAMETER: ctx.auth_response}, ctx)

    return tool.replace(run=run)


def _takes_credential(func: Callable[..., Any]) -> bool:
    return _PARAMETER in inspect.signature(func).parameters


async def _find(ctx: ToolContext, config: AuthConfig) -> AuthCredential | None:
    if config.given_credential is not None:
        return config.given_credential
    return await _flows(ctx).ready(ctx.run.scope, config)


def _flows(ctx: ToolContext) -> AuthFlows:
    if ctx.run.services.auth is None:
        raise UsageError(
            "This run has no way to sign in; give the runner a credential store: "
            "Runner(agent, …, credentials=…)."
        )
    return ctx.run.services.auth


def _hint(response: str | dict[str, Any] | None) -> str:
    if isinstance(response, dict):
        return str(response.get("message") or response)
    return response or "Pending User Authorization."


def _status_of(error: Exception) -> int | None:
    """The HTTP status in an exception of httpx2, requests, aiohttp or urllib."""
    response = getattr(error, "response", None)
    for holder, name in ((response, "status_code"), (error, "status"), (error, "code")):
        status = getattr(holder, name, None)
        if isinstance(status, int):
            return status
    return None


def _refuse_shared_secret(tool: str, config: AuthConfig) -> None:
    """Two services that both want an `X-API-Key` must not be given each other's."""
    asks_user = config.raw_auth_credential is None and config.exchanged_auth_credential is None
    unnamed = config.credential_key == config.default_key
    if asks_user and unnamed and config.auth_scheme.type in ("apiKey", "http"):
        raise UsageError(
            f"Tool {tool!r}: AuthConfig needs a credential_key of its own (the name of the service), "
            "because the user will be asked for the secret, and the scheme alone does not say whose."
        )
