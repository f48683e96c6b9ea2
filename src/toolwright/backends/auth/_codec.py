"""What is kept in a credential store, as text: a credential, or an answer still to be looked at."""

import json
from typing import Any

from pydantic import BaseModel

from toolwright.messages import AuthCredential, Scope, jsonable

__all__ = ["decode", "encode", "place"]


def encode(value: Any) -> str:
    """`value` as JSON; credentials are marked, so that they come back as credentials."""
    if isinstance(value, AuthCredential):
        return json.dumps({"credential": value.model_dump(mode="json", exclude_none=True)})
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else jsonable(value)
    return json.dumps({"value": plain})


def decode(text: str | bytes) -> Any:
    """What `encode` was given."""
    fields = json.loads(text)
    if "credential" in fields:
        return AuthCredential.model_validate(fields["credential"])
    return fields["value"]


def place(scope: Scope, key: str) -> str:
    """Whose entry it is, as one name; JSON, because each part may contain any separator."""
    return json.dumps([scope.app_name, scope.user_id, key])
