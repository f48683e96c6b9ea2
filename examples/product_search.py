"""A tool with an API key: the function gets it, the model never sees it."""

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
    CustomAuthScheme,
    Result,
)
from toolwright.testing import ScriptedModel, call
from toolwright.tools import AuthenticatedFunctionTool

API_KEY = "sk-demo-catalogue-key"  # in production: from a secret manager
CATALOGUE = ["desk lamp", "floor lamp", "desk", "lamp shade"]


async def _search(request: Request) -> JSONResponse:
    if request.headers.get("X-API-Key") != API_KEY:
        return JSONResponse({"error": "unknown key"}, status_code=401)
    wanted, limit = request.query_params["q"], int(request.query_params["limit"])
    return JSONResponse({"products": [p for p in CATALOGUE if wanted in p][:limit]})


catalogue = httpx2.ASGITransport(Starlette(routes=[Route("/search", _search)]))
"""The shop's API; here in the same process."""

auth_config = AuthConfig(
    auth_scheme=CustomAuthScheme(type="apiKey", **{"in": "header", "name": "X-API-Key"}),
    raw_auth_credential=AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=API_KEY),
)


async def search_products(
    query: str, max_results: int = 5, credential: AuthCredential | None = None
) -> Any:
    """Search the product catalogue.

    Args:
        query: What to look for.
        max_results: How many products to list at most.
    """
    key = credential.api_key if credential else None
    async with httpx2.AsyncClient(transport=catalogue, base_url="https://shop.example") as client:
        answer = await client.get(
            "/search", params={"q": query, "limit": max_results}, headers={"X-API-Key": key or ""}
        )
        return answer.raise_for_status().json()


search_tool = AuthenticatedFunctionTool(search_products, auth_config)


async def shop() -> Result:
    """Search for lamps; the model tries in vain to bring a key of its own."""
    model = ScriptedModel(
        [
            call("search_products", query="lamp", max_results=2),
            call("search_products", query="lamp", credential="mine"),
        ],
        "We have a desk lamp and a floor lamp.",
    )
    result = await Agent(name="shop", model=model, tools=[search_tool]).run("Any lamps?")
    print(result.text)
    return result


def main() -> Result:
    """Run the story."""
    return asyncio.run(shop())


if __name__ == "__main__":
    main()
