"""What stands between the network and the routes."""

from toolwright.serve.guard._head import HeadLimit
from toolwright.serve.guard._headers import SecurityHeaders
from toolwright.serve.guard._origin import SameSiteOnly
from toolwright.serve.guard._rate import RateLimit
from toolwright.serve.guard._slow import SlowClients
from toolwright.serve.guard._token import Door, TokenCheck, shown_reason

__all__ = [
    "Door",
    "HeadLimit",
    "RateLimit",
    "SameSiteOnly",
    "SecurityHeaders",
    "SlowClients",
    "TokenCheck",
    "shown_reason",
]
