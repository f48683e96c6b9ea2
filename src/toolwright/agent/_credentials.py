"""Find the credential a call asked for, or say what a person must do to give it."""

from dataclasses import replace
from typing import Any

from toolwright.agent._run import Run
from toolwright.errors import UsageError
from toolwright.messages import AuthConfig, AuthCredential, PendingRequest
from toolwright.tools import ToolContext

__all__ = ["answer_key", "credential_for"]


def answer_key(call_id: str) -> str:
    """Where the person's answer to a credential request waits, in the credential store."""
    return f"answer:{call_id}"


async def credential_for(
    run: Run, ctx: ToolContext, request: PendingRequest | None
) -> tuple[AuthCredential | None, PendingRequest | None]:
    """The credential if it can be had now; otherwise the request as a person is to see it."""
    config = None if request is None else request.payload
    services = run.services
    if request is None or not isinstance(config, AuthConfig):
        raise UsageError(f"Tool {ctx.call.name!r} asked for a credential without an AuthConfig.")
    if services.auth is None or services.credentials is None:
        raise UsageError(
            f"Tool {ctx.call.name!r} needs a credential, but the runner has no credential store; "
            "give it one: Runner(agent, …, credentials=…)."
        )
    credential = await _answered(run, ctx, config) or await services.auth.ready(run.scope, config)
    if credential is not None:
        _hide(run, credential)
        return credential, None
    shown: Any = await services.auth.begin(run.scope, config)
    return None, replace(request, payload=shown)


async def _answered(run: Run, ctx: ToolContext, config: AuthConfig) -> AuthCredential | None:
    record = run.record(ctx.path, ctx.call)
    if record.pending is None or run.services.credentials is None or run.services.auth is None:
        return None
    key = answer_key(record.pending.call_id)
    answer = await run.services.credentials.load(run.scope, key)
    if answer is None:
        return None
    await run.services.credentials.delete(run.scope, key)
    return await run.services.auth.finish(run.scope, config, answer)


def _hide(run: Run, credential: AuthCredential) -> None:
    """From now on these values are taken out of everything that leaves the run."""
    http, oauth = credential.http, credential.oauth2
    values: list[str | None] = [credential.api_key]
    if http is not None:
        values += [http.credentials.token, http.credentials.password]
    if oauth is not None:
        values += [oauth.access_token, oauth.refresh_token, oauth.id_token, oauth.client_secret]
    for value in values:
        if value:
            run.redactor.add(value)
