from pathlib import Path

from toolwright import OpenAPIToolset, token_to_scheme_credential

DOCUMENT = Path(__file__).with_name("petstore.yaml")


def signed_in(key: str, server_url: str | None = None) -> OpenAPIToolset:
    scheme, credential = token_to_scheme_credential(
        token_type="apikey", location="header", name="X-API-Key", credential_value=key
    )
    return OpenAPIToolset(
        DOCUMENT, auth_scheme=scheme, auth_credential=credential, server_url=server_url
    )
