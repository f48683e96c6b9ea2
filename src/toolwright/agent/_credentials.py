"""Find the credential a call asked for, or say what a person must do to give it."""

from dataclasses import replace

from toolwright.agent._run import Run
from toolwright.errors import UsageError
from toolwright.messages import AuthConfig, AuthCredential, PendingRequest, Scope
from toolwright.tools import AuthFlows, Credentials, ToolContext

__all__ = ["answer_key", "credential_for"]


def answer_key(scope: Scope, call_id: str) -> str:
    """Where the person's answer to a credential request waits, in the credential store."""
    # With the session: credentials are shared by all sessions of a user, their call ids repeat.
    return f"answer:{scope.session_id}:{call_id}"


async def credential_for(
    run: Run, ctx: ToolContext, request: PendingRequest
) -> PendingRequest | None:
    """Give the call its credential if it can be had now; if not, the request as a person sees it.

    The configuration itself never leaves the run: it may hold the client's secret.
    """
    config = request.payload
    if not isinstance(config, AuthConfig):
        raise UsageError(f"Tool {ctx.call.name!r} asked for a credential without an AuthConfig.")
    flows, store = _services(run, ctx)
    credential, problem = None, ""
    # Asked for again although it was given: it was refused, so only a person can help.
    if ctx.get_auth_response(config) is None:
        credential, problem = await _answered(run, ctx, config, flows, store)
        credential = credential or await flows.ready(run.scope, config)
    if credential is not None:
        ctx.accept_credential(config, credential)
        return None
    shown = await flows.begin(run.scope, config)
    payload = {**shown, "credential_key": config.credential_key}
    return replace(request, hint=f"{problem} {request.hint}".strip(), payload=payload)


async def _answered(
    run: Run, ctx: ToolContext, config: AuthConfig, flows: AuthFlows, store: Credentials
) -> tuple[AuthCredential | None, str]:
    """The credential in the person's answer, or what is wrong with the answer."""
    pending = run.record(ctx.path, ctx.call).pending
    # A call may ask for several credentials, one after the other: each answer is for one of them.
    if pending is None or pending.kind != "credential":
        return None, ""
    if pending.payload["credential_key"] != config.credential_key:
        return None, ""
    key = answer_key(run.scope, pending.call_id)
    answer = await store.load(run.scope, key)
    if answer is None:
        return None, ""
    try:
        return await flows.finish(run.scope, config, answer), ""
    except UsageError as error:
        return None, str(error)
    finally:
        await store.delete(run.scope, key)


def _services(run: Run, ctx: ToolContext) -> tuple[AuthFlows, Credentials]:
    flows, store = run.services.auth, run.services.credentials
    if flows is None or store is None:
        raise UsageError(
            f"Tool {ctx.call.name!r} needs a credential, but the runner has no credential store; "
            "give it one: Runner(agent, …, credentials='memory://')."
        )
    return flows, store
