import ssl
from pathlib import Path

from toolwright import OpenAPIToolset

DOCUMENT = Path(__file__).with_name("petstore.yaml")


def behind_a_proxy(bundle: str, server_url: str | None = None) -> OpenAPIToolset:
    """Trust the certificates in a file, or in a folder."""
    return OpenAPIToolset(DOCUMENT, ssl_verify=bundle, server_url=server_url)


def pinned(bundle: str, server_url: str | None = None) -> OpenAPIToolset:
    """Trust these certificates and no others."""
    only = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    only.load_verify_locations(bundle)
    return OpenAPIToolset(DOCUMENT, ssl_verify=only, server_url=server_url)
