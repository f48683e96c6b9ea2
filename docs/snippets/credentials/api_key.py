import os

from toolwright import (
    Agent,
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    AuthenticatedFunctionTool,
    CustomAuthScheme,
)
from toolwright.testing import ScriptedModel, call

shop = AuthConfig(
    auth_scheme=CustomAuthScheme(type="apiKey", **{"in": "header", "name": "X-API-Key"}),
    raw_auth_credential=AuthCredential(
        auth_type=AuthCredentialTypes.API_KEY, api_key=os.environ["SHOP_API_KEY"]
    ),
)


def search_products(query: str, credential: AuthCredential) -> str:
    """Search the product catalogue."""
    headers = {"X-API-Key": credential.api_key}  # … and call the API with them
    return f"searched for {query} with {len(headers)} header"


tool = AuthenticatedFunctionTool(search_products, shop)
print(list(tool.spec.parameters["properties"]))  # ['query']

model = ScriptedModel(call("search_products", query="lamp"), "Here are our lamps.")
result = Agent(name="shop", model=model, tools=[tool]).run_sync("Any lamps?")
