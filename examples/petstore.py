"""An API becomes tools by its OpenAPI document: here against a small server in this program."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from toolwright import Agent, OpenAPIToolset, ReadonlyContext, Result, token_to_scheme_credential
from toolwright.testing import ScriptedModel, call

DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Petstore", "version": "1"},
    "paths": {
        "/pets": {
            "get": {"operationId": "listPets", "summary": "List the pets that are for sale."},
            "post": {
                "operationId": "createPet",
                "summary": "Add a pet.",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["petName"],
                                "properties": {"petName": {"type": "string"}},
                            }
                        }
                    },
                },
            },
        }
    },
}


class Petstore(BaseHTTPRequestHandler):
    """The API itself. It wants a key, and knows which tenant is asking."""

    pets: dict[str, list[str]] = {}  # noqa: RUF012 (one shop for all requests)

    def do_GET(self) -> None:
        self._answer(200, self.pets.get(self.headers["X-Tenant-ID"], []))

    def do_POST(self) -> None:
        if self.headers["X-API-Key"] != "pets-please":
            return self._answer(401, {"message": "the key is wrong"})
        pet = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["petName"]
        self.pets.setdefault(self.headers["X-Tenant-ID"], []).append(pet)
        return self._answer(201, {"added": pet})

    def _answer(self, status: int, body: Any) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (its name there)
        """Say nothing."""


@contextmanager
def petstore() -> Iterator[str]:
    """The address of a running petstore."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Petstore) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def tenant(ctx: ReadonlyContext) -> dict[str, str]:
    """A header that depends on who is asking."""
    return {"X-Tenant-ID": ctx.state.get("tenant_id", "default")}


def main() -> Result:
    """Add a pet, then list what there is."""
    scheme, credential = token_to_scheme_credential(
        token_type="apikey", location="header", name="X-API-Key", credential_value="pets-please"
    )
    model = ScriptedModel(
        call("petstore_create_pet", pet_name="Rex"), call("petstore_list_pets"), "Rex is for sale."
    )
    with petstore() as url:
        toolset = OpenAPIToolset(
            spec_dict=DOCUMENT,
            server_url=url,
            tool_name_prefix="petstore_",
            auth_scheme=scheme,
            auth_credential=credential,
            header_provider=tenant,
        )
        agent = Agent(name="petstore", model=model, tools=[toolset])
        result = agent.run_sync("Add Rex and show me the pets")
    print(result.text)
    return result


if __name__ == "__main__":
    main()
