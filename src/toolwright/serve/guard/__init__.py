"""What stands between the network and the routes."""

from toolwright.serve.guard._headers import SecurityHeaders
from toolwright.serve.guard._origin import SameSiteOnly
from toolwright.serve.guard._rate import RateLimit
from toolwright.serve.guard._token import TokenCheck, shown_reason, sign_in, sign_out

__all__ = [
    "RateLimit",
    "SameSiteOnly",
    "SecurityHeaders",
    "TokenCheck",
    "shown_reason",
    "sign_in",
    "sign_out",
]
