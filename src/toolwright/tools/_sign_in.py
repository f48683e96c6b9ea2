"""Have a call wait until its user has signed in."""

from dataclasses import replace

from toolwright.messages import AuthConfig
from toolwright.tools._context import ToolContext
from toolwright.tools._tool import Output

__all__ = ["ask_to_sign_in"]


def ask_to_sign_in(
    ctx: ToolContext, config: AuthConfig, hint: str | None = None, *, before: bool = True
) -> Output:
    """The output of a call that needs a credential, by default `before` its function has run."""
    ctx.request_credential(config)
    asked = ctx.requested
    assert asked is not None
    ctx.requested = replace(asked, hint=asked.hint if hint is None else hint, before=before)
    return Output(status="pending", request=ctx.requested)
