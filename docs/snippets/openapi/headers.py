from pathlib import Path

from toolwright import OpenAPIToolset, ReadonlyContext

DOCUMENT = Path(__file__).with_name("petstore.yaml")


def tenant_headers(ctx: ReadonlyContext) -> dict[str, str]:
    return {
        "X-Tenant-ID": ctx.state.get("tenant_id", "default"),
        "X-Correlation-ID": ctx.invocation_id[:16],
    }


def for_tenants(server_url: str | None = None) -> OpenAPIToolset:
    return OpenAPIToolset(DOCUMENT, header_provider=tenant_headers, server_url=server_url)
