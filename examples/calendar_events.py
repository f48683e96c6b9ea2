"""A tool that needs the user's calendar: the run pauses until they have signed in.

As a program it signs in to Google: set GOOGLE_CLIENT_ID, GOOGLE_CLIENT_SECRET and, as one of the
client's registered addresses, GOOGLE_REDIRECT_URI.
"""

import asyncio
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from toolwright import (
    Agent,
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    OAuth2Auth,
    OpenIdConnectWithConfig,
    Result,
    Runner,
)
from toolwright.testing import ScriptedModel, call
from toolwright.tools import AuthenticatedFunctionTool

GOOGLE_EVENTS = "https://www.googleapis.com/calendar/v3/calendars/primary/events"


def google_calendar() -> AuthConfig:
    """How to sign in to Google; every tool with this `credential_key` shares the sign-in."""
    return AuthConfig(
        auth_scheme=OpenIdConnectWithConfig(
            authorization_endpoint="https://accounts.google.com/o/oauth2/auth",
            token_endpoint="https://oauth2.googleapis.com/token",
            scopes=["https://www.googleapis.com/auth/calendar.readonly"],
        ),
        raw_auth_credential=AuthCredential(
            auth_type=AuthCredentialTypes.OPEN_ID_CONNECT,
            oauth2=OAuth2Auth(
                client_id=os.environ["GOOGLE_CLIENT_ID"],
                client_secret=os.environ["GOOGLE_CLIENT_SECRET"],
                redirect_uri=os.environ["GOOGLE_REDIRECT_URI"],
                authorization_params={"access_type": "offline", "prompt": "consent"},
            ),
        ),
        credential_key="google-calendar",
    )


def calendar_tool(auth_config: AuthConfig, events_url: str) -> AuthenticatedFunctionTool:
    """The tool, for whichever provider and calendar."""

    async def list_calendar_events(
        days_ahead: int = 7, credential: AuthCredential | None = None
    ) -> Any:
        """List upcoming calendar events.

        Args:
            days_ahead: How many days ahead to look.
        """
        if credential is None or not credential.bearer_token:
            return {"error": "no credential"}
        now = datetime.now(UTC)
        window = {
            "timeMin": now.isoformat(),
            "timeMax": (now + timedelta(days=days_ahead)).isoformat(),
            "singleEvents": "true",
            "orderBy": "startTime",
        }
        headers = {"Authorization": f"Bearer {credential.bearer_token}"}
        async with httpx2.AsyncClient() as client:
            answer = await client.get(events_url, params=window, headers=headers)
            return answer.raise_for_status().json()

    return AuthenticatedFunctionTool(
        list_calendar_events,
        auth_config,
        response_for_auth_required={
            "status": "auth_required",
            "message": "Please give access to your calendar.",
        },
    )


async def ask_calendar(tool: AuthenticatedFunctionTool, sign_in: Callable[[str], str]) -> Result:
    """Ask what is on; `sign_in` shows the user an address and brings back where they ended up."""
    model = ScriptedModel(call("list_calendar_events", days_ahead=1), "You have lunch with Grace.")
    agent = Agent(name="assistant", model=model, tools=[tool])
    async with Runner(agent, app_name="assistant", credentials="memory://") as runner:
        result = await runner.run("What is on tomorrow?", user_id="ada", session_id="s1")
        while result.status == "paused":
            [pending] = result.pending
            print(pending.hint)
            redirected_to = await asyncio.to_thread(sign_in, pending.payload["auth_uri"])
            await runner.answer("s1", pending.call_id, redirected_to)
            result = await runner.resume("s1")
    print(result.text)
    return result


def main(
    auth_config: AuthConfig | None = None,
    events_url: str = GOOGLE_EVENTS,
    sign_in: Callable[[str], str] | None = None,
) -> Result:
    """Run the story, with Google unless another provider is given."""

    def by_hand(address: str) -> str:
        return input(f"Open {address}\nand paste the address you end up at: ")

    tool = calendar_tool(auth_config or google_calendar(), events_url)
    return asyncio.run(ask_calendar(tool, sign_in or by_hand))


if __name__ == "__main__":
    main()
