"""Links that answer a pending call: signed, for one call and one answer, until a time."""

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any, Literal

from toolwright._sealed import Sealed
from toolwright.errors import UsageError
from toolwright.messages import jsonable
from toolwright.tools import ToolContext

__all__ = ["LinkError", "Links", "SignedAnswer"]

_DAY = 24 * 3600.0
_MIN_SECRET = 16
_FIELDS = 7


class LinkError(Exception):
    """A link that was not made here, or is too old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedAnswer:
    """What a link does when its page's button is pressed."""

    place: Literal["session", "task"]
    id: str
    call_id: str
    key: str
    """Names the call among all there ever were: ids come again, in other apps and after a deletion."""
    label: str
    answer: Any
    expires_at: float


class Links(Sealed):
    """Makes and reads links. Give the same secret to all processes that share a store.

    A link works once, because a pending call is answered once.
    """

    def __init__(self, secret: str, base_url: str) -> None:
        if (length := len(secret.strip())) < _MIN_SECRET:
            raise UsageError(
                f"The secret for links has {length} characters, without the space around it; use "
                f"{_MIN_SECRET} or more."
            )
        self._key = hashlib.sha256(b"toolwright links\0" + secret.encode()).digest()
        self._base = base_url.rstrip("/")

    def answer(
        self, ctx: ToolContext, value: Any, *, label: str = "Answer", expires_in: float = _DAY
    ) -> str:
        """A link that answers the call of `ctx` with `value`: a result, `Approve()`, `Reject()`."""
        signed = SignedAnswer(
            place="task" if ctx.task_id else "session",
            id=ctx.task_id or ctx.session.id,
            call_id=ctx.pending_id,
            key=ctx.run.call_key(ctx.function_call_id),
            label=label,
            answer=jsonable(value),
            expires_at=time.time() + expires_in,
        )
        return f"{self._base}/links/{self._sign(signed)}"

    def read(self, token: str) -> SignedAnswer:
        """What a link's last part says; `LinkError` when it is forged or too old."""
        body, _, signature = token.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(body).encode()):
            raise LinkError("This link was not made by this server, or has been changed.")
        fields = json.loads(_decode(body))
        if len(fields) != _FIELDS:
            raise LinkError(
                "This link was made by another version of this server; ask for a new one."
            )
        place, owner, call_id, key, label, answer, expires_at = fields
        if time.time() >= expires_at:
            raise LinkError("This link has expired.")
        return SignedAnswer(
            place=place,
            id=owner,
            call_id=call_id,
            key=key,
            label=label,
            answer=answer,
            expires_at=expires_at,
        )

    def _sign(self, signed: SignedAnswer) -> str:
        fields = [signed.place, signed.id, signed.call_id, signed.key, signed.label]
        text = json.dumps([*fields, signed.answer, signed.expires_at], separators=(",", ":"))
        body = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return f"{body}.{self._signature(body)}"

    def _signature(self, body: str) -> str:
        digest = hmac.new(self._key, body.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _decode(body: str) -> bytes:
    return base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
