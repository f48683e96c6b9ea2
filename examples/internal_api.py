"""Two tools of an internal API that share one bearer token, which was obtained elsewhere."""

import asyncio
from typing import Any

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from toolwright import (
    Agent,
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    AuthenticatedFunctionTool,
    CustomAuthScheme,
    HttpAuth,
    HttpCredentials,
    Result,
)
from toolwright.testing import ScriptedModel, call

TOKEN = "ya29-already-obtained-upstream"


async def _answer(request: Request) -> JSONResponse:
    if request.headers.get("Authorization") != f"Bearer {TOKEN}":
        return JSONResponse({"error": "who are you?"}, status_code=401)
    return JSONResponse({"path": request.url.path, "items": 3})


api = httpx2.ASGITransport(Starlette(routes=[Route("/api/{endpoint}", _answer)]))
"""The internal API; here in the same process."""

bearer = AuthConfig(
    auth_scheme=CustomAuthScheme(type="http", scheme="bearer"),
    raw_auth_credential=AuthCredential(
        auth_type=AuthCredentialTypes.HTTP,
        http=HttpAuth(scheme="bearer", credentials=HttpCredentials(token=TOKEN)),
    ),
    credential_key="internal-api",  # both tools use what is kept under this key
)


async def _get(endpoint: str, credential: AuthCredential | None) -> Any:
    token = credential.bearer_token if credential else ""
    async with httpx2.AsyncClient(transport=api, base_url="https://internal.example") as client:
        headers = {"Authorization": f"Bearer {token}"}
        answer = await client.get(f"/api/{endpoint}", headers=headers)
        return answer.raise_for_status().json()


async def read_mail(credential: AuthCredential | None = None) -> Any:
    """Read the mailbox."""
    return await _get("mail", credential)


async def read_calendar(credential: AuthCredential | None = None) -> Any:
    """Read the calendar."""
    return await _get("calendar", credential)


def main() -> Result:
    """Both tools in one turn."""
    tools = [AuthenticatedFunctionTool(func, bearer) for func in (read_mail, read_calendar)]
    model = ScriptedModel([call("read_mail"), call("read_calendar")], "Three of each.")
    result = asyncio.run(Agent(name="office", model=model, tools=tools).run("What is new?"))
    print(result.text)
    return result


if __name__ == "__main__":
    main()
